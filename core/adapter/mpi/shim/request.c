/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/mpi/shim/request.c - requests, and the calls that complete them.
 *
 * A call that may complete a request claims its entry first: as soon as MPI has completed it, another thread may get
 * the same handle for a request of its own. What was not completed is published again.
 */
#include "shim.h"

#include <stdlib.h>

static struct pml__mpi_table table;
uint64_t shim_last_request;

/* ---- one request ---- */

static void complete(const struct request *r, const MPI_Status *s) {
  switch (r->entry.kind & REQUEST_KIND) {
  case REQUEST_SEND:
    shim_request_is(is_cancelled(s) ? PML__LOG_REQUEST_CANCELLED : PML__LOG_ISEND_COMPLETE, r->id);
    break;
  case REQUEST_RECEIVE:
    if (is_cancelled(s) || s->MPI_SOURCE == MPI_PROC_NULL)
      shim_request_is(PML__LOG_REQUEST_CANCELLED, r->id);
    else
      shim_request_received(pair(r->communicator, s->MPI_SOURCE), s->MPI_TAG, bytes_of(s), r->id);
    break;
  case REQUEST_DUP:
    shim_communicator_made_later(*(MPI_Comm *)r->made, r->communicator, r->sent);
    break;
  default:
    shim_collective_end((enum pml__log_collective)r->tag, pair(r->communicator, r->peer), r->sent, r->received, r->id);
  }
}

/* A send that is complete as soon as it is begun may have the handle of all such. */
static bool is_complete(MPI_Request handle) {
  return handle == MPI_REQUEST_NULL || is_shared(handle);
}

/* The older of two entries of one handle was completed out of sight. */
void shim_request_begin(MPI_Request handle, const struct request *r) {
  static const MPI_Status whole;
  if (is_complete(handle)) {
    if ((r->entry.kind & REQUEST_KIND) != REQUEST_RECEIVE) complete(r, &whole);
    return;
  }
  struct request *e = pml__mpi_renew(&table, key_of(handle));
  if (e == NULL) return;
  e->entry.kind = r->entry.kind;
  e->id = r->id;
  e->communicator = r->communicator;
  e->peer = r->peer;
  e->tag = r->tag;
  e->sent = r->sent;
  e->received = r->received;
  e->made = r->made;
  pml__mpi_publish(&e->entry);
}

void shim_request_begun(int err, const MPI_Request *request, const struct request *r) {
  if (err == MPI_SUCCESS)
    shim_request_begin(*request, r);
  else
    shim_request_is(PML__LOG_REQUEST_CANCELLED, r->id);
}

void shim_request_posted(int err, const MPI_Request *request, enum request_kind kind, uint64_t id,
                         uint32_t communicator) {
  if (PML_UNLIKELY(err != MPI_SUCCESS)) {
    shim_request_is(PML__LOG_REQUEST_CANCELLED, id);
  } else if (is_complete(*request)) {
    if (kind == REQUEST_SEND) shim_request_is(PML__LOG_ISEND_COMPLETE, id);
  } else {
    struct request *e = pml__mpi_renew(&table, key_of(*request));
    if (PML_UNLIKELY(e == NULL)) return;
    e->entry.kind = kind;
    e->id = id;
    e->communicator = communicator;
    pml__mpi_publish(&e->entry);
  }
}

struct request *shim_request_find(MPI_Request handle) {
  return handle != MPI_REQUEST_NULL ? pml__mpi_find(&table, key_of(handle)) : NULL;
}

static inline struct request *claim(MPI_Request handle) {
  struct request *e = shim_request_find(handle);
  if (e != NULL) pml__mpi_claim(&e->entry);
  return e;
}

static bool is_active(const struct request *e) {
  return (e->entry.kind & (REQUEST_PERSISTENT | REQUEST_STARTED)) != REQUEST_PERSISTENT;
}

/* A persistent one stays, to be started again. */
static void end(struct request *e, const MPI_Status *s) {
  if (is_active(e)) complete(e, s);
  if ((e->entry.kind & REQUEST_PERSISTENT) == 0) {
    pml__mpi_remove(&e->entry);
    return;
  }
  e->entry.kind &= ~(uint32_t)REQUEST_STARTED;
  pml__mpi_publish(&e->entry);
}

static void go_on(struct request *e, bool tested) {
  if (tested && is_active(e)) shim_request_is(PML__LOG_REQUEST_TESTED, e->id);
  pml__mpi_publish(&e->entry);
}

/* ---- several ---- */

#define FEW 64

/* What a call has of its requests: @status is the caller's or our own. */
struct several {
  struct request **entry;
  MPI_Status *status;
  struct request *few_entry[FEW];
  MPI_Status few_status[FEW];
  void *memory;
};

/* False: no memory, so the call is made as it came. */
static bool take(struct several *a, int n, const MPI_Request *request, MPI_Status *status) {
  size_t room = (size_t)(n > 0 ? n : 0);
  bool own = status == MPI_STATUSES_IGNORE;
  a->memory = NULL;
  a->entry = a->few_entry;
  a->status = own ? a->few_status : status;
  if (room > FEW) {
    a->memory = malloc(room * (sizeof *a->entry + sizeof *a->status));
    if (a->memory == NULL) return false;
    if (own) a->status = a->memory;
    a->entry = (struct request **)(void *)((MPI_Status *)a->memory + room);
  }
  for (size_t i = 0; i < room; i++) a->entry[i] = claim(request[i]);
  return true;
}

static void let_go(struct several *a) {
  free(a->memory);
}

static void go_on_with(struct several *a, int n, bool tested) {
  for (int i = 0; i < n; i++)
    if (a->entry[i] != NULL) go_on(a->entry[i], tested);
}

static void end_at(struct several *a, int i, const MPI_Status *s) {
  if (a->entry[i] == NULL) return;
  end(a->entry[i], s);
  a->entry[i] = NULL;
}

/* All were completed, but for those that failed. */
static void end_all(struct several *a, int n, int err) {
  for (int i = 0; i < n; i++)
    if (err == MPI_SUCCESS || (err == MPI_ERR_IN_STATUS && a->status[i].MPI_ERROR == MPI_SUCCESS))
      end_at(a, i, &a->status[i]);
}

/* ---- wait ---- */

static int hook_MPI_Wait(MPI_Request *request, MPI_Status *status) {
  struct request *e = claim(*request);
  MPI_Status own[1], *s = status == MPI_STATUS_IGNORE ? own : status;
  if (e == NULL) return PMPI_Wait(request, status);
  int err = PMPI_Wait(request, s);
  if (err == MPI_SUCCESS)
    end(e, s);
  else
    go_on(e, false);
  return err;
}

static int hook_MPI_Waitall(int n, MPI_Request request[], MPI_Status status[]) {
  struct several a;
  if (!take(&a, n, request, status)) return PMPI_Waitall(n, request, status);
  int err = PMPI_Waitall(n, request, a.status);
  end_all(&a, n, err);
  go_on_with(&a, n, false);
  let_go(&a);
  return err;
}

static int hook_MPI_Waitany(int n, MPI_Request request[], int *index, MPI_Status *status) {
  struct several a;
  MPI_Status own[1], *s = status == MPI_STATUS_IGNORE ? own : status;
  if (!take(&a, n, request, MPI_STATUSES_IGNORE)) return PMPI_Waitany(n, request, index, status);
  int err = PMPI_Waitany(n, request, index, s);
  if (err == MPI_SUCCESS && *index != MPI_UNDEFINED) end_at(&a, *index, s);
  go_on_with(&a, n, false);
  let_go(&a);
  return err;
}

static void end_some(struct several *a, int err, const int *done, const int *index) {
  for (int i = 0; (err == MPI_SUCCESS || err == MPI_ERR_IN_STATUS) && *done != MPI_UNDEFINED && i < *done; i++)
    if (err == MPI_SUCCESS || a->status[i].MPI_ERROR == MPI_SUCCESS) end_at(a, index[i], &a->status[i]);
}

static int hook_MPI_Waitsome(int n, MPI_Request request[], int *done, int index[], MPI_Status status[]) {
  struct several a;
  if (!take(&a, n, request, status)) return PMPI_Waitsome(n, request, done, index, status);
  int err = PMPI_Waitsome(n, request, done, index, a.status);
  end_some(&a, err, done, index);
  go_on_with(&a, n, false);
  let_go(&a);
  return err;
}

/* ---- test ---- */

static int hook_MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
  struct request *e = claim(*request);
  MPI_Status own[1], *s = status == MPI_STATUS_IGNORE ? own : status;
  if (e == NULL) return PMPI_Test(request, flag, status);
  int err = PMPI_Test(request, flag, s);
  if (err == MPI_SUCCESS && *flag)
    end(e, s);
  else
    go_on(e, err == MPI_SUCCESS);
  return err;
}

static int hook_MPI_Testall(int n, MPI_Request request[], int *flag, MPI_Status status[]) {
  struct several a;
  if (!take(&a, n, request, status)) return PMPI_Testall(n, request, flag, status);
  int err = PMPI_Testall(n, request, flag, a.status);
  if (*flag) end_all(&a, n, err);
  go_on_with(&a, n, err == MPI_SUCCESS);
  let_go(&a);
  return err;
}

static int hook_MPI_Testany(int n, MPI_Request request[], int *index, int *flag, MPI_Status *status) {
  struct several a;
  MPI_Status own[1], *s = status == MPI_STATUS_IGNORE ? own : status;
  if (!take(&a, n, request, MPI_STATUSES_IGNORE)) return PMPI_Testany(n, request, index, flag, status);
  int err = PMPI_Testany(n, request, index, flag, s);
  if (err == MPI_SUCCESS && *flag && *index != MPI_UNDEFINED) end_at(&a, *index, s);
  go_on_with(&a, n, err == MPI_SUCCESS && !*flag);
  let_go(&a);
  return err;
}

static int hook_MPI_Testsome(int n, MPI_Request request[], int *done, int index[], MPI_Status status[]) {
  struct several a;
  if (!take(&a, n, request, status)) return PMPI_Testsome(n, request, done, index, status);
  int err = PMPI_Testsome(n, request, done, index, a.status);
  end_some(&a, err, done, index);
  go_on_with(&a, n, err == MPI_SUCCESS && *done == 0);
  let_go(&a);
  return err;
}

/* ---- others ---- */

static int hook_MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status) {
  const struct request *e = shim_wanted() ? shim_request_find(request) : NULL;
  int err = PMPI_Request_get_status(request, flag, status);
  if (e != NULL && err == MPI_SUCCESS && !*flag && is_active(e)) shim_request_is(PML__LOG_REQUEST_TESTED, e->id);
  return err;
}

/* MPI completes it later, unseen; what a receive gets then stays unknown. */
static int hook_MPI_Request_free(MPI_Request *request) {
  static const MPI_Status whole;
  struct request *e = claim(*request);
  int err = PMPI_Request_free(request);
  if (e == NULL) return err;
  if (is_active(e) && (e->entry.kind & REQUEST_KIND) == REQUEST_RECEIVE)
    shim_request_is(PML__LOG_REQUEST_CANCELLED, e->id);
  else if (is_active(e))
    complete(e, &whole);
  pml__mpi_remove(&e->entry);
  return err;
}

static const struct pml__mpi_hook hooks[] = {
    HOOK(MPI_Wait),    HOOK(MPI_Waitall), HOOK(MPI_Waitany),  HOOK(MPI_Waitsome),           HOOK(MPI_Test),
    HOOK(MPI_Testall), HOOK(MPI_Testany), HOOK(MPI_Testsome), HOOK(MPI_Request_get_status), HOOK(MPI_Request_free)};
const struct pml__mpi_hooks shim_request_hooks = HOOKS(hooks);
