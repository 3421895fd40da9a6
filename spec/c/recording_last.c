/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/recording_last.c - recordings that keep only the last events: the state of calls at the beginning of the kept
 * part, then each event once and in order, wherever the process is killed; the file stays small. */
#include "recording.h"
#include "sanitized.h"

#include <sys/stat.h>

#define KEPT (4 * PML__EVENTS_BYTES)
#define MANY (UINT64_C(40) * PML__EVENTS_OF_EXTENT)
#define THREADS 64        /* that a log tells of */
#define RUNNING 4         /* at the same time */
#define BASES UINT64_C(3) /* calls that stay open */
#define KILLS (SANITIZED ? 10 : 100)

static const struct pml_recording_limits last = {.last_bytes = KEPT};

/*
 * First BASES enters of outer; then in each 8 events outer is called, and in it inner twice, which is not there a third
 * time. Event @n is at tick 1 + n.
 */
static enum pml_stream_kind kind_of(uint64_t n) {
  static const bool enters[8] = {true, true, false, true, false, false, true, false};
  return n < BASES || enters[(n - BASES) % 8] ? PML_STREAM_ENTER : PML_STREAM_LEAVE;
}
static pml_region_t region_of(uint64_t n) {
  static const bool is_inner[8] = {false, true, true, true, true, false, false, false};
  return n >= BASES && is_inner[(n - BASES) % 8] ? inner : outer;
}
static uint64_t open_at(uint64_t n) {
  static const uint8_t open[8] = {0, 1, 2, 1, 2, 1, 0, 1};
  return n < BASES ? n : BASES + open[(n - BASES) % 8];
}
static void tell(uint64_t from, uint64_t to) {
  for (uint64_t n = from; n < to; n++) raise_at(kind_of(n), region_of(n), 1 + n);
}

struct reading {
  uint64_t under_way, first, next, threads;
  bool begun, wrong;
};
static int begin(void *arg, int64_t tid, void **track) {
  struct reading *r = arg;
  (void)tid;
  *track = &r[r->threads < THREADS ? r->threads++ : 0];
  return 0;
}

/* Calls under way begin when the last event happened that is not kept. */
static int take(void *arg, void *track, const struct pml__recording_event *e) {
  struct reading *r = track;
  (void)arg;
  if (!r->begun) {
    r->begun = true;
    r->first = r->next = e->ticks == 1 ? 0 : e->ticks;
  }
  if (e->ticks == r->first && r->next == r->first && r->first > 0) {
    r->wrong |= e->kind != PML_STREAM_ENTER || e->region != (r->under_way > BASES ? inner : outer);
    r->under_way++;
    return 0;
  }
  uint64_t n = r->next++;
  r->wrong |= e->kind != kind_of(n) || e->region != region_of(n) || e->ticks != 1 + n;
  return 0;
}

static void listen_to(struct reading *read) {
  memset(read, 0, THREADS * sizeof *read);
  int err = recording_listen(path, (struct pml__recording_listener){.begin = begin, .event = take, .arg = read});
  for (uint64_t i = 0; i < read->threads; i++)
    read[i].wrong |= read[i].first > 0 && read[i].under_way != open_at(read[i].first);
  read->wrong |= err < 0 && err != -EAGAIN;
}

static uint64_t bytes(void) {
  struct stat st;
  return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static void one(void) {
  struct reading r[THREADS];
  struct pml_recording *s = fresh(&last);
  if (!CHECK(s != NULL, "a recording of the last events is made")) return;
  tell(0, 100);
  listen_to(r);
  CHECK(!r->wrong && r->first == 0 && r->next == 100, "all events are there while there are few");
  tell(100, MANY);
  listen_to(r);
  CHECK(!r->wrong && r->next == MANY, "the last events are there, in order, behind the calls that were under way");
  CHECK(r->first > 0 && r->next - r->first > 3 * (uint64_t)PML__EVENTS_OF_EXTENT, "as many as were asked for");
  uint64_t size = bytes();
  tell(MANY, 3 * MANY);
  CHECK(bytes() < size + 65536 * 2, "the file does not grow with the events");
  pml_recording_close(s);
  struct told t = read_back();
  CHECK(t.err == 0 && t.story.unmatched == 0 && t.open >= BASES, "a trace is made of it, without unmatched leaves");
  CHECK(t.story.older_bytes >= 60 * PML__EVENTS_BYTES, "and how much is not in it is known");
}

static void *busy(void *arg) {
  tell(0, *(const uint64_t *)arg);
  return NULL;
}

static void two(void) {
  static const uint64_t few = PML__EVENTS_OF_EXTENT * 5 / 2, many = MANY;
  struct reading r[THREADS];
  pthread_t thread;
  struct pml_recording *s = fresh(&last);
  if (!CHECK(s != NULL, "a recording is made")) return;
  tell(0, few);
  if (CHECK(pthread_create(&thread, NULL, busy, (void *)(uintptr_t)&many) == 0, "a thread begins"))
    pthread_join(thread, NULL);
  listen_to(r);
  bool swapped = r[0].next == many;
  const struct reading *quiet = &r[swapped], *loud = &r[!swapped];
  CHECK(r->threads == 2 && !quiet->wrong && quiet->next == few && quiet->first > 0,
        "of a thread whose first events went, the last ones are there");
  CHECK(!loud->wrong && loud->next == many && loud->first > 0, "and those of the other");
  pml_recording_close(s);
}

static pthread_barrier_t all;

static void *together(void *arg) {
  tell(0, 1); /* it has a new extent, not one of an ended thread */
  pthread_barrier_wait(&all);
  tell(1, *(const uint64_t *)arg);
  return NULL;
}

static void several(void) {
  static const uint64_t many = MANY;
  struct reading r[THREADS];
  pthread_t thread[RUNNING];
  unsigned right = 0;
  struct pml_recording *s = fresh(&last);
  if (!CHECK(s != NULL, "a recording is made")) return;
  pthread_barrier_init(&all, NULL, RUNNING);
  for (int i = 0; i < RUNNING; i++) pthread_create(&thread[i], NULL, together, (void *)(uintptr_t)&many);
  for (int i = 0; i < RUNNING; i++) pthread_join(thread[i], NULL);
  listen_to(r);
  for (int i = 0; i < RUNNING; i++) right += !r[i].wrong && r[i].next == many;
  CHECK(r->threads == RUNNING && right == RUNNING, "of threads that run at the same time the last events are there");
  CHECK(bytes() < KEPT + (2 * RUNNING + 8) * UINT64_C(65536), "in a file that is not larger for that");
  pml_recording_close(s);
}

static void short_lived(void) {
  static const uint64_t few = 1000;
  struct reading r[THREADS];
  uint64_t size = 0, wrong = 0;
  struct pml_recording *s = fresh(&last);
  if (!CHECK(s != NULL, "a recording is made")) return;
  for (int i = 0; i < 400; i++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, busy, (void *)(uintptr_t)&few) == 0) pthread_join(thread, NULL);
    if (i == 100) size = bytes();
  }
  CHECK(size > 0 && bytes() <= size + 65536, "a file does not grow with threads that end");
  listen_to(r);
  for (uint64_t i = 0; i < r->threads; i++) wrong += r[i].wrong || r[i].next != few;
  CHECK(r->threads > 10 && r->threads < THREADS && wrong == 0, "the events of the last ones are there (%llu)",
        (unsigned long long)r->threads);
  pml_recording_close(s);
}

/* The depth of a thread's open calls, and the greatest depth; leaves of unknown calls are counted apart. */
struct depth {
  uint64_t open, most, unknown;
};
static int take_depth(void *arg, void *track, const struct pml__recording_event *e) {
  struct depth *d = arg;
  (void)track;
  if (e->kind == PML_STREAM_ENTER)
    d->open++;
  else if (d->open > 0)
    d->open--;
  else
    d->unknown++;
  if (d->open > d->most) d->most = d->open;
  return 0;
}

static void deep(void) {
  static const uint64_t depth = PML__EVENTS_OF_EXTENT, returned = 1000;
  struct depth d = {0};
  const struct pml__recording_listener to = {.event = take_depth, .arg = &d};
  struct pml_recording *s = fresh(&last);
  uint64_t ticks = 1;
  if (!CHECK(s != NULL, "a recording is made")) return;
  for (uint64_t n = 0; n < depth; n++) enter(outer, ticks++);
  for (uint64_t n = 0; n < MANY; n++) {
    enter(inner, ticks++);
    leave(inner, ticks++);
  }
  for (uint64_t n = 0; n < returned; n++) leave(outer, ticks++);
  for (uint64_t n = 0; n < 3000; n++) {
    enter(inner, ticks++);
    leave(inner, ticks++);
  }
  int err = recording_listen(path, to);
  CHECK(err == 0 && d.most == PML__EVENTS_OF_EXTENT / 2 + 1 && d.open == PML__EVENTS_OF_EXTENT / 2 - returned,
        "of deeply nested calls the inner ones are there, once (%llu open)", (unsigned long long)d.open);
  for (uint64_t n = returned; n < depth; n++) leave(outer, ticks++);
  d = (struct depth){0};
  err = recording_listen(path, to);
  CHECK(err == 0 && d.open == 0 && d.unknown == depth / 2, "the others' leaves are of no call that is known (%llu)",
        (unsigned long long)d.unknown);
  pml_recording_close(s);
  struct told t = read_back();
  CHECK(t.err == 0 && t.written > 0, "and a trace is made of them");
}

static void rank(void) {
  struct reading r[THREADS];
  struct pml_recording *s = fresh(&last);
  if (!CHECK(s != NULL, "a recording is made")) return;
  pml__log_rank(s->log, 0, 2);
  tell(0, MANY);
  listen_to(r);
  CHECK(!r->wrong && r->first == 0 && r->next > 4 * (uint64_t)PML__EVENTS_OF_EXTENT && r->next < MANY / 4,
        "of a rank the first events stay (%llu)", (unsigned long long)r->next);
  pml_recording_close(s);
  struct told t = read_back();
  CHECK(t.err == 0 && t.story.dropped > 0 && t.story.older_bytes == 0 && t.story.refused == 0,
        "those that do not are counted");
}

static void record_for_ever(uint64_t *done) {
  if (fresh(&last) == NULL) _exit(1);
  for (uint64_t n = 0;; n++) {
    tell(n, n + 1);
    __atomic_store_n(done, n + 1, __ATOMIC_RELEASE);
  }
}

static struct { unsigned wrong, fewer, of_running, gone; } seen;

static void look(uint64_t done, bool running) {
  struct reading r[THREADS];
  listen_to(r);
  if (running) {
    seen.of_running += r->wrong;
    return;
  }
  seen.wrong += r->wrong;
  seen.fewer += r->next < done;
  seen.gone += r->first > 0;
}

static void kills(void) {
  if (!recording_killed(KILLS, MANY, record_for_ever, look)) return;
  CHECK(seen.gone > KILLS / 4, "the first events are gone in %u of %u logs", seen.gone, KILLS);
  CHECK(seen.wrong == 0, "after a kill the last events are there once, in order (%u of %u logs are wrong)", seen.wrong,
        KILLS);
  CHECK(seen.fewer == 0, "and none of the last is missing (in %u of %u)", seen.fewer, KILLS);
  CHECK(seen.of_running == 0, "nor is a reading of a running process wrong (%u are)", seen.of_running);
}

static uint64_t told;
static int take_and_tell(void *arg, void *track, const struct pml__recording_event *e) {
  if (told < 3 * MANY) {
    tell(told, 3 * MANY);
    told = 3 * MANY;
  }
  return take(arg, track, e);
}

static void overtaken(void) {
  struct reading read[THREADS] = {0};
  struct pml_recording *s = fresh(&last);
  if (!CHECK(s != NULL, "a recording is made")) return;
  tell(0, told = MANY);
  int err =
      recording_listen(path, (struct pml__recording_listener){.begin = begin, .event = take_and_tell, .arg = read});
  CHECK(err == -EAGAIN && strstr(pml_error_detail(err), "wrote over events") != NULL && !read->wrong,
        "a reader that is overtaken reports that, and has given nothing wrong");
  listen_to(read);
  CHECK(!read->wrong && read->next == 3 * MANY, "and the next one reads to the end");
  pml_recording_close(s);
}

int main(void) {
  if (!recording_begin()) return 1;
  one();
  two();
  several();
  short_lived();
  deep();
  rank();
  kills();
  overtaken();
  return recording_done();
}
