/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/section/pml_section_rows.c - rows of a log's sections as text. */
#include "read/section/pml_section_rows.h"

#include "base/pml_error.h"
#include "base/pml_value.h"
#include "read/section/pml_section_totals.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A row of a thread or of a process. */
struct line {
  const struct pml__section_definition *definition;
  struct pml__cell thread, count, running, work, iterations;
  double ns[PML__SECTION_FIELD_STDDEV - PML__SECTION_FIELD_TIME + 1];
  bool torn;
  uint64_t misuse[PML_SECTION_MISUSES];
  struct pml__cell value[PML_SECTION_EVENTS_MAX]; /* sums of the events */
};

struct writing {
  const struct pml__section_table *table;
  const struct pml__section_question *question;
  struct pml__cells_writer *out;
  const struct pml__section_definition *definition; /* the last row's, as the next two */
  const struct pml__section_labelled *section;      /* NULL: its rows are left out */
  size_t place[PML_SECTION_EVENTS_MAX];             /* indices of the table's events in @definition */
  size_t events;
  struct pml__cell *cell; /* [columns] */
  const char **name;
  struct pml__cells object[2]; /* the events and the misuses */
  struct pml__cell event[PML_SECTION_EVENTS_MAX], misuse[PML_SECTION_MISUSES];
  const char *event_name[PML_SECTION_EVENTS_MAX], *misuse_name[PML_SECTION_MISUSES];
};

static struct pml__cell whole(uint64_t v) {
  return (struct pml__cell){.kind = PML__CELL_WHOLE, .whole = (int64_t)v};
}

static struct pml__cell real(double v) {
  return (struct pml__cell){.kind = PML__CELL_REAL, .real = v};
}

/* Sums of a process are doubles; those without a fraction become integers again. */
static struct pml__cell exact(double v) {
  return pml_value_is_int64(v) && v == trunc(v) ? whole((uint64_t)(int64_t)v) : real(v);
}

static struct pml__cell text(const char *t) {
  return (struct pml__cell){.kind = t != NULL ? PML__CELL_TEXT : PML__CELL_ABSENT, .text = t};
}

/* ---- rows ---- */

static void set_times(struct line *line, double total, double self, double mean, double min, double max, double dev) {
  const double ns[] = {total, self, mean, min, max, dev};
  memcpy(line->ns, ns, sizeof ns);
}

static void line_of_thread(struct line *line, const struct pml__section_stored *kept, double ticks_per_second) {
  const struct pml__section_definition *definition = kept->entry.section;
  struct pml_section_value value[PML_SECTION_EVENTS_MAX];
  struct pml_section_row row;
  pml__section_row(&kept->entry.sums, definition->exclusive, ticks_per_second, &row);
  pml__section_values(kept->values, definition->nevents, definition->real, value);
  line->definition = definition;
  line->thread = whole(kept->entry.thread);
  line->count = whole(row.count);
  line->running = whole(row.running);
  line->work = real(row.work);
  line->iterations = whole(row.iterations);
  line->torn = kept->entry.torn;
  set_times(line, row.total_ns, row.self_ns, row.mean_ns, row.min_ns, row.max_ns, row.stddev_ns);
  memcpy(line->misuse, row.misuse, sizeof line->misuse);
  for (uint32_t i = 0; i < definition->nevents; i++)
    line->value[i] = value[i].real ? real(value[i].d) : whole((uint64_t)value[i].i);
}

static void take_own(struct line *line, const char *name, const struct pml_summary_value *v) {
  if (strcmp(name, " running") == 0) line->running = exact(v->of.sum);
  if (strcmp(name, " work") == 0) line->work = exact(v->of.sum);
  if (strcmp(name, " iterations") == 0) line->iterations = whole((uint64_t)v->whole);
  for (unsigned m = 0; m < PML_SECTION_MISUSES; m++)
    if (strncmp(name, " misuse ", 8) == 0 && strcmp(name + 8, pml_section_misuse_name((enum pml_section_misuse)m)) == 0)
      line->misuse[m] = (uint64_t)v->whole;
}

/* The values of a section's events are the first ones, in their order. */
static void line_of_process(struct line *line, const struct pml_summary_row *row,
                            const struct pml__section_definition *definition) {
  const struct pml_sums *calls = &row->calls.of;
  *line = (struct line){.definition = definition, .running = whole(0), .work = whole(0), .iterations = whole(0)};
  line->count = exact(calls->count);
  set_times(line, row->time.sum, row->self.sum, calls->mean, calls->min, calls->max, pml_sums_deviation(calls));
  for (size_t i = 0; i < row->nvalues; i++) {
    const struct pml_summary_value *v = &row->value[i];
    if (v->name[0] == ' ')
      take_own(line, v->name, v);
    else if (i < definition->nevents)
      line->value[i] = v->real ? real(v->of.sum) : whole((uint64_t)v->whole);
  }
}

/* ---- cells ---- */

static const struct pml__cell *value_of(const struct line *line, const char *event) {
  for (uint32_t i = 0; i < line->definition->nevents; i++)
    if (strcmp(line->definition->event[i], event) == 0) return &line->value[i];
  return NULL;
}

static double number(const struct pml__cell *c) {
  return c->kind == PML__CELL_REAL ? c->real : c->kind == PML__CELL_WHOLE ? (double)c->whole : 0;
}

static struct pml__cell share_of(const struct line *line, const struct pml__section_question *q) {
  double time = line->ns[q->own ? PML__SECTION_FIELD_SELF - PML__SECTION_FIELD_TIME : 0];
  return q->whole > 0 ? real(time / q->whole) : text(NULL);
}

static struct pml__cell rate_of(const struct line *line) {
  double work = number(&line->work);
  return work > 0 && line->ns[0] > 0 ? real(work / line->ns[0] * 1e9) : text(NULL);
}

static struct pml__cell events_of(struct writing *w, const struct line *line) {
  struct pml__cells *o = &w->object[0];
  *o = (struct pml__cells){w->events, w->event_name, w->event};
  for (size_t i = 0; i < w->events; i++) w->event[i] = line->value[w->place[i]];
  return (struct pml__cell){.kind = o->n > 0 ? PML__CELL_CELLS : PML__CELL_ABSENT, .cells = o};
}

static struct pml__cell misuse_of(struct writing *w, const struct line *line) {
  /* in the order of their names */
  static const struct {
    enum pml_section_misuse of;
    const char *name;
  } all[PML_SECTION_MISUSES] = {
      {PML_SECTION_ABANDONED, "\"abandoned\""},
      {PML_SECTION_CROSSED, "\"crossed\""},
      {PML_SECTION_FOREIGN, "\"foreign\""},
      {PML_SECTION_OVERLAP, "\"overlap\""},
      {PML_SECTION_UNMATCHED, "\"unmatched\""},
      {PML_SECTION_UNREAD, "\"unread\""},
      {PML_SECTION_UNRECORDED, "\"unrecorded\""},
      {PML_SECTION_UNSTARTED, "\"unstarted\""},
      {PML_SECTION_WORK, "\"work\""},
  };
  struct pml__cells *o = &w->object[1];
  *o = (struct pml__cells){0, w->misuse_name, w->misuse};
  for (size_t i = 0; i < PML_SECTION_MISUSES; i++) {
    if (line->misuse[all[i].of] == 0) continue;
    w->misuse_name[o->n] = all[i].name;
    w->misuse[o->n++] = whole(line->misuse[all[i].of]);
  }
  return (struct pml__cell){.kind = o->n > 0 ? PML__CELL_CELLS : PML__CELL_ABSENT, .cells = o};
}

static struct pml__cell cell_of(struct writing *w, const struct line *line, const struct pml__section_column *c) {
  const struct pml__cell *value;
  switch (c->field) {
  case PML__SECTION_FIELD_PROCESS:
    return text(w->question->text[c->which]);
  case PML__SECTION_FIELD_SECTION:
    return text(w->section->text[c->which]);
  case PML__SECTION_FIELD_WORKED:
    return text(number(&line->work) > 0 ? w->section->text[c->which] : NULL);
  case PML__SECTION_FIELD_EVENT:
    value = value_of(line, c->text);
    return value != NULL ? *value : text(NULL);
  case PML__SECTION_FIELD_EVENTS:
    return events_of(w, line);
  case PML__SECTION_FIELD_MISUSE:
    return misuse_of(w, line);
  case PML__SECTION_FIELD_THREAD:
    return line->thread;
  case PML__SECTION_FIELD_COUNT:
    return line->count;
  case PML__SECTION_FIELD_RUNNING:
    return line->running;
  case PML__SECTION_FIELD_SHARE:
    return share_of(line, w->question);
  case PML__SECTION_FIELD_WORK:
    return line->work;
  case PML__SECTION_FIELD_ITERATIONS:
    return line->iterations;
  case PML__SECTION_FIELD_RATE:
    return rate_of(line);
  case PML__SECTION_FIELD_TORN:
    return (struct pml__cell){.kind = PML__CELL_TRUTH, .truth = line->torn};
  default:
    return real(line->ns[c->field - PML__SECTION_FIELD_TIME] / c->divisor);
  }
}

/* ---- writing ---- */

static int by_label(const void *key, const void *at) {
  const struct pml__section_definition *of = key;
  const struct pml__section_labelled *s = at;
  int order = strcmp(of->label, s->label);
  return order != 0 ? order : strcmp(of->interface, s->interface);
}

/* Look up once what all rows of a section share. */
static void begin_section(struct writing *w, const struct pml__section_definition *definition) {
  const struct pml__section_table *t = w->table;
  w->definition = definition;
  w->section = t->nsections > 0 ? bsearch(definition, t->section, t->nsections, sizeof *t->section, by_label) : NULL;
  w->events = 0;
  for (size_t i = 0; i < t->nevents && w->events < definition->nevents; i++)
    for (uint32_t k = 0; k < definition->nevents; k++) {
      if (strcmp(definition->event[k], t->event[i].label) != 0) continue;
      w->event_name[w->events] = t->event[i].text[0];
      w->place[w->events++] = k;
      break;
    }
}

static void put_line(struct writing *w, struct line *line) {
  const struct pml__section_table *t = w->table;
  if (w->definition != line->definition) begin_section(w, line->definition);
  if (w->section == NULL) return;
  const char *counted = w->question->counted_work;
  const struct pml__cell *work = counted != NULL ? value_of(line, counted) : NULL;
  if (work != NULL && number(work) > 0) line->work = *work;
  for (size_t i = 0; i < t->ncolumns; i++) w->cell[i] = cell_of(w, line, &t->column[i]);
  pml__cells_write(w->out, &(struct pml__cells){t->ncolumns, w->name, w->cell});
}

static int write_threads(struct writing *w, const struct pml__section_reader *b) {
  struct pml__section_items rows = {0};
  struct line line = {0};
  int err = pml__section_reader_sorted(b, &rows);
  for (size_t i = 0; i < rows.n && err == 0; i++) {
    line_of_thread(&line, rows.at[i], b->log.head.ticks_per_second);
    put_line(w, &line);
  }
  pml__section_drop(&rows);
  return err;
}

static int write_process(struct writing *w, const struct pml__section_reader *b) {
  struct pml__section_totals totals;
  struct pml_summary *s = NULL;
  struct line line;
  int err = pml_summary_open(&s);
  if (err == 0) err = pml__section_reader_summary(b, s, 0, &totals);
  const struct pml_summary_row *row = err == 0 ? pml_summary_row(s, 0) : NULL;
  if (row != NULL) {
    line_of_process(&line, row, b->sections.at[0]);
    put_line(w, &line);
  }
  pml_summary_close(s);
  return err;
}

int pml__section_rows_write(const struct pml__section_table *t, const struct pml__section_question *q,
                            struct pml__cells_writer *out) {
  struct pml__section_reader reader;
  struct writing w = {.table = t, .question = q, .out = out};
  out->form = t->form;
  out->indent = t->indent;
  int err = 0;
  if (q->cache != NULL)
    pml__section_cache_view(q->cache, q->label, q->interface, &reader);
  else
    err = pml__section_reader_open(&reader, q->path, q->label, q->interface);
  w.cell = calloc(t->ncolumns + 1, sizeof *w.cell);
  w.name = calloc(t->ncolumns + 1, sizeof *w.name);
  if (err == 0 && (w.cell == NULL || w.name == NULL)) err = -ENOMEM;
  for (size_t i = 0; i < t->ncolumns && err == 0; i++) w.name[i] = t->column[i].name;
  if (err == 0) err = q->threads ? write_threads(&w, &reader) : write_process(&w, &reader);
  if (err == 0 && out->text.failed) err = -ENOMEM;
  if (err == -ENOMEM) (void)pml_fail(err, "%.300s: no memory to read it", q->path);
  if (q->cache == NULL) pml__section_reader_close(&reader);
  free(w.cell);
  free(w.name);
  return err;
}
