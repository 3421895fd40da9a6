/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/mpi/threads.c - four threads of each of two ranks exchange 500 messages with the same thread of the other rank,
 * immediate, two at a time, for spec/lua/mpi_spec.lua: handles of requests go from thread to thread. Exit status 77: MPI
 * has no MPI_THREAD_MULTIPLE here.
 */
#include <mpi.h>
#include <pthread.h>

enum { THREADS = 4, TIMES = 250 };
static int rank;

static void *exchange(void *arg) {
  int tag = (int)(long)arg, in[2], out[2] = {tag, tag};
  MPI_Request r[4];
  for (int i = 0; i < TIMES; i++) {
    for (int k = 0; k < 2; k++) MPI_Irecv(&in[k], 1, MPI_INT, 1 - rank, tag, MPI_COMM_WORLD, &r[k]);
    for (int k = 0; k < 2; k++) MPI_Isend(&out[k], 1, MPI_INT, 1 - rank, tag, MPI_COMM_WORLD, &r[2 + k]);
    if (i % 2 == 0)
      MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
    else
      for (int k = 0; k < 4; k++) MPI_Wait(&r[k], MPI_STATUS_IGNORE);
  }
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t thread[THREADS];
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (long i = 0; i < THREADS && level == MPI_THREAD_MULTIPLE; i++)
    pthread_create(&thread[i], NULL, exchange, (void *)(i + 1)); /* NOLINT(performance-no-int-to-ptr) */
  for (int i = 0; i < THREADS && level == MPI_THREAD_MULTIPLE; i++) pthread_join(thread[i], NULL);
  MPI_Finalize();
  return level == MPI_THREAD_MULTIPLE ? 0 : 77;
}
