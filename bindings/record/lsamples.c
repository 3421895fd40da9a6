/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/record/lsamples.c - pml.samples: a series of raw samples. */
#include "live/limit.h"
#include "module.h"
#include "shared.h"

#include "record/pml_samples.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK_BYTES (1u << 20) /* largest result of one format() */
#define PREFIX_MAX 255u

/* No value pointer is kept across an allocation in Lua: a closed series has n == 0, so loops that look at n just end.
 */
struct handle {
  struct lutil_handle h;
  struct pml_samples series;
};

LUTIL_CLASS(samples, handle, pml_samples_close(&h->series))

static struct pml_samples *check(lua_State *L) {
  return lutil_samples(L, 1);
}

struct pml_samples *lutil_samples(lua_State *L, int idx) {
  return &((struct handle *)lutil_check(L, idx, &samples_class))->series;
}

/*
 * Samples are touched when they are made, so more than there is memory would not fail here but end in the kernel
 * killing a process. Memory that is not free but can be had is counted by the kernel alone, in MemAvailable.
 */
static int fits(size_t capacity) {
  unsigned long long kib = 0;
  char line[128];
  FILE *f = fopen("/proc/meminfo", "re");
  while (f != NULL && fgets(line, sizeof line, f) != NULL)
    if (sscanf(line, "MemAvailable: %llu", &kib) == 1) break;
  if (f != NULL) fclose(f);
  return kib == 0 || capacity / 128 < kib;
}

static int push(lua_State *L, size_t capacity, const char *where) {
  struct handle *s = lutil_new(L, &samples_class, 0, 0);
  int err = lutil_charge(L, &s->h, capacity * sizeof(uint64_t));
  if (err == 0)
    err = fits(capacity) ? pml_samples_open(&s->series, capacity)
                         : pml_fail(-ENOMEM, "%zu samples need more memory than is available; request fewer", capacity);
  return lutil_opened(L, &s->h, err, where);
}

static int l_new(lua_State *L) {
  return push(L, (size_t)lutil_int(L, 1, 1, LUA_MAXINTEGER / 8), "samples.new");
}

static int l_len(lua_State *L) {
  return lutil_pushint(L, check(L)->n);
}

/* s[i], else a method; the methods are the upvalue. */
static int l_index(lua_State *L) {
  if (lua_type(L, 2) != LUA_TNUMBER) {
    lua_settop(L, 2);
    lua_gettable(L, lua_upvalueindex(1));
    return 1;
  }
  const struct pml_samples *s = check(L);
  int isint;
  lua_Integer i = lua_tointegerx(L, 2, &isint);
  if (!isint || i < 1 || (size_t)i > s->n) return 0;
  return lutil_pushint(L, s->value[i - 1]);
}

static int l_capacity(lua_State *L) {
  return lutil_pushint(L, check(L)->capacity);
}

static int l_push(lua_State *L) {
  struct pml_samples *s = check(L);
  lua_Integer v = lutil_int(L, 2, 0, LUA_MAXINTEGER);
  return pml_pushdone(L, pml_samples_push(s, (uint64_t)v), "samples.push");
}

static int l_clear(lua_State *L) {
  pml_samples_clear(check(L));
  lua_settop(L, 1);
  return 1;
}

static void append(struct pml_samples *to, const struct pml_samples *from, size_t n) {
  if (n > 0) memcpy(to->value + to->n, from->value, n * sizeof to->value[0]);
  to->n += n;
}

static int l_copy(lua_State *L) {
  size_t n = check(L)->n;
  int pushed = push(L, n > 0 ? n : 1, "samples.copy");
  if (pushed == 1) append(lutil_samples(L, -1), check(L), n);
  return pushed;
}

static int l_append(lua_State *L) {
  struct pml_samples *s = check(L);
  const struct pml_samples *other = lutil_samples(L, 2);
  if (other->n > s->capacity - s->n) {
    int err = pml_fail(PML_EFULL, "%zu samples do not fit into %zu of %zu that are left", other->n, s->capacity - s->n,
                       s->capacity);
    return pml_pusherr(L, err, "samples.append");
  }
  append(s, other, other->n);
  lua_settop(L, 1);
  return 1;
}

static int l_sort(lua_State *L) {
  struct limit *account; /* it needs as much again meanwhile */
  size_t scratch = check(L)->n * sizeof(uint64_t);
  int err = limit_charge(L, scratch, &account);
  if (err == 0) {
    err = pml_samples_sort(check(L));
    limit_discharge(account, scratch);
  }
  if (err < 0) return pml_pusherr(L, err, "samples.sort");
  lua_settop(L, 1);
  return 1;
}

static int l_quantile(lua_State *L) {
  const struct pml_samples *s = check(L);
  return lutil_pushnum(L, pml_samples_quantile(s, luaL_checknumber(L, 2)));
}

static int l_moments(lua_State *L) {
  static const struct field fields[] = FIELDS(struct pml_samples_moments, mean, sd, min, max);
  struct pml_samples_moments m;
  pml_samples_moments(check(L), &m);
  return field_push(L, fields, &m);
}

static int l_format(lua_State *L) {
  const char *prefix = lutil_string(L, 2);
  if (strlen(prefix) > PREFIX_MAX) luaL_argerror(L, 2, "the prefix is longer than 255 bytes");
  size_t first = (size_t)lutil_int(L, 3, 1, LUA_MAXINTEGER) - 1, next = first, used = 0;
  size_t last = (size_t)lutil_optint(L, 4, LUA_MAXINTEGER, 0, LUA_MAXINTEGER);
  check(L);
  luaL_Buffer b;
  char *chunk = luaL_buffinitsize(L, &b, CHUNK_BYTES);
  const struct pml_samples *s = check(L);
  if (last > s->n) last = s->n;
  if (first < last) used = pml_samples_format(s, first, last, prefix, chunk, CHUNK_BYTES, &next);
  luaL_pushresultsize(&b, used);
  if (next >= last)
    lua_pushnil(L);
  else
    lua_pushinteger(L, (lua_Integer)next + 1);
  return 2;
}

static int l_above(lua_State *L) {
  const struct pml_samples *s = check(L);
  double threshold = luaL_checknumber(L, 2);
  lua_Integer limit = lutil_int(L, 3, 0, LUA_MAXINTEGER), total = 0;
  lua_newtable(L);
  lua_newtable(L);
  for (size_t i = 0; i < s->n; i++) {
    uint64_t v = s->value[i];
    if (!((double)v > threshold) || ++total > limit) continue;
    lua_pushinteger(L, (lua_Integer)i + 1);
    lua_rawseti(L, -3, total);
    lua_pushinteger(L, (lua_Integer)v);
    lua_rawseti(L, -2, total);
  }
  lua_pushinteger(L, total);
  return 3;
}

int luaopen_pmlua_samples(lua_State *L) {
  static const luaL_Reg methods[] = {{"capacity", l_capacity}, {"push", l_push},       {"clear", l_clear},
                                     {"copy", l_copy},         {"append", l_append},   {"sort", l_sort},
                                     {"quantile", l_quantile}, {"moments", l_moments}, {"format", l_format},
                                     {"above", l_above},       {"__len", l_len},       {NULL, NULL}};
  static const luaL_Reg functions[] = {{"new", l_new}, {NULL, NULL}};
  lutil_class(L, &samples_class, methods, l_index);
  return lutil_module(L, functions);
}
