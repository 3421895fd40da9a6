/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/sde/pml_sde.c - registry of software-defined events: libraries, names, references, list. */
#include "source/sde/pml_sde.h"

#include "base/pml_error.h"
#include "base/pml_map.h"
#include "base/pml_process.h"
#include "source/sde/pml_sde_private.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CHAINS 256u

/* Chained by the events' next[side], so that a table that is outgrown stays whole until the next one is. */
struct table {
  unsigned side;
  size_t chains; /* a power of two */
  struct pml_sde_event *chain[];
};

/*
 * One lock guards all names of events; reading, counting and recording never take it. Another thread of a child's
 * parent may have been changing them. Therefore each visible change is a single store, made after the data that it
 * publishes: the child loses at most unpublished data, and a reference that is never released.
 */
static struct {
  struct pml__lock lock;
  struct pml_sde_library *libraries;
  struct table *table; /* NULL before the first event */
  size_t events;       /* at least */
  unsigned orders;
} registry;

struct pml_sde_library *pml__sde_libraries(void) {
  return registry.libraries;
}

void pml__sde_lock(void) {
  pml__process_look();
  pml__lock_take(&registry.lock);
}

void pml__sde_unlock(void) {
  pml__lock_leave(&registry.lock);
}

/* --- names --- */

static int check_name(const char *what, const char *name) {
  if (name == NULL || name[0] == '\0') return pml_fail(-EINVAL, "software-defined event: the %s has no name", what);
  for (const char *c = name; *c != '\0'; c++)
    if ((unsigned char)*c < ' ' || *c == 0x7f)
      return pml_fail(-EINVAL, "%s \"%.*s...\": byte %zu of its name is the control character 0x%02x; omit it", what,
                      c - name < 60 ? (int)(c - name) : 60, name, (size_t)(c - name) + 1, (unsigned)*c);
  return 0;
}

int pml__sde_full_name(char *to, const struct pml_sde_library *lib, const char *event) {
  if (lib == NULL) return pml_fail(-EINVAL, "software-defined event: NULL library");
  int rc = check_name("event", event);
  if (rc < 0) return rc;
  size_t nlib = strlen(lib->name), nevent = strnlen(event, PML__SDE_NAME_MAX);
  /* As part of an event set's name it has "sde:::" before it, and a recorder's has ":CNT" and the like behind. */
  if (sizeof PML__SDE_PREFIX + nlib + 2 + nevent + sizeof ":CNT" > PML__SDE_NAME_MAX)
    return pml_fail(-EINVAL, "event \"%.40s...\" of library \"%.40s\": together the names are longer than %zu bytes",
                    event, lib->name, (size_t)PML__SDE_NAME_MAX - 2 - sizeof PML__SDE_PREFIX - sizeof ":CNT");
  memcpy(to, lib->name, nlib);
  memcpy(to + nlib, "::", 2);
  memcpy(to + nlib + 2, event, nevent + 1);
  return 0;
}

/* --- what stays --- */

static _Atomic uint64_t grown, withdrawn;

void pml__sde_grows(void) {
  atomic_fetch_add_explicit(&grown, 1, memory_order_relaxed);
}

uint64_t pml_sde_grown(void) {
  return atomic_load_explicit(&grown, memory_order_relaxed);
}

void pml__sde_shrinks(void) {
  atomic_fetch_add_explicit(&withdrawn, 1, memory_order_seq_cst);
}

uint64_t pml__sde_withdrawn(void) {
  return atomic_load_explicit(&withdrawn, memory_order_seq_cst);
}

/* Relaxed: a list of events is made after this, under the lock, under which both are raised after the change. */
uint64_t pml__sde_generation(void) {
  return 1 + pml_sde_grown() + atomic_load_explicit(&withdrawn, memory_order_relaxed);
}

/* --- libraries --- */

static struct pml_sde_library *library_obtain(const char *name, size_t n) {
  struct pml_sde_library *lib = registry.libraries;
  for (; lib != NULL; lib = lib->next)
    if (strncmp(lib->name, name, n) == 0 && lib->name[n] == '\0') return lib;
  lib = calloc(1, sizeof *lib);
  if (lib == NULL) return NULL;
  lib->name = strndup(name, n);
  if (lib->name == NULL) {
    free(lib);
    return NULL;
  }
  lib->next = registry.libraries;
  __atomic_store_n(&registry.libraries, lib, __ATOMIC_RELEASE);
  pml__sde_grows();
  return lib;
}

void (*pml__sde_look)(const struct pml_sde_library *leaving, const char *name);

static void (*_Atomic first_library)(void);

void pml_sde_on_first_library(void (*notify)(void)) {
  atomic_store_explicit(&first_library, notify, memory_order_release);
}

/* Exchanged, so that only one of two threads with a first library calls it. */
static void tell_of_library(void) {
  if (PML_LIKELY(atomic_load_explicit(&first_library, memory_order_relaxed) == NULL)) return;
  void (*notify)(void) = atomic_exchange_explicit(&first_library, NULL, memory_order_acq_rel);
  if (notify != NULL) notify();
}

int pml_sde_library(struct pml_sde_library **lib, const char *name) {
  *lib = NULL;
  int rc = check_name("library", name);
  if (rc < 0) return rc;
  size_t n = strnlen(name, PML__SDE_NAME_MAX);
  if (n > PML__SDE_NAME_MAX / 2)
    return pml_fail(-EINVAL, "library \"%.40s...\": its name is longer than %u bytes", name, PML__SDE_NAME_MAX / 2);
  pml__sde_lock();
  *lib = library_obtain(name, n);
  if (*lib != NULL) (*lib)->spent = false;
  pml__sde_unlock();
  if (*lib == NULL) return pml_fail(-ENOMEM, "library \"%s\": out of memory", name);
  if (pml__sde_look != NULL) pml__sde_look(NULL, NULL);
  tell_of_library();
  return 0;
}

/* --- events --- */

static struct pml_sde_event **chain_of(struct table *t, const char *name) {
  return &t->chain[pml__hash_text(PML__HASH, name) & (t->chains - 1)];
}

struct pml_sde_event *pml__sde_lookup(const char *name) {
  struct table *t = registry.table;
  struct pml_sde_event *ev = t != NULL ? *chain_of(t, name) : NULL;
  while (ev != NULL && strcmp(ev->name, name) != 0) ev = ev->next[t->side];
  return ev;
}

static void put(struct table *t, struct pml_sde_event *ev) {
  struct pml_sde_event **at = chain_of(t, ev->name);
  ev->next[t->side] = *at;
  __atomic_store_n(at, ev, __ATOMIC_RELEASE);
}

static bool grow(void) {
  struct table *old = registry.table;
  size_t chains = old == NULL ? FIRST_CHAINS : 2 * old->chains;
  struct table *fresh = calloc(1, sizeof *fresh + chains * sizeof fresh->chain[0]);
  if (fresh == NULL) return old != NULL; /* longer chains will do */
  fresh->side = old != NULL && old->side == 0;
  fresh->chains = chains;
  for (size_t i = 0; old != NULL && i < old->chains; i++)
    for (struct pml_sde_event *ev = old->chain[i]; ev != NULL; ev = ev->next[old->side]) put(fresh, ev);
  __atomic_store_n(&registry.table, fresh, __ATOMIC_RELEASE);
  free(old);
  return true;
}

struct pml_sde_event *pml__sde_obtain(struct pml_sde_library *lib, const char *name) {
  struct pml_sde_event *ev = pml__sde_lookup(name);
  if (ev != NULL) return ev;
  if ((registry.table == NULL || registry.events >= registry.table->chains) && !grow()) return NULL;
  if (!pml__sde_list_room()) return NULL;
  ev = calloc(1, sizeof *ev);
  if (ev == NULL) return NULL;
  ev->name = strdup(name);
  if (ev->name == NULL) {
    free(ev);
    return NULL;
  }
  ev->library = lib;
  ev->order = registry.orders++;
  registry.events++;
  put(registry.table, ev);
  pml__sde_list_add(ev); /* last, so that every event in the list can be found */
  return ev;
}

/* An earlier reader assumed the library to be the part before the first "::"; registering corrects it. */
void pml__sde_fill(struct pml_sde_event *ev, struct pml_sde_library *lib, struct pml__sde_body *b) {
  ev->library = lib;
  atomic_store_explicit(&ev->body, b, memory_order_release);
  pml__sde_grows();
  if (b->kind == PML_SDE_PER_THREAD) atomic_fetch_add_explicit(&pml__sde_compiler_epoch, 1, memory_order_release);
}

static void free_bodies(struct pml__sde_body *b) {
  while (b != NULL) {
    struct pml__sde_body *next = b->next;
    pml__sde_body_free(b);
    b = next;
  }
}

void pml__sde_event_free(struct pml_sde_event *ev) {
  if (ev == NULL) return;
  free_bodies(ev->retired);
  for (struct pml_sde_counter *c; (c = pml__sde_counter_kept(&ev->kept)) != NULL;) pml__sde_counter_free(c);
  while (ev->texts != NULL) {
    struct pml__sde_text *t = ev->texts;
    ev->texts = t->next;
    free(t);
  }
  free(ev->history);
  free(ev->name);
  free(ev);
}

struct pml_sde_event *pml__sde_drop(struct pml_sde_event *ev) {
  if (ev->refs > 0 || pml__sde_body_of(ev) != NULL) return NULL;
  unsigned side = registry.table->side;
  struct pml_sde_event **at = chain_of(registry.table, ev->name);
  while (*at != ev) at = &(*at)->next[side];
  pml__sde_list_remove(ev);
  __atomic_store_n(at, ev->next[side], __ATOMIC_RELEASE);
  registry.events--;
  return ev;
}

int pml__sde_each(int (*visit)(struct pml_sde_event *, void *), void *arg) {
  const struct table *t = registry.table;
  for (size_t i = 0; t != NULL && i < t->chains; i++)
    for (struct pml_sde_event *ev = t->chain[i]; ev != NULL; ev = ev->next[t->side]) {
      int rc = visit(ev, arg);
      if (rc != 0) return rc;
    }
  return 0;
}

static const char *without_prefix(const char *name) {
  size_t n = sizeof PML__SDE_PREFIX - 1;
  return strncmp(name, PML__SDE_PREFIX, n) == 0 ? name + n : name;
}

static int find_locked(const char *name, struct pml_sde_event **found, bool *made) {
  struct pml_sde_event *ev = pml__sde_lookup(name);
  if (ev == NULL) {
    const char *sep = strstr(name, "::");
    if (sep == NULL || sep == name || sep[2] == '\0' || (size_t)(sep - name) > PML__SDE_NAME_MAX / 2)
      return pml_fail(PML_ENOEVENT, "no software-defined event \"%s\"; one is named LIB::EVENT", name);
    struct pml_sde_library *lib = library_obtain(name, (size_t)(sep - name));
    ev = lib != NULL ? pml__sde_obtain(lib, name) : NULL;
    if (ev == NULL) return pml_fail(-ENOMEM, "event \"%s\": out of memory", name);
    *made = true;
  }
  ev->refs++;
  *found = ev;
  return 0;
}

int pml_sde_find(const char *name, struct pml_sde_event **ev, bool *made) {
  bool fresh = false;
  *ev = NULL;
  int rc = check_name("event", name);
  if (rc < 0) return rc;
  name = without_prefix(name);
  if (strnlen(name, PML__SDE_NAME_MAX) + sizeof PML__SDE_PREFIX > PML__SDE_NAME_MAX)
    return pml_fail(-ENAMETOOLONG, "event name \"%.40s...\" is longer than %u bytes", name, PML__SDE_NAME_MAX - 8);
  pml__sde_lock();
  rc = find_locked(name, ev, &fresh);
  pml__sde_unlock();
  if (made != NULL) *made = fresh;
  return rc;
}

int pml_sde_find_in(struct pml_sde_library *lib, const char *event, struct pml_sde_event **ev) {
  char name[PML__SDE_NAME_MAX];
  *ev = NULL;
  int rc = pml__sde_full_name(name, lib, event);
  if (rc < 0) return rc;
  pml__sde_lock();
  *ev = pml__sde_obtain(lib, name);
  if (*ev != NULL) (*ev)->refs++;
  pml__sde_unlock();
  return *ev != NULL ? 0 : pml_fail(-ENOMEM, "%s: out of memory", name);
}

void pml_sde_release(struct pml_sde_event *ev) {
  if (ev == NULL) return;
  pml__sde_lock();
  ev->refs--;
  struct pml_sde_event *gone = pml__sde_drop(ev);
  pml__sde_unlock();
  pml__sde_event_free(gone);
}

/* A thread that waits for a body's readers holds a reference, so with only one left, no reader is inside. */
void pml_sde_tidy(struct pml_sde_event *ev) {
  pml__sde_lock();
  struct pml__sde_body *retired = ev->refs == 1 ? ev->retired : NULL;
  if (retired != NULL) ev->retired = NULL;
  for (struct pml__sde_body *b = retired; b != NULL; b = b->next)
    if (b->counter != NULL && pml__sde_counter_keep(&ev->kept, b->counter)) b->counter = NULL;
  pml__sde_unlock();
  free_bodies(retired);
}

/* --- what events say of themselves --- */

int pml_sde_describe(struct pml_sde_library *lib, const char *event, const char *description) {
  char name[PML__SDE_NAME_MAX];
  int rc = pml__sde_full_name(name, lib, event);
  if (rc < 0) return rc;
  if (description == NULL) description = "";
  struct pml__sde_text *t = malloc(sizeof *t + strlen(description) + 1);
  if (t == NULL) return pml_fail(-ENOMEM, "%s: out of memory for its description", name);
  memcpy(t->text, description, strlen(description) + 1);
  pml__sde_lock();
  struct pml_sde_event *ev = pml__sde_lookup(name);
  bool same = ev != NULL && ev->description != NULL && strcmp(ev->description, description) == 0;
  if (ev == NULL) rc = pml_fail(-EINVAL, "%s cannot be described: no library has registered it", name);
  if (ev != NULL && !same) {
    t->next = ev->texts; /* earlier ones stay, pml_sde_info() gave them out */
    __atomic_store_n(&ev->texts, t, __ATOMIC_RELEASE);
    __atomic_store_n(&ev->description, t->text, __ATOMIC_RELEASE);
    pml__sde_grows();
    t = NULL;
  }
  pml__sde_unlock();
  free(t);
  return rc;
}

static enum pml_type group_type(struct pml__sde_body *b, uint64_t walk) {
  if (b->walked == walk) return PML_TYPE_INT64; /* a double in it would have ended the walk */
  b->walked = walk;
  struct pml__sde_members *m = atomic_load_explicit(&b->members, memory_order_acquire);
  uint32_t n = m == NULL ? 0 : atomic_load_explicit(&m->n, memory_order_acquire);
  for (uint32_t i = 0; i < n; i++) {
    if (atomic_load_explicit(&m->leaf[i].type, memory_order_relaxed) == PML__LEAF_GONE) continue;
    struct pml__sde_body *member = m->leaf[i].body;
    enum pml_type t = member->kind == PML_SDE_GROUP ? group_type(member, walk) : member->type;
    if (t == PML_TYPE_DOUBLE || t == PML_TYPE_FLOAT) return PML_TYPE_DOUBLE;
  }
  return PML_TYPE_INT64;
}

static void info_of(const struct pml_sde_event *ev, struct pml_sde_info *info) {
  struct pml__sde_body *b = pml__sde_body_of(ev);
  *info = (struct pml_sde_info){
      .library = ev->library->name, .name = ev->name + strlen(ev->library->name) + 2, .full_name = ev->name};
  info->description = ev->description != NULL ? ev->description : "";
  if (b == NULL) return;
  info->kind = b->kind;
  info->type = b->kind == PML_SDE_GROUP ? group_type(b, pml__sde_walk()) : b->type;
  info->mode = b->mode;
  info->recorder = b->recorder != NULL ? b->recorder->recorder : NULL;
  info->set = b->set;
}

int pml_sde_info(struct pml_sde_event *ev, struct pml_sde_info *info) {
  if (ev == NULL) return pml_fail(-EINVAL, "software-defined event: NULL event");
  pml__sde_lock();
  info_of(ev, info);
  pml__sde_unlock();
  return 0;
}
