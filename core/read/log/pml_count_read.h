/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/log/pml_count_read.h - compiler counts of a program, read from its file. */
#ifndef PML_COUNT_READ_H
#define PML_COUNT_READ_H

#include "source/compiler/pml_count_file.h"

PML_BEGIN_DECLS

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

PML_END_DECLS

#endif
