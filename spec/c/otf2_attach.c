/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/otf2_attach.c - sections on several threads in a trace: all of them, nested, with their events' values.
 *
 * `otf2_attach DIR` leaves the archive in DIR for the validator.
 */
#include "adapter/section/pml_section.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "base/pml_region.h"
#include "base/pml_stream.h"
#include "read/archive/pml_archive.h"
#include "read/otf2/write/pml_otf2.h"
#include "source/sde/pml_sde.h"

#include "check.h"
#include "folder.h"

#include <glob.h>
#include <linux/limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { THREADS = 4, CALLS = 500 };

static struct pml_section *outer, *inner, *counted, *others;
static int64_t count;

static void *work(void *arg) {
  for (int i = 0; i < CALLS; i++) {
    pml_section_start(outer);
    pml_section_start(inner);
    pml_section_stop(outer); /* crossing: in the trace it must be nested all the same */
    pml_section_stop(inner);
  }
  return arg;
}

static bool define_all(void) {
  static const char *const names[] = {"sde:::TRACED::N", "clock::ns"}, *const other[] = {"clock::ns"};
  struct pml_sde_library *lib;
  struct pml_section_options o = {.events = names, .nevents = 2}, x = {.events = other, .nevents = 1};
  return pml_sde_library(&lib, "TRACED") == 0 && pml_sde_register(lib, "N", PML_SDE_RO, PML_TYPE_INT64, &count) == 0 &&
         pml_section_define("outer", NULL, &outer) == 0 && pml_section_define("inner", NULL, &inner) == 0 &&
         pml_section_define("counted", &o, &counted) == 0 && pml_section_define("others", &x, &others) == 0;
}

static void raise_alone(void) {
  static const char *const names[] = {"alone:n", "alone:x", "alone:text"};
  struct pml_stream_metrics *m;
  struct pml_stream_event e = {0};
  const double x = 2.5;
  uint64_t values[3] = {(uint64_t)-3, 0, 77};
  memcpy(&values[1], &x, sizeof x);
  if (pml_stream_metrics(names, 3, &m) < 0 || pml_region_intern("alone", "liba.so", 0, &e.region) < 0) return;
  pml_stream_metrics_set_real(m, 1);
  pml_stream_metrics_set_single(m, 0);
  pml_stream_metrics_set_single(m, 1);
  e.ticks = pml_clock_ticks();
  e.metrics = m;
  e.values = values;
  pml_stream_emit(PML_STREAM_ENTER, &e);
  e.ticks = pml_clock_ticks();
  e.metrics = NULL;
  pml_stream_emit(PML_STREAM_LEAVE, &e);
}

/* How many lines of the trace have it; -1: it cannot be read here. */
static int lines_with(const char *dir, const char *pattern) {
  char command[400];
  int n = -1;
  snprintf(command, sizeof command, "command -v otf2-print >/dev/null && otf2-print %s/traces.otf2 | grep -c '%s'", dir,
           pattern);
  FILE *p = popen(command, "r");
  if (p != NULL && fscanf(p, "%d", &n) != 1) n = -1;
  if (p != NULL) pclose(p);
  return n;
}

static void trace(const char *dir) {
  static const struct pml_otf2_metric metric[] = {
      {"sde:::TRACED::N", NULL, "#", PML_OTF2_ACCUMULATED, 0, false, false, false},
      {"clock::ns", NULL, "ns", PML_OTF2_ACCUMULATED, 0, false, false, false}};
  struct pml_otf2 *a;
  uint64_t unrecorded;
  struct pml_otf2_stats st;
  CHECK(define_all() && pml_otf2_open(&a, dir, metric, 2) == 0 && pml_otf2_attach(a) == 0 && pml_otf2_attach(a) == 0,
        "a trace records all threads: %s", pml_error_detail(0));
  in_threads(THREADS, work, NULL, 0);
  for (int i = 0; i < 3; i++) {
    pml_section_start(counted);
    count += 10;
    pml_section_stop(counted);
  }
  pml_section_start(others);
  pml_section_stop(others);
  for (int i = 0; i < 5; i++) raise_alone();
  CHECK(pml_otf2_detach(a, &unrecorded) == 0 && unrecorded == 2, "values that the trace has no place for are counted");
  pml_section_start(outer);
  pml_section_stop(outer);
  CHECK(pml_otf2_detach(a, &unrecorded) == 0 && unrecorded == 0, "what is detached can be detached");
  pml_otf2_stats(a, &st);
  /* A crossing call: 2 enters, 2 leaves, and the inner one's leave and enter again. */
  uint64_t records = (uint64_t)THREADS * CALLS * 6 + 3 * 4 + 2 + 5 * (2 + 2);
  CHECK(st.written == records && st.dropped == 0 && st.unmatched == 0 && st.lifted == 0,
        "every start and stop is recorded until it is detached, and nothing else (%llu of %llu)",
        (unsigned long long)st.written, (unsigned long long)records);
  CHECK(pml_otf2_close(a) == 0, "the trace is closed");
  int n = lines_with(dir, "^METRIC.*alone:n.*-3");
  if (n < 0)
    SKIP("otf2-print is not installed");
  else
    CHECK(n == 5 && lines_with(dir, "^METRIC.*alone:x.*2.5") == 5 && lines_with(dir, "alone:text") == 0,
          "numbers of one event alone are separate metrics, texts are not");
}

/* A killed process leaves its log, of which an archive can be made. */
static void killed(void) {
  char dir[] = "/tmp/pmlua-otf2-left-XXXXXX", path[PATH_MAX] = "";
  struct pml_archive_story story = {0};
  struct pml_otf2 *a;
  glob_t logs = {0};
  if (mkdtemp(dir) == NULL) return;
  pid_t child = fork();
  if (child == 0) {
    if (pml_otf2_open(&a, dir, NULL, 0) < 0 || pml_otf2_attach(a) < 0) _exit(1);
    work(NULL);
    raise_alone();
    kill(getpid(), SIGKILL);
  }
  (void)waitpid(child, NULL, 0);
  snprintf(path, sizeof path, "%s/*.%d.pmlog", dir, (int)child);
  CHECK(glob(path, 0, NULL, &logs) == 0, "a killed process leaves its log");
  const struct pml_archive_log log = {.path = logs.gl_pathc > 0 ? logs.gl_pathv[0] : ""};
  snprintf(path, sizeof path, "%s/left", dir);
  int err = mkdir(path, 0777) < 0 ? -errno : pml_archive_write(path, &log, 1, NULL, NULL, &story);
  CHECK(err == 0 && story.events == CALLS * 6 + 4, "and all its events are in an archive of it (%llu): %s",
        (unsigned long long)story.events, pml_error_detail(err));
  int n = lines_with(path, "^METRIC.*alone:x.*2.5");
  CHECK(n == 1 || n < 0, "with values that are of one event");
  globfree(&logs);
  folder_remove(dir);
}

int main(int argc, char **argv) {
  char dir[] = "/tmp/pmlua-otf2-stream-XXXXXX";
  if (argc == 2) {
    trace(argv[1]);
    return check_done();
  }
  if (mkdtemp(dir) == NULL) return 1;
  trace(dir);
  killed();
  CHECK(folder_remove(dir), "and was where it should be");
  return check_done();
}
