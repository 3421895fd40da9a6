/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/archive/pml_archive_skew.c - clock corrections over time that leave no message early. */
#include "read/archive/pml_archive_skew.h"

#include "base/pml_array.h"
#include "base/pml_error.h"
#include "read/archive/pml_archive_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STEPS 64u
#define CELLS (UINT64_C(1) << 22) /* limit for all pairs at all breakpoints */
#define NONE INT64_MIN

static int no_memory(void) {
  return pml_fail(-ENOMEM, "no memory for the clocks of a trace");
}

/* ---- skews of messages ---- */

void pml__archive_skews_begin(struct pml__archive_skews *l, uint64_t first_ns, uint64_t last_ns, size_t clocks) {
  uint32_t steps = STEPS;
  while (steps > 1 && (uint64_t)clocks * clocks * steps > CELLS) steps /= 2;
  *l = (struct pml__archive_skews){.first_ns = first_ns, .breakpoints = steps + 1};
  l->step_ns = (last_ns > first_ns ? last_ns - first_ns : 0) / steps + 1;
}

/* The skews of a pair of clocks; NULL: no memory. */
static struct pml__archive_skew *skew_of(struct pml__archive_skews *l, uint32_t from, uint32_t to) {
  uint64_t hash = pml__hash(PML__HASH, (uint64_t)from << 32 | to);
  uint32_t at = 0, i = pml__map_next(&l->pairs, hash, &at);
  while (i != PML__MAP_NONE && (l->skew[i].from != from || l->skew[i].to != to))
    i = pml__map_next(&l->pairs, hash, &at);
  if (i != PML__MAP_NONE) return &l->skew[i];
  int64_t *ns = calloc(l->breakpoints, sizeof *ns);
  if (ns != NULL && PML__ARRAY_ROOM(l->skew, l->capacity, l->pairs.n + 1)) i = pml__map_add(&l->pairs, hash);
  if (i == PML__MAP_NONE) {
    free(ns);
    return NULL;
  }
  for (uint32_t k = 0; k < l->breakpoints; k++) ns[k] = NONE;
  l->skew[i] = (struct pml__archive_skew){from, to, ns};
  return &l->skew[i];
}

static uint32_t step_of(const struct pml__archive_skews *l, uint64_t ns) {
  uint64_t step = ns > l->first_ns ? (ns - l->first_ns) / l->step_ns : 0;
  return step < l->breakpoints - 2 ? (uint32_t)step : l->breakpoints - 2;
}

/* A message longer than a step is never early, with any shifts. */
int pml__archive_skew_add(struct pml__archive_skews *l, uint32_t from, uint32_t to, uint64_t sent_ns,
                          uint64_t received_ns) {
  uint32_t sent = step_of(l, sent_ns), received = step_of(l, received_ns);
  if (from == to || received > sent + 1) return 0;
  struct pml__archive_skew *skew = skew_of(l, from, to);
  if (skew == NULL) return no_memory();
  int64_t ns = (int64_t)(sent_ns - received_ns);
  uint32_t first = sent < received ? sent : received, last = sent < received ? received : sent;
  for (uint32_t k = first; k <= last + 1; k++)
    if (ns > skew->ns[k]) skew->ns[k] = ns;
  return 0;
}

void pml__archive_skews_free(struct pml__archive_skews *l) {
  for (size_t i = 0; i < l->pairs.n; i++) free(l->skew[i].ns);
  free(l->skew);
  pml__map_free(&l->pairs);
  *l = (struct pml__archive_skews){0};
}

/* ---- shifts ---- */

/* Shift clocks that are behind at the breakpoint @k, until no message is early; returns false if no shifts achieve
 * this. @known: clocks with messages there. */
static bool shift_at(const struct pml__archive_skews *l, uint32_t k, size_t nclocks, int64_t *shift, bool *known) {
  bool more = true;
  for (size_t round = 0; more && round <= nclocks; round++) {
    more = false;
    for (size_t i = 0; i < l->pairs.n; i++) {
      const struct pml__archive_skew *skew = &l->skew[i];
      if (skew->ns[k] == NONE) continue;
      known[skew->from] = known[skew->to] = true;
      if (shift[skew->to] - shift[skew->from] >= skew->ns[k]) continue;
      shift[skew->to] = shift[skew->from] + skew->ns[k];
      more = true;
    }
  }
  return !more;
}

/* The clock of rank 0 keeps its time, if messages connect the other clocks with it. */
static void keep_first(int64_t *shift, const bool *known, size_t n, uint32_t first) {
  int64_t by = known[first] ? shift[first] : 0;
  for (size_t i = 0; i < n && by != 0; i++)
    if (known[i]) shift[i] -= by;
}

/* Shifts of all clocks at all breakpoints; unknown shifts have no breakpoint. */
struct plan {
  struct pml__archive_correction *at; /* [processes][breakpoints] */
  uint32_t *n;                        /* [processes] */
};

static int plan_breakpoint(const struct pml__archive_skews *l, const struct pml__archive *a, uint32_t k,
                           struct plan *p) {
  size_t n = a->nprocesses;
  int64_t *shift = calloc(n, sizeof *shift);
  bool *known = calloc(n, sizeof *known);
  bool have = shift != NULL && known != NULL, fits = have && shift_at(l, k, n, shift, known);
  if (fits) keep_first(shift, known, n, a->process[0].keeper);
  for (size_t i = 0; fits && i < n; i++)
    if (known[i])
      p->at[i * l->breakpoints + p->n[i]++] = (struct pml__archive_correction){l->first_ns + k * l->step_ns, shift[i]};
  free(shift);
  free(known);
  return have ? 0 : no_memory();
}

/* Whether the clock runs at half its speed at least. */
static bool goes_on(const struct pml__archive_correction *s, uint32_t n) {
  bool goes = true;
  for (uint32_t k = 1; k < n; k++) goes = goes && s[k].by_ns - s[k - 1].by_ns > -(int64_t)((s[k].at - s[k - 1].at) / 2);
  return goes;
}

static int apply(const struct pml__archive_skews *l, struct pml__archive *a, const struct plan *p, bool *shifted) {
  int err = 0;
  for (size_t i = 0; i < a->nprocesses; i++)
    if (!goes_on(p->at + i * l->breakpoints, p->n[i])) return 0;
  for (size_t i = 0; i < a->nprocesses && err == 0; i++) {
    if (p->n[i] > 0) err = pml__archive_clock_shift(&a->process[i].own, p->at + i * l->breakpoints, p->n[i]);
    *shifted = *shifted || p->n[i] > 0;
  }
  return err;
}

int pml__archive_skews_shift(const struct pml__archive_skews *l, struct pml__archive *a, bool *shifted) {
  struct plan p = {calloc(a->nprocesses * l->breakpoints + 1, sizeof *p.at), calloc(a->nprocesses + 1, sizeof *p.n)};
  int err = p.at != NULL && p.n != NULL ? 0 : no_memory();
  *shifted = false;
  for (uint32_t k = 0; k < l->breakpoints && err == 0; k++) err = plan_breakpoint(l, a, k, &p);
  if (err == 0) err = apply(l, a, &p, shifted);
  free(p.at);
  free(p.n);
  return err;
}
