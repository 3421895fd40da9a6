/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/pml_eventset_kernel.c - the kernel's events in an event set: reading and description. */
#include "source/kernel/pml_eventset_kernel.h"

#include "source/kernel/pml_eventset_kernel_read.h"

#include <math.h>
#include <string.h>

/* Every member by its page; -EAGAIN when any of them needs the kernel. @restarts: in restartable sections. */
static inline __attribute__((always_inline)) int read_pages(const struct pml__kernel_group *g, uint64_t *words,
                                                            bool times, bool restarts) {
  const volatile struct perf_event_mmap_page **page = g->page, **end = page + g->n;
  uint64_t *value = words + g->values;
  struct pml_reading r;
  int again = 0;
  if (times) { /* members are scheduled together: one's times are everyone's */
    int tries = pml__rdpmc(*page++, &r, true, restarts);
    if (PML_UNLIKELY(tries == 0)) return -EAGAIN;
    again = tries - 1;
    *value++ = r.raw;
    words[g->offset + PML__WORD_ENABLED] = r.enabled_ns;
    words[g->offset + PML__WORD_RUNNING] = r.running_ns;
  }
  for (; page < end; page++) {
    int tries = pml__rdpmc(*page, &r, false, restarts);
    if (PML_UNLIKELY(tries == 0)) return -EAGAIN;
    *value++ = r.raw;
    again += tries - 1;
  }
  return again;
}

static inline __attribute__((always_inline)) int snapshot_groups(const struct pml__kernel_backend *k, uint64_t *words,
                                                                 bool times, bool restarts) {
  bool owner = k->owner == pml_thread_id();
  const struct pml__kernel_group *g = k->group, *end = g + k->ngroups;
  int again = 0;
  for (; g < end; g++) {
    int rc = g->paged && owner ? read_pages(g, words, times, restarts) : -EAGAIN;
    if (rc == -EAGAIN) rc = pml__kernel_read_block(g, words + g->offset);
    if (PML_UNLIKELY(rc < 0)) return rc;
    again += rc;
  }
  return again;
}

static int snapshot_kernel(struct pml__backend *backend, uint64_t *words, bool times) {
  return snapshot_groups((const struct pml__kernel_backend *)backend, words, times, false);
}

/* Where cores differ in kind. */
static int snapshot_restartable(struct pml__backend *backend, uint64_t *words, bool times) {
  return snapshot_groups((const struct pml__kernel_backend *)backend, words, times, true);
}

/* Snapshot of a single group without pages, whose block begins at 0. */
static int snapshot_block(struct pml__backend *backend, uint64_t *words, bool times) {
  (void)times;
  return pml__kernel_read_block(((const struct pml__kernel_backend *)backend)->group, words);
}

static int read_kernel(struct pml_eventset *s, uint64_t *values) {
  int rc = snapshot_kernel(s->backend, s->now, false);
  if (PML_LIKELY(rc >= 0)) pml__eventset_differences(s, values);
  return rc;
}

static int read_restartable(struct pml_eventset *s, uint64_t *values) {
  int rc = snapshot_restartable(s->backend, s->now, false);
  if (PML_LIKELY(rc >= 0)) pml__eventset_differences(s, values);
  return rc;
}

static __attribute__((noinline)) int read_again(struct pml_eventset *s, uint64_t *values, int tried) {
  bool restarts = ((const struct pml__kernel_backend *)s->backend)->restarts;
  int rc = restarts ? read_restartable(s, values) : read_kernel(s, values);
  return rc < 0 ? rc : rc + tried;
}

static int read_paged(struct pml_eventset *s, uint64_t *values) {
  return pml__kernel_read_pages(s, values, false, read_again);
}

/* Where cores differ in kind. */
static int read_paged_restartable(struct pml_eventset *s, uint64_t *values) {
  return pml__kernel_read_pages(s, values, true, read_again);
}

static int read_simple(struct pml_eventset *s, uint64_t *values) {
  int rc = pml__kernel_read_block(s->group, s->now);
  if (PML_LIKELY(rc >= 0)) pml__eventset_differences(s, values);
  return rc;
}

/* The other parts of an event. */
static void difference(const struct pml__backend *backend, uint64_t *values) {
  const uint64_t *now = pml__backend_now(backend), *base = pml__backend_base(backend);
  const struct pml__kernel_backend *k = (const struct pml__kernel_backend *)backend;
  for (uint32_t i = 0; i < k->nextra; i++) {
    uint32_t word = k->extra[i].word;
    values[k->extra[i].event] += now[word] - base[word];
  }
}

/* All are in one group that has pages, and nothing else is in the set: its first event is the group's first member. */
static bool is_paged_alone(const struct pml__kernel_backend *k) {
  bool alone = k->ngroups == 1 && k->group[0].paged && k->nextra == 0 && k->backend.next == NULL;
  for (uint32_t i = 0; alone && i < k->backend.n; i++) alone = k->backend.word[i] == k->group[0].values + i;
  return alone;
}

void pml__kernel_choose_read(struct pml__kernel_backend *k) {
  bool paged = false;
  for (uint32_t i = 0; i < k->ngroups; i++) paged |= k->group[i].paged;
  bool block = k->ngroups == 1 && !paged, simple = block && k->backend.next == NULL, alone = is_paged_alone(k);
  k->backend.set->simple = simple;
  k->backend.set->group = &k->group[0];
  k->backend.read = simple ? read_simple : alone ? read_paged : read_kernel;
  k->backend.plain_read = alone ? pml__kernel_plain_read : NULL;
  k->backend.snapshot = block ? snapshot_block : snapshot_kernel;
  if (paged && k->restarts) {
    k->backend.read = alone ? read_paged_restartable : read_restartable;
    k->backend.plain_read = alone ? pml__kernel_plain_read_restartable : NULL;
    k->backend.snapshot = snapshot_restartable;
  }
  k->backend.difference = k->nextra > 0 ? difference : NULL;
}

/* ---- what they are ---- */

static struct pml_reading part_reading(const struct pml__kernel_backend *k, const struct pml__kernel_part *p) {
  const uint64_t *now = pml__backend_now(&k->backend), *base = pml__backend_base(&k->backend);
  uint32_t block = k->group[p->group].offset;
  return (struct pml_reading){
      .raw = now[p->word] - base[p->word],
      .enabled_ns = now[block + PML__WORD_ENABLED] - base[block + PML__WORD_ENABLED],
      .running_ns = now[block + PML__WORD_RUNNING] - base[block + PML__WORD_RUNNING],
  };
}

/* Places count at the same time, each for its cpus: each is scaled separately, and a place that never ran adds 0. */
static struct pml_reading side_by_side(const struct pml_reading *part, uint32_t n, double *scaled) {
  struct pml_reading sum = {0};
  *scaled = 0;
  for (uint32_t i = 0; i < n; i++) {
    sum.raw += part[i].raw;
    sum.enabled_ns += part[i].enabled_ns;
    sum.running_ns += part[i].running_ns;
    if (part[i].running_ns > 0) *scaled += pml_reading_scaled(&part[i]);
  }
  return sum;
}

struct pml_reading pml__reading_of_turns(const struct pml_reading *part, uint32_t n) {
  struct pml_reading sum = part[0];
  for (uint32_t i = 1; i < n; i++) {
    sum.raw += part[i].raw;
    sum.running_ns += part[i].running_ns;
    if (part[i].enabled_ns < sum.enabled_ns) sum.enabled_ns = part[i].enabled_ns;
  }
  if (sum.running_ns > sum.enabled_ns) sum.enabled_ns = sum.running_ns;
  return sum;
}

void pml__kernel_reading(const struct pml__backend *backend, uint32_t k, struct pml_reading *out, double *scaled) {
  const struct pml__kernel_backend *kernel = (const struct pml__kernel_backend *)backend;
  const struct pml__kernel_event *e = &kernel->event[k];
  struct pml_reading part[PML_EVENT_PARTS_MAX] = {{0}};
  for (uint32_t p = 0; p < e->nparts; p++) part[p] = part_reading(kernel, &e->part[p]);
  if (e->places) {
    *out = side_by_side(part, e->nparts, scaled);
    return;
  }
  *out = pml__reading_of_turns(part, e->nparts);
  *scaled = pml_reading_scaled(out);
}

int pml__kernel_part(const struct pml__backend *backend, uint32_t k, unsigned p, const char **pmu,
                     struct pml_reading *out) {
  const struct pml__kernel_backend *kernel = (const struct pml__kernel_backend *)backend;
  const struct pml__kernel_event *e = &kernel->event[k];
  if (p >= e->nparts) return -ENOENT;
  *pmu = e->part[p].pmu;
  *out = part_reading(kernel, &e->part[p]);
  return 0;
}

/* A group takes the page path only as a whole: one member that cannot decides for all. */
static enum pml_path part_path(const struct pml__kernel_backend *k, const struct pml__kernel_part *part,
                               const char **why) {
  if (pml_counter_path(&k->counter[part->counter], why) == PML_PATH_READ) return PML_PATH_READ;
  const struct pml__kernel_group *g = &k->group[part->group];
  bool now = g->paged;
  for (uint32_t i = 0; now && i < g->n; i++) now = g->page[i]->index != 0;
  if (now) return PML_PATH_PAGE;
  *why = "another event of its group needs read(2), which reads the whole group";
  return PML_PATH_READ;
}

/* The kernel writes scales as decimals, of any number of digits: 6.103515625e-5 is 2^-14. */
static void find_power(double scale, struct pml_eventset_event *info) {
  double two = round(log2(scale)), ten = round(log10(scale));
  info->binary = fabs(exp2(two) / scale - 1) < 1e-8;
  if (info->binary)
    info->exponent = (int64_t)two;
  else if (fabs(pow(10, ten) / scale - 1) < 1e-8)
    info->exponent = (int64_t)ten;
  if (info->exponent == 0) info->binary = false;
}

void pml__kernel_describe(const struct pml__backend *backend, uint32_t k, struct pml_eventset_event *info) {
  const struct pml__kernel_backend *kernel = (const struct pml__kernel_backend *)backend;
  const struct pml__kernel_event *e = &kernel->event[k];
  info->nparts = e->nparts;
  for (uint32_t p = 0; p < e->nparts && info->path == PML_PATH_PAGE; p++)
    info->path = part_path(kernel, &e->part[p], &info->why);
  if (info->scale > 0 && info->scale != 1) find_power(info->scale, info);
}
