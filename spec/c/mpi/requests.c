/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/mpi/requests.c - two ranks, with each kind of request and each way to complete it, for spec/lua/mpi_spec.lua.
 * Each message has a separate tag: rank 0 sends as many bytes as the tag to rank 1, unless a comment states otherwise.
 */
#include <mpi.h>
#include <stddef.h>

static int rank;
static char room[4096], own[8192];

static void persistent(void) {
  MPI_Request r[2];
  if (rank == 0) {
    MPI_Send_init(room, 100, MPI_CHAR, 1, 100, MPI_COMM_WORLD, &r[0]);
    MPI_Ssend_init(room, 101, MPI_CHAR, 1, 101, MPI_COMM_WORLD, &r[1]);
  } else {
    MPI_Recv_init(room, 1000, MPI_CHAR, 0, 100, MPI_COMM_WORLD, &r[0]);
    MPI_Recv_init(room + 1000, 1000, MPI_CHAR, MPI_ANY_SOURCE, 101, MPI_COMM_WORLD, &r[1]);
  }
  for (int i = 0; i < 3; i++) { /* three of each */
    MPI_Startall(2, r);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  }
  MPI_Start(&r[0]);
  MPI_Wait(&r[0], MPI_STATUS_IGNORE); /* a fourth of the first */
  MPI_Wait(&r[0], MPI_STATUS_IGNORE); /* not active: nothing happens */
  MPI_Request_free(&r[0]);
  MPI_Request_free(&r[1]);
}

static void probed(void) {
  MPI_Message message;
  MPI_Request r;
  MPI_Status s;
  if (rank == 0) {
    for (int tag = 110; tag < 113; tag++) MPI_Send(room, tag, MPI_CHAR, 1, tag, MPI_COMM_WORLD);
    return;
  }
  MPI_Probe(0, 110, MPI_COMM_WORLD, &s);
  MPI_Recv(room, sizeof room, MPI_CHAR, s.MPI_SOURCE, s.MPI_TAG, MPI_COMM_WORLD, &s);
  MPI_Recv(room, 1, MPI_CHAR, MPI_PROC_NULL, 112, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* no message */
  MPI_Mprobe(MPI_ANY_SOURCE, 111, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
  MPI_Mrecv(room, sizeof room, MPI_CHAR, &message, MPI_STATUS_IGNORE);
  for (int is = 0; !is;) MPI_Improbe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &is, &message, MPI_STATUS_IGNORE);
  MPI_Imrecv(room, sizeof room, MPI_CHAR, &message, &r);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void several(int tag, int how) {
  MPI_Request r[6];
  int index[6], n, left = 6, all = 0;
  for (int i = 0; i < 6; i++)
    if (rank == 0)
      MPI_Isend(room, tag + i, MPI_CHAR, 1, tag + i, MPI_COMM_WORLD, &r[i]);
    else
      MPI_Irecv(room + 600 * i, 600, MPI_CHAR, 0, tag + i, MPI_COMM_WORLD, &r[i]);
  while (left > 0 && !all) {
    n = 1;
    if (how == 0) MPI_Waitany(6, r, index, MPI_STATUS_IGNORE);
    if (how == 1) MPI_Waitsome(6, r, &n, index, MPI_STATUSES_IGNORE);
    if (how == 2) MPI_Testany(6, r, index, &n, MPI_STATUS_IGNORE);
    if (how == 3) MPI_Testsome(6, r, &n, index, MPI_STATUSES_IGNORE);
    if (how == 4) MPI_Testall(6, r, &all, MPI_STATUSES_IGNORE);
    if (how < 4) left -= n;
  }
}

static void both_ways(void) { /* to each other: 150, 151 */
  MPI_Sendrecv(room, 150, MPI_CHAR, 1 - rank, 150, room + 2000, 2000, MPI_CHAR, 1 - rank, 150, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv_replace(room, 151, MPI_CHAR, 1 - rank, 151, 1 - rank, 151, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void modes(void) {
  MPI_Request r[3];
  int bytes;
  void *at;
  MPI_Buffer_attach(own, sizeof own);
  for (int tag = 160; tag < 165 && rank == 1; tag++)
    MPI_Recv(room, 1000, MPI_CHAR, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 0) {
    MPI_Ssend(room, 160, MPI_CHAR, 1, 160, MPI_COMM_WORLD);
    MPI_Bsend(room, 161, MPI_CHAR, 1, 161, MPI_COMM_WORLD);
    MPI_Ibsend(room, 162, MPI_CHAR, 1, 162, MPI_COMM_WORLD, &r[0]);
    MPI_Issend(room, 163, MPI_CHAR, 1, 163, MPI_COMM_WORLD, &r[1]);
    MPI_Isend(room, 164, MPI_CHAR, 1, 164, MPI_COMM_WORLD, &r[2]);
    MPI_Request_free(&r[2]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  }
  MPI_Buffer_detach(&at, &bytes);
}

static void nothing(void) {
  MPI_Request r;
  MPI_Send(room, 1, MPI_CHAR, MPI_PROC_NULL, 190, MPI_COMM_WORLD);
  MPI_Recv(room, 1, MPI_CHAR, MPI_PROC_NULL, 190, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Isend(room, 1, MPI_CHAR, MPI_PROC_NULL, 190, MPI_COMM_WORLD, &r);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  MPI_Irecv(room, 1, MPI_CHAR, 1 - rank, 191, MPI_COMM_WORLD, &r);
  MPI_Cancel(&r);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void communicators(void) {
  MPI_Comm dup, later, inter, merged;
  MPI_Request r;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Comm_set_name(dup, "duplicate");
  MPI_Comm_idup(dup, &later, &r);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  MPI_Intercomm_create(MPI_COMM_SELF, 0, dup, 1 - rank, 1, &inter);
  MPI_Intercomm_merge(inter, rank, &merged);
  if (rank == 0) {
    MPI_Send(room, 170, MPI_CHAR, 1, 170, dup);
    MPI_Send(room, 171, MPI_CHAR, 1, 171, later);
    MPI_Send(room, 172, MPI_CHAR, 0, 172, inter);
    MPI_Send(room, 173, MPI_CHAR, 1, 173, merged);
  } else {
    MPI_Recv(room, 1000, MPI_CHAR, 0, 170, dup, MPI_STATUS_IGNORE);
    MPI_Recv(room, 1000, MPI_CHAR, 0, 171, later, MPI_STATUS_IGNORE);
    MPI_Recv(room, 1000, MPI_CHAR, 0, 172, inter, MPI_STATUS_IGNORE);
    MPI_Recv(room, 1000, MPI_CHAR, 0, 173, merged, MPI_STATUS_IGNORE);
  }
  MPI_Bcast(room, 9, MPI_CHAR, rank == 0 ? MPI_ROOT : 0, inter);
  MPI_Comm_free(&merged);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&later);
  MPI_Comm_free(&dup);
}

static void one_sided(void) {
  MPI_Win win;
  int *at, mine = 1, was;
  MPI_Win_allocate(400, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &at, &win);
  MPI_Win_fence(0, win);
  MPI_Put(&mine, 1, MPI_INT, 1 - rank, 2, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  MPI_Get(&was, 1, MPI_INT, 1 - rank, 2, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  MPI_Accumulate(&mine, 1, MPI_INT, 0, 2, 1, MPI_INT, MPI_SUM, win);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  persistent();
  probed();
  for (int how = 0; how < 5; how++) several(120 + 6 * how, how);
  both_ways();
  modes();
  nothing();
  communicators();
  one_sided();
  MPI_Finalize();
  return 0;
}
