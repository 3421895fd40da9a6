/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/mpi/shim/reduction.c - tree reduction of the ranks' summaries (adapter/mpi/pml_mpi_job.h).
 *
 * A child sends the size of its data, its parent replies when it is ready, and then the data follow: a parent that has
 * stopped waiting gets at most one number. At the end each parent reports to the children whose data it merged whether
 * the file was written. Memory of requests that are still active when a rank stops waiting is never freed, because MPI
 * may write to it.
 */
#include "shim.h"

#include "adapter/mpi/pml_mpi_job.h"
#include "base/pml_clock.h"

#include <limits.h>
#include <stdlib.h>

enum { TAG_SIZE = 0x7072, TAG_GO, TAG_BYTES, TAG_END };
enum { CHILDREN = 31 };

static const struct pml__mpi_reducer *reducer;

/* ---- waiting ---- */

static int64_t now_ns(void) {
  return (int64_t)pml__clock_monotonic();
}

static bool is_complete(MPI_Request *r) {
  return shim_complete(r, 0);
}

static void give_up(MPI_Request *r) {
  if (*r == MPI_REQUEST_NULL) return;
  (void)PMPI_Cancel(r);
  if (!is_complete(r)) (void)PMPI_Request_free(r);
}

/* ---- parent ---- */

struct child {
  int rank;
  enum { SIZE, BYTES, MERGED, LOST } step;
  MPI_Request request, answer;
  uint64_t n;
  unsigned char *at, go;
};
static struct child child[CHILDREN]; /* static, because MPI may write to them after the rank stopped waiting */

static void expect(struct child *c, int rank) {
  *c = (struct child){.rank = rank, .request = MPI_REQUEST_NULL, .answer = MPI_REQUEST_NULL};
  if (PMPI_Irecv(&c->n, 1, MPI_UINT64_T, rank, TAG_SIZE, shim_own, &c->request) != MPI_SUCCESS) c->step = LOST;
}

static void answer(struct child *c) {
  c->step = LOST;
  if (c->n > INT_MAX || (c->at = malloc(c->n + 1)) == NULL) return;
  if (PMPI_Irecv(c->at, (int)c->n, MPI_BYTE, c->rank, TAG_BYTES, shim_own, &c->request) != MPI_SUCCESS) return;
  if (PMPI_Isend(&c->go, 1, MPI_BYTE, c->rank, TAG_GO, shim_own, &c->answer) == MPI_SUCCESS) c->step = BYTES;
}

static void merge(struct child *c, struct pml_summary *s) {
  c->step = reducer->merge(s, c->at, c->n) == 0 ? MERGED : LOST;
  free(c->at);
}

/* Whether more data is expected from the child. */
static bool is_under_way(struct child *c, struct pml_summary *s) {
  if (c->step == SIZE && is_complete(&c->request)) answer(c);
  if (c->step == BYTES && is_complete(&c->request)) merge(c, s);
  return c->step == SIZE || c->step == BYTES;
}

static void gather(struct pml_summary *s, int rank, int height, int64_t deadline) {
  bool more = height > 0;
  for (int k = 0; k < height; k++) expect(&child[k], rank + (1 << k));
  for (unsigned tries = 0; more && now_ns() < deadline; tries++) {
    more = false;
    for (int k = 0; k < height; k++) more = is_under_way(&child[k], s) || more;
    if (more) shim_nap(tries);
  }
  for (int k = 0; k < height; k++)
    if (child[k].step != MERGED) give_up(&child[k].request);
}

static void tell(int height, enum shim_reduced how) {
  static unsigned char said;
  said = (unsigned char)how;
  for (int k = 0; k < height; k++) {
    give_up(&child[k].answer);
    if (child[k].step != MERGED) continue;
    (void)PMPI_Isend(&said, 1, MPI_BYTE, child[k].rank, TAG_END, shim_own, &child[k].answer);
    (void)PMPI_Request_free(&child[k].answer);
  }
}

/* ---- child ---- */

/* Returns the result for the ranks whose data is in @s. */
static enum shim_reduced pass_on(const struct pml_summary *s, int parent, int64_t deadline) {
  static uint64_t size;
  static unsigned char go, how;
  MPI_Request up = MPI_REQUEST_NULL, answered = MPI_REQUEST_NULL, end = MPI_REQUEST_NULL;
  unsigned char *bytes;
  size_t n;
  if (reducer->pack(s, &bytes, &n) < 0) return SHIM_REDUCED_NOT;
  size = n;
  (void)PMPI_Irecv(&go, 1, MPI_BYTE, parent, TAG_GO, shim_own, &answered);
  (void)PMPI_Irecv(&how, 1, MPI_BYTE, parent, TAG_END, shim_own, &end);
  (void)PMPI_Isend(&size, 1, MPI_UINT64_T, parent, TAG_SIZE, shim_own, &up);
  bool sent = shim_complete(&answered, deadline) && shim_complete(&up, deadline) &&
              PMPI_Isend(bytes, (int)n, MPI_BYTE, parent, TAG_BYTES, shim_own, &up) == MPI_SUCCESS &&
              shim_complete(&up, deadline);
  bool ended = sent && shim_complete(&end, deadline);
  give_up(&answered);
  give_up(&end);
  if (up == MPI_REQUEST_NULL)
    reducer->free(bytes);
  else
    (void)PMPI_Request_free(&up);
  return ended ? (enum shim_reduced)how : SHIM_REDUCED_NOT;
}

/* ---- reduction ---- */

static enum shim_reduced write_file(const struct pml_summary *s, int size) {
  int written = reducer->write(s, size);
  return written < 0 ? SHIM_REDUCED_NOT : written > 0 ? SHIM_REDUCED_ALL : SHIM_REDUCED;
}

enum shim_reduced shim_reduce(void) {
  int rank = 0, size = 1;
  const int64_t began = now_ns(), timeout = pml__mpi_reduction_timeout();
  (void)PMPI_Comm_rank(shim_own, &rank);
  (void)PMPI_Comm_size(shim_own, &size);
  struct pml_summary *s = pml__mpi_reduction_begin(rank, size, &reducer);
  if (s == NULL) return SHIM_REDUCED_NOT;
  const int height = pml__mpi_tree_height(rank, size);
  (void)PMPI_Comm_set_errhandler(shim_own, MPI_ERRORS_RETURN);
  gather(s, rank, height, began + (int64_t)((double)timeout * pml__mpi_tree_share(height, size)));
  enum shim_reduced how = rank == 0 ? write_file(s, size) : pass_on(s, pml__mpi_tree_parent(rank), began + timeout);
  tell(height, how);
  if (how != SHIM_REDUCED_NOT) reducer->written();
  reducer->close(s);
  return how;
}
