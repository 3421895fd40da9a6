/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/page_kernel.h - a thread that plays the kernel: it writes the page of page_machine.h repeatedly.
 *
 * A real kernel writes in an interrupt on the reader's own cpu. This one runs on another, which is stricter, so its
 * order must be argued: the lock is made odd, a full fence, the fields and the registers, a full fence, the lock is
 * made even. If a reader sees any field of the new epoch, then the first fence comes before its fence after that load,
 * and its second load of lock sees the odd value or a later one: it tries again. If it saw an even lock at first, that
 * store stands after the second fence of the writer: it sees every field of that epoch, or a later one, which is the
 * case before. On x86 the reader's fences are for the compiler only: loads are not reordered with loads, stores not
 * with stores, so the same holds. Hence a reader that mixes two epochs is wrong, and not just unlucky.
 */
#ifndef SPEC_PAGE_KERNEL_H
#define SPEC_PAGE_KERNEL_H

#include "page_machine.h"

#include <pthread.h>
#include <stddef.h>

__extension__ typedef unsigned __int128 uint128;

/* How far from its wrap a register is loaded, and how far it gets in one epoch. */
#define KERNEL_NEAR 4096u
#define KERNEL_EPOCH_MAX (UINT64_C(1) << 20)

static const unsigned kernel_width[] = {32, 40, 48, 64};
#define KERNEL_WIDTHS 4u

static struct {
  uint64_t seed;
  int pause; /* between two steps of the count: how long an epoch lasts, compared with a read */
  uint64_t epoch;
  enum page_kind kind;
  unsigned slot, width;
  int64_t loaded; /* the value loaded into the register */
  struct perf_event_mmap_page next;
  uint64_t cycles, cycles_start, cycles_mask;
  uint64_t enabled, enabled_start, off;
  uint64_t count;
  _Atomic uint64_t wraps[KERNEL_WIDTHS]; /* registers that went through their wrap, by width */
} kernel = {.seed = UINT64_C(0x9e3779b97f4a7c15)};

static uint64_t kernel_random(void) {
  uint64_t x = kernel.seed;
  x ^= x << 13, x ^= x >> 7, x ^= x << 17;
  return kernel.seed = x;
}

static uint64_t kernel_below(uint64_t n) {
  return (kernel_random() >> 16) % n;
}

/* The clock in ns as linux/perf_event.h defines it, but in 128 bits and one step. */
static uint64_t kernel_ns(uint64_t cycles) {
  return (uint64_t)((uint128)cycles * kernel.next.time_mult >> kernel.next.time_shift);
}

static enum page_kind plan_kind(void) {
  static const enum page_kind kind[16] = {[8] = PAGE_MUXED, PAGE_MUXED,    PAGE_MUXED,    PAGE_DISABLED,
                                          PAGE_FORBIDDEN,   PAGE_TIMELESS, PAGE_TIMELESS, PAGE_UNKNOWN};
  enum page_kind k = kind[kernel_below(16)]; /* half of them PAGE_ON, which is 0 */
  return k == PAGE_UNKNOWN && PML_RDPMC_COUNTERS == UINT32_MAX ? PAGE_ON : k;
}

/* Just below its wrap, at either end of its range, or anywhere: wherever a width goes wrong. */
static int64_t plan_load(unsigned width) {
  int64_t half = width == 64 ? INT64_MAX : (INT64_C(1) << (width - 1)) - 1;
  int64_t most = half - (int64_t)KERNEL_EPOCH_MAX;
  switch (kernel_below(5)) {
  case 0:
    return -(int64_t)kernel_below(KERNEL_NEAR) - 1;
  case 1:
    return -half - 1 + (int64_t)kernel_below(KERNEL_NEAR);
  case 2:
    return most - (int64_t)kernel_below(KERNEL_NEAR);
  case 3:
    return (int64_t)kernel_below((uint64_t)most);
  default:
    return -(int64_t)kernel_below((uint64_t)half);
  }
}

/* A new rate every epoch; a clock of few bits that is about to wrap, or one of 64; the other's fields are rubbish. */
static void plan_clock(struct perf_event_mmap_page *p) {
  static const unsigned bits[] = {20, 32, 56};
  bool brief = kernel_below(2) == 0;
  p->time_shift = (uint16_t)kernel_below(33);
  p->time_mult = (uint32_t)(((UINT64_C(1) << p->time_shift) * (3 + kernel_below(7)) / 8) & UINT32_MAX) | 1u;
  kernel.cycles_mask = brief ? (UINT64_C(1) << bits[kernel_below(3)]) - 1 : UINT64_MAX;
  if (brief)
    kernel.cycles = kernel_below(2) == 0 ? kernel.cycles_mask - kernel_below(KERNEL_NEAR) : kernel_below(KERNEL_NEAR);
  else
    kernel.cycles = kernel_below(UINT64_C(1) << 47) << 14;
  kernel.cycles_start = kernel.cycles;
  kernel.enabled_start = kernel.enabled;
  p->cap_user_time_short = brief;
  p->time_cycles = brief ? kernel.cycles : kernel_random();
  p->time_mask = brief ? kernel.cycles_mask : kernel_random();
  p->time_offset = -kernel_ns(kernel.cycles);
  p->time_enabled = kernel.enabled;
  p->time_running = kernel.enabled - kernel.off;
}

static void plan(void) {
  struct perf_event_mmap_page *p = &kernel.next;
  kernel.kind = plan_kind();
  kernel.slot = (unsigned)kernel_below(MACHINE_SLOTS - 1); /* the last is never ours: arm reads it for what it is not */
  kernel.width = (unsigned)kernel_below(KERNEL_WIDTHS);
  kernel.loaded = plan_load(kernel_width[kernel.width]);
  p->capabilities = 0;
  p->cap_user_rdpmc = kernel.kind != PAGE_FORBIDDEN;
  p->pmc_width = (uint16_t)kernel_width[kernel.width];
  p->index = machine_index(kernel.slot);
  p->offset = (int64_t)(kernel.count - (uint64_t)kernel.loaded);
  plan_clock(p);
  p->cap_user_time = kernel.kind != PAGE_TIMELESS;
  if (kernel.kind == PAGE_TIMELESS) p->time_offset = kernel_random(), p->time_enabled = kernel_random();
  if (kernel.kind == PAGE_MUXED || kernel.kind == PAGE_DISABLED) p->index = 0;
  if (kernel.kind == PAGE_UNKNOWN) p->index = PML_RDPMC_COUNTERS + 1 + (uint32_t)kernel_below(1000);
}

static bool kernel_counts_here(void) {
  return kernel.kind == PAGE_ON || kernel.kind == PAGE_TIMELESS;
}

static void put_registers(void) {
  uint64_t own = kernel.count - (uint64_t)kernel.loaded;
  unsigned width = kernel_width[kernel.width];
  for (unsigned i = 0; i < MACHINE_SLOTS; i++)
    atomic_store(&machine.base[i], i == kernel.slot && kernel_counts_here() ? own : kernel_random());
  atomic_store(&machine.register_mask, width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1);
}

static void put_clock(void) {
  atomic_store(&machine.cycles, kernel.cycles);
  atomic_store(&machine.clock_mask, kernel.cycles_mask);
}

#define PUT_STEPS 11u

/*
 * Stores into the page are hidden from the thread sanitizer, as a real kernel's are: the page is volatile memory that
 * two parties share by a protocol of fences, which the sanitizer does not know; all else is atomic and is watched.
 */
__attribute__((noinline, no_sanitize("thread"))) static void put(unsigned step) {
  const struct perf_event_mmap_page *n = &kernel.next;
  switch (step) {
  case 0:
    machine_page.capabilities = n->capabilities;
    break;
  case 1:
    machine_page.index = n->index;
    break;
  case 2:
    machine_page.pmc_width = n->pmc_width;
    break;
  case 3:
    machine_page.offset = n->offset;
    break;
  case 4:
    machine_page.time_enabled = n->time_enabled;
    break;
  case 5:
    machine_page.time_running = n->time_running;
    break;
  case 6:
    machine_page.time_offset = n->time_offset;
    break;
  case 7:
    machine_page.time_mult = n->time_mult, machine_page.time_shift = n->time_shift;
    break;
  case 8:
    machine_page.time_cycles = n->time_cycles, machine_page.time_mask = n->time_mask;
    break;
  case 9:
    put_registers();
    break;
  default:
    put_clock();
    break;
  }
}

__attribute__((noinline, no_sanitize("thread"))) static void put_lock(void) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  machine_page.lock = machine_page.lock + 1;
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void state(enum page_kind kind) {
  atomic_store(&machine.state, kernel.epoch << 4 | (uint64_t)kind);
}

/*
 * Stand still until @n more reads have ended: two, for one of them to have begun meanwhile. Where both threads share a
 * cpu, the reader meets no state but those in which the kernel does so. No longer, though, if the reader has seen
 * enough of this state and waits for the next.
 */
static void let_read(uint64_t n) {
  uint64_t from = machine_get(&machine.reads), now = machine_get(&machine.state);
  for (int i = 0; i < 100000 && machine_get(&machine.reads) < from + n; i++) {
    if (atomic_load(&machine.stop) || machine_get(&machine.waits) == now) return;
    if (i > 1000) sched_yield();
  }
}

static void stall(void) {
  state(PAGE_STALLED);
  let_read(2);
  state(PAGE_CHANGING);
}

/* The order of the fields differs each time, and so does what a reader finds half done. */
static void update(void) {
  unsigned first = (unsigned)kernel_below(PUT_STEPS);
  unsigned stalls_at = kernel_below(16) == 0 ? (unsigned)kernel_below(PUT_STEPS) : PUT_STEPS;
  state(PAGE_CHANGING);
  put_lock();
  for (unsigned i = 0; i < PUT_STEPS; i++) {
    put((first + i) % PUT_STEPS);
    if (i == stalls_at) stall();
  }
  put_lock();
  kernel.epoch++;
  state(kernel.kind);
}

static void pass_time(uint64_t cycles) {
  kernel.cycles += cycles;
  uint64_t enabled = kernel.enabled_start + kernel_ns(kernel.cycles) - kernel_ns(kernel.cycles_start);
  if (kernel.kind == PAGE_MUXED) kernel.off += enabled - kernel.enabled;
  kernel.enabled = enabled;
  atomic_store(&machine.enabled_max, enabled);
  atomic_store(&machine.off, kernel.off);
  atomic_store(&machine.cycles, kernel.cycles);
  atomic_store(&machine.enabled_min, enabled);
}

static void dwell(void) {
  uint64_t steps = kernel_below(UINT64_C(1) << kernel_below(11)), start = kernel.count;
  uint64_t stand = kernel_below(2) == 0 ? steps / 2 : UINT64_MAX;
  for (uint64_t i = 0; i < steps && !atomic_load(&machine.stop); i++) {
    if (i == stand) let_read(2);
    if (kernel.kind == PAGE_DISABLED) continue;
    pass_time(kernel_below(100));
    if (kernel.kind == PAGE_MUXED) continue;
    kernel.count += kernel_below(20);
    atomic_store(&machine.count, kernel.count);
    for (volatile int pause = 0; pause < kernel.pause; pause++) {
    }
  }
  if (kernel.loaded < 0 && kernel_counts_here() && kernel.count - start >= -(uint64_t)kernel.loaded)
    kernel.wraps[kernel.width]++;
}

static void *kernel_main(void *unused) {
  while (!atomic_load(&machine.stop)) {
    plan();
    update();
    dwell();
  }
  return unused;
}

/* kernel_start - write a first page, then continue in a thread. */
static bool kernel_start(pthread_t *thread, int pause) {
  kernel.pause = pause;
  kernel.count = kernel_random() >> 8;
  kernel.enabled = UINT64_C(1) << 40;
  atomic_store(&machine.count, kernel.count);
  plan();
  update();
  pass_time(0);
  return pthread_create(thread, NULL, kernel_main, NULL) == 0;
}

#endif
