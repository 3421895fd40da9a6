/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/archive/pml_archive_messages.c - which messages arrive before they are sent, and clocks by which they
 * do not. */
#include "base/pml_error.h"
#include "substrate/archive/pml_archive_pairs.h"
#include "substrate/archive/pml_archive_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 16 /* of delays, each of which may make others necessary */

/* One end of a message, of the process that is read now. */
struct message {
  uint64_t ticks;
  struct pml__archive_channel channel;
  bool received;
};

/* By how much a message between two clocks was early at most: what the second must be shifted by more than the first.
 */
struct lag {
  uint32_t from, to; /* processes whose clocks these are */
  int64_t ns;
};

/* A receive that was early, and when it can have been. */
struct late {
  uint32_t process;
  struct pml__archive_delay to;
};

struct pairing {
  struct pml__archive *a;
  struct pml__archive_pairs pairs;
  uint32_t p; /* read now */
  struct message *message;
  size_t n, capacity;
  struct lag *lag; /* [nlags] by @from and @to */
  size_t nlags;
  struct late *late; /* [nlate] */
  size_t nlate;
  uint64_t messages, early;
};

/* ---- times ---- */

uint64_t pml__archive_ns(const struct pml__archive_process *p, uint64_t ticks) {
  uint64_t ns = pml__archive_clock_ns(p->clock, ticks);
  size_t from = 0, to = p->ndelays;
  while (from < to) {
    size_t middle = from + (to - from) / 2;
    if (p->delay[middle].ticks <= ticks)
      from = middle + 1;
    else
      to = middle;
  }
  return from > 0 && p->delay[from - 1].ns > ns ? p->delay[from - 1].ns : ns;
}

static int by_ticks(const void *a, const void *b) {
  const struct pml__archive_delay *x = a, *y = b;
  return x->ticks < y->ticks ? -1 : x->ticks > y->ticks;
}

static int note_late(struct pairing *g, uint32_t process, uint64_t ticks, uint64_t ns) {
  struct late *more = realloc(g->late, (g->nlate + 1) * sizeof *more);
  if (more == NULL) return pml_fail(-ENOMEM, "no memory for the clocks of a trace");
  g->late = more;
  g->late[g->nlate++] = (struct late){process, {ticks, ns}};
  return 0;
}

/* What is delayed delays all that follows. */
static void spread(struct pml__archive_process *p) {
  qsort(p->delay, p->ndelays, sizeof *p->delay, by_ticks);
  for (size_t k = 1; k < p->ndelays; k++)
    if (p->delay[k].ns < p->delay[k - 1].ns) p->delay[k].ns = p->delay[k - 1].ns;
}

static int delay_late(struct pairing *g) {
  for (size_t i = 0; i < g->nlate; i++) {
    struct pml__archive_process *p = &g->a->process[g->late[i].process];
    struct pml__archive_delay *more = realloc(p->delay, (p->ndelays + 1) * sizeof *more);
    if (more == NULL) return pml_fail(-ENOMEM, "no memory for the clocks of a trace");
    p->delay = more;
    p->delay[p->ndelays++] = g->late[i].to;
  }
  for (size_t i = 0; i < g->a->nprocesses; i++)
    if (g->a->process[i].ndelays > 0) spread(&g->a->process[i]);
  return 0;
}

/* ---- lags ---- */

static struct lag *lag_of(struct pairing *g, uint32_t from, uint32_t to) {
  size_t at = 0, end = g->nlags;
  while (at < end) {
    size_t middle = at + (end - at) / 2;
    const struct lag *l = &g->lag[middle];
    if (l->from < from || (l->from == from && l->to < to))
      at = middle + 1;
    else
      end = middle;
  }
  if (at < g->nlags && g->lag[at].from == from && g->lag[at].to == to) return &g->lag[at];
  struct lag *more = realloc(g->lag, (g->nlags + 1) * sizeof *more);
  if (more == NULL) return NULL;
  g->lag = more;
  memmove(&more[at + 1], &more[at], (g->nlags++ - at) * sizeof *more);
  more[at] = (struct lag){from, to, INT64_MIN};
  return &more[at];
}

/* Shift clocks that are behind, until no message is early; false: no shifts do that. */
static bool shift_clocks(struct pairing *g, int64_t *shift) {
  bool more = true;
  for (size_t round = 0; more && round <= g->a->nprocesses; round++) {
    more = false;
    for (size_t i = 0; i < g->nlags; i++) {
      const struct lag *l = &g->lag[i];
      if (l->from == l->to || shift[l->to] - shift[l->from] >= l->ns) continue;
      shift[l->to] = shift[l->from] + l->ns;
      more = true;
    }
  }
  return !more;
}

static int shift(struct pairing *g) {
  struct pml__archive *a = g->a;
  int64_t *by = calloc(a->nprocesses + 1, sizeof *by);
  if (by == NULL) return pml_fail(-ENOMEM, "no memory for the clocks of a trace");
  if (shift_clocks(g, by))
    for (size_t i = 0; i < a->nprocesses; i++) a->process[i].own.shift_ns = by[i];
  free(by);
  return 0;
}

/* ---- messages ---- */

static int take(void *arg, void *track, const struct pml__recording_communicated *e) {
  struct pairing *g = arg;
  const struct pml__archive_process *p = &g->a->process[g->p];
  struct pml__otf2_communication c;
  bool received = e->what == PML__LOG_RECEIVE || e->what == PML__LOG_IRECV_COMPLETE;
  (void)track;
  if (!received && e->what != PML__LOG_SEND && e->what != PML__LOG_ISEND) return 0;
  if (!pml__archive_take(g->a, p, e, &c)) return 0;
  if (g->n == g->capacity) {
    size_t capacity = g->capacity == 0 ? 1024 : 2 * g->capacity;
    struct message *more = realloc(g->message, capacity * sizeof *more);
    if (more == NULL) return pml_fail(-ENOMEM, "no memory for %zu messages of a process", capacity);
    g->message = more;
    g->capacity = capacity;
  }
  struct pml__archive_channel channel = {c.comm, p->index, c.peer, c.tag};
  if (received) channel = (struct pml__archive_channel){c.comm, c.peer, p->index, c.tag};
  g->message[g->n++] = (struct message){e->ticks, channel, received};
  return 0;
}

/* A rank without a log has no messages that could be paired. */
static int pair_up(struct pairing *g, const struct pml__archive_channel *c, const struct pml__archive_end *sent,
                   const struct pml__archive_end *received) {
  struct pml__archive *a = g->a;
  uint32_t from = a->of_rank[c->from], to = a->of_rank[c->to];
  g->messages++;
  struct lag *l = lag_of(g, a->process[from].keeper, a->process[to].keeper);
  if (l == NULL) return pml_fail(-ENOMEM, "no memory for the clocks of a trace");
  int64_t ns = (int64_t)(sent->ns - received->ns);
  if (ns > l->ns) l->ns = ns;
  if (ns <= 0) return 0;
  g->early++;
  return note_late(g, to, received->ticks, sent->ns);
}

static int by_time(const void *a, const void *b) {
  const struct message *x = a, *y = b;
  return x->ticks < y->ticks ? -1 : x->ticks > y->ticks;
}

/* Those of a process in the order of time, whichever threads they are of. */
static int pair_messages(struct pairing *g) {
  int err = 0;
  if (g->n > 0) qsort(g->message, g->n, sizeof *g->message, by_time);
  for (size_t i = 0; i < g->n && err == 0; i++) {
    const struct message *m = &g->message[i];
    const struct pml__archive_end end = {m->ticks, pml__archive_ns(&g->a->process[g->p], m->ticks)};
    struct pml__archive_end other;
    bool found;
    err = pml__archive_pair(&g->pairs, &m->channel, m->received, &end, &other, &found);
    if (err == 0 && found) err = pair_up(g, &m->channel, m->received ? &other : &end, m->received ? &end : &other);
  }
  g->n = 0;
  return err;
}

static int begin_thread(void *arg, int64_t tid, void **track) {
  (void)tid;
  *track = arg;
  return 0;
}

static int pass_over(void *arg, void *track, const struct pml__recording_told *e) {
  (void)arg, (void)track, (void)e;
  return 0;
}

static int end_thread(void *arg, void *track) {
  (void)arg, (void)track;
  return 0;
}

static int read_process(struct pairing *g) {
  char name[PML_STREAM_METRICS_MAX][PML__RECORDING_METRIC_BYTES];
  struct pml_recording_reader *r;
  struct pml__recording_listener l = {
      .begin = begin_thread, .event = pass_over, .communication = take, .end = end_thread, .arg = g};
  int err = pml_recording_read_open(&r, g->a->process[g->p].log->path);
  if (err < 0) return err;
  l.nmetrics = pml__recording_metrics(r, name);
  err = pml__recording_listen(r, &l);
  pml_recording_read_close(r);
  return err == 0 ? pair_messages(g) : err;
}

/* ---- passes ---- */

static void pairing_free(struct pairing *g) {
  pml__archive_pairs_free(&g->pairs);
  free(g->message);
  free(g->lag);
  free(g->late);
}

/* Read all messages once; free @g either way. */
static int read_all(struct pairing *g, struct pml__archive *a) {
  *g = (struct pairing){.a = a};
  int err = 0;
  for (; g->p < a->nprocesses && a->process[g->p].rank >= 0 && err == 0; g->p++) err = read_process(g);
  a->story->still_early = g->early;
  return err;
}

/* By shifts of clocks, and where these do not do, by delays of receives. */
static int improve(struct pml__archive *a, int round) {
  struct pairing g;
  int err = read_all(&g, a);
  if (round == 0) {
    a->story->messages = g.messages;
    a->story->early = g.early;
    a->story->unmatched = pml__archive_waiting(&g.pairs);
  }
  if (err == 0 && g.early > 0) err = round == 0 ? shift(&g) : delay_late(&g);
  pairing_free(&g);
  return err;
}

int pml__archive_correct(struct pml__archive *a) {
  int err = 0;
  for (int round = 0; round <= ROUNDS && err == 0 && a->mpi.nranks > 0; round++) {
    err = improve(a, round);
    if (a->story->still_early == 0) break;
  }
  return err;
}
