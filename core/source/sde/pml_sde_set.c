/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/sde/pml_sde_set.c - counting sets: distinct elements and their frequencies. */
#include "source/sde/pml_sde_private.h"

#include "base/pml_error.h"
#include "base/pml_map.h"
#include "base/pml_process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BUCKETS 64u
#define LOCKS 64u /* sets have one of them each: a lock is never freed, and sets come and go */

struct element {
  struct element *next[2]; /* by the side of the table */
  uint64_t hash;
  uint32_t count, type_id;
  size_t bytes, hashable;
  unsigned char data[];
};

/* Chained by the elements' next[side], so that a table that is outgrown stays whole until the next one is. */
struct table {
  unsigned side;
  size_t buckets; /* a power of two */
  struct element *bucket[];
};

/*
 * Another thread of a child's parent may have been at it: the table is whole after each store, and the size is counted
 * anew by who finds the set changing, and its lock open.
 */
struct pml_sde_set {
  struct pml__lock *lock;
  struct table *table; /* NULL before the first element */
  _Atomic uint64_t size;
  bool changing;
};

static void recount(struct pml_sde_set *s) {
  const struct table *t = s->table;
  uint64_t n = 0;
  for (size_t i = 0; t != NULL && i < t->buckets; i++)
    for (const struct element *e = t->bucket[i]; e != NULL; e = e->next[t->side]) n++;
  atomic_store_explicit(&s->size, n, memory_order_relaxed);
}

static void take(struct pml_sde_set *s) {
  pml__lock_take_open(s->lock);
  if (PML_UNLIKELY(s->changing)) recount(s);
  __atomic_store_n(&s->changing, true, __ATOMIC_RELEASE);
}

static void leave(struct pml_sde_set *s) {
  __atomic_store_n(&s->changing, false, __ATOMIC_RELEASE);
  pml__lock_leave(s->lock);
}

struct pml_sde_set *pml__sde_set_new(void) {
  static struct pml__lock lock[LOCKS];
  static _Atomic unsigned made;
  struct pml_sde_set *s = calloc(1, sizeof *s);
  if (s != NULL) s->lock = &lock[atomic_fetch_add_explicit(&made, 1, memory_order_relaxed) % LOCKS];
  return s;
}

static void clear(struct pml_sde_set *s) {
  struct table *t = s->table;
  for (size_t i = 0; t != NULL && i < t->buckets; i++)
    while (t->bucket[i] != NULL) {
      struct element *e = t->bucket[i];
      __atomic_store_n(&t->bucket[i], e->next[t->side], __ATOMIC_RELEASE);
      free(e);
    }
  atomic_store_explicit(&s->size, 0, memory_order_relaxed);
}

void pml__sde_set_clear(struct pml_sde_set *s) {
  take(s);
  clear(s);
  leave(s);
}

void pml__sde_set_free(struct pml_sde_set *s) {
  if (s == NULL) return;
  clear(s);
  free(s->table);
  free(s);
}

uint64_t pml__sde_set_size(const struct pml_sde_set *s) {
  return atomic_load_explicit(&((struct pml_sde_set *)s)->size, memory_order_relaxed);
}

/* Where the pointer to the element is, or would be. */
static struct element **place_of(struct table *t, uint64_t hash, const void *data, size_t hashable, uint32_t type_id) {
  struct element **at = &t->bucket[hash & (t->buckets - 1)];
  for (; *at != NULL; at = &(*at)->next[t->side]) {
    const struct element *e = *at;
    if (e->hash == hash && e->type_id == type_id && e->hashable == hashable && memcmp(e->data, data, hashable) == 0)
      break;
  }
  return at;
}

static int grow(struct pml_sde_set *s) {
  struct table *old = s->table;
  size_t buckets = old == NULL ? FIRST_BUCKETS : 2 * old->buckets;
  struct table *fresh = calloc(1, sizeof *fresh + buckets * sizeof fresh->bucket[0]);
  if (fresh == NULL) return old == NULL ? -ENOMEM : 0; /* longer chains will do */
  fresh->side = old != NULL && old->side == 0;
  fresh->buckets = buckets;
  for (size_t i = 0; old != NULL && i < old->buckets; i++)
    for (struct element *e = old->bucket[i]; e != NULL; e = e->next[old->side]) {
      e->next[fresh->side] = fresh->bucket[e->hash & (buckets - 1)];
      fresh->bucket[e->hash & (buckets - 1)] = e;
    }
  __atomic_store_n(&s->table, fresh, __ATOMIC_RELEASE);
  free(old);
  return 0;
}

static int insert(struct pml_sde_set *s, size_t bytes, size_t hashable, const void *data, uint32_t type_id) {
  if ((s->table == NULL || pml__sde_set_size(s) >= s->table->buckets) && grow(s) < 0) return -ENOMEM;
  uint64_t hash = pml__hash_bytes(type_id, data, hashable);
  struct element **at = place_of(s->table, hash, data, hashable, type_id), *e = *at;
  if (e != NULL) {
    if (e->count < UINT32_MAX) e->count++;
    return 0;
  }
  e = malloc(sizeof *e + bytes);
  if (e == NULL) return -ENOMEM;
  *e = (struct element){.hash = hash, .count = 1, .type_id = type_id, .bytes = bytes, .hashable = hashable};
  memcpy(e->data, data, bytes);
  __atomic_store_n(at, e, __ATOMIC_RELEASE);
  atomic_fetch_add_explicit(&s->size, 1, memory_order_relaxed);
  return 0;
}

int pml_sde_set_insert(struct pml_sde_set *s, size_t bytes, size_t hashable, const void *element, uint32_t type_id) {
  if (s == NULL || element == NULL || hashable == 0 || hashable > bytes || bytes > PTRDIFF_MAX / 2)
    return pml_fail(-EINVAL, "counting set: invalid element of %zu bytes with an identity of %zu bytes", bytes,
                    hashable);
  take(s);
  int rc = insert(s, bytes, hashable, element, type_id);
  leave(s);
  return rc < 0 ? pml_fail(rc, "counting set: out of memory for an element of %zu bytes", bytes) : 0;
}

int pml_sde_set_remove(struct pml_sde_set *s, size_t hashable, const void *element, uint32_t type_id) {
  if (s == NULL || element == NULL || hashable == 0) return pml_fail(-EINVAL, "counting set: no element to remove");
  int rc = -ENOENT;
  take(s);
  if (s->table != NULL) {
    struct element **at = place_of(s->table, pml__hash_bytes(type_id, element, hashable), element, hashable, type_id);
    struct element *e = *at;
    if (e != NULL) {
      rc = 0;
      if (e->count > 1) {
        e->count--;
      } else {
        __atomic_store_n(at, e->next[s->table->side], __ATOMIC_RELEASE);
        free(e);
        atomic_fetch_sub_explicit(&s->size, 1, memory_order_relaxed);
      }
    }
  }
  leave(s);
  return rc < 0 ? pml_fail(rc, "counting set: the element to remove is not in the set") : 0;
}

/* A copy of all elements, one behind the other, so that the visitor does not block inserting. */
static struct pml_sde_element *copy_all(struct pml_sde_set *s, size_t *n) {
  size_t size = pml__sde_set_size(s), bytes = 0;
  const struct table *t = s->table;
  size_t buckets = t != NULL ? t->buckets : 0;
  for (size_t i = 0; i < buckets; i++)
    for (const struct element *e = t->bucket[i]; e != NULL; e = e->next[t->side]) bytes += (e->bytes + 15) / 16 * 16;
  size_t table = (size * sizeof(struct pml_sde_element) + 15) / 16 * 16;
  struct pml_sde_element *all = malloc(table + bytes + 1);
  if (all == NULL) return NULL;
  unsigned char *data = (unsigned char *)all + table;
  *n = 0;
  for (size_t i = 0; i < buckets; i++)
    for (const struct element *e = t->bucket[i]; e != NULL && *n < size; e = e->next[t->side]) {
      memcpy(data, e->data, e->bytes);
      all[(*n)++] = (struct pml_sde_element){e->count, e->type_id, e->bytes, data};
      data += (e->bytes + 15) / 16 * 16;
    }
  return all;
}

int pml_sde_set_visit(struct pml_sde_set *s, int (*visit)(const struct pml_sde_element *, void *), void *arg) {
  if (s == NULL || visit == NULL) return pml_fail(-EINVAL, "counting set: no function to visit with");
  size_t n = 0;
  take(s);
  struct pml_sde_element *all = copy_all(s, &n);
  leave(s);
  if (all == NULL) return pml_fail(-ENOMEM, "counting set: out of memory for a copy of its elements");
  int rc = 0;
  for (size_t i = 0; rc == 0 && i < n; i++) rc = visit(&all[i], arg);
  free(all);
  return rc;
}
