/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/workloads/krylov/generate.c - Poisson and convection-diffusion problems on a square or a cube.
 *
 * -lap u + C (u_x + u_y + u_z) by central differences on N inner points in each direction, times the square of the
 * step h = 1 / (N + 1), u = 0 on the boundary. C = 0 is Poisson's; its eigenvalues are the sums, over the directions,
 * of 2 - 2 cos(i pi h).
 */
#include "solver.h"

#define UNKNOWNS_MAX ((size_t)1 << 26)
#define CONVECTION 20.0

struct grid {
  size_t n, dimensions;
  double convection;
};

/* The neighbours of point i: at distance 1, n, n n. */
static size_t stencil(const struct grid *g, size_t i, struct krylov_entry *out) {
  size_t count = 0;
  double wind = g->convection / (double)(g->n + 1) / 2;
  out[count++] = (struct krylov_entry){(uint32_t)i, (uint32_t)i, 2.0 * (double)g->dimensions};
  for (size_t d = 0, distance = 1; d < g->dimensions; d++, distance *= g->n) {
    size_t at = i / distance % g->n;
    if (at > 0) out[count++] = (struct krylov_entry){(uint32_t)i, (uint32_t)(i - distance), -1.0 - wind};
    if (at + 1 < g->n) out[count++] = (struct krylov_entry){(uint32_t)i, (uint32_t)(i + distance), -1.0 + wind};
  }
  return count;
}

static int generate(struct krylov_matrix *a, const struct grid *g, struct krylov_error *e) {
  size_t unknowns = g->n * g->n * (g->dimensions == 3 ? g->n : 1), count = 0;
  struct krylov_entry *entry = malloc(unknowns * (2 * g->dimensions + 1) * sizeof *entry);
  if (!entry) return krylov__fail(e, -ENOMEM, "no memory for %zu unknowns, choose a smaller grid", unknowns);
  for (size_t i = 0; i < unknowns; i++) count += stencil(g, i, entry + count);
  int err = krylov_matrix_build(a, unknowns, unknowns, entry, count, e);
  free(entry);
  return err;
}

/* ":C" or nothing at the end of a specification. */
static bool read_convection(const char *text, double *out) {
  char *end = NULL;
  if (*text == 0) return true;
  if (*text != ':' || text[1] == 0) return false;
  *out = strtod(text + 1, &end);
  return *end == 0 && isfinite(*out) && fabs(*out) <= 1e6;
}

int krylov_matrix_generate(struct krylov_matrix *a, const char *spec, struct krylov_error *e) {
  static const struct {
    const char *name;
    size_t dimensions;
    bool convection;
  } kind[] = {{"poisson2d:", 2, false}, {"poisson3d:", 3, false}, {"convdiff2d:", 2, true}, {"convdiff3d:", 3, true}};
  memset(a, 0, sizeof *a);
  for (size_t i = 0; i < sizeof kind / sizeof *kind; i++) {
    size_t prefix = strlen(kind[i].name);
    if (strncmp(spec, kind[i].name, prefix) != 0) continue;
    struct grid g = {0, kind[i].dimensions, kind[i].convection ? CONVECTION : 0};
    const char *p = spec + prefix;
    for (; *p >= '0' && *p <= '9' && g.n <= UNKNOWNS_MAX; p++) g.n = g.n * 10 + (size_t)(*p - '0');
    bool tail = kind[i].convection ? read_convection(p, &g.convection) : *p == 0;
    if (g.n == 0 || !tail)
      return krylov__fail(e, -EINVAL, "unknown matrix %.80s; write %sN%s with N points a side", spec, kind[i].name,
                          kind[i].convection ? "[:C]" : "");
    double unknowns = pow((double)g.n, (double)g.dimensions);
    if (unknowns > (double)UNKNOWNS_MAX)
      return krylov__fail(e, -EINVAL, "the matrix %.80s has %.3g unknowns, at most %zu can be generated", spec,
                          unknowns, UNKNOWNS_MAX);
    return generate(a, &g, e);
  }
  return krylov__fail(e, -ENOENT, "%.80s is not a generated matrix", spec);
}
