/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/compiler/runtime/pml_count.c - runtime of programs compiled with counts: per-thread counters.
 *
 * Cells are in lanes. A thread takes a free one at its first counted function and gives it back at its end, with what
 * it counted: the next thread adds to that, so that sums are never moved, and nothing is lost wherever a process ends.
 *
 * The first counted function may be in a signal handler: a lane is taken by system calls and atomic instructions alone
 * (and by pthread_setspecific(), which in glibc only stores, if the process had fewer than 32 keys before ours).
 *
 * A child of fork() has counts of its own, and so has one of _Fork(), clone() or syscall(): see pml_count_fork.c. One
 * of vfork() counts for its parent, which waits. One that a program's own system call instruction made has counts of
 * its own from where it first comes by here: a thread begins to count, or a module. What it does before is added to its
 * parent's file, where some of both may be lost; if it ends before, it says nothing.
 *
 * No lock is held while a child is made: another library's handler may wait for a thread that wants it.
 */
#include "source/compiler/pml_count_runtime.h"
#include "source/compiler/runtime/pml_count_private.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define LIBPMLUA "libpmlua.so.0"

EXPORT _Thread_local uint64_t *pml_count_self __attribute__((tls_model("initial-exec")));
static _Thread_local struct {
  uint32_t lane; /* its own; 0: none yet, or that which is shared */
  uint32_t rounds;
  int ended;
  uint64_t *at_fork; /* its cells as they were, while it makes a child; NULL: they are not needed, or no memory */
} self __attribute__((tls_model("initial-exec")));

static struct pml_count_area *area;     /* atomic: NULL until it is mapped */
static int preparing;                   /* atomic */
static uint32_t users[PML_COUNT_LANES]; /* atomic: the thread, and holders of its cells; 0: free */
static uint32_t lowest = 1;             /* atomic: no lane below it is free, or so it was */
static pthread_key_t key;
static uint64_t spare[PML_COUNT_CELLS]; /* used without memory; never read */

/*
 * What is this process's alone. The kernel clears it in children (MADV_WIPEONFORK, or else a handler does): there the
 * lock is open, even if another thread of the parent held it. Each store under it leaves the modules as they may be.
 */
struct process {
  pthread_mutex_t lock; /* modules */
  pid_t pid;            /* atomic; 0: a child that has not come by here */
};
static struct process without_memory = {.lock = PTHREAD_MUTEX_INITIALIZER}, *process = &without_memory;

static const struct pml_count_module *counting[PML_COUNT_ROWS]; /* the first of them: where they are, not what */
static size_t ncounting;                                        /* atomic: they come behind the last one */
static const void *newest;                                      /* the object that the last of them is in */

static uint64_t *hold(void);
static void release(uint64_t *cells);
static void others(char *to, size_t room);
EXPORT struct pml_count_runtime pml_count_runtime = {
    .abi = PML_COUNT_ABI, .hold = hold, .release = release, .others = others};

/* --- lanes --- */

static void let_go(uint32_t lane) {
  if (lane == 0 || __atomic_sub_fetch(&users[lane], 1, __ATOMIC_ACQ_REL) > 0) return;
  uint32_t low = __atomic_load_n(&lowest, __ATOMIC_RELAXED);
  while (lane < low && !__atomic_compare_exchange_n(&lowest, &low, lane, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

static bool claim(uint32_t lane) {
  uint32_t unused = 0;
  return __atomic_load_n(&users[lane], __ATOMIC_RELAXED) == 0 &&
         __atomic_compare_exchange_n(&users[lane], &unused, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* The first free lane, or 0. Of two threads that try a lane one gets it, so the search ends. */
static uint32_t take(struct pml_count_area *a) {
  for (uint32_t lane = __atomic_load_n(&lowest, __ATOMIC_RELAXED); lane < PML_COUNT_LANES; lane++) {
    if (!claim(lane)) continue;
    if (!pml__count_reach(a, lane)) {
      __atomic_store_n(&users[lane], 0, __ATOMIC_RELEASE);
      return 0;
    }
    __atomic_store_n(&lowest, lane + 1, __ATOMIC_RELAXED);
    uint32_t n = __atomic_load_n(&a->header.lanes, __ATOMIC_RELAXED);
    while (n <= lane &&
           !__atomic_compare_exchange_n(&a->header.lanes, &n, lane + 1, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
    return lane;
  }
  return 0;
}

/*
 * Destructors of other keys may count: the lane is kept for as long as they run. The last round of them is left to
 * those that end what the others stand on, such as a sanitizer.
 */
static void thread_ends(void *unused) {
  if (++self.rounds < PTHREAD_DESTRUCTOR_ITERATIONS - 1 && pthread_setspecific(key, unused) == 0) return;
  uint32_t lane = self.lane;
  self.ended = 1;
  self.lane = 0;
  pml_count_self = NULL;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  let_go(lane);
}

/* --- the process --- */

/* What is mapped from a file is counted in by other processes, too: the child goes on from what this thread had. */
void pml__count_before_fork(void) {
  if (self.lane == 0 || self.at_fork != NULL || !pml__count_in_file()) return;
  int saved = errno;
  void *copy = mmap(NULL, sizeof area->lane[0], PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy != MAP_FAILED) self.at_fork = memcpy(copy, area->lane[self.lane], sizeof area->lane[0]);
  errno = saved;
}

void pml__count_after_fork(void) {
  int saved = errno;
  if (self.at_fork != NULL) (void)munmap(self.at_fork, sizeof area->lane[0]);
  self.at_fork = NULL;
  errno = saved;
}

/* Of several threads of the child, the first one. */
void pml__count_look(void) {
  struct pml_count_area *a = __atomic_load_n(&area, __ATOMIC_ACQUIRE);
  pid_t unused = 0;
  if (a == NULL || __atomic_load_n(&process->pid, __ATOMIC_RELAXED) != 0) return;
  int saved = errno;
  if (__atomic_compare_exchange_n(&process->pid, &unused, getpid(), false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
    pml__count_renew(a, self.lane, self.at_fork);
  errno = saved;
}

/* Where the kernel does not clear it, the child finds its parent's number. */
static void in_child(void) {
  if (process->pid != getpid()) memset(process, 0, sizeof *process);
  pml__count_look();
  pml__count_after_fork();
}

static void watch_forks(void) {
  void *own = mmap(NULL, sizeof *process, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (own != MAP_FAILED) {
    (void)madvise(own, sizeof *process, MADV_WIPEONFORK);
    process = own;
  }
  process->pid = getpid();
  (void)pthread_atfork(pml__count_before_fork, pml__count_after_fork, in_child);
}

/* While another thread prepares, or in a handler that interrupted it, the answer is that there is nothing yet. */
static struct pml_count_area *prepared(void) {
  struct pml_count_area *a = __atomic_load_n(&area, __ATOMIC_ACQUIRE);
  if (a != NULL || __atomic_exchange_n(&preparing, 1, __ATOMIC_ACQ_REL) != 0) return a;
  a = pml__count_map();
  if (a == NULL) {
    pml__count_say("out of memory: nothing is counted");
    return NULL;
  }
  (void)pthread_key_create(&key, thread_ends);
  watch_forks();
  pml_count_runtime.area = a;
  __atomic_store_n(&area, a, __ATOMIC_RELEASE);
  return a;
}

static uint64_t *begin(struct pml_count_area *a) {
  uint32_t lane = self.ended ? 0 : take(a);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  if (pml_count_self != NULL) { /* a handler was first */
    let_go(lane);
    return pml_count_self;
  }
  self.lane = lane;
  pml_count_self = a->lane[lane] + PML_COUNT_ORIGIN;
  if (!self.ended) __atomic_add_fetch(&a->header.threads, 1, __ATOMIC_RELAXED);
  if (lane == 0) __atomic_add_fetch(&a->header.sharing, 1, __ATOMIC_RELAXED);
  if (lane > 0) (void)pthread_setspecific(key, &users[lane]);
  return pml_count_self;
}

EXPORT uint64_t *pml_count_begin(void) {
  if (pml_count_self != NULL) return pml_count_self;
  int saved = errno;
  pml__count_look();
  struct pml_count_area *a = prepared();
  uint64_t *cells = a != NULL ? begin(a) : spare + PML_COUNT_ORIGIN;
  errno = saved;
  return cells;
}

static uint64_t *hold(void) {
  pml__count_look();
  (void)pml_count_begin();
  if (self.lane == 0) return NULL;
  __atomic_add_fetch(&users[self.lane], 1, __ATOMIC_RELAXED);
  return area->lane[self.lane];
}

static void release(uint64_t *cells) {
  if (cells != NULL) let_go((uint32_t)((uintptr_t)(cells - area->lane[0]) / PML_COUNT_CELLS));
}

/* --- modules --- */

/* With more modules than are known by place, an object that counts could be taken for one that does not. */
static void others(char *to, size_t room) {
  size_t n = __atomic_load_n(&ncounting, __ATOMIC_ACQUIRE);
  to[0] = '\0';
  if (n < PML_COUNT_ROWS) pml__count_others(counting, n, to, room);
}

/* libpmlua may be loaded by anything, or come later: then it finds us. With the lock held. */
static void attach(void) {
  int (*to)(const struct pml_count_runtime *);
  void *found = dlsym(RTLD_DEFAULT, "pml_count_attach");
  void *library = found == NULL ? dlopen(LIBPMLUA, RTLD_LAZY | RTLD_NOLOAD) : NULL;
  if (library != NULL) found = dlsym(library, "pml_count_attach");
  if (found != NULL) {
    memcpy(&to, &found, sizeof to);
    (void)to(&pml_count_runtime);
  }
  if (library != NULL) (void)dlclose(library);
}

static void name_row(struct pml_count_header *h, struct pml_count_row *row, const struct pml_count_module *m) {
  const char *name = m->name != NULL ? m->name : "";
  size_t n = strlen(name);
  const char *end = n < PML_COUNT_NAME ? name : name + n - (PML_COUNT_NAME - 1);
  for (uint64_t i = 0; i < h->modules && i < PML_COUNT_ROWS; i++)
    if (row[i].stage == m->stage && strcmp(row[i].name, end) == 0) return; /* loaded again */
  uint64_t i = h->modules;
  if (i < PML_COUNT_ROWS) { /* before it is counted: a child may find it half done */
    memcpy(row[i].name, end, strlen(end) + 1);
    row[i].stage = m->stage;
    row[i].uncounted = m->uncounted;
  }
  h->uncounted += m->uncounted;
  __atomic_store_n(&h->modules, i + 1, __ATOMIC_RELEASE);
}

static void add_module(struct pml_count_area *a, const struct pml_count_module *m) {
  struct pml_count_header *h = &a->header;
  if (m->abi != PML_COUNT_ABI || m->stage > PML_COUNT_FINAL) {
    h->refused++;
    pml__count_say("%.200s was compiled for counts of another pmlua (%u, this is %u): what it counts is wrong; "
                   "compile it again",
                   m->name != NULL ? m->name : "a module", m->abi, PML_COUNT_ABI);
    return;
  }
  __atomic_or_fetch(&h->stages, UINT64_C(1) << m->stage, __ATOMIC_RELAXED);
  for (unsigned w = 0; w < PML_COUNT_CELLS / 64; w++) __atomic_or_fetch(&h->used[w], m->used[w], __ATOMIC_RELEASE);
  name_row(h, a->row, m);
  if (ncounting == PML_COUNT_ROWS) return;
  counting[ncounting] = m;
  __atomic_store_n(&ncounting, ncounting + 1, __ATOMIC_RELEASE);
}

/* Once for each object: it, or those that were loaded with it, may be all that is known when the process is killed. */
static void look_round(struct pml_count_area *a, const struct pml_count_module *m) {
  Dl_info in;
  if (dladdr(m, &in) == 0 || in.dli_fbase == newest) return;
  newest = in.dli_fbase;
  others(a->header.others, PML_COUNT_OTHERS);
}

EXPORT void pml_count_module_begin(const struct pml_count_module *m) {
  struct pml_count_area *a = prepared();
  if (a == NULL || m == NULL) return;
  pml__count_look();
  pthread_mutex_lock(&process->lock);
  add_module(a, m);
  look_round(a, m);
  pthread_mutex_unlock(&process->lock);
  attach();
}

/* What it said of itself was copied, and what it counted is in the cells. */
EXPORT void pml_count_module_end(const struct pml_count_module *m) {
  (void)m;
}

__attribute__((constructor)) static void at_load(void) {
  if (prepared() != NULL) attach();
}

__attribute__((destructor)) static void at_exit(void) {
  struct pml_count_area *a = __atomic_load_n(&area, __ATOMIC_ACQUIRE);
  if (a == NULL || pml__count_head(a)->pid != getpid()) return; /* in a child without an area of its own: it runs on */
  pml__count_end(a);
  others(a->header.others, PML_COUNT_OTHERS);
  if (pml__count_wants_report()) pml__count_report(a);
}
