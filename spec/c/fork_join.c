/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/fork_join.c - no lock is held while another library's fork handler joins threads that use pmlua. */
#include "fork_join.h"
#include "adapter/section/pml_section.h"
#include "base/pml_clock.h"
#include "check.h"
#include "record/pml_recorder.h"
#include "sanitized.h"
#include "source/sde/pml_sde.h"

#include <stdlib.h>

static struct pml_section *section;
static struct pml_sde_counter *counter;
static struct pml_recorder *recorder;
static pthread_barrier_t reading;

static void must(bool good) {
  if (!good) _exit(2);
}

static void prepare_section(void) {
  must(pml_section_define("joined", NULL, &section) == 0);
}

static void use_section(void) {
  must(pml_section_start(section) == 0 && pml_section_stop(section) == 0);
}

static void prepare_counter(void) {
  struct pml_sde_library *lib;
  must(pml_sde_library(&lib, "JOINED") == 0 && pml_sde_create(lib, "COUNT", PML_SDE_RW, &counter) == 0);
}

static void use_counter(void) {
  must(pml_sde_increment(counter, 1) == 0);
}

static void prepare_recorder(void) {
  const struct pml_recorder_options o = {.type = PML_TYPE_DOUBLE};
  must(pml_recorder_open(&recorder, &o) == 0);
}

static void use_recorder(void) {
  struct pml_value v;
  must(pml_recorder_push_double(recorder, 1) == 0 && pml_recorder_quantile(recorder, 50, &v) == 0 && v.d == 1);
}

/* --- a reader that the child has not --- */

static int held_back(const void *a, const void *b) {
  static atomic_bool once;
  double x = *(const double *)a, y = *(const double *)b;
  if (!atomic_exchange(&once, true)) {
    pthread_barrier_wait(&reading); /* in the middle of it */
    pthread_barrier_wait(&reading);
  }
  return (x > y) - (x < y);
}

static void *median(void *unused) {
  double d;
  must(pml_recorder_quantile_bytes(recorder, 50, &d) == 0 && d == 2);
  return unused;
}

static bool forks_in_a_reading(void) {
  const struct pml_recorder_options o = {.type = PML_TYPE_OTHER, .bytes = sizeof(double), .compare = held_back};
  pid_t tried = fork();
  if (tried != 0) return ends_well(tried);
  alarm(FORK_SECONDS);
  pthread_t reader;
  pthread_barrier_init(&reading, NULL, 2);
  must(pml_recorder_open(&recorder, &o) == 0);
  for (double d = 1; d < 4; d++) must(pml_recorder_push(recorder, &d) == 0);
  pthread_create(&reader, NULL, median, NULL);
  pthread_barrier_wait(&reading);
  pid_t child = fork();
  if (child == 0) {
    alarm(FORK_SECONDS);
    (void)median(NULL);
    pml_recorder_close(recorder);
    _exit(0);
  }
  pthread_barrier_wait(&reading);
  pthread_join(reader, NULL);
  _exit(ends_well(child) ? 0 : 1);
}

int main(void) {
  if (pml_clock_init() < 0) return 1;
  CHECK(forks_with(prepare_section, use_section), "a fork handler joins threads that were in sections");
  CHECK(forks_with(prepare_counter, use_counter), "and threads that counted in a created counter");
  CHECK(forks_with(prepare_recorder, use_recorder), "and threads that pushed to a recorder and read it");
  if (SANITIZED)
    SKIP("sanitizers do not allow threads to be left behind by a fork");
  else
    CHECK(forks_in_a_reading(), "a fork in the middle of a reading: the child reads anew, the parent goes on");
  return check_done();
}
