/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bindings/record/lsamples_log.c - pmlua.core.samples_log: the log for the samples of a running experiment.
 *
 * open(folder); visit(cell, round, planned): further samples belong to this visit; took(value): add one sample of a
 * visit that produces them one by one; tell(cell, round, n, name, text): add a value beside them; kept(): the visit's
 * samples are stored elsewhere; close(): remove the file; left(path): the samples of the visit in which the run was
 * killed, { cell, round, planned, values }.
 */
#include "module.h"

#include "read/log/pml_samples_left.h"
#include "record/pml_samples_log.h"

#include <stdlib.h>
#include <string.h>

static int l_open(lua_State *L) {
  return pml_pushdone(L, pml_samples_log_open(lutil_string(L, 1)), "samples_log.open");
}

static int l_visit(lua_State *L) {
  uint32_t cell = (uint32_t)lutil_int(L, 1, 1, UINT32_MAX), round = (uint32_t)lutil_int(L, 2, 1, UINT32_MAX);
  pml_samples_log_visit(cell, round, (uint64_t)lutil_int(L, 3, 1, LUA_MAXINTEGER / 8));
  return 0;
}

static int l_took(lua_State *L) {
  pml_samples_log_push(luaL_checknumber(L, 1));
  return 0;
}

static int l_tell(lua_State *L) {
  uint32_t cell = (uint32_t)lutil_int(L, 1, 1, UINT32_MAX), round = (uint32_t)lutil_int(L, 2, 0, UINT32_MAX);
  uint64_t samples = (uint64_t)lutil_int(L, 3, 0, LUA_MAXINTEGER);
  pml_samples_log_tell(cell, round, samples, lutil_string(L, 4), lutil_string(L, 5));
  return 0;
}

static int l_kept(lua_State *L) {
  (void)L;
  pml_samples_log_kept();
  return 0;
}

static int l_close(lua_State *L) {
  (void)L;
  pml_samples_log_close();
  return 0;
}

static void push_value(lua_State *L, const struct pml_samples_left *left, size_t i) {
  double v;
  memcpy(&v, &left->value[i], sizeof v);
  if (left->real)
    lua_pushnumber(L, v);
  else
    lua_pushinteger(L, (lua_Integer)left->value[i]);
}

static int push_left(lua_State *L) {
  static const struct field fields[] = FIELDS(struct pml_samples_left, cell, round, planned);
  const struct pml_samples_left *left = lua_touserdata(L, 1);
  field_push(L, fields, left);
  lua_newtable(L);
  for (size_t i = 0; i < left->n; i++) {
    push_value(L, left, i);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "values");
  return 1;
}

static int l_left(lua_State *L) {
  struct pml_samples_left left;
  const char *path = lutil_string(L, 1);
  luaL_checkstack(L, 4, NULL);
  lua_pushcfunction(L, push_left);
  int err = pml_samples_left(path, &left);
  if (err < 0) return pml_pusherr(L, err, "samples_log.left");
  lua_pushlightuserdata(L, &left);
  int status = lua_pcall(L, 1, 1, 0);
  free(left.value);
  return status == LUA_OK ? 1 : lua_error(L);
}

int luaopen_pmlua_samples_log(lua_State *L) {
  static const luaL_Reg functions[] = {{"open", l_open}, {"visit", l_visit}, {"took", l_took}, {"tell", l_tell},
                                       {"kept", l_kept}, {"close", l_close}, {"left", l_left}, {NULL, NULL}};
  return lutil_module(L, functions);
}
