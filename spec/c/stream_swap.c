/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/stream_swap.c - consumers added and removed while threads are on the shortest paths to them: sections and
 * intercepted calls that deliver events directly from the thread's list, also in signal handlers; later also with
 * counted calls.
 *
 * A consumer that was removed is never called again, and a removal ends though no thread ever rests.
 */
#include "adapter/intercept/pml_intercept.h"
#include "adapter/intercept/pml_intercept_events.h"
#include "check.h"
#include "intercept/sparing.h"

#include <math.h>

#define THREADS 3
#define CONSUMERS 64 /* each is used several times, so that data of an earlier use is detected */
#define SWAPS 4000
#define SECONDS 3

/* One use of a consumer; data of a thread is of one use and has its number. */
struct consumer {
  atomic_uint use; /* even: removed */
  atomic_ulong events, wrong;
};
struct data {
  struct consumer *of;
  unsigned use;
  struct data *next;
};

static struct consumer consumer[CONSUMERS];
static atomic_bool over;
static struct pml_section *section;
static struct data *_Atomic all; /* kept to the end: who is removed is not told of threads */

static void *begin(void *arg, uint64_t thread) {
  (void)thread;
  struct data *d = malloc(sizeof *d);
  if (d == NULL) return NULL;
  *d = (struct data){arg, atomic_load(&((struct consumer *)arg)->use), atomic_load(&all)};
  while (!atomic_compare_exchange_weak(&all, &d->next, d)) {
  }
  return d;
}

static void take(struct data *d) {
  struct consumer *c = d->of;
  if (d->use % 2 == 0 || atomic_load_explicit(&c->use, memory_order_relaxed) != d->use) atomic_fetch_add(&c->wrong, 1);
  atomic_fetch_add_explicit(&c->events, 1, memory_order_relaxed);
}
static void full(void *data, const struct pml_stream_event *e) {
  (void)e;
  take(data);
}
/* Some events it wants as a whole. */
__attribute__((target("general-regs-only"))) static uint64_t plainly(void *data, pml_region_t region, uint64_t ticks) {
  (void)region;
  if (ticks % 31 == 0) return ticks;
  take(data);
  return 0;
}

__attribute__((target("general-regs-only"))) static uint64_t valued(void *data, const struct pml_stream_event *e) {
  return plainly(data, e->region, e->ticks);
}
SPARING_FAST(plainly_sparing, plainly);
SPARING_VALUES(valued_sparing, valued);

static volatile double number = 2;

static void call(void) {
  volatile double logarithm = logb(number);
  (void)logarithm;
}

static void events(void) {
  pml_section_start(section);
  call();
  pml_section_stop(section);
}

/* ThreadSanitizer wants no handler to allocate, as a thread's first event of a consumer may. */
#ifdef __SANITIZE_THREAD__
static bool begin_alarms(timer_t *timer) {
  (void)timer;
  return false;
}
#else
static void handler(int sig) {
  (void)sig;
  call(); /* sections are for no handler that interrupts others of its thread */
}
static bool begin_alarms(timer_t *timer) {
  const struct timespec often = {0, 150000};
  const struct itimerspec it = {often, often};
  struct sigevent how = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
  struct sigaction a = {.sa_handler = handler, .sa_flags = SA_RESTART};
  return sigaction(SIGALRM, &a, NULL) == 0 && timer_create(CLOCK_MONOTONIC, &how, timer) == 0 &&
         timer_settime(*timer, 0, &it, NULL) == 0;
}
#endif

static void mask_alarms(int how) {
  sigset_t alarms;
  sigemptyset(&alarms);
  sigaddset(&alarms, SIGALRM);
  pthread_sigmask(how, &alarms, NULL);
}

/* A section's first start on a thread allocates, and is for no handler. */
static void *raise_all(void *arg) {
  events();
  mask_alarms(SIG_UNBLOCK);
  while (!atomic_load_explicit(&over, memory_order_relaxed))
    for (int i = 0; i < 100; i++) events();
  return arg;
}

static int add(unsigned i, bool is_plain, uint64_t *id) {
  struct pml_stream_consumer c = {.thread_begin = begin, .event = {full, full, NULL}, .arg = &consumer[i]};
  if (is_plain) c.fast[PML_STREAM_ENTER] = c.fast[PML_STREAM_LEAVE] = plainly_sparing;
  if (is_plain && i % 2 == 0) c.fast_values[PML_STREAM_ENTER] = c.fast_values[PML_STREAM_LEAVE] = valued_sparing;
  atomic_fetch_add(&consumer[i].use, 1);
  return pml_stream_add(&c, id);
}

static int drop(unsigned i, uint64_t id) {
  int err = pml_stream_remove(id);
  atomic_fetch_add(&consumer[i].use, 1);
  return err;
}

/* A profile, which frees what threads had. */
static int swap_profile(void) {
  struct pml_profile *p;
  int err = pml_profile_open(&p);
  if (err < 0) return err;
  usleep(200);
  pml_profile_close(p);
  return 0;
}

/* One or two at a time, three of four of them with fast functions; a moment, or as long as a thread's time slice. */
static unsigned swap(int *err) {
  struct timespec from, now;
  clock_gettime(CLOCK_MONOTONIC, &from);
  for (unsigned n = 0;; n++) {
    uint64_t first, second = 0;
    unsigned i = n % (CONSUMERS - 1);
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (n == SWAPS || now.tv_sec - from.tv_sec >= SECONDS) return n;
    if ((*err = add(i, n % 4 != 3, &first)) < 0) return n;
    if (n % 3 == 0 && (*err = add(i + 1, n % 8 != 6, &second)) < 0) return n;
    if (n % 5 != 0) usleep(n % 7 == 0 ? 3000 : 100);
    if ((*err = drop(i, first)) < 0) return n;
    if (second != 0 && (*err = drop(i + 1, second)) < 0) return n;
    if (n % 2 == 0 && (*err = swap_profile()) < 0) return n;
  }
}

/* While no thread rests: from here on calls are handed out with a value. */
static int count(void) {
  static const char *const event[] = {"sde:::SWAP::NUMBER"};
  static int64_t variable;
  struct pml_sde_library *library;
  const struct pml_stream_metrics *metrics;
  int err = pml_sde_library(&library, "SWAP");
  if (err == 0) err = pml_sde_register(library, "NUMBER", PML_SDE_RO, PML_TYPE_INT64, &variable);
  return err < 0 ? err : pml_intercept_count(event, 1, NULL, &metrics);
}

int main(void) {
  const struct pml_intercept_options o = {.lib = "libm.so*", .sym = "logb"};
  pthread_t thread[THREADS];
  timer_t timer;
  int err = 0;
  mask_alarms(SIG_BLOCK); /* for good: this thread allocates */
  CHECK(pml_section_define("swapped", NULL, &section) == 0 && pml_intercept_install(&o) == 0, "a section, and a call");
  for (int i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, raise_all, NULL);
  bool alarmed = begin_alarms(&timer);
  unsigned swaps = swap(&err);
  CHECK(err == 0 && swaps > 0, "consumers come and go while no thread rests%s%s (%u times)", err < 0 ? ": " : "",
        err < 0 ? pml_error_detail(err) : "", swaps);
  err = count();
  swaps = err < 0 ? 0 : swap(&err);
  CHECK(err == 0 && swaps > 0, "and where calls have values%s%s (%u times)", err < 0 ? ": " : "",
        err < 0 ? pml_error_detail(err) : "", swaps);
  if (alarmed) (void)timer_delete(timer);
  atomic_store(&over, true);
  for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
  unsigned long events_of_all = 0, wrong = 0;
  for (int i = 0; i < CONSUMERS; i++) {
    events_of_all += atomic_load(&consumer[i].events);
    wrong += atomic_load(&consumer[i].wrong);
  }
  CHECK(events_of_all > 0, "they have events (%lu)", events_of_all);
  CHECK(wrong == 0, "and none when they are gone, or by what a thread had for them before (%lu)", wrong);
  return check_done();
}
