/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/wrap/pml_wrap.c - enters, leaves and values of wrapped calls. */
#include "adapter/wrap/pml_wrap.h"

#include "adapter/arch/pml_call.h"
#include "adapter/wrap/pml_wrap_private.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "base/pml_process.h"
#include "record/pml_recorder.h"
#include "source/sde/pml_sde.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "WRAP"
#define NAME_BYTES 1024u

static struct pml__lock lock;                   /* guards the descriptions of functions, and texts_of */
static uint64_t functions, missing, unrecorded; /* atomic */

/* The metrics that have texts among their values; never freed, like metrics. */
struct texts_of {
  const struct pml_stream_metrics *metrics;
  uint32_t is_text; /* a bit for each value */
  struct texts_of *next;
};
static struct texts_of *texts_of; /* atomic */

static const struct pml_wrap_listener *listener; /* atomic */

static void add(uint64_t *counter, uint64_t n) {
  __atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

/* ---- first call of a function ---- */

/* All data of a function. Several threads may make it without a lock; each gets the same data. */
struct made {
  pml_region_t region;
  const struct pml_stream_metrics *metrics[2];
  uint32_t is_text[2];
  struct pml_recorder *recorder[2][PML_WRAP_VALUES_MAX];
  uint32_t recorders;
};

static void name_value(char *name, const struct pml_wrap_function *f, const struct pml_wrap_value *v) {
  snprintf(name, NAME_BYTES, "%s:%s", f->name, v->name);
}

/* The values for events, named "FUNCTION:VALUE", which is unique to the function. */
static int make_metrics(const struct pml_wrap_function *f, const struct pml_wrap_value *value, uint32_t n,
                        const struct pml_stream_metrics **out, uint32_t *is_text) {
  char text[PML_WRAP_VALUES_MAX][NAME_BYTES];
  const char *name[PML_WRAP_VALUES_MAX];
  uint32_t used = 0, is_real = 0;
  struct pml_stream_metrics *m;
  for (uint32_t i = 0; i < n; i++) {
    if ((value[i].keep & PML_WRAP_METRIC) == 0) continue;
    *is_text |= (uint32_t)(value[i].type == PML_WRAP_TEXT) << used;
    is_real |= (uint32_t)(value[i].type == PML_WRAP_REAL) << used;
    name_value(text[used], f, &value[i]);
    name[used] = text[used];
    used++;
  }
  if (used == 0) return 0;
  int err = pml_stream_metrics(name, used, &m);
  if (err < 0) return err;
  for (uint32_t i = 0; i < used; i++) {
    if ((is_real >> i & 1) != 0) pml_stream_metrics_set_real(m, i);
    if ((*is_text >> i & 1) == 0) pml_stream_metrics_set_single(m, i);
  }
  *out = m;
  return 0;
}

/* A recorder that cannot be created is missing; the call continues. */
static void make_recorders(const struct pml_wrap_function *f, const struct pml_wrap_value *value, uint32_t n,
                           struct pml_recorder **recorder, uint32_t *made) {
  struct pml_sde_library *library;
  char name[NAME_BYTES];
  for (uint32_t i = 0; i < n; i++) {
    const struct pml_wrap_value *v = &value[i];
    const struct pml_recorder_options o = {.type = v->type == PML_WRAP_REAL ? PML_TYPE_DOUBLE : PML_TYPE_INT64,
                                           .keep = PML_KEEP_SKETCH};
    if ((v->keep & PML_WRAP_RECORD) == 0 || v->type == PML_WRAP_TEXT) continue;
    name_value(name, f, v);
    if (pml_sde_library(&library, LIBRARY) < 0 || pml_sde_create_recorder(library, name, &o, &recorder[i]) < 0) {
      recorder[i] = NULL;
      add(&unrecorded, 1);
    }
    *made += recorder[i] != NULL;
  }
}

static int note_texts(const struct pml_stream_metrics *m, uint32_t is_text) {
  if (is_text == 0) return 0;
  struct texts_of *t = malloc(sizeof *t);
  if (t == NULL) return pml_fail(-ENOMEM, "no memory for the texts of a wrapper");
  *t = (struct texts_of){m, is_text, texts_of};
  __atomic_store_n(&texts_of, t, __ATOMIC_RELEASE);
  return 0;
}

/* The caller holds the lock; no other lock is taken inside it. */
static int publish(struct pml_wrap_function *f, const struct made *m) {
  if ((__atomic_load_n(&f->records, __ATOMIC_RELAXED) & PML__WRAP_KNOWN) != PML__WRAP_UNKNOWN) return 0;
  int err = note_texts(m->metrics[0], m->is_text[0]);
  if (err == 0) err = note_texts(m->metrics[1], m->is_text[1]);
  if (err < 0) return err;
  f->region = m->region;
  memcpy(f->metrics, m->metrics, sizeof f->metrics);
  for (uint32_t i = 0; i < f->nin; i++) f->in[i].recorder = m->recorder[0][i];
  for (uint32_t i = 0; i < f->nout; i++) f->out[i].recorder = m->recorder[1][i];
  add(&functions, 1);
  __atomic_fetch_or(&f->records, m->recorders > 0 ? PML__WRAP_RECORDERS : PML__WRAP_NO_RECORDERS, __ATOMIC_RELEASE);
  return 0;
}

static void prepare_clock(void) {
  (void)pml_clock_init(); /* an error concerns only PMLUA_CLOCK; there is always a clock */
}

/*
 * The caller has claimed the thread. Returns false without memory, or with too many values; the next call tries again.
 */
__attribute__((noinline, cold)) static bool prepare_first(struct pml_wrap_function *f) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  struct made m = {0};
  char library[NAME_BYTES];
  pthread_once(&once, prepare_clock);
  int err = f->nin <= PML_WRAP_VALUES_MAX && f->nout <= PML_WRAP_VALUES_MAX ? pml__call_prepare() : -EINVAL;
  if (err == 0)
    err = pml__region_of(PML__REGION_LIBRARY, f->name, pml__wrap_library(f, library, sizeof library), 0, &m.region);
  if (err == 0) err = make_metrics(f, f->in, f->nin, &m.metrics[0], &m.is_text[0]);
  if (err == 0) err = make_metrics(f, f->out, f->nout, &m.metrics[1], &m.is_text[1]);
  if (err < 0) return false;
  make_recorders(f, f->in, f->nin, m.recorder[0], &m.recorders);
  make_recorders(f, f->out, f->nout, m.recorder[1], &m.recorders);
  pml__lock_take(&lock);
  err = publish(f, &m);
  pml__lock_leave(&lock);
  return err == 0;
}

static bool prepare(struct pml_wrap_function *f) {
  return PML_LIKELY((__atomic_load_n(&f->records, __ATOMIC_ACQUIRE) & PML__WRAP_KNOWN) != PML__WRAP_UNKNOWN) ||
         prepare_first(f);
}

static bool records_values(const struct pml_wrap_function *f) {
  return (__atomic_load_n(&f->records, __ATOMIC_ACQUIRE) & ~(PML__WRAP_NEGATIVE | PML__WRAP_COUNTED)) ==
         PML__WRAP_RECORDERS;
}

bool pml__wrap_records(struct pml_wrap_function *f) {
  uint32_t records = __atomic_load_n(&f->records, __ATOMIC_ACQUIRE) & ~(PML__WRAP_NEGATIVE | PML__WRAP_COUNTED);
  if (PML_LIKELY(records != PML__WRAP_UNKNOWN)) return records == PML__WRAP_RECORDERS;
  int saved = errno;
  if (!pml__call_claim(PML__CALL_HERE)) return false;
  bool good = prepare(f);
  pml__call_release();
  errno = saved;
  return good && records_values(f);
}

/* The library's handle stays open, so that the function stays loaded. */
void *pml__wrap_look(const struct pml_wrap_function *f) {
  void *library = f->library != NULL ? dlopen(f->library, RTLD_LAZY | RTLD_NOLOAD) : NULL;
  void *real = library != NULL ? dlsym(library, f->name) : NULL;
  if (real != NULL) return real;
  if (library != NULL) dlclose(library);
  add(&missing, 1);
  errno = ENOSYS;
  pml_error_note(-ENOSYS, __func__, "the wrapper finds no '%.200s' to call: is %.200s loaded?", f->name,
                 f->library != NULL ? f->library : "its library");
  return NULL;
}

/* ---- calls ---- */

static void record(const struct pml_wrap_value *value, uint32_t n, const uint64_t *values) {
  for (uint32_t i = 0; i < n; i++)
    if (value[i].recorder != NULL) (void)pml_recorder_push(value[i].recorder, &values[i]);
}

/* Copy to @to the values that belong to events. */
static void choose(struct pml_stream_event *e, const struct pml_wrap_value *value, uint32_t n, const uint64_t *values,
                   uint64_t *to) {
  uint32_t used = 0;
  for (uint32_t i = 0; i < n; i++)
    if ((value[i].keep & PML_WRAP_METRIC) != 0) to[used++] = values[i];
  e->values = to;
}

static const uint64_t no_results; /* marks a counted call without results, which is not fast either */

static bool is_counted(const struct pml_wrap_function *f) {
  return (__atomic_load_n(&f->records, __ATOMIC_RELAXED) & PML__WRAP_COUNTED) != 0;
}

/*
 * An event has a single list of values. If it contains counts, the call's values are a separate event inside the call.
 */
static void emit_values(const struct pml_stream_event *e) {
  struct pml_stream_event alone = {.ticks = pml_clock_ticks(), .metrics = e->metrics, .values = e->values};
  if (e->metrics != NULL && pml_stream_wanted(PML_STREAM_METRIC)) pml_stream_emit(PML_STREAM_METRIC, &alone);
}

static void notify(const struct pml_wrap_function *f, bool results, const uint64_t *values) {
  const struct pml_wrap_listener *l = __atomic_load_n(&listener, __ATOMIC_ACQUIRE);
  if (l != NULL) l->values(l->arg, f, results, values);
}

/* @in NULL: no values. */
static void begin_call(struct pml_wrap_call *call, struct pml_wrap_function *f, const uint64_t *in) {
  uint64_t values[PML_WRAP_VALUES_MAX];
  struct pml_stream_event e = {.region = f->region}, counted = {.region = f->region};
  bool counts = is_counted(f);
  if (!pml_stream_wanted(PML_STREAM_ENTER)) return;
  if (in != NULL && (e.metrics = f->metrics[0]) != NULL) choose(&e, f->in, f->nin, in, values);
  call->at = pml__call_begin(counts ? &counted : &e, (uintptr_t)call);
  if (PML_UNLIKELY(call->at == NULL)) return;
  call->results = counts ? &no_results : NULL;
  call->function = f;
  if (counts) emit_values(&e);
  if (in != NULL && f->nin > 0) notify(f, false, in);
}

/* The recorders get the values inside the call, so that a consumer that counts attributes the work to this function. */
__attribute__((noinline)) static void enter_slow(struct pml_wrap_call *call, struct pml_wrap_function *f,
                                                 const uint64_t *in) {
  int saved = errno;
  if ((__atomic_load_n(&f->records, __ATOMIC_RELAXED) & PML__WRAP_LEFT_OUT) != 0) return;
  if (!pml__call_claim((uintptr_t)call)) return;
  if (PML_LIKELY(prepare(f))) {
    begin_call(call, f, in);
    if (in != NULL && records_values(f)) record(f->in, f->nin, in);
  }
  pml__call_release();
  errno = saved;
}

void pml__wrap_enter(struct pml_wrap_call *call, struct pml_wrap_function *f, const uint64_t *in) {
  struct pml__call_thread *t = &pml__call_self;
  struct pml__stream_thread *s = t->stream;
  uintptr_t sp = (uintptr_t)call;
  int32_t records = (int32_t)__atomic_load_n(&f->records, __ATOMIC_ACQUIRE);
  if (PML_UNLIKELY(in != NULL || records <= 0 || !pml__call_begin_fast(t, s, sp))) {
    enter_slow(call, f, in);
    return;
  }
  call->results = NULL;
  call->at = t->open->inner;
  pml__call_open(t, call->at, f->region, PML__CALL_NO_SLOT, sp);
  call->function = f;
  pml__call_emit(t, s, PML_STREAM_ENTER, f->region);
}

void pml__wrap_results(struct pml_wrap_call *call, struct pml_wrap_function *f, const uint64_t *out) {
  int saved = errno;
  call->results = out;
  if (!records_values(f)) return;
  if (!pml__call_claim((uintptr_t)call)) return;
  record(f->out, f->nout, out);
  pml__call_release();
  errno = saved;
}

/* The caller has claimed the thread. */
static void end_call(const struct pml_wrap_call *call, const struct pml_wrap_function *f) {
  struct pml_stream_event e = {.region = f->region};
  uint64_t values[PML_WRAP_VALUES_MAX];
  bool has = call->results != NULL && call->results != &no_results;
  if (has && f->nout > 0) {
    pml__call_end_inside(call->at); /* reports belong to the innermost call */
    notify(f, true, call->results);
  }
  if (has && (e.metrics = f->metrics[1]) != NULL) choose(&e, f->out, f->nout, call->results, values);
  if (is_counted(f)) {
    emit_values(&e);
    e.metrics = NULL;
  }
  pml__call_end(call->at, &e);
}

__attribute__((noinline)) static void leave_slow(const struct pml_wrap_call *call) {
  int saved = errno;
  if (!pml__call_claim((uintptr_t)call)) return; /* no claim, as for an intercepted call */
  if (pml__call_is_open(call->at, call->function->region, (uintptr_t)call)) end_call(call, call->function);
  pml__call_release();
  errno = saved;
}

void pml__wrap_leave(struct pml_wrap_call *call) {
  struct pml__call_thread *t = &pml__call_self;
  struct pml__stream_thread *s = t->stream;
  struct pml__call_frame *p = call->at;
  if (PML_UNLIKELY(call->results != NULL || !pml__call_end_fast(t, s, p, (uintptr_t)call))) {
    leave_slow(call);
    return;
  }
  pml__call_close(t, p);
  pml__call_emit(t, s, PML_STREAM_LEAVE, call->function->region);
}

void pml_wrap_listen(const struct pml_wrap_listener *l) {
  __atomic_store_n(&listener, l, __ATOMIC_RELEASE);
}

/* ---- statistics ---- */

bool pml_wrap_is_text(const struct pml_stream_metrics *m, uint32_t i) {
  const struct texts_of *t = __atomic_load_n(&texts_of, __ATOMIC_ACQUIRE);
  while (t != NULL && t->metrics != m) t = t->next;
  return t != NULL && i < PML_WRAP_VALUES_MAX && (t->is_text >> i & 1) != 0;
}

void pml_wrap_stats(struct pml_wrap_stats *s) {
  s->functions = __atomic_load_n(&functions, __ATOMIC_RELAXED);
  s->missing = __atomic_load_n(&missing, __ATOMIC_RELAXED);
  s->unrecorded = __atomic_load_n(&unrecorded, __ATOMIC_RELAXED);
  pml__wrap_count_texts(s);
}
