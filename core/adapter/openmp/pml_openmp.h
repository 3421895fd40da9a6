/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/openmp/pml_openmp.h - OpenMP's constructs become events of pml_stream, and sums in the process's log.
 *
 * What raises them is an OpenMP runtime that has OMPT, the tools interface of OpenMP 5: it calls ompt_start_tool(),
 * which libpmlua.so exports and which asks for callbacks where calls are recorded or PMLUA_REPORT is set. That symbol
 * is found without OMP_TOOL_LIBRARIES, so the variable stays the user's. For libgomp, see preload/openmp_gomp.c.
 *
 * Each construct at each place of the code is a region: "omp parallel @PROGRAM+0x11c3", with the path of PROGRAM as its
 * file; pml_intercept.h chooses it as a function "omp parallel" of a library "OpenMP". Readers of logs turn the address
 * into a source line. A thread that waits in a barrier after its team has ended is told late: its leaves have the time
 * of the join, as nobody waited longer.
 */
#ifndef PML_OPENMP_H
#define PML_OPENMP_H

#include "base/pml_api.h"

#include <stdint.h>

PML_BEGIN_DECLS

/* What makes the events of this process known. Stored in logs. */
enum pml_openmp_runtime { PML_OPENMP_NONE, PML_OPENMP_OMPT, PML_OPENMP_LIBGOMP };

/*
 * pml_openmp_libraries - patterns of pml_intercept.h for the runtimes whose constructs are events instead of their
 * calls. OMPT takes the place of a construct from where a call returns to, which must not be a thunk.
 */
PML__SHARED const char *pml_openmp_libraries(void);

PML_END_DECLS

#endif
