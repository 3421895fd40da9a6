/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/section/pml_section_file.h - section files of a process, for `pmlua report`.
 *
 * With PMLUA_REPORT=DIR in the environment, the statistics of every process that uses sections are in its log
 * (docs/log.md), DIR/HOST.PID.pmlog, or DIR/rankN.HOST.PID.pmlog if a launcher gave the process
 * rank N (base/pml_launched.c), so that neither ranks nor processes share a file; one that stands there already, as an
 * earlier program's in the same process, is left alone (HOST.PID.2.pmlog). DIR is made if it is missing. A forked child
 * has a log of its own, without the rank, which is its parent's. The environment is read at the first
 * pml_section_define(), which fails if DIR cannot be written to; the log is made when the first section is started.
 *
 * Whatever ends the process, SIGKILL, _exit, exec or a crash too: every stop is in the log, and what was not stopped
 * is there as under way; durations and the timeline are there, too. Quantiles of sketches are added by exit alone.
 * Where the disk has no room for more, the log says so, and what found none is not in it.
 */
#ifndef PML_SECTION_FILE_H
#define PML_SECTION_FILE_H

#include "adapter/section/pml_section.h"

PML_BEGIN_DECLS

/*
 * pml_section_write - a log of the sections as they are now, with the timeline, into the file @path, which is replaced
 * at once or not at all: a reader sees the old one or the new one. It is not synced to the disk. A device or a pipe is
 * written to. Returns 0, what pml_section_report() or the file system returns. Thread-safe, if threads write different
 * files.
 */
PML_API int pml_section_write(const char *path);

#define PML_SECTION_TIMELINE_EVENTS 20000u /* of a thread, by PMLUA_REPORT_TIMELINE=on */
#define PML_SECTION_TIMELINE_EVENTS_MAX (UINT32_C(1) << 24)
#define PML_SECTION_TIMELINE_THREADS_MAX 256u

/*
 * pml_section_timeline - keep the first @events enters and leaves of each thread from now on, for the file; what was
 * kept before is forgotten. 0: keep no more of them, what there is stays. PMLUA_REPORT_TIMELINE=on, or a number of
 * events, begins it with the first definition. In a log, room for all of a thread's is taken at its first one.
 *
 * Regions of others that raise in pml_stream are in it too. What finds no room is counted: events beyond the first,
 * threads beyond PML_SECTION_TIMELINE_THREADS_MAX. Memory: 16 bytes an event, touched as they come. Cost of an event:
 * the stream's and some 15 instructions. A forked child keeps none, until it asks.
 * Returns 0, -EINVAL (too many events), or what pml_stream_add() or pml_stream_remove() returns.
 */
PML_API int pml_section_timeline(uint32_t events);

PML_END_DECLS

#endif
