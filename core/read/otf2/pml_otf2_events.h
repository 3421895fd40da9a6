/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/read/otf2/pml_otf2_events.h - iteration over an archive's events.
 *
 *   struct pml_otf2_events *e;
 *   const struct pml_otf2_event *event;
 *   if (pml_otf2_events_open(&e, t, &question, true) == 0) {
 *     while (pml_otf2_events_next(e, &event) > 0) ...
 *     pml_otf2_events_close(e);
 *   }
 */
#ifndef PML_OTF2_EVENTS_H
#define PML_OTF2_EVENTS_H

#include "read/otf2/pml_otf2_read.h"

PML_BEGIN_DECLS

#define PML_OTF2_KINDS(X)                                                                                              \
  X(ENTER, "enter")                                                                                                    \
  X(LEAVE, "leave")                                                                                                    \
  X(SEND, "send")                                                                                                      \
  X(RECEIVE, "receive")                                                                                                \
  X(COLLECTIVE, "collective")                                                                                          \
  X(METRIC, "metric")                                                                                                  \
  X(TEAM_BEGIN, "team_begin")                                                                                          \
  X(TEAM_END, "team_end") X(REQUEST, "request") X(NOTIFY, "notify") X(LOCK, "lock") X(OTHER, "other")
#define PML_OTF2_KIND(id, name) PML_OTF2_##id,
enum pml_otf2_kind { PML_OTF2_KINDS(PML_OTF2_KIND) PML_OTF2_NKINDS };
#undef PML_OTF2_KIND

/* Fields that do not apply to a kind are 0. */
struct pml_otf2_event {
  uint64_t time; /* ticks of the trace's clock: pml_otf2_read_seconds(); never decreasing within a location */
  size_t location;
  size_t what; /* region, metric, process at the other end or root; PML_OTF2_NONE: none, or undefined */
  uint64_t bytes, received_bytes; /* bytes of a message; bytes sent and received here by a collective operation */
  union {
    double number;
    int64_t integer;
  } value; /* a metric's value, unscaled */
  uint8_t kind;
  union {
    bool is_integer; /* metric */
    bool exclusive;  /* lock */
  };
  uint8_t operation;  /* collective: pml_otf2_operation(); request: enum pml_otf2_request; lock: enum pml_otf2_lock;
                         other: its record */
  bool out;           /* notification within a window: to the other process; false: from it */
  uint32_t window;    /* notification, lock, collective on a window: its number plus 1; 0: none */
  uint64_t request;   /* unique number of the request of a message, a collective or a request's event; 0: none */
  uint32_t tag, comm; /* comm: the communicator's number in the archive */
  uint32_t members;   /* ranks of a collective's communicator, threads of a team; 0: unknown */
};

/* Events of a request without a message. */
enum pml_otf2_request { PML_OTF2_RECEIVE_POSTED, PML_OTF2_SEND_COMPLETE, PML_OTF2_COLLECTIVE_BEGUN };

/* Operation on the lock of a window at a process, or, with PML_OTF2_NONE, at all processes. */
enum pml_otf2_lock { PML_OTF2_LOCK_REQUESTED, PML_OTF2_LOCK_ACQUIRED, PML_OTF2_LOCK_RELEASED };

struct pml_otf2_events;

/*
 * pml_otf2_events_open - iterate over the events selected by @q: its window, locations, kinds, and, for enters and
 * leaves, its pattern of regions. Each record without another kind is PML_OTF2_OTHER. @by_time: ordered by time over
 * all locations, and by location at the same time; else one location after another. A metric record with several values
 * is returned as several events. Enters and leaves of undefined regions are PML_OTF2_OTHER as well. No other function
 * may read events of @t until pml_otf2_events_close(), which must come before pml_otf2_read_close(). The data that @q
 * points to is copied.
 *
 * Returns 0, -EBUSY, -ENOMEM, -EMFILE or PML_EOTF2; *e is NULL on failure. With @by_time each location whose events do
 * not fit into its part of 256 MB needs an open file and libotf2's buffer, mostly of 1 MB. -EMFILE: these exceed the
 * process's limit of open files, or a quarter of the memory. Without @by_time only one location at a time needs them.
 */
PML__SHARED int pml_otf2_events_open(struct pml_otf2_events **e, struct pml_otf2_read *t,
                                     const struct pml_otf2_question *q, bool by_time);
PML__SHARED void pml_otf2_events_close(struct pml_otf2_events *e);

/*
 * pml_otf2_events_next - returns 1 and the next event, valid until the next call; 0: no more; or -ENOMEM, -EMFILE and
 * so on. Damage or truncation ends the events of a location. PML_EOTF2, PML_EFORMAT or -ENOENT: because of these no
 * event could be read.
 * pml_otf2_events_damaged - the number of truncated or damaged locations so far.
 */
PML__SHARED size_t pml_otf2_events_damaged(const struct pml_otf2_events *e);
PML__SHARED int pml_otf2_events_next(struct pml_otf2_events *e, const struct pml_otf2_event **event);

/* pml_otf2_read_seconds - the time of an event in seconds since the trace's beginning. */
PML__SHARED double pml_otf2_read_seconds(const struct pml_otf2_read *t, uint64_t time);

/* pml_otf2_operation - such as "bcast"; "" if it is unknown. */
PML__SHARED const char *pml_otf2_operation(unsigned operation);

/* pml_otf2_happened, _locked - the event of a request or of a lock, such as "send complete". */
PML__SHARED const char *pml_otf2_happened(enum pml_otf2_request what);
PML__SHARED const char *pml_otf2_locked(enum pml_otf2_lock what);

/* pml_otf2_record - OTF2's name of the record of a PML_OTF2_OTHER event, such as "ThreadFork". */
PML__SHARED const char *pml_otf2_record(const struct pml_otf2_event *event);

PML_END_DECLS

#endif
