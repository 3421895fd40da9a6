/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/truth.c - event sets without a PMU count exactly: known numbers of major faults, accesses and calls, by each
 * form of their names, also of all kinds in one set.
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
static volatile uint64_t hidden[2];
static volatile uint8_t odd[4] __attribute__((aligned(4)));

__attribute__((noinline, used)) static void truth_called(void) {
  __asm__ volatile("" ::: "memory");
}

/* Open a set of these events; NULL with a skip (the machine lacks one) or a failure. */
static struct pml_eventset *open_set(const char *const *names, size_t n, const char *what) {
  struct pml_eventset *s = NULL;
  int err = pml_eventset_open(&s, names, n, NULL);
  char why[600];
  snprintf(why, sizeof why, "%s: %s", what, pml_error_detail(err));
  if (err == -ENOENT || err == -EACCES || err == PML_EPARANOID || err == PML_ECAP || err == PML_ENOTHERE ||
      err == PML_ENOPMU)
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
static void read_and_write(void) {
  for (uint64_t i = 0; i < TIMES; i++) truth_written = truth_written + 1;
}
static void write_hidden(void) {
  for (uint64_t i = 0; i < TIMES; i++) hidden[1] = i;
}
static void write_neighbours(void) {
  for (int i = 0; i < TIMES; i++) odd[0] = odd[1] = odd[2] = odd[3] = 1;
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

static void fails(const char *name, int code, const char *says) {
  struct pml_event ev;
  int err = pml_event_parse(&ev, name);
  CHECK(err == code && strstr(pml_error_detail(err), says), "\"%.60s\" fails with %s: %.200s", name,
        pml_error_name(err), pml_error_detail(err));
}

static void breakpoints(void) {
  char address[64];
  struct pml_event ev;
  snprintf(address, sizeof address, "mem:%p:w:u", (volatile void *)&hidden[1]);
  one_kind("mem:truth_written:w:u", write_watched, TIMES, "writes to a variable");
  one_kind("mem:truth_written:w:u", nothing, 0, "writes to it when there are none");
  one_kind("mem:truth_written", read_and_write, 2 * (uint64_t)TIMES, "reads and writes");
  one_kind("mem:truth_written:w:8:k", write_watched, 0, "writes by the kernel");
  one_kind("mem:hidden+8:w:8:u", write_hidden, TIMES, "writes to an element of a static array");
  one_kind("mem:odd+1:w:1:u", write_neighbours, TIMES, "writes to one byte and not its neighbours");
  one_kind(address, write_hidden, TIMES, "writes to an address");
  one_kind("mem:truth_called:x:u", call_probed, TIMES, "executions of a static function");
  CHECK(pml_event_parse(&ev, "mem:odd+1:w") == 0 && ev.first.attr.bp_len == 1,
        "the length left out, it is what the alignment allows");
}

/* An event counted in user space only gets ":u" behind its name, if there is room. */
static void longest_names(const char *self) {
  char name[PML_EVENT_NAME_MAX];
  struct pml_event ev;
  int slashes = (int)(PML_EVENT_NAME_MAX - sizeof ":u" - strlen("uprobe:") - strlen(self) - strlen(":truth_called"));
  if (slashes < 1) return; /* this program is in too deep a folder */
  for (int more = 0; more < 2; more++) {
    char path[2 * PML_EVENT_NAME_MAX];
    memset(path, '/', sizeof path);
    (void)snprintf(path + slashes + more, sizeof path - (size_t)(slashes + more), "%s", self);
    if (snprintf(name, sizeof name, "uprobe:%s:truth_called", path) >= (int)sizeof name) return;
    if (pml_event_parse(&ev, name) < 0) return;
    CHECK(ev.may_be_user_only == (more == 0), "a name of %zu characters %s a modifier", strlen(name),
          more == 0 ? "has room for" : "is too long for");
  }
}

static void uprobes(const char *self, const char *uprobe) {
  char name[500];
  struct pml_event ev;
  one_kind(uprobe, call_probed, TIMES, "calls of a probed function");
  if (pml_event_parse(&ev, uprobe) == 0) {
    snprintf(name, sizeof name, "uprobe:%s:0x%llx", self, (unsigned long long)ev.first.attr.probe_offset);
    one_kind(name, call_probed, TIMES, "passes of an offset");
  }
  snprintf(name, sizeof name, "%s%%return:u", uprobe);
  one_kind(name, call_probed, TIMES, "returns of a probed function");
  snprintf(name, sizeof name, "%s%%exit", uprobe);
  fails(name, PML_ESYNTAX, "only %return");
  snprintf(name, sizeof name, "uprobe:%s:nobody", self);
  fails(name, PML_ENOSYMBOL, "no function \"nobody\"");
  leads(uprobe);
}

static void grows(const char *name) {
  struct pml_eventset *s = open_set(&name, 1, name);
  uint64_t n = 0;
  if (!s) return;
  pml_eventset_start(s);
  call_probed();
  pml_eventset_stop(s, &n);
  CHECK(n > 0, "%s counts", name);
  pml_eventset_close(s);
}

static void attributes(void) {
  struct pml_event ev;
  bool set = pml_event_set_sysfs("spec/data/sysfs/desktop") == 0;
  CHECK(set && pml_event_parse(&ev, "cycles") == 0 && ev.first.attr.size == sizeof ev.first.attr &&
            ev.first.attr.exclude_guest,
        "a core event leaves out guests");
  CHECK(pml_event_parse(&ev, "uncore_imc_0/cas_count_read/") == 0 && !ev.first.attr.exclude_guest,
        "one of another PMU excludes nothing: such PMUs refuse that");
  CHECK(pml_event_set_sysfs(NULL) == 0, "and /sys comes back");
}

static int stop(const struct pml_event_info *info, void *arg) {
  (void)info;
  return ++*(int *)arg == 3 ? 42 : 0;
}

static void *parse_many(void *arg) {
  struct pml_event mine;
  uintptr_t bad = 0;
  (void)arg;
  for (int i = 0; i < 300; i++) {
    bad += pml_event_parse(&mine, i % 2 ? "perf::CPU-CLOCK:u" : "task-clock") != 0;
    bad += mine.first.attr.type != PERF_TYPE_SOFTWARE || mine.first.attr.exclude_kernel != i % 2;
    bad += pml_event_parse(&mine, "perf::CPU-CLOK") != PML_ENOEVENT;
  }
  return (void *)bad;
}

static void threads(void) {
  pthread_t t[4];
  uintptr_t bad = 0;
  for (size_t i = 0; i < 4; i++)
    if (pthread_create(&t[i], NULL, parse_many, NULL) != 0) abort();
  for (size_t i = 0; i < 4; i++) {
    void *r;
    pthread_join(t[i], &r);
    bad += (uintptr_t)r;
  }
  CHECK(bad == 0, "four threads parse at once and each gets its own event");
}

int main(void) {
  int seen = 0;
  char self[256] = "", uprobe[400];
  bool traced = mounts_tracefs();
  if (readlink("/proc/self/exe", self, sizeof self - 1) <= 0) return check_done();
  snprintf(uprobe, sizeof uprobe, "uprobe:%s:truth_called", self);
  attributes();
  threads();
  CHECK(pml_event_list(NULL, false, stop, &seen) == 42 && seen == 3, "a visitor ends the list with its own answer");
  grows("task-clock:u");
  grows("cpu-clock:u");
  grows("perf::TASK-CLOCK");
#if defined(__x86_64__)
  grows("msr/tsc/");
#endif
  grows("instructions:u");
  major_faults();
  breakpoints();
  uprobes(self, uprobe);
  longest_names(self);
  if (!traced) {
    SKIP("tracepoints: tracefs is not mounted, and mounting it takes root");
    return check_done();
  }
  one_kind("syscalls:sys_enter_getppid", call_getppid, TIMES, "system calls");
  together(uprobe);
  return check_done();
}
