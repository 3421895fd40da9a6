/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/plugins/gauge.c - a synchronous metric plugin, built once for each SCOPE: not a spec by itself.
 *
 * Every second read finds a new value; a token "N" (a number) is the metric gN, which counts in steps of N. Its calls
 * are stored for the spec: gauge_told.
 */
#include <scorep/SCOREP_MetricPlugins.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef DELTA
#define DELTA 0
#endif
#define COUNTERS 1024

extern struct gauge_told gauge_told;
struct gauge_told {
  int initialized, finalized, added, begun, ended, responsible, asked;
} gauge_told;

static struct { int64_t step, asked; } counter[COUNTERS];

static int32_t initialize(void) {
  gauge_told.initialized++;
  return 0;
}

static void finalize(void) {
  gauge_told.finalized++;
}

static SCOREP_Metric_Plugin_MetricProperties *get_event_info(char *token) {
  SCOREP_Metric_Plugin_MetricProperties *m = calloc(2, sizeof *m);
  char name[64];
  if (atoi(token) == 0) return m;
  snprintf(name, sizeof name, "g%d", atoi(token));
  m[0].name = strdup(name);
  m[0].description = "in steps";
  m[0].mode = SCOREP_METRIC_MODE_ABSOLUTE_LAST;
  m[0].value_type = SCOREP_METRIC_VALUE_INT64;
  m[0].base = SCOREP_METRIC_BASE_DECIMAL;
  m[0].unit = "W";
  token[0] = '\0'; /* the token is the plugin's to write to */
  return m;
}

static int32_t add_counter(char *name) {
  int32_t id = __atomic_fetch_add(&gauge_told.added, 1, __ATOMIC_RELAXED);
  counter[id].step = atoi(name + 1);
  return id;
}

static bool get_optional_value(int32_t id, uint64_t *value) {
  gauge_told.asked++;
  if (++counter[id].asked % 2 != 0) return false;
  *value = (uint64_t)(counter[id].asked / 2 * counter[id].step);
  return true;
}

static void synchronize(bool is_responsible, SCOREP_MetricSynchronizationMode mode) {
  if (is_responsible) gauge_told.responsible++;
  *(mode == SCOREP_METRIC_SYNCHRONIZATION_MODE_END ? &gauge_told.ended : &gauge_told.begun) += 1;
}

#define ENTRY(name) SCOREP_METRIC_PLUGIN_ENTRY(name)
ENTRY(NAME) {
  SCOREP_Metric_Plugin_Info info;
  memset(&info, 0, sizeof info);
  info.plugin_version = SCOREP_METRIC_PLUGIN_VERSION;
  info.run_per = SCOPE;
  info.sync = SCOREP_METRIC_SYNC;
  info.delta_t = DELTA;
  info.initialize = initialize;
  info.finalize = finalize;
  info.get_event_info = get_event_info;
  info.add_counter = add_counter;
  info.get_optional_value = get_optional_value;
  info.synchronize = synchronize;
  return info;
}
