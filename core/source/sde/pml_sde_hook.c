/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/sde/pml_sde_hook.c - a library's listing hook, called with the functions of the libsde drop-in.
 *
 * The drop-in is loaded by its path, before the library, so the library's dependency libsde.so.1 is found already
 * loaded. It is searched beside the object file that contains this code, in the build and in an installation.
 */
#include "source/sde/pml_sde_hook.h"

#include "base/pml_error.h"
#include "base/pml_library.h"
#include "interface/sde/sde_lib.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOOK "papi_sde_hook_list_events"

static int cannot_load(const char *what) {
  const char *why = dlerror();
  return pml_fail(-ELIBACC, "cannot load %.200s: %.250s", what, why != NULL ? why : "the loader gives no reason");
}

static void *open_beside(const char *dir, size_t n, const char *name) {
  char path[PATH_MAX + 64];
  if (n >= PATH_MAX) return NULL;
  memcpy(path, dir, n);
  memcpy(path + n, name, strlen(name) + 1);
  return access(path, R_OK) == 0 ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;
}

static int open_libsde(void **libsde) {
  Dl_info here;
  const char *dir = dladdr((const void *)(uintptr_t)open_libsde, &here) != 0 ? here.dli_fname : "";
  const char *slash = strrchr(dir, '/');
  size_t n = slash != NULL ? (size_t)(slash - dir) + 1 : 0;
  *libsde = open_beside(dir, n, "compat/libsde.so.1");
  if (*libsde == NULL) *libsde = open_beside(dir, n, "pmlua/compat/libsde.so.1");
  return *libsde != NULL ? 0 : pml_fail(-ELIBACC, "pmlua's libsde.so.1 is not installed with %.300s; run make", dir);
}

/* The loader gives a function's address as a pointer to data. */
static void set(void *function, void *address) {
  memcpy(function, &address, sizeof address);
}

static void populate(papi_sde_fptr_struct_t *f, void *libsde) {
#define SET(name) set(&f->name, dlsym(libsde, "papi_sde_" #name))
  SET(init);
  SET(shutdown);
  SET(register_counter);
  SET(register_counter_cb);
  SET(unregister_counter);
  SET(describe_counter);
  SET(add_counter_to_group);
  SET(create_counter);
  SET(inc_counter);
  SET(create_recorder);
  SET(create_counting_set);
  SET(counting_set_insert);
  SET(counting_set_remove);
  SET(record);
  SET(reset_recorder);
  SET(reset_counter);
  SET(get_counter_handle);
#undef SET
}

static int count(const struct pml_sde_info *info, void *n) {
  *(size_t *)n += info != NULL;
  return 0;
}

int pml_sde_hook(const char *path) {
  char full[PATH_MAX];
  size_t before = 0, after = 0;
  void *libsde, *library;
  if (path == NULL || realpath(path, full) == NULL)
    return pml_fail(-ENOENT, "%.300s: %s", path != NULL ? path : "a library", strerror(path != NULL ? errno : EINVAL));
  int rc = open_libsde(&libsde);
  if (rc == 0) rc = pml_sde_list(count, &before);
  if (rc == 0) rc = pml__library_check(path);
  if (rc < 0) return rc;
  if ((library = dlopen(full, RTLD_NOW)) == NULL) return cannot_load(path);
  papi_handle_t (*hook)(papi_sde_fptr_struct_t *);
  void *symbol = dlsym(library, HOOK);
  if (symbol != NULL) {
    papi_sde_fptr_struct_t functions;
    populate(&functions, libsde);
    set(&hook, symbol);
    (void)hook(&functions);
    return 0;
  }
  rc = pml_sde_list(count, &after);
  if (rc == 0 && after == before)
    rc = pml_fail(-ENODATA, "%.300s has no function " HOOK "(), and registers no event when it is loaded", path);
  return rc;
}
