/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/read/otf2/write/pml_otf2.h - traces: enter, leave and metric records per thread, written as an OTF2 archive.
 *
 * Events are recorded in a log in the archive's folder (docs/log.md), so they survive however the process ends.
 * pml_otf2_close() writes them to the archive and removes the log; libotf2 is called only by the thread that opens,
 * closes or detaches an archive, or adds locations and series.
 *
 * An archive belongs to the process that opened it. In a forked child functions that take a lock return PML_EMODE, or
 * no stats, and free nothing; a location refuses the child's events.
 */
#ifndef PML_OTF2_H
#define PML_OTF2_H

#include "base/pml_region.h"
#include "source/pml_eventset.h"

PML_BEGIN_DECLS

struct pml_otf2;          /* an archive */
struct pml_otf2_location; /* one thread in it */

/* The two most usual modes: since the start, and at the moment. */
#define PML_OTF2_ACCUMULATED PML_MODE_ACCUMULATED_START
#define PML_OTF2_ABSOLUTE PML_MODE_ABSOLUTE_POINT

struct pml_otf2_metric {
  const char *name;
  const char *description;
  const char *unit;
  enum pml_mode mode;
  int64_t exponent; /* value * 10^exponent unit */
  bool binary;      /* value * 2^exponent unit */
  bool real;        /* the values' bits are doubles' */
  bool is_signed;   /* the values are signed, otherwise unsigned */
};

/*
 * pml_otf2_open - an archive in folder @dir, which must exist; its anchor file is @dir/traces.otf2.
 * @metrics: [nmetrics]; may be 0. They form one metric class, except absolute metrics: each of these is a separate
 * class, and has no record where its value is absent (pml_value.h).
 *  * already), -ENOENT, -EACCES, -EROFS, -ENOSPC, PML_EOTF2, -ENOMEM; *@a is NULL on failure. The first open replaces
 * libotf2's error callback, so that libotf2 prints no errors in this process.
 */
PML_API int pml_otf2_open(struct pml_otf2 **a, const char *dir, const struct pml_otf2_metric *metrics, size_t nmetrics);

/*
 * pml_otf2_foreign - mark the events as recorded by another process, @process, with the times of all records in ns
 * since
 * @realtime_ns of CLOCK_REALTIME (0: not known), not in ticks. Call it before the first location. Returns 0 or -ENOMEM.
 */
PML__SHARED int pml_otf2_foreign(struct pml_otf2 *a, const char *process, uint64_t realtime_ns);

/* pml_otf2_location_in - like pml_otf2_location(), for the process with this name, which is created with its first
 * location. The first process replaces pml_otf2_foreign()'s. Only for foreign archives. */
PML__SHARED int pml_otf2_location_in(struct pml_otf2 *a, const char *process, const char *name,
                                     struct pml_otf2_location **loc);

/*
 * pml_otf2_location - the location of a thread, created with @name. The caller hands it to that thread; only that
 * thread may record on it. Owned by the archive. Its first event takes 64 KiB of the file. A lock; not for
 * hot paths.
 */
PML_API int pml_otf2_location(struct pml_otf2 *a, const char *name, struct pml_otf2_location **loc)
    PML_NAMESAKE(pml_otf2_location);

/*
 * pml_otf2_enter, _leave, _metric - append a record at @ticks of pml_clock.
 *
 * Ticks of a location must not decrease: an earlier tick is clamped to the last one and counted. A leave without its
 * enter, or of a region that is not the innermost, is refused and counted. If the log cannot grow, whole enter/leave
 * pairs are dropped and counted, so the recorded events stay balanced. Each returns 0 or
 * PML_EFULL (dropped) / -EINVAL (refused; also a region that was never interned, values in an archive without metrics,
 * or a child of the process). No lock, no allocation; three system calls for each 4000 events, of which one writes
 * them. Not async-signal-safe. Cost: about 35 instructions an enter, 33 a leave, 40 and 5 per value a metric record.
 */
PML_API int pml_otf2_enter(struct pml_otf2_location *loc, uint64_t ticks, pml_region_t region);
PML_API int pml_otf2_leave(struct pml_otf2_location *loc, uint64_t ticks, pml_region_t region);
PML_API int pml_otf2_metric(struct pml_otf2_location *loc, uint64_t ticks, const uint64_t *values)
    PML_NAMESAKE(pml_otf2_metric);

/*
 * pml_otf2_series - make a separate location, @place, of kind "metric", with the values of one metric: [n] pairs in the
 * order of time. They are passed to libotf2 at once. A lock; -EINVAL (times decrease), -ENOMEM, or an error of libotf2.
 */
struct pml_plugin_pair;
PML_API int pml_otf2_series(struct pml_otf2 *a, const struct pml_otf2_metric *metric, const char *place,
                            const struct pml_plugin_pair *pair, size_t n);

/*
 * pml_otf2_plugin - write all current series of @p, with values measured at @since_ticks or later, each as
 * pml_otf2_series(); *@written values. PML_EMODE: a plugin without series. A second call writes values again.
 */
struct pml_plugin;
PML_API int pml_otf2_plugin(struct pml_otf2 *a, struct pml_plugin *p, uint64_t since_ticks, size_t *written);

/* pml_otf2_series_file - write all series of plugins from the log @path of a recorded process, each like
 * pml_otf2_series(). Also returns errors of pml_plugin_load_series(). */
PML_API int pml_otf2_series_file(struct pml_otf2 *a, const char *path);

/*
 * pml_otf2_attach - record every enter and leave of all threads, and the values of events whose metrics have the names
 * of the archive's metrics, in the same order; these are the names by which events are counted here
 * (pml_event_permitted()). Each argument of a wrapped call becomes another metric.
 * The events are in a log in the archive's folder until pml_otf2_detach(), so they survive however the process ends
 * (docs/log.md). Does nothing if the archive is attached. Others may record on locations meanwhile.
 *
 * pml_otf2_detach - stop recording, add the events to the archive and remove the log. *@unrecorded: the number of
 * events whose metrics do not match the archive's; their enters and leaves are recorded. A double is recorded as the
 * nearest integer, unless the metric is real. The compiler's counts that sections add by default are omitted unless the
 * archive also names them. Values have the ticks of the enter, which they follow, or of the leave, which they precede.
 * Each thread has a location, "thread TID". Not from a consumer of the stream. The
 * statistics count these events only now.
 *
 * One caller at a time. Each returns 0, -errno or -ENOMEM, PML_EMODE in a child, or an error of pml_stream_add(), of
 * reading the log or of libotf2. Time to detach: some 200 ns an event.
 */
PML_API int pml_otf2_attach(struct pml_otf2 *a);
PML_API int pml_otf2_detach(struct pml_otf2 *a, uint64_t *unrecorded);

struct pml_otf2_stats {
  uint64_t written;   /* recorded events */
  uint64_t dropped;   /* events dropped because the log could not grow */
  uint64_t lifted;    /* events whose time went back */
  uint64_t unmatched; /* leaves without enter (refused), and enters left open at close (closed there) */
};

/* pml_otf2_stats - how many events were recorded and lost so far. Thread-safe. */
PML_API void pml_otf2_stats(struct pml_otf2 *a, struct pml_otf2_stats *s) PML_NAMESAKE(pml_otf2_stats);

/*
 * pml_otf2_close - detach, write the events of all locations with leaves of the regions still open, write all
 * definitions, and free the trace; NULL is allowed. About 200 ns per event. The properties PMLUA::DROPPED,
 * PMLUA::LIFTED and PMLUA::UNMATCHED of a location count its missing and changed events. No thread may record during
 * the call or later. Returns 0 or the first error; data written before it stays on disk.
 */
PML_API int pml_otf2_close(struct pml_otf2 *a);

PML_END_DECLS

#endif
