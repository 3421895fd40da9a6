/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/preload/record.c - the calls of a program that was never changed: LD_PRELOAD=libpmlua-record.so.
 *
 * PMLUA_RECORD_DIR: the folder for results, which must exist; without it nothing happens. PMLUA_RECORD_LIB, _SYM, _NOT:
 * patterns as in pml_intercept.h; _FILTER: a filter file. PMLUA_RECORD_TRACE=1: an OTF2 trace beside the profile.
 *
 * Each process leaves PID.calls, written when it exits, by a destructor, or calls _exit() or abort, by a copy of the
 * process: one that ends in a signal handler may hold any lock, and must end all the same. With a trace, trace-PID is
 * written all along by a thread of its own. What a process killed by a signal, or one that executes another program,
 * has recorded since is lost.
 */
#include "adapter/pml_intercept.h"
#include "base/pml_error.h"
#include "base/pml_stream.h"
#include "substrate/pml_otf2_stream.h"
#include "substrate/pml_profile.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RING 262144u
#define NAP_NS 10000000
#define PROGRAMS_MAX 1000u
#define PATIENCE 300 /* naps: how long an ending process waits for its results */

static struct {
  char dir[PATH_MAX - 64];
  pid_t pid; /* whose results these are: a child of vfork() has the memory, but not the pid */
  struct pml_profile *profile;
  struct pml_otf2 *archive;
  struct pml_otf2_stream *stream;
  int stop, done; /* atomic: for the thread that writes the trace */
  bool finished;
} record;

static void complain(const char *what, const char *why) {
  char line[PATH_MAX];
  int n = snprintf(line, sizeof line, "pmlua: record: %s: %s\n", what, why);
  if (n > 0 && write(STDERR_FILENO, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1) < 0) return;
}

/* ---- the profile ---- */

struct out {
  int fd, err;
  size_t n;
  char *(*demangle)(const char *name, char *buffer, size_t *n, int *status);
  char text[65536];
};

static void flush(struct out *o) {
  for (size_t at = 0; at < o->n && o->err == 0;) {
    ssize_t n = write(o->fd, o->text + at, o->n - at);
    if (n < 0 && errno != EINTR) o->err = errno;
    if (n > 0) at += (size_t)n;
  }
  o->n = 0;
}

static int add_node(const struct pml_profile_node *node, void *arg) {
  struct out *o = arg;
  struct pml_region_info info;
  if (pml_region_describe(node->region, &info) < 0) return 0;
  char *nice =
      o->demangle != NULL && strncmp(info.name, "_Z", 2) == 0 ? o->demangle(info.name, NULL, NULL, NULL) : NULL;
  if (o->n > sizeof o->text / 2) flush(o);
  int n = snprintf(o->text + o->n, sizeof o->text - o->n, "call\t%u\t%llu\t%u\t%u\t%.0f\t%.0f\t%.0f\t%.0f\t%s\t%s\n",
                   node->depth, (unsigned long long)node->count, node->running, node->nthreads, node->inclusive_ns,
                   node->exclusive_ns, node->min_ns, node->max_ns, info.file, nice != NULL ? nice : info.name);
  if (n > 0 && (size_t)n < sizeof o->text - o->n) o->n += (size_t)n;
  free(nice);
  return 0;
}

static void add_head(struct out *o) {
  struct pml_intercept_stats s;
  struct pml_profile_stats p;
  char program[PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
  program[n > 0 ? n : 0] = '\0';
  pml_intercept_stats(&s);
  pml_profile_stats(record.profile, &p);
  o->n =
      (size_t)snprintf(o->text, sizeof o->text,
                       "program\t%s\npid\t%d\nparent\t%d\nobjects\t%llu\nfunctions\t%llu\nslots\t%llu\nshared\t%llu\n"
                       "deep\t%llu\nnested\t%llu\nthreads\t%u\nunmatched\t%llu\ndropped\t%llu\nabandoned\t%llu\n",
                       program, (int)record.pid, (int)getppid(), (unsigned long long)s.objects,
                       (unsigned long long)s.functions, (unsigned long long)s.slots, (unsigned long long)s.shared,
                       (unsigned long long)s.deep, (unsigned long long)s.nested, p.threads,
                       (unsigned long long)p.unmatched, (unsigned long long)p.dropped, (unsigned long long)p.abandoned);
}

/* The @i-th result of this process, which may become several programs. */
static void name_result(char *path, size_t room, const char *kind, const char *end, unsigned i) {
  if (i == 1)
    snprintf(path, room, "%s/%s%d%s", record.dir, kind, (int)record.pid, end);
  else
    snprintf(path, room, "%s/%s%d-%u%s", record.dir, kind, (int)record.pid, i, end);
}

static int create(char *path, size_t room) {
  int fd = -1;
  for (unsigned i = 1; i < PROGRAMS_MAX && fd < 0; i++) {
    name_result(path, room, "", ".calls", i);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno != EEXIST) break;
  }
  return fd;
}

static void write_profile(void) {
  static struct out o;
  char path[PATH_MAX];
  o = (struct out){.fd = create(path, sizeof path)};
  if (o.fd < 0) {
    complain(path, strerror(errno));
    return;
  }
  *(void **)&o.demangle = dlsym(RTLD_DEFAULT, "__cxa_demangle");
  add_head(&o);
  int err = pml_profile_visit(record.profile, add_node, &o);
  flush(&o);
  if (err == 0 && o.err == 0 && write(o.fd, "end\n", 4) < 0) o.err = errno;
  if (close(o.fd) < 0 && o.err == 0) o.err = errno;
  if (err != 0 || o.err != 0) complain(path, o.err != 0 ? strerror(o.err) : pml_error_detail(err));
}

/* ---- the trace ---- */

static void nap(void) {
  static const struct timespec some = {0, NAP_NS};
  nanosleep(&some, NULL);
}

static void *keep_writing(void *arg) {
  (void)arg;
  while (__atomic_load_n(&record.stop, __ATOMIC_ACQUIRE) == 0) {
    nap();
    (void)pml_otf2_flush(record.archive);
  }
  pml_otf2_stream_close(record.stream);
  struct pml_otf2_stats s;
  pml_otf2_stats(record.archive, &s);
  int err = pml_otf2_close(record.archive);
  if (err < 0) complain("the trace", pml_error_detail(err));
  if (s.dropped > 0) complain("the trace", "it lacks calls that came faster than they could be written");
  write_profile();
  __atomic_store_n(&record.done, 1, __ATOMIC_RELEASE);
  return NULL;
}

static int start_trace(void) {
  char path[PATH_MAX];
  sigset_t all, before;
  pthread_t thread;
  record.archive = NULL;
  int made = -1;
  for (unsigned i = 1; i < PROGRAMS_MAX && made < 0; i++) {
    name_result(path, sizeof path, "trace-", "", i);
    made = mkdir(path, 0777);
    if (made < 0 && errno != EEXIST) break;
  }
  if (made < 0) return pml_fail(-errno, "%.400s: %s", path, strerror(errno));
  int err = pml_otf2_open(&record.archive, path, NULL, 0, RING);
  if (err == 0) err = pml_otf2_stream_open(&record.stream, record.archive);
  if (err < 0) return err;
  record.stop = record.done = 0;
  sigfillset(&all); /* the program's signals are for its own threads */
  pthread_sigmask(SIG_SETMASK, &all, &before);
  err = -pthread_create(&thread, NULL, keep_writing, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (err < 0) return pml_fail(err, "no thread to write the trace");
  pthread_detach(thread);
  return 0;
}

/* ---- the end ---- */

static bool begin_to_finish(void) {
  if (record.profile == NULL || record.pid != getpid()) return false;
  return !__atomic_exchange_n(&record.finished, true, __ATOMIC_ACQ_REL);
}

static void finish_trace(void) {
  __atomic_store_n(&record.stop, 1, __ATOMIC_RELEASE);
  for (int i = 0; i < PATIENCE && __atomic_load_n(&record.done, __ATOMIC_ACQUIRE) == 0; i++) nap();
}

__attribute__((destructor)) static void finish(void) {
  if (!begin_to_finish()) return;
  if (record.archive != NULL)
    finish_trace();
  else
    write_profile();
}

/* A copy of the process writes; should it find a lock taken, it is given up. It tells the parent nothing. */
static void finish_in_a_copy(void) {
  int status;
  if (!begin_to_finish()) return;
  if (record.archive != NULL) {
    finish_trace();
    return;
  }
  pid_t pid = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
  if (pid == 0) {
    write_profile();
    (void)syscall(SYS_exit_group, 0);
  }
  for (int i = 0; pid > 0 && i < PATIENCE && waitpid(pid, &status, (int)__WCLONE | WNOHANG) == 0; i++) {
    nap();
    if (i + 1 == PATIENCE) (void)kill(pid, SIGKILL);
  }
}

PML_API void _exit(int status);
PML_API void _Exit(int status);
PML_API void pml__record_abort(void) __asm__("abort");

PML_API void _exit(int status) {
  finish_in_a_copy();
  for (;;) (void)syscall(SYS_exit_group, status);
}

PML_API void _Exit(int status) {
  _exit(status);
}

PML_API void pml__record_abort(void) {
  void (*real)(void);
  finish_in_a_copy();
  *(void **)&real = dlsym(RTLD_NEXT, "abort");
  if (real != NULL) real();
  for (;;) (void)raise(SIGKILL);
}

/* ---- the beginning ---- */

static bool wants_trace(void) {
  const char *trace = getenv("PMLUA_RECORD_TRACE");
  return trace != NULL && strcmp(trace, "1") == 0;
}

static int start(void) {
  record.pid = getpid();
  record.finished = false;
  record.archive = NULL;
  int err = pml_profile_open(&record.profile);
  if (err == 0 && wants_trace()) err = start_trace();
  return err;
}

/* The child's calls are its own; the parent's trace is left to the parent. */
static void start_in_child(void) {
  pml_profile_close(record.profile);
  int err = start();
  if (err < 0) complain("the child of a fork", pml_error_detail(err));
}

__attribute__((constructor)) static void start_in_program(void) {
  const char *dir = getenv("PMLUA_RECORD_DIR");
  struct pml_intercept_options o = {getenv("PMLUA_RECORD_LIB"), getenv("PMLUA_RECORD_SYM"), getenv("PMLUA_RECORD_NOT"),
                                    getenv("PMLUA_RECORD_FILTER")};
  if (dir == NULL || dir[0] == '\0' || strlen(dir) >= sizeof record.dir) return;
  int saved = errno;
  memcpy(record.dir, dir, strlen(dir) + 1);
  int err = start();
  if (err == 0) err = -pthread_atfork(NULL, NULL, start_in_child);
  if (err == 0) err = pml_intercept_install(&o);
  if (err < 0) complain("nothing is recorded", pml_error_detail(err));
  errno = saved;
}
