/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/stream.c - events reach the consumers that want them, and no removed consumer. */
#include "base/pml_thread.h"
#include "base/stream/pml_stream_private.h"
#include "check.h"
#include "intercept/sparing.h"

#include <sched.h>

#define THREADS 4
#define ROUNDS 400

struct seen {
  unsigned begun, refuses; /* by fast: every so many events */
  uint64_t events[PML_STREAM_KINDS], thread, last_ticks, last_value;
  pml_region_t last_region;
  bool refuse, raise_more;
  int tried_to_add, tried_to_remove;
};

static void *begin(void *arg, uint64_t thread) {
  struct seen *s = arg;
  s->begun++;
  s->thread = thread;
  return s->refuse ? NULL : s;
}

static struct pml_stream_consumer all_of(struct seen *s);

static void see(struct seen *s, enum pml_stream_kind kind, const struct pml_stream_event *e) {
  s->events[kind]++;
  s->last_ticks = e->ticks;
  s->last_region = e->region;
  s->last_value = e->metrics != NULL ? e->values[e->metrics->n - 1] : 0;
  if (!s->raise_more) return;
  uint64_t id;
  struct pml_stream_consumer c = all_of(s);
  pml_stream_emit(kind, e);
  s->tried_to_add = pml_stream_add(&c, &id);
  s->tried_to_remove = pml_stream_remove(1);
}

static void on_enter(void *data, const struct pml_stream_event *e) {
  see(data, PML_STREAM_ENTER, e);
}
static void on_leave(void *data, const struct pml_stream_event *e) {
  see(data, PML_STREAM_LEAVE, e);
}
static void on_metric(void *data, const struct pml_stream_event *e) {
  see(data, PML_STREAM_METRIC, e);
}

/* With general registers only. */
static uint64_t take(struct seen *s, enum pml_stream_kind kind, pml_region_t region, uint64_t ticks) {
  if (s->refuses != 0 && ticks % s->refuses == 0) return ticks;
  see(s, kind, &(struct pml_stream_event){.ticks = ticks, .region = region});
  return 0;
}
static uint64_t fast_enter(void *data, pml_region_t region, uint64_t ticks) {
  return take(data, PML_STREAM_ENTER, region, ticks);
}
static uint64_t fast_leave(void *data, pml_region_t region, uint64_t ticks) {
  return take(data, PML_STREAM_LEAVE, region, ticks);
}

SPARING_FAST(enter_sparingly, fast_enter);
SPARING_FAST(leave_sparingly, fast_leave);

static struct pml_stream_consumer all_of(struct seen *s) {
  return (struct pml_stream_consumer){
      .thread_begin = begin, .event = {on_enter, on_leave, on_metric}, .arg = s, .name = "seen"};
}

static void raise_one(enum pml_stream_kind kind, uint64_t ticks, pml_region_t region) {
  struct pml_stream_event e = {.ticks = ticks, .region = region};
  pml_stream_emit(kind, &e);
}

static bool raise_fast(enum pml_stream_kind kind, uint64_t ticks, pml_region_t region) {
  struct pml__stream_thread *t = pml__stream_self;
  struct pml_stream_event e = {.ticks = ticks, .region = region};
  uint64_t was = pml__stream_guard(t, PML__STREAM_EMITTING);
  const struct pml__stream_known *known = &t->known[kind];
  if (pml__stream_knows(kind, was) && known->call(known->data, e.region, e.ticks) == 0) {
    pml__stream_unguard(t);
    return true;
  }
  pml__stream_complete(kind, &e);
  return false;
}

/* ---- consumers of all shapes come and go, beside a model ---- */

enum { MOST = PML_STREAM_CONSUMERS_MAX, STEPS = 200000, KINDS = PML_STREAM_METRIC + 1 };

static struct {
  struct seen seen;
  uint64_t id, want[KINDS];
  bool here;
  struct pml_stream_consumer is;
} one[MOST + 1];
static unsigned order[MOST + 1], here; /* @here consumers, in the order of adding */

static bool comes(unsigned i, uint32_t shape) {
  struct pml_stream_consumer *c = &one[i].is;
  memset(&one[i], 0, sizeof one[i]);
  *c = all_of(&one[i].seen);
  for (unsigned k = 0; k < KINDS; k++)
    if ((shape >> k & 1) == 0 && shape % 8 != 0) c->event[k] = NULL;
  if ((shape >> 3) % 4 != 0) c->fast[PML_STREAM_ENTER] = enter_sparingly, c->fast[PML_STREAM_LEAVE] = leave_sparingly;
  one[i].seen.refuses = (shape >> 5) % 3 == 0 ? 0 : 2 + (shape >> 7) % 4;
  one[i].seen.refuse = (shape >> 10) % 8 == 0;
  if (here == MOST) return pml_stream_add(c, &one[i].id) == PML_EFULL && one[i].id == 0;
  one[i].here = true;
  order[here++] = i;
  return pml_stream_add(c, &one[i].id) == 0;
}
static bool goes(unsigned i) {
  unsigned at = 0;
  if (!one[i].here) return pml_stream_remove(one[i].id) == -ENOENT;
  one[i].here = false;
  while (order[at] != i) at++;
  memmove(&order[at], &order[at + 1], (--here - at) * sizeof *order);
  return pml_stream_remove(one[i].id) == 0;
}

static bool listed_right(void) {
  struct pml_stream_listed l[MOST];
  bool right = pml_stream_list(l) == here, wanted[KINDS] = {false};
  for (unsigned i = 0; right && i < here; i++) {
    const struct pml_stream_consumer *c = &one[order[i]].is;
    right &= l[i].id == one[order[i]].id && strcmp(l[i].name, "seen") == 0 && l[i].fast == (c->fast[0] != NULL);
    for (unsigned k = 0; k < KINDS; k++) {
      right &= l[i].wants[k] == (c->event[k] != NULL);
      wanted[k] |= c->event[k] != NULL;
    }
  }
  for (unsigned k = 0; k < KINDS; k++) right &= pml_stream_wanted((enum pml_stream_kind)k) == wanted[k];
  return right;
}

/* @known: no consumer came or went since the last enter or leave. */
static bool happens(enum pml_stream_kind kind, uint64_t ticks, bool fast, bool known, uint64_t *refused) {
  static const char *const names[] = {"x", "y"};
  struct pml_stream_event e = {.ticks = ticks, .region = 1 + (pml_region_t)ticks % 5};
  struct pml_stream_metrics *m = NULL;
  const uint64_t values[] = {5, ~ticks};
  unsigned takers[] = {[PML_STREAM_ENTER] = 0, [PML_STREAM_LEAVE] = 0};
  bool all_fast = true, declined = false, right = true;
  if (kind == PML_STREAM_METRIC) right = pml_stream_metrics(names, 2, &m) == 0;
  if (kind == PML_STREAM_METRIC) e.metrics = m, e.values = values;
  fast &= kind != PML_STREAM_METRIC && pml_stream_wanted(kind);
  bool without = fast && raise_fast(kind, e.ticks, e.region);
  if (!fast) pml_stream_emit(kind, &e);
  for (unsigned i = 0; i <= MOST; i++) {
    struct seen *s = &one[i].seen;
    const struct pml_stream_consumer *c = &one[i].is;
    bool wants = one[i].here && c->event[kind] != NULL;
    for (unsigned k = PML_STREAM_ENTER; one[i].here && k <= PML_STREAM_LEAVE; k++) {
      if (c->event[k] == NULL) continue;
      takers[k]++;
      all_fast &= c->fast[k] != NULL && !s->refuse;
    }
    if (wants && !s->refuse) one[i].want[kind]++;
    right &= memcmp(s->events, one[i].want, sizeof one[i].want) == 0 && s->begun <= 1;
    if (!wants) continue;
    *refused += s->refuse;
    declined |= s->refuses != 0 && ticks % s->refuses == 0;
    right &= s->begun == 1 && s->thread == pml_thread_id();
    if (!s->refuse) right &= s->last_ticks == ticks && s->last_region == e.region && s->last_value == (m ? ~ticks : 0);
  }
  for (unsigned k = 0; k < 2; k++) all_fast &= takers[k] > 0 && takers[k] <= PML__STREAM_SEVERAL;
  if (atomic_load(&pml__stream_expedited) && fast && known) right &= without == (all_fast && !declined);
  return right && (all_fast || !without);
}

static void any_consumers(void) {
  uint32_t any = 1;
  unsigned right = 0;
  uint64_t refused = 0;
  struct pml_stream_lost before, after;
  bool known = false;
  CHECK(listed_right(), "at first no consumer wants events");
  pml_stream_lost(&before);
  raise_one(PML_STREAM_ENTER, 1, 1);
  for (unsigned step = 1; step <= STEPS; step++) {
    any = any * 1103515245 + 12345;
    unsigned i = (any >> 8) % (step / 5000 % 2 == 0 ? 3 : MOST + 1), what = (any >> 16) % 32;
    if (what < 2) {
      right += (one[i].here || what == 0 ? goes(i) : comes(i, any >> 13)) && listed_right();
      known = false;
    } else {
      enum pml_stream_kind kind = (enum pml_stream_kind)(what % KINDS);
      right += happens(kind, step, what % 4 != 0, known, &refused);
      known |= kind != PML_STREAM_METRIC && pml_stream_wanted(kind);
    }
  }
  for (unsigned i = 0; i <= MOST; i++)
    if (one[i].here) (void)goes(i);
  pml_stream_lost(&after);
  CHECK(right == STEPS, "%u of %d comings, goings and events are as a model has them", right, STEPS);
  CHECK(after.refused == before.refused + refused && refused > 1000,
        "a thread that a consumer does not want is offered once, and its events are counted");
  CHECK(listed_right(), "the last one leaves no consumer");
}

static void refusing(void) {
  struct seen s = {.raise_more = true};
  struct pml_stream_consumer c = all_of(&s), bad = {.thread_begin = begin};
  struct pml_stream_lost before, after;
  struct pml_stream_metrics *none;
  uint64_t id;
  pml_stream_lost(&before);
  CHECK(pml_stream_metrics(NULL, 0, &none) == -EINVAL, "no names are refused");
  CHECK(pml_stream_add(&bad, &id) == -EINVAL && id == 0, "a consumer of nothing is refused");
  pml_stream_add(&c, &id);
  raise_one(PML_STREAM_ENTER, 1, 1);
  pml_stream_lost(&after);
  CHECK(s.events[PML_STREAM_ENTER] == 1 && after.nested == before.nested + 1,
        "events raised by a consumer reach no consumer, and are counted");
  CHECK(s.tried_to_add == -EDEADLK && s.tried_to_remove == -EDEADLK, "a consumer can neither add nor remove");
  pml_stream_remove(id);
}

/* ---- threads raise while consumers come and go ---- */

static atomic_bool stop;

struct flow {
  atomic_bool gone; /* removed: nothing may come */
  atomic_uint late, begun, ended;
  _Atomic uint64_t events;
  struct mine *_Atomic first;
};
struct mine {
  struct flow *flow;
  uint64_t events;
  struct mine *next;
};

static void *flow_begin(void *arg, uint64_t thread) {
  struct flow *f = arg;
  struct mine *m = malloc(sizeof *m);
  (void)thread;
  if (m == NULL) return NULL;
  *m = (struct mine){f, 0, atomic_load(&f->first)};
  while (!atomic_compare_exchange_weak(&f->first, &m->next, m)) {
  }
  atomic_fetch_add(&f->begun, 1);
  return m;
}

static void free_all(struct flow *f) {
  for (struct mine *m = atomic_load(&f->first), *next; m != NULL; m = next) {
    next = m->next;
    free(m);
  }
}

static void flow_end(void *arg, void *data) {
  struct flow *f = arg;
  struct mine *m = data;
  if (atomic_load(&f->gone)) atomic_fetch_add(&f->late, 1);
  atomic_fetch_add(&f->ended, 1);
  atomic_fetch_add(&f->events, m->events);
}
static void flow_event(void *data, const struct pml_stream_event *e) {
  struct mine *m = data;
  (void)e;
  if (atomic_load_explicit(&m->flow->gone, memory_order_relaxed)) atomic_fetch_add(&m->flow->late, 1);
  m->events++;
}

static void *raise_all(void *arg) {
  while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
    raise_one(PML_STREAM_ENTER, 1, 1);
    raise_one(PML_STREAM_LEAVE, 2, 1);
  }
  return arg;
}

static void coming_and_going(void) {
  pthread_t t[THREADS];
  unsigned late = 0, wrong = 0;
  atomic_store(&stop, false);
  for (int i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, raise_all, NULL);
  for (int round = 0; round < ROUNDS; round++) {
    struct flow f = {0};
    struct pml_stream_consumer c = {
        .thread_begin = flow_begin, .thread_end = flow_end, .event = {flow_event, flow_event, NULL}, .arg = &f};
    uint64_t id;
    wrong += pml_stream_add(&c, &id) != 0;
    if (round % 8 == 0) usleep(200);
    wrong += pml_stream_remove(id) != 0;
    atomic_store(&f.gone, true);
    late += atomic_load(&f.late);
    free_all(&f);
    memset(&f, 0x55, sizeof f); /* a use of it would crash, or show in a sanitizer */
  }
  atomic_store(&stop, true);
  for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
  CHECK(wrong == 0 && late == 0, "%d consumers come and go under %d threads, and none is called when it has gone",
        ROUNDS, THREADS);
}

/* ---- who is in a consumer is waited for ---- */

static atomic_int inside; /* 1: in the consumer, 2: about to leave it */

static void linger(void *data, const struct pml_stream_event *e) {
  (void)data, (void)e;
  atomic_store(&inside, 1);
  usleep(50000);
  atomic_store(&inside, 2);
}

static void *raise_once(void *arg) {
  raise_one(PML_STREAM_ENTER, 1, 1);
  return arg;
}

static void waiting(void) {
  struct seen s = {0};
  struct pml_stream_consumer c = {.thread_begin = begin, .event = {linger, NULL, NULL}, .arg = &s};
  pthread_t t;
  uint64_t id;
  pml_stream_add(&c, &id);
  pthread_create(&t, NULL, raise_once, NULL);
  for (int i = 0; i < 100000 && atomic_load(&inside) == 0; i++) usleep(100);
  CHECK(pml_stream_remove(id) == 0 && atomic_load(&inside) == 2,
        "a call that is under way ends before the removal does");
  pthread_join(t, NULL);
}

static void *raise_some(void *arg) {
  for (int i = 0; i < 1000; i++) raise_one(PML_STREAM_ENTER, 1, 1);
  return arg;
}

static void threads_end(void) {
  struct flow f = {0};
  struct pml_stream_consumer c = {
      .thread_begin = flow_begin, .thread_end = flow_end, .event = {flow_event, NULL, NULL}, .arg = &f};
  uint64_t id;
  pml_stream_add(&c, &id);
  for (int i = 0; i < 20; i++) {
    in_threads(1, raise_some, NULL, 0);
  }
  CHECK(atomic_load(&f.begun) == 20 && atomic_load(&f.ended) == 20, "each thread's end is reported");
  CHECK(atomic_load(&f.events) == 20000, "after all of its events");
  pml_stream_remove(id);
  free_all(&f);
}

static void forking(void) {
  struct seen s = {0};
  struct pml_stream_consumer c = all_of(&s);
  uint64_t id, own;
  pml_stream_add(&c, &id);
  raise_one(PML_STREAM_ENTER, 1, 1);
  pid_t pid = fork();
  if (pid == 0) {
    alarm(60);
    raise_one(PML_STREAM_ENTER, 2, 1);
    bool good = s.events[PML_STREAM_ENTER] == 1 && pml_stream_remove(id) == -ENOENT && pml_stream_add(&c, &own) == 0;
    raise_one(PML_STREAM_ENTER, 3, 1);
    _exit(good && s.events[PML_STREAM_ENTER] == 2 && s.begun == 2 ? 0 : 1);
  }
  CHECK(exit_of(pid) == 0, "a child has no consumers, and may add its own");
  raise_one(PML_STREAM_ENTER, 2, 1);
  CHECK(s.events[PML_STREAM_ENTER] == 2, "the parent continues with its own");
  pml_stream_remove(id);
}

#define PAIR 2u
#define LISTS 3000u

static atomic_uint unlike, thread, ready;
static struct pml_stream_metrics *of[PAIR][LISTS];

/* List @i has @i % 3 + 1 names; no other is like it. */
static int intern(unsigned i, struct pml_stream_metrics **out) {
  char last[16];
  const char *names[] = {"first", "second", "third"};
  snprintf(last, sizeof last, "list %u", i);
  names[i % 3] = last;
  int err = pml_stream_metrics(names, i % 3 + 1, out);
  memset(last, 'x', sizeof last); /* interning copied it */
  return err;
}

/* Each list by all threads at once: the first waits for the others, but not for ever. */
static void *intern_all(void *arg) {
  unsigned mine = atomic_fetch_add(&thread, 1);
  for (unsigned i = 0; i < LISTS; i++) {
    atomic_fetch_add(&ready, 1);
    for (unsigned k = 0; k < 1000000 && atomic_load(&ready) < PAIR * (i + 1); k++)
      if (k % 10000 == 9999) sched_yield();
    if (intern(i, &of[mine][i]) != 0) atomic_fetch_add(&unlike, 1);
  }
  return arg;
}

static bool all_alike(void) {
  for (unsigned i = 0; i < LISTS; i++) {
    char last[16];
    snprintf(last, sizeof last, "list %u", i);
    for (unsigned k = 1; k < PAIR; k++)
      if (of[k][i] != of[0][i]) return false;
    if (i > 0 && of[0][i] == of[0][i - 1]) return false;
    if (of[0][i]->n != i % 3 + 1 || strcmp(of[0][i]->name[i % 3], last) != 0) return false;
  }
  return true;
}

static void lists_of_names(void) {
  in_threads(PAIR, intern_all, NULL, 0);
  CHECK(atomic_load(&unlike) == 0 && all_alike(), "%u lists are the same for %u threads, and each is another", LISTS,
        PAIR);
  struct pml_stream_metrics *none;
  const char *empty[] = {"a", ""};
  CHECK(pml_stream_metrics(empty, 2, &none) == -EINVAL && none == NULL, "an empty name is refused");
}

/* ---- an event inside a fast delivery that is then declined ---- */

#define OUTER 7u
#define INNER 9u

static uint64_t emit_and_decline(void *data, pml_region_t region, uint64_t ticks) {
  (void)data, (void)region;
  (void)pml__stream_emit_enter(INNER, ticks);
  return ticks;
}
SPARING_FAST(decline_sparingly, emit_and_decline);

static pml_region_t delivered[4];
static unsigned ndelivered;
static void deliver_full(void *data, const struct pml_stream_event *e) {
  (void)data;
  if (ndelivered < 4) delivered[ndelivered++] = e->region;
}

static void nesting(void) {
  static struct seen s;
  struct pml_stream_consumer c = {.thread_begin = begin, .event = {deliver_full, deliver_full, NULL}, .arg = &s};
  c.fast[PML_STREAM_ENTER] = c.fast[PML_STREAM_LEAVE] = decline_sparingly;
  uint64_t id;
  bool added = pml_stream_add(&c, &id) == 0;
  for (uint64_t ticks = 1; ticks <= 3; ticks++) (void)pml__stream_emit_enter(OUTER, ticks);
  CHECK(added && ndelivered == 3 && delivered[0] == OUTER && delivered[1] == OUTER && delivered[2] == OUTER,
        "a nested event does not replace the event that a fast function declines");
  pml_stream_remove(id);
}

int main(void) {
  CHECK_EACH(any_consumers, nesting, refusing, threads_end, waiting, coming_and_going, forking, lists_of_names);
  return check_done();
}
