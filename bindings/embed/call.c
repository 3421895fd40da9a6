/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/embed/call.c - typed calls: of Lua's functions by the application, and of the application's by Lua. */
#include "embed/embed.h"
#include "embed/guard.h"

#include <errno.h>
#include <lauxlib.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 127

void embed_forget(struct pmlua *p) {
  for (size_t i = 0; i < TYPED_MAX; i++) {
    free(p->kept[i]);
    p->kept[i] = NULL;
  }
}

/* --- names: "function", "table.function" --- */

/* The table that has the last part of @name, which is returned, on top; nil if a part before it is missing. */
static const char *push_holder(lua_State *L, const char *name, bool make) {
  lua_pushglobaltable(L);
  for (const char *dot; lua_istable(L, -1) && (dot = strchr(name, '.')) != NULL; name = dot + 1) {
    lua_pushlstring(L, name, (size_t)(dot - name));
    lua_pushvalue(L, -1);
    if (lua_rawget(L, -3) == LUA_TNIL && make) {
      lua_pop(L, 1);
      lua_newtable(L);
      lua_pushvalue(L, -2);
      lua_pushvalue(L, -2);
      lua_rawset(L, -5);
    }
    lua_replace(L, -3);
    lua_pop(L, 1);
  }
  return name;
}

static int check_name(const char *name) {
  size_t n = name != NULL ? strnlen(name, NAME_MAX_BYTES + 1) : 0;
  bool good = n > 0 && n <= NAME_MAX_BYTES && name[0] != '.' && name[n - 1] != '.' && strstr(name, "..") == NULL;
  return good ? 0 : pml_fail(-EINVAL, "a function is called NAME or TABLE.NAME, of at most %d bytes", NAME_MAX_BYTES);
}

/* --- Lua calls the application --- */

struct function {
  pmlua_callback *fn;
  void *arg;
  struct typed type;
  char name[NAME_MAX_BYTES + 1];
};

struct returning {
  const struct function *f;
  struct pmlua_value in[TYPED_MAX], out[TYPED_MAX];
  int err;
};

static void call_back(void *call) {
  struct returning *c = call;
  c->err = c->f->fn(c->f->arg, c->in, c->out);
}

static int l_function(lua_State *L) {
  struct returning c = {.f = lua_touserdata(L, lua_upvalueindex(1))};
  char what[160];
  luaL_checkstack(L, 4 * TYPED_MAX, "too many arguments");
  lua_settop(L, (int)strlen(c.f->type.in));
  for (int i = 0; c.f->type.in[i] != '\0'; i++)
    typed_get(L, i + 1, c.f->type.in[i], &c.in[i], c.f->name, "argument", i + 1);
  if (!guarded(call_back, &c, what, sizeof what)) return luaL_error(L, "%s: C++ exception: %s", c.f->name, what);
  if (c.err < 0) return luaL_error(L, "%s: %s", c.f->name, pml_error_detail(c.err));
  int n = 0;
  for (; c.f->type.out[n] != '\0'; n++) typed_push(L, c.f->type.out[n], &c.out[n]);
  return n;
}

static int add_function(lua_State *L) {
  const struct function *given = lua_touserdata(L, 1);
  const char *last = push_holder(L, given->name, true);
  if (!lua_istable(L, -1)) return luaL_error(L, "%s: the name before the last dot is not of a table", given->name);
  lua_pushstring(L, last);
  struct function *f = lua_newuserdatauv(L, sizeof *f, 0);
  *f = *given;
  lua_pushcclosure(L, l_function, 1);
  lua_rawset(L, -3);
  return 0;
}

int pmlua_function(struct pmlua *p, const char *name, const char *format, pmlua_callback *fn, void *arg) {
  struct function f = {.fn = fn, .arg = arg};
  int err = check_name(name);
  if (err == 0) err = typed_parse(&f.type, format);
  if (err < 0) return err;
  memcpy(f.name, name, strlen(name) + 1);
  return embed_run(p, add_function, &f, NULL);
}

/* --- the application calls Lua --- */

struct calling {
  struct pmlua *p;
  const char *name;
  struct typed type;
  const struct pmlua_value *in;
  struct pmlua_value *out;
};

static int call(lua_State *L) {
  const struct calling *c = lua_touserdata(L, 1);
  int nin = (int)strlen(c->type.in), nout = (int)strlen(c->type.out);
  const char *last = push_holder(L, c->name, false);
  if (lua_istable(L, -1)) lua_getfield(L, -1, last);
  if (lua_isnoneornil(L, -1)) return luaL_error(L, "there is no function %s", c->name);
  for (int i = 0; i < nin; i++) typed_push(L, c->type.in[i], &c->in[i]);
  int first = lua_gettop(L) - nin;
  lua_call(L, nin, nout);
  luaL_checkstack(L, 4 * TYPED_MAX, "too many results");
  embed_forget(c->p);
  for (int i = 0; i < nout; i++) {
    typed_get(L, first + i, c->type.out[i], &c->out[i], c->name, "result", i + 1);
    if (typed_has_string(c->type.out[i]) && c->out[i].s != NULL) {
      lua_pushlstring(L, c->out[i].s, c->out[i].n);
      c->out[i].s = c->p->kept[i] = state_copy(L, -1, NULL);
    }
  }
  return 0;
}

/* Inside a run, the limits of the run apply. */
int pmlua_call_values(struct pmlua *p, const char *name, const char *format, const struct pmlua_value *arguments,
                      struct pmlua_value *results) {
  struct calling c = {.p = p, .name = name, .in = arguments, .out = results};
  int err = check_name(name);
  if (err == 0) err = typed_parse(&c.type, format);
  if (err < 0) return err;
  return embed_run(p, call, &c, &p->limits);
}

static void read_argument(char letter, struct pmlua_value *v, va_list *ap) {
  if (letter == 'i') v->i = va_arg(*ap, int64_t);
  if (letter == 'd') v->d = va_arg(*ap, double);
  if (letter == 'b') v->b = va_arg(*ap, int);
  if (typed_has_string(letter)) v->s = va_arg(*ap, const char *);
  if (letter == 'z') v->n = va_arg(*ap, size_t);
}

static void write_result(char letter, const struct pmlua_value *v, va_list *ap) {
  if (letter == 'i') *va_arg(*ap, int64_t *) = v->i;
  if (letter == 'd') *va_arg(*ap, double *) = v->d;
  if (letter == 'b') *va_arg(*ap, int *) = v->b;
  if (typed_has_string(letter)) *va_arg(*ap, const char **) = v->s;
  if (letter == 'z') *va_arg(*ap, size_t *) = v->n;
}

int pmlua_call(struct pmlua *p, const char *name, const char *format, ...) {
  struct pmlua_value in[TYPED_MAX], out[TYPED_MAX];
  struct typed type;
  va_list ap;
  int err = typed_parse(&type, format);
  if (err < 0) return err;
  va_start(ap, format);
  for (int i = 0; type.in[i] != '\0'; i++) read_argument(type.in[i], &in[i], &ap);
  err = pmlua_call_values(p, name, format, in, out);
  for (int i = 0; err == 0 && type.out[i] != '\0'; i++) write_result(type.out[i], &out[i], &ap);
  va_end(ap);
  return err;
}
