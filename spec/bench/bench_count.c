/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/bench/bench_count.c - cost of reading the compiler's counts, beside counters that libraries keep. */
#include "bench.h"

#include "../c/count_loaded.h"
#include "base/pml_error.h"
#include "source/compiler/pml_count_file.h"
#include "source/pml_eventset.h"
#include "source/sde/pml_sde.h"

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
  int rc = pml_eventset_open(&set, names, PML_BYFL_EVENTS, NULL);
  if (rc < 0) printf("%s: %s\n", names[0], pml_error_detail(rc));
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
  int rc = pml_eventset_open(&set, names, PML_BYFL_EVENTS, NULL);
  if (rc < 0) printf("%s: %s\n", names[0], pml_error_detail(rc));
  return set;
}

static void read_set(void *set, size_t n) {
  uint64_t v[PML_BYFL_EVENTS];
  for (size_t i = 0; i < n; i++) pml_eventset_read(set, v);
}

/* A program of many parts: cells of each family, forty in all. */
static struct pml_count_module large = {.abi = PML_COUNT_ABI, .name = "large"};

static void use(unsigned first, unsigned n) {
  for (unsigned c = first; c < first + n; c++) large.used[c / 64] |= UINT64_C(1) << c % 64;
}

static void add_large(void) {
  void (*tell)(const struct pml_count_module *);
  void *found = dlsym(RTLD_DEFAULT, "pml_count_module_begin");
  use(PML_CELL_LOAD, 4);
  use(PML_CELL_LOAD + PML_MEMORY_fp_4, 4);
  use(PML_CELL_STORE, 4);
  use(PML_CELL_STORE + PML_MEMORY_fp_4, 4);
  use(PML_CELL_INT, PML_INT_KIND_COUNT);
  for (unsigned kind = PML_FP_add; kind <= PML_FP_div; kind++)
    use(PML_CELL_FP + kind * PML_FP_FORM_COUNT + PML_FP_FORM_double, 2);
  use(PML_CELL_address, 3);
  use(PML_CELL_call_direct, 2);
  use(PML_CELL_copy, 2);
  use(PML_CELL_op_bits, 1);
  memcpy(&tell, &found, sizeof tell);
  tell(&large);
}

static void row(const char *figure, struct pml_eventset *counted, struct pml_eventset *created, double limit) {
  struct bench_op op[2] = {{.batch = read_set, .arg = created}, {.batch = read_set, .arg = counted}};
  bench_run(op, 2);
  bench_row(figure, &op[1], "9 created counters", &op[0], limit, NULL, NULL);
}

/*
 * Rows for nine sums over the seven kinds of operations of a loop of multiplications and additions, then over 40 kinds.
 */
void bench_count_rows(void) {
  struct pml_sde_library *lib;
  if (!counted_load("libpmlua_count.so") || !pml_count_active() || pml_sde_library(&lib, "BENCH") != 0) {
    printf("what the compiler counts: libpmlua_count.so is not beside this program, or does not find it\n");
    return;
  }
  struct pml_eventset *created = open_created(lib), *counted = open_counted();
  if (created != NULL && counted != NULL) {
    row("event set read, 9 by the compiler", counted, created, 1.1);
    add_large();
    row("the same, of 40 kinds of operation", counted, created, 3.0);
  }
  pml_eventset_close(created);
  pml_eventset_close(counted);
  pml_sde_shutdown(lib);
}
