/* SPDX-License-Identifier: BSD-3-Clause */
/* core/compat/pmlib/pmlib_trace.c - OTF_TRACING: this process's sections as an OTF2 archive. */
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "compat/pmlib/pmlib.h"
#include "read/otf2/write/pml_otf2.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct pml_otf2 *archive;            /* atomic; NULL: nothing is traced */
static struct pml_stream_metrics *workload; /* NULL: the events of the chooser are the values, or none */
static pid_t opener;

/* Load libpmlua-read into a program that traces; in libPM.a the function does not exist, because its code is linked. */
__attribute__((weak)) int pml__read_load(void);

static _Thread_local double done[2]; /* by pmlib_type */

static const char *folder(char *path, size_t n) {
  const char *name = secure_getenv("OTF_FILENAME");
  if (name == NULL || *name == '\0') name = "pmlib_otf_files";
  if (pmlib.nprocs == 1)
    (void)snprintf(path, n, "%s", name);
  else
    (void)snprintf(path, n, "%s/rank-%d", name, pmlib.rank);
  return name;
}

static int make_folder(const char *path) {
  return mkdir(path, 0777) == 0 || errno == EEXIST ? 0 : -errno;
}

static size_t describe(struct pml_otf2_metric *m) {
  static const struct pml_otf2_metric told[] = {{"bytes moved", "by sections of communication, as the program states",
                                                 "byte", PML_OTF2_ACCUMULATED, 0, false, false, false},
                                                {"operations", "of sections of calculation, as the program states",
                                                 "flop", PML_OTF2_ACCUMULATED, 0, false, false, false}};
  if (pmlib.tracing != PMLIB_TRACE_FULL) return 0;
  for (size_t i = 0; i < pmlib.nevents; i++)
    m[i] = (struct pml_otf2_metric){pmlib.event[i], "", "#", PML_OTF2_ACCUMULATED, 0, false, false, false};
  if (pmlib.nevents > 0) return pmlib.nevents;
  memcpy(m, told, sizeof told);
  const char *names[] = {told[0].name, told[1].name};
  if (pml_stream_metrics(names, 2, &workload) < 0) return 0;
  pml_stream_metrics_set_real(workload, 0);
  pml_stream_metrics_set_real(workload, 1);
  return 2;
}

void pmlib_trace_open(void) {
  char path[4096];
  struct pml_otf2_metric m[PMLIB_EVENTS_MAX];
  struct pml_otf2 *a = NULL;
  if (pmlib.tracing == PMLIB_TRACE_OFF) return;
  int err = make_folder(folder(path, sizeof path));
  if (err == 0) err = make_folder(path);
  if (err == 0 && pml__read_load != NULL) err = pml__read_load();
  if (err == 0) err = pml_otf2_open(&a, path, m, describe(m));
  if (err == 0 && (err = pml_otf2_attach(a)) < 0) (void)pml_otf2_close(a);
  if (err < 0) {
    pmlib_warn("OTF_TRACING: no trace in %.300s: %s", path, pml_error_detail(err));
    pmlib.tracing = PMLIB_TRACE_OFF;
    return;
  }
  opener = getpid();
  __atomic_store_n(&archive, a, __ATOMIC_RELEASE);
}

void pmlib_trace_close(void) {
  struct pml_otf2 *a = __atomic_exchange_n(&archive, NULL, __ATOMIC_ACQ_REL);
  if (a == NULL || getpid() != opener) return;
  struct pml_otf2_stats st;
  uint64_t unrecorded;
  int err = pml_otf2_detach(a, &unrecorded);
  pml_otf2_stats(a, &st);
  int closed = pml_otf2_close(a);
  if (err == 0) err = closed;
  if (err < 0) pmlib_warn("OTF_TRACING: the trace is incomplete: %s", pml_error_detail(err));
  if (st.dropped > 0) pmlib_warn("OTF_TRACING: %llu records lost: no room", (unsigned long long)st.dropped);
}

void pmlib_trace_work(const struct pml_section *s, double work) {
  if (workload == NULL) return;
  struct pml_section_info info;
  pml_section_describe(s, &info);
  done[info.type == PML_SECTION_CALCULATION ? PMLIB_CALC : PMLIB_COMM] += work;
  uint64_t values[2];
  memcpy(values, done, sizeof values);
  struct pml_stream_event e = {
      .ticks = pml_clock_ticks(), .region = info.region, .metrics = workload, .values = values};
  pml_stream_emit(PML_STREAM_METRIC, &e);
}
