// SPDX-License-Identifier: BSD-3-Clause
// spec/c/plugins/sampler.cpp - a metric plugin in C++ with a thread owned by a static object that has a destructor:
// not a spec by itself. Built with FORKS it starts a new thread in a forked child and joins it there; the child's
// status is then 42.
#include <scorep/SCOREP_MetricPlugins.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>
#include <pthread.h>
#include <thread>
#include <unistd.h>

namespace {

struct sampler {
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> samples{0};
  std::thread thread; // its destructor ends the process while it can be joined
  void run() {
    while (!stop) {
      samples++;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
};

sampler &one() {
  static sampler s;
  return s;
}

bool is_child;

void begin_in_child() {
  is_child = true;
  new (&one().thread) std::thread(&sampler::run, &one());
}

int32_t initialize() {
  one().thread = std::thread(&sampler::run, &one());
#ifdef FORKS
  (void)pthread_atfork(nullptr, nullptr, begin_in_child);
#else
  (void)begin_in_child;
#endif
  return 0;
}

void finalize() {
  one().stop = true;
  one().thread.join();
}

__attribute__((destructor)) void unloaded() {
  if (one().thread.joinable()) std::abort();
}

#ifdef FORKS
// Destroyed before the thread's owner.
struct joiner {
  sampler &of = one();
  ~joiner() {
    if (of.thread.joinable()) finalize();
    if (is_child) _exit(42);
  }
} joiner_at_exit;
#endif

SCOREP_Metric_Plugin_MetricProperties *get_event_info(char *token) {
  auto *m = static_cast<SCOREP_Metric_Plugin_MetricProperties *>(
      std::calloc(2, sizeof(SCOREP_Metric_Plugin_MetricProperties)));
  m->name = strdup(token);
  m->value_type = SCOREP_METRIC_VALUE_UINT64;
  m->base = SCOREP_METRIC_BASE_DECIMAL;
  return m;
}

int32_t add_counter(char *) {
  return 0;
}

bool get_optional_value(int32_t, uint64_t *value) {
  *value = one().samples;
  return true;
}

} // namespace

#define ENTRY(name) SCOREP_METRIC_PLUGIN_ENTRY(name)
ENTRY(NAME) {
  SCOREP_Metric_Plugin_Info info;
  std::memset(&info, 0, sizeof info);
  info.plugin_version = SCOREP_METRIC_PLUGIN_VERSION;
  info.run_per = SCOREP_METRIC_PER_PROCESS;
  info.sync = SCOREP_METRIC_SYNC;
  info.initialize = initialize;
  info.finalize = finalize;
  info.get_event_info = get_event_info;
  info.add_counter = add_counter;
  info.get_optional_value = get_optional_value;
  return info;
}
