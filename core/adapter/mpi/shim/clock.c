/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/mpi/shim/clock.c - how far each rank's clock is from that of rank 0.
 *
 * Ranks on one machine read the same counter: their logs convert its ticks differently, and by how much is calculated.
 * So of each machine only the first rank exchanges messages with rank 0: of some round trips the shortest counts, and
 * half of it is the largest possible error (F. Cristian, Probabilistic clock synchronization, 1989).
 */
#include "shim.h"

#include "base/pml_clock.h"

#include <math.h>
#include <string.h>

#define TRIPS 10
#define TAG 0x706d

static MPI_Comm machine = MPI_COMM_NULL, machines = MPI_COMM_NULL; /* machines: of the first rank of each */
static struct pml__mpi_clock mine, first;                          /* first: of this machine's first rank */

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
    (void)PMPI_Sendrecv(&theirs, 1, MPI_INT64_T, 0, TAG, &theirs, 1, MPI_INT64_T, 0, TAG, machines, MPI_STATUS_IGNORE);
    after = pml_clock_ticks();
    double error = (double)(at(after) - at(before)) / 2;
    if (error < best.error_ns) best = (struct offset){error, theirs - at(before + (after - before) / 2)};
  }
  return best;
}

static void answer(int rank) {
  for (int i = 0; i < TRIPS; i++) {
    int64_t now;
    (void)PMPI_Recv(&now, 1, MPI_INT64_T, rank, TAG, machines, MPI_STATUS_IGNORE);
    now = at(pml_clock_ticks());
    (void)PMPI_Send(&now, 1, MPI_INT64_T, rank, TAG, machines);
  }
}

/* ---- all ---- */

/* Between machines, where there are several. */
static struct offset between(void) {
  struct offset o = {0, 0};
  int rank = 0, size = 1;
  if (machines == MPI_COMM_NULL) return o;
  (void)PMPI_Comm_rank(machines, &rank);
  (void)PMPI_Comm_size(machines, &size);
  for (int i = 1; i < size && rank == 0; i++) answer(i);
  return rank == 0 ? o : ask();
}

static bool alone(void) {
  int size = 0, all = 0;
  (void)PMPI_Comm_size(machine, &size);
  (void)PMPI_Comm_size(shim_own, &all);
  return size == all;
}

void shim_clock_measure(void) {
  struct offset o = {0, 0};
  if (!alone()) {
    o = between();
    (void)PMPI_Bcast(&o, (int)sizeof o, MPI_BYTE, 0, machine);
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

void shim_clock_begin(int rank) {
  int place = 0;
  pml__mpi_clock(&mine);
  (void)PMPI_Comm_split(shim_own, color_of(&mine), rank, &machine);
  (void)PMPI_Comm_rank(machine, &place);
  (void)PMPI_Comm_split(shim_own, place == 0 ? 0 : MPI_UNDEFINED, rank, &machines);
  first = mine;
  (void)PMPI_Bcast(&first, (int)sizeof first, MPI_BYTE, 0, machine);
  shim_clock_measure();
}

void shim_clock_end(bool all) {
  if (all || alone()) shim_clock_measure();
  if (!all) return;
  if (machines != MPI_COMM_NULL) (void)PMPI_Comm_free(&machines);
  (void)PMPI_Comm_free(&machine);
}
