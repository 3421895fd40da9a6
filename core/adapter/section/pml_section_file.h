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
 * pml_section_text - all statistics, a row for each section and thread, as lines of fields with tabs in between:
 *
 *     pmlua-sections  VERSION, which is 1
 *     pid             PID
 *     rank            RANK SIZE; SIZE is -1 if it is not known. There is no such line without a rank
 *     host, command   TEXT
 *     started, written  CLOCK_REALTIME in ns, of the first definition and of now
 *     clock           NAME TICKS_PER_SECOND
 *     counted         source|final|mixed: what sde:::BYFL:: events of the sections are; only where the compiler counts
 *     uncounted       PLACES LIBRARIES: what is in none of them, by pml_count_left_out(); only if there is any
 *     permission      TEXT: why events are called NAME:u; only if some had to be opened so
 *     born            the process's start as /proc/PID/stat has it; from here to missing: only of a log
 *     ended           exit|unknown
 *     refused         TEXT: why the log did not grow; only if it did not
 *     missing         the number of extents that the log is too short for; only if there are any
 *     section         LABEL calculation|communication exclusive|inclusive none|all|sketch; what follows is about it
 *     event           NAME integer|real
 *     quantiles       of the durations in ns: 0, 25, 50, 75, 95, 99, 100 %
 *     row             THREAD RUNNING COUNT TOTAL_NS SELF_NS MIN_NS MAX_NS MEAN_NS STDDEV_NS WORK ITERATIONS
 *     values          a sum for each event, of the last row
 *     misuse          NAME COUNT TEXT, of the last row
 *     torn            the last row was being changed when it was read, or its process ended: it may lack the last call
 *     counter         NAME KIND delta|instant integer|real VALUE AS_OF; from here to recorder: only of a log, see
 *     recorder        source/sde/log/pml_sde_log.h
 *     region          ID NAME; in the timeline
 *     timeline        THREAD EVENTS DROPPED; the events that follow
 *     + or -          NS ID: enter or leave, since started
 *     unseen          threads that are not in the timeline; only if there are any
 *     end             the number of lines above
 *
 * In texts a backslash is \\, a tab \t, a line feed \n, any other control byte \xHH; other bytes are as they are.
 *
 * Returns 0 or what pml_section_report() returns. *@text ends with a 0 byte, has @length bytes before it and is freed
 * with free(); NULL on failure. Thread-safe.
 */
PML_API int pml_section_text(bool timeline, char **text, size_t *length);

/*
 * pml_section_log_text - the same of the log @path, of a process that ended or goes on.
 * Returns 0, -errno or PML_EFORMAT with a sentence that begins with @path (no log, of another version or byte order,
 * damaged), or -ENOMEM. Nothing in the file is trusted. Thread-safe.
 */
PML_API int pml_section_log_text(const char *path, char **text, size_t *length);

/*
 * pml_section_write - what pml_section_text() gives, with the timeline, into the file @path, which is replaced at once
 * or not at all: a reader sees the old one or the new one. It is not synced to the disk. Returns 0, what
 * pml_section_text() or the file system returns. Thread-safe, if threads write different files.
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
