/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/profile.c - call paths from enters and leaves: one thread's to the tick, many threads' to the call. */
#include "base/stream/pml_stream_private.h"
#include "check.h"
#include "sanitized.h"

#include <math.h>

#define THREADS 4
#define CALLS (SANITIZED ? 300 : 3000)

static pml_region_t region[8];

static void raise_at(enum pml_stream_kind kind, pml_region_t r, uint64_t ticks) {
  struct pml_stream_event e = {.ticks = ticks, .region = r};
  pml_stream_emit(kind, &e);
}
static void enter(int r, uint64_t ticks) {
  raise_at(PML_STREAM_ENTER, region[r], ticks);
}
static void leave(int r, uint64_t ticks) {
  raise_at(PML_STREAM_LEAVE, region[r], ticks);
}

struct paths {
  size_t n, most;
  char open[16][16];
  struct {
    char path[64];
    struct pml_profile_node node;
  } at[64];
};

static int keep(const struct pml_profile_node *node, void *arg) {
  struct paths *p = arg;
  struct pml_region_info info;
  if (node->depth >= 16 || p->n == 64 || pml_region_describe(node->region, &info) < 0) return -1;
  snprintf(p->open[node->depth], sizeof p->open[0], "%s", info.name);
  char *to = p->at[p->n].path, *end = to + sizeof p->at[0].path;
  for (uint32_t d = 0; d <= node->depth; d++) to += snprintf(to, (size_t)(end - to), "/%.8s", p->open[d]);
  p->at[p->n++].node = *node;
  return p->most != 0 && p->n == p->most ? 7 : 0;
}

static const struct pml_profile_node *node_at(const struct paths *p, const char *path) {
  static const struct pml_profile_node none;
  for (size_t i = 0; i < p->n; i++)
    if (strcmp(p->at[i].path, path) == 0) return &p->at[i].node;
  return &none;
}

static bool is_ns(double ns, uint64_t ticks) {
  return fabs(ns - (double)ticks * 1e9 / pml__clock.ticks_per_second) < 0.01;
}

static void one_thread(void) {
  struct pml_profile *p;
  struct paths seen = {0};
  struct pml_profile_stats s;
  leave(0, 1);
  CHECK(pml_profile_open(&p) == 0, "a profile is opened");
  leave(3, 5); /* entered before */
  enter(0, 1000);
  enter(1, 1100);
  enter(2, 1150);
  leave(2, 1250);
  leave(1, 1300);
  enter(2, 1400);
  leave(2, 1450);
  enter(1, 1500);
  leave(1, 1510);
  leave(0, 2000);
  enter(2, 3000);
  enter(2, 3100); /* itself */
  leave(3, 3150); /* not innermost */
  leave(2, 3200);
  CHECK(pml_profile_visit(p, keep, &seen) == 0 && seen.n == 6, "each call path is visited once (%zu)", seen.n);
  const struct pml_profile_node *a = node_at(&seen, "/a"), *ab = node_at(&seen, "/a/b");
  CHECK(a->count == 1 && is_ns(a->inclusive_ns, 1000) && is_ns(a->exclusive_ns, 1000 - 200 - 50 - 10),
        "inclusive time is all of it, exclusive time excludes nested regions");
  CHECK(ab->count == 2 && is_ns(ab->inclusive_ns, 210) && is_ns(ab->exclusive_ns, 110), "calls of one path add up");
  CHECK(is_ns(ab->min_ns, 10) && is_ns(ab->max_ns, 200), "with the shortest and the longest");
  CHECK(node_at(&seen, "/a/b/c")->count == 1 && is_ns(node_at(&seen, "/a/b/c")->inclusive_ns, 100) &&
            is_ns(node_at(&seen, "/a/c")->inclusive_ns, 50),
        "the same region from elsewhere is another path");
  CHECK(node_at(&seen, "/c")->count == 0 && node_at(&seen, "/c")->running == 1 && node_at(&seen, "/c/c")->count == 1 &&
            node_at(&seen, "/c/c")->running == 0,
        "so is a call of itself; open calls are included");
  CHECK(strcmp(seen.at[0].path, "/a") == 0 && strcmp(seen.at[1].path, "/a/b") == 0 &&
            strcmp(seen.at[2].path, "/a/b/c") == 0 && strcmp(seen.at[3].path, "/a/c") == 0,
        "parents come before children, the longest first");
  pml_profile_stats(p, &s);
  CHECK(s.threads == 1 && s.events == 7 && s.unmatched == 2 && s.dropped == 0,
        "leaves without their enter are counted, nothing else");
  struct paths some = {.most = 2};
  CHECK(pml_profile_visit(p, keep, &some) == 7 && some.n == 2, "a visit ends when the visitor returns nonzero");
  leave(2, 4000);
  pml_profile_close(p);
  pml_profile_close(NULL);
  CHECK(!pml_stream_wanted(PML_STREAM_ENTER), "closed, it wants no events");
}

static void unwind(int r, uint64_t ticks, uintptr_t sp) {
  const struct pml_stream_call call = {1, sp};
  struct pml_stream_event e = {.ticks = ticks, .region = region[r], .unwound = &call};
  pml_stream_emit(PML_STREAM_LEAVE, &e);
}
static bool returns(uint64_t ticks, uintptr_t sp) {
  const struct pml_stream_call call = {1, sp};
  return pml__stream_return(pml__stream_self, &call, ticks);
}

/* Two copies of a stack take turns below an open call; a call of an older one was left for good. */
static void displaced(void) {
  struct pml_profile *p;
  struct paths seen = {0};
  pml_profile_open(&p);
  enter(0, 1000);
  enter(1, 1000);
  unwind(1, 1010, 80); /* for good */
  for (uint64_t copy = 0; copy < 2; copy++) {
    enter(1, 1100 + 100 * copy);
    enter(2, 1110 + 100 * copy);
    unwind(2, 1150 + 100 * copy, 40);
    unwind(1, 1150 + 100 * copy, 80);
  }
  CHECK(!returns(1400, 48) && returns(1500, 40) && returns(1600, 80) && returns(1700, 40) && returns(1800, 80) &&
            !returns(1900, 40),
        "calls with an unwound leave return later, each once");
  leave(0, 2000);
  pml_profile_visit(p, keep, &seen);
  const struct pml_profile_node *a = node_at(&seen, "/a"), *ab = node_at(&seen, "/a/b"),
                                *abc = node_at(&seen, "/a/b/c");
  CHECK(abc->count == 2 && abc->running == 0 && is_ns(abc->inclusive_ns, 1500 - 1210 + 1700 - 1110) &&
            is_ns(abc->min_ns, 1500 - 1210) && is_ns(abc->max_ns, 1700 - 1110),
        "their time is that until their return, of the last one left first");
  CHECK(ab->count == 2 && ab->running == 1 && is_ns(ab->inclusive_ns, 10 + 1600 - 1200 + 1800 - 1100) &&
            is_ns(ab->exclusive_ns, 10 + 1600 - 1500 + 1210 - 1200 + 1800 - 1700 + 1110 - 1100),
        "also of their callers, which contains it; the call that was left for good did not return");
  CHECK(a->count == 1 && is_ns(a->exclusive_ns, 1000 - 10 - 50 - 50),
        "the call that they were displaced in lacks only their time until then");
  pml_profile_close(p);
  pml_profile_open(&p);
  for (uint64_t i = 0; i < 3000; i++) {
    enter(0, 10 * i);
    unwind(0, 10 * i + 5, i < 1500 ? 80 : 96);
  }
  uint64_t n = 0;
  while (returns(40000, 96)) n++;
  CHECK(n >= 1000 && n <= 1500 && !returns(40000, 80), "of many calls the last %llu are remembered",
        (unsigned long long)n);
  pml_profile_close(p);
}

static void deep_and_wide(void) {
  enum { DEEP = 20000, WIDE = 5000 };
  struct pml_profile *p;
  struct pml_profile_stats s;
  char name[32];
  pml_profile_open(&p);
  uint64_t now = 1;
  for (int i = 0; i < DEEP; i++) enter(0, now++);
  for (int i = 0; i < DEEP; i++) leave(0, now++);
  for (int i = 0; i < WIDE; i++) {
    pml_region_t r;
    snprintf(name, sizeof name, "wide %d", i);
    pml_region_intern(name, NULL, 0, &r);
    for (int k = 0; k < 2; k++) {
      raise_at(PML_STREAM_ENTER, r, now++);
      raise_at(PML_STREAM_LEAVE, r, now++);
    }
  }
  struct paths first = {.most = 1};
  pml_profile_visit(p, keep, &first);
  pml_profile_stats(p, &s);
  CHECK(s.events == DEEP + 2 * WIDE && s.dropped == 0 && s.unmatched == 0, "%d deep and %d wide is no more than that",
        DEEP, WIDE);
  CHECK(first.n == 1 && is_ns(first.at[0].node.inclusive_ns, 2 * DEEP - 1), "and the times are right");
  pml_profile_close(p);
}

#define ALL 64 /* 64 callers with 64 callees each; consecutive callers have nodes 64 apart */
static pml_region_t one_of[ALL];
static uint64_t expected[ALL][ALL], counted[ALL][ALL];
static int caller;

static int number_of(pml_region_t r) {
  int i = 0;
  while (one_of[i] != r) i++;
  return i;
}
static int count_path(const struct pml_profile_node *node, void *arg) {
  (void)arg;
  if (node->depth == 0)
    caller = number_of(node->region);
  else
    counted[caller][number_of(node->region)] += node->count;
  return 0;
}
static void call_by(int by, int what) {
  raise_at(PML_STREAM_ENTER, one_of[by], 1);
  raise_at(PML_STREAM_ENTER, one_of[what], 2);
  raise_at(PML_STREAM_LEAVE, one_of[what], 3);
  raise_at(PML_STREAM_LEAVE, one_of[by], 4);
  expected[by][what]++;
}
static void many_paths(void) {
  struct pml_profile *p;
  char name[32];
  uint32_t random = 1;
  for (int i = 0; i < 256 + ALL / 2; i++) { /* half of the numbers are 256 above the other half */
    pml_region_t r = 0;
    snprintf(name, sizeof name, "one of all %d", i);
    (void)pml_region_intern(name, NULL, 0, &r);
    if (i % 256 < ALL / 2) one_of[i / 256 * (ALL / 2) + i % 256] = r;
  }
  CHECK(pml_profile_open(&p) == 0, "a profile of many paths is opened");
  for (int by = 0; by < ALL; by++)
    for (int what = 0; what < ALL - 1; what++) call_by(by, what);
  for (int i = 0; i < 50000; i++) {
    random = random * 1664525u + 1013904223u;
    call_by((int)(random >> 26), (int)(random >> 20 & 63u));
  }
  CHECK(pml_profile_visit(p, count_path, NULL) == 0 && memcmp(counted, expected, sizeof counted) == 0,
        "each call is counted by its path, for any order of calls");
  pml_profile_close(p);
}

static atomic_bool done;

static void *call(void *arg) {
  for (int i = 0; i < CALLS; i++) {
    uint64_t now = (uint64_t)i * 100;
    enter(0, now);
    enter(1 + i % 3, now + 10);
    leave(1 + i % 3, now + 30);
    leave(0, now + 50);
  }
  return arg;
}

static void *visit_all(void *arg) {
  uintptr_t wrong = 0;
  do {
    struct paths seen = {0};
    wrong += pml_profile_visit(arg, keep, &seen) != 0;
    for (size_t i = 0; i < seen.n; i++) wrong += seen.at[i].node.count > (uint64_t)2 * THREADS * (uint64_t)CALLS;
  } while (!atomic_load(&done));
  return (void *)wrong;
}

static void many_threads(void) {
  struct pml_profile *p;
  struct paths seen = {0};
  pthread_t visitor;
  void *wrong = NULL;
  pml_profile_open(&p);
  atomic_store(&done, false);
  pthread_create(&visitor, NULL, visit_all, p);
  for (int round = 0; round < 2; round++) {
    in_threads(THREADS, call, NULL, 0);
  }
  atomic_store(&done, true);
  pthread_join(visitor, &wrong);
  CHECK(wrong == NULL, "a profile is visited while threads call, begin and end");
  pml_profile_visit(p, keep, &seen);
  const struct pml_profile_node *a = node_at(&seen, "/a"), *b = node_at(&seen, "/a/b");
  uint64_t calls = (uint64_t)2 * THREADS * (uint64_t)CALLS;
  CHECK(a->count == calls && b->count == calls / 3 && a->nthreads == 2 * THREADS, "all calls of all threads are in it");
  CHECK(fabs(a->inclusive_ns / a->exclusive_ns - 50.0 / 30) < 1e-6 && is_ns(b->min_ns, 20) && is_ns(b->max_ns, 20),
        "with their times");
  pml_profile_close(p);
}

static void *open_and_end(void *arg) {
  enter(0, 10);
  enter(1, 20);
  return arg;
}

static void ending_early(void) {
  struct pml_profile *p;
  struct pml_profile_stats s;
  struct paths seen = {0};
  pml_profile_open(&p);
  in_threads(1, open_and_end, NULL, 0);
  pml_profile_stats(p, &s);
  pml_profile_visit(p, keep, &seen);
  CHECK(s.abandoned == 2 && node_at(&seen, "/a/b")->count == 0 && node_at(&seen, "/a/b")->running == 1,
        "calls that a thread's end cut short began and did not return");
  pml_profile_close(p);
}

#define FUNCTIONS 8

struct functions {
  size_t n;
  struct pml_profile_function at[FUNCTIONS];
  uint64_t bucket[FUNCTIONS][PML_HISTOGRAM_BUCKETS];
};

static int keep_function(const struct pml_profile_function *f, void *arg) {
  struct functions *all = arg;
  if (all->n == FUNCTIONS) return -1;
  memcpy(all->bucket[all->n], f->bucket, sizeof all->bucket[0]);
  all->at[all->n++] = *f;
  return 0;
}

static double ns_of(uint64_t ticks) {
  return (double)ticks * 1e9 / pml__clock.ticks_per_second;
}

static uint64_t calls_between(const struct functions *all, size_t f, double from, double to) {
  uint64_t n = 0;
  for (uint32_t i = 0; i < PML_HISTOGRAM_BUCKETS; i++)
    if (pml_profile_bucket_ns(i) >= from && pml_profile_bucket_ns(i) < to) n += all->bucket[f][i];
  return n;
}

/* Durations of 1 to 999 ticks, and the longest possible one, on two paths. */
static void *call_long_and_short(void *arg) {
  uint64_t now = 1;
  enter(0, now);
  for (uint64_t d = 1; d < 1000; d++) {
    enter(1, now);
    leave(1, now += d);
  }
  leave(0, now);
  enter(1, 0);
  leave(1, UINT64_MAX - 1);
  return arg;
}

static void buckets(void) {
  bool narrow = true;
  for (uint32_t i = 16; i < PML_HISTOGRAM_BUCKETS; i++) {
    double from = pml_profile_bucket_ns(i), to = pml_profile_bucket_ns(i + 1);
    narrow &= to > from && to <= from * 1.1251;
  }
  CHECK(narrow && is_ns(pml_profile_bucket_ns(1), 1) && is_ns(pml_profile_bucket_ns(16), 16),
        "buckets are a tick wide at first, then at most an eighth of their durations");
}

static void functions(void) {
  static struct functions seen;
  struct pml_profile *p;
  pml_profile_open(&p);
  for (int i = 0; i < 2; i++) { /* one after the other: each ends, and is merged */
    in_threads(1, call_long_and_short, NULL, 0);
  }
  call_long_and_short(NULL);
  CHECK(pml_profile_functions(p, keep_function, &seen) == 0 && seen.n == 2 && seen.at[0].region == region[0] &&
            seen.at[1].region == region[1],
        "each function is visited once, in the order of regions");
  const struct pml_profile_function *f = &seen.at[1];
  CHECK(f->count == 3000 && calls_between(&seen, 1, 0, 1e300) == 3000, "with the calls of all paths and threads");
  CHECK(is_ns(f->min_ns, 1) && fabs(f->max_ns / ns_of(UINT64_MAX - 1) - 1) < 1e-9, "the shortest and the longest");
  CHECK(fabs(f->median_ns / ns_of(500) - 1) < 0.0625, "the median to half a bucket: %.1f of %.1f ns", f->median_ns,
        ns_of(500));
  CHECK(calls_between(&seen, 1, ns_of(8) * 0.999, ns_of(16) * 0.999) == 3 * 8 &&
            calls_between(&seen, 1, ns_of(64) * 0.999, ns_of(128) * 0.999) == 3 * 64 &&
            calls_between(&seen, 1, ns_of(1024) * 0.999, 1e300) == 3,
        "and how many calls took how long, to the call");
  pml_profile_close(p);
}

/* Times from two clocks, or a late enter of a signal handler. */
static void backwards(void) {
  struct pml_profile *p;
  struct paths seen = {0};
  pml_profile_open(&p);
  for (int i = 0; i < 2; i++) {
    enter(0, 100);
    leave(0, 90);
  }
  CHECK(pml_profile_visit(p, keep, &seen) == 0 && seen.n == 1, "a call that ended before it began is reported");
  const struct pml_profile_node *a = node_at(&seen, "/a");
  CHECK(a->count == 2 && a->max_ns == 0 && a->inclusive_ns == 0, "it took no time");
  pml_profile_close(p);
}

int main(void) {
  static const char *const names[] = {"a", "b", "c", "d"};
  if (pml_clock_init() < 0) return 1;
  for (int i = 0; i < 4; i++)
    if (pml_region_intern(names[i], NULL, 0, &region[i]) < 0) return 1;
  CHECK_EACH(one_thread, displaced, deep_and_wide, many_paths, many_threads, ending_early, buckets, functions,
             backwards);
  return check_done();
}
