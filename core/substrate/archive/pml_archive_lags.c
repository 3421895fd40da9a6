/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/archive/pml_archive_lags.c - clock corrections over time that leave no message early. */
#include "substrate/archive/pml_archive_lags.h"

#include "base/pml_error.h"
#include "substrate/archive/pml_archive_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STEPS 64u
#define CELLS (UINT64_C(1) << 22) /* of all pairs at all knots, at most */
#define NONE INT64_MIN

static int no_memory(void) {
  return pml_fail(-ENOMEM, "no memory for the clocks of a trace");
}

/* ---- what messages say ---- */

void pml__archive_lags_begin(struct pml__archive_lags *l, uint64_t first_ns, uint64_t last_ns, size_t clocks) {
  uint32_t steps = STEPS;
  while (steps > 1 && (uint64_t)clocks * clocks * steps > CELLS) steps /= 2;
  *l = (struct pml__archive_lags){.first_ns = first_ns, .knots = steps + 1};
  l->step_ns = (last_ns > first_ns ? last_ns - first_ns : 0) / steps + 1;
}

/* The place of a pair, or the free one where it would be. */
static struct pml__archive_lag *place_of(const struct pml__archive_lags *l, uint32_t from, uint32_t to) {
  uint64_t hash = ((uint64_t)from << 32 | to) * UINT64_C(0x9e3779b97f4a7c15);
  size_t i = (size_t)(hash >> 32) & (l->capacity - 1);
  while (l->lag[i].ns != NULL && (l->lag[i].from != from || l->lag[i].to != to)) i = (i + 1) & (l->capacity - 1);
  return &l->lag[i];
}

static int make_room(struct pml__archive_lags *l) {
  if (2 * l->n < l->capacity) return 0;
  struct pml__archive_lag *old = l->lag;
  size_t n = l->capacity, capacity = n == 0 ? 64 : 2 * n;
  struct pml__archive_lag *more = calloc(capacity, sizeof *more);
  if (more == NULL) return no_memory();
  l->lag = more;
  l->capacity = capacity;
  for (size_t i = 0; i < n; i++)
    if (old[i].ns != NULL) *place_of(l, old[i].from, old[i].to) = old[i];
  free(old);
  return 0;
}

static struct pml__archive_lag *lag_of(struct pml__archive_lags *l, uint32_t from, uint32_t to) {
  if (make_room(l) < 0) return NULL;
  struct pml__archive_lag *lag = place_of(l, from, to);
  if (lag->ns != NULL) return lag;
  int64_t *ns = calloc(l->knots, sizeof *ns);
  if (ns == NULL) return NULL;
  for (uint32_t k = 0; k < l->knots; k++) ns[k] = NONE;
  *lag = (struct pml__archive_lag){from, to, ns};
  l->n++;
  return lag;
}

static uint32_t step_of(const struct pml__archive_lags *l, uint64_t ns) {
  uint64_t step = ns > l->first_ns ? (ns - l->first_ns) / l->step_ns : 0;
  return step < l->knots - 2 ? (uint32_t)step : l->knots - 2;
}

/* One that was on its way for more than a step is late enough, whatever the shifts. */
int pml__archive_lag(struct pml__archive_lags *l, uint32_t from, uint32_t to, uint64_t sent_ns, uint64_t received_ns) {
  uint32_t sent = step_of(l, sent_ns), received = step_of(l, received_ns);
  if (from == to || received > sent + 1) return 0;
  struct pml__archive_lag *lag = lag_of(l, from, to);
  if (lag == NULL) return no_memory();
  int64_t ns = (int64_t)(sent_ns - received_ns);
  uint32_t first = sent < received ? sent : received, last = sent < received ? received : sent;
  for (uint32_t k = first; k <= last + 1; k++)
    if (ns > lag->ns[k]) lag->ns[k] = ns;
  return 0;
}

void pml__archive_lags_free(struct pml__archive_lags *l) {
  for (size_t i = 0; i < l->capacity; i++) free(l->lag[i].ns);
  free(l->lag);
  *l = (struct pml__archive_lags){0};
}

/* ---- shifts ---- */

/* Shift clocks that are behind at the knot @k, until no message is early; false: no shifts do that. @known: clocks that
 * have messages there. */
static bool shift_at(const struct pml__archive_lags *l, uint32_t k, size_t nclocks, int64_t *shift, bool *known) {
  bool more = true;
  for (size_t round = 0; more && round <= nclocks; round++) {
    more = false;
    for (size_t i = 0; i < l->capacity; i++) {
      const struct pml__archive_lag *lag = &l->lag[i];
      if (lag->ns == NULL || lag->ns[k] == NONE) continue;
      known[lag->from] = known[lag->to] = true;
      if (shift[lag->to] - shift[lag->from] >= lag->ns[k]) continue;
      shift[lag->to] = shift[lag->from] + lag->ns[k];
      more = true;
    }
  }
  return !more;
}

/* The clock of rank 0 keeps its time, as far as messages join the others with it. */
static void keep_first(int64_t *shift, const bool *known, size_t n, uint32_t first) {
  int64_t by = known[first] ? shift[first] : 0;
  for (size_t i = 0; i < n && by != 0; i++)
    if (known[i]) shift[i] -= by;
}

/* Shifts of all clocks at all knots; those that are not known have no knot. */
struct plan {
  struct pml__archive_shift *at; /* [processes][knots] */
  uint32_t *n;                   /* [processes] */
};

static int plan_knot(const struct pml__archive_lags *l, const struct pml__archive *a, uint32_t k, struct plan *p) {
  size_t n = a->nprocesses;
  int64_t *shift = calloc(n, sizeof *shift);
  bool *known = calloc(n, sizeof *known);
  bool have = shift != NULL && known != NULL, fits = have && shift_at(l, k, n, shift, known);
  if (fits) keep_first(shift, known, n, a->process[0].keeper);
  for (size_t i = 0; fits && i < n; i++)
    if (known[i]) p->at[i * l->knots + p->n[i]++] = (struct pml__archive_shift){l->first_ns + k * l->step_ns, shift[i]};
  free(shift);
  free(known);
  return have ? 0 : no_memory();
}

/* At least at half its speed. */
static bool goes_on(const struct pml__archive_shift *s, uint32_t n) {
  bool goes = true;
  for (uint32_t k = 1; k < n; k++) goes = goes && s[k].by - s[k - 1].by > -(int64_t)((s[k].ns - s[k - 1].ns) / 2);
  return goes;
}

static int apply(const struct pml__archive_lags *l, struct pml__archive *a, const struct plan *p, bool *shifted) {
  int err = 0;
  for (size_t i = 0; i < a->nprocesses; i++)
    if (!goes_on(p->at + i * l->knots, p->n[i])) return 0;
  for (size_t i = 0; i < a->nprocesses && err == 0; i++) {
    if (p->n[i] > 0) err = pml__archive_clock_shift(&a->process[i].own, p->at + i * l->knots, p->n[i]);
    *shifted = *shifted || p->n[i] > 0;
  }
  return err;
}

int pml__archive_lags_shift(const struct pml__archive_lags *l, struct pml__archive *a, bool *shifted) {
  struct plan p = {calloc(a->nprocesses * l->knots + 1, sizeof *p.at), calloc(a->nprocesses + 1, sizeof *p.n)};
  int err = p.at != NULL && p.n != NULL ? 0 : no_memory();
  *shifted = false;
  for (uint32_t k = 0; k < l->knots && err == 0; k++) err = plan_knot(l, a, k, &p);
  if (err == 0) err = apply(l, a, &p, shifted);
  free(p.at);
  free(p.n);
  return err;
}
