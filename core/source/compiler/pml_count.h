/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/compiler/pml_count.h - interface between programs compiled by `pmlua cc --count` and the counting
 * runtime.
 *
 * The instrumenter adds to cells: numbers of 64 bits in memory provided by the runtime, private to the thread. A cell
 * counts one kind of operation. A module's table lists its cells and their weights in each event, so that an event is
 * read as a sum over the few cells in use. The names are compiled into programs: a change of their meaning requires a
 * change of PML_COUNT_ABI.
 */
#ifndef PML_COUNT_H
#define PML_COUNT_H

#include <stdint.h>

#define PML_COUNT_ABI 3u
#define PML_COUNT_CELLS 512u
/* The cell that pml_count_self points to: offsets of one byte reach the nearest cells on both sides. */
#define PML_COUNT_ORIGIN 16u
/*
 * The index of the cell that counts the thread's open loops that are counted in registers. If it is not 0 when the
 * process ends, the counts of these loops since their last addition to cells are missing. Code adds to it when it
 * enters such a loop, and subtracts at the exit.
 */
#define PML_COUNT_UNDERWAY 31u

enum pml_count_stage { PML_COUNT_SOURCE, PML_COUNT_FINAL }; /* before optimisation, after it */

/* Description of a module that was compiled with counts; in its data while it is loaded. */
struct pml_count_module {
  uint32_t abi;   /* PML_COUNT_ABI of the instrumenter */
  uint32_t stage; /* enum pml_count_stage */
  const char *name;
  uint64_t used[PML_COUNT_CELLS / 64]; /* a bit for each cell that it adds to */
  uint64_t uncounted;                  /* places whose work could not be counted: inline assembly */
};

/* The calling thread's cells, PML_COUNT_CELLS of them, beginning PML_COUNT_ORIGIN cells before this address; NULL until
 * its first counted function, which calls pml_count_begin(). Compiled code reads it once per function. */
extern _Thread_local uint64_t *pml_count_self __attribute__((tls_model("initial-exec")));

/* pml_count_begin - cells for the calling thread, in the form of pml_count_self. Never NULL: without memory, it returns
 * discarded cells that are never read, and reports this. Preserves errno. */
uint64_t *pml_count_begin(void);

/*
 * pml_count_touch - for code compiled with --count=lines: @bytes at @address are read or written. The cell "lines"
 * counts the lines of 64 bytes that were not touched before, by a sketch in the last cells. Some 5 ns, more for long
 * ranges.
 */
void pml_count_touch(uint64_t *self, const void *address, uint64_t bytes);

/* pml_count_module_begin, _end - called by the constructor and the destructor of an instrumented module. */
void pml_count_module_begin(const struct pml_count_module *m);
void pml_count_module_end(const struct pml_count_module *m);

#endif
