/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/simulation/pml_sim.h - callgrind's counts of the calling thread, if the process runs under callgrind.
 *
 * Only under `pmlua --sim` and `pmlua stat --sim`: PMLUA_SIM names the folder with valgrind's log of the process,
 * log.PID. Callgrind writes its counts to the log on request. Requests and reads are not counted, but they use the
 * caches of the model. Outside of valgrind no request is made.
 */
#ifndef PML_SIM_H
#define PML_SIM_H

#include "base/pml_api.h"

#include <stdint.h>

PML_BEGIN_DECLS

/* Valgrind's manual, "Cachegrind", explains the events; the order is callgrind's. */
#define PML_SIM_EVENT_LIST(X)                                                                                          \
  X(IR, "Ir", "instructions executed")                                                                                 \
  X(DR, "Dr", "data reads")                                                                                            \
  X(DW, "Dw", "data writes")                                                                                           \
  X(I1MR, "I1mr", "instruction reads that miss the first level of the model")                                          \
  X(D1MR, "D1mr", "data reads that miss the first level of the model")                                                 \
  X(D1MW, "D1mw", "data writes that miss the first level of the model")                                                \
  X(ILMR, "ILmr", "instruction reads that miss the last level of the model")                                           \
  X(DLMR, "DLmr", "data reads that miss the last level of the model")                                                  \
  X(DLMW, "DLmw", "data writes that miss the last level of the model")                                                 \
  X(BC, "Bc", "conditional branches")                                                                                  \
  X(BCM, "Bcm", "conditional branches that the model mispredicts")                                                     \
  X(BI, "Bi", "indirect branches")                                                                                     \
  X(BIM, "Bim", "indirect branches that the model mispredicts")
#define PML_SIM_ENUM(id, name, text) PML_SIM_##id,
enum pml_sim_event { PML_SIM_EVENT_LIST(PML_SIM_ENUM) PML_SIM_EVENTS };
#undef PML_SIM_ENUM

/* "Ir", and its description; NULL after the last. */
const char *pml_sim_name(unsigned event);
const char *pml_sim_description(unsigned event);

/* pml_sim_available - whether there are counts to read. Returns 0 or -ENOTSUP with the reason as the detail. Cost: one
 * load once it is known. Thread-safe. */
int pml_sim_available(void);

/*
 * pml_sim_read - the calling thread's counts since it, or a forked child, began; *@thread (may be NULL) is its number
 * in valgrind, which a thread created after its end may reuse.
 *
 * Returns 0, -ENOTSUP (not under simulation), or an error of reading the log (-errno, PML_EFORMAT). Cost: some 15
 * counted instructions, the same each time; in real time a request and a read(2), which take longer with deeper calls
 * of all threads. Takes a lock; thread-safe, not async-signal-safe.
 */
int pml_sim_read(uint64_t value[PML_SIM_EVENTS], uint32_t *thread);

PML_END_DECLS

#endif
