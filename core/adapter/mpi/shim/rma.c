/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/mpi/shim/rma.c - one-sided operations and their bytes. */
#include "shim.h"

#define OPERATION(name, what, count, type_of_count, parameters, arguments)                                             \
  HOOK(name)(UNWRAP parameters) {                                                                                      \
    if (shim_wanted()) shim_one_sided(what, count, type_of_count, target, win);                                        \
    return CALL_OF(name) arguments;                                                                                    \
  }

#define MINE count_t n, MPI_Datatype type
#define THEIRS int target, MPI_Aint at, count_t m, MPI_Datatype its_type
OPERATION(Put, PML__LOG_PUT, n, type, (const void *from, MINE, THEIRS, MPI_Win win),
          (from, n, type, target, at, m, its_type, win))
OPERATION(Get, PML__LOG_GET, n, type, (void *to, MINE, THEIRS, MPI_Win win),
          (to, n, type, target, at, m, its_type, win))
OPERATION(Accumulate, PML__LOG_ATOMIC, n, type, (const void *from, MINE, THEIRS, MPI_Op op, MPI_Win win),
          (from, n, type, target, at, m, its_type, op, win))
OPERATION(Get_accumulate, PML__LOG_ATOMIC, m, its_type,
          (const void *from, MINE, void *to, count_t nto, MPI_Datatype type_to, THEIRS, MPI_Op op, MPI_Win win),
          (from, n, type, to, nto, type_to, target, at, m, its_type, op, win))
#ifndef LARGE
OPERATION(Fetch_and_op, PML__LOG_ATOMIC, 1, type,
          (const void *from, void *to, MPI_Datatype type, int target, MPI_Aint at, MPI_Op op, MPI_Win win),
          (from, to, type, target, at, op, win))
OPERATION(Compare_and_swap, PML__LOG_ATOMIC, 1, type,
          (const void *from, const void *with, void *to, MPI_Datatype type, int target, MPI_Aint at, MPI_Win win),
          (from, with, to, type, target, at, win))
#endif
OPERATION(Rput, PML__LOG_PUT, n, type, (const void *from, MINE, THEIRS, MPI_Win win, MPI_Request *request),
          (from, n, type, target, at, m, its_type, win, request))
OPERATION(Rget, PML__LOG_GET, n, type, (void *to, MINE, THEIRS, MPI_Win win, MPI_Request *request),
          (to, n, type, target, at, m, its_type, win, request))
OPERATION(Raccumulate, PML__LOG_ATOMIC, n, type,
          (const void *from, MINE, THEIRS, MPI_Op op, MPI_Win win, MPI_Request *request),
          (from, n, type, target, at, m, its_type, op, win, request))
OPERATION(Rget_accumulate, PML__LOG_ATOMIC, m, its_type,
          (const void *from, MINE, void *to, count_t nto, MPI_Datatype type_to, THEIRS, MPI_Op op, MPI_Win win,
           MPI_Request *request),
          (from, n, type, to, nto, type_to, target, at, m, its_type, op, win, request))
