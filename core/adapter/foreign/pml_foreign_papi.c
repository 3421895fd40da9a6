/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/foreign/pml_foreign_papi.c - regions of PAPI's high-level interface.
 *
 * libpapi gets each call as well, so that its own report is complete. Its reading of counters is outside the recorded
 * region. Fortran's functions call these.
 */
#include "adapter/foreign/pml_foreign.h"
#include "adapter/foreign/pml_foreign_next.h"
#include "interface/papi/papi_hl.h"

#pragma GCC visibility push(default)

int PAPI_hl_region_begin(const char *region) {
  PML_FOREIGN_NEXT(PAPI_hl_region_begin);
  int err = next != NULL ? next(region) : 0;
  (void)pml_section_start(pml_foreign_section(PML_FOREIGN_PAPI, region));
  return err;
}

int PAPI_hl_region_end(const char *region) {
  PML_FOREIGN_NEXT(PAPI_hl_region_end);
  (void)pml_section_stop(pml_foreign_section(PML_FOREIGN_PAPI, region));
  return next != NULL ? next(region) : 0;
}

#pragma GCC visibility pop
