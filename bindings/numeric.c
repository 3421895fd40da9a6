/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/numeric.c - the "C" numeric locale for threads that run pmlua's Lua. */
#include "numeric.h"

#include <lauxlib.h>
#include <lualib.h>
#include <pthread.h>

static locale_t plain = (locale_t)0;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local locale_t mine = (locale_t)0; /* the command thread's: os.setlocale's choice, except numbers */

static void make(void) {
  plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* Without memory for the locale the thread keeps its own: uselocale(0) changes nothing. */
locale_t numeric_enter(void) {
  (void)pthread_once(&once, make);
  return uselocale(plain);
}

/* os.setlocale may have been called meanwhile, which frees what numeric_enter() returned. */
void numeric_leave(locale_t was) {
  uselocale(mine != (locale_t)0 ? mine : was);
}

/* --- os.setlocale --- */

/* Give this thread the process's locale with the numbers of "C"; its previous locale is then unused. */
static void follow(void) {
  locale_t copy = duplocale(LC_GLOBAL_LOCALE);
  locale_t fresh = copy != (locale_t)0 ? newlocale(LC_NUMERIC_MASK, "C", copy) : copy;
  if (fresh == (locale_t)0) return;
  uselocale(fresh);
  if (mine != (locale_t)0) freelocale(mine);
  mine = fresh;
}

/* The function of the library is the upvalue. */
static int l_setlocale(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  follow();
  return lua_gettop(L);
}

void numeric_setlocale(lua_State *L) {
  lua_getglobal(L, LUA_OSLIBNAME);
  lua_getfield(L, -1, "setlocale");
  lua_pushcclosure(L, l_setlocale, 1);
  lua_setfield(L, -2, "setlocale");
  lua_pop(L, 1);
  follow(); /* from now on what a library in C does with setlocale(3) changes no number either */
}
