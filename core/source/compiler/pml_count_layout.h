/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/compiler/pml_count_layout.h - memory layout of a process's counts, which are the only extent of their log
 * (docs/log.md).
 *
 * Every page is written in place, so the counts are complete however the process ends. A cell of the process is the sum
 * over lanes minus the counts that a forked child inherited from its parent.
 */
#ifndef PML_COUNT_LAYOUT_H
#define PML_COUNT_LAYOUT_H

#include "record/log/pml_log_format.h"
#include "source/compiler/pml_count.h"

#define PML_COUNT_LANES 16384u /* concurrent threads; lane 0 is shared by threads that find no other */
#define PML_COUNT_ROWS 512u    /* named modules; further ones are only counted */
#define PML_COUNT_NAME 112u
#define PML_COUNT_OTHERS 512u

struct pml_count_header {
  uint32_t abi, cells;
  uint32_t room;    /* lanes for which the file has room */
  uint32_t lanes;   /* number of lanes ever used; they are the first ones */
  uint64_t threads; /* threads that counted */
  uint64_t sharing; /* of them, threads that shared lane 0: their counts may be too low */
  uint64_t modules, uncounted;
  uint64_t refused; /* modules of another ABI, whose cells have unknown meanings */
  uint64_t stages;  /* a bit for each enum pml_count_stage among the modules */
  uint64_t used[PML_COUNT_CELLS / 64];
  char others[PML_COUNT_OTHERS]; /* libraries that count nothing, when the last counting module was loaded, and at exit
                                  */
};

struct pml_count_row {
  uint32_t stage, reserved;
  uint64_t uncounted;
  char name[PML_COUNT_NAME]; /* its end if it is longer */
};

struct pml_count_area {
  union {
    struct pml_count_header header;
    char page[4096];
  };
  uint64_t inherited[PML_COUNT_CELLS]; /* by index: pml_count_place() */
  struct pml_count_row row[PML_COUNT_ROWS];
  uint64_t lane[][PML_COUNT_CELLS]; /* in the same order */
};
_Static_assert(offsetof(struct pml_count_area, lane) % PML__LOG_STEP == 0, "lanes are pages of the extent");

/* The head of the log, which precedes @a, and the entry of its extent. */
static inline struct pml__log_head *pml__count_head(const struct pml_count_area *a) {
  return (struct pml__log_head *)((uintptr_t)a - PML__LOG_DIRECTORY);
}
static inline struct pml__log_entry *pml__count_entry(const struct pml_count_area *a) {
  return (struct pml__log_entry *)((uintptr_t)pml__count_head(a) + PML__LOG_ENTRIES_AT);
}

#endif
