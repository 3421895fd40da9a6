/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/eventset.c - what start, read, stop, reset and accum mean, on counts that are known exactly. */
#include "source/kernel/pml_counter_error.h"
#include "source/kernel/pml_eventset_kernel.h"

#include "check.h"
#include "events.h"

#include <sys/resource.h>

static int lowest_free_descriptor(void) {
  int fd = dup(0);
  close(fd);
  return fd;
}

/* The pages that the calls themselves need are touched before anything is counted. */
static void warm(struct pml_eventset *s) {
  uint64_t v[PML_EVENTSET_MAX] = {0}, ticks;
  struct pml_reading r[PML_EVENTSET_MAX];
  pml_eventset_read_ts(s, v, &ticks);
  pml_eventset_accum(s, v);
  pml_eventset_readings(s, r);
  pml_eventset_stop(s, v);
  pml_eventset_reset(s);
  pml_eventset_start(s);
}

static void meanings(struct pml_eventset *s, size_t at, const char *kind) {
  struct fresh f = fresh_open(2000);
  uint64_t v[PML_EVENTSET_MAX], sum[PML_EVENTSET_MAX] = {0};
  warm(s);
  pml_eventset_start(s);
  fresh_touch(&f, 10);
  CHECK(pml_eventset_read(s, v) == 0 && is_faults(v[at], 10), "%s: a read counts since start", kind);
  fresh_touch(&f, 5);
  CHECK(pml_eventset_read(s, v) == 0 && is_faults(v[at], 15), "%s: the next one too", kind);
  fresh_touch(&f, 5);
  CHECK(pml_eventset_stop(s, v) == 0 && is_faults(v[at], 20), "%s: so does a stop", kind);
  fresh_touch(&f, 7);
  CHECK(pml_eventset_read(s, v) == 0 && is_faults(v[at], 20), "%s: a stopped set stands still", kind);
  CHECK(pml_eventset_stop(s, v) == 0 && is_faults(v[at], 20), "%s: stopping it again changes nothing", kind);
  sum[at] = 100;
  CHECK(pml_eventset_accum(s, sum) == 0 && is_faults(sum[at], 120), "%s: accum of a stopped set adds what it holds",
        kind);
  CHECK(pml_eventset_accum(s, sum) == 0 && is_faults(sum[at], 120), "%s: once", kind);
  CHECK(pml_eventset_read(s, v) == 0 && is_faults(v[at], 0), "%s: and leaves it at 0", kind);
  pml_eventset_start(s);
  fresh_touch(&f, 3);
  CHECK(pml_eventset_read(s, v) == 0 && is_faults(v[at], 3), "%s: start starts over", kind);
  CHECK(pml_eventset_reset(s) == 0, "%s: reset", kind);
  fresh_touch(&f, 4);
  CHECK(pml_eventset_read(s, v) == 0 && is_faults(v[at], 4), "%s: reset of a running set counts from there", kind);
  pml_eventset_stop(s, v);
  pml_eventset_reset(s);
  CHECK(pml_eventset_read(s, v) == 0 && is_faults(v[at], 0), "%s: reset of a stopped set makes it 0", kind);

  pml_eventset_start(s);
  memset(sum, 0, sizeof sum);
  for (int i = 0; i < 100; i++) {
    fresh_touch(&f, (size_t)i % 7);
    pml_eventset_accum(s, sum);
  }
  CHECK(is_faults(sum[at], 295), "%s: 100 accums lose nothing and count nothing twice", kind);
  fresh_close(&f);
}

static void read_ts(struct pml_eventset *s, size_t at) {
  uint64_t v[PML_EVENTSET_MAX], t0, t1, t2;
  pml_eventset_start(s);
  t0 = pml_clock_ticks_ordered();
  int rc = pml_eventset_read_ts(s, v, &t1);
  t2 = pml_clock_ticks_ordered();
  CHECK(rc == 0 && t0 <= t1 && t1 <= t2 && is_faults(v[at], 0), "read_ts: the clock lies between the clocks around it");
}

static void single_group(void) {
  struct pml_event ev[3] = {task_clock(), faults(), switches()};
  struct pml_eventset *s;
  int rc = pml__eventset_open_events(&s, ev, 3, NULL);
  if (!CHECK(rc == 0, "a set of three software events: %s", pml_error_detail(rc))) return;
  CHECK(pml_eventset_size(s) == 3 && pml__kernel_backend_of(s)->ngroups == 1 && s->simple, "is one kernel group");
  meanings(s, 1, "one group");
  read_ts(s, 1);
  struct pml_eventset_event info;
  CHECK(pml_eventset_event(s, 1, &info) == 0 && strcmp(info.name, "page-faults") == 0 && info.nparts == 1 &&
            info.path == PML_PATH_READ && info.why != NULL,
        "an event tells its name and its path");
  CHECK(pml_eventset_event(s, 3, &info) == -ENOENT, "there is no fourth");
  pml_eventset_close(s);
}

static void single_event(void) {
  struct pml_event ev = faults();
  struct pml_eventset *s;
  int rc = pml__eventset_open_events(&s, &ev, 1, NULL);
  if (!CHECK(rc == 0, "a set of one event")) return;
  meanings(s, 0, "one event");
  pml_eventset_close(s);
}

static void ungrouped(void) {
  struct pml_event ev[3] = {task_clock(), faults(), switches()};
  struct pml_eventset_options o = {.flags = PML_EVENTSET_UNGROUPED};
  struct pml_eventset *s;
  int rc = pml__eventset_open_events(&s, ev, 3, &o);
  if (!CHECK(rc == 0 && pml__kernel_backend_of(s)->ngroups == 3, "an ungrouped set reads event by event")) return;
  meanings(s, 1, "ungrouped");
  pml_eventset_close(s);
}

static void with_clocks(void) {
  struct pml_event ev[5] = {clock_event("clock::ticks"), faults(), clock_event("clock::ns"), task_clock(), faults()};
  struct pml_eventset *s;
  int rc = pml__eventset_open_events(&s, ev, 5, NULL);
  if (!CHECK(rc == 0, "clocks and counters mix")) return;
  meanings(s, 1, "with clocks");
  uint64_t v[5], held[5];
  pml_eventset_start(s);
  uint64_t t0 = pml_clock_ticks_ordered();
  for (volatile int i = 0; i < 100000; i++) {
  }
  uint64_t t1 = pml_clock_ticks_ordered();
  pml_eventset_stop(s, v);
  CHECK(v[0] >= t1 - t0, "clock::ticks counts since start");
  CHECK(v[2] == pml_clock_ticks_to_ns(v[0]), "clock::ns is the same moment in ns");
  CHECK(v[1] == v[4], "the same event twice gives the same count twice");
  pml_eventset_read(s, held);
  CHECK(memcmp(v, held, sizeof v) == 0, "a stopped clock stands still");
  struct pml_reading r[5];
  CHECK(pml_eventset_readings(s, r) == 0 && r[0].raw == v[0] && r[2].raw == v[2] && r[2].enabled_ns == v[2] &&
            r[2].running_ns == v[2],
        "readings of a clock: enabled as long as it counted");
  CHECK(r[3].raw == v[3] && r[3].enabled_ns > 0 && r[3].enabled_ns == r[3].running_ns, "and of a counter");
  CHECK(r[3].enabled_ns <= v[2] * 2 + 1000000, "its times are since start, too");
  pml_eventset_reset(s);
  pml_eventset_readings(s, r);
  CHECK(r[0].raw == 0 && r[3].raw == 0 && r[3].enabled_ns == 0, "reset clears counts and times");
  pml_eventset_close(s);

  rc = pml__eventset_open_events(&s, &ev[2], 1, NULL);
  CHECK(rc == 0 && pml_eventset_read(s, v) == 0 && v[0] > 0, "a set of nothing but a clock needs no kernel");
  pml_eventset_close(s);
}

/* A hybrid event is one with a part per PMU; two software events stand in for the two kinds of core. */
static void hybrid(void) {
  static const struct pml_event_other atom = {.pmu = "cpu_atom", .cpu_any = -1};
  struct pml_event ev[2] = {faults(), faults()};
  ev[1].nparts = 2;
  ev[1].other = &atom;
  struct pml_eventset *s;
  int rc = pml__eventset_open_events(&s, ev, 2, NULL);
  if (!CHECK(rc == 0, "an event of two parts opens")) return;
  meanings(s, 0, "beside a hybrid event");
  struct fresh f = fresh_open(50);
  uint64_t v[2];
  pml_eventset_start(s);
  fresh_touch(&f, 21);
  pml_eventset_stop(s, v);
  CHECK(is_faults(v[0], 21) && v[1] == 2 * v[0], "its value is the sum of its parts");
  const char *pmu = NULL;
  struct pml_reading r[2], p;
  double scaled[2];
  CHECK(pml_eventset_scaled(s, r, scaled) == 0 && r[1].raw == v[1] && scaled[1] == (double)v[1],
        "also its estimate: nothing was missed");
  CHECK(r[1].enabled_ns == r[1].running_ns && r[1].running_ns >= 2 * r[0].running_ns, "and it ran all the time");
  bool seen = pml_eventset_part(s, 1, 1, &pmu, &p) == 0;
  CHECK(seen && strcmp(pmu, "cpu_atom") == 0 && p.raw == v[0], "and each part can be seen");
  CHECK(pml_eventset_part(s, 1, 2, &pmu, &p) == -ENOENT, "there is no third part");
  pml_eventset_close(s);
  fresh_close(&f);
}

static void other_pmus(void) {
  FILE *f = fopen("/sys/bus/event_source/devices/msr/type", "r");
  unsigned type = 0;
  bool found = f != NULL && fscanf(f, "%u", &type) == 1;
  if (f != NULL) fclose(f);
  if (!found) {
    SKIP("no msr PMU here");
    return;
  }
  struct pml_event ev[3] = {faults(), perf_event("msr/tsc/", "msr", type, 0), task_clock()};
  ev[1].first.attr.exclude_kernel = 0; /* a register counts in all modes */
  struct pml_eventset *s;
  int rc = pml__eventset_open_events(&s, ev, 3, NULL);
  if (rc == PML_EPARANOID) {
    SKIP("msr/tsc/ also counts the kernel, which perf_event_paranoid forbids");
    return;
  }
  if (!CHECK(rc == 0, "msr/tsc/ beside software events: %s", pml_error_detail(rc))) return;
  CHECK(pml__kernel_backend_of(s)->ngroups == 1, "it joins their group");
  uint64_t v[3];
  warm(s);
  pml_eventset_start(s);
  for (volatile int i = 0; i < 100000; i++) {
  }
  CHECK(pml_eventset_read(s, v) == 0 && v[1] > 1000 && v[0] == 0 && v[2] > 0, "values stand in the order of the names");
  pml_eventset_close(s);
}

static void as_many_as_go(void) {
  struct pml_event *ev = calloc(PML_EVENTSET_MAX + 1, sizeof *ev);
  struct pml_eventset *s;
  if (ev == NULL) return;
  for (unsigned i = 0; i <= PML_EVENTSET_MAX; i++) ev[i] = i % 2 ? task_clock() : faults();
  int rc = pml__eventset_open_events(&s, ev, PML_EVENTSET_MAX, NULL);
  if (CHECK(rc == 0 && pml__kernel_backend_of(s)->ngroups == 1, "a set takes %u events: %s", PML_EVENTSET_MAX,
            pml_error_detail(rc))) {
    meanings(s, 126, "128 events");
    pml_eventset_close(s);
  }
  rc = pml__eventset_open_events(&s, ev, PML_EVENTSET_MAX + 1, NULL);
  CHECK(rc == -EINVAL && s == NULL, "%s", pml_error_detail(rc));
  CHECK(pml__eventset_open_events(&s, ev, 0, NULL) == -EINVAL && s == NULL, "an empty set is refused");

  static uint64_t watched[64];
  int before = lowest_free_descriptor();
  for (unsigned i = 0; i < 64; i++) ev[i] = watchpoint(&watched[i]);
  rc = pml__eventset_open_events(&s, ev, 64, NULL);
  if (rc == PML_ENOTHERE)
    SKIP(pml_error_detail(rc));
  else
    CHECK(rc == PML_ETOOMANY && s == NULL, "too many watchpoints: %s", pml_error_detail(rc));
  ev[10] = faults();
  ev[10].first.here = false;
  rc = pml__eventset_open_events(&s, &ev[10], 1, NULL);
  CHECK(rc == PML_ENOTHERE && s == NULL, "an event whose PMU is not here: %s", pml_error_detail(rc));
  CHECK(lowest_free_descriptor() == before, "failures leave no descriptor open");
  free(ev);
}

static void descriptors_run_out(void) {
  struct pml_event ev[8];
  for (int i = 0; i < 8; i++) ev[i] = faults();
  struct rlimit was;
  int before = lowest_free_descriptor();
  getrlimit(RLIMIT_NOFILE, &was);
  bool clean = true;
  for (int room = 0; room < 8; room++) {
    struct pml_eventset *s = NULL;
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){.rlim_cur = (rlim_t)(before + room), .rlim_max = was.rlim_max});
    int rc = pml__eventset_open_events(&s, ev, 8, NULL);
    setrlimit(RLIMIT_NOFILE, &was);
    clean &= rc == -EMFILE && s == NULL && lowest_free_descriptor() == before;
  }
  CHECK(clean, "room for 0 to 7 of 8 descriptors: refused, nothing left open");
}

static int rank_of(uint32_t type, uint64_t config, bool intel) {
  struct perf_event_attr attr = {.type = type, .config = config};
  return pml__kernel_rank(&attr, "cpu", intel);
}

static void packed(void) {
  CHECK(rank_of(PERF_TYPE_RAW, 0x400, true) == 0, "Intel's slots are opened first, to lead");
  int metric = rank_of(PERF_TYPE_RAW, 0x8000, true), cycles = rank_of(PERF_TYPE_RAW, 0x3c, true);
  CHECK(metric > 0 && rank_of(PERF_TYPE_RAW, 0x8700, true) == metric && cycles > metric,
        "then what shares their register");
  CHECK(rank_of(PERF_TYPE_HARDWARE, 0, true) == cycles && rank_of(PERF_TYPE_RAW, 0x400, false) == cycles,
        "another maker's event of the same number is like any other");
  CHECK(rank_of(PERF_TYPE_MAX + 3, 0x400, true) > cycles, "then events of other PMUs");
  CHECK(rank_of(PERF_TYPE_SOFTWARE, 0, true) == PML__KERNEL_RANKS - 1, "and software last");
}

/* On a processor that has them: fractions of one group add up, in differences as from the start. */
static void topdown(void) {
  const char *const names[] = {"r8000", "r8100", "r8200", "r8300", "r400"};
  struct pml_eventset *s;
  if (!pml__cpu_is_intel() || pml_eventset_open(&s, names, 5, NULL) < 0) {
    SKIP("this machine's core PMU has no topdown metrics");
    return;
  }
  uint64_t v[5], w[5];
  pml_eventset_start(s);
  for (int i = 0; i < 3; i++) {
    CHECK(pml_eventset_read(s, v) == 0, "slots and metrics are read together");
    for (volatile unsigned n = 0; n < 3000000; n++) {
    }
    pml_eventset_read(s, w);
    double sum = 0, slots = (double)(w[4] - v[4]);
    for (int k = 0; k < 4; k++) sum += (double)(w[k] - v[k]);
    CHECK(sum > 0.97 * slots && sum < 1.03 * slots, "the four add up to the slots: %g of %g", sum, slots);
  }
  pml_eventset_close(s);
}

int main(void) {
  CHECK_EACH(packed, topdown, single_group, single_event, ungrouped, with_clocks, hybrid, other_pmus, as_many_as_go,
             descriptors_run_out);
  return check_done();
}
