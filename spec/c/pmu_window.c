/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/pmu_window.c - loops of a known number of instructions are counted as that number. */
#include "source/kernel/pml_eventset_kernel.h"
#include "source/kernel/pml_group.h"

#include "pmu.h"

#define WINDOWS 2000u
#define WINDOW 10000u

struct windows {
  uint64_t least, overhead; /* least of all, and the one most often seen */
  unsigned same;            /* how often */
  unsigned rewritten;       /* longer ones in which the kernel wrote the page: a read that it met was tried again */
};

static struct windows measure(const struct pml_counter *c, uint64_t instructions) {
  static uint64_t count[WINDOWS];
  static bool wrote[WINDOWS];
  struct windows w = {.least = UINT64_MAX};
  for (unsigned i = 0; i < WINDOWS; i++) {
    struct pml_reading before = {0}, after = {0};
    uint32_t lock = c->page != NULL ? c->page->lock : 0;
    pml_counter_read(c, &before);
    pmu_spin(instructions);
    pml_counter_read(c, &after);
    count[i] = after.raw - before.raw;
    wrote[i] = c->page != NULL && c->page->lock != lock;
    if (count[i] < w.least) w.least = count[i];
  }
  for (unsigned i = 0; i < WINDOWS; i++) {
    w.same += count[i] == w.least;
    w.rewritten += count[i] != w.least && wrote[i];
  }
  w.overhead = w.least - instructions;
  return w;
}

static void windows(const char *how, const struct pml_event *ev, unsigned flags) {
  struct pml_counter c;
  if (!CHECK(pml_counter_open(&c, ev, 0, NULL, NULL, flags) == 0, "%s: opens", how)) return;
  struct windows once = measure(&c, WINDOW), twice = measure(&c, UINT64_C(2) * WINDOW);
  CHECK(once.least >= WINDOW && once.overhead < 5000, "%s: %u instructions cost +%llu", how, WINDOW,
        (unsigned long long)once.overhead);
  unsigned enough = pmu_is_exact() ? WINDOWS : WINDOWS / 2;
  CHECK(once.same + once.rewritten >= enough && twice.same + twice.rewritten >= enough,
        "%s: in %u and %u of %u windows", how, once.same, twice.same, WINDOWS);
  CHECK(once.rewritten + twice.rewritten <= WINDOWS / 50, "%s: but %u that the kernel interrupted at a read", how,
        once.rewritten + twice.rewritten);
  CHECK(once.overhead == twice.overhead, "%s: twice the loop is exactly twice the loop's instructions more", how);
  pml_counter_close(&c);
}

static double cycles_per_instruction(void) {
  const char *v = getenv("PMU_CYCLES_PER_INSTRUCTION");
  return v != NULL ? atof(v) : 0;
}

/* Both orders: counters that were swapped, or an index that is off by one, show as cycles among instructions. */
static void not_swapped(const char *first, const char *second, size_t insns_at) {
  const char *const names[] = {first, second};
  struct pml_eventset *s;
  uint64_t v[2] = {0};
  uint64_t n = 1000000, least[2] = {UINT64_MAX, UINT64_MAX};
  if (!CHECK(pml_eventset_open(&s, names, 2, NULL) == 0, "%s, %s", first, second)) return;
  for (unsigned i = 0; i < 20; i++) {
    pml_eventset_start(s);
    pmu_spin(n);
    pml_eventset_read(s, v);
    for (unsigned e = 0; e < 2; e++)
      if (v[e] < least[e]) least[e] = v[e];
  }
  uint64_t insns = least[insns_at], cycles = least[1 - insns_at];
  CHECK(insns >= n && insns < n + 5000, "%s, %s: %llu instructions", first, second, (unsigned long long)insns);
  double cpi = cycles_per_instruction();
  if (cpi > 0)
    CHECK((double)cycles >= (double)n * cpi && (double)cycles < (double)(n + 5000) * cpi, "%llu cycles: %g each",
          (unsigned long long)cycles, cpi);
  else
    CHECK(cycles > 0, "%llu cycles", (unsigned long long)cycles);
  struct pml_eventset_event info;
  for (size_t e = 0; e < 2; e++)
    CHECK(pml_eventset_event(s, e, &info) == 0 && info.path == PML_PATH_PAGE, "%s is read by page", names[e]);
  pml_eventset_close(s);
}

int main(void) {
  struct pml_event insns;
  if (!pmu_is_here() || !pmu_event(&insns, "instructions:u")) return check_done();
  windows("by page", &insns, 0);
  windows("by read(2)", &insns, PML_OPEN_NO_PAGE);
  not_swapped("instructions:u", "cycles:u", 0);
  not_swapped("cycles:u", "instructions:u", 1);
  return check_done();
}
