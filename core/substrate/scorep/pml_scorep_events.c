/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/scorep/pml_scorep_events.c - delivery of stream events to a substrate plugin. */
#include "substrate/scorep/pml_scorep_private.h"

#include "base/pml_clock.h"
#include "base/pml_thread.h"
#include "record/log/pml_log_format.h"
#include "source/plugin/pml_plugin_guard.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- definitions ---- */

static void tell(struct pml_scorep *p, SCOREP_AnyHandle handle, SCOREP_HandleType type) {
  struct pml__scorep_arguments a = {.handle = handle, .type = type};
  (void)pml__scorep_call(p, PML__SCOREP_DEFINE, &a);
}

/* Held throughout, so that the plugin gets each definition once, and before the first event with it. */
void pml__scorep_define(struct pml_scorep *p) {
  pml__mutex_take(&p->lock);
  for (uint32_t i = atomic_load(&p->metrics), n = pml__scorep_metrics(); i < n; i++) {
    tell(p, PML__SCOREP_METRIC | i, SCOREP_HANDLE_TYPE_METRIC);
    tell(p, PML__SCOREP_SET | i, SCOREP_HANDLE_TYPE_SAMPLING_SET);
    atomic_store(&p->metrics, i + 1);
  }
  for (uint32_t i = atomic_load(&p->regions), n = pml_region_count(); i < n; i++) {
    tell(p, i + 1, SCOREP_HANDLE_TYPE_REGION);
    atomic_store_explicit(&p->regions, i + 1, memory_order_release);
  }
  pml__mutex_leave(&p->lock);
}

static void learn_metrics(struct pml__scorep_stream *l, const struct pml_stream_metrics *m) {
  for (uint32_t i = 0; i < m->n; i++) {
    uint32_t at = pml__scorep_metric(m->name[i], pml_stream_metrics_real(m, i));
    l->map[i] = (uint8_t)at;
  }
  l->last = m;
}

/* A value missing in this event keeps its last value. */
static void take_values(struct pml__scorep_stream *l, const struct pml_stream_event *e) {
  if (PML_UNLIKELY(e->metrics != l->last)) learn_metrics(l, e->metrics);
  for (uint32_t i = 0; i < e->metrics->n; i++)
    if (l->map[i] < PML_STREAM_METRICS_MAX) l->values[l->map[i]] = e->values[i];
}

__attribute__((noinline)) static void prepare(struct pml__scorep_stream *l, const struct pml_stream_event *e) {
  struct pml_scorep *p = l->plugin;
  if (e->metrics != NULL) take_values(l, e);
  if (e->region > atomic_load_explicit(&p->regions, memory_order_acquire) ||
      atomic_load_explicit(&p->metrics, memory_order_relaxed) < pml__scorep_metrics())
    pml__scorep_define(p);
  l->known = atomic_load_explicit(&p->regions, memory_order_acquire);
  l->plain = l->guarded ? 0 : l->known;
}

static inline void look(struct pml__scorep_stream *l, const struct pml_stream_event *e) {
  if (PML_UNLIKELY(e->metrics != NULL || e->region > l->known)) prepare(l, e);
}

static void prepare_region(void *data, pml_region_t region) {
  look(data, &(struct pml_stream_event){.region = region});
}

/* ---- delivery ---- */

struct calling {
  struct pml__scorep_stream *stream;
  void (*f)(struct SCOREP_Location *, uint64_t, SCOREP_RegionHandle, uint64_t *);
  uint64_t ticks;
  pml_region_t region;
};

static uint64_t call(uint64_t arg) {
  const struct calling *c = (const struct calling *)(uintptr_t)arg; /* NOLINT(performance-no-int-to-ptr) */
  c->f(c->stream->location, c->ticks, c->region, c->stream->values);
  return 0;
}

__attribute__((noinline)) static void hand_guarded(struct pml__scorep_stream *l,
                                                   void (*f)(struct SCOREP_Location *, uint64_t, SCOREP_RegionHandle,
                                                             uint64_t *),
                                                   uint64_t ticks, pml_region_t region) {
  struct calling c = {l, f, ticks, region};
  struct pml_scorep *p = l->plugin;
  if (atomic_load_explicit(&p->dropped, memory_order_relaxed)) return;
  struct _Unwind_Exception *e = pml__guard_get((uintptr_t)&c, call).e;
  if (PML_UNLIKELY(e != NULL)) pml__scorep_drop(p, e);
}

/* Enter, leave and the recording switches have the same parameters. */
static inline void hand(struct pml__scorep_stream *l,
                        void (*f)(struct SCOREP_Location *, uint64_t, SCOREP_RegionHandle, uint64_t *), uint64_t ticks,
                        pml_region_t region) {
  if (PML_UNLIKELY(l->guarded))
    hand_guarded(l, f, ticks, region);
  else
    f(l->location, ticks, region, l->values);
}

static void nothing(struct SCOREP_Location *location, uint64_t ticks, SCOREP_RegionHandle region, uint64_t *values) {
  (void)location, (void)ticks, (void)region, (void)values;
}

/* Whether the event is unusual: usually the plugin has the definition of its region, there are no values, and the
 * plugin cannot throw. */
static inline bool is_rare(const struct pml__scorep_stream *l, const struct pml_stream_event *e) {
  return PML_UNLIKELY(e->metrics != NULL) || PML_UNLIKELY(e->region - 1 >= l->plain);
}

__attribute__((noinline)) static void enter_rarely(struct pml__scorep_stream *l, const struct pml_stream_event *e) {
  look(l, e);
  if (PML_LIKELY(l->depth < PML_SCOREP_DEPTH_MAX)) l->open[l->depth] = e->region;
  l->depth++;
  hand(l, atomic_load_explicit(&l->enter, memory_order_relaxed), e->ticks, e->region);
}

static void on_enter(void *data, const struct pml_stream_event *e) {
  struct pml__scorep_stream *l = data;
  uint32_t depth = l->depth;
  if (is_rare(l, e) || PML_UNLIKELY(depth >= PML_SCOREP_DEPTH_MAX)) {
    enter_rarely(l, e);
    return;
  }
  l->open[depth] = e->region;
  l->depth = depth + 1;
  atomic_load_explicit(&l->enter, memory_order_relaxed)(l->location, e->ticks, e->region, l->values);
}

/* A leave of another than the innermost region: inner regions are left first. Returns false if it was not entered. */
__attribute__((noinline)) static bool unwind(struct pml__scorep_stream *l, const struct pml_stream_event *e) {
  uint32_t i = l->depth < PML_SCOREP_DEPTH_MAX ? l->depth : PML_SCOREP_DEPTH_MAX;
  while (i > 0 && l->open[i - 1] != e->region) i--;
  if (i == 0) {
    atomic_fetch_add_explicit(&l->plugin->unmatched, 1, memory_order_relaxed);
    return false;
  }
  for (; l->depth > i; l->depth--)
    hand(l, atomic_load_explicit(&l->leave, memory_order_relaxed), e->ticks, l->open[l->depth - 1]);
  return true;
}

__attribute__((noinline)) static void leave_rarely(struct pml__scorep_stream *l, const struct pml_stream_event *e) {
  look(l, e);
  if (PML_UNLIKELY(l->depth - 1 >= PML_SCOREP_DEPTH_MAX)) { /* no region is open, or more than are stored */
    if (l->depth == 0) {
      atomic_fetch_add_explicit(&l->plugin->unmatched, 1, memory_order_relaxed);
      return;
    }
  } else if (PML_UNLIKELY(l->open[l->depth - 1] != e->region) && !unwind(l, e)) {
    return;
  }
  l->depth--;
  hand(l, atomic_load_explicit(&l->leave, memory_order_relaxed), e->ticks, e->region);
}

static void on_leave(void *data, const struct pml_stream_event *e) {
  struct pml__scorep_stream *l = data;
  uint32_t inner = l->depth - 1;
  if (is_rare(l, e) || PML_UNLIKELY(inner >= PML_SCOREP_DEPTH_MAX) || PML_UNLIKELY(l->open[inner] != e->region)) {
    leave_rarely(l, e);
    return;
  }
  l->depth = inner;
  atomic_load_explicit(&l->leave, memory_order_relaxed)(l->location, e->ticks, e->region, l->values);
}

/* A metric keeps the type of its first value; a software-defined event may become a double when it is registered. */
static uint64_t whole_of(const struct pml_stream_metrics *m, uint32_t i, uint64_t bits, double real) {
  if (!pml_stream_metrics_real(m, i)) return bits;
  return pml_value_is_int64(real) ? (uint64_t)(int64_t)real : 0;
}

static uint64_t trigger(uint64_t arg) {
  const struct calling *c = (const struct calling *)(uintptr_t)arg; /* NOLINT(performance-no-int-to-ptr) */
  const struct pml__scorep_stream *l = c->stream;
  const struct pml__scorep_functions *f = atomic_load_explicit(&l->plugin->now, memory_order_acquire);
  for (uint32_t i = 0; i < l->last->n; i++) {
    uint32_t at = l->map[i];
    if (at == PML_STREAM_METRICS_MAX) continue;
    double real;
    memcpy(&real, &l->values[at], sizeof real);
    enum pml_plugin_value type = pml__scorep_metric_type(at);
    uint64_t whole = whole_of(l->last, i, l->values[at], real);
    if (type == PML_PLUGIN_UINT64)
      f->whole(l->location, c->ticks, PML__SCOREP_SET | at, whole);
    else if (type == PML_PLUGIN_INT64)
      f->whole_signed(l->location, c->ticks, PML__SCOREP_SET | at, (int64_t)whole);
    else
      f->real(l->location, c->ticks, PML__SCOREP_SET | at, real);
  }
  return 0;
}

static void on_metric(void *data, const struct pml_stream_event *e) {
  struct pml__scorep_stream *l = data;
  if (e->metrics == NULL || atomic_load_explicit(&l->plugin->dropped, memory_order_relaxed)) return;
  look(l, e);
  struct calling c = {.stream = l, .ticks = e->ticks};
  struct _Unwind_Exception *thrown = pml__guard_get((uintptr_t)&c, trigger).e;
  if (thrown != NULL) pml__scorep_drop(l->plugin, thrown);
}

/* ---- OpenMP ---- */

/* Under the lock, so that the plugin gets each team once. */
static void define_teams(struct pml_scorep *p, uint64_t number) {
  if (!pml__scorep_has(p, PML__SCOREP_DEFINE) || number <= atomic_load(&p->teams)) return;
  pml__mutex_take(&p->lock);
  for (uint64_t i = atomic_load(&p->teams); i < number; i++) {
    tell(p, pml__scorep_team_handle(i + 1), SCOREP_HANDLE_TYPE_INTERIM_COMMUNICATOR);
    atomic_store(&p->teams, i + 1);
  }
  pml__mutex_leave(&p->lock);
}

struct step {
  struct pml__scorep_stream *stream;
  const struct pml_stream_event *event;
};

static uint64_t make_step(uint64_t arg) {
  const struct step *s = (const struct step *)(uintptr_t)arg; /* NOLINT(performance-no-int-to-ptr) */
  pml__scorep_hand_openmp(s->stream, s->event);
  return 0;
}

static void on_openmp(void *data, const struct pml_stream_event *e) {
  struct pml__scorep_stream *l = data;
  const struct step s = {l, e};
  if (atomic_load_explicit(&l->plugin->dropped, memory_order_relaxed)) return;
  if (PML__LOG_COMMUNICATED_WHAT(e->region) == PML__LOG_OPENMP_TEAM_BEGIN) define_teams(l->plugin, e->values[0]);
  if (PML_LIKELY(!l->guarded)) {
    pml__scorep_hand_openmp(l, e);
    return;
  }
  struct _Unwind_Exception *thrown = pml__guard_get((uintptr_t)&s, make_step).e;
  if (thrown != NULL) pml__scorep_drop(l->plugin, thrown);
}

/* End the teams that the thread is still in, because libomp reports the end of a team to a worker when it next wakes
 * the worker. */
static void end_teams(struct pml__scorep_stream *l, uint64_t ticks) {
  for (uint64_t number; !atomic_load(&l->plugin->dropped) && (number = pml__scorep_team(l)) != 0;)
    on_openmp(l, &(struct pml_stream_event){.ticks = ticks,
                                            .region = PML__LOG_COMMUNICATED(PML__LOG_OPENMP_TEAM_END, 1, 0),
                                            .values = &number});
}

/* ---- threads ---- */

/* Under the lock. Functions are complete before the plugin gets events, so no ordering is needed. */
static void switch_stream(struct pml__scorep_stream *l, const struct pml__scorep_functions *to) {
  atomic_store_explicit(&l->enter, to->enter, memory_order_relaxed);
  atomic_store_explicit(&l->leave, to->leave, memory_order_relaxed);
}

static void switch_streams(struct pml_scorep *p, const struct pml__scorep_functions *to) {
  pml__mutex_take(&p->lock);
  atomic_store(&p->now, to);
  for (struct pml__scorep_stream *l = p->streams; l != NULL; l = l->next) switch_stream(l, to);
  pml__mutex_leave(&p->lock);
}

static struct pml__scorep_stream *new_stream(struct pml_scorep *p, struct SCOREP_Location *location) {
  struct pml__scorep_stream *l = calloc(1, sizeof *l);
  if (l == NULL) return NULL;
  *l = (struct pml__scorep_stream){.plugin = p, .location = location, .active = true};
  /* a library without the C++ runtime cannot throw */
  l->guarded = pml__scorep_throws(p);
  pml__mutex_take(&p->lock);
  switch_stream(l, atomic_load(&p->now));
  l->next = p->streams;
  p->streams = l;
  p->nstreams++;
  uint32_t sequence = p->nstreams;
  pml__mutex_leave(&p->lock);
  const struct SCOREP_Location *first = pml__scorep_first_location();
  struct pml__scorep_arguments a = {
      .location = location, .parent = location == first ? NULL : first, .handle = sequence};
  tell(p, PML__SCOREP_LOCATION | location->id, SCOREP_HANDLE_TYPE_LOCATION);
  (void)pml__scorep_call(p, PML__SCOREP_CREATE, &a);
  (void)pml__scorep_call(p, PML__SCOREP_ACTIVATE, &a);
  return l;
}

struct pml__scorep_stream *pml__scorep_stream(struct pml_scorep *p, uint64_t thread) {
  pml__mutex_take(&p->lock);
  struct pml__scorep_stream *l = p->streams;
  while (l != NULL && l->location->thread != thread) l = l->next;
  pml__mutex_leave(&p->lock);
  if (l != NULL) return l;
  struct SCOREP_Location *location = pml__scorep_location(thread);
  return location != NULL ? new_stream(p, location) : NULL;
}

static void *thread_begin(void *arg, uint64_t thread) {
  return pml__scorep_stream(arg, thread);
}

static void deactivate(struct pml__scorep_stream *l) {
  struct pml__scorep_arguments a = {.location = l->location};
  if (l->active) (void)pml__scorep_call(l->plugin, PML__SCOREP_DEACTIVATE, &a);
  l->active = false;
}

static void leave_open(struct pml__scorep_stream *l) {
  uint64_t ticks = pml_clock_ticks();
  for (; l->depth > 0; l->depth--)
    if (l->depth <= PML_SCOREP_DEPTH_MAX)
      hand(l, atomic_load_explicit(&l->leave, memory_order_relaxed), ticks, l->open[l->depth - 1]);
  end_teams(l, ticks);
}

static void thread_end(void *arg, void *data) {
  (void)arg;
  leave_open(data);
  deactivate(data);
}

void pml__scorep_leave_all(struct pml_scorep *p) {
  for (struct pml__scorep_stream *l = p->streams; l != NULL; l = l->next) leave_open(l);
  pml__scorep_program(p, p->master, false);
  for (struct pml__scorep_stream *l = p->streams; l != NULL; l = l->next) deactivate(l);
}

/* ---- requests for events ---- */

static void no_counter(struct SCOREP_Location *location, uint64_t ticks, SCOREP_SamplingSetHandle set, uint64_t value) {
  (void)location, (void)ticks, (void)set, (void)value;
}
static void no_signed(struct SCOREP_Location *location, uint64_t ticks, SCOREP_SamplingSetHandle set, int64_t value) {
  (void)location, (void)ticks, (void)set, (void)value;
}
static void no_real(struct SCOREP_Location *location, uint64_t ticks, SCOREP_SamplingSetHandle set, double value) {
  (void)location, (void)ticks, (void)set, (void)value;
}

/* Requests an event if either mode wants it; in the other mode the event is ignored. */
int pml__scorep_listen(struct pml_scorep *p) {
  struct pml_stream_consumer c = {
      .name = p->name, .thread_begin = thread_begin, .thread_end = thread_end, .prepare = prepare_region, .arg = p};
  for (int mode = 0; mode < SCOREP_SUBSTRATES_NUM_MODES; mode++) {
    struct pml__scorep_functions *f = &p->functions[mode];
    bool tasks = f->task_begin != NULL || f->task_end != NULL; /* these get the open region */
    if (f->enter != NULL || f->leave != NULL || tasks)
      c.event[PML_STREAM_ENTER] = on_enter, c.event[PML_STREAM_LEAVE] = on_leave;
    if (pml__scorep_wants_openmp(f)) c.event[PML_STREAM_OPENMP] = on_openmp;
    if (f->whole != NULL || f->whole_signed != NULL || f->real != NULL) c.event[PML_STREAM_METRIC] = on_metric;
    if (f->enter == NULL) f->enter = nothing;
    if (f->leave == NULL) f->leave = nothing;
    if (f->whole == NULL) f->whole = no_counter;
    if (f->whole_signed == NULL) f->whole_signed = no_signed;
    if (f->real == NULL) f->real = no_real;
  }
  switch_streams(p, atomic_load(&p->now)); /* the first per-thread stream exists already */
  bool threads = pml__scorep_has(p, PML__SCOREP_CREATE) || pml__scorep_has(p, PML__SCOREP_ACTIVATE);
  if (c.event[PML_STREAM_ENTER] == NULL && c.event[PML_STREAM_METRIC] == NULL && c.event[PML_STREAM_OPENMP] == NULL) {
    if (!threads) return 0;
    c.event[PML_STREAM_ENTER] = on_enter, c.event[PML_STREAM_LEAVE] = on_leave;
  }
  return pml_stream_add(&c, &p->consumer);
}

void pml_scorep_record(struct pml_scorep *p, bool on) {
  const struct pml__scorep_functions *to =
      &p->functions[on ? SCOREP_SUBSTRATES_RECORDING_ENABLED : SCOREP_SUBSTRATES_RECORDING_DISABLED];
  const struct pml__scorep_functions *from = atomic_load(&p->now);
  if (from == to || p->pid != getpid()) return;
  pml_region_t region = 0;
  struct pml__scorep_stream *l = pml__scorep_stream(p, pml_thread_self()->id);
  if (pml_region_intern("recording off", NULL, 0, &region) == 0) pml__scorep_define(p);
  switch_streams(p, to);
  if (l == NULL || region == 0) return;
  if (on && to->enable != NULL) hand(l, to->enable, pml_clock_ticks(), region);
  if (!on && from->disable != NULL) hand(l, from->disable, pml_clock_ticks(), region);
}
