/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/section_interval.c - calls of sections that are in no call tree: their sums, their events, and their place in
 * a profile. */
#include "check.h"

#include "adapter/section/pml_section_interval.h"
#include "base/pml_clock.h"
#include "substrate/profile/pml_profile.h"

#include <math.h>

static struct pml_section *outer, *overlapping;

static bool is_ticks(double ns, double ticks) {
  return fabs(ns - ticks * 1e9 / pml__clock.ticks_per_second) < 0.01;
}

/* ---- events ---- */

static struct {
  unsigned n;
  uint64_t from, to;
  pml_region_t region;
} heard;

static void *begin(void *arg, uint64_t thread) {
  (void)thread;
  return arg;
}
static void on_interval(void *data, const struct pml_stream_event *e) {
  (void)data;
  heard.n++;
  heard.from = e->values[0];
  heard.to = e->ticks;
  heard.region = e->region;
}

/* ---- the calls ---- */

static void *others(void *arg) {
  return pml_section_interval(overlapping, 1000, 1600) == 0 ? arg : NULL;
}

/* In and beside a call of the same section, and on another thread. */
static bool make_calls(void) {
  pthread_t t;
  void *good = NULL;
  pml_section_start(outer);
  pml_section_start(overlapping);
  bool fine = pml_section_interval(overlapping, 100, 350) == 0 && pml_section_interval(overlapping, 200, 250) == 0;
  pml_section_stop(overlapping);
  fine = fine && pml_section_interval(overlapping, 500, 400) == 0; /* clocks differ */
  fine = fine && pthread_create(&t, NULL, others, &fine) == 0 && pthread_join(t, &good) == 0;
  pml_section_stop(outer);
  return fine && good == &fine;
}

static struct pml_profile_node nodes[8];
static unsigned nnodes;

static int add_node(const struct pml_profile_node *node, void *arg) {
  (void)arg;
  if (nnodes < 8) nodes[nnodes++] = *node;
  return 0;
}

static const struct pml_profile_node *node_of(const struct pml_section *s, uint32_t depth) {
  struct pml_section_info info;
  pml_section_describe(s, &info);
  for (unsigned i = 0; i < nnodes; i++)
    if (nodes[i].region == info.region && nodes[i].depth == depth) return &nodes[i];
  return NULL;
}

static void check_sums(void) {
  struct pml_section_row row = {0}, around = {0};
  CHECK(pml_section_read(overlapping, &row, NULL) == 0 && pml_section_read(outer, &around, NULL) == 0, "rows");
  const struct pml_profile_node *in_call = node_of(overlapping, 1);
  double call = in_call != NULL ? in_call->inclusive_ns : 0;
  CHECK(row.count == 5 && row.running == 0, "a call and four intervals: %llu", (unsigned long long)row.count);
  CHECK(is_ticks(row.total_ns - call, 250 + 50 + 0 + 600), "the sum of their times: %f", row.total_ns - call);
  CHECK(is_ticks(row.self_ns - call, 250 + 50 + 0 + 600), "they contain no sections: %f", row.self_ns - call);
  CHECK(row.min_ns == 0, "an interval whose end is before its begin lasts 0 ticks");
  CHECK(fabs(around.total_ns - around.self_ns - call) < 0.01, "the section around contains only the call");
}

static void check_profile(void) {
  const struct pml_profile_node *alone = node_of(overlapping, 0), *around = node_of(outer, 0);
  CHECK(alone != NULL && alone->count == 4 && alone->running == 0 && alone->nthreads == 2, "intervals of two threads");
  CHECK(alone != NULL && is_ticks(alone->inclusive_ns, 900) && is_ticks(alone->exclusive_ns, 900), "their time");
  CHECK(alone != NULL && alone->min_ns == 0 && is_ticks(alone->max_ns, 600), "their extremes");
  const struct pml_profile_node *in_call = node_of(overlapping, 1);
  CHECK(in_call != NULL && in_call->count == 1 && around != NULL, "the call in its path");
  CHECK(in_call != NULL && around != NULL &&
            fabs(around->inclusive_ns - around->exclusive_ns - in_call->inclusive_ns) < 0.01,
        "intervals are not inside");
}

int main(void) {
  struct pml_profile *profile;
  uint64_t id;
  struct pml_stream_consumer c = {.thread_begin = begin, .arg = &heard, .name = "spec"};
  struct pml_section_info info;
  c.event[PML_STREAM_INTERVAL] = on_interval;
  CHECK(pml_section_define("outer", NULL, &outer) == 0 && pml_section_define("overlapping", NULL, &overlapping) == 0,
        "sections");
  CHECK(pml_section_interval(NULL, 1, 2) == -EINVAL, "no section");
  CHECK(pml_profile_open(&profile) == 0 && pml_stream_add(&c, &id) == 0, "consumers");
  CHECK(make_calls(), "calls");
  pml_section_enable(false);
  CHECK(pml_section_interval(overlapping, 1, 2) == 0, "sections are off");
  pml_section_enable(true);
  CHECK(pml_profile_visit(profile, add_node, NULL) == 0, "a visit");
  pml_section_describe(overlapping, &info);
  CHECK(heard.n == 4 && heard.region == info.region, "four events");
  CHECK(heard.from == 1000 && heard.to == 1600, "begin and end");
  check_sums();
  check_profile();
  return check_done();
}
