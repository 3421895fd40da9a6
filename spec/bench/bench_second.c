/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/bench/bench_second.c - a second thread that runs the same batches on another cpu. */
#include "bench.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static struct {
  pthread_t thread;
  atomic_bool end;
  bench_batch *batch;
  void *arg;
} second;

static void *run(void *arg) {
  while (!atomic_load_explicit(&second.end, memory_order_relaxed)) second.batch(second.arg, 64);
  return arg;
}

bool bench_second_start(bench_batch *batch, void *arg) {
  int here = sched_getcpu();
  atomic_store(&second.end, false);
  second.batch = batch;
  second.arg = arg;
  if (pthread_create(&second.thread, NULL, run, NULL) != 0) return false;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    if (cpu != here && pthread_setaffinity_np(second.thread, sizeof one, &one) == 0) return true;
  }
  bench_second_stop();
  return false;
}

void bench_second_stop(void) {
  atomic_store(&second.end, true);
  pthread_join(second.thread, NULL);
}
