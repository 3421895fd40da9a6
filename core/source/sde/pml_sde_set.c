/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/sde/pml_sde_set.c - counting sets: distinct elements and how often each was put in. */
#include "source/sde/pml_sde_private.h"

#include "base/pml_error.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BUCKETS 64u

struct element {
  struct element *next;
  uint64_t hash;
  uint32_t count, type_id;
  size_t bytes, hashable;
  unsigned char data[];
};

struct pml_sde_set {
  pthread_mutex_t lock;
  struct element **bucket;
  size_t buckets; /* a power of two, 0 before the first */
  _Atomic uint64_t size;
};

struct pml_sde_set *pml__sde_set_new(void) {
  struct pml_sde_set *s = calloc(1, sizeof *s);
  if (s != NULL) pthread_mutex_init(&s->lock, NULL);
  return s;
}

static void clear(struct pml_sde_set *s) {
  for (size_t i = 0; i < s->buckets; i++)
    while (s->bucket[i] != NULL) {
      struct element *e = s->bucket[i];
      s->bucket[i] = e->next;
      free(e);
    }
  atomic_store_explicit(&s->size, 0, memory_order_relaxed);
}

void pml__sde_set_clear(struct pml_sde_set *s) {
  pthread_mutex_lock(&s->lock);
  clear(s);
  pthread_mutex_unlock(&s->lock);
}

void pml__sde_set_free(struct pml_sde_set *s) {
  if (s == NULL) return;
  clear(s);
  free(s->bucket);
  pthread_mutex_destroy(&s->lock);
  free(s);
}

void pml__sde_set_lock(struct pml_sde_set *s) {
  pthread_mutex_lock(&s->lock);
}

void pml__sde_set_unlock(struct pml_sde_set *s) {
  pthread_mutex_unlock(&s->lock);
}

uint64_t pml__sde_set_size(const struct pml_sde_set *s) {
  return atomic_load_explicit(&((struct pml_sde_set *)s)->size, memory_order_relaxed);
}

/* FNV-1a, its end stirred, since the buckets take the low bits. */
static uint64_t hash_of(const unsigned char *data, size_t n, uint32_t type_id) {
  uint64_t h = UINT64_C(0xcbf29ce484222325) ^ type_id;
  for (size_t i = 0; i < n; i++) h = (h ^ data[i]) * UINT64_C(0x100000001b3);
  return h ^ h >> 29;
}

/* Where the pointer to the element is, or would be; the table has buckets. */
static struct element **place_of(struct pml_sde_set *s, uint64_t hash, const void *data, size_t hashable,
                                 uint32_t type_id) {
  struct element **at = &s->bucket[hash & (s->buckets - 1)];
  for (; *at != NULL; at = &(*at)->next) {
    const struct element *e = *at;
    if (e->hash == hash && e->type_id == type_id && e->hashable == hashable && memcmp(e->data, data, hashable) == 0)
      break;
  }
  return at;
}

static int grow(struct pml_sde_set *s) {
  size_t buckets = s->buckets == 0 ? FIRST_BUCKETS : 2 * s->buckets;
  struct element **fresh = calloc(buckets, sizeof(struct element *));
  if (fresh == NULL) return s->buckets == 0 ? -ENOMEM : 0; /* longer chains will do */
  for (size_t i = 0; i < s->buckets; i++)
    while (s->bucket[i] != NULL) {
      struct element *e = s->bucket[i];
      s->bucket[i] = e->next;
      e->next = fresh[e->hash & (buckets - 1)];
      fresh[e->hash & (buckets - 1)] = e;
    }
  free(s->bucket);
  s->bucket = fresh;
  s->buckets = buckets;
  return 0;
}

static int insert(struct pml_sde_set *s, size_t bytes, size_t hashable, const void *data, uint32_t type_id) {
  if (pml__sde_set_size(s) >= s->buckets && grow(s) < 0) return -ENOMEM;
  uint64_t hash = hash_of(data, hashable, type_id);
  struct element **at = place_of(s, hash, data, hashable, type_id), *e = *at;
  if (e != NULL) {
    if (e->count < UINT32_MAX) e->count++;
    return 0;
  }
  e = malloc(sizeof *e + bytes);
  if (e == NULL) return -ENOMEM;
  *e = (struct element){.hash = hash, .count = 1, .type_id = type_id, .bytes = bytes, .hashable = hashable};
  memcpy(e->data, data, bytes);
  *at = e;
  atomic_fetch_add_explicit(&s->size, 1, memory_order_relaxed);
  return 0;
}

int pml_sde_set_insert(struct pml_sde_set *s, size_t bytes, size_t hashable, const void *element, uint32_t type_id) {
  if (s == NULL || element == NULL || hashable == 0 || hashable > bytes || bytes > PTRDIFF_MAX / 2)
    return pml_fail(-EINVAL, "counting set: an element of %zu bytes, %zu of them its identity, cannot be put in", bytes,
                    hashable);
  pthread_mutex_lock(&s->lock);
  int rc = insert(s, bytes, hashable, element, type_id);
  pthread_mutex_unlock(&s->lock);
  return rc < 0 ? pml_fail(rc, "counting set: out of memory for an element of %zu bytes", bytes) : 0;
}

int pml_sde_set_remove(struct pml_sde_set *s, size_t hashable, const void *element, uint32_t type_id) {
  if (s == NULL || element == NULL || hashable == 0)
    return pml_fail(-EINVAL, "counting set: there is no element to take out");
  int rc = -ENOENT;
  pthread_mutex_lock(&s->lock);
  if (s->buckets > 0) {
    struct element **at = place_of(s, hash_of(element, hashable, type_id), element, hashable, type_id), *e = *at;
    if (e != NULL) {
      rc = 0;
      if (--e->count == 0) {
        *at = e->next;
        free(e);
        atomic_fetch_sub_explicit(&s->size, 1, memory_order_relaxed);
      }
    }
  }
  pthread_mutex_unlock(&s->lock);
  return rc < 0 ? pml_fail(rc, "counting set: the element to take out is not in it") : 0;
}

/* A copy of all elements, one behind the other, so that the visitor keeps nobody from inserting. */
static struct pml_sde_element *copy_all(struct pml_sde_set *s, size_t *n) {
  size_t size = pml__sde_set_size(s), bytes = 0;
  for (size_t i = 0; i < s->buckets; i++)
    for (const struct element *e = s->bucket[i]; e != NULL; e = e->next) bytes += (e->bytes + 15) / 16 * 16;
  size_t table = (size * sizeof(struct pml_sde_element) + 15) / 16 * 16;
  struct pml_sde_element *all = malloc(table + bytes + 1);
  if (all == NULL) return NULL;
  unsigned char *data = (unsigned char *)all + table;
  *n = 0;
  for (size_t i = 0; i < s->buckets; i++)
    for (const struct element *e = s->bucket[i]; e != NULL && *n < size; e = e->next) {
      memcpy(data, e->data, e->bytes);
      all[(*n)++] = (struct pml_sde_element){e->count, e->type_id, e->bytes, data};
      data += (e->bytes + 15) / 16 * 16;
    }
  return all;
}

int pml_sde_set_visit(struct pml_sde_set *s, int (*visit)(const struct pml_sde_element *, void *), void *arg) {
  if (s == NULL || visit == NULL) return pml_fail(-EINVAL, "counting set: there is nothing to visit");
  size_t n = 0;
  pthread_mutex_lock(&s->lock);
  struct pml_sde_element *all = copy_all(s, &n);
  pthread_mutex_unlock(&s->lock);
  if (all == NULL) return pml_fail(-ENOMEM, "counting set: out of memory for a copy of its elements");
  int rc = 0;
  for (size_t i = 0; rc == 0 && i < n; i++) rc = visit(&all[i], arg);
  free(all);
  return rc;
}
