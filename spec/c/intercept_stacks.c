/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/intercept_stacks.c - recorded calls whose frames return later, elsewhere, twice or never.
 *
 * Fibers nest recorded calls and switch inside them, at random: on separate adjacent stacks, on stacks inside a frame
 * of the thread's stack, or all on the same memory, to and from which each stack is copied, like greenlets. Each call
 * checks its result; each is counted when it is made.
 */
#include "adapter/arch/pml_call.h"
#include "adapter/intercept/pml_intercept.h"
#include "check.h"
#include "intercept/library.h"
#include "intercept/sparing.h"
#include "substrate/profile/pml_profile.h"

#include <setjmp.h>
#include <sys/time.h>
#include <ucontext.h>

#define FIBERS 8u
#define STACK ((size_t)64 * 1024)
#define ROUNDS 200
#define DEPTH 4

#ifdef __SANITIZE_ADDRESS__
#define COPIES 0 /* its shadow of a stack is not copied */
#else
#define COPIES 1
#endif

/* Each stack is one more thread to a consumer; there calls nest. */
#define OPEN_MAX 64
struct seen {
  struct seen *next; /* list of all: stacks still in use at the end are not freed */
  pml_region_t open[OPEN_MAX];
  unsigned n;
};
static struct seen *all;
static uint64_t enters, leaves, unreturned, disorder, stacks;

static void *begin(void *arg, uint64_t thread) {
  (void)arg, (void)thread;
  __atomic_fetch_add(&stacks, 1, __ATOMIC_RELAXED);
  struct seen *s = calloc(1, sizeof *s);
  if (s == NULL) return NULL;
  s->next = __atomic_load_n(&all, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(&all, &s->next, s, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
  }
  return s;
}
static void end(void *arg, void *data) {
  (void)arg, (void)data;
}

static unsigned chance(unsigned n) {
  static uint64_t state = 88172645463325252U;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (unsigned)(state >> 33) % n;
}

static volatile bool in_fast, in_all; /* a signal comes in some deliveries: fast ones, or all */
static void have_signal(bool wanted) {
  if (wanted && chance(3) == 0) raise(SIGUSR2);
}

static void on_enter(void *data, const struct pml_stream_event *e) {
  struct seen *s = data;
  have_signal(in_all);
  __atomic_fetch_add(&enters, 1, __ATOMIC_RELAXED);
  if (s->n < OPEN_MAX)
    s->open[s->n++] = e->region;
  else
    __atomic_fetch_add(&disorder, 1, __ATOMIC_RELAXED);
}
static void on_leave(void *data, const struct pml_stream_event *e) {
  struct seen *s = data;
  have_signal(in_all);
  __atomic_fetch_add(&leaves, 1, __ATOMIC_RELAXED);
  if (e->unwound) __atomic_fetch_add(&unreturned, 1, __ATOMIC_RELAXED);
  if (s->n == 0 || s->open[--s->n] != e->region) __atomic_fetch_add(&disorder, 1, __ATOMIC_RELAXED);
}

static volatile long calls, returned, wrong; /* a signal handler may come between a load and a store */
static void add(volatile long *to, long n) {
  __atomic_fetch_add(to, n, __ATOMIC_RELAXED);
}
static int call(int (*back)(void *arg), void *arg, int expected) {
  add(&calls, 1);
  int got = lib_back(back, arg);
  add(&returned, 1);
  add(&wrong, got != expected);
  return got;
}

static void forget(void) {
  lib_nothing();
  enters = leaves = unreturned = disorder = 0;
  calls = returned = wrong = 0;
}

static bool all_well(const char *what) {
  bool is = wrong == 0 && enters == (uint64_t)calls && leaves <= enters && disorder == 0;
  printf("# %s: %ld calls, %ld wrong, %ld returned; %llu enters, %llu leaves, %llu of what did not return\n", what,
         calls, wrong, returned, (unsigned long long)enters, (unsigned long long)leaves,
         (unsigned long long)unreturned);
  return is;
}

enum where { SIDE_BY_SIDE, INSIDE, COPIED };

struct fiber {
  ucontext_t context;
  char *stack, *copy; /* copy: NULL: the stack is its own */
  int depth, round;
  bool begun, done;
};
static struct fiber fiber[FIBERS];
static ucontext_t home;

static void give_way(struct fiber *f) {
  swapcontext(&f->context, &home);
}

static int step(void *arg) {
  struct fiber *f = arg;
  int depth = ++f->depth;
  if (chance(2) == 0) give_way(f);
  if (depth < DEPTH && chance(2) == 0) (void)call(step, f, 100 + depth + 2);
  if (chance(2) == 0) give_way(f);
  f->depth--;
  return 100 + depth;
}

static void work(int which) {
  struct fiber *f = &fiber[which];
  for (; f->round < ROUNDS; f->round++) (void)call(step, f, 102);
  f->done = true;
  give_way(f);
}

/* Not inlined, because the compiler assumes that getcontext() may return twice. */
__attribute__((noinline)) static void prepare(struct fiber *f) {
  f->depth = 0;
  f->begun = false;
  getcontext(&f->context);
  f->context.uc_stack.ss_sp = f->stack;
  f->context.uc_stack.ss_size = STACK;
  f->context.uc_link = NULL;
  makecontext(&f->context, (void (*)(void))(uintptr_t)work, 1, (int)(f - fiber));
}

static void resume(struct fiber *f) {
  if (f->copy != NULL && f->begun) memcpy(f->stack, f->copy, STACK);
  if (f->copy != NULL && !f->begun) prepare(f); /* makecontext() writes to the stack */
  f->begun = true;
  swapcontext(&home, &f->context);
  if (f->copy != NULL) memcpy(f->copy, f->stack, STACK);
}

static bool are_done(void) {
  bool done = true;
  for (unsigned i = 0; i < FIBERS; i++) done = done && fiber[i].done;
  return done;
}

/* @abandons: some fibers begin anew, inside calls that never return. */
static void take_turns(bool abandons) {
  for (unsigned i = 0; i < FIBERS; i++) prepare(&fiber[i]);
  while (!are_done()) {
    struct fiber *f = &fiber[chance(FIBERS)];
    if (f->done) continue;
    if (abandons && chance(50) == 0) prepare(f);
    resume(f);
    if (chance(4) == 0) {
      calls++;
      lib_nothing();
      returned++;
    }
  }
}

struct run {
  enum where where;
  bool abandons;
};

static int run_fibers(void *arg) {
  const struct run *r = arg;
  char inside[FIBERS * STACK] __attribute__((aligned(64)));
  char *outside = malloc((FIBERS + 1) * STACK);
  memset(fiber, 0, sizeof fiber);
  for (unsigned i = 0; i < FIBERS; i++) {
    fiber[i].stack = (r->where == INSIDE ? inside : outside) + (r->where == COPIED ? FIBERS : i) * STACK;
    fiber[i].copy = r->where == COPIED ? outside + i * STACK : NULL;
  }
  take_turns(r->abandons);
  free(outside);
  return 7;
}

static uint64_t unreturned_in_profile;
static int add_unreturned(const struct pml_profile_node *node, void *arg) {
  (void)arg;
  unreturned_in_profile += node->running;
  return 0;
}

/* Below a recorded call that is open meanwhile. In a profile the calls that did not return are exactly the abandoned
 * ones, though more had their leave before they returned. */
static bool survive(enum where where, bool abandons, const char *what) {
  struct run r = {where, abandons};
  struct pml_profile *profile;
  if (pml_profile_open(&profile) < 0) return false;
  forget();
  (void)call(run_fibers, &r, 8);
  bool is = all_well(what);
  unreturned_in_profile = 0;
  (void)pml_profile_visit(profile, add_unreturned, NULL);
  pml_profile_close(profile);
  printf("# in the profile %llu did not return, in truth %ld\n", (unsigned long long)unreturned_in_profile,
         calls - returned);
  return is && unreturned_in_profile == (uint64_t)(calls - returned);
}

static void fibers(void) {
  bool is = survive(SIDE_BY_SIDE, false, "side by side");
  CHECK(is && leaves == enters && unreturned == 0 && stacks > FIBERS && stacks <= 2 * FIBERS,
        "fibers with stacks side by side: each call returns, and has its leave, on %llu stacks",
        (unsigned long long)stacks);
  CHECK(survive(SIDE_BY_SIDE, true, "abandoned"), "fibers that are abandoned and begun anew on the same stacks");
  CHECK(survive(INSIDE, false, "inside"), "fibers whose stacks are inside a frame of the thread's own");
  CHECK(survive(INSIDE, true, "inside, abandoned"), "and that are abandoned");
  if (!COPIES) return;
  CHECK(survive(COPIED, false, "copied"), "fibers whose stacks are copied from and to the same place");
  CHECK(survive(COPIED, true, "copied, abandoned"), "and that are abandoned");
}

#define TIMES 20

static int arrivals;

static int pauses(void *arg) {
  struct fiber *f = arg;
  give_way(f);
  return 5;
}
static int passes(void *arg) {
  return call(pauses, arg, 6);
}
static void arrives(int which) {
  arrivals += call(passes, &fiber[which], 7) == 7;
  give_way(&fiber[which]);
}

static void returning_often(void) {
  static char stack[STACK], copy[STACK];
  static ucontext_t context;
  struct fiber *f = &fiber[0];
  *f = (struct fiber){.stack = stack};
  forget();
  prepare(f);
  makecontext(&f->context, (void (*)(void))(uintptr_t)arrives, 1, 0);
  resume(f);
  memcpy(copy, stack, STACK);
  context = f->context;
  for (int i = 0; i < TIMES; i++) {
    memcpy(stack, copy, STACK);
    f->context = context;
    resume(f);
  }
  CHECK(all_well("often") && calls == 2 && returned == 2 * TIMES && arrivals == TIMES && leaves == 2,
        "two calls that return %d times each continue at their caller, and have one leave", TIMES);
}

/* ---- preemption ---- */

/*
 * A handler switches to another fiber while an event is being delivered: the consumer does it by a signal, at random,
 * or a timer does it anywhere. Calls on other fibers are recorded meanwhile, or from the first lost one on.
 */
static struct fiber *running; /* NULL: none */
static volatile unsigned preempted;

static void preempt(int sig) {
  (void)sig;
  struct fiber *f = running;
  if (f == NULL) return;
  preempted++;
  running = NULL;
  give_way(f);
}

static uint64_t deliver_fast(void *data, enum pml_stream_kind kind, pml_region_t region) {
  const struct pml_stream_event e = {.region = region};
  have_signal(in_fast);
  (kind == PML_STREAM_ENTER ? on_enter : on_leave)(data, &e);
  return 0;
}
static uint64_t fast_enter(void *data, pml_region_t region, uint64_t ticks) {
  (void)ticks;
  return deliver_fast(data, PML_STREAM_ENTER, region);
}
static uint64_t fast_leave(void *data, pml_region_t region, uint64_t ticks) {
  (void)ticks;
  return deliver_fast(data, PML_STREAM_LEAVE, region);
}
SPARING_FAST(enter_sparing, fast_enter);
SPARING_FAST(leave_sparing, fast_leave);

static int deeper(void *arg) {
  int depth = *(int *)arg + 1;
  return depth < DEPTH ? call(deeper, &depth, 100 + depth + 2) - 2 : 100 + depth;
}

static void work_preempted(int which) {
  struct fiber *f = &fiber[which];
  for (; f->round < ROUNDS; f->round++) {
    int depth = 0;
    (void)call(deeper, &depth, 102);
  }
  f->done = true;
  running = NULL;
  give_way(f);
}

static void take_preempted_turns(void) {
  static char stack[FIBERS][STACK];
  memset(fiber, 0, sizeof fiber);
  for (unsigned i = 0; i < FIBERS; i++) {
    fiber[i].stack = stack[i];
    prepare(&fiber[i]);
    makecontext(&fiber[i].context, (void (*)(void))(uintptr_t)work_preempted, 1, (int)i);
  }
  while (!are_done()) {
    struct fiber *f = &fiber[chance(FIBERS)];
    if (f->done) continue;
    running = f;
    swapcontext(&home, &f->context);
  }
}

static uint64_t nested(void) {
  struct pml_intercept_stats s;
  pml_intercept_stats(&s);
  return s.nested;
}

/* Calls beside the first suspended delivery are lost, and no others. */
static void *preempting_held(void *what) {
  uint64_t before = nested();
  sigset_t mask;
  forget();
  preempted = 0;
  in_all = true;
  take_preempted_turns();
  CHECK(wrong == 0 && disorder == 0 && nested() > before && enters + nested() - before == (uint64_t)calls &&
            leaves <= enters && preempted > FIBERS,
        "%s that handlers suspend %u times: calls beside the first one are lost, and counted (%llu of %ld)",
        (const char *)what, preempted, (unsigned long long)(nested() - before), calls);
  before = nested();
  forget();
  take_preempted_turns();
  in_all = false;
  CHECK(all_well(what) && leaves == enters && nested() == before, "from then on each call is recorded");
  bool claimed = pml__call_claim(PML__CALL_HERE), held = false;
  if (claimed) held = sigprocmask(SIG_BLOCK, NULL, &mask) == 0 && sigismember(&mask, SIGUSR2) == 1;
  if (claimed) pml__call_release();
  CHECK(held && sigprocmask(SIG_BLOCK, NULL, &mask) == 0 && sigismember(&mask, SIGUSR2) == 0,
        "a wrapper's call also blocks signals while it uses the lists");
  return NULL;
}

/* On another thread, because a thread that was preempted remains one. */
static void preempting_on_thread(const char *what) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, preempting_held, (void *)(uintptr_t)what) == 0 && pthread_join(thread, NULL) == 0,
        "a thread for %s", what);
}

static struct pml_stream_metrics *metrics;
static PML_THREAD_LOCAL uint64_t value;

static int read_value(void *set, uint64_t *to) {
  (void)set;
  ++*to;
  return 0;
}
SPARING(pml__stream_read, read_sparing, read_value, int, (void *set, uint64_t *to), set, to);

static void read_counts(enum pml_stream_kind kind, struct pml_stream_event *e) {
  if (kind == PML_STREAM_ENTER && value++ == 0) pml__stream_count_by(read_sparing, NULL, metrics, &value);
  e->metrics = metrics;
  e->values = &value;
}
static void nothing(void) {}

static void preempting_counted(void) {
  static const char *const name = "value";
  static const struct pml__call_counting counting = {read_counts, nothing, nothing, true};
  CHECK(pml_stream_metrics(&name, 1, &metrics) == 0 && pml__call_count(&counting) == 0, "calls have counts");
  preempting_on_thread("deliveries with counts");
}

/* @c: consumer @id, which delivers with all registers saved. */
static void preempting(struct pml_stream_consumer c, uint64_t id) {
  const struct sigaction sa = {.sa_handler = preempt};
  const struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
  sigaction(SIGUSR2, &sa, NULL);
  sigaction(SIGVTALRM, &sa, NULL);
  preempting_on_thread("deliveries with all registers");
  uint64_t before = nested();
  c.fast[PML_STREAM_ENTER] = enter_sparing;
  c.fast[PML_STREAM_LEAVE] = leave_sparing;
  pml_stream_remove(id);
  CHECK(pml_stream_add(&c, &id) == 0, "a consumer in general registers");
  forget();
  preempted = 0;
  in_fast = true;
  take_preempted_turns();
  in_fast = false;
  CHECK(all_well("preempted in deliveries") && leaves == enters && nested() == before && preempted > FIBERS,
        "fibers that handlers suspend %u times in deliveries: each call is recorded", preempted);
  forget();
  setitimer(ITIMER_VIRTUAL, &often, NULL);
  for (int i = 0; i < 20; i++) take_preempted_turns();
  setitimer(ITIMER_VIRTUAL, &never, NULL);
  CHECK(wrong == 0 && disorder == 0 && enters + nested() - before == (uint64_t)calls && leaves <= enters,
        "and anywhere: each call is recorded, or is said to be lost (%llu of %ld)",
        (unsigned long long)(nested() - before), calls);
  forget();
  before = nested();
  take_preempted_turns();
  CHECK(all_well("after preemption") && leaves == enters && nested() == before,
        "after that nothing is taken for suspended any more");
  preempting_counted();
}

static void *saved[LIB_SAVED];
static volatile long jumps, sum;

static int jumps_on(void *arg) {
  (void)arg;
  sum += jumps;
  lib_load(saved, (int)jumps + 1);
}

/* A function that returns twice, under a name that no list has. */
static void returning_twice(void) {
  struct pml_intercept_stats s;
  forget();
  jumps = lib_save(saved);
  if (jumps < 1000) lib_back(jumps_on, NULL);
  pml_intercept_stats(&s);
  CHECK(jumps == 1000 && sum == 999 * 1000 / 2 && enters == 1 + 2 * 1000 && disorder == 0,
        "a library's own setjmp returns %ld times through a recorded call", jumps);
}

static void *resume_all(void *arg) {
  (void)arg;
  for (unsigned i = 0; i < FIBERS; i++)
    while (!fiber[i].done) resume(&fiber[i]);
  return NULL;
}

/* A fiber that switches on one thread continues on another, which has no data of its calls. */
static void moving(void) {
  static char stack[FIBERS][STACK];
  pthread_t thread;
  forget();
  memset(fiber, 0, sizeof fiber);
  for (unsigned i = 0; i < FIBERS; i++) {
    fiber[i].stack = stack[i];
    prepare(&fiber[i]);
    for (unsigned k = chance(9); k > 0; k--) resume(&fiber[i]);
  }
  bool created = pthread_create(&thread, NULL, resume_all, NULL) == 0 && pthread_join(thread, NULL) == 0;
  CHECK(created && are_done() && all_well("moved"), "calls that began on one thread return on another");
}

static jmp_buf out;
static int leaps(void *arg) {
  if (chance(2) == 0) longjmp(out, 1);
  return *(int *)arg;
}
static int goes_down(void *arg) {
  int *n = arg;
  return (*n)-- > 0 ? lib_back(goes_down, n) : lib_back(leaps, n);
}

static void leaping(void) {
  static volatile int left, kept;
  forget();
  for (volatile int i = 0; i < 1000; i++) {
    int n = (int)chance(6);
    if (setjmp(out) != 0)
      left = left + 1;
    else
      kept = kept + (lib_back(goes_down, &n) > 0);
  }
  lib_nothing();
  CHECK(left + kept == 1000 && left > 0 && kept > 0 && leaves == enters && disorder == 0,
        "%d calls were left by longjmp, %d returned, and each has its leave", left, kept);
}

static volatile sig_atomic_t handled;

static void handler(int sig) {
  (void)sig;
  handled++;
  for (int i = 0; i < 3; i++) lib_nothing();
}
static int raises(void *arg) {
  (void)arg;
  raise(SIGUSR1);
  return 1;
}
static int raises_twice(void *arg) {
  raise(SIGUSR1);
  return call(raises, arg, 2);
}

/* The handler's stack is an array of this frame, above calls that are open. */
static void on_alternate_stack(void) {
  char alternate[STACK] __attribute__((aligned(64)));
  const stack_t on = {.ss_sp = alternate, .ss_size = sizeof alternate}, off = {.ss_flags = SS_DISABLE};
  const struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
  sigaltstack(&on, NULL);
  sigaction(SIGUSR1, &sa, NULL);
  forget();
  for (int i = 0; i < 1000; i++) (void)call(raises_twice, NULL, 3);
  sigaltstack(&off, NULL);
  CHECK(wrong == 0 && handled == 2000 && enters == (uint64_t)calls + 3 * 2000 && leaves == enters && unreturned == 0 &&
            disorder == 0,
        "handlers on a stack inside a frame of the thread's own, inside calls");
}

int main(void) {
#ifdef __SANITIZE_THREAD__
  SKIP("ThreadSanitizer does not follow stacks that are switched by hand");
  return check_done();
#endif
  const struct pml_stream_consumer c = {
      .thread_begin = begin, .thread_end = end, .event = {on_enter, on_leave, NULL}, .arg = &enters};
  const struct pml_intercept_options o = {.lib = "libintercept"};
  uint64_t id;
  CHECK(pml_stream_add(&c, &id) == 0, "a consumer of enters and leaves");
  int err = pml_intercept_install(&o);
  CHECK(err == 0, "interception is installed%s%s", err < 0 ? ": " : "", err < 0 ? pml_error_detail(err) : "");
  fibers();
  if (COPIES) returning_often();
  CHECK_EACH(returning_twice, moving, leaping, on_alternate_stack);
  preempting(c, id);
  return check_done();
}
