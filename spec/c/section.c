/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/section.c - sections on one thread: any order of starts and stops beside a model, and every misuse by name. */
#include "sections.h"

#include <math.h>

static void spin(uint64_t ns) {
  uint64_t until = pml_clock_ns() + ns;
  while (pml_clock_ns() < until) continue;
}

/* ---- any order of starts and stops, beside a model ---- */

enum { SECTIONS = 150, STEPS = 6000, DEEP = 400 };

/* A moment between two readings of the clock, which are one where an event has the time; differences of such. */
struct when {
  uint64_t least, most;
};
struct span {
  double least, most;
};

static struct span between(struct when from, struct when to) {
  return (struct span){(double)to.least - (double)from.most, (double)to.most - (double)from.least};
}
static void add(struct span *to, struct span s) {
  to->least += s.least;
  to->most += s.most;
}
/* To a nanosecond for each of @calls, which are rounded one by one. */
static bool is_in(double ns, struct span ticks, double calls) {
  double tick_ns = 1e9 / pml__clock.ticks_per_second, slack = 1 + calls / 1000 + ticks.most * tick_ns * 1e-9;
  return ns >= ticks.least * tick_ns - slack && ns <= ticks.most * tick_ns + slack;
}

static struct model {
  struct pml_section *section;
  unsigned open;
  uint64_t calls, misuse[PML_SECTION_MISUSES];
  double work, squares; /* squares: of durations */
  int64_t value, value_before;
  struct span total, self, shortest, longest, sum;
  struct when since; /* since the outermost call */
} model[SECTIONS];
static struct {
  unsigned number;
  struct when at;
} stack[DEEP];
static unsigned depth;
static struct when last; /* start or stop */
static int64_t counted;

/* A consumer's record of events: enters and leaves that nest, in the order of time. */
static struct {
  bool on, wrong;
  unsigned depth, open[DEEP];
  uint64_t ticks;
} heard;

static unsigned number_of(pml_region_t region) {
  struct pml_region_info info;
  unsigned number = SECTIONS;
  if (pml_region_describe(region, &info) == 0) (void)sscanf(info.name, "modelled %u", &number);
  return number;
}
static void *hear_begin(void *arg, uint64_t thread) {
  (void)thread;
  return arg;
}
static void hear_enter(void *data, const struct pml_stream_event *e) {
  (void)data;
  heard.wrong |= e->ticks < heard.ticks || heard.depth == DEEP;
  heard.ticks = e->ticks;
  if (heard.depth < DEEP) heard.open[heard.depth++] = number_of(e->region);
}
static void hear_leave(void *data, const struct pml_stream_event *e) {
  (void)data;
  heard.wrong |= e->ticks < heard.ticks || heard.depth == 0 || heard.open[heard.depth - 1] != number_of(e->region);
  heard.ticks = e->ticks;
  if (heard.depth > 0) heard.depth--;
}

/* A start, or with @work that is not below 0 a stop; when it was. */
static struct when act(unsigned number, int work, int *err) {
  struct when t = {pml_clock_ticks_ordered(), 0};
  *err = work < 0 ? pml_section_start(model[number].section) : pml_section_stop_work(model[number].section, work, 1);
  t.most = pml_clock_ticks_ordered();
  return heard.on && *err == 0 ? (struct when){heard.ticks, heard.ticks} : t;
}

static void pass_to(struct when now) {
  if (depth > 0) add(&model[stack[depth - 1].number].self, between(last, now));
  last = now;
}

static bool start(unsigned number) {
  struct model *m = &model[number];
  int err;
  struct when now = act(number, -1, &err);
  pass_to(now);
  if (m->open++ == 0) m->since = now, m->value_before = counted;
  stack[depth].number = number;
  stack[depth++].at = now;
  return err == 0;
}

static void end_call(struct model *m, struct when from, struct when now) {
  struct span d = between(from, now);
  add(&m->sum, d);
  m->squares += d.least * d.least;
  if (m->calls == 0 || d.least < m->shortest.least) m->shortest.least = d.least;
  if (m->calls == 0 || d.most < m->shortest.most) m->shortest.most = d.most;
  if (d.least > m->longest.least) m->longest.least = d.least;
  if (d.most > m->longest.most) m->longest.most = d.most;
  m->calls++;
  if (--m->open > 0) return;
  add(&m->total, between(m->since, now));
  m->value += counted - m->value_before;
}

static bool stop(unsigned number, int work) {
  struct model *m = &model[number];
  unsigned i = depth;
  int err;
  while (i > 0 && stack[i - 1].number != number) i--;
  struct when now = act(number, work, &err);
  if (i == 0) {
    m->misuse[PML_SECTION_UNMATCHED]++;
    return err == -EINVAL;
  }
  pass_to(now);
  m->misuse[PML_SECTION_CROSSED] += i < depth;
  m->work += work;
  end_call(m, stack[i - 1].at, now);
  memmove(&stack[i - 1], &stack[i], (depth - i) * sizeof *stack);
  depth--;
  return err == 0;
}

static bool heard_right(void) {
  bool right = !heard.wrong && heard.depth == depth;
  for (unsigned i = 0; right && i < depth; i++) right = heard.open[i] == stack[i].number;
  return right || !heard.on;
}

static bool is_like(unsigned number) {
  const struct model *m = &model[number];
  struct pml_section_row r = {0};
  struct pml_section_value v = {.i = 0};
  double calls = (double)m->calls, mean = calls > 0 ? 1 / calls : 0, tick_ns = 1e9 / pml__clock.ticks_per_second;
  bool good = pml_section_read(m->section, &r, number % 2 ? &v : NULL) == 0;
  good &= r.count == m->calls && r.iterations == m->calls && r.work == m->work && r.running == m->open;
  good &= v.i == (number % 2 ? m->value : 0) && r.nthreads == (m->calls > 0 || m->open > 0 || misuse_of(&r) > 0);
  for (unsigned i = 0; i < PML_SECTION_MISUSES; i++)
    good &= r.misuse[i] == (i == PML_SECTION_OVERLAP ? number % 3 == 0 && r.self_ns < r.total_ns : m->misuse[i]);
  good &= is_in(r.total_ns, m->total, calls) && (m->open > 0 || is_in(r.self_ns, m->self, calls));
  good &= is_in(r.min_ns, m->shortest, 1) && is_in(r.max_ns, m->longest, 1);
  good &= is_in(r.mean_ns, (struct span){m->sum.least * mean, m->sum.most * mean}, 1);
  if (heard.on && m->calls > 1) {
    double of_sample = m->squares - m->sum.least * m->sum.least / calls;
    double deviation = sqrt(fmax(of_sample, 0) / (calls - 1)) * tick_ns;
    good &= fabs(r.stddev_ns - deviation) <= 1 + 1e-6 * (deviation + r.max_ns);
  }
  if (!good)
    printf("# %u: %llu calls of %llu, %g ns of %g to %g ticks, %g itself of %g to %g, value %lld of %lld\n", number,
           (unsigned long long)r.count, (unsigned long long)m->calls, r.total_ns, m->total.least, m->total.most,
           r.self_ns, m->self.least, m->self.most, (long long)v.i, (long long)m->value);
  return good;
}

static void modelled(bool listens, const char *how) {
  struct pml_stream_consumer c = {.thread_begin = hear_begin, .event = {hear_enter, hear_leave, NULL}, .arg = &heard};
  uint64_t id = 0;
  uint32_t any = 1;
  unsigned alike = 0;
  bool right = !listens || pml_stream_add(&c, &id) == 0;
  heard.on = listens;
  heard.depth = depth = 0;
  for (unsigned i = 0; i < SECTIONS; i++) model[i] = (struct model){.section = model[i].section};
  /* first start all, and stop them in the same order; then in any order, some of them often, and also sections that are
   * not open */
  for (unsigned step = 0; step < STEPS; step++) {
    any = any * 1103515245 + 12345;
    unsigned number = step < 2 * SECTIONS ? step % SECTIONS : (any >> 16) % (any >> 28 ? 8 : SECTIONS);
    bool starts = step < 2 * SECTIONS ? step < SECTIONS : depth < DEEP && (any >> 8) % DEEP >= depth + DEEP / 4;
    counted += 1 + number;
    if (!listens) spin((any >> 20) % 2000);
    right &= (starts ? start(number) : stop(number, (int)(any >> 24) % 5)) && heard_right();
  }
  for (unsigned i = 0; i < SECTIONS; i++) alike += is_like(i);
  CHECK(right, "%s: each start and stop is accepted or refused, and the visible ones nest", how);
  CHECK(alike == SECTIONS, "%s: %u of %d sections have the calls, values, misuse and times of a model", how, alike,
        SECTIONS);
  while (depth > 0) right &= stop(stack[depth - 1].number, 0);
  if (listens) pml_stream_remove(id);
  pml_section_reset();
}

static void any_order(void) {
  struct pml_sde_library *lib;
  const char *name = "sde:::MODEL::N";
  char label[32];
  bool good = pml_sde_library(&lib, "MODEL") == 0 &&
              pml_sde_register(lib, "N", PML_SDE_RO | PML_SDE_DELTA, PML_TYPE_INT64, &counted) == 0;
  for (unsigned i = 0; i < SECTIONS; i++) {
    const struct pml_section_options o = {.exclusive = i % 3 == 0, .events = &name, .nevents = i % 2};
    snprintf(label, sizeof label, "modelled %u", i);
    good &= (model[i].section = defined(label, &o)) != NULL;
  }
  if (!CHECK(good, "sections, half of them with an event")) return;
  modelled(false, "without a consumer of events");
  modelled(true, "with one");
  pml_sde_shutdown(lib);
}

/* ---- definitions, limits, misuse ---- */

static void defining(void) {
  struct pml_section *c = NULL;
  struct pml_section_options o = {.type = PML_SECTION_COMMUNICATION, .exclusive = true, .line = 7};
  struct pml_section_info info;
  CHECK(pml_section_find("none such") == NULL && pml_section_define("halo", &o, &c) == 0 &&
            defined("halo", NULL) == c && pml_section_find("halo") == c,
        "the same label is the same section, and saying nothing agrees with all options");
  pml_section_describe(c, &info);
  CHECK(strcmp(info.label, "halo") == 0 && info.type == PML_SECTION_COMMUNICATION && info.exclusive &&
            info.events == NULL && info.record == PML_SECTION_NO_RECORD,
        "which are reported again");
  CHECK(pml_section_define("", NULL, &c) == -EINVAL && pml_section_define(NULL, NULL, &c) == -EINVAL && c == NULL,
        "a section needs a label");
  o.type = (enum pml_section_type)9;
  CHECK(pml_section_define("bad", &o, &c) == -EINVAL && pml_section_find("bad") == NULL, "and a type that there is");
  CHECK(pml_section_start(NULL) == -EINVAL && pml_section_stop(NULL) == -EINVAL,
        "no section is refused, not crashed on");
  char strange[] = "\x01\xff\n%s\"';\t";
  if (pml_section_define(strange, NULL, &c) == 0) pml_section_describe(c, &info);
  CHECK(strcmp(info.label, strange) == 0, "a label of any bytes is kept unchanged");
  char *huge = malloc(1 << 20);
  memset(huge, 'x', (1 << 20) - 1);
  huge[(1 << 20) - 1] = '\0';
  c = defined(huge, NULL);
  CHECK(pml_section_start(c) == 0 && pml_section_stop(c) == 0 && row_of(c).count == 1, "and so is one of a megabyte");
  free(huge);
}

static void lists_of_events(void) {
  const char *names[PML_SECTION_EVENTS_MAX + 1] = {"clock::ns", "clock::ticks"};
  struct pml_section_options o = {.events = names, .nevents = 2};
  struct pml_section *s = NULL, *other = NULL;
  CHECK(pml_section_define("with events", &o, &s) == 0, "a section with events: %s", pml_error_detail(0));
  o.nevents = 1;
  CHECK(pml_section_define("with events", &o, &other) == -EINVAL, "another list is another option");
  o.nevents = PML_SECTION_EVENTS_MAX + 1;
  CHECK(pml_section_define("too many", &o, &other) == -EINVAL, "too many are refused");
}

static void limits(void) {
  struct pml_section *s = defined("limits", NULL);
  CHECK(pml_section_start(s) == 0 && pml_section_stop_work(s, (double)NAN, 1) == -EINVAL, "no number is no workload");
  struct pml_section_row r = row_of(s);
  CHECK(r.count == 1 && r.work == 0 && r.iterations == 0 && r.misuse[PML_SECTION_WORK] == 1,
        "which is counted, with the call");
  pml_section_start(s);
  pml_section_reset();
  spin(100000);
  pml_section_stop(s);
  r = row_of(s);
  CHECK(r.count == 1 && r.total_ns >= 1e5 && misuse_of(&r) == 0, "a section under way over a reset counts at its stop");
  CHECK(strstr(pml_section_misuse_text(PML_SECTION_FOREIGN), "thread") != NULL, "misuses have texts");
  pml_section_reset();
  pml_section_enable(false);
  CHECK(pml_section_stop(s) == 0 && row_of(s).section == NULL, "switched off, nothing is misuse");
  pml_section_enable(true);
}

static void forgetting(void) {
  struct pml_section *s = defined("forgotten", NULL);
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
  CHECK(pml_section_find("macro") == m, "the macro's section is the label's");
}

/* ---- children ---- */

static struct pml_section *open_section, *other_section;
static uint64_t forked_ns;

static bool starts_from_zero(void) {
  bool good = row_of(other_section).section == NULL && row_of(open_section).running == 1;
  pml_section_start(other_section);
  pml_section_stop(other_section);
  pml_section_stop(open_section);
  struct pml_section_row o = row_of(open_section);
  return good && row_of(other_section).count == 1 && o.count == 1 && misuse_of(&o) == 0 &&
         o.total_ns < (double)(pml_clock_ns() - forked_ns);
}

static void forking(void) {
  other_section = defined("forked", NULL), open_section = defined("open at the fork", NULL);
  pml_section_start(open_section);
  pml_section_start(other_section);
  spin(2000000);
  pml_section_stop(other_section);
  forked_ns = pml_clock_ns();
  CHECK(child_finds(starts_from_zero), "a child starts from zero, and open calls began with it");
  pml_section_stop(open_section);
  CHECK(row_of(open_section).count == 1 && row_of(open_section).total_ns >= 2e6 && row_of(other_section).count == 1,
        "the parent continues");
}

static int64_t first_value(const struct pml_section *s, struct pml_section_row *row) {
  struct pml_section_value v[3] = {{.i = -1}};
  (void)pml_section_read(s, row, v);
  return v[0].i;
}

static int64_t forked_count;

/* A child has the time of calls that were open at its fork, names their events unread, and counts whole calls. */
static bool counts_whole_calls(void) {
  struct pml_section *outer = open_section, *inner = other_section;
  struct pml_section_row i, o;
  struct pml_section_options all = {.events = (const char *[]){"sde:::FORKING::N", "clock::ns"}, .nevents = 2};
  struct pml_section *whole = NULL;
  bool good = pml_section_define("whole in a child", &all, &whole) == 0;
  pml_section_start(whole); /* opens the set that the open calls do not have */
  forked_count += 5;
  pml_section_stop(whole);
  good &= first_value(whole, &o) == 5 && misuse_of(&o) == 0;
  forked_count += 30;
  good &= pml_section_stop(inner) == 0 && pml_section_stop(inner) == 0 && pml_section_stop(outer) == 0;
  good &= first_value(inner, &i) == 0 && i.count == 2 && i.misuse[PML_SECTION_UNREAD] == 2 && misuse_of(&i) == 2;
  good &= first_value(outer, &o) == 0 && o.count == 1 && o.misuse[PML_SECTION_UNREAD] == 1;
  pml_section_start(inner);
  forked_count += 9;
  pml_section_stop(inner);
  return good && first_value(inner, &i) == 9 && i.count == 3 && misuse_of(&i) == 2;
}

static void forking_with_events(void) {
  struct pml_sde_library *lib;
  const char *names[] = {"sde:::FORKING::N", "clock::ns"};
  struct pml_section_options all = {.events = names, .nevents = 2}, one = {.events = names, .nevents = 1};
  struct pml_section *outer = NULL, *inner = NULL;
  CHECK(pml_sde_library(&lib, "FORKING") == 0 &&
            pml_sde_register(lib, "N", PML_SDE_RO | PML_SDE_DELTA, PML_TYPE_INT64, &forked_count) == 0 &&
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
  forked_count += 1000;
  open_section = outer, other_section = inner;
  bool found = child_finds(counts_whole_calls);
  forked_count += 7;
  pml_section_stop(inner);
  pml_section_stop(inner);
  pml_section_stop(outer);
  struct pml_section_row row;
  int64_t value = first_value(inner, &row);
  CHECK(found, "a child counts no events of calls that were open at its fork, and reports that");
  CHECK(value == 1007 && misuse_of(&row) == 0, "its parent has all of them: %lld", (long long)value);
}

static bool has_its_time(void) {
  pml_section_stop(open_section);
  struct pml_section_row o = row_of(open_section);
  return o.count == 1 && o.self_ns == o.total_ns && o.total_ns > 0;
}

static void forking_after_inner(void) {
  struct pml_section *inner = defined("ended before the fork", NULL);
  open_section = defined("outer of a child", NULL);
  pml_section_start(open_section);
  pml_section_start(inner);
  spin(3000000);
  pml_section_stop(inner);
  CHECK(child_finds(has_its_time), "a child's open call has all of its time for itself");
  pml_section_stop(open_section);
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

/* In a separate process: 10 counts, 11 does not, 12 refused with a message. */
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
  any_order();
  defining();
  lists_of_events();
  limits();
  forgetting();
  by_label();
  forking();
  forking_with_events();
  forking_after_inner();
  obeying();
  return check_done();
}
