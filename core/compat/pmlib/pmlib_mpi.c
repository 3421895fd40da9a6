/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/compat/pmlib/pmlib_mpi.c - MPI calls for merging reports, found in the running program.
 *
 * Nothing is linked: the functions are looked up by name. Handles depend on the MPI implementation: Open MPI's are
 * pointers to objects that it exports (ompi_mpi_comm_world, ompi_mpi_byte); handles of MPICH, and of all
 * implementations with its common ABI, are integers with fixed values. Any other MPI is not used, and the report states
 * that it covers one process.
 */
#include "compat/pmlib/pmlib.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define MPICH_COMM_WORLD 0x44000000
#define MPICH_BYTE 0x4c00010d

enum { NONE, OPENMPI, MPICH };

/* One function with both ABIs. */
#define CALL(name, arguments_pointer, arguments_int)                                                                   \
  static union {                                                                                                       \
    void *symbol;                                                                                                      \
    int(*pointer) arguments_pointer;                                                                                   \
    int(*integer) arguments_int;                                                                                       \
  } name
CALL(mpi_initialized, (int *), (int *));
CALL(mpi_finalized, (int *), (int *));
CALL(mpi_comm_rank, (void *, int *), (int, int *));
CALL(mpi_comm_size, (void *, int *), (int, int *));
CALL(mpi_group_size, (void *, int *), (int, int *));
CALL(mpi_gather, (const void *, int, void *, void *, int, void *, int, void *),
     (const void *, int, int, void *, int, int, int, int));
CALL(mpi_gatherv, (const void *, int, void *, void *, const int *, const int *, void *, int, void *),
     (const void *, int, int, void *, const int *, const int *, int, int, int));
static void *world, *byte;

/* MPI_Get_library_version() takes no handle, and may be called at any time. */
static bool is_mpich(void) {
  char text[16384] = "";
  int n = 0;
  void *f = dlsym(RTLD_DEFAULT, "MPI_Get_library_version");
  int (*version)(char *, int *);
  if (f == NULL) return false;
  memcpy(&version, &f, sizeof version);
  return version(text, &n) == 0 &&
         (strstr(text, "MPICH") != NULL || strstr(text, "Intel") != NULL || strstr(text, "MVAPICH") != NULL);
}

static int look(void) {
  static const struct {
    void **at;
    const char *name;
  } wanted[] = {{&mpi_initialized.symbol, "MPI_Initialized"}, {&mpi_finalized.symbol, "MPI_Finalized"},
                {&mpi_comm_rank.symbol, "MPI_Comm_rank"},     {&mpi_comm_size.symbol, "MPI_Comm_size"},
                {&mpi_group_size.symbol, "MPI_Group_size"},   {&mpi_gather.symbol, "MPI_Gather"},
                {&mpi_gatherv.symbol, "MPI_Gatherv"}};
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
    if ((*wanted[i].at = dlsym(RTLD_DEFAULT, wanted[i].name)) == NULL) return NONE;
  world = dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world");
  byte = dlsym(RTLD_DEFAULT, "ompi_mpi_byte");
  if (world != NULL && byte != NULL) return OPENMPI;
  return is_mpich() ? MPICH : NONE;
}

bool pmlib_mpi(int *rank, int *size) {
  int up = 0, over = 0, abi = look();
  *rank = 0;
  *size = 1;
  if (abi == NONE || mpi_initialized.pointer(&up) != 0 || !up || mpi_finalized.pointer(&over) != 0 || over)
    return false;
  if (abi == OPENMPI) return mpi_comm_rank.pointer(world, rank) == 0 && mpi_comm_size.pointer(world, size) == 0;
  return mpi_comm_rank.integer(MPICH_COMM_WORLD, rank) == 0 && mpi_comm_size.integer(MPICH_COMM_WORLD, size) == 0;
}

static int gather_sizes(uint64_t mine, uint64_t *all) {
  const int n = sizeof mine;
  return look() == OPENMPI ? mpi_gather.pointer(&mine, n, byte, all, n, byte, 0, world)
                           : mpi_gather.integer(&mine, n, MPICH_BYTE, all, n, MPICH_BYTE, 0, MPICH_COMM_WORLD);
}

static int gather_bytes(const char *mine, int n, char *all, const int *counts, const int *starts) {
  return look() == OPENMPI
             ? mpi_gatherv.pointer(mine, n, byte, all, counts, starts, byte, 0, world)
             : mpi_gatherv.integer(mine, n, MPICH_BYTE, all, counts, starts, MPICH_BYTE, 0, MPICH_COMM_WORLD);
}

int pmlib_mpi_gather(const char *mine, size_t n, char **all, uint64_t **size) {
  int rank, nprocs, err = 0;
  *all = NULL;
  *size = NULL;
  if (!pmlib_mpi(&rank, &nprocs) || n > INT_MAX) return -EIO;
  size_t many = rank == 0 ? (size_t)nprocs : 1;
  uint64_t *sizes = calloc(many, sizeof *sizes), sum = 0;
  int *counts = calloc(2 * many, sizeof *counts);
  if (sizes == NULL || counts == NULL) err = -ENOMEM;
  if (err == 0 && gather_sizes(n, sizes) != 0) err = -EIO;
  for (size_t i = 0; err == 0 && rank == 0 && i < many; i++) {
    counts[i] = (int)sizes[i];
    counts[many + i] = (int)sum;
    sum += sizes[i];
    if (sum > INT_MAX) err = -EIO;
  }
  char *bytes = err == 0 ? malloc(sum == 0 ? 1 : sum) : NULL;
  if (err == 0 && bytes == NULL) err = -ENOMEM;
  if (err == 0 && gather_bytes(mine, (int)n, bytes, counts, counts + many) != 0) err = -EIO;
  free(counts);
  if (err == 0) {
    *all = bytes;
    *size = sizes;
    return 0;
  }
  free(bytes);
  free(sizes);
  return err;
}

int pmlib_mpi_group_size(uintptr_t group) {
  int rank, nprocs, size = -1;
  if (!pmlib_mpi(&rank, &nprocs)) return -1;
  int err =
      look() == OPENMPI ? mpi_group_size.pointer((void *)group, &size) : mpi_group_size.integer((int)group, &size);
  return err == 0 ? size : -1;
}

uintptr_t pmlib_mpi_group_of_fortran(int group) {
  void *f = dlsym(RTLD_DEFAULT, "MPI_Group_f2c");
  void *(*convert)(int);
  if (look() != OPENMPI || f == NULL) return (uintptr_t)(unsigned)group; /* the integers are equal */
  memcpy(&convert, &f, sizeof convert);
  return (uintptr_t)convert(group);
}
