/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/workload_memory.c - memory as a workload, and the bare loop: where they are probed, what they read and write.
 */
#include "workload.h"

#include <sched.h>
#include <sys/resource.h>

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

static void loop(void) {
  struct workload l;
  if (!workload_open(&l, "loop", 500)) return;

  workload_set(&l, "n", 300);
  CHECK(workload_go(&l, NULL) == 0, "300 hits: %s", l.run.error);
  CHECK(l.samples[0].n == 300 && l.probe[0].skipped == 0, "leave 300 samples");
  workload_phases_in_order(&l, 1);

  workload_set(&l, "n", 800);
  CHECK(workload_go(&l, NULL) == 0 && l.samples[0].n == 500 && l.probe[0].skipped == 300,
        "hits beyond the capacity are skipped and counted");

  workload_set(&l, "n", 100);
  l.run.phase = NULL;
  CHECK(workload_go(&l, NULL) == 0, "100 hits");
  l.samples[0].n = 0;
  l.probe[0].operation = workload_failing_operation;
  CHECK(l.w->run(&l.run) == -EIO && *l.run.error, "a failing operation ends the run: %s", l.run.error);
  real_read(&l);
  workload_close(&l);
}

static void run_of(struct workload *l, double n, double repeats) {
  workload_set(l, "n", n);
  workload_set(l, "repeats", repeats);
  int err = workload_go(l, NULL);
  CHECK(err == 0 && workload_value(l, "error") < 1e-13, "%g elements, %g repetitions validate (%g) %s", n, repeats,
        workload_value(l, "error"), l->run.error);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static void out_of_memory(struct workload *l) {
  (void)l;
  SKIP("sanitizers need the address space that this test takes away");
}
#else
static void out_of_memory(struct workload *l) {
  struct rlimit old, tight = {.rlim_cur = (rlim_t)1 << 30, .rlim_max = 0};
  getrlimit(RLIMIT_AS, &old);
  tight.rlim_max = old.rlim_max;
  workload_set(l, "n", 1e8);
  setrlimit(RLIMIT_AS, &tight);
  int err = workload_go(l, NULL);
  setrlimit(RLIMIT_AS, &old);
  CHECK(err == -ENOMEM && strstr(l->run.error, "MB"), "too large for the memory: %s", l->run.error);
}
#endif

static void stream(void) {
  struct workload l;
  if (!workload_open(&l, "stream", 1000)) return;
  CHECK(l.nsites == 5, "five sites");
  run_of(&l, 400, 3);
  CHECK(l.samples[0].n == 400, "a probe after each element of one copy");
  for (unsigned i = 1; i < l.nsites; i++) CHECK(l.samples[i].n == 3, "three after the vectors of %s", l.w->site[i]);
  workload_phases_in_order(&l, 1 + 4 * 3);
  const char *const rate[] = {"copy_rate", "scale_rate", "add_rate", "triad_rate"};
  for (unsigned i = 0; i < 4; i++) CHECK(workload_value(&l, rate[i]) > 0, "a %s", rate[i]);

  run_of(&l, 3e6, 2);
  CHECK(l.samples[0].n == 1000 && l.probe[0].skipped == 0, "no more elements are probed than there is room for");
  run_of(&l, 1, 1);
  run_of(&l, 1000, 2000);
  CHECK(l.samples[1].n == 1000 && l.probe[1].skipped == 1000, "more vectors than room are skipped and counted");
  workload_set(&l, "n", 0);
  workload_refuses(&l, -EINVAL, "n");
  out_of_memory(&l);
  workload_set(&l, "n", 1000);
  workload_close(&l);
}

static void one_cycle(struct workload *l, double bytes, double stride) {
  workload_defaults(l);
  workload_set(l, "bytes", bytes);
  workload_set(l, "stride", stride);
  if (!CHECK(workload_go(l, NULL) == 0, "%g bytes are walked in strides of %g %s", bytes, stride, l->run.error)) return;
  CHECK(workload_value(l, "cycle") == floor(bytes / stride), "through each slot once: %g", workload_value(l, "cycle"));
  CHECK(l->samples[0].n == 100 && l->samples[0].value[0] > 0, "100 samples");
  CHECK(workload_value(l, "huge_bytes") <= 0, "no huge page where small ones are wanted");
  workload_phases_in_order(l, 1);
}

static void chase(void) {
  struct workload l;
  if (!workload_open(&l, "chase", 100)) return;
  const double bytes[] = {128, 4096, 100000, 5 << 20}, stride[] = {8, 64, 4160};
  for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
    for (size_t k = 0; k < sizeof stride / sizeof *stride; k++)
      if (bytes[i] >= 2 * stride[k]) one_cycle(&l, bytes[i], stride[k]);

  workload_defaults(&l);
  workload_set(&l, "bytes", 8 << 20);
  workload_text(&l, "pages", "huge");
  int err = workload_go(&l, NULL);
  if (err)
    SKIP(l.run.error);
  else
    CHECK(workload_value(&l, "huge_bytes") <= (8 << 20) + (4 << 20), "the account of huge pages is that of the area");

  workload_refuses_text(&l, "pages", "medium", "medium");
  workload_set(&l, "stride", 12);
  workload_refuses(&l, -EINVAL, "multiple");
  workload_close(&l);
}

#define PASSES 5
#define GROUP (4 * 4096)

static void bandwidth(void) {
  struct workload l;
  cpu_set_t allowed, after;
  if (!workload_open(&l, "bandwidth", PASSES)) return;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) SKIP("more cpus than a fixed set has");
  int cpus = CPU_COUNT(&allowed);
  for (int threads = 1; threads <= cpus && threads <= 4; threads++)
    for (int writes = 0; writes <= 4; writes++) {
      workload_defaults(&l);
      workload_set(&l, "threads", threads);
      workload_set(&l, "bytes", 50 * GROUP + 5000);
      workload_set(&l, "writes", writes);
      if (!CHECK(workload_go(&l, NULL) == 0, "%d threads, %d of 4 written %s", threads, writes, l.run.error)) continue;
      CHECK(l.samples[0].n == PASSES && l.samples[0].value[0] > 0, "%zu passes", l.samples[0].n);
      double unit = 50.0 * GROUP / 4 * threads;
      CHECK(workload_value(&l, "written") == unit * writes && workload_value(&l, "read") == unit * (4 - writes),
            "%g bytes read, %g written", workload_value(&l, "read"), workload_value(&l, "written"));
      workload_phases_in_order(&l, 1);
    }
  CHECK(sched_getaffinity(0, sizeof after, &after) == 0 && CPU_EQUAL(&allowed, &after), "the caller is not pinned");
  workload_defaults(&l);
  workload_set(&l, "threads", cpus + 1);
  workload_refuses(&l, -EINVAL, "threads");
  workload_close(&l);
}

int main(void) {
  loop();
  stream();
  chase();
  bandwidth();
  return check_done();
}
