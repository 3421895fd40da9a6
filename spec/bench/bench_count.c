/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/bench/bench_count.c - reading what the compiler counts beside reading counters that libraries keep. */
#include "bench.h"

#include "../c/count_loaded.h"
#include "source/pml_eventset.h"
#include "source/pml_sde.h"

#include <stdio.h>

static struct pml_eventset *open_created(struct pml_sde_library *lib) {
  static char name[PML_BYFL_EVENTS][48];
  const char *names[PML_BYFL_EVENTS];
  struct pml_sde_counter *c;
  struct pml_eventset *set = NULL;
  for (unsigned i = 0; i < PML_BYFL_EVENTS; i++) {
    snprintf(name[i], sizeof name[i], "sde:::BENCH::C%u", i);
    names[i] = name[i];
    if (pml_sde_create(lib, name[i] + sizeof "sde:::BENCH::" - 1, PML_SDE_RW, &c) == 0) pml_sde_increment(c, 1);
  }
  (void)pml_eventset_open(&set, names, PML_BYFL_EVENTS, NULL);
  return set;
}

static struct pml_eventset *open_counted(void) {
  static char name[PML_BYFL_EVENTS][48];
  const char *names[PML_BYFL_EVENTS];
  struct pml_eventset *set = NULL;
  for (unsigned i = 0; i < PML_BYFL_EVENTS; i++) {
    snprintf(name[i], sizeof name[i], "sde:::BYFL::%s", pml_byfl_events[i].name);
    names[i] = name[i];
  }
  (void)pml_eventset_open(&set, names, PML_BYFL_EVENTS, NULL);
  return set;
}

static void read_set(void *set, size_t n) {
  uint64_t v[PML_BYFL_EVENTS];
  for (size_t i = 0; i < n; i++) pml_eventset_read(set, v);
}

/* Nine sums over the seven kinds of operation of a loop of multiplications and additions. */
void bench_count_rows(void) {
  struct pml_sde_library *lib;
  if (!counted_load("libpmlua_count.so") || pml_sde_library(&lib, "BENCH") != 0) return;
  struct pml_eventset *created = open_created(lib), *counted = open_counted();
  if (created != NULL && counted != NULL) {
    struct bench_op op[2] = {{.batch = read_set, .arg = created}, {.batch = read_set, .arg = counted}};
    bench_run(op, 2);
    bench_row("event set read, 9 by the compiler", &op[1], "9 created counters", &op[0], 2.5, NULL, NULL);
  }
  pml_eventset_close(created);
  pml_eventset_close(counted);
  pml_sde_shutdown(lib);
}
