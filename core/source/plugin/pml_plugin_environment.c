/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/plugin/pml_plugin_environment.c - plugins and metrics from environment variables. */
#include "source/plugin/pml_plugin_private.h"

#include "base/pml_error.h"
#include "base/pml_launched.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool pml__plugin_is_here(enum pml_plugin_scope scope) {
  struct pml__launched l;
  pml__launched(&l);
  if (scope == PML_PLUGIN_HOST) return l.local_rank <= 0; /* the first, or no sign of others */
  return scope != PML_PLUGIN_ONCE || l.rank <= 0;
}

bool pml__plugin_mpi(void) {
  int (*initialized)(int *), flag = 0;
  void *at = dlsym(RTLD_DEFAULT, "MPI_Initialized");
  if (at == NULL) return false;
  memcpy(&initialized, &at, sizeof at);
  return initialized(&flag) == 0 && flag != 0;
}

/* --- lists --- */

/* The parts of @text between any of @separators, empty ones left out; the array and its strings are one block. */
static int split(const char *text, const char *separators, char ***out, size_t *n) {
  size_t length = strlen(text), most = length / 2 + 1;
  char **part = malloc(most * sizeof *part + length + 1);
  *out = NULL;
  *n = 0;
  if (part == NULL) return pml_fail(-ENOMEM, "no memory for a list of plugins or metrics");
  char *copy = memcpy((char *)(part + most), text, length + 1), *rest = copy;
  for (char *p; (p = strsep(&rest, separators)) != NULL;)
    if (*p != '\0') part[(*n)++] = p;
  *out = part;
  return 0;
}

static const char *separators_of(const char *variable) {
  char name[256];
  (void)snprintf(name, sizeof name, "%s_SEP", variable);
  const char *value = secure_getenv(name);
  return value != NULL && *value != '\0' ? value : ",";
}

int pml__plugin_tokens(const char *name, char ***token, size_t *n) {
  char variable[160] = "SCOREP_METRIC_";
  size_t at = strlen(variable);
  for (; *name != '\0' && at + 1 < sizeof variable; name++) variable[at++] = (char)toupper((unsigned char)*name);
  const char *value = secure_getenv(variable);
  return split(value != NULL ? value : "", separators_of(variable), token, n);
}

int pml__plugin_names(char ***name, size_t *n) {
  const char *value = secure_getenv("SCOREP_METRIC_PLUGINS");
  return split(value != NULL ? value : "", separators_of("SCOREP_METRIC_PLUGINS"), name, n);
}
