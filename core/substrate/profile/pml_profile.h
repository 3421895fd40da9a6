/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/substrate/profile/pml_profile.h - call path profiles: number of calls and time per call path.
 *
 * A consumer of pml_stream. Each thread grows a tree of its own, in which a node is a region called from its parent; a
 * visit merges the trees of all threads, those that ended included.
 */
#ifndef PML_PROFILE_H
#define PML_PROFILE_H

#include "base/pml_stream.h"
#include "record/pml_histogram.h"

PML_BEGIN_DECLS

struct pml_profile;

#define PML_PROFILE_NODES_MAX (UINT32_C(1) << 20) /* call paths of one thread, and of all merged */

/*
 * pml_profile_open - enters and leaves of all threads from now on. What is open already is not in it.
 * pml_profile_close - ends it and frees all; NULL is fine. Not from a consumer of the stream.
 * Returns 0, -ENOMEM, or what pml_stream_add() returns; *@p is NULL on failure.
 * In a child after a fork the parent's profile gets no events and visits none; what it has stays allocated
 * there, for other threads may have been changing it.
 *
 * Cost of a call: some 130 instructions, the stream's share among them. Memory of a thread: 152 bytes per call path,
 * and per function 512 and 64 for each octave of durations that it has calls of.
 */
PML_API int pml_profile_open(struct pml_profile **p);
PML_API void pml_profile_close(struct pml_profile *p);

/*
 * Where figures are kept instead of the heap, such as a file that outlives the process. get: zeroed memory for part
 * @part of @whose, a thread's call paths or a region's durations, aligned to 64 bytes, NULL: none; put: it is of no use
 * any more; name: @region is among them. Called on the threads that raise events. In a child after a fork none is
 * called.
 */
struct pml_profile_memory {
  void *(*get)(void *arg, uint32_t whose, uint32_t part, size_t bytes);
  void (*put)(void *arg, void *memory);
  void (*name)(void *arg, pml_region_t region);
  void *arg;
};

/* pml_profile_open_in - the same with figures in @m, which is borrowed until the profile is closed. */
PML__SHARED int pml_profile_open_in(struct pml_profile **p, const struct pml_profile_memory *m);

struct pml_profile_node {
  pml_region_t region;
  uint32_t depth;      /* 0: called from no region */
  uint32_t nthreads;   /* that took this path */
  uint64_t running;    /* calls that have not returned: under way, or left for good; count + running began */
  uint64_t count;      /* calls that returned */
  double inclusive_ns; /* between enter and leave; of a call that a longjmp or an exception left, until that is seen */
  double exclusive_ns; /* of that, in no region called from here */
  double min_ns, max_ns; /* of a call that returned, inclusive; 0 before the first */
};

/*
 * pml_profile_visit - every call path, parents before children, siblings by inclusive time, longest first; ends early
 * with what @visit returns if that is not 0. Threads may go on: a node may lack the call that is just ending in some of
 * its figures. Returns 0, -ENOMEM, or what @visit returned. The profile is not locked while @visit runs.
 */
PML_API int pml_profile_visit(struct pml_profile *p, int (*visit)(const struct pml_profile_node *node, void *arg),
                              void *arg);

/* Durations are counted in the buckets of pml_histogram.h, by ticks of pml_clock. */
struct pml_profile_function {
  pml_region_t region;
  uint64_t count;
  double min_ns, median_ns, max_ns; /* inclusive; the median to half a bucket, some 6 % */
  const uint64_t *bucket;           /* [PML_HISTOGRAM_BUCKETS] calls by inclusive duration, valid during the visit */
};

/*
 * pml_profile_functions - every region that a call of returned, wherever it was called from, in the order of regions;
 * ends early with what @visit returns if that is not 0. As with pml_profile_visit() threads may go on.
 * pml_profile_bucket_ns - the least duration in bucket @i; of PML_HISTOGRAM_BUCKETS, the most that one has.
 * Returns 0, -ENOMEM, or what @visit returned.
 */
PML_API int pml_profile_functions(struct pml_profile *p, int (*visit)(const struct pml_profile_function *f, void *arg),
                                  void *arg);
PML_API double pml_profile_bucket_ns(uint32_t i);

struct pml_summary;

/*
 * pml_profile_summary - a row for each region that a call of returned (PML_SUMMARY_CALL), as those of process @number.
 * Time in a function called by itself, however far down, counts once. Calls have no deviation. Returns 0, -ENOMEM or
 * what pml_summary_add() returns. Threads may go on.
 */
PML__SHARED int pml_profile_summary(struct pml_profile *p, struct pml_summary *s, int64_t number);

struct pml_profile_stats {
  uint32_t threads;   /* that raised events */
  uint64_t events;    /* enters that were taken */
  uint64_t unmatched; /* leaves of what was not entered, or is not innermost */
  uint64_t dropped;   /* enters without room for their path: their time is their parent's */
  uint64_t abandoned; /* calls that their thread's end cut short */
};

/* pml_profile_stats - what was taken and what was left out so far. Thread-safe. */
PML_API void pml_profile_stats(struct pml_profile *p, struct pml_profile_stats *s);

PML_END_DECLS

#endif
