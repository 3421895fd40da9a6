/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/pml_history.c - compressed series of a process's values in its log. */
#include "record/pml_history.h"

#include "base/pml_array.h"
#include "base/pml_clock.h"
#include "base/pml_process.h"
#include "base/pml_setting.h"
#include "base/text/pml_say.h"
#include "record/log/pml_log_own.h"

#include <stdlib.h>
#include <string.h>

#define EXTENT_BYTES 65536u
#define EXTENT_CHUNKS (EXTENT_BYTES / PML__LOG_HISTORY_CHUNK)

#define EARLY_MS 500 /* a sample may come so much early, so that no second is left out */
static const int64_t period_ms[PML__HISTORY_RATES] = {1000, 60000};
static const int64_t span_ms[PML__HISTORY_RATES] = {INT64_C(3600000), INT64_C(31) * 86400000};

/* The writer's data about a chunk. */
struct chunk {
  struct pml__log_history *at;
  uint64_t turn;
  int64_t last_ms; /* its last sample */
  uint32_t rate;
};

/* Used by one caller at a time, as pml__history_add() says. */
static struct {
  uint64_t process; /* the rest is this process's */
  struct chunk *chunk;
  size_t n, room, limit; /* chunks in use, and at most */
  size_t of_rate[PML__HISTORY_RATES];
  char *extent; /* that has room for @left more chunks */
  size_t left;
  uint64_t turns;
  bool refused;
} history;

/* ---- the environment ---- */

static uint64_t bound(void) {
  const char *wish = pml__setting("PMLUA_HISTORY");
  if (wish == NULL || *wish == '\0') return PML__HISTORY_BYTES;
  if (strcmp(wish, "off") == 0) return 0;
  char *end;
  unsigned long long n = strtoull(wish, &end, 10);
  unsigned shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
  if (*wish >= '0' && *wish <= '9' && end[shift > 0] == '\0' && n <= PML__HISTORY_BYTES_MAX >> shift)
    return (uint64_t)n << shift;
  pml__say("PMLUA_HISTORY=%.100s: set off, or a number of bytes such as 16M, at most 64G; the log keeps 16M", wish);
  return PML__HISTORY_BYTES;
}

/* In a child: its parent's log has the old chunks. */
static void begin(void) {
  free(history.chunk);
  memset(&history, 0, sizeof history);
  history.process = pml__process();
  history.limit = (size_t)(bound() / PML__LOG_HISTORY_CHUNK);
}

/* ---- chunks ---- */

/* The chunk of @rate whose last sample is the oldest, and older than @before_ms. */
static struct chunk *oldest(uint32_t rate, int64_t before_ms) {
  struct chunk *found = NULL;
  for (size_t i = 0; i < history.n; i++) {
    struct chunk *c = &history.chunk[i];
    if (c->rate == rate && c->last_ms < before_ms && (found == NULL || c->last_ms < found->last_ms)) found = c;
  }
  return found;
}

static struct chunk *new_chunk(struct pml__log *log, uint32_t rate) {
  struct pml__log_entry *entry;
  if (history.of_rate[rate] >= history.limit / PML__HISTORY_RATES) return NULL;
  if (!PML__ARRAY_ROOM(history.chunk, history.room, history.n + 1)) return NULL;
  if (history.left == 0) {
    history.extent = pml__log_extent(log, PML__LOG_HISTORY, 0, 0, EXTENT_BYTES, 0, &entry);
    if (history.extent == NULL) return NULL;
    history.left = EXTENT_CHUNKS;
  }
  struct chunk *c = &history.chunk[history.n++];
  *c = (struct chunk){.at = (struct pml__log_history *)(void *)history.extent, .rate = rate};
  history.extent += PML__LOG_HISTORY_CHUNK;
  history.left--;
  history.of_rate[rate]++;
  return c;
}

/* A chunk in use has a sample of the last two periods, so the oldest one is not in use if its samples are older. */
static struct chunk *find_chunk(struct pml__log *log, uint32_t rate, int64_t now_ms) {
  struct chunk *c = oldest(rate, now_ms - span_ms[rate]);
  if (c == NULL) c = new_chunk(log, rate);
  return c != NULL ? c : oldest(rate, now_ms - 2 * period_ms[rate]);
}

/*
 * The reader of a chunk reads seq, number, n and the bits, and then seq again. An odd or another number means that the
 * chunk passed to another series meanwhile: the odd one is stored before any of the fields, the even one after them.
 */
static void reassign(struct pml__log_history *at, uint32_t number, uint32_t rate) {
  __atomic_store_n(&at->seq, at->seq + 1, __ATOMIC_RELAXED);
#ifndef __SANITIZE_THREAD__ /* does not support fences; readers are other processes */
  __atomic_thread_fence(__ATOMIC_RELEASE);
#endif
  __atomic_store_n(&at->n, 0, __ATOMIC_RELAXED);
  at->number = number;
  at->rate = rate;
  at->turn = history.turns;
  __atomic_store_n(&at->seq, at->seq + 1, __ATOMIC_RELEASE);
}

static bool take_chunk(struct pml__log *log, struct pml__history_series *s, uint32_t rate, int64_t now_ms) {
  struct chunk *c = find_chunk(log, rate, now_ms);
  if (c == NULL) {
    if (!history.refused) (void)pml__log_define(log, PML__LOG_NOTE, NULL, 0, (const char *[]){"history", "full"}, 2);
    history.refused = true;
    return false;
  }
  c->turn = ++history.turns;
  reassign(c->at, s->number, rate);
  pml__compressed_begin(&s->rate[rate].to, c->at + 1, PML__LOG_HISTORY_CHUNK - sizeof *c->at);
  s->rate[rate].chunk = (uint32_t)(c - history.chunk);
  s->rate[rate].turn = c->turn;
  return true;
}

/* ---- samples ---- */

static bool define(struct pml__log *log, struct pml__history_series *s, const struct pml__history_sample *v) {
  if (s->process == history.process && s->number != 0 && s->real == v->real) return true;
  struct pml__log_history_name d = {.number = pml__log_number(), .real = v->real, .instant = v->instant};
  if (pml__log_define(log, PML__LOG_HISTORY_NAME, &d, sizeof d, &v->name, 1) < 0) return false;
  *s = (struct pml__history_series){.process = history.process, .number = d.number, .real = v->real};
  return true;
}

static void add(struct pml__log *log, struct pml__history_series *s, uint32_t rate, int64_t ms, uint64_t bits) {
  bool mine = s->rate[rate].turn != 0 && history.chunk[s->rate[rate].chunk].turn == s->rate[rate].turn;
  if ((!mine || !pml__compressed_add(&s->rate[rate].to, ms, bits)) &&
      (!take_chunk(log, s, rate, ms) || !pml__compressed_add(&s->rate[rate].to, ms, bits)))
    return;
  struct chunk *c = &history.chunk[s->rate[rate].chunk];
  __atomic_store_n(&c->at->n, s->rate[rate].to.n, __ATOMIC_RELEASE);
  c->last_ms = ms;
  s->rate[rate].due_ms = ms + period_ms[rate] - EARLY_MS;
}

void pml__history_add(struct pml__history_series *s, const struct pml__history_sample *v) {
  if (history.process != pml__process()) begin();
  struct pml__log *log = history.limit > 0 ? pml__log_own() : NULL;
  if (log == NULL || !define(log, s, v)) return;
  int64_t ms = (int64_t)(pml_clock_ticks_to_ns(v->ticks - log->head->started_ticks) / 1000000);
  for (uint32_t rate = 0; rate < PML__HISTORY_RATES; rate++)
    if (s->rate[rate].turn == 0 || ms >= s->rate[rate].due_ms) add(log, s, rate, ms, v->bits);
}
