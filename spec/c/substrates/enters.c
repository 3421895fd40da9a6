/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/substrates/enters.c - a substrate plugin that has a function for enters alone, while events are recorded; how
 * many there were is in enters.txt of the experiment's folder. Not a spec by itself.
 */
#include <scorep/SCOREP_SubstratePlugins.h>

#include <stdio.h>
#include <string.h>

static const SCOREP_SubstratePluginCallbacks *host;
static unsigned seen;

static int init(void) {
  return 0;
}
static void set_callbacks(const SCOREP_SubstratePluginCallbacks *callbacks, size_t size) {
  (void)size;
  host = callbacks;
}
static bool get_requirement(SCOREP_Substrates_RequirementFlag flag) {
  return flag == SCOREP_SUBSTRATES_REQUIREMENT_CREATE_EXPERIMENT_DIRECTORY;
}

static void enter(struct SCOREP_Location *location, uint64_t time, SCOREP_RegionHandle region, uint64_t *values) {
  (void)location, (void)time, (void)region, (void)values;
  seen++;
}
static uint32_t functions(SCOREP_Substrates_Mode mode, SCOREP_Substrates_Callback **out) {
  static SCOREP_Substrates_Callback of[SCOREP_SUBSTRATES_NUM_MODES][SCOREP_SUBSTRATES_NUM_EVENTS];
  if (mode == SCOREP_SUBSTRATES_RECORDING_ENABLED)
    of[mode][SCOREP_EVENT_ENTER_REGION] = (SCOREP_Substrates_Callback)enter;
  *out = of[mode];
  return SCOREP_SUBSTRATES_NUM_EVENTS;
}

static void finalize(void) {
  char path[4096];
  snprintf(path, sizeof path, "%s/enters.txt", host->SCOREP_GetExperimentDirName());
  FILE *f = fopen(path, "w");
  if (f == NULL) return;
  (void)fprintf(f, "%u", seen);
  (void)fclose(f);
}

SCOREP_SUBSTRATE_PLUGIN_ENTRY(enters) {
  SCOREP_SubstratePluginInfo info;
  memset(&info, 0, sizeof info);
  info.plugin_version = SCOREP_SUBSTRATE_PLUGIN_VERSION;
  info.init = init;
  info.set_callbacks = set_callbacks;
  info.get_requirement = get_requirement;
  info.get_event_functions = functions;
  info.finalize = finalize;
  return info;
}
