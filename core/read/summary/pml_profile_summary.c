/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/summary/pml_profile_summary.c - call paths summed by region, as rows of a summary. */
#include "substrate/profile/pml_profile.h"

#include "base/pml_array.h"
#include "read/summary/pml_summary.h"

#include <errno.h>
#include <stdlib.h>

struct sum {
  uint64_t count;
  uint32_t threads;
  double calls_ns; /* time of all calls, including calls nested in others of the same function */
  double inclusive_ns, exclusive_ns, min_ns, max_ns;
};

struct summing {
  struct sum *sum; /* by region */
  uint32_t regions;
  pml_region_t *above; /* regions of the path, by depth */
  size_t capacity;
};

static bool is_outermost(const struct summing *g, const struct pml_profile_node *node) {
  for (uint32_t i = 0; i < node->depth; i++)
    if (g->above[i] == node->region) return false;
  return true;
}

static int add_node(const struct pml_profile_node *node, void *arg) {
  struct summing *g = arg;
  if (!PML__ARRAY_ROOM(g->above, g->capacity, (size_t)node->depth + 1)) return -ENOMEM;
  g->above[node->depth] = node->region;
  if (node->region > g->regions) return 0; /* interned meanwhile */
  struct sum *sum = &g->sum[node->region];
  if (node->nthreads > sum->threads) sum->threads = node->nthreads;
  sum->exclusive_ns += node->exclusive_ns;
  if (is_outermost(g, node)) sum->inclusive_ns += node->inclusive_ns;
  if (node->count == 0) return 0;
  if (sum->count == 0 || node->min_ns < sum->min_ns) sum->min_ns = node->min_ns;
  if (node->max_ns > sum->max_ns) sum->max_ns = node->max_ns;
  sum->count += node->count;
  sum->calls_ns += node->inclusive_ns;
  return 0;
}

static int add_region(const struct sum *sum, pml_region_t region, struct pml_summary *s, int64_t number) {
  struct pml_region_info info;
  if (sum->count == 0 || pml_region_describe(region, &info) < 0) return 0;
  const double n = (double)sum->count;
  const struct pml_summary_row row = {
      .kind = PML_SUMMARY_CALL,
      .name = info.name,
      .detail = info.file,
      .processes = 1,
      .threads = sum->threads,
      .first = number,
      .calls = {{n, sum->calls_ns / n, 0, sum->min_ns, sum->max_ns}, sum->calls_ns, number, number},
      .time = pml_summary_one(sum->inclusive_ns, number),
      .self = pml_summary_one(sum->exclusive_ns, number),
  };
  return pml_summary_add(s, &row);
}

int pml_profile_summary(struct pml_profile *p, struct pml_summary *s, int64_t number) {
  struct summing g = {.regions = pml_region_count()};
  g.sum = calloc((size_t)g.regions + 1, sizeof *g.sum);
  if (g.sum == NULL) return -ENOMEM;
  int err = pml_profile_visit(p, add_node, &g);
  for (pml_region_t i = 1; i <= g.regions && err == 0; i++) err = add_region(&g.sum[i], i, s, number);
  free(g.sum);
  free(g.above);
  return err;
}
