/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/programs/calls.c - call a function of a library many times, and print the time of a call.
 *
 * calls THREADS BATCHES CALLS [MODE]: each thread, on a separate cpu if there are enough, makes BATCHES batches of
 * CALLS calls after a discarded first batch, and prints a line per batch: nanoseconds per call. MODE clocks: two
 * clock reads around each call; install: the preloaded libpmlua intercepts calls, without a consumer.
 */
#include "calls.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS_MAX 64

static struct {
  long threads, batches, calls;
  bool clocks;
  pthread_barrier_t start;
} job;

struct worker {
  pthread_t thread;
  long number;
  double *ns; /* [batches] per call */
  uint64_t made, sum, spent;
};

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void call(struct worker *w) {
  uint64_t x = w->sum;
  for (long i = 0; i < job.calls; i++) x = calls_work(x);
  w->sum = x;
}

static void call_between_clocks(struct worker *w) {
  uint64_t x = w->sum, spent = 0;
  for (long i = 0; i < job.calls; i++) {
    uint64_t start = calls_clock();
    x = calls_work(x);
    spent += calls_clock() - start;
  }
  w->sum = x;
  w->spent += spent;
}

/* Pin the thread to the allowed cpu with its number, if there are enough. */
static void pin(long number) {
  cpu_set_t all, one;
  if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < job.threads) return;
  for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (!CPU_ISSET(cpu, &all) || number-- > 0) continue;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    (void)sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

static void *work(void *arg) {
  struct worker *w = arg;
  pin(w->number);
  for (long b = -1; b < job.batches; b++) {
    if (b == 0) pthread_barrier_wait(&job.start);
    double start = now_ns();
    if (job.clocks)
      call_between_clocks(w);
    else
      call(w);
    if (b >= 0) w->ns[b] = (now_ns() - start) / (double)job.calls;
    w->made += (uint64_t)job.calls;
  }
  return NULL;
}

/* The third number, in the order of struct pml_intercept_stats, is the number of replaced slots. */
static int install(void) {
  int (*take)(const void *options);
  void (*stats)(uint64_t * numbers);
  uint64_t numbers[64] = {0};
  *(void **)&take = dlsym(RTLD_DEFAULT, "pml_intercept_install");
  *(void **)&stats = dlsym(RTLD_DEFAULT, "pml_intercept_stats");
  if (take == NULL || stats == NULL) return fprintf(stderr, "calls: libpmlua is not preloaded\n"), 1;
  int err = take(NULL);
  if (err < 0) return fprintf(stderr, "calls: pml_intercept_install: error %d\n", err), 1;
  stats(numbers);
  return numbers[2] == 0 ? fprintf(stderr, "calls: no call is intercepted\n"), 1 : 0;
}

static long number(const char *text, long most) {
  char *end;
  long n = text != NULL ? strtol(text, &end, 10) : 0;
  return n >= 1 && n <= most && *end == '\0' ? n : 0;
}

static int run(struct worker *workers) {
  for (long i = 0; i < job.threads; i++) {
    struct worker *w = &workers[i];
    w->number = i;
    w->ns = calloc((size_t)job.batches, sizeof *w->ns);
    if (w->ns == NULL || pthread_create(&w->thread, NULL, work, w) != 0)
      return fprintf(stderr, "calls: no thread %ld\n", i), 1;
  }
  for (long i = 0; i < job.threads; i++) (void)pthread_join(workers[i].thread, NULL);
  for (long i = 0; i < job.threads; i++) {
    if (workers[i].sum != workers[i].made) return fprintf(stderr, "calls: a call was lost\n"), 1;
    for (long b = 0; b < job.batches; b++) printf("%.4f\n", workers[i].ns[b]);
    free(workers[i].ns);
  }
  return 0;
}

int main(int argc, char **argv) {
  static struct worker workers[THREADS_MAX];
  const char *mode = argc > 4 ? argv[4] : "";
  job.threads = number(argc > 1 ? argv[1] : NULL, THREADS_MAX);
  job.batches = number(argc > 2 ? argv[2] : NULL, 1000000);
  job.calls = number(argc > 3 ? argv[3] : NULL, 1000000000);
  job.clocks = strcmp(mode, "clocks") == 0;
  if (job.threads == 0 || job.batches == 0 || job.calls == 0)
    return fprintf(stderr, "usage: calls THREADS BATCHES CALLS [clocks|install]\n"), 2;
  if (strcmp(mode, "install") == 0 && install() != 0) return 1;
  pthread_barrier_init(&job.start, NULL, (unsigned)job.threads);
  return run(workers);
}
