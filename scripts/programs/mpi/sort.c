/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/programs/mpi/sort.c - sample sort: samples of all ranks determine the keys of each rank, then all exchange
 * with all.
 *
 *     mpirun -n RANKS sort KEYS SORTS [weak]          KEYS numbers in all, or with "weak" for each rank
 *
 * The keys are 0 to KEYS - 1 in pseudo-random order, so after sorting each must equal its index. The samples determine
 * the number of keys of each rank: the more samples, the more even.
 */
#include "program.h"

#include <stdint.h>

#define SAMPLES 64 /* per rank */

struct keys {
  uint64_t *key;
  size_t n;
};

struct job {
  int rank, ranks;
  uint64_t all; /* keys */
  int bits;     /* of the smallest power of two that is not less */
};

struct parts {
  part sort, local, samples, split, counts, exchange, merge;
};

/* A permutation of 0 to 2^bits - 1: odd factors and shifts to the right can be undone. */
static uint64_t scramble(uint64_t x, int bits, uint64_t seed) {
  uint64_t mask = (UINT64_C(1) << bits) - 1;
  int half = bits / 2 + 1;
  for (int round = 0; round < 3; round++) {
    x = (x * UINT64_C(0x9e3779b97f4a7c15) + seed) & mask;
    x ^= x >> half;
  }
  return x;
}

/* The key that stands at @place: scrambled again until it is one of the keys, which permutes them. */
static uint64_t key_at(const struct job *j, uint64_t place, uint64_t seed) {
  uint64_t key = place;
  do key = scramble(key, j->bits, seed);
  while (key >= j->all);
  return key;
}

static uint64_t first_of(const struct job *j, int rank) {
  return (uint64_t)rank * (j->all / (uint64_t)j->ranks) +
         (uint64_t)rank * (j->all % (uint64_t)j->ranks) / (uint64_t)j->ranks;
}

static struct keys draw(const struct job *j, uint64_t seed) {
  uint64_t first = first_of(j, j->rank);
  struct keys k = {.n = (size_t)(first_of(j, j->rank + 1) - first)};
  k.key = program_memory(k.n, sizeof *k.key);
  for (size_t i = 0; i < k.n; i++) k.key[i] = key_at(j, first + i, seed);
  return k;
}

static int compare(const void *a, const void *b) {
  const uint64_t *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

/* @splitter: [ranks - 1], the least key of each rank but the first. */
static void choose(const struct job *j, const struct parts *p, const struct keys *k, uint64_t *splitter) {
  uint64_t mine[SAMPLES], *all = program_memory((size_t)j->ranks * SAMPLES, sizeof *all);
  for (size_t i = 0; i < SAMPLES; i++) mine[i] = k->n > 0 ? k->key[(i * k->n + k->n / 2) / SAMPLES] : 0;
  part_begin(p->samples);
  MPI_Allgather(mine, SAMPLES, MPI_UINT64_T, all, SAMPLES, MPI_UINT64_T, MPI_COMM_WORLD);
  part_end(p->samples, sizeof mine);
  part_begin(p->split);
  qsort(all, (size_t)j->ranks * SAMPLES, sizeof *all, compare);
  for (int r = 1; r < j->ranks; r++) splitter[r - 1] = all[r * SAMPLES];
  part_end(p->split, 0);
  free(all);
}

/* The first of the sorted keys that is not less. */
static int lower(const struct keys *k, uint64_t key) {
  size_t from = 0, to = k->n;
  while (from < to) {
    size_t middle = from + (to - from) / 2;
    if (k->key[middle] < key)
      from = middle + 1;
    else
      to = middle;
  }
  return (int)from;
}

static int offsets(int ranks, const int *count, int *offset) {
  int sum = 0;
  for (int r = 0; r < ranks; r++) {
    offset[r] = sum;
    sum += count[r];
  }
  return sum;
}

/* Give each rank the keys between its splitters: sorted runs; @run[r] is the start of rank r's run. */
static struct keys exchange(const struct job *j, const struct parts *p, const struct keys *k, const uint64_t *splitter,
                            int *run) {
  int *number = program_memory(3 * (size_t)j->ranks, sizeof *number);
  int *send = number, *from = number + j->ranks, *receive = number + 2 * j->ranks;
  for (int r = 0; r < j->ranks; r++) from[r] = r > 0 ? lower(k, splitter[r - 1]) : 0;
  for (int r = 0; r < j->ranks; r++) send[r] = (r + 1 < j->ranks ? from[r + 1] : (int)k->n) - from[r];
  part_begin(p->counts);
  MPI_Alltoall(send, 1, MPI_INT, receive, 1, MPI_INT, MPI_COMM_WORLD);
  part_end(p->counts, (double)sizeof *send * j->ranks);
  struct keys got = {.n = (size_t)offsets(j->ranks, receive, run)};
  run[j->ranks] = (int)got.n;
  got.key = program_memory(got.n, sizeof *got.key);
  part_begin(p->exchange);
  MPI_Alltoallv(k->key, send, from, MPI_UINT64_T, got.key, receive, run, MPI_UINT64_T, MPI_COMM_WORLD);
  part_end(p->exchange, (double)k->n * sizeof *k->key);
  free(number);
  return got;
}

static void merge_two(const uint64_t *a, const uint64_t *middle, const uint64_t *end, uint64_t *to) {
  const uint64_t *b = middle;
  while (a < middle && b < end) *to++ = *b < *a ? *b++ : *a++;
  while (a < middle) *to++ = *a++;
  while (b < end) *to++ = *b++;
}

/* Merge @n sorted runs in pairs until one is left. */
static void merge(struct keys *k, int *run, int n) {
  uint64_t *other = program_memory(k->n, sizeof *other);
  for (; n > 1; n = (n + 1) / 2) {
    for (int r = 0; r < n; r += 2) {
      int middle = run[r + 1], end = r + 2 <= n ? run[r + 2] : middle;
      merge_two(k->key + run[r], k->key + middle, k->key + end, other + run[r]);
      run[r / 2] = run[r];
    }
    run[(n + 1) / 2] = (int)k->n;
    uint64_t *merged = other;
    other = k->key;
    k->key = merged;
  }
  free(other);
}

static void sort(const struct job *j, const struct parts *p, struct keys *k) {
  uint64_t *splitter = program_memory((size_t)j->ranks, sizeof *splitter);
  int *run = program_memory((size_t)j->ranks + 1, sizeof *run);
  part_begin(p->sort);
  part_begin(p->local);
  qsort(k->key, k->n, sizeof *k->key, compare);
  part_end(p->local, (double)k->n);
  choose(j, p, k, splitter);
  struct keys got = exchange(j, p, k, splitter, run);
  part_begin(p->merge);
  merge(&got, run, j->ranks);
  part_end(p->merge, (double)got.n);
  part_end(p->sort, 0);
  free(k->key);
  *k = got;
  free(splitter);
  free(run);
}

/* How many keys stand where they must not, over all ranks. */
static double misplaced(const struct job *j, const struct keys *k) {
  uint64_t n = k->n, before = 0, sum, wrong = 0;
  MPI_Exscan(&n, &before, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(&n, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  for (size_t i = 0; i < k->n; i++) wrong += k->key[i] != before + i;
  return (double)wrong + fabs((double)sum - (double)j->all);
}

int main(int argc, char **argv) {
  struct job j = {.bits = 1};
  long value[2]; /* keys, sorts */
  bool weak;
  double seconds = 0, error = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &j.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &j.ranks);
  if (!program_options(argc, argv, 2, value, &weak) || value[0] > 1L << 30)
    return program_refuse("usage: sort KEYS SORTS [weak], with at most 2^30 keys");
  struct parts p = {
      part_named("sort", PART_COMPUTES),        part_named("local", PART_COMPUTES),
      part_named("samples", PART_COMMUNICATES), part_named("split", PART_COMPUTES),
      part_named("counts", PART_COMMUNICATES),  part_named("exchange", PART_COMMUNICATES),
      part_named("merge", PART_COMPUTES),
  };
  j.all = (uint64_t)value[0] * (weak ? (uint64_t)j.ranks : 1);
  while (UINT64_C(1) << j.bits < j.all) j.bits++;
  for (long n = 0; n < value[1]; n++) {
    struct keys k = draw(&j, (uint64_t)n + 1);
    MPI_Barrier(MPI_COMM_WORLD);
    double from = MPI_Wtime();
    sort(&j, &p, &k);
    seconds += MPI_Wtime() - from;
    error += misplaced(&j, &k);
    free(k.key);
  }
  return program_end("sort", seconds, error, 0);
}
