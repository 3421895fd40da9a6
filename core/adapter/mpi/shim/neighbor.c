/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/mpi/shim/neighbor.c - neighbourhood collectives, with sent and received bytes.
 *
 * All members of the communicator call them, but each exchanges data only with its neighbours, and does not wait for
 * all others. Missing neighbours at the border of a Cartesian topology move no data.
 */
#include "collective.h"

/* ---- neighbours ---- */

/*
 * Numbers of neighbours to send to and receive from; @cartesian: two in each dimension, some of which may be missing.
 */
struct neighbors {
  int to, from;
  bool cartesian;
};

static struct neighbors neighbors_of(MPI_Comm comm) {
  int kind = MPI_UNDEFINED, n = 0, to = 0, weighted, rank;
  (void)PMPI_Topo_test(comm, &kind);
  if (kind == MPI_CART) {
    (void)PMPI_Cartdim_get(comm, &n);
    return (struct neighbors){2 * n, 2 * n, true};
  }
  if (kind == MPI_DIST_GRAPH) {
    (void)PMPI_Dist_graph_neighbors_count(comm, &n, &to, &weighted);
    return (struct neighbors){to, n, false};
  }
  if (kind == MPI_GRAPH && PMPI_Comm_rank(comm, &rank) == MPI_SUCCESS) (void)PMPI_Graph_neighbors_count(comm, rank, &n);
  return (struct neighbors){n, n, false};
}

/* In the order of the operation's data: for each dimension the lower neighbour, then the upper one. */
static bool is_there(MPI_Comm comm, const struct neighbors *n, int i) {
  int below = MPI_PROC_NULL, above = MPI_PROC_NULL;
  if (!n->cartesian) return true;
  (void)PMPI_Cart_shift(comm, i / 2, 1, &below, &above);
  return (i % 2 == 0 ? below : above) != MPI_PROC_NULL;
}

/* ---- bytes ---- */

static uint64_t times(MPI_Comm comm, const struct neighbors *n, int many, uint64_t bytes) {
  uint64_t there = 0;
  for (int i = 0; i < many; i++) there += is_there(comm, n, i);
  return bytes <= PML__LOG_BYTES_MAX ? there * bytes : bytes;
}

static uint64_t sum(MPI_Comm comm, const struct neighbors *n, int many, const count_t count[], MPI_Datatype type) {
  uint64_t all = 0;
  for (int i = 0; i < many; i++)
    if (is_there(comm, n, i)) all += (uint64_t)count[i];
  return bytes_in((MPI_Count)all, type);
}

static uint64_t sum_of_types(MPI_Comm comm, const struct neighbors *n, int many, const count_t count[],
                             const MPI_Datatype type[]) {
  uint64_t all = 0;
  for (int i = 0; i < many; i++)
    if (is_there(comm, n, i)) all = shim_plus(all, bytes_in(count[i], type[i]));
  return all;
}

/* Also for alltoall. */
static struct volume allgather(MPI_Comm comm, count_t nfrom, MPI_Datatype type_from, count_t nto,
                               MPI_Datatype type_to) {
  const struct neighbors n = neighbors_of(comm);
  return (struct volume){times(comm, &n, n.to, bytes_in(nfrom, type_from)),
                         times(comm, &n, n.from, bytes_in(nto, type_to))};
}

static struct volume allgatherv(MPI_Comm comm, count_t nfrom, MPI_Datatype type_from, const count_t nto[],
                                MPI_Datatype type_to) {
  const struct neighbors n = neighbors_of(comm);
  return (struct volume){times(comm, &n, n.to, bytes_in(nfrom, type_from)), sum(comm, &n, n.from, nto, type_to)};
}

static struct volume alltoallv(MPI_Comm comm, const count_t nfrom[], MPI_Datatype type_from, const count_t nto[],
                               MPI_Datatype type_to) {
  const struct neighbors n = neighbors_of(comm);
  return (struct volume){sum(comm, &n, n.to, nfrom, type_from), sum(comm, &n, n.from, nto, type_to)};
}

static struct volume alltoallw(MPI_Comm comm, const count_t nfrom[], const MPI_Datatype type_from[],
                               const count_t nto[], const MPI_Datatype type_to[]) {
  const struct neighbors n = neighbors_of(comm);
  return (struct volume){sum_of_types(comm, &n, n.to, nfrom, type_from), sum_of_types(comm, &n, n.from, nto, type_to)};
}

/* ---- hooks ---- */

COLLECTIVE(Neighbor_allgather, neighbor_allgather, PML__LOG_NEIGHBOR_ALLGATHER, NONE,
           allgather(comm, nfrom, type_from, nto, type_to), (FROM, TO, MPI_Comm comm),
           (from, nfrom, type_from, to, nto, type_to, comm))
COLLECTIVE(Neighbor_allgatherv, neighbor_allgatherv, PML__LOG_NEIGHBOR_ALLGATHERV, NONE,
           allgatherv(comm, nfrom, type_from, nto, type_to),
           (FROM, void *to, const count_t nto[], const place_t at[], MPI_Datatype type_to, MPI_Comm comm),
           (from, nfrom, type_from, to, nto, at, type_to, comm))
COLLECTIVE(Neighbor_alltoall, neighbor_alltoall, PML__LOG_NEIGHBOR_ALLTOALL, NONE,
           allgather(comm, nfrom, type_from, nto, type_to), (FROM, TO, MPI_Comm comm),
           (from, nfrom, type_from, to, nto, type_to, comm))
COLLECTIVE(Neighbor_alltoallv, neighbor_alltoallv, PML__LOG_NEIGHBOR_ALLTOALLV, NONE,
           alltoallv(comm, nfrom, type_from, nto, type_to),
           (const void *from, const count_t nfrom[], const place_t at_from[], MPI_Datatype type_from, void *to,
            const count_t nto[], const place_t at_to[], MPI_Datatype type_to, MPI_Comm comm),
           (from, nfrom, at_from, type_from, to, nto, at_to, type_to, comm))
COLLECTIVE(Neighbor_alltoallw, neighbor_alltoallw, PML__LOG_NEIGHBOR_ALLTOALLW, NONE,
           alltoallw(comm, nfrom, type_from, nto, type_to),
           (const void *from, const count_t nfrom[], const MPI_Aint at_from[], const MPI_Datatype type_from[], void *to,
            const count_t nto[], const MPI_Aint at_to[], const MPI_Datatype type_to[], MPI_Comm comm),
           (from, nfrom, at_from, type_from, to, nto, at_to, type_to, comm))
