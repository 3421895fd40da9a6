/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/mpi/shim/window.c - windows of one-sided operations: creation, synchronisation, freeing.
 *
 * Notifications: MPI_Win_post notifies each origin, MPI_Win_complete each target. They are received by MPI_Win_start
 * and MPI_Win_wait, when these return.
 */
#include "shim.h"

#include <stdlib.h>

static struct pml__mpi_table table;
static uint32_t numbers; /* atomic */

struct window {
  struct pml__mpi_entry entry; /* its kind is the window's number */
  uint32_t communicator, place;
  struct partners {
    int n, *rank;     /* ranks of the window */
  } targets, origins; /* partners of the epochs from start to complete, and from post to wait */
};
_Static_assert(sizeof(struct window) <= PML__MPI_ENTRY_BYTES, "an entry has room for it");

/* A window is defined without a name; a later definition contains the name that the program gives it. */
static void define(const struct window *w, const char *name) {
  const struct pml__log_window d = {w->entry.kind, w->communicator, w->place, 0};
  pml__mpi_log_window(&d, name);
}

/* Windows are also counted while recording is off, because a window must have the same number in all members of the
 * communicator. */
static void made(MPI_Win handle, MPI_Comm comm) {
  struct communicator *c = shim_communicator(comm);
  uint32_t place = __atomic_add_fetch(&c->windows, 1, __ATOMIC_RELAXED);
  struct window *stale = pml__mpi_find(&table, key_of(handle));
  if (stale != NULL) pml__mpi_remove(&stale->entry);
  struct window *w = pml__mpi_add(&table, key_of(handle));
  if (w == NULL) return;
  w->entry.kind = __atomic_add_fetch(&numbers, 1, __ATOMIC_RELAXED);
  w->communicator = c->number;
  w->place = place;
  w->targets = w->origins = (struct partners){0, NULL};
  define(w, "");
  pml__mpi_publish(&w->entry);
  if (shim_wanted()) shim_rma(PML__LOG_WIN_CREATE, pair(w->communicator, 0), 0, w->entry.kind);
}

void shim_one_sided(enum pml__log_rma what, MPI_Count count, MPI_Datatype type, int target, MPI_Win win) {
  const struct window *w = target != MPI_PROC_NULL ? pml__mpi_find(&table, key_of(win)) : NULL;
  if (w != NULL) shim_rma(what, pair(w->communicator, target), bytes_in(count, type), w->entry.kind);
}

/* The window of @win while recording is on; NULL: emit nothing. synchronised_with - the same for one partner. */
static struct window *synchronised(MPI_Win win) {
  return shim_wanted() ? pml__mpi_find(&table, key_of(win)) : NULL;
}
static struct window *synchronised_with(int partner, MPI_Win win) {
  return partner != MPI_PROC_NULL ? synchronised(win) : NULL;
}

static void synchronise(const struct window *w, enum pml__log_rma what, int partner, uint64_t value) {
  if (w != NULL) shim_rma(what, pair(w->communicator, partner), value, w->entry.kind);
}

/* ---- windows ---- */

#define EVERY ((int)PML__LOG_NO_RANK)

#define MAKES(name, parameters, arguments)                                                                             \
  HOOK(name)(UNWRAP parameters, MPI_Win * win) {                                                                       \
    const bool wanted = shim_wanted();                                                                                 \
    if (wanted) shim_request_is(PML__LOG_COLLECTIVE_BEGIN, 0);                                                         \
    int err = PMPI_##name(UNWRAP arguments, win);                                                                      \
    if (wanted) shim_collective_end(PML__LOG_CREATE, pair(shim_number(comm), EVERY), 0, 0, 0);                         \
    if (err == MPI_SUCCESS) made(*win, comm);                                                                          \
    return err;                                                                                                        \
  }
MAKES(Win_create, (void *at, MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm), (at, bytes, unit, info, comm))
MAKES(Win_allocate, (MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void *at), (bytes, unit, info, comm, at))
MAKES(Win_allocate_shared, (MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void *at),
      (bytes, unit, info, comm, at))
MAKES(Win_create_dynamic, (MPI_Info info, MPI_Comm comm), (info, comm))

HOOK(Win_set_name)(MPI_Win win, const char *name) {
  int err = PMPI_Win_set_name(win, name);
  const struct window *w = err == MPI_SUCCESS ? pml__mpi_find(&table, key_of(win)) : NULL;
  if (w != NULL) define(w, name);
  return err;
}

static void end_epoch(struct partners *p) {
  free(p->rank);
  *p = (struct partners){0, NULL};
}

HOOK(Win_free)(MPI_Win *win) {
  struct window *w = *win != MPI_WIN_NULL ? pml__mpi_find(&table, key_of(*win)) : NULL;
  const bool wanted = w != NULL && shim_wanted();
  const uint32_t communicator = w != NULL ? w->communicator : 0;
  if (wanted) shim_request_is(PML__LOG_COLLECTIVE_BEGIN, 0);
  if (wanted) synchronise(w, PML__LOG_WIN_DESTROY, 0, 0);
  if (w != NULL) {
    end_epoch(&w->targets);
    end_epoch(&w->origins);
    pml__mpi_remove(&w->entry);
  }
  int err = PMPI_Win_free(win);
  if (wanted) shim_collective_end(PML__LOG_DESTROY, pair(communicator, EVERY), 0, 0, 0);
  return err;
}

/* ---- synchronisation ---- */

HOOK(Win_fence)(int assert, MPI_Win win) {
  const struct window *w = synchronised(win);
  synchronise(w, PML__LOG_FENCE_BEGIN, EVERY, 0);
  int err = PMPI_Win_fence(assert, win);
  synchronise(w, PML__LOG_FENCE_END, EVERY, 0);
  return err;
}

/* The members of @group, as ranks of the window. */
static struct partners partners_of(MPI_Group group, MPI_Win win) {
  struct partners p = {0, NULL};
  MPI_Group all = MPI_GROUP_NULL;
  if (PMPI_Group_size(group, &p.n) != MPI_SUCCESS || PMPI_Win_get_group(win, &all) != MPI_SUCCESS) return p;
  int *own = malloc((size_t)p.n * sizeof *own + 1);
  p.rank = malloc((size_t)p.n * sizeof *own + 1);
  for (int i = 0; own != NULL && i < p.n; i++) own[i] = i;
  if (own == NULL || p.rank == NULL || PMPI_Group_translate_ranks(group, p.n, own, all, p.rank) != MPI_SUCCESS) {
    free(p.rank);
    p = (struct partners){0, NULL};
  }
  free(own);
  (void)PMPI_Group_free(&all);
  return p;
}

static void notify(const struct window *w, enum pml__log_rma what, const struct partners *p) {
  for (int i = 0; w != NULL && i < p->n; i++)
    if (p->rank[i] != MPI_UNDEFINED) synchronise(w, what, p->rank[i], 0);
}

HOOK(Win_post)(MPI_Group group, int assert, MPI_Win win) {
  struct window *w = synchronised(win);
  if (w != NULL) end_epoch(&w->origins);
  if (w != NULL) w->origins = partners_of(group, win);
  if (w != NULL) notify(w, PML__LOG_NOTIFY_OUT, &w->origins);
  return PMPI_Win_post(group, assert, win);
}

HOOK(Win_start)(MPI_Group group, int assert, MPI_Win win) {
  struct window *w = synchronised(win);
  if (w != NULL) end_epoch(&w->targets);
  if (w != NULL) w->targets = partners_of(group, win);
  int err = PMPI_Win_start(group, assert, win);
  if (w != NULL) notify(w, PML__LOG_NOTIFY_IN, &w->targets);
  return err;
}

HOOK(Win_complete)(MPI_Win win) {
  struct window *w = synchronised(win);
  if (w != NULL) notify(w, PML__LOG_NOTIFY_OUT, &w->targets);
  int err = PMPI_Win_complete(win);
  synchronise(w, PML__LOG_COMPLETE, EVERY, 0);
  if (w != NULL) end_epoch(&w->targets);
  return err;
}

static void waited(MPI_Win win) {
  struct window *w = synchronised(win);
  if (w == NULL) return;
  notify(w, PML__LOG_NOTIFY_IN, &w->origins);
  end_epoch(&w->origins);
}

HOOK(Win_wait)(MPI_Win win) {
  int err = PMPI_Win_wait(win);
  if (err == MPI_SUCCESS) waited(win);
  return err;
}

HOOK(Win_test)(MPI_Win win, int *flag) {
  int err = PMPI_Win_test(win, flag);
  if (err == MPI_SUCCESS && *flag) waited(win);
  return err;
}

HOOK(Win_lock)(int type, int target, int assert, MPI_Win win) {
  const struct window *w = synchronised_with(target, win);
  synchronise(w, PML__LOG_LOCK_REQUEST, target, type == MPI_LOCK_EXCLUSIVE);
  int err = PMPI_Win_lock(type, target, assert, win);
  synchronise(w, PML__LOG_LOCK, target, type == MPI_LOCK_EXCLUSIVE);
  return err;
}

HOOK(Win_lock_all)(int assert, MPI_Win win) {
  const struct window *w = synchronised(win);
  synchronise(w, PML__LOG_LOCK_REQUEST, EVERY, 0);
  int err = PMPI_Win_lock_all(assert, win);
  synchronise(w, PML__LOG_LOCK, EVERY, 0);
  return err;
}

/* Emit the completion of all operations on @partner; @release: the lock ends as well. */
static int completed(const struct window *w, int err, int partner, bool release) {
  if (err != MPI_SUCCESS) return err;
  synchronise(w, PML__LOG_COMPLETE, partner, 0);
  if (release) synchronise(w, PML__LOG_UNLOCK, partner, 0);
  return err;
}

HOOK(Win_unlock)(int rank, MPI_Win win) {
  const struct window *w = synchronised_with(rank, win);
  return completed(w, PMPI_Win_unlock(rank, win), rank, true);
}

HOOK(Win_flush)(int rank, MPI_Win win) {
  const struct window *w = synchronised_with(rank, win);
  return completed(w, PMPI_Win_flush(rank, win), rank, false);
}

HOOK(Win_unlock_all)(MPI_Win win) {
  const struct window *w = synchronised(win);
  return completed(w, PMPI_Win_unlock_all(win), EVERY, true);
}

HOOK(Win_flush_all)(MPI_Win win) {
  const struct window *w = synchronised(win);
  return completed(w, PMPI_Win_flush_all(win), EVERY, false);
}
