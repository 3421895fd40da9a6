/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/sde/pml_sde_values.h - the values of events of a process, read again and again by one client.
 * Internal.
 *
 *   struct pml__sde_values *v;
 *   if (pml__sde_values_open(&v) == 0 && pml__sde_values_take(v, known, "SOLVER::*", "", 0, &bytes, &n) == 0) ...
 *
 * An answer is in the byte order of the machine, for clients on it:
 *
 *   struct pml__sde_values_head
 *   uint64_t value[words]     an integer, the bits of a double, or 0 for a missing value
 *   uint8_t what[words]       PML__SDE_HAS: the value exists; PML__SDE_DOUBLE: bits of a double
 *   names_bytes               of each event: kind, type, mode, name and description, in the form of pml_pack.h;
 *                             absent if the client has these names
 *   text_bytes                the caller's
 *
 * An event has one word, a recorder PML__SDE_WIDE of them: count, dropped, not a number, minimum, the quartiles,
 * maximum, relative error of these quantiles. A placeholder has no value. The events that a recorder brings with it
 * (RECORDER:MED) are listed if the recorder is not.
 */
#ifndef PML_SDE_VALUES_H
#define PML_SDE_VALUES_H

#include "base/pml_api.h"

#include <stddef.h>
#include <stdint.h>

#define PML__SDE_WIDE 9u
#define PML__SDE_SERIES 65536u            /* most values of a recorder in one answer */
#define PML__SDE_VALUES_MAGIC 0x32564d50u /* "PMV2" */

enum { PML__SDE_HAS = 1u, PML__SDE_DOUBLE = 2u };

struct pml__sde_values_head {
  uint32_t magic, events;
  uint64_t generation; /* generation of the names; never 0 */
  uint64_t missing;    /* number of events without a value */
  uint32_t words, names_bytes, text_bytes, unused;
};

/*
 * pml__sde_values_open - without a list yet: the first answer makes it. Returns 0 or -ENOMEM.
 * pml__sde_values_take - the values now; the list is made again if the registry or the patterns have changed since.
 *   @known: the generation of the names that the client has for these patterns, 0: none. @patterns: a line each (* and
 *   ?; without "::" of all libraries); "": all events. *@bytes is the caller's, freed by pml__free(). 0, -ENOMEM,
 * -E2BIG (1000 patterns), or -EFBIG for more than 4 GB. pml__sde_values_close - releases the events; NULL is fine.
 *
 * One thread at a time. The list holds a reference to each event until the next answer or the close. Callbacks of the
 * program run in the calling thread. Cost: some 10 instructions for a counter or a 64-bit variable, 60 ns for a
 * callback; a recorder's quantiles.
 */
struct pml__sde_values;
PML__SHARED int pml__sde_values_open(struct pml__sde_values **v);
PML__SHARED int pml__sde_values_take(struct pml__sde_values *v, uint64_t known, const char *patterns, const char *text,
                                     size_t text_bytes, char **bytes, size_t *n);
PML__SHARED void pml__sde_values_close(struct pml__sde_values *v);

/*
 * pml__sde_series_take - values of a recorder as they were pushed, of its type, PML__SDE_SERIES at most. @question:
 * "FIRST LIB::RECORDER", FIRST from 1. *@bytes is freed by pml__free(), NULL on failure. 0, -EINVAL, PML_ENOEVENT,
 * PML_EMODE (no recorder; it keeps a sketch), -ENOMEM. Thread-safe.
 */
PML__SHARED int pml__sde_series_take(const char *question, char **bytes, size_t *n);

#endif
