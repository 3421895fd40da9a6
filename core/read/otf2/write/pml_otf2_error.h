/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/otf2/write/pml_otf2_error.h - conversion of libotf2's errors. Internal. */
#ifndef PML_OTF2_ERROR_H
#define PML_OTF2_ERROR_H

#include <otf2/otf2.h>
#include <stdbool.h>

/* pml__otf2_begin - load libotf2 before its first call, and replace its error callback for the whole process, so that
 * it prints nothing. Returns 0, or PML_ENOTHERE with a detail. Thread-safe. */
int pml__otf2_begin(void);

/*
 * pml__otf2_load - in libpmlua.so, load libotf2 once. Elsewhere the function does not exist, because libotf2 is linked.
 */
__attribute__((weak)) int pml__otf2_load(void);

/*
 * libotf2 reports a failure to its callback before the call returns; some failures are reported only there.
 * pml__otf2_is_fine - whether the last call of this thread returned @returned, and reported no failure.
 * pml__otf2_failed - the failure as "cannot WHAT the trace in 'WHERE': libotf2:..."; returns its code and forgets the
 * report.
 */
bool pml__otf2_is_fine(OTF2_ErrorCode returned);
int pml__otf2_failed(OTF2_ErrorCode returned, const char *what, const char *where);
void pml__otf2_forget(void);

#endif
