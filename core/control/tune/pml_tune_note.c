/* SPDX-License-Identifier: BSD-3-Clause */
/* core/control/tune/pml_tune_note.c - messages and log of a tuner. */
#include "control/tune/pml_tune_control.h"

#include "base/pml_array.h"
#include "base/pml_clock.h"
#include "base/pml_thread.h"
#include "base/text/pml_nearest.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void pml__notes_init(struct pml__notes *n, size_t most) {
  memset(n, 0, sizeof *n);
  n->most = most != 0 && most < PML__NOTES_LOG ? most : PML__NOTES_LOG;
  n->pid = getpid();
  pthread_mutex_init(&n->lock.mutex, NULL);
}

static bool take(struct pml__notes *n) {
  if (n->pid != getpid()) return false;
  pml__mutex_take(&n->lock);
  return true;
}

void pml__notes_free(struct pml__notes *n) {
  for (size_t i = 0; i < n->nlines; i++) free(n->line[i]);
  free(n->entry);
  pthread_mutex_destroy(&n->lock.mutex);
}

void pml__notes_say(struct pml__notes *n, const char *fmt, ...) {
  char buffer[1024];
  va_list ap;
  va_start(ap, fmt);
  (void)vsnprintf(buffer, sizeof buffer, fmt, ap);
  va_end(ap);
  char *text = strdup(buffer);
  if (text == NULL || !take(n)) {
    free(text);
    return;
  }
  if (n->nlines < PML__NOTES_LINES) {
    n->line[n->nlines++] = text;
    text = NULL;
  } else {
    n->more++;
  }
  pml__mutex_leave(&n->lock);
  free(text);
}

void pml__notes_unentered(struct pml__notes *n, const char *what, const char *name) {
  struct pml__nearest near = {.want = name};
  struct pml_region_info info;
  char names[512];
  bool known = false;
  for (pml_region_t i = 1; i <= pml_region_count(); i++) {
    if (pml_region_describe(i, &info) < 0) continue;
    pml__nearest_offer(&near, info.name);
    known |= strcmp(info.name, name) == 0;
  }
  if (known)
    pml__notes_say(n, "%s '%s': the region was not entered", what, name);
  else
    pml__notes_say(n, "%s '%s': no such region was entered%s", what, name,
                   pml__nearest_text(&near, names, sizeof names));
}

const char *pml__notes_line(struct pml__notes *n, size_t i) {
  const char *line = NULL;
  if (!take(n)) return NULL;
  if (i < n->nlines && i < PML__NOTES_LINES) line = n->line[i];
  if (i == PML__NOTES_LINES && n->more > 0) {
    snprintf(n->last, sizeof n->last, "and %zu more lines", n->more);
    line = n->last;
  }
  pml__mutex_leave(&n->lock);
  return line;
}

void pml__notes_log(struct pml__notes *n, pml_region_t region, const char *what, const char *text) {
  struct pml__notes_entry e = {.ns = pml_clock_ns(), .thread = pml_thread_self()->id, .region = region, .what = what};
  snprintf(e.text, sizeof e.text, "%s", text);
  if (!take(n)) return;
  if (n->nentries < n->most && PML__ARRAY_ROOM(n->entry, n->room, n->nentries + 1)) n->entry[n->nentries++] = e;
  pml__mutex_leave(&n->lock);
}

bool pml__notes_entry(struct pml__notes *n, size_t i, struct pml__notes_entry *e) {
  if (!take(n)) return false;
  bool is = i < n->nentries;
  if (is) *e = n->entry[i];
  pml__mutex_leave(&n->lock);
  return is;
}
