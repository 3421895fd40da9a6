/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/read/section/pml_section_rows.h - rows of a log's sections as text, for reports and exports of many
 * processes. Internal.
 *
 * A table has the columns; each log then adds its rows, with texts that are the same in all rows of its process. Texts
 * belong to the caller, are in the table's form already, and stay as long as the table.
 */
#ifndef PML_SECTION_ROWS_H
#define PML_SECTION_ROWS_H

#include "base/text/pml_cells.h"
#include "read/section/pml_section_cache.h"

#define PML__SECTION_FIELDS_LIST(X)                                                                                    \
  X(PROCESS, "process") /* the text [which] of the process */                                                          \
  X(SECTION, "section") /* the text [which] of the section */                                                          \
  X(WORKED, "worked")   /* the same; absent without work */                                                            \
  X(EVENT, "event")     /* the sum of the event @text */                                                               \
  X(EVENTS, "events")   /* all sums, as an object */                                                                   \
  X(MISUSE, "misuse")   /* numbers of misuses, as an object; absent without misuse */                                  \
  X(THREAD, "thread")   /* of a process: absent */                                                                     \
  X(COUNT, "count")     /* calls that ended */                                                                         \
  X(RUNNING, "running") /* calls under way */                                                                          \
  X(TIME, "total_ns")   /* this and the next five are divided by @divisor */                                           \
  X(SELF, "self_ns")                                                                                                   \
  X(MEAN, "mean_ns")                                                                                                   \
  X(MIN, "min_ns")                                                                                                     \
  X(MAX, "max_ns")                                                                                                     \
  X(STDDEV, "stddev_ns")                                                                                               \
  X(SHARE, "share") /* relative to the question's time */                                                              \
  X(WORK, "work")                                                                                                      \
  X(ITERATIONS, "iterations")                                                                                          \
  X(RATE, "rate") /* work by second; absent without either */                                                          \
  X(TORN, "torn") /* the last call may be missing */

enum pml__section_field {
#define PML__SECTION_FIELD(id, name) PML__SECTION_FIELD_##id,
  PML__SECTION_FIELDS_LIST(PML__SECTION_FIELD)
#undef PML__SECTION_FIELD
      PML__SECTION_FIELDS
};

struct pml__section_column {
  enum pml__section_field field;
  const char *name; /* as JSON writes it */
  const char *text;
  size_t which;
  double divisor;
};

/* A section's label and its texts; an event's name, and as JSON writes it. */
struct pml__section_labelled {
  const char *label;
  const char *interface; /* "": a section of pmlua, or an event */
  const char *const *text;
};

struct pml__section_table {
  enum pml__cells_form form;
  const char *indent; /* for JSON */
  size_t ncolumns, nsections, nevents;
  const struct pml__section_column *column;
  const struct pml__section_labelled
      *section; /* by label and interface, in the order of strcmp(); rows of other sections are left out */
  const struct pml__section_labelled *event; /* in the order of an object */
};

/* A question about a log. */
struct pml__section_question {
  const char *path, *label, *interface;   /* label NULL: all sections */
  const struct pml__section_cache *cache; /* contains the log; @label is not NULL. NULL: read @path */
  const char *const *text;                /* of the process; NULL for an absent one */
  bool threads;                           /* a row for each thread; else one for the process, of @label */
  double whole;                           /* in ns, the time that shares are of; 0: no shares */
  bool own;                               /* shares are of self time */
  const char *counted_work;               /* an event whose count replaces the work, or NULL */
};

/*
 * pml__section_rows_write - append the rows of a log to @out, by section and thread. Returns 0, -ENOMEM, or an error of
 * pml__section_reader_open() or pml__section_reader_rows().
 */
PML__SHARED int pml__section_rows_write(const struct pml__section_table *t, const struct pml__section_question *q,
                                        struct pml__cells_writer *out);

#endif
