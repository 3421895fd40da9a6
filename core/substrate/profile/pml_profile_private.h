/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/profile/pml_profile_private.h - what the parts of a profile share: one thread's. Internal. */
#ifndef PML_PROFILE_PRIVATE_H
#define PML_PROFILE_PRIVATE_H

#include "base/pml_cancel.h"
#include "base/pml_own.h"
#include "substrate/profile/pml_profile_histogram.h"
#include "substrate/profile/pml_profile_tree.h"

#include <pthread.h>

/* A call under way. @node: &pml__profile_nowhere if there was no room for its path. */
struct pml__profile_frame {
  struct pml__profile_node *node;
  pml_region_t region;
  uint64_t ticks, inner;
};

/* One thread. */
struct pml__profile_track {
  struct pml__profile_tree tree;
  struct pml__histograms histograms;
  struct pml__profile_frame *frame;      /* frame[0] is the root's */
  struct pml__profile_frame *top, *last; /* the innermost call's; the last there is room for */
  uint64_t beyond;             /* enters for which there was no memory for a frame: their leaves come first; */
  pml_region_t hidden;         /* until then the innermost frame has region 0, and this is what it had */
  uint64_t unmatched, dropped; /* atomic, one writer */
  struct pml_profile *profile;
  struct pml__profile_track *next;
};

struct pml_profile {
  pid_t pid;              /* of the process whose it is; a forked child leaves all below alone */
  struct pml__mutex lock; /* guards all below: threads begin and end, visits read */
  struct pml__profile_track *tracks;
  struct pml__profile_tree ended; /* merged, of threads that ended */
  struct pml__histograms ended_histograms;
  struct pml_profile_stats stats; /* of threads that ended, and how many threads there were */
  uint64_t consumer;
  const struct pml_profile_memory *memory; /* NULL: the heap */
  uint32_t ntrees;                         /* atomic */
};

/* The trees of all threads into @tree, and unless it is NULL their histograms into @histograms; false: no memory. */
bool pml__profile_merge(struct pml_profile *p, struct pml__profile_tree *tree, struct pml__histograms *histograms);

/* A node of a tree as others see it. */
struct pml_profile_node pml__profile_told(const struct pml__profile_node *n, uint32_t depth);

/* A profile of @tree and @histograms alone, without events to come; takes both over if it returns 0. -ENOMEM. */
int pml__profile_of(struct pml_profile **p, struct pml__profile_tree *tree, struct pml__histograms *histograms);

/* The frame of a call that has a node. */
static inline void pml__profile_begin_call(struct pml__profile_track *t, struct pml__profile_node *node,
                                           pml_region_t region, uint64_t ticks) {
  struct pml__profile_frame *f = ++t->top;
  f->node = node;
  f->region = region;
  f->ticks = ticks;
  f->inner = 0;
  pml__own_add(&node->entered, 1);
}

/* The innermost call, @f, has a node; it took @d ticks. */
static inline void pml__profile_end_call(struct pml__profile_track *t, struct pml__profile_frame *f, uint64_t d) {
  struct pml__profile_node *node = f->node;
  uint64_t inner = f->inner;
  t->top = f - 1;
  f[-1].inner += d;
  pml__own_add(&node->count, 1);
  pml__own_add(&node->sum, d);
  pml__own_add(&node->inner, inner);
  if (d < node->min) __atomic_store_n(&node->min, d, __ATOMIC_RELAXED);
  if (d > node->max) __atomic_store_n(&node->max, d, __ATOMIC_RELAXED);
}

static inline uint64_t pml__profile_duration(const struct pml__profile_frame *f, uint64_t ticks) {
  uint64_t d = ticks - f->ticks;
  if (PML_UNLIKELY(ticks < f->ticks)) {
    __asm__(""); /* or it becomes a conditional move, which takes more */
    d = 0;
  }
  return d;
}

/* The child that was entered last, once more. False: it is another, or it takes memory. */
static inline bool pml__profile_enter_again(struct pml__profile_track *t, pml_region_t region, uint64_t ticks) {
  struct pml__profile_node *parent = t->top->node;
  if (PML_UNLIKELY(t->top == t->last)) return false;
  struct pml__profile_node *node = parent->latest;
  if (PML_UNLIKELY(node->region != region)) return false;
  pml__profile_begin_call(t, node, region, ticks);
  return true;
}

/* False: not the innermost call's, or it takes memory. */
static inline bool pml__profile_leave_known(struct pml__profile_track *t, pml_region_t region, uint64_t ticks) {
  struct pml__profile_frame *f = t->top;
  if (PML_UNLIKELY(f->region != region)) return false;
  struct pml__histogram *h = f->node->histogram; /* of nowhere the one without counts */
  uint64_t d = pml__profile_duration(f, ticks), *count = pml__histogram_count(h);
  if (PML_UNLIKELY(count == NULL)) return false;
  pml__own_add(count, 1);
  __atomic_store_n(&h->late, d + 1, __ATOMIC_RELAXED);
  pml__profile_end_call(t, f, d);
  return true;
}

/* With general registers only. False, and nothing has changed: not without memory, or not to be counted. */
bool pml__profile_enter_plainly(void *data, pml_region_t region, uint64_t ticks);
bool pml__profile_leave_plainly(void *data, pml_region_t region, uint64_t ticks);

#endif
