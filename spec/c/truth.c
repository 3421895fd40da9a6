/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/truth.c - event sets without a PMU count exactly: known numbers of major faults, writes and calls, also of all
 * kinds in one set. Minor faults, switches, migrations and clocks are in spec/core/truth_spec.lua.
 */
#include "check.h"
#include "events.h"
#include "mounts.h"

#include <sys/resource.h>
#include <sys/syscall.h>

#define TIMES 1000
#define PAGES 200
#define FILE_PAGES 64

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
  major_faults();
  one_kind("mem:truth_written:w:u", write_watched, TIMES, "writes to a variable");
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
