/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/preload/memory.c - pmlua's allocator inside a recorded program.
 *
 * pmlua may need memory while the program is inside its allocator and holds the allocator's locks: functions of
 * tcmalloc, jemalloc and others are recorded like any other. So libpmlua.so is linked with --wrap=malloc and its
 * relatives, and after pml__memory_own() it no longer uses the program's memory. Earlier blocks, and blocks that the C
 * library allocated for it (getline(), scandir()), return to the allocator that they came from.
 *
 * The heap consists of ranges of addresses, divided into slabs of 64 KiB. The first range is small and lies among the
 * libraries, where a child has page tables anyway; most processes need no other. Further ranges lie far from the
 * libraries, so that later mappings stay next to those. Each is created when it is needed, and is twice as large as its
 * predecessor, because a program may limit its address space. A slab has blocks of one size, a power of two; larger
 * blocks are whole slabs. Blocks of a slab are not touched before they are first allocated, so a size uses only the
 * pages that it needs. A lock that no fork carries over guards the lists of free blocks and the positions of unused
 * blocks; each change of them is one store.
 */
#include "preload/memory.h"

#include "base/pml_process.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SLAB ((size_t)65536)
#define SLAB_BITS 16u
#define BYTES_MAX ((size_t)4 << 30)
#define FAR ((uintptr_t)64 << 30)
#define SLABS (BYTES_MAX / SLAB)
#define RANGES 16u
#define FIRST_BITS 5u /* the smallest block has 2^FIRST_BITS bytes */
#define SIZES 33u
#define FIRST ((size_t)16)           /* slabs of the first range */
#define SECOND ((size_t)256)         /* slabs of the second range, at least */
#define OPENED_AT_LEAST ((size_t)16) /* slabs opened at once, so that most slabs need no system call */
#define FEW ((size_t)16)             /* slabs; later ones are populated at once, to avoid page faults */

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define REAL(name) __typeof__(name) __real_##name;
PML__MEMORY_LIST(REAL)

struct block {
  struct block *next;
};

static bool own; /* set before a second thread can allocate */
/* Slabs are numbered through all ranges; unused slabs are in the last range. */
static struct range {
  uintptr_t at;
  size_t slabs, n; /* its first slab, and the number of slabs */
} range[RANGES];
static uint32_t nranges; /* atomic */
static struct pml__lock lock;
static PML_THREAD_LOCAL bool inside __attribute__((tls_model("initial-exec")));
static struct block *free_blocks[SIZES]; /* by the logarithm of the block size */
static uintptr_t unused[SIZES];          /* the first block never allocated in the newest slab; 0: none */
static size_t slabs, opened;             /* in use; readable and writable */
static bool sealed;                      /* no system calls from now on */
static uint8_t bits[SLABS];              /* the size of a slab's blocks, of a large block in its first slab */

static struct range *last_range(void) {
  return &range[nranges - 1];
}

/* Add a range of @n slabs, at @there if the addresses are free. Returns false if there is no memory. */
static bool add_range(uintptr_t there, size_t n, int protection) {
  size_t before = nranges > 0 ? last_range()->slabs + last_range()->n : 0;
  if (nranges == RANGES || before + n > SLABS) return false;
  void *hint = (void *)there; /* NOLINT(performance-no-int-to-ptr) */
  char *at = mmap(hint, (n + 1) * SLAB, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return false;
  range[nranges] = (struct range){((uintptr_t)at + SLAB - 1) / SLAB * SLAB, before, n};
  __atomic_store_n(&nranges, nranges + 1, __ATOMIC_RELEASE);
  return true;
}

/* Add a range with room for at least @n slabs. */
static bool more_addresses(size_t n) {
  const struct range *r = last_range();
  uintptr_t there = r->at + (r->n + 1) * SLAB;
  size_t twice = 2 * r->n > SECOND ? 2 * r->n : SECOND;
  if (nranges == 1) there = r->at > FAR ? r->at - FAR : 0;
  return !sealed && ((twice > n && add_range(there, twice, PROT_NONE)) || add_range(there, n, PROT_NONE));
}

void pml__memory_own(void) {
  if (own || !add_range(0, FIRST, PROT_READ | PROT_WRITE)) return;
  opened = FIRST;
  own = true;
}

static const struct range *range_of(const void *block) {
  for (uint32_t i = 0; i < __atomic_load_n(&nranges, __ATOMIC_ACQUIRE); i++)
    if ((uintptr_t)block - range[i].at < range[i].n * SLAB) return &range[i];
  return NULL;
}

static bool is_own(const void *block) {
  return own && range_of(block) != NULL;
}

static unsigned bits_of(const void *block) {
  const struct range *r = range_of(block);
  return bits[r->slabs + (((uintptr_t)block - r->at) >> SLAB_BITS)];
}

/* @i is in the last range. */
static void *slab_at(size_t i) {
  return (void *)(last_range()->at + (i - last_range()->slabs) * SLAB); /* NOLINT(performance-no-int-to-ptr) */
}

/* ---- blocks ---- */

/* Make the slabs before number @n accessible, and some more. */
static bool open_slabs(size_t n) {
  size_t most = last_range()->slabs + last_range()->n, to = opened + OPENED_AT_LEAST;
  if (to < n) to = n;
  if (to > most) to = most;
  if (to < n || sealed) return false;
  if (mprotect(slab_at(opened), (to - opened) * SLAB, PROT_READ | PROT_WRITE) != 0) return false;
  __atomic_store_n(&opened, to, __ATOMIC_RELEASE);
  return true;
}

/* Whether the next @n slabs are in one range and accessible. A fork may happen between any two stores. */
static bool has_slabs(size_t n) {
  if (slabs + n > last_range()->slabs + last_range()->n && !more_addresses(n)) return false;
  size_t first = last_range()->slabs;
  if (opened < first) __atomic_store_n(&opened, first, __ATOMIC_RELEASE);
  if (slabs < first) __atomic_store_n(&slabs, first, __ATOMIC_RELEASE);
  return slabs + n <= opened || open_slabs(slabs + n);
}

void pml__memory_seal(void) {
  if (own) (void)has_slabs(OPENED_AT_LEAST);
  sealed = true;
}

static struct block *new_slabs(unsigned size) {
  size_t n = size > SLAB_BITS ? (size_t)1 << (size - SLAB_BITS) : 1;
  if (!has_slabs(n)) return NULL;
  size_t at = slabs;
  void *block = slab_at(at);
  if (at >= FEW && !sealed) (void)madvise(block, n * SLAB, MADV_POPULATE_WRITE); /* since Linux 5.14 */
  bits[at] = (uint8_t)size;
  __atomic_store_n(&slabs, at + n, __ATOMIC_RELEASE);
  return block;
}

/* Take a block that was never allocated. */
static struct block *more(unsigned size) {
  if (size >= SLAB_BITS) return new_slabs(size);
  uintptr_t at = unused[size] != 0 ? unused[size] : (uintptr_t)new_slabs(size), next = at + ((uintptr_t)1 << size);
  if (at == 0) return NULL;
  __atomic_store_n(&unused[size], next % SLAB != 0 ? next : 0, __ATOMIC_RELEASE);
  return (void *)at; /* NOLINT(performance-no-int-to-ptr) */
}

/* Returns false if a signal handler interrupted its own thread in here, which is possible in a confined process only:
 * then an allocation fails, and a freed block is lost. */
static bool enter(int *held) {
  if (inside) return false;
  *held = pml__cancel_hold();
  inside = true;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  pml__lock_take_open(&lock); /* already held */
  return true;
}
static void leave(int held) {
  pml__lock_leave(&lock);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  inside = false;
  pml__cancel_again(held);
}

/* Sets @fresh if the block was never used before, so that it contains zeros. */
static void *get(size_t bytes, bool *fresh) {
  if (bytes > BYTES_MAX / 2) return NULL;
  unsigned size = bytes <= (size_t)1 << FIRST_BITS ? FIRST_BITS : 64u - (unsigned)__builtin_clzll(bytes - 1);
  int saved = errno, held;
  if (!enter(&held)) return NULL;
  struct block *b = free_blocks[size];
  *fresh = b == NULL;
  if (b != NULL)
    __atomic_store_n(&free_blocks[size], b->next, __ATOMIC_RELEASE);
  else
    b = more(size);
  leave(held);
  errno = b != NULL ? saved : ENOMEM;
  return b;
}

static void put(void *block) {
  struct block *b = block;
  unsigned size = bits_of(block);
  int held;
  if (!enter(&held)) return;
  b->next = free_blocks[size];
  __atomic_store_n(&free_blocks[size], b, __ATOMIC_RELEASE);
  leave(held);
}

/* ---- replacements of the C library's functions ---- */

void *__wrap_malloc(size_t bytes) {
  bool fresh;
  return own ? get(bytes, &fresh) : __real_malloc(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes) {
  size_t all;
  bool fresh;
  if (!own) return __real_calloc(n, bytes);
  if (__builtin_mul_overflow(n, bytes, &all)) return NULL;
  void *block = get(all, &fresh);
  return block != NULL && !fresh ? memset(block, 0, all) : block;
}

/* A block whose size is a power of two is aligned to its size, up to the alignment of slabs. */
void *__wrap_aligned_alloc(size_t line, size_t bytes) {
  return own && line <= SLAB ? __wrap_malloc(bytes > line ? bytes : line) : __real_aligned_alloc(line, bytes);
}

void __wrap_free(void *block) {
  if (!is_own(block))
    __real_free(block);
  else
    put(block);
}

size_t __wrap_malloc_usable_size(void *block) {
  return is_own(block) ? (size_t)1 << bits_of(block) : __real_malloc_usable_size(block);
}

void *__wrap_realloc(void *block, size_t bytes) {
  if (block == NULL) return __wrap_malloc(bytes);
  if (!is_own(block)) return __real_realloc(block, bytes);
  size_t before = (size_t)1 << bits_of(block);
  if (bytes <= before) return block;
  void *larger = __wrap_malloc(bytes);
  if (larger == NULL) return NULL;
  memcpy(larger, block, before);
  put(block);
  return larger;
}

char *__wrap_strndup(const char *text, size_t most) {
  size_t n = strnlen(text, most);
  char *copy = __wrap_malloc(n + 1);
  if (copy == NULL) return NULL;
  copy[n] = '\0';
  return memcpy(copy, text, n);
}

char *__wrap_strdup(const char *text) {
  return __wrap_strndup(text, SIZE_MAX);
}

#define WRAP(name) __wrap_##name,
const struct pml__memory pml__memory = {PML__MEMORY_LIST(WRAP)};
