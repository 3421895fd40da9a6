/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/mpi/shim/clock.c - clock offsets of all ranks from rank 0.
 *
 * Ranks on one machine read the same counter, and their logs convert its ticks differently; this difference is
 * calculated. So only the first rank of each machine exchanges messages with rank 0: the shortest of several round
 * trips is used, and half of it is the largest possible error (F. Cristian, Probabilistic clock synchronization, 1989).
 */
#include "shim.h"

#include "base/pml_clock.h"

#include <math.h>
#include <stdlib.h>

#define TRIPS 10
enum { TAG = 0x706d, TAG_SHARED };

static int *leader; /* [ranks] the first rank on each rank's machine */
static int own, ranks;
static bool alone;                        /* there is only one machine */
static struct pml__mpi_clock mine, first; /* first: the clock of this machine's first rank */

/* ---- two clocks ---- */

static int64_t at(uint64_t ticks) {
  return (int64_t)mine.started_ns + llround(pml__mpi_clock_ns(&mine, ticks));
}

struct offset {
  double error_ns;
  int64_t ns;
};

static struct offset ask(void) {
  struct offset best = {HUGE_VAL, 0};
  for (int i = 0; i < TRIPS; i++) {
    int64_t theirs = 0;
    uint64_t before = pml_clock_ticks(), after;
    (void)PMPI_Sendrecv(&theirs, 1, MPI_INT64_T, 0, TAG, &theirs, 1, MPI_INT64_T, 0, TAG, shim_own, MPI_STATUS_IGNORE);
    after = pml_clock_ticks();
    double error = (double)(at(after) - at(before)) / 2;
    if (error < best.error_ns) best = (struct offset){error, theirs - at(before + (after - before) / 2)};
  }
  return best;
}

static void answer(int rank) {
  for (int i = 0; i < TRIPS; i++) {
    int64_t now;
    (void)PMPI_Recv(&now, 1, MPI_INT64_T, rank, TAG, shim_own, MPI_STATUS_IGNORE);
    now = at(pml_clock_ticks());
    (void)PMPI_Send(&now, 1, MPI_INT64_T, rank, TAG, shim_own);
  }
}

/* ---- all ---- */

/* Send data of the first rank of each machine to the other ranks there. */
static void share(void *at, int bytes) {
  MPI_Request request;
  if (leader[own] != own && PMPI_Irecv(at, bytes, MPI_BYTE, leader[own], TAG_SHARED, shim_own, &request) == MPI_SUCCESS)
    (void)shim_complete(&request, INT64_MAX);
  for (int i = own + 1; i < ranks && leader[own] == own; i++)
    if (leader[i] == own) (void)PMPI_Send(at, bytes, MPI_BYTE, i, TAG_SHARED, shim_own);
}

/* The offset between machines. */
static struct offset between(void) {
  const struct offset zero = {0, 0};
  for (int i = 1; i < ranks && own == 0; i++)
    if (leader[i] == i) answer(i);
  return own == 0 || leader[own] != own ? zero : ask();
}

void shim_clock_measure(void) {
  struct offset o = {0, 0};
  if (leader == NULL) return;
  if (!alone) {
    o = between();
    share(&o, (int)sizeof o);
  }
  uint64_t ticks = pml_clock_ticks();
  double apart = pml__mpi_clock_ns(&first, ticks) - pml__mpi_clock_ns(&mine, ticks);
  const struct pml__log_clock_offset d = {ticks, o.ns + (int64_t)(first.started_ns - mine.started_ns) + llround(apart),
                                          o.error_ns};
  pml__mpi_log_clock(&d);
}

static int color_of(const struct pml__mpi_clock *c) {
  uint32_t hash = 2166136261u;
  for (size_t i = 0; i < sizeof c->machine; i++) hash = (hash ^ (unsigned char)c->machine[i]) * 16777619u;
  for (size_t i = 0; i < sizeof c->clock; i++) hash = (hash ^ (unsigned char)c->clock[i]) * 16777619u;
  return (int)(hash >> 1);
}

/* Gather the @value of each rank i in leader[i]. */
static bool exchange(int value) {
  MPI_Request request;
  return PMPI_Iallgather(&value, 1, MPI_INT, leader, 1, MPI_INT, shim_own, &request) == MPI_SUCCESS &&
         shim_complete(&request, INT64_MAX);
}

static bool find_leaders(int color) {
  int i = 0;
  if ((leader = malloc((size_t)ranks * sizeof *leader)) == NULL || !exchange(color)) return false;
  alone = true;
  for (int k = 0; k < ranks; k++) alone = alone && leader[k] == color;
  while (leader[i] != color) i++;
  return exchange(i);
}

static void forget_leaders(void) {
  free(leader);
  leader = NULL;
}

void shim_clock_begin(int rank) {
  own = rank;
  (void)PMPI_Comm_size(shim_own, &ranks);
  pml__mpi_clock(&mine);
  first = mine;
  if (find_leaders(color_of(&mine))) {
    share(&first, (int)sizeof first);
    shim_clock_measure();
  } else {
    forget_leaders();
  }
}

void shim_clock_end(bool all) {
  if (all || alone) shim_clock_measure();
  if (all) forget_leaders();
}
