/* SPDX-License-Identifier: BSD-3-Clause */
/* core/control/balance/pml_balance_private.h - per-thread state of the balancer: call path and regions. Internal. */
#ifndef PML_BALANCE_PRIVATE_H
#define PML_BALANCE_PRIVATE_H

#include "base/pml_cancel.h"
#include "base/pml_map.h"
#include "base/pml_stream.h"
#include "control/balance/pml_balance.h"
#include "control/tune/pml_tune_cpu.h"
#include "control/tune/pml_tune_table.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define PML__BALANCER_PLAIN 1u /* in a thread's table: a region that does not block */
#define PML__BALANCER_SYNC 2u

#define PML__BALANCER_SLOTS 1024u /* a hash table, filled to three quarters */
#define PML__BALANCER_RECORDS 65536u

struct pml__balance_step {
  pml_region_t region;
  uint64_t path; /* hash of all regions from the outermost to this one */
};

struct pml__balance_region {
  uint64_t path; /* path of the blocking call that it begins after */
  uint32_t number;
  struct pml_pace_region state;
};

struct pml__balance_thread {
  struct pml_balance *balancer;
  uint64_t id;
  struct pml__table table;
  struct pml__balance_step *step; /* [depth] */
  uint32_t depth, room;
  uint32_t blocking;                   /* the depth of the outermost blocking call that is open; 0: none is */
  struct pml__balance_region *current; /* NULL: before the first blocking call */
  uint64_t begin_ticks, sync_ticks;
  double used_hz;
  cpu_set_t cpus; /* that it has asked for */
  struct pml__balance_region *slot[PML__BALANCER_SLOTS];
  uint32_t nregions;
  struct pml__mutex lock; /* the records */
  struct pml_balance_record *record;
  size_t nrecords, record_room, taken;
  uint64_t lost, repetitions, compute_ticks, total_ticks;
  struct pml__balance_thread *next;
};

struct pml_balance {
  struct pml_balance_options options;
  struct pml_pace_rule rule;
  struct pml__controls *controls;
  struct pml__cpus cpus;
  struct pml__cpu_setting setting; /* control NULL: a dry run where there is no file */
  char **sync;
  atomic_bool *entered; /* [nsync] */
  atomic_bool told_unpinned, told_regions;
  uint64_t consumer;
  pid_t pid;
  bool stopped;
  struct pml__mutex lock; /* the list */
  struct pml__balance_thread *threads;
  uint32_t nthreads;
};

/* Events; the plain ones with general registers only, for regions that do not block. */
void pml__balance_enter(void *data, const struct pml_stream_event *e);
void pml__balance_leave(void *data, const struct pml_stream_event *e);
pml_stream_fast pml__balance_enter_fast, pml__balance_leave_fast;

/* pml__balance_withdraw - end all requests of the thread. */
void pml__balance_withdraw(struct pml__balance_thread *th);

/* A path one region longer. */
static inline uint64_t pml__balance_path(uint64_t path, pml_region_t region) {
  uint64_t h = (path ^ region) * PML__HASH_FACTOR;
  return h ^ h >> 29;
}

/* There is room. */
static inline void pml__balance_push(struct pml__balance_thread *th, pml_region_t region) {
  uint64_t above = th->depth > 0 ? th->step[th->depth - 1].path : 0;
  th->step[th->depth++] = (struct pml__balance_step){region, pml__balance_path(above, region)};
}

/* For regions that do not block; general registers only. False: it is not known to be one, or more is to be done. */
static inline bool pml__balance_enter_plainly(struct pml__balance_thread *th, pml_region_t region) {
  if (th->depth == th->room || pml__table_get(&th->table, region) != PML__BALANCER_PLAIN) return false;
  pml__balance_push(th, region);
  return true;
}
static inline bool pml__balance_leave_plainly(struct pml__balance_thread *th, pml_region_t region) {
  if (th->depth == 0 || th->step[th->depth - 1].region != region || th->depth == th->blocking) return false;
  th->depth--;
  return true;
}

#endif
