/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/base/pml_stream.h - enter, leave and metric events, from adapters to registered consumers.
 *
 * Sections, intercepted calls, the user's own regions and plugins emit events; profiles, traces and plugins consume
 * them. They are independent of each other. An event is delivered, on the thread that emitted it, to every consumer of
 * its kind, in the order of their registration.
 */
#ifndef PML_STREAM_H
#define PML_STREAM_H

#include "base/pml_region.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

PML_BEGIN_DECLS

enum pml_stream_kind {
  PML_STREAM_ENTER,
  PML_STREAM_LEAVE,
  PML_STREAM_METRIC,
  PML_STREAM_COMMUNICATION, /* a message or a collective operation, within the call that makes it */
  PML_STREAM_OPENMP,        /* of a team, a task or a lock of OpenMP, within the construct */
  PML_STREAM_INTERVAL, /* the end of a call outside of the call tree, such as a call that began on another thread */
  PML_STREAM_KINDS
};

#define PML_STREAM_CONSUMERS_MAX 16u
#define PML_STREAM_METRICS_MAX 128u

/* Names of an event's values. Interned: the same names in the same order are the same pointer, for good. */
struct pml_stream_metrics {
  uint32_t n;
  const char *const *name; /* [n] */
  uint64_t real[2];   /* atomic: a bit for each value that is a double's bits, as far as its adapter has declared */
  uint64_t single[2]; /* the same of each number that is of the event alone, such as an argument, not a sum */
};

/* Where a call returns to: its return slot, or a wrapper's region; and its stack pointer. Calls on copies of a stack
 * may have the same. */
struct pml_stream_call {
  uintptr_t slot, sp;
};

struct pml_stream_event {
  uint64_t ticks;                           /* by pml_clock; never decreasing on a thread */
  pml_region_t region;                      /* 0 for a metric without a region; a communication's kind */
  const struct pml_stream_metrics *metrics; /* NULL: the event carries no values */
  const uint64_t *values;                   /* [metrics->n], valid during the call; sums since the thread began them */
  /* a leave of this call, which did not return: a longjmp or an exception ended it some time before this is detected,
   * or another stack was copied to its place; NULL: the call returned */
  const struct pml_stream_call *unwound;
};

/*
 * Where a thread's next event is written, up to @end: 16 bytes each, in the form of record/log, over zeros. The writer
 * stores the word of an event last, with release. While @next is below @fits, there is an event before it in the same
 * extent, and room for PML_STREAM_FITS events.
 */
#define PML_STREAM_FITS 8
struct pml__log_event;
struct pml_stream_place {
  struct pml__log_event *next, *fits, *end;
  uint64_t last_ticks; /* no later event has fewer */
  uint64_t own[2];     /* the adapter's, zeros at first */
};

/*
 * The functions of a consumer, each called on the thread concerned. @data is what thread_begin returned there.
 *
 * thread_begin: before the first event of a thread. NULL refuses the thread's events, which count as lost.
 * thread_end:   the thread ends and emits no more; may be NULL. Called under the stream's lock: it must neither add
 * nor remove consumers. Not called for threads that live when the consumer is removed, nor after a fork.
 * prepare:      an enter of @region will follow, and its clock is read after this: the consumer allocates now, so that
 * no call contains the time. Called where an enter may be the first of its region; may be NULL.
 * event:        one per kind; NULL: the consumer ignores the kind. It may emit events itself: those reach no consumer
 * and are counted.
 * fast:         enter and leave without values, in general registers only, for adapters that have saved no others:
 * compiled with -mgeneral-regs-only, it calls nothing else and leaves errno alone. On x86-64 it also leaves r8 to r11
 * alone, as _gpr files do where PML__SPARING is 1, because an intercepted call does not save them. Returns 0; or
 * @ticks, which are not 0, if it cannot: then it has changed nothing, and event gets the event. Used while all
 * consumers have both, and are no more than four; may be NULL. An intercepted call costs half then.
 * fast_values:  the same for an event with values, of a call whose counters are read in general registers. Without it,
 * fast gets the event without its values. Metrics go to event alone.
 *
 * place:        returns where communications of the thread may be written instead of calling event, as long as room
 * for two events is left after each; may be NULL, and may return NULL. Valid until thread_end. Used while no other
 * consumer listens.
 *
 * repair:       a signal handler left the delivery of this thread's last event by a longjmp; called when an intercepted
 * call detects that. The consumer's data must be consistent afterwards, with or without that event. A leave that it has
 * had may follow once more. May be NULL.
 *
 * returned: @call, whose leave had `unwound`, returned at @ticks after all, because its stack was copied back, or was
 * inside a frame of another one. The consumer may correct its sums; the leave stays. Returns false if it has no such
 * call. May be NULL.
 *
 * A communication has no metrics: its region is a PML__LOG_COMMUNICATED(), which contains the number of values, and
 * docs/log.md lists them. There is room for an even number of them. The same holds for OpenMP's events.
 *
 * An interval has no metrics: its region is the called one, its ticks are the end, and its only value is the ticks at
 * its beginning, which may be after the end by a difference of clocks.
 *
 * A consumer that is added while regions are open receives their leaves without their enters.
 */
typedef uint64_t pml_stream_fast(void *data, pml_region_t region, uint64_t ticks);
typedef uint64_t pml_stream_fast_values(void *data, const struct pml_stream_event *e);
struct pml_stream_consumer {
  void *(*thread_begin)(void *arg, uint64_t thread);
  void (*thread_end)(void *arg, void *data);
  void (*prepare)(void *data, pml_region_t region);
  void (*event[PML_STREAM_KINDS])(void *data, const struct pml_stream_event *e);
  pml_stream_fast *fast[PML_STREAM_LEAVE + 1];
  pml_stream_fast_values *fast_values[PML_STREAM_LEAVE + 1];
  struct pml_stream_place *(*place)(void *data);
  void (*repair)(void *data);
  bool (*returned)(void *data, const struct pml_stream_call *call, uint64_t ticks);
  void *arg;
  const char *name; /* for people; not copied: it stays as long as the consumer. May be NULL */
};
#ifndef PML__SPARING
#define PML__SPARING 0
#endif

/*
 * pml_stream_add - from now on @c (copied) gets events; *@id names it.
 * pml_stream_remove - remove consumer @id. On return no call to the consumer is under way, and none follows.
 *
 * Both wait for events that other threads are delivering, so they must not be called with a lock that a consumer
 * takes. After a fork the child has no consumers, because their output belongs to the parent.
 *
 * Return 0, -EINVAL (no thread_begin, no event), PML_EFULL (PML_STREAM_CONSUMERS_MAX), -ENOENT (no such consumer) or
 * -EDEADLK (called by a consumer). Thread-safe, not async-signal-safe.
 */
PML__SHARED int pml_stream_add(const struct pml_stream_consumer *c, uint64_t *id);
PML__SHARED int pml_stream_remove(uint64_t id);

struct pml_stream_listed {
  uint64_t id;
  char name[64];
  bool wants[PML_STREAM_KINDS], fast;
};

/* pml_stream_list - the consumers, in the order of adding, to @out; how many. A lock; thread-safe, not from a consumer.
 */
PML__SHARED size_t pml_stream_list(struct pml_stream_listed out[PML_STREAM_CONSUMERS_MAX]);

/*
 * pml_stream_metrics - intern @n names, copied, never freed. -EINVAL (none, too many, an empty name), -ENOMEM.
 * No lock; thread-safe.
 */
PML__SHARED int pml_stream_metrics(const char *const *names, size_t n, struct pml_stream_metrics **out)
    PML_NAMESAKE(pml_stream_metrics);

/* Declared by the adapter before the first event with values; read by any thread. Thread-safe, async-signal-safe. */
static inline void pml_stream_metrics_set_real(struct pml_stream_metrics *m, uint32_t i) {
  __atomic_fetch_or(&m->real[i / 64], UINT64_C(1) << i % 64, __ATOMIC_RELAXED);
}
static inline bool pml_stream_metrics_real(const struct pml_stream_metrics *m, uint32_t i) {
  return (__atomic_load_n(&m->real[i / 64], __ATOMIC_RELAXED) >> i % 64 & 1) != 0;
}

static inline bool pml_stream_metrics_any_real(const struct pml_stream_metrics *m) {
  return (__atomic_load_n(&m->real[0], __ATOMIC_RELAXED) | __atomic_load_n(&m->real[1], __ATOMIC_RELAXED)) != 0;
}

static inline void pml_stream_metrics_set_single(struct pml_stream_metrics *m, uint32_t i) {
  __atomic_fetch_or(&m->single[i / 64], UINT64_C(1) << i % 64, __ATOMIC_RELAXED);
}
static inline bool pml_stream_metrics_single(const struct pml_stream_metrics *m, uint32_t i) {
  return (__atomic_load_n(&m->single[i / 64], __ATOMIC_RELAXED) >> i % 64 & 1) != 0;
}

struct pml_stream_lost {
  uint64_t nested;  /* events emitted by a consumer, or by a signal handler that interrupted one */
  uint64_t refused; /* (event, consumer) pairs of threads that the consumer refused, or for which it lacked memory */
};
void pml_stream_lost(struct pml_stream_lost *lost) PML_NAMESAKE(pml_stream_lost);

/* --- what the inline functions need --- */

struct pml__stream_list;
extern PML__SHARED const struct pml__stream_list *pml__stream_list[PML_STREAM_KINDS]; /* atomic; NULL: none */
PML__SHARED void pml__stream_emit(enum pml_stream_kind kind, const struct pml_stream_event *e);
PML__SHARED void pml__stream_prepare(pml_region_t region);

/*
 * pml_stream_wanted - whether anybody consumes @kind: one load, one predicted branch. Relaxed: an event emitted while a
 * consumer is being added or removed may fall on either side; pml__stream_emit() looks again.
 */
static inline bool pml_stream_wanted(enum pml_stream_kind kind) {
  return PML_UNLIKELY(__atomic_load_n(&pml__stream_list[kind], __ATOMIC_RELAXED) != NULL);
}

/*
 * pml_stream_emit - deliver @e to the consumers of its kind. No lock, no allocation but at a thread's first event.
 * Async-signal-safe where the consumers are and the thread has emitted before.
 */
static inline void pml_stream_emit(enum pml_stream_kind kind, const struct pml_stream_event *e) {
  if (pml_stream_wanted(kind)) pml__stream_emit(kind, e);
}

/*
 * pml_stream_prepare - let the consumers of enters prepare for an enter of @region on this thread. Called before the
 * clock is read, where the enter may be the region's first. Does nothing for region 0, the region of functions that are
 * not selected. Not async-signal-safe, because consumers may allocate.
 */
static inline void pml_stream_prepare(pml_region_t region) {
  if (region != 0 && pml_stream_wanted(PML_STREAM_ENTER)) pml__stream_prepare(region);
}

/* pml__stream_is_inside - the calling thread is in a consumer, also where a signal handler asks that interrupted one.
 */
PML__SHARED bool pml__stream_is_inside(void);

PML_END_DECLS

#endif
