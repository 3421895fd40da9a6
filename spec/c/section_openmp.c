/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/section_openmp.c - sections in OpenMP's parallel regions, whose threads live on between them.
 * Link: -fopenmp
 */
#include "sections.h"

#define TEAM 4
#define LOOPS 5
#define STEPS 1000

int main(void) {
  struct pml_section *whole = defined("whole", NULL), *loop = defined("loop", NULL);
  unsigned failed = 0, team = 0;
  pml_section_start(whole);
  for (int n = 0; n < LOOPS; n++) {
#pragma omp parallel num_threads(TEAM) reduction(+ : failed, team)
    {
      team++;
      failed += pml_section_start(loop) != 0;
#pragma omp for
      for (int i = 0; i < STEPS; i++) {
        failed += pml_section_start_label("step") != 0;
        failed += pml_section_stop_label_work("step", 1, 1) != 0;
      }
      failed += pml_section_stop(loop) != 0;
    }
  }
  pml_section_stop(whole);
  CHECK(failed == 0 && team > 0, "every start and stop in a parallel region is taken");
  struct pml_section_row w = row_of(whole), l = row_of(loop), s = row_of(pml_section_find("step"));
  CHECK(w.count == 1 && w.nthreads == 1, "the serial section ran once on one thread");
  CHECK(l.count == team && l.running == 0, "the parallel one once per thread and loop (%u)", team);
  CHECK(s.count == LOOPS * STEPS && s.work == LOOPS * STEPS, "each step was counted, on whatever thread");
  CHECK(l.max_ns <= w.total_ns, "no loop is longer than the whole");
  return check_done();
}
