/* SPDX-License-Identifier: BSD-3-Clause */
/* scripts/programs/slow_calls.c - requests of which some take longer, for one planted cause. Try: ./slow_calls lock 600
 *
 * A request takes some 80 us. One in twenty, drawn from a fixed sequence, meets
 * the cause and takes at least 1 ms longer. The cause "none" plants nothing. Without an argument: print the causes.
 */
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define CALL __attribute__((noinline, noclone))
#define INLINE static inline __attribute__((always_inline))

enum { EXTRA_US = 1000, PART_US = 20, ONE_IN = 20, PAGES = 512, PAGE = 4096 };

enum cause {
  NONE,
  SIZE,
  LOCK,
  QUEUE,
  FAULTS,
  BRANCH,
  COLLECTOR,
  NEIGHBOUR,
  RETRY,
  INPUT,
  BACKOFF,
  FIRST,
  POLL,
  CAUSES
};
static const char *const names[CAUSES] = {"none",      "size",  "lock",  "queue",   "faults", "branch", "collector",
                                          "neighbour", "retry", "input", "backoff", "first",  "poll"};
static enum cause cause;

INLINE int64_t now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * INT64_C(1000000) + t.tv_nsec / 1000;
}

INLINE void spin(int64_t us) {
  for (int64_t end = now_us() + us; now_us() < end;)
    ;
}

/* ---- another thread ---- */

enum work { NOTHING, HOLD, SIGNAL, UPDATE, SEND, END };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int channel[2], ready;
static enum work wanted; /* the other thread stores NOTHING when the work is done */
static int steps;        /* how often it began or ended some: odd meanwhile */

CALL void update(void) {
  while (__atomic_load_n(&wanted, __ATOMIC_ACQUIRE) == UPDATE)
    ;
}

INLINE void do_work(enum work work) {
  if (work == HOLD) pthread_mutex_lock(&lock);
  __atomic_fetch_add(&steps, 1, __ATOMIC_RELEASE);
  if (work == UPDATE)
    update();
  else
    spin(EXTRA_US);
  if (work == SEND && write(channel[1], "x", 1) != 1) abort();
  if (work == SIGNAL) {
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_cond_signal(&changed);
  }
  if (work == HOLD || work == SIGNAL) pthread_mutex_unlock(&lock);
}

static void *serve(void *arg) {
  for (enum work work; (work = __atomic_load_n(&wanted, __ATOMIC_ACQUIRE)) != END;) {
    struct timespec pause = {0, 20000};
    if (work == NOTHING) {
      nanosleep(&pause, NULL);
      continue;
    }
    do_work(work);
    __atomic_fetch_add(&steps, 1, __ATOMIC_RELEASE);
    __atomic_compare_exchange_n(&wanted, &work, NOTHING, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
  }
  return arg;
}

INLINE void begin(enum work work) {
  int before = __atomic_load_n(&steps, __ATOMIC_RELAXED);
  __atomic_store_n(&wanted, work, __ATOMIC_RELEASE);
  while (__atomic_load_n(&steps, __ATOMIC_ACQUIRE) == before)
    ;
}

INLINE void await_end(void) {
  while (__atomic_load_n(&wanted, __ATOMIC_ACQUIRE) != NOTHING || __atomic_load_n(&steps, __ATOMIC_ACQUIRE) % 2 != 0)
    ;
}

/* ---- a request ---- */

CALL void parse(void) {
  spin(PART_US);
}

CALL void visit(void) {
  spin(4);
}

CALL void fetch(void) {
  spin(PART_US);
}

CALL void rebuild(void) {
  spin(EXTRA_US);
}

CALL void mark(void) {
  spin(4);
}

CALL void collect(void) {
  for (int i = 0; i < EXTRA_US / 4; i++) mark();
}

CALL void answer(void) {
  spin(PART_US);
}

INLINE void touch_pages(void) {
  char *p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) abort();
  for (int i = 0; i < PAGES; i++) p[i * PAGE] = 1;
  spin(EXTRA_US);
  munmap(p, PAGES * PAGE);
}

INLINE void receive(void) {
  char c;
  if (read(channel[0], &c, 1) != 1) abort();
}

/* The causes inside a slow request, except those that repeat a call which every request makes. */
INLINE void meet(void) {
  struct timespec pause = {0, EXTRA_US * 1000};
  switch (cause) {
  case FAULTS:
    touch_pages();
    break;
  case FIRST:
    spin(EXTRA_US);
    break;
  case BRANCH:
    rebuild();
    break;
  case COLLECTOR:
    collect();
    break;
  case NEIGHBOUR:
    spin(EXTRA_US);
    __atomic_store_n(&wanted, NOTHING, __ATOMIC_RELEASE);
    break;
  case BACKOFF:
    nanosleep(&pause, NULL);
    break;
  case POLL:
    poll(NULL, 0, EXTRA_US / 1000);
    break;
  default:
    break;
  }
}

CALL void request(int slow) {
  parse();
  if (slow) meet();
  if (!slow && cause == INPUT && write(channel[1], "x", 1) != 1) abort();
  if (cause == INPUT) receive();
  pthread_mutex_lock(&lock);
  while (slow && cause == QUEUE && !ready) pthread_cond_wait(&changed, &lock);
  ready = 0;
  pthread_mutex_unlock(&lock);
  for (int i = slow && cause == SIZE ? EXTRA_US / 4 : 5; i > 0; i--) visit();
  for (int i = slow && cause == RETRY ? EXTRA_US / PART_US : 1; i > 0; i--) fetch();
  answer();
}

/* Start the work of the other thread during a slow request. */
INLINE void prepare(void) {
  if (cause == LOCK) begin(HOLD);
  if (cause == NEIGHBOUR) begin(UPDATE);
  if (cause == INPUT || cause == QUEUE) __atomic_store_n(&wanted, cause == INPUT ? SEND : SIGNAL, __ATOMIC_RELEASE);
}

/* Twenty requests, of which the first, or one of the others is slow. */
static void *batch(void *arg) {
  static uint32_t random = 1;
  random = random * 1664525 + 1013904223;
  int slow = cause == NONE ? -1 : cause == FIRST ? 0 : (int)(random >> 16) % (ONE_IN - 1) + 1;
  for (int i = 0; i < ONE_IN; i++) {
    if (i == slow) prepare();
    request(i == slow);
    if (i == slow) await_end();
  }
  return arg;
}

int main(int argc, char **argv) {
  for (int i = 0; argc < 3 && i < CAUSES; i++) puts(names[i]);
  if (argc < 3) return 0;
  while (cause < CAUSES && strcmp(names[cause], argv[1]) != 0) cause++;
  if (cause == CAUSES || pipe(channel) != 0) return 1;
  pthread_t other, thread;
  if (pthread_create(&other, NULL, serve, NULL) != 0) return 1;
  for (int i = 0; i < atoi(argv[2]) / ONE_IN; i++) {
    if (cause != FIRST) {
      batch(NULL);
    } else {
      if (pthread_create(&thread, NULL, batch, NULL) != 0) return 1;
      pthread_join(thread, NULL);
    }
  }
  __atomic_store_n(&wanted, END, __ATOMIC_RELEASE);
  pthread_join(other, NULL);
  return 0;
}
