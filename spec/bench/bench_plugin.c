/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/bench/bench_plugin.c - what strictly synchronous metrics of a plugin add to an event, and a million values. */
#include "../c/folder.h"
#include "bench.h"

#include "adapter/section/pml_section.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "read/otf2/write/pml_otf2.h"
#include "source/plugin/pml_plugin.h"
#include "source/pml_eventset.h"

#define METRICS 4
#define VALUES 1000000u

/* An event is a start or a stop: half a pair of them. */
static void sections(void *arg, size_t n) {
  for (size_t i = 0; i < n; i += 2) {
    pml_section_start(arg);
    pml_section_stop(arg);
  }
}

static int load(const char *path, const char *name, const char *const *token, size_t n, struct pml_plugin **p) {
  const struct pml_plugin_options o = {.name = name, .path = path, .metrics = token, .nmetrics = n};
  int err = pml_plugin_load(&o, p);
  if (err < 0) printf("%-34s %s\n", name, pml_error_detail(err));
  return err;
}

/* Sections with none to four metrics. */
static int define(struct bench_op *op) {
  static const char *const names[METRICS] = {"plugin::zero::a", "plugin::zero::b", "plugin::zero::c",
                                             "plugin::zero::d"};
  int err = 0;
  for (size_t n = 0; err == 0 && n <= METRICS; n++) {
    char label[32];
    struct pml_section *s;
    struct pml_section_options o = {.events = names, .nevents = n};
    snprintf(label, sizeof label, "bench plugin %zu", n);
    err = pml_section_define(label, &o, &s);
    op[n] = (struct bench_op){.batch = sections, .arg = s};
  }
  return err;
}

static void event_rows(const char *path) {
  static const char *const token[METRICS] = {"a", "b", "c", "d"};
  struct bench_op op[METRICS + 1] = {{0}}, before = {.batch = sections};
  struct bench_op five = {.ns = 5}, three = {.ns = 3}, first = {.instructions = -1}, further = first;
  struct pml_section *s;
  struct pml_plugin *p;
  if (pml_section_define("bench no plugin", NULL, &s) < 0) return;
  before.arg = s;
  bench_run(&before, 1);
  if (load(path, "zero", token, METRICS, &p) < 0) return;
  int err = define(op);
  if (err < 0) {
    printf("%-34s %s\n", "metrics of a plugin", pml_error_detail(err));
    return;
  }
  bench_run(op, METRICS + 1);
  first.ns = op[1].ns - op[0].ns;
  further.ns = (op[METRICS].ns - op[1].ns) / (METRICS - 1);
  bench_row("event, plugin without metrics", &op[0], "event, no plugin", &before, 1.05, NULL, NULL);
  bench_row("plugin's first metric adds", &first, "5 ns an event", &five, 1, NULL, NULL);
  bench_row("each further metric adds", &further, "3 ns an event", &three, 1, NULL, NULL);
  pml_plugin_end(p);
}

static void million_row(const char *path) {
  char dir[] = "/tmp/pmlua-bench-XXXXXX";
  const char *token = "1000000";
  struct pml_plugin *p;
  struct pml_otf2 *a;
  size_t written = 0;
  if (mkdtemp(dir) == NULL || load(path, "series_async", &token, 1, &p) < 0 || pml_plugin_start(p) < 0) return;
  usleep(20000); /* the values lie between the beginning and the end */
  uint64_t t0 = pml_clock_ticks();
  int err = pml_plugin_end(p);
  if (err == 0) err = pml_otf2_open(&a, dir, NULL, 0);
  if (err == 0) err = pml_otf2_plugin(a, p, 0, &written);
  if (err == 0) err = pml_otf2_close(a);
  double ns = (double)pml_clock_ticks_to_ns(pml_clock_ticks() - t0);
  folder_remove(dir);
  if (err < 0 || written != VALUES) {
    printf("%-34s %s\n", "a million values into a trace", pml_error_detail(err));
    return;
  }
  struct bench_op op = {.ns = ns, .instructions = -1}, second = {.ns = 1e9};
  bench_row("a million values into a trace", &op, "a second", &second, 1, NULL, NULL);
}

void bench_plugin_rows(void) {
  char path[4096];
  if (!bench_plugins(path)) {
    printf("%-34s not here: build its specs first\n", "metrics of plugins");
    return;
  }
  event_rows(path);
  million_row(path);
}
