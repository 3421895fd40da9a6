/* SPDX-License-Identifier: BSD-3-Clause */
/* scripts/workloads/krylov/telemetry.h - the software-defined events of a solve. */
#ifndef KRYLOV_TELEMETRY_H
#define KRYLOV_TELEMETRY_H

#include "krylov.h"

int krylov__tell_open(struct krylov_error *e); /* registers, once; 0 or a negative code */
void krylov__tell_begin(const struct krylov_matrix *a);
void krylov__tell_initial(double residual);
/* The residual of iteration @n, into the series. False: the solver shall stop. */
bool krylov__tell_iteration(size_t n, double residual);
void krylov__tell_spmv(void);
void krylov__tell_setup(double seconds);
void krylov__tell_end(const struct krylov_report *report);

#endif
