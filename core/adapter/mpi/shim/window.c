/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/mpi/shim/window.c - one-sided operations, with their bytes. */
#include "shim.h"

static struct pml__mpi_table table;
static uint32_t numbers; /* atomic */

struct window {
  struct pml__mpi_entry entry; /* its kind is the window's number */
  uint32_t communicator, place;
};

/* A window begins without a name; a name that the program gives it comes in a later definition. */
static void define(const struct window *w, const char *name) {
  const struct pml__log_window d = {w->entry.kind, w->communicator, w->place, 0};
  pml__mpi_log_window(&d, name);
}

/* Windows count while recording is off, too: a window must have the same place in all members of the communicator. */
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
  define(w, "");
  pml__mpi_publish(&w->entry);
}

static void raise_rma(enum pml__log_rma what, int count, MPI_Datatype type, int target, MPI_Win handle) {
  const struct window *w = target != MPI_PROC_NULL ? pml__mpi_find(&table, key_of(handle)) : NULL;
  if (w == NULL) return;
  shim_rma(what, pair(w->communicator, target), bytes_in(count, type), w->entry.kind);
}

/* ---- windows ---- */

#define MAKES(name, parameters, arguments)                                                                             \
  static int hook_MPI_##name(UNWRAP parameters, MPI_Win *win) {                                                        \
    int err = PMPI_##name(UNWRAP arguments, win);                                                                      \
    if (err == MPI_SUCCESS) made(*win, comm);                                                                          \
    return err;                                                                                                        \
  }
MAKES(Win_create, (void *at, MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm), (at, bytes, unit, info, comm))
MAKES(Win_allocate, (MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void *at), (bytes, unit, info, comm, at))
MAKES(Win_allocate_shared, (MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void *at),
      (bytes, unit, info, comm, at))
MAKES(Win_create_dynamic, (MPI_Info info, MPI_Comm comm), (info, comm))

static int hook_MPI_Win_set_name(MPI_Win win, const char *name) {
  int err = PMPI_Win_set_name(win, name);
  const struct window *w = err == MPI_SUCCESS ? pml__mpi_find(&table, key_of(win)) : NULL;
  if (w != NULL) define(w, name);
  return err;
}

static int hook_MPI_Win_free(MPI_Win *win) {
  struct window *w = *win != MPI_WIN_NULL ? pml__mpi_find(&table, key_of(*win)) : NULL;
  if (w != NULL) pml__mpi_remove(&w->entry);
  return PMPI_Win_free(win);
}

/* ---- operations ---- */

#define OPERATION(name, what, count, type_of_count, parameters, arguments)                                             \
  static int hook_MPI_##name(UNWRAP parameters) {                                                                      \
    if (shim_wanted()) raise_rma(what, count, type_of_count, target, win);                                             \
    return PMPI_##name arguments;                                                                                      \
  }

#define MINE int n, MPI_Datatype type
#define THEIRS int target, MPI_Aint at, int m, MPI_Datatype its_type
OPERATION(Put, PML__LOG_PUT, n, type, (const void *from, MINE, THEIRS, MPI_Win win),
          (from, n, type, target, at, m, its_type, win))
OPERATION(Get, PML__LOG_GET, n, type, (void *to, MINE, THEIRS, MPI_Win win),
          (to, n, type, target, at, m, its_type, win))
OPERATION(Accumulate, PML__LOG_ATOMIC, n, type, (const void *from, MINE, THEIRS, MPI_Op op, MPI_Win win),
          (from, n, type, target, at, m, its_type, op, win))
OPERATION(Get_accumulate, PML__LOG_ATOMIC, m, its_type,
          (const void *from, MINE, void *to, int nto, MPI_Datatype type_to, THEIRS, MPI_Op op, MPI_Win win),
          (from, n, type, to, nto, type_to, target, at, m, its_type, op, win))
OPERATION(Fetch_and_op, PML__LOG_ATOMIC, 1, type,
          (const void *from, void *to, MPI_Datatype type, int target, MPI_Aint at, MPI_Op op, MPI_Win win),
          (from, to, type, target, at, op, win))
OPERATION(Compare_and_swap, PML__LOG_ATOMIC, 1, type,
          (const void *from, const void *with, void *to, MPI_Datatype type, int target, MPI_Aint at, MPI_Win win),
          (from, with, to, type, target, at, win))
OPERATION(Rput, PML__LOG_PUT, n, type, (const void *from, MINE, THEIRS, MPI_Win win, MPI_Request *request),
          (from, n, type, target, at, m, its_type, win, request))
OPERATION(Rget, PML__LOG_GET, n, type, (void *to, MINE, THEIRS, MPI_Win win, MPI_Request *request),
          (to, n, type, target, at, m, its_type, win, request))
OPERATION(Raccumulate, PML__LOG_ATOMIC, n, type,
          (const void *from, MINE, THEIRS, MPI_Op op, MPI_Win win, MPI_Request *request),
          (from, n, type, target, at, m, its_type, op, win, request))
OPERATION(Rget_accumulate, PML__LOG_ATOMIC, m, its_type,
          (const void *from, MINE, void *to, int nto, MPI_Datatype type_to, THEIRS, MPI_Op op, MPI_Win win,
           MPI_Request *request),
          (from, n, type, to, nto, type_to, target, at, m, its_type, op, win, request))

static const struct pml__mpi_hook hooks[] = {HOOK(MPI_Win_create),
                                             HOOK(MPI_Win_allocate),
                                             HOOK(MPI_Win_allocate_shared),
                                             HOOK(MPI_Win_create_dynamic),
                                             HOOK(MPI_Win_set_name),
                                             HOOK(MPI_Win_free),
                                             HOOK(MPI_Put),
                                             HOOK(MPI_Get),
                                             HOOK(MPI_Accumulate),
                                             HOOK(MPI_Get_accumulate),
                                             HOOK(MPI_Fetch_and_op),
                                             HOOK(MPI_Compare_and_swap),
                                             HOOK(MPI_Rput),
                                             HOOK(MPI_Rget),
                                             HOOK(MPI_Raccumulate),
                                             HOOK(MPI_Rget_accumulate)};
const struct pml__mpi_hooks shim_window_hooks = HOOKS(hooks);
