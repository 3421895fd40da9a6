/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/arch/pml_known.c - loops with known event counts, in portable C. */
#include "adapter/arch/pml_known.h"

#include "base/pml_error.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define LINE_BYTES 128 /* two lines of 64 bytes: some processors fetch both */
#define CACHE_LEAST ((size_t)16 << 20)
#define CACHE_MOST ((size_t)128 << 20)
#define SLEEP_NS 100000

void pml__known_chain(uint64_t n);
void pml__known_copy(uint64_t n);
void pml__known_flops(uint64_t n);
void pml__known_random(uint64_t n);

/* Pages of the kernel's smallest size, none of them there yet; NULL without memory. */
static char *map(size_t bytes) {
  char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return NULL;
  (void)madvise(at, bytes, MADV_NOHUGEPAGE);
  return at;
}

static int touch(uint64_t n) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char *at = n <= SIZE_MAX / page ? map(n * page) : NULL;
  if (at == NULL) return -ENOMEM;
  for (volatile char *p = at, *end = at + n * page; p < end; p += page) *p = 1;
  (void)munmap(at, n * page);
  return 0;
}

static uint64_t next_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

/* Each line points to the next one; all form one circle in random order (Sattolo 1986). */
static void make_circle(char *at, size_t nlines) {
  uint64_t state = 88172645463325252U;
  for (size_t i = 0; i < nlines; i++) *(void **)(void *)(at + i * LINE_BYTES) = at + i * LINE_BYTES;
  for (size_t i = nlines - 1; i > 0; i--) {
    size_t k = (size_t)(next_random(&state) % i);
    void **a = (void **)(void *)(at + i * LINE_BYTES), **b = (void **)(void *)(at + k * LINE_BYTES), *next = *a;
    *a = *b;
    *b = next;
  }
}

static int walk(uint64_t n) {
  long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  size_t bytes = cache > 0 ? (size_t)cache : CACHE_LEAST;
  bytes = 4 * (bytes < CACHE_LEAST ? CACHE_LEAST : bytes > CACHE_MOST ? CACHE_MOST : bytes);
  char *at = map(bytes);
  if (at == NULL) return -ENOMEM;
  make_circle(at, bytes / LINE_BYTES);
  void *volatile here = at;
  for (uint64_t i = 0; i < n; i++) here = *(void **)here;
  (void)munmap(at, bytes);
  return 0;
}

static int sleep_often(uint64_t n) {
  const struct timespec t = {.tv_nsec = SLEEP_NS};
  for (uint64_t i = 0; i < n; i++) (void)nanosleep(&t, NULL);
  return 0;
}

int pml_known_run(const char *name, uint64_t n) {
  static const struct {
    const char *name;
    void (*plain)(uint64_t n);
    int (*fallible)(uint64_t n);
  } loop[] = {{"chain", pml__known_chain, NULL},   {"copy", pml__known_copy, NULL}, {"flops", pml__known_flops, NULL},
              {"random", pml__known_random, NULL}, {"touch", NULL, touch},          {"walk", NULL, walk},
              {"sleep", NULL, sleep_often}};
  for (size_t i = 0; i < sizeof loop / sizeof *loop; i++) {
    if (strcmp(loop[i].name, name) != 0) continue;
    int err = 0;
    if (n > 0 && loop[i].plain != NULL) loop[i].plain(n);
    if (n > 0 && loop[i].fallible != NULL) err = loop[i].fallible(n);
    return err < 0 ? pml_fail(err, "no memory for the loop '%s'", name) : 0;
  }
  return pml_fail(-EINVAL, "there is no loop '%.50s'; there are chain, copy, flops, random, touch, walk and sleep",
                  name);
}
