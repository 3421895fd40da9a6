/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/section/pml_section.h - named sections of a program: start and stop, per-thread statistics, a report.
 *
 *   PML_SECTION("solver", s);              // interned at the first pass, then a load
 *   pml_section_start(s);
 *   ...
 *   pml_section_stop_work(s, 2.0 * n, 1);  // 2n operations in one iteration; or pml_section_stop(s)
 *
 * A section is also a region: each start and stop is an enter and a leave in pml_stream, at the very ticks that the
 * statistics have, so that profiles and traces agree with them. Sections nest and recur, on any number of threads at
 * once. Each thread writes its own statistics, and no others; a report merges them.
 *
 * A forked child begins without statistics, and its open sections restart at the fork. A child created without the C
 * library's fork handlers (_Fork, clone, fork as a system call) drops the parent's statistics when it first takes a
 * lock here: with a new section, a new thread or a report. No report contains its earlier calls. With PMLUA_REPORT
 * (pml_section_file.h) it does so at its first start or stop, if the kernel clears memory in children (MADV_WIPEONFORK,
 * Linux 4.14).
 */
#ifndef PML_SECTION_H
#define PML_SECTION_H

#include "base/pml_stream.h"
#include "record/pml_recorder.h"

#include <stdbool.h>

PML_BEGIN_DECLS

struct pml_section; /* defined once, never freed */

#define PML_SECTION_EVENTS_MAX 32u      /* per section */
#define PML_SECTION_EVENT_LISTS_MAX 64u /* different lists, over all sections */
#define PML_SECTIONS_MAX (UINT32_C(1) << 24)
#define PML_SECTION_DEPTH_MAX (UINT32_C(1) << 20) /* on one thread: more is a start that is never stopped */

enum pml_section_type { PML_SECTION_CALCULATION, PML_SECTION_COMMUNICATION }; /* work is operations, or bytes */

/* How the durations of calls are recorded, for quantiles. */
enum pml_section_record { PML_SECTION_NO_RECORD, PML_SECTION_RECORD_ALL, PML_SECTION_RECORD_SKETCH };

/*
 * @exclusive: the section contains no other section, so that the times of exclusive sections add up. The report marks a
 * section that did contain another as PML_SECTION_OVERLAP; its self_ns is still right.
 * @events: names as for pml_eventset_open(); each thread opens a set at its first start and closes it when it ends.
 * Sections with the same list share the sets. In a process that was compiled with counts (pml_count_active()), four
 * events follow the named ones: sde:::BYFL::flop_count_I, load_count_I, store_count_I and op_count_I, so that the
 * report contains the arithmetic workload and the bytes moved. They add the cost of reading such a set to each start
 * and stop. A section that names events of BYFL itself gets no others. An event that has no value at a start, because
 * it is not registered or its recorder is empty, counts as 0 there.
 */
struct pml_section_options {
  enum pml_section_type type;
  bool exclusive;
  enum pml_section_record record;
  const char *const *events;
  size_t nevents;   /* 0: the clock only */
  const char *file; /* where it stands, for traces; may be NULL */
  uint32_t line;
};

/*
 * pml_section_define - the section @label, a string of any bytes but 0 and any length; @options NULL: all zero.
 * The same label is the same section, with the options that it was first defined with: later ones must be the same, or
 * say nothing (file and line may differ).
 * With events, a set is opened on the calling thread to see that it can be.
 *
 * Returns 0, -EINVAL (no label, options that contradict, too many events), -ENOMEM, PML_EFULL (sections, lists), or
 * what pml_eventset_open() and pml_recorder_open() return; *@s is NULL on failure, which every other function takes. A
 * lock and a hash: once, outside the hot path. Thread-safe, not async-signal-safe.
 */
PML_API int pml_section_define(const char *label, const struct pml_section_options *options, struct pml_section **s);

/* pml_section_on_first - call @notify once, from the next pml_section_define() on any thread that defines a section;
 * NULL: none. It is called with no lock held and may itself define sections. Async-signal-safe. */
PML__SHARED void pml_section_on_first(void (*notify)(void));

/* pml__section_interface - the annotation interface that named @s; "": pmlua's own. */
PML__SHARED const char *pml__section_interface(const struct pml_section *s);

/* pml_section_find - pmlua's own section @label, NULL if it is not defined. Lock-free. */
PML_API struct pml_section *pml_section_find(const char *label);

struct pml_section_info {
  const char *label;
  pml_region_t region;
  enum pml_section_type type;
  bool exclusive;
  enum pml_section_record record;
  const struct pml_stream_metrics *events; /* NULL: none */
};

/* pml_section_describe - what @s was defined with; its strings live as long as the process. Lock-free. */
PML_API void pml_section_describe(const struct pml_section *s, struct pml_section_info *info);

/*
 * pml_section_enable - off: starts and stops do nothing at all (a load and a branch). Sections that are under way when
 * it is switched are reported as never stopped, so switch between them. PMLUA_SECTIONS=off starts with it off; on is
 * the default, and anything else makes the first define fail with -EINVAL.
 */
PML_API void pml_section_enable(bool on);

/*
 * pml_section_reset - clear all statistics and series of all threads. Sections under way continue, and their whole
 * duration counts when they stop. Threads clear their own data at their next start or stop, so the call does not wait.
 */
PML_API void pml_section_reset(void);

/* Misuses of sections; counted per thread, named in the report. */
#define PML_SECTION_MISUSE_LIST(X)                                                                                     \
  X(UNMATCHED, "unmatched", "stopped without a start")                                                                 \
  X(FOREIGN, "foreign", "stopped on a thread other than the one that started it")                                      \
  X(CROSSED, "crossed", "stopped while sections that started later were still running")                                \
  X(ABANDONED, "abandoned", "still running when its thread ended")                                                     \
  X(WORK, "work", "a workload that is negative or not a number; the time is counted, the workload is not")             \
  X(UNREAD, "unread", "the events could not be read; the time is counted, the events are not")                         \
  X(UNRECORDED, "unrecorded", "a duration lost because the series was full")                                           \
  X(UNSTARTED, "unstarted", "not started: nested too deep, or no memory")                                              \
  X(OVERLAP, "overlap", "exclusive, but it contains other sections")
#define PML_SECTION_MISUSE_ENUM(id, name, text) PML_SECTION_##id,
enum pml_section_misuse { PML_SECTION_MISUSE_LIST(PML_SECTION_MISUSE_ENUM) PML_SECTION_MISUSES };
#undef PML_SECTION_MISUSE_ENUM
PML_API const char *pml_section_misuse_name(enum pml_section_misuse m);
PML_API const char *pml_section_misuse_text(enum pml_section_misuse m);

/* --- the hot path ------------------------------------------------------------------------------------------------- */

extern PML_API uint32_t pml__section_state; /* atomic: 0 is off */
PML_API int pml__section_start(struct pml_section *s);
PML_API int pml__section_stop(struct pml_section *s);
PML_API int pml__section_stop_work(struct pml_section *s, double work, uint64_t iterations);
PML_API int pml__section_start_label(const char *label);
PML_API int pml__section_stop_label(const char *label);
PML_API int pml__section_stop_label_work(const char *label, double work, uint64_t iterations);

static inline bool pml__section_on(void) {
  return PML_LIKELY(__atomic_load_n(&pml__section_state, __ATOMIC_RELAXED) != 0);
}

/*
 * pml_section_start, pml_section_stop - the calling thread enters or leaves @s. Each reads the clock once it has found
 * its place: a start then fills in a frame, behind the clock and within its time, a stop adds up.
 * pml_section_stop_work - stop, with @work done since the start: operations or bytes in all, in @iterations.
 * pml_section_start_label, pml_section_stop_label, pml_section_stop_label_work - the same by label, looked up in a
 * cache of the thread; a label without a section creates one without options.
 *
 * Crossing is repaired: the section that is stopped is taken out from under those started later, which stay open;
 * consumers of the stream see those left and entered again, so that what they see is nested.
 * Returns 0, -EINVAL (NULL, a stop without its start, an invalid workload), -ENOMEM or
 * PML_EFULL (PML_SECTION_DEPTH_MAX: not started), or what opening or reading the events returned (started and stopped
 * all the same). All of it is counted.
 *
 * Cost: one clock read and some 30 (start) or 40 (stop) instructions, within the clock's own time; no lock; allocation
 * at a thread's first start of a section in a block of 64, and when it nests deeper than before. Not async-signal-safe:
 * a handler must not use sections if it may interrupt a start or stop of its thread.
 */
static inline int pml_section_start(struct pml_section *s) {
  return pml__section_on() ? pml__section_start(s) : 0;
}
static inline int pml_section_stop(struct pml_section *s) {
  return pml__section_on() ? pml__section_stop(s) : 0;
}
static inline int pml_section_stop_work(struct pml_section *s, double work, uint64_t iterations) {
  return pml__section_on() ? pml__section_stop_work(s, work, iterations) : 0;
}
static inline int pml_section_start_label(const char *label) {
  return pml__section_on() ? pml__section_start_label(label) : 0;
}
static inline int pml_section_stop_label(const char *label) {
  return pml__section_on() ? pml__section_stop_label(label) : 0;
}
static inline int pml_section_stop_label_work(const char *label, double work, uint64_t iterations) {
  return pml__section_on() ? pml__section_stop_label_work(label, work, iterations) : 0;
}

/* pml__section_here - for the macro: the section kept in @at, defined by the first caller. */
static inline struct pml_section *pml__section_here(struct pml_section **at, const char *label, const char *file,
                                                    uint32_t line) {
  struct pml_section *s = __atomic_load_n(at, __ATOMIC_ACQUIRE);
  if (PML_LIKELY(s != NULL)) return s;
  struct pml_section_options options;
  __builtin_memset(&options, 0, sizeof options);
  options.file = file;
  options.line = line;
  if (pml_section_define(label, &options, &s) == 0) __atomic_store_n(at, s, __ATOMIC_RELEASE);
  return s;
}

/* PML_SECTION(label, name) - declares `name`, the section of this place, an inclusive calculation. */
#define PML_SECTION(label, name)                                                                                       \
  static struct pml_section *name##_at_;                                                                               \
  struct pml_section *name = pml__section_here(&name##_at_, (label), __FILE__, __LINE__)

/*
 * PML_BUDGET("lookup", "malloc=0 write=1") - at file scope: the most calls of functions and the most events of each
 * call of the section. `pmlua guard --budget ./program` reads it from the program's file; the running program never
 * does.
 */
#define PML_BUDGET(section_label, items) PML__BUDGET(section_label, items, __COUNTER__)
#define PML__BUDGET(section_label, items, n) PML__BUDGET_(section_label, items, n)
#define PML__BUDGET_(section_label, items, n)                                                                          \
  static const char pml__budget_##n[] PML__BUDGET_STAYS = section_label ": " items
/* Also with --gc-sections, because nothing refers to it. */
#if defined(__has_attribute)
#if __has_attribute(retain)
#define PML__BUDGET_STAYS __attribute__((used, retain, section("pml_budget")))
#endif
#endif
#ifndef PML__BUDGET_STAYS
#define PML__BUDGET_STAYS __attribute__((used, section("pml_budget")))
#endif

/* --- the report --------------------------------------------------------------------------------------------------- */

struct pml_section_value {
  bool real; /* the sum is @d, else @i */
  int64_t i;
  double d;
};

/*
 * The statistics of a section, merged over threads, or of one thread. Times of nested calls of the section itself are
 * in the statistics of single calls (count, mean, min, max, stddev), but once in total_ns; so are events in value.
 */
struct pml_section_row {
  const struct pml_section *section;
  uint64_t thread;                           /* pml_thread id; 0: merged, or the sum of threads that ended long ago */
  uint32_t nthreads;                         /* that took part */
  uint32_t running;                          /* calls under way */
  uint64_t count;                            /* calls that ended */
  double total_ns;                           /* in the section */
  double self_ns;                            /* in the section and in none started inside it */
  double min_ns, max_ns, mean_ns, stddev_ns; /* of a call; 0 before the first. stddev of the sample (n - 1) */
  double work;                               /* operations or bytes */
  uint64_t iterations;
  uint64_t misuse[PML_SECTION_MISUSES];
  const struct pml_section_value *value; /* [events->n] sums, NULL if it has no events */
};

struct pml_section_report {
  size_t n;
  struct pml_section_row *row; /* in the order of definition, then of threads */
  struct pml_section_value *values;
};

/*
 * pml_section_report - the current statistics of every section that was started, or misused, since the last reset.
 * @by_thread: a row for each thread that took part. Threads may continue: each row is consistent at one moment. Returns
 * 0, -ENOMEM, or -EAGAIN (a thread was held within an update for a second). @r is empty on failure; free what it holds
 * with pml_section_report_free(). Threads that ended keep their statistics; those beyond the last 256 are merged into
 * one.
 */
PML_API int pml_section_report(bool by_thread, struct pml_section_report *r) PML_NAMESAKE(pml_section_report);
PML_API void pml_section_report_free(struct pml_section_report *r);

/*
 * pml_section_read - the merged row of one section, all zero if it has no statistics; its value is @values, which has
 * room for the sums of its events, or NULL. Returns 0 or -EAGAIN, as the report.
 */
PML_API int pml_section_read(const struct pml_section *s, struct pml_section_row *row,
                             struct pml_section_value *values);

/* pml_section_quantile - a quantile of the durations in ns, by the rule of pml_quantile.h; -ENOENT without durations,
 * PML_EMODE if the section records none. */
PML_API int pml_section_quantile(const struct pml_section *s, unsigned percent, double *ns);

/* pml_section_durations - the recorder: its doubles are ticks; NULL if the section keeps no durations. Owned by the
 * section. */
PML_API struct pml_recorder *pml_section_durations(const struct pml_section *s);

PML_END_DECLS

#endif
