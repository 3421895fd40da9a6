/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/pml_clock.c - choice and calibration of the clock. */
#include "base/pml_clock.h"

#include "base/pml_cpuid.h"
#include "base/pml_error.h"
#include "base/pml_setting.h"
#include "base/pml_system.h"
#include "base/text/pml_locale.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000u
#define ONE_NS (UINT64_C(1) << PML_CLOCK_SHIFT)
#define BRACKETS 64 /* readings of a burst */
#define GLANCE_BASELINE_NS 50000u
#define CHECK_BASELINE_NS 1000000u
#define MEASURE_BASELINE_NS 1500000u
#define LONGEST_BASELINE_NS 1000000000u
#define SUSPENDED_NS 1000000u
#define TOLERANCE 1e-3 /* for a known rate; 0.05 ms measure to about 1e-4, 1.5 ms to about 1e-6 */
#define SAME 1e-5      /* of the time since a parent's moment, plus SAME_NS: the clocks are the same */
#define SAME_NS 50000.0
#define STEPS 1024u /* ticks: largest difference examined */
#define STEP_READS 20000u
#define COST_BATCHES 21
#define COST_READS 1000

/* A counter value and the clock at the same moment. */
struct moment {
  uint64_t ticks, ns;
};

struct pml_clock pml__clock = {PML_CLOCK_MONOTONIC, ONE_NS, 0, NS_PER_S};

/* How it was chosen; written once together with pml__clock. */
static struct {
  int err;
  uint64_t measured_ns; /* how long, the last time */
  struct moment last;   /* where that ended */
  char calibration[256];
} chosen;

static bool forbidden; /* the counter, and the vDSO */

static uint64_t clock_ns(clockid_t id) {
  struct timespec ts;
  const long argument[6] = {id, (long)(uintptr_t)&ts};
  if (PML_UNLIKELY(forbidden))
    (void)pml__system(SYS_clock_gettime, argument);
  else
    clock_gettime(id, &ts);
  return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

uint64_t pml__clock_monotonic(void) {
  return clock_ns(CLOCK_MONOTONIC_RAW);
}

uint64_t pml__clock_slowly(void) {
  uint64_t ns = pml__clock_monotonic();
  if (pml__clock.kind != PML_CLOCK_SYSTEM) return ns;
  return (uint64_t)(((pml__product)(ns - pml__clock.zero_ns) << PML_CLOCK_SHIFT) / pml__clock.mult);
}

void pml__clock_forbid(void) {
  forbidden = true;
  if (pml__clock.kind == PML_CLOCK_COUNTER) pml__clock.kind = PML_CLOCK_SYSTEM;
}

uint64_t pml_clock_realtime_ns(void) {
  return clock_ns(CLOCK_REALTIME);
}

/* Why the counter must not even be read, or NULL. */
static const char *unreadable(void) {
#if defined(__x86_64__)
  int mode = PR_TSC_ENABLE;
  forbidden = prctl(PR_GET_TSC, &mode) == 0 && mode != PR_TSC_ENABLE;
  return forbidden ? "this process may not execute rdtsc (PR_SET_TSC)" : NULL;
#elif defined(__aarch64__)
  return NULL;
#else
  return "pmlua cannot read a time counter on this kind of CPU";
#endif
}

/* Why the CPU's word is not enough, or NULL. */
static const char *variant(void) {
#if defined(__x86_64__)
  if (!PML__CPU_HAS(INVARIANT_TSC)) return "the CPU does not report an invariant TSC (CPUID 0x80000007)";
#endif
  return NULL;
}

/* The kernel's current clocksource, or the available ones. */
static void clocksource(const char *which, char *text, size_t size) {
  char path[96];
  snprintf(path, sizeof path, "/sys/devices/system/clocksource/clocksource0/%s_clocksource", which);
  snprintf(text, size, "unknown");
  FILE *f = fopen(path, "re");
  if (!f) return;
  if (fgets(text, (int)size, f)) text[strcspn(text, "\n")] = '\0';
  fclose(f);
}

/* The kernel monitors its clocksource and drops a faulty one, so the one in use is reliable. */
static bool kernel_trusts(const char *name) {
  static const char *const built_on_counter[] = {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"};
  for (size_t i = 0; i < sizeof built_on_counter / sizeof built_on_counter[0]; i++)
    if (strcmp(name, built_on_counter[i]) == 0) return true;
  return false;
}

/* Is the counter to be trusted? If not, @why says it. */
static bool trusted(char *why, size_t size) {
  const char *reason = variant();
  char current[64];
  if (reason) {
    snprintf(why, size, "%s", reason);
    return false;
  }
  clocksource("current", current, sizeof current);
  if (kernel_trusts(current)) return true;
  snprintf(why, size, "the kernel's clocksource is %s, not the counter", current);
  return false;
}

/* Readings of the clock, each between two of the counter. */
struct burst {
  struct bracket {
    uint64_t before, ns, after;
  } at[BRACKETS];
};

static void take(struct burst *b) {
  for (int i = 0; i < BRACKETS; i++) {
    pml__clock_fence();
    b->at[i].before = pml__clock_counter();
    pml__clock_fence();
    b->at[i].ns = clock_ns(CLOCK_MONOTONIC_RAW);
    pml__clock_fence();
    b->at[i].after = pml__clock_counter();
    pml__clock_fence();
  }
}

/* An interrupt or a lost time slice only widens a bracket: of many the tightest holds the smallest error. */
static struct moment tightest(const struct burst *b) {
  struct moment best = {0, 0};
  uint64_t width = UINT64_MAX;
  for (int i = 0; i < BRACKETS; i++) {
    if (b->at[i].after - b->at[i].before >= width) continue;
    width = b->at[i].after - b->at[i].before;
    best = (struct moment){b->at[i].before + width / 2, b->at[i].ns};
  }
  return best;
}

static struct moment tightest_bracket(void) {
  struct burst b;
  take(&b);
  return tightest(&b);
}

/*
 * How many ns the clock was past @m.ns at @m.ticks. Each bracket says that it was somewhere between @before and @after
 * when the clock went from @ns to the next; all of them together say it more exactly than the tightest alone.
 */
static double past(const struct burst *b, struct moment m, double ns_per_tick) {
  double least = -INFINITY, most = INFINITY;
  for (int i = 0; i < BRACKETS; i++) {
    const struct bracket *at = &b->at[i];
    double ns = (double)(int64_t)(at->ns - m.ns);
    double low = ns - (double)(int64_t)(at->after - m.ticks) * ns_per_tick;
    double high = ns + 1 - (double)(int64_t)(at->before - m.ticks) * ns_per_tick;
    if (low > least) least = low;
    if (high < most) most = high;
  }
  return least <= most ? (least + most) / 2 : 0.5; /* else the thread went to a cpu whose counter differs */
}

/* The time in suspension, during which counters may advance and CLOCK_MONOTONIC_RAW does not. */
static uint64_t suspended_ns(void) {
  return clock_ns(CLOCK_BOOTTIME) - clock_ns(CLOCK_MONOTONIC);
}

/* When this was loaded: most processes have been at work for as long as a measurement takes when they first need it. */
static struct {
  struct burst burst; /* no ticks: the counter could not be read */
  uint64_t suspended_ns;
} loaded;

__attribute__((constructor)) static void at_load(void) {
  if (unreadable() != NULL) return;
  loaded.suspended_ns = suspended_ns();
  take(&loaded.burst);
}

/* Not if clocks may have been stopped or set since, as in another time namespace. */
static bool goes_on_from_load(void) {
  uint64_t more = suspended_ns() - loaded.suspended_ns + SUSPENDED_NS / 2;
  return loaded.burst.at[0].before != 0 && more < SUSPENDED_NS &&
         clock_ns(CLOCK_MONOTONIC_RAW) - loaded.burst.at[0].ns < LONGEST_BASELINE_NS;
}

/* ns per tick times 2^48 over at least @baseline_ns, 0 if the counter stands still or runs back; *@at is its end. */
static uint64_t measure_mult(uint64_t baseline_ns, struct moment *at) {
  struct burst first, last;
  if (goes_on_from_load())
    first = loaded.burst;
  else
    take(&first);
  uint64_t gone = clock_ns(CLOCK_MONOTONIC_RAW) - first.at[0].ns;
  struct timespec pause = {0, gone < baseline_ns ? (long)(baseline_ns - gone) : 0};
  while (pause.tv_nsec > 0 && nanosleep(&pause, &pause) < 0 && errno == EINTR) continue;
  take(&last);
  const struct moment from = tightest(&first), to = *at = tightest(&last);
  if (to.ticks <= from.ticks || to.ns <= from.ns) return 0;
  double ns = (double)(to.ns - from.ns), ticks = (double)(to.ticks - from.ticks);
  double more = past(&last, to, ns / ticks) - past(&first, from, ns / ticks);
  double mult = (ns + more) / ticks * (double)ONE_NS;
  chosen.measured_ns = to.ns - from.ns;
  return mult > 0 && mult < (double)UINT64_MAX ? (uint64_t)mult : 0;
}

/*
 * The page is a seqlock: odd or changed means that the kernel was writing. It writes on the CPU that runs the thread,
 * so that holding back the compiler is enough.
 */
uint64_t pml__clock_page_mult(const volatile struct perf_event_mmap_page *page) {
  for (int tries = 0; tries < 1000; tries++) {
    uint32_t seq = page->lock;
    __asm__ volatile("" ::: "memory");
    bool given = page->cap_user_time;
    uint64_t mult = page->time_mult;
    unsigned shift = page->time_shift;
    __asm__ volatile("" ::: "memory");
    if (page->lock != seq || (seq & 1)) continue;
    if (!given || mult == 0 || shift > PML_CLOCK_SHIFT) return 0;
    unsigned up = PML_CLOCK_SHIFT - shift;
    return mult > (UINT64_MAX >> up) ? 0 : mult << up;
  }
  return 0;
}

/* Where a hypervisor lends the scheduler its clock, the kernel's page has no rate (using_native_sched_clock()). */
static bool has_native_clock(void) {
  static const char *const lent[] = {"kvm-clock", "hyperv_clocksource", "xen"};
  char available[256];
  clocksource("available", available, sizeof available);
  for (size_t i = 0; i < sizeof lent / sizeof lent[0]; i++)
    if (strstr(available, lent[i]) != NULL) return false;
  return true;
}

static uint64_t kernel_mult(void) {
  struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                 .size = sizeof attr,
                                 .config = PERF_COUNT_SW_DUMMY,
                                 .exclude_kernel = 1,
                                 .exclude_hv = 1};
  int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (fd < 0) return 0;
  size_t size = (size_t)sysconf(_SC_PAGESIZE);
  void *page = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
  uint64_t mult = 0;
  if (page != MAP_FAILED) {
    mult = pml__clock_page_mult(page);
    munmap(page, size);
  }
  close(fd);
  return mult;
}

/* Data from a parent process: the rate, or 0 if it is missing or unusable; and a moment, whose ticks are 0 if it is
 * missing. */
struct told {
  uint64_t mult;
  struct moment at;
};

static struct told told(void) {
  const char *text = pml__setting("PMLUA_CLOCK_RATE");
  char *end = NULL;
  double rate = text != NULL ? pml__strtod(text, &end) : 0;
  double mult = rate > 0 ? NS_PER_S / rate * (double)ONE_NS : 0;
  struct told t = {mult >= 1 && mult < (double)UINT64_MAX ? (uint64_t)llround(mult) : 0, {0, 0}};
  if (t.mult == 0 || end == NULL || *end != '@') return t;
  t.at.ticks = strtoull(end + 1, &end, 10);
  if (*end == ':') t.at.ns = strtoull(end + 1, NULL, 10);
  return t;
}

int pml__clock_tell(char *text, size_t size) {
  struct pml__locale l = pml__locale_begin();
  int n = snprintf(text, size, "%.17g", pml__clock.ticks_per_second);
  pml__locale_end(l);
  if (pml__clock.kind != PML_CLOCK_COUNTER || n >= (int)size) return n;
  return n + snprintf(text + n, size - (size_t)n, "@%llu:%llu", (unsigned long long)chosen.last.ticks,
                      (unsigned long long)chosen.last.ns);
}

/* Both clocks agree with the rate since then: they are the parent's clocks, not from another machine or boot. */
static bool goes_on_from(const struct told *t) {
  if (t->at.ticks == 0) return false;
  struct moment now = tightest_bracket();
  if (now.ticks <= t->at.ticks || now.ns <= t->at.ns) return false;
  double gone = (double)(now.ns - t->at.ns), by_ticks = (double)(now.ticks - t->at.ticks) * (double)t->mult / ONE_NS;
  return fabs(gone - by_ticks) < SAME_NS + SAME * gone;
}

/*
 * The rate by one source: ns per tick times 2^48, and its name; 0: unknown. To ask the kernel takes 10 ms and more
 * where no process has had an event for a second: its scheduler is changed for the first one.
 */
static uint64_t known_mult(const char **who) {
  const struct told t = told();
  *who = "the parent process (PMLUA_CLOCK_RATE)";
  if (t.mult != 0 && goes_on_from(&t)) return t.mult;
  *who = "the kernel's mult and shift";
  uint64_t mult = has_native_clock() ? kernel_mult() : 0;
#if defined(__aarch64__)
  if (mult == 0) {
    uint64_t hz;
    __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(hz));
    *who = "cntfrq_el0";
    if (hz > 0) mult = (uint64_t)(((unsigned __int128)NS_PER_S << PML_CLOCK_SHIFT) / hz);
  }
#endif
  if (mult != 0) return mult;
  *who = "PMLUA_CLOCK_RATE";
  return t.mult;
}

static bool agrees(uint64_t known, uint64_t baseline_ns, struct moment *last) {
  return fabs((double)measure_mult(baseline_ns, last) / (double)known - 1) < TOLERANCE;
}

/* ns per tick times 2^48, 0 if the counter does not count; says how in chosen.calibration. */
static uint64_t calibrate(struct moment *last) {
  const char *who;
  uint64_t known = known_mult(&who);
  char *text = chosen.calibration;
  size_t size = sizeof chosen.calibration;
  if (known != 0 && (agrees(known, GLANCE_BASELINE_NS, last) || agrees(known, CHECK_BASELINE_NS, last))) {
    snprintf(text, size, "%s, checked against CLOCK_MONOTONIC_RAW", who);
    return known;
  }
  uint64_t mult = measure_mult(MEASURE_BASELINE_NS, last);
  unsigned ms = (unsigned)(chosen.measured_ns / 1000000u);
  if (known != 0)
    snprintf(text, size, "CLOCK_MONOTONIC_RAW over %u ms, because %s disagrees with it", ms, who);
  else
    snprintf(text, size, "CLOCK_MONOTONIC_RAW over %u ms, because the kernel publishes no rate (perf page)", ms);
  return mult;
}

static void no_counter(const char *why) {
  snprintf(chosen.calibration, sizeof chosen.calibration, "ticks are ns; no counter: %s", why);
}

static void use_counter(void) {
  uint64_t mult = calibrate(&chosen.last);
  if (mult == 0) {
    no_counter("the counter does not advance");
    return;
  }
  pml__clock.mult = mult;
  pml__clock.zero_ns = chosen.last.ns - pml_clock_ticks_to_ns(chosen.last.ticks);
  pml__clock.ticks_per_second = NS_PER_S * ((double)ONE_NS / (double)mult);
  pml__clock.kind = PML_CLOCK_COUNTER;
}

static void choose(void) {
  const char *wish = pml__setting("PMLUA_CLOCK");
  bool force = wish && strcmp(wish, "counter") == 0;
  const char *cannot = unreadable();
  char why[160];
  if (wish && !force && strcmp(wish, "monotonic") != 0) {
    chosen.err = -EINVAL;
    no_counter("PMLUA_CLOCK is neither counter nor monotonic");
  } else if (wish && !force) {
    no_counter("PMLUA_CLOCK=monotonic");
  } else if (cannot) {
    chosen.err = force ? -ENOTSUP : 0;
    no_counter(cannot);
  } else if (!force && !trusted(why, sizeof why)) {
    no_counter(why);
  } else {
    use_counter();
    if (force && pml__clock.kind != PML_CLOCK_COUNTER) chosen.err = -ENOTSUP;
  }
}

int pml_clock_init(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, choose);
  if (chosen.err == -EINVAL) return pml_fail(-EINVAL, "PMLUA_CLOCK must be counter or monotonic, or not set");
  if (chosen.err < 0)
    return pml_fail(chosen.err, "PMLUA_CLOCK=counter is not possible (%s); unset it", chosen.calibration);
  return 0;
}

static int by_size(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static uint64_t common_divisor(uint64_t a, uint64_t b) {
  return b == 0 ? a : common_divisor(b, a % b);
}

/*
 * The step of which the usual differences of two reads are multiples. The smallest difference would not do: some CPUs
 * step in tens of ticks, but answer two reads within a step with numbers that differ by one.
 */
static uint64_t usual_step(void) {
  unsigned seen[STEPS] = {0};
  uint64_t before = pml_clock_ticks(), step = 0;
  for (unsigned i = 0; i < STEP_READS; i++) {
    uint64_t now = pml_clock_ticks();
    if (now > before && now - before < STEPS) seen[now - before]++;
    before = now;
  }
  for (uint64_t d = 1; d < STEPS; d++)
    if (seen[d] >= STEP_READS / 10) step = common_divisor(d, step);
  return step;
}

static double resolution_ns(void) {
  uint64_t step = usual_step();
  if (step != 0) return (double)step * NS_PER_S / pml__clock.ticks_per_second;
  struct timespec ts;
  clock_getres(CLOCK_MONOTONIC_RAW, &ts); /* it hardly ever stepped: as coarse as the kernel says */
  return (double)ts.tv_sec * NS_PER_S + (double)ts.tv_nsec;
}

static double median_cost_ns(void) {
  uint64_t batch[COST_BATCHES];
  for (int b = 0; b < COST_BATCHES; b++) {
    uint64_t start = pml_clock_ticks();
    for (int i = 0; i < COST_READS; i++) (void)pml_clock_ticks();
    batch[b] = pml_clock_ticks() - start;
  }
  qsort(batch, COST_BATCHES, sizeof batch[0], by_size);
  uint64_t median = batch[COST_BATCHES / 2];
  return (double)median * NS_PER_S / pml__clock.ticks_per_second / COST_READS;
}

int pml_clock_describe(struct pml_clock_info *info) {
  int err = pml_clock_init();
  *info = (struct pml_clock_info){.name = pml__clock_name(),
                                  .calibration = chosen.calibration,
                                  .ticks_per_second = pml__clock.ticks_per_second,
                                  .resolution_ns = resolution_ns(),
                                  .cost_ns = median_cost_ns()};
  return err;
}
