/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/mpi/shim/quick.h - fast path of common calls in some 60 instructions: on MPI_COMM_WORLD, with predefined
 * types, directly after the enter event of the call. Its functions call no others, so no argument has to be saved. They
 * return false for any other call: no event was recorded, and event.c must handle the call.
 */
#ifndef SHIM_QUICK_H
#define SHIM_QUICK_H

#include "shim.h"

#include <string.h>

#pragma GCC visibility push(hidden)

/*
 * The word of a function's enters in the log; before the function's first call, a word that no event has.
 * shim_learn - look it up.
 */
#define UNKNOWN_ENTER UINT64_MAX
#define ENTER_OF(name) JOINED(enter_of_, name, SUFFIX)
#define HAS_ENTER(name) static uint64_t ENTER_OF(name) = UNKNOWN_ENTER; /* atomic */
#define ENTER(name) __atomic_load_n(&ENTER_OF(name), __ATOMIC_RELAXED)
void shim_learn(uint64_t *enter, const char *function);
#define LEARN(name) shim_learn(&ENTER_OF(name), TEXT_OF(JOINED(MPI_, name, SUFFIX)))

/* ---- messages ---- */

/* Type and size of the thread's last message. shim_learn_type - remember @type if it is predefined. */
enum { OF_TYPE, BYTES_OF_TYPE };
void shim_learn_type(MPI_Datatype type);
extern uint32_t shim_ranks; /* ranks of the world, from MPI_Init on */

#define OF_WORLD(what, n) PML__LOG_COMMUNICATED(what, n, PML__MPI_WORLD)

/* @id: for PML__LOG_ISEND, it gets a number; NULL: for PML__LOG_SEND. */
__attribute__((always_inline)) static inline bool shim_quick_send(const uint64_t *enter, uint64_t *id, count_t count,
                                                                  MPI_Datatype type, int peer, int tag) {
  struct pml__stream_thread *t = pml__stream_self;
  struct pml_stream_place *p = pml__mpi_open(t, enter);
  if (PML_UNLIKELY(p == NULL)) return false;
  if (PML_UNLIKELY((uint32_t)peer >= shim_ranks) || PML_UNLIKELY((shim_key_t)p->own[OF_TYPE] != key_of(type))) {
    pml__stream_unguard(t);
    return false;
  }
  uint64_t bytes = (uint64_t)count * p->own[BYTES_OF_TYPE];
  struct pml__log_event *e = pml__mpi_take(p, 2), *more = e + 1;
  pml__mpi_half(&more->ticks)[0] = (uint32_t)peer;
  pml__mpi_half(&more->ticks)[1] = (uint32_t)tag;
  if (id != NULL) {
    pml__own_add_release(id, 2);
    more->word = *id;
  }
  pml__mpi_store(e, id != NULL ? OF_WORLD(PML__LOG_ISEND, 2) : OF_WORLD(PML__LOG_SEND, 1), bytes);
  pml__stream_unguard(t);
  return true;
}

/* Tag and sender of a message in the log's format: the tag above the rank, which is negative if no message was
 * received. */
static inline uint64_t shim_sender(const MPI_Status *s) {
  uint64_t sender;
  _Static_assert(offsetof(MPI_Status, MPI_TAG) == offsetof(MPI_Status, MPI_SOURCE) + 4, "both are one value");
  memcpy(&sender, &s->MPI_SOURCE, sizeof sender);
  return sender;
}
static inline bool shim_is_usual(const MPI_Status *s, uint64_t sender) {
  return PML_LIKELY((int32_t)sender >= 0) && PML_LIKELY(shim_is_plain(s));
}

/* Write a received message to @e. @id: 0 for a blocking receive. */
static inline void shim_put_received(struct pml__log_event *e, const MPI_Status *s, uint64_t sender, uint64_t id) {
  uint64_t bytes = shim_plain_bytes_of(s);
  e[1].ticks = sender;
  if (id != 0) e[1].word = id;
  pml__mpi_store(e, id != 0 ? OF_WORLD(PML__LOG_IRECV_COMPLETE, 2) : OF_WORLD(PML__LOG_RECEIVE, 1), bytes);
}

static inline bool shim_quick_received(const uint64_t *enter, const MPI_Status *s, uint64_t id) {
  uint64_t sender = shim_sender(s);
  if (PML_UNLIKELY(!shim_is_usual(s, sender))) return false;
  struct pml__stream_thread *t = pml__stream_self;
  struct pml_stream_place *p = pml__mpi_open(t, enter);
  if (PML_UNLIKELY(p == NULL)) return false;
  shim_put_received(pml__mpi_take(p, 2), s, sender, id);
  pml__stream_unguard(t);
  return true;
}

/* The same after the send of the same call. */
static inline bool shim_quick_received_too(const uint64_t *enter, const MPI_Status *s) {
  uint64_t sender = shim_sender(s);
  if (PML_UNLIKELY(!shim_is_usual(s, sender))) return false;
  struct pml__stream_thread *t = pml__stream_self;
  struct pml_stream_place *p = pml__stream_open_place(t);
  if (PML_UNLIKELY(p == NULL)) return false;
  const struct pml__log_event *e = p->next;
  bool behind = PML_LIKELY(e < p->fits) && PML_LIKELY(e[-3].word == __atomic_load_n(enter, __ATOMIC_RELAXED)) &&
                PML_LIKELY(e[-2].word == PML__LOG_WORD(PML__LOG_CALL_COMMUNICATION, OF_WORLD(PML__LOG_SEND, 1)));
  if (behind) shim_put_received(pml__mpi_take(p, 2), s, sender, 0);
  pml__stream_unguard(t);
  return behind;
}

/* PML__LOG_IRECV, PML__LOG_ISEND_COMPLETE or PML__LOG_REQUEST_TESTED. */
static inline bool shim_quick_request(const uint64_t *enter, enum pml__log_communication what, uint64_t id) {
  struct pml__stream_thread *t = pml__stream_self;
  struct pml_stream_place *p = pml__mpi_open(t, enter);
  if (PML_UNLIKELY(p == NULL)) return false;
  pml__mpi_store(pml__mpi_take(p, 1), OF_WORLD(what, 0), id);
  pml__stream_unguard(t);
  return true;
}

/* ---- recent requests ---- */

/*
 * Uncompleted sends and receives in the world. Each is in the single entry selected by its handle; others are in
 * request.c's table. Sends that were complete when they were begun may share one handle: their numbers are in a ring,
 * and a call that completes this handle completes the first of them. Used only if the program's threads are not in MPI
 * at the same time: then shim_serial_world is shim_world, otherwise it is 0, and all entries are empty. Receives have
 * odd numbers, sends even ones.
 */
#define RECENTS 256u /* a byte of the key selects an entry, and the ring's indices are bytes */
#define RECENT_NONE RECENTS
#define RECENT_SHARED (RECENTS + 1)
struct recent {
  shim_key_t key[RECENTS + 1]; /* 0: free; the last one is always 0 */
  uint64_t id[RECENTS + 1];    /* the last one is for a shared request under completion */
  uint64_t shared[RECENTS];    /* the ring; 0: unused */
  uint8_t first, end;
};
extern struct recent shim_recent;
extern shim_key_t shim_serial_world;

static inline size_t shim_recent_at(shim_key_t key) {
  return (uint8_t)(key >> KEY_OF_REQUEST_BITS);
}
static inline bool shim_is_recent(MPI_Request handle, size_t *i) {
  *i = shim_recent_at(key_of(handle));
  return PML_LIKELY(shim_recent.key[*i] == key_of(handle));
}
/* Take the first number of the ring; 0: the ring is empty. */
static inline uint64_t shim_take_shared(void) {
  size_t i = shim_recent.first;
  uint64_t id = shim_recent.shared[i];
  if (PML_UNLIKELY(id == 0)) return 0;
  shim_recent.shared[i] = 0;
  shim_recent.first = (uint8_t)(i + 1);
  return id;
}
static inline bool shim_remember(MPI_Request handle, uint64_t id, bool receive) {
  size_t i = shim_recent_at(key_of(handle));
  if (is_shared(handle)) {
    i = shim_recent.end;
    if (receive || PML_UNLIKELY(shim_recent.shared[i] != 0)) return false;
    shim_recent.shared[i] = id;
    shim_recent.end = (uint8_t)(i + 1);
    return true;
  }
  if (PML_UNLIKELY(shim_recent.key[i] != 0)) return false;
  shim_recent.key[i] = key_of(handle);
  shim_recent.id[i] = id;
  return true;
}

/* ---- collective operations ---- */

/* Whether a type is predefined, so that bytes_in() calls nothing. */
static inline bool shim_is_predefined(MPI_Datatype type) {
  return PML_LIKELY(shim_type_place(type)->key == key_of(type));
}

/* Record the whole operation, before MPI's function. */
__attribute__((always_inline)) static inline bool shim_quick_collective(const uint64_t *enter,
                                                                        enum pml__log_collective what, int root,
                                                                        uint64_t sent, uint64_t received) {
  struct pml__stream_thread *t = pml__stream_self;
  struct pml_stream_place *p = pml__mpi_open(t, enter);
  if (PML_UNLIKELY(p == NULL)) return false;
  const uint32_t n = what == PML__LOG_BARRIER ? 0 : 2;
  struct pml__log_event *e = pml__mpi_take(p, 1 + n / 2);
  if (n > 0) {
    e[1].ticks = sent;
    e[1].word = received;
  }
  pml__mpi_store(e, PML__LOG_COMMUNICATED(PML__LOG_COLLECTIVE_END, n, what), pair(PML__MPI_WORLD, root));
  pml__stream_unguard(t);
  return true;
}

#pragma GCC visibility pop

#endif
