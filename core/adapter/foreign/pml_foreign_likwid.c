/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/foreign/pml_foreign_likwid.c - LIKWID's marker interface: regions, which may overlap.
 *
 * liblikwid gets each call as well, so that its own results are complete. Its measurement is outside the recorded
 * region. Fortran's functions call these.
 */
#include "adapter/foreign/pml_foreign.h"
#include "adapter/foreign/pml_foreign_next.h"
#include "interface/likwid/likwid_marker.h"

#pragma GCC visibility push(default)

int likwid_markerStartRegion(const char *tag) {
  PML_FOREIGN_NEXT(likwid_markerStartRegion);
  int err = next != NULL ? next(tag) : 0;
  (void)pml_section_start(pml_foreign_section(PML_FOREIGN_LIKWID, tag));
  return err;
}

int likwid_markerStopRegion(const char *tag) {
  PML_FOREIGN_NEXT(likwid_markerStopRegion);
  (void)pml_section_stop(pml_foreign_section(PML_FOREIGN_LIKWID, tag));
  return next != NULL ? next(tag) : 0;
}

#pragma GCC visibility pop
