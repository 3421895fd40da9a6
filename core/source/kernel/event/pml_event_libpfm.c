/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/event/pml_event_libpfm.c - libpfm4, loaded on demand. */
#include "source/kernel/event/pml_event_libpfm.h"

#include "base/pml_error.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#define LIBRARY "libpfm.so.4"

static struct pml__libpfm pfm;
static bool loaded;

static void load(void) {
  void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
  bool all = library != NULL;
#define GET(name) all = all && (*(void **)&pfm.name = dlsym(library, "pfm_" #name)) != NULL;
  PML__LIBPFM_LIST(GET)
#undef GET
  loaded = all;
}

const struct pml__libpfm *pml__libpfm(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, load);
  if (!loaded)
    pml_error_note(PML_ENOTHERE, __func__,
                   LIBRARY ", which knows the events of PMUs, is not installed (Debian: libpfm4)");
  return loaded ? &pfm : NULL;
}
