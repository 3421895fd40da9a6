/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/stream/pml_stream_metrics.c - interned lists of metric names of events. */
#include "base/pml_error.h"
#include "base/pml_stream.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct interned {
  struct pml_stream_metrics metrics;
  struct interned *next;
};

/*
 * Only ever added to, in front, so that readers need no lock, and a fork finds it whole. An entry is stored with
 * release and loaded with acquire: a reader that finds it finds it filled.
 */
static struct interned *_Atomic metrics;

static struct pml_stream_metrics *find(struct interned *m, const char *const *names, size_t n) {
  for (; m != NULL; m = m->next) {
    size_t same = 0;
    while (m->metrics.n == n && same < n && strcmp(m->metrics.name[same], names[same]) == 0) same++;
    if (same == n) return &m->metrics;
  }
  return NULL;
}

/* One piece of memory: the entry, the pointers, the strings. */
static struct interned *copy(const char *const *names, size_t n) {
  size_t bytes = sizeof(struct interned) + n * sizeof(char *);
  for (size_t i = 0; i < n; i++) bytes += strlen(names[i]) + 1;
  struct interned *m = malloc(bytes);
  if (m == NULL) return NULL;
  const char **name = (const char **)(m + 1);
  char *text = (char *)(name + n);
  for (size_t i = 0; i < n; i++) {
    name[i] = text;
    text = stpcpy(text, names[i]) + 1;
  }
  *m = (struct interned){.metrics = {.n = (uint32_t)n, .name = name}};
  return m;
}

/* Another thread may add the same while this one copies: then that one's is taken. */
static struct pml_stream_metrics *intern(const char *const *names, size_t n) {
  struct interned *mine = NULL, *first = atomic_load_explicit(&metrics, memory_order_acquire);
  struct pml_stream_metrics *found;
  while ((found = find(first, names, n)) == NULL) {
    if (mine == NULL && (mine = copy(names, n)) == NULL) return NULL;
    mine->next = first;
    if (atomic_compare_exchange_weak_explicit(&metrics, &first, mine, memory_order_acq_rel, memory_order_acquire))
      return &mine->metrics;
  }
  free(mine);
  return found;
}

int pml_stream_metrics(const char *const *names, size_t n, struct pml_stream_metrics **out) {
  *out = NULL;
  if (n == 0 || n > PML_STREAM_METRICS_MAX)
    return pml_fail(-EINVAL, "events carry 1 to %u values, not %zu", PML_STREAM_METRICS_MAX, n);
  for (size_t i = 0; i < n; i++)
    if (names[i] == NULL || names[i][0] == '\0') return pml_fail(-EINVAL, "value %zu of an event has no name", i + 1);
  *out = intern(names, n);
  return *out == NULL ? pml_fail(-ENOMEM, "no memory for the names of %zu values", n) : 0;
}
