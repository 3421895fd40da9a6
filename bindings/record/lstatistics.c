/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/record/lstatistics.c - statistics shared by C and Lua: quantiles, histograms, sums and their merge. */
#include "record/ltally.h"
#include "record/pml_histogram.h"
#include "record/pml_interval.h"
#include "record/pml_sums.h"
#include "record/quantile/pml_quantile.h"

/* The number on top of the stack, an element of argument @arg. */
static double element(lua_State *L, int arg) {
  luaL_argcheck(L, lua_isnumber(L, -1), arg, "an element is not a number");
  return lua_tonumber(L, -1);
}

static void check_list(lua_State *L, int arg) {
  if (!ltally_is_list(L, arg)) luaL_checktype(L, arg, LUA_TTABLE);
}

/* The first of the ascending integers in the list at 2 that is above @place. */
static lua_Integer find_above(lua_State *L, lua_Integer n, uint64_t place) {
  lua_Integer low = 1, high = n;
  while (low < high) {
    lua_Integer middle = low + (high - low) / 2;
    ltally_get(L, 2, middle);
    if ((uint64_t)lua_tointeger(L, -1) > place)
      high = middle;
    else
      low = middle + 1;
    lua_pop(L, 1);
  }
  return low;
}

/* The value of place @at is pushed; each counts once where there is no list at 2. */
static void push_at(lua_State *L, lua_Integer n, uint64_t at) {
  ltally_get(L, 1, !lua_isnoneornil(L, 2) ? find_above(L, n, at) : (lua_Integer)at + 1);
}

/*
 * quantile(values, upto, q) - of ascending numbers, of which upto[i] are at most values[i]; upto nil: each is there
 * once. nil: no values, or q is not in 0..1.
 */
static int l_quantile(lua_State *L) {
  check_list(L, 1);
  if (!lua_isnoneornil(L, 2)) check_list(L, 2);
  double q = luaL_checknumber(L, 3);
  lua_Integer n = ltally_length(L, 1), all = n;
  if (!lua_isnoneornil(L, 2)) {
    ltally_get(L, 2, n);
    all = lua_tointeger(L, -1);
  }
  if (n < 1 || all < 1 || !(q >= 0 && q <= 1)) return 0;
  struct pml_quantile_place p = pml_quantile_place((uint64_t)all, q);
  push_at(L, n, p.at);
  if (p.part == 0) return 1;
  push_at(L, n, p.at + 1);
  return lutil_pushnum(L, pml_quantile_between(lua_tonumber(L, -2), lua_tonumber(L, -1), p.part));
}

/* median_interval(values, level) - of ascending numbers: low and high; nil: there are too few. */
static int l_median_interval(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  double level = luaL_checknumber(L, 2), low, high;
  size_t n = lua_rawlen(L, 1);
  double *sorted = lua_newuserdatauv(L, (n + 1) * sizeof *sorted, 0);
  for (size_t i = 0; i < n; i++) {
    lua_rawgeti(L, 1, (lua_Integer)i + 1);
    sorted[i] = element(L, 1);
    lua_pop(L, 1);
  }
  if (!(level > 0 && level < 1) || pml_median_interval(sorted, n, level, &low, &high) < 0) return 0;
  lua_pushnumber(L, low);
  lua_pushnumber(L, high);
  return 2;
}

/* bucket(v) - the bucket of a value, 0 unless it is above 0; least(i) - the least value of bucket i; a float, because
 * the last is 2^64. */
static int l_bucket(lua_State *L) {
  lua_Number v = luaL_checknumber(L, 1);
  uint64_t whole = !(v > 0)              ? 0
                   : lua_isinteger(L, 1) ? (uint64_t)lua_tointeger(L, 1)
                   : v < 0x1p64          ? (uint64_t)v
                                         : UINT64_MAX;
  return lutil_pushint(L, (uint64_t)pml_histogram_bucket(whole));
}
static int l_least(lua_State *L) {
  return lutil_pushnum(L, pml_histogram_least((uint32_t)lutil_int(L, 1, 0, PML_HISTOGRAM_BUCKETS)));
}

/* histogram_quantile(count, q) - of what a table has by bucket; nil: there is nothing, or q is not in 0..1. */
static int l_histogram_quantile(lua_State *L) {
  uint64_t count[PML_HISTOGRAM_BUCKETS];
  luaL_checktype(L, 1, LUA_TTABLE);
  double q = luaL_checknumber(L, 2);
  for (lua_Integer i = 0; i < (lua_Integer)PML_HISTOGRAM_BUCKETS; i++) {
    lua_rawgeti(L, 1, i);
    count[i] = (uint64_t)lua_tointeger(L, -1);
    lua_pop(L, 1);
  }
  double v = pml_histogram_quantile(count, q);
  if (v != v) return 0;
  return lutil_pushnum(L, v);
}

/* moments(values, upto) - mean and deviation of what quantile() takes; no deviation of fewer than two. The sums are of
 * distances from the first value, so that large values and small spreads lose nothing. */
static int l_moments(lua_State *L) {
  struct pml_sums all = {0};
  double first = 0;
  lua_Integer before = 0;
  check_list(L, 1);
  lua_settop(L, 2);
  if (!lua_isnil(L, 2)) check_list(L, 2);
  lua_Integer n = ltally_length(L, 1);
  for (lua_Integer i = 1; i <= n; i++, lua_settop(L, 2)) {
    ltally_get(L, 1, i);
    double v = element(L, 1);
    lua_Integer upto = i;
    if (i == 1) first = v;
    v -= first;
    if (!lua_isnil(L, 2)) {
      ltally_get(L, 2, i);
      upto = lua_tointeger(L, -1);
    }
    const struct pml_sums same = {(double)(upto - before), v, 0, v, v};
    pml_sums_merge(&all, &same);
    before = upto;
  }
  if (!(all.count > 0)) return 0;
  lua_pushnumber(L, first + all.mean);
  if (!(all.count > 1)) return 1;
  lua_pushnumber(L, pml_sums_deviation(&all));
  return 2;
}

/* The sum of the numbers at @a and @b is pushed: of integers one, or a float where that is too large. */
static void push_sum(lua_State *L, int a, int b) {
  lua_Integer sum;
  if (lua_isinteger(L, a) && lua_isinteger(L, b) &&
      !__builtin_add_overflow(lua_tointeger(L, a), lua_tointeger(L, b), &sum))
    lua_pushinteger(L, sum);
  else
    lua_pushnumber(L, lua_tonumber(L, a) + lua_tonumber(L, b));
}

static int l_plus(lua_State *L) {
  luaL_checknumber(L, 1);
  luaL_checknumber(L, 2);
  push_sum(L, 1, 2);
  return 1;
}

/* add(into, more) - add each number of more to the number with the same key in into, and return into. */
static int l_add(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  for (lua_pushnil(L); lua_next(L, 2) != 0; lua_pop(L, 1)) {
    (void)element(L, 2);
    lua_pushvalue(L, 3);
    lua_pushvalue(L, 3);
    if (lua_rawget(L, 1) == LUA_TNUMBER)
      push_sum(L, 6, 4);
    else
      lua_pushvalue(L, 4);
    lua_remove(L, 6);
    lua_rawset(L, 1);
  }
  lua_settop(L, 1);
  return 1;
}

int luaopen_pmlua_statistics(lua_State *L) {
  static const luaL_Reg functions[] = {{"quantile", l_quantile},
                                       {"median_interval", l_median_interval},
                                       {"bucket", l_bucket},
                                       {"least", l_least},
                                       {"histogram_quantile", l_histogram_quantile},
                                       {"moments", l_moments},
                                       {"plus", l_plus},
                                       {"add", l_add},
                                       {NULL, NULL}};
  luaL_newlib(L, functions);
  ltally_open(L);
  return 1;
}
