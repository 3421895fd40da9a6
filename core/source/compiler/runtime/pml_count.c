/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/compiler/runtime/pml_count.c - runtime of programs compiled with counts: per-thread counters.
 *
 * Cells are in lanes. A thread takes a free lane at its first counted function and returns it at its end, with its
 * counts: the next thread adds to them, so sums are never moved, and nothing is lost wherever a process ends.
 *
 * The first counted function may be in a signal handler, so a lane is taken by system calls and atomic instructions
 * only (and by pthread_setspecific(), which in glibc only stores, if the process had fewer than 32 keys before).
 *
 * A child of fork(), _Fork(), clone() or syscall() has separate counts: see pml_count_fork.c. A child of vfork() counts
 * for its parent, which waits. A child created by a system call instruction of the program has separate counts from its
 * first call of this runtime: when a thread or a module begins to count. Its earlier counts are added to the parent's
 * file, where some counts of both may be lost; if it ends earlier, it has no file.
 *
 * No lock is held while a child is created, because another library's fork handler may wait for a thread that needs it.
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
#define LIBPMLUA PML__SONAME("libpmlua")

EXPORT _Thread_local uint64_t *pml_count_self __attribute__((tls_model("initial-exec")));
static _Thread_local struct {
  uint32_t lane; /* the thread's lane; 0: none yet, or the shared lane */
  uint32_t rounds;
  int ended;
  uint64_t *at_fork; /* copy of its cells while it creates a child; NULL: not needed, or no memory */
} self __attribute__((tls_model("initial-exec")));

static struct pml_count_area *area;     /* atomic: NULL until it is mapped */
static int preparing;                   /* atomic */
static uint32_t users[PML_COUNT_LANES]; /* atomic: 1 for the thread, and 1 for each holder of its cells; 0: free */
static uint32_t lowest = 1;             /* atomic: a lower bound of free lanes */
static pthread_key_t key;
static uint64_t discarded[PML_COUNT_CELLS]; /* used without memory; never read */

/* Data of this process only. The kernel clears it in children (MADV_WIPEONFORK, otherwise a fork handler does): there
 * the lock is open, even if another thread of the parent held it. The modules are valid after each store under it. */
struct process {
  pthread_mutex_t lock; /* guards the modules */
  pid_t pid;            /* atomic; 0: a child that has not called the runtime yet */
};
static struct process without_memory = {.lock = PTHREAD_MUTEX_INITIALIZER}, *process = &without_memory;

static const struct pml_count_module *counting[PML_COUNT_ROWS]; /* the first modules, by address */
static size_t ncounting;                                        /* atomic: further ones are appended */
static const void *newest;                                      /* the object that contains the last one */

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

/* Returns the first free lane, or 0. If two threads try a lane, one gets it, so the search ends. */
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

/* Destructors of other keys may count, so the lane is kept while they run. The last round of destructors is left to
 * libraries that others depend on, such as a sanitizer. */
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

/*
 * Other processes also count in memory mapped from a file, so the child continues with a copy of this thread's cells.
 */
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

/* The first thread of the child that calls this renews the counts. */
void pml__count_look(void) {
  struct pml_count_area *a = __atomic_load_n(&area, __ATOMIC_ACQUIRE);
  pid_t unused = 0;
  if (a == NULL || __atomic_load_n(&process->pid, __ATOMIC_RELAXED) != 0) return;
  int saved = errno;
  if (__atomic_compare_exchange_n(&process->pid, &unused, getpid(), false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
    pml__count_renew(a, self.lane, self.at_fork);
  errno = saved;
}

/* If the kernel does not clear it, the child finds its parent's pid. */
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

/* Returns NULL while another thread prepares, or in a handler that interrupted it. */
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
  uint64_t *cells = a != NULL ? begin(a) : discarded + PML_COUNT_ORIGIN;
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

/* If there are more modules than stored addresses, a counting object could be reported as not counting. */
static void others(char *to, size_t room) {
  size_t n = __atomic_load_n(&ncounting, __ATOMIC_ACQUIRE);
  to[0] = '\0';
  if (n < PML_COUNT_ROWS) pml__count_others(counting, n, to, room);
}

/* libpmlua may have been loaded by another library, or be loaded later: then it attaches itself. With the lock held. */
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
  if (i < PML_COUNT_ROWS) { /* stored before it is counted, because a child may find it incomplete */
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
    pml__count_say("%.200s was compiled for counts of another pmlua (%u, this is %u): its counts are wrong; "
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

/* Called once for each object, because its data, or data of objects loaded with it, may be the last stored before the
 * process is killed. */
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

/* The module's description was copied, and its counts are in the cells. */
EXPORT void pml_count_module_end(const struct pml_count_module *m) {
  (void)m;
}

__attribute__((constructor)) static void at_load(void) {
  if (prepared() != NULL) attach();
}

__attribute__((destructor)) static void at_exit(void) {
  struct pml_count_area *a = __atomic_load_n(&area, __ATOMIC_ACQUIRE);
  if (a == NULL || pml__count_head(a)->pid != getpid())
    return; /* a child without a separate area, whose parent still runs */
  pml__count_end(a);
  others(a->header.others, PML_COUNT_OTHERS);
  if (pml__count_wants_report()) pml__count_report(a);
}
