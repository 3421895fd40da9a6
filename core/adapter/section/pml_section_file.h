/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/section/pml_section_file.h - logs with the sections of a process, for `pmlua report`.
 *
 * With PMLUA_REPORT=DIR in the environment, every process that uses sections writes a log (docs/log.md):
 * DIR/HOST.PID.pmlog, or DIR/rankN.HOST.PID.pmlog if a launcher gave the process rank N (base/pml_launched.c). Existing
 * files are not overwritten: an exec'ed program writes HOST.PID.2.pmlog. DIR is made if it is missing. A forked child
 * writes a separate log, without its parent's rank. The first pml_section_define() reads the environment, and fails if
 * DIR is not writable; the first start of a section makes the log.
 *
 * The log contains every stop, however the process ends (SIGKILL, _exit, exec, a crash): sections that were not stopped
 * are marked as under way; durations and the timeline are complete. Only exit adds sketches of durations. If the disk
 * is full, the log records that, and lacks what came later.
 */
#ifndef PML_SECTION_FILE_H
#define PML_SECTION_FILE_H

#include "adapter/section/pml_section.h"

PML_BEGIN_DECLS

/*
 * pml_section_write - write a log with the current state of all sections and the timeline to the file @path, which is
 * replaced atomically and not synced to the disk; a device or a pipe is written to. Returns 0, or what
 * pml_section_report() or the file system returns. Thread-safe, if threads write different files.
 */
PML_API int pml_section_write(const char *path);

#define PML_SECTION_TIMELINE_EVENTS 20000u /* per thread, with PMLUA_REPORT_TIMELINE=on */
#define PML_SECTION_TIMELINE_EVENTS_MAX (UINT32_C(1) << 24)
#define PML_SECTION_TIMELINE_THREADS_MAX 256u

/*
 * pml_section_timeline - from now on record the first @events enters and leaves of each thread in the log; earlier ones
 * are dropped. 0: stop recording, and retain the recorded events. PMLUA_REPORT_TIMELINE=on, or a number of events,
 * begins it with the first definition. A thread's first event takes room for all of them.
 *
 * It also contains the regions of other adapters that emit to pml_stream. Events that do not fit are counted: events
 * beyond @events of a thread, threads beyond PML_SECTION_TIMELINE_THREADS_MAX. Memory: 16 bytes per event, touched when
 * used. Cost of an event: the stream's and some 15 instructions. A forked child has no timeline until it calls this.
 * Returns 0, -EINVAL (too many events), or what pml_stream_add() or pml_stream_remove() returns.
 */
PML_API int pml_section_timeline(uint32_t events);

PML_END_DECLS

#endif
