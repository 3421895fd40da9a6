/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/profile/pml_profile_functions.c - profile of each region over all callers. */
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "substrate/profile/pml_profile_private.h"

#include <errno.h>
#include <stdlib.h>

struct function {
  const struct pml__histogram *histogram;
  uint64_t min, max; /* ticks */
};

double pml_profile_bucket_ns(uint32_t i) {
  return 1e9 / pml__clock.ticks_per_second * pml_histogram_least(i);
}

static int by_region(const void *a, const void *b) {
  pml_region_t x = ((const struct function *)a)->histogram->region, y = ((const struct function *)b)->histogram->region;
  return (x > y) - (x < y);
}

static struct function *function_of(struct function *f, size_t n, pml_region_t region) {
  struct pml__histogram wanted = {.region = region};
  struct function key = {.histogram = &wanted};
  return bsearch(&key, f, n, sizeof *f, by_region);
}

/* @f has room for all; the minimum and maximum of a function are those over its paths. */
static void list(struct function *f, const struct pml__histograms *all, const struct pml__profile_tree *tree) {
  size_t n = 0;
  for (const struct pml__histogram *h = all->first; h != NULL; h = h->next)
    f[n++] = (struct function){h, UINT64_MAX, 0};
  qsort(f, n, sizeof *f, by_region);
  for (uint32_t i = 1; i < tree->n; i++) {
    const struct pml__profile_node *node = pml__profile_tree_at(tree, i);
    struct function *of = function_of(f, n, node->region);
    if (of == NULL || node->count == 0) continue;
    if (node->min < of->min) of->min = node->min;
    if (node->max > of->max) of->max = node->max;
  }
}

static uint64_t spread(const struct pml__histogram *h, uint64_t *bucket) {
  uint64_t count = 0;
  for (uint32_t i = 0; i < PML_HISTOGRAM_BUCKETS; i++) {
    const uint64_t *octave = h->octave[i / 8];
    count += bucket[i] = octave != NULL ? octave[i % 8] : 0;
  }
  return count;
}

static int visit_function(const struct function *f, double ns,
                          int (*visit)(const struct pml_profile_function *f, void *arg), void *arg) {
  uint64_t bucket[PML_HISTOGRAM_BUCKETS], count = spread(f->histogram, bucket);
  if (count == 0 || f->min > f->max) return 0; /* the first call is just ending */
  double median = pml_histogram_quantile(bucket, 0.5);
  if (median < (double)f->min) median = (double)f->min;
  if (median > (double)f->max) median = (double)f->max;
  struct pml_profile_function function = {f->histogram->region, count, ns * (double)f->min, ns * median,
                                          ns * (double)f->max,  bucket};
  return visit(&function, arg);
}

int pml_profile_functions(struct pml_profile *p, int (*visit)(const struct pml_profile_function *f, void *arg),
                          void *arg) {
  struct pml__profile_tree tree;
  struct pml__histograms all = {0};
  struct function *f = NULL;
  int err = -ENOMEM;
  if (pml__profile_tree_open(&tree, NULL, 0) && pml__profile_merge(p, &tree, &all) &&
      (f = calloc(all.n + 1u, sizeof *f)) != NULL) {
    list(f, &all, &tree);
    err = 0;
  }
  if (err < 0) (void)pml_fail(err, "no memory to merge the profiles of all threads");
  for (uint32_t i = 0; i < all.n && err == 0; i++) err = visit_function(&f[i], pml__profile_tick_ns(p), visit, arg);
  free(f);
  pml__histograms_close(&all);
  pml__profile_tree_close(&tree);
  return err;
}
