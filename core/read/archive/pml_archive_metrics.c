/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/archive/pml_archive_metrics.c - metrics of a recording as archive metrics. */
#include "base/pml_array.h"
#include "base/pml_bits.h"
#include "base/pml_error.h"
#include "read/archive/pml_archive_private.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNIT_MAX_BYTES 64u
#define DESCRIPTION_MAX_BYTES 100u

/* ---- metrics of events ---- */

/* The line of a note, "units" or "remarks", that begins with @name and a tab, or NULL. */
static const char *line_of(const char *note, const char *name) {
  size_t n = strlen(name);
  while (note != NULL && !(strncmp(note, name, n) == 0 && note[n] == '\t')) {
    note = strchr(note, '\n');
    note += note != NULL;
  }
  return note;
}

/* The text about an event in the note "remarks", copied to @text. */
static const char *remark_of(const char *remarks, const char *name, char text[DESCRIPTION_MAX_BYTES]) {
  const char *line = line_of(remarks, name);
  if (line == NULL) return NULL;
  line += strlen(name) + 1;
  (void)snprintf(text, DESCRIPTION_MAX_BYTES, "%.*s", (int)strcspn(line, "\n"), line);
  return text;
}

/* Describe a plugin's metric by the line "NAME<TAB>SCALE<TAB>MODE<TAB>BINARY<TAB>EXPONENT<TAB>TYPE<TAB>UNIT", if there
 * is one. @unit: receives the unit. */
static void describe_metric(const char *units, struct pml_otf2_metric *m, char unit[UNIT_MAX_BYTES]) {
  int mode, binary, exponent, at = 0;
  char type[8];
  const char *found = line_of(units, m->name);
  if (found == NULL) return;
  found += strlen(m->name) + 1;
  if (sscanf(found, "%*s %d %d %d %7s%n", &mode, &binary, &exponent, type, &at) != 4 || mode < 0 || mode >= PML_MODES ||
      exponent < -1000 || exponent > 1000 || found[at] != '\t')
    return;
  size_t bytes = strcspn(found + at + 1, "\n");
  if (bytes >= UNIT_MAX_BYTES) bytes = UNIT_MAX_BYTES - 1;
  memcpy(unit, found + at + 1, bytes);
  unit[bytes] = '\0';
  m->unit = unit;
  m->mode = (enum pml_mode)mode;
  m->binary = binary != 0;
  m->exponent = exponent;
  m->is_signed = strcmp(type, "uint64") != 0;
}

static int add_events(const struct pml_recording_reader *r, struct pml_otf2 *to, const struct pml__otf2_set **set) {
  char name[PML_STREAM_METRICS_MAX][PML__RECORDING_METRIC_BYTES];
  char unit[PML_STREAM_METRICS_MAX][UNIT_MAX_BYTES], remark[PML_STREAM_METRICS_MAX][DESCRIPTION_MAX_BYTES];
  struct pml_otf2_metric metric[PML_STREAM_METRICS_MAX];
  struct pml_recording_story story;
  uint32_t n = pml__recording_metrics(r, name);
  pml_recording_read_story(r, &story);
  for (uint32_t i = 0; i < n; i++) {
    metric[i] = (struct pml_otf2_metric){.name = name[i], .mode = PML_OTF2_ACCUMULATED, .is_signed = true};
    metric[i].real = (r->head.real[i / 64] >> i % 64 & 1) != 0;
    metric[i].description = remark_of(pml_recording_read_note(r, "remarks"), name[i], remark[i]);
    if (pml_count_is_event(name[i])) metric[i].description = pml_count_at_label(story.counted);
    describe_metric(pml_recording_read_note(r, "units"), &metric[i], unit[i]);
  }
  int err = pml__otf2_check_metrics(metric, n);
  return err == 0 ? pml__otf2_add_set(to, metric, n, set) : err;
}

/* ---- of lists ---- */

/*
 * The list must begin with the metrics of the set, and only compiler counts may follow: a program that the compiler
 * made to count has these in each section, behind the events that the section names.
 */
static void compare_names(const struct pml__otf2_set *set, const struct pml__recording_named *l,
                          struct pml__archive_named *to) {
  uint32_t asked = l->is.n;
  while (asked > 0 && pml_count_is_event(l->name[asked - 1])) asked--;
  to->doing = asked == 0 ? PML__ARCHIVE_IGNORE : PML__ARCHIVE_LOSE;
  if (set->n == 0 || set->n > l->is.n || set->n < asked) return;
  for (size_t i = 0; i < set->n; i++)
    if (strcmp(set->metric[i].name, l->name[i]) != 0) return;
  to->doing = PML__ARCHIVE_RECORD;
}

static int add_singles(struct pml_otf2 *to, const struct pml__recording_named *l, struct pml__archive_named *named) {
  struct pml_otf2_metric metric[PML_STREAM_METRICS_MAX];
  size_t n = 0;
  for (uint32_t i = 0; i < l->is.n; i++)
    if (l->is.single[i / 64] >> i % 64 & 1)
      metric[n++] = (struct pml_otf2_metric){.name = l->name[i],
                                             .mode = PML_OTF2_ABSOLUTE,
                                             .real = (l->is.real[i / 64] >> i % 64 & 1) != 0,
                                             .is_signed = true};
  if (n == 0) return 0;
  named->doing = PML__ARCHIVE_SINGLES;
  return pml__otf2_add_singles(to, metric, n, &named->first);
}

static int add_lists(const struct pml_recording_reader *r, struct pml_otf2 *to, struct pml__archive_metrics *m) {
  int err = 0;
  m->named = calloc(r->nlists + (size_t)1, sizeof *m->named);
  if (m->named == NULL) return pml_fail(-ENOMEM, "no memory for the values of a trace");
  for (uint32_t i = 0; i < r->nlists && err == 0; i++) {
    if (r->list[i].name == NULL) continue;
    compare_names(m->set, &r->list[i], &m->named[i]);
    if (m->named[i].doing == PML__ARCHIVE_LOSE) err = add_singles(to, &r->list[i], &m->named[i]);
  }
  return err;
}

uint64_t pml__archive_value(const struct pml_otf2_metric *m, bool real, uint64_t bits) {
  if (!real || m->real) return bits;
  if (bits == PML_VALUE_ABSENT) return pml_value_absent(m->is_signed);
  double d = pml__as_double(bits);
  return (uint64_t)(pml_value_is_int64(d) ? llrint(d) : d > 0 ? INT64_MAX : d < 0 ? INT64_MIN : 0);
}

/* ---- of values of calls ---- */

struct lists {
  struct pml_otf2 *to;
  struct pml__archive_metrics *m;
};

/* Named "FUNCTION:VALUE", like recorders and metrics of events. */
static int add_value(struct pml_otf2 *to, const struct pml__recording_named_values *v, uint32_t i, uint32_t *single) {
  struct pml_region_info info = {.name = "?", .file = "?"};
  struct pml_otf2_metric m = {.mode = PML_OTF2_ABSOLUTE, .real = (v->real >> i & 1) != 0, .is_signed = true};
  char *name, *description;
  (void)pml_region_describe(v->region, &info);
  if (asprintf(&name, "%s:%s", info.name, v->name[i]) < 0) name = NULL;
  if (asprintf(&description, "%s of %s in %s", v->results ? "result" : "argument", info.name, info.file) < 0)
    description = NULL;
  m.name = name;
  m.description = description;
  int err = name != NULL && description != NULL ? pml__otf2_add_single(to, &m, single)
                                                : pml_fail(-ENOMEM, "no memory for the values of a trace");
  free(name);
  free(description);
  return err;
}

static int add_list(const struct pml__recording_named_values *v, void *arg) {
  const struct lists *l = arg;
  if (!PML__ARRAY_ROOM(l->m->list, l->m->lists, l->m->nlists + 1))
    return pml_fail(-ENOMEM, "no memory for the values of a trace");
  struct pml__archive_list *list = &l->m->list[l->m->nlists++];
  *list = (struct pml__archive_list){.region = v->region, .results = v->results, .n = v->n};
  int err = 0;
  for (uint32_t i = 0; i < v->n && err == 0; i++) err = add_value(l->to, v, i, &list->single[i]);
  return err;
}

static int by_region(const void *a, const void *b) {
  const struct pml__archive_list *x = a, *y = b;
  if (x->region != y->region) return x->region < y->region ? -1 : 1;
  return x->results - y->results;
}

const struct pml__archive_list *pml__archive_list_of(const struct pml__archive_metrics *m, pml_region_t region,
                                                     bool results) {
  const struct pml__archive_list key = {.region = region, .results = results};
  return m->nlists > 0 ? bsearch(&key, m->list, m->nlists, sizeof key, by_region) : NULL;
}

int pml__archive_metrics(const struct pml_recording_reader *r, struct pml_otf2 *to, const struct pml__otf2_set *own,
                         struct pml__archive_metrics *m) {
  struct lists l = {to, m};
  int err = own == NULL ? add_events(r, to, &m->set) : 0;
  if (own != NULL) m->set = own;
  if (err == 0) err = add_lists(r, to, m);
  if (err == 0 && r->head.traced != 0) err = pml__recording_name_values(r, add_list, &l);
  if (m->nlists > 0) qsort(m->list, m->nlists, sizeof *m->list, by_region);
  return err;
}

void pml__archive_metrics_free(struct pml__archive_metrics *m) {
  free(m->list);
  free(m->named);
}
