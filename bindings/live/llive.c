/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/live/llive.c - pml.live: the live service of this process, and actions of its rules. */
#include "live/live.h"
#include "module.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int l_start(lua_State *L) {
  static const struct option known[] = {OPTIONS(struct pmlua_live_options, name, rules),
                                        OPTION_BIT(struct pmlua_live_options, "unasked", unasked, 1), OPTION_END};
  char path[LIVE_PATH_MAX];
  struct pmlua_live_options o = {0};
  option_read(L, 1, known, &o);
  int err = pmlua_live_start(&o);
  if (err == 0 && o.unasked) return pml_pushdone(L, err, "live.start");
  if (err == 0) err = pmlua_live_path(path, sizeof path);
  if (err < 0) return pml_pusherr(L, err, "live.start");
  return lutil_pushstr(L, path);
}

static int l_stop(lua_State *L) {
  return pml_pushdone(L, pmlua_live_stop(), "live.stop");
}

static int l_path(lua_State *L) {
  char path[LIVE_PATH_MAX];
  int err = pmlua_live_path(path, sizeof path);
  if (err < 0) return pml_pusherr(L, err, "live.path");
  return lutil_pushstr(L, path);
}

static int l_folder(lua_State *L) {
  char folder[LIVE_PATH_MAX];
  int err = live_socket_folder(folder);
  if (err < 0) return pml_pusherr(L, err, "live.folder");
  return lutil_pushstr(L, folder);
}

static int l_rule(lua_State *L) {
  size_t n;
  int64_t id;
  const char *blob = luaL_checklstring(L, 1, &n);
  int err = live__rules_post(blob, n, &id);
  if (err < 0) return pml_pusherr(L, err, "live.rule");
  return lutil_pushint(L, (uint64_t)id);
}

static int l_cancel(lua_State *L) {
  return pml_pushdone(L, live__rules_cancel(luaL_checkinteger(L, 1)), "live.cancel");
}

/* A line on stderr that does not wait for the lock of stdio. */
static int l_say(lua_State *L) {
  live__say("%s", luaL_checkstring(L, 1));
  return 0;
}

static void numbers(lua_State *L, struct live_callee *c, int n) {
  if (n > LIVE_VALUES_MAX) luaL_argerror(L, LIVE_VALUES_MAX + 2, "at most 16 numbers are passed");
  for (int i = 0; i < n; i++) c->values[i] = luaL_checknumber(L, 2 + i);
  c->n = (size_t)n;
}

/* The owner of @c, on top, stays behind the arguments. */
static void typed_values(lua_State *L, struct live_callee *c, int n) {
  luaL_checkstack(L, 5 * TYPED_MAX, "too many arguments");
  for (; n < (int)strlen(c->type.in); n++) {
    lua_pushnil(L);
    lua_insert(L, -2);
  }
  for (int i = 0; c->type.in[i] != '\0'; i++) typed_get(L, 2 + i, c->type.in[i], &c->in[i], c->name, "argument", i + 1);
}

static int l_call(lua_State *L) {
  int n = lua_gettop(L) - 1, results = 0;
  const char *name = lutil_string(L, 1);
  struct lutil_guard *owner = lutil_guard(L, live__callee_done);
  struct live_callee *c = owner->of = calloc(1, sizeof *c);
  if (c == NULL) return pml_pusherr(L, -ENOMEM, "live.call");
  int err = live__callee(name, c);
  if (err < 0) return pml_pusherr(L, err, "live.call");
  if (c->fn != NULL)
    numbers(L, c, n);
  else
    typed_values(L, c, n);
  err = live__call(c);
  if (err < 0) return pml_pusherr(L, err, "live.call");
  if (c->fn != NULL) return lutil_pushint(L, (uint64_t)c->result);
  for (; c->type.out[results] != '\0'; results++) typed_push(L, c->type.out[results], &c->out[results]);
  return results;
}

static int l_stop_run(lua_State *L) {
  int rc = live__stop_run(lutil_string(L, 1));
  if (rc < 0) return pml_pusherr(L, rc, "live.stop_run");
  return lutil_pushbool(L, rc == 0);
}

static int l_own_loop(lua_State *L) {
  return lutil_pushbool(L, live__in_own_loop());
}

/* The results, a line of JSON each, of code in the application's state. */
static int l_state(lua_State *L) {
  const char *code = lutil_string(L, 1);
  struct lutil_guard *text = lutil_guard(L, free);
  int err = live__state(code, (char **)&text->of);
  if (err < 0) return pml_pusherr(L, err, "live.state");
  lua_pushstring(L, text->of);
  lutil_close(&text->h);
  return 1;
}

static int l_functions(lua_State *L) {
  struct lutil_guard *names = lutil_guard(L, free);
  const char *name = names->of = live__functions();
  if (name == NULL) return pml_pusherr(L, -ENOMEM, "live.functions");
  lua_newtable(L);
  for (lua_Integer i = 1; *name != '\0'; i++, name += strlen(name) + 1) {
    lua_pushstring(L, name);
    lua_rawseti(L, -2, i);
  }
  lutil_close(&names->h);
  return 1;
}

static int l_rules(lua_State *L) {
  struct lutil_guard *text = lutil_guard(L, free);
  text->of = live__rules_text();
  if (text->of == NULL) return pml_pusherr(L, -ENOMEM, "live.rules");
  lua_pushstring(L, text->of);
  lutil_close(&text->h);
  return 1;
}

int luaopen_pmlua_live(lua_State *L) {
  static const luaL_Reg functions[] = {{"start", l_start}, {"stop", l_stop},
                                       {"path", l_path},   {"folder", l_folder},
                                       {"rule", l_rule},   {"cancel", l_cancel},
                                       {"rules", l_rules}, {"functions", l_functions},
                                       {"call", l_call},   {"own_loop", l_own_loop},
                                       {"state", l_state}, {"stop_run", l_stop_run},
                                       {"say", l_say},     {"interruptible", live__interruptible},
                                       {NULL, NULL}};
  return lutil_module(L, functions);
}
