/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/mpi_reduction.c - the tree of a job's ranks, and what a rank counts of its messages; no MPI is needed. */
#include "adapter/mpi/pml_mpi.h"
#include "adapter/mpi/pml_mpi_traffic.h"
#include "check.h"
#include "read/job/pml_mpi_reduction.h"

#include <math.h>

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

enum { FUNCTIONS = 1000 };

static void add_function(struct pml_summary *s, const char *name, double ns) {
  const struct pml_summary_spread of = pml_summary_one(ns, 0);
  const struct pml_summary_row row = {
      .kind = PML_SUMMARY_CALL, .name = name, .processes = 1, .calls = of, .time = of, .self = of};
  if (pml_summary_add(s, &row) != 0) abort();
}

/* Function i took 1000.3 i + 1 ns; the one of MPI took less than all. */
static struct pml_summary *many_functions(void) {
  struct pml_summary *s;
  char name[32];
  if (pml_summary_open(&s) != 0) abort();
  for (int i = 0; i < FUNCTIONS; i++) {
    snprintf(name, sizeof name, "f%d", (i * 7) % FUNCTIONS);
    add_function(s, name, 1000.3 * ((i * 7) % FUNCTIONS) + 1);
  }
  add_function(s, "MPI_Barrier", 0.5);
  (void)pml_summary_seen(s, 0, 2);
  return s;
}

static bool has_function(const struct pml_summary *s, int i) {
  char name[32];
  snprintf(name, sizeof name, "f%d", i);
  return pml_summary_find(s, PML_SUMMARY_CALL, name, "") != NULL;
}

static bool leaves_out(const struct pml_summary *s, int *n) {
  const struct pml_summary_row *left = pml_summary_find(s, PML_SUMMARY_MPI, "left out", "");
  if (left == NULL) return false;
  for (*n = 0; *n < FUNCTIONS && !has_function(s, *n);) ++*n;
  for (int i = *n; i < FUNCTIONS; i++)
    if (!has_function(s, i)) return false;
  double ns = 1000.3 * *n * (*n - 1) / 2 + *n;
  return left->value[0].whole == *n && left->value[1].of.sum == *n && fabs(left->self.sum - ns) < 1e-6 * ns;
}

static void check_bound(void) {
  struct pml_summary *s = many_functions(), *back = NULL;
  unsigned char *bytes;
  size_t whole, n;
  int out;
  CHECK(pml__mpi_pack_within(s, SIZE_MAX, &bytes, &whole) == 0 && pml_summary_unpack(&back, bytes, whole) == 0 &&
            has_function(back, 0) && pml_summary_find(back, PML_SUMMARY_MPI, "left out", "") == NULL,
        "with room for all nothing is left out");
  pml_summary_close(back);
  free(bytes);
  for (size_t most = whole - 1; most > 1000; most = most * 3 / 4) {
    CHECK(pml__mpi_pack_within(s, most, &bytes, &n) == 0 && n <= most && pml_summary_unpack(&back, bytes, n) == 0,
          "%zu bytes are not more than %zu", n, most);
    CHECK(leaves_out(back, &out), "%d functions with the least time are left out and counted", out);
    CHECK(n + 40 * whole / FUNCTIONS > most, "and no more than must be");
    int64_t first, last;
    CHECK(pml_summary_find(back, PML_SUMMARY_CALL, "MPI_Barrier", "") != NULL &&
              pml_summary_range(back, 0, &first, &last) && first == 0 && last == 2,
          "MPI's rows stay, and the ranks that they cover");
    pml_summary_close(back);
    free(bytes);
  }
  CHECK(pml__mpi_pack_within(s, 1, &bytes, &n) == 0 && pml_summary_unpack(&back, bytes, n) == 0 &&
            leaves_out(back, &out) && out == FUNCTIONS,
        "where nothing fits all are left out");
  pml_summary_close(back);
  free(bytes);
  pml_summary_close(s);
}

enum { THREADS = 4, MESSAGES = 1000 };

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

static void check_unknown(void) {
  static const uint64_t unknown[] = {UINT64_MAX, (uint64_t)-32766, PML__LOG_BYTES_MAX + 1};
  struct pml_summary *s;
  const int64_t messages = THREADS * MESSAGES + 3;
  CHECK(pml_summary_open(&s) == 0, "a summary");
  for (size_t i = 0; i < 3; i++) {
    const uint64_t end[4] = {UINT64_C(1) << 32, unknown[i], unknown[i], 0};
    send(1, 5, unknown[i]);
    send(3, 2, unknown[i]);
    pml__mpi_count(PML__LOG_COMMUNICATED(PML__LOG_COLLECTIVE_END, 4, PML__LOG_BCAST), end);
  }
  CHECK(pml__mpi_traffic_summary(s, 2, 8) == 0, "messages of unknown size go into it");
  CHECK(value(s, "messages sent", "", "0") == 1 + 6, "as messages without bytes");
  CHECK(value(s, "messages to", "2", "5") == messages + 4, "to their receivers");
  CHECK(value(s, "bytes to", "2", "5") == THREADS * MESSAGES * 1024, "whose bytes stay");
  CHECK(value(s, "collective", "bcast", "sent") == 10 && value(s, "collective", "bcast", "calls") == 4,
        "as do the bytes of operations");
  for (int i = 0; i < 4; i++) send(1, 5, UINT64_C(1) << 62);
  pml_summary_close(s);
  CHECK(pml_summary_open(&s) == 0 && pml__mpi_traffic_summary(s, 2, 8) == 0, "more than there can be");
  CHECK(value(s, "bytes to", "2", "5") >= 0, "is no negative number");
  pml_summary_close(s);
}

int main(void) {
  CHECK_EACH(check_tree, check_block, check_bound, check_messages, check_unknown);
  return check_done();
}
