/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/count_threads.c - counts of threads that come and go add up to the sum of the process, while it is being read.
 *
 * They start and end for SOAK_SECONDS (0) at least.
 */
#include "check.h"
#include "count.h"
#include "fork_join.h"
#include "source/compiler/pml_count_runtime.h"

#define AT_ONCE 8u
#define WAVES 250u /* at least */
#define EACH 100u

extern struct pml_count_runtime pml_count_runtime;

static const char *const flops[] = {"sde:::BYFL::flop_count_I"};
static atomic_bool over;
static pthread_key_t last_words;

static uint64_t total(void) {
  struct pml_sde_event *ev;
  struct pml_value v = {.i = -1};
  if (pml_sde_find("BYFL::flop_count_I", &ev, NULL) < 0) return 0;
  (void)pml_sde_read(ev, &v);
  pml_sde_release(ev);
  return (uint64_t)v.i;
}

static void *short_life(void *unused) {
  (void)unused;
  for (unsigned i = 0; i < EACH; i++) add_doubles(1);
  return NULL;
}

/* The sum must never fall, because counts of a thread are not moved when it ends. */
static void *watcher(void *fallen) {
  for (uint64_t before = 0, now; !atomic_load(&over); before = now) {
    now = total();
    if (now < before) *(unsigned *)fallen += 1;
  }
  return NULL;
}

static bool child_counts(void) {
  pid_t child = fork();
  if (child == 0) {
    uint64_t before = total();
    add_doubles(9);
    _exit(total() == before + 9 ? 0 : 1);
  }
  return exit_of(child) == 0;
}

static uint64_t wave(void) {
  pthread_t thread[AT_ONCE];
  uint64_t n = 0;
  for (unsigned i = 0; i < AT_ONCE; i++)
    if (pthread_create(&thread[n], NULL, short_life, NULL) == 0) n++;
  for (unsigned i = 0; i < n; i++) pthread_join(thread[i], NULL);
  return n * EACH;
}

static void many_come_and_go(void) {
  const char *asked = getenv("SOAK_SECONDS");
  uint64_t till = pml_clock_ns() + UINT64_C(1000000000) * (asked != NULL ? strtoull(asked, NULL, 10) : 0);
  pthread_t reader;
  unsigned fallen = 0, children = 0, right = 0;
  uint64_t before = total(), made = 0;
  pthread_create(&reader, NULL, watcher, &fallen);
  for (unsigned w = 0; w < WAVES || pml_clock_ns() < till; w++) {
    made += wave();
    if (w % 50 != 0) continue;
    children++;
    right += child_counts();
  }
  atomic_store(&over, true);
  pthread_join(reader, NULL);
  CHECK(total() - before == made, "threads that come and go are counted: %llu operations", (unsigned long long)made);
  CHECK(fallen == 0, "the sum never falls while it is read");
  CHECK(right == children, "children that are forked meanwhile count (%u of %u)", right, children);
  CHECK(pml_count_runtime.area->header.lanes <= AT_ONCE + 3, "they take turns on %u lanes, not more than were at once",
        pml_count_runtime.area->header.lanes);
  CHECK(pml_count_runtime.area->header.sharing == 0, "none had to share its cells");
}

static void say_last_words(void *unused) {
  (void)unused;
  add_doubles(7);
}

static void *with_last_words(void *arg) {
  add_doubles(1);
  pthread_setspecific(last_words, arg);
  return NULL;
}

static void destructors_count(void) {
  uint64_t before = total();
  pthread_key_create(&last_words, say_last_words);
  in_threads(1, with_last_words, &last_words, 0);
  CHECK(total() - before == 8, "the work of a thread's destructors is counted");
}

struct worker {
  struct pml_eventset *set;
  uint64_t own, work;
};

static void *counts_itself(void *arg) {
  struct worker *w = arg;
  if (pml_eventset_open(&w->set, flops, 1, NULL) < 0) return NULL;
  pml_eventset_start(w->set);
  add_doubles(w->work);
  pml_eventset_read(w->set, &w->own);
  return NULL;
}

static void sets_of_threads(void) {
  struct worker w[AT_ONCE] = {{0}};
  uint64_t later[AT_ONCE], n;
  unsigned right = 0, stand = 0;
  for (unsigned i = 0; i < AT_ONCE; i++) w[i].work = i + 1;
  in_threads(AT_ONCE, counts_itself, w, sizeof *w);
  for (unsigned i = 0; i < AT_ONCE; i++) right += w[i].own == i + 1;
  CHECK(right == AT_ONCE, "an event set reads what its own thread counted (%u of %u)", right, AT_ONCE);
  in_threads(AT_ONCE, short_life, NULL, 0);
  for (unsigned i = 0; i < AT_ONCE; i++) stand += pml_eventset_read(w[i].set, &later[i]) == 0 && later[i] == i + 1;
  CHECK(stand == AT_ONCE, "a thread that ended counts no more, for any thread after it (%u of %u)", stand, AT_ONCE);
  for (unsigned i = 0; i < AT_ONCE; i++) pml_eventset_close(w[i].set);
  uint32_t lanes = pml_count_runtime.area->header.lanes;
  in_threads(AT_ONCE, short_life, NULL, 0);
  n = pml_count_runtime.area->header.lanes;
  CHECK(n == lanes, "once such sets are closed, their lanes are taken again");
}

static void inherited(void) {
  struct pml_eventset_options o = {.target = {.inherit = true}};
  struct pml_eventset *all, *own;
  uint64_t of_all = 0, of_own = 0;
  int rc = pml_eventset_open(&all, flops, 1, &o);
  if (!CHECK(rc == 0 && pml_eventset_open(&own, flops, 1, NULL) == 0, "both kinds of set open")) return;
  pml_eventset_start(all);
  pml_eventset_start(own);
  in_threads(1, short_life, NULL, 0);
  add_doubles(5);
  pml_eventset_read(all, &of_all);
  pml_eventset_read(own, &of_own);
  CHECK(of_own == 5 && of_all == EACH + 5, "with inherit a set reads all threads, without its own");
  pml_eventset_close(all);
  pml_eventset_close(own);
}

static struct pml_count_module joined_module;

static void prepare(void) {
  joined_module = module_of("count_threads.c", PML_COUNT_SOURCE);
  uses(&joined_module, DOUBLE_ADD);
  uses(&joined_module, DOUBLE_LOAD);
}

static void use(void) {
  pml_count_module_begin(&joined_module);
  add_doubles(1);
}

int main(void) {
  if (pml_clock_init() < 0) return 1;
  struct pml_count_module m = module_of("count_threads.c", PML_COUNT_SOURCE);
  uses(&m, DOUBLE_ADD);
  uses(&m, DOUBLE_LOAD);
  pml_count_module_begin(&m);
  CHECK_EACH(many_come_and_go, destructors_count, sets_of_threads, inherited);
  pml_count_module_end(&m);
  CHECK(forks_with(prepare, use), "a fork handler joins threads that count and load");
  return check_done();
}
