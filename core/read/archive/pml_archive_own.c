/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/archive/pml_archive_own.c - a process's own archive (pml_otf2.h), made from its logs. */
#include "base/pml_error.h"
#include "read/archive/pml_archive_private.h"
#include "source/pml_event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Rename an event as its event set does: to NAME:u, if this user may count it in user space only. */
static int name_as_counted(struct pml_otf2_metric *m) {
  char permitted[PML_EVENT_NAME_MAX];
  if (pml_event_permitted(m->name, permitted) < 0 || strcmp(m->name, permitted) == 0) return 0;
  char *name = strdup(permitted);
  if (name == NULL) return pml_fail(-ENOMEM, "no memory for the name of a metric");
  free((char *)(uintptr_t)m->name);
  m->name = name;
  return 0;
}

static int name_all_as_counted(struct pml_otf2 *a) {
  int err = 0;
  for (size_t i = 0; i < a->own.n && err == 0; i++) err = name_as_counted(&a->own.metric[i]);
  return err;
}

/* If the archive has more metrics than an event can carry, the log names the metrics of each event. */
static int trace(const struct pml_otf2 *a, struct pml_recording *s) {
  const char *name[PML_STREAM_METRICS_MAX];
  const struct pml_recording_limits all = {
      .metrics = name, .nmetrics = a->own.n <= PML_STREAM_METRICS_MAX ? a->own.n : 0, .all_values = true};
  for (size_t i = 0; i < all.nmetrics; i++) name[i] = a->own.metric[i].name;
  return pml_recording_trace(s, &all);
}

int pml_otf2_attach(struct pml_otf2 *a) {
  struct pml_recording *s = NULL;
  int err = pml__otf2_here(a);
  if (err < 0 || a->attached != NULL) return err;
  err = name_all_as_counted(a);
  if (err == 0) err = pml__otf2_record(a, &s);
  if (err == 0 && (err = trace(a, s)) < 0) {
    (void)unlink(pml_recording_path(s));
    pml_recording_close(s);
  }
  if (err == 0) a->attached = s;
  return err;
}

/* Its events are added to the archive, by @add. */
static int end_log(struct pml_otf2 *a, struct pml_recording **s,
                   int (*add)(struct pml_otf2 *a, const char *path, uint64_t *unrecorded), uint64_t *unrecorded) {
  *unrecorded = 0;
  if (*s == NULL) return 0;
  char *path = strdup(pml_recording_path(*s));
  pml_recording_close(*s);
  *s = NULL;
  if (path == NULL) return pml_fail(-ENOMEM, "no memory for the log of a trace");
  int err = add(a, path, unrecorded);
  if (err == 0) (void)unlink(path); /* else the events are only there */
  free(path);
  return err;
}

int pml_otf2_detach(struct pml_otf2 *a, uint64_t *unrecorded) {
  *unrecorded = 0;
  int err = pml__otf2_here(a);
  return err < 0 ? err : end_log(a, &a->attached, pml__archive_add, unrecorded);
}

static void take_counts(struct pml_otf2_location *loc, const uint64_t *count) {
  loc->dropped += count[PML__LOG_DROPPED];
  loc->lifted += count[PML__LOG_LIFTED];
  loc->unmatched += count[PML__LOG_UNMATCHED];
}

/* The event buffers are the recording's. Events without an extent are counted for the first location. */
static void end_buffers(struct pml_otf2 *a) {
  uint64_t count[PML__LOG_COUNTERS];
  if (a->recording == NULL) return;
  if (a->first != NULL) take_counts(a->first, a->recording->head->count);
  for (struct pml_otf2_location *loc = a->first; loc != NULL; loc = loc->next) {
    pml__otf2_counts(loc, count);
    take_counts(loc, count);
    loc->buffer = NULL;
    loc->recorded = 0;
  }
}

int pml_otf2_close(struct pml_otf2 *a) {
  uint64_t unrecorded;
  if (a == NULL) return 0;
  int err = pml__otf2_here(a);
  if (err < 0) return err;
  err = pml_otf2_detach(a, &unrecorded);
  end_buffers(a);
  int added = end_log(a, &a->recording, pml__archive_add_locations, &unrecorded);
  int ended = pml__otf2_end(a);
  return err != 0 ? err : added != 0 ? added : ended;
}
