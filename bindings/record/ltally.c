/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/record/ltally.c - compact lists of numbers, and frequency tables of their values. */
#include "record/ltally.h"

#include "record/pml_samples.h"
#include "record/quantile/pml_quantile_sort.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PACKED "packed values" /* a list, no handle: nothing is open */
#define SIGN (UINT64_C(1) << 63)

/* In Lua's memory, so that its collector accounts for the size. Immutable once a script has it. */
struct packed {
  size_t n;
  bool real;
  uint64_t at[]; /* the bits of doubles or integers */
};

static struct packed *new_packed(lua_State *L, size_t n, bool real) {
  if (n > (SIZE_MAX >> 4)) luaL_error(L, "too many numbers");
  struct packed *p = lua_newuserdatauv(L, sizeof *p + n * sizeof p->at[0], 0);
  p->n = n;
  p->real = real;
  luaL_setmetatable(L, PACKED);
  return p;
}

static double real_at(const struct packed *p, size_t i) {
  double v;
  memcpy(&v, &p->at[i], sizeof v);
  return p->real ? v : (double)(int64_t)p->at[i];
}

static void put_real(struct packed *p, size_t i, double v) {
  memcpy(&p->at[i], &v, sizeof v);
}

static void push_at(lua_State *L, const struct packed *p, size_t i) {
  if (p->real)
    lua_pushnumber(L, real_at(p, i));
  else
    lua_pushinteger(L, (lua_Integer)p->at[i]);
}

static int l_index(lua_State *L) {
  const struct packed *p = luaL_checkudata(L, 1, PACKED);
  int is_integer;
  lua_Integer i = lua_tointegerx(L, 2, &is_integer);
  if (!is_integer || i < 1 || (uint64_t)i > p->n) return 0;
  push_at(L, p, (size_t)i - 1);
  return 1;
}

static int l_length(lua_State *L) {
  return lutil_pushint(L, ((const struct packed *)luaL_checkudata(L, 1, PACKED))->n);
}

int ltally_is_list(lua_State *L, int idx) {
  return lua_istable(L, idx) || luaL_testudata(L, idx, PACKED) != NULL;
}

lua_Integer ltally_length(lua_State *L, int idx) {
  const struct packed *p = luaL_testudata(L, idx, PACKED);
  return (lua_Integer)(p != NULL ? p->n : lua_rawlen(L, idx));
}

void ltally_get(lua_State *L, int idx, lua_Integer i) {
  const struct packed *p = luaL_testudata(L, idx, PACKED);
  if (p == NULL)
    lua_rawgeti(L, idx, i);
  else if (i >= 1 && (uint64_t)i <= p->n)
    push_at(L, p, (size_t)i - 1);
  else
    lua_pushnil(L);
}

/* --- sorting --- */

/* Sort keys: as unsigned integers they have the same order as the numbers. Freed after use. */
struct keys {
  struct lutil_handle h;
  uint64_t *key; /* [2 * n]: the second half is scratch */
  size_t n;
  bool real, natural; /* doubles; unsigned integers, which are their own keys */
};

LUTIL_CLASS(tallykeys, keys, free(h->key))

static uint64_t key_of_real(double v) {
  uint64_t bits;
  v += 0.0; /* -0 is 0 */
  memcpy(&bits, &v, sizeof bits);
  return (bits & SIGN) != 0 ? ~bits : bits | SIGN;
}

static uint64_t bits_of_key(const struct keys *k, size_t i) {
  uint64_t key = k->key[i];
  double v;
  if (!k->natural) return !k->real ? key ^ SIGN : (key & SIGN) != 0 ? key ^ SIGN : ~key;
  if (!k->real) return key;
  v = (double)key;
  memcpy(&key, &v, sizeof key);
  return key;
}

static int allocate(lua_State *L, struct keys *k, size_t n) {
  k->key = n < (SIZE_MAX >> 5) ? malloc((2 * n + 1) * sizeof *k->key) : NULL;
  k->n = n;
  k->h.open = 1;
  return k->key != NULL ? 0 : luaL_error(L, "not enough memory for a tally of %d numbers", (int)(n & 0x7fffffff));
}

/* Take samples, which are unsigned: if one exceeds Lua's integers, all become doubles. */
static void take_samples(lua_State *L, struct keys *k) {
  const struct pml_samples *s = lutil_samples(L, 1);
  (void)allocate(L, k, s->n);
  if (k->key == NULL) return; /* not reached */
  if (s->n > 0) memcpy(k->key, s->value, s->n * sizeof *k->key);
  k->natural = true;
  for (size_t i = 0; i < s->n; i++) k->real |= (k->key[i] & SIGN) != 0;
}

/* Take a table; return the index of the first element that is not a finite number, or 0. One float makes all floats. */
static lua_Integer take_table(lua_State *L, struct keys *k) {
  const lua_Integer n = luaL_len(L, 1);
  (void)allocate(L, k, n > 0 ? (size_t)n : 0);
  if (k->key == NULL) return 0; /* not reached */
  for (lua_Integer i = 1; i <= n; i++, lua_settop(L, 2)) {
    lua_geti(L, 1, i);
    if (lua_type(L, 3) != LUA_TNUMBER || !isfinite(lua_tonumber(L, 3))) return i;
    const bool real = !lua_isinteger(L, 3);
    for (lua_Integer j = 1; real && !k->real && j < i; j++)
      k->key[j - 1] = key_of_real((double)(int64_t)(k->key[j - 1] ^ SIGN));
    k->real |= real;
    k->key[i - 1] = k->real ? key_of_real(lua_tonumber(L, 3)) : (uint64_t)lua_tointeger(L, 3) ^ SIGN;
  }
  return 0;
}

/* Each key once, and upto where it goes. */
static void count(lua_State *L, const struct keys *k) {
  size_t distinct = k->n > 0;
  if (k->key == NULL) return; /* not reached */
  for (size_t i = 1; i < k->n; i++) distinct += k->key[i] != k->key[i - 1];
  struct packed *value = new_packed(L, distinct, k->real), *upto = new_packed(L, distinct, false);
  for (size_t i = 0, at = 0; i < k->n; i++) {
    if (i + 1 < k->n && k->key[i] == k->key[i + 1]) continue;
    value->at[at] = bits_of_key(k, i);
    upto->at[at++] = i + 1;
  }
}

/*
 * tally(series) - the frequency table of samples, or of a table of numbers: the distinct values in order, and the
 * number of values up to each. false and an index: the element there is not a finite number.
 */
static int l_tally(lua_State *L) {
  if (lua_type(L, 1) != LUA_TUSERDATA) luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  struct keys *k = lutil_new(L, &tallykeys_class, 0, 0);
  lua_Integer wrong = 0;
  if (lua_istable(L, 1))
    wrong = take_table(L, k);
  else
    take_samples(L, k);
  if (wrong > 0) {
    lutil_close(&k->h);
    lua_pushboolean(L, 0);
    lua_pushinteger(L, wrong);
    return 2;
  }
  if (k->n > 0) pml__sort_keys(k->key, k->key + k->n, k->n);
  count(L, k);
  lutil_close(&k->h);
  return 2;
}

/* --- merging --- */

static int compare(const struct packed *a, size_t i, const struct packed *b, size_t j) {
  if (!a->real && !b->real) {
    int64_t x = (int64_t)a->at[i], y = (int64_t)b->at[j];
    return (x > y) - (x < y);
  }
  double x = real_at(a, i), y = real_at(b, j);
  return (x > y) - (x < y);
}

/* -1: the next value is of @a, 1: of @b, 0: of both. */
static int next_of(const struct packed *a, size_t i, const struct packed *b, size_t j) {
  if (i == a->n) return 1;
  return j == b->n ? -1 : compare(a, i, b, j);
}

static size_t merged_length(const struct packed *a, const struct packed *b) {
  size_t n = 0;
  for (size_t i = 0, j = 0; i < a->n || j < b->n; n++) {
    int side = next_of(a, i, b, j);
    i += side <= 0;
    j += side >= 0;
  }
  return n;
}

static void copy_value(struct packed *to, size_t n, const struct packed *from, size_t i) {
  if (to->real)
    put_real(to, n, real_at(from, i));
  else
    to->at[n] = from->at[i];
}

static const struct packed *check_packed(lua_State *L, int arg) {
  return luaL_checkudata(L, arg, PACKED);
}

/* merge_tallies(value, upto, value, upto) - the value and upto of both. */
static int l_merge_tallies(lua_State *L) {
  const struct packed *a = check_packed(L, 1), *a_upto = check_packed(L, 2);
  const struct packed *b = check_packed(L, 3), *b_upto = check_packed(L, 4);
  luaL_argcheck(L, a_upto->n == a->n && !a_upto->real, 2, "no tally's");
  luaL_argcheck(L, b_upto->n == b->n && !b_upto->real, 4, "no tally's");
  const size_t n = merged_length(a, b);
  struct packed *value = new_packed(L, n, a->real || b->real), *upto = new_packed(L, n, false);
  uint64_t of_a = 0, of_b = 0;
  for (size_t k = 0, i = 0, j = 0; k < n; k++) {
    int side = next_of(a, i, b, j);
    copy_value(value, k, side <= 0 ? a : b, side <= 0 ? i : j);
    if (side <= 0) of_a = a_upto->at[i++];
    if (side >= 0) of_b = b_upto->at[j++];
    upto->at[k] = of_a + of_b;
  }
  return 2;
}

void ltally_open(lua_State *L) {
  static const luaL_Reg meta[] = {{"__index", l_index}, {"__len", l_length}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"tally", l_tally}, {"merge_tallies", l_merge_tallies}, {NULL, NULL}};
  lutil_class(L, &tallykeys_class, NULL, NULL);
  luaL_setfuncs(L, functions, 0);
  if (luaL_newmetatable(L, PACKED)) luaL_setfuncs(L, meta, 0);
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  lua_pop(L, 1);
}
