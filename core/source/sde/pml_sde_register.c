/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/sde/pml_sde_register.c - registration and removal of events. */
#include "source/sde/pml_sde.h"

#include "base/pml_array.h"
#include "base/pml_error.h"
#include "record/recorder/pml_recorder_lane.h"
#include "source/sde/pml_sde_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static int no_memory(const char *name) {
  return pml_fail(-ENOMEM, "%s: out of memory", name);
}

static int check(char *name, const struct pml_sde_library *lib, const char *event, unsigned mode) {
  int rc = pml__sde_full_name(name, lib, event);
  if (rc < 0) return rc;
  if ((mode & ~(PML_SDE_RW | PML_SDE_INSTANT)) != 0)
    return pml_fail(-EINVAL, "%s: invalid mode 0x%x; use PML_SDE_RO or _RW with _DELTA or _INSTANT", name, mode);
  return 0;
}

/*
 * With the lock held. 1: @b was published. 0: an event of that kind is there already, its body in *@there. Else a
 * negative code.
 */
static int publish(struct pml_sde_library *lib, const char *name, struct pml__sde_body *b,
                   struct pml__sde_body **there) {
  if (lib->spent) return pml_fail(PML_ECLOSED, "%s: its library was shut down", name);
  struct pml_sde_event *ev = pml__sde_obtain(lib, name);
  if (ev == NULL) return no_memory(name);
  *there = pml__sde_body_of(ev);
  if (*there == NULL) {
    pml__sde_fill(ev, lib, b);
    return 1;
  }
  static const char *const kinds[] = {
      [PML_SDE_PLACEHOLDER] = "placeholder",  [PML_SDE_REGISTERED] = "variable", [PML_SDE_CALLBACK] = "callback",
      [PML_SDE_CREATED] = "created counter",  [PML_SDE_RECORDER] = "recorder",   [PML_SDE_QUANTILE] = "quantile",
      [PML_SDE_COUNT] = "recorder's count",   [PML_SDE_GROUP] = "group",         [PML_SDE_SET] = "counting set",
      [PML_SDE_PER_THREAD] = "compiler count"};
  if ((*there)->kind != b->kind)
    return pml_fail(-EINVAL, "%s is already registered as a different kind of event (%s)", name, kinds[(*there)->kind]);
  return 0;
}

/* @b is consumed, whatever comes of it. */
static int publish_or_free(struct pml_sde_library *lib, const char *name, struct pml__sde_body *b) {
  struct pml__sde_body *there = NULL;
  pml__sde_lock();
  int rc = publish(lib, name, b, &there);
  pml__sde_unlock();
  if (rc <= 0) pml__sde_body_free(b);
  return rc < 0 ? rc : 0;
}

int pml__sde_publish(struct pml_sde_library *lib, const char *event, struct pml__sde_body *b) {
  char name[PML__SDE_NAME_MAX];
  int rc = pml__sde_full_name(name, lib, event);
  if (rc == 0) return publish_or_free(lib, name, b);
  pml__sde_body_free(b);
  return rc;
}

static size_t size_of(enum pml_type type) {
  return type == PML_TYPE_INT64 || type == PML_TYPE_DOUBLE ? 8 : 4;
}

int pml_sde_register(struct pml_sde_library *lib, const char *event, unsigned mode, enum pml_type type,
                     void *variable) {
  char name[PML__SDE_NAME_MAX];
  int rc = check(name, lib, event, mode);
  if (rc < 0) return rc;
  if ((unsigned)type >= PML_TYPE_OTHER)
    return pml_fail(-EINVAL, "%s: %d is not the type of a counter", name, (int)type);
  if (variable == NULL || (uintptr_t)variable % size_of(type) != 0)
    return pml_fail(-EINVAL, "%s: its variable is %s", name,
                    variable == NULL ? "missing" : "not aligned to its size; it cannot be read atomically");
  struct pml__sde_body *b = pml__sde_body_new(PML_SDE_REGISTERED, type, mode);
  if (b == NULL) return no_memory(name);
  b->variable = variable;
  if (type == PML_TYPE_INT64 && (mode & PML_SDE_INSTANT) == 0) atomic_init(&b->plain, PML__SDE_PLAIN_VARIABLE);
  b->object[0] = pml__sde_object_hold(variable);
  return publish_or_free(lib, name, b);
}

int pml_sde_register_callback(struct pml_sde_library *lib, const char *event, unsigned mode, enum pml_type type,
                              pml_sde_callback *callback, void *param) {
  char name[PML__SDE_NAME_MAX];
  int rc = check(name, lib, event, mode);
  if (rc < 0) return rc;
  if ((unsigned)type >= PML_TYPE_OTHER)
    return pml_fail(-EINVAL, "%s: %d is not the type of a counter", name, (int)type);
  if (callback == NULL) return pml_fail(-EINVAL, "%s: its callback is missing", name);
  struct pml__sde_body *b = pml__sde_body_new(PML_SDE_CALLBACK, type, mode);
  if (b == NULL) return no_memory(name);
  b->callback = callback;
  b->param = param;
  b->object[0] = pml__sde_object_hold((const void *)(uintptr_t)callback);
  b->object[1] = pml__sde_object_hold(param);
  return publish_or_free(lib, name, b);
}

/* With the lock held: @b gets the counter that waits for @name, if any. Returns what it had then, or NULL. */
static struct pml_sde_counter *take_kept(const struct pml_sde_library *lib, const char *name, struct pml__sde_body *b) {
  struct pml_sde_event *ev = pml__sde_lookup(name);
  if (lib->spent || ev == NULL || pml__sde_body_of(ev) != NULL) return NULL;
  struct pml_sde_counter *kept = pml__sde_counter_kept(&ev->kept), *fresh = b->counter;
  if (kept == NULL) return NULL;
  b->counter = kept;
  return fresh;
}

int pml_sde_create(struct pml_sde_library *lib, const char *event, unsigned mode, struct pml_sde_counter **c) {
  char name[PML__SDE_NAME_MAX];
  *c = NULL;
  int rc = check(name, lib, event, mode);
  if (rc < 0) return rc;
  struct pml__sde_body *b = pml__sde_body_new(PML_SDE_CREATED, PML_TYPE_INT64, mode), *there = NULL;
  if (b == NULL || (b->counter = pml__sde_counter_new(name, mode)) == NULL) {
    free(b);
    return no_memory(name);
  }
  if ((mode & PML_SDE_INSTANT) == 0) atomic_init(&b->plain, PML__SDE_PLAIN_CREATED);
  pml__sde_lock();
  struct pml_sde_counter *unused = take_kept(lib, name, b);
  rc = publish(lib, name, b, &there);
  if (rc >= 0) *c = rc > 0 ? b->counter : there->counter;
  pml__sde_unlock();
  pml__sde_counter_free(unused);
  if (rc > 0) pml__sde_counter_log(*c);
  if (rc <= 0) pml__sde_body_free(b);
  return rc < 0 ? rc : 0;
}

int pml_sde_create_set(struct pml_sde_library *lib, const char *event, struct pml_sde_set **set) {
  char name[PML__SDE_NAME_MAX];
  *set = NULL;
  int rc = check(name, lib, event, PML_SDE_INSTANT);
  if (rc < 0) return rc;
  struct pml__sde_body *b = pml__sde_body_new(PML_SDE_SET, PML_TYPE_INT64, PML_SDE_INSTANT), *there = NULL;
  if (b == NULL || (b->set = pml__sde_set_new()) == NULL) {
    free(b);
    return no_memory(name);
  }
  pml__sde_lock();
  rc = publish(lib, name, b, &there);
  if (rc >= 0) *set = rc > 0 ? b->set : there->set;
  pml__sde_unlock();
  if (rc <= 0) pml__sde_body_free(b);
  return rc < 0 ? rc : 0;
}

/* --- recorders and their derived events --- */

static const struct {
  const char *suffix;
  enum pml_sde_kind kind;
  unsigned percent;
} derived[] = {{":CNT", PML_SDE_COUNT, 0},     {":MIN", PML_SDE_QUANTILE, 0}, {":Q1", PML_SDE_QUANTILE, 25},
               {":MED", PML_SDE_QUANTILE, 50}, {":Q3", PML_SDE_QUANTILE, 75}, {":MAX", PML_SDE_QUANTILE, 100}};
#define DERIVED (sizeof derived / sizeof derived[0])

static bool is_derived(const struct pml__sde_body *b) {
  return b->kind == PML_SDE_COUNT || b->kind == PML_SDE_QUANTILE;
}

static void derived_name(char *to, const char *name, size_t i) {
  (void)snprintf(to, PML__SDE_NAME_MAX, "%s%s", name, derived[i].suffix);
}

/* Each body of a recorder is one user more. */
static struct pml__sde_body *recorder_body(enum pml_sde_kind kind, enum pml_type type, struct pml__sde_recorder *r) {
  struct pml__sde_body *b = pml__sde_body_new(kind, type, PML_SDE_INSTANT);
  if (b == NULL) return NULL;
  b->recorder = r;
  r->users++;
  return b;
}

/* With the lock held. A derived name that is taken by something else stays what it is. */
static void publish_derived(struct pml_sde_library *lib, const char *name, const struct pml__sde_body *main,
                            const struct pml_recorder_options *o) {
  bool ordered = o->type != PML_TYPE_OTHER || o->compare != NULL;
  enum pml_type quantiles = o->keep == PML_KEEP_SKETCH ? PML_TYPE_DOUBLE : o->type;
  char full[PML__SDE_NAME_MAX];
  for (size_t i = 0; i < DERIVED; i++) {
    if (derived[i].kind == PML_SDE_QUANTILE && !ordered) continue;
    enum pml_type type = derived[i].kind == PML_SDE_COUNT ? PML_TYPE_INT64 : quantiles;
    struct pml__sde_body *b = recorder_body(derived[i].kind, type, main->recorder), *there = NULL;
    if (b == NULL) continue; /* out of memory: the recorder itself works */
    b->percent = derived[i].percent;
    derived_name(full, name, i);
    if (publish(lib, full, b, &there) <= 0) pml__sde_body_free(b);
  }
}

static int open_recorder(const char *name, const struct pml_recorder_options *options, struct pml__sde_body **body) {
  struct pml__sde_recorder *r;
  int rc = pml__sde_recorder_new(&r, name, options);
  if (rc < 0) return rc;
  struct pml__sde_body *b = recorder_body(PML_SDE_RECORDER, options->type, r);
  if (b == NULL) {
    r->users = 1;
    pml__sde_recorder_leave(r);
    return no_memory(name);
  }
  if (options->compare != NULL) b->object[0] = pml__sde_object_hold((const void *)(uintptr_t)options->compare);
  *body = b;
  return 0;
}

int pml_sde_create_recorder(struct pml_sde_library *lib, const char *event, const struct pml_recorder_options *options,
                            struct pml_recorder **r) {
  char name[PML__SDE_NAME_MAX];
  *r = NULL;
  int rc = check(name, lib, event, PML_SDE_INSTANT);
  if (rc < 0) return rc;
  if (options == NULL) return pml_fail(-EINVAL, "%s: the type of the recorder's elements is missing", name);
  struct pml__sde_body *b = NULL, *there = NULL;
  rc = open_recorder(name, options, &b);
  if (rc < 0) return rc;
  pml__sde_lock();
  rc = publish(lib, name, b, &there);
  if (rc > 0) publish_derived(lib, name, b, options);
  if (rc >= 0) *r = rc > 0 ? b->recorder->recorder : there->recorder->recorder;
  pml__sde_unlock();
  if (rc > 0) pml__recorder_define(*r);
  if (rc <= 0) pml__sde_body_free(b);
  return rc < 0 ? rc : 0;
}

/* --- taking back --- */

/* Events that were taken back and wait until no reader is in them. */
struct leaving {
  struct pml_sde_event **ev;
  struct pml__sde_body **body;
  size_t n, room, bodies_room;
  struct leaving *later; /* room for a copy of this among the postponed */
  struct leaving *next;  /* of the postponed */
};

static struct leaving *postponed; /* under the registry's lock */

static bool make_room(struct leaving *l, size_t more) {
  if (l->later == NULL) l->later = malloc(sizeof *l->later);
  return l->later != NULL && PML__ARRAY_ROOM(l->ev, l->room, l->n + more) &&
         PML__ARRAY_ROOM(l->body, l->bodies_room, l->n + more);
}

/* With the lock held: from here on @ev reads as a placeholder, for readers that come now. */
static void withdraw(struct leaving *l, struct pml_sde_event *ev) {
  struct pml__sde_body *b = pml__sde_body_of(ev);
  pml__sde_leave_groups(b);
  atomic_store_explicit(&ev->body, NULL, memory_order_seq_cst);
  pml__sde_shrinks();
  if (b->kind == PML_SDE_PER_THREAD) atomic_fetch_add_explicit(&pml__sde_compiler_epoch, 1, memory_order_release);
  b->next = ev->retired;
  ev->retired = b;
  ev->refs++;
  l->ev[l->n] = ev;
  l->body[l->n++] = b;
}

static void let_go(struct leaving *l) {
  for (size_t i = 0; i < l->n; i++) {
    for (unsigned o = 0; o < PML__SDE_OBJECTS; o++) {
      pml__sde_object_drop(l->body[i]->object[o]);
      l->body[i]->object[o] = NULL;
    }
    pml_sde_release(l->ev[i]);
  }
  free(l->ev);
  free(l->body);
  free(l->later);
}

/* Whether a reader is, or may be, in one of these bodies. */
static void postpone(const struct leaving *l) {
  struct leaving *later = l->later;
  *later = *l;
  pml__sde_lock();
  later->next = postponed;
  postponed = later;
  pml__sde_unlock();
}

/* Earlier ones, as far as their readers have left; the others are not waited for. */
static void finish_earlier(void) {
  pml__sde_lock();
  struct leaving *earlier = postponed;
  postponed = NULL;
  pml__sde_unlock();
  while (earlier != NULL) {
    struct leaving l = *earlier;
    earlier = l.next;
    pml__sde_wait_for_readers(l.body, l.n, false) ? let_go(&l) : postpone(&l);
  }
}

/*
 * Without the lock. Objects that a body points to may be freed when the readers have left. The body itself stays until
 * the event has no references, because handles of counters, recorders and sets may still be used. From inside a
 * callback no object is freed, because its reader may use one of these bodies through a group.
 */
static void finish(struct leaving *l) {
  bool left = l->n == 0 || pml__sde_wait_for_readers(l->body, l->n, true);
  left ? let_go(l) : postpone(l);
  if (left) finish_earlier();
}

static void withdraw_derived(struct leaving *l, const char *name, const struct pml__sde_body *main) {
  char full[PML__SDE_NAME_MAX];
  for (size_t i = 0; i < DERIVED; i++) {
    derived_name(full, name, i);
    struct pml_sde_event *ev = pml__sde_lookup(full);
    const struct pml__sde_body *b = ev != NULL ? pml__sde_body_of(ev) : NULL;
    if (b != NULL && is_derived(b) && b->recorder == main->recorder) withdraw(l, ev);
  }
}

static int unregister(struct leaving *l, const char *name) {
  struct pml_sde_event *ev = pml__sde_lookup(name);
  const struct pml__sde_body *b = ev != NULL ? pml__sde_body_of(ev) : NULL;
  if (b == NULL) return pml_fail(-EINVAL, "%s cannot be unregistered: no library has registered it", name);
  if (is_derived(b)) return pml_fail(-EINVAL, "%s is part of a recorder; unregister the recorder", name);
  if (!make_room(l, 1 + DERIVED)) return no_memory(name);
  if (b->kind == PML_SDE_RECORDER) withdraw_derived(l, name, b);
  withdraw(l, ev);
  return 0;
}

int pml_sde_unregister(struct pml_sde_library *lib, const char *event) {
  char name[PML__SDE_NAME_MAX];
  struct leaving l = {0};
  int rc = pml__sde_full_name(name, lib, event);
  if (rc < 0) return rc;
  if (pml__sde_look != NULL) pml__sde_look(lib, name);
  pml__sde_lock();
  rc = unregister(&l, name);
  pml__sde_unlock();
  finish(&l);
  return rc;
}

struct shutdown {
  const struct pml_sde_library *library;
  struct leaving leaving;
  bool no_memory;
};

static int shut(struct pml_sde_event *ev, void *arg) {
  struct shutdown *s = arg;
  if (ev->library != s->library || pml__sde_body_of(ev) == NULL) return 0;
  if (!make_room(&s->leaving, 1)) {
    s->no_memory = true;
    return 1;
  }
  withdraw(&s->leaving, ev);
  return 0;
}

int pml_sde_shutdown(struct pml_sde_library *lib) {
  if (lib == NULL) return pml_fail(-EINVAL, "software-defined events: NULL library");
  struct shutdown s = {.library = lib};
  if (pml__sde_look != NULL) pml__sde_look(lib, NULL);
  pml__sde_lock();
  (void)pml__sde_each(shut, &s);
  if (!s.no_memory) lib->spent = true;
  pml__sde_unlock();
  finish(&s.leaving);
  return s.no_memory ? pml_fail(-ENOMEM, "library \"%s\": out of memory while shutting it down", lib->name) : 0;
}
