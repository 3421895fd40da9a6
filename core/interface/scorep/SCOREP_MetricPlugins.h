/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/interface/scorep/SCOREP_MetricPlugins.h - Score-P's metric plugin interface, binary compatible.
 * pmlua's own; C and C++.
 *
 *   #include <scorep/SCOREP_MetricPlugins.h>
 *   SCOREP_METRIC_PLUGIN_ENTRY(demo_plugin) {
 *     SCOREP_Metric_Plugin_Info info;
 *     memset(&info, 0, sizeof info);
 *     info.plugin_version = SCOREP_METRIC_PLUGIN_VERSION;
 *     ...
 *     return info;
 *   }
 *
 * built into libdemo_plugin.so, is loaded by SCOREP_METRIC_PLUGINS=demo_plugin SCOREP_METRIC_DEMO_PLUGIN=TOKEN,..., or
 * by pml.plugin.load. The calls come in this order: get_info; set_clock_function, initialize, get_event_info for each
 * token; add_counter for each metric on each thread (or once); synchronize at the beginning; values; synchronize at the
 * end; get_all_values of asynchronous ones; finalize.
 */
#ifndef SCOREP_METRIC_PLUGINS_H
#define SCOREP_METRIC_PLUGINS_H

#include "SCOREP_MetricTypes.h"

#include <stdbool.h>
#include <stddef.h>

#define SCOREP_METRIC_PLUGIN_VERSION 1

#ifdef __cplusplus
#define SCOREP_METRIC_PLUGIN_EXTERN_ extern "C"
#define SCOREP_METRIC_PLUGIN_ASSERT_ static_assert
#else
#define SCOREP_METRIC_PLUGIN_EXTERN_ extern
#define SCOREP_METRIC_PLUGIN_ASSERT_ _Static_assert
#endif

/* The one function that a plugin exports. */
#define SCOREP_METRIC_PLUGIN_ENTRY(name)                                                                               \
  SCOREP_METRIC_PLUGIN_EXTERN_ SCOREP_Metric_Plugin_Info SCOREP_MetricPlugin_##name##_get_info(void)

/* The array of which these are elements, and each name, are from malloc() and become the host's. */
typedef struct SCOREP_Metric_Plugin_MetricProperties {
  char *name; /* NULL: the end of the array */
  char *description;
  SCOREP_MetricMode mode;
  SCOREP_MetricValueType value_type;
  SCOREP_MetricBase base;
  int64_t exponent;
  char *unit;
} SCOREP_Metric_Plugin_MetricProperties;

/* Fields that a plugin does not set are 0. */
typedef struct SCOREP_Metric_Plugin_Info {
  uint32_t plugin_version;
  SCOREP_MetricPer run_per;
  SCOREP_MetricSynchronicity sync;
  uint64_t delta_t; /* ticks between two questions, at least; not of strictly synchronous ones */

  int32_t (*initialize)(void); /* 0: well */
  void (*finalize)(void);
  SCOREP_Metric_Plugin_MetricProperties *(*get_event_info)(char *token);
  int32_t (*add_counter)(char *name); /* the counter's id; negative: refused */

  uint64_t (*get_current_value)(int32_t id);                                 /* strictly synchronous: must be there */
  bool (*get_optional_value)(int32_t id, uint64_t *value);                   /* synchronous: must be there */
  void (*set_clock_function)(uint64_t (*clock_time)(void));                  /* asynchronous: must be there */
  uint64_t (*get_all_values)(int32_t id, SCOREP_MetricTimeValuePair **list); /* so must this; the list from malloc() */

  void (*synchronize)(bool is_responsible, SCOREP_MetricSynchronizationMode mode);
  uint64_t reserved[92];
} SCOREP_Metric_Plugin_Info;

#if UINTPTR_MAX == UINT64_MAX
#define SCOREP_METRIC_PLUGIN_AT_(type, field, offset)                                                                  \
  SCOREP_METRIC_PLUGIN_ASSERT_(offsetof(type, field) == (offset), "the layout of " #type " is fixed")
SCOREP_METRIC_PLUGIN_AT_(SCOREP_Metric_Plugin_MetricProperties, description, 8);
SCOREP_METRIC_PLUGIN_AT_(SCOREP_Metric_Plugin_MetricProperties, mode, 16);
SCOREP_METRIC_PLUGIN_AT_(SCOREP_Metric_Plugin_MetricProperties, value_type, 20);
SCOREP_METRIC_PLUGIN_AT_(SCOREP_Metric_Plugin_MetricProperties, base, 24);
SCOREP_METRIC_PLUGIN_AT_(SCOREP_Metric_Plugin_MetricProperties, exponent, 32);
SCOREP_METRIC_PLUGIN_AT_(SCOREP_Metric_Plugin_MetricProperties, unit, 40);
SCOREP_METRIC_PLUGIN_ASSERT_(sizeof(SCOREP_Metric_Plugin_MetricProperties) == 48, "the size is fixed");
SCOREP_METRIC_PLUGIN_AT_(SCOREP_Metric_Plugin_Info, plugin_version, 0);
SCOREP_METRIC_PLUGIN_AT_(SCOREP_Metric_Plugin_Info, run_per, 4);
SCOREP_METRIC_PLUGIN_AT_(SCOREP_Metric_Plugin_Info, sync, 8);
SCOREP_METRIC_PLUGIN_AT_(SCOREP_Metric_Plugin_Info, delta_t, 16);
SCOREP_METRIC_PLUGIN_AT_(SCOREP_Metric_Plugin_Info, initialize, 24);
SCOREP_METRIC_PLUGIN_AT_(SCOREP_Metric_Plugin_Info, finalize, 32);
SCOREP_METRIC_PLUGIN_AT_(SCOREP_Metric_Plugin_Info, get_event_info, 40);
SCOREP_METRIC_PLUGIN_AT_(SCOREP_Metric_Plugin_Info, add_counter, 48);
SCOREP_METRIC_PLUGIN_AT_(SCOREP_Metric_Plugin_Info, get_current_value, 56);
SCOREP_METRIC_PLUGIN_AT_(SCOREP_Metric_Plugin_Info, get_optional_value, 64);
SCOREP_METRIC_PLUGIN_AT_(SCOREP_Metric_Plugin_Info, set_clock_function, 72);
SCOREP_METRIC_PLUGIN_AT_(SCOREP_Metric_Plugin_Info, get_all_values, 80);
SCOREP_METRIC_PLUGIN_AT_(SCOREP_Metric_Plugin_Info, synchronize, 88);
SCOREP_METRIC_PLUGIN_AT_(SCOREP_Metric_Plugin_Info, reserved, 96);
SCOREP_METRIC_PLUGIN_ASSERT_(sizeof(SCOREP_Metric_Plugin_Info) == 832, "the size is fixed");
SCOREP_METRIC_PLUGIN_ASSERT_(sizeof(SCOREP_MetricTimeValuePair) == 16, "the size is fixed");
#undef SCOREP_METRIC_PLUGIN_AT_
#endif

#endif
