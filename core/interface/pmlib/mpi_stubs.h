/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/interface/pmlib/mpi_stubs.h - MPI calls of programs compiled with -DDISABLE_MPI: one process.
 *
 * Types are named as in mpi.h; gathering or reducing over one process copies the data.
 */
#ifndef PML_COMPAT_MPI_STUBS_H
#define PML_COMPAT_MPI_STUBS_H

#include <cstdlib>
#include <cstring>

#define MPI_COMM_WORLD 0
#define MPI_SUCCESS 0
#define MPI_CHAR 1
#define MPI_INT 4
#define MPI_LONG 8
#define MPI_UNSIGNED_LONG 8
#define MPI_DOUBLE 8
#define MPI_SUM 0

namespace pm_lib {

typedef int MPI_Comm;
typedef int MPI_Group;
typedef int MPI_Datatype; /* its size in bytes */
typedef int MPI_Op;

inline int mpi_stub_copy(const void *from, void *to, int count, MPI_Datatype type) {
  std::memmove(to, from, static_cast<std::size_t>(count) * static_cast<std::size_t>(type));
  return MPI_SUCCESS;
}
inline int mpi_stub_set(int *to, int value) {
  *to = value;
  return MPI_SUCCESS;
}

inline int MPI_Init(int *, char ***) {
  return MPI_SUCCESS;
}
inline int MPI_Finalize() {
  return MPI_SUCCESS;
}
inline int MPI_Abort(MPI_Comm, int status) {
  std::exit(status);
}
inline int MPI_Barrier(MPI_Comm) {
  return MPI_SUCCESS;
}
inline int MPI_Comm_rank(MPI_Comm, int *rank) {
  return mpi_stub_set(rank, 0);
}
inline int MPI_Comm_size(MPI_Comm, int *size) {
  return mpi_stub_set(size, 1);
}
inline int MPI_Comm_group(MPI_Comm, MPI_Group *group) {
  return mpi_stub_set(group, 0);
}
inline int MPI_Group_rank(MPI_Group, int *rank) {
  return mpi_stub_set(rank, 0);
}
inline int MPI_Group_size(MPI_Group, int *size) {
  return mpi_stub_set(size, 1);
}
inline int MPI_Group_incl(MPI_Group, int, const int *, MPI_Group *group) {
  return mpi_stub_set(group, 0);
}
inline int MPI_Gather(const void *from, int count, MPI_Datatype type, void *to, int, MPI_Datatype, int, MPI_Comm) {
  return mpi_stub_copy(from, to, count, type);
}
inline int MPI_Allgather(const void *from, int count, MPI_Datatype type, void *to, int, MPI_Datatype, MPI_Comm) {
  return mpi_stub_copy(from, to, count, type);
}
inline int MPI_Reduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op, int, MPI_Comm) {
  return mpi_stub_copy(from, to, count, type);
}
inline int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op, MPI_Comm) {
  return mpi_stub_copy(from, to, count, type);
}

} // namespace pm_lib

#endif
