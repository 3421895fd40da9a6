/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/sampler/pml_sampler_maps.c - file mappings of processes over time. */
#include "source/kernel/sampler/pml_sampler_private.h"

#include "base/pml_array.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAPS_MAX (UINT32_C(1) << 22)
#define FORKS_MAX 64 /* forks without an exec between, that are followed */

/* A name is stored once: from the newest, as programs map what those before them did. */
static const char *keep_name(struct pml__maps *m, const char *name) {
  for (size_t i = m->names; i > 0; i--)
    if (strcmp(m->name[i - 1], name) == 0) return m->name[i - 1];
  if (!PML__ARRAY_ROOM(m->name, m->names_room, m->names + 1)) return NULL;
  char *copy = strdup(name);
  if (copy != NULL) m->name[m->names++] = copy;
  return copy;
}

int pml__maps_add(struct pml__maps *m, const struct pml__record *r) {
  if (m->n == MAPS_MAX || !PML__ARRAY_ROOM(m->map, m->room, m->n + 1)) return -ENOMEM;
  const char *name = r->kind == PML__RECORD_MAP ? keep_name(m, r->name) : "";
  if (name == NULL) return -ENOMEM;
  m->map[m->n] = (struct pml__mapping){.time_ns = r->sample.time_ns,
                                       .pid = r->sample.pid,
                                       .parent = r->parent,
                                       .kind = r->kind,
                                       .order = (uint32_t)m->n,
                                       .start = r->start,
                                       .length = r->length,
                                       .offset = r->offset,
                                       .name = name};
  m->n++;
  m->sorted = false;
  return 0;
}

int pml__maps_of_process(struct pml__maps *m, pid_t pid) {
  char path[64], *line = NULL;
  size_t room = 0;
  int err = 0;
  (void)snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
  FILE *f = fopen(path, "re");
  if (f == NULL) return -errno;
  while (err == 0 && getline(&line, &room, f) > 0) {
    struct pml__record r = {.kind = PML__RECORD_MAP, .sample.pid = pid};
    uint64_t end;
    int at = 0;
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %n", &r.start, &end, &r.offset, &at) != 3)
      continue;
    r.length = end - r.start;
    r.name = at > 0 && line[at] != '\0' ? line + at : "//anon";
    err = pml__maps_add(m, &r);
  }
  free(line);
  (void)fclose(f);
  return err;
}

/* Returns whether it is new among them; false without memory: then it is looked at again. */
static bool add_known(struct pml__maps *m, int32_t pid) {
  size_t i;
  PML__ARRAY_SEARCH(i, m->nknown, m->known[i] < pid);
  if (i < m->nknown && m->known[i] == pid) return false;
  if (!PML__ARRAY_ROOM(m->known, m->known_room, m->nknown + 1)) return false;
  memmove(&m->known[i + 1], &m->known[i], (m->nknown - i) * sizeof *m->known);
  m->known[i] = pid;
  m->nknown++;
  return true;
}

void pml__maps_of_newcomer(struct pml__maps *m, pid_t pid) {
  if (pid > 0 && add_known(m, pid)) (void)pml__maps_of_process(m, pid);
}

static int by_process_and_time(const void *a, const void *b) {
  const struct pml__mapping *x = a, *y = b;
  if (x->pid != y->pid) return x->pid < y->pid ? -1 : 1;
  if (x->time_ns != y->time_ns) return x->time_ns < y->time_ns ? -1 : 1;
  return x->order < y->order ? -1 : x->order > y->order;
}

/* How many are of processes before @pid, or of @pid and not after @time_ns. */
static size_t count_until(const struct pml__maps *m, int32_t pid, uint64_t time_ns) {
  size_t i;
  PML__ARRAY_SEARCH(i, m->n, m->map[i].pid < pid || (m->map[i].pid == pid && m->map[i].time_ns <= time_ns));
  return i;
}

/* Is @at a mapping of a file that begins at or below @address, not far away, and nearer than @best? */
static bool is_nearer(const struct pml__mapping *at, const struct pml__mapping *best, uint64_t address) {
  if (at->name[0] != '/' || at->name[1] == '/' || at->start > address) return false;
  if (address - at->start >= at->length && address - at->start - at->length > PML__BELOW_MAX) return false;
  return best == NULL || at->start > best->start;
}

/* From the newest mapping back: the first that has the address, or of all the nearest file @below it. */
static const struct pml__mapping *search(struct pml__maps *m, int32_t pid, uint64_t time_ns, uint64_t address,
                                         bool below) {
  const struct pml__mapping *best = NULL;
  if (!m->sorted && m->n > 0) qsort(m->map, m->n, sizeof *m->map, by_process_and_time);
  m->sorted = true;
  for (unsigned forks = 0; forks < FORKS_MAX; forks++) {
    const struct pml__mapping *fork = NULL;
    for (size_t i = count_until(m, pid, time_ns); i > 0 && fork == NULL; i--) {
      const struct pml__mapping *at = &m->map[i - 1];
      if (at->pid != pid || at->kind == PML__RECORD_EXEC) return best;
      if (at->kind == PML__RECORD_FORK)
        fork = at;
      else if (!below && address - at->start < at->length)
        return at;
      else if (below && is_nearer(at, best, address))
        best = at;
    }
    if (fork == NULL) return best;
    pid = fork->parent;
    time_ns = fork->time_ns;
  }
  return best;
}

const struct pml__mapping *pml__maps_find(struct pml__maps *m, int32_t pid, uint64_t time_ns, uint64_t address) {
  return search(m, pid, time_ns, address, false);
}

const struct pml__mapping *pml__maps_below(struct pml__maps *m, int32_t pid, uint64_t time_ns, uint64_t address) {
  return search(m, pid, time_ns, address, true);
}

void pml__maps_free(struct pml__maps *m) {
  for (size_t i = 0; i < m->names; i++) free(m->name[i]);
  free(m->name);
  free(m->known);
  free(m->map);
  *m = (struct pml__maps){0};
}
