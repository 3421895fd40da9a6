/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/truth.c - event sets without a PMU count exactly: known numbers of faults, switches, migrations, writes and
 * calls, and clocks between two readings of another clock.
 */
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "source/pml_eventset.h"

#include "check.h"
#include "events.h"
#include "mounts.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define TIMES 1000
#define SLEEPS 50
#define HOPS 100
#define PAGES 200
#define FILE_PAGES 64
#define TRIES 50

volatile uint64_t truth_written;
__attribute__((noinline, used)) static void truth_called(void) {
  __asm__ volatile("" ::: "memory");
}

/* Open a set of these events; NULL with a skip (the machine lacks one) or a failure. */
static struct pml_eventset *open_set(const char *const *names, size_t n, const char *what) {
  struct pml_eventset *s = NULL;
  int err = pml_eventset_open(&s, names, n, NULL);
  char why[600];
  snprintf(why, sizeof why, "%s: %s", what, pml_error_detail(err));
  if (err == -ENOENT || err == -EACCES || err == PML_EPARANOID || err == PML_ECAP || err == PML_ENOTHERE)
    SKIP(why);
  else if (err < 0)
    CHECK(false, "%s", why);
  return s;
}

/* ---- faults ---- */

static void minor_faults(void) {
  static const char *const names[] = {"page-faults",      "minor-faults",     "major-faults",
                                      "alignment-faults", "emulation-faults", "dummy"};
  struct pml_eventset *s = open_set(names, 6, "faults");
  if (!s) return;
  struct fresh f = fresh_open(PAGES);
  uint64_t v[6];
  pml_eventset_read(s, v);
  pml_eventset_start(s);
  size_t touched = fresh_touch(&f, PAGES);
  pml_eventset_stop(s, v);
  CHECK(touched == PAGES && is_faults(v[0], PAGES) && is_faults(v[1], PAGES) && v[2] == 0,
        "%d fresh pages: %llu faults, %llu minor, %llu major", PAGES, (unsigned long long)v[0],
        (unsigned long long)v[1], (unsigned long long)v[2]);
  CHECK(v[3] + v[4] + v[5] == 0, "and nothing that cannot happen here: alignment, emulation, dummy");
  pml_eventset_start(s);
  f.next = 0;
  touched = fresh_touch(&f, PAGES);
  pml_eventset_stop(s, v);
  CHECK(touched == PAGES && is_faults(v[0], 0), "the same pages again: none");
  fresh_close(&f);
  pml_eventset_close(s);
}

/* A file whose pages are only on disk, so that each causes a major fault. NULL if the kernel keeps them in memory. */
static volatile char *cold_file(size_t page) {
  char path[] = "/var/tmp/pmlua-spec-XXXXXX";
  static unsigned char resident[FILE_PAGES];
  int fd = mkstemp(path);
  if (fd < 0) return NULL;
  unlink(path);
  bool written = true;
  for (size_t i = 0; i < FILE_PAGES; i++) written = written && pwrite(fd, "x", 1, (off_t)(i * page + page - 1)) == 1;
  if (written) written = fsync(fd) == 0 && posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0;
  void *m = written ? mmap(NULL, FILE_PAGES * page, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
  close(fd);
  if (m == MAP_FAILED) return NULL;
  madvise(m, FILE_PAGES * page, MADV_RANDOM); /* no reading ahead */
  bool cold = mincore(m, FILE_PAGES * page, resident) == 0;
  for (size_t i = 0; i < FILE_PAGES; i++) cold = cold && !(resident[i] & 1);
  if (cold) return m;
  munmap(m, FILE_PAGES * page);
  return NULL;
}

static void major_faults(void) {
  static const char *const names[] = {"page-faults", "minor-faults", "major-faults"};
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  volatile char *at = cold_file(page);
  if (!at) {
    SKIP("major faults: no file system here drops a file's pages from memory");
    return;
  }
  struct pml_eventset *s = open_set(names, 3, "major faults");
  if (!s) return;
  uint64_t v[3];
  struct rusage before, after;
  pml_eventset_read(s, v);
  getrusage(RUSAGE_THREAD, &before);
  pml_eventset_start(s);
  for (size_t i = 0; i < FILE_PAGES; i++) (void)at[i * page];
  pml_eventset_stop(s, v);
  getrusage(RUSAGE_THREAD, &after);
  CHECK(v[2] == (uint64_t)(after.ru_majflt - before.ru_majflt) && v[0] == v[1] + v[2],
        "%d cold pages of a file: %llu major faults, as getrusage says, of %llu", FILE_PAGES, (unsigned long long)v[2],
        (unsigned long long)v[0]);
  /* If blocks of the file system are larger than pages, there are fewer reads, but at least one. */
  CHECK(v[2] > 0 && v[2] <= FILE_PAGES, "at most one for each page");
  munmap((void *)(uintptr_t)at, FILE_PAGES * page);
  pml_eventset_close(s);
}

/* ---- scheduling ---- */

static uint64_t all_switches(const struct rusage *r) {
  return (uint64_t)(r->ru_nvcsw + r->ru_nivcsw);
}

static void context_switches(void) {
  static const char *const name[] = {"context-switches"};
  struct pml_eventset *s = open_set(name, 1, "context switches");
  if (!s) return;
  struct rusage outer[2], inner[2];
  uint64_t n = 0;
  getrusage(RUSAGE_THREAD, &outer[0]);
  pml_eventset_start(s);
  getrusage(RUSAGE_THREAD, &inner[0]);
  for (int i = 0; i < SLEEPS; i++) nanosleep(&(struct timespec){0, 1000000}, NULL);
  getrusage(RUSAGE_THREAD, &inner[1]);
  pml_eventset_stop(s, &n);
  getrusage(RUSAGE_THREAD, &outer[1]);
  uint64_t least = all_switches(&inner[1]) - all_switches(&inner[0]);
  uint64_t most = all_switches(&outer[1]) - all_switches(&outer[0]);
  CHECK(least >= SLEEPS && n >= least && n <= most, "%d sleeps: %llu context switches, %llu to %llu by getrusage",
        SLEEPS, (unsigned long long)n, (unsigned long long)least, (unsigned long long)most);
  pml_eventset_close(s);
}

static void migrations(void) {
  static const char *const name[] = {"cpu-migrations"};
  cpu_set_t all, one[2];
  unsigned found = 0;
  sched_getaffinity(0, sizeof all, &all);
  for (unsigned c = 0; c < CPU_SETSIZE && found < 2; c++) {
    if (!CPU_ISSET(c, &all)) continue;
    CPU_ZERO(&one[found]);
    CPU_SET(c, &one[found++]);
  }
  if (found < 2) {
    SKIP("cpu-migrations: there is but one cpu to be on");
    return;
  }
  sched_setaffinity(0, sizeof one[0], &one[0]);
  struct pml_eventset *s = open_set(name, 1, "cpu-migrations");
  uint64_t n = 0;
  if (s) {
    pml_eventset_start(s);
    for (int i = 1; i <= HOPS; i++) sched_setaffinity(0, sizeof one[0], &one[i % 2]);
    pml_eventset_stop(s, &n);
    CHECK(n == HOPS, "%d hops to another cpu: %llu migrations", HOPS, (unsigned long long)n);
    pml_eventset_start(s);
    for (int i = 1; i <= HOPS; i++) sched_setaffinity(0, sizeof one[0], &one[0]);
    pml_eventset_stop(s, &n);
    CHECK(n == 0, "%d hops to the same cpu: %llu migrations", HOPS, (unsigned long long)n);
  }
  pml_eventset_close(s);
  sched_setaffinity(0, sizeof all, &all);
}

/* ---- clocks ---- */

static uint64_t ns_of(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void spin(uint64_t ns) {
  uint64_t end = ns_of(CLOCK_THREAD_CPUTIME_ID) + ns;
  while (ns_of(CLOCK_THREAD_CPUTIME_ID) < end) continue;
}

/*
 * Busy, then asleep. Time on the cpu is at least the thread's billed time (which excludes interrupts and time stolen by
 * the host), and at most the elapsed time outside of the sleep. The tolerance is a hundredth for the clocks' rates, and
 * 100 us for each time that the thread left the cpu: the bill includes more of a switch than the counters.
 */
#define SWITCH_NS 100000u
static uint64_t times_switched(void) {
  struct rusage r;
  getrusage(RUSAGE_THREAD, &r);
  return (uint64_t)r.ru_nvcsw + (uint64_t)r.ru_nivcsw;
}

static void cpu_clocks(void) {
  static const char *const names[] = {"task-clock", "cpu-clock", "perf::TASK-CLOCK"};
  struct pml_eventset *s = open_set(names, 3, "clocks of the kernel");
  if (!s) return;
  uint64_t v[3], wall[2], billed[2], asleep, switched = times_switched();
  wall[0] = ns_of(CLOCK_MONOTONIC_RAW);
  pml_eventset_start(s);
  billed[0] = ns_of(CLOCK_THREAD_CPUTIME_ID);
  spin(30000000);
  billed[1] = ns_of(CLOCK_THREAD_CPUTIME_ID);
  asleep = ns_of(CLOCK_MONOTONIC_RAW);
  nanosleep(&(struct timespec){0, 100000000}, NULL);
  asleep = ns_of(CLOCK_MONOTONIC_RAW) - asleep;
  pml_eventset_stop(s, v);
  wall[1] = ns_of(CLOCK_MONOTONIC_RAW);
  uint64_t least = (billed[1] - billed[0]) / 100 * 99 - SWITCH_NS * (times_switched() - switched);
  uint64_t most = wall[1] - wall[0] - asleep + asleep / 4; /* waking and falling asleep are not free */
  for (int i = 0; i < 3; i++)
    CHECK(v[i] >= least && v[i] <= most, "%s: %llu ns lie between %llu ns billed and %llu ns outside the sleep",
          names[i], (unsigned long long)v[i], (unsigned long long)least, (unsigned long long)most);
  pml_eventset_close(s);
}

#if defined(__x86_64__)
static uint64_t tsc(void) {
  uint32_t low, high;
  __asm__ volatile("lfence; rdtsc; lfence" : "=a"(low), "=d"(high)::"memory");
  return (uint64_t)high << 32 | low;
}

/* The event counts while the thread runs: without a switch, that is all the time. */
static void time_stamp_counter(void) {
  static const char *const name[] = {"msr/tsc/"};
  struct pml_eventset *s = open_set(name, 1, "msr/tsc/");
  if (!s) return;
  bool within = true;
  int undisturbed = 0;
  for (int i = 0; i < TRIES * 10 && undisturbed < TRIES; i++) {
    struct rusage before, after;
    uint64_t n = 0;
    getrusage(RUSAGE_THREAD, &before);
    uint64_t t0 = tsc();
    pml_eventset_start(s);
    uint64_t t1 = tsc();
    while (tsc() - t1 < 100000) continue;
    uint64_t t2 = tsc();
    pml_eventset_stop(s, &n);
    uint64_t t3 = tsc();
    getrusage(RUSAGE_THREAD, &after);
    within = within && n <= t3 - t0;
    if (all_switches(&after) != all_switches(&before)) continue;
    undisturbed++;
    within = within && n >= t2 - t1;
  }
  CHECK(within && undisturbed > 0, "msr/tsc/ counts what rdtsc counts, %d times of %d", undisturbed, TRIES);
  pml_eventset_close(s);
}
#else
static void time_stamp_counter(void) {
  SKIP("msr/tsc/: a counter of x86");
}
#endif

/* ---- what happens at one place ---- */

static void one_kind(const char *name, void (*work)(void), uint64_t expected, const char *what) {
  struct pml_eventset *s = open_set(&name, 1, name);
  if (!s) return;
  uint64_t n = 0;
  work();
  pml_eventset_start(s);
  work();
  pml_eventset_stop(s, &n);
  CHECK(n == expected, "%llu %s: %llu", (unsigned long long)expected, what, (unsigned long long)n);
  pml_eventset_close(s);
}

static void write_watched(void) {
  for (uint64_t i = 0; i < TIMES; i++) truth_written = i;
}
static void call_probed(void) {
  for (int i = 0; i < TIMES; i++) truth_called();
}
static void call_getppid(void) {
  for (int i = 0; i < TIMES; i++) (void)syscall(SYS_getppid);
}
static void nothing(void) {}

/* All kinds in one set, in one read: every count is still exact. */
static void together(const char *uprobe) {
  const char *names[] = {"page-faults",  "mem:truth_written:w:u",    uprobe, "syscalls:sys_enter_getppid",
                         "clock::ticks", "syscalls:sys_exit_getppid"};
  struct pml_eventset *s = open_set(names, 6, "all kinds together");
  if (!s) return;
  struct fresh f = fresh_open(PAGES);
  uint64_t v[6], most;
  pml_eventset_read(s, v);
  call_probed();
  uint64_t t0 = pml_clock_ticks_ordered();
  pml_eventset_start(s);
  fresh_touch(&f, PAGES);
  write_watched();
  call_probed();
  call_getppid();
  pml_eventset_stop(s, v);
  most = pml_clock_ticks_ordered() - t0;
  CHECK(is_faults(v[0], PAGES) && v[1] == TIMES && v[2] == TIMES && v[3] == TIMES && v[5] == TIMES && v[4] <= most,
        "together in one set: %llu faults, %llu writes, %llu calls, %llu system calls and %llu returns",
        (unsigned long long)v[0], (unsigned long long)v[1], (unsigned long long)v[2], (unsigned long long)v[3],
        (unsigned long long)v[5]);
  fresh_close(&f);
  pml_eventset_close(s);
}

/* A probe is the first of its group, which waits until the others have joined. */
static void leads(const char *uprobe) {
  const char *names[] = {uprobe, "page-faults"};
  struct pml_eventset *s = open_set(names, 2, "a probe that leads a group");
  uint64_t v[2];
  if (!s) return;
  pml_eventset_start(s);
  call_probed();
  pml_eventset_stop(s, v);
  CHECK(v[0] == TIMES, "a probe that leads a group counts %llu calls", (unsigned long long)v[0]);
  pml_eventset_close(s);
}

int main(void) {
  char self[256] = "", uprobe[400];
  bool traced = mounts_tracefs();
  if (readlink("/proc/self/exe", self, sizeof self - 1) <= 0) return check_done();
  snprintf(uprobe, sizeof uprobe, "uprobe:%s:truth_called", self);
  minor_faults();
  major_faults();
  context_switches();
  migrations();
  cpu_clocks();
  time_stamp_counter();
  one_kind("mem:truth_written:w:u", write_watched, TIMES, "writes to a variable");
  one_kind("mem:truth_called:x:u", call_probed, TIMES, "executions of an instruction");
  one_kind("mem:truth_written:w:u", nothing, 0, "writes to it when there are none");
  one_kind(uprobe, call_probed, TIMES, "calls of a probed function");
  leads(uprobe);
  if (!traced) {
    SKIP("tracepoints: tracefs is not mounted, and mounting it takes root");
    return check_done();
  }
  one_kind("syscalls:sys_enter_getppid", call_getppid, TIMES, "system calls");
  together(uprobe);
  return check_done();
}
