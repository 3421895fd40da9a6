/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/section.c - sections on one thread: what is counted, what is told to the stream, and every misuse by name. */
#include "adapter/section/pml_section.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "base/pml_stream.h"
#include "source/sde/pml_sde.h"

#include "check.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct pml_section *defined(const char *label) {
  struct pml_section *s = NULL;
  CHECK(pml_section_define(label, NULL, &s) == 0 && s != NULL, "section %.30s is defined", label);
  return s;
}

/* The merged row of @s, all zero if there is none. */
static struct pml_section_row row_of(const struct pml_section *s) {
  struct pml_section_report r;
  struct pml_section_row found = {0};
  if (pml_section_report(false, &r) != 0) return found;
  for (size_t i = 0; i < r.n; i++)
    if (r.row[i].section == s) found = r.row[i];
  pml_section_report_free(&r);
  found.value = NULL;
  return found;
}

static uint64_t misuse_of(const struct pml_section_row *row) {
  uint64_t n = 0;
  for (unsigned m = 0; m < PML_SECTION_MISUSES; m++) n += row->misuse[m];
  return n;
}

static void spin(uint64_t ns) {
  uint64_t until = pml_clock_ns() + ns;
  while (pml_clock_ns() < until) continue;
}

static void defining(void) {
  struct pml_section *a = defined("solver"), *b = defined("solver"), *c = NULL;
  struct pml_section_options o = {.type = PML_SECTION_COMMUNICATION, .exclusive = true, .line = 7};
  struct pml_section_info info;
  CHECK(a == b, "the same label is the same section");
  CHECK(pml_section_find("solver") == a && pml_section_find("none such") == NULL, "and is found by it");
  CHECK(pml_section_define("solver", &o, &c) == -EINVAL && c == NULL, "other options later are refused");
  CHECK(strstr(pml_error_detail(-EINVAL), "solver") != NULL, "with a sentence that names it");
  CHECK(pml_section_define("halo", &o, &c) == 0, "options are taken at the first definition");
  pml_section_describe(c, &info);
  CHECK(strcmp(info.label, "halo") == 0 && info.type == PML_SECTION_COMMUNICATION && info.exclusive &&
            info.events == NULL && info.record == PML_SECTION_NO_RECORD,
        "and told again");
  CHECK(pml_section_define("halo", NULL, &b) == 0 && b == c, "saying nothing agrees with all options");
  CHECK(pml_section_define("", NULL, &b) == -EINVAL && pml_section_define(NULL, NULL, &b) == -EINVAL,
        "a section needs a label");
  o.type = (enum pml_section_type)9;
  CHECK(pml_section_define("bad", &o, &b) == -EINVAL && pml_section_find("bad") == NULL, "and a type that there is");
  CHECK(pml_section_start(NULL) == -EINVAL && pml_section_stop(NULL) == -EINVAL,
        "no section is refused, not crashed on");
  char strange[] = "\x01\xff\n%s\"';\t";
  if (pml_section_define(strange, NULL, &c) == 0) pml_section_describe(c, &info);
  CHECK(strcmp(info.label, strange) == 0, "a label of any bytes is kept as it is");
  char *huge = malloc(1 << 20);
  memset(huge, 'x', (1 << 20) - 1);
  huge[(1 << 20) - 1] = '\0';
  c = defined(huge);
  CHECK(pml_section_start(c) == 0 && pml_section_stop(c) == 0 && row_of(c).count == 1, "and so is one of a megabyte");
  free(huge);
}

static void counting(void) {
  struct pml_section *s = defined("counting");
  for (int i = 0; i < 3; i++) {
    pml_section_start(s);
    spin(1000000);
    pml_section_stop_work(s, 100, 10);
  }
  pml_section_start(s);
  pml_section_stop(s);
  struct pml_section_row r = row_of(s);
  CHECK(r.count == 4 && r.nthreads == 1 && r.running == 0 && misuse_of(&r) == 0, "four calls are counted");
  CHECK(r.total_ns >= 3e6 && r.self_ns == r.total_ns, "with the time they took (%.0f ns)", r.total_ns);
  CHECK(r.max_ns >= 1e6 && r.min_ns < r.max_ns && r.min_ns >= 0, "the shortest and the longest");
  CHECK(fabs(r.mean_ns - r.total_ns / 4) <= 1, "the mean");
  /* Three of at least a, one of b: the deviation lies where those of its bounds do. */
  CHECK(r.stddev_ns > 0.4 * (r.mean_ns - r.min_ns) && r.stddev_ns < r.max_ns, "and the deviation (%.0f)", r.stddev_ns);
  CHECK(r.work == 300 && r.iterations == 30, "and the workload");
  CHECK(pml_section_start(s) == 0 && row_of(s).running == 1, "one under way is reported as such");
  CHECK(pml_section_stop_work(s, -1, 1) == -EINVAL && pml_section_start(s) == 0 &&
            pml_section_stop_work(s, (double)NAN, 1) == -EINVAL,
        "an invalid workload is refused");
  r = row_of(s);
  CHECK(r.count == 6 && r.work == 300 && r.iterations == 30 && r.misuse[PML_SECTION_WORK] == 2,
        "and counted, with the calls");
  pml_section_reset();
  CHECK(row_of(s).count == 0 && row_of(s).section == NULL, "after a reset there is nothing to tell");
  pml_section_start(s);
  pml_section_reset();
  spin(100000);
  pml_section_stop(s);
  r = row_of(s);
  CHECK(r.count == 1 && r.total_ns >= 1e5 && misuse_of(&r) == 0, "a section under way over a reset counts at its stop");
}

static void nesting(void) {
  struct pml_section *outer = defined("outer"), *inner = defined("inner"), *self = defined("recursive");
  pml_section_start(outer);
  spin(200000);
  for (int i = 0; i < 2; i++) {
    pml_section_start(inner);
    spin(200000);
    pml_section_stop(inner);
  }
  pml_section_stop(outer);
  struct pml_section_row o = row_of(outer), i = row_of(inner);
  CHECK(o.total_ns >= i.total_ns + 2e5 && i.total_ns >= 4e5, "the outer section has the time of the inner");
  CHECK(fabs(o.total_ns - o.self_ns - i.total_ns) < 1, "but not for itself");
  for (int depth = 0; depth < 100; depth++) pml_section_start(self);
  spin(100000);
  for (int depth = 0; depth < 100; depth++) pml_section_stop(self);
  struct pml_section_row r = row_of(self);
  CHECK(r.count == 100 && misuse_of(&r) == 0, "a section may contain itself a hundred times");
  CHECK(r.total_ns >= 1e5 && r.total_ns <= r.max_ns + 1 && fabs(r.self_ns - r.total_ns) < 1,
        "its time is that of the outermost call, and all its own");
  CHECK(r.min_ns >= 1e5 && r.mean_ns <= r.max_ns, "each call has its own duration");
  struct pml_section_options e = {.exclusive = true};
  struct pml_section *exclusive = NULL;
  CHECK(pml_section_define("exclusive", &e, &exclusive) == 0, "an exclusive section");
  pml_section_start(exclusive);
  pml_section_stop(exclusive);
  CHECK(row_of(exclusive).misuse[PML_SECTION_OVERLAP] == 0, "is right as long as it contains no other");
  pml_section_start(exclusive);
  pml_section_start(inner);
  spin(1000);
  pml_section_stop(inner);
  pml_section_stop(exclusive);
  CHECK(row_of(exclusive).misuse[PML_SECTION_OVERLAP] == 1, "and told if it does");
}

static void misusing(void) {
  struct pml_section *a = defined("A"), *b = defined("B"), *c = defined("C");
  CHECK(pml_section_stop(a) == -EINVAL, "a stop without a start is refused");
  CHECK(strstr(pml_error_detail(-EINVAL), "without a start") != NULL, "with a sentence");
  struct pml_section_row r = row_of(a);
  CHECK(r.section == a && r.count == 0 && r.misuse[PML_SECTION_UNMATCHED] == 1 && misuse_of(&r) == 1,
        "and the report names it though it never ran");
  pml_section_start(a);
  spin(100000);
  pml_section_start(b);
  pml_section_start(c);
  spin(100000);
  CHECK(pml_section_stop(a) == 0, "the outer of crossing sections is stopped all the same");
  spin(100000);
  CHECK(pml_section_stop(c) == 0 && pml_section_stop(b) == 0, "and so are those that were inside");
  struct pml_section_row ra = row_of(a), rb = row_of(b), rc = row_of(c);
  CHECK(ra.count == 1 && ra.misuse[PML_SECTION_CROSSED] == 1 && rb.count == 1 && misuse_of(&rb) == 0 && rc.count == 1,
        "the crossing is told of the one that was stopped too early");
  CHECK(ra.total_ns >= 2e5 && rb.total_ns >= 2e5 && rc.total_ns >= 2e5, "each has its whole time");
  CHECK(ra.self_ns >= 1e5 && ra.self_ns < ra.total_ns - 0.9e5, "of which what was inside is not its own");
  CHECK(strcmp(pml_section_misuse_name(PML_SECTION_CROSSED), "crossed") == 0 &&
            strstr(pml_section_misuse_text(PML_SECTION_FOREIGN), "thread") != NULL,
        "misuses have names and texts");
}

/* A loop that forgets its stop. */
static void forgetting(void) {
  struct pml_section *s = defined("forgotten");
  uint64_t started = 0;
  int err = 0;
  while (started < 3 * (uint64_t)PML_SECTION_DEPTH_MAX && (err = pml_section_start(s)) == 0) started++;
  struct pml_section_row r = row_of(s);
  CHECK(err == PML_EFULL && started >= PML_SECTION_DEPTH_MAX && r.running == started,
        "starts without stops end at a depth, not with the memory");
  CHECK(r.misuse[PML_SECTION_UNSTARTED] == 1, "and a stop without a start is reported");
  uint64_t stopped = 0;
  while (stopped < started && pml_section_stop(s) == 0) stopped++;
  CHECK(stopped == started && row_of(s).count == started, "all others are stopped as usual");
}

static void by_label(void) {
  char label[16] = "first";
  CHECK(pml_section_start_label(label) == 0 && pml_section_stop_label_work(label, 5, 1) == 0,
        "a label needs no define");
  strcpy(label, "second"); /* at the same address */
  CHECK(pml_section_start_label(label) == 0 && pml_section_stop_label(label) == 0, "a buffer may hold another label");
  struct pml_section_row one = row_of(pml_section_find("first")), two = row_of(pml_section_find("second"));
  CHECK(one.count == 1 && one.work == 5 && two.count == 1 && two.work == 0, "and each is counted for itself");
  CHECK(pml_section_stop_label("third") == -EINVAL &&
            row_of(pml_section_find("third")).misuse[PML_SECTION_UNMATCHED] == 1,
        "a label that was only ever stopped is named");
  CHECK(pml_section_start_label("") == -EINVAL && pml_section_stop_label(NULL) == -EINVAL, "an empty one is refused");
  PML_SECTION("macro", m);
  pml_section_start(m);
  pml_section_stop_label("macro");
  CHECK(row_of(m).count == 1 && pml_section_find("macro") == m, "the macro's section is the label's");
}

static void switching(void) {
  struct pml_section *s = defined("switched");
  pml_section_enable(false);
  CHECK(pml_section_start(s) == 0 && pml_section_stop(s) == 0 && pml_section_stop(s) == 0 &&
            pml_section_stop_label("switched") == 0 && row_of(s).section == NULL,
        "switched off, nothing happens and nothing is misuse");
  pml_section_reset();
  pml_section_enable(true);
  pml_section_start(s);
  pml_section_stop(s);
  CHECK(row_of(s).count == 1, "switched on again, it counts");
}

/* ---- events, series ---- */

static void events(void) {
  int64_t count = 5;
  double real = 0.5;
  struct pml_sde_library *lib;
  CHECK(pml_sde_library(&lib, "SECTION") == 0 &&
            pml_sde_register(lib, "N", PML_SDE_RO | PML_SDE_DELTA, PML_TYPE_INT64, &count) == 0 &&
            pml_sde_register(lib, "X", PML_SDE_RO | PML_SDE_DELTA, PML_TYPE_DOUBLE, &real) == 0,
        "two software-defined events");
  const char *names[] = {"sde:::SECTION::N", "sde:::SECTION::X", "clock::ns"};
  struct pml_section_options o = {.events = names, .nevents = 3};
  struct pml_section *s = NULL, *other = NULL;
  CHECK(pml_section_define("with events", &o, &s) == 0, "a section with events: %s", pml_error_detail(0));
  count += 1000;
  for (int i = 0; i < 2; i++) {
    pml_section_start(s);
    pml_section_start(s); /* inside itself */
    count += 7;
    real += 0.25;
    pml_section_stop(s);
    pml_section_stop(s);
    count += 100;
  }
  struct pml_section_report r;
  CHECK(pml_section_report(false, &r) == 0, "is reported");
  for (size_t i = 0; i < r.n; i++) {
    if (r.row[i].section != s) continue;
    const struct pml_section_value *v = r.row[i].value;
    CHECK(v != NULL && v[0].i == 14 && !v[0].real && v[1].real && v[1].d == 0.5,
          "with what its events counted inside, once");
    CHECK(v != NULL && (double)v[2].i >= r.row[i].mean_ns, "and the time by another clock");
  }
  pml_section_report_free(&r);
  const char *bad[] = {"sde:::SECTION::N", "no-such-event"};
  o = (struct pml_section_options){.events = bad, .nevents = 2};
  CHECK(pml_section_define("bad events", &o, &other) < 0 && other == NULL &&
            strstr(pml_error_detail(PML_ENOEVENT), "no-such-event") != NULL,
        "events that there are none of are refused at the definition");
  o.events = names;
  CHECK(pml_section_define("with events", &o, &other) == -EINVAL, "another list is another option");
  o.nevents = PML_SECTION_EVENTS_MAX + 1;
  CHECK(pml_section_define("too many", &o, &other) == -EINVAL, "too many are refused");
}

static void series(void) {
  struct pml_section_options o = {.record = PML_SECTION_RECORD_ALL};
  struct pml_section *s = NULL;
  double median = 0, most = 0;
  CHECK(pml_section_define("recorded", &o, &s) == 0 && pml_section_durations(s) != NULL, "a section with a series");
  CHECK(pml_section_quantile(s, 50, &median) == -ENOENT, "has no quantile before its first call");
  for (int i = 0; i < 11; i++) {
    pml_section_start(s);
    if (i >= 5) spin(100000);
    pml_section_stop(s);
  }
  struct pml_section_row r = row_of(s);
  CHECK(pml_section_quantile(s, 50, &median) == 0 && median >= 1e5, "has a median after it (%.0f ns)", median);
  CHECK(pml_section_quantile(s, 100, &most) == 0 && fabs(most - r.max_ns) < 1, "and its maximum is the report's");
  CHECK(pml_recorder_count(pml_section_durations(s)) == 11, "every call is in it");
  pml_section_reset();
  for (int i = 0; i < 2; i++) {
    pml_section_start(s);
    if (i == 1) spin(100000);
    pml_section_stop(s);
  }
  r = row_of(s);
  CHECK(pml_section_quantile(s, 50, &median) == 0 && fabs(median - (r.min_ns + r.max_ns) / 2) < 1,
        "the median of two calls lies in the middle between them");
  CHECK(pml_section_quantile(s, 101, &median) == -EINVAL, "there is none beyond 100 percent");
  pml_section_reset();
  CHECK(pml_section_quantile(s, 50, &median) == -ENOENT, "a reset empties it");
  CHECK(pml_section_quantile(defined("unrecorded"), 50, &median) == PML_EMODE, "without a series there is none");
  o.record = PML_SECTION_RECORD_SKETCH;
  CHECK(pml_section_define("sketched", &o, &s) == 0, "a sketch");
  pml_section_start(s);
  spin(100000);
  pml_section_stop(s);
  CHECK(pml_section_quantile(s, 50, &median) == 0 && median >= 0.9e5, "has quantiles too");
}

/* ---- what the stream sees ---- */

/* ---- many that cross ---- */

enum { CROSSED = 150, CROSSED_STEPS = 6000 };

/* The value of each call is what was counted between its start and its stop, wherever in the stack it was. */
static void check_crossed(struct pml_section *const *s, const uint64_t *calls, const int64_t *sum) {
  struct pml_section_report r;
  unsigned right = 0;
  CHECK(pml_section_report(false, &r) == 0, "a report of them");
  for (size_t i = 0; i < r.n; i++)
    for (unsigned k = 0; k < CROSSED; k++)
      if (r.row[i].section == s[k]) right += r.row[i].count == calls[k] && r.row[i].value[0].i == sum[k];
  pml_section_report_free(&r);
  CHECK(right == CROSSED, "sections that end in any order keep their own values (%u of %d)", right, CROSSED);
}

/* First all are started, and stopped in the same order; then any. */
static void crossing(void) {
  static int64_t count;
  struct pml_sde_library *lib;
  struct pml_section *s[CROSSED];
  const char *name = "sde:::CROSSED::N";
  struct pml_section_options o = {.events = &name, .nevents = 1};
  uint64_t calls[CROSSED] = {0};
  int64_t begun[CROSSED] = {0}, sum[CROSSED] = {0};
  uint32_t any = 1;
  CHECK(pml_sde_library(&lib, "CROSSED") == 0 &&
            pml_sde_register(lib, "N", PML_SDE_RO | PML_SDE_DELTA, PML_TYPE_INT64, &count) == 0,
        "a software-defined event");
  for (unsigned k = 0; k < CROSSED; k++) {
    char label[32];
    snprintf(label, sizeof label, "crossed %u", k);
    CHECK(pml_section_define(label, &o, &s[k]) == 0, "a section with an event");
  }
  for (unsigned step = 0; step < CROSSED_STEPS; step++) {
    any = any * 1103515245 + 12345;
    unsigned k = (step < CROSSED_STEPS / 2 ? step : any >> 16) % CROSSED;
    count += 1 + k;
    if (begun[k] == 0) {
      begun[k] = count;
      pml_section_start(s[k]);
    } else {
      pml_section_stop(s[k]);
      sum[k] += count - begun[k];
      calls[k]++;
      begun[k] = 0;
    }
  }
  check_crossed(s, calls, sum);
  for (unsigned k = 0; k < CROSSED; k++)
    if (begun[k] != 0) pml_section_stop(s[k]);
  pml_sde_shutdown(lib);
}

/* The stop of a section that is open twice is of the inner one, also from the bottom. */
static void crossing_itself(void) {
  struct pml_section *s = defined("crossed twice"), *inside = defined("inside both");
  pml_section_start(s);
  spin(1000000);
  pml_section_start(s);
  for (int i = 0; i < 20; i++) pml_section_start(inside);
  pml_section_stop(s);
  double inner = row_of(s).max_ns;
  for (int i = 0; i < 20; i++) pml_section_stop(inside);
  pml_section_stop(s);
  CHECK(row_of(s).count == 2 && row_of(s).max_ns >= inner + 1e6, "ends the inner call, and the next one the outer");
}

struct trail {
  size_t n;
  struct {
    char kind;
    pml_region_t region;
    uint64_t ticks;
    uint64_t value;
  } at[32];
};

static void *trail_begin(void *arg, uint64_t thread) {
  (void)thread;
  return arg;
}
static void trail_add(void *data, char kind, const struct pml_stream_event *e) {
  struct trail *t = data;
  if (t->n == 32) return;
  t->at[t->n].kind = kind;
  t->at[t->n].region = e->region;
  t->at[t->n].ticks = e->ticks;
  t->at[t->n++].value = e->metrics != NULL ? e->values[0] : 0;
}
static void trail_enter(void *data, const struct pml_stream_event *e) {
  trail_add(data, '+', e);
}
static void trail_leave(void *data, const struct pml_stream_event *e) {
  trail_add(data, '-', e);
}

static char name_of(pml_region_t region) {
  struct pml_region_info info;
  return pml_region_describe(region, &info) == 0 ? info.name[0] : '?';
}

static void streaming(void) {
  struct trail t = {0};
  struct pml_stream_consumer c = {.thread_begin = trail_begin, .event = {trail_enter, trail_leave, NULL}, .arg = &t};
  struct pml_section *p = defined("p"), *q = defined("q"), *r = defined("r");
  uint64_t id;
  pml_section_reset();
  CHECK(pml_stream_add(&c, &id) == 0, "a consumer");
  pml_section_start(p);
  pml_section_start(q);
  pml_section_start(r);
  pml_section_stop(p); /* crossing */
  pml_section_stop(r);
  pml_section_stop(q);
  pml_stream_remove(id);
  char seen[64] = "";
  bool forward = true;
  for (size_t i = 0; i < t.n; i++) {
    seen[2 * i] = t.at[i].kind;
    seen[2 * i + 1] = name_of(t.at[i].region);
    forward &= i == 0 || t.at[i].ticks >= t.at[i - 1].ticks;
  }
  CHECK(strcmp(seen, "+p+q+r-r-q-p+q+r-r-q") == 0, "sees starts and stops as enters and leaves, always nested (%s)",
        seen);
  CHECK(forward, "in the order of time");
  double ticks = (double)(t.at[5].ticks - t.at[0].ticks) * 1e9 / pml__clock.ticks_per_second;
  CHECK(fabs(row_of(p).total_ns - ticks) < 1, "at the very ticks that the statistics have");
}

static void forking(void) {
  struct pml_section *s = defined("forked"), *open = defined("open at the fork");
  pml_section_start(open);
  pml_section_start(s);
  spin(2000000);
  pml_section_stop(s);
  uint64_t before = pml_clock_ns();
  pid_t pid = fork();
  if (pid == 0) {
    alarm(60);
    bool good = row_of(s).section == NULL && row_of(open).running == 1;
    pml_section_start(s);
    pml_section_stop(s);
    pml_section_stop(open);
    struct pml_section_row o = row_of(open);
    good &=
        row_of(s).count == 1 && o.count == 1 && misuse_of(&o) == 0 && o.total_ns < (double)(pml_clock_ns() - before);
    _exit(good ? 0 : 1);
  }
  int status = 1;
  waitpid(pid, &status, 0);
  CHECK(status == 0, "a child starts from zero, and what is under way began with it");
  pml_section_stop(open);
  CHECK(row_of(open).count == 1 && row_of(open).total_ns >= 2e6 && row_of(s).count == 1, "the parent goes on");
}

static int64_t first_value(const struct pml_section *s, struct pml_section_row *row) {
  struct pml_section_value v[3] = {{.i = -1}};
  (void)pml_section_read(s, row, v);
  return v[0].i;
}

/* A child has the time of calls that were open at its fork, names their events unread, and counts whole calls. */
static bool child_of_open(struct pml_section *outer, struct pml_section *inner, int64_t *counter) {
  struct pml_section_row i, o;
  struct pml_section_options all = {.events = (const char *[]){"sde:::FORKING::N", "clock::ns"}, .nevents = 2};
  struct pml_section *whole = NULL;
  bool good = pml_section_define("whole in a child", &all, &whole) == 0;
  pml_section_start(whole); /* opens the set that the open calls do not have */
  *counter += 5;
  pml_section_stop(whole);
  good &= first_value(whole, &o) == 5 && misuse_of(&o) == 0;
  *counter += 30;
  good &= pml_section_stop(inner) == 0 && pml_section_stop(inner) == 0 && pml_section_stop(outer) == 0;
  good &= first_value(inner, &i) == 0 && i.count == 2 && i.misuse[PML_SECTION_UNREAD] == 2 && misuse_of(&i) == 2;
  good &= first_value(outer, &o) == 0 && o.count == 1 && o.misuse[PML_SECTION_UNREAD] == 1;
  pml_section_start(inner);
  *counter += 9;
  pml_section_stop(inner);
  return good && first_value(inner, &i) == 9 && i.count == 3 && misuse_of(&i) == 2;
}

static void forking_with_events(void) {
  static int64_t counter;
  struct pml_sde_library *lib;
  const char *names[] = {"sde:::FORKING::N", "clock::ns"};
  struct pml_section_options all = {.events = names, .nevents = 2}, one = {.events = names, .nevents = 1};
  struct pml_section *outer = NULL, *inner = NULL;
  int status = 1;
  CHECK(pml_sde_library(&lib, "FORKING") == 0 &&
            pml_sde_register(lib, "N", PML_SDE_RO | PML_SDE_DELTA, PML_TYPE_INT64, &counter) == 0 &&
            pml_section_define("outer of events", &one, &outer) == 0 &&
            pml_section_define("inner of events", &all, &inner) == 0,
        "sections with two lists of events");
  for (int i = 0; i < 3; i++) { /* so that the fork meets the fast paths */
    pml_section_start(outer);
    pml_section_stop(outer);
  }
  pml_section_start(outer);
  pml_section_start(inner);
  pml_section_start(inner);
  counter += 1000;
  pid_t pid = fork();
  if (pid == 0) _exit(child_of_open(outer, inner, &counter) ? 0 : 1);
  waitpid(pid, &status, 0);
  counter += 7;
  pml_section_stop(inner);
  pml_section_stop(inner);
  pml_section_stop(outer);
  struct pml_section_row row;
  int64_t counted = first_value(inner, &row);
  CHECK(status == 0, "a child counts no events of calls that were open at its fork, and says so");
  CHECK(counted == 1007 && misuse_of(&row) == 0, "its parent has all of them: %lld", (long long)counted);
}

/* The inner call ended before the fork: it is no part of what the child's outer one has had. */
static void forking_after_inner(void) {
  struct pml_section *outer = defined("outer of a child"), *inner = defined("ended before the fork");
  int status = 1;
  pml_section_start(outer);
  pml_section_start(inner);
  spin(3000000);
  pml_section_stop(inner);
  pid_t pid = fork();
  if (pid == 0) {
    pml_section_stop(outer);
    struct pml_section_row o = row_of(outer);
    _exit(o.count == 1 && o.self_ns == o.total_ns && o.total_ns > 0 ? 0 : 1);
  }
  waitpid(pid, &status, 0);
  pml_section_stop(outer);
  CHECK(status == 0, "a child's open call has all of its time for itself");
}

static int with_environment(const char *value) {
  setenv("PMLUA_SECTIONS", value, 1);
  pid_t pid = fork();
  if (pid == 0) {
    execl("/proc/self/exe", "section", "environment", (char *)NULL);
    _exit(99);
  }
  int status = 1;
  waitpid(pid, &status, 0);
  unsetenv("PMLUA_SECTIONS");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

/* In a process of its own: 10 counts, 11 does not, 12 refused with a sentence. */
static int environment(void) {
  struct pml_section *s;
  if (pml_section_define("s", NULL, &s) < 0) return strstr(pml_error_detail(-EINVAL), "PMLUA_SECTIONS") ? 12 : 1;
  pml_section_start(s);
  pml_section_stop(s);
  return row_of(s).count == 1 ? 10 : 11;
}

static void obeying(void) {
  CHECK(with_environment("on") == 10 && with_environment("off") == 11, "PMLUA_SECTIONS switches sections on and off");
  CHECK(with_environment("nonsense") == 12 && with_environment("") == 12, "nonsense in it is refused with a sentence");
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "environment") == 0) return environment();
  defining();
  counting();
  nesting();
  crossing(); /* before the stack has room for all */
  crossing_itself();
  misusing();
  forgetting();
  by_label();
  switching();
  events();
  series();
  streaming();
  forking();
  forking_with_events();
  forking_after_inner();
  obeying();
  return check_done();
}
