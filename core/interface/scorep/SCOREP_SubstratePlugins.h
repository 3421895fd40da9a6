/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/interface/scorep/SCOREP_SubstratePlugins.h - Score-P's substrate plugin interface: functions of the
 * plugin, and callbacks of its host. pmlua's own, with the layout of Score-P's version 3; C and C++.
 *
 * The library is libscorep_substrate_NAME.so; its entry is SCOREP_SUBSTRATE_PLUGIN_ENTRY(NAME) { ... }. The host calls,
 * where they are not NULL: init, set_callbacks, get_event_functions for both modes, assign_id, new_definition_handle as
 * definitions come up, create_location and activate_cpu_location before a thread's first event, init_mpp once the first
 * location is there; deactivate_cpu_location after a thread's last event; at the end pre_unify, write_data,
 * delete_location, finalize. The plugin owns the array that get_event_functions() returns.
 */
#ifndef SCOREP_SUBSTRATE_PLUGINS_H
#define SCOREP_SUBSTRATE_PLUGINS_H

#include "SCOREP_PublicHandles.h"
#include "SCOREP_PublicTypes.h"
#include "SCOREP_SubstrateEvents.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define SCOREP_SUBSTRATE_PLUGIN_VERSION 3
#define SCOREP_SUBSTRATE_PLUGIN_UNDEFINED_MANAGEMENT_FUNCTIONS 99

#ifdef __cplusplus
#define SCOREP_SUBSTRATE_PLUGIN_EXTERN extern "C"
#else
#define SCOREP_SUBSTRATE_PLUGIN_EXTERN extern
#endif
#define SCOREP_SUBSTRATE_PLUGIN_ENTRY(name)                                                                            \
  SCOREP_SUBSTRATE_PLUGIN_EXTERN SCOREP_SubstratePluginInfo SCOREP_SubstratePlugin_##name##_get_info(void)

typedef struct SCOREP_SubstratePluginCallbacks {
  const char *(*SCOREP_GetExperimentDirName)(void);
  int (*SCOREP_Ipc_GetSize)(void);
  int (*SCOREP_Ipc_GetRank)(void);
  int (*SCOREP_Ipc_Send)(const void *, int, SCOREP_Ipc_Datatype, int);
  int (*SCOREP_Ipc_Recv)(void *, int, SCOREP_Ipc_Datatype, int);
  int (*SCOREP_Ipc_Barrier)(void);
  int (*SCOREP_Ipc_Bcast)(void *, int, SCOREP_Ipc_Datatype, int);
  int (*SCOREP_Ipc_Gather)(const void *, void *, int, SCOREP_Ipc_Datatype, int);
  int (*SCOREP_Ipc_Gatherv)(const void *, int, void *, const int *, SCOREP_Ipc_Datatype, int);
  int (*SCOREP_Ipc_Allgather)(const void *, void *, int, SCOREP_Ipc_Datatype);
  int (*SCOREP_Ipc_Reduce)(const void *, void *, int, SCOREP_Ipc_Datatype, SCOREP_Ipc_Operation, int);
  int (*SCOREP_Ipc_Allreduce)(const void *, void *, int, SCOREP_Ipc_Datatype, SCOREP_Ipc_Operation);
  int (*SCOREP_Ipc_Scatter)(const void *, void *, int, SCOREP_Ipc_Datatype, int);
  int (*SCOREP_Ipc_Scatterv)(const void *, const int *, void *, int, SCOREP_Ipc_Datatype, int);
  SCOREP_LocationType (*SCOREP_Location_GetType)(const struct SCOREP_Location *);
  const char *(*SCOREP_Location_GetName)(const struct SCOREP_Location *);
  uint32_t (*SCOREP_Location_GetId)(const struct SCOREP_Location *);
  uint64_t (*SCOREP_Location_GetGlobalId)(const struct SCOREP_Location *);
  void (*SCOREP_Location_SetData)(const struct SCOREP_Location *, size_t, void *);
  void *(*SCOREP_Location_GetData)(const struct SCOREP_Location *, size_t);
  SCOREP_RegionHandle (*SCOREP_CallingContextHandle_GetRegion)(SCOREP_CallingContextHandle);
  SCOREP_CallingContextHandle (*SCOREP_CallingContextHandle_GetParent)(SCOREP_CallingContextHandle);
  SCOREP_MetricValueType (*SCOREP_MetricHandle_GetValueType)(SCOREP_MetricHandle);
  const char *(*SCOREP_MetricHandle_GetName)(SCOREP_MetricHandle);
  SCOREP_MetricProfilingType (*SCOREP_MetricHandle_GetProfilingType)(SCOREP_MetricHandle);
  SCOREP_MetricMode (*SCOREP_MetricHandle_GetMode)(SCOREP_MetricHandle);
  SCOREP_MetricSourceType (*SCOREP_MetricHandle_GetSourceType)(SCOREP_MetricHandle);
  SCOREP_ParadigmClass (*SCOREP_ParadigmHandle_GetClass)(SCOREP_ParadigmHandle);
  const char *(*SCOREP_ParadigmHandle_GetName)(SCOREP_ParadigmHandle);
  SCOREP_ParadigmType (*SCOREP_ParadigmHandle_GetType)(SCOREP_ParadigmHandle);
  const char *(*SCOREP_ParameterHandle_GetName)(SCOREP_ParameterHandle);
  SCOREP_ParameterType (*SCOREP_ParameterHandle_GetType)(SCOREP_ParameterHandle);
  uint32_t (*SCOREP_RegionHandle_GetId)(SCOREP_RegionHandle);
  const char *(*SCOREP_RegionHandle_GetName)(SCOREP_RegionHandle);
  const char *(*SCOREP_RegionHandle_GetCanonicalName)(SCOREP_RegionHandle);
  const char *(*SCOREP_RegionHandle_GetFileName)(SCOREP_RegionHandle);
  SCOREP_LineNo (*SCOREP_RegionHandle_GetBeginLine)(SCOREP_RegionHandle);
  SCOREP_LineNo (*SCOREP_RegionHandle_GetEndLine)(SCOREP_RegionHandle);
  SCOREP_RegionType (*SCOREP_RegionHandle_GetType)(SCOREP_RegionHandle);
  SCOREP_ParadigmType (*SCOREP_RegionHandle_GetParadigmType)(SCOREP_RegionHandle);
  uint8_t (*SCOREP_SamplingSetHandle_GetNumberOfMetrics)(SCOREP_SamplingSetHandle);
  const SCOREP_MetricHandle *(*SCOREP_SamplingSetHandle_GetMetricHandles)(SCOREP_SamplingSetHandle);
  SCOREP_MetricOccurrence (*SCOREP_SamplingSetHandle_GetMetricOccurrence)(SCOREP_SamplingSetHandle);
  bool (*SCOREP_SamplingSetHandle_IsScoped)(SCOREP_SamplingSetHandle);
  SCOREP_MetricScope (*SCOREP_SamplingSetHandle_GetScope)(SCOREP_SamplingSetHandle);
  SCOREP_SamplingSetClass (*SCOREP_SamplingSetHandle_GetSamplingSetClass)(SCOREP_SamplingSetHandle);
  const char *(*SCOREP_SourceFileHandle_GetName)(SCOREP_SourceFileHandle);
  const char *(*SCOREP_StringHandle_Get)(SCOREP_StringHandle);
  void (*SCOREP_Metric_WriteStrictlySynchronousMetrics)(struct SCOREP_Location *, uint64_t,
                                                        SCOREP_Substrates_WriteMetricsCb);
  void (*SCOREP_Metric_WriteSynchronousMetrics)(struct SCOREP_Location *, uint64_t, SCOREP_Substrates_WriteMetricsCb);
  void (*SCOREP_Metric_WriteAsynchronousMetrics)(struct SCOREP_Location *, SCOREP_Substrates_WriteMetricsCb);
  void (*SCOREP_ConfigManifestSectionHeader)(FILE *, const char *);
  void (*SCOREP_ConfigManifestSectionEntry)(FILE *, const char *, const char *, ...);
} SCOREP_SubstratePluginCallbacks;

typedef struct SCOREP_SubstratePluginInfo {
  uint32_t plugin_version;
  int (*init)(void);
  void (*assign_id)(size_t);
  void (*init_mpp)(void);
  void (*finalize)(void);
  void (*create_location)(const struct SCOREP_Location *, const struct SCOREP_Location *);
  void (*activate_cpu_location)(const struct SCOREP_Location *, const struct SCOREP_Location *, uint32_t);
  void (*deactivate_cpu_location)(const struct SCOREP_Location *, const struct SCOREP_Location *);
  void (*delete_location)(const struct SCOREP_Location *);
  void (*pre_unify)(void);
  void (*write_data)(void);
  void (*core_task_create)(const struct SCOREP_Location *, SCOREP_TaskHandle);
  void (*core_task_complete)(const struct SCOREP_Location *, SCOREP_TaskHandle);
  void (*new_definition_handle)(SCOREP_AnyHandle, SCOREP_HandleType);
  uint32_t (*get_event_functions)(SCOREP_Substrates_Mode, SCOREP_Substrates_Callback **);
  void (*set_callbacks)(const SCOREP_SubstratePluginCallbacks *, size_t);
  bool (*get_requirement)(SCOREP_Substrates_RequirementFlag);
  void (*dump_manifest)(FILE *, const char *, const char *);
  void (*undeclared[SCOREP_SUBSTRATE_PLUGIN_UNDEFINED_MANAGEMENT_FUNCTIONS])(void); /* NULL */
} SCOREP_SubstratePluginInfo;

#endif
