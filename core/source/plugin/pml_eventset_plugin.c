/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/plugin/pml_eventset_plugin.c - plugin metrics in an event set: open, read, differences. */
#include "base/pml_bits.h"
#include "base/pml_error.h"
#include "base/pml_libc.h"
#include "source/base/pml_eventset_private.h"
#include "source/plugin/pml_plugin_guard.h"
#include "source/plugin/pml_plugin_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A metric. A read of a strictly synchronous one uses the first cache line only. */
struct metric {
  uint64_t (*get)(uint64_t id); /* NULL: read in another way, or not at all. Takes the low half */
  uint64_t id;
  uint32_t event; /* index in the set */
  bool level, real, frozen;
  enum pml_mode mode;
  uint64_t last;                       /* frozen: the plugin has ended or was dropped */
  struct pml__plugin_counter *counter; /* NULL: another process measures it */
  struct pml_plugin *plugin;
  const struct pml_plugin_metric *metric;
};

struct plugin_backend {
  struct pml__backend backend;
  bool plain;            /* each difference is the plain difference of two words */
  uint64_t epoch;        /* the epoch that reads expect; NEVER if each read needs a fence */
  uint64_t seen;         /* the epoch at which @metric was last updated */
  struct metric *metric; /* [backend.n] */
  struct pml__sde_reader *reader;
  const uint64_t *last; /* the words of the last read */
};

static struct plugin_backend *backend_of(const struct pml_eventset *s) {
  return (struct plugin_backend *)s->backend;
}

/* Choose the function that reads call without a lock: a strictly synchronous metric's own function, if its value needs
 * no conversion. */
static void choose(struct metric *m) {
  const struct pml_plugin *p = m->plugin;
  bool plain = p->sync == PML_PLUGIN_STRICTLY_SYNC && !pml_mode_is_relative(m->mode) && m->counter != NULL;
  m->get = NULL;
  /* An int32_t is passed as the low half of a register, so that the guard may pass any word. */
  if (plain && !m->counter->dead && pml__plugin_alive(p)) memcpy(&m->get, &p->call.get_current_value, sizeof m->get);
}

/* Epochs count from 0 and never reach this value. */
#define NEVER UINT64_MAX

static void note_epoch(struct plugin_backend *h, uint64_t epoch) {
  h->seen = epoch;
  h->epoch = atomic_load_explicit(&pml__sde_expedited, memory_order_relaxed) ? epoch : NEVER;
}

/* ---- reading ---- */

static void choose_read(struct plugin_backend *h);

/* A plugin ended or was dropped: its events keep their last values. */
__attribute__((noinline, cold)) static void look_again(struct plugin_backend *h, uint64_t epoch) {
  note_epoch(h, epoch);
  for (uint32_t i = 0; i < h->backend.n; i++) {
    struct metric *m = &h->metric[i];
    bool had = m->get != NULL;
    choose(m);
    if (!had || m->get != NULL) continue;
    m->frozen = true;
    m->last = h->last != NULL ? h->last[i] : 0;
    h->plain = false;
  }
  choose_read(h);
  pml__eventset_choose_read(h->backend.set);
}

static uint64_t absent_of(const struct metric *m) {
  return pml_value_absent(!m->real && m->metric->value == PML_PLUGIN_INT64);
}

__attribute__((noinline)) static uint64_t ask(struct metric *m) {
  uint64_t value;
  if (m->frozen) return m->last;
  if (m->counter != NULL && pml__plugin_ask(m->counter, &value)) return value;
  return m->level ? absent_of(m) : 0;
}

/* Metric @i threw an exception: it keeps its last value. */
__attribute__((noinline, cold)) static uint64_t threw(struct plugin_backend *h, uint32_t i,
                                                      struct _Unwind_Exception *e) {
  pml__plugin_threw(h->metric[i].plugin, "get_current_value", e);
  look_again(h, atomic_load(&pml__plugin_epoch));
  return h->metric[i].last;
}

static inline uint64_t value_of(struct plugin_backend *h, uint32_t i) {
  struct metric *m = &h->metric[i];
  if (PML_UNLIKELY(m->get == NULL)) return ask(m);
  struct pml__guarded got = pml__guard_get(m->id, m->get);
  return PML_LIKELY(got.e == NULL) ? got.value : threw(h, i, got.e);
}

/*
 * Like pml__sde_enter() and pml__sde_leave(), but without counting passes: nothing is loaded, so a read does not wait
 * for the previous one. The thread that ends a plugin polls until it finds the reader outside. A pass that began after
 * the end does not call the plugin any more, so if the polling thread misses a moment outside, it only polls once more.
 */
__attribute__((noinline, cold)) static void enter_slowly(struct plugin_backend *h) {
  atomic_store_explicit(&h->reader->passes, 1, memory_order_seq_cst);
  uint64_t epoch = atomic_load_explicit(&pml__plugin_epoch, memory_order_seq_cst);
  if (h->seen != epoch) look_again(h, epoch);
}

static inline void enter(struct plugin_backend *h) {
  atomic_store_explicit(&h->reader->passes, 1, memory_order_relaxed);
  atomic_signal_fence(memory_order_seq_cst);
  uint64_t epoch = atomic_load_explicit(&pml__plugin_epoch, memory_order_seq_cst);
  if (PML_UNLIKELY(h->epoch != epoch)) enter_slowly(h);
}

static inline void leave(struct plugin_backend *h, const uint64_t *words) {
  h->last = words;
  atomic_store_explicit(&h->reader->passes, 0, memory_order_release);
}

static int snapshot_metrics(struct pml__backend *backend, uint64_t *words, bool times) {
  struct plugin_backend *h = (struct plugin_backend *)backend;
  (void)times;
  enter(h);
  for (uint32_t i = 0; i < backend->n; i++) words[i] = value_of(h, i);
  leave(h, words);
  return 0;
}

static void difference(const struct pml__backend *backend, uint64_t *values) {
  const struct plugin_backend *h = (const struct plugin_backend *)backend;
  const uint64_t *now = pml__backend_now(backend), *base = pml__backend_base(backend);
  if (h->plain) return; /* every event has the plain difference already */
  for (uint32_t i = 0; i < backend->n; i++) {
    const struct metric *m = &h->metric[i];
    if (m->level)
      values[m->event] = now[i];
    else if (m->real)
      values[m->event] = pml__as_bits(pml__as_double(now[i]) - pml__as_double(base[i]));
  }
}

/* Ignores all other sources. */
static int read_metrics(struct pml_eventset *s, uint64_t *values) {
  struct plugin_backend *h = backend_of(s);
  uint64_t *now = s->now;
  const uint64_t *base = s->base;
  uint32_t i = 0;
  enter(h);
  do {
    uint64_t v = value_of(h, i);
    now[i] = v;
    values[i] = v - base[i];
  } while (++i < h->backend.n);
  leave(h, now);
  if (PML_UNLIKELY(!h->plain)) difference(&h->backend, values);
  return 0;
}

/* Finish a read of one metric. */
static inline int keep(struct pml_eventset *s, struct plugin_backend *h, uint64_t *values, uint64_t value) {
  uint64_t *now = s->now;
  *now = value;
  *values = value - *s->base;
  leave(h, now);
  return 0;
}

/* The usual case of sets with plugins. It keeps as few registers as possible across the call, because each costs a push
 * and a pop. */
static int read_metric(struct pml_eventset *s, uint64_t *values) {
  struct plugin_backend *h = backend_of(s);
  atomic_store_explicit(&h->reader->passes, 1, memory_order_relaxed);
  atomic_signal_fence(memory_order_seq_cst);
  if (PML_UNLIKELY(h->epoch != atomic_load_explicit(&pml__plugin_epoch, memory_order_seq_cst)))
    return read_metrics(s, values);
  struct pml__guarded got = pml__guard_get(h->metric->id, h->metric->get);
  if (PML_UNLIKELY(got.e != NULL)) return keep(s, h, values, threw(h, 0, got.e));
  return keep(s, h, values, got.value);
}

static void prepare_add(const struct pml__backend *backend, const uint64_t *values, uint64_t *count) {
  const struct plugin_backend *h = (const struct plugin_backend *)backend;
  for (uint32_t i = 0; i < backend->n; i++) {
    const struct metric *m = &h->metric[i];
    if (m->level)
      count[m->event] -= values[m->event];
    else if (m->real)
      count[m->event] =
          pml__as_bits(pml__as_double(values[m->event]) + pml__as_double(count[m->event])) - values[m->event];
  }
}

static void choose_read(struct plugin_backend *h) {
  h->backend.read = h->backend.n == 1 && h->plain ? read_metric : read_metrics;
}

/* ---- open and describe ---- */

static int open_one(struct plugin_backend *h, uint32_t k, const char *name) {
  struct metric *m = &h->metric[k];
  uint32_t metric = 0;
  int err = pml__plugin_lookup(pml__source_rest(h->backend.source, name), &m->plugin, &metric);
  if (err < 0) return pml_fail(PML_ENOEVENT, "%s was unregistered", name);
  struct pml__plugin_use *use = pml__plugin_join(m->plugin, &err);
  if (err < 0) return err;
  m->event = h->backend.event[k];
  m->metric = &m->plugin->metric[metric];
  m->mode = m->metric->mode;
  m->counter = use != NULL ? &use->counter[metric] : NULL;
  if (m->counter != NULL && m->counter->dead)
    return pml_fail(PML_EPLUGIN, "%s is dropped: its plugin refused it, or returned an invalid value", name);
  m->id = m->counter != NULL ? (uint32_t)m->counter->id : 0;
  m->level = pml_mode_is_level(m->mode) || m->counter == NULL || m->plugin->sync == PML_PLUGIN_ASYNC;
  m->real = m->metric->value == PML_PLUGIN_DOUBLE && m->counter != NULL;
  choose(m);
  h->plain &= m->get != NULL && !m->level && !m->real;
  h->backend.word[k] = k;
  return 0;
}

static int open_backend(struct pml__backend *backend, const struct pml_event *ev,
                        const struct pml_eventset_options *options) {
  struct plugin_backend *h = (struct plugin_backend *)backend;
  const struct pml_target *target = &options->target;
  if (target->pid != 0 && target->pid != getpid() && target->pid != gettid())
    return pml_fail(PML_EMODE, "plugins measure this process only, not pid %d", (int)target->pid);
  h->metric = calloc(backend->n, sizeof *h->metric);
  h->reader = pml__sde_reader_take();
  if (h->metric == NULL || h->reader == NULL)
    return pml_fail(-ENOMEM, "event set with %u metrics of plugins: out of memory", backend->n);
  atomic_store(&h->reader->alone, &pml__plugin_inside);
  note_epoch(h, atomic_load(&pml__plugin_epoch));
  h->plain = true;
  int rc = 0;
  for (uint32_t k = 0; rc == 0 && k < backend->n; k++) rc = open_one(h, k, ev[backend->event[k]].name);
  backend->words = backend->n;
  backend->snapshot = snapshot_metrics;
  backend->difference = difference;
  backend->prepare_add = prepare_add;
  choose_read(h);
  return rc;
}

static void close_backend(struct pml__backend *backend) {
  struct plugin_backend *h = (struct plugin_backend *)backend;
  if (h->reader != NULL) atomic_store(&h->reader->alone, NULL);
  pml__sde_reader_give_back(h->reader);
  free(h->metric);
}

static bool is_absent(const struct pml__backend *backend, uint32_t k, uint64_t value) {
  const struct metric *m = &((const struct plugin_backend *)backend)->metric[k];
  return m->level && value == absent_of(m);
}

static enum pml_type type_of(const struct pml__backend *backend, uint32_t k) {
  return ((const struct plugin_backend *)backend)->metric[k].real ? PML_TYPE_DOUBLE : PML_TYPE_INT64;
}

static enum pml_type declared(const struct pml__backend *backend, uint32_t k, unsigned *may) {
  if (((const struct plugin_backend *)backend)->metric[k].level) *may = PML__MAY_LACK_VALUE;
  return type_of(backend, k);
}

static void describe(const struct pml__backend *backend, uint32_t k, struct pml_eventset_event *info) {
  const struct metric *m = &((const struct plugin_backend *)backend)->metric[k];
  info->type = type_of(backend, k);
  info->is_unsigned = m->metric->value == PML_PLUGIN_UINT64;
  info->mode = pml_mode_summed(m->mode);
  info->unit = m->metric->unit;
  info->binary = m->metric->binary;
  info->exponent = m->metric->exponent;
  if (m->counter == NULL)
    info->why = "another process of the job measures it";
  else if (!pml__plugin_alive(m->plugin))
    info->why = "its plugin has ended or was dropped: this is its last value";
  else if (m->plugin->sync == PML_PLUGIN_ASYNC)
    info->why = "its values arrive as a series when the plugin ends";
}

const struct pml__source pml__source_plugin = {.name = "plugin",
                                               .prefix = PML__PLUGIN_PREFIX,
                                               .parse = pml__plugin_parse,
                                               .walk = pml__plugin_walk,
                                               .backend_bytes = sizeof(struct plugin_backend),
                                               .open = open_backend,
                                               .close = close_backend,
                                               .describe = describe,
                                               .type = type_of,
                                               .absent = is_absent,
                                               .declared = declared};
