/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/base/lclock.c - pml.clock: ticks and their nanoseconds. */
#include "lutil.h"

/* What PMLUA_CLOCK asks for in vain was refused when the module was opened; there is a clock in any case. */
static void calibrated(void) {
  (void)pml_clock_init();
}

static int l_ticks(lua_State *L) {
  calibrated();
  lua_pushinteger(L, (lua_Integer)pml_clock_ticks());
  return 1;
}

static int l_ticks_ordered(lua_State *L) {
  calibrated();
  lua_pushinteger(L, (lua_Integer)pml_clock_ticks_ordered());
  return 1;
}

static int l_ns(lua_State *L) {
  calibrated();
  lua_pushinteger(L, (lua_Integer)pml_clock_ns());
  return 1;
}

static int l_realtime_ns(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)pml_clock_realtime_ns());
  return 1;
}

static int l_to_ns(lua_State *L) {
  calibrated();
  lua_Integer ticks = lutil_int(L, 1, 0, LUA_MAXINTEGER);
  lua_pushinteger(L, (lua_Integer)pml_clock_ticks_to_ns((uint64_t)ticks));
  return 1;
}

static int l_at_ns(lua_State *L) {
  calibrated();
  lua_Integer ticks = lutil_int(L, 1, 0, LUA_MAXINTEGER);
  lua_pushinteger(L, (lua_Integer)pml_clock_at_ns((uint64_t)ticks));
  return 1;
}

/* rate() - ticks per second, without the measurements of info(). */
static int l_rate(lua_State *L) {
  calibrated();
  lua_pushnumber(L, pml__clock.ticks_per_second);
  return 1;
}

static int l_info(lua_State *L) {
  struct pml_clock_info info;
  int err = pml_clock_describe(&info);
  if (err < 0) return pml_pusherr(L, err, "clock.info");
  lua_createtable(L, 0, 5);
  lutil_setstr(L, "name", info.name);
  lutil_setstr(L, "calibration", info.calibration);
  lutil_setnum(L, "ticks_per_second", info.ticks_per_second);
  lutil_setnum(L, "resolution_ns", info.resolution_ns);
  lutil_setnum(L, "cost_ns", info.cost_ns);
  return 1;
}

int luaopen_pmlua_clock(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"ticks", l_ticks}, {"ticks_ordered", l_ticks_ordered}, {"ns", l_ns},     {"to_ns", l_to_ns},
      {"at_ns", l_at_ns}, {"realtime_ns", l_realtime_ns},     {"info", l_info}, {"rate", l_rate},
      {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
