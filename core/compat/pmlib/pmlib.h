/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/compat/pmlib/pmlib.h - declarations shared by PMlib's C++, C and Fortran interfaces.
 *
 *   environment  PMlib's variables
 *   state        initialize, start, stop, reset; properties of sections, OpenMP's numbers of threads
 *   collect      the figures of this process, then of all ranks
 *   mpi          MPI, looked up in the running program
 *   report       text
 *   trace        an OTF2 archive of the sections
 *
 * Unlike the rest of the core this part writes text, as programs expect of PMlib: reports to the file that the program
 * names, warnings to standard error.
 */
#ifndef PML_COMPAT_PMLIB_H
#define PML_COMPAT_PMLIB_H

#include "adapter/section/pml_section.h"
#include "interface/pmlib/pmlib_calls.h"

#include <stdio.h>

PML_BEGIN_DECLS

#define PMLIB_EVENTS_MAX 16u

enum pmlib_type { PMLIB_COMM, PMLIB_CALC };
enum pmlib_level { PMLIB_BASIC, PMLIB_DETAIL, PMLIB_FULL };
enum pmlib_tracing { PMLIB_TRACE_OFF, PMLIB_TRACE_ON, PMLIB_TRACE_FULL };

struct pmlib_chooser {
  const char *name;
  const char *prose;
};

/* A chooser's events for a PMU by its libpfm4 name, or for compiler counts ("compiler"); the last @pmu is NULL. */
struct pmlib_chooser_events {
  const char *pmu, *chooser;
  const char *events; /* separated by blanks; the least important last */
};
extern const struct pmlib_chooser_events pmlib_chooser_events[]; /* generated from lua/pmlua/groups by choosers.lua */

struct pmlib {
  enum pmlib_level level;
  enum pmlib_tracing tracing;
  bool report_asked; /* PMLIB_REPORT is set */
  const struct pmlib_chooser *chooser;
  size_t nevents;
  const char *event[PMLIB_EVENTS_MAX];
  char why_no_events[512]; /* "" if events are counted, or none were requested */
  int rank, nprocs;
  uint64_t begin_ticks, end_ticks; /* times of the background section; end is 0 while it runs */
  const char *mode;                /* set by the program, or NULL */
};
extern struct pmlib pmlib; /* constant after pmlib_initialize() except for ticks, mode, and MPI's rank and size */

/* pmlib_on - whether PMlib is enabled; initializes at the first call. Later calls cost one load. */
bool pmlib_on(void);
int pmlib_max_threads(void);

/* pmlib_warn - one line on standard error. */
void pmlib_warn(const char *fmt, ...) PML_PRINTF(1, 2);

/* pmlib_environment - read the variables into pmlib; warns of invalid values. */
void pmlib_environment(void);
extern const struct pmlib_chooser pmlib_choosers[];
extern const size_t pmlib_nchoosers;

/* --- properties of a section beyond its definition --- */

struct pmlib_figures {
  uint32_t number; /* the thread's number in OpenMP */
  uint64_t count;
  double seconds, work;
  double value[PMLIB_EVENTS_MAX];
};

/* A thread's sums at the reset of its section. */
struct pmlib_base {
  uint64_t thread;
  struct pmlib_figures was;
};

struct pmlib_known {
  const struct pml_section *section;
  enum pmlib_type type;
  bool exclusive;
  size_t nbases;
  struct pmlib_base *base;
  struct pmlib_known *next;
};
/* pmlib_known_of - NULL if the program set no properties; the caller holds pmlib_lock. */
struct pmlib_known *pmlib_known_of(const struct pml_section *s);
void pmlib_know(const struct pml_section *s, enum pmlib_type type, bool exclusive);
void pmlib_forget_bases(void);
/* pmlib_number_of - the thread's OpenMP number when it first started a section; the caller holds pmlib_lock. */
uint32_t pmlib_number_of(uint64_t thread);
void pmlib_number_thread(void); /* the calling thread, once */
void pmlib_lock(void);
void pmlib_unlock(void);

/* --- figures --- */

struct pmlib_section {
  char *label;
  enum pmlib_type type;
  bool inclusive, parallel;
  uint64_t misuse[PML_SECTION_MISUSES];
  uint32_t nthreads;
  struct pmlib_figures *thread; /* [nthreads] by number */
};

struct pmlib_process {
  char host[64];
  double seconds; /* since pmlib_initialize() */
  uint32_t nthreads;
  uint32_t nsections;
  struct pmlib_section *section;
};

/* The sections of all processes, merged by label. */
struct pmlib_merged {
  const char *label;
  enum pmlib_type type;
  bool inclusive, parallel;
  const struct pmlib_section **of; /* [nprocs], NULL: not in this process */
  struct pmlib_figures mean, deviation;
  uint64_t calls; /* sum over all processes */
};

struct pmlib_run {
  uint32_t nprocs;
  struct pmlib_process *process;
  size_t nsections;
  struct pmlib_merged *section;
  double seconds; /* mean */
  bool alone;     /* there were other ranks, but MPI was not initialised */
};

/*
 * pmlib_figures_of - of a process: calls and time of the thread with the longest time, work and events of all threads.
 */
struct pmlib_figures pmlib_figures_of(const struct pmlib_section *s);

/*
 * pmlib_here - the figures of this process. pmlib_collect - of all ranks, on rank 0; collective. Both replace what
 * pmlib_last() gives, or NULL (rank > 0, no memory). Not thread-safe.
 */
void pmlib_collect(bool collective);
const struct pmlib_run *pmlib_last(void);

bool pmlib_take(struct pmlib_process *p); /* take the figures of this process now */
void pmlib_free_process(struct pmlib_process *p);

/* --- MPI --- */

/* pmlib_mpi - whether MPI is initialised; sets rank and size. Checked at every call. */
bool pmlib_mpi(int *rank, int *size);
/* pmlib_mpi_gather - on rank 0 *all gets the bytes of all ranks, @size[nprocs] their sizes, both malloc'd. Returns 0,
 * -ENOMEM or -EIO. */
int pmlib_mpi_gather(const char *mine, size_t n, char **all, uint64_t **size);
/* pmlib_mpi_group_size - -1 without MPI. _of_fortran: the C handle of a Fortran handle. */
int pmlib_mpi_group_size(uintptr_t group);
uintptr_t pmlib_mpi_group_of_fortran(int group);

/* --- text --- */

/* pmlib_printed - whether the program has printed a report or a part of it. */
bool pmlib_printed(void);

/* pmlib_speed - work per second in a suitable unit: Mflops to Pflops, MB/sec to PB/sec. */
double pmlib_speed(double per_second, enum pmlib_type type, const char **unit);

/* Print collected data on rank 0: the report that PMLIB_REPORT selects, and its parts. */
void pmlib_text_report(FILE *fp, const struct pmlib_run *run);
void pmlib_text_legend(FILE *fp);
void pmlib_text_basic(FILE *fp, const struct pmlib_run *run, const char *host, const char *comment, bool as_defined);
void pmlib_text_ranks(FILE *fp, const struct pmlib_run *run, const int *ranks, int n, bool as_defined);
void pmlib_text_threads(FILE *fp, const struct pmlib_run *run, int rank, bool as_defined);
/* pmlib_order - indices of the called sections, [run->nsections]; returns their number. */
size_t pmlib_order(const struct pmlib_run *run, bool as_defined, size_t *order);
const char *pmlib_mark(const struct pmlib_merged *s);

/* --- tracing --- */

void pmlib_trace_open(void);
/* pmlib_trace_work - add @work of the calling thread. */
void pmlib_trace_work(const struct pml_section *s, double work);

PML_END_DECLS

#endif
