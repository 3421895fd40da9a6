/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/event_kernel.c - what the parser encodes, the kernel counts: one event of each kind, opened for real. */
#include "check.h"
#include "mounts.h"

#include <sys/syscall.h>

#define TIMES 1000

extern volatile uint32_t event_kernel_global; /* seen by dlsym only if the program exports it: it does not */
volatile uint32_t event_kernel_global;
static volatile uint64_t hidden[2];
static volatile uint8_t odd[4] __attribute__((aligned(4)));

static struct pml_event ev;

/* Open part 0 on this thread; -1 and a skip where the kernel refuses, -1 and a failure where the parser does. */
static int open_event(const char *name) {
  int err = pml_event_parse(&ev, name);
  if (err == -EACCES || err == -ENOENT) {
    SKIP(pml_error_detail(err));
    return -1;
  }
  if (!CHECK(err == 0, "%s parses%s%s", name, err ? ": " : "", err ? pml_error_detail(err) : "")) return -1;
  int fd = (int)syscall(SYS_perf_event_open, &ev.first.attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (fd >= 0) return fd;
  char why[400];
  int refused = errno;
  (void)snprintf(why, sizeof why, "%s: the kernel says %s", name, strerror(refused));
  /* An attribute the kernel calls invalid is the parser's fault, everything else the machine's. */
  if (refused == EINVAL || refused == E2BIG || refused == EFAULT)
    CHECK(false, "%s", why);
  else
    SKIP(why);
  return -1;
}

static uint64_t count(int fd) {
  uint64_t n = 0;
  return read(fd, &n, sizeof n) == sizeof n ? n : UINT64_MAX;
}

static void check_counts(const char *name, void (*work)(void), uint64_t expected, const char *what) {
  int fd = open_event(name);
  if (fd < 0) return;
  uint64_t before = count(fd);
  work();
  uint64_t n = count(fd) - before;
  CHECK(n == expected, "%s counts %s: %llu of %llu", name, what, (unsigned long long)n, (unsigned long long)expected);
  (void)close(fd);
}

static void write_global(void) {
  for (uint32_t i = 0; i < TIMES; i++) event_kernel_global = i;
}
static void read_and_write_global(void) {
  for (uint32_t i = 0; i < TIMES; i++) {
    uint32_t seen = event_kernel_global;
    event_kernel_global = seen;
  }
}
static void write_hidden(void) {
  for (uint64_t i = 0; i < TIMES; i++) hidden[1] = i;
}
static void write_neighbours(void) {
  for (int i = 0; i < TIMES; i++) odd[0] = odd[1] = odd[2] = odd[3] = 1;
}

__attribute__((noinline, used)) static void probed(void) {
  __asm__ volatile("" ::: "memory");
}
static void call_probed(void) {
  for (int i = 0; i < TIMES; i++) probed();
}
static void call_getppid(void) {
  for (int i = 0; i < TIMES; i++) (void)syscall(SYS_getppid);
}

/* Some virtual machines accept breakpoints that never fire: such an event must not be opened, and count 0. */
static bool breakpoints_fire(void) {
  int fd = open_event("mem:event_kernel_global:w:u");
  if (fd < 0) return false;
  uint64_t before = count(fd);
  write_global();
  bool fire = count(fd) > before;
  (void)close(fd);
  struct pml_counter c;
  int err = pml_counter_open(&c, &ev, 0, NULL, NULL, 0);
  pml_counter_close(&c);
  CHECK(err == (fire ? 0 : PML_ENOTHERE), "a breakpoint is opened where it fires, and only there%s%s", err ? ": " : "",
        err ? pml_error_detail(err) : "");
  if (!fire) SKIP(pml_error_detail(err));
  return fire;
}

static void watchpoints(void) {
  char name[64];
  if (!breakpoints_fire()) return;
  check_counts("mem:event_kernel_global:w:u", write_global, TIMES, "writes to a global variable");
  CHECK(ev.first.attr.bp_len == 4 && ev.first.attr.bp_addr == (uintptr_t)&event_kernel_global,
        "the length is the variable's");
  check_counts("mem:event_kernel_global", read_and_write_global, 2 * (uint64_t)TIMES, "reads and writes");
  check_counts("mem:event_kernel_global:w:4:k", write_global, 0, "nothing that the kernel did not do");
  check_counts("mem:hidden+8:w:8:u", write_hidden, TIMES, "writes to an element of a static array");
  check_counts("mem:odd+1:w:1:u", write_neighbours, TIMES, "one byte and not its neighbours");
  (void)snprintf(name, sizeof name, "mem:%p:w:u", (volatile void *)&hidden[1]);
  check_counts(name, write_hidden, TIMES, "writes to an address");
  check_counts("mem:probed:x:u", call_probed, TIMES, "executions of a static function");
  CHECK(pml_event_parse(&ev, "mem:odd+1:w") == 0 && ev.first.attr.bp_len == 1,
        "the length left out, it is what the alignment allows");
}

static void check_fails(const char *name, int code, const char *says) {
  int err = pml_event_parse(&ev, name);
  CHECK(err == code && strstr(pml_error_detail(err), says), "\"%.60s\" fails with %s: %.200s", name,
        pml_error_name(err), pml_error_detail(err));
}

static void uprobes(const char *self) {
  char name[400];
  (void)snprintf(name, sizeof name, "uprobe:%s:probed", self);
  check_counts(name, call_probed, TIMES, "calls of a static function of this program");
  uint64_t offset = ev.first.attr.probe_offset, at_entry = ev.first.attr.config;
  (void)snprintf(name, sizeof name, "uprobe:%s:probed%%return:u", self);
  check_counts(name, call_probed, TIMES, "its returns");
  CHECK(ev.first.attr.config != at_entry, "a return differs from an entry");
  (void)snprintf(name, sizeof name, "uprobe:%s:0x%llx", self, (unsigned long long)offset);
  check_counts(name, call_probed, TIMES, "passes of an offset");
  (void)snprintf(name, sizeof name, "uprobe:%s:nobody", self);
  check_fails(name, PML_ENOSYMBOL, "no function \"nobody\"");
  (void)snprintf(name, sizeof name, "uprobe:%s:probed%%exit", self);
  check_fails(name, PML_ESYNTAX, "only %return");
}

static void grows(const char *name, void (*work)(void)) {
  int fd = open_event(name);
  if (fd < 0) return;
  uint64_t before = count(fd);
  work();
  CHECK(count(fd) > before && count(fd) != UINT64_MAX, "%s counts", name);
  (void)close(fd);
}

static void attributes(void) {
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
  char self[256] = "";
  if (readlink("/proc/self/exe", self, sizeof self - 1) <= 0) return check_done();
  (void)mounts_tracefs();
  attributes();
  threads();
  CHECK(pml_event_list(NULL, false, stop, &seen) == 42 && seen == 3, "a visitor ends the list with its own answer");
  grows("task-clock", call_probed);
  grows("task-clock:u", call_probed);
  grows("cpu-clock:u", call_probed);
  grows("perf::TASK-CLOCK", call_probed);
#if defined(__x86_64__)
  grows("msr/tsc/", call_probed);
#else
  SKIP("msr/tsc/ is x86's");
#endif
  grows("instructions:u", call_probed);
  check_counts("syscalls:sys_enter_getppid", call_getppid, TIMES, "calls of getppid");
  watchpoints();
  uprobes(self);
  return check_done();
}
