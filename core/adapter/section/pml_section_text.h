/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/section/pml_section_text.h - text format of section files, from memory or a log. Internal. */
#ifndef PML_SECTION_TEXT_H
#define PML_SECTION_TEXT_H

#include "adapter/section/pml_section.h"
#include "base/text/pml_text.h"
#include "record/log/pml_log_own.h"
#include "record/quantile/pml_quantile.h"

struct pml__section_process {
  int pid;
  long rank, size; /* -1: not known */
  const char *host, *command;
  uint64_t started_ns, written_ns;
  const char *clock;
  double ticks_per_second;
  const struct pml__log_head *log; /* NULL: of this process */
};
void pml__section_tell_process(struct pml__text *t, const struct pml__section_process *p);
void pml__section_tell_note(struct pml__text *t, const char *key, const char *text);

struct pml__section_told {
  const char *label;
  enum pml_section_type type;
  bool exclusive;
  enum pml_section_record record;
  uint32_t nevents;
  const char *const *event;
  uint64_t real;          /* a bit for each event whose sums are doubles */
  const double *quantile; /* [PML__QUANTILES] ns; NULL: none */
};
void pml__section_tell_section(struct pml__text *t, const struct pml__section_told *s);
void pml__section_tell_row(struct pml__text *t, const struct pml_section_row *row, uint32_t nevents);
void pml__section_tell_region(struct pml__text *t, uint32_t region, const char *name);
void pml__section_tell_lane(struct pml__text *t, uint64_t thread, uint32_t events, uint64_t dropped);
/* @ns since started. */
void pml__section_tell_event(struct pml__text *t, bool leave, int64_t ns, uint32_t region);

/* All lines by @tell, with numbers as in the C locale, and the last line. 0 or -ENOMEM, then there is no text. */
int pml__section_all_text(struct pml__text *t, void (*tell)(struct pml__text *t, void *arg), void *arg);

/* What pml_section_text() gives, of @t, which is freed. 0 or -ENOMEM. */
int pml__section_hand_out(struct pml__text *t, char **text, size_t *length);

/* ---- pml_section_timeline.c ---- */

void pml__section_timeline_text(struct pml__text *t);

#endif
