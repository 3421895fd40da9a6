/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/bench/bench_plugin.c - what strictly synchronous metrics of a plugin add to an event, and a million values. */
#include "bench.h"

#include "adapter/pml_section.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "source/pml_eventset.h"
#include "source/pml_plugin.h"
#include "substrate/pml_otf2.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define METRICS 4
#define VALUES 1000000u

/* An event is a start or a stop: half a pair of them. */
static void sections(void *arg, size_t n) {
  for (size_t i = 0; i < n; i += 2) {
    pml_section_start(arg);
    pml_section_stop(arg);
  }
}

static void sections_with_set(void *arg, size_t n) {
  uint64_t v[METRICS];
  for (size_t i = 0; i < n; i++) pml_eventset_read(arg, v);
}

static int folder(char *path, size_t size) {
  ssize_t n = readlink("/proc/self/exe", path, size - 16);
  if (n <= 0) return -1;
  path[n] = '\0';
  char *slash = strrchr(path, '/');
  memcpy(slash, "/spec/plugins", sizeof "/spec/plugins");
  return access(path, R_OK);
}

static int load(const char *path, const char *name, const char *const *token, size_t n, struct pml_plugin **p) {
  const struct pml_plugin_options o = {.name = name, .path = path, .metrics = token, .nmetrics = n};
  int err = pml_plugin_load(&o, p);
  if (err < 0) printf("%-34s %s\n", name, pml_error_detail(err));
  return err;
}

/* Sections with none to four metrics, and reads of sets with one to four. */
static int define(struct pml_section **s, struct pml_eventset **set) {
  static const char *const names[METRICS] = {"plugin::zero::a", "plugin::zero::b", "plugin::zero::c",
                                             "plugin::zero::d"};
  int err = 0;
  for (size_t n = 0; err == 0 && n <= METRICS; n++) {
    char label[32];
    snprintf(label, sizeof label, "bench plugin %zu", n);
    struct pml_section_options o = {.events = names, .nevents = n};
    err = pml_section_define(label, n > 0 ? &o : NULL, &s[n]);
    if (err == 0 && n > 0) err = pml_eventset_open(&set[n], names, n, NULL);
  }
  return err;
}

static void event_rows(const char *path) {
  struct pml_plugin *p;
  struct pml_section *s[METRICS + 1] = {NULL};
  struct pml_eventset *set[METRICS + 1] = {NULL};
  struct bench_op op[2 * METRICS + 3] = {{0}};
  const char *const token[METRICS] = {"a", "b", "c", "d"};
  struct bench_op alone = {.batch = sections};
  if (pml_section_define("bench no plugin", NULL, &s[0]) < 0) return;
  alone.arg = s[0];
  if (load(path, "zero", token, METRICS, &p) < 0) return;
  int err = define(s, set);
  if (err < 0) {
    printf("%-34s %s\n", "metrics of a plugin", pml_error_detail(err));
    return;
  }
  for (size_t n = 0; n <= METRICS; n++) op[n] = (struct bench_op){.batch = sections, .arg = s[n]};
  for (size_t n = 1; n <= METRICS; n++) op[METRICS + n] = (struct bench_op){.batch = sections_with_set, .arg = set[n]};
  op[2 * METRICS + 1] = alone;
  bench_run(op, 2 * METRICS + 2);
  struct bench_op first = {.ns = op[1].ns - op[0].ns, .instructions = -1}, five = {.ns = 5}, three = {.ns = 3};
  struct bench_op further = {.ns = (op[METRICS].ns - op[1].ns) / (METRICS - 1), .instructions = -1};
  struct bench_op read = op[METRICS + 1],
                  more = {.ns = (op[2 * METRICS].ns - op[METRICS + 1].ns) / (METRICS - 1), .instructions = -1};
  bench_row("event, plugin without metrics", &op[0], "event, no plugin", &op[2 * METRICS + 1], 1.05, NULL, NULL);
  bench_row("plugin's first metric adds", &first, "5 ns an event", &five, 1, NULL, NULL);
  bench_row("each further metric adds", &further, "3 ns an event", &three, 1, NULL, NULL);
  bench_row("set of one metric, a read", &read, "5 ns", &five, 1, NULL, NULL);
  bench_row("set, each further metric", &more, "3 ns", &three, 1, NULL, NULL);
  for (size_t n = 1; n <= METRICS; n++) pml_eventset_close(set[n]);
  pml_plugin_end(p);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at) {
  (void)st, (void)type, (void)at;
  return remove(path);
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
  if (err == 0) err = pml_otf2_open(&a, dir, NULL, 0, 0);
  if (err == 0) err = pml_otf2_plugin(a, p, 0, &written);
  if (err == 0) err = pml_otf2_close(a);
  double ns = (double)pml_clock_ticks_to_ns(pml_clock_ticks() - t0);
  nftw(dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
  if (err < 0 || written != VALUES) {
    printf("%-34s %s\n", "a million values into a trace", pml_error_detail(err));
    return;
  }
  struct bench_op op = {.ns = ns, .instructions = -1}, second = {.ns = 1e9};
  bench_row("a million values into a trace", &op, "a second", &second, 1, NULL, NULL);
}

void bench_plugin_rows(void) {
  char path[4096];
  if (folder(path, sizeof path) != 0) {
    printf("%-34s not here: build its specs first\n", "metrics of plugins");
    return;
  }
  event_rows(path);
  million_row(path);
}
