/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/control/ltune.c - pml.tune: rules that set how cpus run while a region is open. */
#include "base/pml_cancel.h"
#include "control/tune_messages.h"
#include "failure.h"
#include "function_copy.h"
#include "live/limit.h"

#include "control/tune/pml_tune.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ENTER, LEAVE, CALLS };

#define IDLE_MAX 12
#define RULE_BYTES 2048 /* size of a rule, with its settings, without its functions' state */
#define LOG 4096        /* entries of a dry run's log in a state with a memory limit */

/* The functions of a rule, in a separate state. */
struct functions {
  struct handle *h;
  int ref[CALLS]; /* LUA_NOREF: none */
};

struct handle {
  struct lutil_handle h;
  struct pml_tune *tune;
  pid_t pid;
  lua_State *L; /* NULL: no rule calls anything */
  struct pml__mutex lock;
  struct functions *functions; /* [of rules] */
  struct pml_tune_rule *rule;  /* while it is being opened */
  struct pml_tune_idle *idle;
};

static void free_rules(struct handle *h) {
  free(h->rule);
  free(h->idle);
  h->rule = NULL;
  h->idle = NULL;
}

static void tune_close(void *handle) {
  struct handle *h = handle;
  if (h->pid != getpid()) return; /* another thread of the parent may have been in its functions */
  pml_tune_close(h->tune);
  h->tune = NULL;
  free_rules(h);
  if (h->L != NULL) lua_close(h->L);
  h->L = NULL;
  free(h->functions);
  h->functions = NULL;
  pthread_mutex_destroy(&h->lock.mutex);
}

static const struct lutil_class tune_class = {"tune", sizeof(struct handle), tune_close};

static struct handle *check(lua_State *L) {
  return lutil_check(L, 1, &tune_class);
}

/* --- calls --- */

static int call_function(lua_State *L) {
  struct pml_region_info info = {.name = "?"};
  (void)pml_region_describe((pml_region_t)lua_tointeger(L, 2), &info);
  lua_rawgeti(L, LUA_REGISTRYINDEX, (int)lua_tointeger(L, 1));
  lua_pushstring(L, info.name);
  lua_call(L, 1, 0);
  return 0;
}

static int on_call(void *arg, bool leave, pml_region_t region, char why[PML_TUNE_WHY]) {
  const struct functions *f = arg;
  lua_State *L = f->h->L;
  int ref = f->ref[leave ? LEAVE : ENTER];
  if (ref == LUA_NOREF) return 0;
  pml__mutex_take(&f->h->lock);
  lua_pushcfunction(L, failure_message);
  lua_pushcfunction(L, call_function);
  lua_pushinteger(L, ref);
  lua_pushinteger(L, (lua_Integer)region);
  int failed = lua_pcall(L, 2, 0, -4);
  if (failed != LUA_OK) {
    const char *text = lua_tostring(L, -1);
    strncpy(why, text != NULL ? text : "an error that is not a string", PML_TUNE_WHY - 1);
    why[strcspn(why, "\n")] = '\0';
  }
  lua_settop(L, 0);
  pml__mutex_leave(&f->h->lock);
  return failed == LUA_OK ? 0 : -1;
}

/* --- rules --- */

/* The rule's table is on top of the stack. */
static double hz_field(lua_State *L, const char *key) {
  int type = lutil_field(L, -1, key);
  if (type != LUA_TNIL && type != LUA_TNUMBER)
    luaL_error(L, "tune: %s must be a number of Hz, not a %s", key, lua_typename(L, type));
  double hz = lua_tonumber(L, -1);
  lua_pop(L, 1);
  return hz;
}

/* The string on top, popped and kept in the table at @keep: finalizers may empty the script's own meanwhile. */
static const char *keep_text(lua_State *L, int keep) {
  const char *text = lua_tostring(L, -1);
  lua_rawseti(L, keep, (lua_Integer)lua_rawlen(L, keep) + 1);
  return text;
}

static const char *text_field(lua_State *L, const char *key, int keep) {
  int type = lutil_field(L, -1, key);
  if (type != LUA_TNIL && type != LUA_TSTRING)
    luaL_error(L, "tune: %s must be a string, not a %s", key, lua_typename(L, type));
  return keep_text(L, keep);
}

static unsigned threads_field(lua_State *L) {
  int type = lutil_field(L, -1, "threads"), is = 0;
  lua_Integer n = lua_tointegerx(L, -1, &is);
  if (type != LUA_TNIL && (type != LUA_TNUMBER || !is || n < 1 || n > 65536))
    luaL_error(L, "tune: threads must be an integer from 1 to 65536");
  lua_pop(L, 1);
  return (unsigned)n;
}

static void take_function(lua_State *L, struct handle *h, struct functions *f, int which, const char *key) {
  char misuse[256];
  int type = lutil_field(L, -1, key);
  f->ref[which] = LUA_NOREF;
  if (type != LUA_TNIL && type != LUA_TFUNCTION)
    luaL_error(L, "tune: %s must be a function, not a %s", key, lua_typename(L, type));
  if (type == LUA_TFUNCTION) {
    if (!function_copy_is_alone(L, lua_gettop(L), misuse)) luaL_error(L, "tune: %s: %s", key, misuse);
    if (h->L == NULL) h->L = function_copy_state(limit_account(L));
    if (h->L == NULL || function_copy(h->L, L, lua_gettop(L), &f->ref[which]) < 0)
      luaL_error(L, "tune: no memory for a function");
  }
  lua_pop(L, 1);
}

/* idle: an array of { state, on }. */
static size_t take_idle(lua_State *L, struct pml_tune_idle *idle, int keep) {
  size_t n = 0;
  if (lutil_field(L, -1, "idle") == LUA_TTABLE) {
    for (n = 0; n < IDLE_MAX && lua_rawgeti(L, -1, (lua_Integer)n + 1) == LUA_TTABLE; n++) {
      if (lua_rawgeti(L, -1, 1) != LUA_TSTRING || lua_rawgeti(L, -2, 2) != LUA_TBOOLEAN)
        luaL_error(L, "tune: idle must be a list of { state, boolean }");
      idle[n].on = lua_toboolean(L, -1);
      lua_pop(L, 1);
      idle[n].state = keep_text(L, keep);
      lua_pop(L, 1);
    }
    if (n == IDLE_MAX) luaL_error(L, "tune: a rule sets at most %d idle states", IDLE_MAX - 1);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return n;
}

static void take_rule(lua_State *L, struct handle *h, size_t i, int keep) {
  static const char *const known[] = {"region", "frequency", "frequency_min", "frequency_max", "governor",
                                      "idle",   "threads",   "enter",         "leave",         NULL};
  struct pml_tune_rule *r = &h->rule[i];
  struct functions *f = &h->functions[i];
  if (!lua_istable(L, -1)) luaL_error(L, "tune: rule %d must be a table", (int)i + 1);
  lutil_options(L, lua_gettop(L), known);
  r->region = text_field(L, "region", keep);
  r->frequency_hz = hz_field(L, "frequency");
  r->min_hz = hz_field(L, "frequency_min");
  r->max_hz = hz_field(L, "frequency_max");
  r->governor = text_field(L, "governor", keep);
  r->threads = threads_field(L);
  r->idle = &h->idle[i * IDLE_MAX];
  r->nidle = take_idle(L, &h->idle[i * IDLE_MAX], keep);
  f->h = h;
  take_function(L, h, f, ENTER, "enter");
  take_function(L, h, f, LEAVE, "leave");
  if (f->ref[ENTER] == LUA_NOREF && f->ref[LEAVE] == LUA_NOREF) return;
  r->call = on_call;
  r->arg = f;
}

static void take_options(lua_State *L, struct pml_tune_options *o) {
  static const struct option known[] = {OPTION_UNREAD("rules"), OPTION_UNREAD("cpus"),
                                        OPTIONS(struct pml_tune_options, root, dry_run), OPTION_END};
  static const char *const cpus[] = {"thread", "current", "all", NULL};
  option_read(L, 1, known, o);
  o->cpus = (enum pml_tune_cpus)lutil_choice(L, 1, "cpus", cpus, PML_TUNE_THREAD);
  if (lutil_field(L, 1, "rules") != LUA_TTABLE) luaL_argerror(L, 1, "rules must be a list of rules");
}

static struct handle *new_handle(lua_State *L, size_t nrules) {
  struct handle *h = lutil_new(L, &tune_class, 0, 0);
  pthread_mutex_init(&h->lock.mutex, NULL);
  h->pid = getpid();
  h->h.open = 1; /* it owns memory from here on */
  h->functions = calloc(nrules + 1, sizeof *h->functions);
  h->rule = calloc(nrules + 1, sizeof *h->rule);
  h->idle = calloc((nrules + 1) * IDLE_MAX, sizeof *h->idle);
  if (h->functions == NULL || h->rule == NULL || h->idle == NULL)
    luaL_error(L, "tune: no memory for %d rules", (int)nrules);
  return h;
}

/* open{ rules = { { region = NAME, ... }, ... }, root = PATH, cpus = "thread", dry_run = false } */
static int l_open(lua_State *L) {
  struct pml_tune_options o = {.root = NULL};
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  take_options(L, &o);
  int rules = lua_gettop(L);
  size_t n = (size_t)lua_rawlen(L, rules);
  if (n > PML_TUNE_RULES_MAX) luaL_argerror(L, 1, "there are too many rules");
  lua_newtable(L);
  struct handle *h = new_handle(L, n);
  o.log = limit_account(L) != NULL ? LOG : 0;
  int err = lutil_charge(L, &h->h, n * RULE_BYTES + o.log * sizeof(struct pml_tune_entry));
  if (err < 0) {
    lutil_close(&h->h);
    return pml_pusherr(L, err, "tune");
  }
  for (size_t i = 0; i < n; i++) {
    lua_rawgeti(L, rules, (lua_Integer)i + 1);
    take_rule(L, h, i, rules + 1);
    lua_pop(L, 1);
  }
  err = pml_tune_open(&h->tune, h->rule, n, &o);
  free_rules(h);
  if (err == 0) return 1;
  lutil_close(&h->h);
  return pml_pusherr(L, err, "tune");
}

/* --- what became of it --- */

static int l_stop(lua_State *L) {
  pml_tune_stop(check(L)->tune);
  return 0;
}

TUNE_MESSAGES(pml_tune, tune)

static int l_stats(lua_State *L) {
  static const struct field fields[] = FIELDS(struct pml_tune_stats, entered, writes, refused, lost, files);
  struct pml_tune_stats s;
  pml_tune_stats(check(L)->tune, &s);
  return field_push(L, fields, &s);
}

static int l_allowed(lua_State *L) {
  return lutil_pushbool(L, pml_tune_allowed());
}

int luaopen_pmlua_tune(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"stop", l_stop}, {"lines", l_lines}, {"log", l_log}, {"stats", l_stats}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"open", l_open}, {"allowed", l_allowed}, {NULL, NULL}};
  lutil_class(L, &tune_class, methods, NULL);
  return lutil_module(L, functions);
}
