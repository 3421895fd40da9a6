/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/compiler/pml_count_runtime.h - interface between libpmlua_count, which stores the counts, and libpmlua,
 * which reads them.
 *
 * Neither is linked against the other: the library that is loaded second finds the first, by pml_count_attach() of
 * libpmlua or by pml_count_runtime of libpmlua_count.
 */
#ifndef PML_COUNT_RUNTIME_H
#define PML_COUNT_RUNTIME_H

#include "base/pml_api.h"
#include "source/compiler/pml_count_layout.h"

#include <stddef.h>

struct pml_count_runtime {
  uint32_t abi;
  /* The process's counts, constant once it is not NULL. A forked child has a separate area at the same address. */
  struct pml_count_area *area;
  /* hold - the calling thread's cells, which remain valid after its end, until they are released. NULL: the thread
   * shares its cells with others. Both are async-signal-safe, like pml_count_begin(). */
  uint64_t *(*hold)(void);
  void (*release)(uint64_t *cells);
  /* others - copy the names of the loaded objects that count nothing to @to, separated by commas. Takes the loader's
   * lock. */
  void (*others)(char *to, size_t room);
};

/*
 * pml_count_attach - add the events of @r to this process, as sde:::BYFL::...; further calls add events of cells that
 * have come into use since. Returns 0, -EINVAL (another ABI), -EBUSY (another runtime is attached), -ENOMEM.
 * Thread-safe.
 */
PML__SHARED int pml_count_attach(const struct pml_count_runtime *r);

#endif
