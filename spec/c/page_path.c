/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/page_path.c - choice between page reads and read(2), without a PMU: a signal handler emulates rdpmc, hardware
 * events are opened as software events, and the kernel maps a page written by this spec.
 *
 * Link: -Wl,--wrap=mmap,--wrap=syscall
 */
#include "adapter/intercept/pml_intercept.h"
#include "adapter/intercept/pml_intercept_events.h"
#include "source/kernel/pml_rdpmc.h"

#include "check.h"
#include "dressed.h"
#include "intercept/sparing.h"

#include <sched.h>
#include <search.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#if defined(__x86_64__)

#include "trap.h"

static struct perf_event_mmap_page page[MEMBERS];
static volatile uint64_t counter[MEMBERS];
static volatile unsigned interruptions;

static bool answer(uint32_t number, uint64_t *value) {
  if (number >= MEMBERS) return false;
  *value = counter[number];
  if (interruptions > 0) {
    interruptions--;
    page[number].lock += 2;
  }
  return true;
}

static void fresh_pages(void) {
  memset(page, 0, sizeof page);
  for (uint32_t i = 0; i < MEMBERS; i++) {
    page[i].cap_user_rdpmc = page[i].cap_user_time = 1;
    page[i].index = i + 1;
    page[i].pmc_width = 48;
    page[i].offset = (int64_t)(i + 1) * 1000000;
    page[i].time_mult = 1;
    page[i].time_enabled = page[i].time_running = 5000;
    counter[i] = 0;
  }
  interruptions = 0;
}

static volatile struct perf_event_mmap_page *page_at(uint32_t i) {
  return &page[i];
}

static void close_dressed(struct pml_eventset *s) {
  for (uint32_t i = 0; i < MEMBERS; i++) pml__kernel_backend_of(s)->counter[i].page = NULL;
  pml_eventset_close(s);
}

static void sets(struct pml_eventset *s) {
  uint64_t v[MEMBERS] = {0};
  struct pml_reading r[MEMBERS];
  struct pml_eventset_event info;
  fresh_pages();
  pml_eventset_start(s);
  counter[0] = 10, counter[1] = 20, counter[2] = 30;
  unsigned before = trap.taken;
  int rc = pml_eventset_read(s, v);
  CHECK(rc == 0 && trap.taken - before == MEMBERS, "a set whose events all have a page reads nothing but pages");
  CHECK(v[0] == 10 && v[1] == 20 && v[2] == 30, "in the order of the names");
  page[1].offset += 20, counter[1] = (UINT64_C(1) << 48) - 5;
  CHECK(pml_eventset_read(s, v) == 0 && v[1] == 15, "a counter that the kernel set again continues");
  interruptions = 2;
  CHECK(pml_eventset_read(s, v) == 2 && v[0] == 10, "two repeated page reads are reported");
  pml__source_plain_read *plainly = pml__eventset_plain_read(s);
  uint64_t w[MEMBERS];
  CHECK(plainly != NULL && plainly(s, w) == 0 && memcmp(v, w, sizeof v) == 0, "the same with general registers only");
  interruptions = 1;
  CHECK(plainly(s, w) != 0 && plainly(s, w) == 0 && memcmp(v, w, sizeof v) == 0, "which never tries again by itself");
  page[0].time_enabled += 700, page[0].time_running += 400;
  CHECK(pml_eventset_readings(s, r) == 0 && r[2].raw == 30 && r[0].enabled_ns - r[0].running_ns == 300,
        "times since start come from the page, too");
  rc = pml_eventset_event(s, 1, &info);
  CHECK(rc == 0 && info.path == PML_PATH_PAGE && info.why == NULL, "the path is the page");
  page[2].index = 0;
  rc = pml_eventset_event(s, 2, &info);
  CHECK(rc == 0 && info.path == PML_PATH_READ && info.why != NULL, "an event off its counter: read(2), and why");
  CHECK(plainly(s, w) != 0, "for which all registers are saved");
  rc = pml_eventset_event(s, 0, &info);
  CHECK(rc == 0 && info.path == PML_PATH_READ && info.why != NULL, "and so its whole group");
  pml_eventset_stop(s, v);
  pml_eventset_start(s);
  counter[0] += 5000;
  CHECK(pml_eventset_read(s, v) == 0 && v[0] < 1000 && v[2] < 1000, "which the kernel then reads, whole");
}

struct visitor {
  struct pml_eventset *set;
  unsigned by_set, emulated;
  enum pml_path path;
  int rc;
};

static struct pml_group as_group(struct pml_eventset *s, uint64_t *buffer) {
  return (struct pml_group){.member = pml__kernel_backend_of(s)->counter, .buffer = buffer, .n = MEMBERS};
}

static void *visit(void *arg) {
  struct visitor *o = arg;
  uint64_t v[MEMBERS], buffer[3 + MEMBERS];
  struct pml_reading r[MEMBERS];
  struct pml_group g = as_group(o->set, buffer);
  unsigned before = trap.taken;
  o->rc = pml_eventset_read(o->set, v) | pml_counter_read(&pml__kernel_backend_of(o->set)->counter[1], &r[0]);
  if (pml__eventset_plain_read(o->set)(o->set, v) == 0) o->rc = -EINVAL;
  o->by_set = trap.taken - before;
  o->rc |= pml_group_read(&g, r);
  o->emulated = trap.taken - before;
  o->path = pml_counter_path(&pml__kernel_backend_of(o->set)->counter[0], NULL);
  return NULL;
}

static void on_another_thread(struct pml_eventset *s) {
  struct visitor o = {.set = s};
  fresh_pages();
  in_threads(1, visit, &o, 0);
  CHECK(o.rc == 0 && o.by_set == 0, "another thread never reads a set's or a counter's page");
  CHECK(o.rc == 0 && o.emulated == o.by_set, "nor a group's");
  CHECK(o.path == PML_PATH_READ, "and reports it");
}

static void counters_and_groups(struct pml_eventset *s) {
  uint64_t buffer[3 + MEMBERS];
  struct pml_group g = as_group(s, buffer);
  struct pml_reading r[MEMBERS];
  fresh_pages();
  counter[0] = 7, counter[2] = 9;
  interruptions = 1;
  CHECK(pml_group_read(&g, r) == 1 && r[0].raw == 1000007 && r[2].raw == 3000009, "a group reads its members' pages");
  CHECK(pml_counter_read(&pml__kernel_backend_of(s)->counter[2], &r[0]) == 0 && r[0].raw == 3000009,
        "a counter its own");
  CHECK(pml_counter_path(&pml__kernel_backend_of(s)->counter[2], NULL) == PML_PATH_PAGE, "and reports that");
  page[1].cap_user_rdpmc = 0;
  CHECK(pml_group_read(&g, r) == 0 && r[0].raw < 1000000, "unless one of them may not: then read(2) for all");
}

/* --- a kernel that gives every hardware event a page --- */

/* Linked with --wrap: the core's own calls come here. */
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
void *__real_mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset);

static void *last_mapped;
static bool forbid;      /* the page says that user space may not read */
static uint64_t dressed; /* the kernel's id of the last hardware event that was opened, as page-faults */

static uint64_t id_of(int fd) {
  uint64_t id;
  return fd >= 0 && ioctl(fd, PERF_EVENT_IOC_ID, &id) == 0 ? id : 0;
}

/* Callers that give fewer than six have something else there. */
__attribute__((no_sanitize("address"))) long __wrap_syscall(long number, ...) {
  long a[6];
  va_list ap;
  va_start(ap, number);
  for (int i = 0; i < 6; i++) a[i] = va_arg(ap, long);
  va_end(ap);
  struct perf_event_attr attr;
  bool dress = number == SYS_perf_event_open && ((struct perf_event_attr *)(uintptr_t)a[0])->type == PERF_TYPE_HARDWARE;
  if (dress) {
    memcpy(&attr, (void *)(uintptr_t)a[0], sizeof attr);
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_PAGE_FAULTS;
    a[0] = (long)(uintptr_t)&attr;
  }
  long rc = __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  if (dress) dressed = id_of((int)rc);
  return rc;
}

void *__wrap_mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset) {
  if (dressed == 0 || id_of(fd) != dressed) return __real_mmap(at, bytes, prot, flags, fd, offset);
  void *m = __real_mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  fresh_pages();
  last_mapped = m;
  if (m == MAP_FAILED) return m;
  (void)madvise(m, bytes, MADV_DONTFORK); /* as the kernel's: a child does not have it */
  memcpy(m, &page[0], sizeof page[0]);
  ((struct perf_event_mmap_page *)m)->cap_user_rdpmc = !forbid;
  return m;
}

static struct pml_event cycles(void) {
  return perf_event("cycles", "cpu", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
}

/* Counter 0 of the page stands at 1000000 + 42; the faults that read(2) gives are fewer by far. */
static void reads(struct pml_counter *c, bool by_page, const char *what) {
  struct pml_reading r = {0};
  const char *why = NULL;
  counter[0] = 42;
  bool read = pml_counter_read(c, &r) == 0;
  enum pml_path path = pml_counter_path(c, &why);
  CHECK(read && (r.raw == 1000042) == by_page && (path == PML_PATH_PAGE) == by_page && (why == NULL) == by_page,
        "%s: by %s%s", what, by_page ? "its page" : "read(2), because ", why != NULL ? why : "");
}

static void targets(void) {
  struct pml_event ev = cycles();
  struct pml_counter c;
  static struct {
    const char *what;
    struct pml_target target;
    unsigned flags;
  } other[] = {
      {"inherited counters", {.inherit = true}, 0},
      {"another process", {.pid = 0}, 0}, /* a child, which any user may count */
      {"a whole cpu", {.pid = -1, .cpu_plus = 1}, 0},
      {"the own thread on one cpu only", {.cpu_plus = 1}, 0},
      {"counters excluded from reads by page", {.pid = 0}, PML_OPEN_NO_PAGE},
  };
  pid_t child = fork();
  if (child == 0) (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a mutant may crash below */
  while (child == 0) pause();
  other[1].target.pid = child;
  if (CHECK(pml_counter_open(&c, &ev, 0, NULL, NULL, 0) == 0, "an event opens")) reads(&c, true, "the own thread");
  pml_counter_close(&c);
  for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) {
    int rc = pml_counter_open(&c, &ev, 0, &other[i].target, NULL, other[i].flags);
    if (other[i].target.pid == -1 && (rc == PML_EPARANOID || rc == PML_ECAP)) {
      SKIP("counting a whole cpu needs CAP_PERFMON");
      continue;
    }
    if (CHECK(rc == 0, "an event opens: %s", pml_error_detail(rc))) reads(&c, false, other[i].what);
    pml_counter_close(&c);
  }
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
}

static void forbidden(void) {
  struct pml_event ev = cycles();
  struct pml_counter c;
  struct pml_reading r = {0};
  if (!CHECK(pml_counter_open(&c, &ev, 0, NULL, NULL, 0) == 0, "an event opens")) return;
  unsigned before = trap.taken;
  c.page->cap_user_rdpmc = 0;
  const char *why = NULL;
  enum pml_path path = pml_counter_path(&c, &why);
  CHECK(pml_counter_read(&c, &r) == 0 && r.raw < 1000000 && trap.taken == before && path == PML_PATH_READ &&
            why != NULL,
        "a permission taken away later: by read(2), because %s", why != NULL ? why : "?");
  pml_counter_close(&c);
}

/* ---- unmapping ---- */

static bool is_mapped(const volatile void *at) {
  unsigned char in;
  return mincore((void *)(uintptr_t)at, 1, &in) == 0;
}

static void unmapped(void) {
  struct pml_event ev[2] = {cycles(), cycles()};
  const struct pml_event *p[2] = {&ev[0], &ev[1]};
  volatile void *at[2];
  struct pml_counter c;
  struct pml_group g;
  struct pml_eventset *s;
  if (!CHECK(pml_counter_open(&c, &ev[0], 0, NULL, NULL, 0) == 0 && c.page != NULL, "a counter with a page")) return;
  at[0] = c.page;
  bool was = is_mapped(at[0]);
  pml_counter_close(&c);
  CHECK(was && !is_mapped(at[0]) && c.page == NULL, "its close unmaps the page");
  if (!CHECK(pml_group_open(&g, p, NULL, 2, NULL, 0, NULL) == 0, "a group with pages")) return;
  at[0] = g.member[0].page, at[1] = g.member[1].page;
  was = at[0] != NULL && at[1] != NULL && is_mapped(at[0]) && is_mapped(at[1]);
  pml_group_close(&g);
  CHECK(was && !is_mapped(at[0]) && !is_mapped(at[1]), "a group's close also closes the pages of its members");
  if (!CHECK(pml__eventset_open_events(&s, ev, 2, NULL) == 0, "a set with pages")) return;
  at[0] = pml__kernel_backend_of(s)->counter[0].page, at[1] = pml__kernel_backend_of(s)->counter[1].page;
  was = at[0] != NULL && at[1] != NULL && is_mapped(at[0]) && is_mapped(at[1]);
  pml_eventset_close(s);
  CHECK(was && !is_mapped(at[0]) && !is_mapped(at[1]), "a set's close, too");
  forbid = true;
  was = pml_counter_open(&c, &ev[0], 0, NULL, NULL, 0) == 0;
  forbid = false;
  CHECK(was && c.page == NULL && !is_mapped(last_mapped), "a page that may not be read does not stay mapped");
  pml_counter_close(&c);
}

/* ---- a machine of two kinds of core ---- */

static bool opens_by_page(const struct pml_event *ev, unsigned part, bool *restarts, const char **why) {
  struct pml_counter c;
  *why = "it does not open";
  if (pml_counter_open(&c, ev, part, NULL, NULL, 0) != 0) return false;
  bool by_page = pml_counter_path(&c, why) == PML_PATH_PAGE;
  *restarts = (c.owner & PML__OWNER_RESTARTS) != 0;
  pml_counter_close(&c);
  return by_page;
}

static unsigned part_of(const struct pml_event *ev, const char *pmu) {
  unsigned p = 0;
  while (p < ev->nparts && strcmp(pml_event_part(ev, p).pmu, pmu) != 0) p++;
  return p;
}

static void two_kinds(void) {
  struct pml_event ev;
  bool restarts = false;
  const char *why = NULL;
  bool two =
      pml_event_set_sysfs("spec/data/sysfs/hybrid") == 0 && pml_event_parse(&ev, "cycles:u") == 0 && ev.nparts == 2;
  if (!CHECK(two, "an event of two kinds of core has two parts")) return;
  unsigned core = part_of(&ev, "cpu_core"), atom = part_of(&ev, "cpu_atom");
  if (pml__rseq_ready()) {
    CHECK(opens_by_page(&ev, core, &restarts, &why) && restarts, "each is read by page, in a restartable section");
    CHECK(opens_by_page(&ev, atom, &restarts, &why) && restarts, "and so is the other");
  } else {
    CHECK(opens_by_page(&ev, core, &restarts, &why) && !restarts,
          "a thread that is pinned to cores of one kind reads their counters by page");
    CHECK(!opens_by_page(&ev, atom, &restarts, &why) && why != NULL, "and the others' by read(2), because %s", why);
  }
  pml_event_set_sysfs(NULL);
}

/* Runs again without restartable sequences, on a cpu whose number the described machine gives to its first kind. */
static void without_sequences(char *self) {
  char *argv[] = {self, (char *)(uintptr_t) "two kinds", NULL};
  cpu_set_t may, first;
  CPU_ZERO(&first);
  sched_getaffinity(0, sizeof may, &may);
  for (size_t i = 0; i < 12; i++)
    if (CPU_ISSET(i, &may)) CPU_SET(i, &first);
  if (CPU_COUNT(&first) == 0) {
    SKIP("this process may run on none of the cpus 0 to 11");
    return;
  }
  pid_t child = fork();
  if (child == 0) {
    sched_setaffinity(0, sizeof first, &first);
    setenv("GLIBC_TUNABLES", "glibc.pthread.rseq=0", 1);
    execv("/proc/self/exe", argv);
    _exit(126);
  }
  CHECK(exit_of(child) == 0, "without restartable sequences it depends on where the thread may run");
}

/* ---- calls that carry counts ---- */

static uint64_t events, plainly, wrong;

static void *begin(void *arg, uint64_t thread) {
  (void)thread;
  return arg;
}
static void fully(void *data, const struct pml_stream_event *e) {
  (void)data;
  events++;
  wrong += e->metrics == NULL || e->values[0] != counter[0];
}
static uint64_t without_values(void *data, pml_region_t region, uint64_t ticks) {
  (void)data, (void)region, (void)ticks;
  wrong++;
  return 0;
}
static uint64_t with_values(void *data, const struct pml_stream_event *e) {
  plainly++;
  fully(data, e);
  return 0;
}
SPARING_FAST(without_values_sparingly, without_values);
SPARING_VALUES(with_values_sparingly, with_values);

static int compare(const void *a, const void *b) {
  counter[0] += 7;
  return *(const int *)a - *(const int *)b;
}
static void call(void) {
  const int two = 2;
  size_t n = 1;
  (void)lfind(&two, &two, &n, sizeof two, compare);
}

static void calls(void) {
  static const char *const name[] = {"perf::CYCLES:u"};
  static const struct pml_intercept_options o = {.lib = "libc.so*", .sym = "lfind"};
  const struct pml_stream_metrics *metrics;
  struct pml_stream_consumer c = {.thread_begin = begin, .event = {fully, fully, NULL}, .arg = &events};
  uint64_t id;
  c.fast[PML_STREAM_ENTER] = c.fast[PML_STREAM_LEAVE] = without_values_sparingly;
  c.fast_values[PML_STREAM_ENTER] = c.fast_values[PML_STREAM_LEAVE] = with_values_sparingly;
  int err = pml_intercept_count(name, 1, NULL, &metrics);
  if (err == 0) err = pml_intercept_install(&o);
  if (err == 0) err = pml_stream_add(&c, &id);
  if (!CHECK(err == 0, "calls carry the counts of an event with a page%s%s", err < 0 ? ": " : "",
             err < 0 ? pml_error_detail(err) : ""))
    return;
  for (int i = 0; i < 1000; i++) call();
  if (!CHECK(events == 2000 && wrong == 0 && counter[0] == 7000, "each call's are exact at its enter and its leave"))
    return;
#ifndef __SANITIZE_THREAD__
  CHECK(plainly == 1999, "and all but the first are read where vector registers are not saved");
#endif
  struct perf_event_mmap_page *mine = last_mapped;
  uint64_t before = plainly;
  mine->index = 0;
  call();
  CHECK(events == 2002 && wrong == 2 && plainly == before, "while the event is off its counter the kernel reads it");
  mine->index = 1;
  call();
  CHECK(events == 2004 && wrong == 2, "and then it continues");
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    int *taken = mmap(mine, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, flags, -1, 0);
    events = wrong = 0;
    if ((void *)taken != (void *)mine || pml_stream_add(&c, &id) < 0) _exit(5);
    *taken = 4711;
    for (int i = 0; i < 1000; i++) call();
    _exit(!is_mapped(taken) || *taken != 4711 ? 6 : events == 2000 && wrong == 0 ? 3 : 4);
  }
  CHECK(exit_of(child) == 3, "a child has its own counters and pages, and leaves alone memory where its parent's were");
  before = events;
  call();
  CHECK(events == before + 2 && wrong == 2, "and its parent keeps those that it has");
}

int main(int argc, char **argv) {
  if (argc > 1) {
    two_kinds();
    if (pml__rseq_ready()) SKIP("this C library registers restartable sequences in spite of its settings");
    return check_done();
  }
  if (!trap_rdpmc(answer)) {
    SKIP("rdpmc does not fault here: a real counter returns a value");
    return check_done();
  }
  struct pml_eventset *s = open_dressed(page_at, false);
  if (!CHECK(s != NULL, "a set of software events, dressed up with pages")) return check_done();
  sets(s);
  on_another_thread(s);
  counters_and_groups(s);
  close_dressed(s);
  CHECK_EACH(targets, forbidden, unmapped, two_kinds);
  without_sequences(argv[0]);
  calls();
  return check_done();
}

#else

int main(void) {
  SKIP("the emulation is written for x86-64's rdpmc");
  return check_done();
}

#endif
