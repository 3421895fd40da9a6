/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/pml_intercept.c - installing and removing; thunks and their functions; the doors to dlopen and dlsym. */
#include "adapter/pml_intercept.h"

#include "adapter/arch/pml_arch.h"
#include "adapter/pml_intercept_private.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/*
 * `whole` is held while objects are scanned, which takes the loader's locks. Who may hold those already, as a
 * constructor that calls dlsym() does, only tries it. `table` guards thunks, and no loader is called under it.
 */
static pthread_mutex_t whole = PTHREAD_MUTEX_INITIALIZER, table = PTHREAD_MUTEX_INITIALIZER;
static struct pml_intercept_options chosen;
static struct pml_intercept_stats counts; /* under whole; functions under table */
static unsigned long long seen_adds;      /* atomic: objects that had been loaded at the last scan */

static struct {
  uintptr_t thunks[PML__INTERCEPT_BLOCKS];
  uint32_t n;       /* functions */
  uint32_t *bucket; /* 1 + the function; 0: free */
  uint32_t nbuckets;
  int err;   /* why the last thunk could not be made */
} functions; /* under table */

/* ---- thunks ---- */

static struct pml__intercept_function *function_at(uint32_t i) {
  return &pml__intercept_block[i / PML__INTERCEPT_BLOCK][i % PML__INTERCEPT_BLOCK];
}

static uintptr_t thunk_at(uint32_t i) {
  return pml_arch_thunk(functions.thunks[i / PML__INTERCEPT_BLOCK], i % PML__INTERCEPT_BLOCK);
}

static uint32_t *bucket_of(uintptr_t target, pml_region_t region) {
  uint64_t h = ((uint64_t)target ^ (uint64_t)region << 40) * UINT64_C(0x9e3779b97f4a7c15);
  uint32_t mask = functions.nbuckets - 1, i = (uint32_t)(h >> 32) & mask;
  for (; functions.bucket[i] != 0; i = (i + 1) & mask) {
    const struct pml__intercept_function *f = function_at(functions.bucket[i] - 1);
    if (f->target == target && f->region == region) break;
  }
  return &functions.bucket[i];
}

static bool more_buckets(void) {
  uint32_t old = functions.nbuckets, n = old == 0 ? 1024 : old * 2;
  uint32_t *before = functions.bucket, *bucket = calloc(n, sizeof *bucket);
  if (bucket == NULL) return false;
  functions.bucket = bucket;
  functions.nbuckets = n;
  for (uint32_t i = 0; i < old; i++) {
    if (before[i] == 0) continue;
    const struct pml__intercept_function *f = function_at(before[i] - 1);
    *bucket_of(f->target, f->region) = before[i];
  }
  free(before);
  return true;
}

/* Never writable and executable at a time. */
static int more_thunks(void) {
  uint32_t at = functions.n / PML__INTERCEPT_BLOCK;
  size_t bytes = pml_arch_thunks_bytes(PML__INTERCEPT_BLOCK);
  if (at == PML__INTERCEPT_BLOCKS) return -ENOMEM;
  struct pml__intercept_function *block = calloc(PML__INTERCEPT_BLOCK, sizeof *block);
  if (block == NULL) return -ENOMEM;
  void *code = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (code == MAP_FAILED) {
    free(block);
    return -ENOMEM;
  }
  pml_arch_thunks_write(code, functions.n, PML__INTERCEPT_BLOCK);
  if (mprotect(code, bytes, PROT_READ | PROT_EXEC) != 0) {
    munmap(code, bytes);
    free(block);
    return -EACCES;
  }
  functions.thunks[at] = (uintptr_t)code;
  __atomic_store_n(&pml__intercept_block[at], block, __ATOMIC_RELEASE);
  return 0;
}

static uintptr_t intern(uintptr_t target, pml_region_t region) {
  if ((functions.n + 1) * 2 > functions.nbuckets && !more_buckets()) return 0;
  uint32_t *bucket = bucket_of(target, region);
  if (*bucket == 0) {
    if (functions.n % PML__INTERCEPT_BLOCK == 0 && functions.thunks[functions.n / PML__INTERCEPT_BLOCK] == 0 &&
        (functions.err = more_thunks()) < 0)
      return 0;
    *function_at(functions.n) = (struct pml__intercept_function){target, region};
    *bucket = ++functions.n;
  }
  return thunk_at(*bucket - 1);
}

uintptr_t pml__intercept_thunk(uintptr_t target, const char *name, const char *library) {
  pml_region_t region;
  if (pml_region_intern(name, library, 0, &region) < 0) return 0;
  pthread_mutex_lock(&table);
  uintptr_t thunk = intern(target, region);
  pthread_mutex_unlock(&table);
  return thunk;
}

uintptr_t pml__intercept_target(uintptr_t address) {
  uintptr_t target = 0, step = pml_arch_thunk(0, 1);
  pthread_mutex_lock(&table);
  for (uint32_t b = 0; b * PML__INTERCEPT_BLOCK < functions.n && target == 0; b++) {
    uintptr_t distance = address - functions.thunks[b];
    if (distance < step * PML__INTERCEPT_BLOCK && distance % step == 0)
      target = pml__intercept_block[b][distance / step].target;
  }
  pthread_mutex_unlock(&table);
  return target;
}

/* ---- doors ---- */

/* Their addresses are in the code of stubs.S, which has no other way to them. */
extern void *(*pml__intercept_real_dlopen)(const char *file, int mode);
extern void *(*pml__intercept_real_dlsym)(void *handle, const char *name);
void *(*pml__intercept_real_dlopen)(const char *file, int mode) = dlopen;
void *(*pml__intercept_real_dlsym)(void *handle, const char *name) = dlsym;

bool pml__intercept_takes_dlopen(const char *file, int mode, const void *caller);
bool pml__intercept_takes_dlsym(void *handle, const char *name, const void *caller);
void *pml__intercept_dlopen(const char *file, int mode);
void *pml__intercept_dlsym(void *handle, const char *name);

static int tell_adds(struct dl_phdr_info *info, size_t size, void *arg) {
  (void)size;
  *(unsigned long long *)arg = info->dlpi_adds;
  return 1;
}

static unsigned long long loaded(void) {
  unsigned long long adds = 0;
  dl_iterate_phdr(tell_adds, &adds);
  return adds;
}

static void scan(void) {
  unsigned long long adds = loaded();
  if (pml__intercept_scan(&chosen, &counts) == 0) __atomic_store_n(&seen_adds, adds, __ATOMIC_RELAXED);
}

static bool is_on(void) {
  return __atomic_load_n(&pml__intercept_on, __ATOMIC_ACQUIRE);
}

static void scan_new(void) {
  if (!is_on() || loaded() == __atomic_load_n(&seen_adds, __ATOMIC_RELAXED)) return;
  if (pthread_mutex_trylock(&whole) != 0) return; /* the next dlsym() will */
  if (is_on()) scan();
  pthread_mutex_unlock(&whole);
}

/* Where a bare name is looked for, and what $ORIGIN is, depends on the caller. */
bool pml__intercept_takes_dlopen(const char *file, int mode, const void *caller) {
  (void)mode, (void)caller;
  return file != NULL && strchr(file, '/') != NULL && strchr(file, '$') == NULL;
}

void *pml__intercept_dlopen(const char *file, int mode) {
  void *handle = pml__intercept_real_dlopen(file, mode);
  int saved = errno;
  if (handle != NULL) scan_new();
  errno = saved;
  return handle;
}

/* The others depend on the caller. */
bool pml__intercept_takes_dlsym(void *handle, const char *name, const void *caller) {
  (void)name, (void)caller;
  return handle != RTLD_DEFAULT && handle != RTLD_NEXT;
}

void *pml__intercept_dlsym(void *handle, const char *name) {
  int saved = errno;
  scan_new();
  errno = saved;
  void *found = pml__intercept_real_dlsym(handle, name);
  if (found == NULL || !is_on()) return found;
  found = (void *)pml__intercept_found(&chosen, (uintptr_t)found, name); /* NOLINT(performance-no-int-to-ptr) */
  errno = saved;
  return found;
}

/* ---- life ---- */

static void before_fork(void) {
  pthread_mutex_lock(&table);
}
static void after_fork(void) {
  pthread_mutex_unlock(&table);
}

/* Kept for good: a dlsym() may be reading what was chosen before. */
static struct kept {
  struct kept *next;
  char text[];
} * kept; /* under whole */

static int copy(const char **to, const char *from) {
  *to = NULL;
  if (from == NULL) return 0;
  struct kept *k = kept;
  while (k != NULL && strcmp(k->text, from) != 0) k = k->next;
  if (k == NULL) {
    size_t n = strlen(from) + 1;
    k = malloc(sizeof *k + n);
    if (k == NULL) return -ENOMEM;
    memcpy(k->text, from, n);
    k->next = kept;
    kept = k;
  }
  *to = k->text;
  return 0;
}

static int choose(const struct pml_intercept_options *o) {
  static const struct pml_intercept_options all;
  if (o == NULL) o = &all;
  if (copy(&chosen.lib, o->lib) < 0 || copy(&chosen.sym, o->sym) < 0 || copy(&chosen.but, o->but) < 0)
    return pml_fail(-ENOMEM, "no memory for what to intercept");
  return 0;
}

static int prepare(void) {
  static bool done;
  int err = pml_arch_prepare();
  if (err == 0) err = pml__intercept_calls_prepare();
  if (err < 0 || done) return err;
  (void)pml_clock_init(); /* what it says is of PMLUA_CLOCK; there is a clock in any case */
  (void)pthread_atfork(before_fork, after_fork, after_fork);
  done = true;
  return 0;
}

int pml_intercept_install(const struct pml_intercept_options *o) {
  pthread_mutex_lock(&whole);
  int err = is_on() ? pml_fail(-EALREADY, "calls are intercepted already") : prepare();
  if (err == 0) err = choose(o);
  if (err == 0) {
    __atomic_store_n(&pml__intercept_on, true, __ATOMIC_RELEASE);
    counts.objects = counts.slots = counts.shared = 0;
    functions.err = 0;
    err = pml__intercept_scan(&chosen, &counts);
    __atomic_store_n(&seen_adds, loaded(), __ATOMIC_RELAXED);
    if (err == 0 && functions.err < 0) err = pml_fail(functions.err, "no executable memory for thunks");
    if (err < 0) {
      pml__intercept_restore();
      __atomic_store_n(&pml__intercept_on, false, __ATOMIC_RELEASE);
    }
  }
  pthread_mutex_unlock(&whole);
  return err;
}

void pml_intercept_remove(void) {
  pthread_mutex_lock(&whole);
  if (is_on()) {
    pml__intercept_restore();
    __atomic_store_n(&pml__intercept_on, false, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&whole);
}

void pml_intercept_stats(struct pml_intercept_stats *s) {
  pthread_mutex_lock(&whole);
  *s = counts;
  pthread_mutex_unlock(&whole);
  pthread_mutex_lock(&table);
  s->functions = functions.n;
  pthread_mutex_unlock(&table);
  pml__intercept_calls_stats(s);
}
