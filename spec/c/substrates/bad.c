/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/substrates/bad.c - a substrate plugin with a FAULT; not a spec by itself. */
#include <scorep/SCOREP_SubstratePlugins.h>

#include <string.h>

enum fault { UNLIKE, NEWER, UNSET, REFUSING, HOLLOW, FUTURE };

static int init(void) {
  return FAULT == REFUSING;
}

static uint32_t functions(SCOREP_Substrates_Mode mode, SCOREP_Substrates_Callback **out) {
  static SCOREP_Substrates_Callback of[1000]; /* NEWER has many kinds of events */
  (void)mode;
  if (FAULT != HOLLOW) *out = of;
  return FAULT == NEWER ? 1000 : SCOREP_SUBSTRATES_NUM_EVENTS;
}

#define ENTRY_OF(name) SCOREP_SUBSTRATE_PLUGIN_ENTRY(name)
ENTRY_OF(NAME) {
  SCOREP_SubstratePluginInfo info;
  memset(&info, 0, sizeof info);
  info.plugin_version = SCOREP_SUBSTRATE_PLUGIN_VERSION + (FAULT == NEWER);
  if (FAULT != UNSET) info.init = init;
  info.get_event_functions = functions;
  if (FAULT == FUTURE) info.undeclared[3] = (void (*)(void))init;
  return info;
}
