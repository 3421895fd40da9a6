/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/record/log/pml_log_child.c - forked children in their parent's log, if they have no log.
 *
 * The forking thread takes an entry, and the child, which has the same extent mapped, stores its pid there. So do its
 * children, which take entries for theirs while they have no log. All of them move `taken` by compare and exchange, so
 * that no two have one entry. Only the process that writes the log makes room for more.
 *
 * A reader sees a complete entry if it has a pid: the child stores the pid with release, and the fork orders the
 * parent's earlier stores before it.
 */
#include "base/pml_clock.h"
#include "record/log/pml_log.h"

#include <errno.h>
#include <sys/mman.h>

#define FIRST_BYTES 4096u
#define MORE_BYTES 65536u
#define DOUBLED 6u /* times, up to 4 MiB */

static size_t bytes_of(unsigned i) {
  if (i == 0) return FIRST_BYTES;
  return (size_t)MORE_BYTES << (i <= DOUBLED ? i - 1 : DOUBLED);
}

static unsigned count(const struct pml__log *log) {
  unsigned n = 0;
  while (n < PML__LOG_CHILDREN_EXTENTS && __atomic_load_n(&log->children[n], __ATOMIC_ACQUIRE) != NULL) n++;
  return n;
}

static struct pml__log_child *take(struct pml__log_children *c) {
  uint32_t i = __atomic_load_n(&c->taken, __ATOMIC_RELAXED);
  do
    if (i >= c->room) return NULL;
  while (!__atomic_compare_exchange_n(&c->taken, &i, i + 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return &c->child[i];
}

/* If two threads allocate an extent at the same time, one of the extents stays unused. */
static struct pml__log_children *more(struct pml__log *log, unsigned i) {
  struct pml__log_children *there = NULL, *fresh;
  if (i == PML__LOG_CHILDREN_EXTENTS) return NULL;
  fresh = pml__log_extent_now(log, PML__LOG_CHILDREN, bytes_of(i));
  if (fresh == NULL) return NULL;
  fresh->room = (uint32_t)((bytes_of(i) - sizeof *fresh) / sizeof fresh->child[0]);
  bool is_ours =
      __atomic_compare_exchange_n(&log->children[i], &there, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  return is_ours ? fresh : there;
}

struct pml__log_child *pml__log_child(struct pml__log *log, bool grows, int parent) {
  unsigned n = count(log);
  struct pml__log_child *child = n > 0 ? take(log->children[n - 1]) : NULL;
  if (child == NULL && grows) {
    struct pml__log_children *fresh = more(log, n);
    child = fresh != NULL ? take(fresh) : NULL;
  }
  if (child == NULL) return NULL;
  child->parent = parent;
  child->ticks = pml_clock_ticks();
  return child;
}

void pml__log_children_unmap(struct pml__log *log) {
  for (unsigned i = 0; i < count(log); i++) (void)munmap(log->children[i], bytes_of(i));
}
