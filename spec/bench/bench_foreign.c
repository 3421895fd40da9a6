/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/bench/bench_foreign.c - cost of a region of each annotation interface beside a section's. */
#include "bench.h"

#include "adapter/section/pml_section.h"
#include "interface/kokkos/kokkos_tools.h"
#include "interface/likwid/likwid_marker.h"
#include "interface/papi/papi_hl.h"

#define MORE_NS 20 /* than a section */

#define DECLARE(name, parameters, arguments) void kokkosp_##name parameters;
KOKKOS_TOOLS_LIST(DECLARE)
#undef DECLARE

static void section(void *arg, size_t n) {
  for (size_t i = 0; i < n; i++) {
    pml_section_start(arg);
    pml_section_stop(arg);
  }
}

static void kernel(void *arg, size_t n) {
  for (size_t i = 0; i < n; i++) {
    uint64_t id;
    kokkosp_begin_parallel_for(arg, 0, &id);
    kokkosp_end_parallel_for(id);
  }
}

static void region(void *arg, size_t n) {
  for (size_t i = 0; i < n; i++) {
    kokkosp_push_profile_region(arg);
    kokkosp_pop_profile_region();
  }
}

static void marker(void *arg, size_t n) {
  for (size_t i = 0; i < n; i++) {
    likwid_markerStartRegion(arg);
    likwid_markerStopRegion(arg);
  }
}

static void high_level(void *arg, size_t n) {
  for (size_t i = 0; i < n; i++) {
    PAPI_hl_region_begin(arg);
    PAPI_hl_region_end(arg);
  }
}

void bench_foreign_rows(void) {
  static char label[] = "bench of another interface";
  static const char *const figure[] = {"Kokkos kernel", "Kokkos region", "LIKWID marker", "PAPI high level"};
  struct pml_section *s;
  struct bench_op op[] = {{.batch = section},
                          {.batch = kernel, .arg = label},
                          {.batch = region, .arg = label},
                          {.batch = marker, .arg = label},
                          {.batch = high_level, .arg = label}};
  if (pml_section_define(label, NULL, &s) < 0) return;
  op[0].arg = s;
  bench_run(op, sizeof op / sizeof *op);
  struct bench_op most = {.ns = op[0].ns + MORE_NS};
  for (size_t i = 0; i < sizeof figure / sizeof *figure; i++)
    bench_row(figure[i], &op[1 + i], "a section + 20 ns", &most, 1, NULL, NULL);
}
