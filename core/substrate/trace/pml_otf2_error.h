/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/trace/pml_otf2_error.h - conversion of libotf2's errors. Internal. */
#ifndef PML_OTF2_ERROR_H
#define PML_OTF2_ERROR_H

#include <otf2/otf2.h>
#include <stdbool.h>

/*
 * pml__otf2_begin - load libotf2, before its first call; from then on it prints nothing: its error callback is
 * replaced, for the whole process. Returns 0, or PML_ENOTHERE with the sentence. Thread-safe.
 */
int pml__otf2_begin(void);

/* pml__otf2_load - in libpmlua.so, load libotf2, once. Elsewhere there is no such function: libotf2 is linked. */
__attribute__((weak)) int pml__otf2_load(void);

/*
 * libotf2 reports a failure to its callback before the call returns, and some that the call does not return.
 * pml__otf2_is_fine - the last call of this thread returned @returned, and reported nothing.
 * pml__otf2_failed - that it did not, as "cannot WHAT the trace in 'WHERE': libotf2: ..."; the code, after which the
 * report is forgotten.
 */
bool pml__otf2_is_fine(OTF2_ErrorCode returned);
int pml__otf2_failed(OTF2_ErrorCode returned, const char *what, const char *where);
void pml__otf2_forget(void);

#endif
