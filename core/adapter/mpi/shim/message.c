/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/mpi/shim/message.c - sends and receives, blocking and immediate. */
#include "quick.h"

/* ---- blocking ---- */

static void send_begins(count_t count, MPI_Datatype type, int peer, int tag, MPI_Comm comm) {
  if (peer != MPI_PROC_NULL) shim_sent(pair(shim_number(comm), peer), tag, bytes_in(count, type));
}

/* Returns MPI_SUCCESS. */
__attribute__((noinline)) static int received(const MPI_Status *s, MPI_Comm comm) {
  if (s->MPI_SOURCE != MPI_PROC_NULL) shim_received(pair(shim_number(comm), s->MPI_SOURCE), s->MPI_TAG, bytes_of(s));
  return MPI_SUCCESS;
}

/* When this code runs, handles belong to the world, so the compiler need not save them. */
#define BLOCKING_SEND(name)                                                                                            \
  HAS_ENTER(name)                                                                                                      \
  __attribute__((noinline)) static int slow_##name(const void *at, count_t count, MPI_Datatype type, int peer,         \
                                                   int tag, MPI_Comm comm) {                                           \
    LEARN(name);                                                                                                       \
    shim_learn_type(type);                                                                                             \
    if (shim_wanted()) send_begins(count, type, peer, tag, comm);                                                      \
    return CALL_OF(name)(at, count, type, peer, tag, comm);                                                            \
  }                                                                                                                    \
  HOOK(name)(const void *at, count_t count, MPI_Datatype type, int peer, int tag, MPI_Comm comm) {                     \
    if (PML_UNLIKELY(!shim_wanted_of_world(comm) || !shim_quick_send(&ENTER_OF(name), NULL, count, type, peer, tag)))  \
      return slow_##name(at, count, type, peer, tag, comm);                                                            \
    return CALL_OF(name)(at, count, type, peer, tag, MPI_COMM_WORLD);                                                  \
  }
BLOCKING_SEND(Send)
BLOCKING_SEND(Bsend)
BLOCKING_SEND(Ssend)
BLOCKING_SEND(Rsend)

HAS_ENTER(Recv)
__attribute__((noinline)) static int slow_Recv(void *at, count_t count, MPI_Datatype type, int peer, int tag,
                                               MPI_Comm comm, MPI_Status *status) {
  MPI_Status own[1], *s = status == MPI_STATUS_IGNORE ? own : status;
  if (!shim_wanted()) return CALL_OF(Recv)(at, count, type, peer, tag, comm, status);
  LEARN(Recv);
  int err = CALL_OF(Recv)(at, count, type, peer, tag, comm, s);
  if (err == MPI_SUCCESS) received(s, comm);
  return err;
}

HOOK(Recv)(void *at, count_t count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Status *status) {
  if (PML_UNLIKELY(!shim_wanted_of_world(comm))) return slow_Recv(at, count, type, peer, tag, comm, status);
  MPI_Status own[1], *s = status == MPI_STATUS_IGNORE ? own : status;
  int err = CALL_OF(Recv)(at, count, type, peer, tag, comm, s);
  if (PML_UNLIKELY(err != MPI_SUCCESS)) return err;
  if (PML_LIKELY(shim_quick_received(&ENTER_OF(Recv), s, 0))) return MPI_SUCCESS;
  LEARN(Recv);
  return received(s, MPI_COMM_WORLD);
}

HAS_ENTER(Sendrecv)
__attribute__((noinline)) static int slow_Sendrecv(const void *from, count_t nfrom, MPI_Datatype type_from, int to_peer,
                                                   int to_tag, void *to, count_t nto, MPI_Datatype type_to,
                                                   int from_peer, int from_tag, MPI_Comm comm, MPI_Status *status) {
  MPI_Status own[1], *s = status == MPI_STATUS_IGNORE ? own : status;
  bool wanted = shim_wanted();
  LEARN(Sendrecv);
  shim_learn_type(type_from);
  if (wanted) send_begins(nfrom, type_from, to_peer, to_tag, comm);
  int err = CALL_OF(Sendrecv)(from, nfrom, type_from, to_peer, to_tag, to, nto, type_to, from_peer, from_tag, comm,
                              wanted ? s : status);
  if (wanted && err == MPI_SUCCESS) received(s, comm);
  return err;
}

HOOK(Sendrecv)
(const void *from, count_t nfrom, MPI_Datatype type_from, int to_peer, int to_tag, void *to, count_t nto,
 MPI_Datatype type_to, int from_peer, int from_tag, MPI_Comm comm, MPI_Status *status) {
  if (PML_UNLIKELY(!shim_wanted_of_world(comm)) ||
      PML_UNLIKELY(!shim_quick_send(&ENTER_OF(Sendrecv), NULL, nfrom, type_from, to_peer, to_tag)))
    return slow_Sendrecv(from, nfrom, type_from, to_peer, to_tag, to, nto, type_to, from_peer, from_tag, comm, status);
  MPI_Status own[1], *s = status == MPI_STATUS_IGNORE ? own : status;
  int err = CALL_OF(Sendrecv)(from, nfrom, type_from, to_peer, to_tag, to, nto, type_to, from_peer, from_tag, comm, s);
  if (PML_UNLIKELY(err != MPI_SUCCESS) || PML_LIKELY(shim_quick_received_too(&ENTER_OF(Sendrecv), s))) return err;
  return received(s, MPI_COMM_WORLD);
}

HOOK(Sendrecv_replace)
(void *at, count_t count, MPI_Datatype type, int to_peer, int to_tag, int from_peer, int from_tag, MPI_Comm comm,
 MPI_Status *status) {
  MPI_Status own[1], *s = status == MPI_STATUS_IGNORE ? own : status;
  bool wanted = shim_wanted();
  if (wanted) send_begins(count, type, to_peer, to_tag, comm);
  int err = CALL_OF(Sendrecv_replace)(at, count, type, to_peer, to_tag, from_peer, from_tag, comm, wanted ? s : status);
  if (wanted && err == MPI_SUCCESS) received(s, comm);
  return err;
}

/* ---- immediate ---- */

/* The request is the thread's last, because MPI_Isend calls no code of the program, so no other request can begin in
 * between. Its address is volatile: it stays in its stack slot instead of a register that would have to be saved. */
#define IMMEDIATE_SEND(name)                                                                                           \
  HAS_ENTER(name)                                                                                                      \
  __attribute__((noinline)) static int slow_##name(const void *at, count_t count, MPI_Datatype type, int peer,         \
                                                   int tag, MPI_Comm comm, MPI_Request *request) {                     \
    if (!shim_wanted() || peer == MPI_PROC_NULL) return CALL_OF(name)(at, count, type, peer, tag, comm, request);      \
    LEARN(name);                                                                                                       \
    shim_learn_type(type);                                                                                             \
    uint64_t id = shim_request_id();                                                                                   \
    shim_sends(pair(shim_number(comm), peer), tag, bytes_in(count, type), id);                                         \
    int err = CALL_OF(name)(at, count, type, peer, tag, comm, request);                                                \
    return shim_request_posted(request, REQUEST_SEND, id, 0, err);                                                     \
  }                                                                                                                    \
  HOOK(name)                                                                                                           \
  (const void *at, count_t count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,                                 \
   MPI_Request *volatile request) {                                                                                    \
    if (PML_UNLIKELY(shim_serial_world != key_of(comm)) ||                                                             \
        PML_UNLIKELY(!shim_quick_send(&ENTER_OF(name), &shim_last_request, count, type, peer, tag)))                   \
      return slow_##name(at, count, type, peer, tag, comm, request);                                                   \
    int err = CALL_OF(name)(at, count, type, peer, tag, MPI_COMM_WORLD, request);                                      \
    if (PML_UNLIKELY(err != MPI_SUCCESS) || PML_UNLIKELY(!shim_remember(*request, shim_last_request, false)))          \
      return shim_request_posted(request, REQUEST_SEND, shim_last_request, 0, err);                                    \
    return err;                                                                                                        \
  }
IMMEDIATE_SEND(Isend)
IMMEDIATE_SEND(Ibsend)
IMMEDIATE_SEND(Issend)
IMMEDIATE_SEND(Irsend)

HAS_ENTER(Irecv)
__attribute__((noinline)) static int slow_Irecv(void *at, count_t count, MPI_Datatype type, int peer, int tag,
                                                MPI_Comm comm, MPI_Request *request) {
  if (!shim_wanted() || peer == MPI_PROC_NULL) return CALL_OF(Irecv)(at, count, type, peer, tag, comm, request);
  LEARN(Irecv);
  uint64_t id = shim_request_id();
  uint32_t communicator = shim_number(comm);
  shim_request_is(PML__LOG_IRECV, id);
  int err = CALL_OF(Irecv)(at, count, type, peer, tag, comm, request);
  return shim_request_posted(request, REQUEST_RECEIVE, id, communicator, err);
}

HOOK(Irecv)
(void *at, count_t count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request *volatile request) {
  if (PML_UNLIKELY(shim_serial_world != key_of(comm)) || PML_UNLIKELY(peer == MPI_PROC_NULL) ||
      PML_UNLIKELY(!shim_quick_request(&ENTER_OF(Irecv), PML__LOG_IRECV, (shim_last_request += 2) + 1)))
    return slow_Irecv(at, count, type, peer, tag, comm, request);
  int err = CALL_OF(Irecv)(at, count, type, peer, tag, comm, request);
  if (PML_UNLIKELY(err != MPI_SUCCESS) || PML_UNLIKELY(!shim_remember(*request, shim_last_request + 1, true)))
    return shim_request_posted(request, REQUEST_RECEIVE, shim_last_request + 1, PML__MPI_WORLD, err);
  return MPI_SUCCESS;
}

#if MPI_VERSION >= 4
/* One request for a send and a receive, either of which may be MPI_PROC_NULL. MPICH 4 does not return the receive's
 * status; then the message is assumed as requested, if the request names its sender. */
static enum request_kind receive_kind(int peer, int tag, bool sends) {
#ifdef OPEN_MPI
  (void)peer, (void)tag;
  return sends ? REQUEST_BOTH : REQUEST_RECEIVE;
#else
  if (peer != MPI_ANY_SOURCE && tag != MPI_ANY_TAG) return sends ? REQUEST_BOTH_KNOWN : REQUEST_PARTITIONED;
  pml__mpi_set_trouble(
      "what MPI_Isendrecv receives from any source or with any tag is not recorded: MPICH does not say "
      "what it was");
  return sends ? REQUEST_SEND : REQUEST_NONE;
#endif
}

static struct request both_begin(count_t count, MPI_Datatype type, int to, int to_tag, count_t room,
                                 MPI_Datatype its_type, int from, int from_tag, MPI_Comm comm) {
  struct request r = {.entry.kind = REQUEST_NONE, .peer = from, .tag = from_tag};
  if (!shim_wanted()) return r;
  r.communicator = shim_number(comm);
  r.entry.kind = to != MPI_PROC_NULL ? REQUEST_SEND : REQUEST_NONE;
  if (from != MPI_PROC_NULL) r.entry.kind = receive_kind(from, from_tag, to != MPI_PROC_NULL);
  r.received = from != MPI_PROC_NULL ? bytes_in(room, its_type) : 0;
  if (to != MPI_PROC_NULL)
    shim_sends(pair(r.communicator, to), to_tag, bytes_in(count, type), r.sent = shim_request_id());
  r.id = r.sent;
  if (r.entry.kind != REQUEST_SEND && r.entry.kind != REQUEST_NONE)
    shim_request_is(PML__LOG_IRECV, r.id = shim_request_id());
  return r;
}

static int both_begun(const struct request *r, int err, const MPI_Request *request) {
  if (r->entry.kind == REQUEST_NONE) return err;
  if (err != MPI_SUCCESS && r->sent != 0 && r->sent != r->id) shim_request_is(PML__LOG_REQUEST_CANCELLED, r->sent);
  shim_request_begun(err, request, r);
  return err;
}

HOOK(Isendrecv)
(const void *from, count_t nfrom, MPI_Datatype type_from, int to_peer, int to_tag, void *to, count_t nto,
 MPI_Datatype type_to, int from_peer, int from_tag, MPI_Comm comm, MPI_Request *request) {
  const struct request r = both_begin(nfrom, type_from, to_peer, to_tag, nto, type_to, from_peer, from_tag, comm);
  int err =
      CALL_OF(Isendrecv)(from, nfrom, type_from, to_peer, to_tag, to, nto, type_to, from_peer, from_tag, comm, request);
  return both_begun(&r, err, request);
}

HOOK(Isendrecv_replace)
(void *at, count_t count, MPI_Datatype type, int to_peer, int to_tag, int from_peer, int from_tag, MPI_Comm comm,
 MPI_Request *request) {
  const struct request r = both_begin(count, type, to_peer, to_tag, count, type, from_peer, from_tag, comm);
  int err = CALL_OF(Isendrecv_replace)(at, count, type, to_peer, to_tag, from_peer, from_tag, comm, request);
  return both_begun(&r, err, request);
}
#endif

/* ---- matched probes ---- */

HOOK(Mrecv)(void *at, count_t count, MPI_Datatype type, MPI_Message *message, MPI_Status *status) {
  MPI_Status own[1], *s = status == MPI_STATUS_IGNORE ? own : status;
  uint32_t communicator = shim_take_probed(*message);
  if (communicator == 0) return CALL_OF(Mrecv)(at, count, type, message, status);
  int err = CALL_OF(Mrecv)(at, count, type, message, s);
  if (err == MPI_SUCCESS) shim_received(pair(communicator, s->MPI_SOURCE), s->MPI_TAG, bytes_of(s));
  return err;
}

HOOK(Imrecv)(void *at, count_t count, MPI_Datatype type, MPI_Message *message, MPI_Request *request) {
  uint32_t communicator = shim_take_probed(*message);
  if (communicator == 0) return CALL_OF(Imrecv)(at, count, type, message, request);
  uint64_t id = shim_request_id();
  shim_request_is(PML__LOG_IRECV, id);
  int err = CALL_OF(Imrecv)(at, count, type, message, request);
  return shim_request_posted(request, REQUEST_RECEIVE, id, communicator, err);
}
