/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/cost_foreign.h - cost of a region of each annotation interface. */
#ifndef COST_FOREIGN_H
#define COST_FOREIGN_H

#include "adapter/foreign/pml_foreign.h"
#include "interface/kokkos/kokkos_tools.h"
#include "interface/likwid/likwid_marker.h"
#include "interface/papi/papi_hl.h"

#define DECLARE(name, parameters, arguments) void kokkosp_##name parameters;
KOKKOS_TOOLS_LIST(DECLARE)
#undef DECLARE

/* Before sections also count for the compiler. */
static void foreign_open(void) {
  for (int i = 0; i < PML_FOREIGN_INTERFACES; i++) (void)pml_foreign_section((enum pml_foreign_interface)i, label);
}

#if defined(__x86_64__) /* by callgrind; the emulated machines have no rows of them */
/* Without the interfaces' own libraries, so that only pmlua's part is counted. */
PATH(foreign_kokkos_kernel, uint64_t id; kokkosp_begin_parallel_for(label, 0, &id); kokkosp_end_parallel_for(id))
PATH(foreign_kokkos_region, kokkosp_push_profile_region(label); kokkosp_pop_profile_region())
PATH(foreign_likwid, likwid_markerStartRegion(label); likwid_markerStopRegion(label))
PATH(foreign_papi, PAPI_hl_region_begin(label); PAPI_hl_region_end(label))
#endif

#endif
