/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/otf2/pml_otf2_scopes.c - scopes of the metric instances of an archive. */
#include "base/pml_array.h"
#include "base/pml_map.h"
#include "read/otf2/pml_otf2_read_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

/* A text that is written from its end, because a scope's parts are known from the innermost to the outermost. */
struct label {
  char text[512];
  size_t at;
};

/* Parts that do not fit are omitted. A part without a name has its number. */
static void prepend(struct label *l, const char *kind, const char *name, uint64_t id) {
  char part[256], number[24];
  (void)snprintf(number, sizeof number, "%" PRIu64, id);
  (void)snprintf(part, sizeof part, "%.60s:%.180s%s", kind, name[0] != '\0' ? name : number,
                 l->text[l->at] != '\0' ? "/" : "");
  size_t n = strlen(part);
  if (n > l->at) return;
  l->at -= n;
  memcpy(l->text + l->at, part, n);
}

static const struct pml_otf2_read_node *node_at(const struct pml_otf2_read *t, size_t i) {
  return (const struct pml_otf2_read_node *)(const void *)t->nodes.at + i;
}

/* The only root contains all nodes, and is omitted unless it is the scope. */
static void prepend_nodes(struct label *l, const struct pml_otf2_read *t, size_t roots, size_t i) {
  for (size_t steps = 0; i != PML_OTF2_NONE && steps < t->nodes.n; steps++, i = node_at(t, i)->parent) {
    const struct pml_otf2_read_node *node = node_at(t, i);
    if (node->parent == PML_OTF2_NONE && roots == 1 && l->text[l->at] != '\0') return;
    prepend(l, node->kind[0] != '\0' ? node->kind : "node", node->name, node->id);
  }
}

static void prepend_process(struct label *l, const struct pml_otf2_read *t, size_t roots, size_t i) {
  const struct pml_otf2_read_process *process = (const void *)t->processes.at;
  prepend(l, "process", process[i].name, process[i].id);
  prepend_nodes(l, t, roots, process[i].node);
}

static void label_of(struct label *l, const struct pml_otf2_read *t, size_t roots, const struct pml__otf2_class *c) {
  const struct pml_otf2_read_location *location = (const void *)t->locations.at;
  const struct pml__otf2_group *group = (const void *)t->groups.at;
  const struct pml__otf2_list *lists[] = {[OTF2_SCOPE_LOCATION] = &t->locations,
                                          [OTF2_SCOPE_LOCATION_GROUP] = &t->processes,
                                          [OTF2_SCOPE_SYSTEM_TREE_NODE] = &t->nodes,
                                          [OTF2_SCOPE_GROUP] = &t->groups};
  size_t i = c->kind < sizeof lists / sizeof *lists ? pml__otf2_find(lists[c->kind], c->scope) : PML_OTF2_NONE;
  l->at = sizeof l->text - 1;
  l->text[l->at] = '\0';
  if (i == PML_OTF2_NONE) {
    prepend(l, "undefined", "", c->scope);
  } else if (c->kind == OTF2_SCOPE_LOCATION) {
    prepend(l, "location", location[i].name, location[i].id);
    prepend_process(l, t, roots, location[i].process);
  } else if (c->kind == OTF2_SCOPE_LOCATION_GROUP) {
    prepend_process(l, t, roots, i);
  } else if (c->kind == OTF2_SCOPE_SYSTEM_TREE_NODE) {
    prepend_nodes(l, t, roots, i);
  } else {
    prepend(l, "group", group[i].is.name, group[i].is.id);
  }
}

/* ---- instances ---- */

struct key {
  size_t metric;
  OTF2_MetricScope kind;
  uint64_t scope;
};

/* The metrics that are added have the numbers @first, @first + 1, ... and the keys @key[0], @key[1], ... */
struct scopes {
  struct pml_otf2_read *trace;
  size_t roots, first, room;
  struct pml__map map;
  struct key *key;
};

static bool is_own_process(const struct pml_otf2_read *t, const struct pml__otf2_class *c) {
  const struct pml_otf2_read_location *location = (const void *)t->locations.at;
  size_t i = c->kind == OTF2_SCOPE_LOCATION_GROUP ? pml__otf2_find(&t->locations, c->recorder) : PML_OTF2_NONE;
  return i != PML_OTF2_NONE && pml__otf2_id(&t->processes, location[i].process) == c->scope;
}

/* The copy of metric @metric for the scope of @c; PML_OTF2_NONE: no memory. */
static size_t add_metric(struct scopes *s, size_t metric, const struct pml__otf2_class *c) {
  struct label l;
  struct pml_otf2_read_metric *to = pml__otf2_add(s->trace, &s->trace->metrics);
  if (to == NULL) return PML_OTF2_NONE;
  *to = ((const struct pml_otf2_read_metric *)(const void *)s->trace->metrics.at)[metric];
  to->own = NULL;
  label_of(&l, s->trace, s->roots, c);
  const char *scope = l.text + l.at;
  size_t name = strlen(to->name) + strlen(" ()") + strlen(scope) + 1, n = name + strlen(scope) + 1;
  to->own = malloc(n);
  if (to->own == NULL) return PML_OTF2_NONE;
  (void)snprintf(to->own, name, "%s (%s)", to->name, scope);
  memcpy(to->own + name, scope, n - name);
  to->name = to->own;
  to->scope = to->own + name;
  return s->trace->metrics.n - 1;
}

static size_t metric_of(struct scopes *s, size_t metric, const struct pml__otf2_class *c) {
  uint64_t hash = pml__hash(pml__hash(pml__hash(PML__HASH, metric), c->kind), c->scope);
  uint32_t at = 0, i;
  if (metric == PML_OTF2_NONE) return metric;
  while (s->key != NULL && (i = pml__map_next(&s->map, hash, &at)) != PML__MAP_NONE)
    if (s->key[i].metric == metric && s->key[i].kind == c->kind && s->key[i].scope == c->scope) return s->first + i;
  bool good = PML__ARRAY_ROOM(s->key, s->room, s->map.n + 1) && pml__map_add(&s->map, hash) != PML__MAP_NONE;
  if (good) s->key[s->map.n - 1] = (struct key){metric, c->kind, c->scope};
  size_t added = good ? add_metric(s, metric, c) : PML_OTF2_NONE;
  s->trace->refused |= added == PML_OTF2_NONE;
  return added;
}

/* A location's own values need no scope, unless the class also has values of processes. */
static bool needs_scope(const struct pml_otf2_read *t, const struct pml__otf2_class *c,
                        const struct pml__otf2_class *like) {
  if (c->kind == OTF2_SCOPE_LOCATION && c->scope == c->recorder) return like->of_process;
  return !is_own_process(t, c);
}

static void resolve(struct scopes *s, struct pml__otf2_class *c, const struct pml__otf2_class *like) {
  size_t *metric = calloc(like->n + (size_t)1, sizeof *metric);
  s->trace->refused |= metric == NULL;
  for (uint32_t k = 0; metric != NULL && k < like->n; k++) metric[k] = metric_of(s, like->metric[k], c);
  c->n = metric != NULL ? like->n : 0;
  c->metric = metric;
}

bool pml__otf2_resolve_scopes(struct pml_otf2_read *t) {
  struct pml__otf2_class *class = (void *)t->classes.at;
  struct scopes s = {.trace = t, .first = t->metrics.n};
  for (size_t i = 0; i < t->nodes.n; i++) s.roots += node_at(t, i)->parent == PML_OTF2_NONE;
  for (int round = 0; round < 2; round++)
    for (size_t i = 0; i < t->classes.n && !t->refused; i++) {
      size_t like = class[i].like != class[i].id ? pml__otf2_find(&t->classes, class[i].like) : PML_OTF2_NONE;
      if (like == PML_OTF2_NONE || class[like].like != class[like].id) continue;
      if (round == 0)
        class[like].of_process |= is_own_process(t, &class[i]);
      else if (needs_scope(t, &class[i], &class[like]))
        resolve(&s, &class[i], &class[like]);
    }
  free(s.key);
  pml__map_free(&s.map);
  return !t->refused;
}
