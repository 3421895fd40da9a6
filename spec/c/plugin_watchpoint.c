/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/plugin_watchpoint.c - the shipped plugin for watchpoints: accesses of each thread and the values written, as
 * metrics of an event set and as series. */
#include "check.h"
#include "plugins.h"
#include "program/pml_watchpoint.h"

volatile int watched_count;
volatile float watched_level;
void watched_work(int i);

/* In another object than the program: its point is not where the program's are. */
static long (*volatile absolute)(long) = labs;

__attribute__((noinline)) void watched_work(int i) {
  watched_count = watched_count + 1;
  watched_level = (float)i / 4;
  (void)absolute(i);
}

static void work(int n) {
  for (int i = 1; i <= n; i++) watched_work(i);
}

static const char *const names[] = {
    "plugin::watchpoint::mem:watched_count:w", "plugin::watchpoint::mem:watched_work:x",
    "plugin::watchpoint::watched_level"}; /* joining a set joins the plugin, so that labs has series, too */

struct told {
  uint64_t value[3];
  int err;
};

static double as_double(uint64_t bits) {
  double d;
  memcpy(&d, &bits, sizeof d);
  return d;
}

static void *other_thread(void *arg) {
  struct told *t = arg;
  struct pml_eventset *set;
  t->err = pml_eventset_open(&set, names, 3, NULL);
  if (t->err < 0) return NULL;
  t->err = pml_eventset_start(set);
  work(7);
  if (t->err == 0) t->err = pml_eventset_read(set, t->value);
  pml_eventset_close(set);
  return NULL;
}

static struct pml_plugin *load_ours(void) {
  static const char *const tokens[] = {"mem:labs:x", "mem:watched_count:w", "mem:watched_work:x", "watched_level"};
  const struct pml_plugin_options o = {.name = "watchpoint", .path = folder, .metrics = tokens, .nmetrics = 4};
  struct pml_plugin *p = NULL;
  int err = pml_plugin_load(&o, &p);
  return CHECK(err == 0, "it is loaded: %s", err < 0 ? pml_error_detail(err) : "yes") ? p : NULL;
}

static void counts(void) {
  struct pml_eventset *set;
  struct told t = {.err = -1};
  uint64_t value[3];
  pthread_t thread;
  work(3); /* before the set */
  int err = pml_eventset_open(&set, names, 3, NULL);
  if (!CHECK(err == 0, "a set has its metrics: %s", err < 0 ? pml_error_detail(err) : "yes")) return;
  CHECK(pml_eventset_start(set) == 0, "and starts");
  work(5);
  CHECK(pthread_create(&thread, NULL, other_thread, &t) == 0, "another thread joins");
  pthread_join(thread, NULL);
  err = pml_eventset_read(set, value);
  CHECK(err == 0 && value[0] == 5 && value[1] == 5,
        "a thread's writes and calls since its start are counted: %llu and %llu", (unsigned long long)value[0],
        (unsigned long long)value[1]);
  CHECK(as_double(value[2]) == 1.25, "the content is what it wrote last: %g", as_double(value[2]));
  CHECK(t.err == 0 && t.value[0] == 7 && t.value[1] == 7 && as_double(t.value[2]) == 1.75,
        "and so it is with the other thread: %llu, %llu, %g", (unsigned long long)t.value[0],
        (unsigned long long)t.value[1], as_double(t.value[2]));
  pml_eventset_close(set);
}

struct seen {
  unsigned series, steps, levels;
  bool right;
};

static int look(const struct pml_plugin_series *s, void *arg) {
  struct seen *seen = arg;
  bool level = strcmp(s->metric->name, "watched_level") == 0;
  seen->series += s->n > 0;
  *(level ? &seen->levels : &seen->steps) += (unsigned)s->n;
  for (size_t i = 0; i < s->n; i++)
    seen->right &= level ? as_double(s->pair[i].value) == (double)(i + 1) / 4 : s->pair[i].value == i + 1;
  seen->right &= s->outside == 0 && s->metric->mode == (level ? PML_MODE_ABSOLUTE_NEXT : PML_MODE_ACCUMULATED_START);
  return 0;
}

static void series(struct pml_plugin *p) {
  struct seen seen = {.right = true};
  CHECK(pml_plugin_end(p) == 0 && trouble[0] == '\0', "it ends without trouble: %s", trouble);
  CHECK(pml_plugin_series(p, look, &seen) == 0 && seen.series == 8 && seen.right,
        "each thread has a series of each, in order");
  CHECK(seen.steps == 3 * (5 + 7) && seen.levels == 5 + 7, "%u counts and %u contents are all", seen.steps,
        seen.levels);
  watched_work(1); /* unwatched */
}

static void wrong_tokens(void) {
  static const char *const tokens[] = {"mem:no_such_variable:w", "mem:watched_count", "mem:watched_count:q",
                                       "watched_work", "no_such_variable"};
  const struct pml_plugin_options o = {.name = "watchpoint", .path = folder, .metrics = tokens, .nmetrics = 5};
  struct pml_plugin *p;
  struct pml_plugin_info info;
  trouble[0] = '\0';
  if (!CHECK(pml_plugin_load(&o, &p) == 0, "it is loaded again, with tokens that are wrong")) return;
  pml_plugin_describe(p, &info);
  CHECK(info.nmetrics == 0 && strstr(info.trouble, "stands for no metric") != NULL, "none is a metric: %s",
        info.trouble);
  CHECK(pml_plugin_end(p) == 0, "and ends");
}

int main(void) {
  find_folder();
  char *last = strstr(folder, "/spec/plugins"); /* those that ship are beside the specs */
  if (last != NULL) memcpy(last, "/plugins", sizeof "/plugins");
  pml_plugin_on_trouble(on_trouble);
  if (pml_watchpoint_available() < 0) {
    SKIP(pml_error_detail(pml_watchpoint_available()));
    return check_done();
  }
  struct pml_plugin *p = load_ours();
  if (p != NULL) {
    counts();
    series(p);
    wrong_tokens();
  }
  return check_done();
}
