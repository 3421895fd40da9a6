/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/scorep.c - substrate plugins get what they were promised, also under threads, and bad ones are named. */
#include "base/pml_thread.h"
#include "check.h"
#include "folder.h"
#include "plugins.h"
#include "substrate/scorep/pml_scorep.h"
#include "substrate/scorep/pml_scorep_private.h"

#include <stddef.h>

static char written[] = "/tmp/pmlua-spec-XXXXXX";

static bool scorep_begin(void) {
  find_folder();
  return mkdtemp(written) != NULL;
}
static int scorep_done(void) {
  folder_remove(written);
  return check_done();
}

static int open_plugin(const char *name, struct pml_scorep **p) {
  return pml_scorep_open(p, &(struct pml_scorep_options){.name = name, .path = folder, .directory = written});
}

static char *read_file(const char *name) {
  static char text[1 << 20];
  char path[64];
  snprintf(path, sizeof path, "%s/%s", written, name);
  FILE *f = fopen(path, "r");
  size_t n = f != NULL ? fread(text, 1, sizeof text - 1, f) : 0;
  if (f != NULL) fclose(f);
  text[n] = '\0';
  return text;
}

static pml_region_t outer, inner, other;

static void raise_one(enum pml_stream_kind kind, pml_region_t region) {
  static uint64_t ticks;
  pml_stream_emit(kind, &(struct pml_stream_event){.ticks = ++ticks, .region = region});
}

static bool is_said(const char *part) {
  const char *line;
  for (size_t i = 0; (line = pml_scorep_line(i)) != NULL; i++)
    if (strstr(line, part) != NULL) return true;
  return false;
}

static bool in_order(const char *text, const char *const *part) {
  for (; *part != NULL; part++) {
    text = strstr(text, *part);
    if (text == NULL) {
      printf("# not there, or not in its place: %s\n", *part);
      return false;
    }
    text += strlen(*part);
  }
  return true;
}

static struct pml_stream_metrics *metrics_of(const char *first, const char *second) {
  const char *names[] = {first, second};
  struct pml_stream_metrics *m = NULL;
  (void)pml_stream_metrics(names, 2, &m);
  return m;
}

static void raise_values(enum pml_stream_kind kind, pml_region_t region, const struct pml_stream_metrics *m, uint64_t a,
                         uint64_t b) {
  uint64_t values[] = {a, b};
  pml_stream_emit(kind, &(struct pml_stream_event){.ticks = 100 + a, .region = region, .metrics = m, .values = values});
}

static int read_level(void *arg, size_t metric, uint64_t *value) {
  (void)arg, (void)metric;
  *value = (uint64_t)-3;
  return 1;
}

static void provide_level(void) {
  static const struct pml_plugin_metric level = {
      .name = "level", .mode = PML_MODE_ABSOLUTE_LAST, .value = PML_PLUGIN_INT64};
  struct pml_plugin *p;
  (void)pml_plugin_provide(
      "depth",
      &(struct pml_plugin_provider){
          .sync = PML_PLUGIN_SYNC, .scope = PML_PLUGIN_PROCESS, .metric = &level, .nmetrics = 1, .read = read_level},
      &p);
}

static void raise_level(void) {
  static const char *const name = "plugin::depth::level";
  struct pml_stream_metrics *m = NULL;
  uint64_t value = (uint64_t)-3;
  provide_level();
  if (pml_stream_metrics(&name, 1, &m) < 0) return;
  pml_stream_emit(PML_STREAM_METRIC, &(struct pml_stream_event){.ticks = 200, .metrics = m, .values = &value});
}

static void events(struct pml_scorep *p) {
  double half = 0.5;
  uint64_t bits;
  memcpy(&bits, &half, sizeof bits);
  struct pml_stream_metrics *m = metrics_of("page-faults", "plugin::sine::value");
  pml_stream_metrics_set_real(m, 1);
  raise_one(PML_STREAM_LEAVE, inner); /* entered before the plugin */
  raise_one(PML_STREAM_ENTER, outer);
  pml_region_intern("later", "later.c", 7, &other);
  raise_one(PML_STREAM_ENTER, other);
  raise_values(PML_STREAM_ENTER, inner, m, 5, bits);
  raise_one(PML_STREAM_LEAVE, other); /* inner is still open */
  raise_values(PML_STREAM_METRIC, 0, m, 9, bits);
  raise_level();
  pml_scorep_record(p, false);
  raise_one(PML_STREAM_ENTER, inner);
  raise_one(PML_STREAM_LEAVE, inner);
  pml_scorep_record(p, true);
}

static void a_whole_life(void) {
  struct pml_scorep *p, *again;
  struct pml_scorep_stats s;
  if (!CHECK(open_plugin("writer", &p) == 0, "a plugin is loaded")) return;
  CHECK(open_plugin("writer", &again) == -EEXIST && again == NULL, "once at a time");
  events(p);
  pml_scorep_stats(p, &s);
  CHECK(s.threads == 1 && s.regions == pml_region_count() && s.metrics == 3 && s.unmatched == 1 && !s.dropped,
        "its figures are told: %u threads, %u regions, %u metrics, %llu unmatched", s.threads, s.regions, s.metrics,
        (unsigned long long)s.unmatched);
  pml_scorep_close(p);
  raise_one(PML_STREAM_ENTER, outer);
  char *text = read_file("writer.txt");
  static const char *const beginning[] = {"init\n",
                                          "set_callbacks 424\n",
                                          "assign_id\n",
                                          "paradigm user\n",
                                          "region outer  0 3 1\n",
                                          "create 0 of -1\n",
                                          "activate 0 Master thread\n",
                                          "init_mpp rank 0 of 1\n",
                                          "0 program ",
                                          "scorep of 2 arguments: first, a second, region scorep, process ",
                                          NULL};
  CHECK(in_order(text, beginning), "it is begun in the order of the interface");
  static const char *const course[] = {"0 enter outer 0\n",
                                       "region later later.c 7 3 1\n",
                                       "0 enter later 0\n",
                                       "metric page-faults 1 6\n",
                                       "metric plugin::sine::value 2 5\n",
                                       "0 enter inner 5\n",
                                       NULL};
  CHECK(in_order(text, course), "regions and metrics are defined before the first event that has them");
  static const char *const nested[] = {"0 enter inner 5\n0 leave inner 5\n0 leave later 5\n", NULL};
  CHECK(in_order(text, nested) && strstr(text, "leave inner 0\n") == NULL, "its events are nested");
  static const char *const counters[] = {"0 counter page-faults 9\n0 counter plugin::sine::value 0.5\n", NULL};
  CHECK(in_order(text, counters), "metrics without a region are counters, of their types");
  CHECK(strstr(text, "0 counter plugin::depth::level -3 of type 0 and mode 5\n") != NULL,
        "and a plugin's are what it says");
  static const char *const off[] = {"0 off recording off 0\n0 unrecorded inner 0\n0 on recording off 0\n", NULL};
  CHECK(in_order(text, off), "while recording is off the functions of that mode are called");
  static const char *const end[] = {"0 leave outer 9\n0 program ends, region scorep\ndeactivate 0\n",
                                    "pre_unify 1 0 alone string ''\nwrite_data\ndump_manifest . .\n",
                                    "delete 0 after 9\nfinalize\n", NULL};
  CHECK(in_order(text, end), "at the end open regions are left, and everything ends in order");
  CHECK(strstr(read_file("MANIFEST.md"), "# Writer\n\n* `writer.txt`: 1 file with all of it\n") != NULL,
        "its files are in the manifest");
  CHECK(is_said("substrate plugin writer: pmlua never raises these of its events: MPI_SEND, IO_SEEK"),
        "events without a source are named in a line");
  CHECK(is_said("the callback SCOREP_StringHandle_Get: not a string handle is not supported by pmlua") &&
            is_said("the callback SCOREP_Ipc_Send is not supported by pmlua"),
        "and what the host cannot answer");
}

static void several(void) {
  struct pml_scorep *writer = NULL, *nothing = NULL, *elsewhere;
  CHECK(open_plugin("writer", &writer) == 0 && open_plugin("nothing", &nothing) == 0,
        "several are open at a time, one without a version");
  struct pml_scorep_options o = {.name = "thrower", .path = folder, .directory = "/tmp"};
  CHECK(pml_scorep_open(&elsewhere, &o) == -EEXIST, "with one folder for all");
  raise_one(PML_STREAM_ENTER, outer);
  raise_one(PML_STREAM_LEAVE, outer);
  pml_scorep_close(nothing);
  raise_one(PML_STREAM_ENTER, inner);
  raise_one(PML_STREAM_LEAVE, inner);
  pml_scorep_close(writer);
  static const char *const both[] = {"enter outer", "leave outer", "enter inner", "leave inner", "after 4", NULL};
  CHECK(in_order(read_file("writer.txt"), both), "and end one by one");
}

static void bad(void) {
  struct pml_scorep *p;
  static const struct {
    const char *name, *detail;
    int err;
  } row[] = {{"no/such", "letters, digits", -EINVAL},
             {"", "letters, digits", -EINVAL},
             {"no_such", "libscorep_substrate_no_such.so", -ENOENT},
             {"bad_unlike", "has no SCOREP_SubstratePlugin_bad_unlike_get_info", PML_ENOSYMBOL},
             {"bad_unset", "no init function", PML_EFORMAT},
             {"bad_future", "functions that version 3 lacks", PML_EFORMAT},
             {"bad_hollow", "returned no functions", PML_EFORMAT},
             {"bad_refusing", "declined to run", -ECANCELED}};
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    int err = open_plugin(row[i].name, &p);
    CHECK(err == row[i].err && p == NULL && strstr(pml_error_detail(err), row[i].detail) != NULL, "'%s' is refused: %s",
          row[i].name, pml_error_detail(err));
  }
  char path[4200];
  snprintf(path, sizeof path, "%s/libscorep_substrate_text.so", written);
  FILE *f = fopen(path, "w");
  if (f != NULL) (void)fputs("no library\n", f), fclose(f);
  int err = pml_scorep_open(&p, &(struct pml_scorep_options){.name = "text", .path = written});
  CHECK(err == -ENOEXEC, "a file that is no library is refused: %s", pml_error_detail(err));
  CHECK(open_plugin("bad_newer", &p) == 0 && is_said("bad_newer: version 4 of the interface; pmlua offers 3") &&
            is_said("bad_newer: requests 1000 kinds of events"),
        "a newer one runs, and that is said");
  pml_scorep_close(p);
  pml_scorep_close(NULL);
}

static void throwing(void) {
  struct pml_scorep *p;
  struct pml_scorep_stats s;
  if (!CHECK(open_plugin("thrower", &p) == 0, "a plugin in C++ is loaded")) return;
  for (int i = 0; i < 5; i++) {
    raise_one(PML_STREAM_ENTER, outer);
    raise_one(PML_STREAM_LEAVE, outer);
  }
  pml_scorep_stats(p, &s);
  CHECK(s.dropped && is_said("substrate plugin thrower: threw a C++ exception (std::runtime_error: the third)"),
        "a plugin that throws at an event is named, dropped, and the program continues");
  pml_scorep_close(p);
  static const char *const where[] = {"init", "define"};
  for (int i = 0; i < 2; i++) {
    setenv("THROWER", where[i], 1);
    int err = open_plugin("thrower", &p);
    CHECK(err == -ECANCELED, "a plugin that throws in %s is refused: %s", where[i], pml_error_detail(err));
  }
  unsetenv("THROWER");
  CHECK(is_said("its init threw a C++ exception (int)") &&
            is_said("its new_definition_handle threw a C++ exception (std::runtime_error: a region too many)"),
        "and what it threw is said");
}

static void *nest(void *arg) {
  raise_one(PML_STREAM_ENTER, outer);
  raise_one(PML_STREAM_ENTER, inner);
  raise_one(PML_STREAM_LEAVE, inner);
  raise_one(PML_STREAM_LEAVE, outer);
  return arg;
}

static void no_leaves(void) {
  struct pml_scorep *p;
  if (open_plugin("enters", &p) < 0) return;
  nest(NULL);
  in_threads(1, nest, NULL, 0);
  pml_scorep_record(p, false);
  nest(NULL);
  pml_scorep_record(p, true);
  nest(NULL);
  pml_scorep_close(p);
  CHECK(strcmp(read_file("enters.txt"), "6") == 0,
        "a plugin that has no function for leaves gets enters, if recorded: %s", read_file("enters.txt"));
}

#define THREADS 4
#define CALLS 500u
#define ROUNDS 20

static pml_region_t everywhere;
static atomic_bool ended;

static void call_of(uint64_t ticks, pml_region_t of) {
  pml_stream_emit(PML_STREAM_ENTER, &(struct pml_stream_event){.ticks = ticks, .region = of});
  pml_stream_emit(PML_STREAM_LEAVE, &(struct pml_stream_event){.ticks = ticks + 1, .region = of});
}

static void *raise_calls(void *arg) {
  char name[32];
  pml_region_t own = everywhere;
  for (unsigned i = 0; i < CALLS; i++) {
    snprintf(name, sizeof name, "of %u %u", *(const unsigned *)arg, i / 100);
    if (i % 100 == 0) (void)pml_region_intern(name, NULL, 0, &own);
    call_of(2 * i, own);
  }
  return NULL;
}

static void *raise_until_ended(void *arg) {
  for (uint64_t i = 0; !atomic_load(&ended); i++) call_of(2 * i, everywhere);
  return arg;
}

static unsigned count(const char *text, const char *part) {
  unsigned n = 0;
  for (; (text = strstr(text, part)) != NULL; text++) n++;
  return n;
}

static void each_is_a_location(void) {
  struct pml_scorep *p;
  unsigned id[THREADS];
  if (!CHECK(open_plugin("writer", &p) == 0, "a plugin is loaded")) return;
  for (unsigned i = 0; i < THREADS; i++) id[i] = i;
  in_threads(THREADS, raise_calls, id, sizeof *id);
  pml_scorep_close(p);
  const char *text = read_file("writer.txt");
  CHECK(count(text, "create ") == THREADS + 1 && count(text, "\nactivate ") == THREADS + 1 &&
            count(text, "deactivate ") == THREADS + 1 && count(text, "delete ") == THREADS + 1,
        "each thread is a location, for all its life");
  CHECK(count(text, "after 1000\n") == THREADS && count(text, " enter of") == THREADS * CALLS,
        "which has all its events");
  CHECK(count(text, "region of ") == THREADS * CALLS / 100, "each region is defined once");
}

static void coming_and_going(void) {
  pthread_t t[THREADS];
  unsigned begun = 0;
  for (unsigned i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, raise_until_ended, NULL);
  for (int i = 0; i < ROUNDS; i++) {
    struct pml_scorep *a, *b;
    int first = open_plugin("nothing", &a), second = open_plugin("writer", &b);
    begun += first == 0 && second == 0;
    if (first == 0) pml_scorep_record(a, false);
    usleep(1000);
    if (first == 0) pml_scorep_record(a, true);
    pml_scorep_close(first == 0 ? a : NULL);
    pml_scorep_close(second == 0 ? b : NULL);
  }
  atomic_store(&ended, true);
  for (unsigned i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
  CHECK(begun == ROUNDS, "plugins come and go while threads raise");
  CHECK(count(read_file("writer.txt"), "finalize\n") == 1, "and each of them ends");
}

/* ---- what a plugin may call ---- */

static const SCOREP_SubstratePluginCallbacks *const host = &pml__scorep_callbacks;

/* Each way to move data among the processes: three elements of a type, from @from to @to. */
static int move(int how, const void *from, void *to, SCOREP_Ipc_Datatype type) {
  const int counts[] = {3};
  switch (how) {
  case 0:
    return host->SCOREP_Ipc_Gather(from, to, 3, type, 0);
  case 1:
    return host->SCOREP_Ipc_Gatherv(from, 3, to, counts, type, 0);
  case 2:
    return host->SCOREP_Ipc_Allgather(from, to, 3, type);
  case 3:
    return host->SCOREP_Ipc_Reduce(from, to, 3, type, SCOREP_IPC_MAX, 0);
  case 4:
    return host->SCOREP_Ipc_Allreduce(from, to, 3, type, SCOREP_IPC_MAX);
  case 5:
    return host->SCOREP_Ipc_Scatter(from, to, 3, type, 0);
  default:
    return host->SCOREP_Ipc_Scatterv(from, counts, to, 3, type, 0);
  }
}

static void among_processes(int size) {
  static const size_t bytes[] = {[SCOREP_IPC_BYTE] = 1,
                                 [SCOREP_IPC_CHAR] = 1,
                                 [SCOREP_IPC_UNSIGNED_CHAR] = 1,
                                 [SCOREP_IPC_INT] = sizeof(int),
                                 [SCOREP_IPC_UNSIGNED] = 4,
                                 [SCOREP_IPC_INT32_T] = 4,
                                 [SCOREP_IPC_UINT32_T] = 4,
                                 [SCOREP_IPC_INT64_T] = 8,
                                 [SCOREP_IPC_UINT64_T] = 8,
                                 [SCOREP_IPC_DOUBLE] = 8,
                                 [SCOREP_IPC_NUMBER_OF_DATATYPES] = 0};
  char from[32], to[32], before[32], buffer[32] = "kept";
  int wrong = 0;
  memset(from, 'f', sizeof from);
  memset(before, 't', sizeof before);
  for (int how = 0; how < 7; how++)
    for (size_t type = 0; type < sizeof bytes / sizeof *bytes; type++) {
      memcpy(to, before, sizeof to);
      int failed = move(how, from, to, (SCOREP_Ipc_Datatype)type) != 0;
      size_t moved = size > 1 ? 0 : 3 * bytes[type];
      wrong +=
          failed != (size > 1) || memcmp(to, from, moved) != 0 || memcmp(to + moved, before, sizeof to - moved) != 0;
    }
  CHECK(wrong == 0, "of %d processes, data of each type is moved each way, or refused: %d wrong", size, wrong);
  CHECK((host->SCOREP_Ipc_Barrier() != 0) == (size > 1) &&
            (host->SCOREP_Ipc_Bcast(buffer, 4, SCOREP_IPC_CHAR, 0) != 0) == (size > 1) && strcmp(buffer, "kept") == 0,
        "a barrier and a broadcast end, or are refused");
  CHECK(host->SCOREP_Ipc_Send(buffer, 4, SCOREP_IPC_CHAR, 0) != 0 &&
            host->SCOREP_Ipc_Recv(buffer, 4, SCOREP_IPC_CHAR, 0) != 0 && is_said("SCOREP_Ipc_Send") &&
            is_said("SCOREP_Ipc_Recv"),
        "messages are refused, with their names");
}

static void processes(void) {
  struct SCOREP_Location l = {.id = 5};
  if (host->SCOREP_Ipc_GetSize() == 1) among_processes(1);
  setenv("OMPI_COMM_WORLD_RANK", "3", 1);
  setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
  CHECK(host->SCOREP_Ipc_GetRank() == 3 && host->SCOREP_Ipc_GetSize() == 4 &&
            host->SCOREP_Location_GetGlobalId(&l) == (UINT64_C(3) << 32 | 5) && host->SCOREP_Location_GetId(&l) == 5,
        "rank, size, and a location's id, which has the rank in its upper half");
  among_processes(4);
}

static void definitions(void) {
  static const char *const paradigm[] = {"measurement", "user", "compiler", "sampling", "memory", "libwrap"};
  pml_region_t r;
  int wrong = 0;
  pml_region_intern("asked", "asked.c", 12, &r);
  CHECK(host->SCOREP_RegionHandle_GetId(r) == r &&
            strcmp(host->SCOREP_RegionHandle_GetCanonicalName(r), "asked") == 0 &&
            strcmp(host->SCOREP_RegionHandle_GetFileName(r), "asked.c") == 0 &&
            host->SCOREP_RegionHandle_GetBeginLine(r) == 12 &&
            host->SCOREP_RegionHandle_GetEndLine(r) == SCOREP_INVALID_LINE_NO &&
            host->SCOREP_RegionHandle_GetType(r) == SCOREP_REGION_USER &&
            host->SCOREP_RegionHandle_GetParadigmType(r) == SCOREP_PARADIGM_USER,
        "a region");
  for (uint32_t i = 0; i < 6; i++)
    wrong += strcmp(host->SCOREP_ParadigmHandle_GetName(PML__SCOREP_PARADIGM | i), paradigm[i]) != 0 ||
             host->SCOREP_ParadigmHandle_GetType(PML__SCOREP_PARADIGM | i) != (SCOREP_ParadigmType)i ||
             host->SCOREP_ParadigmHandle_GetClass(PML__SCOREP_PARADIGM | i) != SCOREP_INVALID_PARADIGM_CLASS;
  const uint32_t openmp = PML__SCOREP_PARADIGM | SCOREP_PARADIGM_OPENMP,
                 mpi = PML__SCOREP_PARADIGM | SCOREP_PARADIGM_MPI;
  CHECK(wrong == 0 && strcmp(host->SCOREP_ParadigmHandle_GetName(openmp), "openmp") == 0 &&
            host->SCOREP_ParadigmHandle_GetClass(openmp) == SCOREP_PARADIGM_CLASS_THREAD_FORK_JOIN &&
            host->SCOREP_ParadigmHandle_GetType(mpi) == SCOREP_INVALID_PARADIGM_TYPE &&
            *host->SCOREP_ParadigmHandle_GetName(mpi) == '\0',
        "paradigms");
  const uint32_t set = PML__SCOREP_SET, none = set | 12345, metric = PML__SCOREP_METRIC;
  CHECK(host->SCOREP_SamplingSetHandle_GetNumberOfMetrics(set) == 1 &&
            *host->SCOREP_SamplingSetHandle_GetMetricHandles(set) == metric &&
            host->SCOREP_SamplingSetHandle_GetMetricOccurrence(set) == SCOREP_METRIC_OCCURRENCE_SYNCHRONOUS_STRICT &&
            host->SCOREP_SamplingSetHandle_GetScope(set) == SCOREP_METRIC_SCOPE_LOCATION &&
            host->SCOREP_SamplingSetHandle_GetSamplingSetClass(set) == SCOREP_SAMPLING_SET_CPU &&
            !host->SCOREP_SamplingSetHandle_IsScoped(set) &&
            host->SCOREP_MetricHandle_GetProfilingType(metric) == SCOREP_METRIC_PROFILING_TYPE_EXCLUSIVE,
        "a sampling set of one metric");
  CHECK(host->SCOREP_SamplingSetHandle_GetNumberOfMetrics(none) == 0 &&
            host->SCOREP_SamplingSetHandle_GetMetricHandles(none) == NULL &&
            host->SCOREP_SamplingSetHandle_GetMetricOccurrence(none) == SCOREP_INVALID_METRIC_OCCURRENCE &&
            host->SCOREP_SamplingSetHandle_GetScope(none) == SCOREP_INVALID_METRIC_SCOPE &&
            host->SCOREP_SamplingSetHandle_GetSamplingSetClass(none) == SCOREP_SAMPLING_SET_ABSTRACT &&
            host->SCOREP_SamplingSetHandle_GetNumberOfMetrics(metric) == 0,
        "no sampling set");
}

static void nothing_there(void) {
  const uint32_t none = PML__SCOREP_METRIC | 12345;
  CHECK(host->SCOREP_Location_GetType(NULL) == SCOREP_INVALID_LOCATION_TYPE &&
            *host->SCOREP_Location_GetName(NULL) == '\0' && host->SCOREP_Location_GetId(NULL) == UINT32_MAX &&
            host->SCOREP_Location_GetGlobalId(NULL) == UINT64_MAX && host->SCOREP_Location_GetData(NULL, 0) == NULL,
        "no location");
  CHECK(host->SCOREP_MetricHandle_GetValueType(none) == SCOREP_INVALID_METRIC_VALUE_TYPE &&
            *host->SCOREP_MetricHandle_GetName(none) == '\0' &&
            host->SCOREP_MetricHandle_GetProfilingType(none) == SCOREP_INVALID_METRIC_PROFILING_TYPE &&
            host->SCOREP_MetricHandle_GetMode(none) == SCOREP_INVALID_METRIC_MODE &&
            host->SCOREP_MetricHandle_GetSourceType(none) == SCOREP_INVALID_METRIC_SOURCE_TYPE,
        "no metric");
  CHECK(host->SCOREP_RegionHandle_GetType(UINT32_MAX) == SCOREP_INVALID_REGION_TYPE &&
            host->SCOREP_RegionHandle_GetParadigmType(UINT32_MAX) == SCOREP_INVALID_PARADIGM_TYPE,
        "no region");
  host->SCOREP_Metric_WriteStrictlySynchronousMetrics(NULL, 0, NULL);
  host->SCOREP_Metric_WriteSynchronousMetrics(NULL, 0, NULL);
  host->SCOREP_Metric_WriteAsynchronousMetrics(NULL, NULL);
  CHECK(host->SCOREP_CallingContextHandle_GetRegion(1) == 0 && host->SCOREP_CallingContextHandle_GetParent(1) == 0 &&
            host->SCOREP_ParameterHandle_GetType(1) == SCOREP_INVALID_PARAMETER_TYPE &&
            *host->SCOREP_ParameterHandle_GetName(1) == '\0' && *host->SCOREP_SourceFileHandle_GetName(1) == '\0' &&
            is_said("CallingContextHandle_GetRegion") && is_said("CallingContextHandle_GetParent") &&
            is_said("ParameterHandle_GetType") && is_said("ParameterHandle_GetName") &&
            is_said("SourceFileHandle_GetName") && is_said("WriteStrictlySynchronous") &&
            is_said("_WriteSynchronous") && is_said("WriteAsynchronous"),
        "callbacks without an answer are named");
}

/* Each function for locks, teams and tasks alone makes the events of OpenMP wanted; no other one does. */
static void wanted(void) {
  enum { N = sizeof(struct pml__scorep_functions) / sizeof(void (*)(void)) };
  const size_t first = offsetof(struct pml__scorep_functions, acquire) / sizeof(void (*)(void));
  size_t right = 0;
  for (size_t k = 0; k <= N; k++) {
    union {
      struct pml__scorep_functions named;
      void (*at[N])(void);
    } f = {.at = {NULL}};
    if (k < N) f.at[k] = wanted;
    right += pml__scorep_wants_openmp(&f.named) == (k >= first && k < N);
  }
  CHECK(right == N + 1, "each function of OpenMP alone wants its events (%zu of %d)", right, N + 1);
}

int main(int argc, char **argv) {
  if (argc == 1) return execl("/proc/self/exe", argv[0], "first", "a second", (char *)NULL);
  if (!scorep_begin()) return 1;
  pml_region_intern("outer", NULL, 0, &outer);
  pml_region_intern("inner", NULL, 0, &inner);
  CHECK_EACH(wanted, a_whole_life, several, bad, throwing, no_leaves);
  pml_region_intern("all", NULL, 0, &everywhere);
  each_is_a_location();
  coming_and_going();
  processes();
  definitions();
  nothing_there();
  return scorep_done();
}
