/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/recorder.c - all pushed values are stored in order, in few allocations and little memory. */
#include "check.h"
#include "record/recorder/pml_recorder_lane.h"

#include <dlfcn.h>
#include <math.h>

static struct {
  void *(*real)(size_t);
  unsigned calls, refuse_after; /* 0: never */
  uint64_t bytes;
} heap;

static void *counting(size_t bytes) {
  heap.calls++;
  heap.bytes += bytes;
  return heap.refuse_after != 0 && heap.calls > heap.refuse_after ? NULL : heap.real(bytes);
}

static void watch_heap(unsigned refuse_after) {
  if (heap.real == NULL) heap.real = pml__recorder_allocate;
  heap.calls = 0;
  heap.bytes = 0;
  heap.refuse_after = refuse_after;
  pml__recorder_allocate = counting;
}

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
static const unsigned locks = 1; /* not counted: a sanitizer has its own pthread_mutex_lock */
#else
static unsigned locks;

/* In front of the C library's. */
int pthread_mutex_lock(pthread_mutex_t *mutex) {
  static int (*real)(pthread_mutex_t *);
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "pthread_mutex_lock");
  locks++;
  return real(mutex);
}
#endif

static struct pml_recorder *opened(enum pml_type type, uint64_t cap) {
  struct pml_recorder *r;
  struct pml_recorder_options o = {.type = type, .cap = cap};
  return CHECK(pml_recorder_open(&r, &o) == 0, "a recorder opens") ? r : NULL;
}

static double median(struct pml_recorder *r) {
  struct pml_value v = {.type = PML_TYPE_DOUBLE, .d = NAN};
  return pml_recorder_quantile(r, 50, &v) == 0 ? pml_value_number(&v) : NAN;
}

static void refusals(void) {
  struct pml_recorder *r;
  struct pml_value v;
  struct pml_recorder_options bad[] = {{.type = PML_TYPE_OTHER},
                                       {.type = PML_TYPE_DOUBLE, .bytes = 4},
                                       {.type = (enum pml_type)9},
                                       {.type = PML_TYPE_OTHER, .bytes = (size_t)1 << 40},
                                       {.type = PML_TYPE_OTHER, .bytes = 8, .keep = PML_KEEP_SKETCH},
                                       {.type = PML_TYPE_DOUBLE, .keep = PML_KEEP_SKETCH, .alpha = 2},
                                       {.type = PML_TYPE_DOUBLE, .keep = (enum pml_keep)5},
                                       {.type = PML_TYPE_DOUBLE, .cap = UINT64_MAX}};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    CHECK(pml_recorder_open(&r, &bad[i]) == -EINVAL && r == NULL, "refused: %s", pml_error_detail(-EINVAL));
  struct pml_recorder_options bytes = {.type = PML_TYPE_OTHER, .bytes = 5};
  CHECK(pml_recorder_open(&r, &bytes) == 0 && pml_recorder_push(r, "alpha") == 0 &&
            pml_recorder_quantile(r, 0, &v) == PML_EMODE,
        "elements of 5 bytes have no number");
  pml_recorder_close(r);
  r = opened(PML_TYPE_DOUBLE, 0);
  CHECK(pml_recorder_quantile(r, 50, &v) == -ENOENT && pml_recorder_nans(r) == 0, "an empty one has no median");
  CHECK(pml_recorder_quantile(r, 101, &v) == -EINVAL, "and nothing beyond 100 percent");
  CHECK(pml_recorder_push(r, NULL) == -EINVAL && pml_recorder_push(NULL, &v) == -EINVAL, "NULL is refused");
  pml_recorder_close(r);
}

/* Ten million pushes: how often memory was asked for, for how much, and that no element ever moved. */
static void cost_of_growth(void) {
  enum { N = 10000000 };
  watch_heap(0);
  struct pml_recorder *r = opened(PML_TYPE_DOUBLE, 0);
  int wrong = 0;
  unsigned locked = locks;
  pml_recorder_push_double(r, 0);
  const void *first = r->lanes->first;
  for (int i = 1; i < N; i++) wrong += pml_recorder_push_double(r, i) != 0;
  CHECK(locks == locked && locks > 0, "ten million pushes take no lock");
  unsigned chunks = 0, large = 0, out_of_place = 0;
  uint64_t room = 0;
  for (struct pml__recorder_chunk *c = r->lanes->first; c != NULL; c = c->next) {
    const double *d = (const double *)(const void *)c->data;
    uint64_t last = c->first + c->capacity < N ? c->first + c->capacity : N;
    large += c->capacity > 64 && c->capacity > c->first / 16;
    for (uint64_t i = c->first; i < last; i++) out_of_place += d[i - c->first] != (double)i;
    chunks++;
    room += c->bytes;
  }
  CHECK(wrong == 0 && pml_recorder_count(r) == N, "ten million doubles are kept");
  CHECK(heap.calls == chunks + 1 && heap.calls < 200, "in %u calls of the allocator: one lane, %u chunks", heap.calls,
        chunks);
  CHECK(large == 0, "no chunk is more than a sixteenth of the memory before it");
  CHECK(r->lanes->first == first && out_of_place == 0, "each element is where it was pushed to: nothing was copied");
  double per = (double)heap.bytes / N;
  CHECK(per <= 8.5 && heap.bytes >= room, "%.3f bytes per double", per);
  pml_recorder_reset(r);
  watch_heap(0);
  for (int i = 0; i < N; i++) wrong += pml_recorder_push_double(r, -i) != 0;
  CHECK(wrong == 0 && heap.calls == 0 && pml_recorder_count(r) == N, "after a reset, as many without any call");
  pml_recorder_close(r);
}

static void no_memory(void) {
  watch_heap(1); /* the lane, but no chunk */
  struct pml_recorder *r = opened(PML_TYPE_DOUBLE, 0);
  CHECK(pml_recorder_push_double(r, 1) == PML_EFULL && pml_recorder_push_double(r, 2) == PML_EFULL &&
            pml_recorder_dropped(r) == 2 && pml_recorder_count(r) == 0,
        "without memory, pushes are dropped and counted");
  watch_heap(2);
  int kept = 0;
  for (int i = 0; i < 1000; i++) kept += pml_recorder_push_double(r, i) == 0;
  CHECK((uint64_t)kept == pml_recorder_count(r) && pml_recorder_dropped(r) == 2 + 1000 - (uint64_t)kept && kept > 0,
        "existing values stay (%d)", kept);
  watch_heap(0);
  CHECK(pml_recorder_push_double(r, 5) == 0, "with memory, it continues");
  pml_recorder_close(r);
}

static void cap(void) {
  static const uint64_t caps[] = {1, 63, 64, 65, 1000, 12345};
  for (size_t c = 0; c < sizeof caps / sizeof caps[0]; c++) {
    struct pml_recorder *r = opened(PML_TYPE_DOUBLE, caps[c]);
    unsigned refused = 0;
    for (unsigned round = 0; round < 2; round++) {
      refused = 0;
      for (int i = 0; i < 20000; i++)
        if (pml_recorder_push_double(r, i) == PML_EFULL) refused++;
      if (round == 0) pml_recorder_reset(r);
    }
    CHECK(pml_recorder_count(r) == caps[c] && pml_recorder_dropped(r) == 20000 - caps[c] && refused == 20000 - caps[c],
          "a cap of %llu keeps the first ones and counts the others, after a reset, too", (unsigned long long)caps[c]);
    CHECK(median(r) == (double)(caps[c] / 2), "and the quantiles are of those");
    pml_recorder_close(r);
  }
}

static void other_elements(void) {
  enum { MANY = 40 };
  struct pml_recorder *whole[MANY], *half[MANY];
  int wrong = 0, taken = 0;
  for (int i = 0; i < MANY; i++) {
    int64_t v = i, got;
    int32_t w = -i, had;
    whole[i] = opened(PML_TYPE_INT64, 0);
    half[i] = opened(PML_TYPE_INT32, 0);
    for (int k = 0; k < 3; k++) wrong += pml_recorder_push(whole[i], &v) != 0 || pml_recorder_push(half[i], &w) != 0;
    taken += pml_recorder_push_double(whole[i], 1) != -EINVAL || pml_recorder_push_double(half[i], 1) != -EINVAL;
    wrong += pml_recorder_copy(whole[i], 2, &got, 1) != 1 || got != v || pml_recorder_count(whole[i]) != 3;
    wrong += pml_recorder_copy(half[i], 2, &had, 1) != 1 || had != w || pml_recorder_count(half[i]) != 3;
  }
  for (int i = 0; i < MANY; i++) pml_recorder_close(whole[i]), pml_recorder_close(half[i]);
  CHECK(taken == 0, "a recorder of other elements takes no double, in any slot");
  CHECK(wrong == 0, "and elements of 8 and of 4 bytes are kept unchanged");
}

static void resets_and_slots(void) {
  struct pml_recorder *r = opened(PML_TYPE_DOUBLE, 0);
  for (int i = 0; i < 100; i++) pml_recorder_push_double(r, 1);
  CHECK(median(r) == 1, "a median is known");
  pml_recorder_reset(r);
  CHECK(pml_recorder_count(r) == 0 && isnan(median(r)) && pml_recorder_copy(r, 0, &(double){0}, 1) == 0,
        "a reset forgets all");
  pml_recorder_push_double(r, 2);
  CHECK(median(r) == 2 && pml_recorder_count(r) == 1, "and starts over");
  uint32_t slot = r->slot;
  pml_recorder_close(r);
  r = opened(PML_TYPE_DOUBLE, 0);
  CHECK(r->slot == slot && pml_recorder_count(r) == 0, "the next one has the same slot and nothing of the last");
  pml_recorder_push_double(r, 3);
  CHECK(pml_recorder_count(r) == 1 && median(r) == 3, "and takes pushes of the same thread");
  struct pml_recorder *many[1000];
  int wrong = 0;
  for (int i = 0; i < 1000; i++) {
    struct pml_recorder_options o = {.type = PML_TYPE_DOUBLE};
    wrong += pml_recorder_open(&many[i], &o) != 0 || pml_recorder_push_double(many[i], i) != 0;
  }
  for (int i = 0; i < 1000; i++) wrong += pml_recorder_count(many[i]) != 1 || median(many[i]) != i;
  for (int i = 0; i < 1000; i++) pml_recorder_close(many[i]);
  CHECK(wrong == 0, "a thousand at once do not mix");
  CHECK(pml_recorder_count(r) == 1, "nor touch an older one");
  pml_recorder_close(r);
}

static void pinned(void) {
  struct pml_recorder *r = opened(PML_TYPE_DOUBLE, 0);
  for (int i = 0; i < 10; i++) pml_recorder_push_double(r, i);
  struct pml__recorder_lane *lane = r->lanes;
  const double *d = (const double *)(const void *)lane->first->data;
  CHECK(pml__recorder_pin(lane, r->head.epoch), "a reader is inside");
  pml_recorder_reset(r);
  for (int i = 0; i < 10; i++) pml_recorder_push_double(r, -1);
  CHECK(d[0] == 0 && d[9] == 9 && pml__recorder_lane_count(lane, 8) == 10, "values that were read stay");
  CHECK(pml_recorder_count(r) == 10 && median(r) == -1 && lane->next != NULL, "the pushes went to another lane");
  CHECK(!pml__recorder_pin(lane, r->head.epoch), "which no reader sees in the new epoch");
  pml_recorder_reset(r);
  pml_recorder_push_double(r, 7);
  CHECK(pml_recorder_count(r) == 1 && median(r) == 7 && lane->next->next == NULL, "no third is needed");
  pml_recorder_close(r);
}

static void sketch(void) {
  struct pml_recorder *r;
  struct pml_recorder_options o = {.type = PML_TYPE_INT64, .keep = PML_KEEP_SKETCH};
  if (!CHECK(pml_recorder_open(&r, &o) == 0, "a recorder that keeps a sketch")) return;
  watch_heap(0);
  for (int64_t i = 1; i <= 100000; i++) pml_recorder_push(r, &i);
  double m = median(r);
  CHECK(heap.calls == 1 && pml_recorder_count(r) == 100000, "takes memory once");
  CHECK(pml_recorder_error(r) == 0.01 && fabs(m - 50001) <= 0.01 * 50001, "gives %g for 50001, within its bound", m);
  CHECK(pml_recorder_copy(r, 0, &m, 1) == 0 && pml_recorder_quantile_bytes(r, 50, &m) == PML_EMODE, "has no elements");
  pml_recorder_reset(r);
  CHECK(pml_recorder_count(r) == 0 && isnan(median(r)), "and is reset");
  int64_t seven = 7;
  pml_recorder_push(r, &seven);
  CHECK(median(r) == 7 && pml_recorder_options(r).alpha == 0.01, "to start over");
  pml_recorder_close(r);
}

/* Between the two stores with which an owner takes a chunk, the lane names a chunk without the tail. */
static void counting_meanwhile(void) {
  struct pml_recorder *r;
  struct pml_recorder_options o = {.type = PML_TYPE_DOUBLE};
  if (!CHECK(pml_recorder_open(&r, &o) == 0, "a recorder for a count meanwhile")) return;
  for (int i = 0; i < 1000; i++) pml_recorder_push_double(r, i);
  struct pml__recorder_lane *lane = r->lanes;
  struct pml__recorder_chunk *current = lane->current;
  lane->current = lane->first;
  CHECK(current != lane->first && pml_recorder_count(r) == 1000, "the count is right while a chunk is taken");
  lane->current = current;
  pml_recorder_close(r);
}

int main(void) {
  CHECK_EACH(refusals, cost_of_growth, no_memory, cap, other_elements, resets_and_slots, pinned, sketch,
             counting_meanwhile);
  return check_done();
}
