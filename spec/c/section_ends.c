/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/section_ends.c - whatever ends a process, its log has every section that was stopped, and what was open.
 */
#include "ends.h"

/* ---- reading a log ---- */

struct row {
  unsigned long long thread, count, iterations;
  unsigned running;
  double total_ns, self_ns, min_ns, max_ns, mean_ns, stddev_ns, work;
  bool torn;
};

/* The rows of section @label in @text; how many there are. */
static size_t rows_of(const char *text, const char *label, struct row *row, size_t most) {
  char line[100];
  size_t n = 0;
  snprintf(line, sizeof line, "\nsection\t%s\t", label);
  const char *at = text != NULL ? strstr(text, line) : NULL;
  for (at = at != NULL ? strchr(at + 1, '\n') : NULL; at != NULL && strncmp(at, "\nsection\t", 9) != 0;
       at = strchr(at + 1, '\n')) {
    if (n > 0 && strncmp(at, "\ntorn\n", 6) == 0) row[n - 1].torn = true;
    if (n == most) continue;
    struct row *r = &row[n];
    *r = (struct row){0};
    n += sscanf(at, "\nrow\t%llu\t%u\t%llu\t%lf\t%lf\t%lf\t%lf\t%lf\t%lf\t%lf\t%llu\n", &r->thread, &r->running,
                &r->count, &r->total_ns, &r->self_ns, &r->min_ns, &r->max_ns, &r->mean_ns, &r->stddev_ns, &r->work,
                &r->iterations) == 11;
  }
  return n;
}

static struct row only_row(const char *text, const char *label) {
  struct row row[2];
  size_t n = rows_of(text, label, row, 2);
  return n == 1 ? row[0] : (struct row){.count = ~0ull};
}

/* ---- a child that is killed ---- */

struct worker {
  int to;
  unsigned seed;
  struct pml_section *outer, *inner;
};

static void step(void *arg, uint64_t i) {
  struct worker *w = arg;
  (void)i;
  pml_section_start(w->inner);
  pml_section_stop_work(w->inner, 2, 3);
}

/* Inner calls, in a call of the outer section that is never stopped. */
static void *work(void *arg) {
  struct worker *w = arg;
  pml_section_start(w->outer);
  rounds(w->to, w->seed, step, w);
  return NULL;
}

static struct pml_section *section(const char *label, const struct pml_section_options *o) {
  struct pml_section *s = NULL;
  if (pml_section_define(label, o, &s) < 0) _exit(97);
  return s;
}

/* Sections of one thread each, so that a row tells which pipe it belongs to. */
static void be_killed(const int *to, unsigned seed) {
  static const char *const event[] = {"clock::ns"};
  const struct pml_section_options counted = {.events = event, .nevents = 1};
  static const char *const inner[THREADS] = {"inner 0", "inner 1"}, *const outer[THREADS] = {"outer 0", "outer 1"};
  static struct worker w[THREADS];
  pthread_t thread;
  for (int i = 0; i < THREADS; i++) {
    w[i] = (struct worker){to[i], seed + (unsigned)i, section(outer[i], NULL), NULL};
    w[i].inner = section(inner[i], i == 1 ? &counted : NULL);
  }
  if (pthread_create(&thread, NULL, work, &w[1]) != 0) _exit(96);
  (void)work(&w[0]);
}

struct tally {
  unsigned wrong, quiet, torn;
};

static void check_thread(const char *text, int i, const struct progress *p, struct tally *t) {
  char inner[24], outer[24];
  struct row in, out;
  snprintf(inner, sizeof inner, "inner %d", i);
  snprintf(outer, sizeof outer, "outer %d", i);
  bool there = rows_of(text, inner, &in, 1) == 1, quiet = p->begun == p->done;
  if (!there) in = (struct row){0};
  bool good = rows_of(text, outer, &out, 1) == 1 && out.running == 1 && out.count == 0;
  good &= in.count >= p->done && in.count <= p->begun && in.running <= 1;
  good &= in.torn || (in.iterations == 3 * in.count && in.work == 2.0 * (double)in.count);
  good &= in.torn || in.count == 0 || (in.min_ns <= in.mean_ns && in.mean_ns <= in.max_ns && in.self_ns <= in.total_ns);
  good &= !quiet || in.count == p->done;
  t->wrong += !good;
  t->quiet += quiet;
  t->torn += in.torn;
  if (!good)
    printf("# %s: %llu calls (%u open, torn: %d), of %llu to %llu\n", inner, in.count, in.running, in.torn,
           (unsigned long long)p->done, (unsigned long long)p->begun);
}

static void check_killed(unsigned seed, struct tally *t) {
  struct killed k = kill_one(be_killed, seed);
  t->wrong += k.wrong;
  for (int i = 0; i < THREADS; i++) check_thread(k.text, i, &k.p[i], t);
  free(k.text);
}

static void kills(void) {
  struct tally t = {0};
  for (unsigned i = 0; i < KILLS; i++) check_killed(i * 7919u + 1, &t);
  CHECK(t.wrong == 0, "%d processes are killed at random: all calls that were stopped are in their logs (%u wrong)",
        KILLS, t.wrong);
  CHECK(t.quiet > 0 && t.quiet < THREADS * KILLS,
        "some of the threads were between rounds, and their counts are equal (%u of %u; %u torn)", t.quiet,
        THREADS * KILLS, t.torn);
}

/* ---- every other end ---- */

/* Seven calls of "done", in one of "open", and then the end that @how names. */
static void end_by(const void *how) {
  const struct pml_section_options recorded = {.record = PML_SECTION_RECORD_ALL};
  setenv("PMLUA_REPORT_TIMELINE", "100", 1);
  struct pml_section *done = section("done", &recorded), *open = section("open", NULL);
  pml_section_start(open);
  for (int i = 0; i < 7; i++) {
    pml_section_start(done);
    pml_section_stop_work(done, 5, 1);
  }
  end_as(how);
}

/* The number of lines of @text that begin with @c and a tab. */
static unsigned lines_with(const char *text, char c) {
  char line[] = {'\n', c, '\t', '\0'};
  unsigned n = 0;
  for (const char *at = text; at != NULL && (at = strstr(at, line)) != NULL; at++) n++;
  return n;
}

/* Quantiles of the calls that were recorded, of which the last is the longest; and when each was. */
static bool more_is_there(const char *text, const struct row *done) {
  const char *at = text != NULL ? strstr(text, "\nquantiles\t") : NULL;
  double most = 0;
  bool has_quantiles = at != NULL && sscanf(at, "\nquantiles\t%*f\t%*f\t%*f\t%*f\t%*f\t%*f\t%lf", &most) == 1;
  return has_quantiles && most - done->max_ns < 1 && done->max_ns - most < 1 && lines_with(text, '+') == 8 &&
         lines_with(text, '-') == 7 && has(text, "\tdone\n") && has(text, "\topen\n") && has(text, "\ntimeline\t1\t");
}

static bool all_there(const char *text, const char *ended) {
  struct row done = only_row(text, "done"), open = only_row(text, "open");
  return done.count == 7 && done.running == 0 && done.work == 35 && !done.torn && open.count == 0 &&
         open.running == 1 && has(text, ended) && more_is_there(text, &done);
}

static void ends(void) {
  static const char *const how[] = {"SIGTERM", "SIGKILL", "_exit", "abort", "crash", "quick_exit"};
  for (size_t i = 0; i < sizeof how / sizeof how[0]; i++) {
    if (!can_crash(how[i])) continue;
    char *text = log_of(child_of(end_by, how[i]), 1);
    CHECK(all_there(text, "\nended\tunknown\n"),
          "%s: what was stopped is in the log with quantiles and timeline, what was not is open", how[i]);
    free(text);
  }
  char *text = log_of(child_of(end_by, "exit"), 1);
  CHECK(all_there(text, "\nended\texit\n"), "exit: the same, and the log says how it ended");
  free(text);
  pid_t pid = child_of(end_by, "exec");
  char *first = log_of(pid, 1), *second = log_of(pid, 2);
  const char *born = first != NULL ? strstr(first, "\nborn\t") : NULL;
  char line[40] = "";
  if (born != NULL) snprintf(line, sizeof line, "%.*s", (int)strcspn(born + 1, "\n") + 2, born);
  CHECK(all_there(first, "\nended\tunknown\n") && all_there(second, "\nended\texit\n"),
        "exec: each of the two programs has its log");
  CHECK(line[0] != '\0' && has(second, line), "and both say that they are one process");
  free(first);
  free(second);
}

/* ---- children, threads, resets ---- */

struct making {
  pid_t (*make)(void);
  int to;
};

/* The child stops what its parent started, and has calls of its own; then both are killed. */
static void be_parent(const void *arg) {
  const struct making *m = arg;
  struct pml_section *open = section("open", NULL), *done = section("done", NULL);
  pml_section_start(open);
  pml_section_start(done);
  pml_section_stop(done);
  pid_t child = m->make();
  for (int i = 0; child == 0 && i < 3; i++) {
    pml_section_start(done);
    pml_section_stop(done);
  }
  pml_section_stop(open);
  if (child == 0) raise(SIGKILL);
  waitpid(child, NULL, 0);
  pml_section_start(done);
  pml_section_stop(done);
  if (write(m->to, &child, sizeof child) != (ssize_t)sizeof child) _exit(94);
  raise(SIGKILL);
}

static void one_child(const struct way *w) {
  int to[2];
  pid_t child = 0;
  if (pipe(to) < 0) return;
  pid_t parent = child_of(be_parent, &(struct making){w->make, to[1]});
  bool told = read(to[0], &child, sizeof child) == (ssize_t)sizeof child;
  close(to[0]);
  close(to[1]);
  char *theirs = log_of(parent, 1), *its = log_of(child, 1);
  CHECK(told && only_row(theirs, "done").count == 2 && only_row(theirs, "open").count == 1,
        "a parent's calls are its own, when %s made the child", w->name);
  CHECK(only_row(its, "done").count == 3 && only_row(its, "open").count == 1 && !has(its, "\nmisuse\t"),
        "and the child's are in a log of its own, with what was open in its parent");
  free(theirs);
  free(its);
}

static void children(void) {
  for (size_t i = 0; i < WAYS; i++)
    if (is_known(&ways[i])) one_child(&ways[i]);
}

static void *one_call(void *arg) {
  pml_section_start(arg);
  pml_section_stop_work(arg, 1, 1);
  return NULL;
}

/* More threads than are kept apart, one after the other. */
static void be_many(const void *arg) {
  const unsigned *threads = arg;
  static const char *const event[] = {"clock::ns"};
  const struct pml_section_options counted = {.events = event, .nevents = 1};
  struct pml_section *s = section("by many", &counted);
  for (unsigned i = 0; i < *threads; i++) {
    pthread_t t;
    if (pthread_create(&t, NULL, one_call, s) != 0) _exit(93);
    pthread_join(t, NULL);
  }
  raise(SIGKILL);
}

static void be_reset(const void *arg) {
  (void)arg;
  struct pml_section *used = section("used again", NULL), *unused = section("not used again", NULL);
  for (int i = 0; i < 5; i++) one_call(used);
  one_call(unused);
  pml_section_reset();
  one_call(used);
  raise(SIGKILL);
}

static void be_refused(const void *arg) {
  (void)arg;
  struct rlimit most = {65536, 65536};
  char label[32];
  setrlimit(RLIMIT_FSIZE, &most);
  for (int i = 0; i < 200; i++) {
    snprintf(label, sizeof label, "section %d", i);
    one_call(section(label, NULL));
  }
  raise(SIGKILL);
}

static void others(void) {
  static const unsigned most = 400;
  static struct row row[400];
  unsigned long long calls = 0, torn = 0;
  char *text = log_of(child_of(be_many, &most), 1);
  size_t n = rows_of(text, "by many", row, most);
  for (size_t i = 0; i < n; i++) {
    calls += row[i].count;
    torn += row[i].torn;
  }
  CHECK(n == 257 && calls == 400 && torn == 0 && row[0].thread == 0 && row[0].count == 400 - 256,
        "of 400 threads the last 256 have a row each, the others one: %zu rows, %llu calls", n, calls);
  free(text);
  text = log_of(child_of(be_reset, NULL), 1);
  CHECK(only_row(text, "used again").count == 1 && rows_of(text, "not used again", row, 1) == 0,
        "what is of before a reset is not told");
  free(text);
  text = log_of(child_of(be_refused, NULL), 1);
  CHECK(has(text, "\nrefused\t") && rows_of(text, "section 0", row, 1) == 0,
        "a log that cannot grow says so, and the program goes on");
  free(text);
}

int main(int argc, char **argv) {
  if (!ends_begin(argc, argv, end_by)) return 1;
  kills();
  ends();
  children();
  others();
  return ends_done();
}
