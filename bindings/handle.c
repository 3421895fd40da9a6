/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/handle.c - handles: userdata that own a resource of the core. */
#include "handle.h"

#include "argument.h"
#include "live/limit.h"
#include "pml.h"
#include "refusal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void pushmetatable(lua_State *L, const struct lutil_class *class);

void *lutil_new(lua_State *L, const struct lutil_class *class, size_t extra, int values) {
  struct lutil_handle *h = lua_newuserdatauv(L, class->size + extra, values);
  memset(h, 0, class->size + extra);
  h->class = class;
  pushmetatable(L, class);
  lua_setmetatable(L, -2);
  struct limit *limit = limit_account(L);
  if (limit == NULL || !limit->abandonable) return h;
  h->after = limit->handles;
  if (h->after != NULL) h->after->before = h;
  limit->handles = h;
  return h;
}

/* A handle is in the list until it is closed, or collected without. */
static void unlink_handle(lua_State *L, struct lutil_handle *h) {
  struct limit *limit = limit_account(L);
  if (limit == NULL || !limit->abandonable || (h->before == NULL && limit->handles != h)) return;
  if (h->before != NULL)
    h->before->after = h->after;
  else
    limit->handles = h->after;
  if (h->after != NULL) h->after->before = h->before;
  h->before = h->after = NULL;
}

void lutil_abandon(struct limit *limit) {
  for (struct lutil_handle *h = limit->handles; h != NULL; h = h->after) lutil_close(h);
  limit->handles = NULL;
}

void *lutil_test(lua_State *L, int idx, const struct lutil_class *class) {
  if (lua_type(L, idx) != LUA_TUSERDATA || lua_rawlen(L, idx) < class->size) return NULL;
  struct lutil_handle *h = lua_touserdata(L, idx);
  return h->class == class ? h : NULL;
}

void *lutil_self(lua_State *L, int arg, const struct lutil_class *class) {
  void *h = lutil_test(L, arg, class);
  if (h == NULL) luaL_typeerror(L, arg, class->name);
  return h;
}

void *lutil_check(lua_State *L, int arg, const struct lutil_class *class) {
  struct lutil_handle *h = lutil_self(L, arg, class);
  if (!h->open) luaL_error(L, "%s: the handle is closed", class->name);
  return h;
}

int lutil_charge(lua_State *L, struct lutil_handle *h, size_t bytes) {
  struct limit *account;
  int err = limit_charge(L, bytes, &account);
  if (err < 0 || account == NULL) return err;
  h->account = account;
  h->charged += bytes;
  return 0;
}

static void *take(void *account, uint32_t whose, uint32_t part, size_t bytes) {
  (void)whose, (void)part;
  return limit_take(account, bytes);
}

static void give(void *account, void *memory) {
  limit_give(account, memory);
}

static void name_nothing(void *account, pml_region_t region) {
  (void)account, (void)region;
}

const struct pml_profile_memory *lutil_memory(lua_State *L, struct pml_profile_memory *m) {
  *m = (struct pml_profile_memory){.get = take, .put = give, .name = name_nothing, .arg = limit_account(L)};
  return m->arg != NULL ? m : NULL;
}

void lutil_uncharge(struct lutil_handle *h) {
  limit_discharge(h->account, h->charged);
  h->account = NULL;
  h->charged = 0;
}

void lutil_close(struct lutil_handle *h) {
  if (!h->open) return;
  h->open = 0;
  if (h->class->close != NULL) h->class->close(h);
  lutil_uncharge(h);
}

int lutil_call_closed(lua_State *L, struct lutil_handle *h, lua_CFunction f, void *arg) {
  lua_settop(L, 1);
  lua_pushcfunction(L, f);
  lua_pushlightuserdata(L, arg);
  h->open = 0;
  int rc = lua_pcall(L, 1, LUA_MULTRET, 0);
  h->open = 1;
  return rc != LUA_OK ? lua_error(L) : lua_gettop(L) - 1;
}

int lutil_opened(lua_State *L, struct lutil_handle *h, int err, const char *where) {
  h->open = err >= 0;
  if (h->open) return 1;
  lutil_uncharge(h);
  return pml_pusherr(L, err, where);
}

static int new_handle(lua_State *L) {
  lutil_new(L, lua_touserdata(L, 1), 0, 0);
  return 1;
}

void *lutil_try_new(lua_State *L, const struct lutil_class *class) {
  luaL_checkstack(L, 4, NULL);
  lua_pushcfunction(L, new_handle);
  lua_pushlightuserdata(L, (void *)class);
  return lua_pcall(L, 1, 1, 0) == LUA_OK ? lua_touserdata(L, -1) : NULL;
}

static void rows_close(void *handle) {
  free(((struct lutil_rows *)handle)->at);
}

static const struct lutil_class rows_class = {"rowsofbytes", sizeof(struct lutil_rows), rows_close};

/* Push an open handle of a class that no module declares. */
static void *new_unnamed(lua_State *L, const struct lutil_class *class) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, class) == LUA_TNIL) lutil_class(L, class, NULL, NULL);
  lua_pop(L, 1);
  struct lutil_handle *h = lutil_new(L, class, 0, 0);
  h->open = 1;
  return h;
}

struct lutil_rows *lutil_rows(lua_State *L) {
  return new_unnamed(L, &rows_class);
}

int lutil_add(struct lutil_rows *r, const void *bytes, size_t n) {
  if (n > r->capacity - r->used) {
    size_t capacity = 2 * r->capacity + n + 4096;
    char *at = realloc(r->at, capacity);
    if (at == NULL) return -ENOMEM;
    r->at = at;
    r->capacity = capacity;
  }
  memcpy(r->at + r->used, bytes, n);
  r->used += n;
  return 0;
}

static void guard_close(void *handle) {
  struct lutil_guard *g = handle;
  if (g->of != NULL) g->release(g->of);
}

static const struct lutil_class guard_class = {"guard", sizeof(struct lutil_guard), guard_close};

struct lutil_guard *lutil_guard(lua_State *L, void (*release)(void *of)) {
  struct lutil_guard *g = new_unnamed(L, &guard_class);
  g->release = release;
  return g;
}

/* The class is an upvalue, so that one function serves all. */
static const struct lutil_class *upclass(lua_State *L) {
  return lua_touserdata(L, lua_upvalueindex(1));
}

static int h_close(lua_State *L) {
  struct lutil_handle *h = lutil_self(L, 1, upclass(L));
  lutil_close(h);
  unlink_handle(L, h);
  return 0;
}

static int h_tostring(lua_State *L) {
  const struct lutil_class *class = upclass(L);
  const struct lutil_handle *h = lutil_self(L, 1, class);
  if (h->open)
    lua_pushfstring(L, "%s (%p)", class->name, (const void *)h);
  else
    lua_pushfstring(L, "%s (closed)", class->name);
  return 1;
}

static void setclosure(lua_State *L, const struct lutil_class *class, lua_CFunction f, const char *key) {
  lua_pushlightuserdata(L, (void *)class);
  lua_pushcclosure(L, f, 1);
  lua_setfield(L, -2, key);
}

static const char recipes = 0; /* its address marks a userdata as one */

/* The parts of a class's metatable; a userdata in the registry, under the class's key, until the first handle. */
struct recipe {
  const char *mark;
  const luaL_Reg *methods;
  lua_CFunction index;
};

void lutil_class(lua_State *L, const struct lutil_class *class, const luaL_Reg *methods, lua_CFunction index) {
  struct recipe *r = lua_newuserdatauv(L, sizeof *r, 0);
  *r = (struct recipe){&recipes, methods, index};
  lua_rawsetp(L, LUA_REGISTRYINDEX, class);
}

/* Push the metatable. */
static void make(lua_State *L, const struct lutil_class *class, const struct recipe *r) {
  lua_createtable(L, 0, 8);
  lua_pushfstring(L, "pml.%s", class->name);
  lua_setfield(L, -2, "__name");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  setclosure(L, class, h_close, "__gc");
  setclosure(L, class, h_close, "__close");
  setclosure(L, class, h_tostring, "__tostring");
  lua_newtable(L); /* the methods */
  setclosure(L, class, h_close, "close");
  for (const luaL_Reg *m = r->methods; m != NULL && m->name != NULL; m++) {
    lua_pushcfunction(L, m->func);
    lua_setfield(L, m->name[0] == '_' ? -3 : -2, m->name);
  }
  lutil_strict(L, class->name);
  if (r->index != NULL) lua_pushcclosure(L, r->index, 1);
  lua_setfield(L, -2, "__index");
}

/* Push it. A program uses few of the classes: the first handle of each makes its metatable. */
static void pushmetatable(lua_State *L, const struct lutil_class *class) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, class) != LUA_TUSERDATA) return;
  make(L, class, lua_touserdata(L, -1));
  lua_remove(L, -2);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, class);
}

static bool isrecipe(lua_State *L, int idx) {
  const struct recipe *r = lua_type(L, idx) == LUA_TUSERDATA ? lua_touserdata(L, idx) : NULL;
  return r != NULL && lua_rawlen(L, idx) == sizeof *r && r->mark == &recipes;
}

int lutil_metatables(lua_State *L) {
  lua_settop(L, 0);
  lua_newtable(L);
  for (lua_pushnil(L); lua_next(L, LUA_REGISTRYINDEX) != 0; lua_settop(L, 2)) {
    if (isrecipe(L, 3)) {
      pushmetatable(L, lua_touserdata(L, 2));
      lua_replace(L, 3);
    }
    if (!lua_istable(L, 3)) continue;
    lua_pushliteral(L, "__name");
    if (lua_rawget(L, 3) == LUA_TSTRING) {
      lua_pushvalue(L, 3);
      lua_settable(L, 1);
    }
  }
  return 1;
}
