/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/archive/pml_archive_pairs.c - matching of sends and receives by channel. */
#include "substrate/archive/pml_archive_pairs.h"

#include "base/pml_error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t hash(const struct pml__archive_channel *c) {
  const uint32_t part[] = {c->comm, c->from, c->to, c->tag};
  uint64_t h = 0;
  for (size_t i = 0; i < 4; i++) h = (h ^ part[i]) * UINT64_C(0x9e3779b97f4a7c15) >> 7 ^ h << 13;
  return (size_t)(h ^ h >> 29);
}

/* The place of a channel, or the free one where it would be. */
static struct pml__archive_queue *place_of(const struct pml__archive_pairs *p, const struct pml__archive_channel *c) {
  size_t i = hash(c) & (p->capacity - 1);
  while (p->queue[i].used && memcmp(&p->queue[i].channel, c, sizeof *c) != 0) i = (i + 1) & (p->capacity - 1);
  return &p->queue[i];
}

static int make_room(struct pml__archive_pairs *p) {
  if (2 * p->n < p->capacity) return 0;
  struct pml__archive_pairs more = {.n = p->n, .capacity = p->capacity == 0 ? 256 : 2 * p->capacity};
  more.queue = calloc(more.capacity, sizeof *more.queue);
  if (more.queue == NULL) return pml_fail(-ENOMEM, "no memory for %zu channels of messages", p->n);
  for (size_t i = 0; i < p->capacity; i++)
    if (p->queue[i].used) *place_of(&more, &p->queue[i].channel) = p->queue[i];
  free(p->queue);
  *p = more;
  return 0;
}

/* What was taken from the front leaves room before there is more of it. */
static int wait_for_other(struct pml__archive_queue *q, const struct pml__archive_end *end) {
  if (q->first > 0 && q->first + q->n == q->capacity && q->first >= q->n) {
    memcpy(q->waiting, q->waiting + q->first, q->n * sizeof *q->waiting);
    q->first = 0;
  }
  if (q->first + q->n == q->capacity) {
    uint32_t capacity = q->capacity == 0 ? 4 : 2 * q->capacity;
    struct pml__archive_end *more = capacity > q->capacity ? realloc(q->waiting, capacity * sizeof *more) : NULL;
    if (more == NULL) return pml_fail(-ENOMEM, "no memory for %u messages", capacity);
    q->waiting = more;
    q->capacity = capacity;
  }
  q->waiting[q->first + q->n++] = *end;
  return 0;
}

int pml__archive_pair(struct pml__archive_pairs *p, const struct pml__archive_channel *c, bool receives,
                      const struct pml__archive_end *end, struct pml__archive_end *other, bool *found) {
  int err = make_room(p);
  if (err < 0) return err;
  struct pml__archive_queue *q = place_of(p, c);
  p->n += !q->used;
  q->used = true;
  q->channel = *c;
  *found = q->n > 0 && q->receives != receives;
  if (!*found) {
    q->receives = receives;
    return wait_for_other(q, end);
  }
  *other = q->waiting[q->first++];
  if (--q->n == 0) q->first = 0;
  return 0;
}

uint64_t pml__archive_waiting(const struct pml__archive_pairs *p) {
  uint64_t n = 0;
  for (size_t i = 0; i < p->capacity; i++) n += p->queue[i].n;
  return n;
}

void pml__archive_pairs_free(struct pml__archive_pairs *p) {
  for (size_t i = 0; i < p->capacity; i++) free(p->queue[i].waiting);
  free(p->queue);
}
