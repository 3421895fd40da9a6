/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/plugin_log.c - series of plugins in a log: there however the process ends, and nothing in it is trusted. */
#include "check.h"
#include "folder.h"
#include "plugins.h"
#include "read/log/pml_plugin_load_log.h"
#include "record/log/pml_log.h"
#include "source/plugin/pml_plugin_log.h"

#define MANY 100000u

static char dir[] = "/tmp/pmlua-plugin-log-XXXXXX", path[sizeof dir + 16];
static struct pml__log *kept;

static struct pml_plugin_pair given[MANY];
static size_t ngiven;

static int collect(void *arg, size_t metric, struct pml_plugin_pair **list, size_t *n) {
  (void)arg;
  *n = metric == 0 ? ngiven : 0;
  *list = malloc(*n * sizeof **list + 1);
  if (*list == NULL) return -ENOMEM;
  memcpy(*list, given, *n * sizeof **list);
  return 0;
}

static struct pml_plugin *begin(const char *name) {
  static const struct pml_plugin_metric metric[] = {
      {"m", "two\nlines", "a\tb", PML_MODE_ABSOLUTE_NEXT, PML_PLUGIN_UINT64, true, -3}, {"silent", "", "", 0, 0, 0, 0}};
  const struct pml_plugin_provider v = {
      .sync = PML_PLUGIN_ASYNC_EVENT, .scope = PML_PLUGIN_PROCESS, .metric = metric, .nmetrics = 2, .collect = collect};
  struct pml_plugin *p = NULL;
  ngiven = 0;
  CHECK(pml_plugin_provide(name, &v, &p) == 0 && pml_plugin_start(p) == 0, "a plugin begins");
  nap(1);
  return p;
}

static void give(struct pml_plugin *p, uint64_t first, size_t n) {
  uint64_t begun = pml_clock_ticks();
  while (pml_clock_ticks() < begun + n) nap(1);
  for (size_t i = 0; i < n; i++) given[i] = (struct pml_plugin_pair){begun + i, first + i};
  ngiven = n;
  CHECK(pml_plugin_collect(p) == 0, "%zu values are taken in", n);
  ngiven = 0;
}

static void new_log(void) {
  const struct pml__log_process process = {.name = "spec", .rank = -1, .size = -1};
  (void)unlink(path);
  CHECK(pml__log_open(&kept, dir, &process) == 0, "a log is made");
  pml__log_share(kept);
}

static void end_log(void) {
  pml__log_share(NULL);
  pml__log_close(kept);
}

struct seen {
  unsigned series;
  uint64_t n, outside, wrong;
};

static int look(const char *plugin, const struct pml_plugin_series *s, const struct pml_plugin_log_clock *clock,
                void *arg) {
  (void)clock;
  const struct pml_plugin_metric *m = s->metric;
  struct seen *all = arg;
  bool same = strcmp(plugin, "logged") == 0 && strcmp(m->name, "m") == 0 && strcmp(m->unit, "a\tb") == 0 &&
              strcmp(m->description, "two\nlines") == 0 && m->mode == PML_MODE_ABSOLUTE_NEXT &&
              m->value == PML_PLUGIN_UINT64 && m->binary && m->exponent == -3 && s->thread == 0;
  all->series++;
  all->n += s->n;
  all->outside += s->outside;
  all->wrong += !same;
  for (size_t i = 0; i < s->n; i++) all->wrong += s->pair[i].value != i;
  for (size_t i = 1; i < s->n; i++) all->wrong += s->pair[i].ticks < s->pair[i - 1].ticks;
  return 0;
}

static struct seen load_all(void) {
  struct seen all = {0};
  int err = pml_plugin_load_series(path, look, &all);
  CHECK(err == 0, "the log is read: %s", err < 0 ? pml_error_detail(err) : "");
  return all;
}

static int stop_at_once(const char *plugin, const struct pml_plugin_series *s, const struct pml_plugin_log_clock *clock,
                        void *arg) {
  (void)plugin, (void)s, (void)clock, (void)arg;
  return 42;
}

static void comes_back(void) {
  new_log();
  struct pml_plugin *p = begin("logged");
  struct seen all = load_all();
  CHECK(all.series == 0, "without values there is no series");
  give(p, 0, 3);
  all = load_all();
  CHECK(all.series == 1 && all.n == 3 && all.wrong == 0, "it is there at once: %u series, %llu values", all.series,
        (unsigned long long)all.n);
  uint64_t n = 3;
  for (; n < 3000; n += 300) give(p, n, 300); /* beyond the first extents */
  give(p, n, MANY);
  all = load_all();
  CHECK(all.series == 1 && all.n == n + MANY && all.wrong == 0, "all are one series: %llu, %llu wrong",
        (unsigned long long)all.n, (unsigned long long)all.wrong);
  CHECK(pml_plugin_load_series(path, stop_at_once, NULL) == 42, "a visitor may stop");
  CHECK(pml_plugin_end(p) == 0, "the plugin ends");
  end_log();
  int err = pml_plugin_load_series("/nonexistent/log", look, &all);
  CHECK(err == -ENOENT, "a log that is not there: %s", pml_error_detail(err));
}

static void in_order(void) {
  struct pml_plugin *p = begin("logged");
  give(p, 1, 2);
  new_log();
  uint64_t now = pml_clock_ticks(), first = given[0].ticks - 1;
  ngiven = 3;
  given[0] = (struct pml_plugin_pair){now, 3};
  given[1] = (struct pml_plugin_pair){first, 0};
  given[2] = (struct pml_plugin_pair){UINT64_MAX, 99};
  CHECK(pml_plugin_collect(p) == 0, "values come late, and from the future");
  ngiven = 0;
  struct seen all = load_all();
  CHECK(all.series == 1 && all.n == 4 && all.wrong == 0 && all.outside == 1, "they are in the order of time");
  CHECK(pml_plugin_end(p) == 0, "the plugin ends");
  end_log();
}

static void define(struct pml__log_measured d, const char *plugin, const char *name) {
  const char *text[] = {plugin, name, "", ""};
  CHECK(pml__log_define(kept, PML__LOG_MEASURED, &d, sizeof d, text, 4) == 0, "a definition");
}

static struct pml__log_entry *put_series(uint32_t number, uint64_t committed) {
  struct pml__log_entry *entry;
  struct pml__log_series *s = pml__log_extent(kept, PML__LOG_SERIES, number, 1, PML__LOG_STEP, 0, &entry);
  if (!CHECK(s != NULL, "an extent")) return NULL;
  struct pml_plugin_pair *pair = (struct pml_plugin_pair *)(void *)(s + 1);
  for (uint64_t i = 0; i < 4; i++) pair[i] = (struct pml_plugin_pair){5 + i, i};
  pml__log_commit(entry, committed);
  return entry;
}

static int take_clock(const char *plugin, const struct pml_plugin_series *s, const struct pml_plugin_log_clock *clock,
                      void *arg) {
  (void)plugin, (void)s;
  *(struct pml_plugin_log_clock *)arg = *clock;
  return strcmp(clock->name, "sundial") == 0 ? 1 : 0;
}

static void of_another_clock(void) {
  struct pml_plugin_log_clock clock = {0};
  struct pml_otf2 *trace;
  new_log();
  define((struct pml__log_measured){.number = 1}, "p", "m");
  (void)put_series(1, 16 + 2 * 16);
  kept->head->ticks_per_second = 4096;
  (void)snprintf(kept->head->clock, sizeof kept->head->clock, "sundial");
  CHECK(pml_plugin_load_series(path, take_clock, &clock) == 1, "the clock of the log is given");
  CHECK(clock.tick_ns == 1e9 / 4096 && clock.ticks == kept->head->started_ticks &&
            clock.realtime_ns == kept->head->started_ns,
        "a tick of it, and when it was which: %g", clock.tick_ns);
  if (CHECK(pml_otf2_open(&trace, dir, NULL, 0) == 0, "a trace")) {
    int err = pml_otf2_series_file(trace, path);
    CHECK(err == PML_EFORMAT && strstr(pml_error_detail(err), "another clock") != NULL,
          "a trace of this process cannot have them: %s", pml_error_detail(err));
    (void)pml_otf2_close(trace);
  }
  end_log();
}

int main(void) {
  if (mkdtemp(dir) == NULL || pml_clock_init() < 0) return 1;
  (void)snprintf(path, sizeof path, "%s/spec.pmlog", dir);
  CHECK_EACH(comes_back, in_order, of_another_clock);
  folder_remove(dir);
  return check_done();
}
