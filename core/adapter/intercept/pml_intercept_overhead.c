/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/intercept/pml_intercept_overhead.c - the limit for the cost of recorded functions: which are dropped. */
#include "adapter/intercept/pml_intercept_overhead.h"

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
} limit;
static struct pml__lock lock;

enum { RECORDED, KEPT, DROPPED }; /* states; kept: it cannot be dropped */

static uint64_t processor_ns(void) {
  struct timespec t = {0};
  (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void pml__overhead_begin(double share, double call_ns) {
  limit.share = share;
  limit.call_ns = call_ns;
  limit.since = processor_ns();
  limit.all = limit.end = 0;
  memset(limit.calls, 0, sizeof limit.calls);
}

static uint64_t get(const uint64_t *calls) {
  return __atomic_load_n(calls, __ATOMIC_RELAXED);
}

/* The most frequent function of those that can be dropped, 0: none; and the calls of all of them. */
static pml_region_t most_frequent(uint64_t *calls) {
  uint32_t end = __atomic_load_n(&limit.end, __ATOMIC_RELAXED);
  pml_region_t most = 0;
  *calls = 0;
  for (pml_region_t r = 1; r < end; r++) {
    if (limit.state[r] != RECORDED) continue;
    *calls += get(&limit.calls[r]);
    if (most == 0 || get(&limit.calls[r]) > get(&limit.calls[most])) most = r;
  }
  return *calls > 0 ? most : 0;
}

static bool drop_frequent(double spent_ns) {
  double own_ns = spent_ns - (double)get(&limit.all) * limit.call_ns;
  uint64_t calls;
  bool dropped = false;
  if (own_ns < OWN_LEAST * spent_ns) own_ns = OWN_LEAST * spent_ns;
  for (pml_region_t r; (r = most_frequent(&calls)) != 0 && (double)calls * limit.call_ns > limit.share * own_ns;) {
    int err = pml__intercept_drop(r);
    if (err == -EBUSY) break; /* decided again at the next call */
    __atomic_store_n(&limit.state[r], err == 0 ? DROPPED : KEPT, __ATOMIC_RELAXED);
    dropped = dropped || err == 0;
  }
  return dropped;
}

bool pml__overhead_add(pml_region_t region, uint64_t n) {
  bool dropped = false;
  if (region >= REGIONS) return false;
  uint32_t end = __atomic_load_n(&limit.end, __ATOMIC_RELAXED);
  while (end <= region &&
         !__atomic_compare_exchange_n(&limit.end, &end, region + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    continue;
  __atomic_add_fetch(&limit.calls[region], n, __ATOMIC_RELAXED);
  __atomic_add_fetch(&limit.all, n, __ATOMIC_RELAXED);
  int saved = errno;
  double spent = (double)(processor_ns() - limit.since);
  if (spent >= GRACE_NS && pml__lock_try(&lock)) {
    dropped = drop_frequent(spent);
    pml__lock_leave(&lock);
  }
  errno = saved;
  return dropped;
}

void pml__overhead_visit(void (*visit)(pml_region_t region, void *arg), void *arg) {
  for (pml_region_t r = 1; r < REGIONS; r++)
    if (__atomic_load_n(&limit.state[r], __ATOMIC_RELAXED) == DROPPED) visit(r, arg);
}
