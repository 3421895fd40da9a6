/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/mpi_reduction.c - the tree of a job's ranks, and what a rank counts of its messages; no MPI is needed. */
#include "adapter/mpi/pml_mpi.h"
#include "adapter/mpi/reduction/pml_mpi_reduction.h"
#include "adapter/mpi/reduction/pml_mpi_traffic.h"
#include "check.h"

#include <pthread.h>
#include <string.h>

/* ---- the tree ---- */

/* Each rank but 0 is the child of exactly one, which is its parent; the parent waits longer. */
static bool is_tree(int size) {
  int children = 0;
  bool good = true;
  for (int rank = 0; rank < size; rank++) {
    int height = pml__mpi_tree_height(rank, size);
    for (int k = 0; k < height; k++, children++) {
      int child = rank + (1 << k), below = pml__mpi_tree_height(child, size);
      good = good && child < size && pml__mpi_tree_parent(child) == rank && below < height &&
             pml__mpi_tree_share(below, size) < pml__mpi_tree_share(height, size);
    }
  }
  return good && children == size - 1 && pml__mpi_tree_share(pml__mpi_tree_height(0, size), size) < 1;
}

static void check_tree(void) {
  int good = 0;
  for (int size = 1; size <= 200; size++) good += is_tree(size);
  CHECK(good == 200, "1 to 200 ranks are a tree in which parents wait longer than children");
  CHECK(pml__mpi_tree_height(0, 1) == 0, "one rank has no children");
  CHECK(pml__mpi_tree_height(0, 1024) == 10 && pml__mpi_tree_height(0, 1025) == 11,
        "rounds grow with log2 of the ranks");
  CHECK(pml__mpi_tree_height(0, INT32_MAX) == 31, "the largest job has 31 rounds");
}

static void check_block(void) {
  int good = 0, all = 0;
  CHECK(pml__mpi_block(1) == 1 && pml__mpi_block(PML__MPI_BLOCKS) == 1, "few ranks are a block each");
  CHECK(pml__mpi_block(PML__MPI_BLOCKS + 1) == 2, "one more, and blocks have two");
  for (int size = 1; size < 100000; size += 77, all++) good += (size - 1) / pml__mpi_block(size) < PML__MPI_BLOCKS;
  CHECK(good == all, "there are no more blocks than there is room for");
}

/* ---- messages ---- */

enum { THREADS = 4, MESSAGES = 1000 };

/* Communicator 3 has the odd ranks of the world. */
static int world_rank(uint32_t communicator, int32_t rank) {
  return communicator == 3 ? 2 * rank + 1 : -1;
}

static void send(uint32_t communicator, uint32_t to, uint64_t bytes) {
  const uint64_t v[3] = {(uint64_t)communicator << 32 | to, 0, bytes};
  pml__mpi_count(PML__LOG_COMMUNICATED(PML__LOG_SEND, 3, 0), v);
}

static void *send_many(void *arg) {
  (void)arg;
  for (int i = 0; i < MESSAGES; i++) send(1, 5, 1024);
  return NULL;
}

static int64_t value(const struct pml_summary *s, const char *name, const char *detail, const char *of) {
  const struct pml_summary_row *row = pml_summary_find(s, PML_SUMMARY_MPI, name, detail);
  for (size_t i = 0; row != NULL && i < row->nvalues; i++)
    if (strcmp(row->value[i].name, of) == 0) return row->value[i].whole;
  return -1;
}

static void check_messages(void) {
  pthread_t thread[THREADS];
  struct pml_summary *s;
  pml__mpi_traffic_count();
  pml__mpi_translate(8, world_rank);
  for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&thread[i], NULL, send_many, NULL) == 0, "thread %d", i);
  for (int i = 0; i < THREADS; i++) (void)pthread_join(thread[i], NULL);
  send(3, 2, 0); /* to rank 5 of the world, too */
  send(4, 0, 1); /* to another world */
  send(1, 7, UINT64_C(1) << 60);
  const uint64_t end[4] = {UINT64_C(1) << 32, 10, 20, 0};
  pml__mpi_count(PML__LOG_COMMUNICATED(PML__LOG_COLLECTIVE_END, 4, PML__LOG_BCAST), end);
  pml__mpi_count(PML__LOG_COMMUNICATED(PML__LOG_COLLECTIVE_END, 4, 99), end);
  CHECK(pml_summary_open(&s) == 0, "a summary");
  CHECK(pml__mpi_traffic_summary(s, 2, 8) == 0, "messages go into it");
  CHECK(value(s, "messages sent", "", "11") == THREADS * MESSAGES, "messages of all threads by size");
  CHECK(value(s, "bytes sent", "", "11") == THREADS * MESSAGES * 1024, "and their bytes");
  CHECK(value(s, "messages sent", "", "0") == 1, "one without bytes");
  CHECK(value(s, "messages sent", "", "1") == 1, "one of one byte, to another world");
  CHECK(value(s, "messages sent", "", "61") == 1, "the largest");
  CHECK(value(s, "messages to", "2", "5") == THREADS * MESSAGES + 1, "two communicators lead to one rank");
  CHECK(value(s, "bytes to", "2", "5") == THREADS * MESSAGES * 1024, "with the bytes of both");
  CHECK(value(s, "messages to", "2", "7") == 1, "another rank");
  CHECK(pml_summary_find(s, PML_SUMMARY_MPI, "messages to", "2")->nvalues == 2,
        "ranks of another world are no partners");
  CHECK(value(s, "collective", "bcast", "calls") == 1, "a collective operation");
  CHECK(value(s, "collective", "bcast", "received") == 20, "and what it received");
  CHECK(pml_summary_find(s, PML_SUMMARY_MPI, "messages received", "") == NULL, "what did not happen has no row");
  pml_summary_close(s);
}

int main(void) {
  check_tree();
  check_block();
  check_messages();
  return check_done();
}
