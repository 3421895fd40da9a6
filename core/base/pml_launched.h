/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/pml_launched.h - rank and size of a process in a parallel job, from its launcher's variables. Internal. */
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

/* pml__number_of - @text as a number from 0 to INT_MAX, or -1; @text may be NULL. Keeps errno. */
int pml__number_of(const char *text);

#endif
