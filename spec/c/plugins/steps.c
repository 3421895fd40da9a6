/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/plugins/steps.c - a strictly synchronous metric plugin whose values are known: not a spec by itself.
 *
 * Each token is a metric: its value is the number of its reads on its thread; each has another type and mode. "all"
 * selects all metrics.
 */
#include <scorep/SCOREP_MetricPlugins.h>

#include <stdlib.h>
#include <string.h>

#define COUNTERS 4096

static const SCOREP_Metric_Plugin_MetricProperties known[] = {
    {"steps", "times asked", SCOREP_METRIC_MODE_ACCUMULATED_START, SCOREP_METRIC_VALUE_UINT64,
     SCOREP_METRIC_BASE_DECIMAL, 0, "#"},
    {"halves", "half of them", SCOREP_METRIC_MODE_ACCUMULATED_LAST, SCOREP_METRIC_VALUE_DOUBLE,
     SCOREP_METRIC_BASE_DECIMAL, -3, "s"},
    {"debts", "counted down", SCOREP_METRIC_MODE_ABSOLUTE_POINT, SCOREP_METRIC_VALUE_INT64, SCOREP_METRIC_BASE_BINARY,
     10, "B"},
    {"ones", "one more each time", SCOREP_METRIC_MODE_RELATIVE_LAST, SCOREP_METRIC_VALUE_INT64,
     SCOREP_METRIC_BASE_DECIMAL, 0, "#"},
};
#define KNOWN (sizeof known / sizeof *known)

static struct {
  unsigned metric;
  uint64_t asked;
} counter[COUNTERS];
static int32_t ncounters;

static int32_t initialize(void) {
  return 0;
}

static void finalize(void) {}

static SCOREP_Metric_Plugin_MetricProperties *get_event_info(char *token) {
  SCOREP_Metric_Plugin_MetricProperties *m = calloc(KNOWN + 1, sizeof *m);
  size_t n = 0;
  for (size_t i = 0; i < KNOWN; i++) {
    if (strcmp(token, "all") != 0 && strcmp(token, known[i].name) != 0) continue;
    m[n] = known[i];
    m[n++].name = strdup(known[i].name);
  }
  return m;
}

static int32_t add_counter(char *name) {
  unsigned i = 0;
  while (i < KNOWN && strcmp(known[i].name, name) != 0) i++;
  int32_t id = __atomic_fetch_add(&ncounters, 1, __ATOMIC_RELAXED);
  if (i == KNOWN || id >= COUNTERS) return -1;
  counter[id].metric = i;
  return id;
}

static uint64_t get_current_value(int32_t id) {
  uint64_t n = ++counter[id].asked, bits;
  double half = (double)n / 2;
  switch (counter[id].metric) {
  case 1:
    memcpy(&bits, &half, sizeof bits);
    return bits;
  case 2:
    return (uint64_t) - (int64_t)n;
  case 3:
    return 1;
  default:
    return n;
  }
}

SCOREP_METRIC_PLUGIN_ENTRY(steps) {
  SCOREP_Metric_Plugin_Info info;
  memset(&info, 0, sizeof info);
  info.plugin_version = SCOREP_METRIC_PLUGIN_VERSION;
  info.run_per = SCOREP_METRIC_PER_THREAD;
  info.sync = SCOREP_METRIC_STRICTLY_SYNC;
  info.initialize = initialize;
  info.finalize = finalize;
  info.get_event_info = get_event_info;
  info.add_counter = add_counter;
  info.get_current_value = get_current_value;
  return info;
}
