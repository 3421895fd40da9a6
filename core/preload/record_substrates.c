/* SPDX-License-Identifier: BSD-3-Clause */
/* core/preload/record_substrates.c - substrate plugins of a recorded process. */
#include "preload/record_substrates.h"

#include "base/pml_error.h"
#include "substrate/scorep/pml_scorep.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_BYTES 4096u
#define NOTES 16u

static struct pml_scorep *plugin[PML_SCOREP_MAX];
static size_t plugins;
static char note[NOTES][256]; /* what went wrong here; what the plugins' host has to say comes behind */
static size_t notes;

static void take_note(const char *text) {
  if (notes < NOTES) (void)snprintf(note[notes++], sizeof *note, "%s", text);
}

bool pml__record_substrates_wanted(void) {
  const char *names = secure_getenv("SCOREP_SUBSTRATE_PLUGINS");
  return names != NULL && names[0] != '\0';
}

/* One that does not open is reported and left out: the run goes on. */
static void open_one(const char *name, const char *directory) {
  struct pml_scorep_options o = {name, NULL, directory};
  struct pml_scorep *p;
  int err = pml_scorep_open(&p, &o);
  if (err < 0)
    take_note(pml_error_detail(err));
  else
    plugin[plugins++] = p;
}

size_t pml__record_substrates_open(const char *directory) {
  const char *all = secure_getenv("SCOREP_SUBSTRATE_PLUGINS"),
             *separators = secure_getenv("SCOREP_SUBSTRATE_PLUGINS_SEP");
  const char *elsewhere = secure_getenv("SCOREP_EXPERIMENT_DIRECTORY");
  char names[NAMES_BYTES], *rest = NULL;
  if (all == NULL || (size_t)snprintf(names, sizeof names, "%s", all) >= sizeof names) {
    take_note("SCOREP_SUBSTRATE_PLUGINS is too long; no substrate plugin was loaded");
    return 0;
  }
  if (separators == NULL || separators[0] == '\0') separators = ",";
  if (elsewhere != NULL && elsewhere[0] != '\0') directory = NULL;
  for (char *name = strtok_r(names, separators, &rest); name != NULL; name = strtok_r(NULL, separators, &rest))
    open_one(name, directory);
  return plugins;
}

void pml__record_substrates_close(bool confined) {
  size_t n = __atomic_exchange_n(&plugins, 0, __ATOMIC_RELAXED); /* one thread closes them */
  if (n == 0) return;
  if (pml_stream_remove(0) == -EDEADLK) { /* this thread is inside a plugin, or another consumer */
    take_note("the process exited inside a substrate plugin; the plugins did not write their data");
    return;
  }
  if (confined)
    take_note("the process gave up system calls (seccomp); its substrate plugins ended then and missed later calls");
  while (n > 0) pml_scorep_close(plugin[--n]);
}

bool pml__record_substrates_trouble(size_t i, char *text, size_t size) {
  const char *line = i < notes ? note[i] : pml_scorep_line(i - notes);
  if (line == NULL) return false;
  (void)snprintf(text, size, "%s", line);
  for (char *c = text; *c != '\0'; c++)
    if ((unsigned char)*c < ' ') *c = ' '; /* a plugin's own words may have several lines */
  return true;
}
