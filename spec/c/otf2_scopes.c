/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/otf2_scopes.c - metric instances of one class are different series if they are recorded for different things;
 * otf2-print, where it is installed, reads the same scopes. Definitions whose numbers have gaps give the same. */
#include "check.h"
#include "folder.h"
#include "read/export/pml_export.h"
#include "read/otf2/pml_otf2_over_time.h"
#include "read/otf2/pml_otf2_read.h"

#include <inttypes.h>
#include <math.h>
#include <otf2/otf2.h>

/* Metrics are numbered from the class 0, whose instances are 1 and up. */
enum { MACHINE, HOST_1, SOCKET_1, HOST_2, SOCKET_2, NODES };
static const struct instance {
  uint64_t recorder;
  OTF2_MetricScope kind;
  uint64_t scope;
  const char *name, *print; /* print: as otf2-print names the scope */
} instance[] = {{0, OTF2_SCOPE_SYSTEM_TREE_NODE, HOST_1, "power (node:host1)", "\"node::host1\" <1>"},
                {0, OTF2_SCOPE_SYSTEM_TREE_NODE, SOCKET_1, "power (node:host1/socket:0)", "\"socket::0\" <2>"},
                {0, OTF2_SCOPE_SYSTEM_TREE_NODE, SOCKET_2, "power (node:host2/socket:0)", "\"socket::0\" <4>"},
                {0, OTF2_SCOPE_SYSTEM_TREE_NODE, MACHINE, "power (machine:cluster)", "\"machine::cluster\" <0>"},
                {0, OTF2_SCOPE_LOCATION_GROUP, 0, "power", "\"rank 0\" <0>"}, /* its own process */
                {0, OTF2_SCOPE_LOCATION_GROUP, 1, "power (node:host2/process:rank 1)", "\"rank 1\" <1>"},
                {0, OTF2_SCOPE_LOCATION, 0, "power (node:host1/process:rank 0/location:main)", "\"main\" <0>"},
                {0, OTF2_SCOPE_LOCATION, 1, "power (node:host2/process:rank 1/location:%u)", "\"\" <1>"},
                {0, OTF2_SCOPE_GROUP, 0, "power (group:both)", "\"both\" <0>"},
                {1, OTF2_SCOPE_SYSTEM_TREE_NODE, HOST_1, "power (node:host1)", "\"node::host1\" <1>"}};
enum { INSTANCES = sizeof instance / sizeof *instance };

static char dir[200];
static uint32_t gap, first; /* the numbers of definitions */

static uint32_t number(uint64_t i) {
  return i <= UINT32_MAX / 16 ? gap * (uint32_t)i + first : (uint32_t)i;
}

/* A location without a name is named by its number. */
static const char *name_of(size_t i) {
  static char name[100];
  (void)snprintf(name, sizeof name, instance[i].name, number(1));
  return name;
}

static OTF2_FlushType before_flush(void *user, OTF2_FileType type, OTF2_LocationRef location, void *caller,
                                   bool final) {
  (void)user, (void)type, (void)location, (void)caller, (void) final;
  return OTF2_FLUSH;
}

static void define_places(OTF2_GlobalDefWriter *g) {
  const OTF2_StringRef node[][2] = {{1, 2}, {3, 4}, {5, 6}, {7, 4}, {5, 6}};
  const uint32_t parent[NODES] = {OTF2_UNDEFINED_SYSTEM_TREE_NODE, MACHINE, HOST_1, MACHINE, HOST_2};
  for (uint32_t i = 0; i < NODES; i++)
    OTF2_GlobalDefWriter_WriteSystemTreeNode(g, number(i), number(node[i][0]), number(node[i][1]), number(parent[i]));
  for (uint32_t i = 0; i < 2; i++) {
    OTF2_GlobalDefWriter_WriteLocationGroup(g, number(i), number(8 + i), OTF2_LOCATION_GROUP_TYPE_PROCESS,
                                            number(i == 0 ? HOST_1 : HOST_2), OTF2_UNDEFINED_LOCATION_GROUP);
    OTF2_GlobalDefWriter_WriteLocation(g, number(i), number(i == 0 ? 10 : 0), OTF2_LOCATION_TYPE_CPU_THREAD,
                                       i == 0 ? INSTANCES - 1 : 1, number(i));
  }
  OTF2_GlobalDefWriter_WriteGroup(g, number(0), number(11), OTF2_GROUP_TYPE_LOCATIONS, OTF2_PARADIGM_UNKNOWN,
                                  OTF2_GROUP_FLAG_NONE, 2, (const uint64_t[]){number(0), number(1)});
}

/* Two communicators of both locations, the second made from the first. */
static void define_comms(OTF2_GlobalDefWriter *g) {
  const uint64_t location[] = {number(0), number(1)}, rank[] = {0, 1};
  OTF2_GlobalDefWriter_WriteGroup(g, number(2), number(0), OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                                  OTF2_GROUP_FLAG_NONE, 2, rank);
  OTF2_GlobalDefWriter_WriteGroup(g, number(1), number(0), OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI,
                                  OTF2_GROUP_FLAG_NONE, 2, location);
  for (uint32_t i = 0; i < 2; i++)
    OTF2_GlobalDefWriter_WriteComm(g, number(i), number(11), number(2), i == 0 ? OTF2_UNDEFINED_COMM : number(0),
                                   OTF2_COMM_FLAG_NONE);
}

static void comms(const struct pml_otf2_read *t) {
  const struct pml_otf2_read_comm *a = pml_otf2_read_comm(t, 0), *b = pml_otf2_read_comm(t, 1);
  CHECK(a->group == 2 && a->parent == PML_OTF2_NONE && b->group == 2 && b->parent == 0 && b->remote == PML_OTF2_NONE &&
            strcmp(b->name, "both") == 0,
        "communicators have their groups, parents and names");
}

static void write_archive(void) {
  static const char *const text[] = {"",      "cluster", "machine", "host1", "node", "0",    "socket",
                                     "host2", "rank 0",  "rank 1",  "main",  "both", "power"};
  static const OTF2_FlushCallbacks flush = {.otf2_pre_flush = before_flush};
  OTF2_Archive *a = OTF2_Archive_Open(dir, "traces", OTF2_FILEMODE_WRITE, 1 << 20, 1 << 20, OTF2_SUBSTRATE_POSIX,
                                      OTF2_COMPRESSION_NONE);
  OTF2_Archive_SetFlushCallbacks(a, &flush, NULL);
  OTF2_Archive_SetSerialCollectiveCallbacks(a);
  OTF2_Archive_OpenEvtFiles(a);
  for (uint32_t i = 0; i < INSTANCES; i++) {
    const OTF2_MetricValue value = {.unsigned_int = 10 + i};
    OTF2_EvtWriter_Metric(OTF2_Archive_GetEvtWriter(a, number(instance[i].recorder)), NULL, 10 + i, number(1 + i), 1,
                          (const OTF2_Type[]){OTF2_TYPE_UINT64}, &value);
  }
  for (uint64_t l = 0; l < 2; l++) OTF2_Archive_CloseEvtWriter(a, OTF2_Archive_GetEvtWriter(a, number(l)));
  OTF2_Archive_CloseEvtFiles(a);
  OTF2_GlobalDefWriter *g = OTF2_Archive_GetGlobalDefWriter(a);
  OTF2_GlobalDefWriter_WriteClockProperties(g, 1000000000, 0, 1000, OTF2_UNDEFINED_TIMESTAMP);
  for (uint32_t i = 0; i < sizeof text / sizeof *text; i++) OTF2_GlobalDefWriter_WriteString(g, number(i), text[i]);
  define_places(g);
  define_comms(g);
  OTF2_GlobalDefWriter_WriteMetricMember(g, number(0), number(12), number(0), OTF2_METRIC_TYPE_OTHER,
                                         OTF2_METRIC_ABSOLUTE_POINT, OTF2_TYPE_UINT64, OTF2_BASE_DECIMAL, 0, number(0));
  OTF2_GlobalDefWriter_WriteMetricClass(g, number(0), 1, (const OTF2_MetricMemberRef[]){number(0)},
                                        OTF2_METRIC_ASYNCHRONOUS, OTF2_RECORDER_KIND_ABSTRACT);
  for (uint32_t i = 0; i < INSTANCES; i++)
    OTF2_GlobalDefWriter_WriteMetricInstance(g, number(1 + i), number(0), number(instance[i].recorder),
                                             instance[i].kind, number(instance[i].scope));
  CHECK(OTF2_Archive_Close(a) == OTF2_SUCCESS, "an archive is written");
}

static void series(struct pml_otf2_read *t, const char *pattern, size_t n) {
  const struct pml_otf2_question q = {.to_s = INFINITY, .process = -1, .columns = 1};
  struct pml_otf2_all_series a;
  size_t right = 0;
  if (!CHECK(pml_otf2_read_series(t, &q, pattern, &a) == 0, "series are read: %s", pml_error_detail(-1))) return;
  for (size_t i = 0; i < a.n; i++) {
    const struct pml_otf2_series *s = &a.series[i];
    uint32_t k = (uint32_t)s->sample->last - 10;
    right += s->sample->n == 1 && k < INSTANCES && instance[k].recorder == s->location &&
             strcmp(pml_otf2_read_metric(t, s->metric)->name, name_of(k)) == 0;
  }
  CHECK(a.n == n && right == n, "%s: each scope is a series, %zu of %zu", pattern != NULL ? pattern : "all", right,
        a.n);
  pml_otf2_series_close(&a);
}

static char out[1 << 16];
static size_t length;

static int append(void *user, const char *bytes, size_t n) {
  (void)user;
  size_t room = sizeof out - length;
  memcpy(out + length, bytes, n < room ? n : room);
  length += n < room ? n : room;
  return 0;
}

static void exported(struct pml_otf2_read *t, const char *form) {
  const struct pml_otf2_question q = {.to_s = INFINITY, .process = -1};
  struct pml_export_counts counts;
  size_t named = 0;
  length = 0;
  CHECK(pml_export_events(t, &q, form, append, NULL, &counts) == 0 && counts.metrics == INSTANCES, "%s has all values",
        form);
  for (size_t i = 0; i < INSTANCES; i++) named += memmem(out, length, name_of(i), strlen(name_of(i))) != NULL;
  CHECK(named == INSTANCES, "%s names the scopes, %zu of %d", form, named, INSTANCES);
}

/* The scopes according to libotf2's own tool. */
static void printed(void) {
  char command[300], line[500];
  size_t same = 0;
  (void)snprintf(command, sizeof command, "otf2-print -G '%s/traces.otf2' 2>/dev/null", dir);
  FILE *f = popen(command, "r");
  while (f != NULL && fgets(line, sizeof line, f) != NULL) {
    unsigned ref;
    const char *scope = strstr(line, "Scope: ");
    if (scope == NULL || sscanf(line, "METRIC_INSTANCE %u", &ref) != 1 || ref < 1 || ref > INSTANCES) continue;
    printf("# %s", line);
    same += strstr(scope, instance[ref - 1].print) != NULL;
  }
  if (f != NULL && pclose(f) == 0)
    CHECK(same == INSTANCES, "otf2-print reads the same scopes (%zu)", same);
  else
    SKIP("otf2-print is not installed");
}

static void numbered(uint32_t first_number, uint32_t numbers_between) {
  struct pml_otf2_read *t;
  char path[300];
  const char *temporary = getenv("TMPDIR");
  first = first_number, gap = numbers_between;
  (void)snprintf(dir, sizeof dir, "%s/pmlua-otf2-scopes-XXXXXX", temporary != NULL ? temporary : "/tmp");
  if (!CHECK(mkdtemp(dir) != NULL, "a folder is made")) return;
  write_archive();
  (void)snprintf(path, sizeof path, "%s/traces.otf2", dir);
  if (CHECK(pml_otf2_read_open(&t, path) == 0, "it is opened: %s", pml_error_detail(-1))) {
    series(t, NULL, INSTANCES);
    series(t, "power", INSTANCES);
    series(t, "*socket*", 2);
    exported(t, "csv");
    exported(t, "perfetto");
    comms(t);
    pml_otf2_read_close(t);
  }
  if (gap == 1) printed();
  CHECK(folder_remove(dir), "nothing is left");
}

int main(void) {
  numbered(0, 1);
  numbered(3, 7);
  return check_done();
}
