/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/read/archive/pml_archive_waits.c - waiting for late senders, and for the last rank of a collective
 * operation.
 */
#include "read/archive/pml_archive_private.h"

#include "base/pml_array.h"
#include "base/pml_error.h"

#include <errno.h>
#include <stdlib.h>

/* A collective operation in which all members meet: the @place-th one of a rank on a communicator. */
struct pml__archive_met {
  uint32_t comm, place, index;
  uint64_t entered_ns, ns;
};

static int no_memory(void) {
  return pml_fail(-ENOMEM, "no memory for the waits of a trace");
}

/* ---- one process ---- */

/* Whether no member leaves the operation before all have arrived. */
static bool meets(const struct pml__otf2_communication *c) {
  static const uint32_t those = 1u << PML__LOG_BARRIER | 1u << PML__LOG_ALLGATHER | 1u << PML__LOG_ALLGATHERV |
                                1u << PML__LOG_ALLTOALL | 1u << PML__LOG_ALLTOALLV | 1u << PML__LOG_ALLTOALLW |
                                1u << PML__LOG_ALLREDUCE | 1u << PML__LOG_REDUCE_SCATTER |
                                1u << PML__LOG_REDUCE_SCATTER_BLOCK | 1u << PML__LOG_CREATE | 1u << PML__LOG_DESTROY;
  return c->what == PML__LOG_COLLECTIVE_END && c->request == 0 && !c->local && c->code < 32 &&
         (those >> c->code & 1) != 0;
}

int pml__archive_call_add(struct pml__archive_calls *l, const struct pml__archive_process *p,
                          const struct pml__otf2_communication *c, uint64_t entered_ns, uint64_t ns) {
  struct pml__archive_call call = {.entered_ns = entered_ns, .ns = ns, .channel = {.comm = c->comm}};
  if (c->what == PML__LOG_SEND || c->what == PML__LOG_ISEND) {
    call.kind = PML__ARCHIVE_SENT;
    call.channel = (struct pml__archive_channel){c->comm, p->index, c->peer, c->tag};
  } else if (c->what == PML__LOG_RECEIVE || c->what == PML__LOG_IRECV_COMPLETE) {
    call.kind = PML__ARCHIVE_RECEIVED;
    call.channel = (struct pml__archive_channel){c->comm, c->peer, p->index, c->tag};
  } else if (meets(c)) {
    call.kind = PML__ARCHIVE_MET;
  } else {
    return 0;
  }
  if (!PML__ARRAY_ROOM(l->call, l->capacity, l->n + 1)) return no_memory();
  l->call[l->n++] = call;
  return 0;
}

static int by_time(const void *a, const void *b) {
  const struct pml__archive_call *x = a, *y = b;
  return x->ns < y->ns ? -1 : x->ns > y->ns;
}

/* The calls of one thread are already sorted by time. */
static bool is_sorted(const struct pml__archive_calls *l) {
  size_t i = 1;
  while (i < l->n && l->call[i - 1].ns <= l->call[i].ns) i++;
  return i >= l->n;
}

/* ---- messages ---- */

/* A waiting end has the times of its call. */
static int pair_up(struct pml__archive_waits *w, struct pml__archive *a, const struct pml__archive_call *k) {
  const struct pml__archive_end end = {k->entered_ns, k->ns};
  struct pml__archive_end other;
  bool found, received = k->kind == PML__ARCHIVE_RECEIVED;
  if (pml__archive_is_foreign(a, received ? k->channel.from : k->channel.to)) return 0;
  int err = pml__archive_pair(&w->pairs, &k->channel, received, &end, &other, &found);
  if (err < 0 || !found || k->channel.to >= a->mpi.nranks) return err;
  const struct pml__archive_end *to = received ? &end : &other, *from = received ? &other : &end;
  uint64_t until = from->ticks < to->ns ? from->ticks : to->ns;
  if (until > to->ticks) a->story->wait[k->channel.to].late_sender_ns += until - to->ticks;
  return 0;
}

/* ---- collective operations ---- */

static int meet(struct pml__archive_waits *w, const struct pml__archive_process *p, uint32_t *place,
                const struct pml__archive_call *k) {
  if (!PML__ARRAY_ROOM(w->met, w->capacity, w->nmet + 1)) return no_memory();
  w->met[w->nmet++] =
      (struct pml__archive_met){k->channel.comm, place[k->channel.comm]++, p->index, k->entered_ns, k->ns};
  return 0;
}

int pml__archive_waits_take(struct pml__archive_waits *w, struct pml__archive *a, uint32_t i,
                            struct pml__archive_calls *l) {
  int err = 0;
  if (a->process[i].rank < 0) return 0;
  uint32_t *place = calloc((size_t)a->mpi.ncomms + 1, sizeof *place);
  if (place == NULL) return no_memory();
  if (!is_sorted(l)) qsort(l->call, l->n, sizeof *l->call, by_time);
  for (size_t n = 0; n < l->n && err == 0; n++) {
    const struct pml__archive_call *k = &l->call[n];
    if (k->channel.comm >= a->mpi.ncomms) continue;
    err = k->kind == PML__ARCHIVE_MET ? meet(w, &a->process[i], place, k) : pair_up(w, a, k);
  }
  free(place);
  return err;
}

static int by_operation(const void *a, const void *b) {
  const struct pml__archive_met *x = a, *y = b;
  if (x->comm != y->comm) return x->comm < y->comm ? -1 : 1;
  return x->place < y->place ? -1 : x->place > y->place;
}

/* Add the waits of an operation of all members. */
static void add_waits(struct pml_archive_story *story, const struct pml__archive_met *m, size_t n) {
  uint64_t last = 0;
  for (size_t i = 0; i < n; i++)
    if (m[i].entered_ns > last) last = m[i].entered_ns;
  for (size_t i = 0; i < n; i++) {
    uint64_t until = last < m[i].ns ? last : m[i].ns;
    if (until > m[i].entered_ns) story->wait[m[i].index].collective_ns += until - m[i].entered_ns;
  }
}

/* The number of members of @comm with a log. */
static size_t members_of(const struct pml__archive *a, uint32_t comm) {
  const struct pml__otf2_comm *c = &a->mpi.comm[comm];
  size_t n = 0;
  for (int side = 0; side < 2; side++)
    for (uint32_t i = 0; i < c->n[side]; i++) n += a->of_rank[c->member[side][i]] != UINT32_MAX;
  return n;
}

/* If members recorded different numbers of operations, as after MPI_Pcontrol(0), operations of two members cannot be
 * matched, and the communicator is left out. */
static void add_communicator(struct pml__archive *a, const struct pml__archive_met *m, size_t n) {
  size_t members = members_of(a, m->comm);
  if (members == 0 || n % members != 0) return;
  for (size_t i = 0; i < n; i += members)
    if (m[i].place != m[i + members - 1].place) return;
  for (size_t i = 0; i < n; i += members) add_waits(a->story, m + i, members);
}

void pml__archive_waits_end(struct pml__archive_waits *w, struct pml__archive *a) {
  if (w->nmet > 0) qsort(w->met, w->nmet, sizeof *w->met, by_operation);
  for (size_t i = 0, end; i < w->nmet; i = end) {
    end = i;
    while (end < w->nmet && w->met[end].comm == w->met[i].comm) end++;
    add_communicator(a, w->met + i, end - i);
  }
  pml__archive_pairs_free(&w->pairs);
  free(w->met);
}
