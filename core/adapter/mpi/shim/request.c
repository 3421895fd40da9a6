/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/mpi/shim/request.c - requests, and the calls that complete them.
 *
 * A call that may complete a request claims its entry first, because as soon as MPI has completed it, another thread
 * may get the same handle for a new request. Requests that were not completed are published again. Recent requests
 * (quick.h) exist only if threads are not in MPI at the same time.
 */
#include "quick.h"

#include <stdlib.h>

static struct pml__mpi_table table;
uint64_t shim_last_request;
shim_key_t shim_serial_world;
struct recent shim_recent;

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
  case REQUEST_BOTH:
    shim_request_is(PML__LOG_ISEND_COMPLETE, r->sent);
    if (is_cancelled(s) || s->MPI_SOURCE == MPI_PROC_NULL)
      shim_request_is(PML__LOG_REQUEST_CANCELLED, r->id);
    else
      shim_request_received(pair(r->communicator, s->MPI_SOURCE), s->MPI_TAG, bytes_of(s), r->id);
    break;
  case REQUEST_BOTH_KNOWN:
    shim_request_is(PML__LOG_ISEND_COMPLETE, r->sent);
    shim_request_received(pair(r->communicator, r->peer), r->tag, r->received, r->id);
    break;
  case REQUEST_PARTITIONED:
    shim_request_received(pair(r->communicator, r->peer), r->tag, r->received, r->id);
    break;
  case REQUEST_DUP:
    shim_communicator_made_later(*(MPI_Comm *)r->made, r->communicator, r->sent);
    break;
  default:
    shim_collective_end((enum pml__log_collective)r->tag, pair(r->communicator, r->peer), r->sent, r->received, r->id);
  }
}

/* A send that completes at once may have a handle shared by all such sends. */
static bool is_complete(MPI_Request handle) {
  return handle == MPI_REQUEST_NULL || is_shared(handle);
}

/* ---- recent requests ---- */

void shim_requests_begin(int thread_level) {
  shim_serial_world = thread_level < MPI_THREAD_MULTIPLE ? key_of(MPI_COMM_WORLD) : 0;
}

void shim_requests_end(void) {
  shim_serial_world = 0;
  for (uint64_t id; (id = shim_take_shared()) != 0;) shim_request_is(PML__LOG_ISEND_COMPLETE, id);
}

/* Create a table entry for @handle. If an older entry has the same handle, its request was completed unseen. */
static struct request *renew(MPI_Request handle) {
  size_t i;
  if (shim_is_recent(handle, &i)) shim_recent.key[i] = 0;
  return pml__mpi_renew(&table, key_of(handle));
}

static void settle(struct request *e, uint64_t id) {
  if (e == NULL) return;
  e->entry.kind = id % 2 != 0 ? REQUEST_RECEIVE : REQUEST_SEND;
  e->id = id;
  e->communicator = PML__MPI_WORLD;
  pml__mpi_publish(&e->entry);
}

/* Move a recent request to the table, where the slow functions complete it. */
static void settle_recent(MPI_Request handle) {
  size_t i;
  if (PML_LIKELY(!shim_is_recent(handle, &i))) return;
  uint64_t id = shim_recent.id[i];
  settle(renew(handle), id);
}
static void settle_shared(MPI_Request handle) {
  uint64_t id = shim_take_shared();
  if (id != 0) settle(pml__mpi_add(&table, key_of(handle)), id);
}

/* The slow path. Returns MPI_SUCCESS. */
__attribute__((noinline)) static int complete_recent(uint64_t id, const MPI_Status *s) {
  const struct request r = {
      .entry.kind = id % 2 != 0 ? REQUEST_RECEIVE : REQUEST_SEND, .id = id, .communicator = PML__MPI_WORLD};
  complete(&r, s);
  return MPI_SUCCESS;
}

__attribute__((always_inline)) static inline bool is_completed_at_once(const uint64_t *enter, uint64_t id,
                                                                       const MPI_Status *s) {
  if (id % 2 != 0) return shim_quick_received(enter, s, id);
  return PML_LIKELY(!is_cancelled(s)) && shim_quick_request(enter, PML__LOG_ISEND_COMPLETE, id);
}

/* ---- other requests ---- */

/* End a request that completes unseen, so the size of a received message stays unknown. */
static void complete_unseen(const struct request *r) {
  static const MPI_Status whole;
  const uint32_t kind = r->entry.kind & REQUEST_KIND;
  if (kind == REQUEST_BOTH) shim_request_is(PML__LOG_ISEND_COMPLETE, r->sent);
  if (kind == REQUEST_RECEIVE || kind == REQUEST_BOTH)
    shim_request_is(PML__LOG_REQUEST_CANCELLED, r->id);
  else
    complete(r, &whole);
}

void shim_request_begin(MPI_Request handle, const struct request *r) {
  if (is_complete(handle)) {
    if ((r->entry.kind & REQUEST_PERSISTENT) == 0) complete_unseen(r);
    return;
  }
  struct request *e = renew(handle);
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

int shim_request_posted(const MPI_Request *request, enum request_kind kind, uint64_t id, uint32_t communicator,
                        int err) {
  if (PML_UNLIKELY(err != MPI_SUCCESS)) {
    shim_request_is(PML__LOG_REQUEST_CANCELLED, id);
  } else if (is_complete(*request)) {
    if (kind == REQUEST_SEND) shim_request_is(PML__LOG_ISEND_COMPLETE, id);
  } else {
    struct request *e = renew(*request);
    if (PML_UNLIKELY(e == NULL)) return err;
    e->entry.kind = kind;
    e->id = id;
    e->communicator = communicator;
    pml__mpi_publish(&e->entry);
  }
  return err;
}

struct request *shim_request_find(MPI_Request handle) {
  if (handle == MPI_REQUEST_NULL) return NULL;
  settle_recent(handle);
  struct request *e = pml__mpi_find(&table, key_of(handle));
  if (PML_LIKELY(e != NULL) || !is_shared(handle)) return e;
  settle_shared(handle);
  return pml__mpi_find(&table, key_of(handle));
}

static inline struct request *claim(MPI_Request handle) {
  struct request *e = shim_request_find(handle);
  if (e != NULL) pml__mpi_claim(&e->entry);
  return e;
}

static bool is_active(const struct request *e) {
  return (e->entry.kind & (REQUEST_PERSISTENT | REQUEST_STARTED)) != REQUEST_PERSISTENT;
}

/* A persistent request stays, to be started again. */
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

/* The requests of one call; @status belongs to the caller or to this structure. */
struct several {
  struct request **entry;
  MPI_Status *status;
  struct request *few_entry[FEW];
  MPI_Status few_status[FEW];
  void *memory;
};

/* Returns false without memory; then the call is forwarded unchanged. */
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

/* Complete all requests, except failed ones. */
static void end_all(struct several *a, int n, int err) {
  for (int i = 0; i < n; i++)
    if (err == MPI_SUCCESS || (err == MPI_ERR_IN_STATUS && a->status[i].MPI_ERROR == MPI_SUCCESS))
      end_at(a, i, &a->status[i]);
}

/* ---- wait ---- */

HAS_ENTER(Wait)
HAS_ENTER(Waitall)
HAS_ENTER(Test)

__attribute__((noinline)) static int slow_Wait(MPI_Request *request, MPI_Status *status) {
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

/* The index of a request in shim_recent; RECENTS for a shared one, whose number is taken from the ring. Returns false
 * if it is not found. */
static inline bool is_there(MPI_Request handle, size_t *i) {
  if (shim_is_recent(handle, i)) return true;
  *i = RECENTS;
  return is_shared(handle) && (shim_recent.id[RECENTS] = shim_take_shared()) != 0;
}

/* A failed request stays a recent one, except if it was complete when it was begun. */
HOOK(Wait)(MPI_Request *request, MPI_Status *status) {
  size_t i;
  if (PML_UNLIKELY(!is_there(*request, &i))) return slow_Wait(request, status);
  MPI_Status own[1], *s = status == MPI_STATUS_IGNORE ? own : status;
  int err = PMPI_Wait(request, s);
  if (PML_UNLIKELY(err != MPI_SUCCESS)) return err;
  uint64_t id = shim_recent.id[i];
  shim_recent.key[i] = 0;
  if (PML_LIKELY(is_completed_at_once(&ENTER_OF(Wait), id, s))) return MPI_SUCCESS;
  LEARN(Wait);
  return complete_recent(id, s);
}

/* Find the requests in shim_recent. Returns false if one is neither there nor MPI_REQUEST_NULL. */
static bool are_recent(int n, const MPI_Request request[], uint16_t at[FEW]) {
  if (n < 0 || n > FEW) return false;
  for (int i = 0; i < n; i++) {
    size_t k = RECENT_NONE;
    if (request[i] != MPI_REQUEST_NULL && !shim_is_recent(request[i], &k)) {
      if (!is_shared(request[i])) return false;
      k = RECENT_SHARED;
    }
    at[i] = (uint16_t)k;
  }
  return true;
}

/* Remove a recent request and return its number; 0: this one is not recent. */
static uint64_t take_recent(uint16_t at) {
  if (at == RECENT_SHARED) return shim_take_shared();
  if (at == RECENT_NONE) return 0;
  shim_recent.key[at] = 0;
  return shim_recent.id[at];
}

/* Write the completion at @e, and return the position behind it; NULL: the status needs the slow path. */
static struct pml__log_event *put_complete(struct pml__log_event *e, uint64_t id, const MPI_Status *s) {
  if (id % 2 == 0) {
    if (PML_UNLIKELY(is_cancelled(s))) return NULL; /* for a send MPI defines only this part of the status */
    pml__mpi_store(e, OF_WORLD(PML__LOG_ISEND_COMPLETE, 0), id);
    return e + 1;
  }
  uint64_t sender = shim_sender(s);
  if (PML_UNLIKELY(!shim_is_usual(s, sender))) return NULL;
  shim_put_received(e, s, sender, id);
  return e + 2;
}

/* Complete the remaining requests from @from on, one by one: there is no room, or a status needs the slow path. */
static void complete_each(int from, int n, const uint16_t at[], const MPI_Status status[]) {
  for (int i = from; i < n; i++) {
    uint64_t id = take_recent(at[i]);
    if (id != 0) (void)complete_recent(id, &status[i]);
  }
}

/* Complete all requests in one delivery. */
static void complete_all(const uint64_t *enter, int n, const uint16_t at[], const MPI_Status status[]) {
  struct pml__stream_thread *t = pml__stream_self;
  struct pml_stream_place *p = pml__mpi_open(t, enter);
  int i = 0;
  uint64_t odd = 0; /* number of a request that needs the slow path, completed after the delivery */
  if (p != NULL) {
    struct pml__log_event *e = p->next;
    for (; i < n && e < p->fits && odd == 0; i++) {
      uint64_t id = take_recent(at[i]);
      struct pml__log_event *behind = id != 0 ? put_complete(e, id, &status[i]) : e;
      if (PML_LIKELY(behind != NULL))
        e = behind;
      else
        odd = id;
    }
    p->next = e;
    pml__stream_unguard(t);
  }
  if (odd != 0) (void)complete_recent(odd, &status[i - 1]);
  complete_each(i, n, at, status);
}

__attribute__((noinline)) static int slow_Waitall(int n, MPI_Request request[], MPI_Status status[]) {
  struct several a;
  if (!take(&a, n, request, status)) return PMPI_Waitall(n, request, status);
  int err = PMPI_Waitall(n, request, a.status);
  end_all(&a, n, err);
  go_on_with(&a, n, false);
  let_go(&a);
  return err;
}

HOOK(Waitall)(int n, MPI_Request request[], MPI_Status status[]) {
  uint16_t at[FEW];
  MPI_Status own[FEW], *s = status == MPI_STATUSES_IGNORE ? own : status;
  if (!are_recent(n, request, at)) return slow_Waitall(n, request, status);
  int err = PMPI_Waitall(n, request, s);
  if (PML_UNLIKELY(ENTER(Waitall) == UNKNOWN_ENTER)) LEARN(Waitall);
  if (PML_LIKELY(err == MPI_SUCCESS)) complete_all(&ENTER_OF(Waitall), n, at, s);
  for (int i = 0; err == MPI_ERR_IN_STATUS && i < n; i++)
    if (s[i].MPI_ERROR == MPI_SUCCESS) complete_each(i, i + 1, at, s);
  return err;
}

HOOK(Waitany)(int n, MPI_Request request[], int *index, MPI_Status *status) {
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

HOOK(Waitsome)(int n, MPI_Request request[], int *done, int index[], MPI_Status status[]) {
  struct several a;
  if (!take(&a, n, request, status)) return PMPI_Waitsome(n, request, done, index, status);
  int err = PMPI_Waitsome(n, request, done, index, a.status);
  end_some(&a, err, done, index);
  go_on_with(&a, n, false);
  let_go(&a);
  return err;
}

/* ---- test ---- */

__attribute__((noinline)) static int slow_Test(MPI_Request *request, int *flag, MPI_Status *status) {
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

HOOK(Test)(MPI_Request *request, int *flag, MPI_Status *status) {
  size_t i;
  if (PML_UNLIKELY(!is_there(*request, &i))) return slow_Test(request, flag, status);
  MPI_Status own[1], *s = status == MPI_STATUS_IGNORE ? own : status;
  int err = PMPI_Test(request, flag, s);
  if (PML_UNLIKELY(err != MPI_SUCCESS)) return err;
  uint64_t id = shim_recent.id[i];
  if (!*flag) {
    if (PML_LIKELY(shim_quick_request(&ENTER_OF(Test), PML__LOG_REQUEST_TESTED, id))) return MPI_SUCCESS;
    LEARN(Test);
    shim_request_is(PML__LOG_REQUEST_TESTED, id);
    return MPI_SUCCESS;
  }
  shim_recent.key[i] = 0;
  if (PML_LIKELY(is_completed_at_once(&ENTER_OF(Test), id, s))) return MPI_SUCCESS;
  LEARN(Test);
  return complete_recent(id, s);
}

HOOK(Testall)(int n, MPI_Request request[], int *flag, MPI_Status status[]) {
  struct several a;
  if (!take(&a, n, request, status)) return PMPI_Testall(n, request, flag, status);
  int err = PMPI_Testall(n, request, flag, a.status);
  if (*flag) end_all(&a, n, err);
  go_on_with(&a, n, err == MPI_SUCCESS);
  let_go(&a);
  return err;
}

HOOK(Testany)(int n, MPI_Request request[], int *index, int *flag, MPI_Status *status) {
  struct several a;
  MPI_Status own[1], *s = status == MPI_STATUS_IGNORE ? own : status;
  if (!take(&a, n, request, MPI_STATUSES_IGNORE)) return PMPI_Testany(n, request, index, flag, status);
  int err = PMPI_Testany(n, request, index, flag, s);
  if (err == MPI_SUCCESS && *flag && *index != MPI_UNDEFINED) end_at(&a, *index, s);
  go_on_with(&a, n, err == MPI_SUCCESS && !*flag);
  let_go(&a);
  return err;
}

HOOK(Testsome)(int n, MPI_Request request[], int *done, int index[], MPI_Status status[]) {
  struct several a;
  if (!take(&a, n, request, status)) return PMPI_Testsome(n, request, done, index, status);
  int err = PMPI_Testsome(n, request, done, index, a.status);
  end_some(&a, err, done, index);
  go_on_with(&a, n, err == MPI_SUCCESS && *done == 0);
  let_go(&a);
  return err;
}

/* ---- other calls ---- */

HOOK(Request_get_status)(MPI_Request request, int *flag, MPI_Status *status) {
  const struct request *e = shim_wanted() ? shim_request_find(request) : NULL;
  int err = PMPI_Request_get_status(request, flag, status);
  if (e != NULL && err == MPI_SUCCESS && !*flag && is_active(e)) shim_request_is(PML__LOG_REQUEST_TESTED, e->id);
  return err;
}

/* MPI completes the request later. */
HOOK(Request_free)(MPI_Request *request) {
  struct request *e = claim(*request);
  int err = PMPI_Request_free(request);
  if (e == NULL) return err;
  if (is_active(e)) complete_unseen(e);
  pml__mpi_remove(&e->entry);
  return err;
}
