/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/section/read/pml_section_rows.h - the rows of a log's sections as text, for reports and exports of very
 * many. Internal.
 *
 * A table says once what its columns are; each log then adds its rows, with what its process has in all of them. Texts
 * are the caller's, written in the form already, and stay as long as the table.
 */
#ifndef PML_SECTION_ROWS_H
#define PML_SECTION_ROWS_H

#include "adapter/section/read/pml_section_book.h"
#include "base/text/pml_cells.h"

#define PML__SECTION_FIELDS_LIST(X)                                                                                    \
  X(PROCESS, "process") /* what all rows of a process have: its text [which] */                                        \
  X(SECTION, "section") /* what all rows of a section have: its text [which] */                                        \
  X(WORKED, "worked")   /* the same, where there is work */                                                            \
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
  X(SHARE, "share") /* of the time that the log is asked with */                                                       \
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
  const char *const *text;
};

struct pml__section_table {
  enum pml__cells_form form;
  const char *indent; /* of JSON */
  size_t ncolumns, nsections, nevents;
  const struct pml__section_column *column;
  const struct pml__section_labelled *section; /* in the order of strcmp(); those that are not in it are left out */
  const struct pml__section_labelled *event;   /* in the order of an object */
};

/* What a log is asked. */
struct pml__section_question {
  const char *path, *label; /* NULL: all sections */
  const char *const *text;  /* of the process; NULL in it: absent */
  bool threads;             /* a row for each; else one for the process, of @label */
  double whole;             /* ns of which rows have shares; 0: no shares */
  bool own;                 /* shares are of self time */
  const char *counted_work; /* an event that stands for work where it counted; NULL: none */
};

/*
 * pml__section_rows_write - the rows of a log, by section and thread, into @out, which says how many it has.
 * Returns 0, what pml__section_book_open() and pml__section_book_rows() return, or -ENOMEM.
 */
PML__SHARED int pml__section_rows_write(const struct pml__section_table *t, const struct pml__section_question *q,
                                        struct pml__cells_writer *out);

#endif
