/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/workload_loop.c - the bare loop: hits, full samples, failing operations, and the cost of a real read. */
#include "workload.h"

static void real_read(struct workload *l) {
  const char *const names[] = {"perf::TASK-CLOCK"};
  struct pml_eventset *set;
  int (*open_set)(struct pml_eventset **, const char *const *, size_t, const struct pml_eventset_options *) = NULL;
  void (*close_set)(struct pml_eventset *) = NULL;
  *(void **)&open_set = dlsym(l->so, "pml_eventset_open");
  *(void **)&close_set = dlsym(l->so, "pml_eventset_close");
  if (!CHECK(open_set && close_set, "the library has event sets")) return;
  if (open_set(&set, names, 1, NULL) != 0) {
    SKIP("perf::TASK-CLOCK does not open here");
    return;
  }
  workload_set(l, "n", 100);
  CHECK(workload_go(l, set) == 0, "it reads a real counter 100 times: %s", l->run.error);
  uint64_t first = l->probe[0].values[0];
  CHECK(first > 0, "and the counter counted (%llu ns)", (unsigned long long)first);
  CHECK(workload_go(l, set) == 0 && l->probe[0].values[0] > first, "on and on");
  close_set(set);
}

int main(void) {
  struct workload l;
  if (!workload_open(&l, "loop", 500)) return check_done();

  workload_set(&l, "n", 300);
  CHECK(workload_go(&l, NULL) == 0, "300 hits: %s", l.run.error);
  CHECK(l.samples[0].n == 300 && l.probe[0].skipped == 0, "leave 300 samples");
  workload_phases_in_order(&l, 1);

  workload_set(&l, "n", 800);
  CHECK(workload_go(&l, NULL) == 0 && l.samples[0].n == 500 && l.probe[0].skipped == 300,
        "hits beyond the capacity are skipped and counted");
  workload_refuses(&l, "n");
  workload_stops(&l);

  workload_set(&l, "n", 100);
  l.run.phase = NULL;
  CHECK(workload_go(&l, NULL) == 0, "100 hits");
  l.samples[0].n = 0;
  l.probe[0].operation = workload_failing_operation;
  CHECK(l.w->run(&l.run) == -EIO && *l.run.error, "a failing operation ends the run: %s", l.run.error);
  real_read(&l);
  workload_close(&l);
  return check_done();
}
