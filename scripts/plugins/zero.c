/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/plugins/zero.c - a strictly synchronous metric plugin that measures nothing, to see what reading it costs.
 * Each token is a metric whose value is 0.
 */
#include <scorep/SCOREP_MetricPlugins.h>

#include <stdlib.h>
#include <string.h>

static int32_t initialize(void) {
  return 0;
}

static void finalize(void) {}

static SCOREP_Metric_Plugin_MetricProperties *get_event_info(char *token) {
  SCOREP_Metric_Plugin_MetricProperties *m = calloc(2, sizeof *m);
  m->name = strdup(token);
  m->value_type = SCOREP_METRIC_VALUE_UINT64;
  m->base = SCOREP_METRIC_BASE_DECIMAL;
  return m;
}

static int32_t add_counter(char *name) {
  (void)name;
  return 0;
}

static uint64_t get_current_value(int32_t id) {
  (void)id;
  return 0;
}

SCOREP_METRIC_PLUGIN_ENTRY(zero) {
  return (SCOREP_Metric_Plugin_Info){.plugin_version = SCOREP_METRIC_PLUGIN_VERSION,
                                     .run_per = SCOREP_METRIC_PER_THREAD,
                                     .sync = SCOREP_METRIC_STRICTLY_SYNC,
                                     .initialize = initialize,
                                     .finalize = finalize,
                                     .get_event_info = get_event_info,
                                     .add_counter = add_counter,
                                     .get_current_value = get_current_value};
}
