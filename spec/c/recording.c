/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/recording.c - a recording has all that was written to it, at every place where it may end and with many
 * threads.
 */
#include "recording.h"
#include "sanitized.h"

#include <limits.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define THREADS 4
#define CALLS (SANITIZED ? 3000 : 30000)

/* Mappings of logs in this process. */
static int mapped(void) {
  char line[PATH_MAX + 200];
  int n = 0;
  FILE *f = fopen("/proc/self/maps", "r");
  while (f != NULL && fgets(line, sizeof line, f) != NULL) n += strstr(line, ".pmlog") != NULL;
  if (f != NULL) (void)fclose(f);
  return n;
}

static void pairs(void) {
  struct pml_recording *s = fresh(NULL);
  if (!CHECK(s != NULL, "a recording is made")) return;
  struct pml_recording *second;
  CHECK(pml_recording_open(&second, dir, "1") == 0 &&
            strcmp(pml_recording_path(second) + strlen(dir), "/1.2.pmlog") == 0,
        "a second one leaves its place alone");
  unlink(pml_recording_path(second));
  pml_recording_close(second);
  for (uint64_t i = 0; i < 100; i++) {
    enter(outer, 10 * i);
    enter(inner, 10 * i + 2);
    leave(inner, 10 * i + 4);
    leave(outer, 10 * i + 8);
  }
  leave(inner, 5000);
  enter(outer, 4000);
  pml_recording_note(s, "key", "one");
  pml_recording_note(s, "key", "two");
  struct told t = read_back();
  CHECK(t.err == 0 && t.written == 401 && t.open == 1, "every event is there while the process runs (%d, %llu)", t.err,
        (unsigned long long)t.written);
  CHECK(t.story.unmatched == 1 && t.story.pid == getpid() && t.story.ended == PML_RECORDING_RUNNING &&
            strcmp(t.text, "two") == 0,
        "with its current story");
  leave(outer, 3000);
  pml_recording_end(s, PML_RECORDING_EXIT);
  int before = mapped();
  pml_recording_close(s);
  CHECK(before > 0 && mapped() == 0, "a closed recording leaves no mapping: %d of %d", mapped(), before);
  t = read_back();
  CHECK(t.written == 402 && t.open == 0 && t.story.lifted == 1 && t.story.ended == PML_RECORDING_EXIT,
        "and when it has ended; time does not go back");
}

static void nest(int depth, uint64_t at) {
  for (int i = 0; i < depth; i++) enter(outer, at + (uint64_t)i);
  for (int i = depth; i-- > 0;) leave(outer, at + (uint64_t)(2 * depth - i));
}

static void limits(void) {
  struct pml_recording *s = fresh(&(struct pml_recording_limits){.max_depth = 3});
  for (uint64_t i = 0; i < 10; i++) nest(5, 100 * i);
  pml_recording_close(s);
  struct told t = read_back();
  CHECK(t.written == 60 && t.story.deep == 20, "calls inside too many others are left out and counted");

  s = fresh(&(struct pml_recording_limits){.max_calls = 7});
  for (uint64_t i = 0; i < 10; i++) nest(2, 100 * i);
  pml_recording_close(s);
  t = read_back();
  CHECK(t.written == 14 && t.story.often == 13, "no more calls of a function than allowed are kept");

  s = fresh(&(struct pml_recording_limits){.min_ticks = 50, .max_calls = 1000});
  for (uint64_t i = 0; i < 20000; i++) nest(3, 100 * i);
  enter(outer, 9000000);
  enter(inner, 9000001);
  leave(inner, 9000002);
  leave(outer, 9000100);
  pml_recording_close(s);
  t = read_back();
  CHECK(t.written == 2 && t.story.brief == 60001 && t.story.often == 0,
        "short calls are taken back, with short ones inside, and count for no other limit (%llu, %llu)",
        (unsigned long long)t.written, (unsigned long long)t.story.brief);
}

static void long_calls(void) {
  struct pml_recording *s = fresh(&(struct pml_recording_limits){.min_ticks = 2});
  for (uint64_t i = 0; i < CALLS; i++) {
    enter(outer, 10 * i);
    leave(outer, 10 * i + 5);
    enter(outer, 10 * i + 6);
    leave(outer, 10 * i + 7);
  }
  pml_recording_close(s);
  struct told t = read_back();
  CHECK(t.written == 2 * CALLS && t.story.brief == CALLS,
        "a call that is taken back is so in every place of an extent");
}

static void values(void) {
  static const char *const names[] = {"a", "b", "c"};
  struct pml_recording *s = fresh(&(struct pml_recording_limits){.metrics = names, .nmetrics = 3});
  struct pml_stream_metrics *m, *other;
  (void)pml_stream_metrics(names, 3, &m);
  (void)pml_stream_metrics(names, 2, &other);
  uint64_t value[3] = {1, 2, 3};
  struct pml_stream_event e = {.region = outer, .metrics = m, .values = value};
  for (uint64_t i = 0; i < 2 * CALLS; i++) {
    e.ticks = i;
    pml_stream_emit(i % 2 == 0 ? PML_STREAM_ENTER : PML_STREAM_LEAVE, &e);
    value[i % 3]++;
  }
  e.metrics = other;
  pml_stream_emit(PML_STREAM_ENTER, &e);
  e.metrics = NULL;
  pml_stream_emit(PML_STREAM_LEAVE, &e);
  pml_recording_note(s, "events", "a\nb\nc\n");
  pml_recording_close(s);
  struct told t = read_back();
  CHECK(t.err == 0 && t.story.unrecorded == 1 && t.open == 0, "values are kept, and others are counted: %s",
        pml_error_detail(t.err));
}

struct added {
  uint64_t outer, inner;
  double outer_seconds;
};

static int add_sums(const struct pml_recording_function_sums *f, void *arg) {
  struct added *a = arg;
  double seconds;
  memcpy(&seconds, &f->sum[1], sizeof seconds);
  if (f->n != 2 || f->real != 2) return -EINVAL;
  *(f->region == outer ? &a->outer : &a->inner) += f->sum[0];
  if (f->region == outer) a->outer_seconds += seconds;
  return 0;
}

static void with_values(enum pml_stream_kind kind, pml_region_t r, const struct pml_stream_metrics *m, uint64_t count,
                        double seconds) {
  uint64_t value[2] = {count, 0};
  memcpy(&value[1], &seconds, sizeof seconds);
  struct pml_stream_event e = {.ticks = count, .region = r, .metrics = m, .values = value};
  pml_stream_emit(kind, &e);
}

static void sums(void) {
  static const char *const names[] = {"count", "seconds"};
  struct pml_stream_metrics *m;
  struct pml_recording *s;
  struct pml_recording_reader *r = NULL;
  struct added a = {0};
  (void)pml_stream_metrics(names, 2, &m);
  pml_stream_metrics_set_real(m, 1);
  unlink(path);
  CHECK(pml_recording_open(&s, dir, "1") == 0 && pml_recording_sum(s, names, 2) == 0, "a recording sums values");
  for (uint64_t i = 0; i < 1000; i++) {
    with_values(PML_STREAM_ENTER, outer, m, 100 * i, (double)i);
    with_values(PML_STREAM_ENTER, inner, m, 100 * i + 10, (double)i + 0.25);
    with_values(PML_STREAM_ENTER, outer, m, 100 * i + 11, (double)i + 0.25);
    with_values(PML_STREAM_LEAVE, outer, m, 100 * i + 14, (double)i + 0.25);
    with_values(PML_STREAM_LEAVE, inner, m, 100 * i + 30, (double)i + 0.5);
    with_values(PML_STREAM_LEAVE, outer, m, 100 * i + 50, (double)i + 1);
  }
  enter(outer, 0); /* without values */
  leave(outer, 1);
  int err = pml_recording_read_open(&r, path);
  if (err == 0) err = pml_recording_read_sums(r, add_sums, &a);
  CHECK(err == 0 && a.outer == 33000 && a.inner == 17000 && a.outer_seconds == 750,
        "a nested call's amount is its own, also where functions call each other");
  pml_recording_read_close(r);
  pml_recording_close(s);
}

static void *work(void *arg) {
  for (uint64_t i = 0; i < CALLS; i++) {
    uint64_t now = pml_clock_ticks();
    enter(outer, now);
    leave(outer, now + 1);
  }
  return arg;
}

static void threads(void) {
  struct pml_recording *s = fresh(NULL);
  struct stat st;
  for (int round = 0; round < 8; round++) {
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, work, NULL);
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
  }
  pml_recording_close(s);
  struct told t = read_back();
  CHECK(t.err == 0 && t.open == 0 && t.written == UINT64_C(2) * 8 * THREADS * CALLS && t.story.dropped == 0,
        "every event of all threads is there");
  uint64_t least = UINT64_C(16) * 2 * 8 * THREADS * CALLS;
  if (stat(path, &st) != 0) return;
  CHECK((uint64_t)st.st_size < least + (2 * THREADS + 2) * PML__EVENTS_BYTES,
        "and a thread continues in the room that an ended one left (%lld bytes for %llu)", (long long)st.st_size,
        (unsigned long long)least);
}

static void *some(void *arg) {
  for (uint64_t i = 0; i < *(const uint64_t *)arg; i++) {
    enter(outer, 10 * i);
    leave(outer, 10 * i + 1);
  }
  return arg;
}

/* One after the other they fill several extents, and leave room that is too small for the next in some of them. */
static int mapped_after_threads(void) {
  for (uint64_t n = 50, i = 0; i < 4 * PML__EVENTS_OF_EXTENT / n; i++) {
    pthread_t t;
    pthread_create(&t, NULL, some, &n);
    pthread_join(t, NULL);
  }
  return mapped();
}

static void ended_threads(void) {
  struct pml_recording *s = fresh(NULL);
  int first = mapped_after_threads(), second = mapped_after_threads();
  CHECK(second <= first + 1, "extents that ended threads have filled are not mapped: %d, then %d", first, second);
  pml_recording_close(s);
}

static void no_room(void) {
  int status;
  fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) {
    struct rlimit r = {1 << 20, 1 << 20};
    struct pml_recording *s = fresh(NULL);
    setrlimit(RLIMIT_FSIZE, &r);
    for (uint64_t i = 0; i < 100000; i++) nest(2, 10 * i);
    pml_recording_close(s);
    _exit(3);
  }
  waitpid(pid, &status, 0);
  struct told t = read_back();
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3, "a limit on file sizes does not kill");
  CHECK(t.err == 0 && t.written / 2 + t.story.dropped + t.open / 2 >= 199999 && t.story.dropped > 100000,
        "and what found no room is counted");
}

static void sealed(void) {
  struct pml_recording *s = fresh(NULL);
  char *before = pml_recording_get(s, 1, 1, 128);
  nest(2, 0);
  pml_recording_seal(s);
  CHECK(before != NULL && pml_recording_get(s, 1, 2, 128) != NULL && pml_recording_get(s, 1, 3, 1 << 20) == NULL,
        "sealed, there is what room there was, and no more");
  for (uint64_t i = 0; i < 100000; i++) nest(2, 10 * i);
  pml_recording_close(s);
  struct told t = read_back();
  CHECK(t.err == 0 && t.written >= 4 && t.written / 2 + t.story.dropped + t.open / 2 >= 199999 &&
            t.story.dropped > 100000,
        "and what finds none is counted");
}

/* All numbers that regions can have; a further region is refused, so none is recorded without its name. */
static void many_regions(void) {
  char name[32];
  pml_region_t last = 0, next = 0;
  int err = 0;
  for (uint32_t i = 0; err == 0 && i <= PML_REGIONS_MAX; i++) {
    (void)snprintf(name, sizeof name, "function %u", i);
    err = pml_region_intern(name, "many.c", 1, &next);
    if (err == 0) last = next;
  }
  CHECK(err == -ENOMEM && strstr(pml_error_detail(err), "regions already") != NULL, "too many regions are refused: %s",
        pml_error_detail(err));
  struct pml_recording *s = fresh(NULL);
  enter(last, 1);
  leave(last, 2);
  pml_recording_close(s);
  struct told t = read_back();
  CHECK(last > 1000000 && t.err == 0 && t.written == 2 && t.story.dropped == 0, "region %u is recorded: %llu events",
        last, (unsigned long long)t.written);
}

int main(void) {
  if (!recording_begin()) return 1;
  pairs();
  limits();
  long_calls();
  values();
  sums();
  threads();
  ended_threads();
  no_room();
  many_regions();
  sealed();
  return recording_done();
}
