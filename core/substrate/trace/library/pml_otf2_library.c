/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/substrate/trace/library/pml_otf2_library.c - libotf2, loaded on demand.
 *
 * Part of libpmlua.so alone, which is loaded into programs that write no trace. Its calls of libotf2 lead to stubs that
 * `make` writes (adapter/arch/library_stubs.sh), and from there to the functions. Programs that link libpmlua.a link
 * libotf2, too.
 */
#include "base/pml_error.h"
#include "substrate/trace/pml_otf2_error.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

/* Of the stubs: the names, an empty one after the last, and where their functions are. */
extern const char pml__otf2_names[];
extern void *pml__otf2_functions[];

static int find_all(void *library) {
  void **function = pml__otf2_functions;
  for (const char *name = pml__otf2_names; name[0] != '\0'; name += strlen(name) + 1)
    if ((*function++ = dlsym(library, name)) == NULL) return pml_fail(PML_ENOTHERE, PML__OTF2_FILE " has no %s", name);
  return 0;
}

static int find_library(void) {
  void *library = dlopen(PML__OTF2_FILE, RTLD_NOW | RTLD_LOCAL);
  if (library != NULL) return find_all(library);
  return pml_fail(PML_ENOTHERE, "libotf2 is not there: %s", dlerror());
}

int pml__otf2_load(void) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static bool loaded;
  pthread_mutex_lock(&mutex);
  int err = loaded ? 0 : find_library();
  loaded = err == 0;
  pthread_mutex_unlock(&mutex);
  return err;
}
