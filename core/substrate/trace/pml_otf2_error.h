/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/trace/pml_otf2_error.h - failures of libotf2 as ours. Internal. */
#ifndef PML_OTF2_ERROR_H
#define PML_OTF2_ERROR_H

#include <otf2/otf2.h>
#include <stdbool.h>

/* pml__otf2_silence - from now on libotf2 prints nothing: its error callback is replaced, for the whole process. */
void pml__otf2_silence(void);

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
