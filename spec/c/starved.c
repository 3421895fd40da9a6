/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/starved.c - every allocation of memory or of a file descriptor in the core fails in turn: the result is an
 * error with a detail, no leak and no crash, and the next try works.
 *
 * Slow: every step is retried for each allocation in it.
 *
 * Link: -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc,--wrap=strdup,--wrap=free
 * Link: -Wl,--wrap=mmap,--wrap=munmap,--wrap=fopen,--wrap=scandir,--wrap=newlocale,--wrap=open,--wrap=syscall
 *
 * The linker redirects the calls in the core's objects to the calls below. Allocations within libpfm4, libotf2 and the
 * C library are excluded; fopen, scandir and newlocale represent allocations of the C library for the core.
 */
#include <dirent.h>
#include <locale.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "starved.h"

enum resource { MEMORY, DESCRIPTOR };

static bool armed;
static enum resource short_of;
static bool for_good; /* also every later step fails */
static rlim_t limit;  /* not 0: no step is made to fail, but so many descriptors are all there are */
static unsigned fail_at, taken;
static long live;

static bool fails(enum resource what) {
  if (!armed || what != short_of || limit) return false;
  taken++;
  if (fail_at == 0 || (for_good ? taken < fail_at : taken != fail_at)) return false;
  errno = what == MEMORY ? ENOMEM : EMFILE;
  return true;
}

/* Blocks owned by the core, by address: blocks that a library allocated for the core to free, such as libpfm4's names,
 * are not counted. */
#define BLOCKS (1u << 16)
static void *blocks[BLOCKS];
static char gone; /* its address marks a freed block */

static void **place_of(const void *p, bool is_new) {
  size_t i = (size_t)((uintptr_t)p >> 4) % BLOCKS;
  while (blocks[i] != p && blocks[i] != NULL && !(is_new && blocks[i] == &gone)) i = (i + 1) % BLOCKS;
  return &blocks[i];
}

static void *counted(void *p) {
  if (p == NULL) return NULL;
  *place_of(p, true) = p;
  live++;
  return p;
}

static void uncounted(const void *p) {
  void **place = place_of(p, false);
  if (p == NULL || *place != p) return;
  *place = &gone;
  live--;
}

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_malloc(size_t n) {
  return fails(MEMORY) ? NULL : counted(__real_malloc(n));
}

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size) {
  return fails(MEMORY) ? NULL : counted(__real_calloc(n, size));
}

void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n) {
  if (fails(MEMORY)) return NULL;
  void *moved = __real_realloc(p, n);
  if (moved != NULL) uncounted(p);
  return counted(moved);
}

void *__real_aligned_alloc(size_t alignment, size_t n);
void *__wrap_aligned_alloc(size_t alignment, size_t n);
void *__wrap_aligned_alloc(size_t alignment, size_t n) {
  return fails(MEMORY) ? NULL : counted(__real_aligned_alloc(alignment, n));
}

char *__real_strdup(const char *s);
char *__wrap_strdup(const char *s);
char *__wrap_strdup(const char *s) {
  return fails(MEMORY) ? NULL : counted(__real_strdup(s));
}

void __real_free(void *p);
void __wrap_free(void *p);
void __wrap_free(void *p) {
  uncounted(p);
  __real_free(p);
}

void *__real_mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset) {
  if (fails(MEMORY)) return MAP_FAILED;
  void *p = __real_mmap(at, n, protection, flags, fd, offset);
  if (p != MAP_FAILED) live++;
  return p;
}

int __real_munmap(void *at, size_t n);
int __wrap_munmap(void *at, size_t n);
int __wrap_munmap(void *at, size_t n) {
  live--;
  return __real_munmap(at, n);
}

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode) {
  return fails(MEMORY) || fails(DESCRIPTOR) ? NULL : __real_fopen(path, mode);
}

typedef int entry_filter(const struct dirent *entry);
typedef int entry_order(const struct dirent **a, const struct dirent **b);
int __real_scandir(const char *dir, struct dirent ***names, entry_filter *filter, entry_order *order);
int __wrap_scandir(const char *dir, struct dirent ***names, entry_filter *filter, entry_order *order);
int __wrap_scandir(const char *dir, struct dirent ***names, entry_filter *filter, entry_order *order) {
  if (fails(MEMORY) || fails(DESCRIPTOR)) return -1;
  int n = __real_scandir(dir, names, filter, order);
  if (n >= 0) (void)counted(*names); /* freed by the caller */
  for (int i = 0; i < n; i++) (void)counted((*names)[i]);
  return n;
}

locale_t __real_newlocale(int mask, const char *name, locale_t base);
locale_t __wrap_newlocale(int mask, const char *name, locale_t base);
locale_t __wrap_newlocale(int mask, const char *name, locale_t base) {
  return fails(MEMORY) ? (locale_t)0 : __real_newlocale(mask, name, base);
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...) { /* the core creates no file with open(): no mode */
  return fails(DESCRIPTOR) ? -1 : __real_open(path, flags);
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...) { /* perf_event_open only: five arguments */
  long a[5];
  va_list ap;
  va_start(ap, number);
  for (int i = 0; i < 5; i++) a[i] = va_arg(ap, long);
  va_end(ap);
  if (number == SYS_perf_event_open && fails(DESCRIPTOR)) return -1;
  return __real_syscall(number, a[0], a[1], a[2], a[3], a[4]);
}

static struct rlimit usual;

static void arm(void) {
  armed = true;
  taken = 0;
  if (limit && fail_at) setrlimit(RLIMIT_NOFILE, &(struct rlimit){limit + fail_at - 1, usual.rlim_max});
}
static void disarm(void) {
  armed = false;
  setrlimit(RLIMIT_NOFILE, &usual);
}
static void starve_at(unsigned k) {
  fail_at = k;
}

/* A limit on descriptors counts no steps: a few more than the core ever has open at once. */
static unsigned steps_taken(void) {
  return limit ? 8 : taken;
}
static long memory_in_use(void) {
  return live;
}

static bool is_no_memory(int err) {
  return err == -ENOMEM;
}
static bool is_no_descriptor(int err) {
  return err == -EMFILE;
}

int main(void) {
  getrlimit(RLIMIT_NOFILE, &usual);
  if (!CHECK(starve_prepare(), "a folder for traces")) return check_done();
  starve_all("memory once", is_no_memory);
  for_good = true;
  starve_all("memory for good", is_no_memory);
  for_good = false;
  short_of = DESCRIPTOR;
  starve_all("a descriptor once", is_no_descriptor);
  int free_descriptor = dup(0);
  close(free_descriptor);
  limit = (rlim_t)free_descriptor;
  starve_all("descriptors", is_no_descriptor);
  rmdir(trace_dir);
  cpus_remove();
  return check_done();
}
