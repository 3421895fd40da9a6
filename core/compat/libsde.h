/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/compat/libsde.h - libraries, events and codes between libsde's calls and pmlua's registry.
 *
 * libsde returns untyped pointers and numbers; both lead to one struct sde_event per name. It is never freed, so a
 * program's stale handle or code gets an error and never leads to freed memory. Its recorder or set is freed after it
 * is unregistered, once no reader and no call of the program uses it. A counter is retained for reuse under its name,
 * so an increment need not be marked as running.
 */
#ifndef PML_COMPAT_LIBSDE_H
#define PML_COMPAT_LIBSDE_H

#include "base/pml_error.h"
#include "interface/sde/sde_lib.h"
#include "record/pml_recorder_cache.h"
#include "source/sde/pml_sde.h"

#include <stdatomic.h>

struct sde_library {
  _Atomic(struct pml_sde_library *) registry; /* NULL once shut down; init of the same name opens it again */
  struct sde_library *next;
  char name[];
};

/* A group's member. Nodes are inserted in front, complete before they are visible, and freed when the group is
 * unregistered. */
struct sde_member {
  struct sde_event *event;
  struct sde_member *next;
};

/* The program's handle of a counter, recorder or set, which its calls access. If PMLUA_REPORT is set, it is in memory
 * that is cleared in a child, so that no call of the child writes to its parent's log. */
struct sde_handle {
  struct pml__recorder_cache series; /* for a recorder; otherwise closed */
  struct pml__sde_fast count;        /* atomic: for a created counter; otherwise all 0 */
  _Atomic(struct sde_event *) event; /* NULL: cleared in a child, before pml__process_look() */
};

struct sde_event {
  _Atomic int kind;      /* enum pml_sde_kind as last known; a store releases the fields below */
  _Atomic bool listed;   /* false between unregister and the next use of the name */
  _Atomic bool leaving;  /* being unregistered: treated as a placeholder, even if still in the registry */
  _Atomic bool overflow; /* it has a handler */
  _Atomic unsigned mode;
  _Atomic int type;                                  /* enum pml_type */
  _Atomic int64_t stored;                            /* value at start or reset; a double as its bits */
  _Atomic(const struct pml__recorder_head *) series; /* a recorder's head; otherwise a head without cells */
  _Atomic(void *) created;                           /* pml_sde_counter, pml_recorder or pml_sde_set, by kind */
  _Atomic size_t bytes;                              /* size of a recorder's element */
  _Atomic(struct sde_member *) members; /* of a group: libpapi expects them relative to their stored values */
  enum pml_sde_operation operation;
  _Atomic unsigned
      groups; /* number of groups it was added to, at least: if more than one, a read may meet it several times */
  struct pml_sde_event *event;
  _Atomic(struct sde_handle *) handle;        /* NULL: not requested yet */
  _Atomic(struct pml_sde_counter *) counting; /* the counter that fills in the handle's @count */
  uint32_t code;
  struct sde_event *next; /* next with the same hash */
  char name[];            /* LIB::EVENT */
};

/* Return 0 or a negative pmlua code. The event is created as a placeholder if the registry does not contain it. */
int pml__libsde_event(struct sde_event **e, const char *name);
int pml__libsde_event_of(struct sde_event **e, const struct sde_library *lib, const char *event);

/* Without creating: NULL if the name or code is unused. of_code takes no lock, because signal handlers of PAPI read. */
struct sde_event *pml__libsde_known(const char *name);
struct sde_event *pml__libsde_of_code(uint32_t code);

/* pml__libsde_full_name - "LIB::EVENT", allocated by malloc; NULL without memory. */
char *pml__libsde_full_name(const char *library, const char *event);

/* pml__libsde_handle - the program's handle for @e, which from then on leads to the created object. NULL: no memory. */
struct sde_handle *pml__libsde_handle(struct sde_event *e);
/* The event of a handle; not NULL. */
struct sde_event *pml__libsde_of_handle(struct sde_handle *h);

/* pml__libsde_refresh - copy kind, type and mode from the registry. Returns the kind. */
int pml__libsde_refresh(struct sde_event *e);

/*
 * A call of the program on a counter, recorder or set takes no lock. The caller makes @inside positive, then loads the
 * event's kind or series. The unregistering thread makes the kind a placeholder and the series empty, then loads
 * @inside. One of the two sees the other's store, because the unregistering thread makes every running thread pass a
 * full fence between its store and its load (membarrier). The unregistering thread acquires the release with which a
 * call ends, so the call's accesses happened before. Signal handlers nest.
 */
#define SDE_CALL_NO_BYTES SIZE_MAX
struct sde_call {
  uint32_t inside; /* atomic */
  bool known;      /* in the list of awaited calls */
  size_t bytes;    /* 8 once known, otherwise a size of no element, so that one comparison checks both */
  struct pml__recorder_cache_cell *near; /* the thread's cell */
  struct sde_call *next;
};
extern PML_THREAD_LOCAL struct sde_call pml__libsde_call __attribute__((tls_model("initial-exec")));
void pml__libsde_know_call(struct sde_call *c);

/* For a known thread. */
static inline void pml__libsde_enter_again(void) {
  pml__own_add32(&pml__libsde_call.inside, 1);
  atomic_signal_fence(memory_order_seq_cst);
}

static inline void pml__libsde_enter(void) {
  if (PML_UNLIKELY(!pml__libsde_call.known)) pml__libsde_know_call(&pml__libsde_call);
  pml__libsde_enter_again();
}

static inline int pml__libsde_leave_call(int rc) {
  (void)pml__own_add32_release(&pml__libsde_call.inside, -1u);
  return rc;
}

/*
 * pml__libsde_calls_left - wait until no thread is in a call that began earlier; at most 10 ms, because a call may be
 * in a handler of the program. Returns false if a thread is, or may be, in a call; then the unregistered object is not
 * freed.
 */
bool pml__libsde_calls_left(void);

/*
 * A reader holds the object of a recorder or set while it reads. The unregistering thread calls leave(), waits for the
 * readers, unregisters and calls left(). With an @err the event stays. @quiet: the result of pml__libsde_calls_left().
 */
void pml__libsde_hold(void);
void pml__libsde_let_go(void);
void pml__libsde_leave(struct sde_event *e);
void pml__libsde_wait(void);
void pml__libsde_left(struct sde_event *e, int err, bool quiet);
/* pml__libsde_join - make @e a member of @group; repeated calls have no effect. Returns 0 or -ENOMEM. */
int pml__libsde_join(struct sde_event *group, struct sde_event *e, enum pml_sde_operation operation);

/* The same two for all events of a library. */
void pml__libsde_leave_library(const char *library);
void pml__libsde_left_library(const char *library, bool quiet);

/*
 * pml__libsde_sync - give a code to every event registered through pmlua's own interface. Returns the number of events.
 */
uint32_t pml__libsde_sync(void);

/* pml__libsde_library - the wrapper of the library @name, created if new. */
struct sde_library *pml__libsde_library(const char *name);

/* pml__libsde_open - set the kind of @e (enum pml_sde_kind), and let calls of the program reach its created object. */
void pml__libsde_open(struct sde_event *e, int kind);

/* pml__libsde_filled - a placeholder became an event: activate requested overflows. */
int pml__libsde_filled(struct sde_event *e);

/* pml__libsde_error - convert a pmlua code to a libsde code. */
int pml__libsde_error(int err);

/* The tool's functions. PAPI does not install the header that declares them. */
#pragma GCC visibility push(default)
int sde_ti_read_counter(uint32_t code, long long int *value);
int sde_ti_write_counter(uint32_t code, long long value);
int sde_ti_reset_counter(uint32_t code);
int sde_ti_name_to_code(const char *name, uint32_t *code);
int sde_ti_is_simple_counter(uint32_t code);
int sde_ti_is_counter_set_to_overflow(uint32_t code);
int sde_ti_set_counter_overflow(uint32_t code, int threshold);
char *sde_ti_get_event_name(int code);
char *sde_ti_get_event_description(int code);
int sde_ti_get_num_reg_events(void);
int sde_ti_shutdown(void);
#pragma GCC visibility pop

#endif
