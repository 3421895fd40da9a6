/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/archive/pml_archive_messages.c - detection of early messages, and clock correction. */
#include "base/pml_array.h"
#include "base/pml_error.h"
#include "read/archive/pml_archive_private.h"
#include "read/archive/pml_archive_skew.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SHIFTS 2  /* rounds of shifts; the second round makes small shifts */
#define ROUNDS 16 /* of delays, each of which may require others */

/* One end of a message of the current process. */
struct message {
  uint64_t ticks;
  struct pml__archive_channel channel;
  bool received;
};

/* An early receive, and the earliest possible time for it. */
struct late {
  uint32_t process;
  struct pml__archive_delay to;
};

struct pairing {
  struct pml__archive *a;
  struct pml__archive_pairs pairs;
  uint32_t p; /* the current process */
  struct message *message;
  size_t n, capacity;
  struct pml__archive_skews skews;
  bool delays;       /* note early receives */
  struct late *late; /* [nlate] */
  size_t nlate, late_capacity;
  uint64_t first_ns, last_ns; /* times of the first and last message */
  uint64_t messages, early, elsewhere;
};

/* ---- times ---- */

uint64_t pml__archive_ns(const struct pml__archive_process *p, uint64_t ticks) {
  uint64_t ns = pml__archive_clock_ns(p->clock, ticks);
  size_t i;
  PML__ARRAY_SEARCH(i, p->ndelays, p->delay[i].ticks <= ticks);
  return i > 0 && p->delay[i - 1].ns > ns ? p->delay[i - 1].ns : ns;
}

static int by_ticks(const void *a, const void *b) {
  const struct pml__archive_delay *x = a, *y = b;
  return x->ticks < y->ticks ? -1 : x->ticks > y->ticks;
}

static int note_late(struct pairing *g, uint32_t process, uint64_t ticks, uint64_t ns) {
  if (!PML__ARRAY_ROOM(g->late, g->late_capacity, g->nlate + 1))
    return pml_fail(-ENOMEM, "no memory for the clocks of a trace");
  g->late[g->nlate++] = (struct late){process, {ticks, ns}};
  return 0;
}

/* A delay applies to all later times of the process. */
static void spread(struct pml__archive_process *p) {
  qsort(p->delay, p->ndelays, sizeof *p->delay, by_ticks);
  for (size_t k = 1; k < p->ndelays; k++)
    if (p->delay[k].ns < p->delay[k - 1].ns) p->delay[k].ns = p->delay[k - 1].ns;
}

static int delay_late(struct pairing *g) {
  for (size_t i = 0; i < g->nlate; i++) {
    struct pml__archive_process *p = &g->a->process[g->late[i].process];
    if (!PML__ARRAY_ROOM(p->delay, p->delays, p->ndelays + 1))
      return pml_fail(-ENOMEM, "no memory for the clocks of a trace");
    p->delay[p->ndelays++] = g->late[i].to;
  }
  for (size_t i = 0; i < g->a->nprocesses; i++)
    if (g->a->process[i].ndelays > 0) spread(&g->a->process[i]);
  return 0;
}

/* ---- messages ---- */

static int take(void *arg, void *lane, const struct pml__recording_communicated *e) {
  struct pairing *g = arg;
  const struct pml__archive_process *p = &g->a->process[g->p];
  struct pml__otf2_communication c;
  bool received = e->what == PML__LOG_RECEIVE || e->what == PML__LOG_IRECV_COMPLETE;
  (void)lane;
  if (!received && e->what != PML__LOG_SEND && e->what != PML__LOG_ISEND) return 0;
  if (!pml__archive_take(g->a, p, e, &c)) return 0;
  if (!PML__ARRAY_ROOM(g->message, g->capacity, g->n + 1))
    return pml_fail(-ENOMEM, "no memory for %zu messages of a process", g->n);
  struct pml__archive_channel channel = {c.comm, p->index, c.peer, c.tag};
  if (received) channel = (struct pml__archive_channel){c.comm, c.peer, p->index, c.tag};
  if (pml__archive_is_foreign(g->a, c.peer)) {
    g->elsewhere++;
    return 0;
  }
  g->message[g->n++] = (struct message){e->ticks, channel, received};
  return 0;
}

static void note_times(struct pairing *g, uint64_t sent_ns, uint64_t received_ns) {
  if (sent_ns < g->first_ns) g->first_ns = sent_ns;
  if (received_ns > g->last_ns) g->last_ns = received_ns;
}

/* A rank without a log has no messages to pair. */
static int pair_up(struct pairing *g, const struct pml__archive_channel *c, const struct pml__archive_end *sent,
                   const struct pml__archive_end *received) {
  const struct pml__archive *a = g->a;
  uint32_t from = a->of_rank[c->from], to = a->of_rank[c->to];
  g->messages++;
  note_times(g, sent->ns, received->ns);
  g->early += received->ns < sent->ns;
  if (g->delays) return received->ns < sent->ns ? note_late(g, to, received->ticks, sent->ns) : 0;
  if (g->skews.breakpoints == 0) return 0;
  return pml__archive_skew_add(&g->skews, a->process[from].keeper, a->process[to].keeper, sent->ns, received->ns);
}

static int by_time(const void *a, const void *b) {
  const struct message *x = a, *y = b;
  return x->ticks < y->ticks ? -1 : x->ticks > y->ticks;
}

/* The messages of one thread are already sorted by time. */
static bool is_sorted(const struct message *m, size_t n) {
  size_t i = 1;
  while (i < n && m[i - 1].ticks <= m[i].ticks) i++;
  return i >= n;
}

/* Pair the messages of all threads of a process, sorted by time. */
static int pair_messages(struct pairing *g) {
  int err = 0;
  if (!is_sorted(g->message, g->n)) qsort(g->message, g->n, sizeof *g->message, by_time);
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

static int read_process(struct pairing *g) {
  char name[PML_STREAM_METRICS_MAX][PML__RECORDING_METRIC_BYTES];
  struct pml_recording_reader *r;
  struct pml__recording_listener l = {.communication = take, .arg = g};
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
  pml__archive_skews_free(&g->skews);
  free(g->late);
}

/* Read all messages once. */
static int read_all(struct pairing *g) {
  const struct pml__archive *a = g->a;
  int err = 0;
  g->first_ns = UINT64_MAX;
  for (; g->p < a->nprocesses && a->process[g->p].rank >= 0 && err == 0; g->p++) err = read_process(g);
  a->story->still_early = g->early;
  return err;
}

/* The number of clocks used by ranks. */
static size_t count_clocks(const struct pml__archive *a) {
  size_t n = 0;
  for (size_t i = 0; i < a->nprocesses && a->process[i].rank >= 0; i++) n += a->process[i].keeper == i;
  return n;
}

/* Count the messages with the measured clocks. */
static int look(struct pml__archive *a, uint64_t *first_ns, uint64_t *last_ns) {
  struct pairing g = {.a = a};
  int err = read_all(&g);
  a->story->messages = g.messages;
  a->story->early = g.early;
  a->story->elsewhere = g.elsewhere;
  a->story->unmatched = pml__archive_waiting(&g.pairs);
  *first_ns = g.first_ns;
  *last_ns = g.last_ns;
  pairing_free(&g);
  return err;
}

static int shift(struct pml__archive *a, uint64_t first_ns, uint64_t last_ns, bool *shifted) {
  struct pairing g = {.a = a};
  pml__archive_skews_begin(&g.skews, first_ns, last_ns, count_clocks(a));
  int err = read_all(&g);
  *shifted = false;
  if (err == 0 && g.early > 0) err = pml__archive_skews_shift(&g.skews, a, shifted);
  pairing_free(&g);
  return err;
}

static int delay(struct pml__archive *a) {
  struct pairing g = {.a = a, .delays = true};
  int err = read_all(&g);
  if (err == 0 && g.early > 0) err = delay_late(&g);
  pairing_free(&g);
  return err;
}

int pml__archive_correct(struct pml__archive *a) {
  uint64_t first_ns = 0, last_ns = 0;
  bool shifted = count_clocks(a) > 1;
  int err = a->mpi.nranks > 0 ? look(a, &first_ns, &last_ns) : 0;
  for (int i = 0; i < SHIFTS && shifted && a->story->still_early > 0 && err == 0; i++)
    err = shift(a, first_ns, last_ns, &shifted);
  for (int i = 0; i <= ROUNDS && a->story->still_early > 0 && err == 0; i++) err = delay(a);
  return err;
}
