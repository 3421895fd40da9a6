/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/mpi/reduction/pml_mpi_traffic.c - a process's traffic by size, operation and receiver. */
#include "adapter/mpi/reduction/pml_mpi_traffic.h"

#include "adapter/mpi/reduction/pml_mpi_files.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const operation_name[PML__MPI_OPERATIONS] = {"barrier",
                                                                "bcast",
                                                                "gather",
                                                                "gatherv",
                                                                "scatter",
                                                                "scatterv",
                                                                "allgather",
                                                                "allgatherv",
                                                                "alltoall",
                                                                "alltoallv",
                                                                "alltoallw",
                                                                "allreduce",
                                                                "reduce",
                                                                "reduce_scatter",
                                                                "scan",
                                                                "exscan",
                                                                "reduce_scatter_block",
                                                                "neighbor_allgather",
                                                                "neighbor_allgatherv",
                                                                "neighbor_alltoall",
                                                                "neighbor_alltoallv",
                                                                "neighbor_alltoallw"};

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

#define NAME_OF(name) "MPI_File_" #name,
static const char *const file_function[] = {PML__MPI_FILE_FUNCTIONS(NAME_OF)};
_Static_assert(sizeof file_function / sizeof *file_function == PML__MPI_FILE_N, "each function has a name");

/* Atomic, because threads share them. Calls for files take so long that the cost is negligible. */
static struct { uint64_t calls, bytes; } file[PML__MPI_FILE_N];

void pml__mpi_count_file(enum pml__mpi_file_function function, uint64_t bytes) {
  (void)__atomic_add_fetch(&file[function].calls, 1, __ATOMIC_RELAXED);
  (void)__atomic_add_fetch(&file[function].bytes, pml__log_bytes(bytes), __ATOMIC_RELAXED);
}

void pml__mpi_traffic_count(void) {
  traffic.counting = true;
}

/* ---- summary ---- */

/* A row under construction. */
struct row {
  struct pml_summary_row of;
  struct pml_summary_value value[PML__MPI_BLOCKS];
  char name[PML__MPI_BLOCKS][12];
};
_Static_assert(PML__MPI_CLASSES <= PML__MPI_BLOCKS, "a row has room for a value of each class");

static void begin_row(struct row *r, const char *name, const char *detail, int rank) {
  r->of = (struct pml_summary_row){
      .kind = PML_SUMMARY_MPI, .name = name, .detail = detail, .processes = 1, .first = rank, .value = r->value};
}

static struct pml_summary_value value_of(const char *name, uint64_t n, int64_t rank) {
  int64_t whole = n > INT64_MAX ? INT64_MAX : (int64_t)n;
  return (struct pml_summary_value){name, false, whole, pml_summary_one((double)whole, rank)};
}

static void put(struct row *r, const char *name, uint64_t n) {
  if (n > 0) r->value[r->of.nvalues++] = value_of(name, n, r->of.first);
}

static void put_numbered(struct row *r, const uint64_t *n, unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    (void)snprintf(r->name[i], sizeof r->name[i], "%u", i);
    put(r, r->name[i], n[i]);
  }
}

static int end_row(struct pml_summary *s, const struct row *r) {
  return r->of.nvalues > 0 ? pml_summary_add(s, &r->of) : 0;
}

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

int pml__mpi_classes_summary(struct pml_summary *s, const char *name, const uint64_t value[PML__MPI_CLASSES],
                             int rank) {
  struct row r;
  begin_row(&r, name, NULL, rank);
  put_numbered(&r, value, PML__MPI_CLASSES);
  return end_row(s, &r);
}

static int add_sizes(struct pml_summary *s, const char *messages, const char *bytes, const struct pml__mpi_sizes *sum,
                     int rank) {
  int err = pml__mpi_classes_summary(s, messages, sum->messages, rank);
  return err == 0 ? pml__mpi_classes_summary(s, bytes, sum->bytes, rank) : err;
}

static int add_operation(struct pml_summary *s, const struct pml__mpi_lane *sum, unsigned i, int rank) {
  struct row r;
  begin_row(&r, "collective", operation_name[i], rank);
  put(&r, "calls", sum->moved[i].calls);
  put(&r, "sent", sum->moved[i].sent);
  put(&r, "received", sum->moved[i].received);
  return end_row(s, &r);
}

/* Sum the partners by block. The receivers of one rank are in a few blocks, or in all. */
static void sum_partners(struct pml__mpi_blocks *to, int size) {
  for (const struct partner *p = __atomic_load_n(&traffic.partners, __ATOMIC_ACQUIRE); p != NULL; p = p->next) {
    if (p->world < 0 || p->world >= size) continue;
    to->messages[p->world / pml__mpi_block(size)] += get(&p->messages);
    to->bytes[p->world / pml__mpi_block(size)] += get(&p->bytes);
  }
}

/* Add a row of the matrix. */
static int add_line(struct pml_summary *s, const char *name, const uint64_t to[PML__MPI_BLOCKS], int rank, int size) {
  struct row r;
  char from[16];
  (void)snprintf(from, sizeof from, "%d", rank / pml__mpi_block(size));
  begin_row(&r, name, from, rank);
  put_numbered(&r, to, PML__MPI_BLOCKS);
  return end_row(s, &r);
}

static int add_file(struct pml_summary *s, unsigned i, int rank) {
  struct row r;
  begin_row(&r, "file", file_function[i], rank);
  put(&r, "calls", get(&file[i].calls));
  if (r.of.nvalues > 0) r.value[r.of.nvalues++] = value_of("bytes", get(&file[i].bytes), rank); /* even if it is 0 */
  return end_row(s, &r);
}

int pml__mpi_files_summary(struct pml_summary *s, int rank) {
  int err = 0;
  for (unsigned i = 0; i < PML__MPI_FILE_N && err == 0; i++) err = add_file(s, i, rank);
  return err;
}

int pml__mpi_traffic_summary(struct pml_summary *s, int rank, int size) {
  struct pml__mpi_lane sum;
  sum_lanes(&sum);
  sum_partners(&sum.to, size);
  int err = add_sizes(s, "messages sent", "bytes sent", &sum.size[PML__MPI_SENT], rank);
  if (err == 0) err = add_sizes(s, "messages received", "bytes received", &sum.size[PML__MPI_RECEIVED], rank);
  for (unsigned i = 0; i < PML__MPI_OPERATIONS && err == 0; i++) err = add_operation(s, &sum, i, rank);
  if (err == 0) err = add_line(s, "messages to", sum.to.messages, rank, size);
  return err == 0 ? add_line(s, "bytes to", sum.to.bytes, rank, size) : err;
}
