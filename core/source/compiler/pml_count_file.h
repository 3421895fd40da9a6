/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/compiler/pml_count_file.h - compiler counts of a program, read from its file. */
#ifndef PML_COUNT_FILE_H
#define PML_COUNT_FILE_H

#include "base/pml_api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

PML_BEGIN_DECLS

enum pml_count_at { PML_COUNT_AT_NONE, PML_COUNT_AT_SOURCE, PML_COUNT_AT_FINAL, PML_COUNT_AT_BOTH };

struct pml_count_part { /* a module of the program */
  enum pml_count_at at;
  uint64_t uncounted; /* places whose work is in no count */
  char name[112];     /* its end, where it is longer */
};

struct pml_counts {
  int32_t pid, parent;
  uint64_t started_ns;       /* CLOCK_REALTIME */
  bool ended;                /* by exit; else it runs, or ended in another way */
  uint64_t underway;         /* threads that were in a loop: its counts lack the newest turns; 0: they are whole */
  enum pml_count_at at;      /* of all its modules */
  uint64_t threads;          /* that counted */
  uint64_t sharing;          /* of them: those whose counts may be low */
  uint64_t modules, refused; /* refused: of another pmlua, which spoil the counts */
  uint64_t uncounted;
  char host[256];
  char command[1024]; /* separated by blanks; cut where it is longer */
  char others[512]; /* what counts nothing, separated by commas: libraries, the program; as of its exit if it came to it
                     */
  size_t nevents;   /* Byfl's nine */
  uint64_t *event;
  size_t ncells; /* kinds of operation */
  uint64_t *cell;
  size_t nparts; /* modules that are named: the first of them */
  struct pml_count_part *part;
};

/*
 * pml_count_read - read the counts in the file @path, of a process that ended in any way, or the current counts of a
 * running one. Returns 0, PML_EFORMAT (no log, damaged, cut short, or of another pmlua: the detail says which),
 * -ENODATA (a log without counts), -EAGAIN (it grows faster than it is read), -EINVAL (no path), -ENOMEM or another
 * -errno. Free with
 * pml_counts_free(). Thread-safe.
 */
PML__SHARED int pml_count_read(const char *path, struct pml_counts **counts);
PML__SHARED void pml_counts_free(struct pml_counts *counts);

/*
 * pml_count_kind - name and description of event @i, Byfl's events first, then the kinds of operation; false past the
 * last. The strings are constant.
 */
PML__SHARED bool pml_count_kind(size_t i, const char **name, const char **description);

/* pml_count_active - does code in this process have compiled-in counts that this library can read? */
PML__SHARED bool pml_count_active(void);

/* pml_count_here - before or after optimisation, of the modules that are loaded by now. */
PML__SHARED enum pml_count_at pml_count_here(void);

/*
 * pml_count_watch - call @heard whenever a module that counts was loaded, on the thread that loads it. One at a time,
 * for good; before any other thread may load a module. pml_count_is_event - is @name one of sde:::BYFL::...?
 */
PML__SHARED void pml_count_watch(void (*heard)(void));
bool pml_count_is_event(const char *name);

/*
 * pml_count_left_out - what of this process no count has, as of now: into @libraries, of @room bytes, the names of
 * objects that were compiled otherwise, separated by commas, "" for none; not the C library's. Returns how many places
 * of those that count could not be counted, such as inline assembly. Takes the loader's lock.
 */
uint64_t pml_count_left_out(char *libraries, size_t room);

/*
 * pml_count_at_name - "source", "final", "mixed" or "none". pml_count_at_label - the counter in words: "counted by the
 * compiler, at source"; "" for none.
 */
PML__SHARED const char *pml_count_at_name(enum pml_count_at at);
const char *pml_count_at_label(enum pml_count_at at);

PML_END_DECLS

#endif
