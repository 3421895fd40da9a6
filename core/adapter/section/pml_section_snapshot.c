/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/section/pml_section_snapshot.c - log of the current state of all sections, in memory or a file. */
#include "adapter/section/pml_section_snapshot.h"
#include "adapter/section/pml_section_file.h"
#include "adapter/section/pml_section_private.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "base/pml_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- statistics, under the lock ---- */

static bool any_counted(uint32_t first, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    if (pml__section_at(first + i)->list != NULL) return true;
  return false;
}

static int copy_block(struct pml__log *log, struct pml__section_thread *t, uint32_t first, uint32_t n) {
  const size_t of_values = PML_SECTION_EVENTS_MAX * sizeof(uint64_t);
  struct pml__log_entry *entry;
  struct pml__section_stat *sums =
      pml__log_extent(log, PML__LOG_SECTION_SUMS, first, t->thread, n * sizeof *sums, 0, &entry);
  bool counted = any_counted(first, n);
  uint64_t *values =
      counted ? pml__log_extent(log, PML__LOG_SECTION_VALUES, first, t->thread, n * of_values, 0, &entry) : NULL;
  if (sums == NULL || (counted && values == NULL)) return -ENOMEM;
  int err = 0;
  for (uint32_t i = 0; i < n && err == 0; i++, values += counted ? PML_SECTION_EVENTS_MAX : 0)
    err = pml__section_copy(pml__section_at(first + i), pml__section_stat_at(t, first + i), &sums[i], values);
  return err;
}

static int copy_thread(struct pml__log *log, struct pml__section_thread *t) {
  uint32_t n = pml__section_count() < t->nstats ? pml__section_count() : t->nstats;
  int err = 0;
  for (uint32_t i = 0; i < n && err == 0; i += PML__SECTION_BLOCK)
    if (pml__section_stat_at(t, i) != NULL)
      err = copy_block(log, t, i, n - i < PML__SECTION_BLOCK ? n - i : PML__SECTION_BLOCK);
  return err;
}

static int copy_threads(struct pml__log *log) {
  int err = 0;
  pml__section_lock_take();
  pml__log_epoch(log, pml__section_epoch());
  for (struct pml__section_thread *t = pml__section_threads(); t != NULL && err == 0; t = t->next)
    err = copy_thread(log, t);
  pml__section_lock_leave();
  return err;
}

/* ---- the log ---- */

static void define_section(struct pml__log *log, const struct pml_section *s) {
  struct pml__log_quantiles q = {.index = s->index};
  pml__section_log_section(log, s);
  if (!pml__section_quantiles(s, q.ns)) return;
  pml__section_log_sketch(log, s);
  (void)pml__log_define(log, PML__LOG_QUANTILES, &q, sizeof q, NULL, 0);
}

static void add_notes(struct pml__log *log) {
  char text[PML__SECTION_NOTE_BYTES];
  for (unsigned i = 0; i < PML__SECTION_NOTES; i++) {
    const char *const note[2] = {pml__section_note((enum pml__section_note)i, text), text};
    if (note[0] != NULL) (void)pml__log_define(log, PML__LOG_NOTE, NULL, 0, note, 2);
  }
}

static int fill(struct pml__log *log, bool timeline) {
  pml__section_settle();
  int err = copy_threads(log);
  for (uint32_t i = 0; i < pml__section_count(); i++) define_section(log, pml__section_at(i));
  add_notes(log);
  if (err == 0 && timeline) err = pml__section_timeline_copy(log);
  if (err == 0 && log->head->refused > 0) err = -log->head->refused;
  log->head->ended_ns = pml_clock_realtime_ns();
  log->head->ended = PML__LOG_SNAPSHOT;
  return err;
}

static int make(bool timeline, char **bytes, size_t *n) {
  const struct pml__log_origin *o = pml__log_origin();
  bool first = getpid() == o->pid;
  const struct pml__log_process p = {.rank = first ? (int)o->rank : -1,
                                     .size = (int)o->size,
                                     .started_ns = o->started_ns,
                                     .started_ticks = o->zero_ticks};
  struct pml__log *log;
  int err = pml__log_open(&log, NULL, &p);
  if (err < 0) return err;
  err = fill(log, timeline);
  *n = log->end;
  if (err == 0 && (*bytes = malloc(*n)) == NULL) err = -ENOMEM;
  if (err == 0) {
    ssize_t got = pml__file_read(log->file.fd, *bytes, *n, 0);
    err = got < 0 ? (int)got : (size_t)got < *n ? -EIO : 0;
  }
  pml__log_close(log);
  return err;
}

int pml__section_snapshot(bool timeline, char **bytes, size_t *n) {
  *bytes = NULL;
  int err = pml__section_prepare_file();
  if (err < 0) return err;
  err = make(timeline, bytes, n);
  if (err == 0) return 0;
  free(*bytes);
  *bytes = NULL;
  return pml_fail(err, err == -EAGAIN ? "a thread spent a second inside the stop of a section; try again"
                                      : "no memory for a copy of the sections");
}

/* ---- a file ---- */

int pml_section_write(const char *path) {
  char *bytes;
  size_t n;
  struct pml_file f;
  if (path == NULL || *path == '\0') return pml_fail(-EINVAL, "a section file needs a path");
  int err = pml__section_snapshot(true, &bytes, &n);
  if (err < 0) return err;
  err = pml_file_output(&f, path);
  if (err == 0) {
    err = pml__file_write(f.fd, bytes, n);
    if (err == 0) err = pml_file_commit(&f);
    pml_file_discard(&f);
    if (err < 0) (void)pml_fail(err, "%.400s: %s", path, pml_error_text(err));
  }
  free(bytes);
  return err;
}
