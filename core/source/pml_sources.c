/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/pml_sources.c - the table of event sources. */
#include "source/pml_sources.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

static const struct pml__source *const built_in[] = {&pml__source_clock, &pml__source_sde, &pml__source_plugin,
                                                     &pml__source_sim};
#define BUILT_IN (sizeof built_in / sizeof built_in[0])

/* Filled from the first on, and never emptied: the first that is NULL is the end. */
#define ADDED_MAX 32u
static const struct pml__source *_Atomic added[ADDED_MAX];

static const struct pml__source *prefixed_at(size_t i) {
  if (i < BUILT_IN) return built_in[i];
  return i - BUILT_IN < ADDED_MAX ? atomic_load_explicit(&added[i - BUILT_IN], memory_order_acquire) : NULL;
}

const struct pml__source *pml__source_at(size_t i) {
  const struct pml__source *source = prefixed_at(i);
  if (source != NULL) return source;
  return i == BUILT_IN || prefixed_at(i - 1) != NULL ? &pml__source_kernel : NULL;
}

static bool begins(const char *name, const char *prefix) {
  return strncmp(name, prefix, strlen(prefix)) == 0;
}

const struct pml__source *pml__source_of(const char *name) {
  const struct pml__source *source;
  for (size_t i = 0; (source = prefixed_at(i)) != NULL; i++)
    if (begins(name, source->prefix)) return source;
  return &pml__source_kernel;
}

static bool clash(const struct pml__source *a, const struct pml__source *b) {
  return begins(a->prefix, b->prefix) || begins(b->prefix, a->prefix);
}

/*
 * Entries are taken from the first on, and each is compared with all before it: of two threads that add the same prefix
 * the second finds the first one's. The release publishes what the entry points to.
 */
int pml__source_add(const struct pml__source *source) {
  if (!source->prefix || !*source->prefix || !source->name || !source->parse || !source->walk || !source->open)
    return pml_fail(-EINVAL, "a source needs a prefix, a name, and functions that parse, list and open its events");
  if (source->backend_bytes < sizeof(struct pml__backend))
    return pml_fail(-EINVAL, "source \"%s\": its backend begins with a struct pml__backend", source->name);
  for (size_t i = 0; i < BUILT_IN + ADDED_MAX; i++) {
    const struct pml__source *other = NULL;
    if (i < BUILT_IN)
      other = built_in[i];
    else if (atomic_compare_exchange_strong_explicit(&added[i - BUILT_IN], &other, source, memory_order_release,
                                                     memory_order_acquire))
      return 0;
    if (clash(source, other))
      return pml_fail(-EEXIST, "source \"%s\": names that begin with \"%s\" belong to source \"%s\"", source->name,
                      source->prefix, other->name);
  }
  return pml_fail(PML_EFULL, "source \"%s\": %u sources were already added, the most possible", source->name,
                  ADDED_MAX);
}

const char *pml__sources_nearest(const char *name, char *buf, size_t size) {
  const struct pml__source *source;
  char prefix[PML__NEAREST_NAME];
  pml__copy(prefix, sizeof prefix, name);
  char *colons = prefix + strcspn(prefix, ":");
  colons[strspn(colons, ":")] = '\0';
  struct pml__nearest near = {.want = prefix};
  for (size_t i = 0; (source = prefixed_at(i)) != NULL; i++) pml__nearest_offer(&near, source->prefix);
  return pml__nearest_text(&near, buf, size);
}
