/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/trace/pml_otf2.c - event rings, draining, and the lifecycle of an archive. */
#include "substrate/trace/pml_otf2.h"

#include "base/pml_array.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "substrate/trace/pml_otf2_openmp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_RECORDS 65536u
#define MIN_SLOTS 16u
#define MAX_SLOTS (UINT64_C(1) << 30)
#define MAX_REGION UINT32_C(0x7fffffff)

/* ---- recording: the location's thread only ---- */

/* The usual case of each call is one run of instructions without a call, so that it needs no stack frame; everything
 * else is in the *_rare functions, which are not inlined. */
#define RARE __attribute__((noinline, cold))

/* Regions may be interned at any time, so an unknown region is looked up again before it is refused. */
static bool is_region(struct pml_otf2_location *loc, pml_region_t region) {
  uint32_t count = pml_region_count();
  loc->known = count < MAX_REGION ? count : MAX_REGION;
  return region != 0 && region <= loc->known;
}

static uint64_t lift(struct pml_otf2_location *loc, uint64_t ticks) {
  if (ticks >= loc->last_ticks) return ticks;
  pml__own_add(&loc->lifted, 1);
  return loc->last_ticks;
}

static inline uint64_t put(struct pml_otf2_location *loc, uint64_t ticks, uint64_t word) {
  loc->last_ticks = ticks;
  return pml__ring_put(&loc->ring, ticks, word);
}

static inline int record_enter(struct pml_otf2_location *loc, uint64_t ticks, pml_region_t region) {
  loc->open[loc->depth++] = PML__LOG_WORD(PML__LOG_LEAVE, region);
  loc->ring.budget += 2;
  pml__ring_publish(&loc->ring, put(loc, ticks, PML__LOG_WORD(PML__LOG_ENTER, region)) + 1);
  return 0;
}

static int drop_enter(struct pml_otf2_location *loc, pml_region_t region) {
  pml__own_add(&loc->dropped, 1);
  if (loc->depth <= loc->ring.mask) {
    loc->open[loc->depth++] = PML__LOG_WORD(PML__LOG_LEAVE, region) | PML__OTF2_DROPPED;
  } else {
    if (loc->overflow++ == 0) loc->open[loc->depth++] = PML__OTF2_OVERFLOW;
  }
  return PML_EFULL;
}

RARE static int enter_rare(struct pml_otf2_location *loc, uint64_t ticks, pml_region_t region) {
  if (!is_region(loc, region)) return -EINVAL;
  if (loc->depth > loc->ring.mask || !pml__ring_has_room(&loc->ring, 2)) return drop_enter(loc, region);
  return record_enter(loc, lift(loc, ticks), region);
}

int pml_otf2_enter(struct pml_otf2_location *loc, uint64_t ticks, pml_region_t region) {
  if (PML_UNLIKELY(region - 1 >= loc->known || loc->depth > loc->ring.mask || loc->ring.budget + 2 > loc->ring.limit ||
                   ticks < loc->last_ticks))
    return enter_rare(loc, ticks, region);
  return record_enter(loc, ticks, region);
}

/* The slot was reserved at the enter, so the budget stays unchanged while head moves into it. */
static inline int record_leave(struct pml_otf2_location *loc, uint64_t ticks, uint64_t leave) {
  loc->depth--;
  pml__ring_publish(&loc->ring, put(loc, ticks, leave) + 1);
  return 0;
}

/* The clock went back, or the enter was dropped or is missing. */
RARE static int leave_rare(struct pml_otf2_location *loc, uint64_t ticks, uint64_t leave) {
  uint64_t top = loc->depth > 0 ? loc->open[loc->depth - 1] : 0;
  if (top == leave) return record_leave(loc, lift(loc, ticks), leave);
  if (top == PML__OTF2_OVERFLOW) {
    if (--loc->overflow == 0) loc->depth--;
  } else if (top == (leave | PML__OTF2_DROPPED)) {
    loc->depth--;
  } else {
    pml__own_add(&loc->unmatched, 1);
    return -EINVAL;
  }
  pml__own_add(&loc->dropped, 1);
  return PML_EFULL;
}

int pml_otf2_leave(struct pml_otf2_location *loc, uint64_t ticks, pml_region_t region) {
  uint64_t leave = PML__LOG_WORD(PML__LOG_LEAVE, region);
  if (PML_UNLIKELY(loc->depth == 0 || loc->open[loc->depth - 1] != leave || ticks < loc->last_ticks))
    return leave_rare(loc, ticks, leave);
  return record_leave(loc, ticks, leave);
}

static inline int record_metric(struct pml_otf2_location *loc, uint64_t ticks, const uint64_t *values) {
  uint64_t slots = loc->metric_slots;
  loc->ring.budget += slots;
  uint64_t head = put(loc, ticks, PML__LOG_WORD(PML__LOG_METRIC, 0));
  pml__ring_values_in(&loc->ring, head + 1, values, loc->nmetrics);
  pml__ring_publish(&loc->ring, head + slots);
  return 0;
}

RARE static int metric_rare(struct pml_otf2_location *loc, uint64_t ticks, const uint64_t *values) {
  if (loc->metric_slots == 0) return -EINVAL;
  if (!pml__ring_has_room(&loc->ring, loc->metric_slots)) {
    pml__own_add(&loc->dropped, 1);
    return PML_EFULL;
  }
  return record_metric(loc, lift(loc, ticks), values);
}

int pml_otf2_metric(struct pml_otf2_location *loc, uint64_t ticks, const uint64_t *values) {
  uint64_t slots = loc->metric_slots;
  if (PML_UNLIKELY(slots == 0 || loc->ring.budget + slots > loc->ring.limit || ticks < loc->last_ticks))
    return metric_rare(loc, ticks, values);
  return record_metric(loc, ticks, values);
}

int pml__otf2_single(struct pml_otf2_location *loc, uint64_t ticks, uint32_t i, uint64_t bits) {
  if (!pml__ring_has_room(&loc->ring, PML__OTF2_SINGLE_SLOTS)) {
    pml__own_add(&loc->dropped, 1);
    return PML_EFULL;
  }
  loc->ring.budget += PML__OTF2_SINGLE_SLOTS;
  uint64_t head = put(loc, lift(loc, ticks), PML__LOG_WORD(PML__LOG_SINGLE, i));
  pml__ring_values_in(&loc->ring, head + 1, &bits, 1);
  pml__ring_publish(&loc->ring, head + PML__OTF2_SINGLE_SLOTS);
  return 0;
}

/* ---- draining: any thread, under the lock ---- */

static int remember(struct pml_otf2 *a, int err) {
  if (err < 0 && a->error == 0) {
    a->error = err;
    strncpy(a->error_text, pml_error_detail(err), sizeof a->error_text - 1);
  }
  return err;
}

/* Report the first failure again, because later failures may have replaced this thread's error detail. */
static int first_error(const struct pml_otf2 *a) {
  return a->error == 0 ? 0 : pml_fail(a->error, "%s", a->error_text);
}

/* Defines only recorded regions; references count from 0 without gaps. */
static int reference_of(struct pml_otf2 *a, pml_region_t region, uint32_t *ref) {
  if (!PML__ARRAY_ZEROS(a->region_ref, a->region_capacity, region + 1))
    return pml_fail(-ENOMEM, "no memory for the table of %u regions of the trace", region);
  if (a->region_ref[region] == 0) a->region_ref[region] = ++a->nregions;
  *ref = a->region_ref[region] - 1;
  return 0;
}

pml_region_t *pml__otf2_regions(const struct pml_otf2 *a) {
  pml_region_t *by_ref = calloc(a->nregions + 1, sizeof *by_ref);
  for (pml_region_t id = 1; by_ref != NULL && id < a->region_capacity; id++)
    if (a->region_ref[id] != 0) by_ref[a->region_ref[id] - 1] = id;
  return by_ref;
}

int pml__otf2_write(struct pml_otf2 *a, struct pml_otf2_location *loc, uint32_t kind, uint64_t ticks,
                    pml_region_t region, const uint64_t *values) {
  uint32_t ref = 0;
  int err = a->error;
  if (err == 0 && kind != PML__LOG_METRIC) err = remember(a, reference_of(a, region, &ref));
  return err == 0 ? remember(a, pml__otf2_event(a, loc, kind, ticks, ref, values)) : err;
}

static int write_record(struct pml_otf2 *a, struct pml_otf2_location *loc, uint64_t at) {
  const struct pml__log_event *slot = &loc->ring.slot[at & loc->ring.mask];
  uint64_t ticks = slot->ticks, word = slot->word;
  uint32_t kind = (uint32_t)(word >> 32);
  if (kind == PML__LOG_METRIC) {
    uint64_t values[PML__OTF2_METRICS_MAX];
    pml__ring_values_out(&loc->ring, at + 1, values, loc->nmetrics);
    return pml__otf2_event(a, loc, kind, ticks, 0, values);
  }
  if (kind == PML__LOG_SINGLE) {
    const struct pml__otf2_single *s = &a->single[(uint32_t)word];
    uint64_t bits;
    pml__ring_values_out(&loc->ring, at + 1, &bits, 1);
    return pml__otf2_value(a, loc, ticks, &s->metric, s->class, bits);
  }
  uint32_t ref;
  int err = reference_of(a, (pml_region_t)word, &ref);
  return err < 0 ? err : pml__otf2_event(a, loc, kind, ticks, ref, NULL);
}

/* After a failure the rings are still emptied, so that recording continues normally. */
bool pml__otf2_drain(struct pml_otf2 *a, struct pml_otf2_location *loc, uint64_t most) {
  uint64_t head = __atomic_load_n(&loc->ring.head, __ATOMIC_ACQUIRE), at = loc->tail;
  for (uint64_t n = 0; at != head && n < most; n++) {
    if (a->error != 0 || remember(a, write_record(a, loc, at)) < 0) loc->discarded++;
    uint64_t kind = loc->ring.slot[at & loc->ring.mask].word >> 32;
    at += kind == PML__LOG_METRIC ? loc->metric_slots : kind == PML__LOG_SINGLE ? PML__OTF2_SINGLE_SLOTS : 1;
    __atomic_store_n(&loc->tail, at, __ATOMIC_RELEASE);
  }
  return at != head;
}

static void drain(struct pml_otf2 *a, struct pml_otf2_location *loc) {
  (void)pml__otf2_drain(a, loc, UINT64_MAX);
}

int pml__otf2_here(const struct pml_otf2 *a) {
  return a->pid == getpid() ? 0 : pml_fail(PML_EMODE, "trace '%s' is another process's, which forked", a->dir);
}

int pml_otf2_flush(struct pml_otf2 *a) {
  int err = pml__otf2_here(a);
  if (err < 0) return err;
  pml__mutex_take(&a->lock);
  for (struct pml_otf2_location *loc = a->first; loc != NULL; loc = loc->next) drain(a, loc);
  err = first_error(a);
  pml__mutex_leave(&a->lock);
  return err;
}

void pml_otf2_stats(struct pml_otf2 *a, struct pml_otf2_stats *s) {
  *s = (struct pml_otf2_stats){0};
  if (a->pid != getpid()) return;
  pml__mutex_take(&a->lock);
  for (struct pml_otf2_location *loc = a->first; loc != NULL; loc = loc->next) {
    s->written += loc->nrecords;
    s->dropped += loc->discarded + __atomic_load_n(&loc->dropped, __ATOMIC_RELAXED);
    s->lifted += __atomic_load_n(&loc->lifted, __ATOMIC_RELAXED);
    s->unmatched += loc->closed + __atomic_load_n(&loc->unmatched, __ATOMIC_RELAXED);
  }
  pml__mutex_leave(&a->lock);
}

/* ---- life ---- */

static void free_ring(struct pml_otf2_location *loc) {
  free(loc->ring.slot);
  free(loc->open);
  loc->ring.slot = NULL;
  loc->open = NULL;
}

static void free_location(struct pml_otf2_location *loc) {
  if (loc == NULL) return;
  free_ring(loc);
  free(loc->name);
  pml__otf2_series_free(loc->series);
  free(loc);
}

/* The archive takes over @loc. */
void pml__otf2_add_location(struct pml_otf2 *a, struct pml_otf2_location *loc) {
  *a->end = loc;
  a->end = &loc->next;
  a->nlocations++;
}

#define TOUCHED 16u /* number of locations: a machine with fewer cpus records on fewer at once */

static bool make_ring(const struct pml_otf2 *a, struct pml_otf2_location *loc) {
  loc->ring.mask = a->capacity - 1;
  loc->ring.limit = a->capacity;
  loc->metric_slots = loc->nmetrics == 0 ? 0 : 1 + (loc->nmetrics + 1) / 2;
  loc->ring.tail = &loc->tail;
  loc->ring.slot = aligned_alloc(PML__RING_LINE, a->capacity * sizeof *loc->ring.slot);
  loc->open = calloc(a->capacity + 1, sizeof *loc->open);
  if (loc->ring.slot == NULL || loc->open == NULL) return false;
  /* Touch the ring now, otherwise the first lap takes a page fault every 256 records. If there are many locations, most
   * record little, and only the used parts of their rings take memory. */
  if (a->nlocations < TOUCHED) memset(loc->ring.slot, 0, a->capacity * sizeof *loc->ring.slot);
  return true;
}

struct pml_otf2_location *pml__otf2_location_new(void) {
  struct pml_otf2_location *loc = aligned_alloc(PML__RING_LINE, sizeof *loc);
  if (loc != NULL) memset(loc, 0, sizeof *loc);
  return loc;
}

static struct pml_otf2_location *new_location(const struct pml_otf2 *a, const char *name,
                                              const struct pml__otf2_set *set) {
  struct pml_otf2_location *loc = pml__otf2_location_new();
  if (loc == NULL) return NULL;
  loc->set = set;
  loc->nmetrics = set->n;
  loc->ref = a->nlocations;
  loc->name = strdup(name);
  if (loc->name == NULL || (a->capacity > 0 && !make_ring(a, loc))) {
    free_location(loc);
    return NULL;
  }
  return loc;
}

int pml_otf2_location(struct pml_otf2 *a, const char *name, struct pml_otf2_location **out) {
  return pml__otf2_location_of(a, name, a->processes, &a->own, out);
}

int pml__otf2_location_of(struct pml_otf2 *a, const char *name, struct pml__otf2_process *process,
                          const struct pml__otf2_set *set, struct pml_otf2_location **out) {
  *out = NULL;
  if (name == NULL) return pml_fail(-EINVAL, "a location of a trace needs a name");
  int err = pml__otf2_here(a);
  if (err < 0) return err;
  pml__mutex_take(&a->lock);
  struct pml_otf2_location *loc = new_location(a, name, set);
  if (loc != NULL) loc->process = process;
  err = loc == NULL ? pml_fail(-ENOMEM, "no memory for %llu records of location '%s'; ask for fewer",
                               (unsigned long long)a->capacity, name)
                    : pml__otf2_create_location(a, loc);
  if (err < 0) {
    free_location(loc);
  } else {
    pml__otf2_add_location(a, loc);
    *out = loc;
  }
  pml__mutex_leave(&a->lock);
  return err;
}

int pml__otf2_location_done(struct pml_otf2 *a, struct pml_otf2_location *loc) {
  pml__mutex_take(&a->lock);
  int err = remember(a, pml__otf2_close_writer(a, loc));
  free_ring(loc);
  pml__mutex_leave(&a->lock);
  return err;
}

int pml__otf2_add_process(struct pml_otf2 *a, const char *name, const char *host, struct pml__otf2_process **out) {
  struct pml__otf2_process *p = calloc(1, sizeof *p);
  if (p != NULL) {
    p->name = strdup(name);
    p->host = strdup(host);
    p->ref = a->nprocesses++;
    *a->last_process = p;
    a->last_process = &p->next;
  }
  *out = p;
  return p != NULL && p->name != NULL && p->host != NULL ? 0 : pml_fail(-ENOMEM, "no memory for a process of a trace");
}

static int add_self(struct pml_otf2 *a) {
  char host[256], name[512];
  struct pml__otf2_process *self;
  snprintf(name, sizeof name, "%.400s (%ld)", program_invocation_short_name, (long)getpid());
  return pml__otf2_add_process(a, name, pml__otf2_machine(host, sizeof host), &self);
}

static void free_processes(struct pml_otf2 *a) {
  for (struct pml__otf2_process *p = a->processes, *next; p != NULL; p = next) {
    next = p->next;
    free(p->name);
    free(p->host);
    free(p);
  }
}

static void free_archive(struct pml_otf2 *a) {
  for (struct pml_otf2_location *loc = a->first, *next; loc != NULL; loc = next) {
    next = loc->next;
    free_location(loc);
  }
  pml__otf2_sets_free(a);
  pml__otf2_singles_free(a);
  free_processes(a);
  pml__otf2_teams_free(a->teams);
  free(a->region_ref);
  free(a->dir);
  pthread_mutex_destroy(&a->lock.mutex);
  free(a);
}

int pml__otf2_check_metrics(const struct pml_otf2_metric *metrics, size_t n) {
  if (n > PML__OTF2_METRICS_MAX)
    return pml_fail(-EINVAL, "a trace has at most %d metrics, not %zu", PML__OTF2_METRICS_MAX, n);
  for (size_t i = 0; i < n; i++) {
    if (metrics[i].name == NULL || metrics[i].name[0] == '\0')
      return pml_fail(-EINVAL, "metric %zu of the trace has no name", i + 1);
    if ((unsigned)metrics[i].mode >= PML_MODES)
      return pml_fail(-EINVAL, "metric '%s' of the trace has an unknown mode", metrics[i].name);
  }
  return 0;
}

/* A power of two with room for a metric record besides an enter and its leave. */
static uint64_t ring_slots(size_t records, size_t nmetrics) {
  uint64_t want = records == 0 ? DEFAULT_RECORDS : records;
  uint64_t least = nmetrics / 2 + 4;
  uint64_t slots = MIN_SLOTS;
  while (slots < want || slots < least) slots *= 2;
  return slots;
}

static int new_archive(struct pml_otf2 **out, const char *dir) {
  struct pml_otf2 *a = calloc(1, sizeof *a);
  *out = a;
  if (a == NULL) return pml_fail(-ENOMEM, "no memory for a trace in '%s'", dir);
  a->pid = getpid();
  pthread_mutex_init(&a->lock.mutex, NULL);
  a->end = &a->first;
  a->last_process = &a->processes;
  a->dir = strdup(dir);
  return a->dir != NULL ? 0 : pml_fail(-ENOMEM, "no memory for a trace in '%s'", dir);
}

/* After a failure, frees everything; *@out is then NULL. */
static int opened(struct pml_otf2 **out, int err) {
  if (err == 0) err = pml__otf2_create(*out);
  if (err == 0) return 0;
  if (*out != NULL) free_archive(*out);
  *out = NULL;
  return err;
}

int pml_otf2_open(struct pml_otf2 **out, const char *dir, const struct pml_otf2_metric *metrics, size_t nmetrics,
                  size_t buffer_records) {
  *out = NULL;
  if (dir == NULL || dir[0] == '\0') return pml_fail(-EINVAL, "a trace needs a folder");
  if (buffer_records > MAX_SLOTS)
    return pml_fail(-EINVAL, "a buffer of %zu records is too large; at most %llu", buffer_records,
                    (unsigned long long)MAX_SLOTS);
  int err = pml__otf2_check_metrics(metrics, nmetrics);
  if (err == 0) err = pml_clock_init();
  if (err == 0) err = new_archive(out, dir);
  if (err == 0) err = pml__otf2_fill_set(*out, &(*out)->own, metrics, nmetrics);
  if (err == 0) err = add_self(*out);
  if (err == 0) {
    (*out)->capacity = ring_slots(buffer_records, nmetrics);
    (*out)->opened_ticks = pml_clock_ticks();
    (*out)->opened_realtime_ns = pml_clock_realtime_ns();
  }
  return opened(out, err);
}

int pml_otf2_foreign(struct pml_otf2 *a, const char *process, uint64_t realtime_ns) {
  char *name = strdup(process);
  if (name == NULL) return pml_fail(-ENOMEM, "no memory for the name of a process");
  free(a->processes->name);
  a->processes->name = name;
  a->in_ns = true;
  a->opened_ticks = 0;
  a->opened_realtime_ns = realtime_ns;
  return 0;
}

int pml_otf2_location_in(struct pml_otf2 *a, const char *process, const char *name, struct pml_otf2_location **out) {
  struct pml__otf2_process *p = a->processes; /* the single process */
  int err = 0;
  *out = NULL;
  if (a->first == NULL) err = pml_otf2_foreign(a, process, a->opened_realtime_ns);
  while (p->next != NULL && strcmp(p->name, process) != 0) p = p->next;
  if (err == 0 && strcmp(p->name, process) != 0) err = pml__otf2_add_process(a, process, a->processes->host, &p);
  return err == 0 ? pml__otf2_location_of(a, name, p, &a->own, out) : err;
}

int pml__otf2_open_logs(struct pml_otf2 **out, const char *dir) {
  int err = new_archive(out, dir);
  if (err == 0) (*out)->of_logs = (*out)->in_ns = true;
  return opened(out, err);
}

/* The thread is finished, so its fields may be read: leave its open regions, innermost first, at its last time. */
static void leave_open(struct pml_otf2 *a, struct pml_otf2_location *loc) {
  while (loc->depth > 0) {
    uint64_t top = loc->open[--loc->depth];
    if ((top & PML__OTF2_DROPPED) != 0) continue;
    loc->closed++;
    uint32_t ref;
    if (a->error != 0 || remember(a, reference_of(a, (pml_region_t)top, &ref)) < 0) continue;
    remember(a, pml__otf2_event(a, loc, PML__LOG_LEAVE, loc->last_ticks, ref, NULL));
  }
}

int pml_otf2_close(struct pml_otf2 *a) {
  if (a == NULL) return 0;
  int err = pml__otf2_here(a);
  if (err < 0) return err;
  pml__otf2_flusher_stop(a);
  pml__mutex_take(&a->lock);
  for (struct pml_otf2_location *loc = a->first; loc != NULL; loc = loc->next) {
    drain(a, loc);
    leave_open(a, loc);
  }
  if (!a->of_logs) a->counted = pml_count_here();
  remember(a, pml__otf2_finish(a, pml__otf2_define));
  err = first_error(a);
  pml__mutex_leave(&a->lock);
  free_archive(a);
  return err;
}
