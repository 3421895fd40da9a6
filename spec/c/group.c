/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/group.c - a group counts its members in the same instants and reads them in one pass. */
#include "base/pml_error.h"
#include "source/kernel/pml_group.h"

#include "check.h"
#include "events.h"

#include <sys/resource.h>

static int open_descriptors(void) {
  int fd = dup(0);
  close(fd);
  return fd; /* the lowest that is free */
}

static void one_pass(void) {
  struct pml_event ev[4] = {faults(), task_clock(), faults(), switches()};
  const struct pml_event *p[4] = {&ev[0], &ev[1], &ev[2], &ev[3]};
  struct pml_group g;
  struct fresh f = fresh_open(100);
  int rc = pml_group_open(&g, p, NULL, 4, NULL, 0, NULL);
  if (!CHECK(rc == 0 && g.n == 4, "four software events open as one group")) return;
  struct pml_reading a[4], b[4];
  pml_group_read(&g, a);
  CHECK(pml_group_read(&g, a) == 0, "one read gives all");
  fresh_touch(&f, 64);
  pml_group_read(&g, b);
  CHECK(is_faults(b[0].raw - a[0].raw, 64) && b[2].raw - a[2].raw == b[0].raw - a[0].raw, "in the order of opening");
  bool same = true;
  for (int i = 0; i < 10000; i++) {
    if (i % 100 == 0) fresh_touch(&f, 1);
    same &= pml_group_read(&g, b) == 0 && b[0].raw == b[2].raw;
  }
  CHECK(same, "two members that count the same agree in each of 10000 reads");
  CHECK(a[0].enabled_ns == a[3].enabled_ns && a[0].running_ns == a[3].running_ns, "and share their times");

  struct pml_reading one;
  uint64_t before = b[0].raw;
  bool fine = pml_counter_read(&g.member[0], &one) == 0 && one.raw >= before;
  fine &= pml_counter_read(&g.member[2], &one) == 0 && one.raw >= before;
  CHECK(fine, "a member can also be read alone, the leader too");
  pml_group_close(&g);
  pml_group_close(&g);
  CHECK(pml_group_read(&g, a) == PML_ECLOSED, "closing twice is fine, reading a closed group says so");
  fresh_close(&f);
}

static void alone(void) {
  struct pml_event ev = faults();
  const struct pml_event *p = &ev;
  struct pml_group g;
  struct pml_reading a, b;
  struct fresh f = fresh_open(40);
  int rc = pml_group_open(&g, &p, NULL, 1, NULL, 0, NULL);
  if (!CHECK(rc == 0, "a group of one opens")) return;
  pml_group_read(&g, &a);
  pml_group_read(&g, &a);
  fresh_touch(&f, 33);
  CHECK(pml_group_read(&g, &b) == 0 && is_faults(b.raw - a.raw, 33) && b.enabled_ns > a.enabled_ns, "and counts");
  pml_group_close(&g);
  fresh_close(&f);
}

static void starts_disabled(void) {
  struct pml_event ev[2] = {faults(), task_clock()};
  const struct pml_event *p[2] = {&ev[0], &ev[1]};
  struct pml_group g;
  struct pml_reading r[2] = {{.raw = 1}, {.raw = 1}};
  struct fresh f = fresh_open(20);
  int rc = pml_group_open(&g, p, NULL, 2, NULL, PML_OPEN_DISABLED, NULL);
  fresh_touch(&f, 20);
  CHECK(rc == 0 && pml_group_read(&g, r) == 0 && r[0].raw == 0 && r[1].raw == 0, "a disabled group counts nothing");
  pml_group_close(&g);
  fresh_close(&f);
}

static void inherits(void) {
  struct pml_event ev[2] = {faults(), task_clock()};
  const struct pml_event *p[2] = {&ev[0], &ev[1]};
  struct pml_group g;
  struct pml_reading r[2] = {{0}, {0}};
  struct pml_target target = {.inherit = true};
  int rc = pml_group_open(&g, p, NULL, 2, &target, 0, NULL);
  CHECK(rc == 0 && pml_group_read(&g, r) == 0 && r[1].raw > 0, "a group can be inherited: %s", pml_error_detail(rc));
  pml_group_close(&g);
}

static void fails_cleanly(void) {
  int before = open_descriptors();
  struct pml_event ev[3] = {faults(), task_clock(), faults()};
  ev[2].first.here = false;
  const struct pml_event *p[3] = {&ev[0], &ev[1], &ev[2]};
  struct pml_group g;
  size_t which = 99;
  int rc = pml_group_open(&g, p, NULL, 3, NULL, 0, &which);
  CHECK(rc == PML_ENOTHERE && which == 2 && g.n == 0, "the member that does not open is named");
  CHECK(pml_group_open(&g, p, NULL, 0, NULL, 0, NULL) == -EINVAL, "a group of no events");

  struct rlimit was;
  getrlimit(RLIMIT_NOFILE, &was);
  setrlimit(RLIMIT_NOFILE, &(struct rlimit){.rlim_cur = (rlim_t)before + 1, .rlim_max = was.rlim_max});
  rc = pml_group_open(&g, p, NULL, 2, NULL, 0, &which);
  setrlimit(RLIMIT_NOFILE, &was);
  CHECK(rc == -EMFILE && which == 1 && g.n == 0, "%s", pml_error_detail(rc));
  CHECK(open_descriptors() == before, "failures leave no descriptor open");
}

int main(void) {
  one_pass();
  alone();
  starts_disabled();
  inherits();
  fails_cleanly();
  return check_done();
}
