/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/mpi/shim/file.c - bytes read from and written to files, from the status of the operation. Immediate
 * operations count the requested bytes, because another call gets their status. */
#include "shim.h"

#include "adapter/mpi/pml_mpi_files.h"

#define WITH_STATUS(hook, call, function, parameters, arguments)                                                       \
  static int hook(UNWRAP parameters, MPI_Status *status) {                                                             \
    MPI_Status own[1], *s = status != MPI_STATUS_IGNORE ? status : own;                                                \
    if (!shim_wanted()) return call(UNWRAP arguments, status);                                                         \
    int err = call(UNWRAP arguments, s);                                                                               \
    if (err == MPI_SUCCESS) pml__mpi_count_file(PML__MPI_FILE_##function, bytes_of(s));                                \
    return err;                                                                                                        \
  }

#define MOVES(name, parameters, arguments)                                                                             \
  WITH_STATUS(HOOK_OF(File_##name), CALL_OF(File_##name), name, parameters, arguments)

#define BEGINS(name, parameters, arguments)                                                                            \
  static int HOOK_OF(File_##name)(UNWRAP parameters, MPI_Request * request) {                                          \
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
#define ENDS(name, parameters, arguments)                                                                              \
  WITH_STATUS(hook_MPI_File_##name, PMPI_File_##name, name, parameters, arguments)
#define READ_ENDS (MPI_File file, void *to), (file, to)
#define WRITE_ENDS (MPI_File file, const void *from), (file, from)
TWO(ENDS, read_all_end, READ_ENDS)
TWO(ENDS, read_at_all_end, READ_ENDS)
TWO(ENDS, read_ordered_end, READ_ENDS)
TWO(ENDS, write_all_end, WRITE_ENDS)
TWO(ENDS, write_at_all_end, WRITE_ENDS)
TWO(ENDS, write_ordered_end, WRITE_ENDS)
#endif

static const struct pml__mpi_hook hooks[] = {
    HOOK_HERE(File_read),          HOOK_HERE(File_read_at),         HOOK_HERE(File_read_all),
    HOOK_HERE(File_read_at_all),   HOOK_HERE(File_read_shared),     HOOK_HERE(File_read_ordered),
    HOOK_HERE(File_write),         HOOK_HERE(File_write_at),        HOOK_HERE(File_write_all),
    HOOK_HERE(File_write_at_all),  HOOK_HERE(File_write_shared),    HOOK_HERE(File_write_ordered),
    HOOK_HERE(File_iread),         HOOK_HERE(File_iread_at),        HOOK_HERE(File_iread_all),
    HOOK_HERE(File_iread_at_all),  HOOK_HERE(File_iread_shared),    HOOK_HERE(File_iwrite),
    HOOK_HERE(File_iwrite_at),     HOOK_HERE(File_iwrite_all),      HOOK_HERE(File_iwrite_at_all),
    HOOK_HERE(File_iwrite_shared),
#ifndef LARGE
    HOOK(MPI_File_read_all_end),   HOOK(MPI_File_read_at_all_end),  HOOK(MPI_File_read_ordered_end),
    HOOK(MPI_File_write_all_end),  HOOK(MPI_File_write_at_all_end), HOOK(MPI_File_write_ordered_end),
#endif
};
extern const struct pml__mpi_hooks LIST_OF(file);
const struct pml__mpi_hooks LIST_OF(file) = HOOKS(hooks);
