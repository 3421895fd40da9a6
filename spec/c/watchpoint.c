/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/watchpoint.c - plans, refusals, traps of others, and descriptors that a program closes. */
#include "check.h"
#include "program/pml_watchpoint_plan.h"

#include <linux/hw_breakpoint.h>
#include <sys/syscall.h>

#define VALUES 100000

static volatile double wanted;
static volatile uint64_t counter;
static volatile int untouched;

__attribute__((noinline)) static void called(void) {
  __asm__ volatile("" ::: "memory");
}

static struct pml_watchpoint on(const char *name, volatile void *at, size_t n, uint32_t access, uint32_t content) {
  struct pml_watchpoint p = {.address = (uintptr_t)at, .length = (uint32_t)n, .access = access, .content = content};
  (void)snprintf(p.name, sizeof p.name, "%s", name);
  return p;
}

static struct pml_watchpoints *watching(const struct pml_watchpoint *p, size_t n, size_t room) {
  struct pml_watchpoints *w = NULL;
  const struct pml_watchpoint_options o = {.values = room};
  int err = pml_watchpoints_open(&w, p, n, room > 0 ? &o : NULL);
  CHECK(err == 0 && pml_watchpoints_start(w) == 0, "%s is watched%s%s", p->name, err ? ": " : "",
        err ? pml_error_detail(err) : "");
  return err == 0 ? w : NULL;
}
static struct pml_watchpoints *watching_counter(size_t room) {
  const struct pml_watchpoint p = on("counter", &counter, sizeof counter, HW_BREAKPOINT_W, PML_CONTENT_UNSIGNED);
  return watching(&p, 1, room);
}

static void check_plan(void) {
  char path[64];
  struct pml_watchpoint_plan p = {.values = 7}, again;
  struct pml_watchpoint point[PML_WATCHPOINTS_MAX];
  (void)snprintf(path, sizeof path, "/tmp/watchplan-%d", (int)getpid());
  int err = pml_watchpoint_plan_add(&p, "/proc/self/exe", "wanted", 0, true);
  if (err == PML_ENOTHERE) {
    SKIP(pml_error_detail(err));
    return;
  }
  CHECK(err == 0, "a variable is planned%s%s", err ? ": " : "", err ? pml_error_detail(err) : "");
  CHECK(pml_watchpoint_plan_add(&p, "/proc/self/exe", "called", 0, false) == 0, "and a function");
  CHECK(pml_watchpoint_plan_add(&p, "/proc/self/exe", "counter", HW_BREAKPOINT_RW, true) == -EINVAL,
        "no contents at reads");
  CHECK(pml_watchpoint_plan_write(&p, path) == 0 && pml_watchpoint_plan_read(&again, path) == 0, "a plan is kept");
  size_t n = pml_watchpoint_plan_place(&again, point);
  CHECK(n == 2 && again.values == 7, "its objects are found in the process");
  CHECK(n == 2 && point[0].address == (uintptr_t)&wanted && point[1].address == (uintptr_t)called,
        "at their addresses");
  CHECK(point[0].access == HW_BREAKPOINT_W && point[0].length == 8 && point[0].content == PML_CONTENT_FLOAT,
        "a double's writes");
  CHECK(point[1].access == HW_BREAKPOINT_X && strcmp(point[0].type, "volatile double") == 0, "and a function's calls");
  CHECK(pml_watchpoint_plan_write(&p, path) == -EEXIST, "a plan that is there stays");
  (void)truncate(path, 100);
  CHECK(pml_watchpoint_plan_read(&again, path) == PML_EFORMAT, "half a plan is refused");
  (void)unlink(path);
}

static volatile int others;
static void on_other_trap(int sig) {
  (void)sig;
  others++;
}

static void check_refusals(void) {
  static volatile char odd[16] __attribute__((aligned(16)));
  struct pml_watchpoints *w, *second;
  struct pml_watchpoint p = on("odd", odd + 1, 4, HW_BREAKPOINT_W, PML_CONTENT_NONE);
  struct pml_watchpoint_store *file;
  CHECK(pml_watchpoints_open(&w, &p, 1, NULL) == -EINVAL && strstr(pml_error_detail(-EINVAL), "not aligned"),
        "a misaligned variable is refused");
  p = on("odd", odd, 3, HW_BREAKPOINT_W, PML_CONTENT_NONE);
  CHECK(pml_watchpoints_open(&w, &p, 1, NULL) == -EINVAL && strstr(pml_error_detail(-EINVAL), "1, 2, 4 or 8"),
        "so are three bytes");
  p = on("odd", odd, 4, HW_BREAKPOINT_RW, PML_CONTENT_SIGNED);
  CHECK(pml_watchpoints_open(&w, &p, 1, NULL) == -EINVAL, "contents at reads are refused");
  p = on("odd", odd, 4, HW_BREAKPOINT_W, PML_CONTENT_NONE);
  CHECK(pml_watchpoints_open(&w, &p, 0, NULL) == -EINVAL, "none is not a set");
  CHECK(pml_watchpoints_open(&w, &p, 5, NULL) == -ENOSPC, "five are too many");
  p = on("odd", odd, 4, HW_BREAKPOINT_W, PML_CONTENT_LONG_DOUBLE);
  CHECK(pml_watchpoints_open(&w, &p, 1, NULL) == -EINVAL, "so is half a long double: %s", pml_error_detail(-EINVAL));
  const struct pml_watchpoint_options there = {.values = VALUES, .path = "/dev/null"};
  p.content = PML_CONTENT_NONE;
  CHECK(pml_watchpoints_open(&w, &p, 1, &there) == -EEXIST, "a file that is there is not written over");
  CHECK(pml_watchpoint_load(&file, "/dev/null") == -EINVAL, "a device is no store");
  CHECK(pml_watchpoint_load(&file, "/proc/self/exe") == PML_EFORMAT, "nor is a program");
  CHECK(pml_watchpoint_load(&file, "/nowhere") == -ENOENT, "nor nothing");
  if (!CHECK(pml_watchpoints_open(&w, &p, 1, NULL) == 0, "one set is opened")) return;
  CHECK(pml_watchpoints_open(&second, &p, 1, NULL) == -EBUSY, "a second one is not");
  pml_watchpoints_close(w);
}

static bool possible(void) {
  struct pml_watchpoints *w;
  const struct pml_watchpoint p = on("untouched", &untouched, 4, HW_BREAKPOINT_W, PML_CONTENT_NONE);
  int err = pml_watchpoints_open(&w, &p, 1, NULL);
  if (err < 0) {
    SKIP(pml_error_detail(err));
    return false;
  }
  pml_watchpoints_close(w);
  return true;
}

static int perf_descriptors(int *each, int n) {
  char name[64], what[64];
  int found = 0;
  for (int fd = 0; fd < 8192 && found < n; fd++) {
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t bytes = readlink(name, what, sizeof what - 1);
    if (bytes <= 0) continue;
    what[bytes] = '\0';
    if (strcmp(what, "anon_inode:[perf_event]") == 0) each[found++] = fd;
  }
  return found;
}

static void check_descriptors(void) {
  struct pml_watchpoint_summary s;
  int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), fd[64];
  struct pml_watchpoints *w = watching_counter(VALUES);
  if (own < 0 || w == NULL) return;
  counter = counter + 1;
  int n = perf_descriptors(fd, 64), kept = 0;
  for (int i = 0; i < n; i++) dup2(own, fd[i]);
  counter = counter + 1;
  CHECK(n > 0 && pml_watchpoints_stop(w) == -EBADF, "a program takes the numbers of %d descriptors for files", n);
  pml_watchpoint_summary(pml_watchpoints_store(w), &s);
  CHECK(s.hits[0] == PML_WATCHPOINT_CLOSED, "and the results say that it is watched no more");
  pml_watchpoints_close(w);
  for (int i = 0; i < n; i++) {
    kept += fcntl(fd[i], F_GETFD) >= 0 && lseek(fd[i], 0, SEEK_CUR) == 0;
    close(fd[i]);
  }
  CHECK(kept == n, "its files are neither read nor closed");
  close(own);
}

static void trap_without_reason(const unsigned char *ip) {
  siginfo_t info = {.si_signo = SIGTRAP, .si_code = TRAP_BRKPT};
  info.si_addr = (void *)(uintptr_t)ip;
  (void)syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGTRAP, &info);
}

static void check_unexplained(void) {
  static const unsigned char code[] = {0x90, 0x90, 0xf1, 0x90};
  struct pml_watchpoint_summary s;
  int before = others;
  struct pml_watchpoints *w = watching_counter(VALUES);
  if (w == NULL) return;
  trap_without_reason(code + 1);
  pml_watchpoint_summary(pml_watchpoints_store(w), &s);
  CHECK(s.unexplained == 1 && others == before,
        "a debug exception without its breakpoint is counted, and harms nothing");
  trap_without_reason(code + 3);
  pml_watchpoint_summary(pml_watchpoints_store(w), &s);
  CHECK(s.unexplained == 1 && others == before + 1, "the signal of an int1 instruction is the program's");
  pml_watchpoints_close(w);
  trap_without_reason(code + 1);
  CHECK(others == before + 2, "and so is each when nothing is watched");
}

int main(void) {
  (void)signal(SIGTRAP, on_other_trap);
  if (!possible()) return check_done();
  (void)raise(SIGTRAP);
  CHECK(others == 1, "a trap that is not ours goes to whom it went before");
  CHECK_EACH(check_refusals, check_plan, check_descriptors, check_unexplained);
  return check_done();
}
