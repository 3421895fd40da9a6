/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/lutil.c - helpers of all bindings: handles, failures, options. */
#include "lutil.h"

#include "base/text/pml_nearest.h"
#include "failure.h"
#include "live/limit.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* --- handles --- */

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
  *m = (struct pml_profile_memory){take, give, name_nothing, limit_account(L)};
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

#define NEAREST_TEXT_MAX (PML__NEAREST_MAX * (PML__NEAREST_NAME + 2) + 16)

/* "script.lua:3: " of the innermost Lua function: an index function may have asked for another one. */
static void push_place(lua_State *L) {
  lua_Debug at;
  for (int level = 1; lua_getstack(L, level, &at); level++) {
    lua_getinfo(L, "Sl", &at);
    if (at.currentline <= 0) continue;
    lua_pushfstring(L, "%s:%d: ", at.short_src, at.currentline);
    return;
  }
  lua_pushliteral(L, "");
}

int lutil_unknown(lua_State *L, const char *what, int known) {
  char text[NEAREST_TEXT_MAX];
  struct pml__nearest near = {.want = luaL_tolstring(L, -1, NULL)};
  known = lua_absindex(L, known);
  for (lua_pushnil(L); lua_next(L, known) != 0; lua_pop(L, 1))
    if (lua_type(L, -2) == LUA_TSTRING) pml__nearest_offer(&near, lua_tostring(L, -2));
  push_place(L);
  lua_pushfstring(L, "%s has no '%s'%s", what, near.want, pml__nearest_text(&near, text, sizeof text));
  lua_concat(L, 2);
  return lua_error(L);
}

static int m_index(lua_State *L) {
  lua_settop(L, 2);
  return lutil_unknown(L, lua_tostring(L, lua_upvalueindex(1)), 1);
}

void lutil_strict(lua_State *L, const char *what) {
  lua_createtable(L, 0, 1);
  lua_pushstring(L, what);
  lua_pushcclosure(L, m_index, 1);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
}

static const char recipes = 0; /* its address marks a userdata as one */

/* What a class's metatable is made of; a userdata at the class's place in the registry until the first handle. */
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
  for (const luaL_Reg *m = r->methods; m->name != NULL; m++) {
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

/* --- failures --- */

/* Their addresses are keys of the registry: the last failure's sentence, and the line of the script that got it. */
static const char refusal = 0, refused_at = 0;
/* That of the name of the script's chunk, as lua_Debug has it. */
static const char script = 0;

void lutil_script(lua_State *L, const char *source) {
  lua_pushstring(L, source);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &script);
}

/* "FILE:LINE" of the script's line that runs, or nil. */
static void pushplace(lua_State *L) {
  lua_Debug ar;
  int known = lua_rawgetp(L, LUA_REGISTRYINDEX, &script) == LUA_TSTRING;
  const char *source = known ? lua_tostring(L, -1) : "";
  for (int level = 1; known && lua_getstack(L, level, &ar) != 0; level++) {
    lua_getinfo(L, "Sl", &ar);
    if (strcmp(ar.source, source) != 0 || ar.currentline < 1) continue;
    lua_pop(L, 1);
    lua_pushfstring(L, "%s:%d", ar.short_src, ar.currentline);
    return;
  }
  lua_pop(L, 1);
  lua_pushnil(L);
}

/* What went on with the nil that a refusal gave fails with one of these. */
static int isaboutnil(const char *msg) {
  return strstr(msg, "a nil value") != NULL || strstr(msg, "with nil") != NULL || strstr(msg, "nil with") != NULL ||
         strstr(msg, "got nil") != NULL;
}

void lutil_explain(lua_State *L) {
  const char *msg = lua_tostring(L, -1);
  if (msg == NULL || !isaboutnil(msg)) return;
  int top = lua_gettop(L);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &refused_at);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &refusal);
  const char *place = lua_tostring(L, -2), *sentence = lua_tostring(L, -1);
  if (place != NULL && sentence != NULL) {
    lua_pushfstring(L, "%s; the last refusal, at %s, was: %s", msg, place, sentence);
    lua_replace(L, top);
  }
  lua_settop(L, top);
}

int lutil_explained(lua_State *L) {
  luaL_checkstring(L, 1);
  lua_settop(L, 1);
  lutil_explain(L);
  return 1;
}

void lutil_refused(lua_State *L) {
  luaL_tolstring(L, -1, NULL);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &refusal);
  pushplace(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &refused_at);
}

int pml_pusherr(lua_State *L, int err, const char *where) {
  struct pml_failure f; /* a copy: a finalizer run by the pushes below may fail at something else */
  pml_error_failure(err, &f);
  const char *name = pml_error_name(err);
  lua_pushnil(L);
  failure_push(L, where, name, f.text, f.remedy);
  lutil_refused(L);
  lua_pushstring(L, name);
  return 3;
}

int lutil_refusal(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &refusal);
  lua_pushnil(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &refusal);
  return 1;
}

int pml_pushdone(lua_State *L, int err, const char *where) {
  if (err < 0) return pml_pusherr(L, err, where);
  lua_pushboolean(L, 1);
  return 1;
}

/* --- arguments --- */

static void rangeerror(lua_State *L, int arg, const char *what, lua_Integer min, lua_Integer max) {
  const char *msg =
      max == LUA_MAXINTEGER
          ? lua_pushfstring(L, "%smust be an integer not below %I", what, (LUAI_UACINT)min)
          : lua_pushfstring(L, "%smust be an integer from %I to %I", what, (LUAI_UACINT)min, (LUAI_UACINT)max);
  luaL_argerror(L, arg, msg);
}

lua_Integer lutil_int(lua_State *L, int arg, lua_Integer min, lua_Integer max) {
  lua_Integer v = luaL_checkinteger(L, arg);
  if (v < min || v > max) rangeerror(L, arg, "", min, max);
  return v;
}

lua_Integer lutil_optint(lua_State *L, int arg, lua_Integer def, lua_Integer min, lua_Integer max) {
  return lua_isnoneornil(L, arg) ? def : lutil_int(L, arg, min, max);
}

const char *lutil_string(lua_State *L, int arg) {
  size_t len;
  const char *s = luaL_checklstring(L, arg, &len);
  if (strlen(s) != len) luaL_argerror(L, arg, "the string contains a zero byte");
  return s;
}

const char *lutil_optstring(lua_State *L, int arg, const char *def) {
  return lua_isnoneornil(L, arg) ? def : lutil_string(L, arg);
}

/* --- options --- */

static int isknown(const char *key, const char *const *known) {
  for (; *known != NULL; known++)
    if (strcmp(key, *known) == 0) return 1;
  return 0;
}

/* The key is on top. */
static void unknown_option(lua_State *L, int arg, const char *const *known) {
  char text[NEAREST_TEXT_MAX];
  struct pml__nearest near = {.want = luaL_tolstring(L, -1, NULL)};
  for (; *known != NULL; known++) pml__nearest_offer(&near, *known);
  const char *nearest = pml__nearest_text(&near, text, sizeof text);
  luaL_argerror(L, arg, lua_pushfstring(L, "unknown option '%s'%s", near.want, nearest));
}

void lutil_options(lua_State *L, int arg, const char *const *known) {
  if (lua_isnoneornil(L, arg)) return;
  luaL_checktype(L, arg, LUA_TTABLE);
  for (lua_pushnil(L); lua_next(L, arg) != 0; lua_pop(L, 1)) {
    if (lua_type(L, -2) == LUA_TSTRING && isknown(lua_tostring(L, -2), known)) continue;
    lua_pop(L, 1);
    unknown_option(L, arg, known);
  }
}

int lutil_field(lua_State *L, int arg, const char *key) {
  arg = lua_absindex(L, arg);
  luaL_checkstack(L, 3, NULL);
  if (lua_type(L, arg) != LUA_TTABLE) {
    lua_pushnil(L);
    return LUA_TNIL;
  }
  lua_pushstring(L, key);
  return lua_rawget(L, arg);
}

int lutil_flag(lua_State *L, int arg, const char *key) {
  int type = lutil_field(L, arg, key), v = lua_toboolean(L, -1);
  lua_pop(L, 1);
  if (type != LUA_TNIL && type != LUA_TBOOLEAN)
    luaL_argerror(L, arg, lua_pushfstring(L, "option '%s' must be true or false", key));
  return v;
}

lua_Integer lutil_intfield(lua_State *L, int arg, const char *key, lua_Integer def, lua_Integer min, lua_Integer max) {
  int ok = 0, type = lutil_field(L, arg, key);
  lua_Integer v = type == LUA_TNUMBER ? lua_tointegerx(L, -1, &ok) : def;
  lua_pop(L, 1);
  if (type == LUA_TNIL) return def;
  if (!ok || v < min || v > max) rangeerror(L, arg, lua_pushfstring(L, "option '%s' ", key), min, max);
  return v;
}

int lutil_form(lua_State *L, int arg) {
  static const char *const forms[] = {"csv", "json", "jsonl", "sql", NULL};
  (void)lutil_field(L, arg, "form");
  int form = luaL_checkoption(L, -1, "csv", forms);
  lua_pop(L, 1);
  return form;
}

const char *lutil_stringfield(lua_State *L, int arg, const char *key, const char *def) {
  size_t len;
  int type = lutil_field(L, arg, key);
  if (type == LUA_TNIL) return def;
  if (type != LUA_TSTRING) luaL_argerror(L, arg, lua_pushfstring(L, "option '%s' must be a string", key));
  const char *s = lua_tolstring(L, -1, &len);
  if (strlen(s) != len) luaL_argerror(L, arg, lua_pushfstring(L, "option '%s' contains a zero byte", key));
  return s;
}

size_t lutil_names(lua_State *L, int arg, const char **names, size_t max) {
  luaL_checktype(L, arg, LUA_TTABLE);
  size_t n = lua_rawlen(L, arg), len;
  if (n < 1 || n > max) luaL_argerror(L, arg, lua_pushfstring(L, "a list of 1 to %d names is needed", (int)max));
  luaL_checkstack(L, (int)n + LUA_MINSTACK, NULL);
  for (size_t i = 0; i < n; i++) {
    if (lua_rawgeti(L, arg, (lua_Integer)i + 1) != LUA_TSTRING)
      luaL_argerror(L, arg, lua_pushfstring(L, "name %d is a %s, not a string", (int)i + 1, luaL_typename(L, -1)));
    names[i] = lua_tolstring(L, -1, &len);
    if (strlen(names[i]) != len) luaL_argerror(L, arg, lua_pushfstring(L, "name %d contains a zero byte", (int)i + 1));
  }
  return n;
}

void lutil_target(lua_State *L, int arg, struct pml_target *target) {
  target->pid = (pid_t)lutil_intfield(L, arg, "pid", 0, -1, INT_MAX);
  target->cpu_plus = (int)lutil_intfield(L, arg, "cpu", -1, 0, INT_MAX - 1) + 1;
  target->inherit = lutil_flag(L, arg, "inherit");
}

/* --- results --- */

void lutil_setint(lua_State *L, const char *key, uint64_t v) {
  lua_pushinteger(L, (lua_Integer)v);
  lua_setfield(L, -2, key);
}

void lutil_setnum(lua_State *L, const char *key, double v) {
  lua_pushnumber(L, v);
  lua_setfield(L, -2, key);
}

void lutil_setstr(lua_State *L, const char *key, const char *v) {
  if (v == NULL) return;
  lua_pushstring(L, v);
  lua_setfield(L, -2, key);
}

void lutil_setbool(lua_State *L, const char *key, int v) {
  lua_pushboolean(L, v);
  lua_setfield(L, -2, key);
}

void lutil_setreading(lua_State *L, const struct pml_reading *r) {
  lutil_setint(L, "raw", r->raw);
  lutil_setint(L, "enabled_ns", r->enabled_ns);
  lutil_setint(L, "running_ns", r->running_ns);
  lutil_setnum(L, "scaled", pml_reading_scaled(r));
}
