/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/substrate/trace/pml_otf2.h - traces: enter, leave and metric records per thread, written as an OTF2 archive.
 *
 * The hot path appends to a ring that the calling thread alone writes; libotf2 is called only from pml_otf2_flush() and
 * pml_otf2_close(), by whichever thread does that.
 *
 * An archive is of the process that opened it. In a forked child what takes a lock returns PML_EMODE, or no stats, and
 * frees nothing; what the child records on a location is in no file.
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
  bool is_signed;   /* or an int64's; else a uint64's */
};

/*
 * pml_otf2_open - an archive in folder @dir, which must exist; its anchor file is @dir/traces.otf2.
 * @metrics: [nmetrics]; may be 0. They are one metric class, but for absolute ones: each of these is a class of its
 * own, and has no record where its value is absent (pml_value.h).
 * @buffer_records: capacity of each location's ring, 0 for the default (65536); rounded up to a power of two. A record
 * of nmetrics values takes 1 + (nmetrics + 1) / 2 of it. Memory: 24 bytes each, and 4 MiB per location inside libotf2.
 * Returns 0, -EINVAL (no folder, above 255 metrics, a metric without a name), -EEXIST (there is a trace already),
 * -ENOENT, -EACCES, -EROFS, -ENOSPC, PML_EOTF2, -ENOMEM; *@a is NULL on failure. From the first open on libotf2 prints
 * nothing in this process: its error callback is ours.
 */
PML_API int pml_otf2_open(struct pml_otf2 **a, const char *dir, const struct pml_otf2_metric *metrics, size_t nmetrics,
                          size_t buffer_records);

/*
 * pml_otf2_foreign - the events are those of @process, another one than this, and the times of all records ns since
 * @realtime_ns of CLOCK_REALTIME (0: not known), not ticks. To be called before the first location. 0 or -ENOMEM.
 */
PML__SHARED int pml_otf2_foreign(struct pml_otf2 *a, const char *process, uint64_t realtime_ns);

/*
 * pml_otf2_location_in - as pml_otf2_location(), of the process with this name, which is made at its first location.
 * The first of all takes the place of pml_otf2_foreign()'s. Only of foreign archives.
 */
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
 * Ticks of a location must not go back: an earlier one is lifted to the last and counted. A leave without its enter is
 * refused and counted, and so is one of a region that is not the innermost. When the ring is full, whole enter/leave
 * pairs are dropped and counted, so that what is kept stays balanced; the same happens to regions nested deeper than
 * the ring has records. Each returns 0 or PML_EFULL (dropped) / -EINVAL (refused; also a region that was never
 * interned, or values in an archive without metrics). No lock, no allocation, no syscall; async-signal-safe as long as
 * the signal handler does not interrupt a record of the same location. Cost: about 35 instructions an enter, 25 a
 * leave, 47 and 5 per value a metric record.
 */
PML_API int pml_otf2_enter(struct pml_otf2_location *loc, uint64_t ticks, pml_region_t region);
PML_API int pml_otf2_leave(struct pml_otf2_location *loc, uint64_t ticks, pml_region_t region);
PML_API int pml_otf2_metric(struct pml_otf2_location *loc, uint64_t ticks, const uint64_t *values);

/*
 * pml_otf2_series - a location of its own, @place, of kind "metric", with the values of one metric: [n] pairs in the
 * order of time. They are handed to libotf2 at once. A lock; -EINVAL (times go back), -ENOMEM, or what libotf2 says.
 */
struct pml_plugin_pair;
PML_API int pml_otf2_series(struct pml_otf2 *a, const struct pml_otf2_metric *metric, const char *place,
                            const struct pml_plugin_pair *pair, size_t n);

/*
 * pml_otf2_plugin - all series that @p has by now, of what it measured at @since_ticks or later, each as
 * pml_otf2_series(); *@written values. PML_EMODE: a plugin without series. What is written twice is there twice.
 */
struct pml_plugin;
PML_API int pml_otf2_plugin(struct pml_otf2 *a, struct pml_plugin *p, uint64_t since_ticks, size_t *written);

/*
 * pml_otf2_series_file - all series that plugins left in the log @path of a recorded process, each as
 * pml_otf2_series(). Returns also what pml_plugin_load_series() returns.
 */
PML_API int pml_otf2_series_file(struct pml_otf2 *a, const char *path);

/*
 * pml_otf2_flush - hand what is recorded to libotf2; any thread, while others record. A lock among flushers.
 * Once libotf2 has failed, as on a full disk, every flush returns that failure and what it takes from the rings is lost
 * and counted as dropped; recording itself goes on undisturbed.
 */
PML_API int pml_otf2_flush(struct pml_otf2 *a);

/*
 * pml_otf2_flush_every - from now on a thread of the archive's own flushes it every @ns, at least 100 us: no thread
 * that records spends the time of a flush, some 200 ns a record and a write of 4 MiB now and then. What is recorded
 * faster than it is flushed still fills the rings: a ring should hold some periods. 0 ends the thread, as
 * pml_otf2_close() does. One caller at a time. Returns 0, -ENOMEM or -EAGAIN (no thread can be started), PML_EMODE in a
 * child.
 */
PML_API int pml_otf2_flush_every(struct pml_otf2 *a, uint64_t ns);

struct pml_otf2_stats {
  uint64_t written;   /* records handed to libotf2 */
  uint64_t dropped;   /* records dropped because a ring was full, or libotf2 had failed */
  uint64_t lifted;    /* records whose time went back */
  uint64_t unmatched; /* leaves without enter (refused), and enters left open at close (closed there) */
};

/* pml_otf2_stats - how many records were written and lost so far. Thread-safe. */
PML_API void pml_otf2_stats(struct pml_otf2 *a, struct pml_otf2_stats *s);

/*
 * pml_otf2_close - flush, close every region still open, write all definitions, free everything; NULL is fine.
 * What a location lacks is said in the trace, as its properties PMLUA::DROPPED, PMLUA::LIFTED and PMLUA::UNMATCHED.
 * No thread may record any more. Returns 0 or the first error (what could be written is on disk all the same).
 */
PML_API int pml_otf2_close(struct pml_otf2 *a);

PML_END_DECLS

#endif
