/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/mpi/files.c - each function that moves data of a file, in the order of pml_mpi_files.h: the k-th one moves
 * k doubles of each rank; MPI_File_read_at also meets the end of the file, and moves nothing; rank 1 writes once more.
 */
#include <mpi.h>
#include <stdlib.h>

static double data[100];
static int rank, k;
static MPI_File file;
static MPI_Status status;
static MPI_Request request;

#if MPI_VERSION >= 4
#define WRITE_AT MPI_File_write_at_c
#else
#define WRITE_AT MPI_File_write_at
#endif
#define NEXT data, ++k, MPI_DOUBLE
#define AT (MPI_Offset)(8 * 100 * rank)
#define DONE(call) (void)((call) == MPI_SUCCESS || MPI_Abort(MPI_COMM_WORLD, 1))
#define WAIT DONE(MPI_Wait(&request, &status))

static void rewind_both(void) {
  DONE(MPI_File_seek(file, 0, MPI_SEEK_SET));
  DONE(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
}

static void read_all(void) {
  DONE(MPI_File_read(file, NEXT, &status));
  DONE(MPI_File_read_at(file, AT, NEXT, MPI_STATUS_IGNORE));
  DONE(MPI_File_read_at(file, 1 << 20, data, 100, MPI_DOUBLE, &status));
  DONE(MPI_File_read_all(file, NEXT, &status));
  DONE(MPI_File_read_at_all(file, AT, NEXT, &status));
  DONE(MPI_File_read_shared(file, NEXT, MPI_STATUS_IGNORE));
  DONE(MPI_File_read_ordered(file, NEXT, &status));
  rewind_both();
  DONE(MPI_File_iread(file, NEXT, &request)), WAIT;
  DONE(MPI_File_iread_at(file, AT, NEXT, &request)), WAIT;
  DONE(MPI_File_iread_all(file, NEXT, &request)), WAIT;
  DONE(MPI_File_iread_at_all(file, AT, NEXT, &request)), WAIT;
  DONE(MPI_File_iread_shared(file, NEXT, &request)), WAIT;
  rewind_both();
  DONE(MPI_File_read_all_begin(file, NEXT)), DONE(MPI_File_read_all_end(file, data, &status));
  DONE(MPI_File_read_at_all_begin(file, AT, NEXT)), DONE(MPI_File_read_at_all_end(file, data, MPI_STATUS_IGNORE));
  DONE(MPI_File_read_ordered_begin(file, NEXT)), DONE(MPI_File_read_ordered_end(file, data, &status));
  rewind_both();
}

static void write_all(void) {
  DONE(MPI_File_write(file, NEXT, &status));
  DONE(MPI_File_write_at(file, AT, NEXT, MPI_STATUS_IGNORE));
  if (rank == 1) DONE(WRITE_AT(file, AT, data, 1, MPI_DOUBLE, MPI_STATUS_IGNORE));
  DONE(MPI_File_write_all(file, NEXT, &status));
  DONE(MPI_File_write_at_all(file, AT, NEXT, &status));
  DONE(MPI_File_write_shared(file, NEXT, MPI_STATUS_IGNORE));
  DONE(MPI_File_write_ordered(file, NEXT, &status));
  rewind_both();
  DONE(MPI_File_iwrite(file, NEXT, &request)), WAIT;
  DONE(MPI_File_iwrite_at(file, AT, NEXT, &request)), WAIT;
  DONE(MPI_File_iwrite_all(file, NEXT, &request)), WAIT;
  DONE(MPI_File_iwrite_at_all(file, AT, NEXT, &request)), WAIT;
  DONE(MPI_File_iwrite_shared(file, NEXT, &request)), WAIT;
  rewind_both();
  DONE(MPI_File_write_all_begin(file, NEXT)), DONE(MPI_File_write_all_end(file, data, &status));
  DONE(MPI_File_write_at_all_begin(file, AT, NEXT)), DONE(MPI_File_write_at_all_end(file, data, MPI_STATUS_IGNORE));
  DONE(MPI_File_write_ordered_begin(file, NEXT)), DONE(MPI_File_write_ordered_end(file, data, &status));
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc < 2 || MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) != 0)
    return 1;
  MPI_Pcontrol(0);
  if (rank == 0) DONE(MPI_File_write_at(file, 0, data, 100, MPI_DOUBLE, &status));
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 8; i++)
    DONE(MPI_File_write_at(file, (MPI_Offset)(800 * (8 * rank + i)), data, 100, MPI_DOUBLE, &status));
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Pcontrol(1);
  read_all();
  write_all();
  MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}
