/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/archive/pml_archive_windows.c - unification of the ranks' windows. */
#include "base/pml_error.h"
#include "substrate/archive/pml_archive_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A window as one process knows it. Sorted, those of one window are neighbours, the latest definition last. */
struct known {
  const struct pml__archive_process *p;
  struct pml__archive_window *w;
  uint32_t comm; /* of the archive's */
  size_t order;
};

static int compare(uint64_t a, uint64_t b) {
  return a < b ? -1 : a > b;
}

/* All processes share the number of MPI_COMM_SELF; its windows belong to one process each. */
static int by_identity(const struct known *x, const struct known *y, const struct pml__otf2_comm *comm) {
  int order = compare(x->comm, y->comm);
  if (order == 0 && comm[x->comm].self) order = compare(x->p->index, y->p->index);
  return order != 0 ? order : compare(x->w->is.place, y->w->is.place);
}

static int by_window(const void *a, const void *b, void *comm) {
  const struct known *x = a, *y = b;
  int order = by_identity(x, y, comm);
  return order != 0 ? order : compare(x->order, y->order);
}

static struct known *list_known(const struct pml__archive *a, size_t *n) {
  size_t all = 0;
  for (size_t i = 0; i < a->nprocesses; i++) all += a->process[i].nwindows;
  struct known *list = calloc(all + 1, sizeof *list);
  *n = 0;
  for (size_t i = 0; list != NULL && i < a->nprocesses; i++) {
    const struct pml__archive_process *p = &a->process[i];
    for (size_t k = 0; p->rank >= 0 && k < p->nwindows; k++) {
      const struct pml__archive_comm *c = pml__archive_comm_of(p, p->window[k].is.communicator);
      if (c == NULL) continue;
      list[*n] = (struct known){p, &p->window[k], c->ref, *n};
      ++*n;
    }
  }
  return list;
}

/* Its name is the last one that a member gave it, or that of its communicator. */
static int unite(struct pml__archive *a, const struct known *k, size_t n) {
  const char *name = "";
  for (size_t i = 0; i < n; i++) {
    if (k[i].w->name[0] != '\0') name = k[i].w->name;
    k[i].w->ref = a->mpi.nwindows;
  }
  if (name[0] == '\0') name = a->mpi.comm[k->comm].name;
  char *copy = strdup(name);
  if (copy == NULL) return pml_fail(-ENOMEM, "no memory for a window of a trace");
  a->mpi.window[a->mpi.nwindows++] = (struct pml__otf2_window){.name = copy, .comm = k->comm};
  return 0;
}

int pml__archive_unite_windows(struct pml__archive *a) {
  size_t n;
  struct known *k = list_known(a, &n);
  a->mpi.window = k != NULL ? calloc(n + 1, sizeof *a->mpi.window) : NULL;
  int err = a->mpi.window == NULL ? pml_fail(-ENOMEM, "no memory for windows of a trace") : 0;
  if (n > 0 && err == 0) qsort_r(k, n, sizeof *k, by_window, a->mpi.comm);
  for (size_t i = 0, end; i < n && err == 0; i = end) {
    end = i + 1;
    while (end < n && by_identity(&k[i], &k[end], a->mpi.comm) == 0) end++;
    err = unite(a, k + i, end - i);
  }
  free(k);
  return err;
}
