/* SPDX-License-Identifier: BSD-3-Clause */
/* core/control/tune/pml_tune.c - tuning: rules, their lookup by region, and lifecycle. */
#include "control/tune/pml_tune.h"

#include "base/pml_array.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "base/pml_stream.h"
#include "base/pml_thread.h"
#include "control/tune/pml_tune_private.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint16_t pml__table_look_up(struct pml__table *t, pml_region_t region,
                            uint16_t (*match)(const void *arg, const char *name), const void *arg) {
  struct pml_region_info info = {.name = ""};
  (void)pml_region_describe(region, &info);
  uint16_t what = match(arg, info.name);
  if (region > pml_region_count() || !PML__ARRAY_ZEROS(t->of, t->n, region + 1)) return what;
  t->of[region] = what;
  return what;
}

bool pml__table_matches(const char *pattern, const char *name) {
  return strcmp(pattern, name) == 0 || (strpbrk(pattern, "*?[") != NULL && fnmatch(pattern, name, 0) == 0);
}

static atomic_bool allowed;

void pml_tune_allow(void) {
  atomic_store(&allowed, true);
}
bool pml_tune_allowed(void) {
  return atomic_load(&allowed);
}

/* --- choice of a rule --- */

static uint16_t match(const void *arg, const char *name) {
  const struct pml_tune *t = arg;
  size_t exact = 0, i = 0;
  while (exact < t->nrules && strcmp(t->rule[exact].region, name) != 0) exact++;
  if (exact < t->nrules) return (uint16_t)(PML__TUNE_FIRST + exact);
  while (i < t->nrules && !pml__table_matches(t->rule[i].region, name)) i++;
  return (uint16_t)(i < t->nrules ? PML__TUNE_FIRST + i : PML__TUNE_NONE);
}

static struct pml__tune_rule *rule_of(struct pml__tune_thread *th, pml_region_t region) {
  uint16_t rule = pml__table_get(&th->rule_of, region);
  if (PML_UNLIKELY(rule == PML__TABLE_UNKNOWN)) rule = pml__table_look_up(&th->rule_of, region, match, th->tune);
  return rule >= PML__TUNE_FIRST ? &th->tune->rule[rule - PML__TUNE_FIRST] : NULL;
}

/* --- rules: from the user's table to files and values --- */

static void free_rule(struct pml__tune_rule *r) {
  for (size_t i = 0; i < PML__TUNE_SETTINGS_MAX; i++) free(r->setting[i].control);
  free(r->region);
}

static bool sets_files(const struct pml_tune_rule *r) {
  return r->frequency_hz != 0 || r->min_hz != 0 || r->max_hz != 0 || r->governor != NULL || r->nidle > 0;
}

int pml__tune_permission(const struct pml__controls *k) {
  if (pml__controls_dry(k) || pml_tune_allowed()) return 0;
  return pml_fail(-EPERM,
                  "tuning is not allowed to write below %s; run pmlua --allow-tuning SCRIPT, or see what "
                  "would be written with dry_run = true",
                  pml__controls_root(k));
}

static int check_hz(double hz) {
  if (hz == 0 || (isfinite(hz) && hz >= 1e3 && hz < 1e12)) return 0;
  return pml_fail(-EINVAL, "frequency %g Hz; give 1e3 to 1e12", hz);
}

static int check(const struct pml_tune *t, const struct pml_tune_rule *r) {
  if (!sets_files(r) && r->threads == 0 && r->call == NULL) return pml_fail(-EINVAL, "sets nothing");
  int err = check_hz(r->frequency_hz);
  if (err == 0) err = check_hz(r->min_hz);
  if (err == 0) err = check_hz(r->max_hz);
  if (err < 0) return err;
  if (r->frequency_hz != 0 && (r->min_hz != 0 || r->max_hz != 0))
    return pml_fail(-EINVAL, "frequency excludes least and most; give one or the other");
  if (r->min_hz != 0 && r->max_hz != 0 && r->min_hz > r->max_hz)
    return pml_fail(-EINVAL, "the least frequency, %g Hz, is above the most, %g Hz", r->min_hz, r->max_hz);
  if (r->threads > INT_MAX) return pml_fail(-EINVAL, "too many threads (%u)", r->threads);
  if (r->nidle > PML__TUNE_SETTINGS_MAX - 4)
    return pml_fail(-EINVAL, "%zu idle states; at most %u are possible", r->nidle, PML__TUNE_SETTINGS_MAX - 4);
  return sets_files(r) ? pml__tune_permission(t->controls) : 0;
}

/* The governor comes first, because it determines which files are writable. */
static int make_settings(struct pml_tune *t, const struct pml_tune_rule *r, struct pml__tune_rule *out) {
  struct pml__controls *k = t->controls;
  const struct pml__cpus *c = &t->cpus;
  struct pml__cpu_setting *s = out->setting;
  size_t n = 0;
  int err = 0;
  bool user = r->governor != NULL && strcmp(r->governor, "userspace") == 0;
  if (r->governor == NULL && r->frequency_hz != 0) err = pml__cpu_is_userspace(pml__controls_root(k), c, &user);
  double most = r->max_hz, least = r->min_hz;
  if (r->frequency_hz != 0 && !user) most = least = r->frequency_hz;
  if (err == 0 && r->governor != NULL) err = pml__cpu_governor(k, c, r->governor, &s[n++]);
  if (err == 0 && r->frequency_hz != 0 && user)
    err = pml__cpu_frequency(k, c, "scaling_setspeed", r->frequency_hz, &s[n++]);
  if (err == 0 && most != 0) err = pml__cpu_frequency(k, c, "scaling_max_freq", most, &s[n++]);
  if (err == 0 && least != 0) err = pml__cpu_frequency(k, c, "scaling_min_freq", least, &s[n++]);
  for (size_t i = 0; err == 0 && i < r->nidle; i++) err = pml__cpu_idle(k, c, r->idle[i].state, r->idle[i].on, &s[n++]);
  out->nsettings = n;
  return err;
}

static int make_rule(struct pml_tune *t, const struct pml_tune_rule *r, struct pml__tune_rule *out) {
  if (r->region == NULL || r->region[0] == '\0') return pml_fail(-EINVAL, "a rule needs the name of a region");
  out->region = strdup(r->region);
  if (out->region == NULL) return pml_fail(-ENOMEM, "no memory for a rule");
  out->threads = r->threads;
  out->call = r->call;
  out->arg = r->arg;
  int err = check(t, r);
  if (err == 0 && sets_files(r) && t->cpus.n == 0) err = pml__cpus_find(&t->cpus, pml__controls_root(t->controls));
  if (err == 0) err = make_settings(t, r, out);
  if (err == 0) return 0;
  char why[512];
  strncpy(why, pml_error_detail(err), sizeof why - 1);
  why[sizeof why - 1] = '\0';
  return pml_fail(err, "rule '%s': %s", r->region, why);
}

/* --- events --- */

/* Not inlined, so that it does not slow down events of regions without a rule. */
static __attribute__((noinline)) void slow(struct pml__tune_thread *th, pml_region_t region, bool leave) {
  int saved = errno;
  struct pml__tune_rule *r = rule_of(th, region);
  if (r != NULL && leave) pml__tune_leave(th, region);
  if (r != NULL && !leave) pml__tune_enter(th, region, r);
  errno = saved;
}

static void on_enter(void *data, const struct pml_stream_event *e) {
  if (!pml__tune_has_none(data, e->region)) slow(data, e->region, false);
}

static void on_leave(void *data, const struct pml_stream_event *e) {
  if (!pml__tune_has_none(data, e->region)) slow(data, e->region, true);
}

static void *thread_begin(void *arg, uint64_t id) {
  struct pml_tune *t = arg;
  struct pml__tune_thread *th = calloc(1, sizeof *th);
  if (th == NULL) return NULL;
  th->tune = t;
  th->id = id;
  pml__mutex_take(&t->lock);
  th->next = t->threads;
  t->threads = th;
  pml__mutex_leave(&t->lock);
  return th;
}

static void free_thread(struct pml__tune_thread *th) {
  free(th->rule_of.of);
  free(th->frame);
  free(th);
}

/* The thread may have ended inside a region. */
static void thread_end(void *arg, void *data) {
  struct pml_tune *t = arg;
  struct pml__tune_thread *th = data, **at = &t->threads;
  pml__tune_unwind(th, true);
  pml__mutex_take(&t->lock);
  while (*at != th) at = &(*at)->next;
  *at = th->next;
  pml__mutex_leave(&t->lock);
  free_thread(th);
}

/* --- open and close --- */

static int make_rules(struct pml_tune *t, const struct pml_tune_rule *rule, size_t n) {
  if (n == 0) return pml_fail(-EINVAL, "tuning needs a rule");
  if (n > PML_TUNE_RULES_MAX) return pml_fail(-EINVAL, "%zu rules; at most %u are possible", n, PML_TUNE_RULES_MAX);
  t->rule = calloc(n, sizeof *t->rule);
  if (t->rule == NULL) return pml_fail(-ENOMEM, "no memory for %zu rules", n);
  int err = 0;
  for (size_t i = 0; err == 0 && i < n; i++) {
    t->nrules = i + 1;
    err = make_rule(t, &rule[i], &t->rule[i]);
  }
  return err;
}

static int start(struct pml_tune *t) {
  static const struct pml_stream_consumer consumer = {.thread_begin = thread_begin,
                                                      .thread_end = thread_end,
                                                      .event = {on_enter, on_leave, NULL},
                                                      .fast = {pml__tune_fast, pml__tune_fast},
                                                      .name = "tune"};
  struct pml_stream_consumer c = consumer;
  c.arg = t;
  int err = pml__controls_guard(t->controls, true);
  return err < 0 ? err : pml_stream_add(&c, &t->consumer);
}

int pml_tune_open(struct pml_tune **out, const struct pml_tune_rule *rule, size_t n, const struct pml_tune_options *o) {
  static const struct pml_tune_options none;
  *out = NULL;
  struct pml_tune *t = calloc(1, sizeof *t);
  if (t == NULL) return pml_fail(-ENOMEM, "no memory to tune");
  (void)pml_clock_init(); /* an error concerns only PMLUA_CLOCK; there is always a clock */
  t->options = o != NULL ? *o : none;
  t->pid = getpid();
  pthread_mutex_init(&t->lock.mutex, NULL);
  const struct pml__controls_options files = {.root = t->options.root != NULL ? t->options.root : PML_TUNE_ROOT,
                                              .dry_run = t->options.dry_run,
                                              .log = t->options.log};
  int err = pml__controls_open(&t->controls, &files);
  if (err == 0) err = make_rules(t, rule, n);
  if (err == 0) err = start(t);
  if (err < 0) {
    t->stopped = true;
    pml_tune_close(t);
    return err;
  }
  *out = t;
  return 0;
}

void pml_tune_stop(struct pml_tune *t) {
  if (t == NULL || t->stopped || t->pid != getpid()) return;
  t->stopped = true;
  (void)pml_stream_remove(t->consumer);
  for (struct pml__tune_thread *th = t->threads; th != NULL; th = th->next)
    pml__tune_unwind(th, th->id == pml_thread_id());
  pml__controls_restore(t->controls);
  for (size_t i = 0; i < t->nrules; i++)
    if (!atomic_load(&t->rule[i].entered))
      pml__notes_unentered(pml__controls_notes(t->controls), "rule", t->rule[i].region);
}

void pml_tune_close(struct pml_tune *t) {
  if (t == NULL || t->pid != getpid()) return;
  pml_tune_stop(t);
  pml__controls_close(t->controls);
  for (struct pml__tune_thread *th = t->threads, *next; th != NULL; th = next) {
    next = th->next;
    free_thread(th);
  }
  for (size_t i = 0; i < t->nrules; i++) free_rule(&t->rule[i]);
  free(t->rule);
  pml__cpus_free(&t->cpus);
  pthread_mutex_destroy(&t->lock.mutex);
  free(t);
}

/* --- results --- */

const char *pml_tune_line(struct pml_tune *t, size_t i) {
  return pml__notes_line(pml__controls_notes(t->controls), i);
}

bool pml__tune_entry_of(struct pml__controls *k, size_t i, struct pml_tune_entry *e) {
  struct pml__notes_entry n;
  if (!pml__notes_entry(pml__controls_notes(k), i, &n)) return false;
  *e = (struct pml_tune_entry){.ns = n.ns, .thread = n.thread, .region = n.region, .what = n.what};
  memcpy(e->text, n.text, sizeof e->text);
  return true;
}

bool pml_tune_entry(struct pml_tune *t, size_t i, struct pml_tune_entry *e) {
  return pml__tune_entry_of(t->controls, i, e);
}

void pml_tune_stats(struct pml_tune *t, struct pml_tune_stats *s) {
  struct pml__controls_stats k;
  pml__controls_stats(t->controls, &k);
  *s = (struct pml_tune_stats){.entered = atomic_load(&t->entered),
                               .writes = k.writes,
                               .refused = k.refused,
                               .lost = atomic_load(&t->lost),
                               .files = k.controls};
}
