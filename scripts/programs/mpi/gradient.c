/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/programs/mpi/gradient.c - conjugate gradients for a sparse system whose solution is known.
 *
 *     mpirun -n RANKS gradient SIDE SOLVES [weak]     a cube of SIDE points along each edge, or with "weak" SIDE planes
 *                                                     of SIDE x SIDE points for each rank
 *
 * The matrix has 6.5 on the diagonal and -1 for each of six neighbours. Its eigenvalues lie between 0.5 and 12.5, so an
 * error is at most twice its residual. The right side is the matrix times a vector of pseudo-random numbers, which is
 * then solved for. Ranks have planes one upon the other and exchange those at their bounds.
 */
#include "program.h"

#include <stdint.h>

#define DIAGONAL 6.5
#define SMALLEST 0.5    /* eigenvalue, at least */
#define TOLERANCE 1e-12 /* residual, of the right side */
#define ITERATIONS 1000

struct system {
  int below, above;   /* ranks with the planes there */
  int side, first, n; /* points of an edge; planes before the own ones, own planes */
  size_t plane, own;  /* points of a plane, of the own planes */
};

struct parts {
  part solve, planes, product, dot, sum, update;
};

/* A vector has a plane of another rank, or of zeros, at either end. */
static double *vector(const struct system *s) {
  return program_memory(s->own + 2 * s->plane, sizeof(double));
}

static void system_open(struct system *s, int side, bool weak) {
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  long planes = weak ? (long)side * ranks : side;
  s->side = side;
  s->first = (int)(planes * rank / ranks);
  s->n = (int)(planes * (rank + 1) / ranks) - s->first;
  s->plane = (size_t)side * (size_t)side;
  s->own = s->plane * (size_t)s->n;
  s->below = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  s->above = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
}

/* A value from -1 to 1 that does not depend on the number of ranks (Steele, Lea and Flood's splitmix64). */
static double planted(uint64_t point, uint64_t seed) {
  uint64_t z = (point + 1) * UINT64_C(0x9e3779b97f4a7c15) + seed;
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return (double)((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1;
}

static void exchange(const struct system *s, const struct parts *p, double *x) {
  int n = (int)s->plane;
  double sent = ((s->below != MPI_PROC_NULL) + (s->above != MPI_PROC_NULL)) * n * (double)sizeof *x;
  part_begin(p->planes);
  MPI_Sendrecv(x + s->own, n, MPI_DOUBLE, s->above, 0, x, n, MPI_DOUBLE, s->below, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(x + n, n, MPI_DOUBLE, s->below, 1, x + s->own + n, n, MPI_DOUBLE, s->above, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  part_end(p->planes, sent);
}

static void product_row(const struct system *s, const double *x, double *y, size_t row, bool first, bool last) {
  size_t side = (size_t)s->side;
  for (size_t j = 0; j < side; j++) {
    size_t i = row + j;
    double around = x[i - s->plane] + x[i + s->plane];
    if (!first) around += x[i - side];
    if (!last) around += x[i + side];
    if (j > 0) around += x[i - 1];
    if (j < side - 1) around += x[i + 1];
    y[i] = DIAGONAL * x[i] - around;
  }
}

/* y = A x */
static void product(const struct system *s, const struct parts *p, double *x, double *y) {
  exchange(s, p, x);
  part_begin(p->product);
  for (int k = 0; k < s->n; k++)
    for (int i = 0; i < s->side; i++)
      product_row(s, x, y, ((size_t)k + 1) * s->plane + (size_t)i * (size_t)s->side, i == 0, i == s->side - 1);
  part_end(p->product, 8.0 * (double)s->own);
}

static double dot(const struct system *s, const struct parts *p, const double *x, const double *y) {
  double sum = 0;
  part_begin(p->dot);
  for (size_t i = s->plane; i < s->plane + s->own; i++) sum += x[i] * y[i];
  part_end(p->dot, 2.0 * (double)s->own);
  part_begin(p->sum);
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  part_end(p->sum, sizeof sum);
  return sum;
}

/* y = x + a y, or x = x + a y where @to is x */
static void add(const struct system *s, const struct parts *p, double *to, const double *x, double a, const double *y) {
  part_begin(p->update);
  for (size_t i = s->plane; i < s->plane + s->own; i++) to[i] = x[i] + a * y[i];
  part_end(p->update, 2.0 * (double)s->own);
}

/* Solve A x = b from x = 0; b becomes the residual. */
static void solve(const struct system *s, const struct parts *p, double *x, double *b, double *direction,
                  double *image) {
  part_begin(p->solve);
  memcpy(direction, b, (s->own + 2 * s->plane) * sizeof *b);
  double square = dot(s, p, b, b), enough = TOLERANCE * TOLERANCE * square;
  for (int n = 0; n < ITERATIONS && square > enough; n++) {
    product(s, p, direction, image);
    double a = square / dot(s, p, direction, image), before = square;
    add(s, p, x, x, a, direction);
    add(s, p, b, b, -a, image);
    square = dot(s, p, b, b);
    add(s, p, direction, b, square / before, direction);
  }
  part_end(p->solve, 0);
}

/* Solve for a known vector. @seconds: added to; @allowed: the permitted error. */
static double solve_planted(const struct system *s, const struct parts *p, uint64_t seed, double *seconds,
                            double *allowed) {
  double *x = vector(s), *b = vector(s), *direction = vector(s), *image = vector(s), error = 0;
  uint64_t before = (uint64_t)s->first * s->plane;
  for (size_t i = 0; i < s->own; i++) x[s->plane + i] = planted(before + i, seed);
  product(s, p, x, b);
  *allowed = 2 * TOLERANCE / SMALLEST * sqrt(dot(s, p, b, b)); /* twice, for rounding */
  memset(x, 0, (s->own + 2 * s->plane) * sizeof *x);
  MPI_Barrier(MPI_COMM_WORLD);
  double from = MPI_Wtime();
  solve(s, p, x, b, direction, image);
  *seconds += MPI_Wtime() - from;
  for (size_t i = 0; i < s->own; i++) error = fmax(error, fabs(x[s->plane + i] - planted(before + i, seed)));
  free(x);
  free(b);
  free(direction);
  free(image);
  return error;
}

int main(int argc, char **argv) {
  struct system s;
  long value[2]; /* side, solves */
  bool weak;
  int ranks;
  double seconds = 0, error = 0, allowed = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (!program_options(argc, argv, 2, value, &weak) || value[0] < 2 || value[0] > 1024)
    return program_refuse("usage: gradient SIDE SOLVES [weak], with SIDE from 2 to 1024");
  if (!weak && value[0] < ranks) return program_refuse("gradient: SIDE must not be less than the number of ranks");
  struct parts p = {
      part_named("solve", PART_COMPUTES), part_named("planes", PART_COMMUNICATES), part_named("product", PART_COMPUTES),
      part_named("dot", PART_COMPUTES),   part_named("sum", PART_COMMUNICATES),    part_named("update", PART_COMPUTES),
  };
  system_open(&s, (int)value[0], weak);
  for (long n = 0; n < value[1]; n++) error = fmax(error, solve_planted(&s, &p, (uint64_t)n << 32, &seconds, &allowed));
  return program_end("gradient", seconds, error, allowed);
}
