/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/sde/pml_sde.h - software-defined events: named values that libraries publish.
 *
 * A library registers what it has (variables, callbacks) or lets pmlua keep it (created counters, recorders, counting
 * sets); an event set reads it as "sde:::LIB::EVENT" like any other event. Semantics follow PAPI's libsde where
 * programs rely on it.
 */
#ifndef PML_SDE_H
#define PML_SDE_H

#include "base/pml_own.h"
#include "base/pml_value.h"
#include "record/pml_recorder.h"

#include <stdbool.h>

PML_BEGIN_DECLS

struct pml_sde_library; /* never freed before shutdown: a handle stays valid */
struct pml_sde_counter; /* a created counter */
struct pml_sde_set;     /* a counting set */
struct pml_sde_event;   /* an event held by a reader; survives unregister: it then reads as a placeholder */

#define PML_SDE_RO 0x00u
#define PML_SDE_RW 0x01u
#define PML_SDE_DELTA 0x00u
#define PML_SDE_INSTANT 0x10u

enum pml_sde_kind {
  PML_SDE_PLACEHOLDER,
  PML_SDE_REGISTERED,
  PML_SDE_CALLBACK,
  PML_SDE_CREATED,
  PML_SDE_RECORDER,
  PML_SDE_QUANTILE,
  PML_SDE_COUNT,
  PML_SDE_GROUP,
  PML_SDE_SET,
  PML_SDE_PER_THREAD /* the compiler's counts, which each thread counts separately; see pml_sde_read() */
};
enum pml_sde_operation { PML_SDE_SUM, PML_SDE_MAX, PML_SDE_MIN };

typedef int64_t pml_sde_callback(void *param); /* a double is returned as its bits, as in libsde */

/*
 * pml_sde_grown - how often the registry has grown by what stays: a library, an event that is filled, a member of a
 * group, a description. A caller that accounts for memory reads it before and after. Lock-free.
 */
PML_API uint64_t pml_sde_grown(void);

/* pml_sde_library - the library of that name, made if it is new. -EINVAL for a bad name, -ENOMEM. */
PML_API int pml_sde_library(struct pml_sde_library **lib, const char *name) PML_NAMESAKE(pml_sde_library);

/*
 * pml_sde_on_first_library - call @notify once, from pml_sde_library() on any thread, when the process creates its
 * first library; a reader's placeholder does not count. Only the latest @notify given before that is called. One given
 * later is called by the next pml_sde_library(). No lock is held during the call. Costs other calls only a load.
 */
PML__SHARED void pml_sde_on_first_library(void (*notify)(void));

/*
 * Each registers @event of @lib ("LIB::EVENT"), filling in a reader's placeholder. Registering an existing name again
 * has no effect and returns 0 (creates return the same handle). The object file that contains @variable or @callback is
 * kept loaded until unregister, so a dlclose() in between does no harm. A variable is aligned to its size. A callback's
 * int or float is in the low bytes of its result. A SUM group adds what its members counted since the start, and the
 * current values of instant members; MAX and MIN groups use the members' current values, and are instant. Unregister
 * and shutdown block until no reader uses the removed event, so the variable may be freed afterwards; from inside a
 * callback they do not wait. Created counters, recorders and sets live on while a reference to the event exists. Return
 * 0, -EINVAL (name, type, other kind under that name), PML_ECLOSED (the library was shut down), -ENOMEM. Thread-safe; a
 * lock, not for hot paths.
 */
PML_API int pml_sde_register(struct pml_sde_library *lib, const char *event, unsigned mode, enum pml_type type,
                             void *variable);
PML_API int pml_sde_register_callback(struct pml_sde_library *lib, const char *event, unsigned mode, enum pml_type type,
                                      pml_sde_callback *callback, void *param);
PML_API int pml_sde_create(struct pml_sde_library *lib, const char *event, unsigned mode, struct pml_sde_counter **c);
PML_API int pml_sde_create_recorder(struct pml_sde_library *lib, const char *event,
                                    const struct pml_recorder_options *options, struct pml_recorder **r);
PML_API int pml_sde_create_set(struct pml_sde_library *lib, const char *event, struct pml_sde_set **set);
PML_API int pml_sde_group_add(struct pml_sde_library *lib, const char *event, const char *group,
                              enum pml_sde_operation operation); /* nests; the event must be there */
PML_API int pml_sde_describe(struct pml_sde_library *lib, const char *event, const char *description);
PML_API int pml_sde_unregister(struct pml_sde_library *lib, const char *event);
/*
 * pml_sde_tidy - free the storage of @ev from before it was unregistered, if the caller's reference is the only one;
 * else it is freed when the last reference is released. This frees counters, recorders and sets that were created for
 * it, so the caller must ensure that no thread uses them.
 */
PML__SHARED void pml_sde_tidy(struct pml_sde_event *ev);
PML_API int pml_sde_shutdown(struct pml_sde_library *lib); /* unregisters all of it; the handle then is spent */

/*
 * pml_sde_increment - add to a created counter: on a shard that belongs to the calling thread, no lock, no atomic
 * read-modify-write unless an overflow threshold is set. Inline, below. 0, or -EINVAL if there is no counter. Not from
 * signal handlers that interrupt an increment: one of the two would be lost.
 * reset: counts from 0 again.
 */
static inline int pml_sde_increment(struct pml_sde_counter *c, int64_t by);
PML_API int pml_sde_counter_reset(struct pml_sde_counter *c);
PML_API int64_t pml_sde_counter_read(const struct pml_sde_counter *c);

/* Counting sets: identity is the first @hashable bytes and @type_id. */
PML_API int pml_sde_set_insert(struct pml_sde_set *s, size_t bytes, size_t hashable, const void *element,
                               uint32_t type_id);
PML_API int pml_sde_set_remove(struct pml_sde_set *s, size_t hashable, const void *element, uint32_t type_id);
struct pml_sde_element {
  uint32_t count, type_id;
  size_t bytes;
  const void *element; /* valid while the visitor runs */
};
PML_API int pml_sde_set_visit(struct pml_sde_set *s, int (*visit)(const struct pml_sde_element *, void *), void *arg);

/*
 * pml_sde_find - the event "LIB::EVENT" (with or without "sde:::"), for reading. An unknown event of the form
 * LIB::EVENT becomes a placeholder (then *made is true, if not NULL) that reads -1 until it is registered; without "::"
 * PML_ENOEVENT. Release with pml_sde_release(). Recorders also have EVENT:CNT and, where there is an order, :MIN :Q1
 * :MED :Q3 :MAX.
 */
PML_API int pml_sde_find(const char *name, struct pml_sde_event **ev, bool *made);
PML_API void pml_sde_release(struct pml_sde_event *ev);
/* pml_sde_find_in - find @event of @lib, or make a placeholder, to refer to it before it is created. */
PML__SHARED int pml_sde_find_in(struct pml_sde_library *lib, const char *event, struct pml_sde_event **ev);

/*
 * pml_sde_read - read the current value, widened. A recorder reads its count, a counting set its size. Per-thread
 * events read the sum over all threads, including ended ones; an event set reads its thread's counts (pml_eventset.h).
 * Returns 0 or a negative code.
 */
PML_API int pml_sde_read(struct pml_sde_event *ev, struct pml_value *v);
/* pml_sde_write - set a read-write registered or created counter; -EACCES if read-only, PML_EMODE for other kinds. */
PML_API int pml_sde_write(struct pml_sde_event *ev, const struct pml_value *v);
PML_API int pml_sde_reset(struct pml_sde_event *ev); /* counters to 0, sets emptied, others: 0 and nothing happens */

struct pml_sde_info {
  const char *library, *name, *description; /* name without the library */
  const char *full_name;                    /* "LIB::EVENT" */
  enum pml_sde_kind kind;
  enum pml_type type;
  unsigned mode;
  struct pml_recorder *recorder; /* for a recorder and its derived events, else NULL */
  struct pml_sde_set *set;
};

/* pml_sde_info - describe @ev; strings live as long as it. */
PML_API int pml_sde_info(struct pml_sde_event *ev, struct pml_sde_info *info) PML_NAMESAKE(pml_sde_info);

/* pml_sde_list - visit every event, including placeholders; the visitor must not register. A non-zero result stops the
 * walk. */
PML_API int pml_sde_list(int (*visit)(const struct pml_sde_info *, void *), void *arg);

/* pml_sde_count - the number of events, including placeholders. Thread-safe; takes the registry's lock. */
PML__SHARED size_t pml_sde_count(void);

/*
 * pml_sde_select - visit events whose names match one of @n patterns (without "sde:::"; * and ?), in the order of
 * registration, at most @most of them. A pattern without "::" matches events of any library. Derived events of a
 * recorder (RECORDER:MED) are omitted if the recorder is also selected. @from is 0 at first; if @more is set, the next
 * call continues: a call checks at most a million events, so it may visit none. Returns 0, -ENOMEM, or what @visit
 * returned. Thread-safe: the lock is held for some thousand events at a time. Cost: 10 to 50 ns for each event; names
 * without stars are looked up.
 */
struct pml_sde_selection {
  const char *const *pattern;
  size_t n, most;
  uint64_t from;
  bool more;
};
PML__SHARED int pml_sde_select(struct pml_sde_selection *s, int (*visit)(const struct pml_sde_info *, void *),
                               void *arg);

/*
 * pml_sde_log_sample - write the values of events in the program's memory (variables, callbacks, groups, sets) into the
 * process's log, with the time; created counters and recorders live there anyway. If the process is killed, the log has
 * the values of the last call. @callbacks: include callbacks and groups, and append all values to their series
 * (pml_history.h). False: there is no log. Thread-safe; not for
 * hot paths.
 */
PML__SHARED bool pml_sde_log_sample(bool callbacks);

/*
 * pml_sde_on_overflow - call @notify once each time the value passes another multiple of @threshold: created counters
 * from inside the increment; registered counters and callbacks when they are read, and at the latest after
 * PML_SDE_POLL_NS from a thread that polls them. NULL ends it. The object file that holds @notify is kept loaded.
 * It may use the registry; if it hangs, polling stops. A forked child has the same handlers. Returns 0, -EINVAL (other
 * kinds, a threshold below 1), -ENOMEM, -EAGAIN (no thread to poll: the threshold is noticed at reads only).
 */
#define PML_SDE_POLL_NS 1000000
PML_API int pml_sde_on_overflow(struct pml_sde_event *ev, int64_t threshold, void (*notify)(int64_t value, void *arg),
                                void *arg);

/* --- what the inline increment needs ---------------------------------------------------------------------------- */

#define PML__SDE_BLOCKS 16u

/*
 * Both a way and a place have the highest bit added, which no address has: their sum has not, unless there is no way,
 * which is 0. So an addition tells.
 */
#define PML__SDE_HIGH (UINT64_C(1) << 63)

/* A thread's position among the shards of every counter: counters list where each block of shards begins. */
struct pml__sde_lane {
  uint64_t block;    /* plus one; 0: not requested yet, PML__SDE_BLOCKS + 1: refused for good */
  uint64_t at_bytes; /* of its shard in the block, and PML__SDE_HIGH */
};

extern PML_API PML_THREAD_LOCAL struct pml__sde_lane pml__sde_lane __attribute__((tls_model("initial-exec")));

/*
 * The head of a counter: where each block of shards begins, and PML__SDE_HIGH; 0: use the slow path, also while there
 * is a threshold.
 */
struct pml__sde_fast {
  uint64_t block[PML__SDE_BLOCKS + 2];
};

PML_API int pml__sde_increment_slowly(struct pml_sde_counter *c, int64_t by);

/*
 * pml__sde_counter_also - also write blocks that become available to @fast, a handle's, which is all 0. NULL: stop, and
 * clear it. One @fast for each counter; it stays as long as the process.
 */
PML__SHARED void pml__sde_counter_also(struct pml_sde_counter *c, struct pml__sde_fast *fast);

/*
 * Adds to the calling thread's shard; false: the slow way has to. A shard has one writer, so that no increment is lost;
 * a reader sees each shard at some moment, and a sum says nothing about other memory. The block's address is acquired,
 * for its zeroes.
 */
static inline bool pml__sde_add(const struct pml__sde_fast *f, int64_t by) {
  uint64_t block = __atomic_load_n(&f->block[pml__sde_lane.block], __ATOMIC_ACQUIRE);
  uint64_t shard = block + pml__sde_lane.at_bytes;
  if (PML_UNLIKELY((int64_t)shard < 0)) return false;
  pml__own_add((uint64_t *)(uintptr_t)shard, (uint64_t)by);
  return true;
}

static inline int pml_sde_increment(struct pml_sde_counter *c, int64_t by) {
  bool added = PML_LIKELY(c != 0) && pml__sde_add((const struct pml__sde_fast *)c, by);
  return PML_LIKELY(added) ? 0 : pml__sde_increment_slowly(c, by);
}

PML_END_DECLS

#endif
