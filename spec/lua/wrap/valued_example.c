/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/lua/wrap/valued_example.c - calls with known values, on three threads and in a child that ends by SIGKILL. The
 * threads take turns, because recorders count the values of the whole process: calls at the same time would count for
 * each other.
 */
#include "valued.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void *work(void *arg) {
  for (int i = 1; i <= 10; i++) (void)valued_mix(i - 4, 0.5 * i, i % 2 != 0 ? "abc" : "bcd");
  return arg;
}

int main(void) {
  pthread_t thread;
  for (int i = 0; i < 2; i++)
    if (pthread_create(&thread, NULL, work, NULL) != 0 || pthread_join(thread, NULL) != 0) return 1;
  (void)work(NULL);
  for (int i = 0; i < 4; i++) (void)valued_next(LONG_MAX - 1); /* their sum is no long */
  pid_t child = fork();
  if (child == 0) {
    (void)work(NULL);
    raise(SIGKILL);
  }
  if (child < 0 || waitpid(child, NULL, 0) != child) return 2;
  return puts("done") < 0;
}
