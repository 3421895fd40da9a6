/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/plugins.h - what the specs of metric plugins share: where the built ones are, loading, and trouble. */
#ifndef SPEC_PLUGINS_H
#define SPEC_PLUGINS_H

#include "source/plugin/pml_plugin_private.h"
#include "source/pml_eventset.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char folder[4096];

static char trouble[PML__PLUGIN_LINE];

static inline void on_trouble(const char *line) {
  (void)snprintf(trouble, sizeof trouble, "%s", line);
}

static inline void find_folder(void) {
  ssize_t n = readlink("/proc/self/exe", folder, sizeof folder - 16);
  folder[n > 0 ? n : 0] = '\0';
  char *slash = strrchr(folder, '/');
  if (slash != NULL) memcpy(slash, "/plugins", sizeof "/plugins");
}

static inline int load(const char *name, const char *token, struct pml_plugin **p) {
  const struct pml_plugin_options o = {.name = name, .path = folder, .metrics = &token, .nmetrics = 1};
  trouble[0] = '\0';
  return pml_plugin_load(&o, p);
}

static inline int open_one(struct pml_eventset **set, const char *event) {
  return pml_eventset_open(set, &event, 1, NULL);
}

static inline void nap(long ms) {
  (void)nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

#endif
