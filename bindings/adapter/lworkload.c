/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/adapter/lworkload.c - pml.workload: C kernels with probe sites. */
#include "command/interrupt.h"
#include "module.h"
#include "shared.h"

#include "adapter/pml_workload.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#define PHASES_MAX (1 << 24)

struct handle {
  struct lutil_handle h;
  void *object;
  const struct pml_workload *w;
};

LUTIL_CLASS(workload, handle, dlclose(h->object))

static struct handle *check(lua_State *L) {
  return lutil_check(L, 1, &workload_class);
}

static size_t nsites(const struct pml_workload *w) {
  size_t n = 0;
  while (n < PML_WORKLOAD_MAX && w->site[n] != NULL) n++;
  return n;
}

static size_t noptions(const struct pml_workload *w) {
  size_t n = 0;
  while (n < PML_WORKLOAD_MAX && w->option[n].name != NULL) n++;
  return n;
}

/* --- load --- */

static void push_option(lua_State *L, const void *workload, size_t i) {
  const struct pml_workload_option *o = &((const struct pml_workload *)workload)->option[i];
  lua_createtable(L, 0, 3);
  lutil_setstr(L, "name", o->name);
  lutil_setstr(L, "help", o->help != NULL ? o->help : "");
  if (o->text != NULL)
    lutil_setstr(L, "default", o->text);
  else
    lutil_setnum(L, "default", o->value);
}

/* The description of the workload for scripts, made once: the user value of the handle. */
static void pushdescription(lua_State *L, const struct pml_workload *w) {
  lua_createtable(L, 0, 4);
  lutil_setstr(L, "name", w->name);
  lutil_setstr(L, "help", w->help != NULL ? w->help : "");
  field_values(L, "sites", FIELD_TEXT, w->site, nsites(w));
  field_each(L, "options", noptions(w), push_option, w);
}

/*
 * The code stays in the process (RTLD_NODELETE): its strings are in results, and a library it started threads with
 * may not survive being unmapped.
 */
static int load(struct handle *h, const char *path) {
  if (access(path, R_OK) != 0) return pml_fail(-errno, "cannot read the workload %s; check the path", path);
  h->object = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (h->object == NULL) return pml_fail(PML_EFORMAT, "%s; build it as a shared object", dlerror());
  h->h.open = 1;
  h->w = dlsym(h->object, "pml_workload");
  if (h->w == NULL) return pml_fail(PML_EFORMAT, "%s has no pml_workload; see core/adapter/pml_workload.h", path);
  if (h->w->abi != PML_WORKLOAD_ABI)
    return pml_fail(PML_EFORMAT, "%s has workload ABI %u, not %u; build it again", path, h->w->abi, PML_WORKLOAD_ABI);
  if (h->w->name == NULL || h->w->run == NULL) return pml_fail(PML_EFORMAT, "%s has no name or no run", path);
  return 0;
}

static int l_load(lua_State *L) {
  (void)pml_clock_init(); /* workloads read the clock at their phases */
  const char *path = lutil_string(L, 1);
  if (path[0] == '\0') luaL_argerror(L, 1, "the path is empty");
  /* A bare name would be looked up in the library path. */
  if (strchr(path, '/') == NULL) path = lua_pushfstring(L, "./%s", path);
  struct handle *h = lutil_new(L, &workload_class, 0, 1);
  int err = load(h, path);
  if (err < 0) {
    lutil_close(&h->h);
    return pml_pusherr(L, err, "workload.load");
  }
  pushdescription(L, h->w);
  lua_setiuservalue(L, -2, 1);
  return 1;
}

static int l_index(lua_State *L) {
  lutil_self(L, 1, &workload_class);
  lua_settop(L, 2);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
  if (lua_getiuservalue(L, 1, 1) == LUA_TTABLE) {
    lua_pushvalue(L, 2);
    if (lua_rawget(L, -2) != LUA_TNIL) return 1;
  }
  lua_settop(L, 2);
  return lutil_unknown(L, "workload", lua_upvalueindex(1));
}

/* --- run --- */

/* The memory of a run, in one userdata, so that it is freed even after an error. */
struct scratch {
  struct pml_workload_run run;
  struct pml_probe probe[PML_WORKLOAD_MAX];
  struct pml_samples *samples[PML_WORKLOAD_MAX];
  double number[PML_WORKLOAD_MAX];
  const char *text[PML_WORKLOAD_MAX];
  enum pml_probe_operation operation;
};

enum { ARG = 2, OPTIONS = 3, SAMPLES = 4, SET = 5 }; /* stack slots of l_run */

#define NAME(id, name) name,
static const char *const operations[] = {PML_PROBE_OPERATION_LIST(NAME) NULL};
#undef NAME

static void readoption(lua_State *L, const struct pml_workload_option *o, double *number, const char **text) {
  size_t len;
  *number = o->value;
  *text = o->text;
  int type = lutil_field(L, OPTIONS, o->name); /* a string stays on the stack, and so alive */
  if (type == LUA_TNIL) return;
  if (type != (o->text != NULL ? LUA_TSTRING : LUA_TNUMBER))
    luaL_argerror(
        L, ARG,
        lua_pushfstring(L, "option '%s' of the workload must be a %s", o->name, o->text != NULL ? "string" : "number"));
  if (o->text != NULL)
    *text = lua_tolstring(L, -1, &len);
  else
    *number = lua_tonumber(L, -1);
  if ((o->text != NULL && strlen(*text) != len) || !isfinite(*number))
    luaL_argerror(L, ARG, lua_pushfstring(L, "option '%s' of the workload is not finite or has a zero byte", o->name));
}

static void readoptions(lua_State *L, const struct pml_workload *w, struct scratch *r) {
  const char *known[PML_WORKLOAD_MAX + 1] = {NULL};
  size_t n = noptions(w);
  for (size_t i = 0; i < n; i++) known[i] = w->option[i].name;
  lutil_options(L, OPTIONS, known);
  for (size_t i = 0; i < n; i++) readoption(L, &w->option[i], &r->number[i], &r->text[i]);
}

static void readsamples(lua_State *L, const struct pml_workload *w, struct scratch *r) {
  size_t n = nsites(w);
  if (lua_type(L, SAMPLES) != LUA_TTABLE || lua_rawlen(L, SAMPLES) != n)
    luaL_argerror(L, ARG, lua_pushfstring(L, "samples must be an array of %d, one for each site", (int)n));
  for (size_t i = 0; i < n; i++) {
    lua_rawgeti(L, SAMPLES, (lua_Integer)i + 1);
    r->samples[i] = lutil_samples(L, -1);
  }
}

static void initprobes(lua_State *L, const struct pml_workload *w, struct scratch *r) {
  struct pml_eventset *set = lua_isnil(L, SET) ? NULL : lutil_eventset(L, SET);
  for (size_t i = 0; i < nsites(w); i++)
    if (pml_probe_init(&r->probe[i], r->operation, set, r->samples[i]) < 0)
      luaL_argerror(L, ARG, "the operation needs a set");
}

static void pushresults(lua_State *L, const struct scratch *r) {
  static const struct field fields[] = FIELDS(struct pml_workload_result, name, unit, value);
  unsigned n = r->run.nresults < PML_WORKLOAD_MAX ? r->run.nresults : PML_WORKLOAD_MAX;
  field_list(L, fields, r->run.result, n, sizeof r->run.result[0]);
}

static void pushphases(lua_State *L, const struct scratch *r) {
  static const struct field fields[] = {FIELD(struct pml_workload_phase, region),
                                        FIELD_AS(struct pml_workload_phase, "enter", enter_ticks),
                                        FIELD_AS(struct pml_workload_phase, "leave", leave_ticks), FIELD_END};
  size_t n = r->run.nphases < r->run.phase_capacity ? r->run.nphases : r->run.phase_capacity;
  field_list(L, fields, r->run.phase, n, sizeof r->run.phase[0]);
}

static int pushoutcome(lua_State *L, const struct scratch *r, size_t sites, size_t nvalues) {
  lua_createtable(L, 0, 5);
  pushresults(L, r);
  lua_setfield(L, -2, "results");
  lua_createtable(L, (int)sites, 0);
  lua_createtable(L, (int)sites, 0);
  for (size_t i = 0; i < sites; i++) {
    lua_pushinteger(L, (lua_Integer)r->probe[i].retries);
    lua_rawseti(L, -3, (lua_Integer)i + 1);
    lua_pushinteger(L, (lua_Integer)r->probe[i].skipped);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -3, "skipped");
  lua_setfield(L, -2, "retries");
  field_values(L, "values", FIELD_UINT64, r->probe[0].values, nvalues);
  pushphases(L, r);
  lua_setfield(L, -2, "phases");
  return 1;
}

/* The message of a failed run: the run's own, or else the first failed operation's. */
static int outcome(const struct pml_workload *w, struct scratch *r, int err, size_t sites) {
  r->run.error[sizeof r->run.error - 1] = '\0';
  if (err < 0) return r->run.error[0] != '\0' ? pml_fail(err, "%s: %s", w->name, r->run.error) : err;
  for (size_t i = 0; i < sites; i++)
    if (r->probe[i].error < 0) return r->probe[i].error;
  return 0;
}

static int l_run(lua_State *L) {
  static const char *const known[] = {"operation", "set", "samples", "options", "phases", NULL};
  const struct pml_workload *w = check(L)->w;
  lua_settop(L, ARG);
  luaL_checktype(L, ARG, LUA_TTABLE);
  luaL_checkstack(L, 4 * PML_WORKLOAD_MAX, NULL);
  lutil_options(L, ARG, known);
  lutil_field(L, ARG, "options");
  lutil_field(L, ARG, "samples");
  lutil_field(L, ARG, "set");
  struct scratch *r = lua_newuserdatauv(L, sizeof *r, 0);
  memset(r, 0, sizeof *r);
  r->run.phase_capacity = (size_t)lutil_intfield(L, ARG, "phases", 0, 0, PHASES_MAX);
  if (r->run.phase_capacity > 0) r->run.phase = lua_newuserdatauv(L, r->run.phase_capacity * sizeof *r->run.phase, 0);
  r->operation = (enum pml_probe_operation)lutil_choice(L, ARG, "operation", operations, PML_PROBE_READ);
  readoptions(L, w, r);
  readsamples(L, w, r);
  check(L);
  initprobes(L, w, r); /* from here to the end of the run nothing is allocated in Lua */
  r->run.probe = r->probe;
  r->run.number = r->number;
  r->run.text = r->text;
  r->run.stop = &lutil_interrupted;
  size_t sites = nsites(w), nvalues = sites > 0 && r->probe[0].set != NULL ? pml_eventset_size(r->probe[0].set) : 0;
  int err = outcome(w, r, w->run(&r->run), sites);
  return err < 0 ? pml_pusherr(L, err, "workload.run") : pushoutcome(L, r, sites, nvalues);
}

int luaopen_pmlua_workload(lua_State *L) {
  static const luaL_Reg methods[] = {{"run", l_run}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"load", l_load}, {NULL, NULL}};
  lutil_class(L, &workload_class, methods, l_index);
  luaL_newlib(L, functions);
  field_values(L, "operations", FIELD_TEXT, operations, PML_PROBE_OPERATIONS);
  return 1;
}
