/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/intercept/pml_intercept_budget.c - which functions are too frequent. */
#include "adapter/intercept/pml_intercept_budget.h"

#include "adapter/intercept/pml_intercept_private.h"
#include "base/pml_process.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define REGIONS 65536u      /* later regions are never dropped */
#define GRACE_NS 10000000.0 /* before the first decision */
#define OWN_LEAST 0.02      /* of the processor time that the program has itself, if the estimate is less */

static struct {
  double share, call_ns;
  uint64_t since;          /* ns of processor time */
  uint64_t all;            /* atomic: calls; so is the following array */
  uint64_t calls[REGIONS]; /* by region */
  uint32_t end;            /* atomic: 1 + the last region with calls */
  uint8_t state[REGIONS];  /* atomic, stored under the lock */
} budget;
static struct pml__lock lock;

enum { RECORDED, KEPT, DROPPED }; /* states; kept: it cannot be dropped */

static uint64_t processor_ns(void) {
  struct timespec t = {0};
  (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void pml__budget_begin(double share, double call_ns) {
  budget.share = share;
  budget.call_ns = call_ns;
  budget.since = processor_ns();
  budget.all = budget.end = 0;
  memset(budget.calls, 0, sizeof budget.calls);
}

static uint64_t get(const uint64_t *calls) {
  return __atomic_load_n(calls, __ATOMIC_RELAXED);
}

/* The most frequent function of those that can be dropped, 0: none; and the calls of all of them. */
static pml_region_t most_frequent(uint64_t *calls) {
  uint32_t end = __atomic_load_n(&budget.end, __ATOMIC_RELAXED);
  pml_region_t most = 0;
  *calls = 0;
  for (pml_region_t r = 1; r < end; r++) {
    if (budget.state[r] != RECORDED) continue;
    *calls += get(&budget.calls[r]);
    if (most == 0 || get(&budget.calls[r]) > get(&budget.calls[most])) most = r;
  }
  return *calls > 0 ? most : 0;
}

static bool drop_frequent(double spent_ns) {
  double own_ns = spent_ns - (double)get(&budget.all) * budget.call_ns;
  uint64_t calls;
  bool dropped = false;
  if (own_ns < OWN_LEAST * spent_ns) own_ns = OWN_LEAST * spent_ns;
  for (pml_region_t r; (r = most_frequent(&calls)) != 0 && (double)calls * budget.call_ns > budget.share * own_ns;) {
    int err = pml__intercept_drop(r);
    if (err == -EBUSY) break; /* decided again at the next call */
    __atomic_store_n(&budget.state[r], err == 0 ? DROPPED : KEPT, __ATOMIC_RELAXED);
    dropped = dropped || err == 0;
  }
  return dropped;
}

bool pml__budget_add(pml_region_t region, uint64_t n) {
  bool dropped = false;
  if (region >= REGIONS) return false;
  uint32_t end = __atomic_load_n(&budget.end, __ATOMIC_RELAXED);
  while (end <= region &&
         !__atomic_compare_exchange_n(&budget.end, &end, region + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    continue;
  __atomic_add_fetch(&budget.calls[region], n, __ATOMIC_RELAXED);
  __atomic_add_fetch(&budget.all, n, __ATOMIC_RELAXED);
  int saved = errno;
  double spent = (double)(processor_ns() - budget.since);
  if (spent >= GRACE_NS && pml__lock_try(&lock)) {
    dropped = drop_frequent(spent);
    pml__lock_leave(&lock);
  }
  errno = saved;
  return dropped;
}

void pml__budget_visit(void (*visit)(pml_region_t region, void *arg), void *arg) {
  for (pml_region_t r = 1; r < REGIONS; r++)
    if (__atomic_load_n(&budget.state[r], __ATOMIC_RELAXED) == DROPPED) visit(r, arg);
}
