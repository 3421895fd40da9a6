/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/base/pml_eventset_private.h - layout of an event set. */
#ifndef PML_EVENTSET_PRIVATE_H
#define PML_EVENTSET_PRIVATE_H

#include "source/base/pml_source.h"

#include <errno.h>
#include <unistd.h>

/*
 * One pass over all backends fills a snapshot: an array of 64-bit words in which each backend has a block, and the last
 * word is the time. Every count is made of the differences between two snapshots: `base`, taken at start, and `now`.
 * The words of an only backend begin at 0.
 */

/* Events of the kernel that are scheduled together. Its block in a snapshot is what read(2) writes. */
struct pml__kernel_group {
  int fd;                                            /* the leader's */
  bool paged;                                        /* every member has a page */
  uint32_t offset;                                   /* of its block, in words of the backend */
  uint32_t values;                                   /* of its first value, in words of the backend */
  uint32_t n;                                        /* members */
  size_t bytes;                                      /* of its block */
  const volatile struct perf_event_mmap_page **page; /* [n] in the backend's page[] */
};

/* Data of an event besides its words; cold. */
struct pml__eventset_info {
  const struct pml__backend *backend;
  uint32_t k; /* among its events */
  char name[PML_EVENT_NAME_MAX];
  char unit[16];
  double scale;
};

struct pml_eventset {
  /*
   * Fields that every read touches. The read functions are chosen when the set is opened, started or stopped, so a read
   * tests no condition that was known before, and a set pays only for the sources that it uses. @snapshot, with times,
   * is for sets that are not simple.
   */
  bool running;
  bool simple;  /* all events are one group of the kernel, read by read(2) */
  bool clocked; /* some event counts the time */
  bool mixed;   /* some event is more than one word's difference */
  int (*read)(struct pml_eventset *s, uint64_t *values);
  int (*read_running)(struct pml_eventset *s, uint64_t *values);
  int (*snapshot)(struct pml_eventset *s, uint64_t *snapshot);
  uint32_t n;
  uint32_t clock_word;
  uint64_t *base, *now;                  /* snapshots, cache-line aligned */
  uint32_t *word;                        /* [n] of each event's value */
  const struct pml__kernel_group *group; /* of a simple set */
  struct pml__backend *backend; /* the first backend; then the first that is read, and the first with a difference */
  struct pml__backend *read_backend, *difference_backend, *add_backend;

  /* Fields that only opening, closing and queries touch. */
  size_t words;
  struct pml__eventset_info *info;
};

/* pml__eventset_open_events - as pml_eventset_open(), for parsed events. */
int pml__eventset_open_events(struct pml_eventset **set, const struct pml_event *ev, size_t n,
                              const struct pml_eventset_options *options);

/* Choose @read and @snapshot for the set's backends: after opening, and when a backend's read function changed. */
void pml__eventset_choose_read(struct pml_eventset *s);

static inline int pml__kernel_read_block(const struct pml__kernel_group *g, uint64_t *block) {
  ssize_t got = read(g->fd, block, g->bytes);
  if (PML_LIKELY(got == (ssize_t)g->bytes)) return 0;
  return got < 0 ? -errno : -EIO;
}

/*
 * pml__eventset_declared - the type of the values of event @i as its definition says, before it has a value. In *@may,
 * or-ed: a value may be absent (pml_value.h); the type may change. May take a lock; not async-signal-safe.
 */
enum { PML__MAY_LACK_VALUE = 1u, PML__MAY_CHANGE_TYPE = 2u };
enum pml_type pml__eventset_declared(const struct pml_eventset *s, size_t i, unsigned *may);

/* Where a backend's words are in the snapshots. */
static inline const uint64_t *pml__backend_now(const struct pml__backend *backend) {
  return backend->set->now + backend->at;
}
static inline const uint64_t *pml__backend_base(const struct pml__backend *backend) {
  return backend->set->base + backend->at;
}

/* Let all backends correct the differences of words. */
void pml__eventset_differences_mixed(const struct pml_eventset *s, uint64_t *values);

static inline void pml__eventset_differences(const struct pml_eventset *s, uint64_t *values) {
  const uint64_t *now = s->now, *base = s->base;
  const uint32_t *word = s->word;
  uint32_t n = s->n;
  for (uint32_t i = 0; i < n; i++) values[i] = now[word[i]] - base[word[i]];
  if (PML_UNLIKELY(s->mixed)) pml__eventset_differences_mixed(s, values);
}

#endif
