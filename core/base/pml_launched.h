/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/pml_launched.h - the place in a parallel job, and what pmlua starts a process with, by variables. Internal.
 */
#ifndef PML_LAUNCHED_H
#define PML_LAUNCHED_H

#include "base/pml_api.h"

/* Each -1 where no launcher sets it to a number from 0 to INT_MAX. */
struct pml__launched {
  int rank, size;
  int local_rank; /* among the job's processes on this host */
};

/* pml__launched - reads the environment: not while another thread changes it. Nothing in a set-user-ID program. */
PML__SHARED void pml__launched(struct pml__launched *l);

/*
 * pml__setting - a variable of pmlua's: the environment's, else as pml__settings_add() has it; NULL: there is none. Not
 * while another thread changes the environment. Nothing in a set-user-ID program.
 * pml__settings_add - @variables, "NAME=VALUE", a NULL behind the last, are settings that the program does not see in
 * its environment. They stay the caller's, for good. Before main, where no other thread is.
 */
PML__SHARED const char *pml__setting(const char *name);
PML__SHARED void pml__settings_add(const char *const variables[]);

/* pml__number_of - @text as a number from 0 to INT_MAX, or -1; @text may be NULL. Keeps errno. */
int pml__number_of(const char *text);

#endif
