/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/mpi/pml_mpi_files.h - bytes that a rank read and wrote by MPI-IO. */
#ifndef PML_MPI_FILES_H
#define PML_MPI_FILES_H

#include "base/pml_api.h"

#include <stdint.h>

PML_BEGIN_DECLS

/* Functions that transfer data, without MPI_File_. For a split operation this is the end function. */
/* clang-format off */
#define PML__MPI_FILE_FUNCTIONS(X)                                                                                     \
  X(read) X(read_at) X(read_all) X(read_at_all) X(read_shared) X(read_ordered) X(iread) X(iread_at) X(iread_all)       \
  X(iread_at_all) X(iread_shared) X(read_all_end) X(read_at_all_end) X(read_ordered_end) X(write) X(write_at)          \
  X(write_all) X(write_at_all) X(write_shared) X(write_ordered) X(iwrite) X(iwrite_at) X(iwrite_all)                   \
  X(iwrite_at_all) X(iwrite_shared) X(write_all_end) X(write_at_all_end) X(write_ordered_end)
/* clang-format on */

#define PML__MPI_FILE(name) PML__MPI_FILE_##name,
enum pml__mpi_file_function { PML__MPI_FILE_FUNCTIONS(PML__MPI_FILE) PML__MPI_FILE_N };
#undef PML__MPI_FILE

/* pml__mpi_count_file - a call of @function moved @bytes. From any thread and signal handler; two atomic additions. */
PML__SHARED void pml__mpi_count_file(enum pml__mpi_file_function function, uint64_t bytes);

/* pml__mpi_file_sum - these counts. */
PML__SHARED void pml__mpi_file_sum(enum pml__mpi_file_function function, uint64_t *calls, uint64_t *bytes);

PML_END_DECLS

#endif
