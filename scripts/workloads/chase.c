/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/workloads/chase.c - the latency of loads that depend on each other, in a working set of a given size.
 *
 * Each slot holds the address of the next one, in one random cycle through all slots, so that no prefetcher can guess
 * it. Slots are `stride` bytes apart. The site `chase` takes ticks for `loads` loads, after the whole cycle was walked
 * once.
 */
#include "workload.h"

#include <stdint.h>
#include <sys/mman.h>

enum { BYTES, STRIDE, LOADS, PAGES };

#define HUGE_BYTES                                                                                                     \
  ((size_t)2 << 20) /* the alignment that transparent huge pages want; harmless where they are larger */

struct area {
  char *map, *base;
  size_t mapped, stride, slots;
};

static inline void **slot_of(const struct area *a, size_t i) {
  return (void **)(void *)(a->base + i * a->stride);
}

static int area_open(struct pml_workload_run *r, struct area *a, size_t bytes) {
  size_t align = HUGE_BYTES;
  int huge = strcmp(r->text[PAGES], "huge") == 0;
  if (!huge && strcmp(r->text[PAGES], "small") != 0)
    return workload_fail(r, -EINVAL, "option pages is %.40s, it must be small or huge", r->text[PAGES]);
  a->mapped = (bytes + align - 1) / align * align + align;
  a->map = mmap(NULL, a->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (a->map == MAP_FAILED) return workload_out_of_memory(r, (double)a->mapped);
  a->base = a->map + (align - (uintptr_t)a->map % align) % align;
  a->slots = bytes / a->stride;
  /* A kernel without transparent huge pages refuses both, and then all pages are small. */
  if (madvise(a->map, a->mapped, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) != 0 && huge) {
    int err = -errno;
    munmap(a->map, a->mapped);
    return workload_fail(r, err, "the kernel refuses huge pages: %s", pml_error_text(err));
  }
  return 0;
}

/* Bytes of the area that lie in huge pages, by the kernel's own account; -1 where it gives none. */
static double huge_bytes(const struct area *a) {
  char line[512];
  double kib = -1;
  uintptr_t first = 0, end = 0;
  FILE *f = fopen("/proc/self/smaps", "re");
  if (!f) return -1;
  while (fgets(line, sizeof line, f)) {
    unsigned long long from, to;
    unsigned long n;
    if (sscanf(line, "%llx-%llx ", &from, &to) == 2) first = (uintptr_t)from, end = (uintptr_t)to;
    if (first <= (uintptr_t)a->base && (uintptr_t)a->base < end && sscanf(line, "AnonHugePages: %lu kB", &n) == 1)
      kib = (double)n;
  }
  fclose(f);
  return kib < 0 ? -1 : kib * 1024;
}

/* splitmix64, S. Vigna (2015) */
static uint64_t random_next(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

/* Sattolo's shuffle: every order it makes is one cycle. Each slot points to itself first. */
static int link_slots(struct pml_workload_run *r, const struct area *a) {
  uint64_t state = a->slots;
  for (size_t i = 0; i < a->slots; i++) *slot_of(a, i) = slot_of(a, i);
  for (size_t i = a->slots - 1; i > 0; i--) {
    size_t k = (size_t)(random_next(&state) % i);
    void *kept = *slot_of(a, i);
    *slot_of(a, i) = *slot_of(a, k);
    *slot_of(a, k) = kept;
    if ((i & 0xffff) == 0 && workload_stopped(r, 1)) return -EINTR;
  }
  return 0;
}

static void **walk(void **p, size_t loads) {
  for (; loads >= 8; loads -= 8) {
    p = (void **)*p, p = (void **)*p, p = (void **)*p, p = (void **)*p;
    p = (void **)*p, p = (void **)*p, p = (void **)*p, p = (void **)*p;
  }
  for (; loads > 0; loads--) p = (void **)*p;
  __asm__ volatile("" : "+r"(p)); /* the walk is wanted */
  return p;
}

/* Slots of the cycle that the first one is on. */
static size_t cycle_length(void **first) {
  size_t n = 1;
  for (void **p = (void **)*first; p != first; p = (void **)*p) n++;
  return n;
}

static int chase(struct pml_workload_run *r, const struct area *a, size_t loads) {
  struct pml_samples *s = r->probe[0].samples;
  void **p = slot_of(a, 0);
  int err = link_slots(r, a);
  if (err) return err;
  workload_result(r, "cycle", "slots", (double)cycle_length(p));
  workload_result(r, "huge_bytes", "B", huge_bytes(a));
  while (s->n < s->capacity && !err) {
    uint64_t begin = pml_clock_ticks_ordered();
    p = walk(p, loads);
    s->value[s->n++] = pml_clock_ticks_ordered() - begin;
    err = workload_stopped(r, 1);
  }
  return err;
}

static int run(struct pml_workload_run *r) {
  struct area a = {0};
  size_t bytes = 0, loads = 0;
  pml_region_t region;
  int err = workload_size(r, STRIDE, "stride", sizeof(void *), 1 << 24, &a.stride);
  if (!err) err = workload_size(r, BYTES, "bytes", 2 * (double)a.stride, 1e13, &bytes);
  if (!err) err = workload_size(r, LOADS, "loads", 1, 1e9, &loads);
  if (err) return err;
  if (a.stride == 0 || a.stride % sizeof(void *) != 0) {
    workload_fail(r, -EINVAL, "option stride is %zu, it must be a multiple of %zu", a.stride, sizeof(void *));
    return -EINVAL;
  }
  err = workload_region(r, "chase", &region);
  if (!err) err = workload_stopped(r, 1);
  if (!err) err = area_open(r, &a, bytes);
  if (err) return err;
  uint64_t enter = pml_clock_ticks();
  err = chase(r, &a, loads);
  workload_phase(r, region, enter, pml_clock_ticks());
  munmap(a.map, a.mapped);
  return err ? workload_fail(r, err, "interrupted") : 0;
}

const struct pml_workload pml_workload = {
    .abi = PML_WORKLOAD_ABI,
    .name = "chase",
    .help = "loads that depend on each other, along a random cycle through a working set",
    .site = {"chase"},
    .option = {[BYTES] = {"bytes", "of the working set", 32768, NULL},
               [STRIDE] = {"stride", "bytes from one slot to the next", 64, NULL},
               [LOADS] = {"loads", "of a sample", 4096, NULL},
               [PAGES] = {"pages", "small or huge", 0, "small"}},
    .run = run,
};
