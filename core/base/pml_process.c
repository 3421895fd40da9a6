/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/pml_process.c - memory that is cleared in forked children, and fork handlers. */
#include "base/pml_process.h"

#include "base/pml_file.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#define FIRST_BYTES ((size_t)1 << 16) /* so few that they lie among libraries, for which a child has page tables */
#define RANGE_BYTES ((size_t)1 << 20) /* of addresses; unused pages have no memory */
#define RANGES 64u
#define WATCHERS 32u
#define LINE 64u

static struct {
  char *at;    /* where the next block goes */
  size_t left; /* behind it; 0 before @at changes */
  char *range[RANGES];
  uint32_t nranges;
} memory; /* under its lock, which is the first block */

/* Cleared in children: a child that waits touches no more of our memory than this. */
struct self {
  uint64_t number; /* see pml__process_number */
  uint32_t told;   /* what the fork handler told this process */
  uint32_t touched;
  pid_t pid, parent; /* 0: not known */
  int32_t *birth;    /* where a child that waits has stored its number */
};

/* Without memory for the first range there is one lock for all and a number that no fork changes. */
static struct {
  struct self self;
  pthread_mutex_t memory, look;
} no_memory = {{.number = 1}, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

uint64_t *pml__process_number = &no_memory.self.number;
static struct self *self = &no_memory.self;
static pthread_mutex_t *memory_lock = &no_memory.memory, *look_lock = &no_memory.look;

enum when { AT_ONCE, AT_BIRTH, AT_USE, AT_LAST };
enum told { UNTOLD, TOLD, WAITS };       /* WAITS: the fork handler has left all but births to the first use */
static uint64_t last_number;             /* under look_lock */
static void (*watcher[WATCHERS])(void);  /* atomic; the first free one ends them */
static uint32_t when[WATCHERS];          /* atomic: of each watcher; until it is stored, at once */
static void (*before[WATCHERS])(void);   /* the same before forks */
static int32_t *(*before_waiting)(void); /* atomic; NULL: no child waits */
static PML_THREAD_LOCAL bool looking __attribute__((tls_model("initial-exec")));
static PML_THREAD_LOCAL struct {
  pid_t by;       /* 0: not known */
  int32_t *birth; /* NULL: the child does not wait */
} fork_under_way __attribute__((tls_model("initial-exec")));

/* ---- memory ---- */

static size_t bytes_of(uint32_t range) {
  return range == 0 ? FIRST_BYTES : RANGE_BYTES;
}

static bool more_memory(void) {
  if (memory.nranges == RANGES) return false;
  size_t bytes = bytes_of(memory.nranges);
  void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return false;
  (void)madvise(at, bytes, MADV_WIPEONFORK); /* refused: see in_child() */
  memory.left = 0;
  memory.range[memory.nranges] = at;
  __atomic_store_n(&memory.nranges, memory.nranges + 1, __ATOMIC_RELEASE);
  __atomic_store_n(&memory.at, at, __ATOMIC_RELEASE);
  __atomic_store_n(&memory.left, bytes, __ATOMIC_RELEASE);
  return true;
}

/* A fork between the two stores loses the block. */
static void *take(size_t bytes) {
  if (memory.left < bytes && !more_memory()) return NULL;
  char *block = memory.at;
  __atomic_store_n(&memory.left, memory.left - bytes, __ATOMIC_RELEASE);
  __atomic_store_n(&memory.at, block + bytes, __ATOMIC_RELEASE);
  return block;
}

PML__IN_CHILD static void before_fork(void);
PML__IN_CHILD static void in_child(void);

static void prepare(void) {
  struct {
    _Alignas(LINE) pthread_mutex_t memory;
    _Alignas(LINE) pthread_mutex_t look;
    _Alignas(LINE) struct self self;
  } *first = take(sizeof *first);
  if (first == NULL) return;
  first->self.pid = getpid();
  last_number = first->self.number = 1;
  memory_lock = &first->memory;
  look_lock = &first->look;
  self = &first->self;
  __atomic_store_n(&pml__process_number, &first->self.number, __ATOMIC_RELEASE);
  (void)pthread_atfork(before_fork, NULL, in_child);
}

static void prepare_once(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, prepare);
}

__attribute__((constructor)) static void at_load(void) {
  prepare_once();
}

void *pml__process_memory(size_t bytes) {
  int saved = errno;
  bytes = (bytes + LINE - 1) / LINE * LINE;
  if (bytes > RANGE_BYTES) return NULL;
  prepare_once();
  int cancel = pml__cancel_hold();
  pthread_mutex_lock(memory_lock);
  void *block = take(bytes);
  pthread_mutex_unlock(memory_lock);
  pml__cancel_again(cancel);
  errno = saved;
  return block;
}

/* ---- locks ---- */

static pthread_mutex_t *make_mutex(struct pml__lock *l) {
  static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER; /* by all that there is no memory for */
  pthread_mutex_t *fresh = pml__process_memory(sizeof *fresh), *there = NULL;
  if (fresh == NULL) fresh = &shared;
  return __atomic_compare_exchange_n(&l->mutex, &there, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ? fresh
                                                                                                          : there;
}

static pthread_mutex_t *mutex_of(struct pml__lock *l) {
  pthread_mutex_t *mutex = __atomic_load_n(&l->mutex, __ATOMIC_ACQUIRE);
  return PML_LIKELY(mutex != NULL) ? mutex : make_mutex(l);
}

static void take_lock(struct pml__lock *l, int cancel) {
  pthread_mutex_lock(mutex_of(l));
  l->cancel = cancel;
  l->holder = __atomic_load_n(pml__process_number, __ATOMIC_RELAXED);
}

void pml__lock_take(struct pml__lock *l) {
  take_lock(l, pml__cancel_hold());
}

void pml__lock_take_open(struct pml__lock *l) {
  take_lock(l, pml__cancel_hold_open());
}

bool pml__lock_try(struct pml__lock *l) {
  int cancel = pml__cancel_hold();
  if (pthread_mutex_trylock(mutex_of(l)) != 0) {
    pml__cancel_again(cancel);
    return false;
  }
  l->cancel = cancel;
  l->holder = __atomic_load_n(pml__process_number, __ATOMIC_RELAXED);
  return true;
}

void pml__lock_leave(struct pml__lock *l) {
  int cancel = l->cancel;
  l->holder = 0;
  pthread_mutex_unlock(mutex_of(l));
  pml__cancel_again(cancel);
}

int pml__lock_wait(struct pml__lock *l, pthread_cond_t *cond, const struct timespec *until) {
  int cancel = l->cancel;
  l->holder = 0;
  int rc = pthread_cond_timedwait(cond, mutex_of(l), until);
  l->cancel = cancel;
  l->holder = __atomic_load_n(pml__process_number, __ATOMIC_RELAXED);
  return rc;
}

/* ---- children ---- */

static int add_watch(void (**list)(void), void (*watch)(void), enum when at) {
  prepare_once();
  for (uint32_t i = 0; i < WATCHERS; i++) {
    void (*there)(void) = NULL;
    bool is_new = __atomic_compare_exchange_n(&list[i], &there, watch, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    if (is_new && at != AT_ONCE) __atomic_store_n(&when[i], at, __ATOMIC_RELEASE);
    if (is_new || there == watch) return 0;
  }
  return -ENOMEM;
}

static void call_before(void) {
  for (uint32_t i = 0; i < WATCHERS && __atomic_load_n(&before[i], __ATOMIC_ACQUIRE) != NULL; i++) before[i]();
}

static enum when when_of(uint32_t i) {
  return (enum when)__atomic_load_n(&when[i], __ATOMIC_ACQUIRE);
}

#define WHEN(at) (UINT32_C(1) << (at))
PML__IN_CHILD static void call_watchers(uint32_t whens) {
  for (uint32_t i = 0; i < WATCHERS && __atomic_load_n(&watcher[i], __ATOMIC_ACQUIRE) != NULL; i++)
    if ((WHEN(when_of(i)) & whens) != 0) watcher[i]();
}

int pml__process_watch(void (*watch)(void)) {
  return add_watch(watcher, watch, AT_ONCE);
}

int pml__process_watch_use(void (*watch)(void)) {
  return add_watch(watcher, watch, AT_USE);
}

int pml__process_watch_birth(void (*watch)(void)) {
  return add_watch(watcher, watch, AT_BIRTH);
}

int pml__process_watch_last(void (*watch)(void)) {
  return add_watch(watcher, watch, AT_LAST);
}

int pml__process_watch_before(void (*watch)(void)) {
  return add_watch(before, watch, AT_ONCE);
}

bool pml__process_was_told(void) {
  return self->told != UNTOLD;
}

void pml__process_wait(int32_t *(*wait)(void)) {
  __atomic_store_n(&before_waiting, wait, __ATOMIC_RELEASE);
}

PML__IN_CHILD int32_t *pml__process_birth(void) {
  return self->told == WAITS ? self->birth : NULL;
}

/* The watchers, and functions that they call, may call this again. A child that waited stored its number at its birth,
 * because here the caller may be a child of vfork() that runs in its parent's memory. */
__attribute__((cold)) void pml__process_begins(void) {
  if (looking) return;
  int saved = errno, cancel = pml__cancel_hold();
  looking = true;
  pthread_mutex_lock(look_lock);
  if (__atomic_load_n(pml__process_number, __ATOMIC_RELAXED) == 0) {
    if (self->told == UNTOLD) self->pid = getpid();
    call_watchers(WHEN(AT_ONCE) | WHEN(AT_USE) | (self->told == WAITS ? 0 : WHEN(AT_BIRTH)));
    call_watchers(WHEN(AT_LAST));
    self->told = UNTOLD;
    __atomic_store_n(pml__process_number, ++last_number, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(look_lock);
  looking = false;
  pml__cancel_again(cancel);
  errno = saved;
}

static bool all_can_wait(void) {
  uint32_t i = 0;
  while (i < WATCHERS && __atomic_load_n(&watcher[i], __ATOMIC_ACQUIRE) != NULL && when_of(i) != AT_ONCE) i++;
  return i == WATCHERS || __atomic_load_n(&watcher[i], __ATOMIC_ACQUIRE) == NULL;
}

static void before_fork(void) {
  int32_t *(*wait)(void) = __atomic_load_n(&before_waiting, __ATOMIC_ACQUIRE);
  call_before();
  bool may = wait != NULL && __atomic_load_n(&before[0], __ATOMIC_ACQUIRE) == NULL && all_can_wait();
  fork_under_way.by = self->pid;
  fork_under_way.birth = may ? wait() : NULL;
}

/* Another handler may have led here before. Clear the state that the kernel has not cleared. */
static void in_child(void) {
  __atomic_store_n(&self->touched, 1, __ATOMIC_RELAXED); /* one fault: of a page that is read first there are two */
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  pid_t now = getpid();
  bool cleared = self->number == 0;
  if (!cleared && self->pid != now) {
    for (uint32_t i = 0; i < memory.nranges; i++) (void)madvise(memory.range[i], bytes_of(i), MADV_DONTNEED);
    cleared = true;
  }
  looking = false;
  if (!cleared) return;
  self->parent = fork_under_way.by;
  self->pid = now;
  self->birth = fork_under_way.birth;
  if (self->birth == NULL) {
    self->told = TOLD;
    pml__process_look();
  } else {
    self->told = WAITS;
    call_watchers(WHEN(AT_BIRTH));
    __atomic_store_n(self->birth, (int32_t)now, __ATOMIC_RELEASE);
  }
}

pid_t pml__process_pid(void) {
  pml__process_look();
  return self->pid != 0 ? self->pid : getpid();
}

pid_t pml__process_parent(void) {
  pml__process_look();
  return self->parent != 0 ? self->parent : getppid();
}

/* ---- what it is ---- */

void pml__process_command(char *command, size_t size) {
  ssize_t got = pml__file_peek("/proc/self/cmdline", command, size);
  size_t n = got > 0 ? (size_t)got : 0;
  while (n > 0 && command[n - 1] == '\0') n--;
  command[n] = '\0';
  for (size_t i = 0; i < n; i++)
    if (command[i] == '\0') command[i] = ' ';
}
