/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/log_text.h - the contents of a log as lines of fields between tabs, and their parser, for specs to search. */
#ifndef SPEC_LOG_TEXT_H
#define SPEC_LOG_TEXT_H

#include "base/pml_error.h"
#include "read/section/pml_sde_log_read.h"
#include "read/section/pml_section_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void log_text_section(FILE *to, const struct pml__section_definition *s) {
  static const char *const record[] = {"none", "all", "sketch"};
  fprintf(to, "section\t%s\t%s\t%s\t%s\n", s->label,
          s->type == PML_SECTION_COMMUNICATION ? "communication" : "calculation",
          s->exclusive ? "exclusive" : "inclusive", record[s->record]);
  for (uint32_t i = 0; i < s->nevents; i++)
    fprintf(to, "event\t%s\t%s\n", s->event[i], (s->real >> i & 1) != 0 ? "real" : "integer");
  if (!s->has_quantiles) return;
  fprintf(to, "quantiles");
  for (unsigned i = 0; i < PML__QUANTILES; i++) fprintf(to, "\t%.17g", s->quantile[i]);
  fprintf(to, "\n");
}

static inline void log_text_row(FILE *to, const struct pml__section_stored *kept, double ticks_per_second) {
  const struct pml__section_definition *s = kept->entry.section;
  struct pml_section_row r;
  pml__section_row(&kept->entry.sums, s->exclusive, ticks_per_second, &r);
  fprintf(to, "row\t%llu\t%u\t%llu\t%.17g\t%.17g\t%.17g\t%.17g\t%.17g\t%.17g\t%.17g\t%llu\n",
          (unsigned long long)kept->entry.thread, r.running, (unsigned long long)r.count, r.total_ns, r.self_ns,
          r.min_ns, r.max_ns, r.mean_ns, r.stddev_ns, r.work, (unsigned long long)r.iterations);
  if (s->nevents > 0) fprintf(to, "values");
  for (uint32_t i = 0; i < s->nevents; i++) fprintf(to, "\t%lld", (long long)kept->values[i]);
  if (s->nevents > 0) fprintf(to, "\n");
  for (unsigned m = 0; m < PML_SECTION_MISUSES; m++)
    if (r.misuse[m] > 0)
      fprintf(to, "misuse\t%s\t%llu\n", pml_section_misuse_name((enum pml_section_misuse)m),
              (unsigned long long)r.misuse[m]);
  if (kept->entry.torn) fprintf(to, "torn\n");
}

static inline void log_text_left(FILE *to, const struct pml__sde_left *e) {
  if (e->kind != NULL) {
    fprintf(to, "counter\t%s\t%s\t%s\t%s\t%lld\t%lld\n", e->name, e->kind, e->instant ? "instant" : "delta",
            e->real ? "real" : "integer", (long long)e->bits, (long long)e->as_of_ns);
    return;
  }
  fprintf(to, "recorder\t%s\t%llu\t%llu\t%s\t%llu", e->name, (unsigned long long)e->count,
          (unsigned long long)e->dropped, e->cut ? "cut" : "whole", (unsigned long long)e->nans);
  for (unsigned i = 0; i < PML__QUANTILES && e->has_quantiles; i++) fprintf(to, "\t%.17g", e->quantile[i]);
  fprintf(to, "\n");
}

static inline int log_text_timeline(FILE *to, const struct pml__section_reader *b, size_t i) {
  int err;
  struct pml__log_timeline *lane = pml__section_reader_timeline(b, i, &err);
  if (lane == NULL) return err;
  fprintf(to, "timeline\t%llu\t%u\t%llu\n", (unsigned long long)lane->thread, lane->n,
          (unsigned long long)lane->dropped);
  const struct pml__log_event *event = (const struct pml__log_event *)(lane + 1);
  for (uint32_t k = 0; k < lane->n; k++)
    fprintf(to, "%c\t%u\n", event[k].word >> 32 == PML__LOG_LEAVE ? '-' : '+', (uint32_t)event[k].word);
  free(lane);
  return 0;
}

static inline void log_text_head(FILE *to, const struct pml__section_reader *b) {
  const struct pml__log_head *h = &b->log.head;
  static const char *const ended[] = {"unknown", "exit", "unknown", "snapshot"};
  fprintf(to, "pid\t%d\n", h->pid);
  if (h->rank >= 0) fprintf(to, "rank\t%d\t%d\n", h->rank, h->size);
  fprintf(to, "command\t%s\nborn\t%llu\nended\t%s\n", h->command, (unsigned long long)h->born, ended[h->ended]);
  if (h->refused > 0) fprintf(to, "refused\t%s\n", pml_error_text(-h->refused));
}

static inline void log_text_write(FILE *to, struct pml__section_reader *b, struct pml__section_items *rows,
                                  const struct pml__sde_log *left) {
  log_text_head(to, b);
  for (size_t i = 0; i < rows->n; i++) {
    const struct pml__section_stored *kept = rows->at[i], *last = rows->at[i > 0 ? i - 1 : 0];
    if (i == 0 || kept->entry.section != last->entry.section) log_text_section(to, kept->entry.section);
    log_text_row(to, kept, b->log.head.ticks_per_second);
  }
  for (size_t i = 0; i < left->n; i++) log_text_left(to, &left->at[i]);
  for (size_t i = 0; i < b->regions.n; i++) {
    const struct pml__section_region *r = b->regions.at[i];
    fprintf(to, "region\t%u\t%s\n", r->region, r->name);
  }
  for (size_t i = 0; i < b->log.n; i++) (void)log_text_timeline(to, b, i);
  if (b->unseen != NULL) fprintf(to, "unseen\t%s\n", b->unseen);
}

/* The text of the log @path, to be freed; NULL: it cannot be read, and a line says why. */
static inline char *log_text(const char *path) {
  struct pml__section_reader reader;
  struct pml__section_items rows = {0};
  struct pml__sde_log left = {0};
  char *text = NULL;
  size_t n;
  int err = pml__section_reader_open(&reader, path, NULL, NULL);
  if (err == 0) err = pml__section_reader_durations(&reader, false);
  if (err == 0) err = pml__section_reader_sorted(&reader, &rows);
  if (err == 0) err = pml__sde_log_read(&left, &reader.log, &reader.cells);
  FILE *to = err == 0 ? open_memstream(&text, &n) : NULL;
  if (err < 0) printf("# %s\n", pml_error_detail(err));
  if (to != NULL) log_text_write(to, &reader, &rows, &left);
  if (to != NULL) fclose(to);
  pml__sde_log_drop(&left);
  pml__section_drop(&rows);
  pml__section_reader_close(&reader);
  return text;
}

/* A line that log_text_row() wrote. */
struct log_row {
  unsigned long long thread, count, iterations;
  unsigned running;
  double total_ns, self_ns, min_ns, max_ns, mean_ns, stddev_ns, work;
  bool torn;
};

/* Up to @most rows of a section in the text of a log. */
static inline size_t log_rows(const char *text, const char *label, struct log_row *row, size_t most) {
  char line[100];
  size_t n = 0;
  snprintf(line, sizeof line, "\nsection\t%s\t", label);
  const char *at = text != NULL ? strstr(text, line) : NULL;
  for (at = at != NULL ? strchr(at + 1, '\n') : NULL; at != NULL && strncmp(at, "\nsection\t", 9) != 0;
       at = strchr(at + 1, '\n')) {
    if (n > 0 && strncmp(at, "\ntorn\n", 6) == 0) row[n - 1].torn = true;
    if (n == most) continue;
    struct log_row *r = &row[n];
    *r = (struct log_row){0};
    n += sscanf(at, "\nrow\t%llu\t%u\t%llu\t%lf\t%lf\t%lf\t%lf\t%lf\t%lf\t%lf\t%llu\n", &r->thread, &r->running,
                &r->count, &r->total_ns, &r->self_ns, &r->min_ns, &r->max_ns, &r->mean_ns, &r->stddev_ns, &r->work,
                &r->iterations) == 11;
  }
  return n;
}

#endif
