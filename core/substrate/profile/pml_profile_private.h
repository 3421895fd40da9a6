/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/profile/pml_profile_private.h - per-thread structures of a profile. Internal. */
#ifndef PML_PROFILE_PRIVATE_H
#define PML_PROFILE_PRIVATE_H

#include "base/pml_cancel.h"
#include "base/pml_own.h"
#include "substrate/profile/pml_profile_histogram.h"
#include "substrate/profile/pml_profile_tree.h"

#include <pthread.h>

/* A thread's call path. A call of a path is never inside another call of the same path, so at most one is open, and the
 * place also serves as its frame. */
struct pml__profile_place {
  struct pml__profile_place *up;     /* the path without its last call; NULL for the root */
  struct pml__profile_place *latest; /* the child that was entered last, or pml__profile_nowhere */
  struct pml__profile_node *node;    /* its figures; NULL: not filled yet */
  struct pml__histogram *histogram;  /* histogram of the region; never NULL */
  pml_region_t region;               /* the root has no region */
};

/* A place without matching calls, because its region does not exist. Its own child. */
extern __attribute__((visibility("hidden"))) struct pml__profile_place pml__profile_nowhere;

/*
 * Calls of a thread whose leave had `unwound`: the last ones, because such a call may return later, when its stack has
 * been copied back. Then its sums get the rest of its time. Copies of a stack have calls with the same slot and stack
 * pointer; then the call that was left last counts as the returned one. If all of them return, the sum of their times
 * is right, otherwise too low. A second return of a call may count for one at the same place that was left for good.
 * Older calls than these stay calls that did not return.
 */
#define PML__PROFILE_LEFT 1024u
struct pml__profile_left {
  struct pml_stream_call call;
  struct pml__profile_place *place; /* NULL: it returned */
  uint64_t enter, leave;            /* ticks */
};

#define PML__PROFILE_RECENT 256u /* number of paths found without a search in the tree */

/* One thread. */
struct pml__profile_lane {
  struct pml__profile_place *at; /* path of the innermost call; pml__profile_nowhere during calls without room */
  struct pml__profile_tree tree;
  struct pml__profile_place *place[PML__PROFILE_CHUNKS]; /* in the order of the tree's nodes */
  struct pml__profile_place
      *recent[PML__PROFILE_RECENT]; /* recently entered; indexed by a hash, an entry may be another path's or NULL */
  struct pml__histograms histograms;
  struct pml__profile_place *held; /* value of `at` before the calls without room */
  uint64_t overflow;               /* a call without room for its path, and calls inside it: their leaves come first */
  uint64_t unmatched, dropped;     /* atomic, one writer */
  struct pml__profile_left *left; /* [PML__PROFILE_LEFT], from the first such call on; call number n at n modulo that */
  uint64_t nleft;
  struct pml_profile *profile;
  struct pml__profile_lane *next;
};

struct pml_profile {
  pid_t pid;              /* the process that owns it; a forked child leaves the following fields alone */
  struct pml__mutex lock; /* guards the following fields: threads begin and end, visits read */
  struct pml__profile_lane *lanes;
  struct pml__profile_tree ended; /* merged tree of ended threads */
  struct pml__histograms ended_histograms;
  struct pml_profile_stats stats; /* sums over ended threads, and the number of all threads */
  uint64_t consumer;
  const struct pml_profile_memory *memory; /* NULL: the heap */
  uint32_t ntrees;                         /* atomic */
  double tick_ns;                          /* ns per tick of its events' clock; 0: this process's clock */
};

/* Merge the trees of all threads into @tree and, unless it is NULL, their histograms into @histograms. Returns false
 * without memory. */
bool pml__profile_merge(struct pml_profile *p, struct pml__profile_tree *tree, struct pml__histograms *histograms);

/* A node in its public form. */
PML__SHARED struct pml_profile_node pml__profile_public(const struct pml__profile_node *n, uint32_t depth,
                                                        double tick_ns);

/* The duration of a tick of the profile's clock. */
double pml__profile_tick_ns(const struct pml_profile *p);

/* Create a profile of @tree and @histograms only, in ticks of a clock, without further events. Takes both over if it
 * returns 0. Returns -ENOMEM otherwise. */
PML__SHARED int pml__profile_of(struct pml_profile **p, struct pml__profile_tree *tree,
                                struct pml__histograms *histograms, double tick_ns);

/* The place of node @index of the tree; NULL: there was no memory for it. */
static inline struct pml__profile_place *pml__profile_place_at(const struct pml__profile_lane *t, uint32_t index) {
  uint32_t k = 31u - (uint32_t)__builtin_clz(index / PML__PROFILE_CHUNK + 1u);
  if (t->place[k] == NULL) return NULL;
  struct pml__profile_place *p = &t->place[k][index - PML__PROFILE_CHUNK * ((1u << k) - 1u)];
  return p->node != NULL ? p : NULL;
}

/* Begin a call at the thread's current path. */
static inline void pml__profile_begin_call(struct pml__profile_lane *t, struct pml__profile_place *p, uint64_t ticks) {
  __atomic_store_n(&p->node->ticks, ticks, __ATOMIC_RELAXED);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  t->at = p;
  pml__own_add(&p->node->entered, 1);
}

/* Add the duration @d of the call at @p, which returned or was left. */
static inline void pml__profile_add_time(struct pml__profile_lane *t, struct pml__profile_place *p, uint64_t d) {
  struct pml__profile_node *node = p->node;
  t->at = p->up;
  pml__own_add(&p->up->node->inner, d);
  pml__own_add(&node->sum, d);
  __atomic_store_n(&node->ticks, 0, __ATOMIC_RELAXED);
}

/* Count the return of a call of @node after @d ticks, whose time is added. */
static inline void pml__profile_count_return(struct pml__profile_node *node, uint64_t d) {
  pml__own_add(&node->count, 1);
  if (d < node->min) __atomic_store_n(&node->min, d, __ATOMIC_RELAXED);
  if (d > node->max) __atomic_store_n(&node->max, d, __ATOMIC_RELAXED);
}

/* End the innermost call, at @p, which returned after @d ticks. */
static inline void pml__profile_end_call(struct pml__profile_lane *t, struct pml__profile_place *p, uint64_t d) {
  struct pml__profile_node *node = p->node;
  pml__profile_add_time(t, p, d);
  pml__profile_count_return(node, d);
}

static inline uint64_t pml__profile_duration(const struct pml__profile_place *p, uint64_t ticks) {
  uint64_t d = ticks - p->node->ticks;
  if (PML_UNLIKELY(d > ticks)) { /* a borrow */
    __asm__("");                 /* prevents a conditional move, which takes more time */
    d = 0;
  }
  return d;
}

/* Enter the child that was entered last again. Returns false if @region is another one, or memory is needed. */
static inline bool pml__profile_enter_again(struct pml__profile_lane *t, pml_region_t region, uint64_t ticks) {
  struct pml__profile_place *p = t->at->latest;
  if (PML_UNLIKELY(p->region != region)) return false;
  pml__profile_begin_call(t, p, ticks);
  return true;
}

/* Returns false if @region is not the innermost call's, or memory is needed. Some values are loaded again, because
 * keeping them would need another register, which costs as much as two loads. */
static inline bool pml__profile_leave_known(struct pml__profile_lane *t, pml_region_t region, uint64_t ticks) {
  struct pml__profile_place *p = t->at;
  if (PML_UNLIKELY(p->region != region)) return false;
  /* without memory for a histogram this is the empty one */
  if (PML_UNLIKELY(!pml__histogram_count_late(p->histogram))) return false;
  p = PML__OWN_AGAIN(t->at);
  uint64_t d = pml__profile_duration(p, ticks);
  __atomic_store_n(&PML__OWN_AGAIN(p->histogram)->late, d + 1, __ATOMIC_RELAXED);
  pml__profile_end_call(t, p, d);
  return true;
}

/* With general registers only. Return a value other than 0, with nothing changed, if memory is needed, or the call is
 * not to be counted. */
pml_stream_fast pml__profile_enter_fast, pml__profile_leave_fast;
pml_stream_fast pml__profile_enter_counted; /* an enter that memory's `frequent` is called in is not handled either */

#endif
