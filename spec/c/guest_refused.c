/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/guest_refused.c - PMUs that refuse a part of a request with EOPNOTSUPP: a host's PMU that is lent to guests, a
 * PMU without support for guests, a guest's PMU without precise events. The kernel is simulated by a wrapper of
 * perf_event_open(2), which counts page faults instead of cycles.
 *
 * Link: -Wl,--wrap=syscall
 */
#include "check.h"
#include "events.h"

#include <sys/syscall.h>

static struct {
  bool refuses_guests, refuses_exclusion, refuses_precision, refuses_all;
  unsigned asked;
  struct perf_event_attr opened;
} pmu;

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

static bool refuses(const struct perf_event_attr *a) {
  if (pmu.refuses_all) return true;
  return (pmu.refuses_guests && !a->exclude_guest) || (pmu.refuses_exclusion && a->exclude_guest) ||
         (pmu.refuses_precision && a->precise_ip > 0);
}

long __wrap_syscall(long number, ...) {
  long a[6];
  va_list ap;
  va_start(ap, number);
  for (int i = 0; i < 6; i++) a[i] = va_arg(ap, long);
  va_end(ap);
  struct perf_event_attr attr;
  if (number == SYS_perf_event_open && ((struct perf_event_attr *)(uintptr_t)a[0])->type == PERF_TYPE_HARDWARE) {
    memcpy(&attr, (void *)(uintptr_t)a[0], sizeof attr);
    pmu.asked++;
    if (refuses(&attr)) {
      errno = EOPNOTSUPP;
      return -1;
    }
    pmu.opened = attr;
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_PAGE_FAULTS;
    attr.precise_ip = 0;
    a[0] = (long)(uintptr_t)&attr;
  }
  return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static const char *opens(bool exclude_guest, unsigned precise, unsigned tries, const char *what) {
  struct pml_event ev = perf_event("cycles", "cpu", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
  struct pml_counter c;
  ev.first.attr.exclude_guest = exclude_guest;
  ev.first.attr.precise_ip = precise & 3;
  pmu.asked = 0;
  int rc = pml_counter_open(&c, &ev, 0, NULL, NULL, PML_OPEN_NO_PAGE);
  CHECK(rc == 0 && pmu.asked == tries, "%s: opens at try %u%s%s", what, pmu.asked, rc < 0 ? ": " : "",
        rc < 0 ? pml_error_detail(rc) : "");
  pml_counter_close(&c);
  return pml_event_user_only();
}

static bool tells(const char *sentence, const char *part) {
  return sentence != NULL && strstr(sentence, part) != NULL && strstr(sentence, "cycles") != NULL &&
         strlen(sentence) < 200;
}

int main(void) {
  struct pml_event_pmu_traits traits;
  const char *said = opens(false, 2, 1, "a PMU that refuses nothing");
  CHECK(said == NULL && pmu.opened.precise_ip == 2 && !pmu.opened.exclude_guest, "as asked, and nothing is said");
  CHECK(pml_event_pmu_traits(&traits) == 0 && traits.precise && traits.counts_guests, "its traits are tried");

  pmu.refuses_guests = true;
  said = opens(false, 0, 2, "a PMU that is lent to guests");
  CHECK(tells(said, "lent to guests") && pmu.opened.exclude_guest, "without them: %s", said != NULL ? said : "");
  said = opens(false, 0, 2, "again");
  CHECK(said == NULL, "which is said once");
  CHECK(pml_event_pmu_traits(&traits) == 0 && traits.precise && !traits.counts_guests, "its events count no guests");

  pmu.refuses_precision = true;
  said = opens(false, 1, 4, "and has no precise events");
  CHECK(tells(said, "without precision") && pmu.opened.exclude_guest && pmu.opened.precise_ip == 0, "without both: %s",
        said != NULL ? said : "");
  CHECK(pml_event_pmu_traits(&traits) == 0 && !traits.precise && !traits.counts_guests, "which the traits say");

  pmu.refuses_guests = false;
  (void)opens(true, 1, 3, "a guest's PMU");
  CHECK(pmu.opened.exclude_guest && pmu.opened.precise_ip == 0, "loses its precision, and nothing else");

  pmu.refuses_precision = false, pmu.refuses_exclusion = true;
  said = opens(true, 2, 2, "a PMU that cannot leave guests out");
  CHECK(tells(said, "cannot exclude guests") && !pmu.opened.exclude_guest && pmu.opened.precise_ip == 2,
        "counts them: %s", said != NULL ? said : "");

  pmu.refuses_all = true;
  struct pml_event ev = perf_event("cycles", "cpu", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
  struct pml_counter c;
  int rc = pml_counter_open(&c, &ev, 0, NULL, NULL, 0);
  CHECK(rc < 0 && pml_event_user_only() == NULL, "an event that is refused in every form is refused: %s",
        pml_error_detail(rc));
  return check_done();
}
