/* SPDX-License-Identifier: BSD-3-Clause */
/* core/program/pml_libdw.c - elfutils' libdw, loaded on demand. */
#include "program/pml_libdw.h"

#include "base/pml_error.h"

#if defined(PML_HAS_LIBDW)

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>

#define LIBRARY "libdw.so.1"

static struct pml__libdw dw;
static bool loaded;

static void load(void) {
  void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
  bool all = library != NULL;
#define GET(name) all = all && (*(void **)&dw.name = dlsym(library, #name)) != NULL;
  PML__LIBDW_LIST(GET)
#undef GET
  loaded = all;
}

const struct pml__libdw *pml__libdw(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, load);
  if (!loaded)
    pml_error_note(PML_ENOTHERE, __func__,
                   LIBRARY " of elfutils, which reads debug information, is not installed (Debian: libdw1)");
  return loaded ? &dw : NULL;
}

#endif
