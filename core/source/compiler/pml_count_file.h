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
  uint64_t uncounted; /* places whose work is not counted */
  char name[112];     /* its end if it is longer */
};

struct pml_counts {
  int32_t pid, parent;
  uint64_t started_ns;       /* CLOCK_REALTIME */
  bool ended;                /* it ended by exit; false: it runs, or ended in another way */
  uint64_t underway;         /* threads inside a loop: its counts lack the latest iterations; 0: counts are complete */
  enum pml_count_at at;      /* for all its modules */
  uint64_t threads;          /* threads that counted */
  uint64_t sharing;          /* of them, threads whose counts may be too low */
  uint64_t modules, refused; /* refused: modules of another pmlua version, which invalidate the counts */
  uint64_t uncounted;
  char host[256];
  char command[1024]; /* separated by blanks; truncated if it is longer */
  char others[512];   /* objects without counts, separated by commas: libraries, the program; at exit, or earlier if it
                         did not exit */
  size_t nevents;     /* Byfl's nine */
  uint64_t *event;
  size_t ncells; /* kinds of operation */
  uint64_t *cell;
  size_t nparts; /* number of named modules: the first ones */
  struct pml_count_part *part;
};

/*
 * pml_count_read - read the counts in the file @path, of a process that ended in any way, or the current counts of a
 * running one. Returns 0, PML_EFORMAT (not a log, damaged, truncated, or of another pmlua version: the detail says
 * which), -ENODATA (a log without counts), -EAGAIN (it grows faster than it is read), -EINVAL (no path), -ENOMEM or
 * another -errno. Free with pml_counts_free(). Thread-safe.
 */
PML__SHARED int pml_count_read(const char *path, struct pml_counts **counts);
PML__SHARED void pml_counts_free(struct pml_counts *counts);

/*
 * pml_count_kind - name and description of event @i, Byfl's events first, then the kinds of operation; false past the
 * last. The strings are constant.
 */
PML__SHARED bool pml_count_kind(size_t i, const char **name, const char **description);

/* pml_count_active - whether code in this process has compiler counts that this library can read. */
PML__SHARED bool pml_count_active(void);

/* pml_count_here - the stage of the modules loaded so far: before or after optimisation. */
PML__SHARED enum pml_count_at pml_count_here(void);

/*
 * pml_count_watch - call @heard whenever a counting module was loaded, on the loading thread. Only one function,
 * permanently; set it before another thread may load a module. pml_count_is_event - whether @name is an event
 * sde:::BYFL::...
 */
PML__SHARED void pml_count_watch(void (*heard)(void));
bool pml_count_is_event(const char *name);

/*
 * pml_count_left_out - the part of this process that is not counted so far: copies the names of objects compiled
 * without counts, except the C library, to @libraries, of @room bytes, separated by commas, "" for none. Returns the
 * number of places in counting objects that could not be counted, such as inline assembly. Takes the loader's lock.
 */
uint64_t pml_count_left_out(char *libraries, size_t room);

/* pml_count_at_name - "source", "final", "mixed" or "none". pml_count_at_label - the same as a phrase: "counted by the
 * compiler, at source"; "" for none. */
PML__SHARED const char *pml_count_at_name(enum pml_count_at at);
const char *pml_count_at_label(enum pml_count_at at);

PML_END_DECLS

#endif
