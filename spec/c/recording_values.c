/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/recording_values.c - what calls were given and gave, in a recording: added up, and in its trace. */
#include "recording.h"
#include "sanitized.h"

#include <math.h>
#include <sys/syscall.h>

#define CALLS (SANITIZED ? 3000 : 30000)

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

/* Replace the value @from by @to in @bytes of the file. */
static void values_of_calls(void) {
  struct pml_recording *s;
  struct kept k;
  pthread_t thread[12];
  unlink(path);
  CHECK(pml_recording_open(&s, dir, "1") == 0 && pml_recording_keep_values(s, false) == 0,
        "a recording keeps values of calls");
  CHECK(read_values(&k) == 0 && k.n == 0, "without calls there are no values");
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

/* The events of a listener. A call of inner with n has the values n and n / 4, and returns -n. */
struct heard {
  uint64_t enters, leaves, given, gave, wrong, ticks;
  int64_t n; /* n of the open call of inner */
  bool of_inner;
};

static void hear_values(struct heard *h, const struct pml__recording_event *e) {
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

static int hear(void *arg, void *track, const struct pml__recording_event *e) {
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

static struct heard heard(void) {
  struct heard h = {0};
  int err = recording_listen(path, (struct pml__recording_listener){.event = hear, .arg = &h});
  CHECK(err == 0, "a trace with values is read");
  return h;
}

static void call_inner(struct pml_recording *s, int64_t n, uint64_t ticks, uint64_t long_) {
  struct pml_recording_value gave = {"return", false, (uint64_t)-n};
  pml_stream_prepare(inner); /* as wrappers do */
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
  add_both(s, 1, 1); /* values of inner, which is not the innermost call */
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

static void limited_values(void) {
  struct pml_recording *s = fresh_with_values(&(struct pml_recording_limits){.min_ticks = 10, .max_depth = 2});
  for (uint64_t i = 0; i < CALLS; i++) {
    uint64_t at = 100 * i;
    call_inner(s, (int64_t)i, at, 10);
    call_inner(s, -1, at + 20, 9);
    enter(outer, at + 30);
    call_inner(s, -1, at + 31, 3); /* removed, and then its caller as well */
    leave(outer, at + 36);
    enter(outer, at + 40);
    enter(outer, at + 40);
    call_inner(s, -1, at + 41, 20); /* too deep */
    leave(outer, at + 70);
    leave(outer, at + 71);
    pml_stream_prepare(inner);
    enter(inner, at + 80); /* without results, and so plainly left */
    add_both(s, -1, -1);
    leave(inner, at + 85);
  }
  pml_recording_close(s);
  struct heard h = heard();
  struct told t = read_back();
  /* a caller of a call that moved on to the next extent is kept */
  uint64_t kept = 4 * (uint64_t)CALLS - t.story.brief;
  CHECK(h.enters == 3 * CALLS + kept && h.leaves == h.enters && kept <= 20 && t.story.deep == CALLS,
        "calls with values that are short or deep are left out (%llu, %llu)", (unsigned long long)h.enters,
        (unsigned long long)kept);
  CHECK(h.given == CALLS && h.gave == CALLS && h.wrong == 0, "and so are their values");
}

/* Extents are mapped at addresses of earlier ones: the event at an enter's old address is another one. */
static void moved_on(void) {
  uint64_t pairs_of_two = PML__EVENTS_OF_EXTENT - PML__EVENTS_FIRST, wrong = 0;
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
        "the events of a child are not in its parent's trace (%llu)", (unsigned long long)h.given);
  leave(inner, 1);
  pml_recording_close(s);
}

int main(void) {
  if (!recording_begin()) return 1;
  values_of_calls();
  traced_values();
  limited_values();
  moved_on();
  values_in_child();
  return recording_done();
}
