/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/cost_stream.h - events and consumers whose instructions cost.c counts: each consumer replaces the previous
 * one. */
#ifndef SPEC_COST_STREAM_H
#define SPEC_COST_STREAM_H

#include "adapter/intercept/pml_intercept.h"
#include "adapter/intercept/pml_intercept_events.h"
#include "adapter/intercept/pml_intercept_instrumented.h"
#include "adapter/section/pml_section.h"
#include "adapter/wrap/pml_wrap.h"
#include "base/pml_region.h"
#include "base/pml_stream.h"
#include "control/balance/pml_balance.h"
#include "control/tune/pml_tune.h"
#include "record/events/pml_recording.h"
#include "record/pml_buffer.h"
#include "substrate/flow/pml_flow.h"
#include "substrate/profile/pml_profile.h"
#include "substrate/scorep/pml_scorep.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static struct pml_profile *profile;
static uint64_t consumer;
static const struct pml_stream_event raised = {.region = 1};

static void raise_call_of(pml_region_t of, uint64_t duration) {
  struct pml_stream_event e = {.ticks = 1, .region = of};
  pml_stream_emit(PML_STREAM_ENTER, &e);
  e.ticks += duration;
  pml_stream_emit(PML_STREAM_LEAVE, &e);
}

static void raise_call(uint64_t duration) {
  raise_call_of(region, duration);
}

static pml_region_t region_of_call(void) {
  struct pml_region_info info;
  pml_region_t r = 1;
  while (pml_region_describe(r, &info) == 0 && strcmp(info.name, "logb") != 0) r++;
  return r;
}

/* With calls of every length, so that no later one needs memory for its histogram. */
static inline void once_open_profile(void) {
  pml_region_t wrapped_region = region;
  if (profile != NULL || pml_profile_open(&profile) < 0) return;
  pml_region_t called = region_of_call();
  (void)pml_region_intern("cost", "cost", 0, &wrapped_region);
  for (unsigned i = 0; i < 64; i++) {
    raise_call(UINT64_C(1) << i);
    raise_call_of(wrapped_region, UINT64_C(1) << i);
    raise_call_of(called, UINT64_C(1) << i);
  }
}

/* A library's function that does next to nothing, and a consumer that does nothing. */
static volatile double number = 2, logarithm;

static void *begin(void *arg, uint64_t thread) {
  (void)thread;
  return arg;
}
static void drop(void *data, const struct pml_stream_event *e) {
  (void)data, (void)e;
}
static uint64_t drop_fast(void *data, pml_region_t called, uint64_t at) {
  (void)data, (void)called, (void)at;
  return 0;
}
static uint64_t drop_values(void *data, const struct pml_stream_event *e) {
  (void)data, (void)e;
  return 0;
}

static inline void once_intercept(void) {
  static const struct pml_intercept_options o = {.lib = "libm:cost", .sym = "logb:cost:call_instrumented"};
  static bool done;
  if (!done) (void)pml_intercept_install(&o);
  done = true;
}

static inline void once_consume(void) {
  static const struct pml_stream_consumer c = {
      .thread_begin = begin, .event = {drop, drop, NULL}, .fast = {drop_fast, drop_fast}, .arg = &profile};
  if (consumer == 0) (void)pml_stream_add(&c, &consumer);
}

static inline void once_drop_consumer(void) {
  if (consumer != 0) (void)pml_stream_remove(consumer);
  consumer = 0;
}

static struct pml_recording *recording;

/* Beside the profile, in a folder that is there already. */
static inline void once_open_trace(void) {
  if (recording != NULL || pml_recording_open(&recording, folder, "cost") < 0) return;
  (void)pml_recording_trace(recording, NULL);
}

static inline void once_close_profile(void) {
  pml_profile_close(profile);
  profile = NULL;
}

static struct pml_buffer *buffer;

/* In the place of the trace. */
static inline void once_open_buffer(void) {
  if (buffer != NULL) return;
  pml_recording_close(recording);
  recording = NULL;
  if (pml_buffer_open(&buffer, NULL) < 0) buffer = NULL;
}

static struct pml_flow *flow;

/* In the place of the buffer, with the loop that is measured under way. */
static inline void once_open_flow(void) {
  static bool done;
  if (done) return;
  done = true;
  pml_buffer_close(buffer);
  buffer = NULL;
  if (pml_flow_open(&flow, NULL) < 0) flow = NULL;
  for (unsigned i = 0; i < 4; i++) raise_call(64);
}

static struct pml_scorep *plugin;

/* In the place of the flow; its instructions are counted with the plugin's, which does nothing. */
static inline void once_open_plugin(void) {
  static bool done;
  char path[4096];
  if (done) return;
  done = true;
  pml_flow_close(flow);
  flow = NULL;
  ssize_t n = readlink("/proc/self/exe", path, sizeof path - 16);
  if (n <= 0) return;
  path[n] = '\0';
  memcpy(strrchr(path, '/'), "/plugins", sizeof "/plugins");
  (void)pml_scorep_open(&plugin, &(struct pml_scorep_options){.name = "nothing", .path = path});
}

static struct pml_tune *tune;
static struct pml_balance *balancer;

/* In the place of the plugin: a rule for another region. */
static inline void once_open_tune(void) {
  static const struct pml_tune_rule rule = {.region = "another", .threads = 1};
  if (tune != NULL) return;
  pml_scorep_close(plugin);
  plugin = NULL;
  if (pml_tune_open(&tune, &rule, 1, NULL) < 0) tune = NULL;
}

/* In the place of the tuner: another region blocks. */
static inline void once_open_balancer(void) {
  static const char *const sync[] = {"another"};
  if (balancer != NULL) return;
  pml_tune_close(tune);
  tune = NULL;
  const struct pml_balance_options o = {
      .sync = sync, .nsync = 1, .rule = {.reference_hz = 3e9, .min_hz = 1e9}, .tune = {.dry_run = true}};
  if (pml_balance_open(&balancer, &o) < 0) balancer = NULL;
}

PML_WRAP_FUNCTION(wrapped, "cost", "cost", NULL, 0);
static __attribute__((noinline)) void call_wrapped(void) {
  PML_WRAP_CALL(call, &wrapped);
  __asm__ volatile("");
}

/* Written out, as a compiler would do it. */
static __attribute__((noinline)) void call_instrumented(void) {
  pml__instrumented_enter((const void *)call_instrumented, __builtin_return_address(0));
  __asm__ volatile("");
  pml__instrumented_leave((const void *)call_instrumented, __builtin_return_address(0));
}

/* A call of a function as an interpreter reports it. */
static __attribute__((noinline)) void call_script(void) {
  static const char code;
  if (!pml__script_enter(&code)) {
    pml__script_name(&code, "cost", "cost");
    (void)pml__script_enter(&code);
  }
  pml__script_leave(&code);
}

static inline void once_switch_off(void) {
  static bool off;
  if (off) return;
  off = true;
  pml_balance_close(balancer);
  balancer = NULL;
  pml_section_enable(false);
}

/* From here on calls carry the value of an event. */
static inline void once_count(void) {
  static const struct pml_stream_consumer c = {.thread_begin = begin,
                                               .event = {drop, drop, NULL},
                                               .fast = {drop_fast, drop_fast},
                                               .fast_values = {drop_values, drop_values},
                                               .arg = &profile};
  static const char *const event[] = {"sde:::COST::V0"};
  static const struct pml_intercept_options o = {.lib = "libm:cost", .sym = "logb:cost"};
  const struct pml_stream_metrics *metrics;
  static bool done;
  if (done) return;
  done = true;
  pml_intercept_remove();
  if (pml_intercept_count(event, 1, NULL, &metrics) == 0) (void)pml_intercept_install(&o);
  (void)pml_stream_add(&c, &consumer);
}

/* Replaces the dropping consumer by the consumers of `pmlua record --event`. */
static inline void once_record_counts(void) {
  static const char *const event[] = {"sde:::COST::V0"};
  if (recording != NULL) return;
  once_drop_consumer();
  once_open_profile();
  if (pml_recording_open(&recording, folder, "counts") == 0) (void)pml_recording_sum(recording, event, 1);
}

/* In the place of that: a consumer that may use any register. */
static inline void once_consume_fully(void) {
  static const struct pml_stream_consumer c = {.thread_begin = begin, .event = {drop, drop, NULL}, .arg = &profile};
  if (consumer != 0) return;
  once_close_profile();
  pml_recording_close(recording);
  recording = NULL;
  (void)pml_stream_add(&c, &consumer);
}

static void stream_close(void) {
  pml_scorep_close(plugin);
  pml_buffer_close(buffer);
  pml_flow_close(flow);
  pml_profile_close(profile);
  pml_recording_close(recording);
}

PATH(stream_unwanted, pml_stream_emit(PML_STREAM_ENTER, &raised))
/* In this order: interception, a consumer and no more; then there is a profile, then a trace beside it, then the trace
 * alone, then a buffer, then a flow, then a plugin, then a tuner, then a balancer, then sections are off.
 */
PATH(library_call, logarithm = logb(number))
PATH(intercepted_unwanted, once_intercept(); logarithm = logb(number))
PATH(wrap_unwanted, call_wrapped())
PATH(intercepted, once_consume(); logarithm = logb(number))
PATH(stream_consumed, raise_call(64))
PATH(profiled, once_drop_consumer(); once_open_profile(); raise_call(64))
PATH(wrap_profiled, call_wrapped())
PATH(instrumented_profiled, call_instrumented())
PATH(script_profiled, call_script())
PATH(section_profiled, pml_section_start(section); pml_section_stop(section))
PATH(intercepted_profiled, logarithm = logb(number))
#ifdef __x86_64__ /* two callees of one caller, with the call sites of other rows */
PATH(profiled_in_turn, path_intercepted_profiled(); call_wrapped())
#endif
PATH(intercepted_recorded, once_open_trace(); logarithm = logb(number))
PATH(intercepted_traced, once_close_profile(); logarithm = logb(number))
PATH(section_traced, pml_section_start(section); pml_section_stop(section))
PATH(wrap_buffered, once_open_buffer(); call_wrapped())
PATH(stream_flow, once_open_flow(); raise_call(64))
PATH(wrap_flow, call_wrapped())
PATH(stream_plugin, once_open_plugin(); raise_call(64))
PATH(stream_tuned, once_open_tune(); raise_call(64))
PATH(stream_balanced, once_open_balancer(); raise_call(64))
PATH(section_off, once_switch_off(); pml_section_start(section); pml_section_stop(section))
PATH(intercepted_counted, once_count(); logarithm = logb(number))
PATH(intercepted_counted_recorded, once_record_counts(); logarithm = logb(number))
PATH(intercepted_counted_fully, once_consume_fully(); logarithm = logb(number))

#endif
