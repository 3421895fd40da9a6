/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/mpi/shim/persistent.c - persistent requests. */
#include "shim.h"

static void make(MPI_Request handle, enum request_kind kind, count_t count, MPI_Datatype type, int peer, int tag,
                 MPI_Comm comm) {
  const struct request r = {.entry.kind = kind | REQUEST_PERSISTENT,
                            .communicator = shim_communicator(comm)->number,
                            .peer = peer,
                            .tag = tag,
                            .sent = kind == REQUEST_SEND ? bytes_in(count, type) : 0};
  shim_request_begin(handle, &r);
}

#define PERSISTENT(name, kind, where)                                                                                  \
  HOOK(name)(where * at, count_t count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request *request) {   \
    int err = CALL_OF(name)(at, count, type, peer, tag, comm, request);                                                \
    if (err == MPI_SUCCESS && peer != MPI_PROC_NULL && shim_wanted())                                                  \
      make(*request, kind, count, type, peer, tag, comm);                                                              \
    return err;                                                                                                        \
  }
PERSISTENT(Send_init, REQUEST_SEND, const void)
PERSISTENT(Bsend_init, REQUEST_SEND, const void)
PERSISTENT(Ssend_init, REQUEST_SEND, const void)
PERSISTENT(Rsend_init, REQUEST_SEND, const void)
PERSISTENT(Recv_init, REQUEST_RECEIVE, void)

#ifndef LARGE
/* Called before the request starts, when no other thread can complete it. */
static void start(MPI_Request request) {
  struct request *e = shim_request_find(request);
  if (e == NULL || (e->entry.kind & REQUEST_PERSISTENT) == 0) return;
  e->id = shim_request_id();
  e->entry.kind |= REQUEST_STARTED;
  uint32_t kind = e->entry.kind & REQUEST_KIND;
  if (kind == REQUEST_SEND)
    shim_sends(pair(e->communicator, e->peer), e->tag, e->sent, e->id);
  else
    shim_request_is(kind == REQUEST_COLLECTIVE ? PML__LOG_COLLECTIVE_BEGIN : PML__LOG_IRECV, e->id);
}

HOOK(Start)(MPI_Request *request) {
  if (shim_wanted()) start(*request);
  return PMPI_Start(request);
}

HOOK(Startall)(int n, MPI_Request request[]) {
  for (int i = 0; i < n && shim_wanted(); i++) start(request[i]);
  return PMPI_Startall(n, request);
}

#if MPI_VERSION >= 4
/* Partitions become ready and arrive one by one, but form one message. */
#define PARTITIONED(name, which, where)                                                                                \
  HOOK(name)                                                                                                           \
  (where * at, int parts, MPI_Count count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Info info,         \
   MPI_Request *request) {                                                                                             \
    int err = PMPI_##name(at, parts, count, type, peer, tag, comm, info, request);                                     \
    if (err != MPI_SUCCESS || peer == MPI_PROC_NULL || !shim_wanted()) return err;                                     \
    const uint64_t bytes = bytes_in(parts * count, type);                                                              \
    const struct request r = {.entry.kind = (which) | REQUEST_PERSISTENT,                                              \
                              .communicator = shim_communicator(comm)->number,                                         \
                              .peer = peer,                                                                            \
                              .tag = tag,                                                                              \
                              .sent = bytes,                                                                           \
                              .received = bytes};                                                                      \
    shim_request_begin(*request, &r);                                                                                  \
    return err;                                                                                                        \
  }
PARTITIONED(Psend_init, REQUEST_SEND, const void)
PARTITIONED(Precv_init, REQUEST_PARTITIONED, void)
#endif
#endif
