/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/archive/pml_archive_process.c - process metadata of a log: names, clock, rank, communicators. */
#include "base/pml_array.h"
#include "base/pml_error.h"
#include "read/archive/pml_archive_private.h"
#include "read/log/pml_log_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- definitions ---- */

static bool is_plausible(const struct pml__log_communicator *c) {
  return c->number != 0 && c->size >= 1 && c->size <= PML__ARCHIVE_RANKS_MAX && c->rank >= 0 && c->rank < c->size;
}

/* The next text, "" after the last; NULL: no memory. */
static char *text_of(const char **at, size_t *left) {
  const char *text = pml__log_text(at, left);
  return strdup(text != NULL ? text : "");
}

static void free_comm(struct pml__archive_comm *c) {
  free(c->name);
  free(c->members[0]);
  free(c->members[1]);
}

/* A communicator without members is omitted. */
static int take_comm(struct pml__archive_process *p, const char *at, size_t bytes) {
  struct pml__archive_comm c = {.ref = UINT32_MAX, .place = p->ncomms};
  if (bytes < sizeof c.is) return 0;
  memcpy(&c.is, at, sizeof c.is);
  at += sizeof c.is;
  bytes -= sizeof c.is;
  if (!is_plausible(&c.is)) return 0;
  c.name = text_of(&at, &bytes);
  for (int side = 0; side < 2; side++) c.members[side] = text_of(&at, &bytes);
  bool whole = c.name != NULL && c.members[0] != NULL && c.members[1] != NULL;
  if (!whole || !PML__ARRAY_ROOM(p->comm, p->comms, p->ncomms + 1)) {
    free_comm(&c);
    return pml_fail(-ENOMEM, "no memory for communicator %u of '%.200s'", c.is.number, p->log->path);
  }
  p->comm[p->ncomms++] = c;
  if ((c.is.flags & PML__LOG_COMM_WORLD) == 0) return 0;
  p->rank = c.is.rank;
  p->size = c.is.size;
  return 0;
}

static int take_window(struct pml__archive_process *p, const char *at, size_t bytes) {
  struct pml__archive_window w = {.ref = UINT32_MAX};
  if (bytes < sizeof w.is) return 0;
  memcpy(&w.is, at, sizeof w.is);
  at += sizeof w.is;
  bytes -= sizeof w.is;
  if (PML__ARRAY_ROOM(p->window, p->windows, p->nwindows + 1)) w.name = text_of(&at, &bytes);
  if (w.name == NULL) return pml_fail(-ENOMEM, "no memory for window %u of '%.200s'", w.is.number, p->log->path);
  p->window[p->nwindows++] = w;
  return 0;
}

static int take_offset(struct pml__archive_process *p, const char *at, size_t bytes) {
  struct pml__log_clock_offset o;
  if (bytes < sizeof o) return 0;
  memcpy(&o, at, sizeof o);
  return pml__archive_clock_measured(&p->own, o.ticks, o.offset_ns);
}

static int take_job(struct pml__archive_process *p, const char *at, size_t bytes) {
  struct pml__log_mpi m;
  if (bytes < sizeof m) return 0;
  memcpy(&m, at, sizeof m);
  p->job = m.job;
  return 0;
}

static int take_definition(uint32_t what, const char *at, size_t bytes, void *arg) {
  if (what == PML__LOG_COMMUNICATOR) return take_comm(arg, at, bytes);
  if (what == PML__LOG_WINDOW) return take_window(arg, at, bytes);
  if (what == PML__LOG_MPI) return take_job(arg, at, bytes);
  return what == PML__LOG_CLOCK_OFFSET ? take_offset(arg, at, bytes) : 0;
}

/* ---- communicators ---- */

static int by_number(const void *a, const void *b) {
  const struct pml__archive_comm *x = a, *y = b;
  return x->is.number < y->is.number ? -1 : x->is.number > y->is.number;
}

static int by_number_and_place(const void *a, const void *b) {
  const struct pml__archive_comm *x = a, *y = b;
  int order = by_number(a, b);
  return order != 0 ? order : x->place < y->place ? -1 : x->place > y->place;
}

const struct pml__archive_comm *pml__archive_comm_of(const struct pml__archive_process *p, uint32_t number) {
  const struct pml__archive_comm key = {.is = {.number = number}};
  return p->ncomms > 0 ? bsearch(&key, p->comm, p->ncomms, sizeof key, by_number) : NULL;
}

const struct pml__archive_window *pml__archive_window_of(const struct pml__archive_process *p, uint32_t number) {
  for (size_t i = p->nwindows; i-- > 0;)
    if (p->window[i].is.number == number) return &p->window[i];
  return NULL;
}

/* Sort by number; of several definitions of a number the last one counts. */
static void sort_comms(struct pml__archive_process *p) {
  size_t n = 0;
  if (p->ncomms > 0) qsort(p->comm, p->ncomms, sizeof *p->comm, by_number_and_place);
  for (size_t i = 0; i < p->ncomms; i++) {
    if (i + 1 < p->ncomms && p->comm[i + 1].is.number == p->comm[i].is.number)
      free_comm(&p->comm[i]);
    else
      p->comm[n++] = p->comm[i];
  }
  p->ncomms = n;
}

/* ---- a process ---- */

/* "PROGRAM (PID)", unless the process is a rank. */
static int name_it(struct pml__archive_process *p, const struct pml_recording_reader *r) {
  const char *program = pml_recording_read_note(r, "program");
  p->program = strdup(program != NULL ? basename(program) : "?");
  int n = p->rank >= 0         ? asprintf(&p->name, "MPI Rank %d", p->rank)
          : p->program != NULL ? asprintf(&p->name, "%.400s (%d)", p->program, p->pid)
                               : -1;
  if (n < 0) p->name = NULL;
  p->host = strdup(r->log.head.host);
  bool all = p->program != NULL && p->name != NULL && p->host != NULL;
  return all ? 0 : pml_fail(-ENOMEM, "no memory for a process of a trace");
}

static int take_child(const struct pml_recording_child *c, void *arg) {
  struct pml__archive_process *p = arg;
  if (c->has_log) return 0;
  if (!PML__ARRAY_ROOM(p->child, p->children, p->nchildren + 1))
    return pml_fail(-ENOMEM, "no memory for the children of a process of a trace");
  p->child[p->nchildren++] = c->pid;
  return 0;
}

static int know(struct pml__archive_process *p, const struct pml_recording_reader *r) {
  const struct pml__log_head *h = &r->log.head;
  p->pid = h->pid;
  p->bytes = r->log.bytes;
  p->own.started_ns = h->started_ns;
  p->own.started_ticks = h->started_ticks;
  p->own.ns_per_tick = 1e9 / h->ticks_per_second;
  int err = pml__log_read_definitions(&r->log, take_definition, p);
  sort_comms(p);
  if (err == 0) err = pml_recording_read_children(r, take_child, p);
  return err == 0 ? name_it(p, r) : err;
}

int pml__archive_know(struct pml__archive_process *p, const struct pml_archive_log *log) {
  struct pml_recording_reader *r;
  *p = (struct pml__archive_process){.log = log, .rank = -1, .size = -1};
  p->clock = &p->own;
  int err = pml_recording_read_open(&r, log->path);
  if (err == 0) err = know(p, r);
  pml_recording_read_close(r);
  return err;
}

void pml__archive_forget(struct pml__archive_process *p) {
  for (size_t i = 0; i < p->ncomms; i++) free_comm(&p->comm[i]);
  free(p->comm);
  for (size_t i = 0; i < p->nwindows; i++) free(p->window[i].name);
  free(p->window);
  free(p->name);
  free(p->host);
  free(p->program);
  free(p->child);
  free(p->delay);
  pml__archive_clock_free(&p->own);
}
