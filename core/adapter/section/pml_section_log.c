/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/section/pml_section_log.c - storage of section statistics: the process's log, or memory. */
#include "adapter/section/pml_section_private.h"
#include "base/pml_pack.h"
#include "record/recorder/pml_recorder_lane.h"
#include "source/compiler/pml_count_file.h"
#include "source/pml_event.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct pml__log *log_of; /* this process's; NULL: none, or none yet. Under the lock */
static bool tried;              /* to make it, in this process */

/* ---- notes ---- */

/* The notes: the compiler's counts, code without counts, and the reason for events called NAME:u. */
const char *pml__section_note(enum pml__section_note which, char text[PML__SECTION_NOTE_BYTES]) {
  char libraries[512];
  const char *user_only = which == PML__SECTION_PERMISSION ? pml_event_user_only_reason() : NULL;
  if (user_only != NULL) {
    (void)snprintf(text, PML__SECTION_NOTE_BYTES, "%s", user_only);
    return "permission";
  }
  if (which == PML__SECTION_PERMISSION || !pml_count_active()) return NULL;
  if (which == PML__SECTION_COUNTED) {
    (void)snprintf(text, PML__SECTION_NOTE_BYTES, "%s", pml_count_at_name(pml_count_here()));
    return "counted";
  }
  uint64_t places = pml_count_left_out(libraries, sizeof libraries);
  if (places == 0 && libraries[0] == '\0') return NULL;
  (void)snprintf(text, PML__SECTION_NOTE_BYTES, "%llu\t%s", (unsigned long long)places, libraries);
  return "uncounted";
}

static char *noted[PML__SECTION_NOTES]; /* notes that the log already has. Under the lock */

static void add_note(enum pml__section_note which, const char *key, const char *text) {
  const char *const both[2] = {key, text};
  if (log_of == NULL || (noted[which] != NULL && strcmp(noted[which], text) == 0)) return;
  if (pml__log_define(log_of, PML__LOG_NOTE, NULL, 0, both, 2) < 0) return;
  free(noted[which]);
  noted[which] = strdup(text);
}

/* The notes are made with no lock held, because the loader may hold its lock. */
void pml__section_log_notes(void) {
  if (!pml__log_wanted()) return;
  pml__log_complain();
  for (unsigned i = 0; i < PML__SECTION_NOTES; i++) {
    char text[PML__SECTION_NOTE_BYTES];
    const char *key = pml__section_note((enum pml__section_note)i, text);
    if (key == NULL) continue;
    pml__section_lock_take();
    add_note((enum pml__section_note)i, key, text);
    pml__section_lock_leave();
  }
}

/* ---- definitions ---- */

void pml__section_log_section(struct pml__log *log, const struct pml_section *s) {
  const char *text[2 + PML_SECTION_EVENTS_MAX] = {s->label};
  const struct pml_stream_metrics *m = s->list != NULL ? s->list->metrics : NULL;
  struct pml__log_section d = {s->index, s->type, s->exclusive, s->record, m != NULL ? m->n : 0, 0};
  for (uint32_t i = 0; i < d.nevents; i++) {
    text[1 + i] = m->name[i];
    d.real |= (uint32_t)pml_stream_metrics_real(m, i) << i;
  }
  text[1 + d.nevents] = s->interface;
  (void)pml__log_define(log, PML__LOG_SECTION, &d, sizeof d, text, 1 + d.nevents + (s->interface[0] != '\0'));
}

void pml__section_log_define(const struct pml_section *s) {
  if (log_of != NULL) pml__section_log_section(log_of, s);
}

/* Durations that are all in the log need no sketch. */
void pml__section_log_sketch(struct pml__log *log, const struct pml_section *s) {
  struct pml__pack p = {0};
  if (s->recorder == NULL || s->recorder->name != NULL || pml__recorder_pack(s->recorder, &p) < 0) return;
  const struct pml__log_sketch d = {s->index, (uint32_t)p.n};
  char *both = malloc(sizeof d + p.n);
  if (both != NULL) {
    memcpy(both, &d, sizeof d);
    memcpy(both + sizeof d, p.at, p.n);
    (void)pml__log_define(log, PML__LOG_SKETCH, both, sizeof d + p.n, NULL, 0);
  }
  free(both);
  free(p.at);
}

void pml__section_log_sketches(void) {
  pml__section_lock_take();
  struct pml__log *log = log_of;
  pml__section_lock_leave();
  if (log == NULL) return;
  for (uint32_t i = 0; i < pml__section_count(); i++) pml__section_log_sketch(log, pml__section_at(i));
}

void pml__section_log_reset(uint32_t epoch) {
  if (log_of != NULL) pml__log_epoch(log_of, epoch);
}

/* ---- the log ---- */

static void open_log(void) {
  tried = true;
  log_of = pml__log_own();
  if (log_of == NULL) return; /* measuring continues without a log */
  pml__log_epoch(log_of, pml__section_epoch());
  for (uint32_t i = 0; i < pml__section_count(); i++) pml__section_log_section(log_of, pml__section_at(i));
}

void pml__section_log_forget(void) {
  log_of = NULL;
  tried = false;
  memset(noted, 0, sizeof noted);
  pml__section_pages_in_child();
}

/* ---- blocks ---- */

struct pml__section_stat *pml__section_block(uint64_t thread, uint32_t first) {
  struct pml__log_entry *entry = NULL;
  struct pml__section_stat *block = NULL;
  if (!tried) open_log();
  if (log_of != NULL)
    block = pml__log_extent(log_of, PML__LOG_SECTION_SUMS, first, thread, PML__SECTION_BLOCK_BYTES,
                            PML__SECTION_BLOCK_BYTES, &entry);
  if (block == NULL) block = pml__section_piece();
  if (block == NULL) return NULL;
  pml__section_own(block)->entry[0] = entry;
  return block;
}

uint64_t *pml__section_stat_values(struct pml__section_stat *stat, const struct pml_section *s) {
  uint32_t i = s->index % PML__SECTION_BLOCK;
  struct pml__section_own *first = pml__section_own(stat - i);
  if (first->values == NULL && first->entry[0] != NULL)
    first->values = pml__log_extent(log_of, PML__LOG_SECTION_VALUES, s->index - i, first->entry[0]->owner,
                                    PML__SECTION_VALUES_BYTES, 0, &first->entry[1]);
  if (first->values == NULL) first->values = pml__section_piece();
  return first->values != NULL ? first->values + (size_t)i * PML_SECTION_EVENTS_MAX : NULL;
}

void pml__section_free_block(struct pml__section_stat *block) {
  if (block == NULL) return;
  struct pml__section_own *first = pml__section_own(block);
  if (first->entry[1] != NULL)
    pml__log_free(log_of, first->entry[1]);
  else
    pml__section_give_back(first->values);
  if (first->entry[0] != NULL)
    pml__log_free(log_of, first->entry[0]);
  else
    pml__section_give_back(block);
}
