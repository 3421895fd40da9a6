/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/clock.c - the clock is right before it is set up and after, and says what it is. */
#include "base/pml_cpuid.h"
#include "base/text/pml_locale.h"
#include "check.h"

#include <linux/perf_event.h>
#include <locale.h>
#include <math.h>
#include <sched.h>
#include <sys/prctl.h>

#define THREADS 8
#define TURNS 20000

static uint64_t raw_ns(void) {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
  return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void before_init(void) {
  CHECK(pml__clock.kind == PML_CLOCK_MONOTONIC, "before init the clock is clock_gettime");
  CHECK(pml_clock_ticks_to_ns(12345678901234567u) == 12345678901234567u && pml_clock_at_ns(42) == 42,
        "before init a tick is a nanosecond");
  uint64_t before = raw_ns(), now = pml_clock_ns(), after = raw_ns();
  CHECK(before <= now && now <= after, "before init pml_clock_ns is CLOCK_MONOTONIC_RAW");
}

/* Init happens once per process, so each wish gets a process; its answer is the exit status. */
static bool in_child(const char *wish, bool (*claim)(void)) {
  pid_t pid = fork();
  if (pid == 0) {
    if (wish)
      setenv("PMLUA_CLOCK", wish, 1);
    else
      unsetenv("PMLUA_CLOCK");
    alarm(60);
    _exit(claim() ? 0 : 1);
  }
  return exit_of(pid) == 0;
}

static bool is_misled(void) {
  struct pml_clock_info info;
  return pml_clock_init() == -EINVAL && pml_clock_init() == -EINVAL &&
         strstr(pml_error_detail(-EINVAL), "PMLUA_CLOCK") && pml_clock_describe(&info) == -EINVAL &&
         pml__clock.kind == PML_CLOCK_MONOTONIC && pml_clock_ns() > 0;
}

/* Both clocks at the same time: of many tries, the least interrupted one. */
static void both_clocks(uint64_t *ns, uint64_t *counter) {
  uint64_t least = UINT64_MAX;
  *ns = *counter = 0;
  for (int i = 0; i < 100; i++) {
    uint64_t before = raw_ns(), ticks = pml__clock_counter(), took = raw_ns() - before;
    if (took >= least) continue;
    least = took;
    *ns = before + took / 2;
    *counter = ticks;
  }
}

static bool reads_a_point(void) {
  static const char *const commas[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
  const char *set = NULL;
  for (size_t i = 0; i < sizeof commas / sizeof commas[0] && set == NULL; i++) set = setlocale(LC_ALL, commas[i]);
  char *end, *text = strdup("1.5e9");
  bool right = text != NULL && pml__strtod(text, &end) == 1.5e9 && *end == '\0';
  free(text);
  if (set == NULL)
    printf("# no locale with a decimal comma is installed\n");
  else if (strtod("1.5", NULL) == 1.5)
    printf("# %s has no decimal comma\n", set);
  return right;
}

static bool is_right(double tolerance) {
  uint64_t ns[2], counter[2];
  both_clocks(&ns[0], &counter[0]);
  usleep(20000);
  both_clocks(&ns[1], &counter[1]);
  double rate = (double)(counter[1] - counter[0]) * 1e9 / (double)(ns[1] - ns[0]);
  return fabs(pml__clock.ticks_per_second / rate - 1) < tolerance;
}

/* In milliseconds; 0: the rate is known otherwise. */
static unsigned measured_over(void) {
  struct pml_clock_info info;
  unsigned ms = 0;
  const char *over = pml_clock_describe(&info) == 0 ? strstr(info.calibration, "over ") : NULL;
  return over != NULL && sscanf(over, "over %u ms", &ms) == 1 ? ms : 0;
}

/* The measurement includes the time before the process first needed the clock. */
static bool measures_from_load(void) {
  usleep(40000);
  if (pml_clock_init() < 0 || pml__clock.kind != PML_CLOCK_COUNTER) return false;
  unsigned ms = measured_over();
  return (ms == 0 || ms >= 40) && is_right(1e-4);
}

static bool measures_afresh(void) {
  usleep(1100000);
  if (pml_clock_init() < 0 || pml__clock.kind != PML_CLOCK_COUNTER) return false;
  return measured_over() < 1000 && is_right(1e-4);
}

static bool measures_rightly(void) {
  return pml_clock_init() == 0 && pml__clock.kind == PML_CLOCK_COUNTER && is_right(2e-5);
}

/* Another time namespace has other clocks, from the next child on. */
#define NEWTIME 0x80
static bool set_clocks(const char *offsets) {
  FILE *f = unshare(NEWTIME) == 0 ? fopen("/proc/self/timens_offsets", "we") : NULL;
  bool set = f != NULL && fputs(offsets, f) >= 0;
  return f != NULL && fclose(f) == 0 && set;
}

static const char *clocks;
static bool measures_with_other_clocks(void) {
  return set_clocks(clocks) && in_child("counter", measures_rightly);
}

static bool can_set_clocks(void) {
  return set_clocks("monotonic 1 0\nboottime 1 0\n");
}

static void time_namespaces(void) {
  static const char *const offsets[] = {"monotonic 500 0\nboottime 500 0\n", "boottime 0 900000000\n",
                                        "monotonic 0 300000000\n"};
  if (!in_child(NULL, can_set_clocks)) {
    SKIP("this process may not make a time namespace");
    return;
  }
  for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
    clocks = offsets[i];
    CHECK(in_child(NULL, measures_with_other_clocks), "but not from another time namespace (%zu)", i);
  }
}

#if defined(__x86_64__)
/* The code in between must not read the time: where the counter is forbidden, this would also be fatal in the vDSO. */
static bool survives_forbidden_counter(void) {
  if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV) != 0) return false;
  int err = pml_clock_init();
  prctl(PR_SET_TSC, PR_TSC_ENABLE);
  struct pml_clock_info info;
  pml_clock_describe(&info);
  return err == 0 && pml__clock.kind == PML_CLOCK_MONOTONIC && strstr(info.calibration, "may not execute rdtsc");
}

static bool refuses_forbidden_counter(void) {
  if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV) != 0) return false;
  int err = pml_clock_init();
  prctl(PR_SET_TSC, PR_TSC_ENABLE);
  return err == -ENOTSUP && strstr(pml_error_detail(err), "may not execute rdtsc");
}

static bool tsc_can_be_forbidden(void) {
  int mode = 0;
  return prctl(PR_GET_TSC, &mode) == 0 && mode == PR_TSC_ENABLE;
}
#endif

static void baselines(void) {
#if defined(__x86_64__) || defined(__aarch64__)
  CHECK(in_child("counter", measures_from_load), "a rate that nothing tells is measured since the process began");
  time_namespaces();
#else
  (void)measures_from_load, (void)time_namespaces;
#endif
}

static void wishes(void) {
  CHECK(in_child("sundial", is_misled), "an unknown PMLUA_CLOCK is -EINVAL, every time, and leaves a clock that works");
  CHECK(in_child("", is_misled), "an empty PMLUA_CLOCK is unknown, too");
#if defined(__x86_64__) || defined(__aarch64__)
  CHECK(in_child("counter", reads_a_point), "a rate is written with a point, in every locale");
  CHECK(in_child("counter", measures_afresh), "a process that began long ago measures its rate afresh");
#else
  (void)reads_a_point, (void)measures_afresh;
  SKIP("no counter is known on this kind of CPU");
#endif
#if defined(__x86_64__)
  if (tsc_can_be_forbidden()) {
    CHECK(in_child(NULL, survives_forbidden_counter), "a process that must not read the TSC gets clock_gettime");
    CHECK(in_child("counter", refuses_forbidden_counter), "and -ENOTSUP where it insists");
  } else {
    SKIP("PR_GET_TSC does not work here");
  }
#endif
}

static void *init_and_copy(void *arg) {
  struct pml_clock *seen = arg;
  if (pml_clock_init() == 0) *seen = pml__clock;
  return NULL;
}

static void init_at_once(void) {
  struct pml_clock seen[THREADS] = {{0}};
  pthread_t t[THREADS];
  unsetenv("PMLUA_CLOCK");
  int started = 0, differ = 0;
  while (started < THREADS && pthread_create(&t[started], NULL, init_and_copy, &seen[started]) == 0) started++;
  for (int i = 0; i < started; i++) pthread_join(t[i], NULL);
  for (int i = 0; i < THREADS; i++)
    differ += seen[i].mult == 0 || seen[i].mult != pml__clock.mult || seen[i].zero_ns != pml__clock.zero_ns ||
              seen[i].kind != pml__clock.kind;
  CHECK(differ == 0, "%d threads that init at once get one calibration", THREADS);
}

/* Schoolbook multiplication in 32-bit digits, as a second opinion on the 128-bit one. */
static uint64_t slow_ns(uint64_t ticks) {
  uint64_t digit[4] = {0}, a[2] = {(uint32_t)ticks, ticks >> 32},
           b[2] = {(uint32_t)pml__clock.mult, pml__clock.mult >> 32};
  for (int i = 0; i < 2; i++) {
    uint64_t carry = 0;
    for (int j = 0; j < 2; j++) {
      uint64_t v = a[i] * b[j] + digit[i + j] + carry;
      digit[i + j] = (uint32_t)v;
      carry = v >> 32;
    }
    digit[i + 2] += carry;
  }
  return digit[1] >> 16 | digit[2] << 16 | digit[3] << 48;
}

static void arithmetic(void) {
  unsigned wrong = 0, backwards = 0;
  uint64_t last = 0;
  for (unsigned bit = 0; bit < 64; bit++)
    for (int d = -2; d <= 2; d++) {
      uint64_t ticks = (UINT64_C(1) << bit) + (uint64_t)(int64_t)d;
      wrong += pml_clock_ticks_to_ns(ticks) != slow_ns(ticks);
    }
  wrong += pml_clock_ticks_to_ns(UINT64_MAX) != slow_ns(UINT64_MAX);
  for (uint64_t ticks = UINT64_C(1) << 40, end = ticks + 100000; ticks < end; ticks++) {
    backwards += pml_clock_ticks_to_ns(ticks) < last;
    last = pml_clock_ticks_to_ns(ticks);
  }
  CHECK(wrong == 0, "ticks become ns without overflow, up to 2^64 - 1");
  CHECK(backwards == 0, "more ticks are never less ns");
  CHECK(pml_clock_ticks_to_ns(0) == 0, "no ticks are no ns");
  double second = (double)pml_clock_ticks_to_ns((uint64_t)pml__clock.ticks_per_second);
  CHECK(fabs(second - 1e9) <= 1e3, "ticks_per_second is a second (%.0f ns)", second);
}

/* Bounds hold however long the thread is kept waiting; the slack is what a rate wrong by 1e-4 may gain meanwhile. */
static void axis(void) {
  uint64_t begin = raw_ns();
  unsigned outside = 0;
  for (int i = 0; i < 200; i++) {
    struct timespec pause = {0, 1000000};
    nanosleep(&pause, NULL);
    uint64_t before = raw_ns();
    uint64_t now = pml_clock_at_ns(pml_clock_ticks_ordered());
    uint64_t after = raw_ns(), slack = 2000 + (after - begin) / 10000;
    outside += now + slack < before || now > after + slack;
  }
  CHECK(outside == 0, "pml_clock_ns stays on the axis of CLOCK_MONOTONIC_RAW");
  uint64_t last = pml_clock_ns();
  unsigned backwards = 0;
  for (int i = 0; i < 1000000; i++) {
    uint64_t now = pml_clock_ns();
    backwards += now < last;
    last = now;
  }
  CHECK(backwards == 0, "a million readings never go back");
}

static struct {
  pthread_mutex_t lock;
  uint64_t last;
  unsigned backwards;
} relay = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *run_relay(void *arg) {
  for (int i = 0; i < TURNS; i++) {
    pthread_mutex_lock(&relay.lock);
    uint64_t now = pml_clock_ticks_ordered();
    relay.backwards += now < relay.last;
    relay.last = now;
    pthread_mutex_unlock(&relay.lock);
  }
  return arg;
}

static void between_threads(void) {
  pthread_t t[2];
  int started = 0;
  while (started < 2 && pthread_create(&t[started], NULL, run_relay, NULL) == 0) started++;
  for (int i = 0; i < started; i++) pthread_join(t[i], NULL);
  CHECK(started == 2 && relay.last > 0 && relay.backwards == 0, "time does not go back from one thread to another");
}

static void perf_page(void) {
  struct perf_event_mmap_page page;
  memset(&page, 0, sizeof page);
  page.time_mult = 0x80000000u;
  page.time_shift = 31;
  CHECK(pml__clock_page_mult(&page) == 0, "a page without cap_user_time gives no rate");
  page.cap_user_time = 1;
  CHECK(pml__clock_page_mult(&page) == UINT64_C(1) << 48, "mult 2^31 with shift 31 is 1 ns per tick");
  page.time_mult = 0xffffffffu;
  page.time_shift = 32;
  CHECK(pml__clock_page_mult(&page) == UINT64_C(0xffffffff) << 16, "no bit of the kernel's mult is lost");
  page.time_shift = 0;
  CHECK(pml__clock_page_mult(&page) == 0, "a rate that does not fit is ignored");
  page.time_mult = 0;
  page.time_shift = 31;
  CHECK(pml__clock_page_mult(&page) == 0, "a page that was never filled gives no rate");
  page.time_mult = 0x80000000u;
  page.lock = 1;
  CHECK(pml__clock_page_mult(&page) == 0, "a page that is written for ever is given up");
}

#if defined(__x86_64__) && __has_include(<sys/platform/x86.h>)
/* glibc numbers features by a leaf, then one of its registers, then a bit. */
static bool is_at(unsigned feature, unsigned leaf, unsigned subleaf, unsigned word, unsigned bit) {
  (void)leaf, (void)subleaf;
  return feature % 32 == bit && feature / 32 % 4 == word;
}

#define AGREES(f)                                                                                                      \
  CHECK(is_at(x86_cpu_##f, PML__CPUID_##f) && PML__CPU_HAS(f) == pml__cpuid_has(PML__CPUID_##f),                       \
        "the loader and CPUID agree on " #f)

/* Where there is no such loader, the instruction is asked. */
static void cpuid(void) {
  AGREES(OSXSAVE);
  AGREES(XSAVEC);
  AGREES(XGETBV_ECX_1);
  AGREES(AVX512BW);
  AGREES(INVARIANT_TSC);
}
#else
static void cpuid(void) {
  SKIP("this loader does not hand out what CPUID says");
}
#endif

int main(void) {
  CHECK_EACH(before_init, cpuid, baselines, wishes, init_at_once, arithmetic, axis, between_threads, perf_page);
  return check_done();
}
