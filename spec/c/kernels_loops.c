/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/kernels_loops.c - the arithmetic kernels compared with plain loops: each build, precision and length computes
 * the source's result and writes only to its vector; a team of threads makes the requested number of calls. The team
 * starts threads by pthread_create(), so ThreadSanitizer also runs this spec.
 */
#include "check.h"
#include "kernels/kernels.h"
#include "kernels/team.h"

#include <math.h>
#include <sched.h>

#define LONGEST 200
#define GUARD 64
#define ALL (LONGEST + 2 * GUARD)

static const struct kernels_build *const build[] = {&kernels_scalar, &kernels_128, &kernels_256, &kernels_512};
#define BUILDS (sizeof build / sizeof *build)

static double a[ALL], b[ALL], c[ALL], d;
static float af[ALL], bf[ALL], cf[ALL], df;

static double plain(enum kernels_id k, double x, double y, double z) {
  switch (k) {
  case KERNELS_ADD:
    return x + y;
  case KERNELS_MULT:
    return x * y;
  case KERNELS_FMA:
    return fma(y, z, x);
  case KERNELS_DIVIDE:
    return y / x;
  case KERNELS_SQRT:
    return sqrt(x);
  case KERNELS_MIX:
    return 1 / sqrt(x * x + y * y);
  case KERNELS_COPY:
    return x;
  default:
    return NAN;
  }
}

static float plain_single(enum kernels_id k, float x, float y, float z) {
  if (k == KERNELS_FMA) return fmaf(y, z, x);
  if (k != KERNELS_MIX) return (float)plain(k, (double)x, (double)y, (double)z);
  float xx = x * x, yy = y * y, sum = xx + yy;
  return 1 / sqrtf(sum);
}

static void values(void) {
  for (size_t i = 0; i < ALL; i++) {
    a[i] = 1 + 0.37 * (double)(i % 23);
    b[i] = 2 + 0.11 * (double)(i % 19);
    af[i] = (float)a[i];
    bf[i] = (float)b[i];
    c[i] = -1;
    cf[i] = -1;
  }
  d = 0.7;
  df = 0.7F;
}

static size_t wrong(const struct kernels_build *w, enum kernels_id k, size_t at, size_t n) {
  size_t bad = 0;
  values();
  w->function[KERNELS_DOUBLE][k](a + at, b + at, c + at, &d, n);
  w->function[KERNELS_SINGLE][k](af + at, bf + at, cf + at, &df, n);
  for (size_t i = 0; i < ALL; i++) {
    bool inside = i >= at && i < at + n;
    double want = inside ? plain(k, a[i], b[i], d) : -1;
    float want_single = inside ? plain_single(k, af[i], bf[i], df) : -1;
    bad += !(c[i] == want);
    bad += !(cf[i] == want_single);
  }
  return bad;
}

static void computes(const struct kernels_build *w) {
  for (unsigned k = KERNELS_ADD; k <= KERNELS_COPY; k++) {
    size_t bad = 0, lengths = 0;
    for (size_t n = 0; n <= LONGEST; n++, lengths++) bad += wrong(w, (enum kernels_id)k, GUARD + n % 3, n);
    CHECK(bad == 0, "build %s, kernel %u: %zu lengths are to the bit what a plain loop gives (%zu elements are not)",
          w->name, k, lengths, bad);
  }
}

static void leaves_alone(const struct kernels_build *w) {
  static double block[2 * KERNELS_PEAK_STEP];
  static float block_single[2 * KERNELS_PEAK_STEP];
  for (size_t i = 0; i < 2 * KERNELS_PEAK_STEP; i++) block_single[i] = (float)(block[i] = 1);
  values();
  for (unsigned k = KERNELS_LOAD; k <= KERNELS_PEAK; k++) {
    w->function[KERNELS_DOUBLE][k](block, b, c, &d, 2 * KERNELS_PEAK_STEP);
    w->function[KERNELS_SINGLE][k](block_single, bf, cf, &df, 2 * KERNELS_PEAK_STEP);
  }
  size_t bad = 0;
  for (size_t i = 0; i < ALL; i++) bad += !(c[i] == -1.0 && cf[i] == -1.0F);
  CHECK(bad == 0, "build %s: reading and the peak write nothing", w->name);
}

static atomic_ulong counted;
static atomic_uint seen_members;
static _Thread_local bool seen;

static void count(const void *x, const void *y, void *z, const void *s, size_t n) {
  (void)y, (void)z, (void)s;
  if (!seen) atomic_fetch_add(&seen_members, 1);
  seen = true;
  if (((const double *)x)[0] == 1.0 && n == 100) atomic_fetch_add(&counted, 1);
}

static void team_calls(unsigned members) {
  struct team *t;
  cpu_set_t before, after;
  sched_getaffinity(0, sizeof before, &before);
  seen = false;
  atomic_store(&counted, 0);
  atomic_store(&seen_members, 0);
  int err = team_open(&t, members, KERNELS_DOUBLE, 100);
  if (!CHECK(err == 0, "a team of %u opens (%d)", members, err)) return;
  uint64_t fastest = 0, slowest = team_call(t, count, 100, 1000, &fastest);
  CHECK(atomic_load(&counted) == 1000UL * members && atomic_load(&seen_members) == members,
        "each of its %u members calls 1000 times, with its own vectors (%lu)", members, atomic_load(&counted));
  CHECK(slowest >= fastest && fastest > 0, "the slowest takes no less than the fastest");
  CHECK(team_call(t, count, 100, 0, NULL) < UINT64_MAX && atomic_load(&counted) == 1000UL * members,
        "no calls are no calls");
  team_close(t);
  sched_getaffinity(0, sizeof after, &after);
  CHECK(CPU_EQUAL(&before, &after), "the affinity is as before");
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static void out_of_memory(void) {
  SKIP("sanitizers end a program that requests more memory than there is");
}
#else
static void out_of_memory(void) {
  struct team *t;
  CHECK(team_open(&t, 1, KERNELS_DOUBLE, (size_t)1 << 58) == -ENOMEM, "and those that no memory can hold");
}
#endif

int main(void) {
  pml_clock_init();
  for (size_t i = 0; i < BUILDS; i++) {
    const char *why = build[i]->missing();
    if (why) {
      SKIP(why);
      continue;
    }
    computes(build[i]);
    leaves_alone(build[i]);
  }
  struct team *t;
  CHECK(team_open(&t, team_cpus() + 1, KERNELS_DOUBLE, 100) == -EINVAL, "more members than cpus are refused");
  CHECK(team_open(&t, 1, KERNELS_DOUBLE, 0) == -EINVAL, "so are vectors of nothing");
  out_of_memory();
  team_calls(1);
  if (team_cpus() > 1)
    team_calls(team_cpus());
  else
    SKIP("one cpu: there is no second member");
  return check_done();
}
