/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/plugins/series.c - an asynchronous metric plugin, built once for each KIND: not a spec by itself.
 *
 * A separate thread notes a value every 200 us between beginning and end: for "ticks" 1, 2, 3...; for "huge" down from
 * 2^64 - 1; for "wave" doubles up and down. The end waits until there are eight, even if the thread rarely ran. A token
 * "MANY" returns this number of values at once, created when they are requested.
 */
#include <scorep/SCOREP_MetricPlugins.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROOM (1 << 16)
#define COUNTERS 8
#define LEAST 8

static uint64_t (*now)(void);
static uint64_t begun;
static struct {
  int kind; /* -1: huge, 0: ticks, 1: wave, else that many */
  size_t n, given;
  SCOREP_MetricTimeValuePair pair[ROOM];
} counter[COUNTERS];
static int32_t ncounters;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_t thread;
static int running, stop;

static int32_t initialize(void) {
  return now != NULL ? 0 : -1;
}

static void finalize(void) {}

static void set_clock_function(uint64_t (*clock_time)(void)) {
  now = clock_time;
}

static SCOREP_Metric_Plugin_MetricProperties *get_event_info(char *token) {
  SCOREP_Metric_Plugin_MetricProperties *m = calloc(2, sizeof *m);
  bool wave = strcmp(token, "wave") == 0, huge = strcmp(token, "huge") == 0;
  m->name = strdup(token);
  m->description = "measured in its own time";
  m->mode = wave || huge ? SCOREP_METRIC_MODE_ABSOLUTE_NEXT : SCOREP_METRIC_MODE_ACCUMULATED_START;
  m->value_type = wave ? SCOREP_METRIC_VALUE_DOUBLE : SCOREP_METRIC_VALUE_UINT64;
  m->base = SCOREP_METRIC_BASE_DECIMAL;
  m->exponent = wave ? -2 : 0;
  m->unit = wave ? "V" : "#";
  return m;
}

static int32_t add_counter(char *name) {
  if (ncounters == COUNTERS) return -1;
  counter[ncounters].kind = strcmp(name, "ticks") == 0  ? 0
                            : strcmp(name, "wave") == 0 ? 1
                            : strcmp(name, "huge") == 0 ? -1
                                                        : atoi(name);
  return ncounters++;
}

static void note(int32_t i) {
  size_t n = counter[i].n;
  double wave = (double)(n % 8) / 4;
  if (n == ROOM || counter[i].kind > 1) return;
  counter[i].pair[n].timestamp = now();
  counter[i].pair[n].value = counter[i].kind < 0 ? UINT64_MAX - n : n + 1;
  if (counter[i].kind == 1) memcpy(&counter[i].pair[n].value, &wave, sizeof wave);
  counter[i].n++;
}

static void *measure(void *arg) {
  (void)arg;
  while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
    static const struct timespec nap = {0, 200000};
    pthread_mutex_lock(&lock);
    for (int32_t i = 0; i < ncounters; i++) note(i);
    pthread_mutex_unlock(&lock);
    nanosleep(&nap, NULL);
  }
  return NULL;
}

static bool has_least(void) {
  bool has = true;
  pthread_mutex_lock(&lock);
  for (int32_t i = 0; i < ncounters; i++) has = has && (counter[i].kind > 1 || counter[i].n >= LEAST);
  pthread_mutex_unlock(&lock);
  return has;
}

static void synchronize(bool is_responsible, SCOREP_MetricSynchronizationMode mode) {
  if (!is_responsible) return;
  if (mode != SCOREP_METRIC_SYNCHRONIZATION_MODE_END) {
    begun = now();
    running = pthread_create(&thread, NULL, measure, NULL) == 0;
  } else if (running) {
    for (int i = 0; i < 60000 && !has_least(); i++) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    running = 0;
  }
}

static uint64_t many(SCOREP_MetricTimeValuePair **list, uint64_t n) {
  uint64_t end = now();
  *list = malloc(n * sizeof **list);
  for (uint64_t i = 0; i < n; i++) (*list)[i] = (SCOREP_MetricTimeValuePair){begun + (end - begun) * i / n, i};
  return n;
}

static uint64_t get_all_values(int32_t id, SCOREP_MetricTimeValuePair **list) {
  if (counter[id].kind > 1) return counter[id].given++ == 0 ? many(list, (uint64_t)counter[id].kind) : 0;
  pthread_mutex_lock(&lock);
  size_t n = counter[id].n - counter[id].given;
  *list = malloc(n * sizeof **list + 1);
  memcpy(*list, counter[id].pair + counter[id].given, n * sizeof **list);
  counter[id].given += n;
  pthread_mutex_unlock(&lock);
  return n;
}

#define ENTRY(name) SCOREP_METRIC_PLUGIN_ENTRY(name)
ENTRY(NAME) {
  SCOREP_Metric_Plugin_Info info;
  memset(&info, 0, sizeof info);
  info.plugin_version = SCOREP_METRIC_PLUGIN_VERSION;
  info.run_per = SCOREP_METRIC_PER_PROCESS;
  info.sync = KIND;
  info.initialize = initialize;
  info.finalize = finalize;
  info.get_event_info = get_event_info;
  info.add_counter = add_counter;
  info.set_clock_function = set_clock_function;
  info.get_all_values = get_all_values;
  info.synchronize = synchronize;
  return info;
}
