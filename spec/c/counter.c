/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/counter.c - counters and groups: their counts, targets, and refusals. */
#include "base/pml_thread.h"
#include "check.h"
#include "events.h"
#include "source/kernel/pml_counter_private.h"
#include "source/kernel/pml_group.h"

#include <sys/resource.h>
#include <sys/stat.h>

static uint64_t raw_of(const struct pml_counter *c) {
  struct pml_reading r;
  return pml_counter_read(c, &r) == 0 ? r.raw : UINT64_MAX;
}

static void counts_exactly(void) {
  struct pml_event ev = faults();
  struct pml_counter c;
  struct fresh f = fresh_open(300);
  bool opened = pml_counter_open(&c, &ev, 0, NULL, NULL, 0) == 0;
  if (!CHECK(opened, "page-faults opens")) return;
  raw_of(&c); /* the stack that a read needs has been touched now */
  uint64_t before = raw_of(&c);
  fresh_touch(&f, 257);
  CHECK(is_faults(raw_of(&c) - before, 257), "257 fresh pages are 257 faults");
  struct pml_reading r;
  CHECK(pml_counter_read(&c, &r) == 0 && r.enabled_ns > 0 && r.enabled_ns == r.running_ns,
        "a software event runs all the time it is enabled");
  const char *why = NULL;
  enum pml_path path = pml_counter_path(&c, &why);
  CHECK(path == PML_PATH_READ && why != NULL, "its path is read(2): %s", why != NULL ? why : "?");
  pml_counter_close(&c);
  pml_counter_close(&c);
  CHECK(pml_counter_read(&c, &r) == PML_ECLOSED, "closing twice is permitted, reading a closed counter is refused");
  fresh_close(&f);
}

static uint64_t faults_with_child(bool inherit) {
  struct pml_event ev = faults();
  struct pml_counter c;
  struct pml_target target = {.inherit = inherit};
  struct fresh f = fresh_open(2000);
  if (pml_counter_open(&c, &ev, 0, &target, NULL, 0) != 0) return UINT64_MAX;
  pid_t pid = fork();
  if (pid == 0) {
    fresh_touch(&f, 2000);
    _exit(0);
  }
  waitpid(pid, NULL, 0);
  uint64_t n = raw_of(&c);
  pml_counter_close(&c);
  fresh_close(&f);
  return n;
}

static void inherited(void) {
  uint64_t with = faults_with_child(true), without = faults_with_child(false);
  CHECK(with != UINT64_MAX && with >= 2000, "an inherited counter has the child's 2000 faults (%llu)",
        (unsigned long long)with);
  CHECK(without < 1000, "a counter that is not inherited does not (%llu)", (unsigned long long)without);
}

static void refusals(void) {
  struct pml_counter c;
  bool pmu = pml_event_has_pmu() == 1;
  struct pml_event hw = perf_event("cycles", "cpu", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
  int rc = pml_counter_open(&c, &hw, 0, NULL, NULL, 0);
  if (pmu) {
    CHECK(rc == 0, "cycles opens where there is a PMU: %s", pml_error_detail(rc));
    pml_counter_close(&c);
  } else {
    CHECK(rc == PML_ENOPMU && strstr(pml_error_detail(rc), "cycles") != NULL, "no PMU: %s", pml_error_detail(rc));
  }
  struct pml_event absent = faults();
  absent.first.here = false;
  rc = pml_counter_open(&c, &absent, 0, NULL, NULL, 0);
  CHECK(rc == PML_ENOTHERE && c.fd == -1, "a PMU that is not here: %s", pml_error_detail(rc));
  struct pml_event clock = clock_event("clock::ns");
  CHECK(pml_counter_open(&c, &clock, 0, NULL, NULL, 0) == PML_EMODE && c.fd == -1, "a clock is no counter");
  struct pml_event ev = faults();
  CHECK(pml_counter_open(&c, &ev, 1, NULL, NULL, 0) == -EINVAL && c.fd == -1, "a part that the event has not");
  struct pml_event odd = software("odd", 9999);
  rc = pml_counter_open(&c, &odd, 0, NULL, NULL, 0);
  CHECK(rc < 0 && c.fd == -1, "an unknown software event: %s", pml_error_detail(rc));
}

static bool is_untouched(int fd, const struct stat *was) {
  struct stat is;
  return fstat(fd, &is) == 0 && is.st_ino == was->st_ino && is.st_dev == was->st_dev && lseek(fd, 0, SEEK_CUR) == 0;
}

static void descriptors_of_the_program(void) {
  struct pml_event ev = faults();
  const struct pml_event *p[2] = {&ev, &ev};
  struct pml_counter c, other;
  struct pml_group g;
  struct pml_reading r[2];
  struct stat file;
  int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), lowest = dup(0), fd;
  bool there = own >= 0 && lowest >= 0 && fstat(own, &file) == 0;
  if (!CHECK(there && pml_counter_open(&c, &ev, 0, NULL, NULL, 0) == 0, "a counter and a file")) return;
  fd = c.fd;
  CHECK(fd > lowest + 1, "the lowest descriptors are left to the program: the counter has %d", fd);
  close(fd);
  CHECK(pml_counter_read(&c, r) == -EBADF, "a closed descriptor cannot be read: %s", pml_error_text(-EBADF));
  dup2(own, fd);
  pml_counter_close(&c);
  CHECK(c.fd == -1 && is_untouched(fd, &file), "and closing the counter does not close the file of that number");
  close(fd);
  there = pml_counter_open(&c, &ev, 0, NULL, NULL, 0) == 0 && pml_counter_open(&other, &ev, 0, NULL, NULL, 0) == 0;
  if (!CHECK(there, "two counters")) return;
  fd = c.fd;
  dup2(other.fd, fd);
  pml_counter_close(&c);
  c = (struct pml_counter){.fd = fd, .owner = PML__OWNER_NONE};
  CHECK(pml_counter_read(&c, r) == 0, "nor does it close another event of that number");
  close(fd);
  pml_counter_close(&other);
  if (!CHECK(pml_group_open(&g, p, NULL, 2, NULL, 0, NULL) == 0, "a group")) return;
  int of[2] = {g.member[0].fd, g.member[1].fd};
  close(of[0]);
  CHECK(pml_group_read(&g, r) == -EBADF, "a group without its leader's descriptor cannot be read");
  dup2(own, of[0]), dup2(own, of[1]);
  pml_group_close(&g);
  CHECK(is_untouched(of[0], &file) && is_untouched(of[1], &file), "and is closed without closing files");
  close(of[0]), close(of[1]), close(lowest), close(own);
}

/* As nobody, in a child: the level that this machine has decides which refusal is due. */
static int unprivileged(uid_t uid, const struct pml_event *ev, const struct pml_target *target) {
  pid_t pid = fork();
  if (pid == 0) {
    struct pml_counter c;
    if (setresuid(uid, uid, uid) != 0) _exit(3);
    int rc = pml_counter_open(&c, ev, 0, target, NULL, 0);
    fprintf(stdout, "# %s\n", rc < 0 ? pml_error_detail(rc) : "allowed");
    fflush(stdout);
    _exit(rc == 0 ? 0 : rc == PML_EPARANOID ? 1 : rc == PML_ECAP ? 2 : 4);
  }
  return exit_of(pid);
}

static void without_privilege(void) {
  FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "r");
  int level = -2;
  bool known = f != NULL && fscanf(f, "%d", &level) == 1;
  if (f != NULL) fclose(f);
  if (geteuid() != 0 || !known) {
    SKIP("dropping privileges needs root");
    return;
  }
  struct pml_event kernel = task_clock(), user = faults();
  user.first.attr.exclude_kernel = 1;
  CHECK(unprivileged(65534, &kernel, NULL) == (level > 1 ? 1 : 0), "level %d and an event of the kernel", level);
  CHECK(unprivileged(65534, &user, NULL) == (level > 2 ? 1 : 0), "level %d and an event of user space", level);
  struct pml_target cpu = {.pid = -1, .cpu_plus = 1};
  CHECK(unprivileged(65534, &user, &cpu) == (level > 0 ? 1 : 0), "level %d and a whole cpu", level);
  struct pml_target init = {.pid = 1};
  CHECK(unprivileged(65534, &user, &init) == (level > 2 ? 1 : 2), "level %d and another user's process", level);
}

static int lowest_descriptor(void) {
  int fd = dup(0);
  close(fd);
  return fd; /* the lowest that is free */
}

static void group_in_one_pass(void) {
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
  CHECK(pml_group_read(&g, a) == PML_ECLOSED, "closing twice is permitted, reading a closed group is refused");
  fresh_close(&f);
}

static void group_fails_cleanly(void) {
  int before = lowest_descriptor();
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
  CHECK(lowest_descriptor() == before, "failures leave no descriptor open");
}

int main(void) {
  CHECK_EACH(counts_exactly, inherited, refusals, descriptors_of_the_program, without_privilege, group_in_one_pass,
             group_fails_cleanly);
  return check_done();
}
