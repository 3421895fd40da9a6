/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/spool/pml_spool_read.c - a spool's head, where its extents are, its names, and its call paths. */
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "substrate/profile/pml_profile_tree.h"
#include "substrate/spool/pml_spool_read_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- bytes ---- */

int pml__spool_read_at(const struct pml_spool_reader *r, uint64_t at, void *to, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    ssize_t n = pread(r->fd, (char *)to + done, bytes - done, (off_t)(at + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return pml_fail(-errno, "the spool cannot be read: %s", strerror(errno));
    if (n == 0) return pml_fail(PML_EFORMAT, "the spool ends where more was");
    done += (size_t)n;
  }
  return 0;
}

void *pml__spool_read_part(const struct pml_spool_reader *r, const struct pml__spool_part *p, int *err) {
  size_t bytes = (size_t)p->units * PML__SPOOL_UNIT;
  void *all = malloc(bytes);
  *err = all != NULL ? pml__spool_read_at(r, p->at, all, bytes) : pml_fail(-ENOMEM, "no memory to read a spool");
  if (*err == 0) return all;
  free(all);
  return NULL;
}

pml_region_t pml__spool_region(const struct pml_spool_reader *r, uint32_t theirs) {
  return theirs < r->nregions ? r->region[theirs] : 0;
}

/* ---- what can be ---- */

/* Since the recording began, and a minute more for clocks that were set. */
static double seconds(const struct pml_spool_reader *r) {
  uint64_t now = pml_clock_realtime_ns(), then = r->head.realtime_ns;
  return (now > then ? (double)(now - then) * 1e-9 : 0) + 60;
}

bool pml__spool_plausible_calls(const struct pml_spool_reader *r, uint64_t calls) {
  return (double)calls <= seconds(r) * 1e9 * 65536;
}

bool pml__spool_plausible_ticks(const struct pml_spool_reader *r, uint64_t ticks) {
  return (double)ticks <= seconds(r) * r->head.ticks_per_second;
}

/* ---- extents ---- */

static int add_part(struct pml_spool_reader *r, const struct pml__spool_part *p) {
  if (r->nparts == r->parts_capacity) {
    size_t capacity = r->parts_capacity == 0 ? 64 : 2 * r->parts_capacity;
    struct pml__spool_part *more = realloc(r->part, capacity * sizeof *more);
    if (more == NULL) return pml_fail(-ENOMEM, "no memory for the extents of a spool");
    r->part = more;
    r->parts_capacity = capacity;
  }
  r->part[r->nparts++] = *p;
  return 0;
}

static bool is_extent(const struct pml__spool_extent *e, uint64_t left) {
  if (e->kind < PML__SPOOL_NAMES || e->kind > PML__SPOOL_EVENTS) return false;
  if (e->units == 0 || e->units > left) return false;
  if (e->kind == PML__SPOOL_NAMES) return e->units == 1;
  return e->kind != PML__SPOOL_EVENTS || e->units == PML__SPOOL_EVENT_UNITS;
}

/* A unit that is none was never filled; the next one may be. */
static int find_extents(struct pml_spool_reader *r) {
  uint64_t units = r->bytes / PML__SPOOL_UNIT, at = 1;
  while (at < units) {
    struct pml__spool_extent e;
    int err = pml__spool_read_at(r, at * PML__SPOOL_UNIT, &e, sizeof e);
    if (err < 0) return err;
    if (!is_extent(&e, units - at)) {
      at++;
      continue;
    }
    struct pml__spool_part p = {at * PML__SPOOL_UNIT, e.kind, e.units};
    err = add_part(r, &p);
    if (err < 0) return err;
    for (int i = 0; e.kind == PML__SPOOL_EVENTS && i < PML__SPOOL_COUNTERS; i++) r->count[i] += e.count[i];
    at += e.units;
  }
  return 0;
}

/* ---- names ---- */

static bool make_room(struct pml_spool_reader *r, uint32_t theirs) {
  uint32_t n = r->nregions == 0 ? 256 : r->nregions;
  while (n <= theirs) n *= 2;
  if (n == r->nregions) return true;
  pml_region_t *more = realloc(r->region, n * sizeof *more);
  if (more == NULL) return false;
  memset(more + r->nregions, 0, (n - r->nregions) * sizeof *more);
  r->region = more;
  r->nregions = n;
  return true;
}

/* The name at @text, of @left bytes: a file and a name, each with its end; false: it is none. */
static bool intern(struct pml_spool_reader *r, uint32_t theirs, const char *text, size_t left) {
  size_t file = strnlen(text, left);
  if (file == left || file > PML__SPOOL_FILE_MAX) return false;
  const char *name = text + file + 1;
  size_t n = strnlen(name, left - file - 1);
  if (n == 0 || n == left - file - 1 || n > PML__SPOOL_NAME_MAX) return false;
  pml_region_t ours;
  if (!make_room(r, theirs) || pml_region_intern(name, text, 0, &ours) < 0) return false;
  r->region[theirs] = ours;
  return true;
}

static void read_names(struct pml_spool_reader *r, const char *all) {
  size_t at = sizeof(struct pml__spool_extent);
  while (at + sizeof(struct pml__spool_name) <= PML__SPOOL_UNIT) {
    struct pml__spool_name n;
    memcpy(&n, all + at, sizeof n);
    if (n.region == 0 && n.bytes == 0) {
      at += 8;
      continue;
    }
    if (n.bytes <= sizeof n || n.bytes % 8 != 0 || n.bytes > PML__SPOOL_UNIT - at) return;
    if (n.region != 0 && n.region < PML__SPOOL_MARKS)
      (void)intern(r, n.region, all + at + sizeof n, n.bytes - sizeof n);
    at += n.bytes;
  }
}

static int read_all_names(struct pml_spool_reader *r) {
  int err = 0;
  for (size_t i = 0; i < r->nparts && err == 0; i++) {
    if (r->part[i].kind != PML__SPOOL_NAMES) continue;
    char *all = pml__spool_read_part(r, &r->part[i], &err);
    if (all != NULL) read_names(r, all);
    free(all);
  }
  return err;
}

/* ---- life ---- */

static int check_head(struct pml_spool_reader *r, const char *path) {
  struct pml__spool_head *h = &r->head;
  if (h->magic != PML__SPOOL_MAGIC) return pml_fail(PML_EFORMAT, "'%.300s' is no spool of a recorded process", path);
  if (h->version != PML__SPOOL_VERSION || h->node_bytes != sizeof(struct pml__profile_node))
    return pml_fail(PML_EFORMAT, "'%.300s' was written by another version of pmlua", path);
  if (h->clock_kind != (uint32_t)pml__clock.kind)
    return pml_fail(PML_EFORMAT, "'%.300s' was recorded with another clock; see PMLUA_CLOCK", path);
  if (!(h->ticks_per_second >= 1e3 && h->ticks_per_second <= 1e12))
    return pml_fail(PML_EFORMAT, "'%.300s' is damaged: its clock has %g ticks a second", path, h->ticks_per_second);
  for (int i = 0; i < 2; i++) h->text[i][PML__SPOOL_TEXT_BYTES - 1] = '\0';
  memcpy(r->count, h->count, sizeof r->count);
  return 0;
}

static int read_file(struct pml_spool_reader *r, const char *path) {
  struct stat st;
  r->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (r->fd < 0 || fstat(r->fd, &st) < 0) return pml_fail(-errno, "%.400s: %s", path, strerror(errno));
  r->bytes = (uint64_t)st.st_size;
  if (!S_ISREG(st.st_mode) || r->bytes < sizeof r->head)
    return pml_fail(PML_EFORMAT, "'%.300s' is no spool of a recorded process", path);
  int err = pml__spool_read_at(r, 0, &r->head, sizeof r->head);
  if (err == 0) err = check_head(r, path);
  if (err == 0) err = find_extents(r);
  return err == 0 ? read_all_names(r) : err;
}

int pml_spool_read_open(struct pml_spool_reader **out, const char *path) {
  *out = NULL;
  int err = pml_clock_init();
  if (err < 0) return err;
  struct pml_spool_reader *r = calloc(1, sizeof *r);
  if (r == NULL) return pml_fail(-ENOMEM, "no memory to read a spool");
  r->fd = -1;
  err = read_file(r, path);
  if (err < 0)
    pml_spool_read_close(r);
  else
    *out = r;
  return err;
}

void pml_spool_read_close(struct pml_spool_reader *r) {
  if (r == NULL) return;
  if (r->fd >= 0) close(r->fd);
  free(r->part);
  free(r->region);
  free(r);
}

static int each_block_of(const struct pml_spool_reader *r, const struct pml__spool_part *p,
                         pml__spool_visit_block *visit, void *arg) {
  uint64_t at = p->at + sizeof(struct pml__spool_extent), end = p->at + (uint64_t)p->units * PML__SPOOL_UNIT;
  while (at + sizeof(struct pml__spool_block) <= end) {
    struct pml__spool_block b;
    int err = pml__spool_read_at(r, at, &b, sizeof b);
    if (err < 0) return err;
    at += sizeof b;
    if (b.bytes == 0 || b.bytes % 64 != 0 || b.bytes > end - at) return 0;
    err = visit(r, &b, at, arg);
    if (err != 0) return err;
    at += b.bytes;
  }
  return 0;
}

int pml__spool_each_block(const struct pml_spool_reader *r, pml__spool_visit_block *visit, void *arg) {
  int err = 0;
  for (size_t i = 0; i < r->nparts && err == 0; i++)
    if (r->part[i].kind == PML__SPOOL_MEMORY) err = each_block_of(r, &r->part[i], visit, arg);
  return err;
}

void pml_spool_read_story(const struct pml_spool_reader *r, struct pml_spool_story *s) {
  const struct pml__spool_head *h = &r->head;
  *s = (struct pml_spool_story){
      .pid = h->pid,
      .parent = h->parent,
      .ended = h->ended <= PML_SPOOL_FAILED ? (enum pml_spool_end)h->ended : PML_SPOOL_RUNNING,
      .traced = h->traced != 0,
      .text = h->told == 1 || h->told == 2 ? h->text[h->told - 1] : "",
      .counted = h->counted <= PML_COUNT_AT_BOTH ? (enum pml_count_at)h->counted : PML_COUNT_AT_NONE,
      .lost_children = h->lost_children,
      .refused = h->refused > 0 && h->refused < 4096 ? -h->refused : 0,
      .uncounted = h->uncounted > 0 && h->uncounted < 8192 ? -h->uncounted : 0,
      .dropped = r->count[PML__SPOOL_DROPPED],
      .unmatched = r->count[PML__SPOOL_UNMATCHED],
      .lifted = r->count[PML__SPOOL_LIFTED],
      .unrecorded = r->count[PML__SPOOL_UNRECORDED],
      .deep = r->count[PML__SPOOL_DEEP],
      .brief = r->count[PML__SPOOL_SHORT],
      .often = r->count[PML__SPOOL_OFTEN]};
}
