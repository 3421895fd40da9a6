/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/otf2/pml_otf2_read_pairs.c - MPI messages of an archive, by sender and receiver. */
#include "base/pml_array.h"
#include "base/pml_error.h"
#include "read/otf2/pml_otf2_workers.h"

#include <errno.h>
#include <stdlib.h>

/* State of one worker. */
struct sending {
  const struct pml_otf2_read *trace;
  uint64_t from, to;
  size_t location;
  struct pml_otf2_pair *of;   /* [nprocesses] by receiver; of the current location */
  size_t *receiver, n;        /* [nprocesses] receivers with messages */
  struct pml_otf2_pair *pair; /* of the previous locations */
  size_t npairs, capacity, merged;
  uint64_t unknown;
};

static OTF2_CallbackCode on_send(PML__OTF2_AT, uint32_t receiver, OTF2_CommRef comm, PML__OTF2_UNUSED uint32_t tag,
                                 uint64_t bytes) {
  struct sending *s = user;
  time = pml__otf2_time(s->trace, time);
  if (time < s->from || time > s->to) return OTF2_CALLBACK_SUCCESS;
  size_t at = pml__otf2_peer(s->trace, s->location, receiver, comm);
  if (at == PML_OTF2_NONE) {
    s->unknown++;
  } else {
    size_t to = pml_otf2_read_location(s->trace, at)->process;
    if (s->of[to].messages++ == 0) s->receiver[s->n++] = to;
    s->of[to].bytes += bytes;
  }
  return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_isend(PML__OTF2_AT, uint32_t receiver, OTF2_CommRef comm, uint32_t tag, uint64_t bytes,
                                  PML__OTF2_UNUSED uint64_t request) {
  return on_send(location, time, position, user, attributes, receiver, comm, tag, bytes);
}

/* ---- pairs ---- */

static int by_pair(const void *a, const void *b) {
  const struct pml_otf2_pair *x = a, *y = b;
  if (x->from != y->from) return x->from < y->from ? -1 : 1;
  return (x->to > y->to) - (x->to < y->to);
}

/* Merge the pairs with equal sender and receiver. */
static void merge(struct sending *s) {
  size_t n = 0;
  if (s->npairs > 0) qsort(s->pair, s->npairs, sizeof *s->pair, by_pair);
  for (size_t i = 0; i < s->npairs; i++) {
    if (n > 0 && by_pair(&s->pair[n - 1], &s->pair[i]) == 0) {
      s->pair[n - 1].messages += s->pair[i].messages;
      s->pair[n - 1].bytes += s->pair[i].bytes;
    } else {
      s->pair[n++] = s->pair[i];
    }
  }
  s->npairs = s->merged = n;
}

static void begin(void *state, size_t location) {
  ((struct sending *)state)->location = location;
}

static int end(void *state, size_t location, const struct pml__otf2_location_read *read) {
  struct sending *s = state;
  size_t from = pml_otf2_read_location(s->trace, location)->process;
  (void)read;
  if (s->npairs >= 2 * s->merged + 65536) merge(s);
  if (!PML__ARRAY_ROOM(s->pair, s->capacity, s->npairs + s->n)) return -ENOMEM;
  for (size_t i = 0; i < s->n; i++) {
    struct pml_otf2_pair *of = &s->of[s->receiver[i]];
    s->pair[s->npairs++] = (struct pml_otf2_pair){from, s->receiver[i], of->messages, of->bytes};
    *of = (struct pml_otf2_pair){0};
  }
  s->n = 0;
  return 0;
}

static int join(struct sending *s, unsigned workers, struct pml_otf2_pairs *p) {
  for (unsigned k = 1; k < workers; k++) {
    if (!PML__ARRAY_ROOM(s->pair, s->capacity, s->npairs + s[k].npairs)) return -ENOMEM;
    for (size_t i = 0; i < s[k].npairs; i++) s->pair[s->npairs++] = s[k].pair[i];
    s->unknown += s[k].unknown;
  }
  merge(s);
  *p = (struct pml_otf2_pairs){s->pair, s->npairs, s->unknown};
  s->pair = NULL;
  return 0;
}

static int ask(struct pml_otf2_read *t, const struct pml_otf2_question *q, struct sending *s, unsigned workers,
               struct pml_otf2_pairs *p) {
  OTF2_EvtReaderCallbacks *c = OTF2_EvtReaderCallbacks_New();
  const struct pml__otf2_reading how = {.callbacks = c, .state = s, .size = sizeof *s, .begin = begin, .end = end};
  bool done = c != NULL;
  for (unsigned k = 0; done && k < workers; k++) {
    s[k] = (struct sending){.trace = t,
                            .from = pml__otf2_first(t, q),
                            .to = pml__otf2_ticks(t, q->to_s),
                            .of = calloc(t->processes.n + 1, sizeof *s->of),
                            .receiver = calloc(t->processes.n + 1, sizeof *s->receiver)};
    done = s[k].of != NULL && s[k].receiver != NULL;
  }
  if (done) {
    OTF2_EvtReaderCallbacks_SetMpiSendCallback(c, on_send);
    OTF2_EvtReaderCallbacks_SetMpiIsendCallback(c, on_isend);
  }
  int err = done ? pml__otf2_read_locations(t, q, workers, &how) : -ENOMEM;
  OTF2_EvtReaderCallbacks_Delete(c);
  return err == 0 ? join(s, workers, p) : err;
}

int pml_otf2_read_pairs(struct pml_otf2_read *t, const struct pml_otf2_question *q, struct pml_otf2_pairs *p) {
  *p = (struct pml_otf2_pairs){0};
  if (t->reading) return pml__otf2_busy(t);
  unsigned workers = pml__otf2_workers(t, q);
  struct sending *s = calloc(workers, sizeof *s);
  int err = s != NULL ? ask(t, q, s, workers, p) : -ENOMEM;
  for (unsigned k = 0; s != NULL && k < workers; k++) {
    free(s[k].of);
    free(s[k].receiver);
    free(s[k].pair);
  }
  free(s);
  return err == -ENOMEM ? pml_fail(err, "%.300s: no memory for the pairs of its messages", t->path) : err;
}
