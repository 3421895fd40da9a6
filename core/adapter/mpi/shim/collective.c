/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/mpi/shim/collective.c - collective operations, blocking and immediate, with sent and received bytes.
 *
 * Bytes are the data that the operation moves if each pair of ranks exchanges its data directly, including a rank's
 * data for itself unless the operation is in place: over all ranks, sent and received bytes are equal. Arguments that
 * are not significant at a rank, such as the root's arguments at other ranks, are ignored.
 */
#include "collective.h"

static uint32_t root_of(int root) {
  return root == MPI_ROOT ? PML__LOG_ROOT_SELF : root == MPI_PROC_NULL ? PML__LOG_ROOT_HERE : (uint32_t)root;
}

/* ---- bytes ---- */

static bool is_inter(const struct communicator *c) {
  return (c->flags & PML__LOG_COMM_INTER) != 0;
}

/*
 * Whether this rank has the root's arguments; in an inter-communicator, the other group has the arguments of non-roots.
 */
static bool is_root(const struct communicator *c, int root) {
  return is_inter(c) ? root == MPI_ROOT : root == c->rank;
}
static bool takes_part(const struct communicator *c, int root) {
  return is_inter(c) ? root >= 0 : true;
}

static uint64_t partners(const struct communicator *c) {
  return (uint64_t)c->partners;
}

static uint64_t sum(const struct communicator *c, const count_t count[], MPI_Datatype type) {
  uint64_t n = 0;
  for (int i = 0; i < c->partners; i++) n += (uint64_t)count[i];
  return bytes_in((MPI_Count)n, type);
}

static uint64_t sum_of_types(const struct communicator *c, const count_t count[], const MPI_Datatype type[]) {
  uint64_t n = 0;
  for (int i = 0; i < c->partners; i++) n = shim_plus(n, bytes_in(count[i], type[i]));
  return n;
}

static struct volume bcast(const struct communicator *c, count_t n, MPI_Datatype type, int root) {
  uint64_t bytes = takes_part(c, root) || is_root(c, root) ? bytes_in(n, type) : 0;
  return (struct volume){is_root(c, root) ? partners(c) * bytes : 0, takes_part(c, root) ? bytes : 0};
}

static struct volume reduce(const struct communicator *c, const void *from, count_t n, MPI_Datatype type, int root) {
  uint64_t bytes = takes_part(c, root) || is_root(c, root) ? bytes_in(n, type) : 0;
  uint64_t place = from == MPI_IN_PLACE ? 1 : 0;
  return (struct volume){takes_part(c, root) ? bytes * (1 - place) : 0,
                         is_root(c, root) ? (partners(c) - place) * bytes : 0};
}

static struct volume gather(const struct communicator *c, const void *from, count_t nfrom, MPI_Datatype type_from,
                            count_t nto, MPI_Datatype type_to, int root) {
  bool place = is_root(c, root) && from == MPI_IN_PLACE;
  return (struct volume){takes_part(c, root) && !place ? bytes_in(nfrom, type_from) : 0,
                         is_root(c, root) ? (partners(c) - place) * bytes_in(nto, type_to) : 0};
}

static struct volume gatherv(const struct communicator *c, const void *from, count_t nfrom, MPI_Datatype type_from,
                             const count_t nto[], MPI_Datatype type_to, int root) {
  bool place = is_root(c, root) && from == MPI_IN_PLACE;
  struct volume v = {takes_part(c, root) && !place ? bytes_in(nfrom, type_from) : 0, 0};
  if (is_root(c, root)) v.received = sum(c, nto, type_to) - (place ? bytes_in(nto[c->rank], type_to) : 0);
  return v;
}

static struct volume scatter(const struct communicator *c, count_t nfrom, MPI_Datatype type_from, const void *to,
                             count_t nto, MPI_Datatype type_to, int root) {
  bool place = is_root(c, root) && to == MPI_IN_PLACE;
  return (struct volume){is_root(c, root) ? (partners(c) - place) * bytes_in(nfrom, type_from) : 0,
                         takes_part(c, root) && !place ? bytes_in(nto, type_to) : 0};
}

static struct volume scatterv(const struct communicator *c, const count_t nfrom[], MPI_Datatype type_from,
                              const void *to, count_t nto, MPI_Datatype type_to, int root) {
  bool place = is_root(c, root) && to == MPI_IN_PLACE;
  struct volume v = {0, takes_part(c, root) && !place ? bytes_in(nto, type_to) : 0};
  if (is_root(c, root)) v.sent = sum(c, nfrom, type_from) - (place ? bytes_in(nfrom[c->rank], type_from) : 0);
  return v;
}

/* Also for Alltoall. */
static struct volume allgather(const struct communicator *c, const void *from, count_t nfrom, MPI_Datatype type_from,
                               count_t nto, MPI_Datatype type_to) {
  uint64_t each = bytes_in(nto, type_to), others = partners(c) - 1;
  if (from == MPI_IN_PLACE) return (struct volume){others * each, others * each};
  return (struct volume){partners(c) * bytes_in(nfrom, type_from), partners(c) * each};
}

static struct volume allgatherv(const struct communicator *c, const void *from, count_t nfrom, MPI_Datatype type_from,
                                const count_t nto[], MPI_Datatype type_to) {
  uint64_t all = sum(c, nto, type_to);
  if (from != MPI_IN_PLACE) return (struct volume){partners(c) * bytes_in(nfrom, type_from), all};
  uint64_t own = bytes_in(nto[c->rank], type_to);
  return (struct volume){(partners(c) - 1) * own, all - own};
}

static struct volume alltoallv(const struct communicator *c, const void *from, const count_t nfrom[],
                               MPI_Datatype type_from, const count_t nto[], MPI_Datatype type_to) {
  uint64_t all = sum(c, nto, type_to);
  if (from != MPI_IN_PLACE) return (struct volume){sum(c, nfrom, type_from), all};
  all -= bytes_in(nto[c->rank], type_to);
  return (struct volume){all, all};
}

static struct volume alltoallw(const struct communicator *c, const void *from, const count_t nfrom[],
                               const MPI_Datatype type_from[], const count_t nto[], const MPI_Datatype type_to[]) {
  uint64_t all = sum_of_types(c, nto, type_to);
  if (from != MPI_IN_PLACE) return (struct volume){sum_of_types(c, nfrom, type_from), all};
  all -= bytes_in(nto[c->rank], type_to[c->rank]);
  return (struct volume){all, all};
}

static struct volume allreduce(count_t n, MPI_Datatype type) {
  uint64_t bytes = bytes_in(n, type);
  return (struct volume){bytes, bytes};
}

/* @n counts by ranks of this group; each rank gets its own part from all partners. */
static struct volume reduce_scatter(const struct communicator *c, const void *from, const count_t n[],
                                    MPI_Datatype type) {
  uint64_t all = 0, own = bytes_in(n[c->rank], type), place = from == MPI_IN_PLACE ? 1 : 0;
  for (int i = 0; i < c->size; i++) all = shim_plus(all, bytes_in(n[i], type));
  return (struct volume){all - place * own, (partners(c) - place) * own};
}

static struct volume reduce_scatter_block(const struct communicator *c, const void *from, count_t n,
                                          MPI_Datatype type) {
  uint64_t own = bytes_in(n, type), place = from == MPI_IN_PLACE ? 1 : 0;
  return (struct volume){((uint64_t)c->size - place) * own, (partners(c) - place) * own};
}

static struct volume scan(const struct communicator *c, count_t n, MPI_Datatype type, int own) {
  uint64_t bytes = bytes_in(n, type);
  return (struct volume){(uint64_t)(c->size - c->rank - 1 + own) * bytes, (uint64_t)(c->rank + own) * bytes};
}

/* ---- hooks ---- */

#define REDUCED const void *from, void *to, count_t n, MPI_Datatype type, MPI_Op op

#ifndef LARGE
QUICK_COLLECTIVE(Barrier, barrier, PML__LOG_BARRIER, NONE, ((void)c, (struct volume){0, 0}), true, (MPI_Comm comm),
                 (comm))
#endif
QUICK_COLLECTIVE(Bcast, bcast, PML__LOG_BCAST, root_of(root), bcast(c, n, type, root), shim_is_predefined(type),
                 (void *at, count_t n, MPI_Datatype type, int root, MPI_Comm comm), (at, n, type, root, comm))
QUICK_COLLECTIVE(Gather, gather, PML__LOG_GATHER, root_of(root), gather(c, from, nfrom, type_from, nto, type_to, root),
                 shim_is_predefined(type_from) && shim_is_predefined(type_to), (FROM, TO, int root, MPI_Comm comm),
                 (from, nfrom, type_from, to, nto, type_to, root, comm))
COLLECTIVE(Gatherv, gatherv, PML__LOG_GATHERV, root_of(root), gatherv(c, from, nfrom, type_from, nto, type_to, root),
           (FROM, void *to, const count_t nto[], const place_t at[], MPI_Datatype type_to, int root, MPI_Comm comm),
           (from, nfrom, type_from, to, nto, at, type_to, root, comm))
QUICK_COLLECTIVE(Scatter, scatter, PML__LOG_SCATTER, root_of(root),
                 scatter(c, nfrom, type_from, to, nto, type_to, root),
                 shim_is_predefined(type_from) && shim_is_predefined(type_to), (FROM, TO, int root, MPI_Comm comm),
                 (from, nfrom, type_from, to, nto, type_to, root, comm))
COLLECTIVE(Scatterv, scatterv, PML__LOG_SCATTERV, root_of(root), scatterv(c, nfrom, type_from, to, nto, type_to, root),
           (const void *from, const count_t nfrom[], const place_t at[], MPI_Datatype type_from, TO, int root,
            MPI_Comm comm),
           (from, nfrom, at, type_from, to, nto, type_to, root, comm))
QUICK_COLLECTIVE(Allgather, allgather, PML__LOG_ALLGATHER, NONE, allgather(c, from, nfrom, type_from, nto, type_to),
                 shim_is_predefined(type_from) && shim_is_predefined(type_to), (FROM, TO, MPI_Comm comm),
                 (from, nfrom, type_from, to, nto, type_to, comm))
COLLECTIVE(Allgatherv, allgatherv, PML__LOG_ALLGATHERV, NONE, allgatherv(c, from, nfrom, type_from, nto, type_to),
           (FROM, void *to, const count_t nto[], const place_t at[], MPI_Datatype type_to, MPI_Comm comm),
           (from, nfrom, type_from, to, nto, at, type_to, comm))
QUICK_COLLECTIVE(Alltoall, alltoall, PML__LOG_ALLTOALL, NONE, allgather(c, from, nfrom, type_from, nto, type_to),
                 shim_is_predefined(type_from) && shim_is_predefined(type_to), (FROM, TO, MPI_Comm comm),
                 (from, nfrom, type_from, to, nto, type_to, comm))
COLLECTIVE(Alltoallv, alltoallv, PML__LOG_ALLTOALLV, NONE, alltoallv(c, from, nfrom, type_from, nto, type_to),
           (const void *from, const count_t nfrom[], const place_t at_from[], MPI_Datatype type_from, void *to,
            const count_t nto[], const place_t at_to[], MPI_Datatype type_to, MPI_Comm comm),
           (from, nfrom, at_from, type_from, to, nto, at_to, type_to, comm))
COLLECTIVE(Alltoallw, alltoallw, PML__LOG_ALLTOALLW, NONE, alltoallw(c, from, nfrom, type_from, nto, type_to),
           (const void *from, const count_t nfrom[], const place_t at_from[], const MPI_Datatype type_from[], void *to,
            const count_t nto[], const place_t at_to[], const MPI_Datatype type_to[], MPI_Comm comm),
           (from, nfrom, at_from, type_from, to, nto, at_to, type_to, comm))
QUICK_COLLECTIVE(Allreduce, allreduce, PML__LOG_ALLREDUCE, NONE, ((void)c, allreduce(n, type)),
                 shim_is_predefined(type), (REDUCED, MPI_Comm comm), (from, to, n, type, op, comm))
QUICK_COLLECTIVE(Reduce, reduce, PML__LOG_REDUCE, root_of(root), reduce(c, from, n, type, root),
                 shim_is_predefined(type), (REDUCED, int root, MPI_Comm comm), (from, to, n, type, op, root, comm))
COLLECTIVE(Reduce_scatter, reduce_scatter, PML__LOG_REDUCE_SCATTER, NONE, reduce_scatter(c, from, n, type),
           (const void *from, void *to, const count_t n[], MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (from, to, n, type, op, comm))
QUICK_COLLECTIVE(Reduce_scatter_block, reduce_scatter_block, PML__LOG_REDUCE_SCATTER_BLOCK, NONE,
                 reduce_scatter_block(c, from, n, type), shim_is_predefined(type), (REDUCED, MPI_Comm comm),
                 (from, to, n, type, op, comm))
QUICK_COLLECTIVE(Scan, scan, PML__LOG_SCAN, NONE, scan(c, n, type, 1), shim_is_predefined(type),
                 (REDUCED, MPI_Comm comm), (from, to, n, type, op, comm))
QUICK_COLLECTIVE(Exscan, exscan, PML__LOG_EXSCAN, NONE, scan(c, n, type, 0), shim_is_predefined(type),
                 (REDUCED, MPI_Comm comm), (from, to, n, type, op, comm))
