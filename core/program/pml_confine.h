/* SPDX-License-Identifier: BSD-3-Clause */
/* core/program/pml_confine.h - a sandbox that forbids starting programs, for gnuplot and Graphviz. Internal. */
#ifndef PML_CONFINE_H
#define PML_CONFINE_H

#include <stdbool.h>

#include <linux/filter.h>

struct pml_confine {
  struct sock_filter code[32];
  unsigned short n; /* 0: this machine has no rules */
};

/* pml_confine_make - rules that allow one execve(2): of exactly this pointer. */
void pml_confine_make(struct pml_confine *rules, const char *path);

/* pml_confine_apply - in the child, before execve(). Returns 0, also where there are no rules, or -errno. */
int pml_confine_apply(const struct pml_confine *rules);

/* pml_confine_here - whether rules are made, and the kernel takes them. */
bool pml_confine_here(void);

#endif
