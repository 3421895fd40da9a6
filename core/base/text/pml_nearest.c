/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/text/pml_nearest.c - suggestions for misspelt names. */
#include "base/text/pml_nearest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define COMPARED_MAX 64u /* bounds the work per candidate */

static unsigned min_of(unsigned a, unsigned b) {
  return a < b ? a : b;
}

/*
 * Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours, case ignored.
 * Returns @limit + 1 early once every continuation is above @limit.
 */
static unsigned distance(const char *a, size_t na, const char *b, size_t nb, unsigned limit) {
  if (na > COMPARED_MAX || nb > COMPARED_MAX || na > nb + limit || nb > na + limit) return limit + 1;
  unsigned rows[3][COMPARED_MAX + 1];
  unsigned *before = rows[0], *last = rows[1], *now = rows[2];
  for (unsigned j = 0; j <= nb; j++) last[j] = j;
  for (size_t i = 1; i <= na; i++) {
    int ca = tolower((unsigned char)a[i - 1]);
    unsigned least = now[0] = (unsigned)i;
    for (size_t j = 1; j <= nb; j++) {
      int cb = tolower((unsigned char)b[j - 1]);
      unsigned d = min_of(min_of(last[j], now[j - 1]) + 1, last[j - 1] + (ca != cb));
      if (i > 1 && j > 1 && ca == tolower((unsigned char)b[j - 2]) && tolower((unsigned char)a[i - 2]) == cb)
        d = min_of(d, before[j - 2] + 1);
      now[j] = d;
      least = min_of(least, d);
    }
    if (least > limit) return limit + 1;
    unsigned *t = before;
    before = last, last = now, now = t;
  }
  return last[nb];
}

static void insert(struct pml__nearest *near, const char *name, unsigned d) {
  for (unsigned i = 0; i < near->n; i++)
    if (strcasecmp(near->best[i].name, name) == 0) return;
  unsigned at = near->n < PML__NEAREST_MAX ? near->n++ : PML__NEAREST_MAX;
  if (at == PML__NEAREST_MAX) {
    if (near->best[at - 1].distance <= d) return;
    at--;
  }
  for (; at > 0 && near->best[at - 1].distance > d; at--) near->best[at] = near->best[at - 1];
  near->best[at].distance = d;
  snprintf(near->best[at].name, sizeof near->best[at].name, "%s", name);
}

void pml__nearest_offer(struct pml__nearest *near, const char *name) {
  size_t nwant = strnlen(near->want, COMPARED_MAX + 1);
  unsigned limit = (unsigned)(nwant / 3);
  if (limit < 1) limit = 1;
  if (near->n == PML__NEAREST_MAX) limit = min_of(limit, near->best[PML__NEAREST_MAX - 1].distance);
  unsigned d = distance(near->want, nwant, name, strnlen(name, COMPARED_MAX + 1), limit);
  /* Without the name of the PMU, the event is meant; without the namespace, the function. */
  const char *event = strstr(name, "::");
  if (event && !strstr(near->want, "::"))
    d = min_of(d, distance(near->want, nwant, event + 2, strnlen(event + 2, COMPARED_MAX + 1), limit));
  if (d <= limit) insert(near, name, d);
}

const char *pml__nearest_text(const struct pml__nearest *near, char *buf, size_t size) {
  size_t used = 0;
  buf[0] = '\0';
  for (unsigned i = 0; i < near->n && used < size; i++) {
    int n = snprintf(buf + used, size - used, "%s%s", i == 0 ? "; nearest: " : ", ", near->best[i].name);
    if (n < 0) break;
    used += (size_t)n;
  }
  return buf;
}
