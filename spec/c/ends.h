/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/ends.h - what specs share that end processes in many ways and read the logs that these leave.
 *
 * A process that is killed at random has threads that write into a pipe how far they are about to go, and how far they
 * went: what its log says lies between what was surely done and what was begun, and where a thread was between two
 * rounds it is equal.
 */
#ifndef SPEC_ENDS_H
#define SPEC_ENDS_H

#include "adapter/section/pml_section_file.h"
#include "base/pml_error.h"

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

/* Make the folder; a program that exec made ends by @end, as it was told. */
static inline bool ends_begin(int argc, char **argv, void (*end)(const void *how)) {
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return false;
  if (argc > 1) end(argv[1]);
  return mkdtemp(dir) != NULL;
}

static inline int ends_done(void) {
  return rmdir(dir) == 0 ? check_done() : 1;
}

/* ---- what a log says ---- */

/* The text of the log of process @pid in the folder, which goes away; @which: 1 is its first. NULL: there is none. */
static inline char *log_of(pid_t pid, int which) {
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

static inline bool has(const char *text, const char *part) {
  return text != NULL && strstr(text, part) != NULL;
}

/* ---- children ---- */

/* A child that has a log and does @be, which ends it; its pid, when it is gone. */
static inline pid_t child_of(void (*be)(const void *arg), const void *arg) {
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

static inline void end_as(const char *how) {
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

/* Whether a sanitizer lets a process end so, or knows children that were made so; if not, that is skipped. */
static inline bool can_crash(const char *how) {
  if (!SANITIZED || strcmp(how, "crash") != 0) return true;
  SKIP("a sanitizer ends a program that crashes in its own way");
  return false;
}

static inline pid_t by_fork(void) {
  return fork();
}
static inline pid_t by_Fork(void) {
  return _Fork();
}
static inline pid_t by_clone(void) {
  return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static const struct way {
  const char *name;
  pid_t (*make)(void);
} ways[] = {{"fork", by_fork}, {"_Fork", by_Fork}, {"the system call clone", by_clone}};
#define WAYS (sizeof ways / sizeof ways[0])

static inline bool is_known(const struct way *w) {
  if (!SANITIZED || w->make == by_fork) return true;
  SKIP("a sanitizer does not know of children that fork() did not make");
  return false;
}

/* ---- children that are killed at random ---- */

struct progress {
  uint64_t begun, done;
};

/* Rounds of @step without end, each told to the pipe @to. */
static inline void rounds(int to, unsigned seed, void (*step)(void *arg, uint64_t i), void *arg) {
  struct progress p = {0};
  for (;;) {
    p.begun = p.done + 1 + (unsigned)rand_r(&seed) % 64;
    if (write(to, &p, sizeof p) != (ssize_t)sizeof p) return;
    for (; p.done < p.begun; p.done++) step(arg, p.done);
    if (write(to, &p, sizeof p) != (ssize_t)sizeof p) return;
  }
}

/* One more, and, if they are wanted, all that follow. */
static inline bool read_progress(int fd, bool all, struct progress *p) {
  struct progress got;
  bool any = false;
  while (!(any && !all) && read(fd, &got, sizeof got) == (ssize_t)sizeof got) {
    *p = got;
    any = true;
  }
  return any;
}

struct killed {
  char *text; /* of the log, to be freed */
  struct progress p[THREADS];
  unsigned wrong; /* threads that told nothing */
};

/* A child does @be, whose threads write into @to, until it is killed some time after each of them has begun. */
static inline struct killed kill_one(void (*be)(const int *to, unsigned seed), unsigned seed) {
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

#endif
