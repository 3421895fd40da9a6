// SPDX-License-Identifier: BSD-3-Clause
// spec/c/plugins/thrower.cpp - a metric plugin in C++ that throws in the call that $THROWER names: not a spec by
// itself.
#include <scorep/SCOREP_MetricPlugins.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

namespace {

// Objects that a throw passes must be destroyed, otherwise the plugin leaks.
void visit(const char *call) {
  const char *where = std::getenv("THROWER");
  std::string name(call);
  if (where != nullptr && name == where) throw std::runtime_error("thrown by " + name + " of a plugin for its spec");
}

// Made at first use and destroyed when the process ends: by then the plugin must have been ended.
std::string &log() {
  static std::string text;
  return text;
}

// The same, first used when a thread joins.
std::string &joined() {
  static std::string text;
  return text;
}

int32_t initialize() {
  visit("initialize");
  log() = "initialized, and long enough to stand in memory of its own";
  return 0;
}

void finalize() {
  visit("finalize");
  const char *file = std::getenv("THROWER_LOG");
  std::FILE *f = file != nullptr ? std::fopen(file, "w") : nullptr;
  if (f == nullptr) return;
  std::fputs(log().c_str(), f);
  std::fputs(joined().c_str(), f);
  std::fclose(f);
}

SCOREP_Metric_Plugin_MetricProperties *get_event_info(char *token) {
  visit("get_event_info");
  auto *m = static_cast<SCOREP_Metric_Plugin_MetricProperties *>(
      std::calloc(2, sizeof(SCOREP_Metric_Plugin_MetricProperties)));
  m->name = strdup(token);
  m->value_type = SCOREP_METRIC_VALUE_UINT64;
  m->base = SCOREP_METRIC_BASE_DECIMAL;
  return m;
}

int32_t add_counter(char *) {
  visit("add_counter");
  joined() = "; joined, which was also told at some length";
  return 0;
}

uint64_t asked;

uint64_t get_current_value(int32_t) {
  visit("get_current_value");
  return ++asked;
}

bool get_optional_value(int32_t, uint64_t *value) {
  visit("get_optional_value");
  *value = ++asked;
  return true;
}

void set_clock_function(uint64_t (*)(void)) {
  visit("set_clock_function");
}

uint64_t get_all_values(int32_t, SCOREP_MetricTimeValuePair **) {
  visit("get_all_values");
  return 0;
}

void synchronize(bool, SCOREP_MetricSynchronizationMode mode) {
  visit(mode == SCOREP_METRIC_SYNCHRONIZATION_MODE_END ? "synchronize at the end" : "synchronize");
}

} // namespace

SCOREP_METRIC_PLUGIN_ENTRY(thrower) {
  SCOREP_Metric_Plugin_Info info;
  visit("get_info");
  std::memset(&info, 0, sizeof info);
  const char *where = std::getenv("THROWER");
  std::string call(where != nullptr ? where : "");
  info.plugin_version = SCOREP_METRIC_PLUGIN_VERSION;
  info.run_per = SCOREP_METRIC_PER_THREAD;
  info.sync = call == "get_optional_value" ? SCOREP_METRIC_SYNC
              : call == "get_all_values"   ? SCOREP_METRIC_ASYNC
                                           : SCOREP_METRIC_STRICTLY_SYNC;
  info.initialize = initialize;
  info.finalize = finalize;
  info.get_event_info = get_event_info;
  info.add_counter = add_counter;
  info.get_current_value = get_current_value;
  info.get_optional_value = get_optional_value;
  info.set_clock_function = set_clock_function;
  info.get_all_values = get_all_values;
  info.synchronize = synchronize;
  return info;
}
