/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/sde/pml_sde_list.c - lists of events in the order of registration. */
#include "source/sde/pml_sde.h"

#include "base/pml_array.h"
#include "base/pml_error.h"
#include "source/sde/pml_sde_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_PLACES 256u
#define BATCH 4096u     /* places that are looked at under the lock */
#define LOOKED 1048576u /* at most, of one question */

/*
 * In the order of registration; a place whose event was dropped is empty until the list is replaced. Under the
 * registry's lock. As all of the registry, it is changed by single stores, so that a child that was forked amid finds
 * it whole: an event is added after it can be found, and removed before it cannot.
 */
struct place {
  struct pml_sde_event *ev; /* NULL: dropped */
  unsigned order;
};

struct list {
  size_t n, capacity;
  struct place at[];
};

static struct list *list;
static size_t listed; /* places with an event */

bool pml__sde_list_room(void) {
  struct list *old = list;
  if (old != NULL && old->n < old->capacity) return true;
  size_t capacity = 2 * listed < FIRST_PLACES ? FIRST_PLACES : 2 * listed;
  struct list *fresh = malloc(sizeof *fresh + capacity * sizeof fresh->at[0]);
  if (fresh == NULL) return false;
  fresh->n = 0;
  fresh->capacity = capacity;
  for (size_t i = 0; old != NULL && i < old->n; i++)
    if (old->at[i].ev != NULL) fresh->at[fresh->n++] = old->at[i];
  __atomic_store_n(&list, fresh, __ATOMIC_RELEASE);
  free(old);
  return true;
}

void pml__sde_list_add(struct pml_sde_event *ev) {
  list->at[list->n] = (struct place){ev, ev->order};
  __atomic_store_n(&list->n, list->n + 1, __ATOMIC_RELEASE);
  listed++;
}

/* The first place from @order on. */
static size_t place_from(uint64_t order) {
  size_t i;
  PML__ARRAY_SEARCH(i, list != NULL ? list->n : 0, list->at[i].order < order);
  return i;
}

void pml__sde_list_remove(const struct pml_sde_event *ev) {
  size_t i = place_from(ev->order);
  if (i == list->n || list->at[i].ev != ev) return; /* lost by a fork amid adding it */
  __atomic_store_n(&list->at[i].ev, NULL, __ATOMIC_RELEASE);
  listed--;
  while (list->n > 0 && list->at[list->n - 1].ev == NULL) list->n--;
}

size_t pml_sde_count(void) {
  pml__sde_lock();
  size_t n = listed;
  pml__sde_unlock();
  return n;
}

/* --- all --- */

static int visit_all(struct pml_sde_event **ev, size_t n, int (*visit)(struct pml_sde_event *, void *), void *arg) {
  int rc = 0;
  for (size_t i = 0; i < n; i++) {
    if (rc == 0) rc = visit(ev[i], arg);
    pml_sde_release(ev[i]);
  }
  return rc;
}

int pml__sde_each_held(int (*visit)(struct pml_sde_event *, void *), void *arg) {
  size_t n = 0;
  pml__sde_lock();
  struct pml_sde_event **ev = malloc((listed + 1) * sizeof *ev);
  for (size_t i = 0; ev != NULL && list != NULL && i < list->n; i++) {
    if (list->at[i].ev == NULL) continue;
    ev[n] = list->at[i].ev;
    ev[n++]->refs++;
  }
  pml__sde_unlock();
  if (ev == NULL) return pml_fail(-ENOMEM, "out of memory for a list of the software-defined events");
  int rc = visit_all(ev, n, visit, arg);
  free(ev);
  return rc;
}

struct visitor {
  int (*visit)(const struct pml_sde_info *, void *);
  void *arg;
};

static int visit_info(struct pml_sde_event *ev, void *arg) {
  const struct visitor *v = arg;
  struct pml_sde_info info;
  return pml_sde_info(ev, &info) == 0 ? v->visit(&info, v->arg) : 0;
}

int pml_sde_list(int (*visit)(const struct pml_sde_info *, void *), void *arg) {
  struct visitor v = {visit, arg};
  return pml__sde_each_held(visit_info, &v);
}

/* --- selection by patterns --- */

/* After a star that failed, the star takes a byte more: only the last one needs to. */
bool pml__sde_fits(const char *name, size_t n, const char *glob) {
  const char *end = name + n, *star = NULL, *from = NULL;
  while (name < end) {
    if (*glob == '*') {
      star = ++glob;
      from = name;
    } else if (*glob == '?' || *glob == *name) {
      glob++;
      name++;
    } else if (star != NULL) {
      glob = star;
      name = ++from;
    } else {
      return false;
    }
  }
  while (*glob == '*') glob++;
  return *glob == '\0';
}

/* A pattern without "::" is of events of any library. */
static bool fits_any(const struct pml_sde_event *ev, size_t n, const struct pml_sde_selection *s) {
  const size_t nlib = strlen(ev->library->name) + 2;
  for (size_t i = 0; i < s->n; i++) {
    if (pml__sde_fits(ev->name, n, s->pattern[i])) return true;
    if (n > nlib && strstr(s->pattern[i], "::") == NULL && pml__sde_fits(ev->name + nlib, n - nlib, s->pattern[i]))
      return true;
  }
  return false;
}

/* RECORDER:MED and its like come with the recorder, if that is selected itself. */
static bool comes_with_recorder(const struct pml_sde_event *ev, const struct pml_sde_selection *s) {
  const struct pml__sde_body *b = pml__sde_body_of(ev);
  if (b == NULL || (b->kind != PML_SDE_QUANTILE && b->kind != PML_SDE_COUNT)) return false;
  char name[PML__SDE_NAME_MAX];
  const char *colon = strrchr(ev->name, ':');
  const size_t n = colon != NULL ? (size_t)(colon - ev->name) : 0;
  if (n == 0 || n >= sizeof name) return false;
  memcpy(name, ev->name, n);
  name[n] = '\0';
  const struct pml_sde_event *recorder = pml__sde_lookup(name);
  b = recorder != NULL ? pml__sde_body_of(recorder) : NULL;
  return b != NULL && b->kind == PML_SDE_RECORDER && fits_any(recorder, n, s);
}

struct selecting {
  struct pml_sde_selection *s;
  struct pml_sde_event **ev; /* [s->most], with a reference each */
  size_t n;
};

static void take(struct selecting *t, struct pml_sde_event *ev) {
  for (size_t i = 0; i < t->n; i++)
    if (t->ev[i] == ev) return; /* two names of it */
  ev->refs++;
  t->ev[t->n++] = ev;
}

/*
 * Patterns without stars are looked up as names, independent of the number of events. False: some patterns have stars.
 */
static bool take_named(struct selecting *t) {
  struct pml_sde_selection *s = t->s;
  char name[PML__SDE_NAME_MAX];
  if (s->from > 0 || s->n > s->most) return false;
  for (size_t i = 0; i < s->n; i++)
    if (strpbrk(s->pattern[i], "*?") != NULL || strstr(s->pattern[i], "::") == NULL) return false;
  for (size_t i = 0; i < s->n; i++) {
    if (strlen(s->pattern[i]) >= sizeof name) continue;
    struct pml_sde_event *ev = pml__sde_lookup(s->pattern[i]);
    if (ev != NULL && !comes_with_recorder(ev, s)) take(t, ev);
  }
  return true;
}

/* The same of one name without a library, in each of them. */
static bool take_of_libraries(struct selecting *t) {
  const struct pml_sde_selection *s = t->s;
  char name[PML__SDE_NAME_MAX];
  size_t libraries = 0;
  if (s->from > 0 || s->n != 1 || strpbrk(s->pattern[0], "*?") != NULL) return false;
  for (const struct pml_sde_library *l = pml__sde_libraries(); l != NULL; l = l->next) libraries++;
  if (libraries > s->most) return false;
  for (const struct pml_sde_library *l = pml__sde_libraries(); l != NULL; l = l->next) {
    int length = snprintf(name, sizeof name, "%s::%s", l->name, s->pattern[0]);
    if (length < 0 || (size_t)length >= sizeof name) continue;
    struct pml_sde_event *ev = pml__sde_lookup(name);
    if (ev != NULL) take(t, ev);
  }
  return true;
}

/* One batch under the lock. False: that was all, or there is no more room. */
static bool take_batch(struct selecting *t) {
  struct pml_sde_selection *s = t->s;
  size_t i = place_from(s->from), end = list == NULL ? 0 : list->n - i > BATCH ? i + BATCH : list->n;
  for (; i < end && t->n < s->most; i++) {
    struct pml_sde_event *ev = list->at[i].ev;
    s->from = (uint64_t)list->at[i].order + 1;
    if (ev == NULL || !fits_any(ev, strlen(ev->name), s) || comes_with_recorder(ev, s)) continue;
    ev->refs++;
    t->ev[t->n++] = ev;
  }
  s->more = list != NULL && i < list->n;
  return s->more && t->n < s->most;
}

static int by_order(const void *a, const void *b) {
  unsigned x = (*(struct pml_sde_event *const *)a)->order, y = (*(struct pml_sde_event *const *)b)->order;
  return (x > y) - (x < y);
}

static void take_selected(struct selecting *t) {
  t->s->more = false;
  pml__sde_lock();
  bool named = take_named(t) || take_of_libraries(t);
  if (named && t->n > 1) qsort(t->ev, t->n, sizeof *t->ev, by_order);
  pml__sde_unlock();
  for (size_t looked = 0; !named && looked < LOOKED; looked += BATCH) {
    pml__sde_lock();
    bool more = take_batch(t);
    pml__sde_unlock();
    if (!more) return;
  }
}

size_t pml__sde_select_held(struct pml_sde_selection *s, struct pml_sde_event **ev) {
  struct selecting t = {.s = s, .ev = ev};
  take_selected(&t);
  return t.n;
}

int pml_sde_select(struct pml_sde_selection *s, int (*visit)(const struct pml_sde_info *, void *), void *arg) {
  struct selecting t = {.s = s, .ev = malloc((s->most + 1) * sizeof *t.ev)};
  struct visitor v = {visit, arg};
  if (t.ev == NULL) return pml_fail(-ENOMEM, "out of memory for a list of the software-defined events");
  take_selected(&t);
  int rc = visit_all(t.ev, t.n, visit_info, &v);
  free(t.ev);
  return rc;
}
