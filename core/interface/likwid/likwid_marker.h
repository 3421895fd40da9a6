/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/interface/likwid/likwid_marker.h - functions of LIKWID's marker interface that name regions, of liblikwid.so.5.
 *
 * A region belongs to a thread; regions overlap freely. Both functions return 0 or a negative number.
 */
#ifndef LIKWID_MARKER_H
#define LIKWID_MARKER_H

int likwid_markerStartRegion(const char *tag);
int likwid_markerStopRegion(const char *tag);

#endif
