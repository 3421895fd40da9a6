/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/live/live_rules.c - the Lua state of the watch rules (pmlua.internal.live.rules), and its mailbox. */
#include "live/live.h"

#include "source/plugin/pml_plugin.h"

#include <errno.h>
#include <lauxlib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MODULE "pmlua.internal.live.rules"
#define LETTERS_MAX 4096
#define BLOB_MAX (1u << 20)
#define TOLD_S 0.05     /* the rules tell of themselves no more often, while they run more often */
#define LOOK_S 0.5      /* how often it is seen that the file was edited */
#define SOONEST_S 0.001 /* a rule cannot keep the thread from clients */

struct live_letter {
  struct live_letter *next;
  int64_t id;
  bool cancel;
  size_t n;
  char blob[];
};

static int64_t ids; /* under live__lock; of all services of the process, so that an old one fits no new rule */

/* --- any thread --- */

static int post(const char *blob, size_t n, int64_t *id, bool cancel) {
  if (n > BLOB_MAX) return pml_fail(-EMSGSIZE, "a rule is at most %u bytes long", BLOB_MAX);
  struct live_letter *l = malloc(sizeof *l + n);
  if (l == NULL) return pml_fail(-ENOMEM, "out of memory for a rule");
  *l = (struct live_letter){.cancel = cancel, .n = n};
  if (n > 0) memcpy(l->blob, blob, n);
  int err = 0;
  live__lock();
  struct live *to = live__running();
  if (to == NULL)
    err = pml_fail(PML_ECLOSED, "nothing is served in this process; start it first");
  else if (to->mail.n == LETTERS_MAX)
    err = pml_fail(PML_EFULL, "%d rules wait already to be adopted", LETTERS_MAX);
  else {
    l->id = cancel ? *id : ++ids;
    *id = l->id;
    *(to->mail.first == NULL ? &to->mail.first : to->mail.last) = l;
    to->mail.last = &l->next;
    to->mail.n++;
    (void)live__wake(to);
  }
  live__unlock();
  if (err < 0) free(l);
  return err;
}

int live__rules_post(const char *blob, size_t n, int64_t *id) {
  return post(blob, n, id, false);
}

int live__rules_cancel(int64_t id) {
  return post(NULL, 0, &id, true);
}

char *live__rules_text(void) {
  live__lock();
  const struct live *l = live__running();
  char *text = strdup(l != NULL && l->mail.text != NULL ? l->mail.text : "[]");
  live__unlock();
  return text;
}

static struct live_letter *take_mail(struct live *l, char **file) {
  live__lock();
  struct live_letter *first = l->mail.first;
  *file = l->mail.file;
  l->mail.first = NULL;
  l->mail.file = NULL;
  l->mail.n = 0;
  live__unlock();
  return first;
}

static void throw_away(struct live_letter *l) {
  while (l != NULL) {
    struct live_letter *next = l->next;
    free(l);
    l = next;
  }
}

/* Takes @text over. */
static void publish(struct live *l, char *text) {
  live__lock();
  char *old = l->mail.text;
  l->mail.text = text;
  live__unlock();
  free(old);
}

/* --- the service's thread --- */

static int l_print(lua_State *L) {
  int n = lua_gettop(L);
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (int i = 1; i <= n; i++) {
    if (i > 1) luaL_addchar(&b, '\t');
    luaL_tolstring(L, i, NULL);
    luaL_addvalue(&b);
  }
  luaL_pushresult(&b);
  live__say("%s", lua_tostring(L, -1));
  return 0;
}

static int furnish(lua_State *L) {
  lua_pushcfunction(L, l_print);
  lua_setglobal(L, "print");
  return 0;
}

static int open_rules(struct live *l) {
  struct state *s = &l->rules.state;
  if (s->L != NULL) return 0;
  int err = live__open_state(s, &l->stopping, LIVE_RULES_BYTES, false);
  if (err < 0) return err;
  lua_pushcfunction(s->L, furnish);
  err = limit_call(s->L, 0, 0, 0);
  if (err < 0) state_close(s);
  return err;
}

/* One call into the module. */
struct errand {
  const char *file;
  const struct live_letter *letter;
  double now, next;
  char *text;
};

static int l_errand(lua_State *L) {
  struct errand *e = lua_touserdata(L, 1);
  lua_getglobal(L, "require");
  lua_pushliteral(L, MODULE);
  lua_call(L, 1, 1);
  luaL_checktype(L, -1, LUA_TTABLE);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, MODULE ".ids"); /* our number of a rule -> the module's */
  if (e->file != NULL) {
    lua_getfield(L, 2, "load");
    lua_pushstring(L, e->file);
    lua_call(L, 1, 0);
  } else if (e->letter != NULL && e->letter->cancel) {
    lua_getfield(L, 2, "cancel");
    if (lua_rawgeti(L, 3, e->letter->id) != LUA_TNIL) lua_call(L, 1, 0);
    lua_pushnil(L);
    lua_rawseti(L, 3, e->letter->id);
  } else if (e->letter != NULL) {
    lua_getfield(L, 2, "adopt");
    lua_pushlstring(L, e->letter->blob, e->letter->n);
    lua_call(L, 1, 1);
    lua_rawseti(L, 3, e->letter->id);
  } else {
    lua_getfield(L, 2, "tick");
    lua_pushnumber(L, e->now);
    lua_call(L, 1, 1);
    if (!lua_isnil(L, -1)) e->next = e->now + luaL_checknumber(L, -1);
  }
  return 0;
}

static int l_list(lua_State *L) {
  struct errand *e = lua_touserdata(L, 1);
  lua_getglobal(L, "require");
  lua_pushliteral(L, MODULE);
  lua_call(L, 1, 1);
  lua_getfield(L, -1, "list");
  lua_call(L, 0, 1);
  if (lua_istable(L, -1)) {
    lua_getglobal(L, "require");
    lua_pushliteral(L, "pmlua.json");
    lua_call(L, 1, 1);
    lua_getfield(L, -1, "encode");
    lua_pushvalue(L, -3);
    lua_call(L, 1, 1);
  }
  luaL_checkstring(L, -1);
  e->text = state_copy(L, -1, NULL);
  return 0;
}

static int run(struct live *l, lua_CFunction f, struct errand *e) {
  int err = open_rules(l);
  if (err < 0) return err;
  lua_pushcfunction(l->rules.state.L, f);
  lua_pushlightuserdata(l->rules.state.L, e);
  return limit_call(l->rules.state.L, 1, 0, LIVE_RULES_INSTRUCTIONS);
}

/* A call that the end of the service cut short is not a fault of the rule. */
static void report(const struct live *l, const char *what, int err) {
  if (!atomic_load(&l->stopping)) live__say("%s: %s", what, pml_error_detail(err));
}

static void load(struct live *l, const char *file) {
  struct errand e = {.file = file};
  struct stat st;
  if (stat(file, &st) == 0) {
    l->rules.modified = st.st_mtim;
    l->rules.inode = st.st_ino;
  }
  l->rules.look = live__now() + LOOK_S;
  int err = run(l, l_errand, &e);
  if (err < 0) report(l, "rules", err);
  if (err == 0) l->rules.due = 0;
}

static void read_mail(struct live *l) {
  char *file;
  struct live_letter *first = take_mail(l, &file);
  if (file != NULL) load(l, file);
  free(file);
  for (const struct live_letter *letter = first; letter != NULL; letter = letter->next) {
    struct errand e = {.letter = letter};
    int err = run(l, l_errand, &e);
    if (err < 0) report(l, "a rule is refused", err);
    l->rules.due = 0;
  }
  throw_away(first);
}

/* Load the file again if it was edited; if that fails, the rules stay unchanged. */
static void look_at_file(struct live *l, double now) {
  struct stat st;
  if (now < l->rules.look) return;
  l->rules.look = now + LOOK_S;
  live__lock();
  char *file = l->rules_file != NULL ? strdup(l->rules_file) : NULL;
  live__unlock();
  bool same = file == NULL || stat(file, &st) != 0 ||
              (st.st_ino == l->rules.inode && st.st_mtim.tv_sec == l->rules.modified.tv_sec &&
               st.st_mtim.tv_nsec == l->rules.modified.tv_nsec);
  if (!same) load(l, file);
  free(file);
}

void live__rules_run(struct live *l, double now) {
  read_mail(l);
  look_at_file(l, now);
  if (l->rules.due > now || l->rules.state.L == NULL) return;
  pml_plugin_publish();
  struct errand e = {.now = now, .next = HUGE_VAL};
  int err = run(l, l_errand, &e);
  if (err < 0) report(l, "rules", err);
  l->rules.due = e.next > now + SOONEST_S ? e.next : now + SOONEST_S;
  if (err < 0) l->rules.due = now + 1; /* the module itself failed; its rules cannot make it */
  if (l->rules.due < now + TOLD_S && now < l->rules.told + TOLD_S) return;
  l->rules.told = now;
  err = run(l, l_list, &e);
  if (err < 0)
    report(l, "rules", err);
  else
    publish(l, e.text);
}

static int l_finish(lua_State *L) {
  lua_getglobal(L, "require");
  lua_pushliteral(L, MODULE);
  lua_call(L, 1, 1);
  lua_getfield(L, -1, "finish");
  lua_call(L, 0, 0);
  return 0;
}

/* Those that never ran are named, although the service ends. */
static void finish(struct live *l) {
  if (l->rules.state.L == NULL) return;
  l->rules.state.limit.stop = NULL;
  lua_pushcfunction(l->rules.state.L, l_finish);
  (void)limit_call(l->rules.state.L, 0, 0, LIVE_RULES_INSTRUCTIONS);
}

void live__rules_close(struct live *l) {
  finish(l);
  state_close(&l->rules.state);
  publish(l, NULL);
  char *file;
  throw_away(take_mail(l, &file));
  free(file);
}
