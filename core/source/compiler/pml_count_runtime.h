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
  /* The process's counts, constant once it is not NULL. A forked child has its own, at the same address. */
  struct pml_count_area *area;
  /*
   * hold - the calling thread's cells; they stay that thread's, also after its end, until they are released. NULL: it
   * shares them with others. Both are async-signal-safe, as pml_count_begin() is.
   */
  uint64_t *(*hold)(void);
  void (*release)(uint64_t *cells);
  /* others - names of the objects that are loaded now and count nothing, separated by commas, into @to. Takes the
   * loader's lock. */
  void (*others)(char *to, size_t room);
};

/*
 * pml_count_attach - add the events of @r to this process, as sde:::BYFL::...; a further call adds the events of cells
 * that came into use since. Returns 0, -EINVAL (another ABI), -EBUSY (another runtime is attached), -ENOMEM.
 * Thread-safe.
 */
PML__SHARED int pml_count_attach(const struct pml_count_runtime *r);

#endif
