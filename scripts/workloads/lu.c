/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/workloads/lu.c - a dense system solved by blocked LU with partial pivoting, with the probe after each phase.
 *
 * The phases of HPL_pdgesv0 in one process: panel init, panel factorisation, broadcast (the panel and its pivots go
 * into one contiguous buffer, here in the order the update reads it), update. The matrix is [A | b], column-major, as
 * HPL's: after the last panel its last column is what back substitution needs. Right-looking, Golub & Van Loan, 3.4.
 */
#include "workload.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { N, NB, REPEATS, SEED };
enum { PANEL_INIT, PANEL_FACTORISATION, BROADCAST, UPDATE, SITES };

static const char *const phase_name[SITES] = {"panel_init", "panel_factorisation", "broadcast", "update"};

#define STRIP 4u /* rows and columns of a register block */
#define HPL_THRESHOLD 16.0

typedef double vec2 __attribute__((vector_size(16), aligned(8)));

struct system {
  size_t n, nb;
  uint64_t seed;
  double *a;     /* [n + 1 columns][n] */
  double *strip; /* the panel below its diagonal block, in strips of 4 rows: [strips][jb][4], the last padded with 0 */
  double *diag;  /* its unit lower triangle: [jb columns][jb] */
  double *u;     /* four columns of the block row of U, [jb][4] */
  double *x;     /* the solution */
  size_t *pivot; /* [nb] the row that went to row j + i */
};

/* Entry i of the random [A | b], uniform in [-0.5, 0.5): splitmix64, so that the check can make it again. */
static double entry(const struct system *s, size_t i) {
  uint64_t z = s->seed + (i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  return (double)(z >> 11) * 0x1p-53 - 0.5;
}

static void panel_init(const struct system *s, size_t j, size_t jb) {
  size_t below = s->n - j - jb, strips = (below + STRIP - 1) / STRIP;
  for (size_t i = 0; i < jb; i++) s->pivot[i] = j + i;
  if (strips) memset(s->strip + (strips - 1) * jb * STRIP, 0, jb * STRIP * sizeof *s->strip);
}

static void swap_rows(double *a, size_t ld, size_t columns, size_t p, size_t q) {
  if (p == q) return;
  for (size_t c = 0; c < columns; c++) {
    double t = a[c * ld + p];
    a[c * ld + p] = a[c * ld + q];
    a[c * ld + q] = t;
  }
}

/* Columns j .. j + jb of rows j .. n, one column at a time. False: the matrix is singular. */
static bool panel_factorise(const struct system *s, size_t j, size_t jb) {
  size_t n = s->n;
  double *panel = s->a + j * n;
  for (size_t k = 0; k < jb; k++) {
    double *col = panel + k * n;
    size_t top = j + k, p = top;
    for (size_t i = top + 1; i < n; i++)
      if (fabs(col[i]) > fabs(col[p])) p = i;
    if (col[p] == 0.0) return false;
    s->pivot[k] = p;
    swap_rows(panel, n, jb, top, p);
    double inverse = 1.0 / col[top];
    for (size_t i = top + 1; i < n; i++) col[i] *= inverse;
    for (size_t c = k + 1; c < jb; c++) {
      double *restrict dst = panel + c * n, f = dst[top];
      const double *restrict src = col;
      for (size_t i = top + 1; i < n; i++) dst[i] -= f * src[i];
    }
  }
  return true;
}

static void broadcast(const struct system *s, size_t j, size_t jb) {
  for (size_t k = 0; k < jb; k++) {
    const double *col = s->a + (j + k) * s->n + j;
    memcpy(s->diag + k * jb, col, jb * sizeof *col);
    for (size_t i = 0, below = s->n - j - jb; i < below; i++)
      s->strip[(i / STRIP * jb + k) * STRIP + i % STRIP] = col[jb + i];
  }
}

/* Solve L u = column for the rows of the diagonal block, in place. */
static void triangular_solve(const struct system *s, size_t jb, double *column) {
  for (size_t k = 0; k < jb; k++) {
    double f = column[k];
    const double *l = s->diag + k * jb;
    for (size_t i = k + 1; i < jb; i++) column[i] -= f * l[i];
  }
}

/* c[4 columns of 4 rows] = strip * u: sixteen sums that stay in registers. */
static void multiply(const double *restrict strip, const double *restrict u, size_t jb, vec2 c[STRIP][2]) {
  vec2 c00 = {0}, c01 = {0}, c10 = {0}, c11 = {0}, c20 = {0}, c21 = {0}, c30 = {0}, c31 = {0};
  for (size_t k = 0; k < jb; k++, strip += STRIP, u += STRIP) {
    vec2 lo = *(const vec2 *)strip, hi = *(const vec2 *)(strip + 2);
    c00 += lo * u[0], c01 += hi * u[0];
    c10 += lo * u[1], c11 += hi * u[1];
    c20 += lo * u[2], c21 += hi * u[2];
    c30 += lo * u[3], c31 += hi * u[3];
  }
  c[0][0] = c00, c[0][1] = c01, c[1][0] = c10, c[1][1] = c11;
  c[2][0] = c20, c[2][1] = c21, c[3][0] = c30, c[3][1] = c31;
}

/* Up to four columns of the trailing matrix, from row @j on: swap, solve, subtract the product. */
static void update_columns(const struct system *s, size_t j, size_t jb, double *a, size_t columns) {
  size_t n = s->n, below = n - j - jb;
  for (size_t k = 0; k < jb; k++) swap_rows(a, n, columns, j + k, s->pivot[k]);
  memset(s->u, 0, jb * STRIP * sizeof *s->u);
  for (size_t c = 0; c < columns; c++) {
    triangular_solve(s, jb, a + c * n + j);
    for (size_t k = 0; k < jb; k++) s->u[k * STRIP + c] = a[c * n + j + k];
  }
  for (size_t i = 0; i < below; i += STRIP) {
    vec2 product[STRIP][2];
    size_t rows = below - i < STRIP ? below - i : STRIP;
    multiply(s->strip + i * jb, s->u, jb, product);
    for (size_t c = 0; c < columns; c++)
      for (size_t m = 0; m < rows; m++) a[c * n + j + jb + i + m] -= product[c][m / 2][m % 2];
  }
}

static int update(struct pml_workload_run *r, const struct system *s, size_t j, size_t jb) {
  int err = 0;
  for (size_t c = j + jb; c <= s->n && !err; c += STRIP) {
    size_t columns = s->n + 1 - c < STRIP ? s->n + 1 - c : STRIP;
    update_columns(s, j, jb, s->a + c * s->n, columns);
    err = workload_stopped(r, SITES);
  }
  return err;
}

static int phase(struct pml_workload_run *r, const struct system *s, unsigned which, size_t j, size_t jb) {
  switch (which) {
  case PANEL_INIT:
    panel_init(s, j, jb);
    return 0;
  case PANEL_FACTORISATION:
    if (panel_factorise(s, j, jb)) return 0;
    return workload_fail(r, -EDOM, "the matrix is singular in columns %zu to %zu", j + 1, j + jb);
  case BROADCAST:
    broadcast(s, j, jb);
    return 0;
  default:
    return update(r, s, j, jb);
  }
}

static int factorise(struct pml_workload_run *r, const struct system *s, const pml_region_t region[SITES]) {
  int err = 0;
  for (size_t j = 0; j < s->n && !err; j += s->nb) {
    size_t jb = s->n - j < s->nb ? s->n - j : s->nb;
    for (unsigned which = 0; which < SITES && !err; which++) {
      uint64_t enter = pml_clock_ticks();
      err = phase(r, s, which, j, jb);
      workload_phase(r, region[which], enter, pml_clock_ticks());
      if (!err) pml_probe_hit(&r->probe[which]);
      if (!err) err = workload_stopped(r, SITES);
    }
  }
  return err;
}

static void back_substitute(const struct system *s) {
  size_t n = s->n;
  memcpy(s->x, s->a + n * n, n * sizeof *s->x);
  for (size_t k = n; k-- > 0;) {
    const double *col = s->a + k * n;
    s->x[k] /= col[k];
    for (size_t i = 0; i < k; i++) s->x[i] -= s->x[k] * col[i];
  }
}

/* HPL's scaled residual; the row sums and A x - b take the place of [A | b]'s first two columns, which are done with.
 */
static double residual(const struct system *s) {
  size_t n = s->n;
  double *rows = s->a, *rest = s->a + n, norm_a = 0, norm_b = 0, norm_x = 0, norm_r = 0;
  memset(rows, 0, 2 * n * sizeof *rows);
  for (size_t j = 0; j < n; j++)
    for (size_t i = 0; i < n; i++) {
      double a = entry(s, j * n + i);
      rows[i] += fabs(a);
      rest[i] += a * s->x[j];
    }
  for (size_t i = 0; i < n; i++) {
    double b = entry(s, n * n + i);
    norm_a = fmax(norm_a, rows[i]);
    norm_b = fmax(norm_b, fabs(b));
    norm_x = fmax(norm_x, fabs(s->x[i]));
    double d = fabs(rest[i] - b);
    norm_r = isnan(d) ? d : fmax(norm_r, d);
    if (isnan(d)) break;
  }
  return norm_r / (DBL_EPSILON / 2 * (norm_a * norm_x + norm_b) * (double)n);
}

static int solve(struct pml_workload_run *r, const struct system *s, double *best_ns, double *worst) {
  pml_region_t region[SITES];
  int err = 0;
  for (unsigned k = 0; k < SITES && !err; k++) err = workload_region(r, phase_name[k], &region[k]);
  for (size_t j = 0; j <= s->n && !err; j++) {
    for (size_t i = 0; i < s->n; i++) s->a[j * s->n + i] = entry(s, j * s->n + i);
    err = workload_stopped(r, SITES);
  }
  if (err) return err;
  uint64_t enter = pml_clock_ticks();
  err = factorise(r, s, region);
  if (err) return err;
  back_substitute(s);
  *best_ns = fmin(*best_ns, (double)pml_clock_ticks_to_ns(pml_clock_ticks() - enter));
  double res = residual(s);
  if (!(res <= *worst)) *worst = res; /* keeps a NaN, too */
  if (res < HPL_THRESHOLD) return 0;
  return workload_fail(r, PML_EFORMAT, "the solution is wrong: scaled residual %.3g, it must be below 16", res);
}

static int allocate(struct pml_workload_run *r, struct system *s) {
  size_t n = s->n, nb = s->nb, padded = (n + STRIP - 1) / STRIP * STRIP;
  s->a = malloc(n * (n + 1) * sizeof *s->a);
  s->strip = malloc(padded * nb * sizeof *s->strip);
  s->diag = malloc(nb * nb * sizeof *s->diag);
  s->u = malloc(nb * STRIP * sizeof *s->u);
  s->x = malloc(n * sizeof *s->x);
  s->pivot = malloc(nb * sizeof *s->pivot);
  if (s->a && s->strip && s->diag && s->u && s->x && s->pivot) return 0;
  return workload_out_of_memory(r, ((double)n * (double)(n + 1) + (double)padded * (double)nb) * sizeof(double));
}

static int run(struct pml_workload_run *r) {
  struct system s = {0};
  size_t repeats = 0, seed = 0;
  double best_ns = INFINITY, worst = 0;
  int err = workload_size(r, N, "n", 1, 1e5, &s.n);
  if (!err) err = workload_size(r, NB, "nb", 1, 1e5, &s.nb);
  if (!err) err = workload_size(r, REPEATS, "repeats", 1, 1e6, &repeats);
  if (!err) err = workload_size(r, SEED, "seed", 0, 0x1p53, &seed);
  if (err) return err;
  if (s.nb > s.n) s.nb = s.n; /* one panel is all there is */

  err = allocate(r, &s);
  for (size_t i = 0; i < repeats && !err; i++) {
    s.seed = seed + i;
    err = solve(r, &s, &best_ns, &worst);
  }
  if (!err) {
    double n = (double)s.n, flop = 2.0 / 3.0 * n * n * n + 1.5 * n * n;
    workload_result(r, "residual", "", worst);
    workload_result(r, "rate", "GFLOP/s", flop / best_ns);
    workload_result(r, "panels", "", ceil(n / (double)s.nb));
  }
  free(s.a);
  free(s.strip);
  free(s.diag);
  free(s.u);
  free(s.x);
  free(s.pivot);
  return err;
}

const struct pml_workload pml_workload = {
    .abi = PML_WORKLOAD_ABI,
    .name = "lu",
    .help = "blocked LU with partial pivoting as in HPL, probed after each phase of each panel",
    .site = {"panel_init", "panel_factorisation", "broadcast", "update"},
    .option = {[N] = {"n", "unknowns", 1024, NULL},
               [NB] = {"nb", "columns of a panel", 64, NULL},
               [REPEATS] = {"repeats", "systems solved, each with its own random matrix", 1, NULL},
               [SEED] = {"seed", "seed of the first matrix", 1, NULL}},
    .run = run,
};
