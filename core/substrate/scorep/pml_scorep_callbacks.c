/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/scorep/pml_scorep_callbacks.c - callbacks that substrate plugins may use. */
#include "substrate/scorep/pml_scorep_private.h"

#include "base/pml_launched.h"
#include "source/pml_sources.h"

#include <stdlib.h>
#include <string.h>

/* ---- processes: from the launcher's environment variables ---- */

static int get_size(void) {
  struct pml__launched l;
  pml__launched(&l);
  return l.size > 0 ? l.size : 1;
}

static int get_rank(void) {
  struct pml__launched l;
  pml__launched(&l);
  return l.rank > 0 ? l.rank : 0;
}

static int no_answer(const char *what, int neutral) {
  pml__scorep_say("substrate plugins: the callback %s is not supported by pmlua", what);
  return neutral;
}

static size_t bytes_of(int count, SCOREP_Ipc_Datatype type) {
  static const size_t size[SCOREP_IPC_NUMBER_OF_DATATYPES] = {1, 1, 1, sizeof(int), sizeof(int), 4, 4, 8, 8, 8};
  if (count < 0 || (unsigned)type >= SCOREP_IPC_NUMBER_OF_DATATYPES) return 0;
  return (size_t)count * size[type];
}

/* With a single process, data gathered, reduced or scattered is the data sent. */
static int alone(const char *what, void *to, const void *from, size_t bytes) {
  if (get_size() > 1) return no_answer(what, 1);
  if (to != NULL && from != NULL && to != from) memmove(to, from, bytes);
  return 0;
}

static int send_to(const void *buffer, int count, SCOREP_Ipc_Datatype type, int to) {
  (void)buffer, (void)count, (void)type, (void)to;
  return no_answer("SCOREP_Ipc_Send", 1);
}
static int receive(void *buffer, int count, SCOREP_Ipc_Datatype type, int from) {
  (void)buffer, (void)count, (void)type, (void)from;
  return no_answer("SCOREP_Ipc_Recv", 1);
}
static int barrier(void) {
  return alone("SCOREP_Ipc_Barrier", NULL, NULL, 0);
}
static int broadcast(void *buffer, int count, SCOREP_Ipc_Datatype type, int root) {
  (void)buffer, (void)count, (void)type, (void)root;
  return alone("SCOREP_Ipc_Bcast", NULL, NULL, 0);
}
static int gather(const void *from, void *to, int count, SCOREP_Ipc_Datatype type, int root) {
  (void)root;
  return alone("SCOREP_Ipc_Gather", to, from, bytes_of(count, type));
}
static int gatherv(const void *from, int count, void *to, const int *counts, SCOREP_Ipc_Datatype type, int root) {
  (void)counts, (void)root;
  return alone("SCOREP_Ipc_Gatherv", to, from, bytes_of(count, type));
}
static int allgather(const void *from, void *to, int count, SCOREP_Ipc_Datatype type) {
  return alone("SCOREP_Ipc_Allgather", to, from, bytes_of(count, type));
}
static int reduce(const void *from, void *to, int count, SCOREP_Ipc_Datatype type, SCOREP_Ipc_Operation how, int root) {
  (void)how, (void)root;
  return alone("SCOREP_Ipc_Reduce", to, from, bytes_of(count, type));
}
static int allreduce(const void *from, void *to, int count, SCOREP_Ipc_Datatype type, SCOREP_Ipc_Operation how) {
  (void)how;
  return alone("SCOREP_Ipc_Allreduce", to, from, bytes_of(count, type));
}
static int scatter(const void *from, void *to, int count, SCOREP_Ipc_Datatype type, int root) {
  (void)root;
  return alone("SCOREP_Ipc_Scatter", to, from, bytes_of(count, type));
}
static int scatterv(const void *from, const int *counts, void *to, int count, SCOREP_Ipc_Datatype type, int root) {
  (void)counts, (void)root;
  return alone("SCOREP_Ipc_Scatterv", to, from, bytes_of(count, type));
}

/* ---- locations ---- */

static SCOREP_LocationType location_type(const struct SCOREP_Location *l) {
  return l != NULL ? SCOREP_LOCATION_TYPE_CPU_THREAD : SCOREP_INVALID_LOCATION_TYPE;
}
static const char *location_name(const struct SCOREP_Location *l) {
  return l != NULL ? l->name : "";
}
static uint32_t location_id(const struct SCOREP_Location *l) {
  return l != NULL ? l->id : UINT32_MAX;
}
/* As in Score-P: the process in the upper half, its location in the lower half. */
static uint64_t location_global_id(const struct SCOREP_Location *l) {
  return l != NULL ? (uint64_t)get_rank() << 32 | l->id : UINT64_MAX;
}
static void location_set(const struct SCOREP_Location *l, size_t plugin, void *data) {
  /* The interface declares it const, but the host owns it. */
  if (l != NULL && plugin < PML_SCOREP_MAX)
    atomic_store(&((struct SCOREP_Location *)(uintptr_t)l)->data[plugin], data); /* NOLINT(performance-no-int-to-ptr) */
}
static void *location_get(const struct SCOREP_Location *l, size_t plugin) {
  return l != NULL && plugin < PML_SCOREP_MAX ? atomic_load(&l->data[plugin]) : NULL;
}

/* ---- calling contexts: pmlua does not sample ---- */

static SCOREP_RegionHandle context_region(SCOREP_CallingContextHandle handle) {
  (void)handle;
  return (SCOREP_RegionHandle)no_answer("SCOREP_CallingContextHandle_GetRegion", 0);
}
static SCOREP_CallingContextHandle context_parent(SCOREP_CallingContextHandle handle) {
  (void)handle;
  return (SCOREP_CallingContextHandle)no_answer("SCOREP_CallingContextHandle_GetParent", 0);
}

/* ---- metrics: each is a separate sampling set; values are sums since the thread began them ---- */

static uint32_t metric_of(SCOREP_AnyHandle handle, uint32_t kind) {
  uint32_t i = handle & ~PML__SCOREP_KIND;
  return (handle & PML__SCOREP_KIND) == kind && i < pml__scorep_metrics() ? i : PML_STREAM_METRICS_MAX;
}
static bool is_metric(SCOREP_MetricHandle handle) {
  return metric_of(handle, PML__SCOREP_METRIC) < PML_STREAM_METRICS_MAX;
}
static SCOREP_MetricValueType metric_value_type(SCOREP_MetricHandle handle) {
  if (!is_metric(handle)) return SCOREP_INVALID_METRIC_VALUE_TYPE;
  return (SCOREP_MetricValueType)pml__scorep_metric_type(
      metric_of(handle, PML__SCOREP_METRIC)); /* both enumerations have the same order */
}
static const char *metric_name(SCOREP_MetricHandle handle) {
  const char *name = pml__scorep_metric_name(metric_of(handle, PML__SCOREP_METRIC));
  return name != NULL ? name : "";
}
static SCOREP_MetricProfilingType metric_profiling_type(SCOREP_MetricHandle handle) {
  return is_metric(handle) ? SCOREP_METRIC_PROFILING_TYPE_EXCLUSIVE : SCOREP_INVALID_METRIC_PROFILING_TYPE;
}
static SCOREP_MetricMode metric_mode(SCOREP_MetricHandle handle) {
  if (!is_metric(handle)) return SCOREP_INVALID_METRIC_MODE;
  return (SCOREP_MetricMode)pml__scorep_metric_mode(metric_of(handle, PML__SCOREP_METRIC));
}
static SCOREP_MetricSourceType metric_source_type(SCOREP_MetricHandle handle) {
  const char *name = metric_name(handle);
  if (*name == '\0') return SCOREP_INVALID_METRIC_SOURCE_TYPE;
  if (strncmp(name, "PAPI_", 5) == 0) return SCOREP_METRIC_SOURCE_TYPE_PAPI;
  const struct pml__source *source = pml__source_of(name);
  if (source == &pml__source_plugin) return SCOREP_METRIC_SOURCE_TYPE_PLUGIN;
  return source == &pml__source_kernel ? SCOREP_METRIC_SOURCE_TYPE_PERF : SCOREP_METRIC_SOURCE_TYPE_OTHER;
}

static uint8_t set_size(SCOREP_SamplingSetHandle handle) {
  return metric_of(handle, PML__SCOREP_SET) < PML_STREAM_METRICS_MAX ? 1 : 0;
}
static const SCOREP_MetricHandle *set_metrics(SCOREP_SamplingSetHandle handle) {
  static SCOREP_MetricHandle handles[PML_STREAM_METRICS_MAX];
  uint32_t i = metric_of(handle, PML__SCOREP_SET);
  if (i == PML_STREAM_METRICS_MAX) return NULL;
  __atomic_store_n(&handles[i], PML__SCOREP_METRIC | i, __ATOMIC_RELAXED); /* every thread stores the same value */
  return &handles[i];
}
static SCOREP_MetricOccurrence set_occurrence(SCOREP_SamplingSetHandle handle) {
  return set_size(handle) > 0 ? SCOREP_METRIC_OCCURRENCE_SYNCHRONOUS_STRICT : SCOREP_INVALID_METRIC_OCCURRENCE;
}
static bool set_is_scoped(SCOREP_SamplingSetHandle handle) {
  (void)handle;
  return false;
}
static SCOREP_MetricScope set_scope(SCOREP_SamplingSetHandle handle) {
  return set_size(handle) > 0 ? SCOREP_METRIC_SCOPE_LOCATION : SCOREP_INVALID_METRIC_SCOPE;
}
static SCOREP_SamplingSetClass set_class(SCOREP_SamplingSetHandle handle) {
  return set_size(handle) > 0 ? SCOREP_SAMPLING_SET_CPU : SCOREP_SAMPLING_SET_ABSTRACT;
}

/* ---- paradigms, regions, strings ---- */

static SCOREP_ParadigmType paradigm_type(SCOREP_ParadigmHandle handle) {
  uint32_t i = handle & ~PML__SCOREP_KIND;
  bool known = (handle & PML__SCOREP_KIND) == PML__SCOREP_PARADIGM &&
               (i <= SCOREP_PARADIGM_LIBWRAP || i == SCOREP_PARADIGM_OPENMP);
  return known ? (SCOREP_ParadigmType)i : SCOREP_INVALID_PARADIGM_TYPE;
}
static SCOREP_ParadigmClass paradigm_class(SCOREP_ParadigmHandle handle) {
  return paradigm_type(handle) == SCOREP_PARADIGM_OPENMP ? SCOREP_PARADIGM_CLASS_THREAD_FORK_JOIN
                                                         : SCOREP_INVALID_PARADIGM_CLASS;
}
static const char *paradigm_name(SCOREP_ParadigmHandle handle) {
  static const char *const name[] = {
      "measurement", "user", "compiler", "sampling", "memory", "libwrap", [SCOREP_PARADIGM_OPENMP] = "openmp"};
  SCOREP_ParadigmType type = paradigm_type(handle);
  return type != SCOREP_INVALID_PARADIGM_TYPE ? name[type] : "";
}

static struct pml_region_info region_of(SCOREP_RegionHandle handle) {
  struct pml_region_info info = {.name = "", .file = ""};
  (void)pml_region_describe(handle, &info);
  return info;
}
static uint32_t region_id(SCOREP_RegionHandle handle) {
  return handle;
}
static const char *region_name(SCOREP_RegionHandle handle) {
  return region_of(handle).name;
}
static const char *region_file(SCOREP_RegionHandle handle) {
  return region_of(handle).file;
}
static SCOREP_LineNo region_line(SCOREP_RegionHandle handle) {
  return region_of(handle).line;
}
static SCOREP_LineNo region_end_line(SCOREP_RegionHandle handle) {
  (void)handle;
  return SCOREP_INVALID_LINE_NO; /* the end of a region is unknown */
}
/* Functions of libraries have their library instead of a file. */
static bool is_of_library(SCOREP_RegionHandle handle) {
  struct pml_region_info info = region_of(handle);
  return info.line == 0 && strstr(info.file, ".so") != NULL;
}
/* Constructs of OpenMP are named "omp CONSTRUCT @PLACE". */
static SCOREP_RegionType openmp_type(const char *name) {
  static const struct {
    const char *construct;
    SCOREP_RegionType type;
  } types[] = {{"parallel", SCOREP_REGION_PARALLEL},   {"for", SCOREP_REGION_LOOP},
               {"sections", SCOREP_REGION_SECTIONS},   {"single", SCOREP_REGION_SINGLE},
               {"workshare", SCOREP_REGION_WORKSHARE}, {"masked", SCOREP_REGION_MASTER},
               {"barrier", SCOREP_REGION_BARRIER},     {"implicit barrier", SCOREP_REGION_IMPLICIT_BARRIER},
               {"taskwait", SCOREP_REGION_TASK_WAIT},  {"critical", SCOREP_REGION_CRITICAL},
               {"ordered", SCOREP_REGION_ORDERED},     {"task", SCOREP_REGION_TASK}};
  const char *end = strstr(name, " @");
  size_t n = end != NULL ? (size_t)(end - name) : strlen(name);
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
    if (strlen(types[i].construct) == n && memcmp(types[i].construct, name, n) == 0) return types[i].type;
  return SCOREP_REGION_UNKNOWN;
}
static bool is_openmp(SCOREP_RegionHandle handle) {
  return strncmp(region_name(handle), "omp ", 4) == 0;
}
static SCOREP_RegionType region_type(SCOREP_RegionHandle handle) {
  const char *name = region_name(handle);
  if (*name == '\0') return SCOREP_INVALID_REGION_TYPE;
  if (is_openmp(handle)) return openmp_type(name + 4);
  return is_of_library(handle) ? SCOREP_REGION_FUNCTION : SCOREP_REGION_USER;
}
static SCOREP_ParadigmType region_paradigm(SCOREP_RegionHandle handle) {
  if (*region_name(handle) == '\0') return SCOREP_INVALID_PARADIGM_TYPE;
  if (is_openmp(handle)) return SCOREP_PARADIGM_OPENMP;
  return is_of_library(handle) ? SCOREP_PARADIGM_LIBWRAP : SCOREP_PARADIGM_USER;
}

static SCOREP_ParameterType parameter_type(SCOREP_ParameterHandle handle) {
  (void)handle;
  return (SCOREP_ParameterType)no_answer("SCOREP_ParameterHandle_GetType", SCOREP_INVALID_PARAMETER_TYPE);
}
#define NO_NAME(function, what)                                                                                        \
  static const char *function(SCOREP_AnyHandle handle) {                                                               \
    (void)handle;                                                                                                      \
    (void)no_answer(what, 0);                                                                                          \
    return "";                                                                                                         \
  }
NO_NAME(parameter_name, "SCOREP_ParameterHandle_GetName")
NO_NAME(source_file_name, "SCOREP_SourceFileHandle_GetName")
#undef NO_NAME
static const char *string_of(SCOREP_StringHandle handle) {
  const char *text = pml__scorep_string_text(handle);
  if (text != NULL) return text;
  (void)no_answer("SCOREP_StringHandle_Get: not a string handle", 0);
  return "";
}

/* ---- metrics outside events ---- */

static void write_strict(struct SCOREP_Location *l, uint64_t time, SCOREP_Substrates_WriteMetricsCb f) {
  (void)l, (void)time, (void)f;
  (void)no_answer("SCOREP_Metric_WriteStrictlySynchronousMetrics", 0);
}
static void write_synchronous(struct SCOREP_Location *l, uint64_t time, SCOREP_Substrates_WriteMetricsCb f) {
  (void)l, (void)time, (void)f;
  (void)no_answer("SCOREP_Metric_WriteSynchronousMetrics", 0);
}
static void write_asynchronous(struct SCOREP_Location *l, SCOREP_Substrates_WriteMetricsCb f) {
  (void)l, (void)f;
  (void)no_answer("SCOREP_Metric_WriteAsynchronousMetrics", 0);
}
const SCOREP_SubstratePluginCallbacks pml__scorep_callbacks = {
    .SCOREP_GetExperimentDirName = pml__scorep_directory,
    .SCOREP_Ipc_GetSize = get_size,
    .SCOREP_Ipc_GetRank = get_rank,
    .SCOREP_Ipc_Send = send_to,
    .SCOREP_Ipc_Recv = receive,
    .SCOREP_Ipc_Barrier = barrier,
    .SCOREP_Ipc_Bcast = broadcast,
    .SCOREP_Ipc_Gather = gather,
    .SCOREP_Ipc_Gatherv = gatherv,
    .SCOREP_Ipc_Allgather = allgather,
    .SCOREP_Ipc_Reduce = reduce,
    .SCOREP_Ipc_Allreduce = allreduce,
    .SCOREP_Ipc_Scatter = scatter,
    .SCOREP_Ipc_Scatterv = scatterv,
    .SCOREP_Location_GetType = location_type,
    .SCOREP_Location_GetName = location_name,
    .SCOREP_Location_GetId = location_id,
    .SCOREP_Location_GetGlobalId = location_global_id,
    .SCOREP_Location_SetData = location_set,
    .SCOREP_Location_GetData = location_get,
    .SCOREP_CallingContextHandle_GetRegion = context_region,
    .SCOREP_CallingContextHandle_GetParent = context_parent,
    .SCOREP_MetricHandle_GetValueType = metric_value_type,
    .SCOREP_MetricHandle_GetName = metric_name,
    .SCOREP_MetricHandle_GetProfilingType = metric_profiling_type,
    .SCOREP_MetricHandle_GetMode = metric_mode,
    .SCOREP_MetricHandle_GetSourceType = metric_source_type,
    .SCOREP_ParadigmHandle_GetClass = paradigm_class,
    .SCOREP_ParadigmHandle_GetName = paradigm_name,
    .SCOREP_ParadigmHandle_GetType = paradigm_type,
    .SCOREP_ParameterHandle_GetName = parameter_name,
    .SCOREP_ParameterHandle_GetType = parameter_type,
    .SCOREP_RegionHandle_GetId = region_id,
    .SCOREP_RegionHandle_GetName = region_name,
    .SCOREP_RegionHandle_GetCanonicalName = region_name,
    .SCOREP_RegionHandle_GetFileName = region_file,
    .SCOREP_RegionHandle_GetBeginLine = region_line,
    .SCOREP_RegionHandle_GetEndLine = region_end_line,
    .SCOREP_RegionHandle_GetType = region_type,
    .SCOREP_RegionHandle_GetParadigmType = region_paradigm,
    .SCOREP_SamplingSetHandle_GetNumberOfMetrics = set_size,
    .SCOREP_SamplingSetHandle_GetMetricHandles = set_metrics,
    .SCOREP_SamplingSetHandle_GetMetricOccurrence = set_occurrence,
    .SCOREP_SamplingSetHandle_IsScoped = set_is_scoped,
    .SCOREP_SamplingSetHandle_GetScope = set_scope,
    .SCOREP_SamplingSetHandle_GetSamplingSetClass = set_class,
    .SCOREP_SourceFileHandle_GetName = source_file_name,
    .SCOREP_StringHandle_Get = string_of,
    .SCOREP_Metric_WriteStrictlySynchronousMetrics = write_strict,
    .SCOREP_Metric_WriteSynchronousMetrics = write_synchronous,
    .SCOREP_Metric_WriteAsynchronousMetrics = write_asynchronous,
    .SCOREP_ConfigManifestSectionHeader = pml__scorep_manifest_header,
    .SCOREP_ConfigManifestSectionEntry = pml__scorep_manifest_entry,
};
