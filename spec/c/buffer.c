/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/buffer.c - the event buffer: recorded events are drained as emitted; events without room are counted, as whole
 * calls.
 *
 * Threads emit for SOAK_SECONDS (1) while another thread drains.
 */
#include "base/pml_thread.h"
#include "check.h"
#include "record/pml_buffer.h"

static pml_region_t outer, inner;

static void raise_event(enum pml_stream_kind kind, pml_region_t region, uint64_t ticks) {
  const struct pml_stream_event e = {.ticks = ticks, .region = region};
  pml_stream_emit(kind, &e);
}

#define SEEN_MAX 70000u
static struct pml_buffer_event seen[SEEN_MAX];
static uint64_t value[PML_STREAM_METRICS_MAX];
static uint32_t nseen;

static int see(const struct pml_buffer_event *e, void *arg) {
  (void)arg;
  if (nseen < SEEN_MAX) seen[nseen++] = *e;
  if (e->metrics != NULL) memcpy(value, e->values, e->metrics->n * sizeof value[0]);
  return 0;
}
static int drain(struct pml_buffer *b) {
  nseen = 0;
  return pml_buffer_drain(b, see, NULL);
}

static void carries_values(void) {
  static const char *const name[] = {"one", "two", "three"};
  const uint64_t values[] = {11, 22, 33};
  struct pml_stream_metrics *m;
  struct pml_buffer *b;
  struct pml_stream_event e = {.ticks = 5, .region = outer, .values = values};
  int err = pml_stream_metrics(name, 3, &m);
  if (err == 0) err = pml_buffer_open(&b, NULL);
  if (!CHECK(err == 0, "a buffer, and names of values")) return;
  e.metrics = m;
  for (unsigned kind = 0; kind <= PML_STREAM_METRIC; kind++) {
    pml_stream_emit((enum pml_stream_kind)kind, &e);
    memset(value, 0, sizeof value);
    CHECK(drain(b) == 0 && nseen == 1 && seen[0].kind == kind && seen[0].metrics == m && value[0] == 11 &&
              value[1] == 22 && value[2] == 33,
          "events of kind %u carry their values", kind);
  }
  /* Records of four slots: sooner or later one goes over the end of the ring. */
  uint64_t good = 0, rounds = 3 * PML_BUFFER_RECORDS / 4;
  for (uint64_t i = 0; i < rounds; i++) {
    e.ticks = i;
    pml_stream_emit(PML_STREAM_METRIC, &e);
    if (i % 100 == 0) raise_event(PML_STREAM_METRIC, outer, i); /* so that they do not begin at the same slots */
    if (i % 1000 == 999) good += drain(b) == 0 && nseen == 1010 && value[2] == 33;
  }
  CHECK(good == rounds / 1000, "also where the ring starts over");
  pml_buffer_close(b);
}

static void full(void) {
  const struct pml_buffer_options o = {.records = 256};
  struct pml_buffer *b;
  struct pml_buffer_stats s;
  if (!CHECK(pml_buffer_open(&b, &o) == 0, "a small buffer")) return;
  raise_event(PML_STREAM_ENTER, outer, 1);
  for (uint64_t i = 0; i < 1000; i++) {
    raise_event(PML_STREAM_ENTER, inner, 10 * i);
    raise_event(PML_STREAM_ENTER, inner, 10 * i + 1);
    raise_event(PML_STREAM_LEAVE, inner, 10 * i + 2);
    raise_event(PML_STREAM_LEAVE, inner, 10 * i + 3);
  }
  raise_event(PML_STREAM_LEAVE, outer, 100000);
  drain(b);
  uint32_t open = 0, worst = 0, below = 0;
  for (uint32_t i = 0; i < nseen; i++) {
    if (seen[i].kind == PML_STREAM_ENTER && ++open > worst) worst = open;
    if (seen[i].kind == PML_STREAM_LEAVE && open-- == 0) below++;
  }
  pml_buffer_stats(b, &s);
  CHECK(nseen > 200 && nseen <= 256 && open == 0 && below == 0 && seen[nseen - 1].region == outer,
        "a full buffer drops whole calls: every enter that is kept has its leave");
  CHECK(s.events == nseen && s.dropped == 4002 - nseen, "and counts what it dropped");
  raise_event(PML_STREAM_ENTER, inner, 7);
  raise_event(PML_STREAM_LEAVE, inner, 8);
  CHECK(drain(b) == 0 && nseen == 2, "drained, it has room again");
  raise_event(PML_STREAM_LEAVE, inner, 9);
  pml_buffer_stats(b, &s);
  CHECK(drain(b) == 0 && nseen == 0 && s.unmatched == 1, "leaves without an enter are counted");
  for (uint32_t i = 0; i < PML_BUFFER_DEPTH_MAX + 50; i++) raise_event(PML_STREAM_ENTER, inner, i);
  for (uint32_t i = 0; i < PML_BUFFER_DEPTH_MAX + 50; i++) raise_event(PML_STREAM_LEAVE, inner, i);
  raise_event(PML_STREAM_ENTER, outer, 7);
  raise_event(PML_STREAM_LEAVE, outer, 8);
  drain(b);
  CHECK(nseen > 2 && nseen % 2 == 0 && seen[nseen - 1].region != outer, "very deep calls do not harm");
  raise_event(PML_STREAM_ENTER, outer, 7);
  raise_event(PML_STREAM_LEAVE, outer, 8);
  CHECK(drain(b) == 0 && nseen == 2 && seen[1].region == outer && seen[1].depth == 0, "those after them are as before");
  pml_buffer_close(b);
}

static void crossed(void) {
  struct pml_buffer *b;
  struct pml_buffer_stats s;
  if (!CHECK(pml_buffer_open(&b, NULL) == 0, "a buffer")) return;
  raise_event(PML_STREAM_ENTER, outer, 1);
  raise_event(PML_STREAM_ENTER, inner, 2);
  raise_event(PML_STREAM_LEAVE, outer, 3);
  raise_event(PML_STREAM_LEAVE, inner, 4);
  raise_event(PML_STREAM_LEAVE, outer, 5);
  pml_buffer_stats(b, &s);
  CHECK(drain(b) == 0 && nseen == 4 && seen[2].region == inner && seen[2].ticks == 4 && seen[3].region == outer &&
            seen[3].ticks == 5 && seen[3].depth == 0,
        "a leave of a region that is not the innermost is left out");
  CHECK(s.unmatched == 1 && s.events == 4, "and counted");
  pml_buffer_close(b);
}

static void left_out(void) {
  struct pml_buffer *b;
  if (!CHECK(pml_buffer_open(&b, NULL) == 0, "a buffer")) return;
  pml_buffer_leave_out(b, inner, true);
  raise_event(PML_STREAM_ENTER, outer, 1);
  raise_event(PML_STREAM_ENTER, inner, 2);
  raise_event(PML_STREAM_LEAVE, inner, 3);
  pml_buffer_leave_out(b, outer, true);
  raise_event(PML_STREAM_LEAVE, outer, 4);
  CHECK(drain(b) == 0 && nseen == 2 && seen[0].region == outer && seen[1].region == outer,
        "a region that is left out is not kept; a region that was entered before has its leave");
  pml_buffer_leave_out(b, inner, false);
  raise_event(PML_STREAM_ENTER, inner, 5);
  raise_event(PML_STREAM_LEAVE, inner, 6);
  CHECK(drain(b) == 0 && nseen == 2, "until it is wanted again");
  pml_buffer_close(b);
}

static void refuses(void) {
  const struct pml_buffer_options o = {.records = PML_BUFFER_RECORDS_MAX + 1};
  struct pml_buffer *b;
  CHECK(pml_buffer_open(&b, &o) == -EINVAL && b == NULL, "a buffer that would be too large is refused");
  pml_buffer_close(NULL);
}

static void *raises_two(void *arg) {
  raise_event(PML_STREAM_ENTER, outer, 1);
  raise_event(PML_STREAM_LEAVE, outer, 2);
  return arg;
}

static void threads_come_and_go(void) {
  const struct pml_buffer_options o = {.records = 256, .threads = 2};
  struct pml_buffer *b;
  struct pml_buffer_stats s;
  uint64_t ids[10], same = 0, all = 0;
  if (!CHECK(pml_buffer_open(&b, &o) == 0, "a buffer of two threads")) return;
  raises_two(NULL);
  for (int i = 0; i < 10; i++) {
    in_threads(1, raises_two, NULL, 0);
    drain(b);
    all += nseen;
    ids[i] = nseen > 0 ? seen[0].thread : 0;
    same += i > 0 && ids[i] == ids[i - 1];
  }
  pml_buffer_stats(b, &s);
  CHECK(all == 22 && same == 0 && s.threads == 2 && s.refused == 0, "threads that ended leave their rings to others");
  for (int i = 0; i < 3; i++) {
    in_threads(1, raises_two, NULL, 0);
  }
  pml_buffer_stats(b, &s);
  CHECK(s.threads == 2 && s.refused == 2 && drain(b) == 0 && nseen == 2,
        "once they are drained; more threads than rings are refused, and counted");
  pml_buffer_close(b);
}

static void forked(void) {
  struct pml_buffer *b;
  int status = 0;
  if (!CHECK(pml_buffer_open(&b, NULL) == 0, "a buffer")) return;
  raises_two(NULL);
  pid_t pid = fork();
  if (pid == 0) {
    raises_two(NULL);
    int bad = drain(b) != 0 || nseen != 0;
    pml_buffer_close(b);
    _exit(bad);
  }
  CHECK(exit_of(pid) == 0, "a child has nothing of its parent's buffer");
  CHECK(drain(b) == 0 && nseen == 2, "and takes nothing from it");
  pid = vfork(); /* it has our memory */
  if (pid == 0) {
    pml_buffer_close(b);
    _exit(0);
  }
  waitpid(pid, &status, 0);
  raises_two(NULL);
  CHECK(drain(b) == 0 && nseen == 2, "nor does a child that closes it");
  pml_buffer_close(b);
}

#define RAISERS 4
static int stop; /* atomic */

struct raiser {
  pthread_t thread;
  uint64_t id, raised;
};

/* Calls numbered by their ticks, nested up to three deep. */
static void *raises(void *arg) {
  struct raiser *r = arg;
  r->id = pml_thread_self()->id;
  do { /* at least once, however late this thread gets to run */
    uint64_t n = r->raised;
    for (uint64_t d = 0; d < 3; d++) raise_event(PML_STREAM_ENTER, outer, n + d);
    for (uint64_t d = 3; d < 6; d++) raise_event(PML_STREAM_LEAVE, outer, n + d);
    r->raised += 6;
  } while (__atomic_load_n(&stop, __ATOMIC_RELAXED) == 0);
  return NULL;
}

static struct watched {
  uint64_t id, last, events;
  int64_t open;
  bool wrong;
} watched[RAISERS + 1];

static int watch(const struct pml_buffer_event *e, void *arg) {
  struct watched *w = watched;
  (void)arg;
  while (w->id != 0 && w->id != e->thread && w < &watched[RAISERS]) w++;
  if (w->events > 0 && e->ticks <= w->last) w->wrong = true;
  /* in a round of six the first three are enters; a recorded call has the same depth as when emitted */
  if ((e->kind == PML_STREAM_ENTER) != (e->ticks % 6 < 3)) w->wrong = true;
  w->open += e->kind == PML_STREAM_ENTER ? 1 : -1;
  if (w->open < 0 || w->open > 3) w->wrong = true;
  w->id = e->thread;
  w->last = e->ticks;
  w->events++;
  return 0;
}

static void soak(void) {
  const struct pml_buffer_options o = {.records = 4096};
  const char *asked = getenv("SOAK_SECONDS");
  uint64_t till = pml_clock_ns() + UINT64_C(1000000000) * (asked != NULL ? strtoull(asked, NULL, 10) : 1);
  struct raiser r[RAISERS] = {0};
  struct pml_buffer_stats s;
  struct pml_buffer *b;
  uint64_t raised = 0, kept = 0, wrong = 0;
  if (!CHECK(pml_buffer_open(&b, &o) == 0, "a buffer")) return;
  for (int i = 0; i < RAISERS; i++) pthread_create(&r[i].thread, NULL, raises, &r[i]);
  while (pml_clock_ns() < till) (void)pml_buffer_drain(b, watch, NULL);
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < RAISERS; i++) {
    pthread_join(r[i].thread, NULL);
    raised += r[i].raised;
  }
  (void)pml_buffer_drain(b, watch, NULL);
  for (int i = 0; i <= RAISERS; i++) {
    kept += watched[i].events;
    wrong += watched[i].wrong || watched[i].open != 0;
  }
  pml_buffer_stats(b, &s);
  printf("# %llu events raised, %llu kept\n", (unsigned long long)raised, (unsigned long long)kept);
  CHECK(wrong == 0 && kept > 0, "%d threads raise while another drains: order, kinds and nesting hold", RAISERS);
  CHECK(s.events == kept && kept + s.dropped == raised && s.unmatched == 0, "each event is kept or counted as dropped");
  pml_buffer_close(b);
}

int main(void) {
  (void)pml_clock_init();
  if (pml_region_intern("outer", NULL, 0, &outer) < 0 || pml_region_intern("inner", NULL, 0, &inner) < 0) return 1;
  CHECK_EACH(carries_values, full, crossed, left_out, refuses, threads_come_and_go, forked, soak);
  return check_done();
}
