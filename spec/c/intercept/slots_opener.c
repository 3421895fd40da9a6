/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/intercept/slots_opener.c - opens libraries beside it: when it is opened itself, and when it is called. */
#include "library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

CALLED int opener_early(int i);
CALLED int opener_late(int i);

static void *early;

static void *open_beside(const char *name) {
  Dl_info info;
  char path[4096];
  if (dladdr((void *)open_beside, &info) == 0) return NULL;
  const char *slash = strrchr(info.dli_fname, '/');
  int folder = slash != NULL ? (int)(slash - info.dli_fname) : 0;
  snprintf(path, sizeof path, "%.*s/%s", folder, info.dli_fname, name);
  return dlopen(path, RTLD_LAZY);
}

__attribute__((constructor)) static void begin(void) {
  early = open_beside("slots_chosen.so");
}
__attribute__((destructor)) static void end(void) {
  if (early != NULL) dlclose(early);
}

static int call(void *handle, const char *name, int i) {
  int (*f)(int) = NULL;
  if (handle != NULL) *(void **)&f = dlsym(handle, name);
  return f != NULL ? f(i) : -1;
}

int opener_early(int i) {
  return call(early, "chosen_inside", i);
}
int opener_late(int i) {
  void *handle = open_beside("slots_leaf.so");
  int result = call(handle, "leaf_calls", i);
  if (handle != NULL) dlclose(handle);
  return result;
}
