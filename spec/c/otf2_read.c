/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/otf2_read.c - reader of an archive with known events: sums by all kinds of groups, exact to the nanosecond,
 * and the order of time over more locations than files may be open. */
#include "check.h"
#include "folder.h"
#include "read/otf2/pml_otf2_events.h"
#include "read/otf2/pml_otf2_read.h"

#include <inttypes.h>
#include <math.h>
#include <otf2/otf2.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { A, B, C, REGIONS, START = 1000 }; /* the clock has 1e9 ticks a second, and is at START when the trace begins */
#define NONE PML_OTF2_NONE

static char dir[200];

static OTF2_FlushType before_flush(void *user, OTF2_FileType type, OTF2_LocationRef location, void *caller,
                                   bool final) {
  (void)user, (void)type, (void)location, (void)caller, (void) final;
  return OTF2_FLUSH;
}

static const OTF2_FlushCallbacks flush = {.otf2_pre_flush = before_flush};

static OTF2_Archive *begin_archive(const char *name) {
  char path[300];
  (void)snprintf(path, sizeof path, "%s/%s", dir, name);
  OTF2_Archive *a = OTF2_Archive_Open(path, "traces", OTF2_FILEMODE_WRITE, 1 << 20, 1 << 20, OTF2_SUBSTRATE_POSIX,
                                      OTF2_COMPRESSION_NONE);
  if (!CHECK(a != NULL, "an archive is made")) exit(1);
  OTF2_Archive_SetFlushCallbacks(a, &flush, NULL);
  OTF2_Archive_SetSerialCollectiveCallbacks(a);
  OTF2_Archive_OpenEvtFiles(a);
  return a;
}

static void enter(OTF2_EvtWriter *w, uint64_t ns, uint32_t region) {
  OTF2_EvtWriter_Enter(w, NULL, START + ns, region);
}

static void leave(OTF2_EvtWriter *w, uint64_t ns, uint32_t region) {
  OTF2_EvtWriter_Leave(w, NULL, START + ns, region);
}

static void end_archive(OTF2_Archive *a, uint64_t locations, uint64_t (*events)(uint64_t),
                        uint32_t (*process)(uint64_t)) {
  static const char *const text[] = {"", "A", "B", "C"};
  OTF2_Archive_CloseEvtFiles(a);
  OTF2_GlobalDefWriter *g = OTF2_Archive_GetGlobalDefWriter(a);
  OTF2_GlobalDefWriter_WriteClockProperties(g, 1000000000, START, 100000000, OTF2_UNDEFINED_TIMESTAMP);
  for (uint32_t i = 0; i < 4; i++) OTF2_GlobalDefWriter_WriteString(g, i, text[i]);
  for (uint32_t i = 0; i < REGIONS; i++)
    OTF2_GlobalDefWriter_WriteRegion(g, i, i + 1, i + 1, 0, OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_USER,
                                     OTF2_REGION_FLAG_NONE, 0, 0, 0);
  OTF2_GlobalDefWriter_WriteSystemTreeNode(g, 0, 0, 0, OTF2_UNDEFINED_SYSTEM_TREE_NODE);
  for (uint32_t i = 0; i < 2; i++)
    OTF2_GlobalDefWriter_WriteLocationGroup(g, i, 0, OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                            OTF2_UNDEFINED_LOCATION_GROUP);
  for (uint64_t i = 0; i < locations; i++)
    OTF2_GlobalDefWriter_WriteLocation(g, i, 0, OTF2_LOCATION_TYPE_CPU_THREAD, events(i), process(i));
  CHECK(OTF2_Archive_Close(a) == OTF2_SUCCESS, "and written");
}

static struct pml_otf2_read *open_archive(const char *name) {
  char path[300];
  struct pml_otf2_read *t;
  (void)snprintf(path, sizeof path, "%s/%s/traces.otf2", dir, name);
  if (!CHECK(pml_otf2_read_open(&t, path) == 0, "%s is opened: %s", name, pml_error_detail(-1))) exit(1);
  return t;
}

static uint64_t events_of_known(uint64_t location) {
  static const uint64_t n[] = {8, 9, 8};
  return n[location];
}

static uint32_t process_of_known(uint64_t location) {
  return location == 2;
}

static void write_known(void) {
  OTF2_Archive *a = begin_archive("known");
  OTF2_EvtWriter *w = OTF2_Archive_GetEvtWriter(a, 0); /* a region in itself */
  enter(w, 0, A), enter(w, 10, B), leave(w, 30, B), enter(w, 40, A), leave(w, 60, A), leave(w, 100, A);
  enter(w, 120, B), leave(w, 150, B);
  w = OTF2_Archive_GetEvtWriter(a, 1); /* a leave without its enter, a call that its outer one ends, messages */
  enter(w, 5, C), OTF2_EvtWriter_MpiSend(w, NULL, START + 25, 0, 0, 0, 100), leave(w, 35, C);
  leave(w, 40, B);
  enter(w, 50, A), enter(w, 60, B), OTF2_EvtWriter_MpiSend(w, NULL, START + 70, 0, 0, 0, 7), leave(w, 90, A);
  OTF2_EvtWriter_MpiRecv(w, NULL, START + 95, 0, 0, 0, 9);
  w = OTF2_Archive_GetEvtWriter(a, 2); /* a call that does not end, a collective operation */
  enter(w, 200, A), enter(w, 210, C);
  OTF2_EvtWriter_MpiCollectiveEnd(w, NULL, START + 220, OTF2_COLLECTIVE_OP_ALLREDUCE, 0, OTF2_UNDEFINED_UINT32, 64, 32);
  leave(w, 225, C), leave(w, 226, C), enter(w, 230, B), leave(w, 260, B),
      OTF2_EvtWriter_MpiRecv(w, NULL, START + 260, 0, 0, 0, 3);
  for (uint64_t i = 0; i < 3; i++) OTF2_Archive_CloseEvtWriter(a, OTF2_Archive_GetEvtWriter(a, i));
  end_archive(a, 3, events_of_known, process_of_known);
}

/* A row in whole ns; least > most: no call; last 0: none ended. */
struct known {
  size_t region, process, location, column;
  uint64_t calls, unreturned;
  long inclusive, exclusive, least, most, most_began, first, last;
  size_t most_location;
  uint64_t sent, sent_bytes, received, received_bytes;
};

static long ns(double s) {
  return isfinite(s) && fabs(s) < 1 ? lround(s * 1e9) : -1;
}

static bool same(const struct pml_otf2_row *r, const struct known *k) {
  bool is = r->region == k->region && r->process == k->process && r->location == k->location && r->column == k->column;
  is &= r->calls == k->calls && r->unreturned == k->unreturned;
  is &= ns(r->inclusive_s) == k->inclusive && ns(r->exclusive_s) == k->exclusive;
  is &= r->sent == k->sent && r->sent_bytes == k->sent_bytes;
  is &= r->received == k->received && r->received_bytes == k->received_bytes;
  if (k->calls > 0) is &= ns(r->first_s) == k->first;
  if (k->least > k->most) return is && r->least_s > r->most_s;
  return is && ns(r->least_s) == k->least && ns(r->most_s) == k->most && ns(r->most_began_s) == k->most_began &&
         ns(r->last_s) == k->last && r->most_location == k->most_location;
}

static void expect(struct pml_otf2_read *t, const struct pml_otf2_question *q, const struct known *k, size_t n,
                   const char *what) {
  struct pml_otf2_answer a;
  int err = pml_otf2_read_sums(t, q, &a);
  if (!CHECK(err == 0 && a.n == n, "%s: there are %zu rows (%zu)", what, n, a.n)) return;
  for (size_t i = 0; i < n; i++) {
    const struct pml_otf2_row *r = &a.row[i];
    CHECK(same(r, &k[i]),
          "%s: row %zu is as the events are: %" PRIu64 " calls, %" PRIu64
          " unreturned, %ld inclusive, %ld exclusive, %ld "
          "to %ld, the longest from %ld on location %zd, from %ld to %ld, %" PRIu64 " B sent, %" PRIu64 " B received",
          what, i, r->calls, r->unreturned, ns(r->inclusive_s), ns(r->exclusive_s), ns(r->least_s), ns(r->most_s),
          ns(r->most_began_s), (ssize_t)r->most_location, ns(r->first_s), ns(r->last_s), r->sent_bytes,
          r->received_bytes);
  }
  bool sorted = a.nkinds > 0;
  for (size_t i = 1; i < a.nkinds; i++) {
    const struct pml_otf2_kind_count *x = &a.kind[i - 1], *y = &a.kind[i];
    sorted &= x->events > y->events || (x->events == y->events && strcmp(x->name, y->name) < 0);
  }
  CHECK(sorted, "%s: the kinds of events are in the order of their numbers, then of names", what);
  pml_otf2_answer_close(&a);
}

static void groups(struct pml_otf2_read *t, unsigned threads) {
  struct pml_otf2_question q = {.by = PML_OTF2_BY_REGION, .to_s = INFINITY, .process = -1, .threads = threads};
  static const struct known by_region[] = {
      {A, NONE, NONE, NONE, 4, 1, 200, 105, 20, 100, 0, 0, 100, 0, 0, 0, 1, 3},
      {B, NONE, NONE, NONE, 4, 1, 110, 110, 20, 30, 120, 10, 260, 0, 1, 7, 0, 0},
      {C, NONE, NONE, NONE, 2, 0, 45, 45, 15, 30, 5, 5, 225, 1, 1, 164, 0, 32},
  };
  expect(t, &q, by_region, 3, "by region");
  q.by |= PML_OTF2_BY_PROCESS;
  static const struct known by_process[] = {
      {A, 0, NONE, NONE, 3, 0, 140, 90, 20, 100, 0, 0, 100, 0, 0, 0, 0, 0},
      {B, 0, NONE, NONE, 3, 1, 80, 80, 20, 30, 120, 10, 150, 0, 1, 7, 0, 0},
      {C, 0, NONE, NONE, 1, 0, 30, 30, 30, 30, 5, 5, 35, 1, 1, 100, 0, 0},
      {A, 1, NONE, NONE, 1, 1, 60, 15, 1, 0, 0, 200, 0, 0, 0, 0, 1, 3},
      {B, 1, NONE, NONE, 1, 0, 30, 30, 30, 30, 230, 230, 260, 2, 0, 0, 0, 0},
      {C, 1, NONE, NONE, 1, 0, 15, 15, 15, 15, 210, 210, 225, 2, 0, 64, 0, 32},
  };
  expect(t, &q, by_process, 6, "by region and process");
  q.by = PML_OTF2_BY_LOCATION;
  static const struct known by_location[] = {
      {NONE, 0, 0, NONE, 4, 0, 130, 130, 20, 100, 0, 0, 150, 0, 0, 0, 0, 0},
      {NONE, 0, 1, NONE, 3, 1, 70, 70, 30, 40, 50, 5, 90, 1, 2, 107, 1, 9},
      {NONE, 1, 2, NONE, 3, 1, 60, 60, 15, 30, 230, 200, 260, 2, 0, 64, 1, 35},
  };
  expect(t, &q, by_location, 3, "by location");
  q.by = 0;
  static const struct known of_all[] = {
      {NONE, NONE, NONE, NONE, 10, 2, 260, 260, 15, 100, 0, 0, 260, 0, 2, 171, 2, 44}};
  expect(t, &q, of_all, 1, "all");
  q.region = "B";
  static const struct known of_b[] = {{NONE, NONE, NONE, NONE, 4, 1, 110, 110, 20, 30, 120, 10, 260, 0, 1, 7, 1, 9}};
  struct known messages = of_b[0]; /* messages outside of all calls of B are in no group, but in the total */
  messages.sent = 2, messages.sent_bytes = 171, messages.received = 2, messages.received_bytes = 44;
  expect(t, &q, &messages, 1, "of one region");
}

static void windows(struct pml_otf2_read *t, unsigned threads) {
  struct pml_otf2_question q = {
      .by = PML_OTF2_BY_REGION, .from_s = 30e-9, .to_s = 130e-9, .process = -1, .threads = threads};
  static const struct known cut[] = {
      {A, NONE, NONE, NONE, 2, 0, 110, 80, 20, 40, 50, 40, 90, 1, 0, 0, 0, 0},
      {B, NONE, NONE, NONE, 2, 1, 40, 40, 1, 0, 0, 60, 0, 0, 1, 7, 0, 0},
      {C, NONE, NONE, NONE, 0, 0, 5, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0},
  };
  expect(t, &q, cut, 3, "in a window");
  q = (struct pml_otf2_question){
      .by = PML_OTF2_BY_COLUMN, .to_s = 150e-9, .columns = 3, .process = -1, .threads = threads};
  static const struct known columns[] = {
      {NONE, NONE, NONE, 0, 4, 0, 80, 80, 20, 30, 5, 0, 35, 1, 1, 100, 0, 0},
      {NONE, NONE, NONE, 1, 2, 1, 90, 90, 40, 40, 50, 50, 90, 1, 1, 7, 1, 9},
      {NONE, NONE, NONE, 2, 1, 0, 30, 30, 30, 30, 120, 120, 150, 0, 0, 0, 0, 0},
  };
  expect(t, &q, columns, 3, "in columns");
}

static void paths(struct pml_otf2_read *t, unsigned threads) {
  static const struct {
    size_t parent, region;
    uint64_t calls;
    long inclusive, exclusive;
  } known[] = {{NONE, A, 3, 200, 85}, {0, A, 1, 20, 20},    {0, B, 3, 80, 80},
               {0, C, 1, 15, 15},     {NONE, B, 1, 30, 30}, {NONE, C, 1, 30, 30}};
  const size_t n = sizeof known / sizeof *known;
  struct pml_otf2_question q = {.by = PML_OTF2_BY_PATH, .to_s = INFINITY, .process = -1, .threads = threads};
  struct pml_otf2_answer a;
  int err = pml_otf2_read_sums(t, &q, &a);
  if (!CHECK(err == 0 && a.n == n && a.npaths == n, "there are %zu paths (%zu)", n, a.npaths)) return;
  for (size_t i = 0; i < n; i++)
    CHECK(a.row[i].path == i && a.path[i].parent == known[i].parent && a.path[i].region == known[i].region &&
              a.row[i].calls == known[i].calls && ns(a.row[i].inclusive_s) == known[i].inclusive &&
              ns(a.row[i].exclusive_s) == known[i].exclusive,
          "path %zu: %" PRIu64 " calls, %ld inclusive, %ld exclusive", i, a.row[i].calls, ns(a.row[i].inclusive_s),
          ns(a.row[i].exclusive_s));
  CHECK(a.unmatched == 3 && a.outside == 1 && a.backward == 0 && a.unknown == 0 && a.damaged == 0 && a.lost == 0,
        "oddities are counted: %" PRIu64 " without partners, %" PRIu64 " messages outside of calls", a.unmatched,
        a.outside);
  CHECK(a.events == 20, "%" PRIu64 " enters and leaves were read", a.events);
  pml_otf2_answer_close(&a);
}

static void sums(void) {
  write_known();
  struct pml_otf2_read *t = open_archive("known");
  for (unsigned threads = 1; threads <= 3; threads++) {
    groups(t, threads);
    windows(t, threads);
    paths(t, threads);
  }
  pml_otf2_read_close(t);
}

enum { LOCATIONS = 200, SHORT = 100, LONG = 21000 }; /* all of LONG are more than are kept in memory */

static uint64_t events_of_short(uint64_t location) {
  (void)location;
  return SHORT;
}

static uint64_t events_of_long(uint64_t location) {
  (void)location;
  return LONG;
}

static uint32_t first_process(uint64_t location) {
  (void)location;
  return 0;
}

/* All locations have the events of the first, in separate files. */
static void write_many(const char *name, uint32_t events, uint64_t (*events_of)(uint64_t)) {
  char from[300], to[300];
  OTF2_Archive *a = begin_archive(name);
  OTF2_EvtWriter *w = OTF2_Archive_GetEvtWriter(a, 0);
  for (uint32_t i = 0; i < events; i += 2) enter(w, 10 * i, A), leave(w, 10 * i + 10, A);
  OTF2_Archive_CloseEvtWriter(a, w);
  end_archive(a, LOCATIONS, events_of, first_process);
  (void)snprintf(from, sizeof from, "%s/%s/traces/0.evt", dir, name);
  bool done = true;
  for (int i = 1; i < LOCATIONS && done; i++) {
    (void)snprintf(to, sizeof to, "%s/%s/traces/%d.evt", dir, name, i);
    done = link(from, to) == 0;
  }
  CHECK(done, "%s: each location has its file", name);
}

static void limit_files(rlim_t n) {
  struct rlimit files;
  CHECK(getrlimit(RLIMIT_NOFILE, &files) == 0 && n <= files.rlim_max, "%ju files may be opened", (uintmax_t)n);
  files.rlim_cur = n;
  CHECK(setrlimit(RLIMIT_NOFILE, &files) == 0, "and are the limit");
}

static void in_order(struct pml_otf2_read *t, uint64_t all) {
  struct pml_otf2_question q = {.to_s = INFINITY, .process = -1};
  struct pml_otf2_events *e;
  const struct pml_otf2_event *event;
  uint64_t n = 0, last = 0, location = 0;
  bool ordered = true;
  if (!CHECK(pml_otf2_events_open(&e, t, &q, true) == 0, "events can be read in the order of time")) return;
  for (; pml_otf2_events_next(e, &event) == 1; n++) {
    ordered &= event->time > last || (event->time == last && event->location >= location);
    last = event->time;
    location = event->location;
  }
  CHECK(n == all && ordered, "all %" PRIu64 " are there, and in order (%" PRIu64 ")", all, n);
  pml_otf2_events_close(e);
}

static void many(void) {
  struct pml_otf2_question q = {.to_s = INFINITY, .process = -1};
  struct pml_otf2_events *e;
  struct rlimit files;
  write_many("short", SHORT, events_of_short);
  write_many("long", LONG, events_of_long);
  (void)getrlimit(RLIMIT_NOFILE, &files);
  limit_files(100);
  struct pml_otf2_read *few = open_archive("short"), *t = open_archive("long");
  in_order(few, (uint64_t)LOCATIONS * SHORT);
  CHECK(pml_otf2_events_open(&e, t, &q, true) == -EMFILE && e == NULL &&
            strstr(pml_error_detail(-EMFILE), "ask for fewer locations") != NULL,
        "long locations that need more files are refused: %s", pml_error_detail(-EMFILE));
  q.to_s = 100e-9;
  CHECK(pml_otf2_events_open(&e, t, &q, true) == 0, "but not a short window of them");
  pml_otf2_events_close(e);
  if (files.rlim_max >= 400) {
    limit_files(400);
    q.to_s = INFINITY;
    CHECK(pml_otf2_events_open(&e, t, &q, true) == 0, "all locations are opened, and closed unread");
    pml_otf2_events_close(e);
    in_order(t, (uint64_t)LOCATIONS * LONG);
  } else {
    SKIP("400 files may not be opened here");
  }
  pml_otf2_read_close(t);
  pml_otf2_read_close(few);
}

int main(void) {
  const char *temporary = getenv("TMPDIR");
  (void)snprintf(dir, sizeof dir, "%s/pmlua-otf2-read-XXXXXX", temporary != NULL ? temporary : "/tmp");
  if (mkdtemp(dir) == NULL) return 1;
  sums();
  many();
  CHECK(folder_remove(dir), "nothing is left");
  return check_done();
}
