/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/count_fork.c - a fork handler of another library may join threads that count, and load what counts. */
#include "check.h"
#include "count.h"
#include "fork_join.h"

static struct pml_count_module module;

static void prepare(void) {
  module = module_of("count_fork.c", PML_COUNT_SOURCE);
  uses(&module, DOUBLE_ADD);
  uses(&module, DOUBLE_LOAD);
}

static void use(void) {
  pml_count_module_begin(&module);
  add_doubles(1);
}

int main(void) {
  CHECK(forks_with(prepare, use), "a fork handler joins threads that count and load");
  return check_done();
}
