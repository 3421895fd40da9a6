/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/sde/pml_sde_log.c - samples of the program's own events, for the process's log. */
#include "base/pml_clock.h"
#include "base/pml_process.h"
#include "record/log/pml_log_own.h"
#include "record/pml_history.h"
#include "source/sde/pml_sde_private.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* One sampling at a time, because it owns the events' cells. Other callers skip it; a callback that is being read may
 * be one of them. */
static struct pml__lock sampling;
static atomic_bool asked;

struct which {
  const struct pml_sde_library *library; /* NULL: of all */
  const char *name;                      /* NULL: all of the library's */
  bool callbacks, history;
};

/* A group may have a member that is a callback. */
static bool is_sampled(enum pml_sde_kind kind, bool callbacks) {
  if (kind == PML_SDE_CALLBACK || kind == PML_SDE_GROUP) return callbacks;
  return kind == PML_SDE_REGISTERED || kind == PML_SDE_SET || kind == PML_SDE_PER_THREAD;
}

static bool find_place(struct pml_sde_event *ev, const struct pml_sde_info *info, bool real) {
  struct pml__log_counter d = {pml__log_number(), (uint32_t)info->kind, real ? PML_TYPE_DOUBLE : PML_TYPE_INT64,
                               info->mode};
  const char *name = info->full_name;
  struct pml__log *log = pml__log_own();
  if (ev->cell != NULL && ev->cell_process == pml__process()) return true;
  if (log == NULL) return false;
  ev->cell = pml__log_cells(1, PML__LOG_CELL_SAMPLE, d.number);
  if (ev->cell == NULL || pml__log_define(log, PML__LOG_COUNTER, &d, sizeof d, &name, 1) < 0) return false;
  ev->cell_process = pml__process();
  return true;
}

/* The value first: a process that is killed in between leaves a value newer than its time. */
static void keep(struct pml__log_cell *cell, const struct pml_value *v, uint64_t ticks) {
  __atomic_store_n(&cell->epoch, v->type == PML_TYPE_DOUBLE, __ATOMIC_RELEASE);
  __atomic_store_n(&cell->value, (uint64_t)v->i, __ATOMIC_RELEASE);
  __atomic_store_n(&cell->more, ticks, __ATOMIC_RELEASE);
}

/* All but what derives from a recorder: a quantile would be selected from all elements each second. A recorder has the
 * number of its elements. */
static bool has_history(enum pml_sde_kind kind) {
  return kind != PML_SDE_PLACEHOLDER && kind != PML_SDE_QUANTILE && kind != PML_SDE_COUNT;
}

static void keep_history(struct pml_sde_event *ev, const struct pml_sde_info *info, const struct pml_value *v,
                         uint64_t ticks) {
  if (ev->history == NULL) ev->history = calloc(1, sizeof *ev->history);
  if (ev->history == NULL) return;
  const struct pml__history_sample one = {info->full_name, v->type == PML_TYPE_DOUBLE,
                                          (info->mode & PML_SDE_INSTANT) != 0, (uint64_t)v->i, ticks};
  pml__history_add(ev->history, &one);
}

static int sample(struct pml_sde_event *ev, void *arg) {
  const struct which *w = arg;
  struct pml_sde_info info;
  struct pml_value v;
  if (w->library != NULL && ev->library != w->library) return 0;
  if (w->name != NULL && strcmp(ev->name, w->name) != 0) return 0;
  if (pml_sde_info(ev, &info) < 0) return 0;
  bool sampled = is_sampled(info.kind, w->callbacks), history = w->history && has_history(info.kind);
  if (!sampled && !history) return 0;
  uint64_t ticks = pml_clock_ticks();
  if (pml_sde_read(ev, &v) < 0) return 0;
  if (sampled && find_place(ev, &info, v.type == PML_TYPE_DOUBLE)) keep(ev->cell, &v, ticks);
  if (history) keep_history(ev, &info, &v, ticks);
  return 0;
}

static void sample_all(struct which w) {
  if (!atomic_load_explicit(&asked, memory_order_relaxed)) return;
  pml__process_look();
  if (!pml__lock_try(&sampling)) return;
  (void)pml__sde_each_held(sample, &w);
  pml__lock_leave(&sampling);
}

/* Callbacks may need what the program has taken down already. */
static void at_exit(void) {
  sample_all((struct which){0});
}

static void begin(void) {
  if (!pml__log_asked()) return;
  (void)atexit(at_exit);
  atomic_store_explicit(&asked, true, memory_order_relaxed);
}

static void look(const struct pml_sde_library *leaving, const char *name) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, begin);
  if (leaving != NULL) sample_all((struct which){.library = leaving, .name = name});
}

__attribute__((constructor)) static void at_load(void) {
  pml__sde_look = look;
}

bool pml_sde_log_sample(bool callbacks) {
  sample_all((struct which){.callbacks = callbacks, .history = callbacks});
  return atomic_load_explicit(&asked, memory_order_relaxed);
}
