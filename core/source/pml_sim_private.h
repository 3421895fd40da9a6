/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/pml_sim_private.h - reading the simulation within code of ours that is not to be counted. Internal. */
#ifndef PML_SIM_PRIVATE_H
#define PML_SIM_PRIVATE_H

#include "source/pml_sim.h"

/* Counting of the calling thread stops, or goes on; only where pml_sim_available(). */
void pml__sim_toggle(void);

/* As pml_sim_read(), between two toggles. */
int pml__sim_read(uint64_t value[PML_SIM_EVENTS], uint32_t *thread);

#endif
