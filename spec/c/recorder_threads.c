/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/recorder_threads.c - eight threads push while others read and reset; threads end, and other threads continue
 * their lanes. */
#include "check.h"
#include "record/recorder/pml_recorder_lane.h"

#include <math.h>

#define THREADS 8
#define PUSHES 40000
#define READS 60

static atomic_bool ended;

struct worker {
  struct pml_recorder *r;
  double base;
  unsigned pushes, wrong;
};

static void *push_all(void *arg) {
  struct worker *w = arg;
  for (unsigned i = 0; i < w->pushes; i++) w->wrong += pml_recorder_push_double(w->r, w->base + i) != 0;
  return NULL;
}

static struct pml_recorder *opened(enum pml_keep keep, uint64_t cap) {
  struct pml_recorder *r;
  struct pml_recorder_options o = {.type = PML_TYPE_DOUBLE, .keep = keep, .cap = cap};
  return pml_recorder_open(&r, &o) == 0 ? r : NULL;
}

static unsigned lanes_of(const struct pml_recorder *r) {
  unsigned n = 0;
  for (const struct pml__recorder_lane *l = r->lanes; l != NULL; l = l->next) n++;
  return n;
}

/* Each thread pushes ascending whole numbers from a separate range: a gap or fall within a range is an error. */
static unsigned disorder(const double *v, size_t n) {
  double next[THREADS];
  unsigned wrong = 0;
  memset(next, 0, sizeof next);
  for (size_t i = 0; i < n; i++) {
    size_t who = (size_t)(v[i] / 1e6);
    double number = v[i] - (double)who * 1e6;
    wrong += who >= THREADS || number != floor(number);
    if (who < THREADS) {
      wrong += next[who] != 0 && number != next[who];
      next[who] = number + 1;
    }
  }
  return wrong;
}

struct reader {
  struct pml_recorder *r;
  unsigned wrong, reads;
  bool resets;
};

static void *read_all(void *arg) {
  struct reader *me = arg;
  double *v = malloc(THREADS * PUSHES * sizeof *v);
  while (v != NULL && me->reads < 100000 && (me->reads < READS || !atomic_load(&ended))) {
    size_t n = pml_recorder_copy(me->r, 0, v, THREADS * PUSHES);
    me->wrong += disorder(v, n);
    struct pml_value low, high;
    if (pml_recorder_quantile(me->r, 0, &low) == 0 && pml_recorder_quantile(me->r, 100, &high) == 0 && !me->resets)
      me->wrong += low.d > high.d;
    me->wrong += pml_recorder_count(me->r) > THREADS * PUSHES;
    me->reads++;
  }
  me->wrong += v == NULL;
  free(v);
  return NULL;
}

static void *reset_all(void *arg) {
  struct pml_recorder *r = arg;
  for (int i = 0; i < 200 && !atomic_load(&ended); i++) {
    pml_recorder_reset(r);
    usleep(300);
  }
  return NULL;
}

struct outcome {
  unsigned wrong, misread;
};

static struct outcome together(struct pml_recorder *r, bool resets) {
  pthread_t t[THREADS], reading[2], resetting;
  struct worker w[THREADS];
  struct reader reader[2] = {{.r = r, .resets = resets}, {.r = r, .resets = resets}};
  struct outcome o = {0, 0};
  atomic_store(&ended, false);
  for (int i = 0; i < 2; i++) pthread_create(&reading[i], NULL, read_all, &reader[i]);
  if (resets) pthread_create(&resetting, NULL, reset_all, r);
  for (int i = 0; i < THREADS; i++) {
    w[i] = (struct worker){.r = r, .base = i * 1e6, .pushes = PUSHES};
    pthread_create(&t[i], NULL, push_all, &w[i]);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(t[i], NULL);
    o.wrong += w[i].wrong;
  }
  atomic_store(&ended, true);
  if (resets) pthread_join(resetting, NULL);
  for (int i = 0; i < 2; i++) {
    pthread_join(reading[i], NULL);
    o.misread += reader[i].wrong;
  }
  return o;
}

static void pushing_and_reading(void) {
  struct pml_recorder *r = opened(PML_KEEP_ALL, 0);
  struct outcome o = together(r, false);
  double *v = malloc(THREADS * PUSHES * sizeof *v);
  CHECK(o.wrong == 0 && o.misread == 0, "eight threads push while two read (%u, %u wrong)", o.wrong, o.misread);
  CHECK(pml_recorder_count(r) == THREADS * PUSHES, "nothing is lost");
  CHECK(pml_recorder_copy(r, 0, v, THREADS * PUSHES) == THREADS * PUSHES && disorder(v, THREADS * PUSHES) == 0,
        "nothing is twice or out of order");
  struct pml_value low, high;
  pml_recorder_quantile(r, 0, &low);
  pml_recorder_quantile(r, 100, &high);
  CHECK(low.d == 0 && high.d == (THREADS - 1) * 1e6 + PUSHES - 1, "the quantiles took all of it in");
  CHECK(lanes_of(r) <= THREADS, "in one lane per thread at most (%u)", lanes_of(r));
  free(v);
  pml_recorder_close(r);
}

static void resetting(void) {
  struct pml_recorder *r = opened(PML_KEEP_ALL, 0);
  for (int round = 0; round < 3; round++) {
    pml_recorder_reset(r); /* removes the previous round's values */
    struct outcome o = together(r, true);
    CHECK(o.wrong == 0 && o.misread == 0, "with resets, values are read whole and in order (%u, %u wrong)", o.wrong,
          o.misread);
    CHECK(pml_recorder_count(r) <= THREADS * PUSHES, "and never too much");
  }
  CHECK(lanes_of(r) <= 3 * THREADS, "lanes that a reader held are used again (%u)", lanes_of(r));
  pml_recorder_reset(r);
  pml_recorder_push_double(r, 5);
  struct pml_value v;
  CHECK(pml_recorder_count(r) == 1 && pml_recorder_quantile(r, 50, &v) == 0 && v.d == 5, "the last one forgets all");
  pml_recorder_close(r);
}

static void lanes_go_on(void) {
  struct pml_recorder *r = opened(PML_KEEP_ALL, 0);
  unsigned wrong = 0;
  for (int i = 0; i < 50; i++) {
    struct worker w = {.r = r, .base = 1000 * i, .pushes = 1000};
    in_threads(1, push_all, &w, 0);
    wrong += w.wrong;
  }
  double last = 0;
  pml_recorder_copy(r, 49999, &last, 1);
  CHECK(wrong == 0 && pml_recorder_count(r) == 50000 && last == 49999, "the values of ended threads stay");
  CHECK(lanes_of(r) == 1, "threads one after the other share one lane");
  pml_recorder_close(r);
}

struct relay {
  struct pml_recorder *_Atomic current;
  unsigned wrong;
};

static void *keep_pushing(void *arg) {
  struct relay *relay = arg;
  for (int done = 0; done < 300;) {
    struct pml_recorder *r = atomic_load(&relay->current);
    if (r == NULL) {
      usleep(10);
      continue;
    }
    for (int i = 0; i < 100; i++) relay->wrong += pml_recorder_push_double(r, done) != 0;
    atomic_store(&relay->current, NULL);
    done++;
  }
  return NULL;
}

static void slots_used_again(void) {
  struct relay relay = {NULL, 0};
  pthread_t t;
  unsigned wrong = 0, moved = 0;
  pthread_create(&t, NULL, keep_pushing, &relay);
  uint32_t slot = UINT32_MAX;
  for (int i = 0; i < 300; i++) {
    struct pml_recorder *r = opened(PML_KEEP_ALL, 0);
    struct pml_value v;
    moved += slot != UINT32_MAX && r->slot != slot;
    slot = r->slot;
    atomic_store(&relay.current, r);
    for (int wait = 0; wait < 1000000 && atomic_load(&relay.current) != NULL; wait++) usleep(10);
    wrong += pml_recorder_count(r) != 100 || pml_recorder_quantile(r, 0, &v) != 0 || v.d != i;
    pml_recorder_close(r);
  }
  pthread_join(t, NULL);
  CHECK(wrong + relay.wrong == 0 && moved == 0, "a slot that changes hands 300 times never gets another's elements");
}

static void capped(void) {
  enum { CAP = 100000 };
  struct pml_recorder *r = opened(PML_KEEP_ALL, CAP);
  struct outcome o = together(r, false);
  uint64_t count = pml_recorder_count(r), dropped = pml_recorder_dropped(r);
  CHECK(count <= CAP && count >= CAP / 2, "eight threads keep at most a cap together (%llu of %d)",
        (unsigned long long)count, CAP);
  CHECK(count + dropped == THREADS * PUSHES && o.wrong == dropped && o.misread == 0, "and count each that they drop");
  pml_recorder_close(r);
}

static void sketches(void) {
  struct pml_recorder *r = opened(PML_KEEP_SKETCH, 0);
  struct outcome o = together(r, false);
  struct pml_value v;
  CHECK(o.wrong == 0 && o.misread == 0 && pml_recorder_count(r) == THREADS * PUSHES, "eight sketches are read as one");
  CHECK(pml_recorder_quantile(r, 50, &v) == 0 && fabs(v.d - 4e6) <= 4e6 * pml_recorder_error(r) + 1,
        "its median is within its bound (%g)", v.d);
  pml_recorder_reset(r);
  o = together(r, true);
  CHECK(o.wrong == 0 && o.misread == 0, "and with resets");
  pml_recorder_close(r);
}

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
static void forking(void) {
  SKIP("sanitizers do not allow threads to be left behind by a fork");
}
#else
static void forking(void) {
  struct pml_recorder *r = opened(PML_KEEP_ALL, 0);
  pthread_t t[2];
  struct worker w = {.r = r, .base = 0, .pushes = PUSHES * 50};
  struct reader reader = {.r = r};
  atomic_store(&ended, false);
  pml_recorder_push_double(r, 1);
  pthread_create(&t[0], NULL, push_all, &w);
  pthread_create(&t[1], NULL, read_all, &reader);
  unsigned failed = 0;
  for (int i = 0; i < 20; i++) {
    pid_t pid = fork();
    if (pid == 0) {
      alarm(60);
      struct pml_value v;
      uint64_t n = pml_recorder_count(r);
      bool good = n > 0 && pml_recorder_push_double(r, -1) == 0 && pml_recorder_count(r) == n + 1;
      good &= pml_recorder_quantile(r, 0, &v) == 0 && v.d == -1;
      pml_recorder_reset(r);
      good &= pml_recorder_push_double(r, 3) == 0 && pml_recorder_quantile(r, 50, &v) == 0 && v.d == 3;
      pml_recorder_close(r);
      _exit(good ? 0 : 1);
    }
    failed += exit_of(pid) != 0;
  }
  atomic_store(&ended, true);
  pthread_join(t[0], NULL);
  pthread_join(t[1], NULL);
  CHECK(failed == 0, "children forked while threads push and read can do all (%u of 20 failed)", failed);
  pml_recorder_close(r);
}
#endif

int main(void) {
  CHECK_EACH(pushing_and_reading, resetting, lanes_go_on, slots_used_again, capped, sketches, forking);
  return check_done();
}
