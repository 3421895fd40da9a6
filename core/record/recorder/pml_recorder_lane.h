/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/recorder/pml_recorder_lane.h - structure of a recorder. */
#ifndef PML_RECORDER_LANE_H
#define PML_RECORDER_LANE_H

#include "base/pml_process.h"
#include "record/log/pml_log_own.h"
#include "record/pml_recorder_cache.h"
#include "record/quantile/pml_quantile.h"
#include "record/quantile/pml_sketch.h"

#include <pthread.h>

#define PML__RECORDER_BUCKETS 2048  /* per sketch; at 1 %: 17 orders of magnitude before it becomes coarser */
#define PML__RECORDER_GRANT_BITS 40 /* in @granted; the rest is the tag */
#define PML__RECORDER_CAP_MAX (((uint64_t)1 << PML__RECORDER_GRANT_BITS) - 1)

/* Never moves, never shrinks; the next one is there before a tail is in it. */
struct pml__recorder_chunk {
  struct pml__recorder_chunk *next;
  uint64_t first, capacity; /* in elements */
  uint64_t bytes;           /* allocated, with this header */
  max_align_t data[];
};

_Static_assert(offsetof(struct pml__recorder_chunk, data) == sizeof(struct pml__log_elements),
               "a chunk begins as it does in a log");

/* The owner's end of a lane: in the lane, or a cell of the log. */
struct pml__recorder_mark {
  struct pml__recorder_tail tail __attribute__((aligned(64)));
  struct pml__recorder_lane *lane;
  uint64_t epoch, owner; /* the lane's, and its number in the log */
  uint32_t number, what;
};
_Static_assert(sizeof(struct pml__recorder_mark) == sizeof(struct pml__log_cell) &&
                   offsetof(struct pml__recorder_mark, epoch) == offsetof(struct pml__log_cell, epoch) &&
                   offsetof(struct pml__recorder_mark, number) == offsetof(struct pml__log_cell, number),
               "the end of a lane is a cell of a log");

/*
 * The elements of one thread. Only the owner writes the tail; fields that others write are on separate cache lines, so
 * readers and other threads do not disturb a push.
 */
struct pml__recorder_lane {
  struct pml__recorder_mark own;
  struct pml__recorder_mark *mark;             /* @own, or in the log */
  struct pml__log *log;                        /* log for the next chunk; NULL: process memory */
  struct pml__recorder_chunk *apart;           /* the first chunk that is not in a log */
  uint64_t at_fork;                            /* number of elements before the last fork */
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
  struct pml__recorder_cache *near; /* atomic: the handle that has its key; NULL: none */
  uint32_t slot;
  uint64_t opened; /* the first epoch */
  struct pml_recorder_options options;
  struct pml__recorder_lane *lanes; /* atomic; in the order of their making */
  uint64_t dropped;                 /* atomic */
  uint64_t granted;                 /* atomic: of the cap, tagged with the epoch */
  char *name;                       /* in the log; NULL: it is not kept there */
  struct pml_recorder *next;        /* of those with a name */
  uint32_t section;                 /* as struct pml__log_recorder has it */
  uint32_t number;                  /* the same */
  struct pml__log_cell *cell;       /* atomic: in the log of the process of the number below */
  uint64_t process;                 /* atomic; 0: not known yet */
  struct pml_quantile *quantile
      __attribute__((aligned(64))); /* for the epoch below; NULL: see pml__recorder_read_begin() */
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
 * One reader of @r at a time, concurrent with pushes and resets. In a child of a process with a reader at work,
 * quantiles and merged sketch are both NULL, until they are rebuilt.
 */
void pml__recorder_read_begin(struct pml_recorder *r);
void pml__recorder_read_end(struct pml_recorder *r);

/*
 * pml__recorder_log - store @r, which is still empty, in the process's log as @name, if PMLUA_REPORT is set: its
 * streams and chunks lie there, at no cost to a push. @section: as in struct pml__log_recorder. In a child, elements
 * recorded before the fork are in private memory, and later ones go to the child's log. Chunks in a log are at least a
 * page, and up to a fifth of the elements so far. Sketches are not stored. @r must not be closed. Returns 0 or -ENOMEM.
 */
int pml__recorder_log(struct pml_recorder *r, const char *name, uint32_t section);
/* Define @r in the log now, instead of at its first push. */
void pml__recorder_define(struct pml_recorder *r);

/* A new lane of @r, which has a name: its end goes to the log, if that has room. */
void pml__recorder_keep_lane(struct pml_recorder *r, struct pml__recorder_lane *lane);
/* Room of at least a page for elements from the @first on, and for how many; NULL: not in the log. */
struct pml__recorder_chunk *pml__recorder_keep_chunk(struct pml__recorder_lane *lane, size_t element, uint64_t first,
                                                     uint64_t *capacity);
/* The log's part of a fork: counts in the parent, and copies of the elements in the child. */
void pml__recorder_before_fork(void);
void pml__recorder_leave_log(void);

/* Its cell in this process's log, or NULL. Another process's cell is left alone. */
static inline struct pml__log_cell *pml__recorder_cell(const struct pml_recorder *r) {
  uint64_t process = __atomic_load_n(&r->process, __ATOMIC_SEQ_CST);
  return process != 0 && process == __atomic_load_n(pml__process_number, __ATOMIC_ACQUIRE) ? r->cell : NULL;
}

/* One more element was dropped. */
void pml__recorder_dropped(struct pml_recorder *r);

uint64_t pml__recorder_new_epoch(void);
/* Invalidate the threads' cached tails of @r after a reset. */
void pml__recorder_cache_renew(struct pml_recorder *r);
void pml__recorder_free_lanes(struct pml_recorder *r);

/*
 * pml__recorder_pack - append a sketch of the numbers in @r to @p; they need not be kept as one. Threads may push
 * meanwhile. Returns 0, -ENOENT (nothing was recorded), -EAGAIN or -ENOMEM. Cost: one pass over the elements.
 */
struct pml__pack;
int pml__recorder_pack(struct pml_recorder *r, struct pml__pack *p);

/* Under pml__recorder_read_begin(). False if the stream has no elements of @epoch; else the stream does not change
 * until unpinned. */
bool pml__recorder_pin(struct pml__recorder_lane *lane, uint64_t epoch);
void pml__recorder_unpin(struct pml__recorder_lane *lane);

#endif
