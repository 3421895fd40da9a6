/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/simulation/pml_sim_private.h - simulation reads that do not count pmlua's own code. Internal. */
#ifndef PML_SIM_PRIVATE_H
#define PML_SIM_PRIVATE_H

#include "source/simulation/pml_sim.h"

#include <stdbool.h>

/*
 * Code between pause and resume is not counted; they do not nest. Only if pml_sim_available().
 * pml__sim_count - in between: whether the thread is counted after resume. It is counted from its beginning, unless
 * PMLUA_SIM_SECTION names the only section in which threads are counted; then callgrind collects nothing at the start.
 */
void pml__sim_pause(void);
void pml__sim_resume(void);
void pml__sim_count(bool on);

/* The value of PMLUA_SIM_SECTION, or NULL. */
const char *pml__sim_section(void);

/* Like pml_sim_read(), between pause and resume. */
int pml__sim_read(uint64_t value[PML_SIM_EVENTS], uint32_t *thread);

#endif
