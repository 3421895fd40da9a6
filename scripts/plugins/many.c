/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/plugins/many.c - an asynchronous metric plugin that measures nothing, to see what its values cost. A token is
 * a number; its metric has that many values, evenly spaced between the beginning and the end.
 */
#include <scorep/SCOREP_MetricPlugins.h>

#include <stdlib.h>
#include <string.h>

#define COUNTERS 16

static uint64_t (*now)(void);
static uint64_t begun, ended;
static uint64_t wanted[COUNTERS];
static int32_t ncounters;

static int32_t initialize(void) {
  ncounters = 0;
  return now != NULL ? 0 : -1;
}

static void finalize(void) {}

static void set_clock_function(uint64_t (*clock_time)(void)) {
  now = clock_time;
}

static SCOREP_Metric_Plugin_MetricProperties *get_event_info(char *token) {
  SCOREP_Metric_Plugin_MetricProperties *m = calloc(2, sizeof *m);
  m->name = strdup(token);
  m->mode = SCOREP_METRIC_MODE_ABSOLUTE_POINT;
  m->value_type = SCOREP_METRIC_VALUE_UINT64;
  m->base = SCOREP_METRIC_BASE_DECIMAL;
  return m;
}

static int32_t add_counter(char *name) {
  if (ncounters == COUNTERS) return -1;
  wanted[ncounters] = strtoull(name, NULL, 10);
  return ncounters++;
}

static void synchronize(bool is_responsible, SCOREP_MetricSynchronizationMode mode) {
  if (!is_responsible) return;
  if (mode == SCOREP_METRIC_SYNCHRONIZATION_MODE_END)
    ended = now();
  else
    begun = now();
}

static uint64_t get_all_values(int32_t id, SCOREP_MetricTimeValuePair **list) {
  uint64_t n = wanted[id];
  *list = malloc(n * sizeof **list + 1);
  for (uint64_t i = 0; i < n; i++)
    (*list)[i] = (SCOREP_MetricTimeValuePair){begun + (uint64_t)((double)(ended - begun) * (double)i / (double)n), i};
  wanted[id] = 0;
  return n;
}

SCOREP_METRIC_PLUGIN_ENTRY(many) {
  return (SCOREP_Metric_Plugin_Info){.plugin_version = SCOREP_METRIC_PLUGIN_VERSION,
                                     .run_per = SCOREP_METRIC_PER_PROCESS,
                                     .sync = SCOREP_METRIC_ASYNC,
                                     .initialize = initialize,
                                     .finalize = finalize,
                                     .get_event_info = get_event_info,
                                     .add_counter = add_counter,
                                     .set_clock_function = set_clock_function,
                                     .get_all_values = get_all_values,
                                     .synchronize = synchronize};
}
