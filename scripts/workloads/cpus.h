/* SPDX-License-Identifier: BSD-3-Clause */
/* scripts/workloads/cpus.h - the cpus that a thread may run on, for workloads with a thread on each. */
#ifndef PMLUA_WORKLOAD_CPUS_H
#define PMLUA_WORKLOAD_CPUS_H

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>

#define CPUS_MAX ((size_t)1 << 16)

/* As many as any kernel has: the fixed cpu_set_t of the C library ends at 1024. */
struct cpus {
  unsigned long word[CPUS_MAX / (8 * sizeof(unsigned long))];
};

/* The allowed cpus of the calling thread; 0 or -errno. */
static inline int cpus_get(struct cpus *c) {
  memset(c, 0, sizeof *c);
  return sched_getaffinity(0, sizeof *c, (cpu_set_t *)(void *)c) == 0 ? 0 : -errno;
}

static inline int cpus_set(const struct cpus *c) {
  return sched_setaffinity(0, sizeof *c, (const cpu_set_t *)(const void *)c) == 0 ? 0 : -errno;
}

static inline unsigned cpus_count(const struct cpus *c) {
  unsigned n = 0;
  for (size_t i = 0; i < sizeof c->word / sizeof *c->word; i++) n += (unsigned)__builtin_popcountl(c->word[i]);
  return n;
}

/* The first allowed cpu from @cpu on; CPUS_MAX if there are no more. */
static inline size_t cpus_next(const struct cpus *c, size_t cpu) {
  const size_t bits = 8 * sizeof(unsigned long);
  while (cpu < CPUS_MAX && !(c->word[cpu / bits] >> cpu % bits & 1)) cpu++;
  return cpu;
}

/* Pin the calling thread to one; 0 or -errno. */
static inline int cpus_pin(size_t cpu) {
  const size_t bits = 8 * sizeof(unsigned long);
  struct cpus one = {{0}};
  one.word[cpu / bits] = 1UL << cpu % bits;
  return cpus_set(&one);
}

#endif
