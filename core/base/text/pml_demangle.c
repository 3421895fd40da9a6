/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/text/pml_demangle.c - the demangler of libstdc++, loaded on demand. */
#include "base/text/pml_demangle.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

static char *(*demangle)(const char *name, char *buffer, size_t *n, int *status);
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Stores of pthread_once(), ordered before each return. */
static void find(void) {
  void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
  if (library != NULL) *(void **)&demangle = dlsym(library, "__cxa_demangle");
}

char *pml__demangled_type(const char *name) {
  (void)pthread_once(&once, find);
  return demangle != NULL ? demangle(name, NULL, NULL, NULL) : NULL;
}

char *pml__demangled(const char *name) {
  return name[0] == '_' && name[1] == 'Z' ? pml__demangled_type(name) : NULL;
}
