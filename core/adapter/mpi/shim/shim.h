/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/mpi/shim/shim.h - declarations shared by the hooks of MPI functions. Compiled for each MPI, with its
 * header.
 *
 * The hook of a function is named hook_ and the function's name. It calls the function by its PMPI_ name and emits the
 * communication events: a send before the call, a receive after it. A failed call emits no event. While recording is
 * off, the function is called directly.
 */
#ifndef SHIM_H
#define SHIM_H

#include "adapter/mpi/pml_mpi.h"
#include "adapter/mpi/pml_mpi_traffic.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* ---- the binary interface ---- */

/*
 * key_of: a number for a handle, never 0.
 * bytes_of: the size of a message in bytes, from its status.
 * is_shared: the handle represents several requests, which are all complete.
 * shim_is_plain: not cancelled, and shim_plain_bytes_of() returns its bytes.
 */
#ifdef OPEN_MPI
extern char ompi_request_empty __attribute__((visibility("default")));
typedef uint64_t shim_key_t;
#define key_of(handle) ((shim_key_t)(uintptr_t)(handle))
#define KEY_OF_TYPE_BITS 9    /* predefined types lie one after another, 512 bytes each */
#define KEY_OF_REQUEST_BITS 8 /* requests are some 500 bytes long */
static inline uint64_t bytes_of(const MPI_Status *s) {
  return s->_ucount;
}
static inline bool is_cancelled(const MPI_Status *s) {
  return s->_cancelled != 0;
}
static inline bool is_shared(MPI_Request r) {
  return (const char *)r == &ompi_request_empty;
}
static inline bool shim_is_plain(const MPI_Status *s) {
  return s->_cancelled == 0;
}
#define shim_plain_bytes_of bytes_of
#else
typedef uint32_t shim_key_t;
#define key_of(handle) ((shim_key_t)(handle))
#define KEY_OF_TYPE_BITS 0 /* predefined types differ in the lowest byte */
#define KEY_OF_REQUEST_BITS 0
static inline uint64_t bytes_of(const MPI_Status *s) {
  return (uint64_t)(uint32_t)s->count_hi_and_cancelled >> 1 << 32 | (uint32_t)s->count_lo;
}
static inline bool is_cancelled(const MPI_Status *s) {
  return (s->count_hi_and_cancelled & 1) != 0;
}
/* Predefined handles begin with the bits 01, MPI_REQUEST_NULL with 00. */
static inline bool is_shared(MPI_Request r) {
  return r >= 0 && r != MPI_REQUEST_NULL;
}
static inline bool shim_is_plain(const MPI_Status *s) {
  return s->count_hi_and_cancelled == 0;
}
#define shim_plain_bytes_of(status) ((uint32_t)(status)->count_lo)
#endif

/*
 * The key of MPI_COMM_WORLD while recording is on: between MPI_Init and MPI_Finalize, unless MPI_Pcontrol turns it off
 * (process.c). Else 0, which is not a key.
 */
extern shim_key_t shim_world; /* atomic */
static inline bool shim_wanted(void) {
  return __atomic_load_n(&shim_world, __ATOMIC_RELAXED) != 0;
}
static inline bool shim_wanted_of_world(MPI_Comm comm) {
  return __atomic_load_n(&shim_world, __ATOMIC_RELAXED) == key_of(comm);
}

/* ---- hooks ---- */

/* Parameters or arguments of a function without their parentheses. */
#define UNWRAP(...) __VA_ARGS__

/*
 * Files of functions with counts are compiled a second time with LARGE, for the functions whose names end in _c. @name
 * is the function's name without MPI_ and without _c.
 */
#ifdef LARGE
typedef MPI_Count count_t;
typedef MPI_Aint place_t;
#define SUFFIX _c
#else
typedef int count_t, place_t;
#define SUFFIX
#endif
#define JOIN(a, b, c) a##b##c
#define JOINED(a, b, c) JOIN(a, b, c)
#define TEXT(text) #text
#define TEXT_OF(text) TEXT(text)
#define CALL_OF(name) JOINED(PMPI_, name, SUFFIX)
/*
 * HOOK(name)(parameters) { ... } - define the hook of a function, which has the function's type. Its entry is in a
 * section that the linker makes the array of all hooks (shim.c).
 */
#ifndef HOOK_ALWAYS
#define HOOK_ALWAYS false /* process.c: true */
#endif
#define HOOK(name)                                                                                                     \
  HOOK_AS(JOINED(MPI_, name, SUFFIX), JOINED(hook_MPI_, name, SUFFIX), JOINED(entry_MPI_, name, SUFFIX))
#define HOOK_AS(function, hook, entry)                                                                                 \
  static __typeof__(function) hook;                                                                                    \
  static const struct pml__mpi_hook entry __attribute__((section("shim_hooks"), used, aligned(8))) = {                 \
      TEXT_OF(function), (void (*)(void))hook, HOOK_ALWAYS};                                                           \
  static int hook

/* ---- communicators (communicator.c) ---- */

struct communicator {
  struct pml__mpi_entry entry;
  uint32_t number, flags;
  int32_t rank, size; /* in the local group */
  int32_t partners;   /* partners of a collective operation: size, or the remote group's size */
  uint32_t parent;    /* number of its parent, or 0 */
  uint32_t made;      /* atomic: communicators made from it without communication */
  uint32_t windows;   /* atomic: number of windows made from it */
  uint64_t global;
};
_Static_assert(sizeof(struct communicator) <= PML__MPI_ENTRY_BYTES, "an entry has room for it");

/* The communicator of @handle; if its creation was not seen, it is noted now, without its global id. Never NULL. */
extern struct communicator *shim_world_communicator; /* from MPI_Init to MPI_Finalize; else NULL */
struct communicator *shim_other_communicator(MPI_Comm handle);
static inline struct communicator *shim_communicator(MPI_Comm handle) {
  struct communicator *world = shim_world_communicator;
  return PML_LIKELY(handle == MPI_COMM_WORLD && world != NULL) ? world : shim_other_communicator(handle);
}
/* The communicator's number, while recording is on. */
static inline uint32_t shim_number(MPI_Comm handle) {
  return PML_LIKELY(handle == MPI_COMM_WORLD) ? PML__MPI_WORLD : shim_other_communicator(handle)->number;
}
extern bool shim_is_spawned; /* another job started this one */
/* Define MPI_COMM_WORLD, MPI_COMM_SELF, and the job that spawned this one. */
void shim_communicators_begin(void);
void shim_communicators_end(void);
/* Define a duplicate of the communicator with number @parent, whose creation began earlier. */
void shim_communicator_made_later(MPI_Comm comm, uint32_t parent, uint64_t global);

/* ---- requests (request.c) ---- */

#define REQUEST_KIND 7u /* all below REQUEST_PERSISTENT */
enum request_kind {
  REQUEST_NONE,
  REQUEST_SEND,
  REQUEST_RECEIVE,
  REQUEST_COLLECTIVE,
  REQUEST_DUP,
  REQUEST_BOTH,        /* a receive, and a send with id @sent */
  REQUEST_PARTITIONED, /* a receive whose status is not usable: the message is known beforehand */
  REQUEST_BOTH_KNOWN,  /* REQUEST_BOTH with such a receive */
  REQUEST_PERSISTENT = 8,
  REQUEST_STARTED = 16
};

struct request {
  struct pml__mpi_entry entry; /* its kind is a request_kind */
  uint64_t id;
  uint32_t communicator; /* its number */
  int32_t peer, tag;     /* for a collective: root, operation */
  uint64_t sent, received;
  void *made; /* for REQUEST_DUP, with global id @sent: the address for its handle */
};
_Static_assert(sizeof(struct request) <= PML__MPI_ENTRY_BYTES, "an entry has room for it");

/*
 * shim_request_id - a new number at each call.
 * shim_request_begin - note a request that was begun, or created if it is persistent: @r is copied.
 * shim_request_begun - the same after its begin event was emitted, also after a failure, @err.
 * shim_request_posted - the same for a message of @kind, REQUEST_SEND or REQUEST_RECEIVE. Returns @err.
 * shim_request_find - the entry of a request, or NULL.
 */
extern uint64_t shim_last_request;
static inline uint64_t shim_request_id(void) {
  return __atomic_add_fetch(&shim_last_request, 2, __ATOMIC_RELAXED);
}
void shim_request_begin(MPI_Request handle, const struct request *r);
void shim_request_begun(int err, const MPI_Request *request, const struct request *r);
int shim_request_posted(const MPI_Request *request, enum request_kind kind, uint64_t id, uint32_t communicator,
                        int err);
struct request *shim_request_find(MPI_Request handle);
/* shim_requests_begin - call before the first request, with MPI's thread level. shim_requests_end - no more requests
 * are completed. */
void shim_requests_begin(int thread_level);
void shim_requests_end(void);

/* ---- windows (window.c) ---- */

/* Emit an operation on @target of a window; bytes as in a message. */
void shim_one_sided(enum pml__log_rma what, MPI_Count count, MPI_Datatype type, int target, MPI_Win win);

/* ---- probed messages (probe.c) ---- */

/* The communicator of a message that is matched and will now be received; 0: unknown. */
uint32_t shim_take_probed(MPI_Message message);

/* ---- types (type.c) ---- */

/*
 * Sizes of predefined types, from MPI_Init on, in a hash table by handle; of two types with the same slot, only one is
 * in the table. Predefined types are never freed. The size of any other type is queried at each call, because another
 * type may later get its handle.
 */
#define TYPES 256u
struct type {
  shim_key_t key;
  uint64_t size;
};
extern struct type shim_type[TYPES];
void shim_types_begin(void);
struct type *shim_type_find(MPI_Datatype type); /* its slot, or the free slot for it */
/* Unknown sizes are UINT64_MAX, see PML__LOG_BYTES_MAX; shim_ask_bytes reports the first one. shim_plus - a sum. */
uint64_t shim_ask_bytes(MPI_Count count, MPI_Datatype type);
static inline uint64_t shim_plus(uint64_t a, uint64_t b) {
  return a <= PML__LOG_BYTES_MAX && b <= PML__LOG_BYTES_MAX ? a + b : UINT64_MAX;
}

static inline struct type *shim_type_place(MPI_Datatype type) {
  return &shim_type[key_of(type) >> KEY_OF_TYPE_BITS & (TYPES - 1)];
}
static inline uint64_t bytes_in(MPI_Count count, MPI_Datatype type) {
  const struct type *t = shim_type_place(type);
  return PML_LIKELY(t->key == key_of(type)) ? (uint64_t)count * t->size : shim_ask_bytes(count, type);
}

/* ---- events (event.c) ---- */

static inline uint64_t pair(uint32_t high, int32_t low) {
  return (uint64_t)high << 32 | (uint32_t)low;
}

/*
 * Events of a call; @to, @from: a pair() of communicator and rank. shim_sent - a blocking send; shim_sends - a send
 * with a request; shim_received, shim_request_received - a complete receive; shim_request_is - any other event of a
 * request, and the begin of a collective operation; shim_collective_end - its end, @to: its root; shim_rma - a
 * one-sided operation.
 */
void shim_sent(uint64_t to, int tag, uint64_t bytes);
void shim_sends(uint64_t to, int tag, uint64_t bytes, uint64_t id);
void shim_received(uint64_t from, int tag, uint64_t bytes);
void shim_request_received(uint64_t from, int tag, uint64_t bytes, uint64_t id);
void shim_request_is(enum pml__log_communication what, uint64_t id);
void shim_collective_end(enum pml__log_collective what, uint64_t to, uint64_t sent, uint64_t received, uint64_t id);
void shim_rma(enum pml__log_rma what, uint64_t to, uint64_t bytes, uint32_t window);

/* ---- waiting (wait.c) ---- */

/*
 * shim_nap - the pause after a number of @tries: from 20 us to 1.3 ms.
 * shim_complete - wait for a request, until the monotonic clock reaches @until_ns. Returns false if it is not complete,
 * or failed.
 */
void shim_nap(unsigned tries);
bool shim_complete(MPI_Request *r, int64_t until_ns);

/* ---- the job (meet.c) ---- */

/* pmlua's private communicator of all ranks. MPI_COMM_NULL before Init, after Finalize, and in a job in which some
 * ranks are not recorded: then pmlua exchanges no messages. */
extern MPI_Comm shim_own;
/* shim_meet - create it, and return whether it exists. In a job without it this takes PMLUA_MPI_TIMEOUT seconds, 10 by
 * default, and a quarter more for each level of the tree. shim_part - free it. */
bool shim_meet(int rank, int size);
extern uint32_t shim_job; /* the job's number, from then on; 0: none */
void shim_part(void);

/* ---- clocks (clock.c) ---- */

/*
 * Called by all ranks of the world, together, if shim_own exists. shim_clock_measure: each rank records the offset of
 * its clock from rank 0's. The other functions do so at the beginning, by @rank, and at the end. Unless @all ranks of
 * the world take part, no rank waits for another.
 */
void shim_clock_begin(int rank);
void shim_clock_measure(void);
void shim_clock_end(bool all);

/* ---- the job's summary (reduction.c) ---- */

/* Called at MPI_Finalize; reduces the ranks of the world that call it within the timeout. Returns whether the job's
 * file contains the data of this rank, or of all ranks. */
enum shim_reduced { SHIM_REDUCED_NOT, SHIM_REDUCED, SHIM_REDUCED_ALL };
enum shim_reduced shim_reduce(void);

#pragma GCC visibility pop

#endif
