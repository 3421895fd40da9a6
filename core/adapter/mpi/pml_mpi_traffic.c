/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/mpi/pml_mpi_traffic.c - a process's traffic by size, operation and receiver. */
#include "adapter/mpi/pml_mpi_traffic.h"

#include "adapter/mpi/pml_mpi_files.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A rank of a communicator to which messages were sent. */
struct partner {
  struct pml__mpi_entry entry;
  int32_t world;            /* its rank in the world, -1: not in this world */
  uint64_t messages, bytes; /* atomic */
  struct partner *next;     /* list of all partners */
};
_Static_assert(sizeof(struct partner) <= PML__MPI_ENTRY_BYTES, "an entry has room for it");

PML_THREAD_LOCAL struct pml__mpi_lane *pml__mpi_lane __attribute__((tls_model("initial-exec")));

static struct {
  bool counting;
  int size;                    /* size of the world; 0: unknown */
  struct pml__mpi_lane *lanes; /* atomic; lanes of ended threads stay */
  struct partner *partners;    /* atomic */
  struct pml__mpi_table table;
  int (*world_rank)(uint32_t communicator, int32_t rank);
} traffic;

void pml__mpi_translate(int size, int (*world_rank)(uint32_t communicator, int32_t rank)) {
  traffic.world_rank = world_rank;
  traffic.size = size;
}

/* ---- counting ---- */

static struct partner *new_partner(uint64_t key) {
  uint32_t communicator = (uint32_t)(key >> 32);
  int32_t rank = (int32_t)key;
  struct partner *p = pml__mpi_add(&traffic.table, key);
  if (p == NULL) return NULL;
  p->world = traffic.world_rank != NULL ? traffic.world_rank(communicator, rank) : -1;
  p->next = __atomic_load_n(&traffic.partners, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(&traffic.partners, &p->next, p, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
  }
  pml__mpi_publish(&p->entry);
  return p;
}

static void sent_to(uint64_t key, uint64_t bytes) {
  struct partner *p = pml__mpi_find(&traffic.table, key);
  if (p == NULL && (p = new_partner(key)) == NULL) return;
  (void)__atomic_add_fetch(&p->messages, 1, __ATOMIC_RELAXED);
  (void)__atomic_add_fetch(&p->bytes, bytes, __ATOMIC_RELAXED);
}

static void count_sent(struct pml__mpi_lane *l, uint64_t to, uint64_t bytes) {
  if (to >> 32 == PML__MPI_WORLD && (uint32_t)to < l->ranks) {
    pml__mpi_count_sent(l, (uint32_t)to, bytes);
    return;
  }
  pml__mpi_count_size(l, PML__MPI_SENT, bytes);
  sent_to(to, bytes);
}

__attribute__((noinline, cold)) static struct pml__mpi_lane *begin_lane(void) {
  static struct pml__mpi_lane unread;
  struct pml__mpi_lane *l = traffic.counting && traffic.size > 0 ? calloc(1, sizeof *l) : NULL;
  if (l == NULL) return pml__mpi_lane = &unread;
  l->blocks_of_rank = (UINT64_C(1) << 32) / (uint64_t)pml__mpi_block(traffic.size);
  l->ranks = (uint32_t)traffic.size;
  l->next = __atomic_load_n(&traffic.lanes, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(&traffic.lanes, &l->next, l, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
  }
  return pml__mpi_lane = l;
}

void pml__mpi_count(uint32_t what, const uint64_t *v) {
  struct pml__mpi_lane *l = pml__mpi_lane;
  if (PML_UNLIKELY(l == NULL)) l = begin_lane();
  switch (PML__LOG_COMMUNICATED_WHAT(what)) {
  case PML__LOG_SEND:
  case PML__LOG_ISEND:
    count_sent(l, v[0], pml__log_bytes(v[2]));
    break;
  case PML__LOG_RECEIVE:
  case PML__LOG_IRECV_COMPLETE:
    pml__mpi_count_size(l, PML__MPI_RECEIVED, pml__log_bytes(v[2]));
    break;
  case PML__LOG_COLLECTIVE_END:
    pml__mpi_count_collective(l, PML__LOG_COMMUNICATED_CODE(what), v[1], v[2]);
    break;
  default:
    break;
  }
}

/* Atomic, because threads share them. Calls for files take so long that the cost is negligible. */
static struct { uint64_t calls, bytes; } file[PML__MPI_FILE_N];

void pml__mpi_count_file(enum pml__mpi_file_function function, uint64_t bytes) {
  (void)__atomic_add_fetch(&file[function].calls, 1, __ATOMIC_RELAXED);
  (void)__atomic_add_fetch(&file[function].bytes, pml__log_bytes(bytes), __ATOMIC_RELAXED);
}

void pml__mpi_traffic_count(void) {
  traffic.counting = true;
}

/* ---- sums ---- */

static uint64_t get(const uint64_t *from) {
  return __atomic_load_n(from, __ATOMIC_RELAXED);
}

#define COUNTERS                                                                                                       \
  (offsetof(struct pml__mpi_lane, blocks_of_rank) / sizeof(uint64_t)) /* a lane begins with the counters */

static void sum_lanes(struct pml__mpi_lane *sum) {
  uint64_t *to = (uint64_t *)(void *)sum;
  memset(sum, 0, sizeof *sum);
  for (const struct pml__mpi_lane *l = __atomic_load_n(&traffic.lanes, __ATOMIC_ACQUIRE); l != NULL; l = l->next)
    for (size_t i = 0; i < COUNTERS; i++) to[i] += get((const uint64_t *)(const void *)l + i);
}

/* Sum the partners by block. The receivers of one rank are in a few blocks, or in all. */
static void sum_partners(struct pml__mpi_blocks *to, int size) {
  for (const struct partner *p = __atomic_load_n(&traffic.partners, __ATOMIC_ACQUIRE); p != NULL; p = p->next) {
    if (p->world < 0 || p->world >= size) continue;
    to->messages[p->world / pml__mpi_block(size)] += get(&p->messages);
    to->bytes[p->world / pml__mpi_block(size)] += get(&p->bytes);
  }
}

void pml__mpi_traffic_sum(struct pml__mpi_lane *sum, int size) {
  sum_lanes(sum);
  sum_partners(&sum->to, size);
}

void pml__mpi_file_sum(enum pml__mpi_file_function function, uint64_t *calls, uint64_t *bytes) {
  *calls = get(&file[function].calls);
  *bytes = get(&file[function].bytes);
}
