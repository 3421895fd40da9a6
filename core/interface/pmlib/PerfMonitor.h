/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/interface/pmlib/PerfMonitor.h - the class of PMlib 9, on pmlua's sections.
 *
 * A program that calls PMlib compiles unchanged against this header and links -lPM (or -lPMmpi, the same library):
 *
 *   g++ -DDISABLE_MPI -I.../include/pmlua/pmlib main.cpp -L.../lib/pmlua/compat -lPM
 *   mpicxx -I.../include/pmlua/pmlib main.cpp -L.../lib/pmlua/compat -lPMmpi
 *
 * Sections belong to the process: every PerfMonitor object, also one per OpenMP thread, and the C and Fortran calls
 * work on the same ones, which are pmlua's own (adapter/section/pml_section.h).
 *
 * MPI: the library is not linked against MPI. It looks up MPI's functions in the running program, and supports the two
 * families of handles: Open MPI's pointers, and the integers of MPICH and its derivatives. The members are inline
 * because this header is compiled with the program's mpi.h, the library without. Without MPI, or before MPI_Init and
 * after MPI_Finalize, a process reports itself alone.
 *
 * Environment, read by initialize(): HWPC_CHOOSER (FLOPS, BANDWIDTH, VECTOR, CACHE, CYCLE, LOADSTORE; USER is the
 * default), PMLUA_CHOOSER_EVENTS (the events to count for it, separated by blanks; see pmlua events), PMLIB_REPORT
 * (BASIC, DETAIL, FULL; set and never asked for, a report is printed when the program ends), BYPASS_PMLIB (any value:
 * all calls do nothing), OTF_TRACING (off, on, full: with values), OTF_FILENAME (the folder of the OTF2 archive,
 * pmlib_otf_files by default; under MPI a folder rank-N in it for each process). A value that means nothing is named
 * once on standard error and the default taken.
 */
#ifndef PML_COMPAT_PERFMONITOR_H
#define PML_COMPAT_PERFMONITOR_H

#include <cassert>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <string>

#include <stdint.h>
#include <string.h>
#include <sys/time.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#ifdef DISABLE_MPI
#include "mpi_stubs.h"
#else
#include <mpi.h>
#endif

#include "pmVersion.h"
#include "pmlib_calls.h"

namespace pm_lib {

/* Any number of threads may call start and stop at once; one thread at a time may call the other functions. As in
 * PMlib, all ranks must call printing functions, and rank 0 writes; printGroup() uses the data last gathered. */
class PerfMonitor {
public:
  enum Type { COMM, CALC }; /* work is bytes moved, or operations */

  /* Set by initialize(). No constructor: g++ lets only such a class be threadprivate after its definition. */
  int num_process;
  int num_threads;
  int my_rank;
  int my_thread;
  int m_nWatch; /* sections, the background one included, as of the last gather() */
  int init_nWatch;
  int reserved_nWatch;
  int level_POWER; /* 0: power is not measured */
  int num_power;

  /* Must come first, after MPI_Init. Further calls change nothing. Any number of sections has room. */
  void initialize(int n = 100) {
    struct pmlib_setting s;
    pmlib_initialize();
    m_nWatch = pmlib_tell(&s) ? 1 : 0;
    num_process = s.processes;
    num_threads = s.threads;
    my_rank = s.rank;
    my_thread = level_POWER = num_power = 0;
    init_nWatch = reserved_nWatch = n;
  }

  /* An inclusive section may contain others; it is marked (*) and left out of sums. So is a section that did contain
   * another. */
  void setProperties(const std::string &label, Type type = CALC, bool exclusive = true) {
    pmlib_properties(label.c_str(), type, exclusive);
  }

  void start(const std::string &label) {
    pmlib_start(label.c_str());
  }
  /* flopPerTask times iterationCount operations, or bytes, were done since the start. */
  void stop(const std::string &label, double flopPerTask = 0.0, unsigned iterationCount = 1) {
    pmlib_stop(label.c_str(), flopPerTask, iterationCount);
  }

  void reset(const std::string &label) {
    pmlib_reset(label.c_str());
  }
  void resetAll(void) {
    pmlib_reset_all();
  }

  /* The report that PMLIB_REPORT asks for. */
  void report(FILE *fp) {
    pmlib_report(fp);
  }
  void selectReport(FILE *fp) {
    pmlib_report(fp);
  }
  /* Its parts. op_sort: 0 by time, 1 as defined. legend: 1 to explain the symbols. */
  void print(FILE *fp, const std::string hostname, const std::string comments, int op_sort = 0) {
    pmlib_print(fp, hostname.c_str(), comments.c_str(), op_sort == 1);
  }
  void printDetail(FILE *fp, int legend = 0, int op_sort = 0) {
    pmlib_print_detail(fp, legend == 1, op_sort == 1);
  }
  void printThreads(FILE *fp, int rank_ID = 0, int op_sort = 0) {
    pmlib_print_threads(fp, rank_ID, op_sort == 1);
  }
  void printLegend(FILE *fp) {
    pmlib_print_legend(fp);
  }

  /* For the ranks in pp_ranks, as many as p_group has; group is a number to print. Not collective. */
  void printGroup(FILE *fp, MPI_Group p_group, MPI_Comm p_comm, int *pp_ranks, int group = 0, int legend = 0,
                  int op_sort = 0) {
    uintptr_t handle = 0; /* holds an integer as well as a pointer */
    std::memcpy(&handle, &p_group, sizeof p_group);
    (void)p_comm;
    pmlib_print_group(fp, handle, pp_ranks, group, legend == 1, op_sort == 1);
  }
  /* For each colour that MPI_Comm_split() was given. */
  void printComm(FILE *fp, MPI_Comm p_comm, int icolor, int key, int legend = 0, int op_sort = 0) {
    (void)p_comm;
    (void)key;
    pmlib_print_colors(fp, icolor, legend == 1, op_sort == 1);
  }

  /* Writes the trace and ends it; the end of the program does it otherwise. */
  void postTrace(void) {
    pmlib_trace_close();
  }

  /* There is no power API here: a sentence once, value is left alone. */
  void getPowerKnob(int knob, int &value) {
    (void)knob;
    (void)value;
    pmlib_no_power();
  }
  void setPowerKnob(int knob, int value) {
    (void)knob;
    (void)value;
    pmlib_no_power();
  }

  /* Steps that PMlib also makes automatically. Printing always merges threads, so mergeThreads is empty. */
  void gather(void) {
    pmlib_gather();
    m_nWatch = pmlib_sections();
  }
  void stopRoot(void) {
    pmlib_stop_root();
  }
  void countSections(int &nSections) {
    nSections = pmlib_sections();
  }
  void SerialParallelRegion(int &id, int &mid, int &inside) {
    mid = id;
    inside = pmlib_in_parallel(id);
  }
  void mergeThreads(int id) {
    (void)id;
  }
  void setParallelMode(const std::string &p_mode, const int n_thread, const int n_proc) {
    (void)n_thread;
    (void)n_proc;
    pmlib_set_mode(p_mode.c_str());
  }
  void setRankInfo(const int my_rank_ID) {
    (void)my_rank_ID;
  }
  std::string getVersionInfo(void) {
    return PM_VERSION;
  }
};

/* For programs with sections inside parallel regions; the report is the same. */
class PerfReport {
public:
  void report(FILE *fp) {
    pmlib_report(fp);
  }
};

} // namespace pm_lib

#endif
