/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/foreign/pml_foreign_itt_objects.c - domains, strings, counters and locks of ITT. */
#include "adapter/foreign/pml_foreign_itt_objects.h"

#include "adapter/foreign/pml_foreign_open.h"
#include "base/pml_array.h"
#include "base/pml_map.h"
#include "base/pml_process.h"
#include "source/sde/pml_sde.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct pml__lock lock; /* guards the objects, and additions to the tables */

/* ---- domains, strings, counters ---- */

/* All of them begin with flags or a name; which one it is says the kind. */
enum kind { DOMAIN, STRING, COUNTER };
struct object {
  enum kind kind;
  char *name, *domain; /* domain: of a counter; "": none */
  int type;
  union {
    struct pml_itt_domain domain;
    struct pml_itt_string string;
    struct pml_itt_counter counter;
  } as;
};
static struct pml__map objects;
static struct object **object;
static uint32_t object_room;

static bool is(const struct object *o, enum kind kind, const char *name, const char *domain, int type) {
  return o->kind == kind && o->type == type && strncmp(o->name, name, PML_FOREIGN_LABEL) == 0 &&
         strncmp(o->domain, domain, PML_FOREIGN_LABEL) == 0;
}

static void fill(struct object *o) {
  if (o->kind == DOMAIN)
    o->as.domain = (struct pml_itt_domain){.enabled = 1, .name = o->name};
  else if (o->kind == STRING)
    o->as.string = (struct pml_itt_string){.text = o->name};
  else
    o->as.counter = (struct pml_itt_counter){.name = o->name, .domain = o->domain, .type = o->type};
}

static void free_object(struct object *o) {
  if (o == NULL) return;
  free(o->name);
  free(o->domain);
  free(o);
}

static struct object *new_object(enum kind kind, const char *name, const char *domain, int type) {
  struct object *o = calloc(1, sizeof *o);
  if (o == NULL) return NULL;
  *o = (struct object){.kind = kind,
                       .name = strndup(name, PML_FOREIGN_LABEL),
                       .domain = strndup(domain, PML_FOREIGN_LABEL),
                       .type = type};
  if (o->name != NULL && o->domain != NULL) {
    fill(o);
    return o;
  }
  free_object(o);
  return NULL;
}

/* Under the lock. */
static struct object *find(enum kind kind, const char *name, const char *domain, int type) {
  uint64_t hash = pml__hash(PML__HASH, (uint64_t)kind << 32 | (uint32_t)type);
  hash = pml__hash_bytes(hash, name, strnlen(name, PML_FOREIGN_LABEL));
  hash = pml__hash_bytes(hash, domain, strnlen(domain, PML_FOREIGN_LABEL));
  uint32_t at = 0, i = pml__map_next(&objects, hash, &at);
  while (i != PML__MAP_NONE && !is(object[i], kind, name, domain, type)) i = pml__map_next(&objects, hash, &at);
  if (i != PML__MAP_NONE) return object[i];
  struct object *o = PML__ARRAY_ROOM(object, object_room, objects.n + 1) ? new_object(kind, name, domain, type) : NULL;
  if (o != NULL && (i = pml__map_add(&objects, hash)) != PML__MAP_NONE) return object[i] = o;
  free_object(o);
  return NULL;
}

static struct object *object_of(enum kind kind, const char *name, const char *domain, int type) {
  if (name == NULL) return NULL;
  int saved = errno;
  pml__lock_take(&lock);
  bool full = objects.n >= PML_FOREIGN_NAMES_MAX;
  struct object *o = full ? find(kind, "(other names)", "", 0) : find(kind, name, domain != NULL ? domain : "", type);
  pml__lock_leave(&lock);
  errno = saved;
  return o;
}

struct pml_itt_domain *pml__itt_domain(const char *name) {
  struct object *o = object_of(DOMAIN, name, NULL, 0);
  return o != NULL ? &o->as.domain : NULL;
}

struct pml_itt_string *pml__itt_string(const char *name) {
  struct object *o = object_of(STRING, name, NULL, 0);
  return o != NULL ? &o->as.string : NULL;
}

struct pml_itt_counter *pml__itt_counter(const char *name, const char *domain, int type) {
  struct object *o = object_of(COUNTER, name, domain, type);
  return o != NULL ? &o->as.counter : NULL;
}

/* ---- numbers ---- */

bool pml__itt_number(int type, const void *data, size_t k, double *value) {
#define NUMBER(id, c_type)                                                                                             \
  case id: {                                                                                                           \
    c_type number;                                                                                                     \
    memcpy(&number, (const char *)data + k * sizeof number, sizeof number);                                            \
    *value = (double)number;                                                                                           \
    return true;                                                                                                       \
  }
  switch (type) {
    NUMBER(PML_ITT_U64, uint64_t)
    NUMBER(PML_ITT_S64, int64_t)
    NUMBER(PML_ITT_U32, uint32_t)
    NUMBER(PML_ITT_S32, int32_t)
    NUMBER(PML_ITT_U16, uint16_t)
    NUMBER(PML_ITT_S16, int16_t)
    NUMBER(PML_ITT_FLOAT, float)
    NUMBER(PML_ITT_DOUBLE, double)
  default:
    return false;
  }
#undef NUMBER
}

/* ---- values by key ---- */

/*
 * Tables that are at most half full. The lock guards additions; the key, never 0, is stored last, with release, and
 * loaded first, with acquire. Nothing is removed.
 */
#define COUNTERS 4096u
static struct value {
  uint64_t key; /* atomic: a hash of the counter */
  bool real;
  union {
    int64_t i; /* atomic */
    double d;
  } is;
} counted[2 * COUNTERS];
static uint32_t ncounted;

static struct value *value_at(uint64_t key) {
  size_t k = key % (2 * COUNTERS);
  for (uint64_t is; (is = __atomic_load_n(&counted[k].key, __ATOMIC_ACQUIRE)) != 0 && is != key;)
    k = (k + 1) % (2 * COUNTERS);
  return &counted[k];
}

/* Its event, which refers to the value. Several counters may have one name: the first is the event. */
static void publish(const struct value *v, const char *domain, const char *name) {
  struct pml_sde_library *library;
  char event[PML_FOREIGN_LABEL];
  bool joined = domain != NULL && domain[0] != '\0';
  (void)snprintf(event, sizeof event, "%.2000s%s%.2000s", joined ? domain : "", joined ? "/" : "",
                 name != NULL ? name : "(null)");
  if (pml_sde_library(&library, pml_foreign_about(PML_FOREIGN_ITT)->name) < 0) return;
  (void)pml_sde_register(library, event, PML_SDE_RO | PML_SDE_INSTANT, v->real ? PML_TYPE_DOUBLE : PML_TYPE_INT64,
                         (void *)(uintptr_t)&v->is);
}

static __attribute__((noinline, cold)) struct value *add_value(uint64_t key, const char *domain, const char *name,
                                                               bool real) {
  int saved = errno;
  pml__lock_take(&lock);
  struct value *v = value_at(key);
  bool new = v->key == 0 && ncounted < COUNTERS;
  if (new) {
    ncounted++;
    v->real = real;
    __atomic_store_n(&v->key, key, __ATOMIC_RELEASE);
  }
  bool there = v->key != 0;
  pml__lock_leave(&lock);
  if (new) publish(v, domain, name);
  errno = saved;
  return there ? v : NULL;
}

static inline struct value *value_of(uint64_t key, const char *domain, const char *name, int type) {
  struct value *v = value_at(key);
  if (PML_LIKELY(v->key != 0)) return v;
  return add_value(key, domain, name, type == PML_ITT_FLOAT || type == PML_ITT_DOUBLE);
}

static void add(struct value *v, unsigned long long by) {
  if (v != NULL && !v->real) __atomic_fetch_add(&v->is.i, (int64_t)by, __ATOMIC_RELAXED);
}

static struct value *value_of_counter(const struct pml_itt_counter *c) {
  return c != NULL ? value_of(pml__hash(PML__HASH, (uintptr_t)c) | 1, c->domain, c->name, c->type) : NULL;
}

void pml__itt_count(const struct pml_itt_counter *c, unsigned long long by) {
  add(value_of_counter(c), by);
}

void pml__itt_count_in(const struct pml_itt_domain *domain, const struct pml_itt_string *name, unsigned long long by) {
  if (domain == NULL || name == NULL) return;
  uint64_t key = pml__hash(pml__hash(PML__HASH, (uintptr_t)domain), (uintptr_t)name) | 1;
  add(value_of(key, domain->name, name->text, PML_ITT_U64), by);
}

void pml__itt_set(const struct pml_itt_counter *c, const void *value) {
  struct value *v = value_of_counter(c);
  double d;
  if (v == NULL || value == NULL || !pml__itt_number(c->type, value, 0, &d)) return;
  int64_t i = d > -9.2e18 && d < 9.2e18 ? (int64_t)d : 0;
  if (c->type == PML_ITT_U64 || c->type == PML_ITT_S64) memcpy(&i, value, sizeof i); /* without rounding */
  if (v->real)
    __atomic_store(&v->is.d, &d, __ATOMIC_RELAXED);
  else
    __atomic_store_n(&v->is.i, i, __ATOMIC_RELAXED);
}

/* ---- locks ---- */

#define LOCKS 32768u
struct named {
  uintptr_t lock;              /* atomic */
  struct pml_section *section; /* atomic: a lock may be created again at the same address */
};
static void *all_named; /* struct named[2 * LOCKS], of pml__foreign_table() */
static uint32_t nnamed;

static struct named *place_of(struct named *named, uintptr_t of) {
  size_t k = (pml__hash(PML__HASH, of) >> 16) % (2 * LOCKS);
  for (uintptr_t is; (is = __atomic_load_n(&named[k].lock, __ATOMIC_ACQUIRE)) != 0 && is != of;)
    k = (k + 1) % (2 * LOCKS);
  return &named[k];
}

void pml__itt_lock(const void *of, const char *name) {
  char text[PML_FOREIGN_LABEL];
  if (of == NULL) return;
  (void)snprintf(text, sizeof text, "wait %.4000s", name != NULL ? name : "(null)");
  struct pml_section *s = pml_foreign_section(PML_FOREIGN_ITT, text);
  struct named *all = pml__foreign_table(&all_named, sizeof *all * 2 * LOCKS);
  if (all == NULL) return;
  pml__lock_take(&lock);
  struct named *n = place_of(all, (uintptr_t)of);
  bool there = n->lock != 0;
  if (there || nnamed < LOCKS) __atomic_store_n(&n->section, s, __ATOMIC_RELEASE);
  if (!there && nnamed < LOCKS) {
    nnamed++;
    __atomic_store_n(&n->lock, (uintptr_t)of, __ATOMIC_RELEASE);
  }
  pml__lock_leave(&lock);
}

struct pml_section *pml__itt_lock_section(const void *of) {
  struct named *all = __atomic_load_n(&all_named, __ATOMIC_ACQUIRE);
  bool may = of != NULL && all != NULL;
  struct pml_section *s = may ? __atomic_load_n(&place_of(all, (uintptr_t)of)->section, __ATOMIC_ACQUIRE) : NULL;
  return s != NULL ? s : pml_foreign_section(PML_FOREIGN_ITT, "wait (unnamed lock)");
}
