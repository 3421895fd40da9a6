/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/mpi/shim/file.c - bytes read from and written to files, from the status of the operation. Immediate
 * operations count the requested bytes, because another call gets their status. */
#include "shim.h"

#include "adapter/mpi/pml_mpi_files.h"

#define MOVES(name, parameters, arguments)                                                                             \
  HOOK(File_##name)(UNWRAP parameters, MPI_Status * status) {                                                          \
    MPI_Status own[1], *s = status != MPI_STATUS_IGNORE ? status : own;                                                \
    if (!shim_wanted()) return CALL_OF(File_##name)(UNWRAP arguments, status);                                         \
    int err = CALL_OF(File_##name)(UNWRAP arguments, s);                                                               \
    if (err == MPI_SUCCESS) pml__mpi_count_file(PML__MPI_FILE_##name, bytes_of(s));                                    \
    return err;                                                                                                        \
  }

#define BEGINS(name, parameters, arguments)                                                                            \
  HOOK(File_##name)(UNWRAP parameters, MPI_Request * request) {                                                        \
    int err = CALL_OF(File_##name)(UNWRAP arguments, request);                                                         \
    if (err == MPI_SUCCESS && shim_wanted()) pml__mpi_count_file(PML__MPI_FILE_##name, bytes_in(n, type));             \
    return err;                                                                                                        \
  }

#define READS (MPI_File file, void *to, count_t n, MPI_Datatype type), (file, to, n, type)
#define READS_AT (MPI_File file, MPI_Offset at, void *to, count_t n, MPI_Datatype type), (file, at, to, n, type)
#define WRITES (MPI_File file, const void *from, count_t n, MPI_Datatype type), (file, from, n, type)
#define WRITES_AT                                                                                                      \
  (MPI_File file, MPI_Offset at, const void *from, count_t n, MPI_Datatype type), (file, at, from, n, type)
/* Parameters and arguments are passed as two macro arguments. */
#define TWO(macro, ...) macro(__VA_ARGS__)

TWO(MOVES, read, READS)
TWO(MOVES, read_at, READS_AT)
TWO(MOVES, read_all, READS)
TWO(MOVES, read_at_all, READS_AT)
TWO(MOVES, read_shared, READS)
TWO(MOVES, read_ordered, READS)
TWO(MOVES, write, WRITES)
TWO(MOVES, write_at, WRITES_AT)
TWO(MOVES, write_all, WRITES)
TWO(MOVES, write_at_all, WRITES_AT)
TWO(MOVES, write_shared, WRITES)
TWO(MOVES, write_ordered, WRITES)
TWO(BEGINS, iread, READS)
TWO(BEGINS, iread_at, READS_AT)
TWO(BEGINS, iread_all, READS)
TWO(BEGINS, iread_at_all, READS_AT)
TWO(BEGINS, iread_shared, READS)
TWO(BEGINS, iwrite, WRITES)
TWO(BEGINS, iwrite_at, WRITES_AT)
TWO(BEGINS, iwrite_all, WRITES)
TWO(BEGINS, iwrite_at_all, WRITES_AT)
TWO(BEGINS, iwrite_shared, WRITES)

#ifndef LARGE
#define READ_ENDS (MPI_File file, void *to), (file, to)
#define WRITE_ENDS (MPI_File file, const void *from), (file, from)
TWO(MOVES, read_all_end, READ_ENDS)
TWO(MOVES, read_at_all_end, READ_ENDS)
TWO(MOVES, read_ordered_end, READ_ENDS)
TWO(MOVES, write_all_end, WRITE_ENDS)
TWO(MOVES, write_at_all_end, WRITE_ENDS)
TWO(MOVES, write_ordered_end, WRITE_ENDS)
#endif
