/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/otf2_threads.c - eight threads record while one reads the statistics: nothing is lost.
 *
 * `otf2_threads DIR` leaves the archive in DIR for the validator.
 */
#include "check.h"
#include "folder.h"

#include <sched.h>
#include <sys/stat.h>

enum { NTHREADS = 8, ROUNDS = 4000, DEPTH = 80 };

static const struct pml_otf2_metric metrics[] = {
    {"a", NULL, "#", PML_OTF2_ACCUMULATED, 0, false, false, false},
    {"b", NULL, "#", PML_OTF2_ACCUMULATED, 0, false, false, false},
    {"c", NULL, "#", PML_OTF2_ACCUMULATED, 0, false, false, false},
};

struct worker {
  pthread_t thread;
  struct pml_otf2 *archive;
  unsigned number;
  uint64_t attempted, refused; /* refused: results other than 0 */
};

static atomic_int recording;

static void count(struct worker *w, int answer) {
  w->attempted++;
  if (answer != 0) w->refused++;
}

static void record(struct worker *w, struct pml_otf2_location *loc, pml_region_t outer, pml_region_t inner) {
  for (uint64_t i = 0; i < ROUNDS; i++) {
    uint64_t values[3] = {i, i * 2, i * 3};
    unsigned depth = 1 + (unsigned)(i % DEPTH);
    count(w, pml_otf2_enter(loc, pml_clock_ticks(), outer));
    for (unsigned d = 0; d < depth; d++) count(w, pml_otf2_enter(loc, pml_clock_ticks(), inner));
    count(w, pml_otf2_metric(loc, pml_clock_ticks(), values));
    for (unsigned d = 0; d < depth; d++) count(w, pml_otf2_leave(loc, pml_clock_ticks(), inner));
    count(w, pml_otf2_leave(loc, pml_clock_ticks(), outer));
    if (i % 16 == 0) sched_yield();
  }
}

static void *work(void *arg) {
  struct worker *w = arg;
  struct pml_otf2_location *loc;
  pml_region_t outer, inner;
  char name[32];
  snprintf(name, sizeof name, "worker %u", w->number);
  /* Regions and locations are made while others record and flush. */
  bool ready = pml_region_intern(name, __FILE__, __LINE__, &outer) == 0 &&
               pml_region_intern("inner", __FILE__, __LINE__, &inner) == 0 &&
               pml_otf2_location(w->archive, name, &loc) == 0;
  if (ready)
    record(w, loc, outer, inner);
  else
    w->refused++;
  atomic_fetch_sub(&recording, 1);
  return NULL;
}

static void start(struct worker *workers, struct pml_otf2 *a) {
  atomic_store(&recording, NTHREADS);
  for (unsigned i = 0; i < NTHREADS; i++) {
    workers[i] = (struct worker){.archive = a, .number = i};
    if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) abort();
  }
}

int main(int argc, char **argv) {
  char own[] = "/tmp/pmlua-otf2-XXXXXX";
  const char *dir = argc == 2 ? argv[1] : mkdtemp(own);
  struct worker workers[NTHREADS];
  struct pml_otf2 *a;
  if (!CHECK(dir != NULL && pml_otf2_open(&a, dir, metrics, 3) == 0, "an archive opens")) return check_done();
  start(workers, a);
  unsigned backwards = 0;
  uint64_t seen = 0;
  while (atomic_load(&recording) > 0) {
    struct pml_otf2_stats s;
    pml_otf2_stats(a, &s);
    backwards += s.written < seen;
    seen = s.written;
  }
  uint64_t attempted = 0, refused = 0;
  for (unsigned i = 0; i < NTHREADS; i++) {
    pthread_join(workers[i].thread, NULL);
    attempted += workers[i].attempted;
    refused += workers[i].refused;
  }
  struct pml_otf2_stats s;
  pml_otf2_stats(a, &s);
  CHECK(refused == 0, "no record is refused");
  CHECK(backwards == 0, "counts only grow");
  CHECK(s.written == attempted && s.dropped == 0, "all that was recorded is counted");
  CHECK(s.unmatched == 0 && s.lifted == 0, "nothing is unmatched or lifted");
  CHECK(pml_otf2_close(a) == 0, "the archive closes");
  if (argc != 2) folder_remove(dir);
  return check_done();
}
