/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/record/log/pml_log_own.h - the log of this process, requested by PMLUA_REPORT=DIR. Internal.
 *
 * The first measurement makes it. A child never writes to its parent's log: it makes its own when it measures.
 */
#ifndef PML_LOG_OWN_H
#define PML_LOG_OWN_H

#include "record/log/pml_log.h"

#include <stdbool.h>

/* The process's identity when measuring began. */
struct pml__log_origin {
  int pid;
  long rank, size;     /* -1: not known */
  uint64_t started_ns; /* CLOCK_REALTIME */
  uint64_t zero_ticks; /* the same moment of pml_clock */
};
const struct pml__log_origin *pml__log_origin(void);

/* Starts the clock and reads the environment at its first call. The same result at every call, with its sentence. */
int pml__log_prepare(void);

/* Whether the environment requests a log; valid after pml__log_prepare(). */
bool pml__log_wanted(void);

/* pml__log_asked - the same, after calling pml__log_prepare() if PMLUA_REPORT is set; else the clock is not started. */
PML__SHARED bool pml__log_asked(void);

/* pml__log_own - this process's log, made at the first call; NULL: none is wanted or possible. A lock. Thread-safe. */
struct pml__log *pml__log_own(void);

/* pml__log_complain - print on stderr why the process has no log, once. With no lock held. */
void pml__log_complain(void);

/*
 * pml__log_cells - @n cells of the process's log that lie together, zeroed, with their @what and @number; they are
 * never given back. In a child they are its parent's: see pml_log.h. NULL: no log, or no room in it. A lock.
 */
struct pml__log_cell *pml__log_cells(uint32_t n, enum pml__log_cell_what what, uint32_t number);

/* pml__log_number - another number in each call, from 1 on, for what has cells. */
uint32_t pml__log_number(void);

#endif
