/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/trace/read/pml_otf2_read_pairs.c - messages of MPI in an archive, by sender and receiver. */
#include "substrate/trace/read/pml_otf2_read_private.h"

#include "base/pml_error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct sending {
  const struct pml_otf2_read *trace;
  uint64_t from, to;
  size_t process;               /* that sends */
  struct pml_otf2_pair *of;     /* [nprocesses] by receiver; of this sender */
  struct pml_otf2_pairs *pairs; /* of those before */
  size_t capacity;
};

static OTF2_CallbackCode on_send(OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position, void *user,
                                 OTF2_AttributeList *attributes, uint32_t receiver, OTF2_CommRef comm, uint32_t tag,
                                 uint64_t bytes) {
  struct sending *s = user;
  (void)position, (void)attributes, (void)tag;
  if (time < s->from || time > s->to) return OTF2_CALLBACK_SUCCESS;
  size_t to = pml__otf2_peer(s->trace, pml__otf2_find(&s->trace->locations, location), receiver, comm);
  if (to == PML_OTF2_NONE) {
    s->pairs->unknown++;
  } else {
    struct pml_otf2_pair *pair = &s->of[pml_otf2_read_location(s->trace, to)->process];
    pair->messages++;
    pair->bytes += bytes;
  }
  return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_isend(OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position, void *user,
                                  OTF2_AttributeList *attributes, uint32_t receiver, OTF2_CommRef comm, uint32_t tag,
                                  uint64_t bytes, uint64_t request) {
  (void)request;
  return on_send(location, time, position, user, attributes, receiver, comm, tag, bytes);
}

static int put(struct sending *s, size_t to) {
  struct pml_otf2_pairs *p = s->pairs;
  if (p->n == s->capacity) {
    size_t capacity = s->capacity == 0 ? 256 : 2 * s->capacity;
    struct pml_otf2_pair *more = realloc(p->pair, capacity * sizeof *more);
    if (more == NULL) return -ENOMEM;
    p->pair = more;
    s->capacity = capacity;
  }
  p->pair[p->n++] = (struct pml_otf2_pair){s->process, to, s->of[to].messages, s->of[to].bytes};
  return 0;
}

/* The sender's rows, of all its locations. */
static int end_process(struct sending *s) {
  int err = 0;
  for (size_t to = 0; to < s->trace->processes.n && err == 0; to++) {
    if (s->of[to].messages > 0) err = put(s, to);
    s->of[to] = (struct pml_otf2_pair){0};
  }
  return err;
}

/* Locations by process, so that one sender's sums are in memory. */
struct place {
  size_t process, location;
};

static int by_process(const void *a, const void *b) {
  const struct place *x = a, *y = b;
  if (x->process != y->process) return x->process < y->process ? -1 : 1;
  return (x->location > y->location) - (x->location < y->location);
}

static int read_all(struct sending *s, struct pml_otf2_read *t, const struct pml_otf2_question *q, struct place *place,
                    const OTF2_EvtReaderCallbacks *c) {
  int err = 0;
  for (size_t i = 0; i < t->locations.n; i++) place[i] = (struct place){pml_otf2_read_location(t, i)->process, i};
  if (t->locations.n > 0) qsort(place, t->locations.n, sizeof *place, by_process);
  for (size_t i = 0; i < t->locations.n && err == 0; i++) {
    if (!pml__otf2_asked(t, q, place[i].location)) continue;
    if (place[i].process != s->process) err = end_process(s);
    s->process = place[i].process;
    if (err == 0) err = pml__otf2_read_events(t, place[i].location, c, s);
  }
  return err == 0 ? end_process(s) : err;
}

int pml_otf2_read_pairs(struct pml_otf2_read *t, const struct pml_otf2_question *q, struct pml_otf2_pairs *p) {
  *p = (struct pml_otf2_pairs){0};
  struct sending s = {.trace = t,
                      .from = pml__otf2_ticks(t, q->from_s),
                      .to = pml__otf2_ticks(t, q->to_s),
                      .of = calloc(t->processes.n + 1, sizeof *s.of),
                      .pairs = p};
  struct place *place = calloc(t->locations.n + 1, sizeof *place);
  OTF2_EvtReaderCallbacks *c = OTF2_EvtReaderCallbacks_New();
  int err = c != NULL && s.of != NULL && place != NULL ? 0 : -ENOMEM;
  if (err == 0) {
    OTF2_EvtReaderCallbacks_SetMpiSendCallback(c, on_send);
    OTF2_EvtReaderCallbacks_SetMpiIsendCallback(c, on_isend);
    err = read_all(&s, t, q, place, c);
  }
  OTF2_EvtReaderCallbacks_Delete(c);
  free(s.of);
  free(place);
  if (err == 0) return 0;
  free(p->pair);
  *p = (struct pml_otf2_pairs){0};
  return err == -ENOMEM ? pml_fail(err, "%.300s: no memory for the pairs of its messages", t->path) : err;
}
