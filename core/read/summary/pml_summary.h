/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/read/summary/pml_summary.h - measurements of many processes, summed by name. Internal.
 *
 *   struct pml_summary_row row = {.kind = PML_SUMMARY_SECTION, .name = "solve", .threads = 4, .first = rank};
 *   row.time = pml_summary_one(total_ns, rank);
 *   pml_summary_add(job, &row);               // or pml_summary_merge(job, that_of_others)
 *
 * Memory grows with the names, never with the processes. A process is a number that the caller gives it: its rank under
 * MPI. A summary becomes bytes and comes back, so that processes can send theirs to each other. It is one
 * thread's at a time.
 */
#ifndef PML_SUMMARY_H
#define PML_SUMMARY_H

#include "base/pml_api.h"
#include "record/pml_sums.h"
#include "record/quantile/pml_sketch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

PML_BEGIN_DECLS

struct pml_summary;

enum pml_summary_kind {
  PML_SUMMARY_HOST,    /* a host's name: how many processes ran there */
  PML_SUMMARY_PROGRAM, /* a command */
  PML_SUMMARY_NOTE,    /* what a process has to say of its figures */
  PML_SUMMARY_SECTION,
  PML_SUMMARY_CALL,     /* a function, with its file */
  PML_SUMMARY_COUNTER,  /* a software-defined event */
  PML_SUMMARY_RECORDER, /* the values of one */
  PML_SUMMARY_MPI,      /* what a job of MPI moved (read/job) */
  PML_SUMMARY_KINDS
};

/* Flags of a row, which must be the same in all processes. */
#define PML_SUMMARY_COMMUNICATION 1u /* a section's work is bytes */
#define PML_SUMMARY_INCLUSIVE 2u     /* the section may contain others */

/* A spread of values, with the processes of the least and the most value: the lowest number on a tie. */
struct pml_summary_spread {
  struct pml_sums of;
  double sum;
  int64_t least, most;
};

/* A named sum, and its distribution over processes. */
struct pml_summary_value {
  const char *name;
  bool real; /* else @whole is the sum, without rounding; a whole sum that overflows becomes real */
  int64_t whole;
  struct pml_summary_spread of; /* one value of each process that had the name */
};

struct pml_summary_row {
  enum pml_summary_kind kind;
  uint32_t flags;
  const char *name, *detail; /* together with the kind they make the row; NULL is "" */
  uint64_t processes, threads;
  int64_t first;                   /* lowest number of its processes */
  struct pml_summary_spread calls; /* of each single call or element, ns */
  struct pml_summary_spread time;  /* per process, summed over its threads, ns */
  struct pml_summary_spread self;  /* without nested calls */
  size_t nvalues;
  struct pml_summary_value *value;
  struct pml_sketch *sketch; /* durations of calls, or NULL */
};

/* pml_summary_one - the spread of one process's value. pml_summary_join - merge @from into @to. */
struct pml_summary_spread pml_summary_one(double value, int64_t process);
void pml_summary_join(struct pml_summary_spread *to, const struct pml_summary_spread *from);

/* pml_summary_open - make an empty summary: 0 or -ENOMEM; *@s is NULL on failure. pml_summary_close - free it; NULL is
 * fine. */
PML__SHARED int pml_summary_open(struct pml_summary **s);
PML__SHARED void pml_summary_close(struct pml_summary *s);

/* pml_summary_sketch - an empty sketch as rows have it, good to 1 %; 0 or -ENOMEM. Close it with pml_sketch_close(). */
int pml_summary_sketch(struct pml_sketch **sketch);

/*
 * pml_summary_add - merge @row into the row of its name, or add it. Texts, values and sketch are copied. A hash and a
 * few comparisons. Returns 0, -EINVAL (different flags, a sketch of another error, or a count would reach 2^63; nothing
 * was added) or -ENOMEM.
 */
int pml_summary_add(struct pml_summary *s, const struct pml_summary_row *row);

/*
 * pml_summary_merge - merge all rows and processes of @from into @s, as pml_summary_add(); on -EINVAL nothing was
 * added. A section of another type than the section of its name in @s gets a separate row, whose detail is its type
 * ("communication", "exclusive calculation", ...).
 */
PML__SHARED int pml_summary_merge(struct pml_summary *s, const struct pml_summary *from);

/*
 * pml_summary_row - row @i in the order of first appearance, NULL behind the last; owned by the summary, valid until it
 * changes. pml_summary_find - the row of a name, or NULL.
 */
PML__SHARED const struct pml_summary_row *pml_summary_row(const struct pml_summary *s, size_t i);
const struct pml_summary_row *pml_summary_find(const struct pml_summary *s, enum pml_summary_kind kind,
                                               const char *name, const char *detail);

/*
 * pml_summary_seen - processes @first to @last are among those that were added up: 0 or -ENOMEM; 16 bytes for each run.
 * pml_summary_range - run @i of them, in order; false behind the last.
 */
int pml_summary_seen(struct pml_summary *s, int64_t first, int64_t last);
PML__SHARED bool pml_summary_range(const struct pml_summary *s, size_t i, int64_t *first, int64_t *last);

/* ---- pml_summary_pack.c ---- */

/*
 * pml_summary_pack - @s as @n bytes, to be freed with free(): some 60 for a function or section, 10 more for each
 * event. Reals are rounded to 2^-28 of their size; whole numbers below 2^53 are not.
 * Returns 0 or -ENOMEM.
 * pml_summary_unpack - the reverse, for bytes from any machine. No input is trusted: returns 0, PML_EFORMAT (another
 * version, damaged, cut) or -ENOMEM; *@s is NULL on failure.
 */
int pml_summary_pack(const struct pml_summary *s, unsigned char **bytes, size_t *n);
PML__SHARED int pml_summary_unpack(struct pml_summary **s, const void *bytes, size_t n);

struct pml_profile;

/*
 * pml_profile_summary - add a row (PML_SUMMARY_CALL) to @s for each region with a call that returned, as rows of
 * process @number. Time in direct or indirect recursion counts once. Calls have no deviation. Returns 0, -ENOMEM or an
 * error of pml_summary_add(). Threads may continue.
 */
PML__SHARED int pml_profile_summary(struct pml_profile *p, struct pml_summary *s, int64_t number);

PML_END_DECLS

#endif
