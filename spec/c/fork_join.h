/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/fork_join.h - a library whose fork handler waits for its own threads, as OpenBLAS's does.
 *
 * Its handler runs within fork() after those that were registered later: a lock that one of them took, and that a
 * thread of the library wants at its end, is waited for by both for ever.
 */
#ifndef FORK_JOIN_H
#define FORK_JOIN_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

enum { JOINED = 3, FORK_SECONDS = 20 };

static struct {
  void (*use)(void);
  pthread_t thread[JOINED];
  pthread_barrier_t used;
  atomic_bool end;
  bool running;
} joining;

static void *joined(void *unused) {
  joining.use();
  pthread_barrier_wait(&joining.used);
  while (!atomic_load(&joining.end)) usleep(200);
  joining.use();
  return unused;
}

static void join_all(void) {
  if (!joining.running) return;
  atomic_store(&joining.end, true);
  for (int i = 0; i < JOINED; i++) pthread_join(joining.thread[i], NULL);
  joining.running = false;
}

/* Registered before any constructor, because the first handler registered runs last, when other handlers hold their
 * locks. Libraries that a program is linked with may be as early. */
static void join_early(void) {
  (void)pthread_atfork(join_all, NULL, NULL);
}
__attribute__((section(".preinit_array"), used)) static void (*const join_first)(void) = join_early;

/* Threads that have called @use, call it again within the next fork, and end there. */
static void start_joined(void (*use)(void)) {
  joining.use = use;
  pthread_barrier_init(&joining.used, NULL, JOINED + 1);
  for (int i = 0; i < JOINED; i++) pthread_create(&joining.thread[i], NULL, joined, NULL);
  joining.running = true;
  pthread_barrier_wait(&joining.used);
}

static bool ends_well(pid_t child) {
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* Tested in a separate process: whether fork() returns, and parent and child can continue. A signal ends the process if
 * they cannot. */
static bool forks_with(void (*prepare)(void), void (*use)(void)) {
  pid_t tried = fork();
  if (tried != 0) return ends_well(tried);
  alarm(FORK_SECONDS);
  prepare();
  use();
  start_joined(use);
  pid_t child = fork();
  if (child == 0) alarm(FORK_SECONDS);
  use();
  _exit(child == 0 || ends_well(child) ? 0 : 1);
}

#endif
