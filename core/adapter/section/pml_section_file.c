/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/section/pml_section_file.c - section files: text, timeline, and the end of the log. */
#include "adapter/section/pml_section_file.h"
#include "adapter/section/pml_section_note.h"
#include "adapter/section/pml_section_private.h"
#include "adapter/section/pml_section_text.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "base/pml_file.h"
#include "base/pml_launched.h"
#include "base/pml_setting.h"
#include "base/text/pml_say.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COMMAND_MAX 4096

/* ---- of this process, now ---- */

struct now {
  struct pml_section_report report;
  bool timeline;
};

static void tell_process(struct pml__text *t) {
  const struct pml__log_origin *o = pml__log_origin();
  bool first = getpid() == o->pid;
  char host[256] = "", command[COMMAND_MAX], note[PML__SECTION_NOTE_BYTES];
  struct pml_clock_info clock;
  (void)gethostname(host, sizeof host - 1);
  (void)pml_clock_describe(&clock);
  pml__process_command(command, sizeof command);
  struct pml__section_process p = {
      (int)getpid(), first ? o->rank : -1,   o->size, host, command, o->started_ns, pml_clock_realtime_ns(),
      clock.name,    clock.ticks_per_second, NULL};
  pml__section_tell_process(t, &p);
  for (unsigned i = 0; i < PML__SECTION_NOTES; i++) {
    const char *key = pml__section_note((enum pml__section_note)i, note);
    if (key != NULL) pml__section_tell_note(t, key, note);
  }
}

static void tell_section(struct pml__text *t, const struct pml_section *s, const struct pml_section_info *info) {
  double ns[PML__QUANTILES];
  struct pml__section_told told = {.label = info->label,
                                   .type = info->type,
                                   .exclusive = info->exclusive,
                                   .record = info->record,
                                   .quantile = pml__section_quantiles(s, ns) ? ns : NULL};
  if (info->events != NULL) {
    told.nevents = info->events->n;
    told.event = info->events->name;
    told.real = __atomic_load_n(&info->events->real[0], __ATOMIC_RELAXED);
  }
  pml__section_tell_section(t, &told);
}

static void tell_now(struct pml__text *t, void *arg) {
  const struct now *now = arg;
  const struct pml_section *last = NULL;
  struct pml_section_info info = {.label = ""};
  tell_process(t);
  for (size_t i = 0; i < now->report.n && !t->failed; i++) {
    const struct pml_section_row *row = &now->report.row[i];
    if (row->section != last) {
      pml_section_describe(row->section, &info);
      tell_section(t, row->section, &info);
      last = row->section;
    }
    pml__section_tell_row(t, row, info.events != NULL ? info.events->n : 0);
  }
  if (now->timeline) pml__section_timeline_text(t);
}

int pml_section_text(bool timeline, char **text, size_t *length) {
  struct pml__text t;
  struct now now = {.timeline = timeline};
  *text = NULL;
  *length = 0;
  int err = pml__section_prepare_file();
  if (err == 0) err = pml_section_report(true, &now.report);
  if (err < 0) return err;
  err = pml__section_all_text(&t, tell_now, &now);
  pml_section_report_free(&now.report);
  if (err == 0) err = pml__section_hand_out(&t, text, length);
  return err < 0 ? pml_fail(err, "no memory for the text of sections") : 0;
}

/* ---- writing ---- */

static int write_all(int fd, const char *text, size_t n) {
  while (n > 0) {
    ssize_t done = write(fd, text, n);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return -errno;
    text += done;
    n -= (size_t)done;
  }
  return 0;
}

/* A device or a pipe is written to; a file in its place would be another's loss. */
static int write_into(const char *path, const char *text, size_t n) {
  int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return -errno;
  int err = write_all(fd, text, n);
  if (close(fd) != 0 && err == 0) err = -errno;
  return err;
}

static int replace(const char *path, const char *text, size_t n) {
  struct pml_file f;
  int err = pml_file_create(&f, path);
  if (err < 0) return err;
  err = write_all(f.fd, text, n);
  if (err == 0) return pml_file_commit(&f);
  pml_file_discard(&f);
  return err;
}

int pml_section_write(const char *path) {
  char *text;
  size_t n;
  struct stat st;
  if (path == NULL || *path == '\0') return pml_fail(-EINVAL, "a section file needs a path");
  int err = pml_section_text(true, &text, &n);
  if (err < 0) return err;
  bool device = stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
  err = device ? write_into(path, text, n) : replace(path, text, n);
  free(text);
  return err < 0 ? pml_fail(err, "%.400s: %s", path, pml_error_text(err)) : 0;
}

/* ---- the end ---- */

static void end_log(void) {
  pml__section_settle();
  pml__section_log_sketches();
  pml__section_log_notes();
}

/* ---- what the environment asks for ---- */

static int problem;
static char why[512];

static int read_timeline(void) {
  const char *wish = pml__setting("PMLUA_REPORT_TIMELINE");
  if (wish == NULL || *wish == '\0' || strcmp(wish, "off") == 0) return 0;
  long events =
      strcmp(wish, "on") == 0 || strcmp(wish, "1") == 0 ? (long)PML_SECTION_TIMELINE_EVENTS : pml__number_of(wish);
  if (events < 0 || events > (long)PML_SECTION_TIMELINE_EVENTS_MAX) return -EINVAL;
  return pml_section_timeline((uint32_t)events);
}

/* The handler is registered behind the log's own, so that it runs before it. */
static void prepare(void) {
  if (pml__log_prepare() < 0) return;
  if (pml__log_wanted() && atexit(end_log) != 0) problem = -ENOMEM;
  if (problem == 0) problem = read_timeline();
  if (problem < 0)
    (void)snprintf(why, sizeof why, "PMLUA_REPORT_TIMELINE=%.100s: %s; set on, off, or a number of events per thread",
                   pml__setting("PMLUA_REPORT_TIMELINE"), pml_error_text(problem));
}

int pml__section_prepare_file(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  static bool said;
  pthread_once(&once, prepare);
  int err = pml__log_prepare();
  if (err == 0 && problem < 0) err = pml_fail(problem, "%s", why);
  /* The macros' sections have no caller who looks at the failure. */
  if (err < 0 && !__atomic_exchange_n(&said, true, __ATOMIC_RELAXED)) pml__say("%s", pml_error_detail(err));
  return err;
}
