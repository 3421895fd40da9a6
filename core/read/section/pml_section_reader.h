/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/read/section/pml_section_reader.h - section definitions and statistics in a log. Nothing in it is
 * trusted. Internal.
 */
#ifndef PML_SECTION_READER_H
#define PML_SECTION_READER_H

#include "adapter/section/pml_section_private.h"
#include "read/log/pml_recorder_log.h"
#include "record/quantile/pml_sketch.h"

#include <string.h>

struct pml__section_definition {
  uint32_t index;
  enum pml_section_type type;
  bool exclusive;
  enum pml_section_record record;
  const char *label;     /* in @text, as the events' names and the interface */
  const char *interface; /* "": pmlua's own */
  uint32_t nevents;
  uint64_t real; /* a bit for each event whose sums are doubles */
  const char *event[PML_SECTION_EVENTS_MAX];
  bool has_quantiles;
  double quantile[PML__QUANTILES]; /* ns */
  struct pml_sketch *sketch;       /* of the durations, ns; NULL: not requested, or not known */
  char text[];
};

struct pml__section_region {
  uint32_t region;
  char name[];
};

/* Whether @s is the section @label of @interface; "": pmlua's own. */
static inline bool pml__section_is(const struct pml__section_definition *s, const char *label, const char *interface) {
  return strcmp(s->label, label) == 0 && strcmp(s->interface, interface) == 0;
}

/* A list of separately allocated items. */
struct pml__section_items {
  void **at;
  size_t n, capacity;
};

struct pml__section_reader {
  const char *only, *interface; /* only NULL: all sections */
  struct pml__log_reader log;
  struct pml__log_cells cells;
  struct pml__section_items sections,
      regions; /* struct pml__section_definition, by index; struct pml__section_region */
  char *note[PML__SECTION_NOTES], *unseen;
  const struct pml__section_items *kept; /* rows [first, end) of this list, instead of the log's; NULL: the log's */
  size_t first, end;
};

/* pml__section_zeros - zeroed memory, aligned to a cache line, for structs with sums; free it with free(). NULL: no
 * memory. */
void *pml__section_zeros(size_t bytes);

/* pml__section_drop - free the list and its items. */
PML__SHARED void pml__section_drop(struct pml__section_items *list);

/*
 * pml__section_reader_open - the definitions of the log @path: of section @only of @interface, or, if @only is NULL, of
 * all. Returns 0, the error of pml__log_read_open(), PML_EFORMAT (two sections share a number) or -ENOMEM. Close it
 * either way; the texts must stay valid until then.
 * pml__section_reader_at - the definition of section @index, or NULL.
 */
PML__SHARED int pml__section_reader_open(struct pml__section_reader *b, const char *path, const char *only,
                                         const char *interface);
PML__SHARED void pml__section_reader_close(struct pml__section_reader *b);
struct pml__section_definition *pml__section_reader_at(const struct pml__section_reader *b, uint32_t index);

/* ---- pml_section_durations.c ---- */

/*
 * pml__section_reader_durations - the quantiles of each section's durations; with @sketches also sketches of them, as
 * rows of a summary have them: 12 KiB for each section with durations. Both come from the durations, of which sketches
 * are good to 1 %, or from the sketch that the process left, which adds its own error. Returns 0, PML_EFORMAT or
 * -ENOMEM. Cost: reading all durations.
 */
PML__SHARED int pml__section_reader_durations(struct pml__section_reader *b, bool sketches);

/* One thread's statistics of a section. */
struct pml__section_entry {
  const struct pml__section_definition *section;
  uint64_t thread;
  struct pml__section_stat sums;
  bool torn;              /* it may lack its last call */
  const uint64_t *values; /* [section->nevents]; NULL: all zero */
};

/*
 * pml__section_reader_rows - visit each row that is not empty, in the order of the file, until @visit returns a value
 * other than 0. Returns that value, 0, -errno or -ENOMEM. Memory: one extent.
 */
int pml__section_reader_rows(const struct pml__section_reader *b,
                             int (*visit)(const struct pml__section_entry *row, void *arg), void *arg);

/* The same with its values; all zero without values. */
struct pml__section_stored {
  struct pml__section_entry entry;
  uint64_t values[];
};

/*
 * pml__section_reader_timeline - a copy of the timeline that is in extent @i of the log: a head and then its n events.
 * Free it with free(). NULL: the extent contains none (*@err is 0), or reading failed (*@err).
 */
PML__SHARED struct pml__log_timeline *pml__section_reader_timeline(const struct pml__section_reader *b, size_t i,
                                                                   int *err);

/* pml__section_reader_sorted - all rows in @rows, by section and thread: 0, -errno or -ENOMEM. Drop them either way. */
PML__SHARED int pml__section_reader_sorted(const struct pml__section_reader *b, struct pml__section_items *rows);

#endif
