/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/record/events/pml_recording.h - recorded calls of a process in its log (pml_log.h), which survives however
 * the process ends.
 *
 * The log is mapped shared, so every write reaches the kernel at once: SIGKILL, exec, _exit and a crash lose nothing.
 * It is read later (pml_recording_read.h). It contains the names of regions, the memory of a profile (pml_profile.h),
 * and, if requested, every enter and leave. Events without room are dropped and counted.
 */
#ifndef PML_RECORDING_H
#define PML_RECORDING_H

#include "base/pml_api.h"
#include "base/pml_stream.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

PML_BEGIN_DECLS

struct pml_recording;

enum pml_recording_end { PML_RECORDING_RUNNING, PML_RECORDING_EXIT, PML_RECORDING_LEFT, PML_RECORDING_FAILED };

/*
 * pml_recording_open - make a log for recorded calls in the folder @folder, an absolute path; @name: as
 * pml__log_process. pml_recording_path - its file. pml_recording_close - stop writing; the file remains. NULL is fine.
 * pml_recording_abandon - the same in a child with a copy of its parent's recording: it writes nothing, unmaps the
 * file, and leaves alone memory that threads of the parent may have been changing.
 *
 * Return 0, -errno of open, allocation or mapping, -EFBIG (a limit on file sizes), -ENOMEM; *@s is NULL on failure.
 * Not async-signal-safe. Mapped part of the file: 68 KiB, 64 KiB with the first name, 64 KiB with the first
 * pml_recording_get(), and as much again whenever one of these is full.
 */
PML__SHARED int pml_recording_open(struct pml_recording **s, const char *folder, const char *name);
PML__SHARED const char *pml_recording_path(const struct pml_recording *s);
PML__SHARED void pml_recording_close(struct pml_recording *s);
PML__SHARED void pml_recording_abandon(struct pml_recording *s);

/* pml_recording_share - store the process's sections in the same log, unless another place is requested; NULL: stop. */
PML__SHARED void pml_recording_share(struct pml_recording *s);

/* pml_recording_note - store @text as a fact about the process under @key, replacing an earlier one. Takes a lock. */
PML__SHARED void pml_recording_note(struct pml_recording *s, const char *key, const char *text);

/* pml_recording_name_thread - the thread @tid of this process, 0: the calling one, is called @name in traces, for the
 * first 255 bytes. Nothing happens if the process has no log. A lock. */
PML__SHARED void pml_recording_name_thread(uint32_t tid, const char *name);

/*
 * pml_recording_counted - note which modules of this process contain compiler counters; @at: an enum pml_count_at. One
 * store; async-signal-safe.
 */
PML__SHARED void pml_recording_counted(struct pml_recording *s, uint32_t at);

/* pml_recording_end - note how the process ends, or that its recording failed. Async-signal-safe. */
PML__SHARED void pml_recording_end(struct pml_recording *s, enum pml_recording_end how);

/*
 * pml_recording_seal - make no more system calls for the recording: the file stops growing, events without room are
 * dropped and counted, and a closed recording stays mapped. For a process that is about to forbid itself system calls.
 * One store; async-signal-safe.
 */
PML__SHARED void pml_recording_seal(struct pml_recording *s);

/* pml_recording_lose_counts - note that a thread's events have no values from now on, because of @err.
 * Async-signal-safe. */
PML__SHARED void pml_recording_lose_counts(struct pml_recording *s, int err);

/*
 * pml_recording_child - before a fork: reserve room in the log to note the child until it has its own recording; NULL:
 * no room now. @s belongs to the calling process (@grows), or, until that has its own, to the process from which it was
 * forked. The child is noted once it stores its pid there, with release order. Never waits for a lock and never
 * allocates: async-signal-safe. Takes 4 KiB of the file for the first 63 children, then 64 KiB to 4 MiB at a time.
 * pml_recording_child_opened - the child has a recording, or has none because of @err; _ended - how it ends without
 * one. Called by the child, one store each; async-signal-safe.
 */
PML__SHARED int32_t *pml_recording_child(struct pml_recording *s, bool grows);
PML__SHARED void pml_recording_child_opened(int32_t *pid, int err);
PML__SHARED void pml_recording_child_ended(int32_t *pid, enum pml_recording_end how);

/* pml_recording_lose_child - note that a child could not be recorded; called by this child, before it abandons.
 * Async-signal-safe. */
PML__SHARED void pml_recording_lose_child(struct pml_recording *s);

/*
 * pml_recording_get - allocate @bytes of the file, zeroed, aligned to 64, for part @part of @whose; NULL: no room.
 * Takes a lock.
 * pml_recording_put - free them. NULL is fine. Neither may be called in the child of a fork.
 */
PML__SHARED void *pml_recording_get(struct pml_recording *s, uint32_t whose, uint32_t part, size_t bytes);
PML__SHARED void pml_recording_put(struct pml_recording *s, void *memory);

/*
 * pml_recording_name - write the name of @region to the file, once. Later calls cost one load; the first takes a lock.
 */
PML__SHARED void pml_recording_name(struct pml_recording *s, pml_region_t region);

/* Limits of a trace; 0: no limit. Omitted calls are counted. */
struct pml_recording_limits {
  uint32_t max_depth;  /* omit calls inside that many others */
  uint32_t max_calls;  /* calls per function, in all threads */
  uint64_t min_ticks;  /* omit shorter calls without recorded calls inside */
  uint64_t last_bytes; /* keep only the latest events, within this many bytes of the file; see pml__log_keep_last() */
  const char *const *metrics; /* names of the values to keep, NULL: none */
  size_t nmetrics;
  bool all_values; /* also keep the values of events with other metrics, which the log names then */
};

/*
 * pml_recording_trace - write every enter and leave of all threads to the file, 16 bytes each (16 in total for a call
 * with no event inside), and the values of events with these metrics, until pml_recording_close(). The recorded events
 * are balanced. @limits: copied; NULL: no limits. Returns 0, -ENOMEM, or an error of pml_stream_add().
 *
 * Cost of an event: no lock, no allocation, general registers only; for each 4000 events of a thread three system
 * calls, one of which writes them. Memory: 64 KiB of the file mapped per thread, 16 bytes per open call, 4 MiB of
 * address space for marks.
 */
PML__SHARED int pml_recording_trace(struct pml_recording *s, const struct pml_recording_limits *limits);

/*
 * pml_recording_sum - from now on, sum in the file how much each function's calls add to the values of events with
 * these metrics, excluding nested calls. Call it before pml_recording_trace() if that records the same values. Ends
 * with pml_recording_close(). Returns 0, -EINVAL, -ENOMEM, or an error of pml_stream_add(). Memory per thread: 16 bytes
 * per open call and value; 64 and 8 bytes per function and value.
 */
PML__SHARED int pml_recording_sum(struct pml_recording *s, const char *const *names, size_t n);

/*
 * pml_recording_keep_values - allow adding values of calls. @in_trace: also write them to the trace that
 * pml_recording_trace() has begun. Returns 0.
 * pml_recording_add_values - add arguments, or results (@results), of a call of @region: count, sum, minimum and
 * maximum of each value are recorded. The first call of a function names its values. A NaN is only added to the sum. In
 * the trace the values belong to the calling thread's innermost call: arguments follow its enter, results precede its
 * leave. The trace omits the values of omitted calls.
 *
 * Cost: four to five atomic operations for each value; a lock and memory of the file at a function's first call. 16 MiB
 * of address space from the first call on; some 600 bytes of the file per function and value; in the trace 16 bytes and
 * 8 for each value (an even number of them). Thread-safe; async-signal-safe after the function's first call.
 */
#define PML_RECORDING_VALUES_MAX 32u
struct pml_recording_value {
  const char *name; /* cut at 255 bytes */
  bool real;        /* @bits are a double's, else an int64_t's */
  uint64_t bits;
};
PML__SHARED int pml_recording_keep_values(struct pml_recording *s, bool in_trace);
PML__SHARED void pml_recording_add_values(struct pml_recording *s, pml_region_t region, bool results,
                                          const struct pml_recording_value *v, uint32_t n);

PML_END_DECLS

#endif
