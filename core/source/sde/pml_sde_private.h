/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/sde/pml_sde_private.h - declarations shared by pml_sde*.c: events, bodies, readers and the lock. */
#ifndef PML_SDE_PRIVATE_H
#define PML_SDE_PRIVATE_H

#include "base/pml_own.h"
#include "source/sde/pml_sde.h"
#include "source/sde/pml_sde_memo.h"
#include "source/sde/pml_sde_values.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define PML__SDE_OBJECTS 2u /* objects that a body may keep loaded: a function's and its parameter's */
#define PML__SDE_NAME_MAX 256u
#define PML__SDE_PREFIX "sde:::" /* begins the names of software-defined events */

/*
 * Event and body are separate. An event is a name that was registered or requested; readers hold references to it. Its
 * body describes the source of its value: written before it is published, exchanged under the registry's lock, NULL for
 * a placeholder. Readers load the body without a lock, between pml__sde_enter() and pml__sde_leave(); a writer that
 * removes a body waits for the readers that were inside (pml__sde_wait_for_readers()) before it frees what the body
 * points to.
 */

/* A threshold; belongs to a body or a created counter and lives as long. */
struct pml__sde_overflow {
  int64_t threshold;
  void (*notify)(int64_t value, void *arg);
  void *arg;
  void *object;                     /* handle that keeps @notify loaded */
  _Atomic int64_t total;            /* created counters: the count over all threads since the threshold was set */
  _Atomic int64_t passed;           /* multiples passed so far */
  struct pml__sde_overflow *before; /* the threshold that this replaced: an increment may still use it */
};

/* A recorder is shared by its event and those derived from it; the last body closes it. */
struct pml__sde_recorder {
  struct pml_recorder *recorder;
  _Atomic unsigned users;
  struct pml__sde_recorder *next; /* in the list of removed recorders, which only the log's readers see */
};

/*
 * A new recorder of @name, without users, or, in a log, the removed recorder of that name and @options, emptied. The
 * last user calls pml__sde_recorder_leave(). 0 or what pml_recorder_open() returns.
 */
int pml__sde_recorder_new(struct pml__sde_recorder **r, const char *name, const struct pml_recorder_options *options);
void pml__sde_recorder_leave(struct pml__sde_recorder *r);

/*
 * A member as a group reads it: single loads are separate from slower reads. @type is an enum pml_type (of
 * the variable at @at), PML__LEAF_BODY, or PML__LEAF_GONE once it has left; nothing else of a leaf ever changes.
 */
struct pml__sde_leaf {
  const void *at;
  struct pml__sde_body *body;
  _Atomic int type;
  uint64_t relative; /* all ones; 0 for an instant one, which is not counted from a start */
};
#define PML__LEAF_BODY (-1)
#define PML__LEAF_GONE (-2)

/* The members of a group. They come behind the last one; an array that is full is replaced by a larger one. */
struct pml__sde_members {
  _Atomic uint32_t n;
  uint32_t capacity;
  struct pml__sde_members *before; /* outgrown, but a reader may be in it */
  struct pml__sde_leaf leaf[];
};

enum pml__sde_plain { PML__SDE_NOT_PLAIN, PML__SDE_PLAIN_VARIABLE, PML__SDE_PLAIN_CREATED, PML__SDE_PLAIN_PER_THREAD };

/* A per-thread event: a weighted sum over cells, which each thread has. Terms are appended when a cell comes into use,
 * which was 0 until then. Never freed. */
struct pml__sde_term {
  uint16_t cell, place; /* number of the cell, and its index in a thread's cells */
  uint32_t weight;
};
struct pml__sde_terms {
  _Atomic uint32_t n;
  struct pml__sde_term term[];
};

struct pml__sde_body {
  enum pml_sde_kind kind;
  enum pml_type type; /* native */
  unsigned mode;
  _Atomic int plain; /* enum pml__sde_plain */
  void *variable;    /* PML_SDE_REGISTERED */
  pml_sde_callback *callback;
  void *param;
  struct pml_sde_counter *counter;
  struct pml__sde_recorder *recorder;
  unsigned percent; /* PML_SDE_QUANTILE */
  struct pml_sde_set *set;
  struct pml__sde_terms *terms; /* PML_SDE_PER_THREAD */
  enum pml_sde_operation operation;
  struct pml__sde_members *_Atomic members;
  struct pml__sde_overflow *_Atomic overflow;
  /* Changed under the registry's lock. */
  _Atomic unsigned groups; /* it is a member of */
  uint64_t walked;         /* the walk over groups that was here last, and how deep groups lie below */
  unsigned depth;
  struct pml__sde_members *outgrown; /* member lists of its groups: freed with it, when no reader uses them */
  void *object[PML__SDE_OBJECTS];
  struct pml__sde_body *next; /* next retired body of the event */
};

struct pml_sde_library {
  char *name;
  bool spent;
  struct pml_sde_library *next;
};

struct pml_sde_event {
  struct pml__sde_body *_Atomic body;
  /* Under the registry's lock, or constant. */
  struct pml_sde_library *library;
  char *name; /* "LIB::EVENT" */
  char *description;
  unsigned refs;
  unsigned order; /* order of registration, for lists */
  /* For sampling: its cell in the log of process @cell_process. */
  struct pml__log_cell *cell;
  uint64_t cell_process;
  struct pml__history_series *history; /* the sampler's; NULL: none yet */
  struct pml__sde_body *retired;
  struct pml_sde_counter *kept;  /* unregistered counters: the next one of this name is one of them */
  struct pml__sde_text *texts;   /* descriptions that were replaced: pml_sde_info() gave them out */
  struct pml_sde_event *next[2]; /* of its hash chain, in this table and in that which it grows into */
};

struct pml__sde_text {
  struct pml__sde_text *next;
  char text[];
};

/* --- the registry: pml_sde.c; functions with an event parameter are called with the lock held --- */

void pml__sde_lock(void);
void pml__sde_unlock(void);
int pml__sde_full_name(char *to, const struct pml_sde_library *lib, const char *event);
struct pml_sde_event *pml__sde_lookup(const char *name);
void pml__sde_grows(void);         /* for pml_sde_grown() */
void pml__sde_shrinks(void);       /* an event was withdrawn; under the lock, before its readers are waited for */
uint64_t pml__sde_withdrawn(void); /* how many were */
/* A number that changes with each change of the registered events or their descriptions; never 0. */
uint64_t pml__sde_generation(void);
/* The event "LIB::EVENT", a new placeholder without references if it is not there; NULL: no memory. */
struct pml_sde_event *pml__sde_obtain(struct pml_sde_library *lib, const char *name);
/* @b, complete, is what is behind the placeholder @ev from now on; its name belongs to @lib. */
void pml__sde_fill(struct pml_sde_event *ev, struct pml_sde_library *lib, struct pml__sde_body *b);
/* A placeholder without references is forgotten; it is freed without the lock, since that may unload libraries. */
struct pml_sde_event *pml__sde_drop(struct pml_sde_event *ev); /* NULL: it stays */
void pml__sde_event_free(struct pml_sde_event *ev);
/* Every event in turn; non-zero from @visit stops. */
int pml__sde_each(int (*visit)(struct pml_sde_event *, void *), void *arg);
struct pml_sde_library *pml__sde_libraries(void); /* the newest, which leads to the others */

/* --- the list of events: pml_sde_list.c, with the lock held --- */

bool pml__sde_list_room(void); /* for one more event; false: no memory */
void pml__sde_list_add(struct pml_sde_event *ev);
void pml__sde_list_remove(const struct pml_sde_event *ev);
/* The @n bytes of @name fit @glob, in which * is any text and ? any byte. */
bool pml__sde_fits(const char *name, size_t n, const char *glob);
/* The same in the order of registration, without the lock, on references. -ENOMEM or what @visit returned. */
int pml__sde_each_held(int (*visit)(struct pml_sde_event *, void *), void *arg);
/* Select as pml_sde_select(): store at most s->most events in @ev, each with a reference. Returns their number. */
size_t pml__sde_select_held(struct pml_sde_selection *s, struct pml_sde_event **ev);

static inline struct pml__sde_body *pml__sde_body_of(const struct pml_sde_event *ev) {
  return atomic_load_explicit(&((struct pml_sde_event *)ev)->body, memory_order_seq_cst); /* pml__sde_enter() */
}

/* --- bodies: pml_sde_body.c, with the lock held --- */

struct pml__sde_body *pml__sde_body_new(enum pml_sde_kind kind, enum pml_type type, unsigned mode);
void pml__sde_body_free(struct pml__sde_body *b);
void *pml__sde_object_hold(const void *address); /* may call the loader: without the lock */
void pml__sde_object_drop(void *object);

/* --- groups: pml_sde_group.c, with the lock held --- */

void pml__sde_leave_groups(struct pml__sde_body *b); /* once readers have left, it is not read as a member */
uint64_t pml__sde_walk(void); /* the number of a new walk, so that each body is looked at once in it */

/* --- created counters: pml_sde_counter.c --- */

/*
 * The data of a created counter that increments and readers need: the addresses of shards; the first thread's shard, if
 * it is the only one, as while one thread counts; and the rest: increments of threads without a shard, less the amounts
 * that resets and writes subtracted. For a counter in a log, the kernel clears this memory in a child.
 */
struct pml__sde_shard { /* a cell of the log, or like one */
  _Alignas(64) _Atomic int64_t value;
  _Atomic int64_t rest; /* in the first shard: the head's rest, less the child's inherited count */
};

struct pml__sde_counter_head {
  struct pml__sde_fast fast;             /* atomic */
  struct pml__sde_shard *_Atomic single; /* NULL: there are several */
  _Atomic int64_t rest;
};

uint64_t pml__sde_counter_sum(const struct pml_sde_counter *c);

/* Relaxed, as the increment is. False: there are several shards. */
static inline bool pml__sde_counter_single(const struct pml_sde_counter *c, uint64_t *v) {
  struct pml__sde_counter_head *h = (struct pml__sde_counter_head *)(uintptr_t)c;
  struct pml__sde_shard *single = atomic_load_explicit(&h->single, memory_order_relaxed);
  if (PML_UNLIKELY(single == NULL)) return false;
  *v = (uint64_t)atomic_load_explicit(&single->value, memory_order_relaxed) +
       (uint64_t)atomic_load_explicit(&h->rest, memory_order_relaxed);
  return true;
}
static inline uint64_t pml__sde_counter_value(const struct pml_sde_counter *c) {
  uint64_t v;
  return PML_LIKELY(pml__sde_counter_single(c, &v)) ? v : pml__sde_counter_sum(c);
}

/* If PMLUA_REPORT is set, the shards of @name lie in the log. The count stays there when the counter is freed, until
 * there is a counter of that name again. */
struct pml_sde_counter *pml__sde_counter_new(const char *name, unsigned mode);
/* Define the counter in the log, as the current one of its name. */
void pml__sde_counter_log(struct pml_sde_counter *c);
void pml__sde_counter_free(struct pml_sde_counter *c);
/*
 * pml__sde_counter_keep - store @c in @kept for reuse under its name, because threads may still add to it by an old
 * pointer. False: it is in a log, which stores it anyway.
 * pml__sde_counter_kept - take a counter out of @kept, restarted at 0, or NULL.
 */
bool pml__sde_counter_keep(struct pml_sde_counter **kept, struct pml_sde_counter *c);
struct pml_sde_counter *pml__sde_counter_kept(struct pml_sde_counter **kept);
void pml__sde_counter_write(struct pml_sde_counter *c, int64_t value);
void pml__sde_counter_overflow(struct pml_sde_counter *c, struct pml__sde_overflow *o);

/* --- counting sets: pml_sde_set.c --- */

struct pml_sde_set *pml__sde_set_new(void);
void pml__sde_set_free(struct pml_sde_set *s);
void pml__sde_set_clear(struct pml_sde_set *s);
uint64_t pml__sde_set_size(const struct pml_sde_set *s);

/* --- readers: pml_sde_reader.c --- */

/* One per event set, and one per single read while it lasts. Never freed, so that the list is walked without a lock. */
struct pml__sde_reader {
  _Alignas(64) _Atomic uint64_t passes;      /* odd while inside; written by one user at a time */
  const struct pml__sde_body *_Atomic alone; /* inside, and touching nothing but this body; NULL: anything */
  atomic_bool taken;
  uint64_t *cells; /* cells of the thread that owns the set; NULL: not requested yet */
  struct pml__sde_memo memo;
  bool whole; /* per-thread events are read as the process's sum */
  struct pml__sde_reader *next;
};
/* membarrier(2) fences the readers on behalf of the waiting writer */
extern __attribute__((visibility("hidden"))) atomic_bool pml__sde_expedited;
struct pml__sde_reader *pml__sde_reader_take(void); /* NULL: no memory */
void pml__sde_reader_give_back(struct pml__sde_reader *r);
/*
 * The reader: passes becomes odd; then bodies are loaded. The writer that takes a body away: stores NULL; then loads
 * passes. One of the two must see the other's store. So all four are sequentially consistent; but a store that is costs
 * the reader a fence, and so it is relaxed where membarrier(2) makes every running thread of the process pass a full
 * fence on behalf of the waiting side, between its store and its load: a reader's store is then either before that
 * fence, and seen, or its loads are after it, and see NULL. Leaving is a release that the waiting side acquires: all
 * was read before. Where a signal handler left the pass before by a longjmp, passes is odd already.
 */
static inline uint64_t pml__sde_enter(struct pml__sde_reader *r) {
  uint64_t inside = (atomic_load_explicit(&r->passes, memory_order_relaxed) + 1) | 1;
  if (PML_LIKELY(atomic_load_explicit(&pml__sde_expedited, memory_order_relaxed)))
    atomic_store_explicit(&r->passes, inside, memory_order_relaxed);
  else
    atomic_store_explicit(&r->passes, inside, memory_order_seq_cst);
  atomic_signal_fence(memory_order_seq_cst);
  return inside;
}

static inline void pml__sde_leave(struct pml__sde_reader *r) {
  pml__own_add_release((uint64_t *)&r->passes, 1);
}

/*
 * pml__sde_leave_from - the same after loads only, which call no function that enters again: @inside is the result of
 * pml__sde_enter(). Consecutive reads then wait for one store each, not for two.
 */
static inline void pml__sde_leave_from(struct pml__sde_reader *r, uint64_t inside) {
  atomic_store_explicit(&r->passes, inside + 1, memory_order_release);
}

/*
 * pml__sde_wait_for_readers - wait until each reader that is inside now has left, except readers that only use a body
 * that is not among the @n removed ones, so a callback that hangs only blocks the caller that unregisters it. Called
 * without the lock, because it may wait for a callback that uses the registry. False when called from inside a
 * callback, where it would wait for itself: then no body may be freed yet; or, without @wait, when a reader is inside.
 */
bool pml__sde_wait_for_readers(struct pml__sde_body *const *going, size_t n, bool wait);
void pml__sde_callback_begin(void);
void pml__sde_callback_end(void);

/* --- what the compiler counts: pml_sde_compiler.c --- */

/* Raised after a term was appended, and when a per-thread event came or was taken back; never 0. */
extern _Atomic uint64_t pml__sde_compiler_epoch;
/* Let @r read the calling thread's cells, or the sum of all threads if the thread has no cells. */
void pml__sde_compiler_take(struct pml__sde_reader *r);
void pml__sde_compiler_give_back(struct pml__sde_reader *r);
/* Whether @t is Byfl's sum of number @e: for as long as the process, so is the event that has it. */
bool pml__sde_compiler_is_sum(const struct pml__sde_terms *t, unsigned e);
uint64_t pml__sde_compiler_total(struct pml__sde_terms *t); /* over all threads */
/* Publish the body @b of a new event, or free it if the name exists. Returns 0 or a negative code. */
int pml__sde_publish(struct pml_sde_library *lib, const char *event, struct pml__sde_body *b);

/* --- events in the program's memory, in the log: pml_sde_log.c --- */

/*
 * Called for each library that is made (@leaving NULL), and before @leaving, or its event LIB::@name, goes: who samples
 * sets it when it is loaded. NULL: no one does.
 */
extern void (*pml__sde_look)(const struct pml_sde_library *leaving, const char *name);

/* --- watching for overflow: pml_sde_overflow.c --- */

void pml__sde_check_overflow(struct pml__sde_overflow *o, const struct pml_value *v);

/* --- reading: pml_sde_read.c --- */

/* The words of an event in a set's snapshot: the bits of its value; the base of later values if counting starts here, 0
 * for instant events; and flags for both. */
enum { PML__SDE_VALUE, PML__SDE_BASE, PML__SDE_WHAT, PML__SDE_WORDS };
#define PML__SDE_LEVEL 4u /* instant; PML__SDE_HAS: not a placeholder, not an empty recorder */

/* The sum of @t over one thread's cells. Relaxed: each cell is right for itself. */
static inline uint64_t pml__sde_terms_of(struct pml__sde_terms *t, const uint64_t *cells) {
  uint32_t n = atomic_load_explicit(&t->n, memory_order_acquire);
  uint64_t sum = 0;
  for (uint32_t i = 0; i < n; i++)
    sum += t->term[i].weight * __atomic_load_n(&cells[t->term[i].place], __ATOMIC_RELAXED);
  return sum;
}

/*
 * pml__sde_usual - the value of @b in @v if it is what most events are: a 64-bit counter, not instant, created or in a
 * variable that has no threshold. False: it has to be looked at more closely.
 */
static inline bool pml__sde_usual(const struct pml__sde_body *b, uint64_t *v) {
  if (PML_UNLIKELY(b == NULL)) return false;
  int plain = atomic_load_explicit(&((struct pml__sde_body *)b)->plain, memory_order_relaxed);
  if (PML_LIKELY(plain == PML__SDE_PLAIN_VARIABLE))
    *v = __atomic_load_n((const uint64_t *)b->variable, __ATOMIC_RELAXED);
  else
    return plain == PML__SDE_PLAIN_CREATED && pml__sde_counter_single(b->counter, v);
  return true;
}

/* pml__sde_plain - the same, also of what several threads counted, or the thread of @r for itself. */
static inline bool pml__sde_plain(const struct pml__sde_reader *r, const struct pml__sde_body *b, uint64_t *v) {
  if (PML_UNLIKELY(b == NULL)) return false;
  int plain = atomic_load_explicit(&((struct pml__sde_body *)b)->plain, memory_order_relaxed);
  if (PML_LIKELY(plain == PML__SDE_PLAIN_VARIABLE))
    *v = __atomic_load_n((const uint64_t *)b->variable, __ATOMIC_RELAXED);
  else if (plain == PML__SDE_PLAIN_CREATED)
    *v = pml__sde_counter_value(b->counter);
  else if (plain == PML__SDE_PLAIN_PER_THREAD && r->cells != NULL)
    *v = pml__sde_terms_of(b->terms, r->cells);
  else
    return false;
  return true;
}

/* pml__sde_snapshot - by reader @r, which is inside: PML__SDE_WORDS words for each of @n events. */
void pml__sde_snapshot(struct pml__sde_reader *r, struct pml_sde_event *const *ev, size_t n, uint64_t *words);
/* The snapshot of one event of any kind; NULL: no body. */
void pml__sde_snapshot_one(struct pml__sde_reader *r, const struct pml__sde_body *b, uint64_t *words);

#endif
