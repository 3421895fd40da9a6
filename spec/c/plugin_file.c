/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/plugin_file.c - series of plugins in a file: what one process writes another reads, and nothing else. */
#include "check.h"
#include "plugins.h"

#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "source/plugin/pml_plugin_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

static char path[] = "/tmp/pmlua-series-XXXXXX";

static struct pml_plugin_pair given[3];

static int collect(void *arg, size_t metric, struct pml_plugin_pair **list, size_t *n) {
  (void)arg;
  *n = metric == 0 ? 3 : 0;
  *list = malloc(sizeof given);
  if (*list == NULL) return -ENOMEM;
  memcpy(*list, given, sizeof given);
  return 0;
}

static struct pml_plugin *provide(void) {
  static const struct pml_plugin_metric metric[] = {
      {"m", "two\nlines", "a\tb", PML_MODE_ABSOLUTE_NEXT, PML_PLUGIN_DOUBLE, true, -3}, {"silent", "", "", 0, 0, 0, 0}};
  const struct pml_plugin_provider v = {
      .sync = PML_PLUGIN_ASYNC, .scope = PML_PLUGIN_PROCESS, .metric = metric, .nmetrics = 2, .collect = collect};
  struct pml_plugin *p = NULL;
  (void)pml_plugin_provide("filed", &v, &p);
  return p;
}

static unsigned visited;
static bool same;

static int look(const char *plugin, const struct pml_plugin_series *s, void *arg) {
  const struct pml_plugin_metric *m = s->metric;
  (void)arg;
  visited++;
  same = strcmp(plugin, "filed") == 0 && strcmp(m->name, "m") == 0 && strcmp(m->unit, "a b") == 0 &&
         strcmp(m->description, "two lines") == 0 && m->mode == PML_MODE_ABSOLUTE_NEXT &&
         m->value == PML_PLUGIN_DOUBLE && m->binary && m->exponent == -3 && s->thread == 0 && s->n == 3 &&
         s->outside == 0 && memcmp(s->pair, given, sizeof given) == 0;
  return 0;
}

static int stop_at_once(const char *plugin, const struct pml_plugin_series *s, void *arg) {
  (void)plugin, (void)s, (void)arg;
  return 42;
}

static void round_trip(void) {
  size_t series = 7;
  struct pml_plugin *p = provide();
  if (!CHECK(p != NULL && pml_plugin_start(p) == 0, "a plugin begins")) return;
  nap(1);
  for (size_t i = 0; i < 3; i++) given[i] = (struct pml_plugin_pair){pml_clock_ticks() + i - 3, UINT64_MAX / (i + 1)};
  CHECK(pml_plugin_save(path, &series) == 0 && series == 0 && access(path, F_OK) != 0,
        "before it has values there is no file");
  CHECK(pml_plugin_end(p) == 0 && pml_plugin_save(path, &series) == 0 && series == 1, "its one series is written");
  CHECK(pml_plugin_load_series(path, look, NULL) == 0 && visited == 1 && same,
        "and comes back as it was, tabs as blanks");
  CHECK(pml_plugin_load_series(path, stop_at_once, NULL) == 42, "a visitor may stop");
  int err = pml_plugin_save(path, &series);
  CHECK(err == -EEXIST && series == 0, "a file that is there is left alone: %s", pml_error_detail(err));
  CHECK(pml_plugin_load_series(path, look, NULL) == 0 && visited == 2, "as it was");
  (void)unlink(path);
  err = pml_plugin_load_series(path, look, NULL);
  CHECK(err == -ENOENT, "one that is not there: %s", pml_error_detail(err));
}

#define HEAD "pmlua-series 1\n"
#define SERIES "series\tp\tm\t0\t1\t1\t0\t0\t0\t0\t0\t2\t\t\n"

static int load_text(const char *text) {
  FILE *f = fopen(path, "w");
  if (f == NULL) return -errno;
  (void)fputs(text, f);
  (void)fclose(f);
  return pml_plugin_load_series(path, look, NULL);
}

static void malformed(void) {
  static const struct {
    const char *text, *says;
  } wrong[] = {
      {"", ":1: not a plugin data file of pmlua (its first line is wrong)"},
      {"pmlua-series 2\nend\n", ":1: not a plugin data file of pmlua (its first line is wrong)"},
      {HEAD, ":2: cut short: the end is missing"},
      {HEAD "end", ":2: cut short: the end is missing"},
      {HEAD "nonsense\n", ":2: no series"},
      {HEAD "series\tp\tm\t0\t1\t3\t0\t0\t0\t0\t0\t0\t\t\nend\n", ":2: no series"},
      {HEAD "series\tp\tm\t0\t1\t1\t10\t0\t0\t0\t0\t0\t\t\nend\n", ":2: no series"},
      {HEAD "series\tp\tm\t0\t1\t1\t0\t0\t1001\t0\t0\t0\t\t\nend\n", ":2: no series"},
      {HEAD "series\tp\tm\t0\t1\t1\t0\t0\t0\t0\t0\t99999999999999999999\t\t\nend\n", ":2: no series"},
      {HEAD SERIES "5 1\n", ":4: not a time and a value"},
      {HEAD SERIES "5 1\nend\n", ":4: not a time and a value"},
      {HEAD SERIES "5 1\n6 -1\nend\n", ":4: not a time and a value"},
      {HEAD SERIES "5 1\n4 1\nend\n", ":4: the times go back"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    int err = load_text(wrong[i].text);
    const char *says = err < 0 ? pml_error_detail(err) : "";
    CHECK(err == PML_EFORMAT && strstr(says, wrong[i].says) != NULL, "malformed: %s", says);
  }
  visited = 0;
  CHECK(load_text(HEAD SERIES "5 1\n5 f\nend\n") == 0 && visited == 1, "what is right is read");
  (void)unlink(path);
}

int main(void) {
  int fd = mkstemp(path);
  if (fd < 0) return 1;
  (void)close(fd);
  (void)unlink(path);
  round_trip();
  malformed();
  return check_done();
}
