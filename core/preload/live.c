/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/preload/live.c - questions to a program that was never changed: LD_PRELOAD=libpmlua-live.so.
 *
 * The library brings papi_sde_* on pmlua's registry, before any libsde that the program was linked with. When the
 * process registers its first software-defined event library or defines its first section, and not before,
 * libpmlua-embed.so is loaded and serves the process as PMLUA_LIVE_NAME, with the watch rules of PMLUA_LIVE_RULES.
 * Processes that do neither never load Lua.
 */
#include "adapter/pml_section.h"
#include "base/pml_error.h"
#include "source/pml_sde.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define EMBED "libpmlua-embed.so.0"

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) || __has_feature(thread_sanitizer) ||                \
    __has_feature(address_sanitizer)
#define DEEPBIND 0 /* the sanitizers' allocator must be everybody's */
#else
#define DEEPBIND RTLD_DEEPBIND
#endif

/* A program that has another Lua, of its own or of another version, would lend it to ours. */
static bool has_other_lua(void) {
  Dl_info info;
  void *lua = dlsym(RTLD_DEFAULT, "lua_newstate");
  if (lua == NULL) return false;
  if (dladdr(lua, &info) == 0 || info.dli_fname == NULL) return true;
  const char *slash = strrchr(info.dli_fname, '/');
  return strncmp(slash != NULL ? slash + 1 : info.dli_fname, "liblua5.4.so", strlen("liblua5.4.so")) != 0;
}

static void complain(const char *why) {
  static const char head[] = "pmlua: live: ";
  char line[512];
  size_t n = strnlen(why, sizeof line - sizeof head - 1);
  memcpy(line, head, sizeof head - 1);
  memcpy(line + sizeof head - 1, why, n);
  line[sizeof head - 1 + n] = '\n';
  if (write(STDERR_FILENO, line, sizeof head + n) < 0) return; /* there is nobody else to tell */
}

static void serve(void) {
  static bool served; /* atomic */
  if (__atomic_exchange_n(&served, true, __ATOMIC_ACQ_REL)) return;
  int (*start)(const void *options);
  void *embed = dlopen(EMBED, RTLD_NOW | RTLD_LOCAL | (has_other_lua() ? DEEPBIND : 0));
  *(void **)&start = embed != NULL ? dlsym(embed, "pmlua_live_start") : NULL;
  if (start == NULL) {
    const char *why = dlerror();
    complain(why != NULL ? why : EMBED " has no pmlua_live_start");
    return;
  }
  int err = start(NULL); /* as the environment says */
  if (err < 0) complain(pml_error_detail(err));
}

__attribute__((constructor)) static void wait_for_something_to_tell(void) {
  pml_sde_on_first_library(serve);
  pml_section_on_first(serve);
}
