/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/sde/pml_sde_group.c - groups of events: copy-on-write member lists. */
#include "source/sde/pml_sde_private.h"

#include "base/pml_error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 8u
#define DEPTH_MAX 64u /* nesting limit of groups: readers recurse */

static struct pml__sde_members *members_of(const struct pml__sde_body *group) {
  return atomic_load_explicit(&((struct pml__sde_body *)group)->members, memory_order_acquire);
}

static uint32_t count_of(const struct pml__sde_members *m) {
  return m == NULL ? 0 : atomic_load_explicit(&((struct pml__sde_members *)m)->n, memory_order_acquire);
}

static struct pml__sde_members *members_new(uint32_t capacity, struct pml__sde_members *before) {
  struct pml__sde_members *m = calloc(1, sizeof *m + capacity * sizeof m->leaf[0]);
  if (m == NULL) return NULL;
  m->capacity = capacity;
  m->before = before;
  return m;
}

/* The leaf is written before the count that shows it: a reader that acquires the count sees whole leaves. */
static void append(struct pml__sde_members *m, struct pml__sde_body *b) {
  uint32_t n = count_of(m);
  struct pml__sde_leaf *leaf = &m->leaf[n];
  bool variable = b->kind == PML_SDE_REGISTERED;
  leaf->at = variable ? b->variable : b;
  leaf->body = b;
  leaf->relative = (b->mode & PML_SDE_INSTANT) != 0 ? 0 : UINT64_MAX;
  atomic_init(&leaf->type, variable ? (int)b->type : PML__LEAF_BODY);
  atomic_store_explicit(&m->n, n + 1, memory_order_release);
}

static bool is_there(const struct pml__sde_leaf *leaf) {
  return atomic_load_explicit(&((struct pml__sde_leaf *)leaf)->type, memory_order_relaxed) != PML__LEAF_GONE;
}

static struct pml__sde_leaf *find_leaf(struct pml__sde_body *group, const struct pml__sde_body *b) {
  struct pml__sde_members *m = members_of(group);
  for (uint32_t i = 0; i < count_of(m); i++)
    if (m->leaf[i].body == b && is_there(&m->leaf[i])) return &m->leaf[i];
  return NULL;
}

uint64_t pml__sde_walk(void) {
  static uint64_t walks;
  return ++walks;
}

/* How deep groups lie in @b, or DEPTH_MAX and more: too deep, or @wanted is among them. */
static unsigned depth_to(struct pml__sde_body *b, const struct pml__sde_body *wanted, uint64_t walk) {
  if (b == wanted) return DEPTH_MAX;
  if (b->kind != PML_SDE_GROUP) return 0;
  if (b->walked == walk) return b->depth;
  const struct pml__sde_members *m = members_of(b);
  unsigned most = 0;
  for (uint32_t i = 0; i < count_of(m) && most < DEPTH_MAX; i++) {
    if (!is_there(&m->leaf[i])) continue;
    unsigned d = depth_to(m->leaf[i].body, wanted, walk) + 1;
    if (d > most) most = d;
  }
  b->walked = walk;
  b->depth = most;
  return most;
}

static uint32_t alive(const struct pml__sde_members *m) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < count_of(m); i++) n += is_there(&m->leaf[i]);
  return n;
}

/* A copy with room for twice the current members, without removed ones. */
static struct pml__sde_members *outgrow(struct pml__sde_members *m) {
  uint32_t n = alive(m);
  struct pml__sde_members *larger = members_new(n < FIRST_CAPACITY / 2 ? FIRST_CAPACITY : 2 * n, m);
  if (larger == NULL) return NULL;
  for (uint32_t i = 0; i < count_of(m); i++)
    if (is_there(&m->leaf[i])) append(larger, m->leaf[i].body);
  return larger;
}

static int add_member(struct pml__sde_body *group, struct pml__sde_body *b) {
  struct pml__sde_members *m = members_of(group);
  bool full = m == NULL || count_of(m) == m->capacity;
  if (full) m = outgrow(m);
  if (m == NULL) return -ENOMEM;
  b->groups++; /* first: a child must not find it in a group that it does not leave */
  append(m, b);
  if (full) atomic_store_explicit(&group->members, m, memory_order_release);
  pml__sde_grows();
  return 0;
}

/* The group's outgrown lists are freed with the member that leaves, because its removal waits for readers anyway. */
static void take_outgrown(struct pml__sde_body *b, struct pml__sde_members *m) {
  struct pml__sde_members **end = &b->outgrown;
  struct pml__sde_members *outgrown = m->before;
  while (*end != NULL) end = &(*end)->before;
  __atomic_store_n(&m->before, NULL, __ATOMIC_RELEASE); /* first: in a child it must not be in two lists */
  __atomic_store_n(end, outgrown, __ATOMIC_RELEASE);
}

static int leave_one(struct pml_sde_event *ev, void *body) {
  struct pml__sde_body *b = body, *group = pml__sde_body_of(ev);
  if (group == NULL || group->kind != PML_SDE_GROUP) return 0;
  struct pml__sde_leaf *leaf = find_leaf(group, b);
  if (leaf == NULL) return 0;
  atomic_store_explicit(&leaf->type, PML__LEAF_GONE, memory_order_seq_cst);
  take_outgrown(b, members_of(group));
  return --b->groups == 0;
}

void pml__sde_leave_groups(struct pml__sde_body *b) {
  if (b->groups > 0) (void)pml__sde_each(leave_one, b);
}

static int new_group(struct pml_sde_event *ev, struct pml_sde_library *lib, enum pml_sde_operation operation) {
  struct pml__sde_body *b =
      pml__sde_body_new(PML_SDE_GROUP, PML_TYPE_INT64, operation == PML_SDE_SUM ? PML_SDE_DELTA : PML_SDE_INSTANT);
  if (b == NULL) return -ENOMEM;
  b->operation = operation;
  pml__sde_fill(ev, lib, b);
  return 0;
}

static bool can_be_member(const struct pml__sde_body *b) {
  return b != NULL && b->kind != PML_SDE_RECORDER && b->kind != PML_SDE_SET && b->kind != PML_SDE_QUANTILE;
}

static int add(struct pml_sde_library *lib, const char *event, const char *group, enum pml_sde_operation operation) {
  const struct pml_sde_event *member = pml__sde_lookup(event);
  struct pml__sde_body *b = member != NULL ? pml__sde_body_of(member) : NULL;
  if (!can_be_member(b))
    return pml_fail(-EINVAL, "%s cannot be in group %s: %s", event, group,
                    b == NULL ? "no library has registered it" : "it has no single value");
  struct pml_sde_event *g = pml__sde_obtain(lib, group);
  if (g == NULL) return pml_fail(-ENOMEM, "group %s: out of memory", group);
  struct pml__sde_body *gb = pml__sde_body_of(g);
  int rc = gb == NULL ? new_group(g, lib, operation) : 0;
  if (rc < 0) pml__sde_event_free(pml__sde_drop(g));
  if (rc < 0) return pml_fail(rc, "group %s: out of memory", group);
  gb = pml__sde_body_of(g);
  if (gb->kind != PML_SDE_GROUP || gb->operation != operation)
    return pml_fail(-EINVAL, "%s already exists and is %s", group,
                    gb->kind != PML_SDE_GROUP ? "not a group" : "a group with another operation");
  if (find_leaf(gb, b) != NULL) return 0;
  if (depth_to(b, gb, pml__sde_walk()) + 1 >= DEPTH_MAX)
    return pml_fail(-EINVAL, "%s cannot be in group %s: a cycle, or groups nested more than %u deep", event, group,
                    DEPTH_MAX);
  rc = add_member(gb, b);
  return rc < 0 ? pml_fail(rc, "group %s: out of memory", group) : 0;
}

int pml_sde_group_add(struct pml_sde_library *lib, const char *event, const char *group,
                      enum pml_sde_operation operation) {
  char member[PML__SDE_NAME_MAX], name[PML__SDE_NAME_MAX];
  if ((unsigned)operation > PML_SDE_MIN) return pml_fail(-EINVAL, "unknown operation of a group: %d", (int)operation);
  int rc = pml__sde_full_name(member, lib, event);
  if (rc == 0) rc = pml__sde_full_name(name, lib, group);
  if (rc < 0) return rc;
  pml__sde_lock();
  rc = add(lib, member, name, operation);
  pml__sde_unlock();
  return rc;
}
