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

static int l_left(lua_State *L) {
  static const struct field fields[] = FIELDS(struct pml_samples_left, cell, round, planned);
  struct pml_samples_left left;
  const char *path = lutil_string(L, 1);
  struct lutil_guard *values = lutil_guard(L, free);
  int err = pml_samples_left(path, &left);
  if (err < 0) return pml_pusherr(L, err, "samples_log.left");
  values->of = left.value;
  field_push(L, fields, &left);
  field_values(L, "values", left.real ? FIELD_DOUBLE : FIELD_INT64, left.value, left.n);
  lutil_close(&values->h);
  return 1;
}

int luaopen_pmlua_samples_log(lua_State *L) {
  static const luaL_Reg functions[] = {{"open", l_open}, {"visit", l_visit}, {"took", l_took}, {"tell", l_tell},
                                       {"kept", l_kept}, {"close", l_close}, {"left", l_left}, {NULL, NULL}};
  return lutil_module(L, functions);
}
