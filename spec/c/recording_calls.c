/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/recording_calls.c - communications without a time of their own: readers give them that of the call around
 * them, whatever the extent ends with.
 */
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "check.h"
#include "record/log/pml_log.h"
#include "substrate/recording/pml_recording_read_private.h"

enum { REGION = 5, INSIDE, TID = 77, MOST = 32 };
#define WORLD (UINT64_C(1) << 32)
#define OF(what, n, code) PML__LOG_WORD(PML__LOG_CALL_COMMUNICATION, PML__LOG_COMMUNICATED(what, n, code))
#define ENTERS(region) PML__LOG_WORD(PML__LOG_ENTER, region)
#define LEAVES(region) PML__LOG_WORD(PML__LOG_LEAVE, region)

static char dir[200];

/* ---- what is heard: calls as 'e' and 'l', communications by their number ---- */

struct heard {
  size_t n;
  struct {
    unsigned what;
    uint64_t ticks, value[4];
    uint32_t nvalues, code;
  } at[MOST];
};

static int hear_begin(void *arg, int64_t tid, void **track) {
  CHECK(tid == TID, "a thread");
  *track = arg;
  return 0;
}
static int hear_end(void *arg, void *track) {
  return arg == track ? 0 : -1;
}
static int hear_call(void *arg, void *track, const struct pml__recording_event *e) {
  struct heard *h = arg;
  (void)track;
  if (h->n < MOST) h->at[h->n].what = e->kind == PML_STREAM_ENTER ? 'e' : 'l';
  if (h->n < MOST) h->at[h->n++].ticks = e->ticks;
  return 0;
}
static int hear(void *arg, void *track, const struct pml__recording_communicated *e) {
  struct heard *h = arg;
  (void)track;
  if (h->n == MOST || e->nvalues > 4) return -1;
  h->at[h->n].what = e->what;
  h->at[h->n].code = e->code;
  h->at[h->n].ticks = e->ticks;
  h->at[h->n].nvalues = e->nvalues;
  memcpy(h->at[h->n++].value, e->values, e->nvalues * sizeof *e->values);
  return 0;
}

/* ---- a log ---- */

static void listen(const struct pml__log_event *event, size_t n, struct heard *h) {
  static const char *const send[] = {"MPI_Call", ""}, *const inside[] = {"inside", ""};
  const struct pml__log_process p = {"calls", 0, 1, 1000, 1};
  const struct pml__log_region a = {REGION, 0}, b = {INSIDE, 0};
  const struct pml__recording_listener l = {
      .begin = hear_begin, .event = hear_call, .communication = hear, .end = hear_end, .arg = h};
  struct pml__log_entry *recording, *track;
  struct pml__log *log;
  struct pml_recording_reader *r = NULL;
  char path[4096];
  memset(h, 0, sizeof *h);
  if (!CHECK(pml__log_open(&log, dir, &p) == 0, "a log is made")) exit(1);
  struct pml__log_recording *is = pml__log_extent(log, PML__LOG_RECORDING, 0, 0, 4096, 0, &recording);
  char *events = pml__log_extent(log, PML__LOG_EVENTS, TID, 1, 4096, 0, &track);
  if (!CHECK(is != NULL && events != NULL, "it has room")) exit(1);
  CHECK(pml__log_define(log, PML__LOG_REGION, &a, sizeof a, send, 2) == 0 &&
            pml__log_define(log, PML__LOG_REGION, &b, sizeof b, inside, 2) == 0,
        "and names");
  is->traced = 1;
  memcpy(events + sizeof(struct pml__log_track), event, n * sizeof *event);
  (void)snprintf(path, sizeof path, "%s", log->file.path);
  pml__log_end(log);
  pml__log_close(log);
  int err = pml_recording_read_open(&r, path);
  if (err == 0) err = pml__recording_listen(r, &l);
  CHECK(err == 0, "it is read: %s", err < 0 ? pml_error_detail(err) : "");
  pml_recording_read_close(r);
  (void)unlink(path);
}

static bool is(const struct heard *h, size_t i, unsigned what, uint64_t ticks) {
  return i < h->n && h->at[i].what == what && h->at[i].ticks == ticks;
}
static bool has(const struct heard *h, size_t i, uint32_t n, uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
  const uint64_t v[4] = {a, b, c, d};
  return h->at[i].nvalues == n && memcmp(h->at[i].value, v, n * sizeof *v) == 0;
}

/* ---- specs ---- */

static void check_messages(void) {
  const struct pml__log_event event[] = {{100, ENTERS(REGION)},
                                         {40, OF(PML__LOG_ISEND, 2, 1)},
                                         {UINT64_C(9) << 32 | 3, 8},
                                         {130, LEAVES(REGION)},
                                         {200, ENTERS(REGION)},
                                         {11, OF(PML__LOG_IRECV, 0, 1)},
                                         {230, LEAVES(REGION)},
                                         {300, ENTERS(REGION)},
                                         {8, OF(PML__LOG_ISEND_COMPLETE, 0, 1)},
                                         {80, OF(PML__LOG_IRECV_COMPLETE, 2, 4)},
                                         {UINT64_C(0xffffffff) << 32 | 2, 11},
                                         {400, LEAVES(REGION)}};
  struct heard h;
  listen(event, sizeof event / sizeof event[0], &h);
  CHECK(h.n == 10, "ten events are heard: %zu", h.n);
  CHECK(is(&h, 1, PML__LOG_ISEND, 100) && has(&h, 1, 4, WORLD | 3, 9, 40, 8), "a send begins with its call");
  CHECK(is(&h, 4, PML__LOG_IRECV, 200) && has(&h, 4, 1, 11, 0, 0, 0), "a receive, too");
  CHECK(is(&h, 7, PML__LOG_ISEND_COMPLETE, 400) && has(&h, 7, 1, 8, 0, 0, 0), "what completes does so with the leave");
  CHECK(is(&h, 8, PML__LOG_IRECV_COMPLETE, 400) && has(&h, 8, 4, 4 * WORLD | 2, 0xffffffff, 80, 11), "all of it");
  CHECK(is(&h, 9, 'l', 400), "before it");
}

static void check_killed(void) {
  const struct pml__log_event event[] = {{100, ENTERS(REGION)}, {40, OF(PML__LOG_RECEIVE, 1, 1)}, {3, 0}};
  struct heard h;
  listen(event, sizeof event / sizeof event[0], &h);
  CHECK(h.n == 2 && is(&h, 1, PML__LOG_RECEIVE, 100), "without a leave it has the time of the last event");
}

static void check_collective(void) {
  const struct pml__log_event event[] = {{100, ENTERS(REGION)},
                                         {WORLD | 2, OF(PML__LOG_COLLECTIVE_END, 2, PML__LOG_BCAST)},
                                         {7, 6},
                                         {110, ENTERS(INSIDE)},
                                         {120, LEAVES(INSIDE)},
                                         {150, LEAVES(REGION)},
                                         {200, ENTERS(REGION)},
                                         {WORLD | PML__LOG_NO_RANK, OF(PML__LOG_COLLECTIVE_END, 0, PML__LOG_BARRIER)},
                                         {260, PML__LOG_WORD(PML__LOG_LEFT, REGION)},
                                         {300, ENTERS(REGION)},
                                         {WORLD | PML__LOG_NO_RANK, OF(PML__LOG_COLLECTIVE_END, 0, PML__LOG_BARRIER)}};
  struct heard h;
  listen(event, sizeof event / sizeof event[0], &h);
  CHECK(h.n == 11, "eleven events are heard: %zu", h.n);
  CHECK(is(&h, 1, PML__LOG_COLLECTIVE_BEGIN, 100) && has(&h, 1, 1, 0, 0, 0, 0), "an operation begins with its call");
  CHECK(is(&h, 4, PML__LOG_COLLECTIVE_END, 150) && has(&h, 4, 4, WORLD | 2, 7, 6, 0), "and ends with it");
  CHECK(h.at[4].code == PML__LOG_BCAST && is(&h, 5, 'l', 150), "as what it is");
  CHECK(is(&h, 7, PML__LOG_COLLECTIVE_BEGIN, 200) && is(&h, 8, 'l', 260), "unless the call does not return");
  CHECK(is(&h, 10, PML__LOG_COLLECTIVE_BEGIN, 300), "or the process was killed in it");
}

static void check_damaged(void) {
  const struct pml__log_event event[] = {{40, OF(PML__LOG_SEND, 1, 1)},
                                         {3, 0},
                                         {100, ENTERS(REGION)},
                                         {40, OF(PML__LOG_SEND, 0, 1)},
                                         {40, OF(PML__LOG_RMA, 0, 1)},
                                         {40, OF(PML__LOG_REQUEST_CANCELLED, 0, 1)},
                                         {40, OF(PML__LOG_IRECV_COMPLETE, 1, 1)},
                                         {3, 0},
                                         {130, LEAVES(REGION)}};
  struct heard h;
  listen(event, sizeof event / sizeof event[0], &h);
  CHECK(h.n == 2 && is(&h, 0, 'e', 100) && is(&h, 1, 'l', 130),
        "events before the first call, with too few values or of no such kind are left out: %zu", h.n);
}

int main(void) {
  const char *tmp = getenv("TMPDIR");
  (void)snprintf(dir, sizeof dir, "%.150s/recording_calls.XXXXXX", tmp != NULL ? tmp : "/tmp");
  if (!CHECK(mkdtemp(dir) != NULL && pml_clock_init() == 0, "a folder and a clock")) return check_done();
  check_messages();
  check_killed();
  check_collective();
  check_damaged();
  (void)rmdir(dir);
  return check_done();
}
