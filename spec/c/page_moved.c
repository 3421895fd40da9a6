/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/page_moved.c - the page reader on cores of different kinds: it is moved to the other kind before each
 * instruction of its restartable section.
 *
 * The counters are pages of memory. One kind of core has all, the other only the first: a move removes the other pages,
 * so that reading them faults, like rdpmc. A breakpoint stops the reader at one instruction at a time; the kernel
 * restarts the section because of the breakpoint's signal, as it does when it moves the thread. The same reader with an
 * unregistered area must fault.
 */
#include "check.h"

#if defined(__x86_64__)

#include <linux/perf_event.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#define PAGE 4096u
#define COUNTERS 4u
#define COUNT UINT64_C(0x123456789)

/* [COUNTERS], a page each. */
extern uint8_t counters[COUNTERS][PAGE];
_Alignas(PAGE) uint8_t counters[COUNTERS][PAGE];

#define PML_RSEQ_INSN                                                                                                  \
  "leaq counters(%%rip), %%rdx\n\t"                                                                                    \
  "shlq $12, %%rcx\n\t"                                                                                                \
  "movl 4(%%rdx, %%rcx), %%eax\n\t"                                                                                    \
  "xchgq %%rax, %%rdx\n\t"                                                                                             \
  "movl (%%rax, %%rcx), %%eax"
#include "source/kernel/pml_rdpmc.h"

static volatile struct perf_event_mmap_page page;

struct section {
  uint32_t version, flags;
  uint64_t start, bytes, abort;
};
static struct {
  uint32_t cpu[2];
  uint64_t section;
  uint64_t more[3];
} unknown_area;

static void set_counter(unsigned i, uint64_t count) {
  memcpy(counters[i], &count, sizeof count);
}

static void put_on(unsigned n, uint64_t count) {
  (void)mprotect(counters, sizeof counters, PROT_READ | PROT_WRITE);
  page.lock++;
  for (unsigned i = 0; i < COUNTERS; i++) set_counter(i, UINT64_C(0x5555) * (i + 1));
  set_counter(n, count);
  page.index = n + 1;
  page.offset = (int64_t)(COUNT - count);
  page.lock++;
}

static void to_other_kind(void) {
  page.lock++;
  page.index = 0;
  page.lock++;
  (void)mprotect(counters[1], (COUNTERS - 1) * PAGE, PROT_NONE);
}

static void to_other_counter(void) {
  put_on(1, 77);
}

#define STEPS 1024u
#define BEFORE 4u
#define AFTER 6u
static volatile uintptr_t stepped[STEPS];
static volatile unsigned steps;
static unsigned inside; /* the section */
static uint8_t *stop;
static uint8_t stopped_byte;
static void (*move)(void);
static volatile unsigned moves, restarts, faults;
static sigjmp_buf after_fault;

static void on_trap(int sig, siginfo_t *info, void *context) {
  greg_t *reg = ((ucontext_t *)context)->uc_mcontext.gregs;
  (void)sig, (void)info;
  if (stop == NULL) { /* a single step */
    if (steps < STEPS) stepped[steps] = (uintptr_t)reg[REG_RIP];
    steps++;
    return;
  }
  *stop = stopped_byte;
  if ((uintptr_t)reg[REG_RIP] == (uintptr_t)stop + 1)
    reg[REG_RIP]--;
  else
    restarts++;
  moves++;
  move();
}

static void on_fault(int sig) {
  (void)sig;
  faults++;
  siglongjmp(after_fault, 1);
}

static inline __attribute__((always_inline)) void step(bool on) {
  if (on)
    __asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
  else
    __asm__ volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
}

/* The one copy of the reader. @stepping: record where its instructions are. */
__attribute__((noinline)) static int read_it(uint64_t *raw, bool stepping) {
  char below[256];
  struct pml_reading r = {0};
  __asm__ volatile("" ::"r"(below) : "memory");
  if (stepping) step(true);
  int tries = pml_rdpmc_read_restartable(&page, &r);
  if (stepping) step(false);
  *raw = r.raw;
  return tries;
}

static unsigned find_instructions(uintptr_t at[STEPS]) {
  uint64_t raw;
  unsigned n = 0;
  pml__rseq_offset = (intptr_t)((uintptr_t)&unknown_area - (uintptr_t)__builtin_thread_pointer());
  put_on(3, 1000);
  int tries = read_it(&raw, true);
  const struct section *s = (const void *)(uintptr_t)unknown_area.section;
  if (!CHECK(tries == 1 && raw == COUNT && s != NULL && steps < STEPS, "a read that nothing disturbs: %d try, %u steps",
             tries, steps))
    return 0;
  unsigned first = 0, last = 0;
  while (first < steps && stepped[first] != s->start) first++;
  for (unsigned i = first; i < steps && stepped[i] - s->start < s->bytes; i++) last = i;
  inside = last - first + 1;
  for (unsigned i = first - BEFORE; i <= last + AFTER; i++) at[n++] = stepped[i];
  CHECK(first > BEFORE && inside >= 4, "its section has %u instructions", inside);
  return n;
}

/* -1: it faulted. */
__attribute__((noinline)) static int read_or_fault(uint64_t *raw) {
  if (sigsetjmp(after_fault, 1) != 0) return -1;
  return read_it(raw, false);
}

struct outcome {
  unsigned right, by_kernel, wrong, faulted, restarted;
};

static struct outcome move_before_each(const uintptr_t at[STEPS], unsigned n, void (*how)(void)) {
  struct outcome o = {0};
  for (unsigned i = 0; i < n; i++) {
    uint64_t raw = 0;
    put_on(3, 1000 + i);
    moves = restarts = faults = 0;
    move = how;
    stop = (uint8_t *)at[i];
    stopped_byte = *stop;
    *stop = 0xcc;
    int tries = read_or_fault(&raw);
    o.faulted += faults;
    o.restarted += restarts;
    o.by_kernel += tries == 0;
    o.right += tries > 0 && raw == COUNT;
    o.wrong += moves != 1 || (tries > 0 && raw != COUNT);
  }
  return o;
}

static bool make_writable(const uintptr_t at[STEPS], unsigned n) {
  uintptr_t first = at[0] & ~(uintptr_t)(PAGE - 1), last = at[n - 1] | (PAGE - 1);
  return mprotect((void *)first, last + 1 - first, PROT_READ | PROT_WRITE | PROT_EXEC) == 0;
}

static void moved(const uintptr_t at[STEPS], unsigned n) {
  struct outcome o = move_before_each(at, n, to_other_kind);
  CHECK(o.faulted > 0, "without the kernel's knowledge, %u of %u moves to the other kind of core fault", o.faulted, n);
  if (!pml__rseq_ready()) {
    SKIP("the C library has registered no restartable sequences");
    return;
  }
  o = move_before_each(at, n, to_other_kind);
  CHECK(
      o.faulted == 0 && o.wrong == 0 && o.by_kernel == n,
      "moved to the other kind before each of %u instructions in and around it, it leaves the count to read(2): %u, %u "
      "faults",
      n, o.by_kernel, o.faulted);
  CHECK(o.restarted == inside, "the kernel restarted the section %u times", o.restarted);
  o = move_before_each(at, n, to_other_counter);
  CHECK(o.faulted == 0 && o.wrong == 0 && o.right == n, "moved to another counter, it reads that: %u of %u right",
        o.right, n);
}

int main(void) {
#if defined(__SANITIZE_THREAD__)
  SKIP("a thread sanitizer delivers signals late: no instruction can be stopped at");
  return check_done();
#endif
  struct sigaction trap = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO}, fault = {.sa_handler = on_fault};
  uintptr_t at[STEPS];
  sigaction(SIGTRAP, &trap, NULL);
  sigaction(SIGSEGV, &fault, NULL);
  page.cap_user_rdpmc = page.cap_user_time = 1;
  page.pmc_width = 48;
  page.time_mult = 1;
  unsigned n = find_instructions(at);
  if (n == 0) return check_done();
  if (!make_writable(at, n)) {
    SKIP("this system does not let a program write into its code");
    return check_done();
  }
  moved(at, n);
  return check_done();
}

#else

int main(void) {
  SKIP("the counters of this spec are x86-64 code");
  return check_done();
}

#endif
