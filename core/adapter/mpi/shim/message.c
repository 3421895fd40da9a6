/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/mpi/shim/message.c - sends and receives, blocking and immediate. */
#include "shim.h"

/* ---- blocking ---- */

static void send_begins(int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm) {
  if (peer != MPI_PROC_NULL) shim_sent(pair(shim_number(comm), peer), tag, bytes_in(count, type));
}

static void received(const MPI_Status *s, MPI_Comm comm) {
  if (s->MPI_SOURCE != MPI_PROC_NULL) shim_received(pair(shim_number(comm), s->MPI_SOURCE), s->MPI_TAG, bytes_of(s));
}

/*
 * What most sends are, one of a predefined type in the world: nothing is called, so that no argument has to be saved.
 * False: it is another, and nothing was raised.
 */
__attribute__((always_inline)) static inline bool is_sent_at_once(int count, MPI_Datatype type, int peer, int tag,
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

#define BLOCKING_SEND(name)                                                                                            \
  __attribute__((noinline)) static int slow_##name(const void *at, int count, MPI_Datatype type, int peer, int tag,    \
                                                   MPI_Comm comm) {                                                    \
    if (shim_wanted()) send_begins(count, type, peer, tag, comm);                                                      \
    return PMPI_##name(at, count, type, peer, tag, comm);                                                              \
  }                                                                                                                    \
  static int hook_MPI_##name(const void *at, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm) {         \
    if (PML_UNLIKELY(!is_sent_at_once(count, type, peer, tag, comm)))                                                  \
      return slow_##name(at, count, type, peer, tag, comm);                                                            \
    return PMPI_##name(at, count, type, peer, tag, comm);                                                              \
  }
BLOCKING_SEND(Send)
BLOCKING_SEND(Bsend)
BLOCKING_SEND(Ssend)
BLOCKING_SEND(Rsend)

static int hook_MPI_Recv(void *at, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Status *status) {
  MPI_Status own[1], *s = status == MPI_STATUS_IGNORE ? own : status;
  if (!shim_wanted()) return PMPI_Recv(at, count, type, peer, tag, comm, status);
  int err = PMPI_Recv(at, count, type, peer, tag, comm, s);
  if (err == MPI_SUCCESS) received(s, comm);
  return err;
}

static int hook_MPI_Sendrecv(const void *from, int nfrom, MPI_Datatype type_from, int to_peer, int to_tag, void *to,
                             int nto, MPI_Datatype type_to, int from_peer, int from_tag, MPI_Comm comm,
                             MPI_Status *status) {
  MPI_Status own[1], *s = status == MPI_STATUS_IGNORE ? own : status;
  bool wanted = shim_wanted();
  if (wanted) send_begins(nfrom, type_from, to_peer, to_tag, comm);
  int err = PMPI_Sendrecv(from, nfrom, type_from, to_peer, to_tag, to, nto, type_to, from_peer, from_tag, comm,
                          wanted ? s : status);
  if (wanted && err == MPI_SUCCESS) received(s, comm);
  return err;
}

static int hook_MPI_Sendrecv_replace(void *at, int count, MPI_Datatype type, int to_peer, int to_tag, int from_peer,
                                     int from_tag, MPI_Comm comm, MPI_Status *status) {
  MPI_Status own[1], *s = status == MPI_STATUS_IGNORE ? own : status;
  bool wanted = shim_wanted();
  if (wanted) send_begins(count, type, to_peer, to_tag, comm);
  int err = PMPI_Sendrecv_replace(at, count, type, to_peer, to_tag, from_peer, from_tag, comm, wanted ? s : status);
  if (wanted && err == MPI_SUCCESS) received(s, comm);
  return err;
}

/* ---- immediate ---- */

#define IMMEDIATE_SEND(name)                                                                                           \
  static int hook_MPI_##name(const void *at, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,           \
                             MPI_Request *request) {                                                                   \
    if (!shim_wanted() || peer == MPI_PROC_NULL) return PMPI_##name(at, count, type, peer, tag, comm, request);        \
    uint64_t id = shim_request_id();                                                                                   \
    shim_sends(pair(shim_number(comm), peer), tag, bytes_in(count, type), id);                                         \
    int err = PMPI_##name(at, count, type, peer, tag, comm, request);                                                  \
    shim_request_posted(err, request, REQUEST_SEND, id, 0);                                                            \
    return err;                                                                                                        \
  }
IMMEDIATE_SEND(Isend)
IMMEDIATE_SEND(Ibsend)
IMMEDIATE_SEND(Issend)
IMMEDIATE_SEND(Irsend)

static int hook_MPI_Irecv(void *at, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                          MPI_Request *request) {
  if (!shim_wanted() || peer == MPI_PROC_NULL) return PMPI_Irecv(at, count, type, peer, tag, comm, request);
  uint64_t id = shim_request_id();
  uint32_t communicator = shim_number(comm);
  shim_request_is(PML__LOG_IRECV, id);
  int err = PMPI_Irecv(at, count, type, peer, tag, comm, request);
  shim_request_posted(err, request, REQUEST_RECEIVE, id, communicator);
  return err;
}

/* ---- probed ---- */

static struct pml__mpi_table probed; /* messages that are matched and not received; their kind is the communicator */

static void probe(MPI_Message message, MPI_Comm comm) {
  if (!shim_wanted() || message == MPI_MESSAGE_NULL || message == MPI_MESSAGE_NO_PROC) return;
  struct pml__mpi_entry *e = pml__mpi_add(&probed, key_of(message));
  if (e == NULL) return;
  e->kind = shim_number(comm);
  pml__mpi_publish(e);
}

/* Its communicator; 0: it is not known. */
static uint32_t take_probed(MPI_Message message) {
  struct pml__mpi_entry *e = message != MPI_MESSAGE_NULL ? pml__mpi_find(&probed, key_of(message)) : NULL;
  if (e == NULL) return 0;
  uint32_t communicator = e->kind;
  pml__mpi_remove(e);
  return communicator;
}

static int hook_MPI_Mprobe(int peer, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status) {
  int err = PMPI_Mprobe(peer, tag, comm, message, status);
  if (err == MPI_SUCCESS) probe(*message, comm);
  return err;
}

static int hook_MPI_Improbe(int peer, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status) {
  int err = PMPI_Improbe(peer, tag, comm, flag, message, status);
  if (err == MPI_SUCCESS && *flag) probe(*message, comm);
  return err;
}

static int hook_MPI_Mrecv(void *at, int count, MPI_Datatype type, MPI_Message *message, MPI_Status *status) {
  MPI_Status own[1], *s = status == MPI_STATUS_IGNORE ? own : status;
  uint32_t communicator = take_probed(*message);
  if (communicator == 0) return PMPI_Mrecv(at, count, type, message, status);
  int err = PMPI_Mrecv(at, count, type, message, s);
  if (err == MPI_SUCCESS) shim_received(pair(communicator, s->MPI_SOURCE), s->MPI_TAG, bytes_of(s));
  return err;
}

static int hook_MPI_Imrecv(void *at, int count, MPI_Datatype type, MPI_Message *message, MPI_Request *request) {
  uint32_t communicator = take_probed(*message);
  if (communicator == 0) return PMPI_Imrecv(at, count, type, message, request);
  uint64_t id = shim_request_id();
  shim_request_is(PML__LOG_IRECV, id);
  int err = PMPI_Imrecv(at, count, type, message, request);
  shim_request_posted(err, request, REQUEST_RECEIVE, id, communicator);
  return err;
}

static const struct pml__mpi_hook hooks[] = {HOOK(MPI_Send),
                                             HOOK(MPI_Bsend),
                                             HOOK(MPI_Ssend),
                                             HOOK(MPI_Rsend),
                                             HOOK(MPI_Recv),
                                             HOOK(MPI_Sendrecv),
                                             HOOK(MPI_Sendrecv_replace),
                                             HOOK(MPI_Isend),
                                             HOOK(MPI_Ibsend),
                                             HOOK(MPI_Issend),
                                             HOOK(MPI_Irsend),
                                             HOOK(MPI_Irecv),
                                             HOOK(MPI_Mprobe),
                                             HOOK(MPI_Improbe),
                                             HOOK(MPI_Mrecv),
                                             HOOK(MPI_Imrecv)};
const struct pml__mpi_hooks shim_message_hooks = HOOKS(hooks);
