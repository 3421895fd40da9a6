/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/workload_kernels.c - the kernels as a workload: batches, operations, bytes, and what it refuses. */
#include "workload.h"

static void text(struct workload *l, const char *option, const char *v) {
  for (unsigned i = 0; i < PML_WORKLOAD_MAX && l->w->option[i].name; i++)
    if (strcmp(l->w->option[i].name, option) == 0) l->text[i] = v;
}

static void refuses_text(struct workload *l, const char *option, const char *v) {
  workload_defaults(l);
  text(l, option, v);
  int err = workload_go(l, NULL);
  CHECK(err == -EINVAL && strstr(l->run.error, option), "%s %s is refused: %s", option, v, l->run.error);
}

/* Operations and numbers read and written per element, as the paper's sources have them. */
static const struct {
  const char *name;
  double flops, numbers;
} formula[] = {{"add", 1, 3}, {"mult", 1, 3}, {"fma", 2, 3},  {"divide", 1, 3}, {"sqrt", 1, 2},
               {"mix", 5, 3}, {"copy", 0, 2}, {"load", 0, 1}, {"peak", 2, 0}};

static void tells(struct workload *l, const char *build) {
  for (size_t i = 0; i < sizeof formula / sizeof *formula; i++) {
    workload_defaults(l);
    text(l, "kernel", formula[i].name);
    text(l, "build", build);
    text(l, "precision", i % 2 ? "single" : "double");
    workload_set(l, "n", 768);
    workload_set(l, "batch_ns", 5000);
    workload_set(l, "samples", 3);
    int err = workload_go(l, NULL);
    if (err == -ENOTSUP && strstr(l->run.error, "cannot run")) {
      SKIP(l->run.error);
      return;
    }
    CHECK(err == 0 && l->samples[0].n == 3 && workload_value(l, "flops") == 768 * formula[i].flops &&
              workload_value(l, "bytes") == 768 * formula[i].numbers * (i % 2 ? 4 : 8),
          "%s in build %s: three samples, %g operations, %g bytes %s", formula[i].name, build,
          workload_value(l, "flops"), workload_value(l, "bytes"), l->run.error);
    CHECK(workload_value(l, "calls") >= 1 && workload_value(l, "overhead") > 0 && workload_value(l, "spread") >= 1 &&
              workload_value(l, "calls_made") > 3 * workload_value(l, "calls") && workload_value(l, "cores") >= 1,
          "with the calls of a batch (%g), and what calling costs", workload_value(l, "calls"));
  }
}

int main(void) {
  struct workload l;
  if (!workload_open(&l, "kernels", 100)) return check_done();
  const char *const build[] = {"scalar", "128", "256", "512"};
  for (unsigned i = 0; i < 4; i++) tells(&l, build[i]);
  refuses_text(&l, "kernel", "sin");
  refuses_text(&l, "kernel", "empty");
  refuses_text(&l, "precision", "half");
  refuses_text(&l, "build", "1024");
  workload_refuses(&l, "n");
  workload_refuses(&l, "copies");
  workload_refuses(&l, "batch_ns");
  workload_refuses(&l, "samples");
  workload_set(&l, "copies", 1e5);
  CHECK(workload_go(&l, NULL) == -EINVAL, "more copies than cpus are refused: %s", l.run.error);
  workload_defaults(&l);
  text(&l, "kernel", "peak");
  workload_set(&l, "n", 100);
  CHECK(workload_go(&l, NULL) == -EINVAL && strstr(l.run.error, "384"), "the peak has its lengths: %s", l.run.error);
  workload_defaults(&l);
  workload_set(&l, "copies", 1);
  CHECK(workload_go(&l, NULL) == 0 && workload_value(&l, "cores") == 1, "one copy runs on the calling thread");
  workload_phases_in_order(&l, 1);
  workload_stops(&l);
  workload_close(&l);
  return check_done();
}
