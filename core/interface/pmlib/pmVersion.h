/* SPDX-License-Identifier: BSD-3-Clause */
/* core/interface/pmlib/pmVersion.h - the version of PMlib whose calls these headers declare. */
#ifndef PML_COMPAT_PMVERSION_H
#define PML_COMPAT_PMVERSION_H

#define PM_VERSION "9.0.1"

#endif
