/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/substrate/lprofile.c - pml.profile: call path profiles. */
#include "lutil.h"

#include "base/pml_array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct handle {
  struct lutil_handle h;
  struct pml_profile *profile;
  struct pml_profile_memory memory; /* where the state keeps to a limit */
};

static void profile_close(void *handle) {
  struct handle *h = handle;
  pml_profile_close(h->profile);
  h->profile = NULL;
}

/* Holds what a visit told while tables are built from it: a finalizer may close the profile meanwhile. */
struct kept {
  struct lutil_handle h;
  char *item;
  size_t n, capacity;
};

struct function {
  struct pml_profile_function f;
  uint64_t bucket[PML_HISTOGRAM_BUCKETS];
};

static void kept_close(void *handle) {
  struct kept *all = handle;
  free(all->item);
  all->item = NULL;
}

static const struct lutil_class profile_class = {"profile", sizeof(struct handle), profile_close};
static const struct lutil_class kept_class = {"profilekept", sizeof(struct kept), kept_close};

static struct pml_profile *check(lua_State *L) {
  return ((struct handle *)lutil_check(L, 1, &profile_class))->profile;
}

/* It grows on the threads that raise events: what does not fit the limit is dropped, and counted. */
static int l_open(lua_State *L) {
  struct handle *h = lutil_new(L, &profile_class, 0, 0);
  int err = pml_profile_open_in(&h->profile, lutil_memory(L, &h->memory));
  if (err < 0) return pml_pusherr(L, err, "profile.open");
  h->h.open = 1;
  return 1;
}

/* Makes the handle in protected mode: the profile has no owner yet. */
static int new_handle(lua_State *L) {
  lutil_new(L, &profile_class, 0, 0);
  return 1;
}

void lutil_pushprofile(lua_State *L, struct pml_profile *p) {
  luaL_checkstack(L, 4, NULL);
  lua_pushcfunction(L, new_handle);
  if (lua_pcall(L, 0, 1, 0) != LUA_OK) {
    pml_profile_close(p);
    lua_error(L);
  }
  struct handle *h = lua_touserdata(L, -1);
  h->profile = p;
  h->h.open = 1;
}

/* Where one more of @bytes goes; NULL: no memory. */
static void *more(struct kept *all, size_t bytes) {
  if (!PML__ARRAY_ROOM(all->item, all->capacity, (all->n + 1) * bytes)) return NULL;
  return all->item + bytes * all->n++;
}

static int keep_node(const struct pml_profile_node *node, void *arg) {
  struct pml_profile_node *to = more(arg, sizeof *to);
  if (to == NULL) return pml_fail(-ENOMEM, "no memory for so many call paths");
  *to = *node;
  return 0;
}

static int keep_function(const struct pml_profile_function *f, void *arg) {
  struct function *to = more(arg, sizeof *to);
  if (to == NULL) return pml_fail(-ENOMEM, "no memory for so many functions");
  to->f = *f;
  memcpy(to->bucket, f->bucket, sizeof to->bucket);
  return 0;
}

static void pushnode(lua_State *L, const struct pml_profile_node *node) {
  struct pml_region_info info = {.name = "?"};
  (void)pml_region_describe(node->region, &info);
  lua_createtable(L, 0, 11);
  lutil_setstr(L, "name", info.name);
  lutil_setstr(L, "file", info.file);
  lutil_setint(L, "region", node->region);
  lutil_setint(L, "depth", node->depth);
  lutil_setint(L, "threads", node->nthreads);
  lutil_setint(L, "running", node->running);
  lutil_setint(L, "count", node->count);
  lutil_setnum(L, "inclusive_ns", node->inclusive_ns);
  lutil_setnum(L, "exclusive_ns", node->exclusive_ns);
  lutil_setnum(L, "min_ns", node->min_ns);
  lutil_setnum(L, "max_ns", node->max_ns);
}

static int l_nodes(lua_State *L) {
  check(L);
  struct kept *all = lutil_new(L, &kept_class, 0, 0);
  all->h.open = 1;
  int err = pml_profile_visit(check(L), keep_node, all);
  if (err < 0) return pml_pusherr(L, err, "profile.nodes");
  lua_newtable(L);
  for (size_t i = 0; i < all->n; i++) {
    pushnode(L, (struct pml_profile_node *)all->item + i);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lutil_close(&all->h);
  return 1;
}

static void pushfunction(lua_State *L, const struct function *of) {
  struct pml_region_info info = {.name = "?"};
  (void)pml_region_describe(of->f.region, &info);
  lua_createtable(L, 0, 8);
  lutil_setstr(L, "name", info.name);
  lutil_setstr(L, "file", info.file);
  lutil_setint(L, "region", of->f.region);
  lutil_setint(L, "count", of->f.count);
  lutil_setnum(L, "min_ns", of->f.min_ns);
  lutil_setnum(L, "median_ns", of->f.median_ns);
  lutil_setnum(L, "max_ns", of->f.max_ns);
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
  struct kept *all = lutil_new(L, &kept_class, 0, 0);
  all->h.open = 1;
  int err = pml_profile_functions(check(L), keep_function, all);
  if (err < 0) return pml_pusherr(L, err, "profile.functions");
  lua_newtable(L);
  for (size_t i = 0; i < all->n; i++) {
    pushfunction(L, (struct function *)all->item + i);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lutil_close(&all->h);
  return 1;
}

static int l_bucket_ns(lua_State *L) {
  lua_pushnumber(L, pml_profile_bucket_ns((uint32_t)lutil_int(L, 1, 0, PML_HISTOGRAM_BUCKETS)));
  return 1;
}

static int l_stats(lua_State *L) {
  struct pml_profile_stats s;
  pml_profile_stats(check(L), &s);
  lua_createtable(L, 0, 5);
  lutil_setint(L, "threads", s.threads);
  lutil_setint(L, "events", s.events);
  lutil_setint(L, "unmatched", s.unmatched);
  lutil_setint(L, "dropped", s.dropped);
  lutil_setint(L, "abandoned", s.abandoned);
  return 1;
}

int luaopen_pmlua_profile(lua_State *L) {
  static const luaL_Reg methods[] = {{"nodes", l_nodes}, {"functions", l_functions}, {"stats", l_stats}, {NULL, NULL}};
  static const luaL_Reg none[] = {{NULL, NULL}};
  static const luaL_Reg functions[] = {{"open", l_open}, {"bucket_ns", l_bucket_ns}, {NULL, NULL}};
  lutil_class(L, &profile_class, methods, NULL);
  lutil_class(L, &kept_class, none, NULL);
  luaL_newlib(L, functions);
  return 1;
}
