/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/log/pml_log_read.c - log reader: head, directories and extents, all untrusted. */
#include "read/log/pml_log_read.h"

#include "base/pml_error.h"
#include "base/pml_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int pml__log_read_at(const struct pml__log_reader *r, uint64_t at, void *to, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    ssize_t n = pread(r->fd, (char *)to + done, bytes - done, (off_t)(at + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return pml_fail(-errno, "%.300s: %s", r->path, strerror(errno));
    if (n == 0) return pml_fail(PML_EFORMAT, "%.300s: it ends where more was", r->path);
    done += (size_t)n;
  }
  return 0;
}

/* ---- the head ---- */

static bool is_text(const char *text, size_t size) {
  return memchr(text, '\0', size) != NULL;
}

static int check_head(const struct pml__log_head *h, const char *path) {
  if (h->magic == __builtin_bswap64(PML__LOG_MAGIC))
    return pml_fail(PML_EFORMAT, "%.300s: written on a machine with the other byte order; read it there", path);
  if (h->magic != PML__LOG_MAGIC) return pml_fail(PML_EFORMAT, "%.300s: not a log of pmlua", path);
  if (h->version != PML__LOG_VERSION)
    return pml_fail(PML_EFORMAT, "%.300s: a log of version %u; this pmlua reads version %u", path, h->version,
                    PML__LOG_VERSION);
  if (!(h->ticks_per_second >= 1e3 && h->ticks_per_second <= 1e12))
    return pml_fail(PML_EFORMAT, "%.300s: damaged: its clock has %g ticks a second", path, h->ticks_per_second);
  if (!is_text(h->clock, sizeof h->clock) || !is_text(h->host, sizeof h->host) ||
      !is_text(h->command, sizeof h->command) || h->pid < 0)
    return pml_fail(PML_EFORMAT, "%.300s: damaged: its head has texts that do not end, or no pid", path);
  return 0;
}

/* ---- the directories ---- */

static bool is_used(const struct pml__log_entry *e) {
  return e->kind > PML__LOG_MORE && e->kind < PML__LOG_KINDS;
}

/* Extents that share bytes would make more work than the file has bytes. */
static int take_entry(struct pml__log_reader *r, const struct pml__log_entry *e, uint64_t place, uint64_t *all,
                      const char *path) {
  if (e->at % PML__LOG_STEP != 0 || e->at < PML__LOG_DIRECTORY || e->bytes > PML__LOG_EXTENT_MAX ||
      e->at > UINT64_MAX / 2 || e->committed > e->bytes)
    return pml_fail(PML_EFORMAT, "%.300s: damaged: an extent has an impossible place", path);
  if (e->at + e->bytes > r->bytes) {
    r->missing++;
    return 0;
  }
  *all += e->bytes;
  if (*all > r->bytes) return pml_fail(PML_EFORMAT, "%.300s: damaged: its extents share bytes", path);
  r->place[r->n] = place;
  r->entry[r->n++] = *e;
  return 0;
}

/* Entries of a directory that are read together. */
struct ahead {
  uint64_t at;
  size_t n;
  struct pml__log_entry entry[64];
};

/* The entry at @at, behind which there are @more in the file; NULL: *@err says why. */
static const struct pml__log_entry *entry_at(const struct pml__log_reader *r, struct ahead *a, uint64_t at,
                                             uint64_t more, int *err) {
  const uint64_t size = sizeof *a->entry;
  if (at < a->at || at >= a->at + a->n * size) {
    a->at = at;
    a->n = more < 64 ? (size_t)more : 64;
    *err = pml__log_read_at(r, at, a->entry, a->n * size);
    if (*err < 0) return NULL;
  }
  return &a->entry[(at - a->at) / size];
}

static uint64_t least(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

static int read_directories(struct pml__log_reader *r, const char *path) {
  const uint64_t size = sizeof(struct pml__log_entry);
  uint64_t left = r->head.entries, at = PML__LOG_ENTRIES_AT, end = PML__LOG_DIRECTORY, all = PML__LOG_DIRECTORY;
  if (left * size > r->bytes)
    return pml_fail(PML_EFORMAT, "%.300s: damaged: its header states %u extents", path, r->head.entries);
  r->entry = calloc(left + 1, size);
  r->place = calloc(left + 1, sizeof *r->place);
  if (r->entry == NULL || r->place == NULL) return pml_fail(-ENOMEM, "no memory to read a log");
  struct ahead ahead = {0};
  int err = 0;
  for (; left > 0 && at + size <= r->bytes; left--) {
    const struct pml__log_entry *e = entry_at(r, &ahead, at, least(left, (least(end, r->bytes) - at) / size), &err);
    if (e == NULL) return err;
    at += size;
    r->lossy |= e->kind == PML__LOG_FREE && e->from != 0;
    if (at == end && left > 1) {
      if (e->kind != PML__LOG_MORE || e->at % PML__LOG_STEP != 0 || e->at < end || e->at > r->bytes)
        return pml_fail(PML_EFORMAT, "%.300s: damaged: a directory is not where it should be", path);
      at = e->at;
      end = at + PML__LOG_DIRECTORY;
    } else if (is_used(e)) {
      err = take_entry(r, e, at - size, &all, path);
      if (err < 0) return err;
    }
  }
  r->missing += (uint32_t)left;
  return 0;
}

/* ---- moved-out extents ---- */

struct origin {
  uint64_t at;
  size_t i;      /* index of its entry */
  uint64_t turn; /* how often it was moved out */
};

static int by_place(const void *a, const void *b) {
  const struct origin *x = a, *y = b;
  return (x->at > y->at) - (x->at < y->at);
}

static bool is_moved_out(const struct pml__log_entry *e) {
  return e->kind == PML__LOG_EVENTS && e->from != 0;
}

/*
 * Set the turn of each origin's entry from its last moved-out extent. That extent exists before the origin's turn
 * changes, but perhaps not yet in the directory that was read: then the origin's current events would follow a gap, and
 * is_still() omits them. If the log retains only the last extents, that extent may be gone: then the origin's turn is
 * used.
 */
static void count_turns(struct pml__log_reader *r, struct origin *o, size_t n) {
  qsort(o, n, sizeof *o, by_place);
  for (size_t i = 0; i < r->n; i++) {
    const struct origin key = {.at = r->entry[i].from};
    struct origin *of = is_moved_out(&r->entry[i]) ? bsearch(&key, o, n, sizeof *o, by_place) : NULL;
    if (of != NULL && of->turn <= r->entry[i].turn) of->turn = r->entry[i].turn + 1;
  }
  for (size_t i = 0; i < n; i++) r->entry[o[i].i].turn = o[i].turn;
}

static bool has_turns(const struct pml__log_entry *e) {
  return e->kind == PML__LOG_EVENTS && e->from == 0 && e->turn > 0;
}

/* Put origins behind all others, so that they come after the extents moved out of them. */
static void put_last(struct pml__log_reader *r, struct pml__log_entry *entry, uint64_t *place) {
  size_t k = 0;
  for (int last = 0; last < 2; last++)
    for (size_t i = 0; i < r->n; i++)
      if (has_turns(&r->entry[i]) == (last == 1)) {
        entry[k] = r->entry[i];
        place[k++] = r->place[i];
      }
  free(r->entry);
  free(r->place);
  r->entry = entry;
  r->place = place;
}

static int order_turns(struct pml__log_reader *r) {
  size_t moved = 0;
  for (size_t i = 0; i < r->n; i++) moved += is_moved_out(&r->entry[i]);
  if (moved == 0) {
    for (size_t i = 0; i < r->n; i++) r->entry[i].turn = 0;
    return 0;
  }
  struct origin *o = calloc(r->n + 1, sizeof *o);
  struct pml__log_entry *entry = calloc(r->n + 1, sizeof *entry);
  uint64_t *place = calloc(r->n + 1, sizeof *place);
  size_t n = 0;
  if (o == NULL || entry == NULL || place == NULL) {
    free(o);
    free(entry);
    free(place);
    return pml_fail(-ENOMEM, "no memory to read a log");
  }
  for (size_t i = 0; i < r->n; i++)
    if (r->entry[i].kind == PML__LOG_EVENTS && r->entry[i].from == 0)
      o[n++] =
          (struct origin){.at = r->entry[i].at, .i = i, .turn = r->lossy && r->missing == 0 ? r->entry[i].turn : 0};
  count_turns(r, o, n);
  put_last(r, entry, place);
  free(o);
  return 0;
}

int pml__log_read_open(struct pml__log_reader *r, const char *path) {
  struct stat st;
  *r = (struct pml__log_reader){.fd = -1, .path = path};
  r->fd = pml_file_open(path, UINT64_MAX, &r->bytes);
  if (r->fd < 0) return r->fd;
  if (r->bytes < sizeof r->head) return pml_fail(PML_EFORMAT, "%.300s: not a log of pmlua", path);
  if (fstat(r->fd, &st) == 0) r->modified_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
  int err = pml__log_read_at(r, 0, &r->head, sizeof r->head);
  if (err == 0) err = check_head(&r->head, path);
  if (err == 0) err = read_directories(r, path);
  return err == 0 ? order_turns(r) : err;
}

void pml__log_read_close(struct pml__log_reader *r) {
  if (r->fd >= 0) close(r->fd);
  free(r->entry);
  free(r->place);
  *r = (struct pml__log_reader){.fd = -1};
}

/* ---- extents ---- */

/* Whether the entry is unchanged, except @committed, which grows. Its turn must match its last moved-out extent; else
 * the process ended while it moved events out, or the events are newer than the directory that was read. */
static bool is_still(const struct pml__log_reader *r, size_t i, int *err) {
  struct pml__log_entry now;
  *err = pml__log_read_at(r, r->place[i], &now, sizeof now);
  if (*err < 0 || memcmp(&now, &r->entry[i], offsetof(struct pml__log_entry, committed)) != 0) return false;
  return now.kind != PML__LOG_EVENTS || is_moved_out(&now) || now.turn == r->entry[i].turn;
}

static bool may_change(const struct pml__log_reader *r, size_t i) {
  return r->head.ended == PML__LOG_RUNNING || r->entry[i].kind == PML__LOG_EVENTS;
}

void *pml__log_read_part(const struct pml__log_reader *r, size_t i, uint64_t from, uint64_t bytes, int *err) {
  char *part = aligned_alloc(64, (bytes / 64 + 1) * 64); /* records begin at cache lines */
  *err = part != NULL ? pml__log_read_at(r, r->entry[i].at + from, part, bytes)
                      : pml_fail(-ENOMEM, "no memory to read a log");
  if (*err == 0 && (!may_change(r, i) || is_still(r, i, err))) return part;
  free(part);
  return NULL;
}

void *pml__log_read_extent(const struct pml__log_reader *r, size_t i, uint64_t *bytes, int *err) {
  const struct pml__log_entry *e = &r->entry[i];
  bool grows = e->kind == PML__LOG_DEFINITIONS || e->kind == PML__LOG_SERIES;
  *bytes = grows ? e->committed : e->bytes;
  return pml__log_read_part(r, i, 0, *bytes, err);
}

/* Definitions are read in pieces: an extent may claim more bytes than there is memory. pmlua writes no longer
 * definition. */
#define PIECE_BYTES ((uint64_t)1 << 20)
#define LONGEST_BYTES ((uint64_t)1 << 26)

typedef int visit_fn(uint32_t what, const char *at, size_t bytes, void *arg);

/* *done: the bytes of whole definitions; *next: the bytes of the next definition, 0: not a definition. */
static int visit_piece(const char *at, uint64_t bytes, uint64_t *done, uint64_t *next, visit_fn *visit, void *arg) {
  struct pml__log_definition d;
  int err = 0;
  *done = 0;
  *next = sizeof d;
  while (err == 0 && bytes - *done >= sizeof d) {
    memcpy(&d, at + *done, sizeof d);
    bool is = d.bytes >= sizeof d && d.bytes % 8 == 0 && d.bytes <= LONGEST_BYTES;
    *next = is ? d.bytes : 0;
    if (!is || d.bytes > bytes - *done) return 0;
    err = visit(d.what, at + *done + sizeof d, d.bytes - sizeof d, arg);
    *done += d.bytes;
    *next = sizeof d;
  }
  return err;
}

static int visit_all(const struct pml__log_reader *r, size_t i, visit_fn *visit, void *arg) {
  uint64_t at = 0, left = r->entry[i].committed, next = 1, done;
  int err = 0;
  while (err == 0 && next > 0 && next <= left) {
    uint64_t bytes = least(left, next > PIECE_BYTES ? next : PIECE_BYTES);
    char *piece = pml__log_read_part(r, i, at, bytes, &err);
    if (piece == NULL) break;
    err = visit_piece(piece, bytes, &done, &next, visit, arg);
    free(piece);
    at += done;
    left -= done;
  }
  return err;
}

int pml__log_read_definitions(const struct pml__log_reader *r, visit_fn *visit, void *arg) {
  int err = 0;
  for (size_t i = 0; i < r->n && err == 0; i++)
    if (r->entry[i].kind == PML__LOG_DEFINITIONS) err = visit_all(r, i, visit, arg);
  return err;
}

const char *pml__log_text(const char **at, size_t *left) {
  const char *text = *at;
  size_t n = strnlen(text, *left);
  if (n == *left) return NULL;
  *at += n + 1;
  *left -= n + 1;
  return text;
}

/* The kind of a region in a log of 1.0.0, which contains none, if its names show it. */
static const char *kind_by_names(const char *name, const char *file) {
  if (strncmp(name, "omp ", 4) == 0) return PML__REGION_OPENMP;
  if (file[0] == '\0' && strncmp(name, "MPI_", 4) == 0) return PML__REGION_MPI;
  return strstr(file, ".so") != NULL ? PML__REGION_LIBRARY : "";
}

bool pml__log_region_of(const char *at, size_t bytes, struct pml__log_named_region *r) {
  struct pml__log_region d;
  if (bytes <= sizeof d) return false;
  memcpy(&d, at, sizeof d);
  at += sizeof d;
  bytes -= sizeof d;
  *r = (struct pml__log_named_region){.region = d.region, .line = d.line, .name = pml__log_text(&at, &bytes)};
  if (r->name == NULL || r->name[0] == '\0' || d.region == 0 || d.region >= PML_REGIONS_MAX) return false;
  r->file = pml__log_text(&at, &bytes);
  if (r->file == NULL) return false;
  r->kind = pml__log_text(&at, &bytes);
  if (r->kind == NULL || r->kind[0] == '\0') r->kind = kind_by_names(r->name, r->file);
  return true;
}

/* ---- communications ---- */

static uint32_t message_values(uint32_t code, uint64_t bytes, uint64_t tag_and_rank, uint64_t *value) {
  value[0] = (uint64_t)code << 32 | (uint32_t)tag_and_rank;
  value[1] = tag_and_rank >> 32;
  value[2] = bytes;
  return 3;
}

uint32_t pml__log_call_values(const struct pml__log_event *e, uint64_t value[PML__LOG_CALL_VALUES]) {
  const uint64_t *more = (const uint64_t *)(e + 1);
  uint32_t low = (uint32_t)e->word, n = PML__LOG_COMMUNICATED_N(low), code = PML__LOG_COMMUNICATED_CODE(low);
  switch (PML__LOG_COMMUNICATED_WHAT(low)) {
  case PML__LOG_SEND:
  case PML__LOG_RECEIVE:
    return n >= 1 ? message_values(code, e->ticks, more[0], value) : 0;
  case PML__LOG_ISEND:
  case PML__LOG_IRECV_COMPLETE:
    if (n < 2) return 0;
    value[3] = more[1];
    return message_values(code, e->ticks, more[0], value) + 1;
  case PML__LOG_IRECV:
  case PML__LOG_ISEND_COMPLETE:
  case PML__LOG_REQUEST_TESTED:
    value[0] = e->ticks;
    return 1;
  case PML__LOG_COLLECTIVE_END:
    value[0] = e->ticks;
    value[1] = n >= 2 ? more[0] : 0;
    value[2] = n >= 2 ? more[1] : 0;
    value[3] = 0;
    return 4;
  default:
    return 0;
  }
}
