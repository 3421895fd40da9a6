/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/control/lbalance.c - pml.balance: the frequency decision, and balancers of this process's threads. */
#include "control/tune_messages.h"
#include "lutil.h"

#include "control/balance/pml_balance.h"

#include <errno.h>
#include <string.h>

#define SYNC_MAX 64

static double number_field(lua_State *L, int arg, const char *key) {
  int type = lutil_field(L, arg, key);
  if (type != LUA_TNIL && type != LUA_TNUMBER) luaL_argerror(L, arg, lua_pushfstring(L, "%s must be a number", key));
  double v = lua_tonumber(L, -1);
  lua_pop(L, 1);
  return v;
}

static struct pml_pace_rule rule_fields(lua_State *L, int arg) {
  return (struct pml_pace_rule){.reference_hz = number_field(L, arg, "reference"),
                                .min_hz = number_field(L, arg, "min"),
                                .delta_hz = number_field(L, arg, "delta"),
                                .last = number_field(L, arg, "last"),
                                .fits = number_field(L, arg, "fits"),
                                .window = (unsigned)lutil_intfield(L, arg, "window", 0, 0, PML_PACE_WINDOW_MAX)};
}

/* ---- the decision ---- */

struct controller {
  struct lutil_handle h;
  struct pml_pace_rule rule;
  struct pml_pace_region region;
};

static const struct lutil_class controller_class = {"controller", sizeof(struct controller), NULL};

/* controller{ reference = Hz, min = Hz, ... }: of one region of one thread. */
static int l_controller(lua_State *L) {
  static const char *const known[] = {"reference", "min", "delta", "last", "fits", "window", NULL};
  luaL_checktype(L, 1, LUA_TTABLE);
  lutil_options(L, 1, known);
  struct pml_pace_rule rule = rule_fields(L, 1);
  if (pml_pace_check(&rule) < 0) return luaL_error(L, "balance: %s", pml_error_detail(-EINVAL));
  struct controller *c = lutil_new(L, &controller_class, 0, 0);
  c->rule = rule;
  pml_pace_begin(&c->region, &c->rule);
  c->h.open = 1;
  return 1;
}

/* step(compute, total, [used Hz]) -> Hz of the next repetition */
static int l_step(lua_State *L) {
  struct controller *c = lutil_check(L, 1, &controller_class);
  double compute = luaL_checknumber(L, 2), total = luaL_checknumber(L, 3), used = luaL_optnumber(L, 4, 0);
  lua_pushnumber(L, pml_pace_step(&c->region, &c->rule, compute, total, used));
  return 1;
}

/* ---- balancers ---- */

struct handle {
  struct lutil_handle h;
  struct pml_balance *balancer;
};

static void balancer_close(void *handle) {
  struct handle *h = handle;
  pml_balance_close(h->balancer);
  h->balancer = NULL;
}

static const struct lutil_class balancer_class = {"balancer", sizeof(struct handle), balancer_close};

static struct handle *check(lua_State *L) {
  return lutil_check(L, 1, &balancer_class);
}

static int l_open(lua_State *L) {
  static const char *const known[] = {"sync",  "root", "cpus", "dry_run", "reference", "min",
                                      "delta", "last", "fits", "window",  NULL};
  const char *names[SYNC_MAX];
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  lutil_options(L, 1, known);
  struct pml_balance_options o = {.sync = names, .rule = rule_fields(L, 1)};
  o.tune.root = lutil_stringfield(L, 1, "root", NULL);
  o.tune.dry_run = lutil_flag(L, 1, "dry_run");
  const char *cpus = lutil_stringfield(L, 1, "cpus", "thread");
  o.tune.cpus = strcmp(cpus, "current") == 0 ? PML_TUNE_CURRENT : PML_TUNE_THREAD;
  if (o.tune.cpus == PML_TUNE_THREAD && strcmp(cpus, "thread") != 0)
    luaL_argerror(L, 1, "cpus must be \"thread\" or \"current\"");
  if (lutil_field(L, 1, "sync") != LUA_TTABLE) luaL_argerror(L, 1, "sync must be a list of names of regions");
  o.nsync = lutil_names(L, lua_gettop(L), names, SYNC_MAX);
  struct handle *h = lutil_new(L, &balancer_class, 0, 0);
  int err = pml_balance_open(&h->balancer, &o);
  if (err < 0) return pml_pusherr(L, err, "balance");
  h->h.open = 1;
  return 1;
}

static int l_stop(lua_State *L) {
  pml_balance_stop(check(L)->balancer);
  return 0;
}

static const char *line(const void *h, size_t i) {
  return pml_balance_line(((const struct handle *)h)->balancer, i);
}

static bool entry(const void *h, size_t i, struct pml_tune_entry *e) {
  return pml_balance_entry(((const struct handle *)h)->balancer, i, e);
}

static int l_lines(lua_State *L) {
  tune_push_lines(L, &check(L)->h, line);
  return 1;
}

static int l_log(lua_State *L) {
  tune_push_log(L, &check(L)->h, entry);
  return 1;
}

static void push_record(lua_State *L, const struct pml_balance_record *r) {
  struct pml_region_info info;
  lua_createtable(L, 0, 8);
  lutil_setint(L, "thread", r->thread);
  lutil_setint(L, "region", r->region);
  if (pml_region_describe(r->sync, &info) == 0) lutil_setstr(L, "sync", info.name);
  lutil_setint(L, "ns", pml_clock_at_ns(r->begin_ticks));
  lutil_setnum(L, "compute", (double)pml_clock_ticks_to_ns(r->sync_ticks - r->begin_ticks) * 1e-9);
  lutil_setnum(L, "total", (double)pml_clock_ticks_to_ns(r->end_ticks - r->begin_ticks) * 1e-9);
  lutil_setnum(L, "hz", r->hz);
  lutil_setnum(L, "next", r->next_hz);
}

/* take() -> the repetitions that were not taken; times in s, from ns on by pml.clock. */
static int l_take(lua_State *L) {
  struct pml_balance_record r[64];
  struct handle *h = check(L);
  size_t n = 1;
  lua_newtable(L);
  for (lua_Integer at = 0; h->h.open && n > 0; at += (lua_Integer)n) {
    n = pml_balance_take(h->balancer, r, sizeof r / sizeof r[0]);
    for (size_t i = 0; i < n; i++) {
      push_record(L, &r[i]);
      lua_rawseti(L, -2, at + (lua_Integer)i + 1);
    }
  }
  return 1;
}

static int l_stats(lua_State *L) {
  struct pml_balance_stats s;
  pml_balance_stats(check(L)->balancer, &s);
  lua_createtable(L, 0, 7);
  lutil_setint(L, "repetitions", s.repetitions);
  lutil_setint(L, "lost", s.lost);
  lutil_setint(L, "threads", s.threads);
  lutil_setint(L, "writes", s.writes);
  lutil_setint(L, "refused", s.refused);
  lutil_setnum(L, "compute", s.compute_s);
  lutil_setnum(L, "total", s.total_s);
  return 1;
}

/* rule() -> what is decided by, with all that was left open */
static int l_rule(lua_State *L) {
  struct pml_pace_rule r;
  pml_balance_rule(check(L)->balancer, &r);
  lua_createtable(L, 0, 6);
  lutil_setnum(L, "reference", r.reference_hz);
  lutil_setnum(L, "min", r.min_hz);
  lutil_setnum(L, "delta", r.delta_hz);
  lutil_setnum(L, "last", r.last);
  lutil_setnum(L, "fits", r.fits);
  lutil_setint(L, "window", r.window);
  return 1;
}

int luaopen_pmlua_balance(lua_State *L) {
  static const luaL_Reg controller[] = {{"step", l_step}, {NULL, NULL}};
  static const luaL_Reg balancer[] = {{"stop", l_stop},   {"lines", l_lines}, {"log", l_log}, {"take", l_take},
                                      {"stats", l_stats}, {"rule", l_rule},   {NULL, NULL}};
  static const luaL_Reg functions[] = {{"open", l_open}, {"controller", l_controller}, {NULL, NULL}};
  lutil_class(L, &controller_class, controller, NULL);
  lutil_class(L, &balancer_class, balancer, NULL);
  luaL_newlib(L, functions);
  return 1;
}
