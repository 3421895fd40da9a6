// SPDX-License-Identifier: BSD-3-Clause
// spec/c/substrates/thrower.cpp - a substrate plugin that throws at its third enter, or ($THROWER) in a function of
// its; not a spec by itself.
#include <scorep/SCOREP_SubstratePlugins.h>

#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace {
unsigned entered;

bool asked(const char *where) {
  const char *what = std::getenv("THROWER");
  return what != nullptr && std::strcmp(what, where) == 0;
}

int init() {
  if (asked("init")) throw 7;
  return 0;
}

void define(SCOREP_AnyHandle, SCOREP_HandleType type) {
  if (type == SCOREP_HANDLE_TYPE_REGION && asked("define")) throw std::runtime_error("a region too many");
}

void enter(SCOREP_Location *, uint64_t, SCOREP_RegionHandle, uint64_t *) {
  if (++entered == 3) throw std::runtime_error("the third");
}

uint32_t functions(SCOREP_Substrates_Mode, SCOREP_Substrates_Callback **out) {
  static SCOREP_Substrates_Callback of[SCOREP_SUBSTRATES_NUM_EVENTS];
  of[SCOREP_EVENT_ENTER_REGION] = reinterpret_cast<SCOREP_Substrates_Callback>(enter);
  *out = of;
  return SCOREP_SUBSTRATES_NUM_EVENTS;
}
} // namespace

SCOREP_SUBSTRATE_PLUGIN_ENTRY(thrower) {
  SCOREP_SubstratePluginInfo info = {};
  info.plugin_version = SCOREP_SUBSTRATE_PLUGIN_VERSION;
  info.init = init;
  info.new_definition_handle = define;
  info.get_event_functions = functions;
  return info;
}
