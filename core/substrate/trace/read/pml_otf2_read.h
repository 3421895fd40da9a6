/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/substrate/trace/read/pml_otf2_read.h - OTF2 archives of any writer, read: definitions, sums over events,
 * messages.
 * Single events are in pml_otf2_events.h.
 *
 *   struct pml_otf2_read *t;
 *   struct pml_otf2_question q = {.by = PML_OTF2_BY_REGION, .to_s = INFINITY};
 *   struct pml_otf2_answer a;
 *   if (pml_otf2_read_open(&t, "out/traces.otf2") == 0 && pml_otf2_read_sums(t, &q, &a) == 0) ...a.row[i]...
 *
 * A reader is one thread's at a time. Its definitions are in memory; events are read location by location, as often as
 * something is asked, and never kept: memory grows with locations and with rows of the answer.
 */
#ifndef PML_OTF2_READ_H
#define PML_OTF2_READ_H

#include "base/pml_api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

PML_BEGIN_DECLS

struct pml_otf2_read;

/* Texts are never NULL; what a trace does not say is "". They live as long as the reader. */
struct pml_otf2_read_region {
  uint32_t id;
  const char *name, *file, *paradigm;
  uint32_t line; /* 0: not known */
};
struct pml_otf2_read_process {
  uint32_t id;
  const char *name, *host;
  int64_t rank; /* in MPI_COMM_WORLD; -1: none */
};
struct pml_otf2_read_location {
  uint64_t id;
  const char *name;
  size_t process;  /* in the order of processes */
  uint64_t events; /* as the definitions say */
};
struct pml_otf2_read_metric {
  uint32_t id;
  const char *name, *description, *unit;
  double scale;     /* of a value, to its unit */
  bool accumulated; /* it counts up; else each value stands for itself */
};
struct pml_otf2_read_about {
  const char *creator, *machine;
  uint64_t ticks_per_second;
  double length_s;   /* as the definitions say */
  uint64_t began_ns; /* CLOCK_REALTIME; 0: not known */
  uint64_t events;   /* of all locations, as the definitions say */
  size_t nregions, nprocesses, nlocations, nmetrics;
  size_t nranks;
};

/*
 * pml_otf2_read_open - the definitions of the archive whose anchor file is @path. Returns 0, -errno, -ENOMEM,
 * PML_EOTF2 (libotf2 cannot read it) or PML_EFORMAT (no anchor, or its definitions contradict each other); *t is NULL
 * on failure.
 * libotf2's error callback is replaced, for the whole process.
 */
PML__SHARED int pml_otf2_read_open(struct pml_otf2_read **t, const char *path);
PML__SHARED void pml_otf2_read_close(struct pml_otf2_read *t);

PML__SHARED void pml_otf2_read_about(const struct pml_otf2_read *t, struct pml_otf2_read_about *about);
/* Each in the order of its numbers in the archive; NULL behind the last. */
PML__SHARED const struct pml_otf2_read_region *pml_otf2_read_region(const struct pml_otf2_read *t, size_t i);
PML__SHARED const struct pml_otf2_read_process *pml_otf2_read_process(const struct pml_otf2_read *t, size_t i);
PML__SHARED const struct pml_otf2_read_location *pml_otf2_read_location(const struct pml_otf2_read *t, size_t i);
PML__SHARED const struct pml_otf2_read_metric *pml_otf2_read_metric(const struct pml_otf2_read *t, size_t i);

/* ---- questions ---- */

enum { PML_OTF2_BY_REGION = 1, PML_OTF2_BY_PROCESS = 2, PML_OTF2_BY_LOCATION = 4 };

struct pml_otf2_question {
  unsigned by;           /* PML_OTF2_BY_*; 0: one row */
  double from_s, to_s;   /* seconds since the trace's beginning; all: 0 and INFINITY */
  const char *region;    /* a pattern of fnmatch(3); NULL: all */
  int64_t process;       /* in the order of processes; -1: all */
  const bool *locations; /* [nlocations] true: it is read; NULL: all */
  unsigned kinds;        /* of pml_otf2_events_open(): bits 1 << PML_OTF2_ENTER and so on; 0: all */
};

/* ---- sums ---- */

/*
 * Times are those parts that lie in the window; calls are those that began in it, least and most of those that also
 * ended in it. A region inside itself adds to inclusive time once. Without BY_REGION inclusive time is that of
 * outermost calls.
 */
#define PML_OTF2_NONE SIZE_MAX
struct pml_otf2_row {
  size_t region, process, location; /* PML_OTF2_NONE: of all */
  uint64_t calls, unreturned;
  double inclusive_s, exclusive_s, least_s, most_s; /* least > most: no call */
};

struct pml_otf2_answer {
  struct pml_otf2_row *row; /* by process, location and region; to be freed with free() */
  size_t n;
  uint64_t events;    /* enters and leaves that were read */
  uint64_t unmatched; /* leaves without an enter, and enters that were open when an outer call returned */
  uint64_t backward;  /* events before the one before, which is taken for their time */
  uint64_t unknown;   /* of regions without a definition, which are left out */
};

/* Returns 0, PML_EOTF2 or -ENOMEM; a->row is NULL then. Cost: reading all events, some tens of ns each. */
PML__SHARED int pml_otf2_read_sums(struct pml_otf2_read *t, const struct pml_otf2_question *q,
                                   struct pml_otf2_answer *a);

/* ---- messages ---- */

struct pml_otf2_pair {
  size_t from, to; /* in the order of processes */
  uint64_t messages, bytes;
};
struct pml_otf2_pairs {
  struct pml_otf2_pair *pair; /* by sender and receiver; to be freed with free() */
  size_t n;
  uint64_t unknown; /* messages whose receiver the definitions do not tell */
};

/* Messages of MPI that were sent in the window; returns as pml_otf2_read_sums(). */
PML__SHARED int pml_otf2_read_pairs(struct pml_otf2_read *t, const struct pml_otf2_question *q,
                                    struct pml_otf2_pairs *p);

PML_END_DECLS

#endif
