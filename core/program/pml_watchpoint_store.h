/* SPDX-License-Identifier: BSD-3-Clause */
/* core/program/pml_watchpoint_store.h - preallocated storage of recorded accesses, in one mapping. */
#ifndef PML_WATCHPOINT_STORE_H
#define PML_WATCHPOINT_STORE_H

#include "program/pml_watchpoint.h"

#include <stdatomic.h>

/*
 * A head, lanes, chunks. A lane and a chunk are taken by an increment, and belong to one thread from then on. Memory or
 * file, the store is sparse: untouched parts cost nothing. The file is a log (docs/log.md), whose only extent this is.
 */
#define PML__STORE_LANES 4096u
#define PML__CHUNK_VALUES 1023u

struct pml__store_head {
  uint32_t points, chunks_max;
  _Atomic uint32_t lanes, chunks; /* taken; may run beyond what there is */
  int32_t pid;
  _Atomic uint64_t lost;
  uint64_t start_ticks, stop_ticks;
  double ticks_per_second;
  char program[256];
  struct pml_watchpoint point[PML_WATCHPOINTS_MAX];
  int64_t hits[PML_WATCHPOINTS_MAX];
  _Atomic uint64_t unexplained;
};

/* A cache line: two threads never share one. */
struct pml__store_lane {
  uint32_t tid, point;
  _Atomic uint64_t accesses, late, dropped;
  _Atomic uint32_t first, last; /* chunk number + 1 */
  uint64_t unused[3];
};

struct pml__store_chunk {
  _Atomic uint32_t next; /* number + 1 */
  _Atomic uint32_t n;    /* published by release */
  uint64_t unused;
  struct pml_watchpoint_value value[PML__CHUNK_VALUES];
};

struct pml_watchpoint_store {
  struct pml__store_head *head;
  struct pml__store_lane *lane;
  struct pml__store_chunk *chunk;
  size_t bytes;  /* size of all three */
  size_t before; /* bytes that are mapped before them: the log's head */
};

#define PML__STORE_HEAD_BYTES 4096u
_Static_assert(sizeof(struct pml__store_head) <= PML__STORE_HEAD_BYTES, "the head has a page");
_Static_assert(sizeof(struct pml__store_lane) == 64, "a lane is a cache line");
_Static_assert(sizeof(struct pml__store_chunk) == 16384, "a chunk is four pages");
#define PML__STORE_LANES_BYTES (PML__STORE_LANES * sizeof(struct pml__store_lane))

static inline size_t pml__store_bytes(uint64_t chunks) {
  return PML__STORE_HEAD_BYTES + PML__STORE_LANES_BYTES + chunks * sizeof(struct pml__store_chunk);
}

/* @mapped: @before bytes of something else, and @bytes for the store. */
static inline void pml__store_lay_out(struct pml_watchpoint_store *s, void *mapped, size_t before, size_t bytes) {
  char *at = (char *)mapped + before;
  s->before = before;
  s->head = (void *)at;
  s->lane = (void *)(at + PML__STORE_HEAD_BYTES);
  s->chunk = (void *)(at + PML__STORE_HEAD_BYTES + PML__STORE_LANES_BYTES);
  s->bytes = bytes;
}

/* Make one of the calling process: 0 or -errno. @path and @values as in struct pml_watchpoint_options. */
int pml__store_create(struct pml_watchpoint_store *s, const char *path, uint64_t values,
                      const struct pml_watchpoint *point, unsigned n);
PML__SHARED void pml__store_unmap(struct pml_watchpoint_store *s);

/* pml__store_take - a new lane's number, UINT32_MAX: all in use. These two are async-signal-safe. */
uint32_t pml__store_take(const struct pml_watchpoint_store *s, uint32_t tid, uint32_t point);
void pml__store_push(const struct pml_watchpoint_store *s, uint32_t lane, struct pml_watchpoint_value v, int late);

#endif
