/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/pml_recorder_lane.h - what a recorder is made of; private, and for the specs that look inside. */
#ifndef PML_RECORDER_LANE_H
#define PML_RECORDER_LANE_H

#include "record/pml_recorder.h"
#include "record/quantile/pml_quantile.h"
#include "record/quantile/pml_sketch.h"

#include <pthread.h>

#define PML__RECORDER_BUCKETS 2048  /* of a sketch; at 1 %: 17 orders of magnitude before it becomes coarser */
#define PML__RECORDER_GRANT_BITS 40 /* of @granted; the rest is the tag */
#define PML__RECORDER_CAP_MAX (((uint64_t)1 << PML__RECORDER_GRANT_BITS) - 1)

/* Never moves, never shrinks; the next one is there before a tail is in it. */
struct pml__recorder_chunk {
  struct pml__recorder_chunk *next;
  uint64_t first, capacity; /* in elements */
  uint64_t bytes;           /* allocated, with this header */
  max_align_t data[];
};

/*
 * What one thread recorded. The tail is the owner's; what others write stands in lines of its own, so that readers and
 * other threads do not disturb a push.
 */
struct pml__recorder_lane {
  struct pml__recorder_tail tail __attribute__((aligned(64)));
  struct pml__recorder_chunk *first;           /* set once */
  struct pml__recorder_chunk *current;         /* atomic: where the tail is, but for a moment */
  uint64_t added;                              /* atomic: to the sketch */
  uint64_t granted;                            /* of the cap, to this lane in this epoch */
  struct pml_sketch *sketch;                   /* PML_KEEP_SKETCH */
  uint64_t epoch __attribute__((aligned(64))); /* atomic: which epoch the elements are of; 0: none */
  uint32_t pinned;                             /* atomic: a reader is copying */
  uint32_t owned;                              /* atomic: a thread pushes to it */
  struct pml__recorder_lane *next;             /* atomic, set once: lanes are never taken out before close */
  uint64_t taken, taken_epoch;                 /* of readers: elements that the quantiles have */
};

struct pml_recorder {
  struct pml__recorder_head head;
  uint64_t opened; /* the first epoch */
  struct pml_recorder_options options;
  struct pml__recorder_lane *lanes; /* atomic; in the order of their making */
  uint64_t dropped;                 /* atomic */
  uint64_t granted;                 /* atomic: of the cap, tagged with the epoch */
  struct pml_quantile *quantile
      __attribute__((aligned(64))); /* of the epoch below; NULL: see pml__recorder_read_begin() */
  struct pml_sketch *merged;
  uint64_t epoch;
};

/* How many elements, of @bytes each, are in @lane now, for any reader of it. */
uint64_t pml__recorder_lane_count(const struct pml__recorder_lane *lane, size_t bytes);

/* Where chunks come from; a spec may count, or refuse. Freed by free(). */
extern void *(*pml__recorder_allocate)(size_t bytes);

/* The calling thread's lane for @epoch of @r, made or adopted if need be, or NULL (no memory). */
struct pml__recorder_lane *pml__recorder_enter(struct pml_recorder *r, uint64_t epoch);

/* Room for one more element in @lane: 0, or PML_EFULL with it counted as dropped. */
int pml__recorder_more(struct pml_recorder *r, struct pml__recorder_lane *lane, uint64_t epoch);

/* A slot for @r, and out of it; the latter waits for readers and threads that are ending. */
int pml__recorder_slot_take(struct pml_recorder *r);
void pml__recorder_slot_give(struct pml_recorder *r);

/*
 * One reader of @r at a time; pushes and resets go on. In a child of a process with a reader at work, quantiles and
 * merged sketch are both NULL, until they are made anew.
 */
void pml__recorder_read_begin(struct pml_recorder *r);
void pml__recorder_read_end(struct pml_recorder *r);

uint64_t pml__recorder_new_epoch(void);
void pml__recorder_free_lanes(struct pml_recorder *r);

/* Under pml__recorder_read_begin(). False if the lane has nothing of @epoch; else it stays as it is until unpinned. */
bool pml__recorder_pin(struct pml__recorder_lane *lane, uint64_t epoch);
void pml__recorder_unpin(struct pml__recorder_lane *lane);

#endif
