/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/tamm_contract.c - tiled contractions against plain loops, and their events against both. */
#include "check.h"
#include "tamm/tamm.h"

#include <math.h>

struct problem {
  struct tamm_orbitals o;
  const struct tamm_term *term;
  struct tamm_tensor a, b, c;
  struct tamm_report report;
  struct tamm_error e;
};

static const struct tamm_shape shapes[] = {
    {.occupied = 3, .virtuals = 5, .tile = 2},                /* tiles of 2 and 1 */
    {.occupied = 5, .virtuals = 4, .unpaired = 2, .tile = 3}, /* spins of unlike sizes */
    {.occupied = 2, .virtuals = 3, .unpaired = 1, .tile = 1}, /* DGEMMs of one number */
    {.occupied = 3, .virtuals = 6, .tile = 64},               /* one tile per spin */
    {.occupied = 1, .virtuals = 1, .tile = 5},
};
#define SHAPES (sizeof shapes / sizeof *shapes)

static void close_problem(struct problem *p) {
  tamm_tensor_close(&p->a);
  tamm_tensor_close(&p->b);
  tamm_tensor_close(&p->c);
}

static int contract(struct problem *p, size_t threads, tamm_dgemm *dgemm, const volatile int *interrupt) {
  const struct tamm_options options = {.threads = threads, .dgemm = dgemm, .interrupt = interrupt};
  memset(p->c.data, 0, p->c.elements * sizeof *p->c.data);
  return tamm_contract(p->term, &p->a, &p->b, &p->c, &options, &p->report, &p->e);
}

static bool open_problem(struct problem *p, const struct tamm_shape *shape, const struct tamm_term *term) {
  memset(p, 0, sizeof *p);
  p->term = term;
  int err = tamm_orbitals_open(&p->o, shape, &p->e);
  if (!err) err = tamm_tensor_open(&p->a, &p->o, term->a, &p->e);
  if (!err) err = tamm_tensor_open(&p->b, &p->o, term->b, &p->e);
  if (!err) err = tamm_tensor_open(&p->c, &p->o, term->c, &p->e);
  if (err) return CHECK(false, "%s can be set up: %s", term->name, p->e.text);
  tamm_tensor_fill(&p->a, 3);
  tamm_tensor_fill(&p->b, 4);
  return true;
}

static size_t extent(const struct problem *p, char letter) {
  return p->o.space[letter >= 'i' ? TAMM_OCCUPIED : TAMM_VIRTUAL].n;
}

static int spin(const struct problem *p, char letter, size_t orbital) {
  const struct tamm_space *s = &p->o.space[letter >= 'i' ? TAMM_OCCUPIED : TAMM_VIRTUAL];
  return s->tile[s->tile_of[orbital]].spin;
}

/* Is there an element where the letters have these values? */
static bool there(const struct problem *p, const char *l, const size_t at[128]) {
  return spin(p, l[0], at[(int)l[0]]) + spin(p, l[1], at[(int)l[1]]) ==
         spin(p, l[2], at[(int)l[2]]) + spin(p, l[3], at[(int)l[3]]);
}

static double element(const struct tamm_tensor *t, const size_t at[128]) {
  size_t orbital[TAMM_RANK];
  for (int d = 0; d < TAMM_RANK; d++) orbital[d] = at[(int)t->label[d]];
  return tamm_tensor_at(t, orbital);
}

struct plain {
  double worst; /* absolute difference of an element */
  uint64_t flops;
};

/* The next values of the letters, the last one first; false after the last. */
static bool step(const struct problem *p, const char *letters, size_t at[128]) {
  for (size_t i = strlen(letters); i-- > 0;) {
    if (++at[(int)letters[i]] < extent(p, letters[i])) return true;
    at[(int)letters[i]] = 0;
  }
  return false;
}

static struct plain compare(const struct problem *p) {
  struct plain out = {0};
  size_t at[128] = {0};
  char summed[3] = "", n = 0;
  for (const char *l = p->term->a; *l; l++)
    if (!strchr(p->term->c, *l)) summed[(int)n++] = *l;
  do {
    double sum = 0;
    do {
      sum += element(&p->a, at) * element(&p->b, at);
      if (there(p, p->term->c, at) && there(p, p->term->a, at) && there(p, p->term->b, at)) out.flops += 2;
    } while (step(p, summed, at));
    out.worst = fmax(out.worst, fabs(element(&p->c, at) - p->term->factor * sum));
  } while (step(p, p->term->c, at));
  return out;
}

static struct pml_sde_event *event(const struct problem *p, const char *name) {
  char full[96];
  struct pml_sde_event *ev = NULL;
  snprintf(full, sizeof full, "sde:::TAMM::%s::ContrID=%d", name, p->term->id);
  return pml_sde_find(full, &ev, NULL) == 0 ? ev : NULL;
}

static double told(const struct problem *p, const char *name) {
  struct pml_value v = {.type = PML_TYPE_DOUBLE, .d = NAN};
  struct pml_sde_event *ev = event(p, name);
  if (ev && pml_sde_read(ev, &v) < 0) v = (struct pml_value){.type = PML_TYPE_DOUBLE, .d = NAN};
  if (ev) pml_sde_release(ev);
  return pml_value_number(&v);
}

static void is_right(const struct tamm_shape *shape, const struct tamm_term *term) {
  struct problem p;
  if (!open_problem(&p, shape, term)) return close_problem(&p);
  int err = contract(&p, 1, tamm_dgemm_own, NULL);
  struct plain plain = compare(&p);
  CHECK(err == 0 && plain.worst < 1e-13, "%s of %zu, %zu, %zu in tiles of %zu: off by %.2g at most %s", term->name,
        shape->occupied, shape->virtuals, shape->unpaired, shape->tile, plain.worst, p.e.text);
  CHECK(p.report.flops == plain.flops, "its %llu FLOPs are those of the plain loops",
        (unsigned long long)p.report.flops);
  double *alone = malloc(p.c.elements * sizeof *alone), error = NAN;
  memcpy(alone, p.c.data, p.c.elements * sizeof *alone);
  err = contract(&p, 2, tamm_dgemm_own, NULL);
  CHECK(err == 0 && memcmp(alone, p.c.data, p.c.elements * sizeof *alone) == 0, "two threads get the same");
  err = tamm_check(term, &p.a, &p.b, &p.c, &error, &p.e);
  CHECK(err == 0 && error < 1e-13 && told(&p, "CheckError_D") == error, "its own check agrees: %.2g", error);
  p.c.data[p.c.elements / 2] += 1e-3;
  err = tamm_check(term, &p.a, &p.b, &p.c, &error, &p.e);
  CHECK(err == 0 && error > 1e-6, "and finds the one element that is wrong: %.2g", error);
  free(alone);
  close_problem(&p);
}

static void multiplies(tamm_dgemm *dgemm, const char *whose) {
  enum { MOST = 11 };
  double a[MOST * MOST], b[MOST * MOST], c[MOST * MOST], worst = 0;
  for (size_t m = 1; m <= MOST; m++)
    for (size_t n = 1; n <= MOST; n++)
      for (size_t k = 1; k <= MOST; k += 3) {
        for (size_t i = 0; i < MOST * MOST; i++) {
          a[i] = sin((double)i);
          b[i] = cos((double)i);
          c[i] = 1;
        }
        dgemm(m, n, k, a, b, c);
        for (size_t i = 0; i < m * n; i++) {
          double sum = 1;
          for (size_t q = 0; q < k; q++) sum += a[i / n * k + q] * b[q * n + i % n];
          worst = fmax(worst, fabs(c[i] - sum));
        }
        for (size_t i = m * n; i < MOST * MOST; i++) worst = fmax(worst, fabs(c[i] - 1)); /* nothing beside it */
      }
  CHECK(worst < 1e-13, "%s DGEMM of 1 to %d rows and columns: off by %.2g at most", whose, MOST, worst);
}

static void loads_blas(void) {
  struct tamm_error e = {""};
  tamm_dgemm *blas = NULL;
  CHECK(tamm_dgemm_load("/nonexistent/libblas.so", &blas, &e) == -ENOENT && strstr(e.text, "/nonexistent"), "%s",
        e.text);
  CHECK(tamm_dgemm_load("libm.so.6", &blas, &e) == -ENOENT && strstr(e.text, "dgemm_"), "%s", e.text);
  if (tamm_dgemm_load("", &blas, &e) < 0) return SKIP(e.text);
  multiplies(blas, "a BLAS's");
}

static void refuses(void) {
  struct problem p;
  const struct tamm_shape bad[] = {{.occupied = 2, .virtuals = 2, .tile = 0},
                                   {.occupied = 2, .virtuals = 2, .tile = 65},
                                   {.occupied = 2, .virtuals = 2, .unpaired = 2, .tile = 2},
                                   {.occupied = 2, .virtuals = 0, .tile = 2},
                                   {.occupied = 2, .virtuals = 512, .unpaired = 1, .tile = 2},
                                   {.occupied = SIZE_MAX, .virtuals = 2, .tile = 2}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    CHECK(tamm_orbitals_open(&p.o, &bad[i], &p.e) == -EINVAL && *p.e.text, "%s", p.e.text);
  if (!open_problem(&p, &shapes[0], &tamm_term[0])) return close_problem(&p);
  struct tamm_tensor t;
  CHECK(tamm_tensor_open(&t, &p.o, "abz", &p.e) == -EINVAL && tamm_tensor_open(&t, &p.o, "abxy", &p.e) == -EINVAL, "%s",
        p.e.text);
  CHECK(contract(&p, 0, tamm_dgemm_own, NULL) == -EINVAL &&
            contract(&p, TAMM_THREADS_MAX + 1, tamm_dgemm_own, NULL) == -EINVAL,
        "%s", p.e.text);
  int stop = 1;
  CHECK(contract(&p, 2, tamm_dgemm_own, &stop) == -EINTR, "%s", p.e.text);
  p.term = &tamm_term[1];
  CHECK(contract(&p, 1, tamm_dgemm_own, NULL) == -EINVAL && strstr(p.e.text, "t2_6"), "%s", p.e.text);
  CHECK(tamm_term_by_name("t9") == NULL, "there is no term t9");
  close_problem(&p);
}

int main(void) {
  for (size_t s = 0; s < SHAPES; s++)
    for (unsigned i = 0; i < TAMM_TERMS; i++) is_right(&shapes[s], &tamm_term[i]);
  multiplies(tamm_dgemm_own, "the own");
  loads_blas();
  refuses();
  return check_done();
}
