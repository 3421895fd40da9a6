/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/section/pml_section_text.c - text format of section files. */
#include "adapter/section/pml_section_text.h"
#include "adapter/section/pml_section_file.h"
#include "base/pml_error.h"

#include <errno.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the process ---- */

void pml__section_tell_note(struct pml__text *t, const char *key, const char *text) {
  pml__text_add(t, "%s", key);
  const char *tab = strcmp(key, "uncounted") == 0 ? strchr(text, '\t') : NULL;
  if (tab != NULL) pml__text_bytes(t, text, (size_t)(tab - text));
  pml__text_field(t, tab != NULL ? tab + 1 : text);
  pml__text_end(t);
}

static void add_number(struct pml__text *t, const char *key, uint64_t number) {
  pml__text_add(t, "%s\t%llu", key, (unsigned long long)number);
  pml__text_end(t);
}

void pml__section_tell_process(struct pml__text *t, const struct pml__section_process *p) {
  pml__text_add(t, "pmlua-sections\t1");
  pml__text_end(t);
  pml__text_add(t, "pid\t%d", p->pid);
  pml__text_end(t);
  if (p->rank >= 0) {
    pml__text_add(t, "rank\t%ld\t%ld", p->rank, p->size);
    pml__text_end(t);
  }
  pml__text_add(t, "host");
  pml__text_field(t, p->host);
  pml__text_end(t);
  pml__text_add(t, "command");
  pml__text_field(t, p->command);
  pml__text_end(t);
  add_number(t, "started", p->started_ns);
  add_number(t, "written", p->written_ns);
  pml__text_add(t, "clock\t%s\t%.17g", p->clock, p->ticks_per_second);
  pml__text_end(t);
  if (p->log == NULL) return;
  add_number(t, "born", p->log->born);
  pml__text_add(t, "ended\t%s", p->log->ended == 1 ? "exit" : "unknown");
  pml__text_end(t);
  if (p->log->refused <= 0 || p->log->refused >= 4096) return;
  pml__text_add(t, "refused");
  pml__text_field(t, pml_error_text(-p->log->refused));
  pml__text_end(t);
}

/* ---- sections ---- */

void pml__section_tell_section(struct pml__text *t, const struct pml__section_told *s) {
  static const char *const record[] = {"none", "all", "sketch"};
  pml__text_add(t, "section");
  pml__text_field(t, s->label);
  pml__text_add(t, "\t%s\t%s\t%s", s->type == PML_SECTION_COMMUNICATION ? "communication" : "calculation",
                s->exclusive ? "exclusive" : "inclusive", record[s->record]);
  pml__text_end(t);
  for (uint32_t i = 0; i < s->nevents; i++) {
    pml__text_add(t, "event");
    pml__text_field(t, s->event[i]);
    pml__text_add(t, "\t%s", (s->real >> i & 1) != 0 ? "real" : "integer");
    pml__text_end(t);
  }
  if (s->quantile == NULL) return;
  pml__text_add(t, "quantiles");
  for (size_t i = 0; i < PML__QUANTILES; i++) pml__text_add(t, "\t%.17g", s->quantile[i]);
  pml__text_end(t);
}

#define MISUSE_NAME(id, name, text) name,
#define MISUSE_TEXT(id, name, text) text,
static const char *const misuse_name[PML_SECTION_MISUSES] = {PML_SECTION_MISUSE_LIST(MISUSE_NAME)};
static const char *const misuse_text[PML_SECTION_MISUSES] = {PML_SECTION_MISUSE_LIST(MISUSE_TEXT)};

const char *pml_section_misuse_name(enum pml_section_misuse m) {
  return (unsigned)m < PML_SECTION_MISUSES ? misuse_name[m] : "unknown";
}

const char *pml_section_misuse_text(enum pml_section_misuse m) {
  return (unsigned)m < PML_SECTION_MISUSES ? misuse_text[m] : "unknown";
}

void pml__section_tell_row(struct pml__text *t, const struct pml_section_row *row, uint32_t nevents) {
  pml__text_add(t, "row\t%llu\t%u\t%llu\t%.17g\t%.17g\t%.17g\t%.17g\t%.17g\t%.17g\t%.17g\t%llu",
                (unsigned long long)row->thread, row->running, (unsigned long long)row->count, row->total_ns,
                row->self_ns, row->min_ns, row->max_ns, row->mean_ns, row->stddev_ns, row->work,
                (unsigned long long)row->iterations);
  pml__text_end(t);
  if (row->value != NULL && nevents > 0) {
    pml__text_add(t, "values");
    for (uint32_t i = 0; i < nevents; i++) {
      if (row->value[i].real)
        pml__text_add(t, "\t%.17g", row->value[i].d);
      else
        pml__text_add(t, "\t%lld", (long long)row->value[i].i);
    }
    pml__text_end(t);
  }
  for (unsigned m = 0; m < PML_SECTION_MISUSES; m++) {
    if (row->misuse[m] == 0) continue;
    pml__text_add(t, "misuse\t%s\t%llu", pml_section_misuse_name((enum pml_section_misuse)m),
                  (unsigned long long)row->misuse[m]);
    pml__text_field(t, pml_section_misuse_text((enum pml_section_misuse)m));
    pml__text_end(t);
  }
}

void pml__section_tell_region(struct pml__text *t, uint32_t region, const char *name) {
  pml__text_add(t, "region\t%u", region);
  pml__text_field(t, name);
  pml__text_end(t);
}

void pml__section_tell_lane(struct pml__text *t, uint64_t thread, uint32_t events, uint64_t dropped) {
  pml__text_add(t, "timeline\t%llu\t%u\t%llu", (unsigned long long)thread, events, (unsigned long long)dropped);
  pml__text_end(t);
}

void pml__section_tell_event(struct pml__text *t, bool leave, int64_t ns, uint32_t region) {
  pml__text_add(t, "%c\t%lld\t%u", leave ? '-' : '+', (long long)ns, region);
  pml__text_end(t);
}

/* Numbers have a decimal point, whatever the application's locale. */
int pml__section_all_text(struct pml__text *t, void (*tell)(struct pml__text *t, void *arg), void *arg) {
  *t = (struct pml__text){0};
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (plain == (locale_t)0) return -ENOMEM;
  locale_t before = uselocale(plain);
  tell(t, arg);
  pml__text_add(t, "end\t%zu\n", t->lines);
  uselocale(before);
  freelocale(plain);
  if (!t->failed) return 0;
  free(t->at);
  *t = (struct pml__text){0};
  return -ENOMEM;
}

/* By the C library: the caller frees it with the program's free(), and what is built here may be memory of pmlua's. */
int pml__section_hand_out(struct pml__text *t, char **text, size_t *length) {
  int err = asprintf(text, "%s", t->at) < 0 ? -ENOMEM : 0;
  free(t->at);
  *length = err == 0 ? t->n : 0;
  if (err < 0) *text = NULL;
  return err;
}
