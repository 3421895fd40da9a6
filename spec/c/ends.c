/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/ends.c - completeness of logs after each end of a process: sections, created counters and recorders.
 *
 * Threads of a process that is killed at random write the numbers of begun and of finished rounds into a pipe. The
 * counts of its log must lie between these two, and are equal for a thread that was between two rounds.
 */
#include "check.h"
#include "log_text.h"
#include "sanitized.h"

#include <dirent.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#ifndef KILLS
#define KILLS 200
#endif
#define THREADS 2

static char dir[] = "/tmp/pmlua-ends-XXXXXX", self[PATH_MAX]; /* the folder of the logs; this program */
static volatile int *volatile nothing;

/* ---- what a log says ---- */

/* The text of the log of process @pid in the folder, which is removed; @which: 1 is its first. NULL: no log. */
static char *log_of(pid_t pid, int which) {
  char end[40], path[PATH_MAX];
  char *text = NULL;
  snprintf(end, sizeof end, which == 1 ? ".%d.pmlog" : ".%d.%d.pmlog", (int)pid, which);
  DIR *d = opendir(dir);
  for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
    size_t n = strlen(e->d_name), m = strlen(end);
    if (n < m || strcmp(e->d_name + n - m, end) != 0) continue;
    snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
    free(text);
    text = log_text(path);
    unlink(path);
  }
  if (d != NULL) closedir(d);
  return text;
}

static bool has(const char *text, const char *part) {
  return text != NULL && strstr(text, part) != NULL;
}

static struct log_row only_row(const char *text, const char *label) {
  struct log_row row[2];
  size_t n = log_rows(text, label, row, 2);
  return n == 1 ? row[0] : (struct log_row){.count = ~0ull};
}

/* The value of a counter; -9 without one. */
static long long counter_of(const char *text, const char *name, long long *as_of) {
  char line[100], form[60];
  long long value;
  snprintf(line, sizeof line, "\ncounter\tENDS::%s\t", name);
  const char *at = text != NULL ? strstr(text, line) : NULL;
  snprintf(form, sizeof form, "\ncounter\t%%*s\t%%*s\t%%*s\t%%*s\t%%lld\t%%lld");
  return at != NULL && sscanf(at, form, &value, as_of) == 2 ? value : -9;
}

struct series {
  unsigned long long count, dropped;
  char whole[8];
  double min, max;
};

static bool series_of(const char *text, const char *name, struct series *s) {
  char line[100];
  snprintf(line, sizeof line, "\nrecorder\tENDS::%s\t", name);
  const char *at = text != NULL ? strstr(text, line) : NULL;
  if (at == NULL) return false;
  *s = (struct series){0};
  return sscanf(at, "\nrecorder\t%*s\t%llu\t%llu\t%7s\t%*u\t%lf\t%*f\t%*f\t%*f\t%*f\t%*f\t%lf", &s->count, &s->dropped,
                s->whole, &s->min, &s->max) >= 3;
}

/* ---- children ---- */

static pid_t child_of(void (*be)(const void *arg), const void *arg) {
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    setenv("PMLUA_REPORT", dir, 1);
    be(arg);
    _exit(95);
  }
  waitpid(child, NULL, 0);
  return child;
}

static void end_as(const char *how) {
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  if (strcmp(how, "SIGTERM") == 0) raise(SIGTERM);
  if (strcmp(how, "SIGKILL") == 0) raise(SIGKILL);
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "crash") == 0) *nothing = 1;
  if (strcmp(how, "quick_exit") == 0) quick_exit(0);
  if (strcmp(how, "exec") == 0) execl(self, self, "exit", (char *)NULL);
  if (strcmp(how, "exit") == 0) exit(0);
  _exit(0);
}

/* Whether a sanitizer lets a process end so, and supports children made so; otherwise the case is skipped. */
static bool can_crash(const char *how) {
  if (!SANITIZED || strcmp(how, "crash") != 0) return true;
  SKIP("a sanitizer ends a program that crashes in its own way");
  return false;
}

static pid_t by_fork(void) {
  return fork();
}
static pid_t by_Fork(void) {
  return _Fork();
}
static pid_t by_clone(void) {
  return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static const struct way {
  const char *name;
  pid_t (*make)(void);
} ways[] = {{"fork", by_fork}, {"_Fork", by_Fork}, {"the system call clone", by_clone}};
#define WAYS (sizeof ways / sizeof ways[0])

static bool is_known(const struct way *w) {
  if (!SANITIZED || w->make == by_fork) return true;
  SKIP("a sanitizer does not know of children that fork() did not make");
  return false;
}

/* ---- children that are killed at random ---- */

struct progress {
  uint64_t begun, done;
};

/* Rounds of @step without end, each told to the pipe @to. */
static void rounds(int to, unsigned seed, void (*step)(void *arg, uint64_t i), void *arg) {
  struct progress p = {0};
  for (;;) {
    p.begun = p.done + 1 + (unsigned)rand_r(&seed) % 64;
    if (write(to, &p, sizeof p) != (ssize_t)sizeof p) return;
    for (; p.done < p.begun; p.done++) step(arg, p.done);
    if (write(to, &p, sizeof p) != (ssize_t)sizeof p) return;
  }
}

/* One more, and, if they are wanted, all that follow. */
static bool read_progress(int fd, bool all, struct progress *p) {
  struct progress got;
  bool any = false;
  while (!(any && !all) && read(fd, &got, sizeof got) == (ssize_t)sizeof got) {
    *p = got;
    any = true;
  }
  return any;
}

struct killed {
  char *text; /* the log, to be freed */
  struct progress p[THREADS];
  unsigned wrong; /* threads that told nothing */
};

/* A child does @be, whose threads write into @to, until it is killed some time after each of them has begun. */
static struct killed kill_one(void (*be)(const int *to, unsigned seed), unsigned seed) {
  int ends[THREADS][2], to[THREADS];
  struct killed k = {0};
  for (int i = 0; i < THREADS; i++) {
    if (pipe(ends[i]) < 0) return (struct killed){.wrong = 1};
    to[i] = ends[i][1];
  }
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    setenv("PMLUA_REPORT", dir, 1);
    be(to, seed);
    _exit(95);
  }
  for (int i = 0; i < THREADS; i++) {
    close(ends[i][1]);
    k.wrong += !read_progress(ends[i][0], false, &k.p[i]);
  }
  usleep((unsigned)rand_r(&seed) % 3000);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  for (int i = 0; i < THREADS; i++) {
    (void)read_progress(ends[i][0], true, &k.p[i]);
    close(ends[i][0]);
  }
  k.text = log_of(child, 1);
  return k;
}

/* ---- what a child measures ---- */

static struct pml_section *section(const char *label, const struct pml_section_options *o) {
  struct pml_section *s = NULL;
  if (pml_section_define(label, o, &s) < 0) _exit(97);
  return s;
}

static struct pml_sde_library *library(void) {
  struct pml_sde_library *lib = NULL;
  if (pml_sde_library(&lib, "ENDS") < 0) _exit(97);
  return lib;
}

static struct pml_sde_counter *counter(const char *name) {
  struct pml_sde_counter *c = NULL;
  if (pml_sde_create(library(), name, PML_SDE_RW, &c) < 0) _exit(97);
  return c;
}

static struct pml_recorder *recorder(const char *name) {
  const struct pml_recorder_options doubles = {.type = PML_TYPE_DOUBLE};
  struct pml_recorder *r = NULL;
  if (pml_sde_create_recorder(library(), name, &doubles, &r) < 0) _exit(97);
  return r;
}

static void call(struct pml_section *s, double work, uint64_t iterations) {
  pml_section_start(s);
  pml_section_stop_work(s, work, iterations);
}

static void counts(struct pml_sde_counter *c, int64_t by, struct pml_recorder *r, double value) {
  (void)pml_sde_increment(c, by);
  (void)pml_recorder_push_double(r, value);
}

/* ---- a child that is killed ---- */

struct worker {
  int to;
  unsigned seed;
  struct pml_section *outer, *inner;
  struct pml_sde_counter *mine, *shared;
  struct pml_recorder *series;
};

static void step(void *arg, uint64_t i) {
  struct worker *w = arg;
  call(w->inner, 2, 3);
  counts(w->mine, 3, w->series, (double)i);
  (void)pml_sde_increment(w->shared, 1);
}

static void *work(void *arg) {
  struct worker *w = arg;
  pml_section_start(w->outer);
  rounds(w->to, w->seed, step, w);
  return NULL;
}

static const char *name_of(const char *kind, int i) {
  static char name[8][24];
  static unsigned n;
  char *to = name[n++ % 8];
  snprintf(to, sizeof name[0], "%s%d", kind, i);
  return to;
}

static void be_killed(const int *to, unsigned seed) {
  static const char *const event[] = {"clock::ns"};
  const struct pml_section_options counted = {.events = event, .nevents = 1};
  static struct worker w[THREADS];
  pthread_t thread;
  for (int i = 0; i < THREADS; i++)
    w[i] = (struct worker){to[i],
                           seed + (unsigned)i,
                           section(name_of("outer", i), NULL),
                           section(name_of("inner", i), i == 1 ? &counted : NULL),
                           counter(name_of("mine", i)),
                           counter("shared"),
                           recorder(name_of("series", i))};
  if (pthread_create(&thread, NULL, work, &w[1]) != 0) _exit(96);
  (void)work(&w[0]);
}

struct tally {
  unsigned wrong, quiet, torn;
  unsigned long long most;
};

static bool is_between(long long v, uint64_t done, uint64_t begun) {
  return v >= (long long)done && v <= (long long)begun;
}

static void check_thread(const char *text, int i, const struct progress *p, struct tally *t) {
  struct log_row in = {0}, out;
  struct series s = {0};
  long long as_of = 0, mine = counter_of(text, name_of("mine", i), &as_of);
  (void)log_rows(text, name_of("inner", i), &in, 1);
  bool good = log_rows(text, name_of("outer", i), &out, 1) == 1 && out.running == 1 && out.count == 0;
  good &= is_between((long long)in.count, p->done, p->begun) && in.running <= 1;
  good &= in.torn || (in.iterations == 3 * in.count && in.work == 2.0 * (double)in.count);
  good &= in.torn || in.count == 0 || (in.min_ns <= in.mean_ns && in.mean_ns <= in.max_ns && in.self_ns <= in.total_ns);
  good &= is_between(mine / 3, p->done, p->begun) && mine % 3 == 0 && as_of == -1;
  good &= series_of(text, name_of("series", i), &s) && is_between((long long)s.count, p->done, p->begun);
  good &= s.dropped == 0 && strcmp(s.whole, "whole") == 0;
  good &= s.count == 0 || (s.min == 0 && s.max == (double)(s.count - 1));
  t->wrong += !good;
  t->quiet += p->begun == p->done;
  t->torn += in.torn;
  if (s.count > t->most) t->most = s.count;
  if (!good)
    printf("# thread %d: %llu calls (%u open, torn: %d), %lld by 3, %llu elements to %g (%s), of %llu to %llu\n", i,
           in.count, in.running, in.torn, mine, s.count, s.max, s.whole, (unsigned long long)p->done,
           (unsigned long long)p->begun);
}

static void check_killed(unsigned seed, struct tally *t) {
  struct killed k = kill_one(be_killed, seed);
  uint64_t begun = 0, done = 0;
  long long as_of;
  for (int i = 0; i < THREADS; i++) {
    check_thread(k.text, i, &k.p[i], t);
    begun += k.p[i].begun;
    done += k.p[i].done;
  }
  t->wrong += k.wrong + !is_between(counter_of(k.text, "shared", &as_of), done, begun);
  free(k.text);
}

static void kills(void) {
  struct tally t = {0};
  for (unsigned i = 0; i < KILLS; i++) check_killed(i * 7919u + 1, &t);
  CHECK(t.wrong == 0, "%d processes are killed at random: what they called, counted and recorded is in their logs (%u)",
        KILLS, t.wrong);
  CHECK(t.quiet > 0 && t.quiet < THREADS * KILLS,
        "some of the threads were between rounds, and their counts are equal (%u of %u; %u torn)", t.quiet,
        THREADS * KILLS, t.torn);
  CHECK(t.most > 2 * 4096 / sizeof(double), "recorders had several chunks (up to %llu elements)", t.most);
}

/* ---- every other end ---- */

static long long variable = 1;

/* Seven calls of "done" in one call of "open", with counters and recorders; then the end that @how names. */
static void end_by(const void *arg) {
  const char *how = arg;
  const struct pml_section_options recorded = {.record = PML_SECTION_RECORD_ALL};
  setenv("PMLUA_REPORT_TIMELINE", "100", 1);
  struct pml_section *done = section("done", &recorded), *open = section("open", NULL);
  struct pml_sde_counter *c = counter("count");
  struct pml_recorder *r = recorder("series");
  (void)pml_sde_register(library(), "variable", PML_SDE_RO, PML_TYPE_INT64, &variable);
  (void)counter("untouched");
  (void)recorder("empty");
  pml_section_start(open);
  for (int i = 0; i < 7; i++) {
    call(done, 5, 1);
    counts(c, 5, r, i);
  }
  variable = 42;
  if (strcmp(how, "sampled") == 0) (void)pml_sde_log_sample(true);
  variable = 43;
  if (strcmp(how, "shutdown") == 0) (void)pml_sde_shutdown(library());
  end_as(strcmp(how, "shutdown") == 0 || strcmp(how, "sampled") == 0 ? "SIGKILL" : how);
}

static unsigned lines_with(const char *text, char c) {
  char line[] = {'\n', c, '\t', '\0'};
  unsigned n = 0;
  for (const char *at = text; at != NULL && (at = strstr(at, line)) != NULL; at++) n++;
  return n;
}

/* Quantiles of the calls that were recorded, of which the last is the longest; and when each was. */
static bool more_is_there(const char *text, const struct log_row *done) {
  const char *at = text != NULL ? strstr(text, "\nquantiles\t") : NULL;
  double most = 0;
  bool has_quantiles = at != NULL && sscanf(at, "\nquantiles\t%*f\t%*f\t%*f\t%*f\t%*f\t%*f\t%lf", &most) == 1;
  return has_quantiles && most - done->max_ns < 1 && done->max_ns - most < 1 && lines_with(text, '+') == 8 &&
         lines_with(text, '-') == 7 && has(text, "\tdone\n") && has(text, "\topen\n") && has(text, "\ntimeline\t1\t");
}

static bool all_there(const char *text, const char *ended) {
  struct log_row done = only_row(text, "done"), open = only_row(text, "open");
  long long as_of;
  struct series s, empty;
  bool there = done.count == 7 && done.running == 0 && done.work == 35 && !done.torn && open.count == 0;
  there &= open.running == 1 && has(text, ended) && more_is_there(text, &done);
  there &= counter_of(text, "count", &as_of) == 35 && as_of == -1 && counter_of(text, "untouched", &as_of) == 0;
  there &= series_of(text, "series", &s) && s.count == 7 && s.min == 0 && s.max == 6;
  return there && series_of(text, "empty", &empty) && empty.count == 0;
}

static void ends(void) {
  /* A variable is there as of when it was sampled last, or its library was shut down; -9: it is not. */
  static const struct {
    const char *how, *ended;
    long long variable;
  } end[] = {{"SIGTERM", "unknown", -9}, {"SIGKILL", "unknown", -9},  {"_exit", "unknown", -9},
             {"abort", "unknown", -9},   {"crash", "unknown", -9},    {"quick_exit", "unknown", -9},
             {"exit", "exit", 43},       {"shutdown", "unknown", 43}, {"sampled", "unknown", 42}};
  for (size_t i = 0; i < sizeof end / sizeof end[0]; i++) {
    if (!can_crash(end[i].how)) continue;
    long long as_of = -1;
    char *text = log_of(child_of(end_by, end[i].how), 1), ended[40];
    snprintf(ended, sizeof ended, "\nended\t%s\n", end[i].ended);
    CHECK(all_there(text, ended) && counter_of(text, "variable", &as_of) == end[i].variable &&
              (end[i].variable < 0 || as_of >= 0),
          "%s: what was stopped, counted and recorded is in the log, what was not is open", end[i].how);
    free(text);
  }
  pid_t pid = child_of(end_by, "exec");
  char *first = log_of(pid, 1), *second = log_of(pid, 2), line[40] = "";
  const char *born = first != NULL ? strstr(first, "\nborn\t") : NULL;
  if (born != NULL) snprintf(line, sizeof line, "%.*s", (int)strcspn(born + 1, "\n") + 2, born);
  CHECK(all_there(first, "\nended\tunknown\n") && all_there(second, "\nended\texit\n") && line[0] != '\0' &&
            has(second, line),
        "exec: each of the two programs has its log, and both say that they are one process");
  free(first);
  free(second);
}

/* ---- children, threads, resets ---- */

struct making {
  pid_t (*make)(void);
  int to;
  bool counts_first; /* its first operation creates its log, and must detect that this is a child */
};

static bool goes_on(struct pml_sde_counter *c, struct pml_sde_counter *reset, struct pml_recorder *r) {
  double middle = 0, all[700];
  bool good = pml_sde_counter_read(c) == 600 && pml_recorder_count(r) == 600;
  for (int i = 0; i < 3; i++) counts(c, 1, r, 1000);
  (void)pml_sde_counter_reset(reset);
  (void)pml_sde_increment(reset, 4);
  good &= pml_sde_counter_read(c) == 603 && pml_recorder_count(r) == 603 && pml_sde_counter_read(reset) == 4;
  return good && pml_recorder_value(r, 1, &middle) == 0 && middle == 1000 && pml_recorder_copy(r, 0, all, 700) == 603;
}

/*
 * The child stops the calls that its parent started, makes further calls, and continues from its parent's values; its
 * log has only its own part. Both are killed.
 */
static void be_parent(const void *arg) {
  const struct making *m = arg;
  struct pml_section *open = section("open", NULL), *done = section("done", NULL);
  struct pml_sde_counter *c = counter("count"), *reset = counter("reset");
  struct pml_recorder *r = recorder("series");
  pml_section_start(open);
  call(done, 0, 0);
  for (int i = 0; i < 600; i++) counts(c, 1, r, i);
  (void)pml_sde_increment(reset, 9);
  pid_t child = m->make();
  if (child == 0) {
    bool good = !m->counts_first || goes_on(c, reset, r);
    for (int i = 0; i < 3; i++) call(done, 0, 0);
    pml_section_stop(open);
    good &= m->counts_first || goes_on(c, reset, r);
    if (write(m->to, &good, sizeof good) != (ssize_t)sizeof good) _exit(94);
    raise(SIGKILL);
  }
  pml_section_stop(open);
  waitpid(child, NULL, 0);
  call(done, 0, 0);
  counts(c, 1, r, 2000);
  if (write(m->to, &child, sizeof child) != (ssize_t)sizeof child) _exit(94);
  raise(SIGKILL);
}

static void one_child(const struct way *w, bool counts_first) {
  int to[2];
  pid_t child = 0;
  bool good = false;
  long long as_of;
  struct series s;
  if (pipe(to) < 0) return;
  pid_t parent = child_of(be_parent, &(struct making){w->make, to[1], counts_first});
  close(to[1]);
  bool told = read(to[0], &good, sizeof good) == (ssize_t)sizeof good &&
              read(to[0], &child, sizeof child) == (ssize_t)sizeof child;
  close(to[0]);
  char *theirs = log_of(parent, 1), *its = log_of(child, 1);
  CHECK(told && good, "a child by %s reads what its parent had, and goes on from there", w->name);
  CHECK(only_row(theirs, "done").count == 2 && only_row(theirs, "open").count == 1 &&
            counter_of(theirs, "count", &as_of) == 601 && counter_of(theirs, "reset", &as_of) == 9 &&
            series_of(theirs, "series", &s) && s.count == 601 && s.max == 2000,
        "the parent's log has the parent's");
  CHECK(only_row(its, "done").count == 3 && only_row(its, "open").count == 1 && !has(its, "\nmisuse\t") &&
            counter_of(its, "count", &as_of) == 3 && counter_of(its, "reset", &as_of) == 4 &&
            series_of(its, "series", &s) && s.count == 3 && s.min == 1000 && s.max == 1000,
        "and the child's what it did itself, with what was open in its parent");
  free(theirs);
  free(its);
}

static void *one_call(void *s) {
  call(s, 1, 1);
  return NULL;
}

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
  struct pml_sde_counter *c = counter("count");
  struct pml_recorder *r = recorder("series");
  call(unused, 1, 1);
  for (int i = 0; i < 1000; i++) {
    call(used, 1, 1);
    counts(c, 1, r, i);
  }
  pml_section_reset();
  (void)pml_sde_counter_reset(c);
  pml_recorder_reset(r);
  call(used, 1, 1);
  counts(c, 2, r, -1);
  for (int i = 0; i < 5; i++) {
    counts(counter("again"), 1, recorder("series again"), i);
    (void)pml_sde_unregister(library(), "again");
    (void)pml_sde_unregister(library(), "series again");
  }
  raise(SIGKILL);
}

static void be_refused(const void *arg) {
  (void)arg;
  struct rlimit most = {65536, 65536};
  setrlimit(RLIMIT_FSIZE, &most);
  for (int i = 0; i < 200; i++) call(section(name_of("section ", i), NULL), 1, 1);
  raise(SIGKILL);
}

static void others(void) {
  static const unsigned most = 400;
  static struct log_row row[400];
  unsigned long long calls = 0, torn = 0;
  long long as_of;
  struct series s;
  char *text = log_of(child_of(be_many, &most), 1);
  size_t n = log_rows(text, "by many", row, most);
  for (size_t i = 0; i < n; i++) {
    calls += row[i].count;
    torn += row[i].torn;
  }
  CHECK(n == 257 && calls == 400 && torn == 0 && row[0].thread == 0 && row[0].count == 400 - 256,
        "of 400 threads the last 256 have a row each, the others one: %zu rows, %llu calls", n, calls);
  free(text);
  text = log_of(child_of(be_reset, NULL), 1);
  CHECK(only_row(text, "used again").count == 1 && log_rows(text, "not used again", row, 1) == 0 &&
            counter_of(text, "count", &as_of) == 2 && series_of(text, "series", &s) && s.count == 1 && s.max == -1,
        "what is of before a reset is not told");
  const char *first = text != NULL ? strstr(text, "\ncounter\tENDS::again\t") : NULL;
  CHECK(counter_of(text, "again", &as_of) == 1 && first != NULL && !has(first + 1, "\ncounter\tENDS::again\t") &&
            has(text, "\nrecorder\tENDS::series again\t1\t0\twhole\t0\t4\t"),
        "of a name that was given several times, the last is told");
  free(text);
  text = log_of(child_of(be_refused, NULL), 1);
  CHECK(has(text, "\nrefused\t") && log_rows(text, "section 0", row, 1) == 0,
        "a log that cannot grow says so, and the program goes on");
  free(text);
}

int main(int argc, char **argv) {
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return 1;
  if (argc > 1) end_by(argv[1]);
  if (mkdtemp(dir) == NULL) return 1;
  kills();
  ends();
  for (size_t i = 0; i < WAYS; i++)
    for (int first = 0; first < 2 && is_known(&ways[i]); first++) one_child(&ways[i], first);
  others();
  return rmdir(dir) == 0 ? check_done() : 1;
}
