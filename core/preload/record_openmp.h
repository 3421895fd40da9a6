/* SPDX-License-Identifier: BSD-3-Clause */
/* core/preload/record_openmp.h - OpenMP constructs of a recorded process. */
#ifndef PML_RECORD_OPENMP_H
#define PML_RECORD_OPENMP_H

/*
 * pml__record_openmp_aside - patterns of libraries whose calls are not recorded: @others, and the OpenMP runtimes whose
 * constructs are recorded instead. In static memory.
 */
const char *pml__record_openmp_aside(const char *others);

#endif
