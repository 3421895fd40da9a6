/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/perf_times.c - enabled and running times of counters that run only part of the time.
 *
 * A software event of this thread that is bound to one cpu runs only while the thread is on that cpu, and stays enabled
 * while it is elsewhere, as an event of one kind of core does on a hybrid cpu. So the times differ without a PMU.
 */
#include "source/kernel/pml_eventset_kernel.h"
#include "source/kernel/pml_group.h"

#include "check.h"
#include "events.h"

#include <sched.h>

#define TOUCHED 40u

static bool two_cpus(int *a, int *b) {
  cpu_set_t all;
  *a = *b = -1;
  if (sched_getaffinity(0, sizeof all, &all) != 0) CPU_ZERO(&all);
  for (int i = 0; i < CPU_SETSIZE && *b < 0; i++)
    if (CPU_ISSET((size_t)i, &all)) *(*a < 0 ? a : b) = i;
  if (*b < 0) SKIP("one cpu: a counter that is bound to another cannot be made to wait");
  return *b >= 0;
}

static void go_to(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET((size_t)cpu, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) printf("# cpu %d: cannot be pinned to it\n", cpu);
}

static void spin(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  int64_t end = t.tv_sec * 1000000000 + t.tv_nsec + 2000000;
  do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  while (t.tv_sec * 1000000000 + t.tv_nsec < end);
}

enum times { NEVER, PART, ALWAYS };

static const char *const told[] = {"never ran", "ran part of the time", "ran all the time"};

static bool is(const struct pml_reading *r, enum times want) {
  uint64_t e = r->enabled_ns, n = r->running_ns;
  bool fine = want == NEVER ? n == 0 : want == PART ? n > 0 && n < e : n == e;
  if (e > 0 && fine) return true;
  printf("# enabled %llu ns, running %llu ns\n", (unsigned long long)e, (unsigned long long)n);
  return false;
}

struct forms {
  struct pml_counter one;
  struct pml_group pair, single;
  struct pml_eventset *simple, *ungrouped, *mixed;
};

static bool forms_open(struct forms *f, int cpu) {
  struct pml_event ev[3] = {faults(), task_clock(), clock_event("clock::ns")};
  const struct pml_event *p[2] = {&ev[0], &ev[1]};
  struct pml_eventset_options o = {.target = {.cpu_plus = cpu + 1}}, apart = o;
  apart.flags = PML_EVENTSET_UNGROUPED;
  memset(f, 0, sizeof *f);
  int rc = pml_counter_open(&f->one, &ev[0], 0, &o.target, NULL, 0);
  if (rc == 0) rc = pml_group_open(&f->pair, p, NULL, 2, &o.target, 0, NULL);
  if (rc == 0) rc = pml_group_open(&f->single, p, NULL, 1, &o.target, 0, NULL);
  if (rc == 0) rc = pml__eventset_open_events(&f->simple, ev, 2, &o);
  if (rc == 0) rc = pml__eventset_open_events(&f->ungrouped, ev, 2, &apart);
  if (rc == 0) rc = pml__eventset_open_events(&f->mixed, ev, 3, &o);
  return CHECK(rc == 0, "counters bound to cpu %d open%s%s", cpu, rc < 0 ? ": " : "",
               rc < 0 ? pml_error_detail(rc) : "");
}

static void forms_close(struct forms *f) {
  pml_counter_close(&f->one);
  pml_group_close(&f->pair);
  pml_group_close(&f->single);
  pml_eventset_close(f->simple);
  pml_eventset_close(f->ungrouped);
  pml_eventset_close(f->mixed);
}

static void set_is(struct pml_eventset *s, enum times want, const char *who) {
  struct pml_reading r[3], p;
  double scaled[3];
  const char *pmu;
  bool fine = pml_eventset_scaled(s, r, scaled) >= 0 && is(&r[0], want) && is(&r[1], want);
  CHECK(fine && pml_eventset_part(s, 1, 0, &pmu, &p) >= 0 && is(&p, want), "%s %s", who, told[want]);
  CHECK(want == NEVER ? scaled[1] != scaled[1] : scaled[1] >= (double)r[1].raw, "and its estimate agrees");
}

static void forms_are(struct forms *f, enum times want) {
  struct pml_reading r[2];
  CHECK(pml_counter_read(&f->one, &r[0]) == 0 && is(&r[0], want), "a counter %s", told[want]);
  CHECK(pml_group_read(&f->single, r) >= 0 && is(&r[0], want), "a group of one %s", told[want]);
  CHECK(pml_group_read(&f->pair, r) >= 0 && is(&r[0], want) && is(&r[1], want), "a group %s", told[want]);
  CHECK(pml_counter_read(&f->pair.member[0], r) == 0 && is(&r[0], want), "its leader %s", told[want]);
  CHECK(pml_counter_read(&f->pair.member[1], r) == 0 && is(&r[0], want), "its other member %s", told[want]);
  set_is(f->simple, want, "a set of one group");
  set_is(f->ungrouped, want, "a set of single events");
  set_is(f->mixed, want, "a set with a clock");
}

static void bound(int here, int elsewhere) {
  struct forms at_home, away;
  go_to(here);
  if (!forms_open(&at_home, here) || !forms_open(&away, elsewhere)) return;
  spin();
  forms_are(&at_home, ALWAYS);
  forms_are(&away, NEVER);
  go_to(elsewhere);
  spin();
  forms_are(&at_home, PART);
  forms_are(&away, PART);
  forms_close(&at_home);
  forms_close(&away);
}

static void since_start(int here, int elsewhere) {
  struct forms f;
  go_to(here);
  if (!forms_open(&f, here)) return;
  spin();
  go_to(elsewhere);
  struct pml_eventset *set[] = {f.simple, f.ungrouped, f.mixed};
  uint64_t v[3];
  for (int i = 0; i < 3; i++) pml_eventset_start(set[i]);
  spin();
  for (int i = 0; i < 3; i++) set_is(set[i], NEVER, "a set that was started elsewhere");
  go_to(here);
  spin();
  for (int i = 0; i < 3; i++) pml_eventset_reset(set[i]);
  spin();
  for (int i = 0; i < 3; i++) pml_eventset_stop(set[i], v);
  go_to(elsewhere);
  spin();
  for (int i = 0; i < 3; i++) set_is(set[i], ALWAYS, "a set that was reset here, and stopped,");
  forms_close(&f);
}

/* Two counters of which one counts at a time, as the parts of a hybrid event; a third sees all. */
static void turns(int first, int second, bool migrates) {
  struct pml_event ev = faults();
  struct pml_counter c[3];
  struct pml_reading r[3], before[3];
  struct fresh f = fresh_open(2 * TOUCHED);
  int cpu[3] = {first, second, -1};
  go_to(first);
  for (int i = 0; i < 3; i++)
    if (pml_counter_open(&c[i], &ev, 0, &(struct pml_target){.cpu_plus = cpu[i] + 1}, NULL, 0) < 0) return;
  for (int i = 0; i < 3; i++) pml_counter_read(&c[i], &before[i]);
  fresh_touch(&f, TOUCHED);
  spin();
  if (migrates) go_to(second);
  fresh_touch(&f, TOUCHED);
  spin();
  for (int i = 0; i < 3; i++) {
    pml_counter_read(&c[i], &r[i]);
    r[i].raw -= before[i].raw;
    r[i].enabled_ns -= before[i].enabled_ns;
    r[i].running_ns -= before[i].running_ns;
    pml_counter_close(&c[i]);
  }
  struct pml_reading all = pml__reading_of_turns(r, 2);
  double scaled = pml_reading_scaled(&all), truth = (double)r[2].raw;
  CHECK(all.raw <= r[2].raw && is_faults(r[2].raw, all.raw) && all.raw >= TOUCHED, "the parts' counts add up");
  CHECK(scaled >= truth * 0.9 && scaled <= truth * 1.1 + STRAY_FAULTS,
        "the estimate of a hybrid event is what happened: %.1f of %.0f%s", scaled, truth,
        migrates ? ", on two kinds of cores" : ", though one part never ran");
  CHECK(all.enabled_ns <= r[2].enabled_ns * 11 / 10, "its enabled time is the thread's, once");
  fresh_close(&f);
}

static void turns_missed(void) {
  struct pml_reading part[2] = {{.raw = 300, .enabled_ns = 1000, .running_ns = 300},
                                {.raw = 200, .enabled_ns = 1010, .running_ns = 200}};
  struct pml_reading all = pml__reading_of_turns(part, 2);
  CHECK(all.raw == 500 && all.enabled_ns == 1000 && all.running_ns == 500 && pml_reading_scaled(&all) == 1000,
        "the time without counts is estimated from the parts' counts together");
}

int main(void) {
  int a, b;
  turns_missed();
  if (!two_cpus(&a, &b)) return check_done();
  bound(a, b);
  since_start(a, b);
  turns(a, b, true);
  turns(a, b, false);
  return check_done();
}
