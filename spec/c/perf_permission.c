/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/perf_permission.c - the events that a process without privileges may count, their names, and the messages.
 * The spec asks the kernel directly what it permits, so that the claims hold at every perf_event_paranoid.
 */
#include "source/kernel/event/pml_breakpoint.h"
#include "source/kernel/event/pml_event_parsers.h"
#include "source/kernel/pml_group.h"

#include "check.h"
#include "permission.h"

#include <sys/mman.h>

static unsigned occurrences(const char *text, const char *word) {
  unsigned n = 0;
  for (const char *p = text; (p = strstr(p, word)) != NULL; p += strlen(word)) n++;
  return n;
}

static void refusal(const char *name, int rc, bool user_space_opens) {
  const char *text = pml_error_detail(rc);
  bool once = occurrences(text, "sysctl") <= 1 && occurrences(text, "CAP_") <= 1 && occurrences(text, ":u,") <= 1;
  CHECK(once && strlen(text) < 200 && strncmp(text, name, strlen(name)) == 0, "%s", text);
  CHECK(user_space_opens || strstr(text, "(:u)") == NULL, "and :u is advised only where it opens");
}

static void set_is_called(const char *name, const char *called) {
  struct pml_eventset *s;
  struct pml_eventset_event info = {.name = ""};
  int rc = pml_eventset_open(&s, &name, 1, NULL);
  if (rc == 0) (void)pml_eventset_event(s, 0, &info);
  CHECK(rc == 0 && strcmp(info.name, called) == 0, "a set calls %s what it counts: %s", name, info.name);
  pml_eventset_close(s);
}

/* The result that software_modes() finds by counting. */
static bool ignores_modes(const struct perf_event_attr *a) {
  return a->type == PERF_TYPE_SOFTWARE &&
         (a->config == PERF_COUNT_SW_TASK_CLOCK || a->config == PERF_COUNT_SW_CPU_CLOCK);
}

static void event(const char *name, bool modeless) {
  struct pml_event ev;
  struct pml_counter c;
  char permitted[PML_EVENT_NAME_MAX], narrow[PML_EVENT_NAME_MAX + 2];
  int rc = pml_event_parse(&ev, name);
  if (rc < 0) {
    printf("# %s\n", pml_error_detail(rc));
    SKIP("this machine has no such event");
    return;
  }
  bool all = kernel_opens(ev.first.attr, false), user = kernel_opens(ev.first.attr, true);
  bool opens = all || (user && modeless), narrowed = !all && user && modeless && !ignores_modes(&ev.first.attr);
  snprintf(narrow, sizeof narrow, "%s%s", name, narrowed ? ":u" : "");
  rc = pml_counter_open(&c, &ev, 0, NULL, NULL, 0);
  CHECK((rc == 0) == opens, "%s: %s", name, rc == 0 ? narrow : "refused, as the kernel does");
  if (rc < 0) {
    refusal(name, rc, user);
    return;
  }
  CHECK(((c.flags & PML_OPENED_USER_ONLY) != 0) == narrowed, "its counter says what it counts");
  pml_counter_close(&c);
  rc = pml_event_permitted(name, permitted);
  CHECK(rc == 0 && strcmp(permitted, narrow) == 0, "it is permitted as %s", permitted);
  set_is_called(name, narrow);
  const char *sentence = pml_event_user_only();
  CHECK(sentence == NULL || strlen(sentence) < 200, "%s", sentence != NULL ? sentence : "nothing to explain");
  CHECK(pml_event_user_only() == NULL, "which is said once");
}

static void work_in_kernel(void) {
  enum { PAGES = 200, TOUCHED = 20 };
  const size_t page = 4096;
  char *p = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return;
  (void)madvise(p, PAGES * page, MADV_NOHUGEPAGE);
  int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  for (size_t i = 0; i < TOUCHED; i++) ((volatile char *)p)[i * page] = 1;
  for (int again = 0; again < 200; again++) (void)!read(zero, p, PAGES * page);
  for (int i = 0; i < 5; i++) usleep(1000);
  (void)close(zero);
  (void)munmap(p, PAGES * page);
}

/*
 * The effect of excluding the kernel is found by counting, for each software event of the kernel: the event without it,
 * and the event in user space, over the same work. A clock counts the same; every other event must count less, and if
 * nothing is left the core reports that the event occurs in the kernel only.
 */
static void software_modes(void) {
  for (uint64_t config = 0; config < PERF_COUNT_SW_MAX; config++) {
    struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE, .size = sizeof a, .config = config}, u = a;
    u.exclude_kernel = u.exclude_hv = 1;
    uint64_t all = 0, user = 0;
    int outer = (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
    int inner = (int)syscall(SYS_perf_event_open, &u, 0, -1, -1, 0);
    work_in_kernel();
    bool counted = outer >= 0 && inner >= 0 && read(inner, &user, 8) == 8 && read(outer, &all, 8) == 8 && all > 0;
    if (outer >= 0) (void)close(outer);
    if (inner >= 0) (void)close(inner);
    if (!counted) continue;
    bool same = user > all - all / 10;
    CHECK(same == pml__event_ignores_modes(&a), "software event %d: %llu, of these %llu in user space", (int)config,
          (unsigned long long)all, (unsigned long long)user);
    CHECK((user == 0) == pml__event_is_of_kernel(&a) || same, "and some in user space, or all in the kernel");
  }
}

static void modifiers(void) {
  static const struct {
    const char *name, *says;
  } row[] = {{"task-clock:u", "ignore"}, {"page-faults:u", NULL}, {"context-switches:u", "always 0"}};
  for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
    struct pml_event ev;
    struct pml_counter c;
    if (pml_event_parse(&ev, row[i].name) < 0 || pml_counter_open(&c, &ev, 0, NULL, NULL, 0) < 0) continue;
    pml_counter_close(&c);
    const char *text = pml_event_user_only();
    bool good = row[i].says == NULL ? text == NULL : text != NULL && strstr(text, row[i].says) != NULL;
    CHECK(good, "%s: %s", row[i].name, text != NULL ? text : "nothing to say");
  }
}

static void mixed_group(void) {
  static const char *const names[] = {"minor-faults", "page-faults"};
  struct pml_event ev[2];
  const struct pml_event *p[2] = {&ev[0], &ev[1]};
  struct pml_group g;
  for (int i = 0; i < 2; i++) (void)pml_event_parse(&ev[i], names[i]);
  bool all = kernel_opens(ev[0].first.attr, false);
  if (!all && !kernel_opens(ev[0].first.attr, true)) {
    SKIP("this process may count nothing");
    return;
  }
  int rc = pml_group_open(&g, p, NULL, 2, NULL, 0, NULL);
  bool same = rc == 0 && g.member[0].flags / PML_OPENED_USER_ONLY % 2 == g.member[1].flags / PML_OPENED_USER_ONLY % 2;
  CHECK(same && all != (g.member[0].flags / PML_OPENED_USER_ONLY % 2 == 1),
        "all members of a group count the same modes");
  pml_group_close(&g);
}

static void another_user(void) {
  struct pml_event ev;
  struct pml_counter c;
  (void)pml_event_parse(&ev, "task-clock");
  int rc = pml_counter_open(&c, &ev, 0, &(struct pml_target){.pid = 1}, NULL, 0);
  if (rc == 0) {
    SKIP("this process may count every other");
    pml_counter_close(&c);
    return;
  }
  if (kernel_opens(ev.first.attr, true))
    CHECK(rc == PML_ECAP && strstr(pml_error_detail(rc), "another user") != NULL, "%s", pml_error_detail(rc));
  refusal("task-clock", rc, false);
}

static int claims(void) {
  software_modes();
  modifiers();
  event("task-clock", true);
  event("page-faults", true);
  event("perf::PAGE-FAULTS", true);
  if (pml__breakpoint_check("mem:environ:w") == 0) event("mem:environ:w", true);
  event("task-clock:u", false);
  event("task-clock:k", false);
  event("task-clock:uk", false);
  event("context-switches", false);
  event("perf::CPU-MIGRATIONS", false);
  event("msr/tsc/", true);
  event("sched:sched_switch", false);
  event("cycles", true);
  event("cycles:k", false);
  mixed_group();
  another_user();
  return check_done();
}

int main(void) {
  if (geteuid() != 0) return claims();
  software_modes();
  pid_t child = fork();
  if (child == 0) _exit(setresuid(65534, 65534, 65534) == 0 ? claims() : 1);
  return exit_of(child);
}
