/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/base/lclock.c - pml.clock: ticks and their nanoseconds. */
#include "module.h"

/* An invalid PMLUA_CLOCK was refused when the module was opened; a clock exists even then. */
static void calibrated(void) {
  (void)pml_clock_init();
}

static int l_ticks(lua_State *L) {
  calibrated();
  return lutil_pushint(L, pml_clock_ticks());
}

static int l_ticks_ordered(lua_State *L) {
  calibrated();
  return lutil_pushint(L, pml_clock_ticks_ordered());
}

static int l_ns(lua_State *L) {
  calibrated();
  return lutil_pushint(L, pml_clock_ns());
}

static int l_realtime_ns(lua_State *L) {
  return lutil_pushint(L, pml_clock_realtime_ns());
}

static int l_to_ns(lua_State *L) {
  calibrated();
  lua_Integer ticks = lutil_int(L, 1, 0, LUA_MAXINTEGER);
  return lutil_pushint(L, pml_clock_ticks_to_ns((uint64_t)ticks));
}

static int l_at_ns(lua_State *L) {
  calibrated();
  lua_Integer ticks = lutil_int(L, 1, 0, LUA_MAXINTEGER);
  return lutil_pushint(L, pml_clock_at_ns((uint64_t)ticks));
}

/* rate() - ticks per second, without the measurements of info(). */
static int l_rate(lua_State *L) {
  calibrated();
  return lutil_pushnum(L, pml__clock.ticks_per_second);
}

static int l_info(lua_State *L) {
  static const struct field fields[] =
      FIELDS(struct pml_clock_info, name, calibration, ticks_per_second, resolution_ns, cost_ns);
  struct pml_clock_info info;
  int err = pml_clock_describe(&info);
  if (err < 0) return pml_pusherr(L, err, "clock.info");
  return field_push(L, fields, &info);
}

int luaopen_pmlua_clock(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"ticks", l_ticks}, {"ticks_ordered", l_ticks_ordered}, {"ns", l_ns},     {"to_ns", l_to_ns},
      {"at_ns", l_at_ns}, {"realtime_ns", l_realtime_ns},     {"info", l_info}, {"rate", l_rate},
      {NULL, NULL}};
  return lutil_module(L, functions);
}
