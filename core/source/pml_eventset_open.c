/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/pml_eventset_open.c - open an event set: as few kernel groups as the kernel allows. */
#include "source/pml_eventset.h"

#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "base/pml_thread.h"
#include "source/kernel/pml_counter_error.h"
#include "source/pml_event_internal.h"
#include "source/pml_eventset_private.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define CACHE_LINE 64u

/* One part of one event, on its way into a group. */
struct place {
  uint32_t event, part;
};

struct opening {
  struct pml_eventset *s;
  const struct pml_event *ev;
  const struct pml_eventset_options *options;
  struct place place[PML__GROUP_MAX]; /* in the order of opening, as counter[] */
  uint32_t nplaces;
  uint32_t leader[PML__GROUP_MAX]; /* of each group, in counter[] */
};

static const struct pml_event_part *part_at(const struct opening *o, uint32_t counter) {
  return &o->ev[o->place[counter].event].part[o->place[counter].part];
}

/*
 * Hardware first, since a software event joins any group, but a group led by one takes any PMU's hardware and would
 * hide which PMU it belongs to.
 */
static int rank(const struct pml_event_part *p) {
  if (pml__counter_is_software(&p->attr, p->pmu)) return 2;
  return p->attr.type < PERF_TYPE_MAX ? 0 : 1;
}

static int list_places(struct opening *o, size_t n) {
  uint32_t most = 0;
  for (uint32_t i = 0; i < n; i++) most += o->ev[i].nparts;
  if (most > PML__GROUP_MAX)
    return pml_fail(PML_ETOOMANY, "an event set of %u counters: the most is %u; name fewer places of uncore events",
                    most, PML__GROUP_MAX);
  for (int r = 0; r <= 2; r++)
    for (uint32_t i = 0; i < n; i++) {
      const struct pml_event *ev = &o->ev[i];
      for (uint32_t p = 0; p < ev->nparts; p++)
        if (rank(&ev->part[p]) == r) o->place[o->nplaces++] = (struct place){i, p};
    }
  return 0;
}

/* Would counter @member fit into a group that holds nothing but @leader? Then it is for want of counters that it did
 * not. */
static bool pair_opens(const struct opening *o, uint32_t leader, uint32_t member) {
  struct pml_counter a, b;
  const struct pml_target *t = &o->options->target;
  const struct place *pa = &o->place[leader], *pb = &o->place[member];
  if (pml_counter_open(&a, &o->ev[pa->event], pa->part, t, NULL, PML_OPEN_DISABLED | PML_OPEN_NO_PAGE) < 0)
    return false;
  int rc = pml_counter_open(&b, &o->ev[pb->event], pb->part, t, &a, PML_OPEN_NO_PAGE);
  if (rc == 0) pml_counter_close(&b);
  pml_counter_close(&a);
  return rc == 0;
}

static void put_into_group(struct opening *o, uint32_t counter, uint32_t group) {
  struct pml__eventset_part *p = &o->s->info[o->place[counter].event].part[o->place[counter].part];
  const struct pml_event_part *from = part_at(o, counter);
  (void)snprintf(p->pmu, sizeof p->pmu, "%s%s%s", from->pmu, from->place[0] != '\0' ? ":" : "", from->place);
  p->counter = counter;
  p->group = group;
  p->position = o->s->group[group].n++;
}

/* Does the target run for certain by now? Else nobody can tell a group that waits from one that starves. */
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
  const struct pml_event *ev = &o->ev[o->place[counter].event];
  const struct pml_event_part *p = part_at(o, counter);
  if (!(o->options->flags & PML_EVENTSET_MULTIPLEX) || ev->nparts > 1) return false;
  if (pml__counter_is_software(&p->attr, p->pmu) || !target_runs(&o->options->target)) return false;
  if (group_runs(leader->fd)) return false;
  pml_counter_close(&o->s->counter[counter]);
  return true;
}

/* Returns 0 when it joined, 1 when the group is not for it, or a negative code. */
static int try_group(struct opening *o, uint32_t counter, uint32_t group) {
  struct pml_eventset *s = o->s;
  const struct place *pl = &o->place[counter];
  const struct pml_counter *leader = &s->counter[o->leader[group]];
  const struct pml_event_part *mine = part_at(o, counter), *first = part_at(o, o->leader[group]);
  if (mine->cpu_any != first->cpu_any) return 1;
  if (mine->cpu_any >= 0 && mine->attr.type != first->attr.type) return 1; /* uncore PMUs share no group */
  int rc = pml_counter_open(&s->counter[counter], &o->ev[pl->event], pl->part, &o->options->target, leader,
                            o->options->flags & PML_OPEN_NO_PAGE);
  if (rc == 0) return overfills(o, counter, leader) ? 1 : 0;
  if (rc != PML_ETOOMANY) return rc;
  if (o->options->flags & PML_EVENTSET_MULTIPLEX) return 1;
  char why[512];
  strncpy(why, pml_error_detail(rc), sizeof why - 1);
  why[sizeof why - 1] = '\0';
  return pair_opens(o, o->leader[group], counter) ? pml_fail(rc, "%s", why) : 1;
}

static int lead_group(struct opening *o, uint32_t counter) {
  struct pml_eventset *s = o->s;
  const struct place *pl = &o->place[counter];
  bool alone = o->nplaces == 1 || (o->options->flags & PML_EVENTSET_UNGROUPED) != 0;
  unsigned asked = o->options->flags & (PML_OPEN_NO_PAGE | PML_OPEN_ON_EXEC);
  unsigned flags = PML_OPEN_DISABLED | asked | (alone ? 0 : PML__OPEN_GROUP);
  int rc = pml_counter_open(&s->counter[counter], &o->ev[pl->event], pl->part, &o->options->target, NULL, flags);
  if (rc < 0) return rc;
  o->leader[s->ngroups] = counter;
  put_into_group(o, counter, s->ngroups++);
  return 0;
}

static int open_counter(struct opening *o, uint32_t counter) {
  struct pml_eventset *s = o->s;
  uint32_t ngroups = o->options->flags & PML_EVENTSET_UNGROUPED ? 0 : s->ngroups;
  for (uint32_t g = 0; g < ngroups; g++) {
    int rc = try_group(o, counter, g);
    if (rc == 0) put_into_group(o, counter, g);
    if (rc <= 0) return rc;
  }
  return lead_group(o, counter);
}

/* Where each group's block lies, and each event's word in it. */
static void lay_out(struct opening *o) {
  struct pml_eventset *s = o->s;
  uint32_t word = 0, member = 0;
  for (uint32_t i = 0; i < s->ngroups; i++) {
    struct pml__eventset_group *g = &s->group[i];
    bool grouped = (s->counter[o->leader[i]].flags & PML__OPEN_GROUP) != 0;
    uint32_t words = grouped ? PML__WORD_GROUP_VALUES + g->n : 3;
    g->fd = s->counter[o->leader[i]].fd;
    g->offset = word;
    g->values = word + (grouped ? PML__WORD_GROUP_VALUES : PML__WORD_SINGLE_VALUE);
    g->first = member;
    g->bytes = words * sizeof(uint64_t);
    g->paged = true;
    word += words;
    member += g->n;
  }
  s->clock_word = word;
  s->sde_word = word + 1;
  s->plugin_word = s->sde_word + pml__eventset_sde_words(o->ev, s->n);
  s->sim_word = s->plugin_word + pml__eventset_plugin_words(o->ev, s->n);
  s->words = s->sim_word + pml__eventset_sim_words(o->ev, s->n);
}

static void lay_out_event(struct pml_eventset *s, uint32_t i) {
  struct pml__eventset_info *e = &s->info[i];
  if (e->source == &pml__source_sde || e->source == &pml__source_plugin || e->source == &pml__source_sim)
    return; /* laid out as it is opened */
  if (e->nparts == 0) {
    s->word[i] = s->clock_word;
    s->clocked = true;
    if (strcmp(e->unit, "ns") == 0) s->ns[s->nns++] = i;
    return;
  }
  for (uint32_t p = 0; p < e->nparts; p++) {
    struct pml__eventset_part *part = &e->part[p];
    struct pml__eventset_group *g = &s->group[part->group];
    const struct pml_counter *c = &s->counter[part->counter];
    part->word = g->values + part->position;
    if (p == 0)
      s->word[i] = part->word;
    else
      s->extra[s->nextra++] = (struct pml__eventset_extra){i, part->word};
    s->page[g->first + part->position] = c->page;
    if (c->page == NULL)
      g->paged = false;
    else
      s->owner = c->owner;
  }
}

static int allocate(struct pml_eventset *s, size_t n, size_t parts, size_t other_words) {
  size_t slots = parts > 0 ? parts : 1;
  s->counter = calloc(slots, sizeof *s->counter);
  s->group = calloc(slots, sizeof *s->group);
  s->page = calloc(slots, sizeof *s->page);
  s->extra = calloc(slots, sizeof *s->extra);
  s->info = calloc(n, sizeof *s->info);
  s->word = calloc(n, sizeof *s->word);
  s->ns = calloc(n, sizeof *s->ns);
  size_t most = (4 * slots + 1 + other_words) * sizeof(uint64_t); /* a block has at most 4 words per member */
  most = (most + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
  s->base = aligned_alloc(CACHE_LINE, most);
  s->now = aligned_alloc(CACHE_LINE, most);
  if (!s->counter || !s->group || !s->page || !s->extra || !s->info || !s->word || !s->ns || !s->base || !s->now)
    return pml_fail(-ENOMEM, "event set of %zu events: out of memory", n);
  memset(s->base, 0, most);
  memset(s->now, 0, most);
  s->n = (uint32_t)n;
  return 0;
}

static void describe(struct pml_eventset *s, const struct pml_event *ev) {
  for (uint32_t i = 0; i < s->n; i++) {
    struct pml__eventset_info *e = &s->info[i];
    e->source = ev[i].source;
    e->scale = ev[i].scale;
    e->nparts = ev[i].nparts;
    e->places = e->nparts > 1 && ev[i].part[0].cpu_any >= 0;
    memcpy(e->name, ev[i].name, sizeof e->name);
    memcpy(e->unit, ev[i].unit, sizeof e->unit);
  }
}

static int enable_groups(const struct pml_eventset *s) {
  if (s->flags & PML_EVENTSET_ON_EXEC) return 0;
  for (uint32_t i = 0; i < s->ngroups; i++)
    if (ioctl(s->group[i].fd, PERF_EVENT_IOC_ENABLE, 0) != 0)
      return pml_fail(-errno, "event set: a group cannot be enabled: %s", strerror(errno));
  return 0;
}

/*
 * A group may open and still never get its counters (on x86 the NMI watchdog's is not looked at). It is told from one
 * that waits for its cpu or its thread only where the counting has certainly begun: on this thread, or on a whole cpu.
 */
static int refuse_starved(const struct opening *o) {
  const struct pml_eventset *s = o->s;
  if (!target_runs(&o->options->target) || (s->flags & PML_EVENTSET_MULTIPLEX)) return 0;
  for (uint32_t i = 0; i < s->ngroups; i++) {
    const uint64_t *block = s->base + s->group[i].offset;
    const struct pml_event *ev = &o->ev[o->place[o->leader[i]].event];
    if (ev->nparts > 1) continue; /* hybrid: the other kind of core may be the one that counts */
    if (block[PML__WORD_ENABLED] > 0 && block[PML__WORD_RUNNING] == 0) return pml__counter_starved(ev->name);
  }
  return 0;
}

/* An event is called what it counts. */
static void name_user_only(struct opening *o) {
  for (uint32_t i = 0; i < o->nplaces; i++) {
    if (o->place[i].part > 0 || !(o->s->counter[i].flags & PML_OPENED_USER_ONLY)) continue;
    char *name = o->s->info[o->place[i].event].name;
    size_t n = strlen(name);
    (void)snprintf(name + n, PML_EVENT_NAME_MAX - n, "%s", PML__USER_ONLY);
  }
}

static int open_all(struct opening *o) {
  struct pml_eventset *s = o->s;
  for (; s->ncounters < o->nplaces; s->ncounters++) {
    int rc = open_counter(o, s->ncounters);
    if (rc < 0) return rc;
  }
  name_user_only(o);
  lay_out(o);
  for (uint32_t i = 0; i < s->n; i++) lay_out_event(s, i);
  int rc = pml__eventset_sde_open(s, o->ev, &o->options->target);
  if (rc == 0) rc = pml__eventset_plugin_open(s, o->ev, &o->options->target);
  if (rc == 0) rc = pml__eventset_sim_open(s, o->ev, &o->options->target);
  if (rc < 0) return rc;
  bool paged = false;
  for (uint32_t i = 0; i < s->ngroups; i++) paged |= s->group[i].paged;
  s->simple = s->ngroups == 1 && !paged && !s->clocked && s->nsde + s->nplugin + s->nsim == 0;
  pml__eventset_choose_read(s);
  s->mixed = s->nextra + s->nns + s->nsde + s->nplugin > 0;
  rc = enable_groups(s);
  if (rc < 0) return rc;
  rc = pml_eventset_start(s);
  if (rc < 0) return pml_fail(rc, "event set: its first read failed: %s", pml_error_text(rc));
  return refuse_starved(o);
}

int pml__eventset_open_events(struct pml_eventset **set, const struct pml_event *ev, size_t n,
                              const struct pml_eventset_options *options) {
  static const struct pml_eventset_options none = {0};
  *set = NULL;
  if (n == 0 || n > PML_EVENTSET_MAX)
    return pml_fail(-EINVAL, "an event set takes 1 to %u events, not %zu", PML_EVENTSET_MAX, n);
  int rc = pml_clock_init();
  if (rc < 0) return rc;

  struct opening *o = calloc(1, sizeof *o);
  struct pml_eventset *s = aligned_alloc(CACHE_LINE, (sizeof *s + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE);
  if (o == NULL || s == NULL) {
    rc = pml_fail(-ENOMEM, "event set of %zu events: out of memory", n);
    free(s);
    goto done;
  }
  memset(s, 0, sizeof *s);
  *o = (struct opening){.s = s, .ev = ev, .options = options != NULL ? options : &none};
  s->flags = o->options->flags;
  size_t words = pml__eventset_sde_words(ev, n) + pml__eventset_plugin_words(ev, n) + pml__eventset_sim_words(ev, n);
  rc = list_places(o, n);
  if (rc == 0) rc = allocate(s, n, o->nplaces, words);
  if (rc == 0) {
    describe(s, ev);
    rc = open_all(o);
  }
  if (rc < 0)
    pml_eventset_close(s);
  else
    *set = s;
done:
  free(o);
  return rc;
}

int pml_eventset_open(struct pml_eventset **set, const char *const *names, size_t n,
                      const struct pml_eventset_options *options) {
  *set = NULL;
  if (n == 0 || n > PML_EVENTSET_MAX)
    return pml_fail(-EINVAL, "an event set takes 1 to %u events, not %zu", PML_EVENTSET_MAX, n);
  struct pml_event *ev = calloc(n, sizeof *ev);
  if (ev == NULL) return pml_fail(-ENOMEM, "event set of %zu events: out of memory", n);
  int rc = 0;
  for (size_t i = 0; rc == 0 && i < n; i++) rc = pml_event_parse(&ev[i], names[i]);
  if (rc == 0) rc = pml__eventset_open_events(set, ev, n, options);
  free(ev);
  return rc;
}

size_t pml_eventset_bytes(size_t n) {
  const struct pml_eventset *s = NULL;
  size_t words = 8 * sizeof(uint64_t), indices = 4 * sizeof(uint32_t); /* of both snapshots; word, ns, extra */
  return sizeof *s + n * (sizeof *s->info + sizeof *s->counter + sizeof *s->group + sizeof *s->page + words + indices);
}

void pml_eventset_close(struct pml_eventset *s) {
  if (s == NULL) return;
  while (s->ncounters > 0) pml_counter_close(&s->counter[--s->ncounters]);
  pml__eventset_sde_close(s);
  pml__eventset_plugin_close(s);
  free(s->counter);
  free(s->group);
  free(s->page);
  free(s->extra);
  free(s->info);
  free(s->word);
  free(s->ns);
  free(s->base);
  free(s->now);
  free(s);
}

/* A group takes the page path only as a whole: one member that cannot decides for all. */
static enum pml_path part_path(const struct pml_eventset *s, const struct pml__eventset_part *part, const char **why) {
  if (pml_counter_path(&s->counter[part->counter], why) == PML_PATH_READ) return PML_PATH_READ;
  const struct pml__eventset_group *g = &s->group[part->group];
  bool now = g->paged;
  for (uint32_t i = 0; now && i < g->n; i++) now = s->page[g->first + i]->index != 0;
  if (now) return PML_PATH_PAGE;
  *why = "another event of its group needs read(2), which then reads all";
  return PML_PATH_READ;
}

/* The kernel writes scales as decimals, of as many digits as somebody found enough: 6.103515625e-5 is 2^-14. */
static void find_power(double scale, struct pml_eventset_event *info) {
  double two = round(log2(scale)), ten = round(log10(scale));
  info->binary = fabs(exp2(two) / scale - 1) < 1e-8;
  if (info->binary)
    info->exponent = (int64_t)two;
  else if (fabs(pow(10, ten) / scale - 1) < 1e-8)
    info->exponent = (int64_t)ten;
  if (info->exponent == 0) info->binary = false;
}

int pml_eventset_event(const struct pml_eventset *s, size_t i, struct pml_eventset_event *info) {
  if (i >= s->n) return -ENOENT;
  const struct pml__eventset_info *e = &s->info[i];
  *info = (struct pml_eventset_event){.name = e->name, .unit = e->unit, .scale = e->scale, .nparts = e->nparts};
  info->path = PML_PATH_PAGE;
  for (uint32_t p = 0; p < e->nparts && info->path == PML_PATH_PAGE; p++)
    info->path = part_path(s, &e->part[p], &info->why);
  if (e->nparts > 0 && e->scale > 0 && e->scale != 1) find_power(e->scale, info);
  if (e->source == &pml__source_sde) pml__eventset_sde_describe(s, i, info);
  if (e->source == &pml__source_plugin) pml__eventset_plugin_describe(s, i, info);
  if (e->source == &pml__source_sim) {
    info->path = PML_PATH_READ;
    info->why = "callgrind is asked";
  }
  return 0;
}
