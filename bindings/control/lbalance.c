/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/control/lbalance.c - pml.balance: the frequency decision, and balancers of this process's threads. */
#include "control/tune_messages.h"

#include "control/balance/pml_balance.h"

#include <errno.h>
#include <string.h>

#define SYNC_MAX 64

/* Members that options and results share; @m is the path to the rule in the struct. */
#define RULE_OPTIONS(t, m)                                                                                             \
  OPTION_AS(t, "reference", m reference_hz), OPTION_AS(t, "min", m min_hz), OPTION_AS(t, "delta", m delta_hz),         \
      OPTION_AS(t, "last", m last), OPTION_AS(t, "fits", m fits),                                                      \
      OPTION_RANGE(t, "window", m window, 0, PML_PACE_WINDOW_MAX)

/* ---- the decision ---- */

struct controller {
  struct lutil_handle h;
  struct pml_pace_rule rule;
  struct pml_pace_region region;
};

static const struct lutil_class controller_class = {"controller", sizeof(struct controller), NULL};

/* controller{ reference = Hz, min = Hz, ... }: of one region of one thread. */
static int l_controller(lua_State *L) {
  static const struct option known[] = {RULE_OPTIONS(struct pml_pace_rule, ), OPTION_END};
  struct pml_pace_rule rule = {0};
  luaL_checktype(L, 1, LUA_TTABLE);
  option_read(L, 1, known, &rule);
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
  return lutil_pushnum(L, pml_pace_step(&c->region, &c->rule, compute, total, used));
}

/* ---- balancers ---- */

struct handle {
  struct lutil_handle h;
  struct pml_balance *balancer;
};

LUTIL_CLASS(balancer, handle, pml_balance_close(h->balancer))

static struct handle *check(lua_State *L) {
  return lutil_check(L, 1, &balancer_class);
}

static int l_open(lua_State *L) {
  static const struct option known[] = {OPTION_UNREAD("sync"),
                                        OPTION_UNREAD("cpus"),
                                        OPTION_AS(struct pml_balance_options, "root", tune.root),
                                        OPTION_AS(struct pml_balance_options, "dry_run", tune.dry_run),
                                        RULE_OPTIONS(struct pml_balance_options, rule.),
                                        OPTION_END};
  static const char *const cpus[] = {"thread", "current", NULL};
  const char *names[SYNC_MAX];
  struct pml_balance_options o = {.sync = names};
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  option_read(L, 1, known, &o);
  o.tune.cpus = (enum pml_tune_cpus)lutil_choice(L, 1, "cpus", cpus, PML_TUNE_THREAD);
  if (lutil_field(L, 1, "sync") != LUA_TTABLE) luaL_argerror(L, 1, "sync must be a list of names of regions");
  o.nsync = lutil_names(L, lua_gettop(L), names, SYNC_MAX);
  struct handle *h = lutil_new(L, &balancer_class, 0, 0);
  int err = pml_balance_open(&h->balancer, &o);
  return lutil_opened(L, &h->h, err, "balance");
}

static int l_stop(lua_State *L) {
  pml_balance_stop(check(L)->balancer);
  return 0;
}

TUNE_MESSAGES(pml_balance, balancer)

static void push_record(lua_State *L, const struct pml_balance_record *r) {
  static const struct field fields[] = {EACH(FIELD, struct pml_balance_record, thread, region, hz),
                                        FIELD_AS(struct pml_balance_record, "next", next_hz), FIELD_END};
  struct pml_region_info info;
  field_push(L, fields, r);
  if (pml_region_describe(r->sync, &info) == 0) lutil_setstr(L, "sync", info.name);
  lutil_setint(L, "ns", pml_clock_at_ns(r->begin_ticks));
  lutil_setnum(L, "compute", (double)pml_clock_ticks_to_ns(r->sync_ticks - r->begin_ticks) * 1e-9);
  lutil_setnum(L, "total", (double)pml_clock_ticks_to_ns(r->end_ticks - r->begin_ticks) * 1e-9);
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
  static const struct field fields[] = {
      EACH(FIELD, struct pml_balance_stats, repetitions, lost, threads, writes, refused),
      FIELD_AS(struct pml_balance_stats, "compute", compute_s), FIELD_AS(struct pml_balance_stats, "total", total_s),
      FIELD_END};
  struct pml_balance_stats s;
  pml_balance_stats(check(L)->balancer, &s);
  return field_push(L, fields, &s);
}

/* rule() -> the rule in force, with defaults */
static int l_rule(lua_State *L) {
  static const struct field fields[] = {FIELD_AS(struct pml_pace_rule, "reference", reference_hz),
                                        FIELD_AS(struct pml_pace_rule, "min", min_hz),
                                        FIELD_AS(struct pml_pace_rule, "delta", delta_hz),
                                        EACH(FIELD, struct pml_pace_rule, last, fits, window), FIELD_END};
  struct pml_pace_rule r;
  pml_balance_rule(check(L)->balancer, &r);
  return field_push(L, fields, &r);
}

int luaopen_pmlua_balance(lua_State *L) {
  static const luaL_Reg controller[] = {{"step", l_step}, {NULL, NULL}};
  static const luaL_Reg balancer[] = {{"stop", l_stop},   {"lines", l_lines}, {"log", l_log}, {"take", l_take},
                                      {"stats", l_stats}, {"rule", l_rule},   {NULL, NULL}};
  static const luaL_Reg functions[] = {{"open", l_open}, {"controller", l_controller}, {NULL, NULL}};
  lutil_class(L, &controller_class, controller, NULL);
  lutil_class(L, &balancer_class, balancer, NULL);
  return lutil_module(L, functions);
}
