/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/tune_openmp.c - numbers of threads by rules, and balancing at the barriers of OpenMP's parallel regions.
 * Link: -fopenmp
 */
#include "check.h"
#include "control/balance/pml_balance.h"
#include "cpus_folder.h"

#include <omp.h>

#define STEPS 20

static unsigned team(void) {
  unsigned n = 0;
#pragma omp parallel reduction(+ : n)
  n++;
  return n;
}

static void threads(void) {
  const struct pml_tune_rule r[] = {{.region = "wide", .threads = 3}, {.region = "narrow", .threads = 1}};
  struct pml_tune *t;
  omp_set_dynamic(0);
  omp_set_num_threads(2);
  if (!CHECK(pml_tune_open(&t, r, 2, NULL) == 0, "rules set numbers of threads")) return;
  (void)pml_section_start_label("wide");
  CHECK(omp_get_max_threads() == 3 && team() == 3, "a parallel region in it has as many as the rule says");
  (void)pml_section_start_label("narrow");
  CHECK(team() == 1, "one inside has as many as its own says");
  (void)pml_section_stop_label("narrow");
  CHECK(team() == 3, "after it the outer rule holds again");
  (void)pml_section_stop_label("wide");
  CHECK(omp_get_max_threads() == 2 && team() == 2, "and after both there are as many as before");
  (void)pml_section_start_label("wide");
  pml_tune_close(t);
  CHECK(team() == 2, "closing in a region puts the number back, too");
  (void)pml_section_stop_label("wide");
}

/* The barrier at the end of each step is a section around an explicit one. */
static void balanced(void) {
  const char *sync = "omp barrier";
  const struct pml_balance_options o = {
      .sync = &sync, .nsync = 1, .tune = {.root = cpus_folder, .cpus = PML_TUNE_CURRENT}};
  struct pml_balance *b;
  struct pml_balance_stats s;
  if (!CHECK(pml_balance_open(&b, &o) == 0, "the threads of a parallel region are balanced")) return;
#pragma omp parallel num_threads(2)
  for (int i = 0; i < STEPS; i++) {
    nanosleep(&(struct timespec){.tv_nsec = omp_get_thread_num() == 0 ? 2000000 : 500000}, NULL);
    (void)pml_section_start_label("omp barrier");
#pragma omp barrier
    (void)pml_section_stop_label("omp barrier");
  }
  pml_balance_stats(b, &s);
  CHECK(s.threads == 2 && s.repetitions == 2 * (STEPS - 1) && s.compute_s < s.total_s,
        "each thread's repetitions are measured");
  pml_balance_close(b);
  CHECK(cpus_are(0, MAX, "3500000\n") && cpus_are(1, MAX, "3500000\n"),
        "and files restored, also for threads that live on");
}

int main(void) {
  cpus_make(2);
  CHECK_EACH(pml_tune_allow, threads, balanced, cpus_remove);
  return check_done();
}
