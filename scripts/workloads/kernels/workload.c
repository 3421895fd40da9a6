/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/workloads/kernels/workload.c - one kernel in one build over vectors of one length, a copy on every core.
 *
 * A sample is the ticks that the slowest core took for a batch of calls. The batch is made long enough first. The same
 * number of calls of the same kernel with no element to work on is what calling it costs: `overhead`, of the fastest of
 * several batches, for the caller to subtract. The counting inside the loop stays in, as in the paper.
 */
#include "../workload.h"
#include "team.h"

#include <math.h>

enum { KERNEL, PRECISION, BUILD, N, COPIES, BATCH_NS, SAMPLES };

#define EMPTY_BATCHES 5
#define CALLS_MAX ((uint64_t)1 << 40)

#define KERNEL_ROW(id, name, flops, loads, stores) {#name, flops, loads, stores},
static const struct {
  const char *name;
  unsigned flops, loads, stores;
} kernel[KERNELS_COUNT] = {KERNELS_LIST(KERNEL_ROW)};

static const struct kernels_build *const build[] = {&kernels_scalar, &kernels_128, &kernels_256, &kernels_512};
static const char *const precision_name[KERNELS_PRECISIONS] = {"double", "single"};

struct plan {
  enum kernels_id kernel;
  enum kernels_precision precision;
  const struct kernels_build *build;
  size_t n, copies, batch_ns, samples;
};

static int choose_kernel(struct pml_workload_run *r, struct plan *p) {
  for (unsigned i = 0; i < KERNELS_COUNT; i++)
    if (strcmp(r->text[KERNEL], kernel[i].name) == 0) {
      p->kernel = (enum kernels_id)i;
      return 0;
    }
  return workload_fail(r, -EINVAL,
                       "option kernel is %.40s, it must be add, mult, fma, divide, sqrt, mix, copy, load or peak",
                       r->text[KERNEL]);
}

static int choose_precision(struct pml_workload_run *r, struct plan *p) {
  for (unsigned i = 0; i < KERNELS_PRECISIONS; i++)
    if (strcmp(r->text[PRECISION], precision_name[i]) == 0) {
      p->precision = (enum kernels_precision)i;
      return 0;
    }
  return workload_fail(r, -EINVAL, "option precision is %.40s, it must be double or single", r->text[PRECISION]);
}

static int choose_build(struct pml_workload_run *r, struct plan *p) {
  for (unsigned i = 0; i < sizeof build / sizeof *build; i++) {
    if (strcmp(r->text[BUILD], build[i]->name) != 0) continue;
    const char *why = build[i]->missing();
    if (why) return workload_fail(r, -ENOTSUP, "build %s cannot run: %s", build[i]->name, why);
    p->build = build[i];
    return 0;
  }
  return workload_fail(r, -EINVAL, "option build is %.40s, it must be scalar, 128, 256 or 512", r->text[BUILD]);
}

static int read_options(struct pml_workload_run *r, struct plan *p) {
  int err = choose_kernel(r, p);
  if (!err) err = choose_precision(r, p);
  if (!err) err = choose_build(r, p);
  if (!err) err = workload_size(r, N, "n", 1, 1e11, &p->n);
  if (!err) err = workload_size(r, COPIES, "copies", 0, 1e6, &p->copies);
  if (!err) err = workload_size(r, BATCH_NS, "batch_ns", 1, 1e12, &p->batch_ns);
  if (!err) err = workload_size(r, SAMPLES, "samples", 1, 1e9, &p->samples);
  if (err) return err;
  if (p->kernel == KERNELS_PEAK && p->n % KERNELS_PEAK_STEP)
    return workload_fail(r, -EINVAL, "option n is %zu, it must be a multiple of %d for the peak", p->n,
                         KERNELS_PEAK_STEP);
  if (p->copies > team_cpus())
    return workload_fail(r, -EINVAL, "option copies is %zu, it must be at most %u, the cpus of this process", p->copies,
                         team_cpus());
  return 0;
}

static double element(const void *x, enum kernels_precision precision, size_t i) {
  return precision == KERNELS_DOUBLE ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

static double expected(const struct plan *p, double a, double b, double d) {
  switch (p->kernel) {
  case KERNELS_ADD:
    return a + b;
  case KERNELS_MULT:
    return a * b;
  case KERNELS_FMA:
    return a + b * d;
  case KERNELS_DIVIDE:
    return b / a;
  case KERNELS_SQRT:
    return sqrt(a);
  case KERNELS_MIX:
    return 1 / sqrt(a * a + b * b);
  case KERNELS_COPY:
    return a;
  default:
    return 0; /* c is not written */
  }
}

#define CHECKED ((size_t)4096) /* elements at either end that are looked at */

static int validate(struct pml_workload_run *r, const struct plan *p, const struct team *t) {
  const double limit = p->precision == KERNELS_DOUBLE ? 1e-14 : 1e-5;
  struct team_vectors v = team_vectors(t);
  double worst = 0, d = element(v.d, p->precision, 0);
  for (size_t i = 0; i < p->n; i++) {
    if (i == CHECKED && p->n > 2 * CHECKED) i = p->n - CHECKED;
    double want = expected(p, element(v.a, p->precision, i), element(v.b, p->precision, i), d);
    double off = fabs(element(v.c, p->precision, i) - want);
    if (!(off <= worst)) worst = off;
  }
  workload_result(r, "error", "", worst);
  if (worst < limit) return 0; /* NaN fails, too */
  return workload_fail(r, PML_EFORMAT, "%s, %s, build %s computed a wrong result: its error is %.3g",
                       kernel[p->kernel].name, precision_name[p->precision], p->build->name, worst);
}

/* Find the number of calls in a batch, which also warms up caches and clock. */
static uint64_t calibrate(struct team *t, kernels_function *f, const struct plan *p, uint64_t *made) {
  uint64_t calls = 1;
  for (;;) {
    double ns = (double)pml_clock_ticks_to_ns(team_call(t, f, p->n, calls, NULL));
    *made += calls;
    if (ns >= 0.8 * (double)p->batch_ns || calls >= CALLS_MAX) return calls;
    double factor = 1.05 * (double)p->batch_ns / (ns < 1 ? 1 : ns);
    calls = (uint64_t)((double)calls * (factor > 16 ? 16 : factor)) + 1;
  }
}

static int sample(struct pml_workload_run *r, const struct plan *p, struct team *t) {
  kernels_function *f = p->build->function[p->precision][p->kernel];
  uint64_t made = 0, calls = calibrate(t, f, p, &made), least = UINT64_MAX, fastest = 0;
  double spread = 0;
  for (unsigned i = 0; i < EMPTY_BATCHES; i++) {
    uint64_t ticks = team_call(t, f, 0, calls, NULL);
    if (ticks < least) least = ticks;
  }
  int err = workload_stopped(r, 1);
  size_t taken = 0;
  for (; taken < p->samples && !err; taken++) {
    uint64_t slowest = team_call(t, f, p->n, calls, &fastest);
    made += calls;
    spread += fastest ? (double)slowest / (double)fastest : 1;
    if (pml_samples_push(r->probe[0].samples, slowest)) r->probe[0].skipped++;
    err = workload_stopped(r, 1);
  }
  if (err) return err;
  workload_result(r, "calls", "", (double)calls);
  workload_result(r, "overhead", "ticks", (double)least / (double)calls);
  workload_result(r, "spread", "", spread / (double)taken);
  workload_result(r, "calls_made", "", (double)made);
  return 0;
}

static void tell(struct pml_workload_run *r, const struct plan *p, unsigned members) {
  double size = p->precision == KERNELS_DOUBLE ? sizeof(double) : sizeof(float);
  workload_result(r, "cores", "", members);
  workload_result(r, "flops", "", kernel[p->kernel].flops * (double)p->n);
  workload_result(r, "bytes", "B", size * (kernel[p->kernel].loads + kernel[p->kernel].stores) * (double)p->n);
}

static int run(struct pml_workload_run *r) {
  struct plan p = {.build = &kernels_scalar};
  struct team *t = NULL;
  pml_region_t region;
  int err = read_options(r, &p);
  if (!err) err = workload_region(r, kernel[p.kernel].name, &region);
  if (err) return err;
  err = team_open(&t, (unsigned)p.copies, p.precision, p.n);
  if (err == -ENOMEM) return workload_out_of_memory(r, 24.0 * (double)p.n * (double)p.copies);
  if (err) return workload_fail(r, err, "the copies cannot be started: %s", pml_error_text(err));
  uint64_t enter = pml_clock_ticks();
  tell(r, &p, team_members(t));
  err = sample(r, &p, t);
  workload_phase(r, region, enter, pml_clock_ticks());
  if (!err) err = validate(r, &p, t);
  team_close(t);
  return err;
}

const struct pml_workload pml_workload = {
    .abi = PML_WORKLOAD_ABI,
    .name = "kernels",
    .help = "add, mult, fma, divide, sqrt, mix, copy, load or the peak, a copy on every core; its samples are ticks "
            "per batch",
    .site = {"batch"},
    .option = {[KERNEL] = {"kernel", "the computation", 0, "add"},
               [PRECISION] = {"precision", "double or single", 0, "double"},
               [BUILD] = {"build", "scalar, or the width of a vector in bits: 128, 256, 512", 0, "scalar"},
               [N] = {"n", "elements of a vector", 1000, NULL},
               [COPIES] = {"copies", "number of cores, each with its own copy; 0: all", 0, NULL},
               [BATCH_NS] = {"batch_ns", "how long a batch of calls is at least, about", 1e5, NULL},
               [SAMPLES] = {"samples", "number of timed batches", 10, NULL}},
    .run = run,
};
