/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/thread.c - ids of threads: unique, lasting, and new in a forked child. */
#include "base/pml_thread.h"
#include "check.h"

#define AT_ONCE 8
#define ROUNDS 16

struct sight {
  uint64_t before, id, again;
  pid_t tid, real;
};

static void *look(void *arg) {
  struct sight *s = arg;
  s->before = pml_thread_id();
  s->id = pml_thread_self()->id;
  s->tid = pml_thread_self()->tid;
  s->real = gettid();
  s->again = pml_thread_id();
  return NULL;
}

static void main_thread(void) {
  CHECK(pml_thread_id() == 0, "a thread that never registered has id 0");
  struct pml_thread *self = pml_thread_self();
  uint64_t id = self->id;
  CHECK(id != 0 && self->tid == gettid() && pml_thread_self() == self && self->id == id && pml_thread_id() == id,
        "pml_thread_self registers it with the kernel's number, and the id stays");
}

static int by_id(const void *a, const void *b) {
  const struct sight *x = a, *y = b;
  return (x->id > y->id) - (x->id < y->id);
}

static void many_threads(void) {
  static struct sight seen[AT_ONCE * ROUNDS + 1];
  size_t n = 0;
  for (int r = 0; r < ROUNDS; r++) {
    pthread_t t[AT_ONCE];
    int started = 0;
    while (started < AT_ONCE && pthread_create(&t[started], NULL, look, &seen[n + (size_t)started]) == 0) started++;
    for (int i = 0; i < started; i++) pthread_join(t[i], NULL);
    n += (size_t)started;
  }
  CHECK(n == AT_ONCE * ROUNDS, "%d threads ran, %d at once", AT_ONCE * ROUNDS, AT_ONCE);
  unsigned wrong = 0;
  for (size_t i = 0; i < n; i++) {
    wrong += seen[i].before != 0 || seen[i].id == 0 || seen[i].again != seen[i].id || seen[i].tid != seen[i].real;
  }
  seen[n++] = (struct sight){.id = pml_thread_id()};
  qsort(seen, n, sizeof seen[0], by_id);
  for (size_t i = 1; i < n; i++) wrong += seen[i].id == seen[i - 1].id;
  CHECK(wrong == 0, "each gets an id and its own tid, and no id is given twice, not even after a thread's end (%u)",
        wrong);
}

/* The results of a forked child, passed through a pipe. */
struct child {
  uint64_t id, grandchild_id;
  pid_t tid, real;
};

static bool fork_and_look(struct child *c, bool again) {
  int fd[2];
  if (pipe(fd) != 0) return false;
  pid_t pid = fork();
  if (pid == 0) {
    struct child mine = {.id = pml_thread_id(), .tid = pml__thread.tid, .real = gettid()}, below = {0};
    alarm(60);
    if (again && fork_and_look(&below, false)) mine.grandchild_id = below.id;
    _exit(write(fd[1], &mine, sizeof mine) == sizeof mine ? 0 : 1);
  }
  close(fd[1]);
  bool good = pid > 0 && read(fd[0], c, sizeof *c) == sizeof *c;
  close(fd[0]);
  return exit_of(pid) == 0 && good;
}

static void *fork_unregistered(void *arg) {
  struct child *c = arg;
  if (!fork_and_look(c, false)) c->id = UINT64_MAX;
  return NULL;
}

static void forks(void) {
  struct child c = {0};
  uint64_t ours = pml_thread_id();
  CHECK(fork_and_look(&c, true), "a child forks, looks, and forks again");
  CHECK(c.id != 0 && c.id != ours, "the child's thread has a new id");
  CHECK(c.tid == c.real && c.tid != gettid(), "and its own tid");
  CHECK(c.grandchild_id != 0 && c.grandchild_id != c.id && c.grandchild_id != ours, "so has the grandchild's");
  CHECK(pml_thread_id() == ours && pml_thread_self()->tid == gettid(), "the parent keeps its own");
  pthread_t t;
  c.id = UINT64_MAX;
  if (!CHECK(pthread_create(&t, NULL, fork_unregistered, &c) == 0, "a thread starts")) return;
  pthread_join(t, NULL);
  CHECK(c.id == 0, "the child of a thread that never registered is not registered");
}

int main(void) {
  CHECK_EACH(main_thread, many_threads, forks);
  return check_done();
}
