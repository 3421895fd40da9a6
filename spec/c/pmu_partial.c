/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/pmu_partial.c - PMUs that count only some of perf's generic events: detected as a PMU, unless they count none.
 * The refusals are the same as in real kernels; the spec chooses the refused events, because few machines have such a
 * PMU (virtual ones, some arm and riscv).
 *
 * Link: -Wl,--wrap=syscall
 */
#include "check.h"

#include <sys/syscall.h>

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

static uint64_t counted; /* bit per PERF_COUNT_HW_* */
static int refusal;      /* what the others are refused with */

/* A hardware event that is counted is opened as the software event that counts nothing. */
__attribute__((no_sanitize("address"))) /* callers give as many arguments as there are */
long __wrap_syscall(long number, ...) {
  long a[6];
  va_list ap;
  va_start(ap, number);
  for (int i = 0; i < 6; i++) a[i] = va_arg(ap, long);
  va_end(ap);
  struct perf_event_attr attr;
  const struct perf_event_attr *asked = (const struct perf_event_attr *)(uintptr_t)a[0];
  if (number == SYS_perf_event_open && asked->type == PERF_TYPE_HARDWARE) {
    if (asked->config >= 64 || !(counted >> asked->config & 1)) {
      errno = refusal;
      return -1;
    }
    attr = *asked;
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_DUMMY;
    a[0] = (long)(uintptr_t)&attr;
  }
  return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static int see(const struct pml_event_info *info, void *arg) {
  uint64_t *available = arg;
  static const char *const name[] = {
      "cycles",        "instructions", "cache-references",        "cache-misses",           "branches",
      "branch-misses", "bus-cycles",   "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles"};
  for (unsigned i = 0; i < sizeof name / sizeof name[0]; i++)
    if (strcmp(info->name, name[i]) == 0 && info->available) *available |= UINT64_C(1) << i;
  return 0;
}

/* In a separate process, because the result is cached. */
static bool says(uint64_t which, int error, int has) {
  pid_t pid = fork();
  if (pid == 0) {
    uint64_t available = 0;
    counted = which;
    refusal = error;
    bool good = pml_event_has_pmu() == has;
    good &= has == 1 || strstr(pml_error_detail(PML_ENOPMU), "no hardware PMU") != NULL;
    if (error == ENOENT) good &= pml_event_list(NULL, false, see, &available) == 0 && available == which;
    _exit(good ? 0 : 1);
  }
  return exit_of(pid) == 0;
}

int main(void) {
  struct perf_event_attr dummy = {
      .type = PERF_TYPE_SOFTWARE, .size = sizeof dummy, .exclude_kernel = 1, .exclude_hv = 1};
  dummy.config = PERF_COUNT_SW_DUMMY;
  int fd = (int)__real_syscall(SYS_perf_event_open, &dummy, 0, -1, -1, 0);
  if (fd < 0) {
    SKIP("this process may open no event");
    return check_done();
  }
  close(fd);
  CHECK(says(0, ENOENT, 0), "a machine whose kernel knows no hardware event has no PMU");
  CHECK(says(0, EOPNOTSUPP, 0), "nor one whose kernel supports none");
  for (unsigned i = 0; i < PERF_COUNT_HW_MAX; i++)
    CHECK(says(UINT64_C(1) << i, ENOENT, 1), "one that counts generic event %u alone has one, and lists it", i);
  CHECK(says(0x3ff, ENOENT, 1), "so has one that counts all");
  return check_done();
}
