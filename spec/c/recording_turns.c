/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/recording_turns.c - events moved out of a thread's extent: read once each and in order, wherever the process
 * is killed, and while it runs; whole calls keep their times. */
#include "recording.h"
#include "sanitized.h"

#define KILLS (SANITIZED ? 10 : 150)
#define MANY (UINT64_C(20) * PML__EVENTS_OF_EXTENT)
#define FEW 40 /* events, in an extent of a page */

/* Call @k is at 4 k, and each seventh has another one inside. Which event is the @n-th is known without the others. */
struct known {
  enum pml_stream_kind kind;
  pml_region_t region;
  uint64_t ticks;
};
static struct known known(uint64_t n) {
  uint64_t seven = n / 16, at = n % 16, k = 7 * seven + (at < 4 ? 0 : (at - 2) / 2);
  if (at < 4) {
    bool in = at == 1 || at == 2;
    return (struct known){at < 2 ? PML_STREAM_ENTER : PML_STREAM_LEAVE, in ? inner : outer, 4 * k + at};
  }
  return (struct known){at % 2 == 0 ? PML_STREAM_ENTER : PML_STREAM_LEAVE, outer, 4 * k + at % 2};
}

struct reading {
  uint64_t n; /* events, of one thread */
  bool wrong;
};
static int take(void *arg, void *track, const struct pml__recording_event *e) {
  struct reading *r = track;
  struct known k = known(r->n++);
  (void)arg;
  r->wrong |= e->kind != k.kind || e->region != k.region || e->ticks != k.ticks;
  return 0;
}
static struct reading listen_to(const char *log) {
  struct reading read = {0};
  read.wrong |= recording_listen(log, (struct pml__recording_listener){.event = take, .arg = &read}) < 0;
  return read;
}

static const uint64_t length[] = {0,
                                  1,
                                  PML__LOG_WHOLE_LONGEST - 1,
                                  PML__LOG_WHOLE_LONGEST,
                                  PML__LOG_WHOLE_LONGEST + 1,
                                  PML__LOG_WHOLE_LONGEST + 2,
                                  UINT64_C(1) << 41};
#define LENGTHS (sizeof length / sizeof length[0])
#define APART (UINT64_C(1) << 42)

static int take_length(void *arg, void *track, const struct pml__recording_event *e) {
  struct reading *r = track;
  uint64_t i = r->n / 2, at = (i + 1) * APART;
  bool enters = r->n++ % 2 == 0;
  (void)arg;
  if (i >= LENGTHS || e->region != outer || e->kind != (enters ? PML_STREAM_ENTER : PML_STREAM_LEAVE))
    r->wrong = true;
  else
    r->wrong |= e->ticks != (enters ? at : at + length[i]);
  return 0;
}

static void lengths(void) {
  struct reading read = {0};
  struct pml_recording *s = fresh(NULL);
  if (!CHECK(s != NULL, "a recording is made")) return;
  for (size_t i = 0; i < LENGTHS; i++) {
    enter(outer, (i + 1) * APART);
    leave(outer, (i + 1) * APART + length[i]);
  }
  pml_recording_close(s);
  int err = recording_listen(path, (struct pml__recording_listener){.event = take_length, .arg = &read});
  CHECK(err == 0 && read.n == 2 * LENGTHS && !read.wrong, "calls of every length keep their times (%llu events)",
        (unsigned long long)read.n);
}

static void record_for_ever(uint64_t *done) {
  if (fresh(NULL) == NULL) _exit(1);
  for (uint64_t n = 0;; n++) {
    struct known k = known(n);
    raise_at(k.kind, k.region, k.ticks);
    __atomic_store_n(done, n + 1, __ATOMIC_RELEASE);
  }
}

static struct {
  uint64_t most;
  unsigned wrong, fewer, of_running;
} seen;

static void look(uint64_t done, bool running) {
  struct reading r = listen_to(path);
  if (running) {
    seen.of_running += r.wrong;
    return;
  }
  seen.wrong += r.wrong;
  seen.fewer += r.n < done;
  if (r.n > seen.most) seen.most = r.n;
}

static void kills(void) {
  if (!recording_killed(KILLS, MANY, record_for_ever, look)) return;
  CHECK(seen.most > 2 * PML__EVENTS_OF_EXTENT, "extents were moved out (%llu events)", (unsigned long long)seen.most);
  CHECK(seen.wrong == 0, "after a kill each event is there once, in order (%u of %u logs are wrong)", seen.wrong,
        KILLS);
  CHECK(seen.fewer == 0, "and none is missing (in %u of %u)", seen.fewer, KILLS);
  CHECK(seen.of_running == 0, "a reader of a running process finds a beginning of them (%u are wrong)",
        seen.of_running);
}

static void put(struct pml__log_event *at, uint64_t n) {
  struct known k = known(n);
  at->ticks = k.ticks;
  at->word = PML__LOG_WORD(k.kind == PML_STREAM_ENTER ? PML__LOG_ENTER : PML__LOG_LEAVE, k.region);
}

static bool has(const struct pml__log *log, uint64_t n) {
  struct reading r = listen_to(log->file.path);
  return !r.wrong && r.n == n;
}

static void define(struct pml__log *log, pml_region_t region, const char *name) {
  const struct pml__log_region of = {.region = region};
  CHECK(pml__log_define(log, PML__LOG_REGION, &of, sizeof of, (const char *const[]){name, "lib.so"}, 2) == 0, "a name");
}

static void steps(void) {
  struct pml__log *log;
  struct pml__log_entry *entry;
  const struct pml__log_process process = {.name = "steps", .rank = -1, .size = -1};
  if (!CHECK(pml__log_open(&log, dir, &process) == 0, "a log is made")) return;
  define(log, outer, "outer");
  define(log, inner, "inner");
  void *extent = pml__log_extent(log, PML__LOG_EVENTS, 7, 1, 4096, 0, &entry);
  if (!CHECK(extent != NULL, "an extent is made")) return;
  struct pml__log_event *event = (struct pml__log_event *)extent + PML__EVENTS_FIRST;
  for (uint64_t n = 0; n < FEW; n++) put(&event[n], n);
  CHECK(has(log, FEW), "events are there");
  CHECK(pml__log_move_out(log, entry, extent) == 0 && has(log, FEW), "moved out, they are there once");
  event->word = 0;
  CHECK(has(log, FEW), "and when a reader's way ends at once");
  pml__log_moved_out(entry);
  CHECK(has(log, FEW), "and when that is reported");
  bool still = true;
  event->ticks = 0;
  for (unsigned i = 1; i < FEW; i++) {
    event[i] = (struct pml__log_event){0};
    still &= has(log, FEW);
  }
  CHECK(still, "and while they are cleared");
  for (uint64_t n = 0; n < FEW; n++) put(&event[n], FEW + n);
  CHECK(has(log, UINT64_C(2) * FEW), "those that follow come behind them");
  CHECK(pml__log_move_out(log, entry, extent) == 0, "they are moved out, too");
  pml__log_moved_out(entry);
  for (uint64_t n = 0; n < FEW; n++) put(&event[n], UINT64_C(2) * FEW + n);
  log->head->entries--;
  CHECK(has(log, FEW), "who read the directory before the last move has a beginning, without a gap");
  log->head->entries++;
  pml__log_seal(log);
  CHECK(pml__log_move_out(log, entry, extent) == -EPERM && has(log, UINT64_C(3) * FEW), "a sealed log does not grow");
  unlink(log->file.path);
  pml__log_close(log);
}

int main(void) {
  if (!recording_begin()) return 1;
  lengths();
  steps();
  kills();
  return recording_done();
}
