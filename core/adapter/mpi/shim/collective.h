/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/mpi/shim/collective.h - hooks of collective operations: blocking, immediate and persistent. */
#ifndef SHIM_COLLECTIVE_H
#define SHIM_COLLECTIVE_H

#include "quick.h"

/* Bytes moved by an operation. */
struct volume {
  uint64_t sent, received;
};

/* A collective operation with a request; @bytes uses c, the communicator. */
#define REQUESTED(more, code, root, bytes)                                                                             \
  const struct communicator *c = shim_communicator(comm);                                                              \
  const struct volume v = bytes;                                                                                       \
  const struct request r = {.entry.kind = REQUEST_COLLECTIVE | (more),                                                 \
                            .id = shim_request_id(),                                                                   \
                            .communicator = c->number,                                                                 \
                            .peer = (int)(root),                                                                       \
                            .tag = code,                                                                               \
                            .sent = v.sent,                                                                            \
                            .received = v.received};

#if MPI_VERSION >= 4
#define PERSISTENT(name, code, root, bytes, parameters, arguments)                                                     \
  HOOK(name##_init)(UNWRAP parameters, MPI_Info info, MPI_Request * request) {                                         \
    int err = CALL_OF(name##_init)(UNWRAP arguments, info, request);                                                   \
    if (err != MPI_SUCCESS || !shim_wanted()) return err;                                                              \
    REQUESTED(REQUEST_PERSISTENT, code, root, bytes)                                                                   \
    shim_request_begin(*request, &r);                                                                                  \
    return err;                                                                                                        \
  }
#else
#define PERSISTENT(name, code, root, bytes, parameters, arguments)
#endif

#define COLLECTIVE_BODY(name, code, root, bytes, arguments)                                                            \
  {                                                                                                                    \
    if (!shim_wanted()) return CALL_OF(name) arguments;                                                                \
    const struct communicator *c = shim_communicator(comm);                                                            \
    const struct volume v = bytes;                                                                                     \
    shim_request_is(PML__LOG_COLLECTIVE_BEGIN, 0);                                                                     \
    int err = CALL_OF(name) arguments;                                                                                 \
    shim_collective_end(code, pair(c->number, (int)(root)), v.sent, v.received, 0);                                    \
    return err;                                                                                                        \
  }

#define COLLECTIVE_REQUEST(name, immediate, code, root, bytes, parameters, arguments)                                  \
  HOOK(I##immediate)(UNWRAP parameters, MPI_Request * request) {                                                       \
    if (!shim_wanted()) return CALL_OF(I##immediate)(UNWRAP arguments, request);                                       \
    REQUESTED(0, code, root, bytes)                                                                                    \
    shim_request_is(PML__LOG_COLLECTIVE_BEGIN, r.id);                                                                  \
    int err = CALL_OF(I##immediate)(UNWRAP arguments, request);                                                        \
    shim_request_begun(err, request, &r);                                                                              \
    return err;                                                                                                        \
  }                                                                                                                    \
  PERSISTENT(name, code, root, bytes, parameters, arguments)

#define COLLECTIVE(name, immediate, code, root, bytes, parameters, arguments)                                          \
  HOOK(name)                                                                                                           \
  (UNWRAP parameters) COLLECTIVE_BODY(name, code, root, bytes, arguments)                                              \
      COLLECTIVE_REQUEST(name, immediate, code, root, bytes, parameters, arguments)

/* If @known is true, @bytes calls no function: the operation is recorded at once, in the world. */
#define QUICK_COLLECTIVE(name, immediate, code, root, bytes, known, parameters, arguments)                             \
  HAS_ENTER(name)                                                                                                      \
  __attribute__((noinline)) static int slow_##name(UNWRAP parameters)                                                  \
      COLLECTIVE_BODY(name, code, root, bytes, arguments)                                                              \
          __attribute__((noinline, cold)) static int first_##name(UNWRAP parameters) {                                 \
    LEARN(name);                                                                                                       \
    return slow_##name arguments;                                                                                      \
  }                                                                                                                    \
  HOOK(name)(UNWRAP parameters) {                                                                                      \
    if (PML_UNLIKELY(!shim_wanted_of_world(comm)) || PML_UNLIKELY(!(known))) return first_##name arguments;            \
    const struct communicator *c = shim_world_communicator;                                                            \
    const struct volume v = bytes;                                                                                     \
    if (PML_UNLIKELY(!shim_quick_collective(&ENTER_OF(name), code, (int)(root), v.sent, v.received)))                  \
      return first_##name arguments;                                                                                   \
    return CALL_OF(name) arguments;                                                                                    \
  }                                                                                                                    \
  COLLECTIVE_REQUEST(name, immediate, code, root, bytes, parameters, arguments)

#define NONE PML__LOG_NO_RANK
#define FROM const void *from, count_t nfrom, MPI_Datatype type_from
#define TO void *to, count_t nto, MPI_Datatype type_to

#endif
