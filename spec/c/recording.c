/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/recording.c - what is written to a recording is what is read from it, wherever it ends, and by however many
 * threads.
 */
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "substrate/profile/pml_profile.h"
#include "substrate/recording/pml_recording_file.h"
#include "substrate/recording/pml_recording_read_private.h"
#include "substrate/trace/pml_otf2.h"

#include "check.h"
#include "sanitized.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define CALLS (SANITIZED ? 3000 : 30000)

static char dir[] = "/tmp/pmlua-recording-XXXXXX", path[128];
static pml_region_t outer, inner;

static void raise_at(enum pml_stream_kind kind, pml_region_t r, uint64_t ticks) {
  struct pml_stream_event e = {.ticks = ticks, .region = r};
  pml_stream_raise(kind, &e);
}
static void enter(pml_region_t r, uint64_t ticks) {
  raise_at(PML_STREAM_ENTER, r, ticks);
}
static void leave(pml_region_t r, uint64_t ticks) {
  raise_at(PML_STREAM_LEAVE, r, ticks);
}

/* ---- a recording and what is read from it ---- */

static struct pml_recording *fresh(const struct pml_recording_limits *limits) {
  struct pml_recording *s;
  unlink(path);
  int err = pml_recording_open(&s, dir, "1");
  if (err == 0) err = pml_recording_trace(s, limits);
  if (err < 0) printf("# %s\n", pml_error_detail(err));
  return err == 0 ? s : NULL;
}

/* The events of a trace, as its archive counts them. */
struct told {
  int err;
  uint64_t written, open;
  struct pml_recording_story story;
  char text[32];
};

/* The archive's folder goes away again; how much was written is seen in the events' files. */
static struct told read_back(void) {
  struct told t = {0};
  struct pml_recording_reader *r;
  char command[500], folder[200];
  snprintf(folder, sizeof folder, "%s/trace", dir);
  snprintf(command, sizeof command, "rm -rf %s; mkdir %s", folder, folder);
  t.err = system(command) != 0 ? -1 : pml_recording_read_open(&r, path);
  if (t.err < 0) return t;
  t.err = pml_recording_read_trace(r, folder, "spec (1)", NULL, NULL, &t.open);
  pml_recording_read_story(r, &t.story);
  snprintf(t.text, sizeof t.text, "%s",
           pml_recording_read_note(r, "key") != NULL ? pml_recording_read_note(r, "key") : "");
  for (size_t i = 0; i < r->log.n; i++) {
    int err;
    uint64_t bytes;
    if (r->log.entry[i].kind != PML__LOG_EVENTS) continue;
    struct pml__log_event *e = pml__log_read_extent(&r->log, i, &bytes, &err);
    for (size_t k = PML__RECORDING_FIRST_EVENT; e != NULL && k < PML__RECORDING_EXTENT_EVENTS && e[k].word != 0; k++)
      t.written += e[k].word >> 32 <= PML__LOG_LEAVE;
    free(e);
  }
  pml_recording_read_close(r);
  return t;
}

/* ---- one thread ---- */

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
  CHECK(t.err == 0 && t.written == 401 && t.open == 1, "every event is there while the process goes on (%d, %llu)",
        t.err, (unsigned long long)t.written);
  CHECK(t.story.unmatched == 1 && t.story.pid == getpid() && t.story.ended == PML_RECORDING_RUNNING &&
            strcmp(t.text, "two") == 0,
        "with its story as it is now");
  leave(outer, 3000);
  pml_recording_end(s, PML_RECORDING_EXIT);
  pml_recording_close(s);
  t = read_back();
  CHECK(t.written == 402 && t.open == 0 && t.story.lifted == 1 && t.story.ended == PML_RECORDING_EXIT,
        "and when it has ended; time does not go back");
}

/* ---- limits ---- */

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

/* Every call is longer than the least, and they fill several extents. */
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

/* ---- values ---- */

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
    pml_stream_raise(i % 2 == 0 ? PML_STREAM_ENTER : PML_STREAM_LEAVE, &e);
    value[i % 3]++;
  }
  e.metrics = other;
  pml_stream_raise(PML_STREAM_ENTER, &e);
  e.metrics = NULL;
  pml_stream_raise(PML_STREAM_LEAVE, &e);
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
  pml_stream_raise(kind, &e);
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
        "what a call inside adds is its own, also where functions call each other");
  pml_recording_read_close(r);
  pml_recording_close(s);
}

/* ---- values of calls ---- */

struct kept {
  struct pml_recording_function_value i, d;
  uint32_t n;
};

static int keep_value(const struct pml_recording_function_value *v, void *arg) {
  struct kept *k = arg;
  *(strcmp(v->name, "n") == 0 ? &k->i : &k->d) = *v;
  k->n++;
  return 0;
}

static int read_values(struct kept *k) {
  struct pml_recording_reader *r = NULL;
  *k = (struct kept){0};
  int err = pml_recording_read_open(&r, path);
  if (err == 0) err = pml_recording_read_values(r, keep_value, k);
  pml_recording_read_close(r);
  return err;
}

static void add_both(struct pml_recording *s, int64_t n, double x) {
  struct pml_recording_value v[2] = {{"n", false, (uint64_t)n}, {"x", true, 0}};
  memcpy(&v[1].bits, &x, sizeof x);
  pml_recording_add_values(s, inner, false, v, 2);
}

static void *add_many(void *arg) {
  for (int i = 0; i < CALLS; i++) add_both(arg, i % 2 == 0 ? INT64_MAX : INT64_MIN + i, 0.25 * i);
  return NULL;
}

/* Those of @bytes of the file that are @from become @to. */
static void damage(const void *from, const void *to, size_t bytes) {
  static char all[1 << 21];
  FILE *f = fopen(path, "r+");
  size_t n = f != NULL ? fread(all, 1, sizeof all, f) : 0, at = 0;
  while (at + bytes <= n && memcmp(all + at, from, bytes) != 0) at++;
  CHECK(f != NULL && at + bytes <= n, "what is damaged is there");
  if (f == NULL) return;
  if (at + bytes <= n && fseek(f, (long)at, SEEK_SET) == 0) fwrite(to, 1, bytes, f);
  fclose(f);
}

static void values_of_calls(void) {
  struct pml_recording *s;
  struct kept k;
  pthread_t thread[12];
  unlink(path);
  CHECK(pml_recording_open(&s, dir, "1") == 0 && pml_recording_keep_values(s, false) == 0,
        "a recording keeps values of calls");
  CHECK(read_values(&k) == 0 && k.n == 0, "without calls there are none");
  add_both(s, -7, NAN);
  CHECK(read_values(&k) == 0 && k.n == 2 && k.i.count == 1 && k.i.sum.i == -7 && k.i.least.i == -7 && k.i.most.i == -7,
        "an integer");
  CHECK(k.d.count == 1 && isnan(k.d.sum.d) && isnan(k.d.least.d) && isnan(k.d.most.d), "not a number");
  pml_recording_close(s);

  unlink(path);
  CHECK(pml_recording_open(&s, dir, "1") == 0 && pml_recording_keep_values(s, false) == 0, "another");
  for (int i = 0; i < 12; i++) pthread_create(&thread[i], NULL, add_many, s);
  for (int i = 0; i < 12; i++) pthread_join(thread[i], NULL);
  double half = CALLS / 2, all = 0.25 * CALLS * (CALLS - 1) / 2;
  CHECK(read_values(&k) == 0 && k.i.count == 12 * (uint64_t)CALLS && k.d.count == k.i.count,
        "12 threads: none is lost");
  CHECK(k.i.sum.type == PML_TYPE_INT64 && k.i.sum.i == (int64_t)(12 * half * (half - 1)),
        "of sums that overflow on their way nothing is lost");
  CHECK(k.i.least.i == INT64_MIN + 1 && k.i.most.i == INT64_MAX, "the extremes of all");
  CHECK(k.d.sum.d == 12 * all && k.d.least.d == 0 && k.d.most.d == 0.25 * (CALLS - 1), "doubles, too");
  for (int i = 0; i < 3; i++) add_both(s, INT64_MAX, INFINITY);
  CHECK(read_values(&k) == 0 && k.i.sum.type == PML_TYPE_DOUBLE && k.i.sum.d > 2.7e19 && isinf(k.d.sum.d) &&
            k.d.most.d == INFINITY,
        "a sum of more than 64 bits is a double");
  pml_recording_close(s);
}

static void damaged_values(void) {
  struct pml_recording *s;
  struct kept k;
  static const uint64_t calls[5] = {1, 4711, 0, 4711, 4711}, more[5] = {UINT64_MAX / 2, 4711, 0, 4711, 4711};
  unlink(path);
  CHECK(pml_recording_open(&s, dir, "1") == 0 && pml_recording_keep_values(s, false) == 0, "a recording to be damaged");
  add_both(s, 4711, 1.5);
  pml_recording_close(s);
  damage(calls, more, sizeof calls);
  CHECK(read_values(&k) == PML_EFORMAT, "more calls than there can have been are refused: %s",
        pml_error_detail(PML_EFORMAT));
  damage(more, calls, sizeof calls);
  CHECK(read_values(&k) == 0 && k.n == 2 && k.i.sum.i == 4711, "as it was before");
  damage("n\0x", "\0\0x", 3);
  CHECK(read_values(&k) == 0 && k.n == 0, "values without their names are left out");
}

/* ---- values of calls, in the trace ---- */

/* What a listener gets. Of a call of inner with n its values are n and n / 4, and it gives -n. */
struct heard {
  uint64_t enters, leaves, given, gave, wrong, ticks;
  int64_t n; /* of the call of inner under way */
  bool of_inner;
};

static int hear_begin(void *arg, int64_t tid, void **track) {
  (void)tid;
  *track = arg;
  return 0;
}

static void hear_values(struct heard *h, const struct pml__recording_told *e) {
  double x;
  memcpy(&x, &e->values[e->results ? 0 : 1], sizeof x);
  if (e->results) {
    h->gave++;
    h->wrong += e->nvalues != 1 || !h->of_inner || (int64_t)e->values[0] != -h->n;
  } else {
    h->given++;
    h->n = (int64_t)e->values[0];
    h->wrong += e->nvalues != 2 || !h->of_inner || x != 0.25 * (double)h->n || e->ticks != h->ticks;
  }
  h->wrong += e->region != inner;
}

static int hear(void *arg, void *track, const struct pml__recording_told *e) {
  struct heard *h = track;
  (void)arg;
  if (e->kind == PML_STREAM_METRIC) {
    hear_values(h, e);
  } else {
    h->wrong += e->kind == PML_STREAM_LEAVE && h->gave > 0 && h->of_inner && e->ticks != h->ticks;
    h->of_inner = e->kind == PML_STREAM_ENTER && e->region == inner;
    *(e->kind == PML_STREAM_ENTER ? &h->enters : &h->leaves) += 1;
  }
  h->ticks = e->ticks;
  return 0;
}

static int hear_end(void *arg, void *track) {
  (void)arg, (void)track;
  return 0;
}

static struct heard heard(void) {
  struct heard h = {0};
  struct pml_recording_reader *r = NULL;
  const struct pml__recording_listener l = {hear_begin, hear, hear_end, NULL, NULL, NULL, 0, &h};
  int err = pml_recording_read_open(&r, path);
  if (err == 0) err = pml__recording_listen(r, &l);
  CHECK(err == 0, "a trace with values is read: %s", pml_error_detail(err));
  pml_recording_read_close(r);
  return h;
}

/* A call of inner from @ticks on, for @long_ ticks. */
static void call_inner(struct pml_recording *s, int64_t n, uint64_t ticks, uint64_t long_) {
  struct pml_recording_value gave = {"return", false, (uint64_t)-n};
  pml_stream_ready(inner); /* as wrappers do */
  enter(inner, ticks);
  add_both(s, n, 0.25 * (double)n);
  pml_recording_add_values(s, inner, true, &gave, 1);
  leave(inner, ticks + long_);
}

static struct pml_recording *fresh_with_values(const struct pml_recording_limits *limits) {
  struct pml_recording *s = fresh(limits);
  CHECK(s != NULL && pml_recording_keep_values(s, true) == 0, "a recording keeps values in its trace");
  return s;
}

static void traced_values(void) {
  struct pml_recording *s = fresh_with_values(NULL);
  for (int64_t i = 0; i < CALLS; i++) call_inner(s, i, 100 * (uint64_t)i, 10);
  enter(outer, 100 * CALLS);
  add_both(s, 1, 1); /* of inner, which is not innermost */
  leave(outer, 100 * CALLS + 1);
  struct told t = read_back();
  struct heard h = heard();
  CHECK(t.err == 0 && t.open == 0 && t.story.dropped == 0 && h.enters == CALLS + 1 && h.leaves == CALLS + 1,
        "every call is in the trace");
  CHECK(h.given == CALLS && h.gave == CALLS && h.wrong == 0,
        "with its own values, at the times of its enter and its leave (%llu, %llu, %llu wrong)",
        (unsigned long long)h.given, (unsigned long long)h.gave, (unsigned long long)h.wrong);
  pml_recording_close(s);
}

/* Those that are long enough fill several extents, with some that are not in every place. */
static void limited_values(void) {
  struct pml_recording *s = fresh_with_values(&(struct pml_recording_limits){.min_ticks = 10, .max_depth = 2});
  for (uint64_t i = 0; i < CALLS; i++) {
    uint64_t at = 100 * i;
    call_inner(s, (int64_t)i, at, 10);
    call_inner(s, -1, at + 20, 9);
    enter(outer, at + 30);
    call_inner(s, -1, at + 31, 3); /* taken back, and then what is around it */
    leave(outer, at + 36);
    enter(outer, at + 40);
    enter(outer, at + 40);
    call_inner(s, -1, at + 41, 20); /* too deep */
    leave(outer, at + 70);
    leave(outer, at + 71);
    pml_stream_ready(inner);
    enter(inner, at + 80); /* without results, and so plainly left */
    add_both(s, -1, -1);
    leave(inner, at + 85);
  }
  pml_recording_close(s);
  struct heard h = heard();
  struct told t = read_back();
  /* What is around one that moved on to the next extent is kept. */
  uint64_t kept = 4 * (uint64_t)CALLS - t.story.brief;
  CHECK(h.enters == 3 * CALLS + kept && h.leaves == h.enters && kept <= 20 && t.story.deep == CALLS,
        "calls with values that are short or deep are left out (%llu, %llu)", (unsigned long long)h.enters,
        (unsigned long long)kept);
  CHECK(h.given == CALLS && h.gave == CALLS && h.wrong == 0, "and so are their values");
}

/* Extents are mapped where others were: what is at the place of an enter is not that enter. */
static void moved_on(void) {
  uint64_t pairs_of_two = PML__RECORDING_EXTENT_EVENTS - PML__RECORDING_FIRST_EVENT, wrong = 0;
  for (uint64_t n = pairs_of_two - 3; n < pairs_of_two + 3; n++) {
    struct pml_recording *s = fresh(&(struct pml_recording_limits){.min_ticks = 50});
    enter(outer, 0);
    enter(outer, 0);
    for (uint64_t i = 0; i < n; i++) {
      enter(inner, 100 * i);
      leave(inner, 100 * i + 50);
    }
    leave(outer, 100 * n - 40);
    leave(outer, 100 * n - 40);
    pml_recording_close(s);
    struct told t = read_back();
    wrong += t.written != 2 * n + 4 || t.story.brief != 0 || t.open != 0;
  }
  CHECK(wrong == 0, "a long call whose enter is in an extent before is kept (%llu)", (unsigned long long)wrong);
}

static void damaged_trace(void) {
  struct pml_recording *s = fresh_with_values(NULL);
  for (int64_t i = 0; i < 3; i++) call_inner(s, 1000 + i, 100 * (uint64_t)i, 10);
  pml_recording_close(s);
  const uint64_t call[2] = {PML__LOG_WORD(PML__LOG_VALUES_OF_CALL, PML__LOG_OF_CALL(0, 2, inner)), 1001};
  static const uint32_t number[] = {0, 1, 16, 33, 127};
  for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
    const uint64_t other[2] = {PML__LOG_WORD(PML__LOG_VALUES_OF_CALL, PML__LOG_OF_CALL(0, number[i], inner)), 1001};
    damage(call, other, sizeof call);
    struct told t = read_back();
    CHECK(t.err == 0 && heard().enters >= 2, "%u values where there were 2: what was before is read", number[i]);
    damage(other, call, sizeof call);
  }
  const uint64_t other[2] = {PML__LOG_WORD(PML__LOG_VALUES_OF_CALL, PML__LOG_OF_CALL(0, 2, 0xffffff)), 1001};
  damage(call, other, sizeof call);
  struct heard h = heard();
  CHECK(read_back().err == 0 && h.enters == 3 && h.given == 2, "values of a region without a name are left out");
}

/* A child that was made past all handlers has no trace, and its parent's is the parent's. */
static void values_in_child(void) {
  struct pml_recording *s = fresh_with_values(NULL);
  int status = -1;
  enter(inner, 0);
  add_both(s, 4, 1);
  fflush(stdout);
  pid_t pid = (pid_t)syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);
  if (pid == 0) {
    add_both(s, 5, 1.25);
    _exit(3);
  }
  waitpid(pid, &status, 0);
  struct heard h = heard();
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3 && h.given == 1 && h.n == 4 && h.wrong == 0,
        "what a child is given is not in its parent's trace (%llu)", (unsigned long long)h.given);
  leave(inner, 1);
  pml_recording_close(s);
}

/* ---- many threads ---- */

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
  CHECK((uint64_t)st.st_size < least + (2 * THREADS + 2) * PML__RECORDING_EVENTS_BYTES,
        "and a thread goes on where one that ended left room (%lld bytes for %llu)", (long long)st.st_size,
        (unsigned long long)least);
}

/* ---- the world ends ---- */

/* In a child: an endless run of calls, killed in the middle of it. */
static void killed(void) {
  int status, up[2];
  char byte = 0;
  if (pipe(up) != 0) return;
  pid_t pid = fork();
  if (pid == 0) {
    struct pml_recording *s = fresh(NULL);
    alarm(60);
    if (s == NULL) _exit(9);
    for (uint64_t i = 0;; i++) {
      enter(outer, 4 * i);
      enter(inner, 4 * i + 1);
      leave(inner, 4 * i + 2);
      leave(outer, 4 * i + 3);
      if (i == 1000 && write(up[1], &byte, 1) < 0) _exit(9);
    }
  }
  close(up[1]);
  bool began = read(up[0], &byte, 1) == 1;
  close(up[0]);
  kill(pid, SIGKILL);
  waitpid(pid, &status, 0);
  struct told t = read_back();
  static const uint64_t open[] = {0, 1, 2, 1}; /* after so many of the four events of a round */
  CHECK(began && WIFSIGNALED(status) && t.err == 0 && t.written > 4000 && t.open == open[t.written % 4],
        "of a process that is killed every event is there until then (%llu, %llu open)", (unsigned long long)t.written,
        (unsigned long long)t.open);
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

/* ---- a profile ---- */

static void *get(void *s, uint32_t whose, uint32_t part, size_t bytes) {
  return pml_recording_get(s, whose, part, bytes);
}
static void put(void *s, void *memory) {
  pml_recording_put(s, memory);
}
static void name(void *s, pml_region_t region) {
  pml_recording_name(s, region);
}

struct sums {
  uint64_t calls, running, nodes;
  double inclusive_ns;
};

static int add(const struct pml_profile_node *n, void *arg) {
  struct sums *s = arg;
  s->calls += n->count;
  s->running += n->running;
  s->nodes++;
  s->inclusive_ns += n->inclusive_ns;
  return 0;
}

static void profile(void) {
  struct pml_recording *s;
  struct pml_profile *p, *found = NULL;
  struct pml_recording_reader *r = NULL;
  struct sums mine = {0}, read = {0};
  pthread_t t[THREADS];
  unlink(path);
  CHECK(pml_recording_open(&s, dir, "1") == 0, "a recording is made");
  struct pml_profile_memory m = {get, put, name, s};
  CHECK(pml_profile_open_in(&p, &m) == 0, "a profile is in it");
  for (int i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, work, NULL);
  for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
  for (uint64_t i = 0; i < 300; i++) nest((int)i, 10000 * i);
  enter(outer, 5000000);
  (void)pml_profile_visit(p, add, &mine);
  CHECK(pml_recording_read_open(&r, path) == 0 && pml_recording_read_profile(r, &found) == 0,
        "it is read while it goes on: %s", pml_error_detail(0));
  if (found != NULL) (void)pml_profile_visit(found, add, &read);
  CHECK(read.nodes == 299 && read.nodes == mine.nodes && read.calls == mine.calls && read.running == 1 &&
            read.inclusive_ns == mine.inclusive_ns,
        "with every path, call and tick (%llu paths)", (unsigned long long)read.nodes);
  leave(outer, 5000001);
  pml_profile_close(found);
  pml_recording_read_close(r);
  pml_profile_close(p);
  pml_recording_close(s);
}

static void no_recording(void) {
  struct pml_recording_reader *r;
  char other[160];
  snprintf(other, sizeof other, "%s/nowhere", dir);
  CHECK(pml_recording_read_open(&r, other) == -ENOENT && r == NULL, "a file that is not there is said to be not there");
  CHECK(pml_recording_read_open(&r, dir) == -EISDIR, "a folder is no log");
  int fd = open(path, O_RDWR | O_TRUNC);
  CHECK(fd >= 0 && ftruncate(fd, 70000) == 0 && pml_recording_read_open(&r, path) == PML_EFORMAT, "neither are zeros");
  close(fd);
}

int main(void) {
  char command[64];
  if (mkdtemp(dir) == NULL) return 1;
  snprintf(path, sizeof path, "%s/1.pmlog", dir);
  pml_clock_init();
  pml_region_intern("outer", "lib.so", 0, &outer);
  pml_region_intern("inner", "lib.so", 0, &inner);
  pairs();
  limits();
  long_calls();
  values();
  sums();
  values_of_calls();
  damaged_values();
  traced_values();
  limited_values();
  moved_on();
  damaged_trace();
  values_in_child();
  threads();
  profile();
  killed();
  no_room();
  sealed();
  no_recording();
  snprintf(command, sizeof command, "rm -rf %s", dir);
  if (system(command) != 0) return 1;
  return check_done();
}
