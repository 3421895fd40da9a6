/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/control/balance/pml_balance_event.c - repetitions of synchronised regions: measurement and decision on their
 * thread.
 */
#include "control/balance/pml_balance_private.h"

#include "base/pml_array.h"

#include <errno.h>
#include <stdlib.h>

/* --- frequencies --- */

static bool is_set(const struct pml_balance *b, const cpu_set_t *set, size_t cpu) {
  unsigned number = b->cpus.number[cpu];
  return number < CPU_SETSIZE && CPU_ISSET(number, set) && b->setting.control[cpu] != NULL;
}

void pml__balance_withdraw(struct pml__balance_thread *th) {
  struct pml_balance *b = th->balancer;
  if (b->setting.control == NULL) return;
  for (size_t i = 0; i < b->cpus.n; i++)
    if (is_set(b, &th->cpus, i) && pml__control_leave(b->setting.control[i], th->id, 0) < 0)
      (void)pml__control_settle(b->setting.control[i], 0);
  CPU_ZERO(&th->cpus);
}

/* The thread may have been moved since it last asked. */
static void find_cpus(struct pml__balance_thread *th) {
  struct pml_balance *b = th->balancer;
  cpu_set_t now;
  CPU_ZERO(&now);
  int cpu = b->options.tune.cpus == PML_TUNE_CURRENT ? sched_getcpu() : -1;
  if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET((unsigned)cpu, &now);
  if (b->options.tune.cpus == PML_TUNE_THREAD) (void)sched_getaffinity(0, sizeof now, &now);
  if (CPU_COUNT(&now) > 1 && !atomic_exchange(&b->told_unpinned, true))
    pml__notes_say(pml__controls_notes(b->controls),
                   "a thread may run on %d cpus, whose frequency follows the fastest thread on "
                   "them; pin each thread to one",
                   CPU_COUNT(&now));
  if (CPU_EQUAL(&now, &th->cpus)) return;
  pml__balance_withdraw(th);
  th->cpus = now;
}

/* The thread's frequency from now on. */
static void apply(struct pml__balance_thread *th, double hz, pml_region_t region) {
  struct pml_balance *b = th->balancer;
  char text[PML__CONTROL_TEXT];
  bool all = !pml__controls_dry(b->controls);
  if (b->setting.control != NULL) {
    find_cpus(th);
    pml__cpu_text(hz, text);
    for (size_t i = 0; i < b->cpus.n; i++) {
      struct pml__control *control = b->setting.control[i];
      if (!is_set(b, &th->cpus, i)) continue;
      bool done = pml__control_ask(control, th->id, text, region) == 0 || pml__control_settle(control, region) == 0;
      if (!done || !pml__control_is_writable(control)) all = false;
    }
  }
  th->used_hz = all ? hz : b->rule.reference_hz;
}

/* --- regions --- */

/* The region that begins after the blocking call of @path; NULL: there are too many, or no memory. */
static struct pml__balance_region *region_of(struct pml__balance_thread *th, uint64_t path) {
  uint32_t at = (uint32_t)(path % PML__BALANCER_SLOTS);
  while (th->slot[at] != NULL && th->slot[at]->path != path) at = (at + 1) % PML__BALANCER_SLOTS;
  if (th->slot[at] != NULL) return th->slot[at];
  struct pml_balance *b = th->balancer;
  struct pml__balance_region *r = NULL;
  if (th->nregions < PML__BALANCER_SLOTS / 4 * 3) r = calloc(1, sizeof *r);
  if (r == NULL) {
    if (!atomic_exchange(&b->told_regions, true))
      pml__notes_say(pml__controls_notes(b->controls),
                     "a thread has more than %u synchronised regions; the rest are not balanced", th->nregions);
    return NULL;
  }
  r->path = path;
  r->number = ++th->nregions;
  pml_pace_begin(&r->state, &b->rule);
  th->slot[at] = r;
  return r;
}

static void keep(struct pml__balance_thread *th, const struct pml_balance_record *r) {
  pml__mutex_take(&th->lock);
  th->repetitions++;
  th->compute_ticks += r->sync_ticks - r->begin_ticks;
  th->total_ticks += r->end_ticks - r->begin_ticks;
  if (th->nrecords < PML__BALANCER_RECORDS && PML__ARRAY_ROOM(th->record, th->record_room, th->nrecords + 1))
    th->record[th->nrecords++] = *r;
  else
    th->lost++;
  pml__mutex_leave(&th->lock);
}

static void end_repetition(struct pml__balance_thread *th, const struct pml_stream_event *e) {
  struct pml__balance_region *r = th->current;
  struct pml_balance_record record = {.thread = th->id,
                                      .region = r->number,
                                      .sync = e->region,
                                      .begin_ticks = th->begin_ticks,
                                      .sync_ticks = th->sync_ticks,
                                      .end_ticks = e->ticks,
                                      .hz = th->used_hz};
  record.next_hz = pml_pace_step(&r->state, &th->balancer->rule, (double)(th->sync_ticks - th->begin_ticks),
                                 (double)(e->ticks - th->begin_ticks), th->used_hz);
  keep(th, &record);
}

/* --- events --- */

static uint16_t match(const void *arg, const char *name) {
  const struct pml_balance *b = arg;
  uint16_t what = PML__BALANCER_PLAIN;
  for (size_t i = 0; i < b->options.nsync; i++) {
    if (!pml__table_matches(b->sync[i], name)) continue;
    atomic_store_explicit(&b->entered[i], true, memory_order_relaxed);
    what = PML__BALANCER_SYNC;
  }
  return what;
}

static bool has_room(struct pml__balance_thread *th) {
  return th->depth < th->room || (th->room < UINT32_C(1) << 20 && PML__ARRAY_ROOM(th->step, th->room, th->depth + 1));
}

static __attribute__((noinline)) void enter(struct pml__balance_thread *th, const struct pml_stream_event *e) {
  int saved = errno;
  uint16_t what = pml__table_get(&th->table, e->region);
  if (what == PML__TABLE_UNKNOWN) what = pml__table_look_up(&th->table, e->region, match, th->balancer);
  if (has_room(th)) {
    pml__balance_push(th, e->region);
    if (what == PML__BALANCER_SYNC && th->blocking == 0) {
      th->blocking = th->depth;
      th->sync_ticks = e->ticks;
    }
  }
  errno = saved;
}

/* A blocking call has ended; @whole: with its own leave. */
static void begin_region(struct pml__balance_thread *th, const struct pml_stream_event *e, uint64_t path, bool whole) {
  th->blocking = 0;
  if (whole && th->current != NULL) end_repetition(th, e);
  th->current = whole ? region_of(th, path) : NULL;
  apply(th, th->current != NULL ? th->current->state.apply_hz : th->balancer->rule.reference_hz, e->region);
  th->begin_ticks = e->ticks;
}

/* Frames above the left one were never left. */
static __attribute__((noinline)) void leave(struct pml__balance_thread *th, const struct pml_stream_event *e) {
  uint32_t depth = th->depth;
  while (depth > 0 && th->step[depth - 1].region != e->region) depth--;
  if (depth == 0) return;
  int saved = errno;
  th->depth = depth - 1;
  if (th->depth < th->blocking) begin_region(th, e, th->step[depth - 1].path, depth == th->blocking);
  errno = saved;
}

void pml__balance_enter(void *data, const struct pml_stream_event *e) {
  if (!pml__balance_enter_plainly(data, e->region)) enter(data, e);
}

void pml__balance_leave(void *data, const struct pml_stream_event *e) {
  if (!pml__balance_leave_plainly(data, e->region)) leave(data, e);
}
