/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/otf2/pml_otf2_over_time.h - metrics and busy locations of an archive over time. */
#ifndef PML_OTF2_OVER_TIME_H
#define PML_OTF2_OVER_TIME_H

#include "read/otf2/pml_otf2_read.h"

PML_BEGIN_DECLS

/* ---- metrics ---- */

struct pml_otf2_sample {
  uint64_t n;         /* values in the column */
  double least, most; /* of the numbers among the values, if n > 0; NaN: no numbers */
  double last; /* value at the end of the column, or an earlier value if the column has none; NaN: no value yet, or not
                  a number */
};

/* A metric on a location, in the metric's unit. */
struct pml_otf2_series {
  size_t metric, location;
  struct pml_otf2_sample *sample; /* [columns] of the question */
};

struct pml_otf2_all_series {
  struct pml_otf2_series *series; /* by location and metric */
  size_t n;
  uint64_t undefined; /* values of undefined metrics, which are omitted */
  uint64_t nans;      /* values in the window that are not numbers */
};

/*
 * pml_otf2_read_series - read the metrics whose names match @pattern of fnmatch(3), NULL: all, resampled to q->columns
 * parts of the window of @q. Close it with pml_otf2_series_close(). Returns 0, -EINVAL, -EBUSY, PML_EOTF2 or -ENOMEM.
 * Memory: 32 bytes for each metric, location and column.
 */
PML__SHARED int pml_otf2_read_series(struct pml_otf2_read *t, const struct pml_otf2_question *q, const char *pattern,
                                     struct pml_otf2_all_series *s);
PML__SHARED void pml_otf2_series_close(struct pml_otf2_all_series *s);

/* ---- concurrency ---- */

/* The number of locations that are inside a selected call at the same time. */
struct pml_otf2_level {
  double mean;
  size_t least, most;
};

struct pml_otf2_levels {
  struct pml_otf2_level *column; /* [columns] of the question */
  double *spent_s;               /* [locations + 1] time in the window with 0, 1, ... locations in such calls */
  size_t locations;              /* number of locations read */
};

/*
 * pml_otf2_read_levels - levels for the regions, locations and window of @q. Calls that do not return last until the
 * window's end. All events before the window's end are read in the order of time, which needs an open file for each
 * location. Close it with pml_otf2_levels_close(). Returns 0, -EINVAL, -EBUSY, PML_EOTF2, -EMFILE or -ENOMEM.
 */
PML__SHARED int pml_otf2_read_levels(struct pml_otf2_read *t, const struct pml_otf2_question *q,
                                     struct pml_otf2_levels *l);
PML__SHARED void pml_otf2_levels_close(struct pml_otf2_levels *l);

PML_END_DECLS

#endif
