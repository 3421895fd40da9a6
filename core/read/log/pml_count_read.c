/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/read/log/pml_count_read.c - reader of compiler count files, which may be truncated, damaged or growing.
 */
#include "read/log/pml_count_read.h"

#include "base/pml_error.h"
#include "read/log/pml_log_read.h"
#include "source/compiler/pml_count_cells.h"
#include "source/compiler/pml_count_layout.h"
#include "source/compiler/pml_count_stage.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(((struct pml_count_part *)0)->name) == PML_COUNT_NAME, "a name has room");
_Static_assert(sizeof(((struct pml_counts *)0)->others) == PML_COUNT_OTHERS, "libraries have room");

#define TRIES 3

struct reading {
  const char *path;
  struct pml__log_reader log;
  struct pml_count_area *area;
  uint32_t lanes; /* existing lanes */
  struct pml_counts *counts;
};

static int bad(const struct reading *r, int code, const char *what) {
  return pml_fail(code, "%.300s: %s", r->path, what);
}

static int find(const struct reading *r, size_t *at) {
  for (*at = 0; *at < r->log.n; ++*at)
    if (r->log.entry[*at].kind == PML__LOG_COUNTS) return 0;
  if (r->log.missing > 0) return bad(r, PML_EFORMAT, "it is cut short");
  return bad(r, -ENODATA,
             "it has no counts: a program leaves some that runs with PMLUA_COUNT=FILE and was compiled by "
             "pmlua cc --count");
}

/* If the process still runs, the extent may grow during the read. */
static int open_area(struct reading *r) {
  int err = 0;
  for (int tries = 0; tries < TRIES && err == 0 && r->area == NULL; tries++) {
    size_t at;
    uint64_t bytes = 0;
    if (tries > 0) pml__log_read_close(&r->log);
    err = pml__log_read_open(&r->log, r->path);
    if (err == 0) err = find(r, &at);
    if (err == 0) r->area = pml__log_read_extent(&r->log, at, &bytes, &err);
    if (err == 0 && r->area != NULL && bytes < sizeof *r->area)
      return bad(r, PML_EFORMAT, "it is damaged: no lane is left");
    r->lanes = r->area != NULL ? (uint32_t)((bytes - sizeof *r->area) / sizeof r->area->lane[0]) : 0;
  }
  return err == 0 && r->area == NULL ? pml_fail(-EAGAIN, "%.300s: it grows; read it again", r->path) : err;
}

static int check(struct reading *r) {
  const struct pml_count_header *h = &r->area->header;
  if (h->abi != PML_COUNT_ABI || h->cells != PML_COUNT_CELLS)
    return bad(r, PML_EFORMAT, "its counts are of another version of pmlua; compile and run the program again");
  if (h->lanes > PML_COUNT_LANES) return bad(r, PML_EFORMAT, "it is damaged: it has more lanes than there can be");
  if (h->lanes < r->lanes) r->lanes = h->lanes;
  return 0;
}

static void take_header(struct pml_counts *c, const struct pml__log_head *log, const struct pml_count_header *h) {
  c->pid = log->pid;
  c->parent = log->parent;
  c->started_ns = log->started_ns;
  c->ended = log->ended != 0;
  c->at = pml__count_stage(h->stages);
  c->threads = h->threads;
  c->sharing = h->sharing;
  c->modules = h->modules;
  c->refused = h->refused;
  c->uncounted = h->uncounted;
  memcpy(c->others, h->others, PML_COUNT_OTHERS - 1);
  memcpy(c->host, log->host, strnlen(log->host, sizeof c->host - 1));
  memcpy(c->command, log->command, strnlen(log->command, sizeof c->command - 1));
}

static int take_parts(struct pml_counts *c, const struct pml_count_area *a) {
  c->nparts = a->header.modules < PML_COUNT_ROWS ? (size_t)a->header.modules : PML_COUNT_ROWS;
  c->part = calloc(c->nparts + 1, sizeof *c->part);
  if (c->part == NULL) return -ENOMEM;
  for (size_t i = 0; i < c->nparts; i++) {
    c->part[i].at =
        a->row[i].stage <= PML_COUNT_FINAL ? pml__count_stage(UINT64_C(1) << a->row[i].stage) : PML_COUNT_AT_NONE;
    c->part[i].uncounted = a->row[i].uncounted;
    memcpy(c->part[i].name, a->row[i].name, PML_COUNT_NAME - 1);
  }
  return 0;
}

static void take_cells(const struct reading *r) {
  struct pml_counts *c = r->counts;
  unsigned place[PML_CELL_COUNT];
  for (unsigned i = 0; i < PML_CELL_COUNT; i++) place[i] = pml_count_place(i);
  for (size_t i = 0; i < PML_CELL_COUNT; i++) c->cell[i] = 0 - r->area->inherited[place[i]];
  for (uint32_t k = 0; k < r->lanes; k++) {
    const uint64_t *lane = r->area->lane[k];
    c->underway += lane[PML_COUNT_UNDERWAY] != 0;
    for (size_t i = 0; i < PML_CELL_COUNT; i++) c->cell[i] += lane[place[i]];
  }
  for (size_t i = 0; i < PML_CELL_COUNT; i++)
    for (size_t e = 0; e < PML_BYFL_EVENTS; e++) c->event[e] += c->cell[i] * pml_count_cells[i].worth[e];
}

static int take(struct reading *r) {
  struct pml_counts *c = r->counts;
  int rc = open_area(r);
  if (rc == 0) rc = check(r);
  if (rc < 0) return rc;
  take_header(c, &r->log.head, &r->area->header);
  c->nevents = PML_BYFL_EVENTS;
  c->ncells = PML_CELL_COUNT;
  c->event = calloc(c->nevents, sizeof *c->event);
  c->cell = calloc(c->ncells, sizeof *c->cell);
  rc = c->event == NULL || c->cell == NULL ? -ENOMEM : take_parts(c, r->area);
  if (rc < 0) return pml_fail(rc, "%.300s: out of memory", r->path);
  take_cells(r);
  return 0;
}

int pml_count_read(const char *path, struct pml_counts **counts) {
  struct reading r = {.path = path, .log = {.fd = -1}};
  *counts = NULL;
  if (path == NULL || *path == '\0') return pml_fail(-EINVAL, "a file of counts needs a path");
  r.counts = calloc(1, sizeof *r.counts);
  int rc = r.counts == NULL ? pml_fail(-ENOMEM, "%.300s: out of memory", path) : take(&r);
  pml__log_read_close(&r.log);
  free(r.area);
  if (rc < 0)
    pml_counts_free(r.counts);
  else
    *counts = r.counts;
  return rc;
}

void pml_counts_free(struct pml_counts *c) {
  if (c == NULL) return;
  free(c->event);
  free(c->cell);
  free(c->part);
  free(c);
}
