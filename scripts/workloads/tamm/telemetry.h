/* SPDX-License-Identifier: BSD-3-Clause */
/* scripts/workloads/tamm/telemetry.h - the software-defined events of a contraction. */
#ifndef TAMM_TELEMETRY_H
#define TAMM_TELEMETRY_H

#include "tamm.h"

/* The counts of a task, from the thread that executed it. */
struct tamm__task {
  int64_t dgemms, flops;
  double seconds;
};

int tamm__tell_open(struct tamm_error *e); /* registers, once; 0 or a negative code */
void tamm__tell_begin(const struct tamm_term *term);
/* From the threads, while they work. */
void tamm__tell_dgemm(const struct tamm_term *term, int64_t flops);
void tamm__tell_length(const struct tamm_term *term, int64_t dgemms);
/* From the caller of the contraction, after it: tasks in their order, then threads in theirs. */
void tamm__tell_task(const struct tamm_term *term, const struct tamm__task *task);
void tamm__tell_thread(const struct tamm_term *term, double seconds);
void tamm__tell_end(const struct tamm_term *term, const struct tamm_report *report);
void tamm__tell_check(const struct tamm_term *term, double error);

#endif
