/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/archive/pml_archive_ranks.c - ranks of processes, and unification of communicators and windows. */
#include "base/pml_error.h"
#include "read/archive/pml_archive_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- ranks ---- */

static int compare(uint64_t a, uint64_t b) {
  return a < b ? -1 : a > b;
}

/* The ranks of a job are neighbours, in order; other processes follow. Each group is sorted by starting time. */
static int by_rank(const void *a, const void *b) {
  const struct pml__archive_process *x = a, *y = b;
  int order = (x->rank < 0) - (y->rank < 0);
  if (order == 0) order = compare(x->job_began_ns, y->job_began_ns);
  if (order == 0) order = compare(x->job, y->job);
  if (order == 0) order = compare(x->world, y->world);
  if (order == 0 && x->rank >= 0) order = compare((uint64_t)x->size, (uint64_t)y->size);
  if (order == 0 && x->rank >= 0) order = compare((uint64_t)x->rank, (uint64_t)y->rank);
  if (order == 0) order = compare(x->own.started_ns, y->own.started_ns);
  return order != 0 ? order : compare((uint64_t)x->pid, (uint64_t)y->pid);
}

/* The processes are sorted by job. */
static void note_begins(struct pml__archive *a) {
  for (size_t i = 0, end; i < a->nprocesses && a->process[i].rank >= 0; i = end) {
    uint32_t job = a->process[i].job;
    uint64_t first = UINT64_MAX;
    for (end = i; end < a->nprocesses && a->process[end].rank >= 0 && a->process[end].job == job; end++)
      if (a->process[end].own.started_ns < first) first = a->process[end].own.started_ns;
    for (size_t k = i; k < end && job != 0; k++) a->process[k].job_began_ns = first;
  }
}

/* If jobs of one size have no number, the first process with a rank belongs to the first job, and so on. */
static void number_worlds(struct pml__archive *a) {
  for (size_t i = 1; i < a->nprocesses && a->process[i].rank >= 0; i++) {
    const struct pml__archive_process *before = &a->process[i - 1];
    if (before->job == a->process[i].job && before->rank == a->process[i].rank && before->size == a->process[i].size)
      a->process[i].world = before->world + 1;
  }
}

static bool is_same_job(const struct pml__archive_process *x, const struct pml__archive_process *y) {
  return x->job == y->job && x->world == y->world && x->size == y->size;
}

/* The ranks of a job follow the ranks of the previous job. */
static void number_ranks(struct pml__archive *a) {
  const struct pml__archive_process *before = NULL;
  for (size_t i = 0; i < a->nprocesses && a->process[i].rank >= 0; i++) {
    struct pml__archive_process *p = &a->process[i];
    if (before != NULL) p->base = before->base;
    if (before != NULL && !is_same_job(before, p)) p->base += (uint32_t)before->size;
    a->story->jobs += before == NULL || !is_same_job(before, p);
    p->index = p->base + (uint32_t)p->rank;
    a->mpi.nranks = p->base + (uint32_t)p->size;
    a->story->ranks++;
    before = p;
  }
  a->story->missing = a->mpi.nranks - a->story->ranks;
}

static uint32_t count_foreign(const char *ranks) {
  uint32_t n = 0;
  for (const char *at = strchr(ranks, '-'); at != NULL; at = strchr(at + 1, '-')) n++;
  return n;
}

/* As many as the largest number in one communicator. */
static void number_foreign(struct pml__archive *a) {
  for (size_t i = 0; i < a->nprocesses && a->process[i].rank >= 0; i++) {
    const struct pml__archive_process *p = &a->process[i];
    for (size_t k = 0; k < p->ncomms; k++) {
      uint32_t n = count_foreign(p->comm[k].members[0]) + count_foreign(p->comm[k].members[1]);
      if (n > a->nforeign && n <= PML__ARCHIVE_RANKS_MAX) a->nforeign = n;
    }
  }
  a->mpi.nranks += a->nforeign;
}

int pml__archive_order(struct pml__archive *a) {
  qsort(a->process, a->nprocesses, sizeof *a->process, by_rank);
  note_begins(a);
  number_worlds(a);
  qsort(a->process, a->nprocesses, sizeof *a->process, by_rank);
  number_ranks(a);
  number_foreign(a);
  a->mpi.location = malloc((a->mpi.nranks + 1) * sizeof *a->mpi.location);
  a->of_rank = malloc((a->mpi.nranks + 1) * sizeof *a->of_rank);
  if (a->mpi.location == NULL || a->of_rank == NULL)
    return pml_fail(-ENOMEM, "no memory for %u ranks of a trace", a->mpi.nranks);
  for (uint32_t i = 0; i < a->mpi.nranks; i++) a->of_rank[i] = UINT32_MAX;
  for (uint32_t i = 0; i < a->nprocesses && a->process[i].rank >= 0; i++) a->of_rank[a->process[i].index] = i;
  return 0;
}

/* ---- communicators ---- */

/* A communicator in the log of one process. After sorting, entries of one communicator are neighbours. */
struct known {
  const struct pml__archive_process *p;
  struct pml__archive_comm *c;
  uint32_t first; /* the lowest number that any process gave it; its parent has a lower one */
};

/* Whether it is predefined: each process's own one is unified with the others. */
static uint32_t special(const struct known *k) {
  return k->c->is.flags & (PML__LOG_COMM_WORLD | PML__LOG_COMM_SELF);
}

/* A communicator without an agreed id belongs to a single process. */
static int by_identity(const struct known *x, const struct known *y) {
  int order = compare(special(x), special(y));
  if (order != 0 || special(x) == PML__LOG_COMM_SELF) return order;
  order = compare(x->p->base, y->p->base);
  if (order != 0 || special(x) != 0) return order;
  order = compare(x->c->is.global, y->c->is.global);
  if (order != 0 || x->c->is.global != UINT64_MAX) return order;
  order = compare(x->p->index, y->p->index);
  return order != 0 ? order : compare(x->c->is.number, y->c->is.number);
}

static int by_communicator(const void *a, const void *b) {
  const struct known *x = a, *y = b;
  int order = by_identity(x, y);
  return order != 0 ? order : compare(x->p->index, y->p->index);
}

static int by_creation(const void *a, const void *b) {
  const struct known *x = a, *y = b;
  int order = compare(x->first, y->first);
  return order != 0 ? order : by_communicator(a, b);
}

static struct known *list_known(const struct pml__archive *a, size_t *n) {
  size_t all = 0;
  for (size_t i = 0; i < a->nprocesses; i++) all += a->process[i].ncomms;
  struct known *list = calloc(all + 1, sizeof *list);
  *n = 0;
  for (size_t i = 0; list != NULL && i < a->nprocesses; i++)
    for (size_t k = 0; a->process[i].rank >= 0 && k < a->process[i].ncomms; k++)
      list[(*n)++] = (struct known){.p = &a->process[i], .c = &a->process[i].comm[k]};
  return list;
}

static size_t end_of(const struct known *k, size_t i, size_t n) {
  size_t end = i + 1;
  while (end < n && by_identity(&k[i], &k[end]) == 0) end++;
  return end;
}

static void sort_known(struct known *k, size_t n) {
  qsort(k, n, sizeof *k, by_communicator);
  for (size_t i = 0, end; i < n; i = end) {
    uint32_t least = UINT32_MAX;
    end = end_of(k, i, n);
    for (size_t m = i; m < end; m++)
      if (k[m].c->is.number < least) least = k[m].c->is.number;
    for (size_t m = i; m < end; m++) k[m].first = least;
  }
  qsort(k, n, sizeof *k, by_creation);
}

/* ---- members ---- */

static uint32_t *no_members(uint32_t n) {
  uint32_t *member = malloc((n + 1) * sizeof *member);
  for (uint32_t i = 0; member != NULL && i < n; i++) member[i] = UINT32_MAX;
  return member;
}

/* Fill in unknown members from the text, which lists ranks of @k's world. -1 is a rank of another job; *@foreign counts
 * these. Returns the number of members. */
static uint32_t members_of_text(const struct pml__archive *a, const struct known *k, const char *text, uint32_t n,
                                uint32_t *member, uint32_t *foreign) {
  uint32_t i = 0;
  char *end;
  for (const char *at = text; i < n; at = end, i++) {
    long rank = strtol(at, &end, 10);
    if (end == at) break;
    if (rank >= 0 && rank < k->p->size && member[i] == UINT32_MAX) member[i] = k->p->base + (uint32_t)rank;
    if (rank == -1 && *foreign < a->nforeign) member[i] = a->mpi.nranks - a->nforeign + (*foreign)++;
  }
  return i;
}

/* Members that no log identifies are ranks without a log, in the order of ranks. */
static void guess_members(const struct pml__archive *a, const struct known *k, uint32_t n, uint32_t *member) {
  uint32_t next = k->p->base, end = k->p->base + (uint32_t)k->p->size;
  for (uint32_t i = 0; i < n; i++) {
    if (member[i] != UINT32_MAX) continue;
    while (next < end && a->of_rank[next] != UINT32_MAX) next++;
    member[i] = next < end ? next++ : k->p->base;
  }
}

/* The log of each member contains its own rank; the log of the rank that created the communicator contains all. */
static bool unite_group(const struct pml__archive *a, const struct known *k, size_t n, struct pml__otf2_comm *c) {
  c->n[0] = (uint32_t)k->c->is.size;
  c->member[0] = no_members(c->n[0]);
  if (c->member[0] == NULL) return false;
  for (size_t i = 0; i < n; i++) {
    uint32_t rank = (uint32_t)k[i].c->is.rank;
    if (rank < c->n[0]) c->member[0][rank] = k[i].p->index;
  }
  for (size_t i = 0; i < n; i++) {
    uint32_t foreign = 0;
    (void)members_of_text(a, k, k[i].c->members[0], c->n[0], c->member[0], &foreign);
  }
  guess_members(a, k, c->n[0], c->member[0]);
  return true;
}

/* Only the log of a rank that created it contains both groups. Without such a log it has no members. */
static bool unite_groups(const struct pml__archive *a, const struct known *k, size_t n, struct pml__otf2_comm *c) {
  uint32_t foreign = 0;
  size_t i = 0;
  while (i + 1 < n && *k[i].c->members[1] == '\0') i++;
  for (int side = 0; side < 2; side++) {
    uint32_t most = (uint32_t)strlen(k[i].c->members[side]);
    c->member[side] = no_members(most);
    if (c->member[side] == NULL) return false;
    c->n[side] = members_of_text(a, &k[i], k[i].c->members[side], most, c->member[side], &foreign);
    for (uint32_t m = 0; m < c->n[side]; m++)
      if (c->member[side][m] == UINT32_MAX) c->member[side][m] = k[i].p->base;
  }
  return true;
}

static const char *name_of(const struct known *k, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (*k[i].c->name != '\0') return k[i].c->name;
  return special(k) == PML__LOG_COMM_WORLD ? "MPI_COMM_WORLD" : special(k) == PML__LOG_COMM_SELF ? "MPI_COMM_SELF" : "";
}

/* Both groups of an inter-communicator are in the world; its parent may contain only one of them. */
static const struct pml__archive_comm *parent_of(const struct known *k) {
  bool inter = (k->c->is.flags & PML__LOG_COMM_INTER) != 0;
  return pml__archive_comm_of(k->p, inter ? PML__LOG_COMM_WORLD : k->c->is.parent);
}

static int unite(struct pml__archive *a, const struct known *k, size_t n) {
  struct pml__otf2_comm *c = &a->mpi.comm[a->mpi.ncomms];
  const struct pml__archive_comm *parent = parent_of(k);
  *c = (struct pml__otf2_comm){.parent = parent != NULL ? parent->ref : UINT32_MAX,
                               .self = special(k) == PML__LOG_COMM_SELF,
                               .inter = (k->c->is.flags & PML__LOG_COMM_INTER) != 0};
  for (size_t i = 0; i < n; i++) k[i].c->ref = a->mpi.ncomms;
  a->mpi.ncomms++;
  c->name = strdup(name_of(k, n));
  bool good = c->name != NULL && (c->self || (c->inter ? unite_groups(a, k, n, c) : unite_group(a, k, n, c)));
  return good ? 0 : pml_fail(-ENOMEM, "no memory for a communicator of a trace");
}

/* ---- windows ---- */

/* A window in the log of one process. After sorting, entries of one window are neighbours, the latest one last. */
struct known_window {
  const struct pml__archive_process *p;
  struct pml__archive_window *w;
  uint32_t comm; /* index in the archive */
  size_t order;
};

/* All processes use the same number for MPI_COMM_SELF, but its windows belong to one process each. */
static int by_window_identity(const struct known_window *x, const struct known_window *y,
                              const struct pml__otf2_comm *comm) {
  int order = compare(x->comm, y->comm);
  if (order == 0 && comm[x->comm].self) order = compare(x->p->index, y->p->index);
  return order != 0 ? order : compare(x->w->is.place, y->w->is.place);
}

static int by_window(const void *a, const void *b, void *comm) {
  const struct known_window *x = a, *y = b;
  int order = by_window_identity(x, y, comm);
  return order != 0 ? order : compare(x->order, y->order);
}

static struct known_window *list_windows(const struct pml__archive *a, size_t *n) {
  size_t all = 0;
  for (size_t i = 0; i < a->nprocesses; i++) all += a->process[i].nwindows;
  struct known_window *list = calloc(all + 1, sizeof *list);
  *n = 0;
  for (size_t i = 0; list != NULL && i < a->nprocesses; i++) {
    const struct pml__archive_process *p = &a->process[i];
    for (size_t k = 0; p->rank >= 0 && k < p->nwindows; k++) {
      const struct pml__archive_comm *c = pml__archive_comm_of(p, p->window[k].is.communicator);
      if (c == NULL) continue;
      list[*n] = (struct known_window){p, &p->window[k], c->ref, *n};
      ++*n;
    }
  }
  return list;
}

/* The name is the last one given by a member, or the name of the communicator. */
static int unite_window(struct pml__archive *a, const struct known_window *k, size_t n) {
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

static int unite_windows(struct pml__archive *a) {
  size_t n;
  struct known_window *k = list_windows(a, &n);
  a->mpi.window = k != NULL ? calloc(n + 1, sizeof *a->mpi.window) : NULL;
  int err = a->mpi.window == NULL ? pml_fail(-ENOMEM, "no memory for windows of a trace") : 0;
  if (n > 0 && err == 0) qsort_r(k, n, sizeof *k, by_window, a->mpi.comm);
  for (size_t i = 0, end; i < n && err == 0; i = end) {
    end = i + 1;
    while (end < n && by_window_identity(&k[i], &k[end], a->mpi.comm) == 0) end++;
    err = unite_window(a, k + i, end - i);
  }
  free(k);
  return err;
}

/* ---- communicators and windows ---- */

int pml__archive_unite(struct pml__archive *a) {
  size_t n;
  int err = 0;
  struct known *k = list_known(a, &n);
  a->mpi.comm = k != NULL ? calloc(n + 1, sizeof *a->mpi.comm) : NULL;
  if (a->mpi.comm == NULL) err = pml_fail(-ENOMEM, "no memory for communicators of a trace");
  if (err == 0) sort_known(k, n);
  for (size_t i = 0, end; err == 0 && i < n; i = end) {
    end = end_of(k, i, n);
    err = unite(a, k + i, end - i);
  }
  free(k);
  return err == 0 ? unite_windows(a) : err;
}

void pml__archive_disunite(struct pml__archive *a) {
  for (uint32_t i = 0; i < a->mpi.ncomms; i++) {
    free(a->mpi.comm[i].name);
    free(a->mpi.comm[i].member[0]);
    free(a->mpi.comm[i].member[1]);
  }
  free(a->mpi.comm);
  for (uint32_t i = 0; i < a->mpi.nwindows; i++) free(a->mpi.window[i].name);
  free(a->mpi.window);
  free(a->mpi.location);
  free(a->of_rank);
}
