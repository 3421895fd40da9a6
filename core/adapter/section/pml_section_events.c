/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/section/pml_section_events.c - events of sections: shared lists, and one event set per thread. */
#include "adapter/section/pml_section_private.h"
#include "base/pml_error.h"
#include "source/compiler/pml_count_file.h"
#include "source/simulation/pml_sim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct pml__section_list list[PML_SECTION_EVENT_LISTS_MAX]; /* under the lock until given out; then constant */
static uint32_t nlists;

#define COUNTS "sde:::BYFL::"
#define SIM_NAME(id, name, text) "sim::" name,

size_t pml__section_names(const struct pml_section *s, const struct pml_section_options *o, const char **names) {
  static const char *const counts[] = {COUNTS "flop_count_I", COUNTS "load_count_I", COUNTS "store_count_I",
                                       COUNTS "op_count_I"};
  static const char *const simulated[] = {PML_SIM_EVENT_LIST(SIM_NAME)};
  size_t n = 0, more = sizeof counts / sizeof counts[0];
  bool counting = s->counting;
  for (; n < o->nevents && n < PML_SECTION_EVENTS_MAX; n++) {
    names[n] = o->events[n];
    if (names[n] != NULL && pml_count_is_event(names[n])) counting = false; /* already among its events */
  }
  if (!counting || n + more > PML_SECTION_EVENTS_MAX) more = 0;
  for (size_t i = 0; i < more; i++) names[n++] = counts[i];
  for (size_t i = 0; s->simulated && o->nevents == 0 && i < PML_SIM_EVENTS; i++) names[n++] = simulated[i];
  return n;
}

int pml__section_metrics(const char *const *names, size_t n, struct pml_stream_metrics **metrics) {
  char permitted[PML_SECTION_EVENTS_MAX][PML_EVENT_NAME_MAX];
  const char *name[PML_SECTION_EVENTS_MAX];
  for (size_t i = 0; i < n; i++) {
    bool known = names[i] != NULL && pml_event_permitted(names[i], permitted[i]) == 0;
    name[i] = known ? permitted[i] : names[i]; /* opening it reports the error */
  }
  return pml_stream_metrics(name, n, metrics);
}

int pml__section_list(const char *const *names, size_t n, struct pml__section_list **out) {
  struct pml_stream_metrics *metrics;
  *out = NULL;
  int err = pml__section_metrics(names, n, &metrics);
  if (err < 0) return err;
  pml__section_lock_take();
  uint32_t i = 0;
  while (i < nlists && list[i].metrics != metrics) i++;
  if (i == PML_SECTION_EVENT_LISTS_MAX) {
    err = PML_EFULL;
  } else {
    if (i == nlists) {
      list[i] = (struct pml__section_list){.index = i, .metrics = metrics};
      __atomic_store_n(&nlists, i + 1, __ATOMIC_RELEASE); /* after it: a child may find this half done */
    }
    *out = &list[i];
  }
  pml__section_lock_leave();
  return err < 0 ? pml_fail(err, "sections already use %u different lists of events, the most possible",
                            PML_SECTION_EVENT_LISTS_MAX)
                 : 0;
}

void pml__section_close_sets(struct pml__section_thread *t) {
  for (uint32_t i = 0; i < PML_SECTION_EVENT_LISTS_MAX; i++) pml_eventset_close(t->set[i].set);
  memset(t->set, 0, sizeof t->set);
  t->stale_sets = false;
}

static bool set_real(struct pml__section_list *l, uint32_t i) {
  bool anew = !pml_stream_metrics_real(l->metrics, i);
  if (anew) pml_stream_metrics_set_real(l->metrics, i);
  if (anew || pml__section_is_plain(l)) __atomic_fetch_or(&l->may, PML__SECTION_REAL, __ATOMIC_RELAXED);
  return anew;
}

/* The log contains the types as of the definition. */
static void log_types(const struct pml__section_list *l) {
  pml__section_lock_take();
  for (uint32_t i = 0; i < pml__section_count(); i++)
    if (pml__section_at(i)->list == l) pml__section_log_define(pml__section_at(i));
  pml__section_lock_leave();
}

static void note_declared(struct pml__section_list *l, const struct pml_eventset *set) {
  unsigned some = 0, may;
  bool anew = false;
  for (uint32_t i = 0; i < l->metrics->n; i++) {
    if (pml__eventset_declared(set, i, &may) == PML_TYPE_DOUBLE) anew |= set_real(l, i);
    some |= may;
  }
  if (some != 0) __atomic_fetch_or(&l->may, some, __ATOMIC_RELAXED);
  if (anew) log_types(l);
}

static void note_types(struct pml__section_list *l, const struct pml_eventset *set) {
  bool anew = false;
  for (uint32_t i = 0; i < l->metrics->n; i++)
    if (pml_eventset_type(set, i) == PML_TYPE_DOUBLE) anew |= set_real(l, i);
  if (anew) log_types(l);
}

/* One try per thread, so that a set that cannot be opened is not tried at every start. */
static int open_set(struct pml__section_thread *t, struct pml__section_list *l) {
  struct pml__section_set *s = &t->set[l->index];
  if (s->tried) return pml_fail(-ENODEV, "the events of a section did not open on this thread");
  s->tried = true;
  int err = pml_eventset_open(&s->set, l->metrics->name, l->metrics->n, NULL);
  if (err == 0) err = pml_eventset_start(s->set);
  if (err < 0) {
    pml_eventset_close(s->set);
    s->set = NULL;
    return err;
  }
  note_declared(l, s->set);
  return 0;
}

int pml__section_read(struct pml__section_thread *t, struct pml__section_list *l, uint64_t *values) {
  if (PML_UNLIKELY(t->stale_sets)) pml__section_close_sets(t);
  if (PML_UNLIKELY(t->set[l->index].set == NULL)) {
    int err = open_set(t, l);
    if (err < 0) return err;
  }
  int err = pml_eventset_read(t->set[l->index].set, values);
  if (PML_UNLIKELY(pml__section_is_unsettled(l)) && err >= 0) note_types(l, t->set[l->index].set);
  return err;
}

int pml__section_try(struct pml__section_thread *t, struct pml__section_list *l, uint64_t *values) {
  if (t->set[l->index].set == NULL) t->set[l->index].tried = false;
  return pml__section_read(t, l, values);
}

bool pml__section_add_values(const struct pml_section *s, struct pml__section_stat *stat, const uint64_t *before,
                             const uint64_t *after) {
  const struct pml_stream_metrics *m = s->list->metrics;
  struct pml__section_own *own = pml__section_own(stat);
  if (PML_UNLIKELY(own->value == NULL)) {
    uint64_t *value = pml__section_stat_values(stat, s);
    if (value == NULL) return false;
    PML__SECTION_SET(own->value, value);
  }
  if (before != NULL && pml__section_is_plain(s->list)) {
    pml__section_add_counts(stat, m->n, before, after);
    return true;
  }
  for (uint32_t i = 0; i < m->n; i++) {
    bool is_real = pml_stream_metrics_real(m, i);
    uint64_t more = pml_value_change(before != NULL ? before[i] : 0, after[i], is_real);
    PML__SECTION_SET(own->value[i], pml_value_plus(own->value[i], more, is_real));
  }
  return true;
}
