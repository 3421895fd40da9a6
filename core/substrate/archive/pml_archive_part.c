/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/substrate/archive/pml_archive_part.c - one process's part of an archive, written separately and merged.
 *
 * A part numbers its own threads, regions, metrics and teams. Its event files move into the whole archive unchanged;
 * mapping tables in the local definitions lead from the part's numbers to those of the whole. The leader gives these in
 * the order of processes, so that they do not depend on which process wrote a part.
 */
#include "substrate/archive/pml_archive_part.h"
#include "base/pml_error.h"
#include "substrate/archive/pml_archive_share.h"
#include "substrate/trace/pml_otf2_openmp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the definitions of a part ---- */

static void serialize_metric(struct pml__serializer *c, struct pml_otf2_metric *m) {
  uint32_t mode = (uint32_t)m->mode;
  pml__serialize_text(c, (char **)(uintptr_t)&m->name);
  pml__serialize_text(c, (char **)(uintptr_t)&m->description);
  pml__serialize_text(c, (char **)(uintptr_t)&m->unit);
  pml__serialize_32(c, &mode);
  if (mode >= PML_MODES) c->failed = true;
  m->mode = mode < PML_MODES ? (enum pml_mode)mode : PML_MODE_ABSOLUTE_POINT;
  pml__serialize_64(c, (uint64_t *)&m->exponent);
  pml__serialize_bool(c, &m->binary);
  pml__serialize_bool(c, &m->real);
  pml__serialize_bool(c, &m->is_signed);
}

static void serialize_sets(struct pml__serializer *c, struct pml__otf2_set *s) {
  for (; s != NULL; s = s->next) {
    bool more = s->next != NULL;
    pml__serialize_32(c, &s->class);
    pml__serialize_list(c, (void **)&s->metric, &s->n, sizeof *s->metric);
    for (size_t i = 0; i < s->n; i++) serialize_metric(c, &s->metric[i]);
    pml__serialize_bool(c, &more);
    if (more && c->reads) s->next = calloc(1, sizeof *s->next);
    c->failed |= more && s->next == NULL;
  }
}

static void serialize_series(struct pml__serializer *c, struct pml_otf2_location *l) {
  bool is = l->series != NULL;
  pml__serialize_bool(c, &is);
  if (is && c->reads) l->series = calloc(1, sizeof *l->series);
  c->failed |= is && l->series == NULL;
  if (l->series == NULL) return;
  serialize_metric(c, &l->series->metric);
  pml__serialize_32(c, &l->series->class);
  pml__serialize_32(c, &l->series->ref);
}

static void serialize_location(struct pml__serializer *c, struct pml_otf2_location *l) {
  pml__serialize_text(c, &l->name);
  pml__serialize_64(c, &l->nevents);
  pml__serialize_64(c, &l->first_written);
  pml__serialize_64(c, &l->last_written);
  pml__serialize_64(c, &l->discarded);
  pml__serialize_64(c, &l->closed);
  pml__serialize_64(c, &l->dropped);
  pml__serialize_64(c, &l->lifted);
  pml__serialize_64(c, &l->unmatched);
  serialize_series(c, l);
}

static void serialize_locations(struct pml__serializer *c, struct pml_otf2 *o) {
  uint64_t n = o->nlocations;
  struct pml_otf2_location *l = o->first;
  pml__serialize_64(c, &n);
  for (uint64_t i = 0; i < n && !pml__serialize_failed(c); i++) {
    if (c->reads) {
      l = pml__otf2_location_new();
      c->failed |= l == NULL;
      if (l == NULL) return;
      l->ref = i;
      pml__otf2_add_location(o, l);
    }
    serialize_location(c, l);
    l = l->next;
  }
}

/* A region by its name, as another process interns it. */
static void serialize_region(struct pml__serializer *c, struct pml_otf2 *o, pml_region_t region) {
  struct pml_region_info info = {.name = "", .file = ""};
  uint32_t ref;
  if (!c->reads) (void)pml_region_describe(region, &info);
  char *name = (char *)(uintptr_t)info.name, *file = (char *)(uintptr_t)info.file;
  pml__serialize_text(c, &name);
  pml__serialize_text(c, &file);
  pml__serialize_32(c, &info.line);
  if (!c->reads) return;
  c->failed |= name == NULL || file == NULL || pml_region_intern(name, file, info.line, &region) < 0 ||
               pml__otf2_region(o, region, &ref) < 0;
  free(name);
  free(file);
}

static void serialize_regions(struct pml__serializer *c, struct pml_otf2 *o) {
  pml_region_t *by_ref = NULL;
  uint32_t n = o->nregions;
  pml__serialize_32(c, &n);
  if (!c->reads && (by_ref = pml__otf2_regions(o)) == NULL) c->failed = true;
  for (uint32_t ref = 0; ref < n && !pml__serialize_failed(c); ref++)
    serialize_region(c, o, by_ref != NULL ? by_ref[ref] : 0);
  free(by_ref);
}

static void serialize_singles(struct pml__serializer *c, struct pml_otf2 *o) {
  size_t n = o->nsingles;
  pml__serialize_list(c, (void **)&o->single, &n, sizeof *o->single);
  o->nsingles = (uint32_t)n;
  for (size_t i = 0; i < n; i++) {
    serialize_metric(c, &o->single[i].metric);
    pml__serialize_32(c, &o->single[i].class);
  }
}

/* Facts about the process of a part that its archive does not have. */
struct told {
  uint64_t threads, first_thread; /* first_thread: the one with the events of MPI */
  uint64_t events, open;
  struct pml__archive_calls calls;
};

static void serialize_part(struct pml__serializer *c, struct pml_otf2 *o, struct told *t) {
  pml__serialize_64(c, &t->threads);
  pml__serialize_64(c, &t->first_thread);
  pml__serialize_64(c, &t->events);
  pml__serialize_64(c, &t->open);
  pml__serialize_32(c, &o->nclasses);
  serialize_sets(c, &o->own);
  serialize_singles(c, o);
  serialize_regions(c, o);
  serialize_locations(c, o);
  pml__otf2_serialize_teams(c, o);
  pml__archive_calls_serialize(c, &t->calls);
}

/* Whether the numbers that the part says it has are those of what is in it. */
static bool is_sound(const struct pml_otf2 *o, const struct told *t) {
  uint64_t classes = o->nsingles, threads = 0;
  for (const struct pml__otf2_set *s = &o->own; s != NULL; s = s->next) classes += pml__otf2_class(s, s->n) - s->class;
  for (const struct pml_otf2_location *l = o->first; l != NULL; l = l->next) {
    threads += l->series == NULL;
    classes += l->series != NULL ? 2 : 0;
  }
  return o->nclasses == classes && t->threads == threads && (t->first_thread == 0 || t->first_thread < threads);
}

static int serialize_file(struct pml_otf2 *o, struct told *t, const char *path, bool reads) {
  struct pml__serializer c;
  int err = pml__serialize_begin(&c, reads ? path : NULL);
  if (err < 0) return err;
  serialize_part(&c, o, t);
  if (reads && !is_sound(o, t)) c.failed = true;
  return pml__serialize_end(&c, path);
}

/* ---- write a part ---- */

struct since {
  const struct pml__archive *a;
  const struct pml__archive_process *p;
};

/* Values from before the process began are left out. */
static uint64_t time_since(uint64_t ticks, const void *arg) {
  const struct since *s = arg;
  return ticks >= s->p->own.started_ticks ? pml__archive_time(s->a, s->p, ticks) : PML__OTF2_NEVER;
}

static int write_series(struct pml__archive *a, const struct pml__archive_process *p, struct pml__otf2_process *in) {
  const struct since s = {a, p};
  int err = pml__otf2_series_of(a->otf2, p->log->path, in, time_since, &s);
  for (size_t i = 0; i < p->log->nseries && err == 0; i++)
    err = pml__otf2_series_of(a->otf2, p->log->series[i], in, time_since, &s);
  return err;
}

/* Series come last: threads have the first numbers. */
static int write_events(struct pml__archive *a, struct pml__archive_process *p, struct told *t) {
  struct pml__otf2_process *in;
  int err = pml__otf2_add_process(a->otf2, p->name, p->host, &in);
  if (err == 0) err = pml__archive_events(a, p, in, &t->calls);
  t->threads = a->otf2->nlocations;
  return err == 0 ? write_series(a, p, in) : err;
}

static int write_in(struct pml__archive *a, struct pml__archive_process *p, const char *folder) {
  char path[PATH_MAX + 16];
  struct pml_archive_story story = {0}, *whole = a->story;
  struct told t = {0};
  int err = pml__otf2_open_logs(&a->otf2, folder, a->origin_ns);
  if (err < 0) return err;
  a->story = &story;
  err = write_events(a, p, &t);
  a->story = whole;
  int closed = pml__otf2_close_part(a->otf2);
  t.events = story.events;
  t.open = story.open;
  if (p->rank >= 0) t.first_thread = a->mpi.location[p->index];
  (void)snprintf(path, sizeof path, "%s/part", folder);
  if (err == 0) err = closed;
  if (err == 0) err = serialize_file(a->otf2, &t, path, false);
  free(t.calls.call);
  pml__otf2_free(a->otf2);
  a->otf2 = NULL;
  return err;
}

/* The rename fails if another process was faster: its part is there already. */
int pml__archive_part_write(struct pml__archive *a, uint32_t i) {
  char folder[PATH_MAX], name[PATH_MAX];
  (void)snprintf(folder, sizeof folder, "%s/%u.XXXXXX", a->share.dir, i);
  (void)snprintf(name, sizeof name, "%s/%u", a->share.dir, i);
  if (mkdtemp(folder) == NULL) {
    int err = -errno;
    return pml_fail(err, "cannot make a folder in '%s': %s", a->share.dir, pml_error_text(err));
  }
  int err = write_in(a, &a->process[i], folder);
  if (err != 0 || rename(folder, name) != 0) pml__archive_remove(folder);
  return err;
}

/* ---- take a part into the whole ---- */

/* Map the numbers of the part to those of the whole. */
static int map_metrics(const struct pml_otf2 *part, struct pml_otf2 *whole, struct pml__otf2_map *map) {
  const struct pml__otf2_set *to;
  uint32_t single;
  int err = 0;
  for (const struct pml__otf2_set *s = &part->own; s != NULL && err == 0; s = s->next) {
    err = pml__otf2_add_set(whole, s->metric, s->n, &to);
    for (uint32_t k = s->class; err == 0 && k < pml__otf2_class(s, s->n) && k < map->n[PML__OTF2_MAP_METRIC]; k++)
      map->to[PML__OTF2_MAP_METRIC][k] = to->class + (k - s->class);
  }
  for (uint32_t i = 0; i < part->nsingles && err == 0; i++) {
    err = pml__otf2_add_single(whole, &part->single[i].metric, &single);
    if (err == 0 && part->single[i].class < map->n[PML__OTF2_MAP_METRIC])
      map->to[PML__OTF2_MAP_METRIC][part->single[i].class] = whole->single[single].class;
  }
  return err;
}

static void map_series(struct pml_otf2 *whole, struct pml__otf2_map *map, struct pml__otf2_series *s) {
  uint32_t class = s->class, ref = s->ref;
  s->class = whole->nclasses++;
  s->ref = whole->nclasses++;
  if (class >= map->n[PML__OTF2_MAP_METRIC] || ref >= map->n[PML__OTF2_MAP_METRIC]) return;
  map->to[PML__OTF2_MAP_METRIC][class] = s->class;
  map->to[PML__OTF2_MAP_METRIC][ref] = s->ref;
}

static int map_regions(const struct pml_otf2 *part, struct pml_otf2 *whole, struct pml__otf2_map *map) {
  pml_region_t *by_ref = pml__otf2_regions(part);
  int err = by_ref == NULL ? pml_fail(-ENOMEM, "no memory for %u regions of a trace", part->nregions) : 0;
  for (uint32_t i = 0; i < part->nregions && err == 0; i++) {
    uint32_t ref;
    err = pml__otf2_region(whole, by_ref[i], &ref);
    map->to[PML__OTF2_MAP_REGION][i] = ref;
  }
  free(by_ref);
  return err;
}

/* All parts number communicators of MPI alike; teams follow these. */
static void map_teams(const struct pml__archive *a, struct pml_otf2 *part, struct pml_otf2 *whole, uint64_t thread,
                      struct pml__otf2_map *map) {
  uint32_t first = pml__otf2_teams_take(whole, part, a->mpi.ncomms, (uint32_t)thread);
  for (size_t i = 0; i < map->n[PML__OTF2_MAP_COMM]; i++)
    map->to[PML__OTF2_MAP_COMM][i] = i < a->mpi.ncomms ? i : first + (i - a->mpi.ncomms);
}

static int move_events(const struct pml__archive *a, uint32_t i, uint64_t from, const struct pml_otf2 *whole,
                       uint64_t to) {
  char old[PATH_MAX + 64], new[PATH_MAX + 64];
  (void)snprintf(old, sizeof old, "%s/%u/traces/%llu.evt", a->share.dir, i, (unsigned long long)from);
  (void)snprintf(new, sizeof new, "%s/traces/%llu.evt", whole->dir, (unsigned long long)to);
  if (rename(old, new) == 0) return 0;
  int err = -errno;
  return pml_fail(err, "cannot move '%s' to '%s': %s", old, new, pml_error_text(err));
}

static int take_locations(struct pml__archive *a, uint32_t i, struct pml_otf2 *part, struct pml__archive_merge *m,
                          struct pml__otf2_process *in, const struct pml__otf2_map *map) {
  int err = 0;
  while (part->first != NULL && err == 0) {
    struct pml_otf2_location *l = part->first;
    uint64_t from = l->ref;
    part->first = l->next;
    l->next = NULL;
    l->ref = l->series == NULL ? m->thread++ : m->series++;
    l->process = in;
    l->map = map;
    if (l->series == NULL) {
      pml__otf2_add_location(m->whole, l);
    } else {
      *m->last = l;
      m->last = &l->next;
    }
    err = move_events(a, i, from, m->whole, l->ref);
  }
  return err;
}

static int take(struct pml__archive *a, uint32_t i, struct pml_otf2 *part, struct pml__archive_merge *m,
                const struct told *t) {
  struct pml__archive_process *p = &a->process[i];
  struct pml__otf2_process *in;
  const size_t n[PML__OTF2_MAPS] = {part->nregions, part->nclasses, a->mpi.ncomms + pml__otf2_teams_sets(part)};
  struct pml__otf2_map *map = pml__otf2_map_new(m->whole, n);
  if (map == NULL) return pml_fail(-ENOMEM, "no memory for the numbers of a trace");
  if (p->rank >= 0) a->mpi.location[p->index] = m->thread + t->first_thread;
  a->story->events += t->events;
  a->story->open += t->open;
  int err = pml__otf2_add_process(m->whole, p->name, p->host, &in);
  if (err == 0) err = map_regions(part, m->whole, map);
  if (err == 0) err = map_metrics(part, m->whole, map);
  map_teams(a, part, m->whole, m->thread, map);
  for (struct pml_otf2_location *l = part->first; l != NULL; l = l->next)
    if (l->series != NULL) map_series(m->whole, map, l->series);
  return err == 0 ? take_locations(a, i, part, m, in, map) : err;
}

static void path_of_part(const struct pml__archive *a, uint32_t i, char path[PATH_MAX]) {
  (void)snprintf(path, PATH_MAX, "%s/%u/part", a->share.dir, i);
}

int pml__archive_part_take(struct pml__archive *a, uint32_t i, struct pml__archive_merge *m) {
  char path[PATH_MAX];
  struct told t = {0};
  struct pml_otf2 *part;
  path_of_part(a, i, path);
  int err = pml__otf2_new(&part, path);
  if (err == 0) err = serialize_file(part, &t, path, true);
  if (err == 0) err = take(a, i, part, m, &t);
  if (err == 0) err = pml__archive_waits_take(&m->waits, a, i, &t.calls);
  free(t.calls.call);
  if (part != NULL) pml__otf2_free(part);
  return err;
}

int pml__archive_part_threads(const struct pml__archive *a, uint32_t i, uint64_t *threads) {
  struct pml__serializer c;
  char path[PATH_MAX];
  path_of_part(a, i, path);
  int err = pml__serialize_begin(&c, path);
  if (err < 0) return err;
  pml__serialize_64(&c, threads);
  return pml__serialize_end(&c, path);
}
