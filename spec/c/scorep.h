/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/scorep.h - what the specs of substrate plugins share: the built ones, loading, and the files they write. */
#ifndef SPEC_SCOREP_H
#define SPEC_SCOREP_H

#include "substrate/scorep/pml_scorep.h"

#include "check.h"
#include "folder.h"
#include "plugins.h"

static char written[] = "/tmp/pmlua-spec-XXXXXX";

static inline bool scorep_begin(void) {
  find_folder();
  return mkdtemp(written) != NULL;
}
static inline int scorep_done(void) {
  folder_remove(written);
  return check_done();
}

static inline int open_plugin(const char *name, struct pml_scorep **p) {
  return pml_scorep_open(p, &(struct pml_scorep_options){.name = name, .path = folder, .directory = written});
}

static inline char *read_file(const char *name) {
  static char text[1 << 20];
  char path[64];
  snprintf(path, sizeof path, "%s/%s", written, name);
  FILE *f = fopen(path, "r");
  size_t n = f != NULL ? fread(text, 1, sizeof text - 1, f) : 0;
  if (f != NULL) fclose(f);
  text[n] = '\0';
  return text;
}

#endif
