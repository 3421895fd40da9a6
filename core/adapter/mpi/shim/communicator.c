/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/mpi/shim/communicator.c - creation and freeing of communicators.
 *
 * All members of a communicator give it the same global id: its rank 0 counts the communicators in which it is rank 0,
 * and sends the number to the others in the call that created it. MPI_Comm_idup must not wait for others: the
 * duplicate's id is calculated from the parent's id and the number of earlier duplicates of this kind.
 *
 * A communicator with members of another job (MPI_Comm_spawn, MPI_Comm_connect) is foreign: those members may not be
 * recorded, so pmlua never communicates on it. Its members in this job also calculate its id.
 */
#include "shim.h"

#include "adapter/mpi/pml_mpi_job.h"
#include "base/pml_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORLD PML__MPI_WORLD
#define SELF 2u
#define UNKNOWN UINT64_MAX        /* a global id without agreement */
#define LATER (UINT64_C(1) << 31) /* bit of calculated ids */

static struct pml__mpi_table table;
static struct communicator unknown;
struct communicator *shim_world_communicator;
bool shim_is_spawned;
static uint32_t numbers = SELF, counted = 1; /* atomic */
static MPI_Group world_group;

/* ---- properties of communicators ---- */

static int world_rank_of(MPI_Group group, int rank) {
  int in_world = MPI_UNDEFINED;
  (void)PMPI_Group_translate_ranks(group, 1, &rank, world_group, &in_world);
  return in_world != MPI_UNDEFINED ? in_world : -1;
}

/* "0 1 2", with -1 for a rank of another job; the caller frees it; "" without memory. */
static char *ranks_in_world(MPI_Group group) {
  int n = 0;
  (void)PMPI_Group_size(group, &n);
  char *text = calloc((size_t)n + 1, 12), *at = text;
  for (int i = 0; text != NULL && i < n; i++) at += sprintf(at, i > 0 ? " %d" : "%d", world_rank_of(group, i));
  return text;
}

static bool is_inter(const struct communicator *c) {
  return (c->flags & PML__LOG_COMM_INTER) != 0;
}

static bool is_foreign(const struct communicator *c) {
  return (c->flags & PML__LOG_COMM_FOREIGN) != 0;
}

/* Agree on a global id. In an inter-communicator each side gets the proposal of the other side's rank 0, and then its
 * own back. */
static uint64_t agree(MPI_Comm comm, const struct communicator *c, uint64_t proposed) {
  uint64_t mine = c->rank == 0 ? proposed : 0, theirs = 0, ours = 0;
  if (!is_inter(c)) {
    (void)PMPI_Bcast(&proposed, 1, MPI_UINT64_T, 0, comm);
    return proposed;
  }
  (void)PMPI_Allreduce(&mine, &theirs, 1, MPI_UINT64_T, MPI_MAX, comm);
  (void)PMPI_Allreduce(&theirs, &ours, 1, MPI_UINT64_T, MPI_MAX, comm);
  return ours < theirs ? ours : theirs;
}

/* The lowest rank in the world of @group, or the world's size; *@foreign: it has a member of another job. */
static int first_in_world(MPI_Group group, bool *foreign) {
  int n = 0, first = shim_world_communicator->size;
  (void)PMPI_Group_size(group, &n);
  for (int i = 0; i < n; i++) {
    int rank = world_rank_of(group, i);
    *foreign = *foreign || rank < 0;
    if (rank >= 0 && rank < first) first = rank;
  }
  return first;
}

/* Set the flag of a foreign communicator. Returns the lowest rank in the world of its local group. */
static int look_for_foreign(MPI_Comm comm, struct communicator *c) {
  MPI_Group group;
  bool foreign = false;
  (void)PMPI_Comm_group(comm, &group);
  int first = first_in_world(group, &foreign);
  (void)PMPI_Group_free(&group);
  if (is_inter(c)) {
    (void)PMPI_Comm_remote_group(comm, &group);
    (void)first_in_world(group, &foreign);
    (void)PMPI_Group_free(&group);
  }
  if (foreign) c->flags |= PML__LOG_COMM_FOREIGN;
  return first;
}

static void read_shape(MPI_Comm comm, struct communicator *c) {
  int inter = 0, rank = 0, size = 0, remote = 0;
  (void)PMPI_Comm_test_inter(comm, &inter);
  (void)PMPI_Comm_rank(comm, &rank);
  (void)PMPI_Comm_size(comm, &size);
  if (inter) (void)PMPI_Comm_remote_size(comm, &remote);
  c->flags = inter ? PML__LOG_COMM_INTER : 0;
  c->rank = rank;
  c->size = size;
  c->partners = inter ? remote : size;
}

/* ---- communicators by number ---- */

struct numbered {
  struct pml__mpi_entry entry; /* the number is its key */
  MPI_Comm comm;
};
static struct pml__mpi_table numbered;

static void note_number(uint32_t number, MPI_Comm comm) {
  struct numbered *e = pml__mpi_add(&numbered, number);
  if (e == NULL) return;
  e->comm = comm;
  pml__mpi_publish(&e->entry);
}

static void forget_number(uint32_t number) {
  struct numbered *e = pml__mpi_find(&numbered, number);
  if (e != NULL) pml__mpi_remove(&e->entry);
}

/* The receiver of messages to @rank; in an inter-communicator a rank of the remote group. */
static int partner_in_world(uint32_t number, int32_t rank) {
  const struct numbered *e = pml__mpi_find(&numbered, number);
  MPI_Group group;
  int inter = 0;
  if (e == NULL) return -1;
  (void)PMPI_Comm_test_inter(e->comm, &inter);
  int err = inter ? PMPI_Comm_remote_group(e->comm, &group) : PMPI_Comm_group(e->comm, &group);
  if (err != MPI_SUCCESS) return -1;
  int in_world = world_rank_of(group, rank);
  (void)PMPI_Group_free(&group);
  return in_world;
}

/* ---- log ---- */

/* The first member also writes the list of members. Each member of a foreign communicator does, because the first one
 * may be in another job. */
static void define(MPI_Comm comm, const struct communicator *c) {
  struct pml__log_communicator d = {c->number, c->flags, c->rank, c->size, c->parent, -1, c->global};
  char name[MPI_MAX_OBJECT_NAME] = "", *ranks = NULL, *remote = NULL;
  int n;
  MPI_Group group, other = MPI_GROUP_NULL;
  (void)PMPI_Comm_get_name(comm, name, &n);
  (void)PMPI_Comm_group(comm, &group);
  if (is_inter(c)) (void)PMPI_Comm_remote_group(comm, &other);
  d.root_world = world_rank_of(group, 0);
  bool writes = c->number > SELF && (c->rank == 0 || is_foreign(c));
  if (writes) ranks = ranks_in_world(group);
  if (writes && other != MPI_GROUP_NULL) remote = ranks_in_world(other);
  pml__mpi_log_communicator(&d, name, ranks != NULL ? ranks : "", remote != NULL ? remote : "");
  free(ranks);
  free(remote);
  (void)PMPI_Group_free(&group);
  if (other != MPI_GROUP_NULL) (void)PMPI_Group_free(&other);
}

static struct communicator *enter(MPI_Comm comm, const struct communicator *c, uint32_t parent) {
  struct communicator *stale = pml__mpi_find(&table, key_of(comm));
  if (stale != NULL) pml__mpi_remove(&stale->entry);
  struct communicator *e = pml__mpi_add(&table, key_of(comm));
  if (e == NULL) return &unknown;
  e->number = c->number;
  e->flags = c->flags;
  e->rank = c->rank;
  e->size = c->size;
  e->partners = c->partners;
  e->made = 0;
  e->windows = 0;
  e->global = c->global;
  e->parent = parent;
  define(comm, e);
  pml__mpi_publish(&e->entry);
  note_number(e->number, comm);
  return e;
}

/* ---- creation ---- */

/* Whether MPI is initialised and not finalised. */
static bool is_on(void) {
  return shim_world_communicator != NULL;
}

static uint64_t next_global(void) {
  uint32_t mine = __atomic_add_fetch(&counted, 1, __ATOMIC_RELAXED);
  return (uint64_t)(uint32_t)shim_world_communicator->rank << 32 | mine;
}

/* A calculated id. All members of @parent count the same calls. */
static uint64_t later(struct communicator *parent) {
  uint32_t n = __atomic_add_fetch(&parent->made, 1, __ATOMIC_RELAXED);
  if (parent->global == UNKNOWN) return UNKNOWN;
  uint64_t mixed = (parent->global + n) * PML__HASH_FACTOR;
  return (parent->global & ~UINT64_C(0xffffffff)) | LATER | (mixed >> 33);
}

/* The same for a foreign communicator. One call may create several: each has another first member in this job. */
static uint64_t later_of(struct communicator *parent, int first) {
  uint64_t global = later(parent);
  return global == UNKNOWN ? UNKNOWN : (uint64_t)(uint32_t)first << 32 | (global & UINT64_C(0xffffffff));
}

static void made(MPI_Comm comm, MPI_Comm parent) {
  struct communicator c = {.number = 0}, *from;
  int first = 0;
  if (comm == MPI_COMM_NULL || !is_on()) return;
  from = shim_communicator(parent);
  read_shape(comm, &c);
  /* only these may contain members of other jobs */
  if (is_inter(&c) || is_foreign(from)) first = look_for_foreign(comm, &c);
  c.number = __atomic_add_fetch(&numbers, 1, __ATOMIC_RELAXED);
  c.global = shim_own == MPI_COMM_NULL ? UNKNOWN
             : is_foreign(&c)          ? later_of(from, first)
                                       : agree(comm, &c, c.rank == 0 ? next_global() : 0);
  (void)enter(comm, &c, from->number);
}

void shim_communicator_made_later(MPI_Comm comm, uint32_t parent, uint64_t global) {
  struct communicator c = {.number = __atomic_add_fetch(&numbers, 1, __ATOMIC_RELAXED), .global = global};
  read_shape(comm, &c);
  if (is_on()) (void)look_for_foreign(comm, &c);
  (void)enter(comm, &c, parent);
}

struct communicator *shim_other_communicator(MPI_Comm handle) {
  struct communicator *c = pml__mpi_find(&table, key_of(handle));
  if (c != NULL) return c;
  struct communicator seen = {.number = __atomic_add_fetch(&numbers, 1, __ATOMIC_RELAXED), .global = UNKNOWN};
  read_shape(handle, &seen);
  if (is_on()) (void)look_for_foreign(handle, &seen);
  return enter(handle, &seen, 0);
}

void shim_communicators_begin(void) {
  struct communicator all = {.number = WORLD}, self = {.number = SELF};
  MPI_Comm parent = MPI_COMM_NULL;
  (void)PMPI_Comm_group(MPI_COMM_WORLD, &world_group);
  read_shape(MPI_COMM_WORLD, &all);
  pml__mpi_translate(all.size, partner_in_world);
  all.flags = PML__LOG_COMM_WORLD;
  shim_world_communicator = enter(MPI_COMM_WORLD, &all, 0);
  read_shape(MPI_COMM_SELF, &self);
  self.flags = PML__LOG_COMM_SELF;
  self.global = (uint64_t)(uint32_t)all.rank << 32 | 1;
  (void)enter(MPI_COMM_SELF, &self, 0);
  (void)PMPI_Comm_get_parent(&parent);
  shim_is_spawned = parent != MPI_COMM_NULL;
  if (shim_is_spawned) shim_communicator_made_later(parent, 0, later(shim_world_communicator));
}

void shim_communicators_end(void) {
  if (!is_on()) return;
  (void)PMPI_Group_free(&world_group);
  shim_world_communicator = NULL;
}

/* ---- hooks ---- */

/* The new communicator is the last argument. @together: all members of @parent call the function. */
#define MAKES_IF(name, parent, together, parameters, arguments)                                                        \
  HOOK(name)(UNWRAP parameters, MPI_Comm * new) {                                                                      \
    const bool wanted = (together) && shim_wanted();                                                                   \
    if (wanted) shim_request_is(PML__LOG_COLLECTIVE_BEGIN, 0);                                                         \
    int err = PMPI_##name(UNWRAP arguments, new);                                                                      \
    if (err == MPI_SUCCESS) made(*new, parent);                                                                        \
    if (wanted) shim_collective_end(PML__LOG_CREATE, pair(shim_number(parent), (int)PML__LOG_NO_RANK), 0, 0, 0);       \
    return err;                                                                                                        \
  }
#define MAKES(name, parent, parameters, arguments) MAKES_IF(name, parent, true, parameters, arguments)

MAKES(Comm_dup, old, (MPI_Comm old), (old))
MAKES(Comm_dup_with_info, old, (MPI_Comm old, MPI_Info info), (old, info))
MAKES(Comm_create, old, (MPI_Comm old, MPI_Group group), (old, group))
MAKES_IF(Comm_create_group, old, false, (MPI_Comm old, MPI_Group group, int tag), (old, group, tag))
MAKES(Comm_split, old, (MPI_Comm old, int color, int key), (old, color, key))
MAKES(Comm_split_type, old, (MPI_Comm old, int type, int key, MPI_Info info), (old, type, key, info))
MAKES(Intercomm_create, local, (MPI_Comm local, int leader, MPI_Comm peer, int remote, int tag),
      (local, leader, peer, remote, tag))
MAKES(Intercomm_merge, old, (MPI_Comm old, int high), (old, high))
MAKES(Cart_create, old, (MPI_Comm old, int n, const int dims[], const int periods[], int reorder),
      (old, n, dims, periods, reorder))
MAKES(Cart_sub, old, (MPI_Comm old, const int remain[]), (old, remain))
MAKES(Graph_create, old, (MPI_Comm old, int n, const int index[], const int edges[], int reorder),
      (old, n, index, edges, reorder))
MAKES(Dist_graph_create, old,
      (MPI_Comm old, int n, const int sources[], const int degrees[], const int to[], const int weights[],
       MPI_Info info, int reorder),
      (old, n, sources, degrees, to, weights, info, reorder))
MAKES(Dist_graph_create_adjacent, old,
      (MPI_Comm old, int nin, const int sources[], const int in[], int nout, const int to[], const int out[],
       MPI_Info info, int reorder),
      (old, nin, sources, in, nout, to, out, info, reorder))

MAKES_IF(Comm_accept, old, false, (const char *port, MPI_Info info, int root, MPI_Comm old), (port, info, root, old))
MAKES_IF(Comm_connect, old, false, (const char *port, MPI_Info info, int root, MPI_Comm old), (port, info, root, old))
MAKES_IF(Comm_join, MPI_COMM_SELF, false, (int fd), (fd))

static void spawned(int err, MPI_Comm old, const MPI_Comm *new) {
  if (err != MPI_SUCCESS) return;
  made(*new, old);
  pml__mpi_set_trouble(
      "the program started another job by MPI_Comm_spawn: messages between the two jobs have no partner");
}

HOOK(Comm_spawn)
(const char *command, char *argv[], int n, MPI_Info info, int root, MPI_Comm old, MPI_Comm *new, int errors[]) {
  int err = PMPI_Comm_spawn(command, argv, n, info, root, old, new, errors);
  spawned(err, old, new);
  return err;
}

HOOK(Comm_spawn_multiple)
(int count, char *command[], char **argv[], const int n[], const MPI_Info info[], int root, MPI_Comm old, MPI_Comm *new,
 int errors[]) {
  int err = PMPI_Comm_spawn_multiple(count, command, argv, n, info, root, old, new, errors);
  spawned(err, old, new);
  return err;
}

/* The duplicate exists when its request completes. */
static int begun_later(int err, MPI_Comm old, MPI_Comm *new, const MPI_Request *request) {
  if (err != MPI_SUCCESS || !is_on()) return err;
  const struct request r = {.entry.kind = REQUEST_DUP,
                            .communicator = shim_communicator(old)->number,
                            .sent = later(shim_communicator(old)),
                            .made = new};
  shim_request_begin(*request, &r);
  return err;
}

HOOK(Comm_idup)(MPI_Comm old, MPI_Comm *new, MPI_Request *request) {
  return begun_later(PMPI_Comm_idup(old, new, request), old, new, request);
}

#if MPI_VERSION >= 4
HOOK(Comm_idup_with_info)(MPI_Comm old, MPI_Info info, MPI_Comm *new, MPI_Request *request) {
  return begun_later(PMPI_Comm_idup_with_info(old, info, new, request), old, new, request);
}
#endif

/* The name is stored by a later definition. */
HOOK(Comm_set_name)(MPI_Comm comm, const char *name) {
  int err = PMPI_Comm_set_name(comm, name);
  if (err == MPI_SUCCESS && is_on()) define(comm, shim_communicator(comm));
  return err;
}

static void freed(MPI_Comm comm) {
  struct communicator *c = comm != MPI_COMM_NULL ? pml__mpi_find(&table, key_of(comm)) : NULL;
  if (c == NULL || c->number <= SELF) return;
  forget_number(c->number);
  pml__mpi_remove(&c->entry);
}

HOOK(Comm_free)(MPI_Comm *comm) {
  freed(*comm);
  return PMPI_Comm_free(comm);
}

HOOK(Comm_disconnect)(MPI_Comm *comm) {
  freed(*comm);
  return PMPI_Comm_disconnect(comm);
}
