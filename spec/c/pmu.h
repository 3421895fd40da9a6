/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/pmu.h - shared by the pmu_*.c specs: hardware events, loops of a known number of instructions, and the
 * kernel's count to compare with a page's. The specs need a PMU and are skipped without one.
 *
 * On any machine an interrupt may add to a count. PMU_EXACT=1 in the environment promises that nothing does, as in an
 * emulated machine that counts its own instructions: then every claim must hold to the last instruction.
 */
#ifndef SPEC_PMU_H
#define SPEC_PMU_H

#include "source/kernel/pml_counter_private.h"
#include "source/kernel/pml_rdpmc.h"

#include "check.h"

#define PMU_MOST 16 /* more counters than this are not looked for */

static inline bool pmu_is_exact(void) {
  const char *v = getenv("PMU_EXACT");
  return v != NULL && strcmp(v, "1") == 0;
}

/* An event that counts user space only, without the kernel's work in between. */
static inline bool pmu_event(struct pml_event *ev, const char *name) {
  return pml_event_parse(ev, name) == 0 && ev->nparts == 1;
}

/* The first check of every pmu spec; false after a skip. */
static inline bool pmu_is_here(void) {
  struct pml_event ev;
  struct pml_counter c;
  if (pml_event_has_pmu() != 1) {
    SKIP(pml_error_detail(PML_ENOPMU));
    return false;
  }
  if (!pmu_event(&ev, "instructions:u")) {
    SKIP("a hybrid CPU counts instructions on several PMUs");
    return false;
  }
  int rc = pml_counter_open(&c, &ev, 0, NULL, NULL, 0);
  if (rc < 0) {
    SKIP(pml_error_detail(rc));
    return false;
  }
  const char *why = NULL;
  bool paged = c.page != NULL;
  (void)pml_counter_path(&c, &why);
  pml_counter_close(&c);
  if (!paged) SKIP(why != NULL ? why : "no page");
  return paged;
}

/* Executes @instructions, an even number above 0, and some three to call it. */
__attribute__((noinline, unused)) static void pmu_spin(uint64_t instructions) {
  uint64_t turns = instructions / 2;
#if defined(__x86_64__)
  __asm__ volatile("1: dec %0\n jnz 1b" : "+r"(turns) : : "cc");
#elif defined(__aarch64__)
  __asm__ volatile("1: subs %0, %0, #1\n b.ne 1b" : "+r"(turns) : : "cc");
#elif defined(__riscv)
  __asm__ volatile("1: addi %0, %0, -1\n bnez %0, 1b" : "+r"(turns));
#else
  while (turns-- > 0) __asm__ volatile("");
#endif
}

/* Reads by read(2), independent of the path that the counter would choose. */
static inline bool pmu_kernel_read(const struct pml_counter *c, struct pml_reading *r) {
  uint64_t b[PML__WORD_GROUP_VALUES + PMU_MOST + 1];
  bool grouped = (c->flags & PML__OPEN_GROUP) != 0;
  ssize_t least = (ssize_t)((grouped ? 4 : 3) * sizeof *b);
  if (read(c->fd, b, sizeof b) < least) return false;
  *r = (struct pml_reading){.raw = b[grouped ? PML__WORD_GROUP_VALUES : PML__WORD_SINGLE_VALUE],
                            .enabled_ns = b[PML__WORD_ENABLED],
                            .running_ns = b[PML__WORD_RUNNING]};
  return true;
}

/* The times of a page are the kernel's own formula, but rounded at another place. */
#define PMU_ROUNDING_NS 2u

static inline bool pmu_is_between(const struct pml_reading *before, const struct pml_reading *now,
                                  const struct pml_reading *after) {
  return before->raw <= now->raw && now->raw <= after->raw && before->enabled_ns <= now->enabled_ns + PMU_ROUNDING_NS &&
         now->enabled_ns <= after->enabled_ns + PMU_ROUNDING_NS &&
         before->running_ns <= now->running_ns + PMU_ROUNDING_NS &&
         now->running_ns <= after->running_ns + PMU_ROUNDING_NS;
}

struct pmu_brackets {
  unsigned right, paged, kernel;
};

static inline void pmu_bracket(const struct pml_counter *c, struct pmu_brackets *b) {
  struct pml_reading before = {0}, now = {0}, after = {0};
  bool told = pmu_kernel_read(c, &before);
  if (c->page != NULL && pml_rdpmc_read(c->page, &now) > 0)
    b->paged++;
  else if (pml_counter_read(c, &now) == 0)
    b->kernel++;
  told = pmu_kernel_read(c, &after) && told;
  b->right += told && pmu_is_between(&before, &now, &after);
}

#endif
