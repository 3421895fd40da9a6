/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/programs/mpi/stencil.c - heat in a plate: Jacobi's method on a grid that is cut in both directions, with an
 * exchange of halos that overlaps the computation.
 *
 *     mpirun -n RANKS stencil SIDE STEPS [weak]       SIDE points along each edge, in all, or with "weak" of each rank
 *
 * The grid begins as the sum of two modes, sin(p pi x) sin(q pi y) with a border of zeros. A step multiplies a mode by
 * (cos(p pi h) + cos(q pi k)) / 2, h and k the distances of points, so each value is known at every step, and so is the
 * sum of squares.
 */
#include "program.h"

#define TAU 6.283185307179586
#define MODES 2
#define SUM_EVERY 10 /* steps */
enum side { NORTH, SOUTH, WEST, EAST, SIDES };

static const int mode_of[MODES][2] = {{1, 1}, {3, 2}}; /* p, q */

struct grid {
  MPI_Comm comm;
  MPI_Datatype column;
  int neighbour[SIDES];
  int all[2], first[2], own[2]; /* points: of the whole grid, before the own ones, own */
  double *now, *next;           /* own points with a border of one */
  double *sine[2][MODES];       /* factors of the modes at the own points */
};

struct parts {
  part solve, post, inner, wait, border, norm, sum;
};

static inline size_t at(const struct grid *g, int i, int j) {
  return (size_t)i * (size_t)(g->own[1] + 2) + (size_t)j;
}

static double factor(const struct grid *g, int mode, long steps) {
  double sum = 0;
  for (int d = 0; d < 2; d++) sum += cos(TAU / 2 * mode_of[mode][d] / (g->all[d] + 1));
  return pow(sum / 2, (double)steps);
}

/* The value that a point has after @steps. */
static double known(const struct grid *g, const double *factors, int i, int j) {
  double sum = 0;
  for (int m = 0; m < MODES; m++) sum += factors[m] * g->sine[0][m][i] * g->sine[1][m][j];
  return sum;
}

static void divide(struct grid *g, int d, int parts, int coordinate) {
  g->first[d] = (int)((long)g->all[d] * coordinate / parts);
  g->own[d] = (int)((long)g->all[d] * (coordinate + 1) / parts) - g->first[d];
  for (int m = 0; m < MODES; m++) {
    g->sine[d][m] = program_memory((size_t)g->own[d] + 2, sizeof(double));
    for (int i = 0; i < g->own[d] + 2; i++) {
      int index = g->first[d] + i;
      bool inside = index > 0 && index <= g->all[d];
      g->sine[d][m][i] = inside ? sin(TAU / 2 * mode_of[m][d] * index / (g->all[d] + 1)) : 0;
    }
  }
}

static void grid_open(struct grid *g, int side, bool weak) {
  int ranks, rank, parts[2] = {0, 0}, coordinate[2], endless[2] = {0, 0};
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Dims_create(ranks, 2, parts);
  MPI_Cart_create(MPI_COMM_WORLD, 2, parts, endless, 1, &g->comm);
  MPI_Comm_rank(g->comm, &rank);
  MPI_Cart_coords(g->comm, rank, 2, coordinate);
  MPI_Cart_shift(g->comm, 0, 1, &g->neighbour[NORTH], &g->neighbour[SOUTH]);
  MPI_Cart_shift(g->comm, 1, 1, &g->neighbour[WEST], &g->neighbour[EAST]);
  for (int d = 0; d < 2; d++) {
    g->all[d] = weak ? side * parts[d] : side;
    divide(g, d, parts[d], coordinate[d]);
  }
  MPI_Type_vector(g->own[0], 1, g->own[1] + 2, MPI_DOUBLE, &g->column);
  MPI_Type_commit(&g->column);
  g->now = program_memory(at(g, g->own[0] + 2, 0), sizeof(double));
  g->next = program_memory(at(g, g->own[0] + 2, 0), sizeof(double));
  static const double whole[MODES] = {1, 1};
  for (int i = 0; i < g->own[0] + 2; i++)
    for (int j = 0; j < g->own[1] + 2; j++) g->now[at(g, i, j)] = known(g, whole, i, j);
}

static void grid_close(struct grid *g) {
  for (int d = 0; d < 2; d++)
    for (int m = 0; m < MODES; m++) free(g->sine[d][m]);
  free(g->now);
  free(g->next);
  MPI_Type_free(&g->column);
  MPI_Comm_free(&g->comm);
}

/* Each side of the own points goes to the neighbour there, and the border of that side comes from it. */
static void post(struct grid *g, MPI_Request *request) {
  int m = g->own[0], n = g->own[1];
  double *out[SIDES] = {g->now + at(g, 1, 1), g->now + at(g, m, 1), g->now + at(g, 1, 1), g->now + at(g, 1, n)};
  double *in[SIDES] = {g->now + at(g, 0, 1), g->now + at(g, m + 1, 1), g->now + at(g, 1, 0), g->now + at(g, 1, n + 1)};
  for (int s = 0; s < SIDES; s++) {
    bool row = s == NORTH || s == SOUTH;
    MPI_Irecv(in[s], row ? n : 1, row ? MPI_DOUBLE : g->column, g->neighbour[s], s ^ 1, g->comm, request++);
    MPI_Isend(out[s], row ? n : 1, row ? MPI_DOUBLE : g->column, g->neighbour[s], s, g->comm, request++);
  }
}

static double bytes_sent(const struct grid *g) {
  double points = 0;
  for (int s = 0; s < SIDES; s++)
    if (g->neighbour[s] != MPI_PROC_NULL) points += s == NORTH || s == SOUTH ? g->own[1] : g->own[0];
  return points * sizeof(double);
}

static void relax(struct grid *g, int top, int bottom, int left, int right) {
  for (int i = top; i <= bottom; i++) {
    const double *above = g->now + at(g, i - 1, 0), *here = g->now + at(g, i, 0), *below = g->now + at(g, i + 1, 0);
    double *to = g->next + at(g, i, 0);
    for (int j = left; j <= right; j++) to[j] = 0.25 * (above[j] + below[j] + here[j - 1] + here[j + 1]);
  }
}

static void relax_border(struct grid *g) {
  int m = g->own[0], n = g->own[1];
  relax(g, 1, 1, 1, n);
  if (m > 1) relax(g, m, m, 1, n);
  relax(g, 2, m - 1, 1, 1);
  if (n > 1) relax(g, 2, m - 1, n, n);
}

static void step(struct grid *g, const struct parts *p) {
  MPI_Request request[2 * SIDES];
  double inside = fmax(g->own[0] - 2, 0) * fmax(g->own[1] - 2, 0), points = (double)g->own[0] * g->own[1];
  part_begin(p->post);
  post(g, request);
  part_end(p->post, bytes_sent(g));
  part_begin(p->inner);
  relax(g, 2, g->own[0] - 1, 2, g->own[1] - 1);
  part_end(p->inner, 4 * inside);
  part_begin(p->wait);
  MPI_Waitall(2 * SIDES, request, MPI_STATUSES_IGNORE);
  part_end(p->wait, 0);
  part_begin(p->border);
  relax_border(g);
  part_end(p->border, 4 * (points - inside));
  double *before = g->now;
  g->now = g->next;
  g->next = before;
}

/* The sum of the squares of all points. */
static double norm(const struct grid *g, const struct parts *p) {
  double sum = 0;
  part_begin(p->norm);
  for (int i = 1; i <= g->own[0]; i++) {
    double row = 0;
    for (int j = 1; j <= g->own[1]; j++) row += g->now[at(g, i, j)] * g->now[at(g, i, j)];
    sum += row;
  }
  part_end(p->norm, 2.0 * g->own[0] * g->own[1]);
  part_begin(p->sum);
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, g->comm);
  part_end(p->sum, sizeof sum);
  return sum;
}

/* How far a norm is from the known one, of its size at the beginning. Modes are orthogonal. */
static double norm_error(const struct grid *g, double sum, long steps) {
  double share = 0;
  for (int m = 0; m < MODES; m++) share += pow(factor(g, m, steps), 2);
  return fabs(4 * sum / (g->all[0] + 1.0) / (g->all[1] + 1.0) - share);
}

static double solve(struct grid *g, const struct parts *p, long steps) {
  double error = 0;
  part_begin(p->solve);
  for (long n = 1; n <= steps; n++) {
    step(g, p);
    if (n % SUM_EVERY == 0) error = fmax(error, norm_error(g, norm(g, p), n));
  }
  part_end(p->solve, 0);
  return error;
}

static double grid_error(const struct grid *g, long steps) {
  double factors[MODES], error = 0;
  for (int m = 0; m < MODES; m++) factors[m] = factor(g, m, steps);
  for (int i = 1; i <= g->own[0]; i++)
    for (int j = 1; j <= g->own[1]; j++) error = fmax(error, fabs(g->now[at(g, i, j)] - known(g, factors, i, j)));
  return error;
}

int main(int argc, char **argv) {
  struct grid g;
  long value[2]; /* side, steps */
  bool weak;
  int ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (!program_options(argc, argv, 2, value, &weak) || value[0] < 4 || value[0] > 32768)
    return program_refuse("usage: stencil SIDE STEPS [weak], with SIDE from 4 to 32768");
  if (!weak && value[0] < ranks) return program_refuse("stencil: SIDE must not be less than the number of ranks");
  struct parts p = {
      part_named("solve", PART_COMPUTES),    part_named("post", PART_COMMUNICATES), part_named("inner", PART_COMPUTES),
      part_named("wait", PART_COMMUNICATES), part_named("border", PART_COMPUTES),   part_named("norm", PART_COMPUTES),
      part_named("sum", PART_COMMUNICATES),
  };
  grid_open(&g, (int)value[0], weak);
  MPI_Barrier(g.comm);
  double from = MPI_Wtime();
  double error = solve(&g, &p, value[1]);
  double seconds = MPI_Wtime() - from;
  error = fmax(error, grid_error(&g, value[1]));
  grid_close(&g);
  return program_end("stencil", seconds, error, 1e-14 * (double)(value[1] + 10));
}
