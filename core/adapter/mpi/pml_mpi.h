/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/mpi/pml_mpi.h - MPI in unmodified programs: declarations shared by the shims of all MPI libraries.
 *
 * Interception (pml_intercept.h) makes every MPI function a region. Calls of communicating functions lead to a hook of
 * the shim (core/adapter/mpi/shim), which is compiled with the header of that MPI. The hook calls the function and
 * emits the communication events. The code here does not depend on an MPI implementation: handles are numbers.
 *
 * Fortran bindings are libraries that call the C functions. These calls are recorded, so that each call from Fortran is
 * recorded once, under its C name.
 */
#ifndef PML_MPI_H
#define PML_MPI_H

#include "base/pml_api.h"
#include "base/pml_clock.h"
#include "base/pml_map.h"
#include "base/pml_own.h"
#include "base/stream/pml_stream_private.h"
#include "record/log/pml_log_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

PML_BEGIN_DECLS

/* ---- libraries ---- */

/*
 * pml_mpi_intercept - let interceptions that are installed later handle MPI. Idempotent. Cost: one store; a shim is
 * loaded when a library of its MPI is loaded.
 * pml__mpi_report - the same if only sections are recorded: only MPI_Init and MPI_Finalize are intercepted. Returns
 * false without a folder for the log (PMLUA_REPORT), an MPI library, or interception.
 * pml_mpi_trouble - the reason why messages of this process are not recorded, or NULL. Never freed.
 * pml__mpi_set_trouble - set this reason, from the shim; only the first call has an effect. One thread at a time.
 */
PML__SHARED void pml_mpi_intercept(void);
bool pml__mpi_report(void);
PML__SHARED const char *pml_mpi_trouble(void);
PML__SHARED void pml__mpi_set_trouble(const char *text);

struct pml__mpi_hook {
  const char *name;       /* the function's C name */
  void (*function)(void); /* replaces it */
  bool always;            /* also used if only sections are recorded */
};
/* The type of a shim's export pml__mpi_shim. */
struct pml__mpi_hooks {
  const struct pml__mpi_hook *begin, *end;
};

/* ---- events ---- */

/*
 * pml__mpi_emit - emit a communication of the calling thread, with the current time. @what is a
 * PML__LOG_COMMUNICATED(), which contains the number of @values; @values has room for an even number of them. No lock,
 * no allocation except at a thread's first event. pml__mpi_put - write the event directly into the event buffer. @what
 * must be a constant. Returns false, and emits nothing, if the thread has no event buffer or the buffer is full.
 */
PML__SHARED void pml__mpi_emit(uint32_t what, const uint64_t *values);
static inline bool pml__mpi_put(uint32_t what, uint64_t v0, uint64_t v1, uint64_t v2, uint64_t v3) {
  const uint32_t n = PML__LOG_COMMUNICATED_N(what), events = 1 + (n + 1) / 2;
  struct pml__stream_thread *t = pml__stream_self;
  struct pml_stream_place *p = pml__stream_open_place(t);
  if (PML_UNLIKELY(p == NULL)) return false;
  struct pml__log_event *e = p->next;
  uint64_t ticks = pml__clock_counter();
  bool fits = PML_LIKELY(e + events + 2 <= p->end) && PML_LIKELY(ticks >= p->last_ticks);
  if (fits) {
    e[1].ticks = v0;
    if (n > 1) e[1].word = v1;
    if (n > 2) e[2].ticks = v2;
    if (n > 3) e[2].word = v3;
    e->ticks = p->last_ticks = ticks;
    __atomic_store_n(&e->word, PML__LOG_WORD(PML__LOG_COMMUNICATION, what), __ATOMIC_RELEASE);
    p->next = e + events;
  }
  pml__stream_unguard(t);
  return fits;
}

/*
 * Events of a call whose enter is the thread's last event: they use the time of the enter or of the leave, so no clock
 * is read (PML__LOG_CALL_COMMUNICATION).
 *
 * pml__mpi_open - begin a delivery to write them; NULL: emit or put them instead. @enter: the word of the call's enter,
 * which other threads may set. There is room for PML_STREAM_FITS events. End it with pml__stream_unguard(); no other
 * event of the thread may be written before that. pml__mpi_take - allocate some of this room. pml__mpi_store - write
 * @e, whose values after the first are stored already, unless they are 0. It stores halves, because constants then need
 * no register; the event becomes valid by its kind, which is stored last.
 */
typedef uint32_t __attribute__((may_alias)) pml__mpi_half_t;
static inline pml__mpi_half_t *pml__mpi_half(uint64_t *whole) {
  return (pml__mpi_half_t *)whole; /* the lower half first; MPI's statuses are copied in the same way */
}
/* Returns room for @n events. */
static inline struct pml__log_event *pml__mpi_take(struct pml_stream_place *p, uint32_t n) {
  struct pml__log_event *e = p->next;
  pml__own_add_release((uint64_t *)(void *)&p->next, n * sizeof *e);
  return e;
}
static inline struct pml_stream_place *pml__mpi_open(struct pml__stream_thread *t, const uint64_t *enter) {
  struct pml_stream_place *p = pml__stream_open_place(t);
  if (PML_UNLIKELY(p == NULL)) return NULL;
  if (PML_LIKELY(p->next < p->fits) && PML_LIKELY(p->next[-1].word == __atomic_load_n(enter, __ATOMIC_RELAXED)))
    return p;
  pml__stream_unguard(t);
  return NULL;
}
static inline void pml__mpi_store(struct pml__log_event *e, uint32_t what, uint64_t first) {
  e->ticks = first;
  pml__mpi_half(&e->word)[0] = what;
  __atomic_store_n(&pml__mpi_half(&e->word)[1], PML__LOG_CALL_COMMUNICATION, __ATOMIC_RELEASE);
}

/* ---- handles ---- */

/* A table of handles. No lock: a thread takes a slot by exchanging its key. A handle may briefly have two entries, if a
 * thread completed a request and another thread already got the same handle again; the older entry is then claimed. */
#define PML__MPI_LEFT 1u
enum pml__mpi_state { PML__MPI_FREE, PML__MPI_KNOWN, PML__MPI_CLAIMED };

struct pml__mpi_entry {
  uint64_t key;   /* atomic; 0: never used; PML__MPI_LEFT: free again */
  uint32_t state; /* atomic */
  uint32_t kind;  /* defined by the user */
};

#define PML__MPI_LEVELS 16u
#define PML__MPI_FIRST_BITS 10u /* log2 of the first level's entries */
struct pml__mpi_table {
  char *level[PML__MPI_LEVELS]; /* atomic; each has twice as many entries as the previous level */
};
#define PML__MPI_ENTRY_BYTES 64u /* beginning with a struct pml__mpi_entry */

/*
 * pml__mpi_add - a free entry for @key, which is not found before pml__mpi_publish(). NULL: no memory.
 * pml__mpi_find - the entry of @key; NULL if none is published and unclaimed.
 * pml__mpi_drop - empty the table and free its memory; no other thread may use it.
 * pml__mpi_claim - hide an entry from other threads until it is published again. pml__mpi_remove - free an entry. @key
 * is greater than PML__MPI_LEFT. Thread-safe; not async-signal-safe. Cost: some 10 instructions for an existing entry.
 */
PML__SHARED void *pml__mpi_add(struct pml__mpi_table *t, uint64_t key);
PML__SHARED void pml__mpi_drop(struct pml__mpi_table *t);
PML__SHARED void *pml__mpi_search(struct pml__mpi_table *t, uint64_t key); /* without checking the first slot */
static inline struct pml__mpi_entry *pml__mpi_entry_at(char *level, unsigned bits, uint64_t key, uint64_t k) {
  uint64_t hash = key * PML__HASH_FACTOR >> (64 - bits);
  return (struct pml__mpi_entry *)(void *)(level + ((hash + k) & ((UINT64_C(1) << bits) - 1)) * PML__MPI_ENTRY_BYTES);
}
static inline bool pml__mpi_is_of(const struct pml__mpi_entry *e, uint64_t key) {
  return __atomic_load_n(&e->key, __ATOMIC_ACQUIRE) == key &&
         __atomic_load_n(&e->state, __ATOMIC_ACQUIRE) == PML__MPI_KNOWN;
}
/* Checks only the first slot for @key, where it usually is. */
static inline void *pml__mpi_glance(struct pml__mpi_table *t, uint64_t key) {
  char *level = __atomic_load_n(&t->level[0], __ATOMIC_ACQUIRE);
  if (PML_UNLIKELY(level == NULL)) return NULL;
  struct pml__mpi_entry *e = pml__mpi_entry_at(level, PML__MPI_FIRST_BITS, key, 0);
  return PML_LIKELY(pml__mpi_is_of(e, key)) ? e : NULL;
}
static inline void *pml__mpi_find(struct pml__mpi_table *t, uint64_t key) {
  void *e = pml__mpi_glance(t, key);
  return PML_LIKELY(e != NULL) ? e : pml__mpi_search(t, key);
}
/* Remove an older entry of @key, if any, and add a new one. */
PML__SHARED void *pml__mpi_add_anew(struct pml__mpi_table *t, uint64_t key);
static inline void *pml__mpi_renew(struct pml__mpi_table *t, uint64_t key) {
  char *level = __atomic_load_n(&t->level[0], __ATOMIC_ACQUIRE);
  if (PML_UNLIKELY(level == NULL)) return pml__mpi_add_anew(t, key);
  struct pml__mpi_entry *e = pml__mpi_entry_at(level, PML__MPI_FIRST_BITS, key, 0);
  struct pml__mpi_entry *after = pml__mpi_entry_at(level, PML__MPI_FIRST_BITS, key, 1);
  uint64_t now = PML__MPI_LEFT;
  if (PML_LIKELY(__atomic_load_n(&after->key, __ATOMIC_ACQUIRE) == 0) &&
      PML_LIKELY(__atomic_compare_exchange_n(&e->key, &now, key, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)))
    return e;
  return pml__mpi_add_anew(t, key);
}
static inline void pml__mpi_publish(struct pml__mpi_entry *e) {
  __atomic_store_n(&e->state, PML__MPI_KNOWN, __ATOMIC_RELEASE);
}
static inline void pml__mpi_claim(struct pml__mpi_entry *e) {
  __atomic_store_n(&e->state, PML__MPI_CLAIMED, __ATOMIC_RELEASE);
}
static inline void pml__mpi_remove(struct pml__mpi_entry *e) {
  __atomic_store_n(&e->state, PML__MPI_FREE, __ATOMIC_RELAXED);
  __atomic_store_n(&e->key, PML__MPI_LEFT, __ATOMIC_RELEASE);
}

/* ---- the log ---- */

/* Each function writes to the process's log, if there is one, and takes a lock. Thread-safe. */

/* @version: the library's version, one line. pml__mpi_has_begun - whether pml__mpi_log_process() was called. */
bool pml__mpi_has_begun(void);
PML__SHARED void pml__mpi_log_process(const struct pml__log_mpi *mpi, const char *version);
/* @ranks: lists of ranks in the world, such as "0 1 2"; "" if the process does not write them. @remote: the ranks of an
 * inter-communicator's other group. */
PML__SHARED void pml__mpi_log_communicator(const struct pml__log_communicator *c, const char *name, const char *ranks,
                                           const char *remote);
PML__SHARED void pml__mpi_log_window(const struct pml__log_window *w, const char *name);
PML__SHARED void pml__mpi_log_clock(const struct pml__log_clock_offset *o);

/* How the log of this process converts ticks: ns = started_ns + (ticks - started_ticks) / ticks_per_second 10^9. */
struct pml__mpi_clock {
  uint64_t started_ns, started_ticks;
  double ticks_per_second;
  char clock[32];
  char machine[40]; /* equal if two processes read the same clock: the kernel's boot id, and the processor's counter */
};
/* pml__mpi_clock - the clock of the log; without a log all is zero, and clock is "". */
PML__SHARED void pml__mpi_clock(struct pml__mpi_clock *c);
static inline double pml__mpi_clock_ns(const struct pml__mpi_clock *c, uint64_t ticks) {
  return ((double)(int64_t)(ticks - c->started_ticks)) * (1e9 / c->ticks_per_second);
}

PML_END_DECLS

#endif
