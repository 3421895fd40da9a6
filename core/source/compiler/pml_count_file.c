/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/compiler/pml_count_file.c - a file of counts, which may be cut, damaged or growing: nothing in it is
 * believed. */
#include "source/compiler/pml_count_file.h"

#include "base/pml_error.h"
#include "source/compiler/pml_count_cells.h"
#include "source/compiler/pml_count_layout.h"
#include "source/compiler/pml_count_stage.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert(sizeof(((struct pml_count_part *)0)->name) == PML_COUNT_NAME, "a name has room");
_Static_assert(sizeof(((struct pml_counts *)0)->others) == PML_COUNT_OTHERS, "libraries have room");
_Static_assert(sizeof(((struct pml_counts *)0)->command) == PML_COUNT_COMMAND, "a command has room");

struct reading {
  const char *path;
  int fd;
  struct pml_count_area *head; /* all but the lanes */
  struct pml_counts *counts;
};

static int bad(const struct reading *r, const char *what) {
  return pml_fail(-EBADMSG, "%.300s: %s", r->path, what);
}

static int get(const struct reading *r, void *to, size_t n, size_t at) {
  for (size_t done = 0; done < n;) {
    ssize_t got = pread(r->fd, (char *)to + done, n - done, (off_t)(at + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return pml_fail(-errno, "%.300s: %s", r->path, strerror(errno));
    if (got == 0) return bad(r, "cut short, or not a file of counts");
    done += (size_t)got;
  }
  return 0;
}

static int check(const struct reading *r) {
  const struct pml_count_header *h = &r->head->header;
  if (memcmp(h->magic, PML_COUNT_MAGIC, sizeof h->magic) != 0)
    return bad(r, "not a file of counts; run a program with PMLUA_COUNT=FILE that was compiled by "
                  "pmlua cc --count");
  if (h->layout != PML_COUNT_LAYOUT || h->abi != PML_COUNT_ABI || h->cells != PML_COUNT_CELLS)
    return bad(r, "written by another version of pmlua; compile and run the program again");
  return h->lanes > PML_COUNT_LANES ? bad(r, "damaged: more lanes than possible") : 0;
}

/* Arguments end with 0; the last is followed by another. */
static void take_command(char *to, const char *from) {
  memcpy(to, from, PML_COUNT_COMMAND - 2);
  size_t n = PML_COUNT_COMMAND - 2;
  while (n > 0 && to[n - 1] == '\0') n--;
  for (size_t i = 0; i < n; i++)
    if (to[i] == '\0') to[i] = ' ';
  to[n] = '\0';
}

static void take_header(struct pml_counts *c, const struct pml_count_header *h) {
  c->pid = h->pid;
  c->parent = h->parent;
  c->started_ns = h->started_ns;
  c->ended = h->ended != 0;
  c->at = pml__count_stage(h->stages);
  c->threads = h->threads;
  c->sharing = h->sharing;
  c->modules = h->modules;
  c->refused = h->refused;
  c->uncounted = h->uncounted;
  memcpy(c->others, h->others, PML_COUNT_OTHERS - 1);
  take_command(c->command, h->command);
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

static int take_cells(struct reading *r) {
  struct pml_counts *c = r->counts;
  uint64_t lane[PML_COUNT_CELLS];
  for (size_t i = 0; i < PML_CELL_COUNT; i++) c->cell[i] = 0 - r->head->inherited[i];
  for (uint32_t k = 0; k < r->head->header.lanes; k++) {
    int rc = get(r, lane, sizeof lane, offsetof(struct pml_count_area, lane) + k * sizeof lane);
    if (rc < 0) return rc;
    c->underway += lane[PML_COUNT_UNDERWAY] != 0;
    for (size_t i = 0; i < PML_CELL_COUNT; i++) c->cell[i] += lane[i];
  }
  for (size_t i = 0; i < PML_CELL_COUNT; i++)
    for (size_t e = 0; e < PML_BYFL_EVENTS; e++) c->event[e] += c->cell[i] * pml_count_cells[i].worth[e];
  return 0;
}

static int take(struct reading *r) {
  struct pml_counts *c = r->counts;
  int rc = get(r, r->head, sizeof *r->head, 0);
  if (rc == 0) rc = check(r);
  if (rc < 0) return rc;
  take_header(c, &r->head->header);
  c->nevents = PML_BYFL_EVENTS;
  c->ncells = PML_CELL_COUNT;
  c->event = calloc(c->nevents, sizeof *c->event);
  c->cell = calloc(c->ncells, sizeof *c->cell);
  rc = c->event == NULL || c->cell == NULL ? -ENOMEM : take_parts(c, r->head);
  return rc < 0 ? pml_fail(rc, "%.300s: out of memory", r->path) : take_cells(r);
}

int pml_count_read(const char *path, struct pml_counts **counts) {
  struct reading r = {.path = path, .fd = -1};
  *counts = NULL;
  if (path == NULL || *path == '\0') return pml_fail(-EINVAL, "a file of counts needs a path");
  r.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (r.fd < 0) return pml_fail(-errno, "%.300s: %s", path, strerror(errno));
  r.head = malloc(sizeof *r.head);
  r.counts = calloc(1, sizeof *r.counts);
  int rc = r.head == NULL || r.counts == NULL ? pml_fail(-ENOMEM, "%.300s: out of memory", path) : take(&r);
  (void)close(r.fd);
  free(r.head);
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

const char *pml_count_at_name(enum pml_count_at at) {
  static const char *const names[] = {"none", "source", "final", "mixed"};
  return names[(unsigned)at <= PML_COUNT_AT_BOTH ? at : PML_COUNT_AT_NONE];
}

bool pml_count_kind(size_t i, const char **name, const char **description) {
  if (i >= PML_BYFL_EVENTS + PML_CELL_COUNT) return false;
  bool sum = i < PML_BYFL_EVENTS;
  *name = sum ? pml_byfl_events[i].name : pml_count_cells[i - PML_BYFL_EVENTS].name;
  *description = sum ? pml_byfl_events[i].help : pml_count_cells[i - PML_BYFL_EVENTS].help;
  return true;
}

const char *pml_count_at_label(enum pml_count_at at) {
  static const char *const labels[] = {"", "counted by the compiler, at source", "counted by the compiler, at final",
                                       "counted by the compiler, some at source, some at final"};
  return labels[(unsigned)at <= PML_COUNT_AT_BOTH ? at : PML_COUNT_AT_NONE];
}

bool pml_count_is_event(const char *name) {
  static const char prefix[] = "sde:::BYFL::";
  return strncmp(name, prefix, sizeof prefix - 1) == 0;
}
