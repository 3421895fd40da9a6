/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/intercept/ways.h - ways out of calls of the library that are recorded, by interception or by wrappers:
 * exceptions, jumps, cancelled threads, contexts that take turns, processes. */
#ifndef WAYS_H
#define WAYS_H

#include "library.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

/* Every program that includes this header defines both: the second compares the calls of @name since forget(). */
static void forget(void);
static bool balanced(const char *name, int n);

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

/* ---- claims; @guarded: calls of lib_guard() are recorded ---- */

#ifndef WITHOUT_CPLUSPLUS
static int ways_throws(void *arg) {
  return lib_recursive(3) + lib_throw(*(int *)arg);
}
static int ways_guards(void *arg) {
  static int seven = 7;
  return lib_guard(ways_throws, &seven, arg);
}

/* @recursions: the recorded ones of lib_recursive(3). */
static void ways_exceptions(bool guarded, int recursions) {
  int cleaned = 0, none = 0;
  forget();
  CHECK(lib_catch(ways_guards, &cleaned) == 1007 && cleaned == 1,
        "an exception passes through recorded calls: their destructors run, the handler gets it");
  CHECK(lib_catch(ways_throws, &none) == 4, "and where none is thrown the result is returned");
  lib_nothing();
  CHECK(balanced("lib_catch", 2) && (!guarded || balanced("lib_guard", 1)) && balanced("lib_throw", 2) &&
            balanced("lib_recursive", 2 * recursions),
        "calls that an exception ended have their leave with the next event");
}
#else
static void ways_exceptions(bool guarded, int recursions) {
  (void)guarded, (void)recursions;
  SKIP("exceptions: there is no C++ compiler for this machine");
}
#endif

static jmp_buf ways_out;
static int ways_jumps(void *arg) {
  (void)arg;
  longjmp(ways_out, 5);
}
static int ways_jumps_guarded(void *arg) {
  int cleaned = 0;
  return lib_guard(ways_jumps, arg, &cleaned);
}
static int ways_jumps_deeper(void *arg) {
  return lib_back(ways_jumps_guarded, arg);
}

static void ways_jumping(bool guarded) {
  volatile int times = 0;
  forget();
  for (volatile int i = 0; i < 100; i++)
    if (setjmp(ways_out) == 0)
      lib_back(ways_jumps_deeper, NULL);
    else
      times++;
  lib_nothing();
  CHECK(times == 100 && balanced("lib_back", 200) && balanced("lib_nothing", 1) &&
            (!guarded || balanced("lib_guard", 100)),
        "longjmp out of recorded calls: they have their leaves with the next event");
}

static int ways_waits_guarded(void *arg) {
  int *at = arg;
  return lib_guard(ways_wait, &at[0], &at[1]);
}
static void *ways_cancelled(void *arg) {
  lib_back(ways_waits_guarded, arg);
  return NULL;
}
/* @left: unwinding gives the calls their leaves, as it does in wrappers. */
static void ways_cancelling(bool left) {
  int at[2] = {0, 0};
  forget();
  void *end = ways_cancel(ways_cancelled, at);
  CHECK(end == PTHREAD_CANCELED && at[1] == 1 && (!left || balanced("lib_back", 1)),
        "a thread is cancelled inside recorded calls, and what they leave is cleaned up");
}

static int ways_gives_way(void *context) {
  for (int i = 0; i < 3; i++) {
    lib_nothing();
    ways_give_way(context);
  }
  return 41;
}
static void ways_contexts(void) {
  forget();
  CHECK(ways_take_turns(ways_gives_way) == 2 * 42 && balanced("lib_back", 2) && balanced("lib_nothing", 8 + 6),
        "two contexts that take turns inside recorded calls return each to its own caller");
}

#endif
