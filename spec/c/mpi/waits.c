/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/mpi/waits.c - waits that are planted. Rank 1 receives from rank 0, by MPI_Recv and by MPI_Wait, which sleeps
 * before it sends; then the last rank sleeps before a barrier and an allreduce. Each rank prints how long it waited, in
 * ns, by the times at which all entered these calls, and how long the sleepers slept.
 */
#include <mpi.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static int rank, size;
static double slept;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void sleep_here(int who) {
  double from = now();
  if (rank != who) return;
  usleep(60000);
  slept += now() - from;
}

static void send_late(int tag) {
  double sent;
  sleep_here(0);
  sent = now();
  MPI_Send(&sent, 1, MPI_DOUBLE, 1, tag, MPI_COMM_WORLD);
}

/* From here to the last rank's. */
static double to_last(double entered) {
  double last;
  MPI_Allreduce(&entered, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return last - entered;
}

int main(int argc, char **argv) {
  double sent[2], entered[4], late = 0, longest;
  int sum;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Pcontrol(0);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Pcontrol(1);
  if (rank == 0) {
    send_late(5);
    send_late(6);
  } else if (rank == 1) {
    entered[0] = now();
    MPI_Recv(&sent[0], 1, MPI_DOUBLE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Irecv(&sent[1], 1, MPI_DOUBLE, 0, 6, MPI_COMM_WORLD, &request);
    entered[1] = now();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2; i++) late += sent[i] > entered[i] ? sent[i] - entered[i] : 0;
  }
  MPI_Bcast(&sum, 1, MPI_INT, 0, MPI_COMM_WORLD);
  sleep_here(size - 1);
  entered[2] = now();
  MPI_Barrier(MPI_COMM_WORLD);
  sleep_here(size - 1);
  entered[3] = now();
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Pcontrol(0);
  MPI_Allreduce(&slept, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  double collective = to_last(entered[2]);
  collective += to_last(entered[3]);
  printf("rank %d: %.0f %.0f %.0f\n", rank, late, collective, longest);
  MPI_Finalize();
  return 0;
}
