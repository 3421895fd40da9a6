/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/mpi/shim/event.c - recording of communication in the thread's event buffer and sums. */
#include "quick.h"

__attribute__((noinline, cold)) static void emit_slow(uint32_t what, uint64_t v0, uint64_t v1, uint64_t v2,
                                                      uint64_t v3) {
  const uint64_t v[4] = {v0, v1, v2, v3};
  pml__mpi_emit(what, v);
  pml__mpi_count(what, v);
}

__attribute__((noinline)) static void count(uint32_t what, uint64_t v0, uint64_t v1, uint64_t v2) {
  const uint64_t v[4] = {v0, v1, v2, 0};
  pml__mpi_count(what, v);
}

static inline void emit_message(uint32_t what, uint64_t to, int tag, uint64_t bytes, uint64_t id, bool send) {
  struct pml__mpi_lane *l = pml__mpi_lane;
  if (PML_UNLIKELY(!pml__mpi_put(what, to, (uint32_t)tag, bytes, id)))
    emit_slow(what, to, (uint32_t)tag, bytes, id);
  else if (PML_UNLIKELY(l == NULL) || (send && (to >> 32 != PML__MPI_WORLD || (uint32_t)to >= l->ranks)))
    count(what, to, (uint32_t)tag, bytes);
  else if (send)
    pml__mpi_count_sent(l, (uint32_t)to, pml__log_bytes(bytes));
  else
    pml__mpi_count_size(l, PML__MPI_RECEIVED, pml__log_bytes(bytes));
}

void shim_sent(uint64_t to, int tag, uint64_t bytes) {
  emit_message(PML__LOG_COMMUNICATED(PML__LOG_SEND, 3, 0), to, tag, bytes, 0, true);
}

void shim_sends(uint64_t to, int tag, uint64_t bytes, uint64_t id) {
  emit_message(PML__LOG_COMMUNICATED(PML__LOG_ISEND, 4, 0), to, tag, bytes, id, true);
}

void shim_received(uint64_t from, int tag, uint64_t bytes) {
  emit_message(PML__LOG_COMMUNICATED(PML__LOG_RECEIVE, 3, 0), from, tag, bytes, 0, false);
}

void shim_request_received(uint64_t from, int tag, uint64_t bytes, uint64_t id) {
  emit_message(PML__LOG_COMMUNICATED(PML__LOG_IRECV_COMPLETE, 4, 0), from, tag, bytes, id, false);
}

void shim_request_is(enum pml__log_communication what, uint64_t id) {
  uint32_t word = PML__LOG_COMMUNICATED(what, 1, 0);
  if (PML_UNLIKELY(!pml__mpi_put(word, id, 0, 0, 0))) emit_slow(word, id, 0, 0, 0);
}

void shim_collective_end(enum pml__log_collective what, uint64_t to, uint64_t sent, uint64_t received, uint64_t id) {
  struct pml__mpi_lane *l = pml__mpi_lane;
  uint32_t word = PML__LOG_COMMUNICATED(PML__LOG_COLLECTIVE_END, 4, (uint16_t)what);
  if (PML_UNLIKELY(!pml__mpi_put(word, to, sent, received, id)))
    emit_slow(word, to, sent, received, id);
  else if (PML_UNLIKELY(l == NULL))
    count(word, to, sent, received);
  else
    pml__mpi_count_collective(l, what, sent, received);
}

void shim_rma(enum pml__log_rma what, uint64_t to, uint64_t bytes, uint32_t window) {
  uint32_t word = PML__LOG_COMMUNICATED(PML__LOG_RMA, 3, what);
  if (PML_UNLIKELY(!pml__mpi_put(word, to, bytes, window, 0))) emit_slow(word, to, bytes, window, 0);
}

void shim_learn(uint64_t *enter, const char *function) {
  pml_region_t region;
  if (__atomic_load_n(enter, __ATOMIC_RELAXED) == UNKNOWN_ENTER &&
      pml__region_of(PML__REGION_MPI, function, "", 0, &region) == 0)
    __atomic_store_n(enter, PML__LOG_WORD(PML__LOG_ENTER, region), __ATOMIC_RELAXED);
}

void shim_learn_type(MPI_Datatype type) {
  struct pml__stream_thread *t = pml__stream_self;
  const struct type *known = shim_type_find(type);
  struct pml_stream_place *p = known->key == key_of(type) ? pml__stream_open_place(t) : NULL;
  if (p == NULL) return;
  p->own[OF_TYPE] = known->key;
  p->own[BYTES_OF_TYPE] = known->size;
  pml__stream_unguard(t);
}
