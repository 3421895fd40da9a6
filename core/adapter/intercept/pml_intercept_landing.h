/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/intercept/pml_intercept_landing.h - landing pads of exceptions: .eh_frame, and the tables of C++'s and
 * Rust's personality.
 */
#ifndef PML_INTERCEPT_LANDING_H
#define PML_INTERCEPT_LANDING_H

#include "adapter/intercept/pml_intercept_object.h"

/* Readable memory of an object. */
struct pml__landings {
  size_t n;
  struct {
    uintptr_t lo, hi;
  } part[PML__SEGMENTS];
  uintptr_t table; /* .eh_frame_hdr; 0: none */
};

void pml__landings_of(struct pml__landings *l, const struct pml__object *o);

/*
 * pml__landing - *@to: where code continues after an exception in the call that ends at @after; 0: not in its function.
 * *@ends: its function also ends at @after. Returns false if the tables do not contain the function, or are damaged.
 * Cost: a binary search, and a scan of the calls of one function.
 */
bool pml__landing(const struct pml__landings *l, uintptr_t after, uintptr_t *to, bool *ends);

#endif
