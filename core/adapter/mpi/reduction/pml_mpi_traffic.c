/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/mpi/reduction/pml_mpi_traffic.c - how much a process sent and received: by size, by operation, to whom.
 *
 * Sums by size are a thread's own, and only it writes them; partners are in one table of the process, as few threads
 * send to one rank at a time.
 */
#include "adapter/mpi/pml_mpi.h"
#include "adapter/mpi/reduction/pml_mpi_reduction.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLASSES 49u /* of sizes: no bytes, 1, 2 to 3, 4 to 7, ... */
#define OPERATIONS 17u

static const char *const operation_name[OPERATIONS] = {"barrier",
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
                                                       "reduce_scatter_block"};

enum direction { SENT, RECEIVED, DIRECTIONS };

/* What a thread counted. Read by others while it writes: each number is right by itself. */
struct lane {
  struct lane *next;
  uint64_t messages[DIRECTIONS][CLASSES], bytes[DIRECTIONS][CLASSES];
  uint64_t calls[OPERATIONS], moved[OPERATIONS][DIRECTIONS];
};

/* A rank of a communicator that messages were sent to. */
struct partner {
  struct pml__mpi_entry entry;
  int32_t world;            /* its rank in the world, -1: in another */
  uint64_t messages, bytes; /* atomic */
  struct partner *next;     /* in the list of all */
};
_Static_assert(sizeof(struct partner) <= PML__MPI_ENTRY_BYTES, "an entry has room for it");

static struct {
  struct lane *lanes;       /* atomic; those of threads that ended stay */
  struct partner *partners; /* atomic */
  struct pml__mpi_table table;
  int (*world_rank)(uint32_t communicator, int32_t rank);
} traffic;

void pml__mpi_translate(int (*world_rank)(uint32_t communicator, int32_t rank)) {
  traffic.world_rank = world_rank;
}

/* ---- counting ---- */

static void add(uint64_t *to, uint64_t n) {
  __atomic_store_n(to, *to + n, __ATOMIC_RELAXED);
}

static unsigned class_of(uint64_t bytes) {
  unsigned bits = bytes == 0 ? 0 : 64 - (unsigned)__builtin_clzll(bytes);
  return bits < CLASSES ? bits : CLASSES - 1;
}

static struct partner *new_partner(uint64_t key) {
  uint32_t communicator = (uint32_t)(key >> 32);
  int32_t rank = (int32_t)key;
  struct partner *p = pml__mpi_add(&traffic.table, key);
  if (p == NULL) return NULL;
  p->world = communicator == 1 ? rank : traffic.world_rank != NULL ? traffic.world_rank(communicator, rank) : -1;
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

static void count_message(struct lane *l, enum direction way, uint64_t bytes) {
  unsigned class = class_of(bytes);
  add(&l->messages[way][class], 1);
  add(&l->bytes[way][class], bytes);
}

static void count_collective(struct lane *l, uint32_t code, const uint64_t *v) {
  if (code >= OPERATIONS) return;
  add(&l->calls[code], 1);
  add(&l->moved[code][SENT], v[1]);
  add(&l->moved[code][RECEIVED], v[2]);
}

static void count(void *data, const struct pml_stream_event *e) {
  switch (PML__LOG_COMMUNICATED_WHAT(e->region)) {
  case PML__LOG_SEND:
  case PML__LOG_ISEND:
    count_message(data, SENT, e->values[2]);
    sent_to(e->values[0], e->values[2]);
    break;
  case PML__LOG_RECEIVE:
  case PML__LOG_IRECV_COMPLETE:
    count_message(data, RECEIVED, e->values[2]);
    break;
  case PML__LOG_COLLECTIVE_END:
    count_collective(data, PML__LOG_COMMUNICATED_CODE(e->region), e->values);
    break;
  default:
    break;
  }
}

static void *begin_thread(void *arg, uint64_t thread) {
  (void)arg, (void)thread;
  struct lane *l = calloc(1, sizeof *l);
  if (l == NULL) return NULL;
  l->next = __atomic_load_n(&traffic.lanes, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(&traffic.lanes, &l->next, l, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
  }
  return l;
}

int pml__mpi_traffic_count(void) {
  const struct pml_stream_consumer c = {
      .thread_begin = begin_thread, .event[PML_STREAM_COMMUNICATION] = count, .name = "traffic of MPI"};
  uint64_t id;
  return pml_stream_add(&c, &id);
}

/* ---- into a summary ---- */

/* A row under construction. */
struct row {
  struct pml_summary_row of;
  struct pml_summary_value value[2 * CLASSES];
  char name[2 * CLASSES][8];
};

static void begin_row(struct row *r, const char *name, const char *detail, int rank) {
  r->of = (struct pml_summary_row){
      .kind = PML_SUMMARY_MPI, .name = name, .detail = detail, .processes = 1, .first = rank, .value = r->value};
}

static void put(struct row *r, const char *name, uint64_t n) {
  int64_t whole = n > INT64_MAX ? INT64_MAX : (int64_t)n;
  if (n == 0) return;
  r->value[r->of.nvalues++] = (struct pml_summary_value){name, false, whole, pml_summary_one((double)n, r->of.first)};
}

static void put_class(struct row *r, unsigned class, uint64_t n) {
  (void)snprintf(r->name[class], sizeof r->name[class], "%u", class);
  put(r, r->name[class], n);
}

static int end_row(struct pml_summary *s, const struct row *r) {
  return r->of.nvalues > 0 ? pml_summary_add(s, &r->of) : 0;
}

static uint64_t get(const uint64_t *from) {
  return __atomic_load_n(from, __ATOMIC_RELAXED);
}

static void sum_lanes(struct lane *sum) {
  memset(sum, 0, sizeof *sum);
  for (const struct lane *l = __atomic_load_n(&traffic.lanes, __ATOMIC_ACQUIRE); l != NULL; l = l->next) {
    for (unsigned way = 0; way < DIRECTIONS; way++)
      for (unsigned i = 0; i < CLASSES; i++) {
        sum->messages[way][i] += get(&l->messages[way][i]);
        sum->bytes[way][i] += get(&l->bytes[way][i]);
      }
    for (unsigned i = 0; i < OPERATIONS; i++) {
      sum->calls[i] += get(&l->calls[i]);
      sum->moved[i][SENT] += get(&l->moved[i][SENT]);
      sum->moved[i][RECEIVED] += get(&l->moved[i][RECEIVED]);
    }
  }
}

static int add_sizes(struct pml_summary *s, const char *name, const uint64_t n[CLASSES], int rank) {
  struct row r;
  begin_row(&r, name, NULL, rank);
  for (unsigned i = 0; i < CLASSES; i++) put_class(&r, i, n[i]);
  return end_row(s, &r);
}

static int add_operation(struct pml_summary *s, const struct lane *sum, unsigned i, int rank) {
  struct row r;
  begin_row(&r, "collective", operation_name[i], rank);
  put(&r, "calls", sum->calls[i]);
  put(&r, "sent", sum->moved[i][SENT]);
  put(&r, "received", sum->moved[i][RECEIVED]);
  return end_row(s, &r);
}

/* Block by block: the receivers of one rank are in few of them, or in all. */
struct matrix {
  uint64_t messages[PML__MPI_BLOCKS], bytes[PML__MPI_BLOCKS];
};

static void sum_partners(struct matrix *m, int size) {
  for (const struct partner *p = __atomic_load_n(&traffic.partners, __ATOMIC_ACQUIRE); p != NULL; p = p->next) {
    if (p->world < 0 || p->world >= size) continue;
    m->messages[p->world / pml__mpi_block(size)] += get(&p->messages);
    m->bytes[p->world / pml__mpi_block(size)] += get(&p->bytes);
  }
}

static int add_line(struct pml_summary *s, const char *name, const uint64_t n[PML__MPI_BLOCKS], int rank, int size) {
  char from[16], to[PML__MPI_BLOCKS][8];
  struct pml_summary_value value[PML__MPI_BLOCKS];
  struct pml_summary_row row = {
      .kind = PML_SUMMARY_MPI, .name = name, .detail = from, .processes = 1, .first = rank, .value = value};
  (void)snprintf(from, sizeof from, "%d", rank / pml__mpi_block(size));
  for (unsigned i = 0; i < PML__MPI_BLOCKS; i++) {
    if (n[i] == 0) continue;
    (void)snprintf(to[i], sizeof to[i], "%u", i);
    value[row.nvalues++] = (struct pml_summary_value){to[i], false, (int64_t)n[i], pml_summary_one((double)n[i], rank)};
  }
  return row.nvalues > 0 ? pml_summary_add(s, &row) : 0;
}

int pml__mpi_traffic_summary(struct pml_summary *s, int rank, int size) {
  struct lane sum;
  struct matrix m = {{0}, {0}};
  sum_lanes(&sum);
  sum_partners(&m, size);
  int err = add_sizes(s, "messages sent", sum.messages[SENT], rank);
  if (err == 0) err = add_sizes(s, "bytes sent", sum.bytes[SENT], rank);
  if (err == 0) err = add_sizes(s, "messages received", sum.messages[RECEIVED], rank);
  if (err == 0) err = add_sizes(s, "bytes received", sum.bytes[RECEIVED], rank);
  for (unsigned i = 0; i < OPERATIONS && err == 0; i++) err = add_operation(s, &sum, i, rank);
  if (err == 0) err = add_line(s, "messages to", m.messages, rank, size);
  return err == 0 ? add_line(s, "bytes to", m.bytes, rank, size) : err;
}
