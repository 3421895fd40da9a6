/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/intercept/pml_intercept_thunk.c - intercepted functions, and their thunks in slots. */
#include "adapter/arch/pml_arch.h"
#include "adapter/intercept/pml_intercept_private.h"
#include "base/pml_error.h"
#include "base/pml_map.h"
#include "base/pml_process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* since Linux 5.14 */
#endif

/* Never held during a call of the loader, because a thread that holds the loader's locks may wait for it. */
static struct pml__lock table;

/* A bucket includes a part of the target's hash, because functions lie far apart: they are read only if it matches. */
struct bucket {
  uint32_t number; /* 1 + the function; 0: free */
  uint32_t mark;
};

static struct {
  uint32_t n;      /* functions */
  uint32_t blocks; /* number of blocks with room for functions */
  uint32_t most;   /* limit of blocks; written before the range */
  struct bucket *bucket;
  uint32_t nbuckets;
  int err;   /* why the last thunk could not be made */
} functions; /* guarded by table */

/* A single range of addresses for all possible thunks, so that one subtraction shows whether an address is a thunk. In
 * each block the functions follow their thunks, on separate pages. */
static uintptr_t range; /* atomic; 0: not reserved yet */

static uintptr_t block_bytes, code_bytes; /* size of a block, and of its thunks; written before the range */

static uintptr_t block_of(uint32_t i) {
  return range + i / PML__CALL_BLOCK * block_bytes;
}

static struct pml__call_function *function_at(uint32_t i) {
  void *first = (void *)(block_of(i) + code_bytes); /* NOLINT(performance-no-int-to-ptr) */
  return (struct pml__call_function *)first + i % PML__CALL_BLOCK;
}

static uintptr_t thunk_at(uint32_t i) {
  return pml_arch_thunk(block_of(i), i % PML__CALL_BLOCK);
}

static uint64_t hash_of(uintptr_t target) {
  return (uint64_t)target * PML__HASH_FACTOR;
}

static uint32_t first_bucket(uint64_t hash, uint32_t nbuckets) {
  return (uint32_t)(hash >> 32) & (nbuckets - 1);
}

/*
 * The bucket of the function, or the free bucket for it. An address may have several names, and may belong to another
 * library later: hashes of names are compared instead of the names, which would take three more reads. Two names have
 * the same hash with probability 2^-32.
 */
static struct bucket *bucket_of(uintptr_t target, const uint32_t *names) {
  uint64_t hash = hash_of(target);
  uint32_t mask = functions.nbuckets - 1, i = first_bucket(hash, functions.nbuckets);
  for (; functions.bucket[i].number != 0; i = (i + 1) & mask) {
    if (functions.bucket[i].mark != (uint32_t)hash || names == NULL) continue;
    const struct pml__call_function *f = function_at(functions.bucket[i].number - 1);
    if (f->target == target && f->names == *names) break;
  }
  return &functions.bucket[i];
}

static void fill(struct bucket *b, uint32_t i) {
  *b = (struct bucket){i + 1, (uint32_t)hash_of(function_at(i)->target)};
}

static bool more_buckets(void) {
  uint32_t n = functions.nbuckets == 0 ? 1024 : functions.nbuckets * 4;
  while (n < 2 * (functions.n + 1)) n *= 4;
  struct bucket *before = functions.bucket, *bucket = calloc(n, sizeof *bucket);
  if (bucket == NULL) return false;
  __atomic_store_n(&functions.bucket, bucket, __ATOMIC_RELAXED);
  __atomic_store_n(&functions.nbuckets, n, __ATOMIC_RELAXED);
  for (uint32_t i = 0; i < functions.n; i++) fill(bucket_of(function_at(i)->target, NULL), i);
  free(before);
  return true;
}

/* Reserves fewer addresses if the program has a limit. */
static void *take_addresses(void) {
  struct rlimit most;
  functions.most = PML__CALL_BLOCKS;
  if (getrlimit(RLIMIT_AS, &most) == 0)
    while (functions.most > 8 && functions.most * block_bytes > most.rlim_cur / 64) functions.most /= 2;
  return mmap(NULL, functions.most * block_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static int reserve(void) {
  if (range != 0) return 0;
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
  code_bytes = (pml_arch_thunks_bytes(PML__CALL_BLOCK) + page) & ~page;
  block_bytes = (code_bytes + PML__CALL_BLOCK * sizeof(struct pml__call_function) + page) & ~page;
  void *at = take_addresses();
  if (at == MAP_FAILED) return -ENOMEM;
  __atomic_store_n(&range, (uintptr_t)at, __ATOMIC_RELEASE);
  return 0;
}

/* Memory is never writable and executable at the same time. */
static int more_thunks(void) {
  if (reserve() < 0 || functions.blocks == functions.most) return -ENOMEM;
  void *code = (void *)block_of(functions.n); /* NOLINT(performance-no-int-to-ptr) */
  if (mprotect(code, block_bytes, PROT_READ | PROT_WRITE) < 0) return -ENOMEM;
  if (functions.n > 0) (void)madvise(code, block_bytes, MADV_POPULATE_WRITE); /* otherwise each page faults */
  pml_arch_thunks_write(code, function_at(functions.n), PML__CALL_BLOCK);
  if (mprotect(code, code_bytes, PROT_READ | PROT_EXEC) < 0) return -EACCES;
  functions.blocks++;
  return 0;
}

static int add(struct bucket *bucket, uintptr_t target, const char *kind, const char *name, const char *library,
               uint64_t hash) {
  pml_region_t region;
  int err = functions.n == functions.blocks * PML__CALL_BLOCK ? more_thunks() : 0;
  if (err < 0) return functions.err = err;
  err = pml__region_intern(kind, name, library, 0, hash, &region);
  if (err < 0) return err;
  *function_at(functions.n) = (struct pml__call_function){target, region, (uint32_t)hash, (uintptr_t)pml__arch_enter};
  __atomic_store_n(&functions.n, functions.n + 1, __ATOMIC_RELEASE);
  fill(bucket, functions.n - 1);
  return 0;
}

/* Most slots lead to a function that has a thunk. The lock of regions is taken inside this one, never the other way
 * round. */
uintptr_t pml__intercept_thunk(uintptr_t target, const char *kind, const char *name, const char *library) {
  uint64_t hash = pml__region_hash(name, library, 0);
  uint32_t names = (uint32_t)hash;
  uintptr_t thunk = 0;
  pml__process_look(); /* no watcher may run under the lock */
  pml__lock_take(&table);
  if ((functions.n + 1) * 2 <= functions.nbuckets || more_buckets()) {
    struct bucket *bucket = bucket_of(target, &names);
    if (bucket->number != 0 || add(bucket, target, kind, name, library, hash) == 0)
      thunk = thunk_at(bucket->number - 1);
  }
  pml__lock_leave(&table);
  return thunk;
}

bool pml__intercept_knows(uintptr_t target) {
  uint64_t hash = hash_of(target);
  bool known = false;
  pml__process_look(); /* as above */
  pml__lock_take(&table);
  uint32_t mask = functions.nbuckets - 1, i = functions.nbuckets > 0 ? first_bucket(hash, functions.nbuckets) : 0;
  for (; functions.nbuckets > 0 && !known && functions.bucket[i].number != 0; i = (i + 1) & mask)
    known = functions.bucket[i].mark == (uint32_t)hash && function_at(functions.bucket[i].number - 1)->target == target;
  pml__lock_leave(&table);
  return known;
}

/* The table may have been replaced: the data is only prefetched, never read. */
void pml__intercept_thunk_ahead(uintptr_t target) {
  const struct bucket *bucket = __atomic_load_n(&functions.bucket, __ATOMIC_RELAXED);
  uint32_t nbuckets = __atomic_load_n(&functions.nbuckets, __ATOMIC_RELAXED);
  if (nbuckets > 0) __builtin_prefetch(bucket + first_bucket(hash_of(target), nbuckets));
}

uintptr_t pml__intercept_target(uintptr_t address) {
  uintptr_t from = __atomic_load_n(&range, __ATOMIC_ACQUIRE);
  if (from == 0 || address - from >= functions.most * block_bytes) return 0;
  uintptr_t step = pml_arch_thunk(0, 1), inside = (address - from) % block_bytes;
  uint32_t i = (uint32_t)((address - from) / block_bytes * PML__CALL_BLOCK + inside / step);
  if (inside % step != 0 || inside >= PML__CALL_BLOCK * step || i >= __atomic_load_n(&functions.n, __ATOMIC_ACQUIRE))
    return 0;
  return function_at(i)->target;
}

/* Relaxed, because a thread may jump to either address. Open calls get their leaves from their return slots. */
bool pml__intercept_thunks_drop(pml_region_t region) {
  uint32_t n = __atomic_load_n(&functions.n, __ATOMIC_ACQUIRE);
  bool any = false;
  for (uint32_t i = 0; i < n; i++) {
    struct pml__call_function *f = function_at(i);
    if (f->region != region) continue;
    __atomic_store_n(&f->enter, f->target, __ATOMIC_RELAXED);
    any = true;
  }
  return any;
}

int pml__intercept_thunks_error(void) {
  pml__lock_take(&table);
  int err = functions.err;
  functions.err = 0;
  pml__lock_leave(&table);
  return err;
}

uint32_t pml__intercept_functions(void) {
  return __atomic_load_n(&functions.n, __ATOMIC_ACQUIRE);
}

/* ---- forks ---- */

/* Functions are published completely; if another thread was adding one, the buckets are rebuilt. */
static void in_child(void) {
  if (!pml__lock_torn(&table)) return;
  functions.bucket = NULL;
  functions.nbuckets = 0;
}

void pml__intercept_thunks_watch_forks(void) {
  (void)pml__process_watch_use(in_child);
}
