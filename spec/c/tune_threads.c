/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/tune_threads.c - threads that enter and leave tuned regions while tuners come and go. */
#include "check.h"
#include "control/balance/pml_balance.h"
#include "cpus_folder.h"

#define THREADS 4
#define TUNERS 30

static atomic_bool enough;
static _Atomic unsigned called, left;

static int on_call(void *arg, bool leave, pml_region_t region, char why[PML_TUNE_WHY]) {
  (void)arg, (void)region, (void)why;
  atomic_fetch_add(leave ? &left : &called, 1);
  return 0;
}

static void *work(void *arg) {
  static const char *const label[] = {"outer", "inner", "other", "called", "barrier"};
  unsigned seed = *(unsigned *)arg;
  while (!atomic_load(&enough)) {
    const char *a = label[seed % 5], *b = label[seed / 5 % 5];
    seed = seed * 1103515245u + 12345u;
    (void)pml_section_start_label(a);
    (void)pml_section_start_label(b);
    (void)pml_section_stop_label(b);
    (void)pml_section_stop_label(a);
  }
  return NULL;
}

static bool as_they_were(void) {
  return cpus_are(0, MAX, "3500000\n") && cpus_are(1, MAX, "3500000\n") && cpus_are(0, MIN, "800000\n") &&
         cpus_are(1, MIN, "800000\n");
}

static struct pml_tune *tune(void) {
  static const struct pml_tune_rule rule[] = {{.region = "outer", .frequency_hz = 2e9},
                                              {.region = "inner", .max_hz = 1e9},
                                              {.region = "called", .min_hz = 9e8, .call = on_call}};
  const struct pml_tune_options o = {.root = cpus_folder, .cpus = PML_TUNE_ALL};
  struct pml_tune *t;
  return pml_tune_open(&t, rule, 3, &o) == 0 ? t : NULL;
}

static struct pml_balance *balance(void) {
  static const char *const sync[] = {"barrier"};
  const struct pml_balance_options o = {
      .sync = sync, .nsync = 1, .tune = {.root = cpus_folder, .cpus = PML_TUNE_CURRENT}};
  struct pml_balance *b;
  return pml_balance_open(&b, &o) == 0 ? b : NULL;
}

int main(void) {
  pthread_t thread[THREADS];
  unsigned seed[THREADS] = {1, 2, 3, 4}, opened = 0, restored = 0, untold = 0;
  uint64_t entered = 0, decided = 0;
  cpus_make(2);
  pml_tune_allow();
  for (unsigned i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, work, &seed[i]);
  for (unsigned i = 0; i < TUNERS; i++) {
    struct pml_tune *t = i % 3 != 2 ? tune() : NULL;
    struct pml_balance *b = t == NULL ? balance() : NULL;
    opened += t != NULL || b != NULL;
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    if (t != NULL) {
      struct pml_tune_stats s;
      pml_tune_stop(t);
      pml_tune_stats(t, &s);
      entered += s.entered;
      untold += s.refused == 0;
      pml_tune_close(t);
    } else if (b != NULL) {
      struct pml_balance_stats s;
      pml_balance_stop(b);
      pml_balance_stats(b, &s);
      decided += s.repetitions;
      untold += s.refused == 0;
      pml_balance_close(b);
    }
    restored += as_they_were();
  }
  atomic_store(&enough, true);
  for (unsigned i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
  CHECK(opened == TUNERS && untold == TUNERS, "tuners and balancers come and go while threads are in their regions");
  CHECK(restored == TUNERS, "and each leaves all files as they were");
  CHECK(entered > 0 && decided > 0, "after having set them: %llu regions, %llu decisions", (unsigned long long)entered,
        (unsigned long long)decided);
  CHECK(atomic_load(&called) == atomic_load(&left), "each call on enter has one on leave");
  cpus_remove();
  return check_done();
}
