/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/otf2/write/pml_otf2_openmp.c - teams, tasks and locks of OpenMP in an OTF2 archive. */
#include "read/otf2/write/pml_otf2_openmp.h"

#include "base/pml_array.h"
#include "base/pml_error.h"
#include "base/pml_map.h"

#include <errno.h>
#include <otf2/otf2.h>
#include <stdlib.h>
#include <string.h>

struct member {
  uint32_t team, index, thread; /* thread: the index of the thread in the recording */
};
struct set {
  const struct member *member;
  uint32_t n;
};
struct team {
  uint32_t number, set;
};

struct pml__otf2_teams {
  struct member *member; /* [nmembers] by team and index */
  size_t nmembers, capacity;
  uint32_t nthreads;
  struct team *team; /* [nteams] by number */
  size_t nteams;
  struct set *set; /* [nsets] */
  uint32_t nsets;
  uint32_t first_thread, first_comm; /* the process's first numbers in the archive */
  struct pml__otf2_teams *next;
};

static int no_memory(void) {
  return pml_fail(-ENOMEM, "no memory for the OpenMP teams of a trace");
}

/* ---- members of teams ---- */

static int begin_thread(void *arg, int64_t tid, void **lane) {
  struct pml__otf2_teams *t = arg;
  uint32_t *number = malloc(sizeof *number);
  (void)tid;
  if (number == NULL) return no_memory();
  *number = t->nthreads++;
  *lane = number;
  return 0;
}

static int take_event(void *arg, void *lane, const struct pml__recording_event *e) {
  struct pml__otf2_teams *t = arg;
  if (e->kind != PML_STREAM_OPENMP || e->what != PML__LOG_OPENMP_TEAM_BEGIN || e->nvalues < 2) return 0;
  if (!PML__ARRAY_ROOM(t->member, t->capacity, t->nmembers + 1)) return no_memory();
  t->member[t->nmembers++] =
      (struct member){(uint32_t)e->values[0], (uint32_t)(e->values[1] >> 32), *(const uint32_t *)lane};
  return 0;
}

static int by_team(const void *a, const void *b) {
  const struct member *x = a, *y = b;
  if (x->team != y->team) return x->team < y->team ? -1 : 1;
  return x->index == y->index ? 0 : x->index < y->index ? -1 : 1;
}

/* ---- teams of the same threads ---- */

static bool same(const struct set *s, const struct set *of) {
  uint32_t i = 0;
  if (s->n != of->n) return false;
  while (i < s->n && s->member[i].thread == of->member[i].thread && s->member[i].index == of->member[i].index) i++;
  return i == s->n;
}

/* The number of the set, which is added if it is new; PML__MAP_NONE: no memory. */
static uint32_t set_of(struct pml__otf2_teams *t, struct pml__map *sets, const struct set *s) {
  uint64_t hash = s->n;
  for (uint32_t i = 0; i < s->n; i++) hash = pml__hash(hash, (uint64_t)s->member[i].thread << 32 | s->member[i].index);
  uint32_t at = 0, i = pml__map_next(sets, hash, &at);
  while (i != PML__MAP_NONE && !same(&t->set[i], s)) i = pml__map_next(sets, hash, &at);
  if (i != PML__MAP_NONE || (i = pml__map_add(sets, hash)) == PML__MAP_NONE) return i;
  t->set[t->nsets++] = *s;
  return i;
}

static size_t count_teams(const struct pml__otf2_teams *t) {
  size_t n = 0;
  for (size_t i = 0; i < t->nmembers; i++) n += i == 0 || t->member[i].team != t->member[i - 1].team;
  return n;
}

static int find_sets(struct pml__otf2_teams *t) {
  size_t all = count_teams(t);
  struct pml__map sets = {0};
  uint32_t set = 0;
  t->team = calloc(all, sizeof *t->team);
  t->set = calloc(all, sizeof *t->set);
  if (t->team == NULL || t->set == NULL) return no_memory();
  for (size_t i = 0; i < t->nmembers && set != PML__MAP_NONE;) {
    struct set s = {&t->member[i], 0};
    while (i < t->nmembers && t->member[i].team == s.member->team) i++, s.n++;
    set = set_of(t, &sets, &s);
    t->team[t->nteams++] = (struct team){s.member->team, set};
  }
  pml__map_free(&sets);
  return set != PML__MAP_NONE ? 0 : no_memory();
}

static void free_teams(struct pml__otf2_teams *t) {
  free(t->member);
  free(t->team);
  free(t->set);
  free(t);
}

void pml__otf2_teams_free(struct pml__otf2_teams *t) {
  while (t != NULL) {
    struct pml__otf2_teams *next = t->next;
    free_teams(t);
    t = next;
  }
}

static bool has_openmp(const struct pml_recording_reader *r) {
  size_t i = 0;
  while (i < r->log.n && r->log.entry[i].kind != PML__LOG_OPENMP) i++;
  return i < r->log.n;
}

/* Numbers the teams after the teams of earlier processes. */
static void add_teams(struct pml_otf2 *a, struct pml__otf2_teams *t, uint32_t first_comm) {
  struct pml__otf2_teams **at = &a->teams;
  for (; *at != NULL; at = &(*at)->next) first_comm = (*at)->first_comm + (*at)->nsets;
  t->first_comm = first_comm;
  t->first_thread = (uint32_t)a->nlocations;
  *at = t;
}

int pml__otf2_teams_open(struct pml_otf2 *a, struct pml__otf2_teams **out, const struct pml_recording_reader *r,
                         uint32_t nmetrics, uint32_t first_comm) {
  *out = NULL;
  if (!has_openmp(r)) return 0;
  struct pml__otf2_teams *t = calloc(1, sizeof *t);
  if (t == NULL) return no_memory();
  const struct pml__recording_listener l = {
      .begin = begin_thread, .event = take_event, .free = free, .nmetrics = nmetrics, .arg = t};
  int err = pml__recording_listen(r, &l);
  if (t->nmembers > 0) qsort(t->member, t->nmembers, sizeof *t->member, by_team);
  if (err == 0 && t->nmembers > 0) err = find_sets(t);
  if (err < 0 || t->nmembers == 0) {
    free_teams(t);
    return err;
  }
  add_teams(a, t, first_comm);
  *out = t;
  return 0;
}

/* ---- events ---- */

static int by_number(const void *key, const void *team) {
  uint32_t a = *(const uint32_t *)key, b = ((const struct team *)team)->number;
  return a == b ? 0 : a < b ? -1 : 1;
}

static OTF2_ErrorCode begin_team(struct pml_otf2_location *loc, const struct pml__otf2_teams *t,
                                 struct pml__otf2_openmp *o, uint64_t ticks, const uint64_t *value) {
  const uint32_t number = (uint32_t)value[0];
  const struct team *team = t != NULL ? bsearch(&number, t->team, t->nteams, sizeof *t->team, by_number) : NULL;
  if (o->depth >= PML__OTF2_TEAMS_DEEP || team == NULL) return OTF2_SUCCESS;
  o->in[o->depth].team = t->first_comm + team->set;
  o->in[o->depth++].index = (uint32_t)(value[1] >> 32);
  loc->nevents++;
  return OTF2_EvtWriter_ThreadTeamBegin(loc->writer, NULL, ticks, t->first_comm + team->set);
}

static OTF2_ErrorCode end_team(struct pml_otf2_location *loc, struct pml__otf2_openmp *o, uint64_t ticks) {
  if (o->depth == 0) return OTF2_SUCCESS;
  loc->nevents++;
  return OTF2_EvtWriter_ThreadTeamEnd(loc->writer, NULL, ticks, o->in[--o->depth].team);
}

/* Each thread has a separate implicit task, with number 0. */
static OTF2_ErrorCode write_task(struct pml_otf2_location *loc, const struct pml__otf2_openmp *o, uint64_t ticks,
                                 enum pml__log_openmp_event what, uint64_t task) {
  OTF2_ErrorCode (*write)(OTF2_EvtWriter *, OTF2_AttributeList *, OTF2_TimeStamp, OTF2_CommRef, uint32_t, uint32_t) =
      what == PML__LOG_OPENMP_TASK_CREATED  ? OTF2_EvtWriter_ThreadTaskCreate
      : what == PML__LOG_OPENMP_TASK_SWITCH ? OTF2_EvtWriter_ThreadTaskSwitch
                                            : OTF2_EvtWriter_ThreadTaskComplete;
  if (o->depth == 0) return OTF2_SUCCESS;
  uint32_t team = o->in[o->depth - 1].team, thread = (uint32_t)(task >> 32);
  loc->nevents++;
  return write(loc->writer, NULL, ticks, team, task != 0 ? thread : o->in[o->depth - 1].index, (uint32_t)task);
}

static uint32_t lock_id(uint64_t address) {
  return (uint32_t)(address >> 3 ^ address >> 35);
}

static OTF2_ErrorCode acquire(struct pml_otf2_location *loc, struct pml__otf2_openmp *o, uint64_t ticks,
                              const uint64_t *value) {
  if (o->nheld == PML__OTF2_LOCKS_HELD) return OTF2_SUCCESS;
  o->held[o->nheld].lock = value[0];
  o->held[o->nheld++].order = (uint32_t)value[1];
  loc->nevents++;
  return OTF2_EvtWriter_ThreadAcquireLock(loc->writer, NULL, ticks, OTF2_PARADIGM_OPENMP, lock_id(value[0]),
                                          (uint32_t)value[1]);
}

static OTF2_ErrorCode release(struct pml_otf2_location *loc, struct pml__otf2_openmp *o, uint64_t ticks,
                              uint64_t lock) {
  uint32_t i = o->nheld;
  while (i > 0 && o->held[i - 1].lock != lock) i--;
  if (i == 0) return OTF2_SUCCESS;
  uint32_t order = o->held[i - 1].order;
  memmove(&o->held[i - 1], &o->held[i], (o->nheld - i) * sizeof o->held[0]);
  o->nheld--;
  loc->nevents++;
  return OTF2_EvtWriter_ThreadReleaseLock(loc->writer, NULL, ticks, OTF2_PARADIGM_OPENMP, lock_id(lock), order);
}

static OTF2_ErrorCode write_event(struct pml_otf2_location *loc, const struct pml__otf2_teams *t,
                                  struct pml__otf2_openmp *o, uint64_t ticks, const struct pml__recording_event *e) {
  static const uint32_t least[] = {
      [PML__LOG_OPENMP_FORK] = 1,          [PML__LOG_OPENMP_TEAM_BEGIN] = 2,   [PML__LOG_OPENMP_TEAM_END] = 1,
      [PML__LOG_OPENMP_TASK_CREATED] = 1,  [PML__LOG_OPENMP_TASK_SWITCH] = 1,  [PML__LOG_OPENMP_TASK_COMPLETE] = 1,
      [PML__LOG_OPENMP_LOCK_ACQUIRED] = 2, [PML__LOG_OPENMP_LOCK_RELEASED] = 1};
  if (e->what >= sizeof least / sizeof least[0] || e->nvalues < least[e->what]) return OTF2_SUCCESS;
  switch ((enum pml__log_openmp_event)e->what) {
  case PML__LOG_OPENMP_FORK:
    o->forks++;
    loc->nevents++;
    return OTF2_EvtWriter_ThreadFork(loc->writer, NULL, ticks, OTF2_PARADIGM_OPENMP, (uint32_t)e->values[0]);
  case PML__LOG_OPENMP_JOIN:
    if (o->forks == 0) return OTF2_SUCCESS; /* the fork was before the last events, which are kept */
    o->forks--;
    loc->nevents++;
    return OTF2_EvtWriter_ThreadJoin(loc->writer, NULL, ticks, OTF2_PARADIGM_OPENMP);
  case PML__LOG_OPENMP_TEAM_BEGIN:
    return begin_team(loc, t, o, ticks, e->values);
  case PML__LOG_OPENMP_TEAM_END:
    return end_team(loc, o, ticks);
  case PML__LOG_OPENMP_LOCK_ACQUIRED:
    return acquire(loc, o, ticks, e->values);
  case PML__LOG_OPENMP_LOCK_RELEASED:
    return release(loc, o, ticks, e->values[0]);
  default:
    return e->what != 0 ? write_task(loc, o, ticks, (enum pml__log_openmp_event)e->what, e->values[0]) : OTF2_SUCCESS;
  }
}

int pml__otf2_openmp_event(struct pml_otf2 *a, struct pml_otf2_location *loc, const struct pml__otf2_teams *t,
                           struct pml__otf2_openmp *o, uint64_t ticks, const struct pml__recording_event *e) {
  uint64_t before = loc->nevents;
  return pml__otf2_wrote(a, loc, ticks, before, write_event(loc, t, o, ticks, e));
}

/* ---- definitions ---- */

/* The group of all threads, to which members of other groups refer. */
static void define_threads(struct pml__otf2_defs *d, OTF2_GroupRef group) {
  uint32_t n = 0;
  for (const struct pml_otf2_location *loc = d->a->first; loc != NULL; loc = loc->next) n += loc->series == NULL;
  uint64_t *ref = calloc((size_t)n + 1, sizeof *ref);
  if (ref == NULL) {
    d->err = d->err != 0 ? d->err : no_memory();
    return;
  }
  n = 0;
  for (const struct pml_otf2_location *loc = d->a->first; loc != NULL; loc = loc->next)
    if (loc->series == NULL) ref[n++] = loc->ref;
  OTF2_StringRef name = pml__otf2_string(d, "OpenMP threads");
  pml__otf2_defined(d, OTF2_GlobalDefWriter_WriteGroup(d->out, group, name, OTF2_GROUP_TYPE_COMM_LOCATIONS,
                                                       OTF2_PARADIGM_OPENMP, OTF2_GROUP_FLAG_NONE, n, ref));
  free(ref);
}

static void define_team(struct pml__otf2_defs *d, const struct pml__otf2_teams *t, uint32_t set, OTF2_GroupRef group,
                        OTF2_StringRef name) {
  const struct set *s = &t->set[set];
  uint64_t *member = calloc(s->n, sizeof *member);
  if (member == NULL) {
    d->err = d->err != 0 ? d->err : no_memory();
    return;
  }
  for (uint32_t i = 0; i < s->n; i++) member[i] = t->first_thread + s->member[i].thread;
  pml__otf2_defined(d, OTF2_GlobalDefWriter_WriteGroup(d->out, group, name, OTF2_GROUP_TYPE_COMM_GROUP,
                                                       OTF2_PARADIGM_OPENMP, OTF2_GROUP_FLAG_NONE, s->n, member));
  pml__otf2_defined(d, OTF2_GlobalDefWriter_WriteComm(d->out, t->first_comm + set, name, group, OTF2_UNDEFINED_COMM,
                                                      OTF2_COMM_FLAG_NONE));
  free(member);
}

void pml__otf2_define_teams(struct pml__otf2_defs *d) {
  if (d->a->teams == NULL) return;
  OTF2_GroupRef group = d->ngroups++;
  define_threads(d, group);
  OTF2_StringRef name = pml__otf2_string(d, "OpenMP team");
  for (const struct pml__otf2_teams *t = d->a->teams; t != NULL; t = t->next)
    for (uint32_t i = 0; i < t->nsets; i++) define_team(d, t, i, d->ngroups++, name);
}

bool pml__otf2_openmp_role(const char *name, uint8_t *role) {
  static const char *const text[] = {
#define NAME(construct, name) [PML__LOG_OPENMP_##construct] = name,
      PML__LOG_OPENMP_LIST(NAME)
#undef NAME
  };
  static const uint8_t is[PML__LOG_OPENMP_CONSTRUCTS] = {[PML__LOG_OPENMP_PARALLEL] = OTF2_REGION_ROLE_PARALLEL,
                                                         [PML__LOG_OPENMP_LOOP] = OTF2_REGION_ROLE_LOOP,
                                                         [PML__LOG_OPENMP_TASKLOOP] = OTF2_REGION_ROLE_LOOP,
                                                         [PML__LOG_OPENMP_SECTIONS] = OTF2_REGION_ROLE_SECTIONS,
                                                         [PML__LOG_OPENMP_SINGLE] = OTF2_REGION_ROLE_SINGLE,
                                                         [PML__LOG_OPENMP_WORKSHARE] = OTF2_REGION_ROLE_WORKSHARE,
                                                         [PML__LOG_OPENMP_SCOPE] = OTF2_REGION_ROLE_WORKSHARE,
                                                         [PML__LOG_OPENMP_DISTRIBUTE] = OTF2_REGION_ROLE_WORKSHARE,
                                                         [PML__LOG_OPENMP_MASKED] = OTF2_REGION_ROLE_MASTER,
                                                         [PML__LOG_OPENMP_BARRIER] = OTF2_REGION_ROLE_BARRIER,
                                                         [PML__LOG_OPENMP_IMPLICIT_BARRIER] =
                                                             OTF2_REGION_ROLE_IMPLICIT_BARRIER,
                                                         [PML__LOG_OPENMP_TASKWAIT] = OTF2_REGION_ROLE_TASK_WAIT,
                                                         [PML__LOG_OPENMP_TASKGROUP] = OTF2_REGION_ROLE_TASK_WAIT,
                                                         [PML__LOG_OPENMP_CRITICAL] = OTF2_REGION_ROLE_CRITICAL,
                                                         [PML__LOG_OPENMP_ORDERED] = OTF2_REGION_ROLE_ORDERED,
                                                         [PML__LOG_OPENMP_TASK] = OTF2_REGION_ROLE_TASK};
  if (strncmp(name, "omp ", 4) != 0) return false;
  for (size_t i = 1; i < sizeof text / sizeof text[0]; i++) {
    size_t n = strlen(text[i]);
    if (strncmp(name + 4, text[i], n) != 0 || (name[4 + n] != '\0' && strncmp(name + 4 + n, " @", 2) != 0)) continue;
    *role = is[i] != 0 ? is[i] : OTF2_REGION_ROLE_CODE;
    return true;
  }
  return false;
}
