/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/perf_reads.c - a read gives all 64 bits, since the start and no other moment, or it fails; nothing in between.
 */
#include "source/kernel/pml_eventset_kernel.h"
#include "source/kernel/pml_group.h"

#include "check.h"
#include "events.h"

#define LONG (UINT64_C(5) << 33)
#define SDE "PERF_READS"

static struct pml_event sde_event(void) {
  struct pml_event ev;
  (void)pml_event_parse(&ev, "sde:::" SDE "::x");
  return ev;
}

enum form { SIMPLE, SINGLE, APART, CLOCKED, HYBRID, SDES, FORMS };

static const char *const form_name[] = {"a set of one group",     "a set of one event",
                                        "a set of single events", "a set with a clock",
                                        "a hybrid event",         "a set with a software-defined event"};

static struct pml_eventset *open_form(enum form form) {
  struct pml_event ev[3] = {faults(), task_clock(), clock_event("clock::ns")};
  struct pml_eventset_options o = {.flags = form == APART ? PML_EVENTSET_UNGROUPED : 0};
  struct pml_eventset *s = NULL;
  if (form == HYBRID) {
    static const struct pml_event_other same = {.pmu = "software", .cpu_any = -1};
    ev[0].nparts = 2;
    ev[0].other = &same;
  }
  if (form == SDES) ev[2] = sde_event();
  int rc = pml__eventset_open_events(&s, ev, form == SINGLE ? 1 : form == CLOCKED || form == SDES ? 3 : 2, &o);
  CHECK(rc == 0, "%s opens%s%s", form_name[form], rc < 0 ? ": " : "", rc < 0 ? pml_error_detail(rc) : "");
  return s;
}

static void start_long_ago(struct pml_eventset *s) {
  pml_eventset_start(s);
  const struct pml__kernel_backend *k = pml__kernel_backend_of(s);
  for (uint32_t g = 0; g < k->ngroups; g++) {
    uint64_t *block = s->base + k->group[g].offset;
    for (uint32_t w = 0; w < k->group[g].n; w++) s->base[k->group[g].values + w] -= LONG;
    block[PML__WORD_ENABLED] -= LONG;
    block[PML__WORD_RUNNING] -= LONG;
  }
  s->base[s->clock_word] -= LONG;
}

static bool is_long(uint64_t v, unsigned times) {
  return v >= times * LONG && v < times * LONG + (LONG >> 3);
}

static void all_bits(enum form form) {
  struct pml_eventset *s = open_form(form);
  if (s == NULL) return;
  unsigned parts = form == HYBRID ? 2 : 1;
  uint64_t v[3], ticks, sum[3] = {LONG, LONG, LONG};
  struct pml_reading r[3], p;
  const char *pmu;
  start_long_ago(s);
  CHECK(pml_eventset_read(s, v) >= 0 && is_long(v[0], parts), "%s counts beyond 32 bits", form_name[form]);
  CHECK(pml_eventset_read_ts(s, v, &ticks) >= 0 && is_long(v[0], parts), "with the time of its read, too");
  CHECK(pml_eventset_readings(s, r) >= 0 && is_long(r[0].raw, parts) && is_long(r[0].enabled_ns, parts) &&
            is_long(r[0].running_ns, parts),
        "in its readings, with times as long");
  CHECK(pml_eventset_part(s, 0, parts - 1, &pmu, &p) >= 0 && is_long(p.raw, 1) && is_long(p.running_ns, 1),
        "in its parts");
  CHECK(pml_eventset_accum(s, sum) >= 0 && is_long(sum[0], parts + 1), "in sums");
  start_long_ago(s);
  CHECK(pml_eventset_stop(s, v) >= 0 && is_long(v[0], parts) && pml_eventset_read(s, v) == 0 && is_long(v[0], parts),
        "and when it is stopped");
  if (form == CLOCKED) CHECK(is_long(v[2], 1) || v[2] >= pml_clock_ticks_to_ns(LONG), "a clock, too");
  pml_eventset_close(s);
}

static void times_since(enum form form) {
  struct pml_eventset *s = open_form(form);
  if (s == NULL) return;
  struct pml_reading r[3] = {{0}};
  uint64_t v[3];
  bool good = true;
  for (int how = 0; how < 3; how++) {
    for (volatile int i = 0; i < 5000000; i++) {
    }
    uint64_t before = pml_clock_ticks_ordered();
    int rc = how == 1 ? pml_eventset_reset(s) : pml_eventset_start(s);
    for (volatile int i = 0; i < 1000; i++) {
    }
    if (how == 2) rc |= pml_eventset_stop(s, v);
    rc |= pml_eventset_readings(s, r);
    uint64_t most = pml_clock_ticks_to_ns(pml_clock_ticks_ordered() - before);
    most += most / 8 + 100000; /* the kernel's clock is not pmlua's */
    for (size_t i = 0; i < pml_eventset_size(s); i++)
      good &= rc >= 0 && r[i].enabled_ns > 0 && r[i].enabled_ns <= most * (form == HYBRID && i == 0 ? 2 : 1);
    if (!good)
      printf("# by way %d: %llu, %llu, %llu of %llu ns\n", how, (unsigned long long)r[0].enabled_ns,
             (unsigned long long)r[1].enabled_ns, (unsigned long long)r[2].enabled_ns, (unsigned long long)most);
    if (how == 2) pml_eventset_start(s);
  }
  CHECK(good, "the times of %s are since its start or reset", form_name[form]);
  pml_eventset_close(s);
}

/* From now on @fd reads from a pipe with the first @bytes that the kernel wrote. */
static int become_short(int fd, const void *block, size_t bytes) {
  int pipes[2];
  if (pipe(pipes) != 0) return -1;
  ssize_t wrote = bytes > 0 ? write(pipes[1], block, bytes) : 0;
  close(pipes[1]);
  int rc = dup2(pipes[0], fd);
  close(pipes[0]);
  return wrote == (ssize_t)bytes ? rc : -1;
}

static const uint64_t words[8] = {2, 1000, 1000, 7, 8, 9, 10, 11};

static void short_counter(size_t bytes) {
  struct pml_event ev = faults();
  struct pml_counter c;
  struct pml_reading r = {0};
  int rc = pml_counter_open(&c, &ev, 0, NULL, NULL, 0);
  if (rc < 0 || become_short(c.fd, words, bytes) < 0) return;
  CHECK(pml_counter_read(&c, &r) == -EIO, "a counter whose read(2) gives %zu of 24 bytes fails", bytes);
  pml_counter_close(&c);
}

static void short_group(size_t n, size_t bytes) {
  struct pml_event ev[2] = {faults(), task_clock()};
  const struct pml_event *p[2] = {&ev[0], &ev[1]};
  struct pml_group g;
  struct pml_reading r[2];
  int rc = pml_group_open(&g, p, NULL, n, NULL, 0, NULL);
  if (rc < 0 || become_short(g.member[0].fd, words, bytes) < 0) return;
  CHECK(pml_group_read(&g, r) == -EIO, "a group of %zu whose read(2) gives %zu bytes fails", n, bytes);
  if (become_short(g.member[0].fd, words, bytes) >= 0)
    CHECK(pml_counter_read(&g.member[0], r) == -EIO, "so does its leader");
  pml_group_close(&g);
}

static void short_set(enum form form, size_t bytes) {
  struct pml_eventset *s = open_form(form);
  struct pml_reading r[3];
  uint64_t v[3] = {0}, ticks;
  if (s == NULL) return;
  int fd = pml__kernel_backend_of(s)->group[0].fd, rc[7];
  for (int i = 0; i < 7; i++) {
    if (become_short(fd, words, bytes) < 0) break;
    rc[i] = i == 0   ? pml_eventset_read(s, v)
            : i == 1 ? pml_eventset_read_ts(s, v, &ticks)
            : i == 2 ? pml_eventset_readings(s, r)
            : i == 3 ? pml_eventset_accum(s, v)
            : i == 4 ? pml_eventset_reset(s)
            : i == 5 ? pml_eventset_start(s)
                     : pml_eventset_stop(s, v);
  }
  bool all = true;
  for (int i = 0; i < 7; i++) all &= rc[i] == -EIO;
  CHECK(all && v[0] == 0, "%s whose read(2) gives %zu bytes fails, for any request", form_name[form], bytes);
  pml_eventset_close(s);
}

static void short_reads(void) {
  static const size_t of_counter[] = {0, 8, 16, 23}, of_group[] = {0, 8, 24, 32, 39};
  for (size_t i = 0; i < sizeof of_counter / sizeof of_counter[0]; i++) {
    short_counter(of_counter[i]);
    short_group(1, of_counter[i]);
    short_set(SINGLE, of_counter[i]);
    short_set(APART, of_counter[i]);
  }
  for (size_t i = 0; i < sizeof of_group / sizeof of_group[0]; i++) {
    short_group(2, of_group[i]);
    short_set(SIMPLE, of_group[i]);
    short_set(CLOCKED, of_group[i]);
  }
}

int main(void) {
  static int64_t x;
  struct pml_sde_library *lib;
  bool there = pml_sde_library(&lib, SDE) == 0 && pml_sde_register(lib, "x", 0, PML_TYPE_INT64, &x) == 0;
  if (!CHECK(pml_clock_init() == 0 && there, "a clock and a software-defined event")) return check_done();
  for (enum form f = 0; f < FORMS; f++) {
    all_bits(f);
    times_since(f);
  }
  short_reads();
  return check_done();
}
