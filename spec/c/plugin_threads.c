/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/plugin_threads.c - metric plugins read by many threads (pthread_create), while they are collected, end and
 * fail.
 */
#include "check.h"
#include "plugins.h"

#define THREADS 4
#define READS 3000

static atomic_bool stop;
static atomic_uint ready;

static struct pml_plugin *loaded(const char *name, const char *token) {
  struct pml_plugin *p;
  int rc = load(name, token, &p);
  return CHECK(rc == 0, "%s is loaded %s", name, rc < 0 ? pml_error_detail(rc) : "") ? p : NULL;
}

struct worker {
  pthread_t thread;
  const char *event;
  uint64_t last;
  int wrong;
};

static void *read_until(void *arg) {
  struct worker *w = arg;
  struct pml_eventset *set;
  uint64_t v = 0;
  int rc = pml_eventset_open(&set, &w->event, 1, NULL);
  atomic_fetch_add(&ready, 1);
  if (rc < 0) {
    w->wrong = rc;
    return NULL;
  }
  pml_eventset_start(set);
  do { /* at least once, however late this thread gets to run */
    if (pml_eventset_read(set, &v) < 0 || v < w->last) w->wrong++;
    w->last = v;
  } while (!atomic_load(&stop));
  pml_eventset_close(set);
  return NULL;
}

static void start_all(struct worker *w, const char *event) {
  atomic_store(&stop, false);
  atomic_store(&ready, 0);
  for (int i = 0; i < THREADS; i++) {
    w[i] = (struct worker){.event = event};
    pthread_create(&w[i].thread, NULL, read_until, &w[i]);
  }
  while (atomic_load(&ready) < THREADS) nap(1);
}

static int stop_all(struct worker *w) {
  int wrong = 0;
  atomic_store(&stop, true);
  for (int i = 0; i < THREADS; i++) {
    pthread_join(w[i].thread, NULL);
    wrong += w[i].wrong;
  }
  return wrong;
}

static void ended_while_read(void) {
  struct worker w[THREADS];
  for (int round = 0; round < 5; round++) {
    struct pml_plugin *p = loaded("steps", "steps");
    if (p == NULL) return;
    start_all(w, "plugin::steps::steps");
    nap(10);
    CHECK(pml_plugin_end(p) == 0, "a plugin ends while %d threads read it", THREADS);
    nap(5);
    CHECK(stop_all(w) == 0 && w[0].last > 0, "and each of them keeps its last value");
  }
}

/* The environment is changed while only the plugin reads it. */
static void fails_while_read(void) {
  struct worker w[THREADS];
  struct pml_plugin_info info;
  struct pml_plugin *p = loaded("thrower", "m");
  if (p == NULL) return;
  atomic_store(&stop, true);
  setenv("THROWER", "get_current_value", 1);
  for (int i = 0; i < THREADS; i++) {
    w[i] = (struct worker){.event = "plugin::thrower::m"};
    pthread_create(&w[i].thread, NULL, read_until, &w[i]);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(w[i].thread, NULL);
  unsetenv("THROWER");
  pml_plugin_describe(p, &info);
  CHECK(info.state == PML_PLUGIN_DROPPED, "a plugin that throws in several threads at once is dropped: %s",
        info.trouble);
  CHECK(pml_plugin_end(p) == 0, "and ends");
}

static int count(const struct pml_plugin_series *s, void *arg) {
  size_t *n = arg;
  for (size_t i = 0; i < s->n; i++)
    if (s->pair[i].value == i + 1) ++*n;
  return 0;
}

static void collected_by_all(void) {
  struct worker w[THREADS];
  struct pml_plugin *p = loaded("series_event", "ticks");
  if (p == NULL) return;
  start_all(w, "plugin::series_event::ticks");
  size_t before = 0, after = 0;
  for (int i = 0; i < 20; i++) {
    nap(2);
    pml_plugin_collect(p);
    before = 0;
    pml_plugin_series(p, count, &before);
  }
  CHECK(stop_all(w) == 0, "%d threads read what one plugin measures, and another collects it", THREADS);
  CHECK(pml_plugin_end(p) == 0, "it ends");
  pml_plugin_series(p, count, &after);
  CHECK(after >= before && after > 5, "every value is there once, in order: %zu", after);
}

static void *sections(void *arg) {
  for (int i = 0; i < READS; i++) {
    pml_section_start(arg);
    pml_section_stop(arg);
  }
  return NULL;
}

static void in_sections(void) {
  static const char *const name = "plugin::steps::ones";
  const struct pml_section_options o = {.events = &name, .nevents = 1};
  struct pml_section *s;
  struct pml_section_row row;
  struct pml_section_value value;
  struct pml_plugin *p = loaded("steps", "ones");
  if (p == NULL || !CHECK(pml_section_define("plugin", &o, &s) == 0, "a section has its metric")) return;
  in_threads(THREADS, sections, s, 0);
  int rc = pml_section_read(s, &row, &value);
  CHECK(rc == 0 && row.count == THREADS * READS && value.i == THREADS * READS, "each thread has its own counters: %lld",
        (long long)value.i);
  CHECK(pml_plugin_end(p) == 0, "and it ends after the threads that used it");
}

int main(void) {
  CHECK_EACH(find_folder, ended_while_read, fails_while_read, collected_by_all, in_sections);
  return check_done();
}
