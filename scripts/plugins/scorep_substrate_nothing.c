/* SPDX-License-Identifier: BSD-3-Clause */
/* scripts/plugins/scorep_substrate_nothing.c - a substrate plugin that does nothing, at enter and leave. */
#include <scorep/SCOREP_SubstratePlugins.h>

#include <string.h>

static int init(void) {
  return 0;
}

static void event(struct SCOREP_Location *location, uint64_t time, SCOREP_RegionHandle region, uint64_t *values) {
  (void)location, (void)time, (void)region, (void)values;
}

static uint32_t functions(SCOREP_Substrates_Mode mode, SCOREP_Substrates_Callback **out) {
  static SCOREP_Substrates_Callback of[SCOREP_SUBSTRATES_NUM_EVENTS];
  (void)mode;
  of[SCOREP_EVENT_ENTER_REGION] = of[SCOREP_EVENT_EXIT_REGION] = (SCOREP_Substrates_Callback)event;
  *out = of;
  return SCOREP_SUBSTRATES_NUM_EVENTS;
}

SCOREP_SUBSTRATE_PLUGIN_ENTRY(nothing) {
  SCOREP_SubstratePluginInfo info;
  memset(&info, 0, sizeof info); /* zeros the version as well, like plugins that never set it */
  info.init = init;
  info.get_event_functions = functions;
  return info;
}
