/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/recording/pml_recording_read.c - reader of recorded calls in a log: status, names, blocks. */
#include "base/pml_array.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "program/pml_source_line.h"
#include "read/log/pml_log_read.h"
#include "read/recording/pml_recording_read_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

pml_region_t pml__recording_region(const struct pml_recording_reader *r, uint32_t theirs) {
  return theirs < r->nregions ? r->region[theirs] : 0;
}

double pml_recording_tick_ns(const struct pml_recording_reader *r) {
  return 1e9 / r->log.head.ticks_per_second;
}

/* ---- plausible values ---- */

static uint64_t later(uint64_t a, uint64_t b) {
  return a > b ? a : b;
}

/*
 * The longest possible duration since the beginning of the recording, plus a minute for clocks that were set. The clock
 * of the recording machine may be ahead of this machine's: then the process's end, or the file's last change, is later
 * than now.
 */
static double seconds(const struct pml_recording_reader *r) {
  const struct pml__log_head *h = &r->log.head;
  uint64_t last = later(pml_clock_realtime_ns(), later(r->log.modified_ns, h->ended_ns));
  return (last > h->started_ns ? (double)(last - h->started_ns) * 1e-9 : 0) + 60;
}

bool pml__recording_plausible_calls(const struct pml_recording_reader *r, uint64_t calls) {
  return (double)calls <= seconds(r) * 1e9 * 65536;
}

bool pml__recording_plausible_ticks(const struct pml_recording_reader *r, uint64_t ticks) {
  return (double)ticks <= seconds(r) * r->log.head.ticks_per_second;
}

/* Valid if both times are within the process's life. */
uint64_t pml__recording_end_ticks(const struct pml_recording_reader *r) {
  const struct pml__log_head *h = &r->log.head;
  if (h->ended_ns <= h->started_ns) return 0;
  double ticks = (double)(h->ended_ns - h->started_ns) * 1e-9 * h->ticks_per_second;
  return ticks >= 0 && ticks < 9e18 ? h->started_ticks + (uint64_t)ticks : 0;
}

/* ---- names ---- */

/* Damaged names are omitted. */
static int take_name(struct pml_recording_reader *r, const char *at, size_t bytes) {
  struct pml__log_named_region d;
  pml_region_t ours;
  if (!pml__log_region_of(at, bytes, &d)) return 0;
  if (!PML__ARRAY_ZEROS(r->region, r->nregions, (size_t)d.region + 1))
    return pml_fail(-ENOMEM, "no memory for the names of functions");
  if (pml__recording_intern(r, &d, &ours) == 0) r->region[d.region] = ours;
  return 0;
}

static int take_note(struct pml_recording_reader *r, const char *at, size_t bytes) {
  const size_t prefix = strlen(PML__RECORDING_NOTE);
  const char *key = pml__log_text(&at, &bytes), *text = key != NULL ? pml__log_text(&at, &bytes) : NULL;
  if (text == NULL || strncmp(key, PML__RECORDING_NOTE, prefix) != 0) return 0;
  size_t of_key = strlen(key + prefix) + 1, of_text = strlen(text) + 1;
  struct pml__recording_noted *n = malloc(sizeof *n + of_key + of_text);
  if (n == NULL) return pml_fail(-ENOMEM, "no memory to read a log");
  memcpy(n->key, key + prefix, of_key);
  n->text = memcpy(n->key + of_key, text, of_text);
  n->next = r->notes;
  r->notes = n;
  return 0;
}

const char *pml_recording_read_note(const struct pml_recording_reader *r, const char *key) {
  const struct pml__recording_noted *n = r->notes;
  while (n != NULL && strcmp(n->key, key) != 0) n = n->next;
  return n != NULL ? n->text : NULL;
}

/* Names that are too few, or a number that is too high, define nothing. */
static int take_list(struct pml_recording_reader *r, const char *at, size_t bytes) {
  struct pml__log_list d;
  if (bytes < sizeof d) return 0;
  memcpy(&d, at, sizeof d);
  const char *text = at + sizeof d;
  size_t left = bytes - sizeof d, all = left;
  if (d.number == 0 || d.number >= PML__LOG_LISTS_MAX || d.n == 0 || d.n > PML_STREAM_METRICS_MAX) return 0;
  if (!PML__ARRAY_ZEROS(r->list, r->nlists, (size_t)d.number + 1)) return pml_fail(-ENOMEM, "no memory to read a log");
  const char **name = malloc(d.n * sizeof *name + all);
  if (name == NULL) return pml_fail(-ENOMEM, "no memory to read a log");
  const char *copy = memcpy((char *)(name + d.n), text, all);
  uint32_t n = 0;
  while (n < d.n && (name[n] = pml__log_text(&copy, &left)) != NULL) n++;
  struct pml__recording_named *list = &r->list[d.number];
  if (n == d.n && list->name == NULL) {
    *list = (struct pml__recording_named){d, name};
    return 0;
  }
  if (n == d.n && list->is.n == d.n) /* defined again, because some became doubles */
    for (int i = 0; i < 2; i++) list->is.real[i] |= d.real[i];
  free(name);
  return 0;
}

static int take_definition(uint32_t what, const char *at, size_t bytes, void *arg) {
  if (what == PML__LOG_REGION) return take_name(arg, at, bytes);
  if (what == PML__LOG_LIST) return take_list(arg, at, bytes);
  return what == PML__LOG_NOTE ? take_note(arg, at, bytes) : 0;
}

/* ---- life ---- */

static int take_recording(struct pml_recording_reader *r) {
  const struct pml__log_entry *e = r->log.entry;
  size_t i = 0;
  while (i < r->log.n && e[i].kind != PML__LOG_RECORDING) i++;
  if (i == r->log.n || e[i].bytes < sizeof r->head)
    return pml_fail(-ENODATA, "%.300s: has no recorded calls", r->log.path);
  return pml__log_read_at(&r->log, e[i].at, &r->head, sizeof r->head);
}

/* Sum the counts of the head and of all threads' extents. Moved-out extents are skipped, because their counts are
 * outdated. */
static int count_all(struct pml_recording_reader *r) {
  struct pml__log_buffer t;
  int err = 0;
  memcpy(r->count, r->head.count, sizeof r->count);
  for (size_t i = 0; i < r->log.n && err == 0; i++) {
    const struct pml__log_entry *e = &r->log.entry[i];
    if (e->kind != PML__LOG_EVENTS || e->from != 0 || e->bytes < sizeof t) continue;
    err = pml__log_read_at(&r->log, e->at, &t, sizeof t);
    for (int k = 0; err == 0 && k < PML__LOG_COUNTERS; k++) r->count[k] += t.count[k];
  }
  return err;
}

static int read_all(struct pml_recording_reader *r, const char *path, bool recorded) {
  int err = pml__log_read_open(&r->log, path);
  if (err == 0 && recorded) err = take_recording(r);
  if (err == 0) err = count_all(r);
  return err == 0 ? pml__log_read_definitions(&r->log, take_definition, r) : err;
}

static int open_log(struct pml_recording_reader **out, const char *path, bool recorded) {
  *out = NULL;
  struct pml_recording_reader *r = calloc(1, sizeof *r);
  if (r == NULL) return pml_fail(-ENOMEM, "no memory to read a log");
  int err = read_all(r, path, recorded);
  if (err < 0)
    pml_recording_read_close(r);
  else
    *out = r;
  return err;
}

int pml_recording_read_open(struct pml_recording_reader **out, const char *path) {
  return open_log(out, path, true);
}

int pml_recording_read_open_any(struct pml_recording_reader **out, const char *path) {
  return open_log(out, path, false);
}

void pml_recording_read_close(struct pml_recording_reader *r) {
  if (r == NULL) return;
  pml__log_read_close(&r->log);
  pml__source_lines_free(r->lines);
  for (struct pml__recording_noted *n = r->notes, *next; n != NULL; n = next) {
    next = n->next;
    free(n);
  }
  for (uint32_t i = 0; i < r->nlists; i++) free(r->list[i].name);
  free(r->list);
  free(r->region);
  free(r);
}

static int each_block_of(const struct pml_recording_reader *r, const struct pml__log_entry *e,
                         pml__recording_visit_block *visit, void *arg) {
  uint64_t at = e->at, end = e->at + e->bytes;
  while (at + sizeof(struct pml__log_block) <= end) {
    struct pml__log_block b;
    int err = pml__log_read_at(&r->log, at, &b, sizeof b);
    if (err < 0) return err;
    at += sizeof b;
    if (b.bytes == 0 || b.bytes % 64 != 0 || b.bytes > end - at) return 0;
    err = visit(r, &b, at, arg);
    if (err != 0) return err;
    at += b.bytes;
  }
  return 0;
}

int pml__recording_each_block(const struct pml_recording_reader *r, pml__recording_visit_block *visit, void *arg) {
  int err = 0;
  for (size_t i = 0; i < r->log.n && err == 0; i++)
    if (r->log.entry[i].kind == PML__LOG_BLOCKS) err = each_block_of(r, &r->log.entry[i], visit, arg);
  return err;
}

/* A reason's errno as a code; 0 if it is implausible. */
static int code_of(int32_t reason) {
  return reason > 0 && reason < 8192 ? -reason : 0;
}

static enum pml_recording_end end_as(uint32_t ended) {
  static const enum pml_recording_end ends[] = {PML_RECORDING_RUNNING, PML_RECORDING_EXIT, PML_RECORDING_LEFT};
  return ended <= PML__LOG_ENDED_LEFT ? ends[ended] : PML_RECORDING_RUNNING;
}

static enum pml_recording_end end_of(const struct pml_recording_reader *r) {
  return r->head.failed != 0 ? PML_RECORDING_FAILED : end_as(r->log.head.ended);
}

/* Children may be written during the read, one word at a time, so words that are copied first may be older. */
static int each_child_of(const struct pml_recording_reader *r, const struct pml__log_entry *e,
                         int (*visit)(const struct pml_recording_child *c, void *arg), void *arg) {
  struct pml__log_children head;
  struct pml__log_child part[64];
  if (e->bytes < sizeof head) return 0;
  int err = pml__log_read_at(&r->log, e->at, &head, sizeof head);
  uint64_t left = (e->bytes - sizeof head) / sizeof part[0], at = e->at + sizeof head;
  if (err == 0 && head.taken < left) left = head.taken;
  while (err == 0 && left > 0) {
    uint64_t n = left < 64 ? left : 64;
    err = pml__log_read_at(&r->log, at, part, n * sizeof part[0]);
    for (uint64_t i = 0; err == 0 && i < n; i++) {
      const struct pml__log_child *c = &part[i];
      const struct pml_recording_child child = {c->pid, c->parent, c->has_log != 0, code_of(c->refused),
                                                end_as(c->ended)};
      if (c->pid > 0) err = visit(&child, arg);
    }
    at += n * sizeof part[0];
    left -= n;
  }
  return err;
}

int pml_recording_read_children(const struct pml_recording_reader *r,
                                int (*visit)(const struct pml_recording_child *c, void *arg), void *arg) {
  int err = 0;
  for (size_t i = 0; i < r->log.n && err == 0; i++)
    if (r->log.entry[i].kind == PML__LOG_CHILDREN) err = each_child_of(r, &r->log.entry[i], visit, arg);
  return err;
}

void pml_recording_read_story(const struct pml_recording_reader *r, struct pml_recording_story *s) {
  const struct pml__log_recording *h = &r->head;
  *s = (struct pml_recording_story){.pid = r->log.head.pid,
                                    .parent = r->log.head.parent,
                                    .host = r->log.head.host,
                                    .ended = end_of(r),
                                    .end_known = r->log.head.ended_ns != 0,
                                    .waited = r->log.head.waited,
                                    .traced = h->traced != 0,
                                    .counted = h->counted <= PML_COUNT_AT_BOTH ? (enum pml_count_at)h->counted
                                                                               : PML_COUNT_AT_NONE,
                                    .lost_children = h->lost_children,
                                    .refused = code_of(r->log.head.refused),
                                    .uncounted = code_of(h->uncounted),
                                    .dropped = r->count[PML__LOG_DROPPED],
                                    .unmatched = r->count[PML__LOG_UNMATCHED],
                                    .lifted = r->count[PML__LOG_LIFTED],
                                    .unrecorded = r->count[PML__LOG_UNRECORDED],
                                    .deep = r->count[PML__LOG_DEEP],
                                    .brief = r->count[PML__LOG_SHORT],
                                    .often = r->count[PML__LOG_OFTEN],
                                    .older_bytes = r->count[PML__LOG_OLDER] * PML__EVENTS_BYTES,
                                    .missing = r->log.missing};
}

int pml_recording_waited(const char *path, uint32_t waited, uint64_t ns) {
  int err = pml__log_waited(path, waited, ns);
  return err < 0 ? pml_fail(err, "%s: how its process ended cannot be written there", path) : 0;
}
