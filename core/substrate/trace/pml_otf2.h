/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/substrate/trace/pml_otf2.h - traces: enter, leave and metric records per thread, written as an OTF2 archive.
 *
 * The hot path appends to a ring that only the calling thread writes; libotf2 is called only from pml_otf2_flush() and
 * pml_otf2_close(), on the thread that calls these.
 *
 * An archive belongs to the process that opened it. In a forked child functions that take a lock return PML_EMODE, or
 * no stats, and free nothing; events that the child records on a location are in no file.
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
 * @buffer_records: capacity of each location's ring, 0 for the default (65536); rounded up to a power of two. A record
 * with nmetrics values takes 1 + (nmetrics + 1) / 2 slots of it. Memory: 24 bytes per slot, and 4 MiB per location
 * inside libotf2. Returns 0, -EINVAL (no folder, above 255 metrics, a metric without a name), -EEXIST (there is a trace
 * already), -ENOENT, -EACCES, -EROFS, -ENOSPC, PML_EOTF2, -ENOMEM; *@a is NULL on failure. The first open replaces
 * libotf2's error callback, so that libotf2 prints no errors in this process.
 */
PML_API int pml_otf2_open(struct pml_otf2 **a, const char *dir, const struct pml_otf2_metric *metrics, size_t nmetrics,
                          size_t buffer_records);

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
 * thread may record on it. Owned by the archive. A lock; not for hot paths.
 */
PML_API int pml_otf2_location(struct pml_otf2 *a, const char *name, struct pml_otf2_location **loc);

/*
 * pml_otf2_enter, _leave, _metric - append a record at @ticks of pml_clock.
 *
 * Ticks of a location must not decrease: an earlier tick is clamped to the last one and counted. A leave without its
 * enter, or of a region that is not the innermost, is refused and counted. When the ring is full, whole enter/leave
 * pairs are dropped and counted, so the recorded events stay balanced; the same happens to regions nested deeper than
 * the ring has records. Each returns 0 or PML_EFULL (dropped) / -EINVAL (refused; also a region that was never
 * interned, or values in an archive without metrics). No lock, no allocation, no syscall; async-signal-safe as long as
 * the signal handler does not interrupt a record of the same location. Cost: about 35 instructions an enter, 25 a
 * leave, 47 and 5 per value a metric record.
 */
PML_API int pml_otf2_enter(struct pml_otf2_location *loc, uint64_t ticks, pml_region_t region);
PML_API int pml_otf2_leave(struct pml_otf2_location *loc, uint64_t ticks, pml_region_t region);
PML_API int pml_otf2_metric(struct pml_otf2_location *loc, uint64_t ticks, const uint64_t *values);

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
 * pml_otf2_flush - pass the recorded events to libotf2; any thread, while others record. Flushes exclude each other by
 * a lock. Once libotf2 has failed, as on a full disk, every flush returns that failure, and the events that it takes
 * from the rings are lost and counted as dropped; recording itself continues.
 */
PML_API int pml_otf2_flush(struct pml_otf2 *a);

/*
 * pml_otf2_flush_every - start a thread that flushes the archive every @ns, at least 100 us, so that recording threads
 * do not spend the time of a flush, some 200 ns a record and a write of 4 MiB now and then. Events recorded faster than
 * they are flushed still fill the rings: a ring should have room for some periods. 0 ends the thread, as
 * pml_otf2_close() does. One caller at a time. Returns 0, -ENOMEM or -EAGAIN (no thread can be started), PML_EMODE in a
 * child.
 */
PML_API int pml_otf2_flush_every(struct pml_otf2 *a, uint64_t ns);

struct pml_otf2_stats {
  uint64_t written;   /* records passed to libotf2 */
  uint64_t dropped;   /* records dropped because a ring was full, or libotf2 had failed */
  uint64_t lifted;    /* records whose time went back */
  uint64_t unmatched; /* leaves without enter (refused), and enters left open at close (closed there) */
};

/* pml_otf2_stats - how many records were written and lost so far. Thread-safe. */
PML_API void pml_otf2_stats(struct pml_otf2 *a, struct pml_otf2_stats *s);

/*
 * pml_otf2_close - flush, close every region still open, write all definitions, free everything; NULL is fine.
 * The location's properties PMLUA::DROPPED, PMLUA::LIFTED and PMLUA::UNMATCHED in the trace count what it lacks. No
 * thread may record any more. Returns 0 or the first error (the data that could be written is still on disk).
 */
PML_API int pml_otf2_close(struct pml_otf2 *a);

PML_END_DECLS

#endif
