/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/read/otf2/pml_otf2_read.h - reader of OTF2 archives of any writer: definitions, sums over events,
 * messages. Single events are in pml_otf2_events.h.
 *
 *   struct pml_otf2_read *t;
 *   struct pml_otf2_question q = {.by = PML_OTF2_BY_REGION, .to_s = INFINITY};
 *   struct pml_otf2_answer a;
 *   if (pml_otf2_read_open(&t, "out/traces.otf2") == 0 && pml_otf2_read_sums(t, &q, &a) == 0) ...a.row[i]...
 *
 * Only one thread may use a reader at a time. Its definitions are in memory; events are read location by location for
 * each query, and never stored: memory grows with the number of locations and with the rows of the answer.
 */
#ifndef PML_OTF2_READ_H
#define PML_OTF2_READ_H

#include "base/pml_api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

PML_BEGIN_DECLS

struct pml_otf2_read;

/* No index. */
#define PML_OTF2_NONE SIZE_MAX

/* Texts are never NULL; texts missing in the trace are "". They live as long as the reader. */
struct pml_otf2_read_region {
  uint32_t id;
  const char *name, *file, *paradigm, *role; /* role: such as "implicit barrier"; "" */
  uint32_t line;                             /* 0: unknown */
  const char *kind;                          /* pml__region_kind(); in traces of other tools the paradigm */
};
struct pml_otf2_read_process {
  uint32_t id;
  const char *name, *host;
  int64_t rank; /* in MPI_COMM_WORLD; -1: not a rank */
  size_t node;  /* index in the system tree; PML_OTF2_NONE */
};
struct pml_otf2_read_location {
  uint64_t id;
  const char *name;
  size_t process;  /* index in the order of processes */
  uint64_t events; /* in its file */
  uint64_t said;   /* number of events according to its definition */
};
/* A metric that is recorded for something else than the recording location or its process is a metric for each such
 * scope, in addition to the metric itself; its name ends with the scope, as in "power (node:host1)". */
struct pml_otf2_read_metric {
  uint32_t id;
  const char *name, *description, *unit;
  double scale;      /* factor from a value to its unit */
  bool accumulated;  /* values count up; otherwise each value is independent */
  const char *scope; /* such as "node:host1", from the outermost part to the innermost; "": the location or process */
  char *own;         /* internal */
};
/* The system tree: machines, hosts, sockets and so on. */
struct pml_otf2_read_node {
  uint32_t id;
  const char *name, *kind;
  size_t parent; /* PML_OTF2_NONE: outermost */
  bool is_host;  /* the archive marks its children as sharing memory */
};
struct pml_otf2_read_group {
  uint32_t id;
  const char *name, *kind, *paradigm; /* kind: locations, regions, metrics, ranks, communicator, self */
  size_t n;
  const uint64_t *member; /* [n] numbers in the archive; for a communicator: ranks */
};
struct pml_otf2_read_comm {
  uint32_t id;
  size_t group, parent; /* indices in the order of groups and communicators, or PML_OTF2_NONE */
  size_t remote;        /* for an inter-communicator: the remote group; otherwise PML_OTF2_NONE */
  const char *name;
};
enum pml_otf2_owner { PML_OTF2_OF_NODE, PML_OTF2_OF_PROCESS, PML_OTF2_OF_LOCATION };
struct pml_otf2_read_property {
  uint32_t id;
  enum pml_otf2_owner of;
  size_t owner; /* index in the order of nodes, processes or locations, or PML_OTF2_NONE */
  const char *name, *value;
  char *own; /* internal */
};
struct pml_otf2_read_about {
  const char *creator, *machine;
  uint64_t ticks_per_second;
  double length_s;   /* according to the definitions */
  uint64_t began_ns; /* CLOCK_REALTIME; 0: unknown */
  uint64_t events;   /* of all locations, in their files */
  size_t nregions, nprocesses, nlocations, nmetrics, nhosts;
  size_t nranks;
  uint64_t first, length; /* begin and length of the trace, in ticks of its clock */
};

/*
 * pml_otf2_read_open - read the definitions of the archive whose anchor file is @path. Returns 0, -errno, -ENOMEM,
 * PML_EOTF2 (libotf2 cannot read it) or PML_EFORMAT (no anchor, or contradictory definitions); *t is NULL on failure.
 * The intact parts of truncated event files are copied into a folder in TMPDIR, until the archive is closed. libotf2's
 * error callback is replaced, for the whole process.
 */
PML__SHARED int pml_otf2_read_open(struct pml_otf2_read **t, const char *path);
PML__SHARED void pml_otf2_read_close(struct pml_otf2_read *t);

PML__SHARED void pml_otf2_read_about(const struct pml_otf2_read *t, struct pml_otf2_read_about *about);
/* Each in the order of numbers in the archive; NULL after the last. */
PML__SHARED const struct pml_otf2_read_region *pml_otf2_read_region(const struct pml_otf2_read *t, size_t i);
PML__SHARED const struct pml_otf2_read_process *pml_otf2_read_process(const struct pml_otf2_read *t, size_t i);
PML__SHARED const struct pml_otf2_read_location *pml_otf2_read_location(const struct pml_otf2_read *t, size_t i);
PML__SHARED const struct pml_otf2_read_metric *pml_otf2_read_metric(const struct pml_otf2_read *t, size_t i);
PML__SHARED const struct pml_otf2_read_node *pml_otf2_read_node(const struct pml_otf2_read *t, size_t i);
PML__SHARED const struct pml_otf2_read_group *pml_otf2_read_group(const struct pml_otf2_read *t, size_t i);
PML__SHARED const struct pml_otf2_read_comm *pml_otf2_read_comm(const struct pml_otf2_read *t, size_t i);
PML__SHARED const struct pml_otf2_read_property *pml_otf2_read_property(const struct pml_otf2_read *t, size_t i);

/* pml_otf2_read_clock - how the clock of location @i differs from the trace's, according to the archive; libotf2 adds
 * the difference to its times. Returns 0 or -EINVAL (no such location). Cost: opens the location's definition file. */
struct pml_otf2_read_clock {
  size_t offsets; /* measured offsets; the difference is linear between them */
  double least_s, most_s;
};
PML__SHARED int pml_otf2_read_clock(struct pml_otf2_read *t, size_t i, struct pml_otf2_read_clock *c);

/* ---- questions ---- */

enum {
  PML_OTF2_BY_REGION = 1,
  PML_OTF2_BY_PROCESS = 2,
  PML_OTF2_BY_LOCATION = 4,
  PML_OTF2_BY_COLUMN = 8,
  PML_OTF2_BY_PATH = 16 /* not with BY_REGION */
};

struct pml_otf2_question {
  unsigned by;           /* PML_OTF2_BY_*; 0: one row */
  double from_s, to_s;   /* seconds since the trace's beginning; all: 0 and INFINITY */
  const char *region;    /* a pattern of fnmatch(3); NULL: all */
  const char *kind;      /* kinds of regions, separated by commas; NULL: all */
  int64_t process;       /* index in the order of processes; -1: all */
  const bool *locations; /* [nlocations] true: selected; NULL: all */
  unsigned kinds;        /* for pml_otf2_events_open(): bits 1 << PML_OTF2_ENTER and so on; 0: all */
  size_t columns;        /* equal parts of the window, at most PML_OTF2_COLUMNS_MAX */
  bool sketches;         /* rows include the durations of their calls */
  unsigned threads; /* number of reading threads; 0: the number of cpus available to the process, for few events one */
};
#define PML_OTF2_COLUMNS_MAX ((size_t)1000000)

/*
 * pml_otf2_read_end - the end of the window of @q, at the latest the end of the trace; in seconds since its beginning.
 */
PML__SHARED double pml_otf2_read_end(const struct pml_otf2_read *t, const struct pml_otf2_question *q);

/* ---- sums ---- */

/*
 * Times count only inside the window; @calls counts calls that began in it; least and most cover calls that began and
 * ended in it. A region inside itself adds to inclusive time once. Without BY_REGION and BY_PATH inclusive time is the
 * time of calls inside no other selected call. Each column is a separate window. Messages and bytes belong to the
 * innermost selected call; bytes include collective operations. With BY_PATH paths consist only of selected regions;
 * exclusive time of other regions belongs to the enclosing call.
 */
struct pml_sketch;
struct pml_otf2_row {
  size_t region, process, location, column, path; /* PML_OTF2_NONE: all */
  uint64_t calls, unreturned;
  double inclusive_s, exclusive_s, least_s, most_s; /* least > most: no call */
  double first_s, last_s; /* begin of the first call, end of the last one; invalid like least_s */
  double most_began_s;    /* begin of the longest call, and its location */
  size_t most_location;
  uint64_t sent, sent_bytes, received, received_bytes;
  struct pml_sketch *durations; /* [s] durations of the calls in least_s and most_s; NULL: not requested, or no call */
};

/*
 * A call path. The paths of all processes form one tree, ordered by region numbers; a parent comes before its children.
 */
struct pml_otf2_path {
  size_t parent; /* PML_OTF2_NONE: outermost */
  size_t region;
};

struct pml_otf2_kind_count {
  const char *name; /* OTF2's name, such as "ThreadFork" */
  uint64_t events;
};

struct pml_otf2_answer {
  struct pml_otf2_row *row; /* by process, location, column, path and region */
  size_t n;
  struct pml_otf2_path *path; /* for BY_PATH, otherwise NULL */
  size_t npaths;
  uint64_t events;    /* number of enters and leaves read */
  uint64_t unmatched; /* leaves without an enter, and enters that were open when an outer call returned */
  uint64_t backward;  /* events earlier than their predecessor, whose time they get */
  uint64_t unknown;   /* events of undefined regions, which are omitted */
  uint64_t outside;   /* messages outside of all selected calls; with BY_REGION or BY_PATH they are in no row */
  size_t damaged;     /* locations with a truncated file, or with fewer events than defined */
  size_t undefined;   /* locations without a definition file where others have one; they are not read */
  uint64_t lost;      /* events counted in the definitions, but not read */
  uint64_t uncounted; /* events read, but not counted in the definitions */
  struct pml_otf2_kind_count *kind; /* counts of all events read, largest first */
  size_t nkinds;
};

/*
 * pml_otf2_read_sums - compute the sums selected by @q. Locations are read by several threads, which block all signals.
 * Damage or truncation ends the events of a location. Returns 0, -EINVAL, PML_EOTF2 or -ENOMEM; *a is empty on failure.
 * Close it with pml_otf2_answer_close(). Cost: reading all events, some 30 ns each, mostly in libotf2. Memory: rows,
 * paths, and the depth of calls.
 */
PML__SHARED int pml_otf2_read_sums(struct pml_otf2_read *t, const struct pml_otf2_question *q,
                                   struct pml_otf2_answer *a);
PML__SHARED void pml_otf2_answer_close(struct pml_otf2_answer *a);

/* ---- messages ---- */

struct pml_otf2_pair {
  size_t from, to; /* indices in the order of processes */
  uint64_t messages, bytes;
};
struct pml_otf2_pairs {
  struct pml_otf2_pair *pair; /* by sender and receiver; to be freed with free() */
  size_t n;
  uint64_t unknown; /* messages with an undefined receiver */
};

/* MPI messages sent in the window; returns the errors of pml_otf2_read_sums(). */
PML__SHARED int pml_otf2_read_pairs(struct pml_otf2_read *t, const struct pml_otf2_question *q,
                                    struct pml_otf2_pairs *p);

PML_END_DECLS

#endif
