/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/pml_group.c - events that are scheduled and read together. */
#include "source/kernel/pml_group.h"

#include "base/pml_error.h"
#include "base/pml_thread.h"
#include "source/kernel/pml_counter_private.h"
#include "source/kernel/pml_rdpmc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define CACHE_LINE 64u

static size_t words_of(size_t n) {
  return n == 1 ? 3 : PML__WORD_GROUP_VALUES + n;
}

static int allocate(struct pml_group *g, size_t n) {
  size_t bytes = (words_of(n) * sizeof(uint64_t) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
  g->member = calloc(n, sizeof *g->member);
  g->buffer = aligned_alloc(CACHE_LINE, bytes);
  if (g->member != NULL && g->buffer != NULL) return 0;
  return pml_fail(-ENOMEM, "group of %zu events: out of memory", n);
}

int pml_group_open(struct pml_group *g, const struct pml_event *const *ev, const unsigned *part, size_t n,
                   const struct pml_target *target, unsigned flags, size_t *which) {
  *g = (struct pml_group){0};
  if (which != NULL) *which = 0;
  if (n == 0) return pml_fail(-EINVAL, "a group of no events");
  if (n > PML__GROUP_MAX)
    return pml_fail(PML_ETOOMANY, "a group of %zu events; at most %u are possible", n, PML__GROUP_MAX);

  int rc = allocate(g, n);
  if (rc < 0) goto fail;
  unsigned leading = flags | PML_OPEN_DISABLED | (n > 1 ? PML__OPEN_GROUP : 0);
  for (; g->n < n; g->n++) {
    size_t i = g->n;
    const struct pml_counter *leader = i > 0 ? &g->member[0] : NULL;
    if (which != NULL) *which = i;
    rc = pml_counter_open(&g->member[i], ev[i], part != NULL ? part[i] : 0, target, leader, i > 0 ? flags : leading);
    if (rc < 0) goto fail;
  }
  if (flags & PML_OPEN_DISABLED) return 0;
  if (ioctl(g->member[0].fd, PERF_EVENT_IOC_ENABLE, 0) == 0) return 0;
  rc = pml_fail(-errno, "%s: cannot enable its group: %s", ev[0]->name, strerror(errno));
fail:
  pml_group_close(g);
  return rc;
}

void pml_group_close(struct pml_group *g) {
  while (g->n > 0) pml_counter_close(&g->member[--g->n]);
  free(g->member);
  free(g->buffer);
  *g = (struct pml_group){0};
}

/* Every member by its page; -EAGAIN when any of them needs the kernel. */
static int read_pages(const struct pml_group *g, struct pml_reading *out) {
  uint64_t self = pml_thread_id();
  int again = 0;
  for (const struct pml_counter *c = g->member, *end = c + g->n; c < end; c++, out++) {
    int tries = pml__counter_read_page(c, self, out);
    if (tries == 0) return -EAGAIN;
    again += tries - 1;
  }
  return again;
}

int pml_group_read(struct pml_group *g, struct pml_reading *out) {
  if (PML_UNLIKELY(g->n == 0)) return PML_ECLOSED;
  int again = read_pages(g, out);
  if (again >= 0) return again;

  size_t bytes = words_of(g->n) * sizeof(uint64_t);
  uint64_t *b = g->buffer;
  ssize_t got = read(g->member[0].fd, b, bytes);
  if (PML_UNLIKELY(got != (ssize_t)bytes)) return got < 0 ? -errno : -EIO;
  const uint64_t *value = b + (g->n == 1 ? PML__WORD_SINGLE_VALUE : PML__WORD_GROUP_VALUES);
  for (size_t i = 0; i < g->n; i++)
    out[i] =
        (struct pml_reading){.raw = value[i], .enabled_ns = b[PML__WORD_ENABLED], .running_ns = b[PML__WORD_RUNNING]};
  return 0;
}
