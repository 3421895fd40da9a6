/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/record/events/pml_recording_values.c - arguments and results of calls in a recording: count, sum, minimum
 * and maximum of each.
 *
 * Each list of values of a function has a block of memory, with names and STRIPES copies of the figures, so that
 * threads seldom change the same cache lines. Threads that share a copy change it by atomic operations, so that no
 * value is lost. They update the extremes first and the count last, so that every counted value is included in the
 * extremes.
 */
#include "base/pml_bits.h"
#include "base/pml_error.h"
#include "base/pml_thread.h"
#include "record/events/pml_recording_file.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>

#define SLOTS ((size_t)PML_REGIONS_MAX * 2)

static struct pml__log_values
    no_room; /* replaces a block that could not be allocated, so that allocation is tried once */

/* ---- one value ---- */

static bool is_less(uint64_t a, uint64_t b, bool real) {
  return real ? pml__as_double(a) < pml__as_double(b) : (int64_t)a < (int64_t)b;
}

static void keep_extreme(uint64_t *at, uint64_t bits, bool real, bool most) {
  uint64_t now = __atomic_load_n(at, __ATOMIC_RELAXED);
  while (most ? is_less(now, bits, real) : is_less(bits, now, real))
    if (__atomic_compare_exchange_n(at, &now, bits, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return;
}

static void add_real(uint64_t *sum, uint64_t bits) {
  uint64_t now = __atomic_load_n(sum, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(sum, &now, pml__as_bits(pml__as_double(now) + pml__as_double(bits)), true,
                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

/* 128 bits in two words: the thread that makes the lower one overflow carries into the upper one. */
static void add_integer(struct pml__log_figures *f, uint64_t bits) {
  uint64_t before = __atomic_fetch_add(&f->low, bits, __ATOMIC_RELAXED);
  uint64_t carry = before + bits < before, upper = (int64_t)bits < 0 ? UINT64_MAX : 0;
  if (carry + upper != 0) __atomic_fetch_add(&f->high, carry + upper, __ATOMIC_RELAXED);
}

static void add_one(struct pml__log_figures *f, uint64_t bits, bool real) {
  keep_extreme(&f->least, bits, real, false);
  keep_extreme(&f->most, bits, real, true);
  if (real)
    add_real(&f->low, bits);
  else
    add_integer(f, bits);
  __atomic_fetch_add(&f->count, 1, __ATOMIC_RELEASE);
}

/* ---- blocks ---- */

static void begin_figures(struct pml__log_figures *f, bool real) {
  f->least = real ? pml__as_bits(HUGE_VAL) : INT64_MAX;
  f->most = real ? pml__as_bits(-HUGE_VAL) : (uint64_t)INT64_MIN;
}

static void fill(struct pml__log_values *b, pml_region_t region, bool results, const struct pml_recording_value *v,
                 uint32_t n) {
  char *name = (char *)pml__recording_figures(b, n, PML__LOG_STRIPES);
  for (uint32_t i = 0; i < n; i++) {
    size_t bytes = strnlen(v[i].name, PML__LOG_VALUE_NAME_MAX);
    memcpy(name, v[i].name, bytes); /* the memory is zeroed */
    name += bytes + 1;
    b->real |= (uint64_t)v[i].real << i;
    for (uint32_t k = 0; k < PML__LOG_STRIPES; k++) begin_figures(&pml__recording_figures(b, n, k)[i], v[i].real);
  }
  b->region = region;
  b->results = results;
  __atomic_store_n(&b->n, n, __ATOMIC_RELEASE);
}

/* If two threads make a block, one uses the other's. */
__attribute__((noinline, cold)) static struct pml__log_values *make(struct pml_recording *s,
                                                                    struct pml__log_values **slot, pml_region_t region,
                                                                    bool results, const struct pml_recording_value *v,
                                                                    uint32_t n) {
  size_t bytes = sizeof(struct pml__log_values) + PML__LOG_STRIPES * pml__recording_stripe_bytes(n);
  for (uint32_t i = 0; i < n; i++) bytes += strnlen(v[i].name, PML__LOG_VALUE_NAME_MAX) + 1;
  struct pml__log_values *found = NULL, *b = pml_recording_get(s, region, PML__LOG_VALUES_PART, bytes);
  if (b == NULL) {
    __atomic_fetch_add(&s->head->count[PML__LOG_UNRECORDED], 1, __ATOMIC_RELAXED);
    b = &no_room;
  } else {
    pml_recording_name(s, region);
    fill(b, region, results, v, n);
  }
  if (__atomic_compare_exchange_n(slot, &found, b, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return b;
  if (b != &no_room) pml_recording_put(s, b);
  return found;
}

int pml_recording_keep_values(struct pml_recording *s, bool in_trace) {
  s->trace_values = in_trace;
  return 0;
}

/* If two threads map the slots, one uses the other's. NULL: no memory. */
__attribute__((noinline, cold)) static struct pml__log_values **make_slots(struct pml_recording *s) {
  size_t bytes = SLOTS * sizeof *s->values;
  struct pml__log_values **found = NULL, **all = MAP_FAILED;
  if (!pml__log_is_sealed(s->log))
    all = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) {
    __atomic_fetch_add(&s->head->count[PML__LOG_UNRECORDED], 1, __ATOMIC_RELAXED);
    return NULL;
  }
  if (__atomic_compare_exchange_n(&s->values, &found, all, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return all;
  (void)munmap(all, bytes);
  return found;
}

void pml__recording_values_end(struct pml_recording *s) {
  if (s->values != NULL) (void)munmap(s->values, SLOTS * sizeof *s->values);
  s->values = NULL;
}

void pml_recording_add_values(struct pml_recording *s, pml_region_t region, bool results,
                              const struct pml_recording_value *v, uint32_t n) {
  if (region >= PML_REGIONS_MAX || n == 0 || n > PML_RECORDING_VALUES_MAX) return;
  struct pml__log_values **slot = __atomic_load_n(&s->values, __ATOMIC_ACQUIRE);
  if (PML_UNLIKELY(slot == NULL) && (slot = make_slots(s)) == NULL) return;
  slot += (size_t)2 * region + results;
  struct pml__log_values *b = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
  if (PML_UNLIKELY(b == NULL)) b = make(s, slot, region, results, v, n);
  if (PML_UNLIKELY(b->n != n)) return; /* no room, or two functions with the same name but other values */
  struct pml__log_figures *f = pml__recording_figures(b, n, (uint32_t)pml_thread_self()->id % PML__LOG_STRIPES);
  for (uint32_t i = 0; i < n; i++) add_one(&f[i], v[i].bits, (b->real >> i & 1) != 0);
  if (s->trace_values) pml__recording_trace_values(s, region, results, v, n);
}
