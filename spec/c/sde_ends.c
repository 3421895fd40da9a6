/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/sde_ends.c - whatever ends a process, its log has what created counters counted and recorders recorded.
 *
 * Children are killed at random points. Each thread of a child writes into a pipe how far it is about to go, and how
 * far it went: what the log says lies between what was surely done and what was begun, and where a thread was between
 * two rounds it is equal.
 */
#include "adapter/section/pml_section_file.h"
#include "base/pml_error.h"
#include "source/sde/pml_sde.h"

#include "check.h"
#include "sanitized.h"

#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef KILLS
#define KILLS 200
#endif
#define THREADS 2

static char dir[] = "/tmp/pmlua-sde-ends-XXXXXX", self[PATH_MAX];
static volatile int *volatile nothing;

/* ---- what a log says ---- */

static char *log_of(pid_t pid, int which) {
  char end[40], path[PATH_MAX];
  char *text = NULL;
  size_t length;
  snprintf(end, sizeof end, which == 1 ? ".%d.pmlog" : ".%d.%d.pmlog", (int)pid, which);
  DIR *d = opendir(dir);
  for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
    size_t n = strlen(e->d_name), m = strlen(end);
    if (n < m || strcmp(e->d_name + n - m, end) != 0) continue;
    snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
    if (pml_section_log_text(path, &text, &length) < 0) printf("# %s\n", pml_error_detail(PML_EFORMAT));
    unlink(path);
  }
  if (d != NULL) closedir(d);
  return text;
}

static bool has(const char *text, const char *part) {
  return text != NULL && strstr(text, part) != NULL;
}

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

struct progress {
  uint64_t begun, done;
};

struct worker {
  int pipe;
  unsigned seed;
  struct pml_sde_counter *mine, *shared;
  struct pml_recorder *series;
};

static void *work(void *arg) {
  struct worker *w = arg;
  struct progress p = {0};
  for (;;) {
    p.begun = p.done + 1 + (unsigned)rand_r(&w->seed) % 64;
    if (write(w->pipe, &p, sizeof p) != (ssize_t)sizeof p) break;
    for (; p.done < p.begun; p.done++) {
      (void)pml_sde_increment(w->mine, 3);
      (void)pml_sde_increment(w->shared, 1);
      (void)pml_recorder_push_double(w->series, (double)p.done);
    }
    if (write(w->pipe, &p, sizeof p) != (ssize_t)sizeof p) break;
  }
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

static void be_killed(const int *pipe, unsigned seed) {
  static const char *const mine[THREADS] = {"mine0", "mine1"}, *const series[THREADS] = {"series0", "series1"};
  static struct worker w[THREADS];
  pthread_t thread;
  setenv("PMLUA_REPORT", dir, 1);
  for (int i = 0; i < THREADS; i++)
    w[i] = (struct worker){pipe[i], seed + (unsigned)i, counter(mine[i]), counter("shared"), recorder(series[i])};
  if (pthread_create(&thread, NULL, work, &w[1]) != 0) _exit(96);
  (void)work(&w[0]);
  _exit(95);
}

static bool read_progress(int fd, bool all, struct progress *p) {
  struct progress got;
  bool any = false;
  while (!(any && !all) && read(fd, &got, sizeof got) == (ssize_t)sizeof got) {
    *p = got;
    any = true;
  }
  return any;
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

static void kill_one(unsigned seed, struct tally *t) {
  int ends[THREADS][2], writers[THREADS];
  for (int i = 0; i < THREADS; i++) {
    if (pipe(ends[i]) < 0) {
      t->wrong++;
      return;
    }
    writers[i] = ends[i][1];
  }
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) be_killed(writers, seed);
  struct progress p[THREADS];
  for (int i = 0; i < THREADS; i++) {
    close(ends[i][1]);
    t->wrong += !read_progress(ends[i][0], false, &p[i]);
  }
  usleep((unsigned)rand_r(&seed) % 3000);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  char *text = log_of(child, 1);
  uint64_t begun = 0, done = 0;
  long long as_of;
  for (int i = 0; i < THREADS; i++) {
    (void)read_progress(ends[i][0], true, &p[i]);
    close(ends[i][0]);
    check_thread(text, i, &p[i], t);
    begun += p[i].begun;
    done += p[i].done;
  }
  t->wrong += !is_between(counter_of(text, "shared", &as_of), done, begun);
  free(text);
}

static void kills(void) {
  struct tally t = {0};
  for (unsigned i = 0; i < KILLS; i++) kill_one(i * 7919u + 1, &t);
  CHECK(t.wrong == 0, "%d processes are killed at random: what they counted and recorded is in their logs (%u wrong)",
        KILLS, t.wrong);
  CHECK(t.quiet > 0, "some of the threads were between rounds, and are told exactly (%u of %u)", t.quiet,
        THREADS * KILLS);
  CHECK(t.most > 2 * 4096 / sizeof(double), "recorders had several chunks (up to %llu elements)", t.most);
}

/* ---- every other end ---- */

static long long variable = 1;

static void end_by(const char *how) {
  struct pml_sde_counter *c = counter("count");
  struct pml_recorder *r = recorder("series");
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
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
  if (strcmp(how, "SIGTERM") == 0) raise(SIGTERM);
  if (strcmp(how, "SIGKILL") == 0 || strcmp(how, "sampled") == 0) raise(SIGKILL);
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "crash") == 0) *nothing = 1;
  if (strcmp(how, "exec") == 0) execl(self, self, "exit", (char *)NULL);
  if (strcmp(how, "shutdown") == 0) (void)pml_sde_shutdown(library());
  if (strcmp(how, "shutdown") == 0) raise(SIGKILL);
  if (strcmp(how, "exit") == 0) exit(0);
  _exit(0);
}

static pid_t ended_by(const char *how) {
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    setenv("PMLUA_REPORT", dir, 1);
    end_by(how);
  }
  waitpid(child, NULL, 0);
  return child;
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
    if (SANITIZED && strcmp(how[i], "crash") == 0) {
      SKIP("a sanitizer ends a program that crashes in its own way");
      continue;
    }
    char *text = log_of(ended_by(how[i]), 1);
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
  char *text = log_of(ended_by("exit"), 1);
  CHECK(all_there(text) && has(text, "\nended\texit\n") && counter_of(text, "variable", &as_of) == 43 && as_of >= 0,
        "exit: the same, and variables as of then");
  free(text);
  pid_t pid = ended_by("exec");
  char *first = log_of(pid, 1), *second = log_of(pid, 2);
  CHECK(all_there(first) && has(first, "\nended\tunknown\n") && all_there(second) && has(second, "\nended\texit\n"),
        "exec: each of the two programs has its log");
  free(first);
  free(second);
}

/* ---- children, resets, names that come again ---- */

static pid_t by_fork(void) {
  return fork();
}
static pid_t by_Fork(void) {
  return _Fork();
}
static pid_t by_clone(void) {
  return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

/* The child goes on from its parent's values, as without a log; its log has what it did itself. */
static void be_parent(pid_t (*make)(void), int to) {
  struct pml_sde_counter *c = counter("count"), *reset = counter("reset");
  struct pml_recorder *r = recorder("series");
  for (int i = 0; i < 600; i++) {
    (void)pml_sde_increment(c, 1);
    (void)pml_recorder_push_double(r, i);
  }
  (void)pml_sde_increment(reset, 9);
  pid_t child = make();
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
    if (write(to, &good, sizeof good) != (ssize_t)sizeof good) _exit(94);
    raise(SIGKILL);
  }
  waitpid(child, NULL, 0);
  (void)pml_sde_increment(c, 1);
  (void)pml_recorder_push_double(r, 2000);
  if (write(to, &child, sizeof child) != (ssize_t)sizeof child) _exit(94);
  raise(SIGKILL);
}

static void one_child(const char *name, pid_t (*make)(void)) {
  int to[2];
  pid_t child = 0;
  bool good = false;
  long long as_of;
  struct series s;
  if (pipe(to) < 0) return;
  fflush(stdout);
  pid_t parent = fork();
  if (parent == 0) {
    setenv("PMLUA_REPORT", dir, 1);
    be_parent(make, to[1]);
  }
  waitpid(parent, NULL, 0);
  close(to[1]);
  bool told = read(to[0], &good, sizeof good) == (ssize_t)sizeof good &&
              read(to[0], &child, sizeof child) == (ssize_t)sizeof child;
  close(to[0]);
  char *theirs = log_of(parent, 1), *its = log_of(child, 1);
  CHECK(told && good, "a child by %s reads what its parent had, and goes on from there", name);
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
  one_child("fork", by_fork);
  if (SANITIZED) {
    SKIP("a sanitizer does not know of children that fork() did not make");
    return;
  }
  one_child("_Fork", by_Fork);
  one_child("the system call clone", by_clone);
}

static void be_reset(void) {
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
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    setenv("PMLUA_REPORT", dir, 1);
    be_reset();
  }
  waitpid(child, NULL, 0);
  char *text = log_of(child, 1);
  CHECK(counter_of(text, "count", &as_of) == 2 && series_of(text, "series", &s) && s.count == 1 && s.max == -1,
        "what is of before a reset is not told");
  const char *first = text != NULL ? strstr(text, "\ncounter\tENDS::again\t") : NULL;
  CHECK(counter_of(text, "again", &as_of) == 1 && first != NULL && !has(first + 1, "\ncounter\tENDS::again\t"),
        "of a name that was given several times, the last is told");
  CHECK(has(text, "\nrecorder\tENDS::series again\t1\t0\twhole\t0\t4\t"), "of recorders, too");
  free(text);
}

int main(int argc, char **argv) {
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return 1;
  if (argc > 1) end_by(argv[1]);
  if (mkdtemp(dir) == NULL) return 1;
  kills();
  ends();
  children();
  others();
  return rmdir(dir) == 0 ? check_done() : 1;
}
