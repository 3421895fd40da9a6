/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/plugins/bad.c - metric plugins with a single fault, each built with a FAULT: not a spec by itself. */
#include <scorep/SCOREP_MetricPlugins.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum fault {
  UNLIKE,    /* get_info has another name */
  NEWER,     /* a future version, without other faults */
  SCOPELESS, /* an invalid scope */
  SHARED,    /* strictly synchronous but per process */
  DUMB,      /* synchronous without get_optional_value */
  FAILING,   /* initialize fails */
  NOTHING,   /* get_event_info gives NULL */
  EMPTY,     /* its tokens match no metric */
  ENDLESS,   /* its list of metrics has no end */
  MODELESS,  /* a metric's mode is invalid */
  REFUSING,  /* add_counter gives -1 */
  BOASTING,  /* get_all_values counts more than its list has */
  HOLLOW,    /* get_all_values counts without a list */
  BACKWARDS, /* a rising metric falls */
  TIMELESS,  /* times of another clock */
  SHUFFLED,  /* the newest value comes first: no other fault */
  CYCLE_A,   /* it depends on the library of CYCLE_B, which depends on it */
  CYCLE_B,
  UNDEFINED, /* it calls an undefined function */
  HANGING    /* get_optional_value does not come back until bad_go_on is set */
};

#if defined(HAS)
static int bad_go_on, bad_hangs; /* plugins in one scope have a separate one each */
#else
extern int bad_go_on, bad_hangs;
int bad_go_on, bad_hangs;
#endif
static uint64_t (*now)(void);

#if defined(NEEDS)
int32_t NEEDS(void);
#endif

static int32_t initialize(void) {
#if defined(NEEDS)
  if (NEEDS() < 0) return -1;
#endif
  return FAULT == FAILING ? 42 : 0;
}

#if defined(HAS)
int32_t HAS(void);
int32_t HAS(void) {
  return 0;
}
#endif

static void finalize(void) {}

static SCOREP_Metric_Plugin_MetricProperties *get_event_info(char *token) {
  if (FAULT == NOTHING) return NULL;
  SCOREP_Metric_Plugin_MetricProperties *m = calloc(FAULT == ENDLESS ? 1 : 2, sizeof *m);
  if (FAULT == EMPTY) return m;
  m->name = strdup(token);
  m->mode = FAULT == MODELESS ? (SCOREP_MetricMode)77 : SCOREP_METRIC_MODE_ACCUMULATED_START;
  m->base = SCOREP_METRIC_BASE_DECIMAL;
  return m;
}

static int32_t add_counter(char *name) {
  return FAULT == REFUSING && strcmp(name, "m") == 0 ? -1 : 7;
}

static bool get_optional_value(int32_t id, uint64_t *value) {
  static const struct timespec nap = {0, 1000000};
  if (FAULT == HANGING) __atomic_store_n(&bad_hangs, 1, __ATOMIC_RELEASE);
  while (FAULT == HANGING && !__atomic_load_n(&bad_go_on, __ATOMIC_ACQUIRE)) nanosleep(&nap, NULL);
  *value = (uint64_t)id;
  return true;
}

static void set_clock_function(uint64_t (*clock_time)(void)) {
  now = clock_time;
}

/* A coarse clock returns one time repeatedly; then the order of values sorted by it would be undefined. */
static uint64_t later_than(uint64_t time) {
  uint64_t t = now();
  while (t == time) t = now();
  return t;
}

static uint64_t get_all_values(int32_t id, SCOREP_MetricTimeValuePair **list) {
  (void)id;
  if (FAULT == HOLLOW) return 1;
  SCOREP_MetricTimeValuePair *pair = calloc(3, sizeof *pair);
  uint64_t time = 0;
  for (unsigned i = 0; i < 3; i++) {
    time = later_than(time);
    pair[FAULT == SHUFFLED ? 2 - i : i] =
        (SCOREP_MetricTimeValuePair){FAULT == TIMELESS ? i : time, FAULT == BACKWARDS && i == 2 ? 0 : i + 1};
  }
  if (FAULT == TIMELESS) pair[2].timestamp = UINT64_MAX;
  *list = pair;
  return FAULT == BOASTING ? 1000000 : 3;
}

#define ENTRY(name) SCOREP_METRIC_PLUGIN_ENTRY(name)
ENTRY(NAME) {
  SCOREP_Metric_Plugin_Info info;
  bool series = FAULT == BOASTING || FAULT == HOLLOW || FAULT == BACKWARDS || FAULT == TIMELESS || FAULT == SHUFFLED;
  memset(&info, 0, sizeof info);
  info.plugin_version = FAULT == NEWER ? 99 : SCOREP_METRIC_PLUGIN_VERSION;
  info.run_per = FAULT == SCOPELESS ? (SCOREP_MetricPer)9 : SCOREP_METRIC_PER_PROCESS;
  info.sync = FAULT == SHARED ? SCOREP_METRIC_STRICTLY_SYNC : series ? SCOREP_METRIC_ASYNC : SCOREP_METRIC_SYNC;
  info.initialize = initialize;
  info.finalize = finalize;
  info.get_event_info = get_event_info;
  info.add_counter = add_counter;
  info.get_optional_value = FAULT == DUMB ? NULL : get_optional_value;
  info.set_clock_function = set_clock_function;
  info.get_all_values = get_all_values;
  return info;
}
