/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/page_reader.h - repeated reads of the page of page_kernel.h, each compared with the emulated machine. */
#ifndef SPEC_PAGE_READER_H
#define SPEC_PAGE_READER_H

#include "check.h"
#include "page_kernel.h"

#include <inttypes.h>

#define READER_CLAIM_LIST(X)                                                                                           \
  X(MONOTONIC, "monotonic", "counts and times never go back")                                                          \
  X(BRACKETED, "bracketed", "each count lies between the machine's before and after")                                  \
  X(TIMES, "times", "so does each time enabled")                                                                       \
  X(OFF, "off", "enabled less running is the time without a counter, never mixed")                                     \
  X(STILL, "still", "a page that stands still and may be read is read, and at once")                                   \
  X(UNREADABLE, "unreadable", "a page without a counter, a permission or a clock is not read")                         \
  X(STALLED, "stalled", "a page inside an update is not read")                                                         \
  X(BOUNDED, "bounded", "a read ends after its tries")                                                                 \
  X(FAULT, "fault", "only existing counters are used")                                                                 \
  X(UNTOUCHED, "untouched", "a read that ends so leaves the result alone")                                             \
  X(TOLD, "told", "each try is reported")

#define READER_ENUM(id, name, says) CLAIM_##id,
enum claim { READER_CLAIM_LIST(READER_ENUM) CLAIMS };
#undef READER_ENUM

static struct {
  uint64_t reads, by_page, retried, gave_up; /* gave_up: PML_RDPMC_TRIES in a stalled update */
  uint64_t fallback[PAGE_KINDS];
  bool broken[CLAIMS];
  struct pml_reading last;
} reader;

static bool holds(enum claim claim, bool good, uint64_t got, uint64_t min, uint64_t max) {
  static const char *const name[] = {
#define READER_NAME(id, called, says) [CLAIM_##id] = called,
      READER_CLAIM_LIST(READER_NAME)
#undef READER_NAME
  };
  if (good) return true;
  reader.broken[claim] = true;
  printf("violation: %s after %" PRIu64 " reads: %" PRIu64 " not in [%" PRIu64 ", %" PRIu64 "]\n", name[claim],
         reader.reads + 1, got, min, max);
  return false;
}

static void reader_loops(void) {
  holds(CLAIM_BOUNDED, false, reading.instructions, 1, PML_RDPMC_TRIES);
  fflush(stdout);
  _Exit(1);
}

static void reader_faults(uint32_t counter) {
  holds(CLAIM_FAULT, false, counter, 0, MACHINE_SLOTS);
  fflush(stdout);
  _Exit(1);
}

/* One moment of the machine, as far as it can be told without stopping it. */
struct moment {
  uint64_t state, count, enabled, off;
};

static bool is_within(enum claim claim, uint64_t v, uint64_t min, uint64_t max) {
  return holds(claim, v - min <= max - min, v, min, max);
}

static bool value_holds(const struct pml_reading *r, bool timed, const struct moment *a, const struct moment *z) {
  struct pml_reading *last = &reader.last;
  if (!is_within(CLAIM_BRACKETED, r->raw, a->count, z->count)) return false;
  if (!holds(CLAIM_MONOTONIC, r->raw >= last->raw, r->raw, last->raw, z->count)) return false;
  last->raw = r->raw;
  if (!timed) return true;
  if (!is_within(CLAIM_TIMES, r->enabled_ns, a->enabled, z->enabled)) return false;
  if (!is_within(CLAIM_OFF, r->enabled_ns - r->running_ns, a->off, z->off)) return false;
  bool later = r->enabled_ns >= last->enabled_ns && r->running_ns >= last->running_ns;
  if (!holds(CLAIM_MONOTONIC, later, r->enabled_ns, last->enabled_ns, z->enabled)) return false;
  *last = *r;
  return true;
}

/* The path is determined only if the page stayed in one state from before the read until after it. */
static bool path_holds(int tries, bool timed, const struct moment *a, const struct moment *z) {
  unsigned told = tries > 0 ? (unsigned)tries : PML_RDPMC_TRIES;
  if (!holds(CLAIM_TOLD, told >= reading.instructions, told, reading.instructions, PML_RDPMC_TRIES)) return false;
  enum page_kind kind = a->state % 16;
  if (a->state != z->state || kind == PAGE_CHANGING) return true;
  if (kind == PAGE_STALLED) {
    reader.gave_up += tries == 0 && reading.instructions == PML_RDPMC_TRIES;
    return holds(CLAIM_STALLED, tries == 0, (uint64_t)tries, 0, 0);
  }
  if (tries == 0) reader.fallback[kind]++;
  bool readable = kind == PAGE_ON || (kind == PAGE_TIMELESS && !timed);
  if (readable) return holds(CLAIM_STILL, tries == 1, (uint64_t)tries, 1, 1);
  return holds(CLAIM_UNREADABLE, tries == 0, (uint64_t)tries, 0, 0);
}

static int read_page(bool timed, struct pml_reading *r) {
  return timed ? pml_rdpmc_read(&machine_page, r) : pml_rdpmc_count(&machine_page, &r->raw);
}

static bool read_once(bool timed, enum linger lingers) {
  const struct pml_reading untouched = {.raw = 11, .enabled_ns = 12, .running_ns = 13};
  struct pml_reading r = untouched;
  struct moment a, z;
  reading.instructions = 0;
  reading.linger = lingers;
  a.state = machine_get(&machine.state);
  a.count = machine_get(&machine.count);
  a.enabled = machine_get(&machine.enabled_min);
  a.off = machine_get(&machine.off);
  int tries = read_page(timed, &r);
  PML_RDPMC_FENCE(); /* orders the read before the values of the machine that follow */
  z.off = machine_get(&machine.off);
  z.enabled = machine_get(&machine.enabled_max);
  z.count = machine_get(&machine.count);
  z.state = machine_get(&machine.state);

  bool good = path_holds(tries, timed, &a, &z);
  bool same = r.raw == untouched.raw && r.enabled_ns == untouched.enabled_ns && r.running_ns == untouched.running_ns;
  if (good && tries > 0) good = value_holds(&r, timed, &a, &z);
  if (good && tries == 0) good = holds(CLAIM_UNTOUCHED, same, r.raw, untouched.raw, untouched.raw);
  reader.by_page += tries > 0;
  reader.retried += tries > 1;
  reader.reads++;
  atomic_store_explicit(&machine.reads, reader.reads, memory_order_release);
  return good;
}

/* Reading continues until every action of the kernel has occurred, but not forever. */
static bool has_met_all(void) {
  bool unknown = PML_RDPMC_COUNTERS == UINT32_MAX || reader.fallback[PAGE_UNKNOWN] > 0;
  for (unsigned w = 0; w < KERNEL_WIDTHS; w++)
    if (atomic_load(&kernel.wraps[w]) == 0) return false;
  return reader.gave_up > 0 && reader.retried > 0 && unknown && reader.fallback[PAGE_MUXED] > 0 &&
         reader.fallback[PAGE_DISABLED] > 0 && reader.fallback[PAGE_FORBIDDEN] > 0 &&
         reader.fallback[PAGE_TIMELESS] > 0;
}

static void reader_says(void) {
#define READER_SAYS(id, name, says) CHECK(!reader.broken[CLAIM_##id], says);
  READER_CLAIM_LIST(READER_SAYS)
#undef READER_SAYS
  CHECK(reader.gave_up > 0, "%" PRIu64 " reads of %" PRIu64 " gave up in a stalled update, as they must",
        reader.gave_up, reader.reads);
  CHECK(reader.retried > 0, "%" PRIu64 " of %" PRIu64 " page reads were tried again", reader.retried, reader.by_page);
  CHECK(has_met_all(),
        "left to read(2): %" PRIu64 " multiplexed, %" PRIu64 " disabled, %" PRIu64 " forbidden, %" PRIu64
        " without a clock, %" PRIu64 " on an unknown counter",
        reader.fallback[PAGE_MUXED], reader.fallback[PAGE_DISABLED], reader.fallback[PAGE_FORBIDDEN],
        reader.fallback[PAGE_TIMELESS], reader.fallback[PAGE_UNKNOWN]);
  uint64_t w[KERNEL_WIDTHS];
  for (unsigned i = 0; i < KERNEL_WIDTHS; i++) w[i] = atomic_load(&kernel.wraps[i]);
  CHECK(w[0] > 0 && w[1] > 0 && w[2] > 0 && w[3] > 0,
        "counters wrapped: %" PRIu64 " of 32 bits, %" PRIu64 " of 40, %" PRIu64 " of 48, %" PRIu64 " of 64", w[0], w[1],
        w[2], w[3]);
}

/* After @enough reads of one state nothing new can happen: let the kernel, which may not be running, continue. */
static void pace(uint64_t enough) {
  static uint64_t state, since;
  uint64_t now = machine_get(&machine.state);
  if (now != state) {
    state = now;
    since = reader.reads;
  }
  if (reader.reads - since < (now % 16 == PAGE_STALLED ? 4 : enough)) return;
  atomic_store(&machine.waits, now);
  for (int i = 0; i < 20000 && machine_get(&machine.state) == now; i++)
    if (i > 1000) sched_yield();
  atomic_store(&machine.waits, MACHINE_NO_STATE);
}

/* reader_run - @reads reads by page, and those in between that are left to read(2); counts and times by turns, every
 * @rare-th held up inside and no more than that of one state on end. */
static void reader_run(uint64_t reads, uint64_t rare) {
  bool good = true;
  for (uint64_t i = 0; good && i < 20 * reads && (reader.by_page < reads || !has_met_all()); i++) {
    enum linger lingers = i % rare == 0 ? 1 + (enum linger)(i / rare % (LINGERS - 1)) : LINGER_NOWHERE;
    good = read_once((i + i / rare) % 2 == 0, lingers);
    pace(rare);
  }
}

#endif
