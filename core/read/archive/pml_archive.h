/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/read/archive/pml_archive.h - an OTF2 archive of the events in several processes' logs.
 *
 * A process is a location group, each of its threads a location, each host a node. MPI ranks come first, in order, as
 * "MPI Rank N"; other processes are "PROGRAM (PID)" in the order of their starts, followed by children that made no
 * call and have no log. Regions, metrics and communicators of the same name are defined once.
 *
 * Times are ns since the first process began. Processes of a host share a clock. If ranks of several hosts measured
 * their clock offsets, times are converted to rank 0's clock. Then each host's times are shifted over time
 * (pml_archive_skew.h) and single receives are delayed, as far as messages would otherwise arrive before they were
 * sent.
 */
#ifndef PML_ARCHIVE_H
#define PML_ARCHIVE_H

#include "base/pml_api.h"

#include <stddef.h>
#include <stdint.h>

PML_BEGIN_DECLS

/* A log with recorded calls, and other logs whose plugin series are added to its own. */
struct pml_archive_log {
  const char *path;
  const char *const *series; /* [nseries] */
  size_t nseries;
};

/* The waiting times of an MPI rank, as defined in pml_archive_private.h. */
struct pml_archive_wait {
  uint64_t late_sender_ns, collective_ns;
};

struct pml_archive_story {
  uint32_t processes, ranks;
  uint32_t missing;              /* ranks without a log */
  uint32_t jobs;                 /* MPI jobs of these ranks */
  uint64_t events, open;         /* @open: calls that did not return */
  uint64_t messages;             /* messages with both ends */
  uint64_t unmatched;            /* sent and not received, or received and not sent */
  uint64_t elsewhere;            /* sent to or received from ranks of another job, which are not matched */
  uint64_t early;                /* received before they were sent, by the measured clocks */
  uint64_t still_early;          /* the same, by the archive's times */
  struct pml_archive_wait *wait; /* [ranks + missing], to be freed with free(); NULL without ranks */
};

/*
 * pml_archive_write - write the archive @dir/traces.otf2 of @n logs; the folder must exist. @story: receives a summary.
 * @progress: called repeatedly with the bytes read so far and in total; a value other than 0 stops the work and is
 * returned. NULL: no reports. Calls without an end get the end of their thread's events. Processes may write to the
 * logs meanwhile. No log is trusted: contradictory records are omitted. An existing archive is left alone, unless a
 * killed writer left it unfinished. The file @dir/.making-traces exists meanwhile. After a failure no archive exists.
 * Memory: 50 bytes for each message and collective operation of one process, and for each whose other side is not read;
 * names, communicators and a few hundred bytes for each thread; the events of one process at a time use buffers of 4
 * MiB for each of its threads; 16 bytes for each message of one process, and for each message sent and not received
 * yet. Returns 0, -errno or PML_EFORMAT of a log, -EBUSY (another process makes this archive), an error of
 * pml_otf2_open() or pml_otf2_close(), or the value of @progress. Thread-safe for different folders.
 */
PML__SHARED int pml_archive_write(const char *dir, const struct pml_archive_log *log, size_t n,
                                  int (*progress)(uint64_t done, uint64_t all, void *arg), void *arg,
                                  struct pml_archive_story *story);

PML_END_DECLS

#endif
