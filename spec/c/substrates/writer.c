/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/substrates/writer.c - a substrate plugin that writes down all that its host does, to writer.txt in the
 * experiment's folder; not a spec by itself.
 */
#include <scorep/SCOREP_SubstratePlugins.h>

#include <inttypes.h>
#include <pthread.h>
#include <string.h>

static const SCOREP_SubstratePluginCallbacks *host;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char text[1 << 20];
static size_t used, plugin;

/* Events leave half of the room to what comes after them. */
#define WRITE_UP_TO(limit, ...)                                                                                        \
  do {                                                                                                                 \
    pthread_mutex_lock(&lock);                                                                                         \
    if (used < (limit)) used += (size_t)snprintf(text + used, sizeof text - used, __VA_ARGS__);                        \
    pthread_mutex_unlock(&lock);                                                                                       \
  } while (0)
#define WRITE(...) WRITE_UP_TO(sizeof text, __VA_ARGS__)

static int init(void) {
  WRITE("init\n");
  return 0;
}
static void assign_id(size_t id) {
  plugin = id;
  WRITE("assign_id\n");
}
static void init_mpp(void) {
  WRITE("init_mpp rank %d of %d\n", host->SCOREP_Ipc_GetRank(), host->SCOREP_Ipc_GetSize());
}
static void set_callbacks(const SCOREP_SubstratePluginCallbacks *callbacks, size_t size) {
  host = callbacks;
  WRITE("set_callbacks %zu\n", size);
}
static bool get_requirement(SCOREP_Substrates_RequirementFlag flag) {
  return flag == SCOREP_SUBSTRATES_REQUIREMENT_CREATE_EXPERIMENT_DIRECTORY;
}

static void define(SCOREP_AnyHandle handle, SCOREP_HandleType type) {
  if (type == SCOREP_HANDLE_TYPE_REGION)
    WRITE("region %s %s %u %d %d\n", host->SCOREP_RegionHandle_GetName(handle),
          host->SCOREP_RegionHandle_GetFileName(handle), host->SCOREP_RegionHandle_GetBeginLine(handle),
          (int)host->SCOREP_RegionHandle_GetType(handle), (int)host->SCOREP_RegionHandle_GetParadigmType(handle));
  else if (type == SCOREP_HANDLE_TYPE_METRIC)
    WRITE("metric %s %d %d\n", host->SCOREP_MetricHandle_GetName(handle),
          (int)host->SCOREP_MetricHandle_GetValueType(handle), (int)host->SCOREP_MetricHandle_GetSourceType(handle));
  else if (type == SCOREP_HANDLE_TYPE_PARADIGM)
    WRITE("paradigm %s\n", host->SCOREP_ParadigmHandle_GetName(handle));
}

static void create(const struct SCOREP_Location *location, const struct SCOREP_Location *parent) {
  host->SCOREP_Location_SetData(location, plugin, calloc(1, sizeof(unsigned)));
  WRITE("create %u of %d\n", host->SCOREP_Location_GetId(location),
        parent != NULL ? (int)host->SCOREP_Location_GetId(parent) : -1);
}
static void activate(const struct SCOREP_Location *location, const struct SCOREP_Location *parent, uint32_t n) {
  (void)parent, (void)n;
  WRITE("activate %u %s\n", host->SCOREP_Location_GetId(location), host->SCOREP_Location_GetName(location));
}
static void deactivate(const struct SCOREP_Location *location, const struct SCOREP_Location *parent) {
  (void)parent;
  WRITE("deactivate %u\n", host->SCOREP_Location_GetId(location));
}
static void delete (const struct SCOREP_Location *location) {
  unsigned *n = host->SCOREP_Location_GetData(location, plugin);
  WRITE("delete %u after %u\n", host->SCOREP_Location_GetId(location), *n);
  free(n);
}

static void event(struct SCOREP_Location *location, const char *what, SCOREP_RegionHandle region, uint64_t value) {
  ++*(unsigned *)host->SCOREP_Location_GetData(location, plugin);
  WRITE_UP_TO(sizeof text / 2, "%u %s %s %" PRIu64 "\n", host->SCOREP_Location_GetId(location), what,
              host->SCOREP_RegionHandle_GetName(region), value);
}
static void enter(struct SCOREP_Location *location, uint64_t time, SCOREP_RegionHandle region, uint64_t *values) {
  (void)time;
  event(location, "enter", region, values[0]);
}
static void leave(struct SCOREP_Location *location, uint64_t time, SCOREP_RegionHandle region, uint64_t *values) {
  (void)time;
  event(location, "leave", region, values[0]);
}
static void disabled_enter(struct SCOREP_Location *location, uint64_t time, SCOREP_RegionHandle region, uint64_t *v) {
  (void)time, (void)v;
  event(location, "unrecorded", region, 0);
}
static void off(struct SCOREP_Location *location, uint64_t time, SCOREP_RegionHandle region, uint64_t *values) {
  (void)time, (void)values;
  event(location, "off", region, 0);
}
static void on(struct SCOREP_Location *location, uint64_t time, SCOREP_RegionHandle region, uint64_t *values) {
  (void)time, (void)values;
  event(location, "on", region, 0);
}
static void whole(struct SCOREP_Location *location, uint64_t time, SCOREP_SamplingSetHandle set, uint64_t value) {
  (void)time;
  WRITE("%u counter %s %" PRIu64 "\n", host->SCOREP_Location_GetId(location),
        host->SCOREP_MetricHandle_GetName(host->SCOREP_SamplingSetHandle_GetMetricHandles(set)[0]), value);
}
static void real(struct SCOREP_Location *location, uint64_t time, SCOREP_SamplingSetHandle set, double value) {
  (void)time;
  WRITE("%u counter %s %g\n", host->SCOREP_Location_GetId(location),
        host->SCOREP_MetricHandle_GetName(host->SCOREP_SamplingSetHandle_GetMetricHandles(set)[0]), value);
}
static void whole_signed(struct SCOREP_Location *location, uint64_t time, SCOREP_SamplingSetHandle set, int64_t value) {
  SCOREP_MetricHandle metric = host->SCOREP_SamplingSetHandle_GetMetricHandles(set)[0];
  (void)time;
  WRITE("%u counter %s %" PRId64 " of type %d and mode %d\n", host->SCOREP_Location_GetId(location),
        host->SCOREP_MetricHandle_GetName(metric), value, (int)host->SCOREP_MetricHandle_GetValueType(metric),
        (int)host->SCOREP_MetricHandle_GetMode(metric));
}
static void program_begin(struct SCOREP_Location *location, uint64_t time, SCOREP_StringHandle name, uint32_t n,
                          SCOREP_StringHandle *arguments, SCOREP_RegionHandle region, uint64_t pid, uint64_t tid) {
  (void)time, (void)tid;
  WRITE("%u program %s of %u arguments:", host->SCOREP_Location_GetId(location), host->SCOREP_StringHandle_Get(name),
        n);
  for (uint32_t i = 0; i < n; i++) WRITE(" %s,", host->SCOREP_StringHandle_Get(arguments[i]));
  WRITE(" region %s, process %" PRIu64 "\n", host->SCOREP_RegionHandle_GetName(region), pid);
}
static void program_end(struct SCOREP_Location *location, uint64_t time, SCOREP_ExitStatus status,
                        SCOREP_RegionHandle region) {
  (void)time;
  WRITE("%u program ends%s, region %s\n", host->SCOREP_Location_GetId(location),
        status == SCOREP_INVALID_EXIT_STATUS ? "" : " with a status", host->SCOREP_RegionHandle_GetName(region));
}
static void unheard(void) {}

static uint32_t functions(SCOREP_Substrates_Mode mode, SCOREP_Substrates_Callback **out) {
  static SCOREP_Substrates_Callback of[SCOREP_SUBSTRATES_NUM_MODES][SCOREP_SUBSTRATES_NUM_EVENTS];
  SCOREP_Substrates_Callback *f = *out = of[mode];
  if (mode == SCOREP_SUBSTRATES_RECORDING_DISABLED) {
    f[SCOREP_EVENT_ENTER_REGION] = (SCOREP_Substrates_Callback)disabled_enter;
    return SCOREP_SUBSTRATES_NUM_EVENTS;
  }
  f[SCOREP_EVENT_ENTER_REGION] = (SCOREP_Substrates_Callback)enter;
  f[SCOREP_EVENT_EXIT_REGION] = (SCOREP_Substrates_Callback)leave;
  f[SCOREP_EVENT_ENABLE_RECORDING] = (SCOREP_Substrates_Callback)on;
  f[SCOREP_EVENT_DISABLE_RECORDING] = (SCOREP_Substrates_Callback)off;
  f[SCOREP_EVENT_TRIGGER_COUNTER_UINT64] = (SCOREP_Substrates_Callback)whole;
  f[SCOREP_EVENT_TRIGGER_COUNTER_INT64] = (SCOREP_Substrates_Callback)whole_signed;
  f[SCOREP_EVENT_PROGRAM_BEGIN] = (SCOREP_Substrates_Callback)program_begin;
  f[SCOREP_EVENT_PROGRAM_END] = (SCOREP_Substrates_Callback)program_end;
  f[SCOREP_EVENT_TRIGGER_COUNTER_DOUBLE] = (SCOREP_Substrates_Callback)real;
  f[SCOREP_EVENT_MPI_SEND] = (SCOREP_Substrates_Callback)unheard;
  f[SCOREP_EVENT_IO_SEEK] = (SCOREP_Substrates_Callback)unheard;
  return SCOREP_SUBSTRATES_NUM_EVENTS;
}

static void pre_unify(void) {
  char sum[8] = "", sent[8] = "alone";
  int failed = host->SCOREP_Ipc_Send(sent, 5, SCOREP_IPC_CHAR, 1);
  int gathered = host->SCOREP_Ipc_Gather(sent, sum, 6, SCOREP_IPC_CHAR, 0);
  WRITE("pre_unify %d %d %s string '%s'\n", failed != 0, gathered, sum, host->SCOREP_StringHandle_Get(1));
}
static void write_data(void) {
  WRITE("write_data\n");
}
static void dump_manifest(FILE *manifest, const char *source, const char *target) {
  WRITE("dump_manifest %s %s\n", source, target);
  host->SCOREP_ConfigManifestSectionHeader(manifest, "Writer");
  host->SCOREP_ConfigManifestSectionEntry(manifest, "writer.txt", "%d file with %s", 1, "all of it");
}
static void finalize(void) {
  char path[4096];
  snprintf(path, sizeof path, "%s/writer.txt", host->SCOREP_GetExperimentDirName());
  WRITE("finalize\n");
  FILE *f = fopen(path, "w");
  if (f == NULL) return;
  fwrite(text, 1, used, f);
  fclose(f);
  used = 0;
}

SCOREP_SUBSTRATE_PLUGIN_ENTRY(writer) {
  SCOREP_SubstratePluginInfo info;
  memset(&info, 0, sizeof info);
  info.plugin_version = SCOREP_SUBSTRATE_PLUGIN_VERSION;
  info.init = init;
  info.assign_id = assign_id;
  info.init_mpp = init_mpp;
  info.set_callbacks = set_callbacks;
  info.get_requirement = get_requirement;
  info.new_definition_handle = define;
  info.create_location = create;
  info.activate_cpu_location = activate;
  info.deactivate_cpu_location = deactivate;
  info.delete_location = delete;
  info.get_event_functions = functions;
  info.pre_unify = pre_unify;
  info.write_data = write_data;
  info.dump_manifest = dump_manifest;
  info.finalize = finalize;
  return info;
}
