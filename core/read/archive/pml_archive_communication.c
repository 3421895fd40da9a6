/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/archive/pml_archive_communication.c - messages and collective operations in a rank's log. */
#include "read/archive/pml_archive_private.h"

#define NO_RANK UINT32_MAX
#define ID_BITS 40

/* ---- ranks ---- */

/* Which group of an inter-communicator its ranks refer to: the other one. */
static uint32_t side_of_peers(const struct pml__archive_process *p, const struct pml__archive_comm *known,
                              const struct pml__otf2_comm *c) {
  uint32_t rank = (uint32_t)known->is.rank;
  return c->inter && rank < c->n[0] && c->member[0][rank] == p->index;
}

/* The index of @rank in a communicator, as seen by @p; NO_RANK: none. */
static uint32_t peer_of(const struct pml__archive *a, const struct pml__archive_process *p,
                        const struct pml__archive_comm *known, uint32_t rank) {
  const struct pml__otf2_comm *c = &a->mpi.comm[known->ref];
  if (c->self) return rank == 0 ? p->index : NO_RANK;
  uint32_t side = side_of_peers(p, known, c);
  return rank < c->n[side] ? c->member[side][rank] : NO_RANK;
}

/* A collective operation may have no root, or a root in the local group. */
static bool is_root(const struct pml__archive *a, uint32_t comm, uint32_t rank) {
  const struct pml__otf2_comm *c = &a->mpi.comm[comm];
  return rank >= PML__LOG_ROOT_HERE || (c->self ? rank == 0 : rank < c->n[0] || rank < c->n[1]);
}

/* ---- values ---- */

/* Requests are numbered by their process and their own number. */
static uint64_t request_of(const struct pml__archive_process *p, uint64_t id) {
  return id == 0 ? 0 : ((uint64_t)p->index + 1) << ID_BITS | (id & ((UINT64_C(1) << ID_BITS) - 1));
}

/* The communicator and rank in a value, as numbers of the archive; NULL: unknown communicator. */
static const struct pml__archive_comm *take_place(const struct pml__archive_process *p, uint64_t value,
                                                  struct pml__otf2_communication *c) {
  const struct pml__archive_comm *known = pml__archive_comm_of(p, (uint32_t)(value >> 32));
  if (known == NULL) return NULL;
  c->comm = known->ref;
  c->rank = (uint32_t)value;
  return known;
}

static bool take_message(const struct pml__archive *a, const struct pml__archive_process *p,
                         const struct pml__recording_communicated *e, uint32_t n, struct pml__otf2_communication *c) {
  const struct pml__archive_comm *known = e->nvalues >= n ? take_place(p, e->values[0], c) : NULL;
  c->peer = known != NULL ? peer_of(a, p, known, c->rank) : NO_RANK;
  if (c->peer == NO_RANK) return false;
  c->tag = (uint32_t)e->values[1];
  c->sent = c->received = pml__log_bytes(e->values[2]);
  c->request = n > 3 ? request_of(p, e->values[3]) : 0;
  return n == 3 || c->request != 0;
}

static bool take_request(const struct pml__archive_process *p, const struct pml__recording_communicated *e,
                         struct pml__otf2_communication *c) {
  c->request = e->nvalues >= 1 ? request_of(p, e->values[0]) : 0;
  return c->request != 0;
}

/* OTF2 has no operations between neighbours: they become operations of all members, with the bytes moved. */
static bool take_end(const struct pml__archive *a, const struct pml__archive_process *p,
                     const struct pml__recording_communicated *e, struct pml__otf2_communication *c) {
  if (e->nvalues < 4 || take_place(p, e->values[0], c) == NULL || !is_root(a, c->comm, c->rank)) return false;
  c->local = e->code >= PML__LOG_NEIGHBOR_ALLGATHER && e->code <= PML__LOG_NEIGHBOR_ALLTOALLW;
  if (c->local) c->code = e->code - PML__LOG_NEIGHBOR_ALLGATHER + PML__LOG_ALLGATHER;
  c->sent = pml__log_bytes(e->values[1]);
  c->received = pml__log_bytes(e->values[2]);
  c->request = request_of(p, e->values[3]);
  return c->code <= PML__LOG_REDUCE_SCATTER_BLOCK || c->code == PML__LOG_CREATE || c->code == PML__LOG_DESTROY;
}

/* The time is used as the operation's number. */
static bool take_one_sided(const struct pml__archive *a, const struct pml__archive_process *p,
                           const struct pml__recording_communicated *e, struct pml__otf2_communication *c) {
  const struct pml__archive_comm *known = e->nvalues >= 2 ? take_place(p, e->values[0], c) : NULL;
  const struct pml__archive_window *w = e->nvalues >= 3 ? pml__archive_window_of(p, (uint32_t)e->values[2]) : NULL;
  const bool all = e->code >= PML__LOG_WIN_CREATE && c->rank == PML__LOG_NO_RANK;
  if (known == NULL || (!all && peer_of(a, p, known, c->rank) == NO_RANK)) return false;
  if (w == NULL || w->is.communicator != known->is.number) return false;
  c->window = w->ref;
  c->sent = pml__log_bytes(e->values[1]);
  c->request = request_of(p, e->ticks);
  return true;
}

bool pml__archive_take(const struct pml__archive *a, const struct pml__archive_process *p,
                       const struct pml__recording_communicated *e, struct pml__otf2_communication *c) {
  *c = (struct pml__otf2_communication){.what = e->what, .code = e->code};
  if (p->rank < 0) return false;
  switch (e->what) {
  case PML__LOG_SEND:
  case PML__LOG_RECEIVE:
    return take_message(a, p, e, 3, c);
  case PML__LOG_ISEND:
  case PML__LOG_IRECV_COMPLETE:
    return take_message(a, p, e, 4, c);
  case PML__LOG_ISEND_COMPLETE:
  case PML__LOG_IRECV:
  case PML__LOG_REQUEST_TESTED:
  case PML__LOG_REQUEST_CANCELLED:
    return take_request(p, e, c);
  case PML__LOG_COLLECTIVE_BEGIN:
    (void)take_request(p, e, c);
    return true;
  case PML__LOG_COLLECTIVE_END:
    return take_end(a, p, e, c);
  case PML__LOG_RMA:
    return take_one_sided(a, p, e, c);
  default:
    return false;
  }
}
