/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/otf2/write/pml_otf2_error.c - conversion of libotf2's errors. */
#include "read/otf2/write/pml_otf2_error.h"

#include "base/pml_error.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

/* libotf2's last error on this thread; libotf2 calls the error callback before it returns. */
static PML_THREAD_LOCAL OTF2_ErrorCode said_code;
static PML_THREAD_LOCAL char said[256];

static OTF2_ErrorCode on_error(void *user, const char *file, uint64_t line, const char *function, OTF2_ErrorCode code,
                               const char *format, va_list args) __attribute__((format(printf, 6, 0)));

static OTF2_ErrorCode on_error(void *user, const char *file, uint64_t line, const char *function, OTF2_ErrorCode code,
                               const char *format, va_list args) {
  (void)user, (void)file, (void)line, (void)function;
  /* every caller on the stack reports the failure, and the first report is the most detailed; warnings are below 0 */
  if (said_code == OTF2_SUCCESS && code > OTF2_SUCCESS) {
    said_code = code;
    vsnprintf(said, sizeof said, format, args);
  }
  return code;
}

static void silence(void) {
  OTF2_Error_RegisterCallback(on_error, NULL);
}

int pml__otf2_begin(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  int err = pml__otf2_load != NULL ? pml__otf2_load() : 0;
  if (err == 0) pthread_once(&once, silence);
  return err;
}

void pml__otf2_forget(void) {
  said_code = OTF2_SUCCESS;
  said[0] = '\0';
}

static int code_of(OTF2_ErrorCode code) {
  switch (code) {
  case OTF2_ERROR_ENOSPC:
    return -ENOSPC;
  case OTF2_ERROR_EDQUOT:
    return -EDQUOT;
  case OTF2_ERROR_EACCES:
    return -EACCES;
  case OTF2_ERROR_EEXIST:
    return -EEXIST;
  case OTF2_ERROR_EMFILE:
    return -EMFILE;
  case OTF2_ERROR_ENFILE:
    return -ENFILE;
  case OTF2_ERROR_ENOENT:
    return -ENOENT;
  case OTF2_ERROR_ENOMEM:
  case OTF2_ERROR_MEM_FAULT:
  case OTF2_ERROR_MEM_ALLOC_FAILED:
    return -ENOMEM;
  default:
    return PML_EOTF2;
  }
}

bool pml__otf2_is_fine(OTF2_ErrorCode returned) {
  return returned == OTF2_SUCCESS && said_code == OTF2_SUCCESS;
}

int pml__otf2_failed(OTF2_ErrorCode returned, const char *what, const char *where) {
  OTF2_ErrorCode code = said_code != OTF2_SUCCESS ? said_code : returned;
  int err = pml_fail(code_of(code), "cannot %s the trace in '%s': libotf2: %s%s%s", what, where, said,
                     said[0] != '\0' ? ": " : "", OTF2_Error_GetDescription(code));
  pml__otf2_forget();
  return err;
}
