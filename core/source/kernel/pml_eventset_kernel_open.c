/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/pml_eventset_kernel_open.c - opening of a set's kernel events in as few groups as possible. */
#include "source/kernel/pml_eventset_kernel.h"

#include "base/pml_error.h"
#include "base/pml_libc.h"
#include "source/kernel/event/pml_event_parsers.h"
#include "source/kernel/pml_counter_error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

_Static_assert(sizeof(struct pml__eventset_info) + sizeof(struct pml__kernel_event) + sizeof(struct pml__kernel_part) <
                   512,
               "what a set knows of an event of one part is small");

/* One part of one event of the backend, on its way into a group. */
struct place {
  uint32_t event, part;
};

struct opening {
  struct pml__kernel_backend *k;
  const struct pml_event *ev; /* the set's events */
  const struct pml_eventset_options *options;
  struct place place[PML__GROUP_MAX]; /* in the order of opening, as counter[] */
  uint32_t nplaces;
  uint32_t leader[PML__GROUP_MAX]; /* index in counter[] of each group's leader */
};

static const struct pml_event *event_at(const struct opening *o, uint32_t k) {
  return &o->ev[o->k->backend.event[k]];
}

static const struct pml_event *event_of(const struct opening *o, uint32_t counter) {
  return event_at(o, o->place[counter].event);
}

static struct pml_event_part part_of(const struct opening *o, uint32_t counter) {
  return pml_event_part(event_of(o, counter), o->place[counter].part);
}

static int open_place(const struct opening *o, struct pml_counter *c, uint32_t counter,
                      const struct pml_counter *leader, unsigned flags) {
  return pml_counter_open(c, event_of(o, counter), o->place[counter].part, &o->options->target, leader, flags);
}

int pml__kernel_rank(const struct perf_event_attr *attr, const char *pmu, bool intel) {
  if (pml__counter_is_software(attr, pmu)) return 4;
  if (attr->type >= PERF_TYPE_MAX) return 3;
  enum pml__packed packed = pml__counter_packed(attr, intel);
  return packed == PML__PACKED_SLOTS ? 0 : packed == PML__PACKED_METRIC ? 1 : 2;
}

static int list_places(struct opening *o) {
  uint32_t most = 0, n = o->k->backend.n;
  for (uint32_t k = 0; k < n; k++) most += event_at(o, k)->nparts;
  if (most > PML__GROUP_MAX)
    return pml_fail(PML_ETOOMANY,
                    "an event set of %u counters; at most %u are possible: name fewer places of uncore events", most,
                    PML__GROUP_MAX);
  bool intel = pml__cpu_is_intel();
  for (int r = 0; r < PML__KERNEL_RANKS; r++)
    for (uint32_t k = 0; k < n; k++) {
      const struct pml_event *ev = event_at(o, k);
      bool wanted = ev->nparts > 0 && pml__kernel_rank(&ev->first.attr, ev->first.pmu, intel) == r;
      for (uint32_t p = 0; wanted && p < ev->nparts; p++) o->place[o->nplaces++] = (struct place){k, p};
    }
  return 0;
}

/* Would counter @member fit into a group that holds nothing but @leader? Then it is for want of counters that it did
 * not. */
static bool pair_opens(const struct opening *o, uint32_t leader, uint32_t member) {
  struct pml_counter a, b;
  if (open_place(o, &a, leader, NULL, PML_OPEN_DISABLED | PML_OPEN_NO_PAGE) < 0) return false;
  int rc = open_place(o, &b, member, &a, PML_OPEN_NO_PAGE);
  if (rc == 0) pml_counter_close(&b);
  pml_counter_close(&a);
  return rc == 0;
}

static void put_into_group(struct opening *o, uint32_t counter, uint32_t group) {
  struct pml__kernel_part *p = &o->k->event[o->place[counter].event].part[o->place[counter].part];
  const struct pml_event_part from = part_of(o, counter);
  char pmu[PML_EVENT_NAME_MAX];
  (void)snprintf(pmu, sizeof pmu, "%s:%s", from.pmu, from.place);
  p->pmu = from.place[0] != '\0' ? pml__keep_text(pmu) : from.pmu;
  p->counter = counter;
  p->group = group;
  p->position = o->k->group[group].n++;
}

/* Does the target certainly run by now? Otherwise a waiting group cannot be distinguished from a starving one. */
static bool target_runs(const struct pml_target *t) {
  return t->pid == -1 || ((t->pid == 0 || t->pid == gettid()) && t->cpu_plus == 0);
}

/* At least the times, however many members there are: the words before its values. */
static bool read_times(int leader, uint64_t block[PML__WORD_GROUP_VALUES + PML__GROUP_MAX]) {
  ssize_t got = read(leader, block, (PML__WORD_GROUP_VALUES + PML__GROUP_MAX) * sizeof block[0]);
  return got >= (ssize_t)(PML__WORD_GROUP_VALUES * sizeof block[0]);
}

/*
 * Enable the group for a moment: does it get all its counters? The kernel's own check at open forgets counters that are
 * held by others: on x86 the NMI watchdog's.
 */
static bool group_runs(int leader) {
  uint64_t before[PML__WORD_GROUP_VALUES + PML__GROUP_MAX], after[PML__WORD_GROUP_VALUES + PML__GROUP_MAX];
  if (!read_times(leader, before) || ioctl(leader, PERF_EVENT_IOC_ENABLE, 0) != 0) return true;
  bool seen = read_times(leader, after);
  ioctl(leader, PERF_EVENT_IOC_DISABLE, 0);
  bool enabled = seen && after[PML__WORD_ENABLED] > before[PML__WORD_ENABLED];
  return !enabled || after[PML__WORD_RUNNING] > before[PML__WORD_RUNNING];
}

/* Joined, but the group would never run with it: in a multiplexed set it is better off in the next one. */
static bool overfills(const struct opening *o, uint32_t counter, const struct pml_counter *leader) {
  const struct pml_event_part p = part_of(o, counter);
  if (!(o->options->flags & PML_EVENTSET_MULTIPLEX) || event_of(o, counter)->nparts > 1) return false;
  if (pml__counter_is_software(&p.attr, p.pmu) || !target_runs(&o->options->target)) return false;
  if (group_runs(leader->fd)) return false;
  pml_counter_close(&o->k->counter[counter]);
  return true;
}

/* Returns 0 when it joined, 1 when the group is not for it, or a negative code. */
static int try_group(struct opening *o, uint32_t counter, uint32_t group) {
  struct pml__kernel_backend *k = o->k;
  const struct pml_counter *leader = &k->counter[o->leader[group]];
  const struct pml_event_part mine = part_of(o, counter), first = part_of(o, o->leader[group]);
  if (mine.cpu_any != first.cpu_any) return 1;
  if (mine.cpu_any >= 0 && mine.attr.type != first.attr.type) return 1; /* uncore PMUs share no group */
  int rc = open_place(o, &k->counter[counter], counter, leader, o->options->flags & PML_OPEN_NO_PAGE);
  if (rc == 0) return overfills(o, counter, leader) ? 1 : 0;
  if (rc != PML_ETOOMANY) return rc;
  if (o->options->flags & PML_EVENTSET_MULTIPLEX) return 1;
  char why[512];
  strncpy(why, pml_error_detail(rc), sizeof why - 1);
  why[sizeof why - 1] = '\0';
  return pair_opens(o, o->leader[group], counter) ? pml_fail(rc, "%s", why) : 1;
}

static int lead_group(struct opening *o, uint32_t counter) {
  struct pml__kernel_backend *k = o->k;
  bool alone = o->nplaces == 1 || (o->options->flags & PML_EVENTSET_UNGROUPED) != 0;
  unsigned asked = o->options->flags & (PML_OPEN_NO_PAGE | PML_OPEN_ON_EXEC);
  unsigned flags = PML_OPEN_DISABLED | asked | (alone ? 0 : PML__OPEN_GROUP);
  int rc = open_place(o, &k->counter[counter], counter, NULL, flags);
  if (rc < 0) return rc;
  o->leader[k->ngroups] = counter;
  put_into_group(o, counter, k->ngroups++);
  return 0;
}

static int open_counter(struct opening *o, uint32_t counter) {
  uint32_t ngroups = o->options->flags & PML_EVENTSET_UNGROUPED ? 0 : o->k->ngroups;
  for (uint32_t g = 0; g < ngroups; g++) {
    int rc = try_group(o, counter, g);
    if (rc == 0) put_into_group(o, counter, g);
    if (rc <= 0) return rc;
  }
  return lead_group(o, counter);
}

/* Where each group's block lies. */
static void lay_out(struct opening *o) {
  struct pml__kernel_backend *k = o->k;
  uint32_t word = 0, member = 0;
  for (uint32_t i = 0; i < k->ngroups; i++) {
    struct pml__kernel_group *g = &k->group[i];
    bool grouped = (k->counter[o->leader[i]].flags & PML__OPEN_GROUP) != 0;
    uint32_t words = grouped ? PML__WORD_GROUP_VALUES + g->n : 3;
    g->fd = k->counter[o->leader[i]].fd;
    g->offset = word;
    g->values = word + (grouped ? PML__WORD_GROUP_VALUES : PML__WORD_SINGLE_VALUE);
    g->page = &k->page[member];
    g->bytes = words * sizeof(uint64_t);
    g->paged = true;
    word += words;
    member += g->n;
  }
  k->backend.words = word;
}

static void set_owner(struct pml__kernel_backend *k, uint64_t owner) {
  k->owner = owner & ~PML__OWNER_RESTARTS;
  k->restarts = (owner & PML__OWNER_RESTARTS) != 0;
}

static void lay_out_event(struct pml__kernel_backend *k, uint32_t i) {
  struct pml__kernel_event *e = &k->event[i];
  for (uint32_t p = 0; p < e->nparts; p++) {
    struct pml__kernel_part *part = &e->part[p];
    struct pml__kernel_group *g = &k->group[part->group];
    const struct pml_counter *c = &k->counter[part->counter];
    part->word = g->values + part->position;
    if (p == 0)
      k->backend.word[i] = part->word;
    else
      k->extra[k->nextra++] = (struct pml__kernel_extra){k->backend.event[i], part->word};
    g->page[part->position] = c->page;
    if (c->page == NULL)
      g->paged = false;
    else
      set_owner(k, c->owner);
  }
}

static int allocate(struct opening *o) {
  struct pml__kernel_backend *k = o->k;
  uint32_t n = o->nplaces, part = 0;
  if (n == 0) return pml_fail(-EINVAL, "an event of the kernel has no parts");
  k->counter = calloc(n, sizeof *k->counter);
  k->group = calloc(n, sizeof *k->group);
  k->page = calloc(n, sizeof *k->page);
  k->extra = calloc(n, sizeof *k->extra);
  k->part = calloc(n, sizeof *k->part);
  k->event = calloc(k->backend.n, sizeof *k->event);
  if (!k->counter || !k->group || !k->page || !k->extra || !k->part || !k->event)
    return pml_fail(-ENOMEM, "event set with %u events of the kernel: out of memory", k->backend.n);
  for (uint32_t i = 0; i < k->backend.n; i++) {
    const struct pml_event *ev = event_at(o, i);
    bool places = ev->nparts > 1 && ev->first.cpu_any >= 0;
    k->event[i] = (struct pml__kernel_event){.nparts = ev->nparts, .places = places, .part = &k->part[part]};
    part += ev->nparts;
  }
  return 0;
}

/* An event that counts a cpu gets no exec of the target, so it counts at once. */
static bool waits_for_exec(const struct opening *o, uint32_t group) {
  if ((o->options->flags & PML_EVENTSET_ON_EXEC) == 0) return false;
  return o->options->target.pid >= 0 && part_of(o, o->leader[group]).cpu_any < 0;
}

static int enable_groups(const struct opening *o) {
  const struct pml__kernel_backend *k = o->k;
  for (uint32_t i = 0; i < k->ngroups; i++)
    if (!waits_for_exec(o, i) && ioctl(k->group[i].fd, PERF_EVENT_IOC_ENABLE, 0) != 0)
      return pml_fail(-errno, "event set: cannot enable a group: %s", strerror(errno));
  return 0;
}

/*
 * A group may open and still never get its counters (on x86 the check ignores the NMI watchdog's counter). It can be
 * distinguished from a group that waits for its cpu or its thread only if counting has certainly begun: on this thread,
 * or on a whole cpu.
 */
static int refuse_starved(const struct opening *o) {
  uint64_t block[PML__WORD_GROUP_VALUES + PML__GROUP_MAX];
  if (!target_runs(&o->options->target) || (o->options->flags & PML_EVENTSET_MULTIPLEX)) return 0;
  for (uint32_t i = 0; i < o->k->ngroups; i++) {
    const struct pml_event *ev = event_of(o, o->leader[i]);
    if (ev->nparts > 1) continue; /* hybrid: the other kind of core may be counting */
    if (!read_times(o->k->group[i].fd, block)) continue;
    if (block[PML__WORD_ENABLED] > 0 && block[PML__WORD_RUNNING] == 0) return pml__counter_starved(ev->name);
  }
  return 0;
}

/* An event is called what it counts. */
static void name_user_only(const struct opening *o) {
  for (uint32_t i = 0; i < o->nplaces; i++) {
    if (o->place[i].part > 0 || !(o->k->counter[i].flags & PML_OPENED_USER_ONLY)) continue;
    char *name = o->k->backend.set->info[o->k->backend.event[o->place[i].event]].name;
    size_t n = strlen(name);
    (void)snprintf(name + n, PML_EVENT_NAME_MAX - n, "%s", PML__USER_ONLY);
  }
}

static int open_all(struct opening *o) {
  struct pml__kernel_backend *k = o->k;
  int rc = list_places(o);
  if (rc == 0) rc = allocate(o);
  if (rc < 0) return rc;
  for (; k->ncounters < o->nplaces; k->ncounters++) {
    rc = open_counter(o, k->ncounters);
    if (rc < 0) return rc;
  }
  name_user_only(o);
  lay_out(o);
  for (uint32_t i = 0; i < k->backend.n; i++) lay_out_event(k, i);
  pml__kernel_choose_read(k);
  rc = enable_groups(o);
  return rc < 0 ? rc : refuse_starved(o);
}

int pml__kernel_open(struct pml__backend *backend, const struct pml_event *ev,
                     const struct pml_eventset_options *options) {
  struct opening *o = calloc(1, sizeof *o);
  if (o == NULL) return pml_fail(-ENOMEM, "event set with %u events of the kernel: out of memory", backend->n);
  *o = (struct opening){.k = (struct pml__kernel_backend *)backend, .ev = ev, .options = options};
  int rc = open_all(o);
  free(o);
  return rc;
}

void pml__kernel_close(struct pml__backend *backend) {
  struct pml__kernel_backend *k = (struct pml__kernel_backend *)backend;
  while (k->ncounters > 0) pml_counter_close(&k->counter[--k->ncounters]);
  free(k->counter);
  free(k->group);
  free(k->page);
  free(k->extra);
  free(k->part);
  free(k->event);
}
