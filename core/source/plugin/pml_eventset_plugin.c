/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/plugin/pml_eventset_plugin.c - metrics of plugins in an event set: opened, read, and their differences.
 */
#include "source/pml_eventset_private.h"

#include "base/pml_error.h"
#include "source/plugin/pml_plugin_guard.h"
#include "source/plugin/pml_plugin_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint32_t pml__eventset_plugin_words(const struct pml_event *ev, size_t n) {
  uint32_t words = 0;
  for (size_t i = 0; i < n; i++) words += ev[i].source == &pml__source_plugin;
  return words;
}

/* What a read calls without a lock: a strictly synchronous metric's own function, if its value is one as it stands. */
static void choose(struct pml__eventset_plugin *e) {
  const struct pml_plugin *p = e->plugin;
  bool plain = p->sync == PML_PLUGIN_STRICTLY_SYNC && !pml_mode_is_relative(e->mode) && e->counter != NULL;
  e->get = NULL;
  /* An int32_t is passed as the low half of a register, so that the guard may pass any word. */
  if (plain && !e->counter->dead && pml__plugin_alive(p)) memcpy(&e->get, &p->call.get_current_value, sizeof e->get);
}

static int open_one(struct pml_eventset *s, uint32_t i, const char *name) {
  struct pml__eventset_plugin *e = &s->plugin[s->nplugin];
  uint32_t metric = 0;
  int err = pml__plugin_lookup(name, &e->plugin, &metric);
  if (err < 0) return pml_fail(PML_ENOEVENT, "%s is not there any more", name);
  const struct pml_plugin_metric *m = &e->plugin->metric[metric];
  struct pml__plugin_use *use = pml__plugin_join(e->plugin, &err);
  if (err < 0) return err;
  e->event = i;
  e->metric = m;
  e->mode = m->mode;
  e->counter = use != NULL ? &use->counter[metric] : NULL;
  if (e->counter != NULL && e->counter->dead)
    return pml_fail(PML_EPLUGIN, "%s is dropped: its plugin refused it here, or gave what it cannot have", name);
  e->id = e->counter != NULL ? (uint32_t)e->counter->id : 0;
  e->level = pml_mode_is_level(m->mode) || e->counter == NULL || e->plugin->sync == PML_PLUGIN_ASYNC;
  e->real = m->value == PML_PLUGIN_DOUBLE && e->counter != NULL;
  choose(e);
  s->plugin_plain &= e->get != NULL && !e->level && !e->real;
  s->word[i] = s->plugin_word + s->nplugin++;
  return 0;
}

/* Epochs count from 0: none is NEVER. */
#define NEVER UINT64_MAX

static void note_epoch(struct pml_eventset *s, uint64_t epoch) {
  s->plugin_seen = epoch;
  s->plugin_epoch = atomic_load_explicit(&pml__sde_expedited, memory_order_relaxed) ? epoch : NEVER;
}

int pml__eventset_plugin_open(struct pml_eventset *s, const struct pml_event *ev, const struct pml_target *target) {
  uint32_t n = pml__eventset_plugin_words(ev, s->n);
  if (n == 0) return 0;
  if (target->pid != 0 && target->pid != getpid() && target->pid != gettid())
    return pml_fail(PML_EMODE, "plugins measure this process: their metrics cannot be read of pid %d",
                    (int)target->pid);
  s->plugin = calloc(n, sizeof *s->plugin);
  s->plugin_reader = pml__sde_reader_take();
  if (s->plugin == NULL || s->plugin_reader == NULL)
    return pml_fail(-ENOMEM, "event set with %u metrics of plugins: out of memory", n);
  atomic_store(&s->plugin_reader->alone, &pml__plugin_inside);
  note_epoch(s, atomic_load(&pml__plugin_epoch));
  s->plugin_plain = true;
  int rc = 0;
  for (uint32_t i = 0; rc == 0 && i < s->n; i++)
    if (ev[i].source == &pml__source_plugin) rc = open_one(s, i, ev[i].name);
  return rc;
}

void pml__eventset_plugin_close(struct pml_eventset *s) {
  if (s->plugin_reader != NULL) atomic_store(&s->plugin_reader->alone, NULL);
  pml__sde_reader_give_back(s->plugin_reader);
  free(s->plugin);
}

/* ---- reading ---- */

/* Some plugin ended or was dropped: its events go on with what they had. */
__attribute__((noinline, cold)) static void look_again(struct pml_eventset *s, uint64_t epoch) {
  note_epoch(s, epoch);
  for (uint32_t i = 0; i < s->nplugin; i++) {
    struct pml__eventset_plugin *e = &s->plugin[i];
    bool had = e->get != NULL;
    choose(e);
    if (!had || e->get != NULL) continue;
    e->frozen = true;
    e->last = s->plugin_last != NULL ? s->plugin_last[i] : 0;
    s->plugin_plain = false;
  }
  pml__eventset_choose_read(s);
}

static uint64_t absent(const struct pml__eventset_plugin *e) {
  return pml_value_absent(!e->real && e->metric->value == PML_PLUGIN_INT64);
}

__attribute__((noinline)) static uint64_t ask(struct pml__eventset_plugin *e) {
  uint64_t value;
  if (e->frozen) return e->last;
  if (e->counter != NULL && pml__plugin_ask(e->counter, &value)) return value;
  return e->level ? absent(e) : 0;
}

/* An exception came out of metric @i: it stands at what it was. */
__attribute__((noinline, cold)) static uint64_t threw(struct pml_eventset *s, uint32_t i, struct _Unwind_Exception *e) {
  pml__plugin_threw(s->plugin[i].plugin, "get_current_value", e);
  look_again(s, atomic_load(&pml__plugin_epoch));
  return s->plugin[i].last;
}

static inline uint64_t value_of(struct pml_eventset *s, uint32_t i) {
  struct pml__eventset_plugin *p = &s->plugin[i];
  if (PML_UNLIKELY(p->get == NULL)) return ask(p);
  struct pml__guarded got = pml__guard_get(p->id, p->get);
  return PML_LIKELY(got.e == NULL) ? got.value : threw(s, i, got.e);
}

/*
 * As pml__sde_enter() and pml__sde_leave(), but without counting passes: nothing is loaded, so that a read does not
 * wait for the one before. Who ends a plugin looks until it finds the reader outside; since a pass that began after the
 * end does not call the plugin any more, missing a moment outside only costs another look.
 */
__attribute__((noinline, cold)) static void enter_slowly(struct pml_eventset *s) {
  atomic_store_explicit(&s->plugin_reader->passes, 1, memory_order_seq_cst);
  uint64_t epoch = atomic_load_explicit(&pml__plugin_epoch, memory_order_seq_cst);
  if (s->plugin_seen != epoch) look_again(s, epoch);
}

static inline void enter(struct pml_eventset *s) {
  atomic_store_explicit(&s->plugin_reader->passes, 1, memory_order_relaxed);
  atomic_signal_fence(memory_order_seq_cst);
  uint64_t epoch = atomic_load_explicit(&pml__plugin_epoch, memory_order_seq_cst);
  if (PML_UNLIKELY(s->plugin_epoch != epoch)) enter_slowly(s);
}

static inline void leave(struct pml_eventset *s, const uint64_t *words) {
  s->plugin_last = words;
  atomic_store_explicit(&s->plugin_reader->passes, 0, memory_order_release);
}

int pml__eventset_plugin_snapshot(struct pml_eventset *s, uint64_t *snapshot, bool times) {
  int rc = s->nsde > 0 ? pml__eventset_sde_snapshot(s, snapshot, times) : pml__eventset_snapshot(s, snapshot, times);
  if (PML_UNLIKELY(rc < 0)) return rc;
  uint64_t *words = snapshot + s->plugin_word;
  enter(s);
  for (uint32_t i = 0; i < s->nplugin; i++) words[i] = value_of(s, i);
  leave(s, words);
  return rc;
}

static inline double as_double(uint64_t bits) {
  double d;
  memcpy(&d, &bits, sizeof d);
  return d;
}

static inline uint64_t as_bits(double d) {
  uint64_t bits;
  memcpy(&bits, &d, sizeof bits);
  return bits;
}

void pml__eventset_plugin_differences(const struct pml_eventset *s, uint64_t *values) {
  const uint64_t *now = s->now + s->plugin_word, *base = s->base + s->plugin_word;
  if (s->plugin_plain) return; /* what every event's difference is */
  for (uint32_t i = 0; i < s->nplugin; i++) {
    const struct pml__eventset_plugin *e = &s->plugin[i];
    if (e->level)
      values[e->event] = now[i];
    else if (e->real)
      values[e->event] = as_bits(as_double(now[i]) - as_double(base[i]));
  }
}

/* All events are metrics of plugins: no other source is looked at. */
int pml__eventset_plugin_read(struct pml_eventset *s, uint64_t *values) {
  uint64_t *now = s->now + s->plugin_word;
  const uint64_t *base = s->base + s->plugin_word;
  uint32_t i = 0;
  enter(s);
  do {
    uint64_t v = value_of(s, i);
    now[i] = v;
    values[i] = v - base[i];
  } while (++i < s->nplugin);
  leave(s, now);
  if (PML_UNLIKELY(!s->plugin_plain)) pml__eventset_plugin_differences(s, values);
  return 0;
}

/* What most sets with plugins are. As few registers live across the call as can be: each is a push and a pop. */
int pml__eventset_plugin_read_one(struct pml_eventset *s, uint64_t *values) {
  atomic_store_explicit(&s->plugin_reader->passes, 1, memory_order_relaxed);
  atomic_signal_fence(memory_order_seq_cst);
  if (PML_UNLIKELY(s->plugin_epoch != atomic_load_explicit(&pml__plugin_epoch, memory_order_seq_cst)))
    return pml__eventset_plugin_read(s, values);
  struct pml__guarded got = pml__guard_get(s->plugin->id, s->plugin->get);
  if (PML_UNLIKELY(got.e != NULL)) got.value = threw(s, 0, got.e);
  atomic_store_explicit(&s->plugin_reader->passes, 0, memory_order_release);
  uint64_t *now = s->now + s->plugin_word;
  *now = got.value;
  *values = got.value - s->base[s->plugin_word];
  s->plugin_last = now;
  return 0;
}

void pml__eventset_plugin_prepare_add(const struct pml_eventset *s, const uint64_t *values, uint64_t *count) {
  for (uint32_t i = 0; i < s->nplugin; i++) {
    const struct pml__eventset_plugin *e = &s->plugin[i];
    if (e->level)
      count[e->event] -= values[e->event];
    else if (e->real)
      count[e->event] = as_bits(as_double(values[e->event]) + as_double(count[e->event])) - values[e->event];
  }
}

/* ---- what they are ---- */

static const struct pml__eventset_plugin *plugin_of(const struct pml_eventset *s, size_t event) {
  const struct pml__eventset_plugin *e = s->plugin;
  while (e->event != event) e++;
  return e;
}

bool pml__eventset_plugin_is_absent(const struct pml_eventset *s, size_t event, uint64_t value) {
  const struct pml__eventset_plugin *e = plugin_of(s, event);
  return e->level && value == absent(e);
}

bool pml__eventset_plugin_is_real(const struct pml_eventset *s, size_t event) {
  return plugin_of(s, event)->real;
}

void pml__eventset_plugin_describe(const struct pml_eventset *s, size_t event, struct pml_eventset_event *info) {
  const struct pml__eventset_plugin *e = plugin_of(s, event);
  info->type = e->real ? PML_TYPE_DOUBLE : PML_TYPE_INT64;
  info->is_unsigned = e->metric->value == PML_PLUGIN_UINT64;
  info->mode = pml_mode_summed(e->mode);
  info->unit = e->metric->unit;
  info->binary = e->metric->binary;
  info->exponent = e->metric->exponent;
  if (e->counter == NULL)
    info->why = "another process of the job measures it";
  else if (!pml__plugin_alive(e->plugin))
    info->why = "its plugin has ended or was dropped: this is its last value";
  else if (e->plugin->sync == PML_PLUGIN_ASYNC)
    info->why = "its values come when the plugin ends, as a series";
}
