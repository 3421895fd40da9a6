/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/source/lsampler.c - pml.sampler: sampling of instruction and data addresses. */
#include "module.h"

#include "program/pml_source_line.h"
#include "source/kernel/sampler/pml_sampler.h"

#include <errno.h>
#include <stdlib.h>

#define THREADS_MAX (1 << 16)

struct handle {
  struct lutil_handle h;
  struct pml_sampler *sampler;
  struct pml__source_lines *lines;
  struct pml_sampler_row *row; /* while they become a table, which may raise */
};

static void sampler_close(void *handle) {
  struct handle *s = handle;
  pml_sampler_close(s->sampler);
  pml__source_lines_free(s->lines);
  free(s->row);
  s->sampler = NULL;
  s->lines = NULL;
  s->row = NULL;
}

static const struct lutil_class sampler_class = {"sampler", sizeof(struct handle), sampler_close};

static struct handle *check(lua_State *L) {
  return lutil_check(L, 1, &sampler_class);
}

/* The option pid: a thread or a list of them. Its memory is on the stack. */
static void read_threads(lua_State *L, struct pml_sampler_options *o) {
  int type = lutil_field(L, 2, "pid");
  if (type == LUA_TNIL) return;
  lua_Integer n = type == LUA_TTABLE ? (lua_Integer)lua_rawlen(L, -1) : 1;
  if (n < 1 || n > THREADS_MAX) luaL_argerror(L, 2, "pid is a thread, or a list of up to 65536");
  int list = lua_gettop(L);
  pid_t *pid = lua_newuserdatauv(L, (size_t)n * sizeof *pid, 0);
  for (lua_Integer i = 1; i <= n; i++) {
    if (type == LUA_TTABLE)
      lua_rawgeti(L, list, i);
    else
      lua_pushvalue(L, list);
    int fine;
    lua_Integer id = lua_tointegerx(L, -1, &fine);
    if (!fine || id < 1 || id > INT32_MAX) luaL_argerror(L, 2, "a thread in pid is a positive integer");
    pid[i - 1] = (pid_t)id;
    lua_pop(L, 1);
  }
  o->pid = pid;
  o->npids = (size_t)n;
}

static int l_open(lua_State *L) {
  static const struct option known[] = {
      OPTION_UNREAD("pid"),
      OPTIONS(struct pml_sampler_options, all, inherit, on_exec, address, calls, registers, cgroup),
      OPTION_RANGE(struct pml_sampler_options, "period", period, 1, LUA_MAXINTEGER),
      OPTION_RANGE(struct pml_sampler_options, "frequency", frequency, 1, 1000000000),
      OPTION_RANGE(struct pml_sampler_options, "max", max, 1, (lua_Integer)PML_SAMPLER_MAX * 16),
      OPTION_END};
  struct pml_sampler_options o = {.max = PML_SAMPLER_MAX};
  const char *name = lutil_string(L, 1);
  lua_settop(L, 2);
  option_read(L, 2, known, &o);
  if (o.period == 0 && o.frequency == 0) o.frequency = 1000;
  if (o.period > 0 && o.frequency > 0) return luaL_argerror(L, 2, "period and frequency exclude each other");
  read_threads(L, &o);
  struct handle *s = lutil_new(L, &sampler_class, 0, 0);
  size_t stack = o.calls || o.registers ? PML_SAMPLER_CALLS * sizeof(uint64_t) : 0;
  int err = lutil_charge(L, &s->h, o.max * (sizeof(struct pml_sample) + stack));
  if (err == 0) err = pml_sampler_open(&s->sampler, name, &o);
  return lutil_opened(L, &s->h, err, "sampler.open");
}

static int pushed(lua_State *L, int64_t n, const char *where) {
  if (n < 0) return pml_pusherr(L, (int)n, where);
  return lutil_pushint(L, (uint64_t)n);
}

static int l_drain(lua_State *L) {
  return pushed(L, pml_sampler_drain(check(L)->sampler), "sampler.drain");
}

static int l_stop(lua_State *L) {
  return pushed(L, pml_sampler_stop(check(L)->sampler), "sampler.stop");
}

static int l_name(lua_State *L) {
  return lutil_pushstr(L, pml_sampler_name(check(L)->sampler));
}

static int l_counts(lua_State *L) {
  static const struct field fields[] = FIELDS(struct pml_sampler_counts, samples, lost, dropped, throttled, odd);
  struct pml_sampler_counts c = pml_sampler_counts(check(L)->sampler);
  return field_push(L, fields, &c);
}

static int l_sample(lua_State *L) {
  static const struct field fields[] = FIELDS(struct pml_sample, time_ns, ip, address, period, pid, tid, cpu);
  static const char *const mode[] = {"user", "kernel", "other"};
  size_t n;
  const struct pml_sample *all = pml_sampler_samples(check(L)->sampler, &n);
  lua_Integer i = luaL_checkinteger(L, 2);
  if (i < 1 || (lua_Unsigned)i > n) {
    lua_pushnil(L);
    return 1;
  }
  struct pml_sample s = all[i - 1];
  field_push(L, fields, &s);
  lutil_setstr(L, "mode", mode[s.mode]);
  return 1;
}

/* The registers of a sample by name, and the object and the place in it where it is; nil: it has none. */
static int l_registers(lua_State *L) {
  static const char *const name[] = {PML_SAMPLER_REGISTERS};
  struct handle *s = check(L);
  lua_Integer i = luaL_checkinteger(L, 2);
  size_t n = 0;
  lua_createtable(L, 0, sizeof name / sizeof name[0]);
  const uint64_t *value = s->h.open && i > 0 ? pml_sampler_registers(s->sampler, (size_t)i - 1, &n) : NULL;
  if (value == NULL) return 0;
  for (size_t k = 0; k < n && k < sizeof name / sizeof name[0]; k++) {
    if (!s->h.open) return luaL_error(L, "another call closed the sampler");
    lutil_setint(L, name[k], value[k]);
  }
  if (!s->h.open) return luaL_error(L, "another call closed the sampler");
  struct pml_sampler_frame at = pml_sampler_where(s->sampler, (size_t)i - 1);
  lua_pushinteger(L, (lua_Integer)at.place);
  lua_pushstring(L, at.object);
  return 3;
}

static void check_open(lua_State *L, const struct handle *s) {
  if (!s->h.open) luaL_error(L, "another call closed the sampler");
}

/* The frames of a row, on the stack. Allocations may run a finalizer that closes the sampler. */
static void push_frames(lua_State *L, const struct handle *s, const struct pml_sampler_row *row) {
  lua_createtable(L, (int)row->frames, 0);
  for (uint32_t i = 0; i < row->frames; i++) {
    lua_createtable(L, 0, 2);
    check_open(L, s);
    lutil_setint(L, "place", row->frame[i].place);
    check_open(L, s);
    lutil_setstr(L, "object", row->frame[i].object);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static int l_fold(lua_State *L) {
  static const struct field fields[] = FIELDS(struct pml_sampler_row, object, place, samples, period);
  static const char *const by[] = {"code", "page", "thread", "cpu", "path", "data", NULL};
  struct handle *s = check(L);
  int which = luaL_checkoption(L, 2, NULL, by);
  free(s->row);
  int64_t n = pml_sampler_fold(s->sampler, (enum pml_sampler_by)which, &s->row);
  if (n < 0) return pml_pusherr(L, (int)n, "sampler.fold");
  lua_newtable(L);
  for (int64_t i = 0; i < n; i++) {
    lua_createtable(L, 0, 5);
    check_open(L, s);
    struct pml_sampler_row row = s->row[i];
    field_set(L, fields, &row);
    if (row.pid != 0) lutil_setint(L, "pid", (uint64_t)row.pid);
    if (row.frames > 0) {
      push_frames(L, s, &row);
      lua_setfield(L, -2, "frames");
    }
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static int l_place(lua_State *L) {
  struct handle *s = check(L);
  struct pml__source_place p;
  int err = pml__source_place(&s->lines, lutil_string(L, 2), (uint64_t)luaL_checkinteger(L, 3), &p);
  if (err < 0) return pml_pusherr(L, err, "sampler.place");
  lua_createtable(L, 0, 3);
  if (p.function[0] != '\0') lutil_setstr(L, "func", p.function);
  if (p.line == 0) return 1;
  lutil_setstr(L, "file", p.file);
  lutil_setint(L, "line", p.line);
  return 1;
}

static int l_variable(lua_State *L) {
  struct handle *s = check(L);
  char name[256];
  uint64_t into = 0;
  uint64_t place = (uint64_t)luaL_checkinteger(L, 3);
  int err = pml__source_variable(&s->lines, lutil_string(L, 2), place, name, sizeof name, &into);
  if (err < 0) return pml_pusherr(L, err, "sampler.variable");
  lua_pushstring(L, name);
  lua_pushinteger(L, (lua_Integer)into);
  return 2;
}

int luaopen_pmlua_sampler(lua_State *L) {
  static const luaL_Reg methods[] = {{"drain", l_drain},   {"stop", l_stop},         {"name", l_name},
                                     {"counts", l_counts}, {"sample", l_sample},     {"fold", l_fold},
                                     {"place", l_place},   {"variable", l_variable}, {"registers", l_registers},
                                     {NULL, NULL}};
  static const luaL_Reg functions[] = {{"open", l_open}, {NULL, NULL}};
  lutil_class(L, &sampler_class, methods, NULL);
  return lutil_module(L, functions);
}
