/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/openmp/pml_openmp.h - OpenMP constructs as events of pml_stream and sums in the process's log.
 *
 * A runtime with OMPT, the tools interface of OpenMP 5, calls ompt_start_tool(), which libpmlua.so exports and which
 * requests callbacks if calls are recorded or PMLUA_REPORT is set. The runtime finds that symbol without
 * OMP_TOOL_LIBRARIES, so users may set the variable themselves. For libgomp, see preload/record_gomp.h.
 *
 * Each construct at each place of the code is a region: "omp parallel @PROGRAM+0x11c3", with the path of PROGRAM as its
 * file; pml_intercept.h chooses it like a function "omp parallel" of a library "OpenMP". Readers of logs convert the
 * address to a source line. A runtime may report the end of a team's last barrier long after the join; the leaves then
 * have the time of the join, when the wait ended.
 */
#ifndef PML_OPENMP_H
#define PML_OPENMP_H

#include "base/pml_api.h"

#include <stdint.h>

PML_BEGIN_DECLS

/* The source of the events. Stored in logs. */
enum pml_openmp_runtime { PML_OPENMP_NONE, PML_OPENMP_OMPT, PML_OPENMP_LIBGOMP };

/* pml_openmp_libraries - patterns of pml_intercept.h for the runtimes whose constructs replace their calls as events.
 * OMPT identifies a construct by the return address of a call, which must not be in a thunk. */
PML__SHARED const char *pml_openmp_libraries(void);

PML_END_DECLS

#endif
