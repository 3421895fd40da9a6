/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/section/pml_section_private.h - structures of sections and of threads' statistics. Internal. */
#ifndef PML_SECTION_PRIVATE_H
#define PML_SECTION_PRIVATE_H

#include "adapter/section/pml_section.h"
#include "adapter/section/pml_section_snapshot.h"
#include "base/pml_own.h"
#include "base/pml_process.h"
#include "record/log/pml_log_own.h"
#include "record/pml_sums.h"
#include "record/quantile/pml_quantile.h"
#include "source/base/pml_eventset_private.h"
#include "source/simulation/pml_sim.h"

#include <pthread.h>

#define PML__SECTION_BLOCK 64u /* statistics that are allocated together */
#define PML__SECTION_CACHE 512u

#define PML__SECTION_REAL 0x100u /* some value is a double's bits */

/* A list of events that sections share. */
struct pml__section_list {
  uint32_t index;
  struct pml_stream_metrics *metrics;
  unsigned may; /* atomic: PML__MAY_*, of any of its events; and PML__SECTION_REAL */
};

#define PML__SECTION_NOT_PLAIN UINT32_MAX
struct pml_section {
  uint32_t index, plain_index; /* the same; PML__SECTION_NOT_PLAIN if it is counted */
  pml_region_t region;
  bool counted; /* has events or a recorder */
  bool exclusive;
  bool counting;  /* its events include the compiler's counts, after the named events */
  bool simulated; /* its events are the simulation's, because none was named */
  enum pml_section_type type;
  enum pml_section_record record;
  struct pml__section_list *list;
  struct pml_recorder *recorder;
  const char *label;
  const char *interface; /* "": pmlua's own */
  uint64_t hash;
};

/*
 * One thread's statistics of one section, in the format of the log (docs/log.md). Only the thread writes them; a usual
 * call touches only the first cache line.
 *
 * A reader must not see half an update: it reads `seq`, the fields, and `seq` again, and starts over if that was odd or
 * has changed. The writer stores an odd number, the fields with release (so that none is seen before the odd number),
 * and an even number with release; the reader loads all with acquire (so that the second look at seq comes last). In
 * the log of a process that ended, an odd number means that an update was cut short.
 */
struct pml__section_stat {
  _Alignas(64) uint32_t depth; /* calls under way; outlives a reset */
  uint32_t seq;                /* atomic: odd while the others change */
  struct pml_exact_sums calls; /* ticks */
  uint64_t self;               /* ticks without those inside */
  double work;
  uint64_t iterations;
  uint64_t recurred; /* ticks in calls of itself, which calls.sum has twice */
  uint32_t misuse[PML_SECTION_MISUSES];
  uint32_t epoch; /* pml__section_epoch() of the data; a different one: from before a reset */
};

/*
 * The part of the statistics that is private to the process; such a block follows each block of struct
 * pml__section_stat. If that block is mapped shared, in a log, the kernel clears this one in a child: the wrong epoch
 * takes the child off the hot path before it writes to its parent's statistics.
 */
struct pml__section_own {
  struct pml__log_entry *entry[2]; /* in the first of a block: the entries of the block and of its values */
  uint64_t *values;                /* in the first of a block: the values of the whole block; NULL: none yet */
  char unused[80];
  struct pml_eventset *set; /* for a section with events; NULL until it has sums */
  uint64_t *value;          /* [list->metrics->n] sums; NULL: none yet */
  uint32_t epoch;           /* mark of the other struct's epoch: see pml__section_mark() */
};
#define PML__SECTION_BLOCK_BYTES (PML__SECTION_BLOCK * sizeof(struct pml__section_stat))
#define PML__SECTION_VALUES_BYTES (PML__SECTION_BLOCK * PML_SECTION_EVENTS_MAX * sizeof(uint64_t))
_Static_assert(sizeof(struct pml__section_stat) == 128 && sizeof(struct pml__section_own) == 128,
               "one is as far from the next as the other");
_Static_assert(PML_SECTION_MISUSES == 9 && offsetof(struct pml__section_stat, self) == 56 &&
                   offsetof(struct pml__section_stat, epoch) == 124,
               "records are as docs/log.md says; if that changes, so does the version");

static inline struct pml__section_own *pml__section_own(struct pml__section_stat *stat) {
  return (struct pml__section_own *)(void *)((char *)stat + PML__SECTION_BLOCK_BYTES);
}

struct pml__section_frame {
  struct pml_section *section;
  uint64_t ticks; /* at the start */
  struct pml__section_stat *stat;
  uint64_t *room; /* this frame's row for values; NULL until events are used */
  uint64_t child; /* ticks in sections inside */
  uint64_t *row;  /* values at the start, NULL: none; undefined if the section has no events */
};

/* The event set of a list, on one thread. */
struct pml__section_set {
  struct pml_eventset *set;
  bool tried;
};

struct pml__section_thread {
  struct pml__section_stat **block; /* [nstats / PML__SECTION_BLOCK], each atomic; replaced under the lock */
  uint32_t nstats;                  /* PML__SECTION_BLOCK * nblocks */
  struct pml__section_frame *frame; /* open sections begin behind it; sections that ended below left room before it */
  struct pml__section_frame *first; /* first allocated frame; the last is @last */
  uint64_t *rows; /* [last - first + 1][PML_SECTION_EVENTS_MAX] in any order, NULL until events are used */
  uint64_t thread;
  bool ended, stale_sets;
  bool adrift; /* in a child: open calls have no sums yet */
  struct pml__section_set set[PML_SECTION_EVENT_LISTS_MAX];
  struct pml__section_thread *next;
};

extern PML_THREAD_LOCAL struct pml__section_thread *pml__section_self __attribute__((tls_model("initial-exec")));
extern struct pml__section_thread pml__section_nobody;

/* Labels by their address. */
struct pml__section_labels {
  struct {
    const char *at;
    struct pml_section *section;
  } cache[PML__SECTION_CACHE];
};
extern struct pml__section_labels pml__section_no_labels; /* never written */

/* The data that each start and stop reads first, in thread-local memory and not behind a pointer, because Intel's clock
 * instruction waits for earlier loads, so that every load of a pointer chain adds its latency. */
struct pml__section_mine {
  struct pml__section_frame *top, *last; /* *top is the innermost; *frame of the thread is unused */
  struct pml__section_stat **known;      /* [nknown] by plain_index; of no mark where none is known */
  uint32_t nknown;                       /* 0 where the clock is no counter */
  struct pml__section_labels *labels;    /* pml__section_no_labels until a label is used */
};
extern PML_THREAD_LOCAL struct pml__section_mine pml__section_mine __attribute__((tls_model("initial-exec")));

/*
 * Guards the lists of threads and the definitions. A child rebuilds the lists; the definitions are as they may be
 * after each store. The look comes first: the watcher changes what the lock guards.
 */
extern PML__SHARED struct pml__lock pml__section_lock;
static inline void pml__section_lock_take(void) {
  pml__process_look();
  pml__lock_take(&pml__section_lock);
}
static inline void pml__section_lock_leave(void) {
  pml__lock_leave(&pml__section_lock);
}

/* ---- pml_section_table.c ---- */

struct pml_section *pml__section_at(uint32_t index);
/* As pml_section_find(), of an @interface; "": pmlua's own. */
struct pml_section *pml__section_find(const char *label, const char *interface);
/* Take @s, complete but for its number, into the table: 0, PML_EFULL or -ENOMEM. Under the lock. */
int pml__section_insert(struct pml_section *s);
/* The number of resets; statistics of another epoch are of before the last. Forks count as resets. */
uint32_t pml__section_epoch(void);
void pml__section_renew(void);      /* the next epoch begins. Under the lock, or in a child */
void pml__section_clock_runs(void); /* pml_clock_init() was called */

/*
 * The mark of statistics whose section is started and stopped on the plain path: the epoch while sections are on and
 * the clock is the counter, PML__SECTION_OFF at other times. Sections with events or a recorder have its complement.
 * One comparison checks all of it; statistics in memory that is cleared in children have no mark there.
 */
#define PML__SECTION_OFF (UINT32_C(1) << 31)
extern uint32_t pml__section_plain __attribute__((visibility("hidden"))); /* atomic */
static inline uint32_t pml__section_mark(const struct pml_section *s, uint32_t epoch) {
  return s->counted ? ~epoch : epoch;
}

/* ---- pml_section_thread.c ---- */

/*
 * The calling thread's block, made at its first call; NULL: no memory. Then open sections in a child have statistics.
 */
struct pml__section_thread *pml__section_thread(void);
/* The same, if the thread has any, before it is reported. */
void pml__section_settle(void);
/* The calling thread's statistics of @s, up to date with the last reset; NULL: no memory. */
struct pml__section_stat *pml__section_stat_of(struct pml__section_thread *t, const struct pml_section *s);
/* Existing statistics, also of another thread (under the lock); NULL: none. */
struct pml__section_stat *pml__section_stat_at(struct pml__section_thread *t, uint32_t index);
/* Room for one more frame (and @rows of values): 0, -ENOMEM or PML_EFULL. */
int pml__section_deepen(struct pml__section_thread *t, bool rows);
/* Threads, those under way and those that ended. Under the lock. */
struct pml__section_thread *pml__section_threads(void);
void pml__section_prepare(void);

/*
 * Zeroed memory of PML__SECTION_PIECE_BYTES, of which pages take memory when they are written to; NULL: none is left.
 * A thread's first section touches two pages of it instead of clearing four. Thread-safe (a lock).
 */
#define PML__SECTION_PIECE_BYTES (2 * PML__SECTION_BLOCK_BYTES)
void *pml__section_piece(void);
void pml__section_give_back(void *piece); /* NULL: nothing */
void pml__section_pages_in_child(void);
_Static_assert(PML__SECTION_VALUES_BYTES <= PML__SECTION_PIECE_BYTES &&
                   sizeof(struct pml__section_labels) <= PML__SECTION_PIECE_BYTES,
               "whatever is taken from there fits");

/* ---- pml_section_events.c ---- */

/* Store the names of the events of @s with options @o in @names[PML_SECTION_EVENTS_MAX]; returns their number. The
 * compiler's counts follow the named events, if there is room; the simulation's events are used if none was named. */
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

/* Whether the type of some value of @l may change: then the slow path reads the values, and looks. */
static inline bool pml__section_is_unsettled(const struct pml__section_list *l) {
  return (__atomic_load_n(&l->may, __ATOMIC_RELAXED) & PML__MAY_CHANGE_TYPE) != 0;
}

/* Whether every value of @l is an integer, and none is absent. */
static inline bool pml__section_is_plain(const struct pml__section_list *l) {
  return __atomic_load_n(&l->may, __ATOMIC_RELAXED) == 0;
}

/* ---- pml_section_define.c ---- */

/*
 * As pml_section_define(), for a label that a program gave to another tool's @interface, such as "Kokkos"; "": pmlua's
 * own; it is not copied, and stays for good. Sections with the same label and different interfaces differ. @interface
 * is the file of such a section's region, so that calls and traces show it as the library.
 */
int pml__section_define(const char *label, const struct pml_section_options *options, const char *interface,
                        struct pml_section **s);
/* By label, defined if need be. */
int pml__section_by_label(const char *label, struct pml_section **s);

/* ---- pml_section_report.c ---- */

/* Add @more to @to. */
PML__SHARED void pml__section_add(struct pml__section_stat *to, const struct pml__section_stat *more);
/* Convert @stat to ns: all of @row except section, thread and values; @exclusive: the section's option. */
PML__SHARED void pml__section_row(const struct pml__section_stat *stat, bool exclusive, double ticks_per_second,
                                  struct pml_section_row *row);
/* Forget all but the calls under way, if it is of another epoch. */
PML__SHARED void pml__section_forget_old(struct pml__section_stat *stat, uint32_t epoch);
/* Whether there is anything in it to be reported. */
PML__SHARED bool pml__section_says_something(const struct pml__section_stat *stat);
/* Sums of @n events for people. @real: a bit for each that is a double's. */
PML__SHARED void pml__section_values(const uint64_t *from, uint32_t n, uint64_t real, struct pml_section_value *to);

/* Copy the statistics @from and their @values as of one moment: 0, or -EAGAIN after a second. Under the lock. */
int pml__section_copy(const struct pml_section *s, struct pml__section_stat *from, struct pml__section_stat *to,
                      uint64_t *values);
/* The durations' quantiles in ns; false if no durations were recorded. */
bool pml__section_quantiles(const struct pml_section *s, double ns[PML__QUANTILES]);

/* ---- pml_section_log.c ---- */

enum pml__section_note { PML__SECTION_COUNTED, PML__SECTION_UNCOUNTED, PML__SECTION_PERMISSION, PML__SECTION_NOTES };
#define PML__SECTION_NOTE_BYTES 1024u
/* Its line's first field, its others in @text, with tabs between them; NULL: there is nothing to say. */
const char *pml__section_note(enum pml__section_note which, char text[PML__SECTION_NOTE_BYTES]);

/* A zeroed block of statistics of @thread (0: of several that ended) for the sections from @first on; in the log, if
 * PMLUA_REPORT is set. NULL: no memory. Under the lock. */
struct pml__section_stat *pml__section_block(uint64_t thread, uint32_t first);
void pml__section_free_block(struct pml__section_stat *block);
/* Room for the sums of what the events of @s count in @stat, its statistics; NULL: no memory. Called by its writer. */
uint64_t *pml__section_stat_values(struct pml__section_stat *stat, const struct pml_section *s);
/* The definition of @s in @log. A sketch of the durations of @s, unless all of them are in the process's log. */
void pml__section_log_section(struct pml__log *log, const struct pml_section *s);
void pml__section_log_sketch(struct pml__log *log, const struct pml_section *s);
/* Record the definition of @s, or a reset, in the log, if there is one. Under the lock. */
void pml__section_log_define(const struct pml_section *s);
void pml__section_log_reset(uint32_t epoch);
/* Write the notes about the process that have changed. With no lock held. */
void pml__section_log_notes(void);
/* pml__section_log_sketches - write the current sketches of durations: at exit, and before the log is read. */
PML__SHARED void pml__section_log_sketches(void);
/* The process is another one's child: its parent's log is not its. */
void pml__section_log_forget(void);

/* ---- pml_section_file.c ---- */

/* Once the clock runs: begin what the environment asks for. The same result at every call, with its sentence. */
int pml__section_prepare_file(void);

/* ---- pml_section_timeline.c ---- */

/* The region is one of a section that was just defined: a timeline in the log has its name. */
void pml__section_timeline_name(pml_region_t region);
/* Copy the current timeline into @log: 0, or -ENOMEM where @log has no room. */
int pml__section_timeline_copy(struct pml__log *log);

/* ---- updates ---- */

static inline void pml__section_begin_update(struct pml__section_stat *stat) {
  pml__own_add32(&stat->seq, 1);
}
static inline void pml__section_end_update(struct pml__section_stat *stat) {
  (void)pml__own_add32_release(&stat->seq, 1);
}
#define PML__SECTION_SET(field, v) __atomic_store_n(&(field), (v), __ATOMIC_RELEASE)
#define PML__SECTION_GET(field) __atomic_load_n(&(field), __ATOMIC_ACQUIRE)

/* Add @after - @before of @n plain counts to the sums of @stat, which has some, and is being updated. */
static inline void pml__section_add_counts(struct pml__section_stat *stat, uint32_t n, const uint64_t *before,
                                           const uint64_t *after) {
  uint64_t *value = pml__section_own(stat)->value;
  for (uint32_t i = 0; i < n; i++) PML__SECTION_SET(value[i], value[i] + (after[i] - before[i]));
}

#endif
