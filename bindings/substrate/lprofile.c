/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/substrate/lprofile.c - pml.profile: call path profiles. */
#include "module.h"
#include "shared.h"

#include <errno.h>
#include <string.h>

struct handle {
  struct lutil_handle h;
  struct pml_profile *profile;
  struct pml_profile_memory memory; /* where the state keeps to a limit */
};

struct function {
  struct pml_profile_function f;
  uint64_t bucket[PML_HISTOGRAM_BUCKETS];
};

LUTIL_CLASS(profile, handle, pml_profile_close(h->profile))

static struct pml_profile *check(lua_State *L) {
  return ((struct handle *)lutil_check(L, 1, &profile_class))->profile;
}

/* It grows on the threads that raise events: events beyond the limit are dropped, and counted. */
static int l_open(lua_State *L) {
  struct handle *h = lutil_new(L, &profile_class, 0, 0);
  int err = pml_profile_open_in(&h->profile, lutil_memory(L, &h->memory));
  return lutil_opened(L, &h->h, err, "profile.open");
}

void lutil_pushprofile(lua_State *L, struct pml_profile *p) {
  struct handle *h = lutil_try_new(L, &profile_class);
  if (h == NULL) {
    pml_profile_close(p);
    (void)lua_error(L);
    return;
  }
  h->profile = p;
  h->h.open = 1;
}

static int keep_node(const struct pml_profile_node *node, void *all) {
  return lutil_add(all, node, sizeof *node) < 0 ? pml_fail(-ENOMEM, "no memory for so many call paths") : 0;
}

static int keep_function(const struct pml_profile_function *f, void *all) {
  struct function of = {.f = *f};
  memcpy(of.bucket, f->bucket, sizeof of.bucket);
  return lutil_add(all, &of, sizeof of) < 0 ? pml_fail(-ENOMEM, "no memory for so many functions") : 0;
}

static void pushnode(lua_State *L, const struct pml_profile_node *node) {
  static const struct field fields[] =
      FIELDS(struct pml_profile_node, region, depth, running, count, inclusive_ns, exclusive_ns, min_ns, max_ns);
  field_push(L, fields, node);
  lutil_setint(L, "threads", node->nthreads);
  field_set_region(L, node->region);
}

static int l_nodes(lua_State *L) {
  check(L);
  struct lutil_rows *all = lutil_rows(L); /* a finalizer may close the profile meanwhile */
  int err = pml_profile_visit(check(L), keep_node, all);
  if (err < 0) return pml_pusherr(L, err, "profile.nodes");
  lua_newtable(L);
  for (size_t at = 0; at < all->used; at += sizeof(struct pml_profile_node)) {
    pushnode(L, (const struct pml_profile_node *)(const void *)(all->at + at));
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  }
  lutil_close(&all->h);
  return 1;
}

static void pushfunction(lua_State *L, const struct function *of) {
  static const struct field fields[] = FIELDS(struct pml_profile_function, region, count, min_ns, median_ns, max_ns);
  field_push(L, fields, &of->f);
  field_set_region(L, of->f.region);
  lua_newtable(L);
  for (uint32_t i = 0; i < PML_HISTOGRAM_BUCKETS; i++) {
    if (of->bucket[i] == 0) continue;
    lua_pushinteger(L, (lua_Integer)of->bucket[i]);
    lua_rawseti(L, -2, i);
  }
  lua_setfield(L, -2, "bucket");
}

/* functions(): of each, bucket[i] calls were no shorter than bucket_ns(i), and shorter than bucket_ns(i + 1). */
static int l_functions(lua_State *L) {
  check(L);
  struct lutil_rows *all = lutil_rows(L); /* a finalizer may close the profile meanwhile */
  int err = pml_profile_functions(check(L), keep_function, all);
  if (err < 0) return pml_pusherr(L, err, "profile.functions");
  lua_newtable(L);
  for (size_t at = 0; at < all->used; at += sizeof(struct function)) {
    pushfunction(L, (const struct function *)(const void *)(all->at + at));
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  }
  lutil_close(&all->h);
  return 1;
}

static int l_bucket_ns(lua_State *L) {
  return lutil_pushnum(L, pml_profile_bucket_ns((uint32_t)lutil_int(L, 1, 0, PML_HISTOGRAM_BUCKETS)));
}

static int l_stats(lua_State *L) {
  static const struct field fields[] = FIELDS(struct pml_profile_stats, threads, events, unmatched, dropped, abandoned);
  struct pml_profile_stats s;
  pml_profile_stats(check(L), &s);
  return field_push(L, fields, &s);
}

int luaopen_pmlua_profile(lua_State *L) {
  static const luaL_Reg methods[] = {{"nodes", l_nodes}, {"functions", l_functions}, {"stats", l_stats}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"open", l_open}, {"bucket_ns", l_bucket_ns}, {NULL, NULL}};
  lutil_class(L, &profile_class, methods, NULL);
  return lutil_module(L, functions);
}
