/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/mpi/reduction/pml_mpi_files.c - bytes that a rank read and wrote by MPI-IO. */
#include "adapter/mpi/reduction/pml_mpi_files.h"

#include "adapter/mpi/reduction/pml_mpi_traffic.h"

#define NAME_OF(name) "MPI_File_" #name,
static const char *const name_of[] = {PML__MPI_FILE_FUNCTIONS(NAME_OF)};
_Static_assert(sizeof name_of / sizeof *name_of == PML__MPI_FILE_N, "each function has a name");

/* Atomic: threads share them. A call for a file takes so long that this does not show. */
static struct { uint64_t calls, bytes; } moved[PML__MPI_FILE_N];

void pml__mpi_count_file(enum pml__mpi_file_function function, uint64_t bytes) {
  (void)__atomic_add_fetch(&moved[function].calls, 1, __ATOMIC_RELAXED);
  (void)__atomic_add_fetch(&moved[function].bytes, pml__log_bytes(bytes), __ATOMIC_RELAXED);
}

int pml__mpi_files_summary(struct pml_summary *s, int rank) {
  int err = 0;
  for (unsigned i = 0; i < PML__MPI_FILE_N && err == 0; i++) {
    const uint64_t calls = __atomic_load_n(&moved[i].calls, __ATOMIC_RELAXED);
    const uint64_t bytes = __atomic_load_n(&moved[i].bytes, __ATOMIC_RELAXED);
    struct pml_summary_value value[] = {pml__mpi_value("calls", calls, rank), pml__mpi_value("bytes", bytes, rank)};
    const struct pml_summary_row row = {.kind = PML_SUMMARY_MPI,
                                        .name = "file",
                                        .detail = name_of[i],
                                        .processes = 1,
                                        .first = rank,
                                        .nvalues = 2,
                                        .value = value};
    if (calls > 0) err = pml_summary_add(s, &row);
  }
  return err;
}
