/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/sde_ends.c - whatever ends a process, its log has what created counters counted and recorders recorded.
 */
#include "source/sde/pml_sde.h"

#include "ends.h"

/* ---- reading a log ---- */

/* The value of a counter; -9 if there is none. */
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

/* ---- a child that is killed ---- */

struct worker {
  int to;
  unsigned seed;
  struct pml_sde_counter *mine, *shared;
  struct pml_recorder *series;
};

static void step(void *arg, uint64_t i) {
  struct worker *w = arg;
  (void)pml_sde_increment(w->mine, 3);
  (void)pml_sde_increment(w->shared, 1);
  (void)pml_recorder_push_double(w->series, (double)i);
}

static void *work(void *arg) {
  struct worker *w = arg;
  rounds(w->to, w->seed, step, w);
  return NULL;
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

static void be_killed(const int *to, unsigned seed) {
  static const char *const mine[THREADS] = {"mine0", "mine1"}, *const series[THREADS] = {"series0", "series1"};
  static struct worker w[THREADS];
  pthread_t thread;
  for (int i = 0; i < THREADS; i++)
    w[i] = (struct worker){to[i], seed + (unsigned)i, counter(mine[i]), counter("shared"), recorder(series[i])};
  if (pthread_create(&thread, NULL, work, &w[1]) != 0) _exit(96);
  (void)work(&w[0]);
}

struct tally {
  unsigned wrong, quiet;
  unsigned long long most;
};

static bool is_between(long long v, uint64_t done, uint64_t begun) {
  return v >= (long long)done && v <= (long long)begun;
}

static void check_thread(const char *text, int i, const struct progress *p, struct tally *t) {
  char mine[24], name[24];
  struct series s = {0};
  long long as_of = 0;
  snprintf(mine, sizeof mine, "mine%d", i);
  snprintf(name, sizeof name, "series%d", i);
  long long v = counter_of(text, mine, &as_of);
  bool good = is_between(v / 3, p->done, p->begun) && v % 3 == 0 && as_of == -1 && series_of(text, name, &s);
  good &= is_between((long long)s.count, p->done, p->begun) && s.dropped == 0 && strcmp(s.whole, "whole") == 0;
  good &= s.count == 0 || (s.min == 0 && s.max == (double)(s.count - 1));
  t->wrong += !good;
  t->quiet += p->begun == p->done;
  if (s.count > t->most) t->most = s.count;
  if (!good)
    printf("# %s: %lld by 3, %llu elements to %g (%s), of %llu to %llu\n", mine, v, s.count, s.max, s.whole,
           (unsigned long long)p->done, (unsigned long long)p->begun);
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
  CHECK(t.wrong == 0, "%d processes are killed at random: what they counted and recorded is in their logs (%u wrong)",
        KILLS, t.wrong);
  CHECK(t.quiet > 0, "some of the threads were between rounds, and are told exactly (%u of %u)", t.quiet,
        THREADS * KILLS);
  CHECK(t.most > 2 * 4096 / sizeof(double), "recorders had several chunks (up to %llu elements)", t.most);
}

/* ---- every other end ---- */

static long long variable = 1;

static void end_by(const void *arg) {
  const char *how = arg;
  struct pml_sde_counter *c = counter("count");
  struct pml_recorder *r = recorder("series");
  (void)pml_sde_register(library(), "variable", PML_SDE_RO, PML_TYPE_INT64, &variable);
  (void)counter("untouched");
  (void)recorder("empty");
  for (int i = 0; i < 7; i++) {
    (void)pml_sde_increment(c, 5);
    (void)pml_recorder_push_double(r, i);
  }
  variable = 42;
  if (strcmp(how, "sampled") == 0) (void)pml_sde_log_sample(true);
  variable = 43;
  if (strcmp(how, "shutdown") == 0) (void)pml_sde_shutdown(library());
  end_as(strcmp(how, "shutdown") == 0 || strcmp(how, "sampled") == 0 ? "SIGKILL" : how);
}

static bool all_there(const char *text) {
  long long as_of;
  struct series s, empty;
  return counter_of(text, "count", &as_of) == 35 && as_of == -1 && counter_of(text, "untouched", &as_of) == 0 &&
         series_of(text, "series", &s) && s.count == 7 && s.min == 0 && s.max == 6 &&
         series_of(text, "empty", &empty) && empty.count == 0;
}

static void ends(void) {
  static const char *const how[] = {"SIGTERM", "SIGKILL", "_exit", "abort", "crash", "shutdown", "sampled"};
  long long as_of = -1;
  for (size_t i = 0; i < sizeof how / sizeof how[0]; i++) {
    if (!can_crash(how[i])) continue;
    char *text = log_of(child_of(end_by, how[i]), 1);
    long long v = counter_of(text, "variable", &as_of);
    CHECK(all_there(text) && has(text, "\nended\tunknown\n"), "%s: what was counted and recorded is in the log",
          how[i]);
    if (strcmp(how[i], "sampled") == 0)
      CHECK(v == 42 && as_of >= 0, "a variable is there as of when it was sampled last");
    else if (strcmp(how[i], "shutdown") == 0)
      CHECK(v == 43 && as_of >= 0, "a variable is there as of when its library was shut down");
    else
      CHECK(v == -9, "a variable that nobody sampled is not");
    free(text);
  }
  char *text = log_of(child_of(end_by, "exit"), 1);
  CHECK(all_there(text) && has(text, "\nended\texit\n") && counter_of(text, "variable", &as_of) == 43 && as_of >= 0,
        "exit: the same, and variables as of then");
  free(text);
  pid_t pid = child_of(end_by, "exec");
  char *first = log_of(pid, 1), *second = log_of(pid, 2);
  CHECK(all_there(first) && has(first, "\nended\tunknown\n") && all_there(second) && has(second, "\nended\texit\n"),
        "exec: each of the two programs has its log");
  free(first);
  free(second);
}

/* ---- children, resets, names that come again ---- */

struct making {
  pid_t (*make)(void);
  int to;
};

/* The child goes on from its parent's values, as without a log; its log has what it did itself. */
static void be_parent(const void *arg) {
  const struct making *m = arg;
  struct pml_sde_counter *c = counter("count"), *reset = counter("reset");
  struct pml_recorder *r = recorder("series");
  for (int i = 0; i < 600; i++) {
    (void)pml_sde_increment(c, 1);
    (void)pml_recorder_push_double(r, i);
  }
  (void)pml_sde_increment(reset, 9);
  pid_t child = m->make();
  if (child == 0) {
    double middle = 0, all[700];
    bool good = pml_sde_counter_read(c) == 600 && pml_recorder_count(r) == 600;
    for (int i = 0; i < 3; i++) {
      (void)pml_sde_increment(c, 1);
      (void)pml_recorder_push_double(r, 1000);
    }
    (void)pml_sde_counter_reset(reset);
    (void)pml_sde_increment(reset, 4);
    good &= pml_sde_counter_read(c) == 603 && pml_recorder_count(r) == 603 && pml_sde_counter_read(reset) == 4;
    good &= pml_recorder_value(r, 1, &middle) == 0 && middle == 1000 && pml_recorder_copy(r, 0, all, 700) == 603;
    if (write(m->to, &good, sizeof good) != (ssize_t)sizeof good) _exit(94);
    raise(SIGKILL);
  }
  waitpid(child, NULL, 0);
  (void)pml_sde_increment(c, 1);
  (void)pml_recorder_push_double(r, 2000);
  if (write(m->to, &child, sizeof child) != (ssize_t)sizeof child) _exit(94);
  raise(SIGKILL);
}

static void one_child(const struct way *w) {
  int to[2];
  pid_t child = 0;
  bool good = false;
  long long as_of;
  struct series s;
  if (pipe(to) < 0) return;
  pid_t parent = child_of(be_parent, &(struct making){w->make, to[1]});
  close(to[1]);
  bool told = read(to[0], &good, sizeof good) == (ssize_t)sizeof good &&
              read(to[0], &child, sizeof child) == (ssize_t)sizeof child;
  close(to[0]);
  char *theirs = log_of(parent, 1), *its = log_of(child, 1);
  CHECK(told && good, "a child by %s reads what its parent had, and goes on from there", w->name);
  CHECK(counter_of(theirs, "count", &as_of) == 601 && counter_of(theirs, "reset", &as_of) == 9 &&
            series_of(theirs, "series", &s) && s.count == 601 && s.max == 2000,
        "the parent's log has the parent's");
  CHECK(counter_of(its, "count", &as_of) == 3 && counter_of(its, "reset", &as_of) == 4 &&
            series_of(its, "series", &s) && s.count == 3 && s.min == 1000 && s.max == 1000,
        "and the child's what it did itself");
  free(theirs);
  free(its);
}

static void children(void) {
  for (size_t i = 0; i < WAYS; i++)
    if (is_known(&ways[i])) one_child(&ways[i]);
}

static void be_reset(const void *arg) {
  (void)arg;
  struct pml_sde_counter *c = counter("count");
  struct pml_recorder *r = recorder("series");
  for (int i = 0; i < 1000; i++) {
    (void)pml_sde_increment(c, 1);
    (void)pml_recorder_push_double(r, i);
  }
  (void)pml_sde_counter_reset(c);
  pml_recorder_reset(r);
  (void)pml_sde_increment(c, 2);
  (void)pml_recorder_push_double(r, -1);
  for (int i = 0; i < 5; i++) {
    (void)pml_sde_increment(counter("again"), 1);
    (void)pml_recorder_push_double(recorder("series again"), i);
    (void)pml_sde_unregister(library(), "again");
    (void)pml_sde_unregister(library(), "series again");
  }
  raise(SIGKILL);
}

static void others(void) {
  long long as_of;
  struct series s;
  char *text = log_of(child_of(be_reset, NULL), 1);
  CHECK(counter_of(text, "count", &as_of) == 2 && series_of(text, "series", &s) && s.count == 1 && s.max == -1,
        "what is of before a reset is not told");
  const char *first = text != NULL ? strstr(text, "\ncounter\tENDS::again\t") : NULL;
  CHECK(counter_of(text, "again", &as_of) == 1 && first != NULL && !has(first + 1, "\ncounter\tENDS::again\t"),
        "of a name that was given several times, the last is told");
  CHECK(has(text, "\nrecorder\tENDS::series again\t1\t0\twhole\t0\t4\t"), "of recorders, too");
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
