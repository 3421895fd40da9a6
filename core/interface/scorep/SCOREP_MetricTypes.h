/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/interface/scorep/SCOREP_MetricTypes.h - types of Score-P's metric plugin interface, binary
 * compatible. pmlua's own; C and C++.
 */
#ifndef SCOREP_METRIC_TYPES_H
#define SCOREP_METRIC_TYPES_H

#include <stdint.h>

/* The base of a value, and the time that it covers: one point (POINT), up to it (LAST), from it on (NEXT). */
typedef enum SCOREP_MetricMode {
  SCOREP_METRIC_MODE_ACCUMULATED_START, /* counts since the beginning */
  SCOREP_METRIC_MODE_ACCUMULATED_POINT,
  SCOREP_METRIC_MODE_ACCUMULATED_LAST,
  SCOREP_METRIC_MODE_ACCUMULATED_NEXT,
  SCOREP_METRIC_MODE_ABSOLUTE_POINT, /* current value */
  SCOREP_METRIC_MODE_ABSOLUTE_LAST,
  SCOREP_METRIC_MODE_ABSOLUTE_NEXT,
  SCOREP_METRIC_MODE_RELATIVE_POINT, /* increase since the previous value */
  SCOREP_METRIC_MODE_RELATIVE_LAST,
  SCOREP_METRIC_MODE_RELATIVE_NEXT,
  SCOREP_INVALID_METRIC_MODE
} SCOREP_MetricMode;

typedef enum SCOREP_MetricValueType {
  SCOREP_METRIC_VALUE_INT64,
  SCOREP_METRIC_VALUE_UINT64,
  SCOREP_METRIC_VALUE_DOUBLE,
  SCOREP_INVALID_METRIC_VALUE_TYPE
} SCOREP_MetricValueType;

/* A value means value * base^exponent unit. */
typedef enum SCOREP_MetricBase {
  SCOREP_METRIC_BASE_BINARY,
  SCOREP_METRIC_BASE_DECIMAL,
  SCOREP_INVALID_METRIC_BASE
} SCOREP_MetricBase;

/* Who counts: each thread, one thread of each process, of each host, of all. */
typedef enum SCOREP_MetricPer {
  SCOREP_METRIC_PER_THREAD,
  SCOREP_METRIC_PER_PROCESS,
  SCOREP_METRIC_PER_HOST,
  SCOREP_METRIC_ONCE,
  SCOREP_METRIC_PER_MAX
} SCOREP_MetricPer;

/* When values are read: at each event; at events, if available; series at events; series at the end. */
typedef enum SCOREP_MetricSynchronicity {
  SCOREP_METRIC_STRICTLY_SYNC,
  SCOREP_METRIC_SYNC,
  SCOREP_METRIC_ASYNC_EVENT,
  SCOREP_METRIC_ASYNC,
  SCOREP_METRIC_SYNC_TYPE_MAX
} SCOREP_MetricSynchronicity;

typedef enum SCOREP_MetricSynchronizationMode {
  SCOREP_METRIC_SYNCHRONIZATION_MODE_BEGIN,
  SCOREP_METRIC_SYNCHRONIZATION_MODE_BEGIN_MPP, /* for a program of several processes */
  SCOREP_METRIC_SYNCHRONIZATION_MODE_END,
  SCOREP_METRIC_SYNCHRONIZATION_MODE_MAX
} SCOREP_MetricSynchronizationMode;

typedef struct SCOREP_MetricTimeValuePair {
  uint64_t timestamp; /* ticks of the clock given to the plugin */
  uint64_t value;     /* the bits of its type */
} SCOREP_MetricTimeValuePair;

#endif
