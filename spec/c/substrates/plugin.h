/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/substrates/plugin.h - what substrate plugins that leave a file in the experiment's folder share: the host, the
 * requirement, the file, and the entry point.
 */
#ifndef SUBSTRATE_PLUGIN_H
#define SUBSTRATE_PLUGIN_H

#include <scorep/SCOREP_SubstratePlugins.h>

#include <stdio.h>
#include <string.h>

static const SCOREP_SubstratePluginCallbacks *host;

static inline void set_callbacks(const SCOREP_SubstratePluginCallbacks *callbacks, size_t size) {
  (void)size;
  host = callbacks;
}

static inline bool get_requirement(SCOREP_Substrates_RequirementFlag flag) {
  return flag == SCOREP_SUBSTRATES_REQUIREMENT_CREATE_EXPERIMENT_DIRECTORY;
}

static inline int begin_nothing(void) {
  return 0;
}

static inline FILE *open_result(const char *name) {
  char path[4096];
  (void)snprintf(path, sizeof path, "%s/%s", host->SCOREP_GetExperimentDirName(), name);
  return fopen(path, "w");
}

/* Define the entry point of plugin @name; the designated initializers that follow replace or add functions. */
#define PLUGIN(name, ...)                                                                                              \
  SCOREP_SUBSTRATE_PLUGIN_ENTRY(name) {                                                                                \
    return (SCOREP_SubstratePluginInfo){.plugin_version = SCOREP_SUBSTRATE_PLUGIN_VERSION,                             \
                                        .set_callbacks = set_callbacks,                                                \
                                        .get_requirement = get_requirement,                                            \
                                        __VA_ARGS__};                                                                  \
  }

#endif
