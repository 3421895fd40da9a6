/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/workloads/kernels/team.h - a copy of a kernel on each of several cores, started together.
 *
 * The calling thread is the first member and leads; the others are separate threads. Each is pinned to a separate cpu
 * and has separate vectors, which it touches first, so that they lie in its local memory.
 */
#ifndef PMLUA_KERNELS_TEAM_H
#define PMLUA_KERNELS_TEAM_H

#include "kernels.h"

#include <stdint.h>

struct team;

/* The data of each member: values from 1 to 2 in a and b, zeros in c, *d = 0.5. */
struct team_vectors {
  const void *a, *b, *d;
  void *c;
};

/* team_cpus - how many cpus this process may run on, at least 1. */
unsigned team_cpus(void);

/*
 * team_open - start @members (0: one per cpu) with vectors of @n elements of @precision each.
 *
 * Returns 0, -EINVAL (more members than cpus), -ENOMEM, or what pthread_create or pinning said. The caller closes it,
 * in the thread that opened it; its affinity is then as before.
 */
int team_open(struct team **t, unsigned members, enum kernels_precision precision, size_t n);
void team_close(struct team *t);

unsigned team_members(const struct team *t);

/* The vectors of the leader. */
struct team_vectors team_vectors(const struct team *t);

/*
 * team_call - all call @f @calls times on the first @n elements, each timed separately. Returns the ticks of the
 * slowest member; *@fastest (may be NULL): the ticks of the fastest.
 */
uint64_t team_call(struct team *t, kernels_function *f, size_t n, uint64_t calls, uint64_t *fastest);

#endif
