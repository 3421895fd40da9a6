/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/substrate/profile/pml_profile.h - call path profiles: number of calls and time per call path.
 *
 * A consumer of pml_stream. Each thread grows a separate tree, in which a node is a region called from its parent; a
 * visit merges the trees of all threads, including ended ones.
 */
#ifndef PML_PROFILE_H
#define PML_PROFILE_H

#include "base/pml_stream.h"
#include "record/pml_histogram.h"

PML_BEGIN_DECLS

struct pml_profile;

#define PML_PROFILE_NODES_MAX (UINT32_C(1) << 20) /* call paths of one thread, and of all merged */

/*
 * pml_profile_open - start recording enters and leaves of all threads. Calls that are already open are not recorded.
 * pml_profile_close - stop recording and free all; NULL is fine. Must not be called by a consumer of the stream.
 * Returns 0, -ENOMEM, or an error of pml_stream_add(); *@p is NULL on failure. In a child after a fork the parent's
 * profile gets no events and no visits; its memory stays allocated there, because other threads may have been changing
 * it.
 * pml_profile_close - stop recording and free all; NULL is fine. Not from a consumer of the stream. Returns 0, -ENOMEM,
 * or what pml_stream_add() returns; *@p is NULL on failure. In a child after a fork the parent's profile gets no events
 * and visits none; its memory stays allocated there, because other threads may have been changing it.
 *
 * Cost of a call: some 130 instructions, including the stream's share. Memory of a thread: 152 bytes per call path, 512
 * per function, and 64 for each octave of durations of its calls.
 */
PML_API int pml_profile_open(struct pml_profile **p);
PML_API void pml_profile_close(struct pml_profile *p);

/*
 * Memory for figures instead of the heap, such as a file that outlives the process. get: zeroed memory for part @part
 * of @whose, a thread's call paths or a region's durations, aligned to 64 bytes, NULL: no memory; put: free it; name:
 * @region is among them. Called on the threads that emit events. Not called in a child after a fork.
 *
 * frequent: a thread has called @region PML_PROFILE_FREQUENT more times by one path; called in the enter. NULL: no.
 */
#define PML_PROFILE_FREQUENT 4096u
struct pml_profile_memory {
  void *(*get)(void *arg, uint32_t whose, uint32_t part, size_t bytes);
  void (*put)(void *arg, void *memory);
  void (*name)(void *arg, pml_region_t region);
  void (*frequent)(void *arg, pml_region_t region);
  void *arg;
};

/* pml_profile_open_in - the same with figures in @m, which is borrowed until the profile is closed. */
PML__SHARED int pml_profile_open_in(struct pml_profile **p, const struct pml_profile_memory *m);

struct pml_profile_node {
  pml_region_t region;
  uint32_t depth;        /* 0: called from no region */
  uint32_t nthreads;     /* threads that took this path */
  uint64_t running;      /* calls that have not returned, whether open or left; count + running calls began */
  uint64_t count;        /* calls that returned */
  double inclusive_ns;   /* from enter to leave, or until the end of a call by a longjmp or an exception is detected */
  double exclusive_ns;   /* the part outside of regions called from here */
  double min_ns, max_ns; /* inclusive time of a call that returned; 0 before the first */
};

/*
 * pml_profile_visit - visit every call path, parents before children, siblings by inclusive time, longest first, until
 * @visit returns a value other than 0. Threads may continue: some fields of a node may lack a call that is just ending.
 * Returns that value, 0 or -ENOMEM. The profile is not locked while @visit runs.
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
 * pml_profile_functions - visit every region with a call that returned, summed over all callers, in the order of
 * regions, until @visit returns a value other than 0. Threads may continue, as with pml_profile_visit().
 * pml_profile_bucket_ns - the least duration in bucket @i; for PML_HISTOGRAM_BUCKETS, the longest of all. Returns 0,
 * -ENOMEM, or what @visit returned.
 */
PML_API int pml_profile_functions(struct pml_profile *p, int (*visit)(const struct pml_profile_function *f, void *arg),
                                  void *arg);
PML_API double pml_profile_bucket_ns(uint32_t i);

struct pml_profile_stats {
  uint32_t threads;   /* threads that emitted events */
  uint64_t events;    /* recorded enters */
  uint64_t unmatched; /* leaves of regions not entered, or not innermost */
  uint64_t dropped;   /* enters without room for their path: their time counts for their parent */
  uint64_t abandoned; /* calls ended by the end of their thread */
};

/* pml_profile_stats - the numbers of recorded and omitted events so far. Thread-safe. */
PML_API void pml_profile_stats(struct pml_profile *p, struct pml_profile_stats *s) PML_NAMESAKE(pml_profile_stats);

PML_END_DECLS

#endif
