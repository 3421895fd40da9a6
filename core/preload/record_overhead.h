/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/preload/record_overhead.h - PMLUA_RECORD_OVERHEAD: functions that are too frequent are no longer recorded.
 * Internal.
 *
 * pml__record_overhead - if that is set, let the profile that will be opened in @m, whose `arg` is the recording,
 * report frequent functions. Dropped ones are noted in the recording as "dropped_functions", NAME<TAB>LIBRARY a line.
 * pml__record_overhead_stop - no system calls from now on.
 */
#ifndef PRELOAD_RECORD_OVERHEAD_H
#define PRELOAD_RECORD_OVERHEAD_H

#include "record/events/pml_recording.h"
#include "substrate/profile/pml_profile.h"

void pml__record_overhead(struct pml_profile_memory *m);
void pml__record_overhead_stop(void);

#endif
