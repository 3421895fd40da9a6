/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/stream.c - events reach the consumers that want them, and none that was removed. */
#include "base/pml_error.h"
#include "base/pml_stream.h"
#include "base/pml_thread.h"
#include "base/stream/pml_stream_private.h"

#include "check.h"

#define THREADS 4
#define ROUNDS 400

struct seen {
  unsigned begun, ended, events[PML_STREAM_KINDS];
  uint64_t thread, last_ticks, last_value;
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

static void finish(void *arg, void *data) {
  (void)data;
  ((struct seen *)arg)->ended++;
}

static struct pml_stream_consumer all_of(struct seen *s);

static void see(struct seen *s, enum pml_stream_kind kind, const struct pml_stream_event *e) {
  s->events[kind]++;
  s->last_ticks = e->ticks;
  s->last_region = e->region;
  if (e->metrics != NULL) s->last_value = e->values[e->metrics->n - 1];
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

static struct pml_stream_consumer all_of(struct seen *s) {
  return (struct pml_stream_consumer){
      .thread_begin = begin, .thread_end = finish, .event = {on_enter, on_leave, on_metric}, .arg = s, .name = "seen"};
}

static void raise_one(enum pml_stream_kind kind, uint64_t ticks, pml_region_t region) {
  struct pml_stream_event e = {.ticks = ticks, .region = region};
  pml_stream_emit(kind, &e);
}

static void handing_out(void) {
  struct seen a = {0}, b = {0};
  struct pml_stream_consumer ca = all_of(&a), cb = {.thread_begin = begin, .event = {NULL, on_leave, NULL}, .arg = &b};
  uint64_t ia, ib;
  CHECK(!pml_stream_wanted(PML_STREAM_ENTER) && !pml_stream_wanted(PML_STREAM_LEAVE),
        "at first no consumer wants events");
  raise_one(PML_STREAM_ENTER, 1, 1);
  CHECK(pml_stream_add(&cb, &ib) == 0 && !pml_stream_wanted(PML_STREAM_ENTER) && pml_stream_wanted(PML_STREAM_LEAVE),
        "only kinds with a consumer are wanted");
  CHECK(pml_stream_add(&ca, &ia) == 0 && ia != ib && pml_stream_wanted(PML_STREAM_METRIC),
        "a second consumer is added");
  struct pml_stream_listed listed[PML_STREAM_CONSUMERS_MAX];
  CHECK(pml_stream_list(listed) == 2 && listed[0].id == ib && listed[1].id == ia &&
            strcmp(listed[1].name, "seen") == 0 && listed[0].name[0] == '\0' && !listed[0].wants[PML_STREAM_ENTER] &&
            listed[0].wants[PML_STREAM_LEAVE] && !listed[1].fast,
        "and they can be listed");
  raise_one(PML_STREAM_ENTER, 10, 3);
  raise_one(PML_STREAM_LEAVE, 20, 4);
  CHECK(a.events[PML_STREAM_ENTER] == 1 && a.events[PML_STREAM_LEAVE] == 1 && b.events[PML_STREAM_LEAVE] == 1 &&
            b.events[PML_STREAM_ENTER] == 0,
        "each gets the kinds it asked for");
  CHECK(a.last_ticks == 20 && a.last_region == 4, "with ticks and region");
  CHECK(a.begun == 1 && b.begun == 1 && a.thread == pml_thread_id() && a.thread != 0,
        "and is told once of the thread, by its id");
  const char *names[] = {"x", "y"};
  uint64_t values[] = {5, 6};
  struct pml_stream_metrics *m = NULL, *again = NULL;
  CHECK(pml_stream_metrics(names, 2, &m) == 0 && pml_stream_metrics(names, 2, &again) == 0 && m == again &&
            strcmp(m->name[1], "y") == 0,
        "the same names are the same metrics");
  CHECK(pml_stream_metrics(names, 1, &again) == 0 && again != m, "fewer names are others");
  CHECK(pml_stream_metrics(names, 0, &again) == -EINVAL, "no names are refused");
  struct pml_stream_event e = {.ticks = 30, .metrics = m, .values = values};
  pml_stream_emit(PML_STREAM_METRIC, &e);
  CHECK(a.events[PML_STREAM_METRIC] == 1 && a.last_value == 6, "a metric brings its values");
  CHECK(pml_stream_remove(ia) == 0 && pml_stream_remove(ia) == -ENOENT, "a consumer is removed once");
  raise_one(PML_STREAM_LEAVE, 40, 5);
  CHECK(a.events[PML_STREAM_LEAVE] == 1 && b.events[PML_STREAM_LEAVE] == 2, "and gets nothing more, the other does");
  CHECK(pml_stream_remove(ib) == 0 && !pml_stream_wanted(PML_STREAM_LEAVE), "the last one leaves no consumer");
}

static void refusing(void) {
  struct seen s = {.raise_more = true}, none = {.refuse = true};
  struct pml_stream_consumer c = all_of(&s), r = all_of(&none), bad = {.thread_begin = begin};
  struct pml_stream_lost before, after;
  uint64_t id, many[PML_STREAM_CONSUMERS_MAX + 1];
  pml_stream_lost(&before);
  CHECK(pml_stream_add(&bad, &id) == -EINVAL && id == 0, "a consumer of nothing is refused");
  pml_stream_add(&c, &id);
  raise_one(PML_STREAM_ENTER, 1, 1);
  pml_stream_lost(&after);
  CHECK(s.events[PML_STREAM_ENTER] == 1 && after.nested == before.nested + 1,
        "what a consumer raises reaches no consumer, and is counted");
  CHECK(s.tried_to_add == -EDEADLK && s.tried_to_remove == -EDEADLK, "a consumer can neither add nor remove");
  pml_stream_remove(id);
  pml_stream_add(&r, &id);
  raise_one(PML_STREAM_ENTER, 1, 1);
  raise_one(PML_STREAM_ENTER, 1, 1);
  pml_stream_lost(&after);
  CHECK(none.begun == 1 && none.events[PML_STREAM_ENTER] == 0 && after.refused == before.refused + 2,
        "a thread that a consumer does not want is asked about once, and its events are counted");
  pml_stream_remove(id);
  struct seen lots = {0};
  struct pml_stream_consumer l = all_of(&lots);
  unsigned added = 0;
  for (unsigned i = 0; i <= PML_STREAM_CONSUMERS_MAX; i++) added += pml_stream_add(&l, &many[i]) == 0;
  CHECK(added == PML_STREAM_CONSUMERS_MAX && many[added] == 0, "there is a limit, and it is reported");
  raise_one(PML_STREAM_ENTER, 1, 1);
  CHECK(lots.events[PML_STREAM_ENTER] == added, "up to it, all get the event");
  for (unsigned i = 0; i < added; i++) pml_stream_remove(many[i]);
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

/* After the consumer was removed. */
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
    pthread_t t;
    pthread_create(&t, NULL, raise_some, NULL);
    pthread_join(t, NULL);
  }
  CHECK(atomic_load(&f.begun) == 20 && atomic_load(&f.ended) == 20, "each thread's end is told");
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
  int status = 1;
  waitpid(pid, &status, 0);
  CHECK(status == 0, "a child has no consumers, and may add its own");
  raise_one(PML_STREAM_ENTER, 2, 1);
  CHECK(s.events[PML_STREAM_ENTER] == 2, "the parent goes on with its own");
  pml_stream_remove(id);
}

/* ---- what a thread knows of the consumers that it had before ---- */

/* A count for each thread, behind the number of threads. */
static void *count_begin(void *arg, uint64_t thread) {
  uint64_t *counts = arg;
  (void)thread;
  return &counts[++counts[0]];
}
static void count_event(void *data, const struct pml_stream_event *e) {
  (void)e;
  ++*(uint64_t *)data;
}
static void *ten(void *arg) {
  for (uint64_t i = 1; i <= 10; i++) raise_one(i % 2 == 1 ? PML_STREAM_ENTER : PML_STREAM_LEAVE, i, 1);
  return arg;
}
static void ten_on_a_thread(void) {
  pthread_t t;
  if (pthread_create(&t, NULL, ten, NULL) == 0) pthread_join(t, NULL);
}

static void knowing(void) {
  uint64_t first[8] = {0}, second[8] = {0}, id[2];
  struct pml_stream_consumer a = {.thread_begin = count_begin, .event = {count_event, count_event, NULL}, .arg = first},
                             b = a;
  b.arg = second;
  pml_stream_add(&a, &id[0]);
  ten_on_a_thread();
  ten_on_a_thread();
  CHECK(first[0] == 2 && first[1] == 10 && first[2] == 10, "a thread that takes an ended one's place is another");
  ten(NULL);
  pml_stream_add(&b, &id[1]);
  ten(NULL);
  CHECK(first[3] == 20 && second[1] == 10, "who comes has each event, beside the only one that there was");
  pml_stream_remove(id[0]);
  ten(NULL);
  CHECK(first[3] == 20 && second[1] == 20, "and is the only one when that goes");
  pml_stream_remove(id[1]);
}

/* ---- with general registers only ---- */

struct plain {
  uint64_t plain, full, last;
  unsigned refuses; /* every so many events */
};

static void *plain_begin(void *arg, uint64_t thread) {
  (void)thread;
  return arg;
}
static void plain_event(void *data, const struct pml_stream_event *e) {
  struct plain *p = data;
  p->full++;
  p->last = e->ticks;
}
static uint64_t plainly(void *data, pml_region_t region, uint64_t ticks) {
  struct plain *p = data;
  if (region != 1 || (p->refuses != 0 && ticks % p->refuses == 0)) return ticks;
  p->plain++;
  p->last = ticks;
  return 0;
}

/* As an adapter does that has not saved all registers; whether they did without. */
static bool raise_plainly(uint64_t ticks) {
  struct pml__stream_thread *t = pml__stream_self;
  struct pml_stream_event e = {.ticks = ticks, .region = 1};
  uint64_t was = pml__stream_guard(t, PML__STREAM_EMITTING);
  const struct pml__stream_known *known = &t->known[PML_STREAM_ENTER];
  if (pml__stream_knows(PML_STREAM_ENTER, was) && known->call(known->data, e.region, e.ticks) == 0) {
    pml__stream_unguard(t);
    return true;
  }
  pml__stream_complete(PML_STREAM_ENTER, &e);
  return false;
}

static void add_plain(struct plain *p, uint64_t *id, bool is_plain) {
  struct pml_stream_consumer c = {.thread_begin = plain_begin,
                                  .event = {plain_event, plain_event, NULL},
                                  .fast = {is_plain ? plainly : NULL, is_plain ? plainly : NULL},
                                  .arg = p};
  pml_stream_add(&c, id);
}

static void general_registers(void) {
  struct plain p[3] = {{.refuses = 0}, {.refuses = 3}, {.refuses = 5}}, other = {.refuses = 0};
  uint64_t id[3], id_of_other, without = 0;
  bool expedited = atomic_load(&pml__stream_expedited);
  for (int i = 0; i < 3; i++) add_plain(&p[i], &id[i], true);
  raise_one(PML_STREAM_ENTER, 1, 1); /* the thread is known now */
  for (uint64_t i = 1; i <= 1500; i++) without += raise_plainly(i);
  bool each = true;
  for (int i = 0; i < 3; i++) each &= p[i].plain + p[i].full == 1501 && p[i].last == 1500;
  CHECK(each, "three consumers have each event once, in whatever order they want more registers");
  if (expedited)
    CHECK(without >= 799 && p[0].plain >= 1499 && p[1].plain >= 999 && p[2].plain >= 799,
          "and none has more than it wants: %llu events went plainly, %llu, %llu and %llu of each",
          (unsigned long long)without, (unsigned long long)p[0].plain, (unsigned long long)p[1].plain,
          (unsigned long long)p[2].plain);
  add_plain(&other, &id_of_other, false);
  bool never = true;
  for (uint64_t i = 1; i <= 100; i++) never &= !raise_plainly(i * 7 + 1);
  CHECK(never && other.full == 100 && p[0].plain + p[0].full == 1601,
        "beside one without a fast function all are full");
  pml_stream_remove(id_of_other);
  pml_stream_remove(id[1]);
  for (uint64_t i = 1; i <= 100; i++) (void)raise_plainly(i);
  CHECK(p[0].plain + p[0].full == 1701 && p[2].plain + p[2].full == 1701 && p[1].plain + p[1].full == 1601 &&
            other.full == 100,
        "who is removed has no more, the others all");
  pml_stream_remove(id[0]);
  pml_stream_remove(id[2]);
}

int main(void) {
  handing_out();
  refusing();
  threads_end();
  waiting();
  coming_and_going();
  forking();
  knowing();
  general_registers();
  return check_done();
}
