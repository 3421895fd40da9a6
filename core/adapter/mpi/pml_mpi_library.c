/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/mpi/pml_mpi_library.c - detection of MPI libraries, and the shim of the loaded one. */
#include "adapter/mpi/pml_mpi.h"

#include "adapter/intercept/pml_intercept.h"
#include "adapter/intercept/pml_intercept_hooks.h"
#include "base/pml_library.h"
#include "base/pml_process.h"
#include "base/pml_setting.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Binary interfaces, by the file names with which programs are linked. */
static const struct {
  const char *file, *shim;
} library[] = {{"libmpi.so.40", "openmpi"}, {"libmpich.so.12", "mpich"}, {"libmpi.so.12", "mpich"}};

/* Prefixes of file names, including libraries on which MPI is built. If two match, the longer one comes first. */
static const struct {
  const char *begins;
  enum pml__hooks_role role;
} family[] = {
    {"libmpi_", PML__HOOKS_BINDING},     {"libmpichfort", PML__HOOKS_BINDING}, {"libmpifort", PML__HOOKS_BINDING},
    {"libmpichcxx", PML__HOOKS_BINDING}, {"libmpicxx", PML__HOOKS_BINDING},    {"libmpi++", PML__HOOKS_BINDING},
    {"libmpi.so", PML__HOOKS_LIBRARY},   {"libmpich.so", PML__HOOKS_LIBRARY},  {"mca_", PML__HOOKS_INSIDE},
    {"libmca_", PML__HOOKS_INSIDE},      {"libopen-rte", PML__HOOKS_INSIDE},   {"libopen-pal", PML__HOOKS_INSIDE},
    {"libpmix", PML__HOOKS_INSIDE},      {"libucp.so", PML__HOOKS_INSIDE},     {"libuct", PML__HOOKS_INSIDE},
    {"libucs", PML__HOOKS_INSIDE},       {"libucm", PML__HOOKS_INSIDE},        {"libevent", PML__HOOKS_INSIDE},
    {"libhwloc", PML__HOOKS_INSIDE},     {"hwloc_", PML__HOOKS_INSIDE},
};

static struct {
  bool report;                        /* only hooks that are always used */
  void *library;                      /* handle of the MPI library */
  const struct pml__mpi_hooks *hooks; /* hooks of the shim; NULL: not loaded */
  char trouble[512];
} mpi; /* guarded by the lock of the scan; trouble is written once */

static bool begins(const char *text, const char *with) {
  return strncmp(text, with, strlen(with)) == 0;
}

static enum pml__hooks_role role(const char *file) {
  for (size_t i = 0; i < sizeof family / sizeof family[0]; i++)
    if (begins(file, family[i].begins)) return family[i].role;
  return PML__HOOKS_NONE;
}

/* ---- the shim ---- */

static const char *shim_for(const char *path) {
  const char *file = basename(path);
  for (size_t i = 0; i < sizeof library / sizeof library[0]; i++) {
    size_t n = strlen(library[i].file);
    if (strncmp(file, library[i].file, n) == 0 && (file[n] == '\0' || file[n] == '.')) return library[i].shim;
  }
  return NULL;
}

/* The shim looks MPI up in the global scope, so a library that was opened for one plugin only becomes global. */
static void open_shim(const char *library_path, const char *path) {
  void *handle = dlopen(library_path, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
  mpi.library = handle;
  if (handle != NULL) handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle != NULL) mpi.hooks = dlsym(handle, "pml__mpi_shim");
  if (mpi.hooks == NULL)
    (void)snprintf(mpi.trouble, sizeof mpi.trouble, "messages of MPI are not recorded: %.400s", dlerror());
}

static void load(const char *path) {
  const char *shim = shim_for(path);
  char name[64], file[PATH_MAX];
  if (mpi.hooks != NULL || mpi.trouble[0] != '\0') return;
  if (shim == NULL)
    (void)snprintf(mpi.trouble, sizeof mpi.trouble,
                   "messages of MPI are not recorded: %.200s is neither Open MPI 4's nor MPICH's", path);
  else if (snprintf(name, sizeof name, "libpmlua-mpi-%s.so", shim), pml__library_own(name, file) < 0)
    (void)snprintf(mpi.trouble, sizeof mpi.trouble,
                   "messages of MPI are not recorded: %s is missing; build pmlua where mpicc is", name);
  else
    open_shim(path, file);
}

/* ---- hooks ---- */

#define BEHIND_MAX 512u
static struct {
  uintptr_t hook, function;
} stands[BEHIND_MAX]; /* the function behind each hook; if there is no room, the function keeps its hook permanently */
static size_t nstands;
static struct pml__lock lock; /* guards both */

static const struct pml__mpi_hook *find_hook(const char *name) {
  for (const struct pml__mpi_hook *h = mpi.hooks != NULL ? mpi.hooks->begin : NULL; h != NULL && h != mpi.hooks->end;
       h++)
    if ((h->always || !mpi.report) && strcmp(h->name, name) == 0) return h;
  return NULL;
}

/* The caller holds the lock. */
static uintptr_t look_behind(uintptr_t hook) {
  size_t i = 0;
  while (i < nstands && stands[i].hook != hook) i++;
  return i < nstands ? stands[i].function : 0;
}

static uintptr_t behind(uintptr_t hook) {
  pml__lock_take(&lock);
  uintptr_t function = look_behind(hook);
  pml__lock_leave(&lock);
  return function;
}

static void stand_before(uintptr_t hook, uintptr_t function) {
  pml__lock_take(&lock);
  if (look_behind(hook) == 0 && nstands < BEHIND_MAX) {
    stands[nstands].hook = hook;
    stands[nstands++].function = function;
  }
  pml__lock_leave(&lock);
}

/* Bindings use these functions to convert handles. */
static bool converts(const char *name) {
  size_t n = strlen(name);
  return n > 4 && (strcmp(name + n - 4, "_f2c") == 0 || strcmp(name + n - 4, "_c2f") == 0);
}

/* Programs call the PMPI_ names to bypass tools; bindings and tools always do so. */
static const char *hook(const char *name, uintptr_t at, bool binding, uintptr_t *to) {
  if (binding && begins(name, "PMPI_")) name++;
  if (!begins(name, "MPI_") || (binding && converts(name))) return NULL;
  const struct pml__mpi_hook *h = find_hook(name);
  if (h == NULL) return name;
  *to = (uintptr_t)h->function;
  stand_before(*to, at);
  return name;
}

/* Whether the library is a layer such as Darshan or mpiP, which exports MPI functions and calls the PMPI_ names. */
static bool layer(const char *name, bool (*exports)(const void *object, const char *name), const void *object) {
  return begins(name, "PMPI_") && (exports(object, name + 1) || exports(object, "MPI_Init") ||
                                   exports(object, "MPI_Init_thread") || exports(object, "MPI_Finalize"));
}

static bool second_name(const char *name, char second[PML__HOOKS_NAME]) {
  bool profiling = begins(name, "PMPI_");
  if (!profiling && !begins(name, "MPI_")) return false;
  return snprintf(second, PML__HOOKS_NAME, "%s%s", profiling ? "" : "P", name) < PML__HOOKS_NAME;
}

void pml_mpi_intercept(void) {
  static const struct pml__hooks hooks = {role, load, hook, behind, "PMPI_Init", second_name, layer};
  mpi.report = false;
  pml__intercept_hooks = &hooks;
}

static int is_loaded(struct dl_phdr_info *info, size_t size, void *arg) {
  (void)size, (void)arg;
  const char *slash = strrchr(info->dlpi_name, '/');
  return slash != NULL && role(slash + 1) == PML__HOOKS_LIBRARY;
}

bool pml__mpi_report(void) {
  const char *folder = pml__setting("PMLUA_REPORT");
  const struct pml_intercept_options o = {.hooks = true};
  if (folder == NULL || *folder == '\0' || pml__setting("PMLUA_RECORD_DIR") != NULL ||
      dl_iterate_phdr(is_loaded, NULL) == 0)
    return false;
  pml_mpi_intercept();
  mpi.report = true;
  return pml_intercept_install(&o) == 0; /* without interception, ranks are reported separately */
}

void pml__mpi_set_trouble(const char *text) {
  if (mpi.trouble[0] == '\0') (void)snprintf(mpi.trouble, sizeof mpi.trouble, "%s", text);
}

/* MPI allows this query at any time, also after MPI_Finalize. */
static bool is_initialized(void) {
  int (*ask)(int *) = NULL;
  void *at = mpi.library != NULL ? dlsym(mpi.library, "PMPI_Initialized") : NULL;
  int is = 0;
  memcpy(&ask, &at, sizeof ask);
  return ask != NULL && ask(&is) == 0 && is != 0;
}

const char *pml_mpi_trouble(void) {
  if (mpi.hooks != NULL && !pml__mpi_has_begun() && is_initialized())
    pml__mpi_set_trouble(
        "messages of MPI are not recorded: MPI_Init was called out of sight, as by a tool that takes its "
        "address from the library; run without that tool");
  return mpi.trouble[0] != '\0' ? mpi.trouble : NULL;
}
