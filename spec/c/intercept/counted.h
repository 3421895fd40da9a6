/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/intercept/counted.h - numbers of enters and leaves by function name. */
#ifndef COUNTED_H
#define COUNTED_H

#include "base/pml_region.h"
#include "base/pml_stream.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define COUNTED_REGIONS 512

static uint64_t counted_enters[COUNTED_REGIONS], counted_leaves[COUNTED_REGIONS]; /* atomic */

static void *counted_begin(void *arg, uint64_t thread) {
  (void)thread;
  return arg;
}
static void counted_enter(void *data, const struct pml_stream_event *e) {
  (void)data;
  if (e->region < COUNTED_REGIONS) __atomic_fetch_add(&counted_enters[e->region], 1, __ATOMIC_RELAXED);
}
static void counted_leave(void *data, const struct pml_stream_event *e) {
  (void)data;
  if (e->region < COUNTED_REGIONS) __atomic_fetch_add(&counted_leaves[e->region], 1, __ATOMIC_RELAXED);
}

static inline int count_calls(void) {
  static uint64_t id;
  static const struct pml_stream_consumer c = {
      .thread_begin = counted_begin, .event = {counted_enter, counted_leave, NULL}, .arg = counted_enters};
  return pml_stream_add(&c, &id);
}

/* The number of calls of @name since the last query, in any library; -1: some calls were not left. */
static inline int calls(const char *name) {
  struct pml_region_info info;
  uint64_t enters = 0, leaves = 0;
  for (pml_region_t i = 1; i <= pml_region_count() && i < COUNTED_REGIONS; i++) {
    if (pml_region_describe(i, &info) < 0 || strcmp(info.name, name) != 0) continue;
    enters += counted_enters[i];
    leaves += counted_leaves[i];
    counted_enters[i] = counted_leaves[i] = 0;
  }
  return enters == leaves ? (int)enters : -1;
}

static inline void forget(void) {
  memset(counted_enters, 0, sizeof counted_enters);
  memset(counted_leaves, 0, sizeof counted_leaves);
}

#endif
