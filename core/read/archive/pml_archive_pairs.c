/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/archive/pml_archive_pairs.c - matching of sends and receives by channel. */
#include "read/archive/pml_archive_private.h"

#include "base/pml_array.h"
#include "base/pml_error.h"

#include <errno.h>

/* The queue of a channel; NULL: no memory. */
static struct pml__archive_queue *queue_of(struct pml__archive_pairs *p, const struct pml__archive_channel *c) {
  uint64_t hash = pml__hash_bytes(PML__HASH, c, sizeof *c);
  uint32_t at = 0, i = pml__map_next(&p->channels, hash, &at);
  while (i != PML__MAP_NONE && memcmp(&p->queue[i].channel, c, sizeof *c) != 0)
    i = pml__map_next(&p->channels, hash, &at);
  if (i != PML__MAP_NONE) return &p->queue[i];
  if (PML__ARRAY_ROOM(p->queue, p->capacity, p->channels.n + 1)) i = pml__map_add(&p->channels, hash);
  if (i == PML__MAP_NONE) return NULL;
  p->queue[i] = (struct pml__archive_queue){.channel = *c};
  return &p->queue[i];
}

/* The queue is moved to the front of its array before the array grows. */
static int wait_for_other(struct pml__archive_queue *q, const struct pml__archive_end *end) {
  if (q->first > 0 && q->first + q->n == q->capacity && q->first >= q->n) {
    memcpy(q->waiting, q->waiting + q->first, q->n * sizeof *q->waiting);
    q->first = 0;
  }
  if (!PML__ARRAY_ROOM(q->waiting, q->capacity, (size_t)q->first + q->n + 1))
    return pml_fail(-ENOMEM, "no memory for %u messages", q->n);
  q->waiting[q->first + q->n++] = *end;
  return 0;
}

int pml__archive_pair(struct pml__archive_pairs *p, const struct pml__archive_channel *c, bool receives,
                      const struct pml__archive_end *end, struct pml__archive_end *other, bool *found) {
  struct pml__archive_queue *q = queue_of(p, c);
  if (q == NULL) return pml_fail(-ENOMEM, "no memory for %u channels of messages", p->channels.n);
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
  for (size_t i = 0; i < p->channels.n; i++) n += p->queue[i].n;
  return n;
}

void pml__archive_pairs_free(struct pml__archive_pairs *p) {
  for (size_t i = 0; i < p->channels.n; i++) free(p->queue[i].waiting);
  free(p->queue);
  pml__map_free(&p->channels);
}
