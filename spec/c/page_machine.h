/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/page_machine.h - a PMU and a clock emulated by a spec: results of the counter and clock instructions.
 *
 * The truth is a single event count that only grows, and times that are a function of the clock. A register holds the
 * count minus a base, truncated to its width; all registers except the event's have meaningless bases. The value that
 * the reader computes from register, offset and clock must be the truth at some moment between its first and its last
 * instruction.
 */
#ifndef SPEC_PAGE_MACHINE_H
#define SPEC_PAGE_MACHINE_H

#include <linux/perf_event.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#if defined(__x86_64__)
/* Eight general counters, four fixed ones; any other number is a #GP. */
#define MACHINE_GENERAL 8u
#define MACHINE_FIXED 0x40000000u
#define MACHINE_SLOTS 12u
#else
/* Like PMUv3: 31 counters, and 31 or any other number is the cycle counter. */
#define MACHINE_SLOTS 32u
#endif

/* The current state of the event in the page. */
enum page_kind {
  PAGE_ON,        /* on a counter */
  PAGE_MUXED,     /* enabled, but others have the counters */
  PAGE_DISABLED,  /* not even enabled: its times stand still */
  PAGE_FORBIDDEN, /* it counts, user space may not read; the index is left from before */
  PAGE_TIMELESS,  /* no clock that user space could read: counts may be read, times not */
  PAGE_UNKNOWN,   /* on a counter that this reader knows nothing of */
  PAGE_CHANGING,  /* the kernel is writing */
  PAGE_STALLED,   /* and stands still in the midst of it */
  PAGE_KINDS
};

#define MACHINE_NO_STATE UINT64_MAX

/* Each group of fields on its own cache line; everything here is atomic, since two threads share it. */
static struct {
  _Alignas(64) _Atomic uint64_t count; /* the truth */
  _Atomic uint64_t cycles;             /* the clock; the instruction gives clock_mask of it */
  _Atomic uint64_t enabled_min;        /* the time it was enabled is at least this (stored after cycles) */
  _Atomic uint64_t enabled_max;        /* and at most this (stored before) */
  _Atomic uint64_t off;                /* enabled less running */
  _Alignas(64) _Atomic uint64_t state; /* epoch << 4 | kind */
  _Atomic uint64_t base[MACHINE_SLOTS];
  _Atomic uint64_t register_mask, clock_mask;
  _Alignas(64) _Atomic uint64_t reads; /* the reader's progress */
  _Atomic uint64_t waits;              /* the state whose end the reader waits for, or MACHINE_NO_STATE */
  _Atomic bool stop;
} machine = {.waits = MACHINE_NO_STATE};

static volatile struct perf_event_mmap_page machine_page;

static inline uint64_t machine_get(const _Atomic uint64_t *v) {
  return atomic_load_explicit(v, memory_order_acquire);
}

/* Where the reader is held up inside its read, until the kernel has stepped in: the rare made common. */
enum linger { LINGER_NOWHERE, LINGER_BEFORE_REGISTER, LINGER_AFTER_REGISTER, LINGER_AT_CLOCK, LINGERS };

static struct {
  enum linger linger;
  unsigned instructions; /* counter instructions in this read */
} reading;

static void linger(enum linger here) {
  if (reading.linger != here) return;
  reading.linger = LINGER_NOWHERE;
  uint64_t was = machine_get(&machine.state), now = was;
  atomic_store(&machine.waits, was);
  for (int i = 0; i < 20000 && now >> 4 == was >> 4 && now % 16 != PAGE_STALLED; i++) {
    if (i > 1000) sched_yield();
    now = machine_get(&machine.state);
  }
  atomic_store(&machine.waits, MACHINE_NO_STATE);
}

static void reader_loops(void);
__attribute__((unused)) static void reader_faults(uint32_t counter); /* not on arm, where no number faults */

static unsigned machine_slot(uint32_t counter) {
#if defined(__x86_64__)
  if (counter < MACHINE_GENERAL) return counter;
  if (counter - MACHINE_FIXED < MACHINE_SLOTS - MACHINE_GENERAL) return counter - MACHINE_FIXED + MACHINE_GENERAL;
  reader_faults(counter);
  return 0;
#else
  return counter < MACHINE_SLOTS ? counter : MACHINE_SLOTS - 1;
#endif
}

/* The index on the page of the counter in @slot. */
static uint32_t machine_index(unsigned slot) {
#if defined(__x86_64__)
  if (slot >= MACHINE_GENERAL) return MACHINE_FIXED + slot - MACHINE_GENERAL + 1;
#endif
  return slot + 1;
}

static uint64_t machine_rdpmc(uint32_t counter) {
  if (++reading.instructions > PML_RDPMC_TRIES) reader_loops();
  linger(LINGER_BEFORE_REGISTER);
  uint64_t base = machine_get(&machine.base[machine_slot(counter)]);
  uint64_t value = (machine_get(&machine.count) - base) & machine_get(&machine.register_mask);
  linger(LINGER_AFTER_REGISTER);
  return value;
}

static uint64_t machine_clock(void) {
  linger(LINGER_AT_CLOCK);
  uint64_t cycles = machine_get(&machine.cycles);
  return cycles & machine_get(&machine.clock_mask);
}

#endif
