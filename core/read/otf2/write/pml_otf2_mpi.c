/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/otf2/write/pml_otf2_mpi.c - MPI as OTF2 records: roles of functions, events, communicators. */
#include "read/otf2/write/pml_otf2_mpi.h"

#include "base/pml_error.h"

#include <errno.h>
#include <otf2/otf2.h>
#include <stdlib.h>
#include <string.h>

/* ---- functions ---- */

/* Prefixes of names after "MPI_" or "MPI_I"; the first match wins. */
static const struct {
  const char *begin;
  OTF2_RegionRole role;
} role_of[] = {
    {"Barrier", OTF2_REGION_ROLE_BARRIER},
    {"Bcast", OTF2_REGION_ROLE_COLL_ONE2ALL},
    {"Scatter", OTF2_REGION_ROLE_COLL_ONE2ALL},
    {"Gather", OTF2_REGION_ROLE_COLL_ALL2ONE},
    {"Reduce_scatter", OTF2_REGION_ROLE_COLL_ALL2ALL},
    {"Reduce_local", OTF2_REGION_ROLE_FUNCTION},
    {"Reduce", OTF2_REGION_ROLE_COLL_ALL2ONE},
    {"Allgather", OTF2_REGION_ROLE_COLL_ALL2ALL},
    {"Allreduce", OTF2_REGION_ROLE_COLL_ALL2ALL},
    {"Alltoall", OTF2_REGION_ROLE_COLL_ALL2ALL},
    {"Neighbor_", OTF2_REGION_ROLE_COLL_OTHER},
    {"Scan", OTF2_REGION_ROLE_COLL_OTHER},
    {"Exscan", OTF2_REGION_ROLE_COLL_OTHER},
    {"Comm_create", OTF2_REGION_ROLE_COLL_OTHER},
    {"Comm_dup", OTF2_REGION_ROLE_COLL_OTHER},
    {"Comm_split", OTF2_REGION_ROLE_COLL_OTHER},
    {"Send", OTF2_REGION_ROLE_POINT2POINT},
    {"Bsend", OTF2_REGION_ROLE_POINT2POINT},
    {"Rsend", OTF2_REGION_ROLE_POINT2POINT},
    {"Ssend", OTF2_REGION_ROLE_POINT2POINT},
    {"Recv", OTF2_REGION_ROLE_POINT2POINT},
    {"Mrecv", OTF2_REGION_ROLE_POINT2POINT},
    {"Probe", OTF2_REGION_ROLE_POINT2POINT},
    {"Mprobe", OTF2_REGION_ROLE_POINT2POINT},
    {"Wait", OTF2_REGION_ROLE_POINT2POINT},
    {"Test", OTF2_REGION_ROLE_POINT2POINT},
    {"Start", OTF2_REGION_ROLE_POINT2POINT},
    {"Put", OTF2_REGION_ROLE_RMA},
    {"Get_accumulate", OTF2_REGION_ROLE_RMA},
    {"Accumulate", OTF2_REGION_ROLE_RMA},
    {"Fetch_and_op", OTF2_REGION_ROLE_RMA},
    {"Compare_and_swap", OTF2_REGION_ROLE_RMA},
    {"Rput", OTF2_REGION_ROLE_RMA},
    {"Rget", OTF2_REGION_ROLE_RMA},
    {"Raccumulate", OTF2_REGION_ROLE_RMA},
    {"Win_", OTF2_REGION_ROLE_RMA},
    {"File_", OTF2_REGION_ROLE_FILE_IO},
};

static OTF2_RegionRole role_by_name(const char *name) {
  for (size_t i = 0; i < sizeof role_of / sizeof *role_of; i++)
    if (strncasecmp(name, role_of[i].begin, strlen(role_of[i].begin)) == 0) return role_of[i].role;
  return strcmp(name, "Get") == 0 ? OTF2_REGION_ROLE_RMA : OTF2_REGION_ROLE_FUNCTION;
}

uint8_t pml__otf2_mpi_role(const char *name) {
  if (strncmp(name, "MPI_", 4) == 0) name += 4;
  OTF2_RegionRole role = role_by_name(name);
  return role == OTF2_REGION_ROLE_FUNCTION && *name == 'I' ? role_by_name(name + 1) : role;
}

/* ---- events ---- */

static OTF2_ErrorCode write_message(OTF2_EvtWriter *to, uint64_t time, const struct pml__otf2_communication *c) {
  switch (c->what) {
  case PML__LOG_SEND:
    return OTF2_EvtWriter_MpiSend(to, NULL, time, c->rank, c->comm, c->tag, c->sent);
  case PML__LOG_ISEND:
    return OTF2_EvtWriter_MpiIsend(to, NULL, time, c->rank, c->comm, c->tag, c->sent, c->request);
  case PML__LOG_RECEIVE:
    return OTF2_EvtWriter_MpiRecv(to, NULL, time, c->rank, c->comm, c->tag, c->received);
  default:
    return OTF2_EvtWriter_MpiIrecv(to, NULL, time, c->rank, c->comm, c->tag, c->received, c->request);
  }
}

static OTF2_ErrorCode write_request(OTF2_EvtWriter *to, uint64_t time, const struct pml__otf2_communication *c) {
  switch (c->what) {
  case PML__LOG_ISEND_COMPLETE:
    return OTF2_EvtWriter_MpiIsendComplete(to, NULL, time, c->request);
  case PML__LOG_IRECV:
    return OTF2_EvtWriter_MpiIrecvRequest(to, NULL, time, c->request);
  case PML__LOG_REQUEST_TESTED:
    return OTF2_EvtWriter_MpiRequestTest(to, NULL, time, c->request);
  default:
    return OTF2_EvtWriter_MpiRequestCancelled(to, NULL, time, c->request);
  }
}

static OTF2_CollectiveOp operation_of(uint32_t code) {
  return code == PML__LOG_CREATE    ? OTF2_COLLECTIVE_OP_CREATE_HANDLE
         : code == PML__LOG_DESTROY ? OTF2_COLLECTIVE_OP_DESTROY_HANDLE
                                    : (OTF2_CollectiveOp)code;
}

static OTF2_ErrorCode write_collective(OTF2_EvtWriter *to, uint64_t time, const struct pml__otf2_communication *c) {
  OTF2_CollectiveOp op = operation_of(c->code);
  if (c->what == PML__LOG_COLLECTIVE_BEGIN)
    return c->request == 0 ? OTF2_EvtWriter_MpiCollectiveBegin(to, NULL, time)
                           : OTF2_EvtWriter_NonBlockingCollectiveRequest(to, NULL, time, c->request);
  if (c->request == 0)
    return OTF2_EvtWriter_MpiCollectiveEnd(to, NULL, time, op, c->comm, c->rank, c->sent, c->received);
  return OTF2_EvtWriter_NonBlockingCollectiveComplete(to, NULL, time, op, c->comm, c->rank, c->sent, c->received,
                                                      c->request);
}

#define EVERY OTF2_UNDEFINED_UINT32

/* A lock's number is its target, because the window has one lock for each target. */
static OTF2_ErrorCode write_lock(OTF2_EvtWriter *to, uint64_t time, const struct pml__otf2_communication *c) {
  const OTF2_LockType type = c->sent != 0 ? OTF2_LOCK_EXCLUSIVE : OTF2_LOCK_SHARED;
  switch (c->code) {
  case PML__LOG_LOCK_REQUEST:
    return OTF2_EvtWriter_RmaRequestLock(to, NULL, time, c->window, c->rank, c->rank, type);
  case PML__LOG_LOCK:
    return OTF2_EvtWriter_RmaAcquireLock(to, NULL, time, c->window, c->rank, c->rank, type);
  default:
    return OTF2_EvtWriter_RmaReleaseLock(to, NULL, time, c->window, c->rank, c->rank);
  }
}

static OTF2_ErrorCode write_synchronisation(OTF2_EvtWriter *to, uint64_t time,
                                            const struct pml__otf2_communication *c) {
  const OTF2_RmaSyncLevel both = OTF2_RMA_SYNC_LEVEL_PROCESS | OTF2_RMA_SYNC_LEVEL_MEMORY;
  switch (c->code) {
  case PML__LOG_WIN_CREATE:
    return OTF2_EvtWriter_RmaWinCreate(to, NULL, time, c->window);
  case PML__LOG_WIN_DESTROY:
    return OTF2_EvtWriter_RmaWinDestroy(to, NULL, time, c->window);
  case PML__LOG_FENCE_BEGIN:
    return OTF2_EvtWriter_RmaCollectiveBegin(to, NULL, time);
  case PML__LOG_FENCE_END:
    return OTF2_EvtWriter_RmaCollectiveEnd(to, NULL, time, OTF2_COLLECTIVE_OP_BARRIER, both, c->window, EVERY, 0, 0);
  case PML__LOG_NOTIFY_OUT:
    return OTF2_EvtWriter_RmaSync(to, NULL, time, c->window, c->rank, OTF2_RMA_SYNC_TYPE_NOTIFY_OUT);
  case PML__LOG_NOTIFY_IN:
    return OTF2_EvtWriter_RmaSync(to, NULL, time, c->window, c->rank, OTF2_RMA_SYNC_TYPE_NOTIFY_IN);
  default:
    return write_lock(to, time, c);
  }
}

static OTF2_ErrorCode write_one_sided(OTF2_EvtWriter *to, uint64_t time, const struct pml__otf2_communication *c) {
  switch (c->code) {
  case PML__LOG_PUT:
    return OTF2_EvtWriter_RmaPut(to, NULL, time, c->window, c->rank, c->sent, c->request);
  case PML__LOG_GET:
    return OTF2_EvtWriter_RmaGet(to, NULL, time, c->window, c->rank, c->sent, c->request);
  case PML__LOG_ATOMIC:
    return OTF2_EvtWriter_RmaAtomic(to, NULL, time, c->window, c->rank, OTF2_RMA_ATOMIC_TYPE_ACCUMULATE, c->sent, 0,
                                    c->request);
  case PML__LOG_COMPLETE:
    return OTF2_EvtWriter_RmaOpCompleteBlocking(to, NULL, time, c->window, c->request);
  default:
    return write_synchronisation(to, time, c);
  }
}

static OTF2_ErrorCode write_communication(OTF2_EvtWriter *to, uint64_t time, const struct pml__otf2_communication *c) {
  switch (c->what) {
  case PML__LOG_SEND:
  case PML__LOG_ISEND:
  case PML__LOG_RECEIVE:
  case PML__LOG_IRECV_COMPLETE:
    return write_message(to, time, c);
  case PML__LOG_COLLECTIVE_BEGIN:
  case PML__LOG_COLLECTIVE_END:
    return write_collective(to, time, c);
  case PML__LOG_RMA:
    return write_one_sided(to, time, c);
  default:
    return write_request(to, time, c);
  }
}

int pml__otf2_communicate(struct pml_otf2 *a, struct pml_otf2_location *loc, uint64_t time,
                          const struct pml__otf2_communication *c) {
  if (a->error != 0) return pml_fail(a->error, "%s", a->error_text);
  return pml__otf2_wrote(a, loc, time, loc->nevents++, (int)write_communication(loc->writer, time, c));
}

/* ---- communicators ---- */

/* Groups: all ranks; MPI_COMM_SELF's group; groups of communicators. */
enum { RANKS, SELF, FIRST_GROUP };

static void define_group(struct pml__otf2_defs *d, OTF2_GroupRef ref, const char *name, OTF2_GroupType type, uint32_t n,
                         const uint64_t *member) {
  OTF2_StringRef said = pml__otf2_string(d, name);
  pml__otf2_defined(
      d, OTF2_GlobalDefWriter_WriteGroup(d->out, ref, said, type, OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, n, member));
}

static void define_members(struct pml__otf2_defs *d, OTF2_GroupRef ref, uint32_t n, const uint32_t *member) {
  uint64_t *wide = malloc((n + 1) * sizeof *wide);
  if (wide == NULL) {
    if (d->err == 0) d->err = pml_fail(-ENOMEM, "no memory to define a group of %u ranks", n);
    return;
  }
  for (uint32_t i = 0; i < n; i++) wide[i] = member[i];
  define_group(d, ref, "", OTF2_GROUP_TYPE_COMM_GROUP, n, wide);
  free(wide);
}

static bool same_group(const struct pml__otf2_comm *a, uint32_t i, const struct pml__otf2_comm *b, uint32_t k) {
  return a->n[i] == b->n[k] && (a->n[i] == 0 || memcmp(a->member[i], b->member[k], a->n[i] * sizeof **a->member) == 0);
}

/* The group of a communicator; communicators with equal members share a group. */
static OTF2_GroupRef group_of(struct pml__otf2_defs *d, const struct pml__otf2_comm *c, uint32_t side,
                              OTF2_GroupRef *next, OTF2_GroupRef *before) {
  const struct pml__otf2_mpi *m = d->a->mpi;
  if (c->self) return SELF;
  for (const struct pml__otf2_comm *b = c; b-- > m->comm;)
    if (!b->self && !b->inter && same_group(b, 0, c, side)) return before[b - m->comm];
  define_members(d, *next, c->n[side], c->member[side]);
  return (*next)++;
}

static void define_comm(struct pml__otf2_defs *d, uint32_t ref, OTF2_GroupRef *next, OTF2_GroupRef *before) {
  const struct pml__otf2_comm *c = &d->a->mpi->comm[ref];
  OTF2_CommRef parent = c->parent < ref ? c->parent : OTF2_UNDEFINED_COMM;
  before[ref] = group_of(d, c, 0, next, before);
  OTF2_GroupRef other = c->inter ? group_of(d, c, 1, next, before) : 0;
  OTF2_StringRef name = pml__otf2_string(d, c->name);
  if (c->inter)
    pml__otf2_defined(
        d, OTF2_GlobalDefWriter_WriteInterComm(d->out, ref, name, before[ref], other, parent, OTF2_COMM_FLAG_NONE));
  else
    pml__otf2_defined(d, OTF2_GlobalDefWriter_WriteComm(d->out, ref, name, before[ref], parent, OTF2_COMM_FLAG_NONE));
}

void pml__otf2_define_mpi(struct pml__otf2_defs *d) {
  const struct pml__otf2_mpi *m = d->a->mpi;
  OTF2_GroupRef next = FIRST_GROUP, *before = calloc(m->ncomms + 1, sizeof *before);
  if (before == NULL) {
    if (d->err == 0) d->err = pml_fail(-ENOMEM, "no memory to define %u communicators", m->ncomms);
    return;
  }
  define_group(d, RANKS, "MPI ranks", OTF2_GROUP_TYPE_COMM_LOCATIONS, m->nranks, m->location);
  define_group(d, SELF, "", OTF2_GROUP_TYPE_COMM_SELF, 0, NULL);
  for (uint32_t i = 0; i < m->ncomms; i++) define_comm(d, i, &next, before);
  for (uint32_t i = 0; i < m->nwindows; i++) {
    OTF2_StringRef name = pml__otf2_string(d, m->window[i].name);
    pml__otf2_defined(d, OTF2_GlobalDefWriter_WriteRmaWin(d->out, i, name, m->window[i].comm, OTF2_RMA_WIN_FLAG_NONE));
  }
  d->ngroups = next;
  free(before);
}
