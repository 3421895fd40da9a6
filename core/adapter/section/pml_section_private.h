/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/section/pml_section_private.h - what a section and a thread's statistics are made of. Internal. */
#ifndef PML_SECTION_PRIVATE_H
#define PML_SECTION_PRIVATE_H

#include "adapter/section/pml_section.h"
#include "base/pml_own.h"
#include "base/pml_process.h"
#include "source/pml_eventset.h"
#include "source/simulation/pml_sim.h"

#include <pthread.h>

#define PML__SECTION_BLOCK 64u /* statistics that are allocated together */
#define PML__SECTION_CACHE 512u

/* A list of events that sections share. */
struct pml__section_list {
  uint32_t index;
  struct pml_stream_metrics *metrics;
};

struct pml_section {
  uint32_t index;
  pml_region_t region;
  bool counted; /* has events or a recorder */
  bool exclusive;
  bool counting;  /* the compiler's counts are among its events, behind those that were named */
  bool simulated; /* those of the simulation that it runs under are, if none was named */
  enum pml_section_type type;
  enum pml_section_record record;
  struct pml__section_list *list;
  struct pml_recorder *recorder;
  const char *label;
  uint64_t hash;
};

/*
 * What one thread knows of one section. Only the thread writes; the first line is all that a usual call touches.
 *
 * A reader must not see half an update: it reads `seq` of the thread, the fields, and `seq` again, and starts over if
 * that was odd or has changed. The writer stores an odd number, the fields with release (so that none is seen before
 * the odd number), and an even number with release; the reader loads all with acquire (so that the second look at seq
 * comes last).
 */
struct pml__section_stat {
  _Alignas(64) uint64_t count;
  uint64_t sum, self, min, max; /* ticks */
  uint64_t square[2];           /* sum of squares of ticks, low and high: exact */
  uint32_t epoch; /* of the statistics; another one than pml__section_epoch(): they are of before a reset */
  uint32_t depth; /* calls under way; outlives a reset */
  double work;
  uint64_t iterations;
  uint64_t recurred; /* ticks in calls of itself, which sum has twice */
  uint64_t *value;   /* [list->metrics->n] sums; NULL until there are */
  uint32_t misuse[PML_SECTION_MISUSES];
};

struct pml__section_frame {
  struct pml_section *section;
  struct pml__section_stat *stat;
  uint64_t ticks; /* of the start */
  uint64_t child; /* ticks in sections inside */
  uint64_t *row;  /* values at the start; NULL: none */
  uint64_t *room; /* for them, of this place in the stack; NULL until events are used */
};

/* The event set of a list, on one thread. */
struct pml__section_set {
  struct pml_eventset *set;
  bool tried;
};

struct pml__section_thread {
  struct pml__section_frame *top, *limit; /* *top is the innermost; frame[0] is none */
  struct pml__section_stat **block;       /* [nstats / PML__SECTION_BLOCK], each atomic; replaced under the lock */
  uint64_t seq;                           /* atomic: odd while a stat changes */
  uint32_t nstats;                        /* PML__SECTION_BLOCK * nblocks */
  struct pml__section_frame *frame;
  uint64_t *rows; /* [limit - frame][PML_SECTION_EVENTS_MAX], NULL until events are used */
  uint64_t thread;
  bool ended, stale_sets;
  struct pml__section_set set[PML_SECTION_EVENT_LISTS_MAX];
  struct pml__section_thread *next;
  struct {
    const char *at;
    struct pml_section *section;
  } cache[PML__SECTION_CACHE]; /* labels by their address */
};

extern PML_THREAD_LOCAL struct pml__section_thread *pml__section_self __attribute__((tls_model("initial-exec")));
extern struct pml__section_thread pml__section_nobody;

/*
 * Guards the lists of threads and the definitions. A child makes the lists anew; the definitions are as they may be
 * after each store. The look comes first: the watcher changes what the lock guards.
 */
extern struct pml__lock pml__section_lock;
static inline void pml__section_lock_take(void) {
  pml__process_look();
  pml__lock_take(&pml__section_lock);
}
static inline void pml__section_lock_leave(void) {
  pml__lock_leave(&pml__section_lock);
}

/* ---- pml_section_thread.c ---- */

/* The calling thread's, made at its first call; NULL: no memory. */
struct pml__section_thread *pml__section_thread(void);
/* The calling thread's statistics of @s, up to date with the last reset; NULL: no memory. */
struct pml__section_stat *pml__section_stat_of(struct pml__section_thread *t, const struct pml_section *s);
/* What is there, also of another thread (under the lock): NULL if there never was any. */
struct pml__section_stat *pml__section_stat_at(struct pml__section_thread *t, uint32_t index);
/* Room for one more frame (and @rows of values): 0, -ENOMEM or PML_EFULL. */
int pml__section_deepen(struct pml__section_thread *t, bool rows);
/* Threads, those under way and those that ended. Under the lock. */
struct pml__section_thread *pml__section_threads(void);
uint32_t pml__section_epoch(void);
void pml__section_prepare(void);

/* ---- pml_section_events.c ---- */

/*
 * The events of @s with options @o in @names[PML_SECTION_EVENTS_MAX], returned: how many. What the compiler counts is
 * behind those that were named, where there is room for it; what is simulated is there if none was.
 */
size_t pml__section_names(const struct pml_section *s, const struct pml_section_options *o, const char **names);
/* pml__section_metrics - the interned list of @names, as this process may count them (pml_event_permitted()). */
int pml__section_metrics(const char *const *names, size_t n, struct pml_stream_metrics **metrics);
int pml__section_list(const char *const *names, size_t n, struct pml__section_list **list);
/* The values of @list's set on this thread; 0 or a negative code. */
int pml__section_read(struct pml__section_thread *t, struct pml__section_list *list, uint64_t *values);
/* The same at a definition: a set that did not open before is tried again. */
int pml__section_try(struct pml__section_thread *t, struct pml__section_list *list, uint64_t *values);
/* Add @after - @before (NULL: 0) to the sums of @stat, which is being updated. False: no memory. */
bool pml__section_add_values(const struct pml_section *s, struct pml__section_stat *stat, const uint64_t *before,
                             const uint64_t *after);
void pml__section_close_sets(struct pml__section_thread *t);

static inline bool pml__section_has_set(const struct pml__section_thread *t, const struct pml__section_list *list) {
  return !t->stale_sets && t->set[list->index].set != NULL;
}

/* Whether some value of @l is a double's bits. */
static inline bool pml__section_any_real(const struct pml__section_list *l) {
  return __atomic_load_n(&l->metrics->real[0], __ATOMIC_RELAXED) != 0;
}

/* ---- pml_section_define.c ---- */

uint32_t pml__section_count(void);
struct pml_section *pml__section_at(uint32_t index);
/* By label, defined if need be. */
int pml__section_by_label(const char *label, struct pml_section **s);

/* ---- pml_section_report.c ---- */

/* Add @from to @to, both of which stand still. False: no memory for the values. */
bool pml__section_sum(const struct pml_section *s, struct pml__section_stat *to, const struct pml__section_stat *from);

/* ---- updates ---- */

static inline void pml__section_begin_update(struct pml__section_thread *t) {
  pml__own_add(&t->seq, 1);
}
static inline void pml__section_end_update(struct pml__section_thread *t) {
  pml__own_add_release(&t->seq, 1);
}
#define PML__SECTION_SET(field, v) __atomic_store_n(&(field), (v), __ATOMIC_RELEASE)
#define PML__SECTION_GET(field) __atomic_load_n(&(field), __ATOMIC_ACQUIRE)

/* Add @after - @before of @n plain counts to the sums of @stat, which has some, and is being updated. */
static inline void pml__section_add_counts(struct pml__section_stat *stat, uint32_t n, const uint64_t *before,
                                           const uint64_t *after) {
  uint64_t *value = stat->value;
  for (uint32_t i = 0; i < n; i++) PML__SECTION_SET(value[i], value[i] + (after[i] - before[i]));
}

#endif
