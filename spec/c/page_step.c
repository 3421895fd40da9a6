/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/page_step.c - the page reader, interrupted between any two of its instructions.
 *
 * The kernel writes the page in an interrupt or a context switch of the very thread that reads it, so it may step in at
 * each instruction, and nowhere else. Here the reader is single-stepped, and at the k-th step the event moves to
 * another counter, which another event's takes: once for each k, and twice for each k and every fourth step after it.
 * The count and the clock stand still, so there is but one right answer. The counter instruction and the clock are
 * calls.
 */
#include "check.h"

#if defined(__x86_64__)

#include <linux/perf_event.h>
#include <ucontext.h>

#define COUNTERS 4u
#define COUNT UINT64_C(0x123456789ab)
#define ENABLED UINT64_C(70000000)
#define RUNNING UINT64_C(30000000)
#define NOW UINT64_C(5000000)
#define TRAP_FLAG 0x100

static volatile uint64_t registers[COUNTERS];
static volatile struct perf_event_mmap_page page;

static uint64_t the_counter(uint32_t number) {
  return registers[number % COUNTERS];
}

static uint64_t the_clock(void) {
  return NOW;
}

#define PML_RDPMC_INSN(number) the_counter(number)
#define PML_RDPMC_CYCLES() the_clock()
#include "source/kernel/pml_rdpmc.h"

static unsigned generation;

static void move(void) {
  unsigned g = ++generation;
  page.lock++;
  for (uint32_t i = 0; i < COUNTERS; i++) registers[i] = UINT64_C(0x5555) * (i + g);
  page.index = g % COUNTERS + 1;
  page.offset = (int64_t)(COUNT - 1000 * g);
  registers[g % COUNTERS] = 1000 * g;
  page.time_offset = UINT64_C(0) - 100 * g;
  page.time_enabled = ENABLED - NOW + 100 * g;
  page.time_running = RUNNING - NOW + 100 * g;
  page.lock++;
}

static volatile unsigned steps, moves_at[2];

static void on_step(int sig, siginfo_t *info, void *context) {
  (void)sig, (void)info, (void)context;
  steps++;
  if (steps == moves_at[0] || steps == moves_at[1]) move();
}

static inline __attribute__((always_inline)) void step(bool on) {
  if (on)
    __asm__ volatile("pushfq\n\torq %0, (%%rsp)\n\tpopfq" ::"i"(TRAP_FLAG) : "memory", "cc");
  else
    __asm__ volatile("pushfq\n\tandq %0, (%%rsp)\n\tpopfq" ::"i"(~TRAP_FLAG) : "memory", "cc");
}

/* The red zone is not ours to push into. */
__attribute__((noinline)) static int read_stepped(bool times, struct pml_reading *r) {
  char below[256];
  __asm__ volatile("" ::"r"(below) : "memory");
  step(true);
  int tries = times ? pml_rdpmc_read(&page, r) : pml_rdpmc_count(&page, &r->raw);
  step(false);
  return tries;
}

static bool reads_right(bool times, unsigned first, unsigned second) {
  struct pml_reading r = {0};
  steps = 0;
  moves_at[0] = first;
  moves_at[1] = second;
  int tries = read_stepped(times, &r);
  bool right = tries > 0 && r.raw == COUNT && (!times || (r.enabled_ns == ENABLED && r.running_ns == RUNNING));
  if (!right)
    printf("# moved at steps %u and %u: %d tries, count %llx, enabled %llu, running %llu\n", first, second, tries,
           (unsigned long long)r.raw, (unsigned long long)r.enabled_ns, (unsigned long long)r.running_ns);
  return right;
}

static unsigned steps_of(bool times) {
  (void)reads_right(times, 0, 0);
  return steps;
}

static void everywhere(bool times, const char *what) {
  unsigned all = steps_of(times), reads = 0, right = 0;
  for (unsigned first = 1; first <= all && right == reads; first++)
    for (unsigned second = first; second <= first + all && right == reads; second += 4) {
      reads++;
      right += reads_right(times, first, second);
    }
  CHECK(all > 8 && right == reads, "%s is right wherever the kernel steps in: %u of %u reads", what, right, reads);
}

int main(void) {
  struct sigaction sa = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
  sigaction(SIGTRAP, &sa, NULL);
  page.cap_user_rdpmc = page.cap_user_time = 1;
  page.pmc_width = 48;
  page.time_mult = 1;
  move();
  if (steps_of(true) == 0) {
    SKIP("nothing can be single-stepped here (an emulator?)");
    return check_done();
  }
  everywhere(false, "a count");
  everywhere(true, "a count with its times");
  return check_done();
}

#else

int main(void) {
  SKIP("single steps are x86-64's; specs page_model and pmu_page interrupt the reader elsewhere");
  return check_done();
}

#endif
