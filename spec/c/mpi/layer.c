/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/mpi/layer.c - for spec/lua/mpi_layer_spec.lua: a ring of messages and, with LAYER, linked libraries that act
 * as tools between the program and MPI. LAYER: 1 calls the PMPI_ names; 2 looks up the next function; 3 looks up the
 * function in the MPI library itself, which bypasses other tools.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>

#ifndef LAYER
int main(int argc, char **argv) {
  int rank, n, to = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  for (int i = 0; i < 5; i++) {
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % n, 0, &to, 1, MPI_INT, (rank + n - 1) % n, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Bcast(&to, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  return MPI_Finalize();
}
#else
#if LAYER == 1
#define NEXT(name) P##name
#else
static void *library(void) {
#ifdef OPEN_MPI
  return LAYER == 2 ? RTLD_NEXT : dlopen("libmpi.so.40", RTLD_LAZY);
#else
  return LAYER == 2 ? RTLD_NEXT : dlopen("libmpich.so.12", RTLD_LAZY);
#endif
}
#define NEXT(name) ((__typeof__(&name))dlsym(library(), LAYER == 2 ? #name : "P" #name))
#endif

int MPI_Init(int *argc, char ***argv) {
  return NEXT(MPI_Init)(argc, argv);
}
int MPI_Finalize(void) {
  return NEXT(MPI_Finalize)();
}
int MPI_Sendrecv(const void *from, int n, MPI_Datatype type, int to_rank, int to_tag, void *to, int m,
                 MPI_Datatype its_type, int from_rank, int from_tag, MPI_Comm comm, MPI_Status *status) {
  return NEXT(MPI_Sendrecv)(from, n, type, to_rank, to_tag, to, m, its_type, from_rank, from_tag, comm, status);
}
#endif
