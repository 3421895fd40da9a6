/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/fuzz/fuzz_otf2.c - a small OTF2 archive of two ranks, damaged: each four bytes of the input replace a byte in
 * one of its files, and the files keep their length. Each question is answered, or refused in one line; the same
 * question counts the same events again.
 *
 * Runs: 1500
 */
#include "base/pml_error.h"
#include "fuzz.h"
#include "read/otf2/pml_otf2_events.h"
#include "read/otf2/pml_otf2_over_time.h"

#include <math.h>
#include <otf2/otf2.h>
#include <sys/stat.h>

enum { RANKS = 2, ROUNDS = 4, FILE_MAX = 1 << 16, CHUNK_BYTES = 1 << 18 };

/* libotf2 3.0 loses what it read of a definition that turns out to be damaged. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
  return "leak:libopen-trace-format2\n";
}

/* A number in a definition may be damaged, and libotf2 allocates that much. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
  return "allocator_may_return_null=1:max_allocation_size_mb=256";
}

static const char *const file_name[] = {"traces/0.evt", "traces/1.evt", "traces/0.def", "traces/1.def", "traces.def"};
enum { FILES = sizeof file_name / sizeof *file_name };
static struct {
  uint8_t whole[FILE_MAX];
  size_t n;
  bool damaged;
} file[FILES];
static uint64_t known; /* enters and leaves of the whole archive */

/* ---- the undamaged archive ---- */

static void must(OTF2_ErrorCode code) {
  if (code != OTF2_SUCCESS) abort();
}

static OTF2_FlushType flush(void *user, OTF2_FileType type, OTF2_LocationRef location, void *caller, bool last) {
  (void)user, (void)type, (void)location, (void)caller, (void)last;
  return OTF2_FLUSH;
}

static void write_events(OTF2_EvtWriter *w, uint32_t rank) {
  uint64_t at = 1000;
  must(OTF2_EvtWriter_Enter(w, NULL, at, 0));
  must(OTF2_EvtWriter_ThreadTeamBegin(w, NULL, at, 0));
  for (int i = 0; i < ROUNDS; i++) {
    OTF2_Type type = OTF2_TYPE_DOUBLE;
    OTF2_MetricValue value = {.floating_point = i / 2.0};
    must(OTF2_EvtWriter_Enter(w, NULL, at += 10, 1));
    must(OTF2_EvtWriter_Metric(w, NULL, at += 10, 0, 1, &type, &value));
    if (rank == 0)
      must(OTF2_EvtWriter_MpiSend(w, NULL, at += 10, 1, 0, 7, 64));
    else
      must(OTF2_EvtWriter_MpiRecv(w, NULL, at += 20, 0, 0, 7, 64));
    must(OTF2_EvtWriter_MpiCollectiveBegin(w, NULL, at += 10));
    must(OTF2_EvtWriter_MpiCollectiveEnd(w, NULL, at += 10, OTF2_COLLECTIVE_OP_BCAST, 0, 1, 8, 8));
    must(OTF2_EvtWriter_Leave(w, NULL, at += 10, 1));
  }
  must(OTF2_EvtWriter_ThreadTeamEnd(w, NULL, at, 0));
  must(OTF2_EvtWriter_Leave(w, NULL, at + 10, 0));
}

static void define(OTF2_GlobalDefWriter *g, const uint64_t *nevents) {
  static const char *const text[] = {"", "vm", "node", "rank", "solve", "MPI_Bcast", "s"};
  uint64_t member[RANKS] = {0, 1};
  OTF2_MetricMemberRef metric = 0;
  must(OTF2_GlobalDefWriter_WriteClockProperties(g, 1000000000, 1000, 1000, 1));
  for (uint32_t i = 0; i < sizeof text / sizeof *text; i++) must(OTF2_GlobalDefWriter_WriteString(g, i, text[i]));
  must(OTF2_GlobalDefWriter_WriteSystemTreeNode(g, 0, 1, 2, OTF2_UNDEFINED_SYSTEM_TREE_NODE));
  for (uint32_t i = 0; i < RANKS; i++) {
    must(OTF2_GlobalDefWriter_WriteLocationGroup(g, i, 3, OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                                 OTF2_UNDEFINED_LOCATION_GROUP));
    must(OTF2_GlobalDefWriter_WriteLocation(g, i, 3, OTF2_LOCATION_TYPE_CPU_THREAD, nevents[i], i));
    must(OTF2_GlobalDefWriter_WriteRegion(g, i, 4 + i, 4, 0, OTF2_REGION_ROLE_CODE, OTF2_PARADIGM_MPI,
                                          OTF2_REGION_FLAG_NONE, 0, 1, 2));
  }
  must(OTF2_GlobalDefWriter_WriteGroup(g, 0, 0, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE,
                                       RANKS, member));
  must(OTF2_GlobalDefWriter_WriteGroup(g, 1, 0, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE,
                                       RANKS, member));
  must(OTF2_GlobalDefWriter_WriteComm(g, 0, 0, 1, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE));
  must(OTF2_GlobalDefWriter_WriteMetricMember(g, 0, 6, 0, OTF2_METRIC_TYPE_OTHER, OTF2_METRIC_ABSOLUTE_POINT,
                                              OTF2_TYPE_DOUBLE, OTF2_BASE_DECIMAL, 0, 6));
  must(OTF2_GlobalDefWriter_WriteMetricClass(g, 0, 1, &metric, OTF2_METRIC_ASYNCHRONOUS, OTF2_RECORDER_KIND_CPU));
}

static void write_archive(const char *dir) {
  static const OTF2_FlushCallbacks callbacks = {.otf2_pre_flush = flush, .otf2_post_flush = NULL};
  uint64_t nevents[RANKS];
  OTF2_Archive *a = OTF2_Archive_Open(dir, "traces", OTF2_FILEMODE_WRITE, CHUNK_BYTES, CHUNK_BYTES,
                                      OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
  if (a == NULL) abort();
  must(OTF2_Archive_SetFlushCallbacks(a, &callbacks, NULL));
  must(OTF2_Archive_SetSerialCollectiveCallbacks(a));
  must(OTF2_Archive_OpenEvtFiles(a));
  for (uint32_t i = 0; i < RANKS; i++) {
    OTF2_EvtWriter *w = OTF2_Archive_GetEvtWriter(a, i);
    write_events(w, i);
    must(OTF2_EvtWriter_GetNumberOfEvents(w, &nevents[i]));
    must(OTF2_Archive_CloseEvtWriter(a, w));
  }
  must(OTF2_Archive_CloseEvtFiles(a));
  must(OTF2_Archive_OpenDefFiles(a));
  for (uint32_t i = 0; i < RANKS; i++) {
    OTF2_DefWriter *d = OTF2_Archive_GetDefWriter(a, i);
    must(OTF2_DefWriter_WriteClockOffset(d, 1000, (int64_t)i * 5, 0.0));
    must(OTF2_Archive_CloseDefWriter(a, d));
  }
  must(OTF2_Archive_CloseDefFiles(a));
  OTF2_GlobalDefWriter *g = OTF2_Archive_GetGlobalDefWriter(a);
  define(g, nevents);
  must(OTF2_Archive_CloseGlobalDefWriter(a, g));
  must(OTF2_Archive_Close(a));
}

/* ---- questions ---- */

static bool answered(int err) {
  bool is = err >= 0 || err == PML_EOTF2 || err == PML_EFORMAT || err == -ENOMEM || err == -ENOENT;
  PROMISE(is, "it is answered or refused");
  PROMISE(err >= 0 || (*pml_error_detail(err) != '\0' && strchr(pml_error_detail(err), '\n') == NULL), "in one line");
  return err >= 0;
}

/* Even the sum of damaged times stays below 2^64 ticks. */
static uint64_t ask_sums(struct pml_otf2_read *t, unsigned by) {
  struct pml_otf2_question q = {.by = by, .to_s = 1e6, .process = -1, .columns = 3, .threads = 1};
  struct pml_otf2_answer a;
  if (!answered(pml_otf2_read_sums(t, &q, &a))) return 0;
  uint64_t events = a.events;
  for (size_t i = 0; i < a.n; i++) {
    const struct pml_otf2_row *r = &a.row[i];
    PROMISE(r->region == PML_OTF2_NONE || pml_otf2_read_region(t, r->region) != NULL, "a row is of a region");
    PROMISE(r->calls == 0 || r->exclusive_s <= r->inclusive_s * (1 + 1e-9) + 1e-9,
            "a call lasts no less without others");
    PLANTED(by == PML_OTF2_BY_REGION && r->unreturned > 0 && a.damaged == 0);
  }
  pml_otf2_answer_close(&a);
  return events;
}

static uint64_t ask_events(struct pml_otf2_read *t, bool by_time) {
  const struct pml_otf2_question q = {.from_s = -INFINITY, .to_s = INFINITY, .process = -1};
  struct pml_otf2_events *events;
  const struct pml_otf2_event *e;
  uint64_t n = 0, last = 0;
  int more;
  if (!answered(pml_otf2_events_open(&events, t, &q, by_time))) return 0;
  while ((more = pml_otf2_events_next(events, &e)) > 0) {
    PROMISE(!by_time || e->time >= last, "events are in the order of time");
    PROMISE(pml_otf2_read_location(t, e->location) != NULL, "an event is of a location");
    last = e->time;
    n += e->kind == PML_OTF2_ENTER || e->kind == PML_OTF2_LEAVE;
  }
  (void)answered(more);
  pml_otf2_events_close(events);
  return n;
}

static void ask(struct pml_otf2_read *t, bool whole) {
  const struct pml_otf2_question q = {.to_s = INFINITY, .process = -1, .columns = 2, .threads = 1};
  struct pml_otf2_pairs pairs;
  struct pml_otf2_read_clock clock;
  for (size_t i = 0; pml_otf2_read_location(t, i) != NULL; i++) (void)pml_otf2_read_clock(t, i, &clock);
  uint64_t n = ask_sums(t, PML_OTF2_BY_REGION);
  PROMISE(n == ask_sums(t, PML_OTF2_BY_PATH | PML_OTF2_BY_LOCATION), "every question reads the same");
  (void)ask_sums(t, PML_OTF2_BY_REGION | PML_OTF2_BY_PROCESS | PML_OTF2_BY_COLUMN);
  PROMISE(!whole || n == known, "undamaged files are read");
  PROMISE(ask_events(t, false) == ask_events(t, true), "in any order");
  if (answered(pml_otf2_read_pairs(t, &q, &pairs))) free(pairs.pair);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[256];
  struct pml_otf2_read *t;
  struct fuzz_input in = {data, data + size};
  (void)snprintf(path, sizeof path, "%s/traces.otf2", fuzz_folder());
  for (int i = 0; known == 0 && i < FILES; i++) {
    if (i == 0) write_archive(fuzz_folder());
    char name[300];
    (void)snprintf(name, sizeof name, "%s/%s", fuzz_folder(), file_name[i]);
    FILE *f = fopen(name, "r");
    if (f == NULL) abort();
    file[i].n = fread(file[i].whole, 1, FILE_MAX, f);
    fclose(f);
  }
  known = RANKS * (2 + 2 * ROUNDS);
  static uint8_t bytes[FILES][FILE_MAX];
  bool touched[FILES] = {false}, whole = true;
  while (in.at + 4 <= in.end) {
    unsigned which = fuzz_byte(&in) % FILES, at = fuzz_byte(&in);
    at = (at << 8 | fuzz_byte(&in)) % (unsigned)file[which].n;
    if (!touched[which]) memcpy(bytes[which], file[which].whole, file[which].n);
    touched[which] = true;
    bytes[which][at] = fuzz_byte(&in);
  }
  for (int i = 0; i < FILES; i++) {
    if (touched[i] || file[i].damaged)
      fuzz_write(fuzz_folder(), file_name[i], touched[i] ? bytes[i] : file[i].whole, file[i].n);
    file[i].damaged = touched[i];
    whole &= !touched[i] || memcmp(bytes[i], file[i].whole, file[i].n) == 0;
  }
  if (!answered(pml_otf2_read_open(&t, path))) return 0;
  ask(t, whole);
  pml_otf2_read_close(t);
  return 0;
}
