/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/recording/pml_recording_openmp.c - OpenMP constructs of a log: names and sums. */
#include "program/pml_source_line.h"
#include "read/log/pml_log_read.h"
#include "read/recording/pml_recording_read_private.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

/* Parse "omp CONSTRUCT @OBJECT+0xOFFSET"; returns false for other names. */
static bool parse(const char *name, size_t *before, uint64_t *offset) {
  const char *at = strncmp(name, "omp ", 4) == 0 ? strstr(name, " @") : NULL;
  const char *plus = at != NULL ? strrchr(at, '+') : NULL;
  char *end;
  if (plus == NULL || strncmp(plus, "+0x", 3) != 0) return false;
  *offset = strtoull(plus + 1, &end, 16);
  *before = (size_t)(at + 2 - name);
  return *end == '\0' && *offset > 0;
}

int pml__recording_intern(struct pml_recording_reader *r, const struct pml__log_named_region *of,
                          pml_region_t *region) {
  char full[512], source[PATH_MAX];
  size_t before;
  uint64_t offset;
  uint32_t line;
  if (of->file[0] != '/' || !parse(of->name, &before, &offset) || before > 128 ||
      pml__source_line(&r->lines, of->file, offset, source, sizeof source, &line) < 0)
    return pml__region_of(of->kind, of->name, of->file, of->line, region);
  (void)snprintf(full, sizeof full, "%.*s%.255s:%u", (int)before, of->name, basename(source), line);
  return pml__region_of(of->kind, full, source, line, region);
}

/* ---- sums ---- */

static const char *name_of(unsigned construct) {
  static const char *const name[] = {
#define NAME(construct, name) [PML__LOG_OPENMP_##construct] = name,
      PML__LOG_OPENMP_LIST(NAME)
#undef NAME
  };
  return construct < PML__LOG_OPENMP_CONSTRUCTS ? name[construct] : NULL;
}

/* Incomplete or implausible sums are omitted. */
static int visit_one(const struct pml_recording_reader *r, const struct pml__log_openmp *o,
                     int (*visit)(const struct pml_recording_openmp *o, void *arg), void *arg) {
  const double ns = pml_recording_tick_ns(r);
  const struct pml_recording_openmp sums = {.region = pml__recording_region(r, o->region),
                                            .construct = name_of(o->construct),
                                            .runtime = o->runtime,
                                            .index = o->index,
                                            .threads = o->threads,
                                            .calls = o->calls,
                                            .count = o->count,
                                            .ns = (uint64_t)(ns * (double)o->ticks),
                                            .waited_ns = (uint64_t)(ns * (double)o->waited)};
  bool good = sums.region != 0 && sums.construct != NULL && o->waited <= o->ticks &&
              pml__recording_plausible_calls(r, o->calls);
  return good ? visit(&sums, arg) : 0;
}

static int visit_extent(const struct pml_recording_reader *r, const struct pml__log_entry *e,
                        int (*visit)(const struct pml_recording_openmp *o, void *arg), void *arg) {
  struct pml__log_openmp o;
  int err = 0;
  for (uint64_t at = 0; at + sizeof o <= e->bytes && err == 0; at += sizeof o) {
    err = pml__log_read_at(&r->log, e->at + at, &o, sizeof o);
    if (err == 0 && o.region != 0) err = visit_one(r, &o, visit, arg);
  }
  return err;
}

int pml_recording_read_openmp(const struct pml_recording_reader *r,
                              int (*visit)(const struct pml_recording_openmp *o, void *arg), void *arg) {
  int err = 0;
  for (size_t i = 0; i < r->log.n && err == 0; i++)
    if (r->log.entry[i].kind == PML__LOG_OPENMP) err = visit_extent(r, &r->log.entry[i], visit, arg);
  return err;
}
