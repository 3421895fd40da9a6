/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/otf2_broken.c - archives that are broken in one way each, for the validator to refuse.
 *
 * `otf2_broken list` prints each breakage and the violation to be named, `otf2_broken NAME DIR` writes one archive.
 * Without an argument: every one of them can be written, most by libotf2 without a word, hence the validator.
 */
#include "check.h"
#include "folder.h"

#include <otf2/otf2.h>
#include <sys/stat.h>

/* X(name, the violation that the validator must name) */
#define BREAKAGES(X)                                                                                                   \
  X(none, "ok")                                                                                                        \
  X(two_enters, "enter-unmatched")                                                                                     \
  X(leave_alone, "leave-unmatched")                                                                                    \
  X(crossed, "leave-unmatched")                                                                                        \
  X(count_high, "event-count")                                                                                         \
  X(count_low, "event-count")                                                                                          \
  X(time_before, "time-range")                                                                                         \
  X(time_after, "time-range")                                                                                          \
  X(time_back, "time-back")                                                                                            \
  X(region_undefined, "region-undefined")                                                                              \
  X(region_twice, "defined-twice")                                                                                     \
  X(string_zero_missing, "string-zero")                                                                                \
  X(string_zero_other, "string-zero")                                                                                  \
  X(string_undefined, "reference-undefined")                                                                           \
  X(node_missing, "node-missing")                                                                                      \
  X(node_class, "node-missing")                                                                                        \
  X(node_parent, "reference-undefined")                                                                                \
  X(group_missing, "process-missing")                                                                                  \
  X(group_type, "process-missing")                                                                                     \
  X(group_undefined, "reference-undefined")                                                                            \
  X(location_undefined, "location-undefined")                                                                          \
  X(local_defs_missing, "local-definitions")                                                                           \
  X(clock_missing, "clock-missing")                                                                                    \
  X(clock_twice, "clock-missing")                                                                                      \
  X(clock_zero, "clock-resolution")                                                                                    \
  X(clock_slow, "clock-truth")                                                                                         \
  X(clock_realtime, "clock-realtime")                                                                                  \
  X(metric_undefined, "metric-undefined")                                                                              \
  X(metric_member_undefined, "reference-undefined")                                                                    \
  X(metric_values, "metric-values")                                                                                    \
  X(metric_type, "metric-values")                                                                                      \
  X(metric_mode, "metric-member")                                                                                      \
  X(metric_base, "metric-member")                                                                                      \
  X(events_missing, "event-count")                                                                                     \
  X(events_cut, "unreadable")                                                                                          \
  X(events_garbled, "unreadable")                                                                                      \
  X(local_defs_garbled, "unreadable")                                                                                  \
  X(defs_missing, "unreadable")                                                                                        \
  X(defs_cut, "unreadable")                                                                                            \
  X(defs_garbled, "unreadable")                                                                                        \
  X(anchor_cut, "unreadable")                                                                                          \
  X(anchor_garbled, "unreadable")                                                                                      \
  X(anchor_empty, "unreadable")

#define ENUM(name, violation) name,
enum breakage { BREAKAGES(ENUM) NBREAKAGES };
#undef ENUM

#define ROW(name, violation) {#name, violation},
static const struct { const char *name, *violation; } breakages[] = {BREAKAGES(ROW)};
#undef ROW

enum { FIRST = 1000, LENGTH = 1000, RESOLUTION = 1000000000, OTHER = 77 };

static unsigned complaints; /* errors of libotf2 */

static OTF2_ErrorCode on_error(void *user, const char *file, uint64_t line, const char *function, OTF2_ErrorCode code,
                               const char *format, va_list args) {
  (void)user, (void)file, (void)line, (void)function, (void)format, (void)args;
  complaints++;
  return code;
}

static void must(OTF2_ErrorCode code) {
  if (code != OTF2_SUCCESS) complaints++;
}

static OTF2_FlushType flush(void *user, OTF2_FileType type, OTF2_LocationRef location, void *caller, bool last) {
  (void)user, (void)type, (void)location, (void)caller, (void)last;
  return OTF2_FLUSH;
}

static void metric(OTF2_EvtWriter *w, enum breakage b, uint64_t ticks) {
  OTF2_Type type[2] = {b == metric_type ? OTF2_TYPE_INT64 : OTF2_TYPE_UINT64, OTF2_TYPE_UINT64};
  OTF2_MetricValue value[2] = {{.unsigned_int = 1}, {.unsigned_int = 2}};
  must(OTF2_EvtWriter_Metric(w, NULL, ticks, b == metric_undefined ? OTHER : 0, b == metric_values ? 2 : 1, type,
                             value));
}

/* Six events, more or less, in [FIRST, FIRST + LENGTH]. */
static uint64_t events(OTF2_EvtWriter *w, enum breakage b) {
  OTF2_RegionRef inner = b == region_undefined ? OTHER : 1;
  must(OTF2_EvtWriter_Enter(w, NULL, b == time_before ? FIRST - 1 : FIRST, 0));
  must(OTF2_EvtWriter_Enter(w, NULL, FIRST + 100, inner));
  metric(w, b, FIRST + 150);
  metric(w, b, FIRST + 160);
  if (b == crossed) {
    must(OTF2_EvtWriter_Leave(w, NULL, FIRST + 200, 0));
    must(OTF2_EvtWriter_Leave(w, NULL, FIRST + 200, inner));
  } else if (b != two_enters) {
    must(OTF2_EvtWriter_Leave(w, NULL, FIRST + 200, inner));
    must(OTF2_EvtWriter_Leave(w, NULL, b == time_after ? FIRST + LENGTH + 1 : FIRST + LENGTH, 0));
  }
  if (b == leave_alone) must(OTF2_EvtWriter_Leave(w, NULL, FIRST + LENGTH, 0));
  uint64_t n = 0;
  must(OTF2_EvtWriter_GetNumberOfEvents(w, &n));
  return n;
}

static void define_tree(OTF2_GlobalDefWriter *g, enum breakage b, uint64_t nevents) {
  if (b != node_missing)
    must(OTF2_GlobalDefWriter_WriteSystemTreeNode(g, 0, 1, b == node_class ? 1 : 2,
                                                  b == node_parent ? OTHER : OTF2_UNDEFINED_SYSTEM_TREE_NODE));
  if (b != group_missing)
    must(OTF2_GlobalDefWriter_WriteLocationGroup(
        g, 0, 3, b == group_type ? OTF2_LOCATION_GROUP_TYPE_ACCELERATOR : OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
        OTF2_UNDEFINED_LOCATION_GROUP));
  if (b == count_high) nevents++;
  if (b == count_low) nevents--;
  if (b != location_undefined)
    must(OTF2_GlobalDefWriter_WriteLocation(g, 0, 3, OTF2_LOCATION_TYPE_CPU_THREAD, nevents,
                                            b == group_undefined ? OTHER : 0));
}

static void define(OTF2_GlobalDefWriter *g, enum breakage b, uint64_t nevents) {
  static const char *const text[] = {"", "machine", "node", "thread", "region"};
  uint64_t resolution = b == clock_zero ? 0 : b == clock_slow ? 1 : RESOLUTION;
  uint64_t realtime = b == clock_realtime ? OTF2_UNDEFINED_TIMESTAMP : (uint64_t)time(NULL) * 1000000000u;
  if (b != clock_missing) must(OTF2_GlobalDefWriter_WriteClockProperties(g, resolution, FIRST, LENGTH, realtime));
  if (b == clock_twice) must(OTF2_GlobalDefWriter_WriteClockProperties(g, resolution, FIRST, LENGTH, realtime));
  for (uint32_t i = b == string_zero_missing; i < sizeof text / sizeof *text; i++)
    must(OTF2_GlobalDefWriter_WriteString(g, i, i == 0 && b == string_zero_other ? "zero" : text[i]));
  define_tree(g, b, nevents);
  for (uint32_t i = 0; i < (b == region_twice ? 3 : 2); i++)
    must(OTF2_GlobalDefWriter_WriteRegion(g, i % 2, b == string_undefined ? OTHER : 4, 4, 1, OTF2_REGION_ROLE_CODE,
                                          OTF2_PARADIGM_USER, OTF2_REGION_FLAG_NONE, 1, 1, 2));
  must(OTF2_GlobalDefWriter_WriteMetricMember(g, 0, 4, 4, OTF2_METRIC_TYPE_OTHER,
                                              b == metric_mode ? 0x0F : OTF2_METRIC_ACCUMULATED_START, OTF2_TYPE_UINT64,
                                              b == metric_base ? 9 : OTF2_BASE_DECIMAL, 0, 4));
  OTF2_MetricMemberRef member = b == metric_member_undefined ? OTHER : 0;
  must(OTF2_GlobalDefWriter_WriteMetricClass(g, 0, 1, &member, OTF2_METRIC_ASYNCHRONOUS, OTF2_RECORDER_KIND_CPU));
}

/* libotf2 refuses to write a time that goes back, so it is changed in the file: a time record is 5 and eight bytes. */
static void change_time(const char *dir, const char *file, uint64_t from, uint64_t to) {
  char path[512];
  unsigned char bytes[4096], record[1 + sizeof from] = {5};
  snprintf(path, sizeof path, "%s/%s", dir, file);
  FILE *f = fopen(path, "r+");
  size_t n = f == NULL ? 0 : fread(bytes, 1, sizeof bytes, f);
  memcpy(record + 1, &from, sizeof from);
  unsigned char *at = memmem(bytes, n, record, sizeof record);
  if (at == NULL || fseek(f, at - bytes + 1, SEEK_SET) != 0 || fwrite(&to, sizeof to, 1, f) != 1) complaints++;
  if (f != NULL) fclose(f);
}

/* How a file is damaged: removed, cut to its half or to nothing, or 0xff is written at an offset. */
enum { GONE = -1, HALF = -2, NONE = -3 };
static const struct {
  enum breakage of;
  const char *file;
  long how;
} damage[] = {{events_missing, "traces/0.evt", GONE}, {events_cut, "traces/0.evt", HALF},
              {events_garbled, "traces/0.evt", 20},   {local_defs_garbled, "traces/0.def", 0},
              {defs_missing, "traces.def", GONE},     {defs_cut, "traces.def", HALF},
              {defs_garbled, "traces.def", 20},       {anchor_cut, "traces.otf2", HALF},
              {anchor_garbled, "traces.otf2", 0},     {anchor_empty, "traces.otf2", NONE}};

static bool damage_file(const char *path, long how) {
  struct stat st;
  if (stat(path, &st) != 0) return false;
  if (how == GONE) return unlink(path) == 0;
  if (how < 0) return truncate(path, how == HALF ? st.st_size / 2 : 0) == 0;
  FILE *f = fopen(path, "r+");
  if (f == NULL || fseek(f, how, SEEK_SET) != 0) return false;
  for (long i = how; i < st.st_size; i++) fputc(0xff, f);
  return fclose(f) == 0;
}

static void damage_files(const char *dir, enum breakage b) {
  char path[512];
  if (b == time_back) change_time(dir, "traces/0.evt", FIRST + 160, FIRST + 149);
  for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
    snprintf(path, sizeof path, "%s/%s", dir, damage[i].file);
    if (damage[i].of == b && !damage_file(path, damage[i].how)) complaints++;
  }
}

static void write_archive(const char *dir, enum breakage b) {
  static const OTF2_FlushCallbacks callbacks = {.otf2_pre_flush = flush, .otf2_post_flush = NULL};
  OTF2_Archive *a = OTF2_Archive_Open(dir, "traces", OTF2_FILEMODE_WRITE, OTF2_CHUNK_SIZE_EVENTS_DEFAULT,
                                      OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
  if (a == NULL) {
    complaints++;
    return;
  }
  must(OTF2_Archive_SetFlushCallbacks(a, &callbacks, NULL));
  must(OTF2_Archive_SetSerialCollectiveCallbacks(a));
  must(OTF2_Archive_OpenEvtFiles(a));
  OTF2_EvtWriter *w = OTF2_Archive_GetEvtWriter(a, 0);
  uint64_t nevents = events(w, b);
  must(OTF2_Archive_CloseEvtWriter(a, w));
  must(OTF2_Archive_CloseEvtFiles(a));
  if (b != local_defs_missing) {
    must(OTF2_Archive_OpenDefFiles(a));
    must(OTF2_Archive_CloseDefWriter(a, OTF2_Archive_GetDefWriter(a, 0)));
    must(OTF2_Archive_CloseDefFiles(a));
  }
  OTF2_GlobalDefWriter *g = OTF2_Archive_GetGlobalDefWriter(a);
  define(g, b, nevents);
  must(OTF2_Archive_CloseGlobalDefWriter(a, g));
  must(OTF2_Archive_Close(a));
  damage_files(dir, b);
}

int main(int argc, char **argv) {
  OTF2_Error_RegisterCallback(on_error, NULL);
  if (argc == 2 && strcmp(argv[1], "list") == 0) {
    for (int b = 0; b < NBREAKAGES; b++) printf("%s %s\n", breakages[b].name, breakages[b].violation);
    return 0;
  }
  for (int b = 0; b < NBREAKAGES && argc == 3; b++) {
    if (strcmp(argv[1], breakages[b].name) != 0) continue;
    write_archive(argv[2], (enum breakage)b);
    return complaints > 0;
  }
  if (argc != 1) return 2;
  for (int b = 0; b < NBREAKAGES; b++) {
    char dir[] = "/tmp/pmlua-otf2-XXXXXX";
    complaints = 0;
    if (mkdtemp(dir) == NULL) return 1;
    write_archive(dir, (enum breakage)b);
    CHECK(complaints == 0, "an archive broken by %s is written without complaint", breakages[b].name);
    folder_remove(dir);
  }
  return check_done();
}
