/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/intercept/ways.h - threads, contexts and processes that begin or end inside calls of the library. */
#ifndef WAYS_H
#define WAYS_H

#include "library.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

/* Ten seconds at most: pthread_cancel() ends it. @arg: an int, which tells that it waits. */
static inline int ways_wait(void *arg) {
  __atomic_store_n((int *)arg, 1, __ATOMIC_RELEASE);
  for (int i = 0; i < 1000; i++) usleep(10000);
  return 0;
}

/* How a thread ends that runs @f, and is cancelled when that waits, which *@waits tells. */
static inline void *ways_cancel(void *(*f)(void *waits), int *waits) {
  pthread_t t;
  void *end = NULL;
  pthread_create(&t, NULL, f, waits);
  for (int i = 0; i < 1000 && __atomic_load_n(waits, __ATOMIC_ACQUIRE) == 0; i++) usleep(10000);
  pthread_cancel(t);
  pthread_join(t, &end);
  return end;
}

static ucontext_t ways_main, ways_context[2];
static int (*ways_inside)(void *context);
static int ways_sum;

static inline void ways_give_way(void *context) {
  swapcontext(context, &ways_main);
}
static void ways_coroutine(int which) {
  ways_sum += lib_back(ways_inside, &ways_context[which]);
}

/* Not inlined, because the compiler assumes that getcontext() may return twice. */
__attribute__((noinline)) static void ways_prepare(int which) {
  static char stack[2][256 * 1024];
  ucontext_t *c = &ways_context[which];
  getcontext(c);
  c->uc_stack.ss_sp = stack[which];
  c->uc_stack.ss_size = sizeof stack[which];
  c->uc_link = &ways_main;
  makecontext(c, (void (*)(void))(uintptr_t)ways_coroutine, 1, which);
}

/*
 * Two contexts call lib_back(@inside), which gives way three times; they take turns, and after each of the eight there
 * is a call of lib_nothing(). The sum of what lib_back() returned.
 */
static inline int ways_take_turns(int (*inside)(void *context)) {
  ways_inside = inside;
  ways_sum = 0;
  for (int i = 0; i < 2; i++) ways_prepare(i);
  for (int round = 0; round < 4; round++)
    for (int i = 0; i < 2; i++) {
      swapcontext(&ways_main, &ways_context[i]);
      lib_nothing();
    }
  return ways_sum;
}

static inline int ways_forks(void *arg) {
  (void)arg;
  return (int)fork();
}

/* Whether @child was so in the child of a fork inside lib_back(). */
static inline bool ways_fork(bool (*child)(void)) {
  int status = 0;
  fflush(stdout);
  int pid = lib_back(ways_forks, NULL) - 1;
  if (pid == 0) _exit(child() ? 3 : 4);
  waitpid(pid, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 3;
}

#endif
