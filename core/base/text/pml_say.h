/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/base/text/pml_say.h - messages on stderr about environment variables, which have no caller to report to.
 * Internal.
 */
#ifndef PML_SAY_H
#define PML_SAY_H

#include "base/pml_api.h"

/*
 * pml__say - "pmlua: ", the text, which is cut after 500 bytes, and a newline.
 *
 * Nothing is written where descriptor 2 is not what it was when the library was loaded: a program that closed all
 * descriptors may have data there. A reader that went raises no SIGPIPE. Keeps errno; thread-safe, not
 * async-signal-safe. Not with a lock: a pipe may be full.
 */
PML__SHARED void pml__say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
