/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/stream/pml_stream.c - event consumers by event kind, and the producing threads. */
#include "base/pml_stream.h"

#include "base/pml_error.h"
#include "base/pml_process.h"
#include "base/pml_thread.h"
#include "base/stream/pml_stream_calls.h"
#include "base/stream/pml_stream_private.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define YIELDS 100u
#define NAP_NS 100000
#define NO_CONSUMER PML__STREAM_NO_CONSUMER

/*
 * The lists of consumers, one per kind, never change while a thread may use them: a change fills the other of two sets,
 * publishes it, and then waits until no thread can be using the old one.
 *
 * Memory order. A thread that delivers an event stores a mark to its guard, then loads the list; at the end it stores
 * with release that the guard is free. The writer of the lists stores the new pointers, then loads each guard. Between
 * store and load each side needs a full fence, so that one of the two sees the other: the thread sees the new list, or
 * the writer sees the mark and waits for the end. membarrier(2) makes the threads' fence at the time of the change: the
 * writer sees every mark that a thread stored before it, and a list that a thread loads after it is the new one.
 * Without membarrier(2), a thread exchanges its guard before it loads a list. The release at the end and the writer's
 * acquire order all accesses of the thread to the old list, and to consumers' data, before the writer's later accesses.
 * The pointers are stored with release and loaded with acquire, so that a thread that finds a list finds it filled.
 *
 * The writer may never find a busy thread free. But a delivery counts itself in `slow`, with release, after its mark
 * and before it loads a list; it does not use the consumers that the thread has learnt, because they are of the old
 * generation. So the old delivery is over when `slow` has changed since the writer loaded it, which it does after it
 * saw the mark.
 *
 * Fast paths compare the generation of a list instead of loading its pointer: the generation is stored and loaded at
 * the same points, so the same argument holds. A thread learns a generation's consumers only if membarrier(2) makes the
 * fence; otherwise each of its events finds no learnt generation, and uses the list. It learns of enters and leaves
 * together, once the lists of all kinds are published; a list that is published meanwhile has another generation.
 *
 * Whether intercepted calls are counted belongs to a list, and so to its generation: a thread that learns a counted
 * list calls a function that reads its counters, guarded, before the consumers. Only the thread itself names the set to
 * read, and it withdraws the name before it closes the set. The name is in its block, which is cleared in a child: no
 * child reads its parent's pages.
 *
 * A thread's place has no generation beside it: the writer clears it in all threads, between two fences of
 * membarrier(2), after it published the list. A thread that stores its place then loads the generation. If it found the
 * old one, its store comes before the first fence, and so before the clearing; otherwise it clears the place itself. A
 * guarded thread loads its place after its mark: if it found one, the mark's store comes before the second fence.
 */
const struct pml__stream_list *pml__stream_list[PML_STREAM_KINDS];

static struct pml__stream_list set_of_lists[2][PML_STREAM_KINDS];
static unsigned set_in_use;

struct pml__stream_slot pml__stream_slot[PML_STREAM_CONSUMERS_MAX];
static uint64_t order[PML_STREAM_CONSUMERS_MAX]; /* ids, in the order of adding */
static uint32_t nconsumers;
static uint64_t last_id, last_generation;

static struct pml__lock lock;
static struct pml__stream_thread *_Atomic threads;
struct pml__stream_thread pml__stream_nobody = {.guard = PML__STREAM_EMITTING};
struct pml__call_table pml__call_table __attribute__((aligned(64)));
PML_THREAD_LOCAL struct pml__stream_own pml__stream_own __attribute__((tls_model("initial-exec"))) = {
    .self = &pml__stream_nobody, .call.open = PML__CALL_NONE, .call.stream = &pml__stream_nobody};
_Atomic uint64_t pml__stream_lost_threads;
atomic_bool pml__stream_expedited;
_Atomic uint64_t pml__stream_generation[PML_STREAM_KINDS] = {NO_CONSUMER, NO_CONSUMER, NO_CONSUMER,
                                                             NO_CONSUMER, NO_CONSUMER, NO_CONSUMER};
_Static_assert(PML_STREAM_KINDS == 6, "each kind begins without consumers");
_Atomic uint64_t pml__stream_latest = NO_CONSUMER, pml__stream_sparing = NO_CONSUMER;
static _Atomic uint64_t fast_latest = NO_CONSUMER; /* the latest, if all its consumers have fast functions */
static atomic_bool stubs_allowed;
pml__stream_counter *pml__stream_counter_in_use;
static pthread_key_t key;
static bool has_key;

/* ---- threads ---- */

static void forget(struct pml__stream_thread *t) {
  memset(t->at, 0, sizeof t->at);
  memset(t->one, 0, sizeof t->one);
  t->counts = (struct pml__stream_counts){0};
  __atomic_store_n(&t->place, NULL, __ATOMIC_RELAXED);
  t->free = t->learnt = PML__STREAM_FREE;
}

static void end_block(struct pml__stream_thread *t) {
  pml__process_look();
  pml__lock_take(&lock);
  for (uint32_t i = 0; i < PML_STREAM_CONSUMERS_MAX; i++) {
    const struct pml_stream_consumer *c = &pml__stream_slot[i].consumer;
    if (pml__stream_slot[i].id != 0 && t->at[i].id == pml__stream_slot[i].id && t->at[i].data != NULL &&
        c->thread_end != NULL)
      c->thread_end(c->arg, t->at[i].data);
  }
  forget(t);
  pml__lock_leave(&lock);
}

static void give_block(struct pml__stream_thread *t) {
  pml__stream_unguard(t); /* a thread that a consumer ended never came back from it */
  atomic_store_explicit(&t->in_use, false, memory_order_release);
}

/*
 * Waits for a second round of destructors, because adapters end open calls in the first round, in any order.
 * The block is another thread's from here on, with all that this one did to it.
 */
static void thread_ends(void *arg) {
  struct pml__stream_thread *t = arg;
  t->ending = !t->ending && pthread_setspecific(key, t) == 0;
  if (t->ending) return;
  end_block(t);
  if (pml__stream_own.call.stream == t) pml__stream_own.call.stream = &pml__stream_nobody;
  pml__stream_self = &pml__stream_nobody;
  give_block(t);
}

void pml__stream_extra_end(struct pml__stream_thread *t) {
  if (t->here) end_block(t);
  if (t->here) give_block(t);
}

/* Called by the thread that changes the lists and by the thread that changes stubs_allowed. Each loads both again after
 * its store, so the last one to store has seen the other's store. */
static void choose_sparing(void) {
  uint64_t fast;
  bool may;
  do {
    fast = atomic_load(&fast_latest);
    may = atomic_load(&stubs_allowed);
    atomic_store(&pml__stream_sparing, may && PML__SPARING ? fast : NO_CONSUMER);
  } while (atomic_load(&fast_latest) != fast || atomic_load(&stubs_allowed) != may);
}

void pml__stream_allow_stubs(bool may) {
  atomic_store(&stubs_allowed, may);
  choose_sparing();
}

static void register_membarrier(void) {
  bool can = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  atomic_store_explicit(&pml__stream_expedited, can, memory_order_seq_cst);
}

/* A list without consumers that no thread learns. */
static const struct pml__stream_list awaited = {.generation = UINT64_MAX - 1};

/* All lists are published; under the lock, or where no other thread changes them. */
static void set_latest(uint64_t generation, bool fast) {
  atomic_store(&pml__stream_latest, generation);
  atomic_store(&fast_latest, fast ? generation : NO_CONSUMER);
  choose_sparing();
}

/*
 * The child has no consumers yet. The memory of the parent's consumers and threads is not freed. The child may have
 * threads that emit events meanwhile: kinds that were wanted stay wanted, so these threads also check the process, and
 * wait until all watchers, which may add consumers, were called.
 */
static void in_child(void) {
  for (unsigned k = 0; k < PML_STREAM_KINDS; k++) {
    bool wanted = __atomic_load_n(&pml__stream_list[k], __ATOMIC_RELAXED) != NULL;
    __atomic_store_n(&pml__stream_list[k], wanted ? &awaited : NULL, __ATOMIC_RELEASE);
    atomic_store_explicit(&pml__stream_generation[k], wanted ? awaited.generation : NO_CONSUMER, memory_order_release);
  }
  set_latest(NO_CONSUMER, false);
  memset(pml__stream_slot, 0, sizeof pml__stream_slot);
  nconsumers = 0;
  (void)pml__lock_torn(&lock);
  atomic_store_explicit(&threads, NULL, memory_order_relaxed);
  register_membarrier();
}

static void settle_in_child(void) {
  for (unsigned k = 0; k < PML_STREAM_KINDS; k++) {
    if (__atomic_load_n(&pml__stream_list[k], __ATOMIC_RELAXED) == &awaited) {
      __atomic_store_n(&pml__stream_list[k], NULL, __ATOMIC_RELEASE);
      atomic_store_explicit(&pml__stream_generation[k], NO_CONSUMER, memory_order_release);
    }
  }
}

static void prepare(void) {
  register_membarrier();
  has_key = pthread_key_create(&key, thread_ends) == 0;
  (void)pml__process_watch_use(in_child);
  (void)pml__process_watch_last(settle_in_child);
}

/* Called by the adder of the first consumer, and by threads that may have seen only the list that has it. */
static pthread_once_t prepared = PTHREAD_ONCE_INIT;

static void list(struct pml__stream_thread *t) {
  t->free = t->learnt = PML__STREAM_FREE;
  pml__stream_unguard(t);
  t->here = true;
  t->next = atomic_load_explicit(&threads, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(&threads, &t->next, t, memory_order_acq_rel, memory_order_acquire)) {
  }
}

static struct pml__stream_thread *take_block(void) {
  struct pml__stream_thread *t = atomic_load_explicit(&threads, memory_order_acquire);
  for (; t != NULL; t = t->next)
    if (!atomic_load_explicit(&t->in_use, memory_order_relaxed) &&
        !atomic_exchange_explicit(&t->in_use, true, memory_order_acquire))
      return t;
  t = pml__process_memory(sizeof *t);
  if (t == NULL) return NULL;
  atomic_store_explicit(&t->in_use, true, memory_order_relaxed);
  list(t);
  return t;
}

/* The block of a thread that forked, in the child: cleared, except for changes made since. */
static struct pml__stream_thread *renew(struct pml__stream_thread *t) {
  for (unsigned k = 0; k <= PML_STREAM_LEAVE; k++) t->several[k].done = 0;
  atomic_store_explicit(&t->in_use, true, memory_order_relaxed);
  list(t);
  return t;
}

static struct pml__stream_thread *begin_thread(void) {
  struct pml__stream_thread *t = take_block();
  if (t == NULL) return NULL;
  pthread_once(&prepared, prepare);
  /* Without its destructor the thread would never be told to have ended, and its block stays taken. */
  if (has_key) (void)pthread_setspecific(key, t);
  pml__stream_self = t;
  if (pml__stream_own.call.stream == &pml__stream_nobody) pml__stream_own.call.stream = t;
  return t;
}

struct pml__stream_thread *pml__stream_extra_begin(void) {
  pml__process_look();
  return take_block();
}

__attribute__((cold)) struct pml__stream_thread *pml__stream_thread_begin(void) {
  struct pml__stream_thread *t = pml__stream_self;
  int cancel = pml__cancel_hold();
  pml__process_look();
  (void)pml_thread_self();
  if (t == &pml__stream_nobody)
    t = begin_thread();
  else if (!t->here)
    t = renew(t);
  pml__cancel_again(cancel);
  return t;
}

/* ---- consumers ---- */

static bool is_free(struct pml__stream_thread *t) {
  return (__atomic_load_n(&t->guard, __ATOMIC_SEQ_CST) & PML__STREAM_FREE) != 0;
}

static void wait_for(struct pml__stream_thread *t) {
  if (is_free(t)) return;
  uint64_t before = __atomic_load_n(&t->slow, __ATOMIC_SEQ_CST);
  for (unsigned i = 0; !is_free(t) && __atomic_load_n(&t->slow, __ATOMIC_ACQUIRE) == before; i++) {
    static const struct timespec nap = {0, NAP_NS};
    if (i < YIELDS)
      sched_yield();
    else
      nanosleep(&nap, NULL); /* a consumer that takes its time, or a thread that has no cpu */
  }
}

static void fence_all(void) {
  if (atomic_load_explicit(&pml__stream_expedited, memory_order_relaxed))
    (void)syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

static void clear_places(void) {
  fence_all();
  for (struct pml__stream_thread *t = atomic_load_explicit(&threads, memory_order_seq_cst); t != NULL; t = t->next)
    __atomic_store_n(&t->place, NULL, __ATOMIC_RELAXED);
}

static void wait_for_all(void) {
  fence_all();
  for (struct pml__stream_thread *t = atomic_load_explicit(&threads, memory_order_seq_cst); t != NULL; t = t->next)
    wait_for(t);
}

static uint32_t slot_of(uint64_t id) {
  uint32_t i = 0;
  while (i < PML_STREAM_CONSUMERS_MAX && pml__stream_slot[i].id != id) i++;
  return i;
}

static void fill(struct pml__stream_list *list, unsigned kind) {
  bool fast = true;
  list->n = 0;
  for (uint32_t i = 0; i < nconsumers; i++) {
    uint32_t at = slot_of(order[i]);
    const struct pml_stream_consumer *c = &pml__stream_slot[at].consumer;
    if (c->event[kind] == NULL) continue;
    list->at[list->n++] = (struct pml__stream_entry){order[i], at};
    fast = fast && kind <= PML_STREAM_LEAVE && c->fast[kind] != NULL;
  }
  list->fast = fast && list->n > 0 && list->n <= PML__STREAM_SEVERAL;
  list->counted = pml__stream_is_counting();
}

/* Under the lock: publish lists of the current @order, which replace the lists in use. */
static void publish(void) {
  uint64_t generation = PML__STREAM_FREE | ++last_generation;
  set_in_use = 1 - set_in_use;
  struct pml__stream_list *set = set_of_lists[set_in_use];
  for (unsigned k = 0; k < PML_STREAM_KINDS; k++) {
    struct pml__stream_list *list = &set[k];
    fill(list, k);
    list->generation = generation;
    if (list->n == 0 && __atomic_load_n(&pml__stream_list[k], __ATOMIC_RELAXED) == &awaited) continue;
    __atomic_store_n(&pml__stream_list[k], list->n > 0 ? list : NULL, __ATOMIC_SEQ_CST);
    atomic_store(&pml__stream_generation[k], list->n > 0 ? generation : NO_CONSUMER);
  }
  set_latest(generation, set[PML_STREAM_ENTER].fast && set[PML_STREAM_LEAVE].fast);
  clear_places();
  wait_for_all();
}

bool pml__stream_is_inside(void) {
  return pml__stream_self->here && pml__stream_is_guarded(pml__stream_self);
}

static bool in_a_consumer(void) {
  pml__process_look();
  return pml__stream_is_inside();
}

static bool consumes_nothing(const struct pml_stream_consumer *c) {
  for (unsigned k = 0; k < PML_STREAM_KINDS; k++)
    if (c->event[k] != NULL) return false;
  return true;
}

int pml_stream_add(const struct pml_stream_consumer *c, uint64_t *id) {
  *id = 0;
  if (c->thread_begin == NULL || consumes_nothing(c))
    return pml_fail(-EINVAL, "a consumer of events needs thread_begin and a kind of event");
  if (in_a_consumer()) return pml_fail(-EDEADLK, "a consumer of events cannot add another while it has one");
  pthread_once(&prepared, prepare);
  int err = 0;
  pml__lock_take(&lock);
  if (nconsumers == PML_STREAM_CONSUMERS_MAX) {
    err =
        pml_fail(PML_EFULL, "%u consumers of events are already attached, the most possible", PML_STREAM_CONSUMERS_MAX);
  } else {
    uint32_t at = slot_of(0);
    pml__stream_slot[at].consumer = *c;
    pml__stream_slot[at].id = order[nconsumers++] = *id = ++last_id;
    publish();
  }
  pml__lock_leave(&lock);
  return err;
}

int pml_stream_remove(uint64_t id) {
  if (in_a_consumer()) return pml_fail(-EDEADLK, "a consumer of events cannot remove one while it has an event");
  int err = -ENOENT;
  pml__lock_take(&lock);
  for (uint32_t i = 0; i < nconsumers && err != 0; i++) {
    if (order[i] != id) continue;
    memmove(&order[i], &order[i + 1], (--nconsumers - i) * sizeof order[0]);
    publish();
    memset(&pml__stream_slot[slot_of(id)], 0, sizeof pml__stream_slot[0]);
    err = 0;
  }
  pml__lock_leave(&lock);
  return err < 0 ? pml_fail(err, "no such consumer of events") : 0;
}

int pml__stream_count_calls(pml__stream_counter *counter) {
  if (in_a_consumer()) return pml_fail(-EDEADLK, "a consumer of events cannot have calls counted while it has one");
  pthread_once(&prepared, prepare);
  pml__lock_take(&lock);
  __atomic_store_n(&pml__stream_counter_in_use, counter, __ATOMIC_RELEASE);
  publish();
  pml__lock_leave(&lock);
  return 0;
}

size_t pml_stream_list(struct pml_stream_listed out[PML_STREAM_CONSUMERS_MAX]) {
  pml__process_look();
  pml__lock_take(&lock);
  size_t n = nconsumers;
  for (size_t i = 0; i < n; i++) {
    const struct pml_stream_consumer *c = &pml__stream_slot[slot_of(order[i])].consumer;
    out[i] = (struct pml_stream_listed){.id = order[i]};
    if (c->name != NULL) strncpy(out[i].name, c->name, sizeof out[i].name - 1);
    for (unsigned k = 0; k < PML_STREAM_KINDS; k++) out[i].wants[k] = c->event[k] != NULL;
    out[i].fast = c->fast[PML_STREAM_ENTER] != NULL && c->fast[PML_STREAM_LEAVE] != NULL;
  }
  pml__lock_leave(&lock);
  return n;
}

void pml_stream_lost(struct pml_stream_lost *lost) {
  *lost = (struct pml_stream_lost){0};
  for (struct pml__stream_thread *t = atomic_load_explicit(&threads, memory_order_acquire); t != NULL; t = t->next) {
    lost->nested += atomic_load_explicit(&t->nested, memory_order_relaxed);
    lost->refused += atomic_load_explicit(&t->refused, memory_order_relaxed);
  }
  lost->refused += atomic_load_explicit(&pml__stream_lost_threads, memory_order_relaxed);
}
