/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/mpi/shim/message.c - sends and receives, blocking and immediate. */
#include "shim.h"

/* ---- blocking ---- */

static void send_begins(count_t count, MPI_Datatype type, int peer, int tag, MPI_Comm comm) {
  if (peer != MPI_PROC_NULL) shim_sent(pair(shim_number(comm), peer), tag, bytes_in(count, type));
}

static void received(const MPI_Status *s, MPI_Comm comm) {
  if (s->MPI_SOURCE != MPI_PROC_NULL) shim_received(pair(shim_number(comm), s->MPI_SOURCE), s->MPI_TAG, bytes_of(s));
}

/*
 * Raise the usual send: of a predefined type, in the world. Nothing is called, so that no argument has to be saved.
 * False: another send; nothing was raised.
 */
__attribute__((always_inline)) static inline bool is_sent_at_once(count_t count, MPI_Datatype type, int peer, int tag,
                                                                  MPI_Comm comm) {
  struct pml__mpi_lane *l = pml__mpi_lane;
  const struct type *t = shim_type_place(type);
  if (PML_UNLIKELY(!shim_wanted_of_world(comm) || t->key != key_of(type) || l == NULL || peer == MPI_PROC_NULL))
    return false;
  uint64_t bytes = (uint64_t)count * t->size;
  if (PML_UNLIKELY(!pml__mpi_put(PML__LOG_COMMUNICATED(PML__LOG_SEND, 3, 0), pair(PML__MPI_WORLD, peer), (uint32_t)tag,
                                 bytes, 0)))
    return false;
  pml__mpi_count_sent(l, peer, bytes);
  return true;
}

/* The same of what was received. */
__attribute__((always_inline)) static inline bool is_received_at_once(const MPI_Status *s) {
  struct pml__mpi_lane *l = pml__mpi_lane;
  uint64_t bytes = bytes_of(s);
  if (PML_UNLIKELY(l == NULL) ||
      PML_UNLIKELY(!pml__mpi_put(PML__LOG_COMMUNICATED(PML__LOG_RECEIVE, 3, 0), pair(PML__MPI_WORLD, s->MPI_SOURCE),
                                 (uint32_t)s->MPI_TAG, bytes, 0)))
    return false;
  pml__mpi_count_size(l, PML__MPI_RECEIVED, bytes);
  return true;
}

#define BLOCKING_SEND(name)                                                                                            \
  __attribute__((noinline)) static int slow_##name(const void *at, count_t count, MPI_Datatype type, int peer,         \
                                                   int tag, MPI_Comm comm) {                                           \
    if (shim_wanted()) send_begins(count, type, peer, tag, comm);                                                      \
    return CALL_OF(name)(at, count, type, peer, tag, comm);                                                            \
  }                                                                                                                    \
  static int HOOK_OF(name)(const void *at, count_t count, MPI_Datatype type, int peer, int tag, MPI_Comm comm) {       \
    if (PML_UNLIKELY(!is_sent_at_once(count, type, peer, tag, comm)))                                                  \
      return slow_##name(at, count, type, peer, tag, comm);                                                            \
    return CALL_OF(name)(at, count, type, peer, tag, comm);                                                            \
  }
BLOCKING_SEND(Send)
BLOCKING_SEND(Bsend)
BLOCKING_SEND(Ssend)
BLOCKING_SEND(Rsend)

__attribute__((noinline)) static int slow_Recv(void *at, count_t count, MPI_Datatype type, int peer, int tag,
                                               MPI_Comm comm, MPI_Status *status) {
  MPI_Status own[1], *s = status == MPI_STATUS_IGNORE ? own : status;
  if (!shim_wanted()) return CALL_OF(Recv)(at, count, type, peer, tag, comm, status);
  int err = CALL_OF(Recv)(at, count, type, peer, tag, comm, s);
  if (err == MPI_SUCCESS) received(s, comm);
  return err;
}

/* The usual receive is in the world. */
static int HOOK_OF(Recv)(void *at, count_t count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                         MPI_Status *status) {
  if (PML_UNLIKELY(!shim_wanted_of_world(comm))) return slow_Recv(at, count, type, peer, tag, comm, status);
  MPI_Status own[1], *s = status == MPI_STATUS_IGNORE ? own : status;
  int err = CALL_OF(Recv)(at, count, type, peer, tag, comm, s);
  if (PML_UNLIKELY(err != MPI_SUCCESS)) return err;
  if (PML_LIKELY(s->MPI_SOURCE != MPI_PROC_NULL) && PML_UNLIKELY(!is_received_at_once(s)))
    shim_received(pair(PML__MPI_WORLD, s->MPI_SOURCE), s->MPI_TAG, bytes_of(s));
  return MPI_SUCCESS;
}

static int HOOK_OF(Sendrecv)(const void *from, count_t nfrom, MPI_Datatype type_from, int to_peer, int to_tag, void *to,
                             count_t nto, MPI_Datatype type_to, int from_peer, int from_tag, MPI_Comm comm,
                             MPI_Status *status) {
  MPI_Status own[1], *s = status == MPI_STATUS_IGNORE ? own : status;
  bool wanted = shim_wanted();
  if (wanted) send_begins(nfrom, type_from, to_peer, to_tag, comm);
  int err = CALL_OF(Sendrecv)(from, nfrom, type_from, to_peer, to_tag, to, nto, type_to, from_peer, from_tag, comm,
                              wanted ? s : status);
  if (wanted && err == MPI_SUCCESS) received(s, comm);
  return err;
}

static int HOOK_OF(Sendrecv_replace)(void *at, count_t count, MPI_Datatype type, int to_peer, int to_tag, int from_peer,
                                     int from_tag, MPI_Comm comm, MPI_Status *status) {
  MPI_Status own[1], *s = status == MPI_STATUS_IGNORE ? own : status;
  bool wanted = shim_wanted();
  if (wanted) send_begins(count, type, to_peer, to_tag, comm);
  int err = CALL_OF(Sendrecv_replace)(at, count, type, to_peer, to_tag, from_peer, from_tag, comm, wanted ? s : status);
  if (wanted && err == MPI_SUCCESS) received(s, comm);
  return err;
}

/* ---- immediate ---- */

#define IMMEDIATE_SEND(name)                                                                                           \
  static int HOOK_OF(name)(const void *at, count_t count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,         \
                           MPI_Request *request) {                                                                     \
    if (!shim_wanted() || peer == MPI_PROC_NULL) return CALL_OF(name)(at, count, type, peer, tag, comm, request);      \
    uint64_t id = shim_request_id();                                                                                   \
    shim_sends(pair(shim_number(comm), peer), tag, bytes_in(count, type), id);                                         \
    int err = CALL_OF(name)(at, count, type, peer, tag, comm, request);                                                \
    shim_request_posted(err, request, REQUEST_SEND, id, 0);                                                            \
    return err;                                                                                                        \
  }
IMMEDIATE_SEND(Isend)
IMMEDIATE_SEND(Ibsend)
IMMEDIATE_SEND(Issend)
IMMEDIATE_SEND(Irsend)

static int HOOK_OF(Irecv)(void *at, count_t count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                          MPI_Request *request) {
  if (!shim_wanted() || peer == MPI_PROC_NULL) return CALL_OF(Irecv)(at, count, type, peer, tag, comm, request);
  uint64_t id = shim_request_id();
  uint32_t communicator = shim_number(comm);
  shim_request_is(PML__LOG_IRECV, id);
  int err = CALL_OF(Irecv)(at, count, type, peer, tag, comm, request);
  shim_request_posted(err, request, REQUEST_RECEIVE, id, communicator);
  return err;
}

/* ---- probed ---- */

static int HOOK_OF(Mrecv)(void *at, count_t count, MPI_Datatype type, MPI_Message *message, MPI_Status *status) {
  MPI_Status own[1], *s = status == MPI_STATUS_IGNORE ? own : status;
  uint32_t communicator = shim_take_probed(*message);
  if (communicator == 0) return CALL_OF(Mrecv)(at, count, type, message, status);
  int err = CALL_OF(Mrecv)(at, count, type, message, s);
  if (err == MPI_SUCCESS) shim_received(pair(communicator, s->MPI_SOURCE), s->MPI_TAG, bytes_of(s));
  return err;
}

static int HOOK_OF(Imrecv)(void *at, count_t count, MPI_Datatype type, MPI_Message *message, MPI_Request *request) {
  uint32_t communicator = shim_take_probed(*message);
  if (communicator == 0) return CALL_OF(Imrecv)(at, count, type, message, request);
  uint64_t id = shim_request_id();
  shim_request_is(PML__LOG_IRECV, id);
  int err = CALL_OF(Imrecv)(at, count, type, message, request);
  shim_request_posted(err, request, REQUEST_RECEIVE, id, communicator);
  return err;
}

static const struct pml__mpi_hook hooks[] = {HOOK_HERE(Send),
                                             HOOK_HERE(Bsend),
                                             HOOK_HERE(Ssend),
                                             HOOK_HERE(Rsend),
                                             HOOK_HERE(Recv),
                                             HOOK_HERE(Sendrecv),
                                             HOOK_HERE(Sendrecv_replace),
                                             HOOK_HERE(Isend),
                                             HOOK_HERE(Ibsend),
                                             HOOK_HERE(Issend),
                                             HOOK_HERE(Irsend),
                                             HOOK_HERE(Irecv),
                                             HOOK_HERE(Mrecv),
                                             HOOK_HERE(Imrecv)};
const struct pml__mpi_hooks LIST_OF(message) = HOOKS(hooks);
