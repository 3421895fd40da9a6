/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/scorep/pml_scorep_program.c - program properties for substrate plugins, and their list of files. */
#include "substrate/scorep/pml_scorep_private.h"

#include "base/pml_clock.h"
#include "base/pml_file.h"
#include "source/plugin/pml_plugin_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ARGUMENTS_MAX 64u
#define COMMAND_BYTES 8192

/* ---- the program ---- */

struct program {
  struct pml__scorep_stream *stream;
  SCOREP_StringHandle name, argument[ARGUMENTS_MAX];
  uint32_t arguments;
  pml_region_t region;
  bool begins;
};

static uint64_t tell(uint64_t arg) {
  struct program *g = (struct program *)(uintptr_t)arg; /* NOLINT(performance-no-int-to-ptr) */
  const struct pml__scorep_functions *f = &g->stream->plugin->functions[SCOREP_SUBSTRATES_RECORDING_ENABLED];
  struct SCOREP_Location *l = g->stream->location;
  if (g->begins)
    f->program_begin(l, pml_clock_ticks(), g->name, g->arguments, g->argument, g->region, (uint64_t)getpid(),
                     (uint64_t)gettid());
  else
    f->program_end(l, pml_clock_ticks(), SCOREP_INVALID_EXIT_STATUS, g->region);
  return 0;
}

/* As the kernel has it: strings with a 0 behind each. */
static void read_command(struct program *g) {
  char text[COMMAND_BYTES];
  ssize_t n = pml__file_peek("/proc/self/cmdline", text, sizeof text);
  const char *at = text, *end = text + (n > 0 ? n : 0);
  g->name = pml__scorep_string(at);
  for (at += strlen(at) + 1; at < end && g->arguments < ARGUMENTS_MAX; at += strlen(at) + 1)
    g->argument[g->arguments++] = pml__scorep_string(at);
}

void pml__scorep_program(struct pml_scorep *p, struct pml__scorep_stream *l, bool begins) {
  const struct pml__scorep_functions *f = &p->functions[SCOREP_SUBSTRATES_RECORDING_ENABLED];
  struct program g = {.stream = l, .begins = begins};
  if (l == NULL || (begins ? f->program_begin == NULL : f->program_end == NULL) || atomic_load(&p->dropped)) return;
  if (pml_region_intern(program_invocation_short_name, "", 0, &g.region) < 0) return;
  pml__scorep_define(p);
  if (begins) read_command(&g);
  struct _Unwind_Exception *e = pml__guard_get((uintptr_t)&g, tell).e;
  if (e != NULL) pml__scorep_drop(p, e);
}

/* ---- the manifest ---- */

void pml__scorep_write_manifest(struct pml_scorep *p) {
  char path[4200];
  struct pml__scorep_arguments a = {0};
  if (!pml__scorep_has(p, PML__SCOREP_MANIFEST) || access(pml__scorep_directory(), W_OK) != 0) return;
  (void)snprintf(path, sizeof path, "%s/MANIFEST.md", pml__scorep_directory());
  int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
  a.manifest = fd >= 0 ? fdopen(fd, "a") : NULL;
  if (a.manifest == NULL && fd >= 0) close(fd);
  if (a.manifest == NULL) return;
  (void)pml__scorep_call(p, PML__SCOREP_MANIFEST, &a);
  if (fclose(a.manifest) != 0)
    pml__scorep_say("substrate plugin %s: %s could not be written completely", p->name, path);
}

void pml__scorep_manifest_header(FILE *out, const char *section) {
  (void)fputs("\n# ", out);
  (void)fputs(section != NULL ? section : "", out);
  (void)fputs("\n\n", out);
}

void pml__scorep_manifest_entry(FILE *out, const char *file, const char *description, ...) {
  char text[1024] = "";
  va_list ap;
  va_start(ap, description);
  if (description != NULL) (void)vsnprintf(text, sizeof text, description, ap);
  va_end(ap);
  (void)fputs("* `", out);
  (void)fputs(file != NULL ? file : "", out);
  (void)fputs("`: ", out);
  (void)fputs(text, out);
  (void)fputs("\n", out);
}
