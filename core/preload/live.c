/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/preload/live.c - live service for unmodified programs: LD_PRELOAD=libpmlua-live.so.
 *
 * The library's papi_sde_* functions use pmlua's registry, and take precedence over any libsde that the program was
 * linked with. Only when the process registers its first library of software-defined events, defines its first section
 * or starts its first metric plugin, libpmlua-embed.so is loaded and serves the process as PMLUA_LIVE_NAME, with the
 * watch rules of PMLUA_LIVE_RULES. Processes that do none of these never load Lua, except the process that `pmlua live
 * --rules` itself became: its rules may watch the clock or the process. The process that `pmlua live` became prints a
 * message at its end if it was never served.
 */
#include "adapter/section/pml_section.h"
#include "base/pml_error.h"
#include "base/text/pml_say.h"
#include "source/plugin/pml_plugin.h"
#include "source/sde/pml_sde.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define EMBED PML__SONAME("libpmlua-embed")

static bool served;   /* atomic */
static pid_t started; /* the process that pmlua live became; 0 in others */

static void serve(void) {
  if (__atomic_exchange_n(&served, true, __ATOMIC_ACQ_REL)) return;
  int (*start)(const void *options);
  void *embed = dlopen(EMBED, RTLD_NOW | RTLD_LOCAL); /* its Lua stays separate from the program's */
  *(void **)&start = embed != NULL ? dlsym(embed, "pmlua_live_start") : NULL;
  if (start == NULL) {
    const char *why = dlerror();
    pml__say("live: %s", why != NULL ? why : EMBED " has no pmlua_live_start");
    return;
  }
  int err = start(NULL); /* with the settings of the environment */
  if (err < 0) pml__say("live: %s", pml_error_detail(err));
}

/* Find a file of libsde other than this library. */
static int find_other(struct dl_phdr_info *info, size_t size, void *other) {
  (void)size;
  struct stat st, own;
  Dl_info here;
  const char *slash = strrchr(info->dlpi_name, '/');
  if (slash == NULL || strncmp(slash, "/libsde.so", strlen("/libsde.so")) != 0) return 0;
  if (dladdr((const void *)(uintptr_t)find_other, &here) == 0 || stat(here.dli_fname, &own) != 0) return 0;
  if (stat(info->dlpi_name, &st) == 0 && st.st_dev == own.st_dev && st.st_ino == own.st_ino) return 0;
  *(const char **)other = info->dlpi_name;
  return 1;
}

/* Whether the process has waited for a child, which may have been the program that the user meant. */
static bool had_children(void) {
  struct rusage u;
  return getrusage(RUSAGE_CHILDREN, &u) == 0 && (u.ru_minflt > 0 || u.ru_maxrss > 0);
}

__attribute__((destructor)) static void tell_that_nothing_was_told(void) {
  const char *other = NULL;
  if (started != getpid() || __atomic_load_n(&served, __ATOMIC_ACQUIRE)) return;
  (void)dl_iterate_phdr(find_other, &other);
  if (other != NULL)
    pml__say("live: %.80s opened another libsde (%.200s), whose events pmlua cannot see; open libsde.so.1",
             program_invocation_short_name, other);
  else
    pml__say("live: %.80s registered no software-defined events, sections or plugins: it could not be asked%s",
             program_invocation_short_name, had_children() ? " (its children may have been)" : "");
}

/* The program may open libsde under another name; the loader then uses this library, because it has the same soname. */
static void take_name(void) {
  void *same = dlopen("libsde.so", RTLD_LAZY | RTLD_NOLOAD);
  if (same == NULL) same = dlopen("libsde.so", RTLD_LAZY);
  if (same != NULL) (void)dlclose(same);
}

__attribute__((constructor)) static void wait_for_something_to_tell(void) {
  const char *pid = secure_getenv("PMLUA_LIVE_PID");
  if (pid != NULL && strtol(pid, NULL, 10) == getpid()) started = getpid();
  take_name();
  const char *rules = secure_getenv("PMLUA_LIVE_RULES");
  if (started != 0 && rules != NULL && *rules != '\0') serve(); /* rules work without events of the program */
  pml_sde_on_first_library(serve);
  pml_section_on_first(serve);
  pml_plugin_on_first(serve);
}
