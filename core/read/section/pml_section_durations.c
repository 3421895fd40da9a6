/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/section/pml_section_durations.c - durations of sections in a log: all values, or a sketch. */
#include "read/section/pml_section_reader.h"

#include "base/pml_error.h"
#include "base/pml_pack.h"
#include "read/log/pml_log_read.h"
#include "read/summary/pml_summary.h"

#include <errno.h>
#include <float.h>
#include <string.h>

_Static_assert(sizeof((struct pml__log_quantiles){0}.ns) == PML__QUANTILES * sizeof(double), "a log has them all");

struct taking {
  struct pml__section_reader *reader;
  double ns; /* per tick */
  bool sketches;
};

struct adding {
  struct pml_sketch *to;
  double ns;
};

static void add_duration(double ticks, void *arg) {
  struct adding *a = arg;
  pml_sketch_add(a->to, a->ns * ticks);
}

static int take_all(const struct taking *t, struct pml__section_definition *s, struct pml_quantile *all) {
  int err = 0;
  for (unsigned i = 0; i < PML__QUANTILES && err == 0; i++) {
    err = pml_quantile_value(all, pml__quantile_share(i), &s->quantile[i]);
    s->quantile[i] *= t->ns;
  }
  if (err == -ENOENT) return 0;
  if (err == 0) s->has_quantiles = true;
  if (err == 0 && t->sketches && s->sketch == NULL) err = pml_summary_sketch(&s->sketch);
  if (err == 0 && t->sketches) pml_quantile_each(all, add_duration, &(struct adding){s->sketch, t->ns});
  return err;
}

static int take_recorder(uint32_t what, const char *at, size_t bytes, void *arg) {
  const struct taking *t = arg;
  struct pml__log_recorder d;
  struct pml__recorder_left left;
  if (what != PML__LOG_RECORDER || bytes < sizeof d) return 0;
  memcpy(&d, at, sizeof d);
  struct pml__section_definition *s =
      d.section > 0 && d.type == PML_TYPE_DOUBLE ? pml__section_reader_at(t->reader, d.section - 1) : NULL;
  if (s == NULL || s->has_quantiles) return 0;
  int err = pml__recorder_left(&t->reader->cells, &d, &left);
  if (err == 0 && left.quantile != NULL) err = take_all(t, s, left.quantile);
  pml_quantile_close(left.quantile);
  return err == -ENOMEM || err == PML_EFORMAT ? err : 0;
}

/* A later sketch of the same section includes the durations of an earlier one. */
static int take_left(const struct taking *t, struct pml__section_definition *s, const struct pml_sketch *left) {
  if (pml_sketch_count(left) == 0) return 0;
  for (unsigned i = 0; i < PML__QUANTILES; i++) s->quantile[i] = t->ns * pml_sketch_value(left, pml__quantile_share(i));
  s->has_quantiles = true;
  if (!t->sketches) return 0;
  pml_sketch_close(s->sketch);
  int err = pml_summary_sketch(&s->sketch);
  if (err == 0) pml_sketch_add_scaled(s->sketch, left, t->ns);
  return err;
}

static int take_sketch(uint32_t what, const char *at, size_t bytes, void *arg) {
  const struct taking *t = arg;
  struct pml__log_sketch d;
  if (what != PML__LOG_SKETCH || bytes < sizeof d) return 0;
  memcpy(&d, at, sizeof d);
  struct pml__section_definition *s = pml__section_reader_at(t->reader, d.index);
  if (s == NULL) return 0;
  struct pml__unpack u = {(const unsigned char *)at + sizeof d, d.bytes, d.bytes > bytes - sizeof d};
  struct pml_sketch *left = u.failed ? NULL : pml__sketch_unpack(&u);
  if (left == NULL)
    return u.failed ? pml_fail(PML_EFORMAT, "%.300s: damaged: the durations of a section", t->reader->log.path)
                    : -ENOMEM;
  int err = take_left(t, s, left);
  pml_sketch_close(left);
  return err;
}

/* Quantiles of the whole series, because a sketch would only approximate them. */
static int take_quantiles(uint32_t what, const char *at, size_t bytes, void *arg) {
  const struct taking *t = arg;
  struct pml__log_quantiles d;
  if (what != PML__LOG_QUANTILES || bytes < sizeof d) return 0;
  memcpy(&d, at, sizeof d);
  struct pml__section_definition *s = pml__section_reader_at(t->reader, d.index);
  for (unsigned i = 0; i < PML__QUANTILES; i++)
    if (!(d.ns[i] >= 0 && d.ns[i] <= DBL_MAX)) return 0;
  if (s == NULL) return 0;
  memcpy(s->quantile, d.ns, sizeof s->quantile);
  s->has_quantiles = true;
  return 0;
}

int pml__section_reader_durations(struct pml__section_reader *b, bool sketches) {
  struct taking t = {b, 1e9 / b->log.head.ticks_per_second, sketches};
  int err = pml__log_read_definitions(&b->log, take_sketch, &t);
  if (err == 0) err = pml__log_read_definitions(&b->log, take_quantiles, &t);
  return err == 0 ? pml__log_read_definitions(&b->log, take_recorder, &t) : err;
}
