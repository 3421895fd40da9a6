/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/preload/lua_hook.c - libpmlua-lua.so, which `pmlua record --lua` preloads: each state of Lua 5.4 gets a hook.
 *
 * Where the program links Lua's library, lua_newstate() sets the hook, and coroutines inherit it. An interpreter that
 * contains Lua, such as Debian's lua5.4, calls its own functions; it runs pmlua_record_lua(), which the environment
 * variable LUA_INIT_5_4 names. A hook of the program is called by this one, and reported to it as if this one were not
 * there: lua_sethook() and its relatives, or debug.sethook() and debug.gethook(), are replaced.
 */
#include "preload/lua.h"

#include "base/pml_api.h"
#include "base/pml_map.h"
#include "base/text/pml_say.h"

#include <dlfcn.h>
#include <pthread.h>

#define HOOKS 1024u /* limit of coroutines with a hook of the program; a power of two */
#define VERSION 504

struct lua pml__lua;

#define DECLARE(name, result, arguments) PML_API result name arguments;
DECLARE(lua_newstate, lua_State *, (void *allocator, void *data, unsigned seed))
DECLARE(lua_newthread, lua_State *, (lua_State * L))
DECLARE(lua_sethook, void, (lua_State * L, lua_Hook hook, int mask, int count))
DECLARE(lua_gethook, lua_Hook, (lua_State * L))
DECLARE(lua_gethookmask, int, (lua_State * L))
DECLARE(pmlua_record_lua, int, (lua_State * L))
#undef DECLARE

/* ---- the program's functions ---- */

/* The function that the code at @caller would call without this library: the file of this code contains it, or is
 * linked with it. A process may contain several versions of Lua. */
static void *find(const void *caller, const char *name) {
  Dl_info own, there;
  void *at = dlsym(RTLD_DEFAULT, name), *file = NULL;
  if (dladdr((void *)(uintptr_t)find, &own) == 0) return NULL;
  if (at != NULL && dladdr(at, &there) != 0 && there.dli_fbase != own.dli_fbase) return at;
  if (dladdr(caller, &there) != 0 && there.dli_fbase != own.dli_fbase)
    file = dlopen(there.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  at = file != NULL ? dlsym(file, name) : NULL;
  if (file != NULL) (void)dlclose(file);
  return at != NULL ? at : dlsym(RTLD_NEXT, name);
}

#define CALLER __builtin_return_address(0)
#define REAL(name) ((__typeof__(pml__lua.name))(uintptr_t)find(CALLER, #name))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards pml__lua, until it is complete */

/* Whether pml__lua has the functions of @L, which the code at @caller made. Functions of every version are looked for
 * first. */
static bool is_supported(lua_State *L, const void *caller) {
  void *newest = find(caller, "lua_setwarnf"), *newstate = find(caller, "lua_newstate");
  double (*version)(lua_State *) = (double (*)(lua_State *))(uintptr_t)find(caller, "lua_version");
  if (newest == NULL || version == NULL || version(L) != VERSION) return false;
  (void)pthread_mutex_lock(&lock);
  if (pml__lua.lua_newstate == NULL) {
#define FIND(name, result, arguments) pml__lua.name = (result(*) arguments)(uintptr_t)find(caller, #name);
    LUA_FUNCTIONS(FIND)
#undef FIND
  }
  (void)pthread_mutex_unlock(&lock);
  return (void *)(uintptr_t)pml__lua.lua_newstate == newstate;
}

/* ---- hooks of the program ---- */

/*
 * A hook of the program on one state. A signal handler, or another thread, may set it: there is no lock, and @mask is
 * stored last, with release, and 0 first; the state's thread loads it with acquire. @L stays until another state takes
 * the place of one without a hook.
 */
static struct hook {
  lua_State *L;  /* atomic; NULL: free */
  lua_Hook call; /* atomic, as the others */
  int mask, count;
} hooks[HOOKS];
static uint32_t nhooks; /* atomic: places that were ever taken */

static struct hook *hook_of(const lua_State *L) {
  size_t from = (size_t)((uint64_t)(uintptr_t)L * PML__HASH_FACTOR >> 32);
  for (size_t i = 0; i < HOOKS && __atomic_load_n(&nhooks, __ATOMIC_ACQUIRE) > 0; i++) {
    struct hook *h = &hooks[(from + i) % HOOKS];
    const lua_State *there = __atomic_load_n(&h->L, __ATOMIC_ACQUIRE);
    if (there == L) return h;
    if (there == NULL) break;
  }
  return NULL;
}

/* NULL: too many states have hooks. */
static struct hook *take_hook(lua_State *L) {
  size_t from = (size_t)((uint64_t)(uintptr_t)L * PML__HASH_FACTOR >> 32);
  struct hook *h = hook_of(L);
  for (size_t i = 0; i < HOOKS && h == NULL; i++) {
    struct hook *place = &hooks[(from + i) % HOOKS];
    lua_State *there = __atomic_load_n(&place->L, __ATOMIC_ACQUIRE);
    if (there != NULL && __atomic_load_n(&place->mask, __ATOMIC_ACQUIRE) != 0) continue;
    if (__atomic_compare_exchange_n(&place->L, &there, L, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) h = place;
  }
  __atomic_store_n(&nhooks, 1, __ATOMIC_RELEASE);
  return h;
}

static void fill(struct hook *h, lua_Hook call, int mask, int count) {
  __atomic_store_n(&h->mask, 0, __ATOMIC_RELEASE);
  __atomic_store_n(&h->call, call, __ATOMIC_RELAXED);
  __atomic_store_n(&h->count, count, __ATOMIC_RELAXED);
  __atomic_store_n(&h->mask, mask, __ATOMIC_RELEASE);
}

static void on_event(lua_State *L, lua_Debug *ar) {
  int event = ar->event == LUA_TAIL_CALL ? LUA_CALL : ar->event;
  if ((LUA_EVENTS >> event & 1) != 0) pml__lua_event(L, ar);
  const struct hook *h = hook_of(L);
  if (h == NULL || (__atomic_load_n(&h->mask, __ATOMIC_ACQUIRE) >> event & 1) == 0) return;
  __atomic_load_n(&h->call, __ATOMIC_RELAXED)(L, ar);
}

/* The first watched state is published by what publishes the state. */
static bool is_watched(lua_State *L) {
  return pml__lua.lua_gethook != NULL && pml__lua.lua_gethook(L) == on_event;
}

/* Without room the program has its hook, and the functions of this coroutine are no longer recorded. */
static void set_hook(lua_State *L, lua_Hook call, int mask, int count) {
  struct hook *h = call != NULL && mask != 0 ? take_hook(L) : hook_of(L);
  if (call == NULL || mask == 0) call = NULL, mask = count = 0;
  if (h != NULL) fill(h, call, mask, count);
  if (h != NULL || call == NULL)
    pml__lua.lua_sethook(L, on_event, LUA_EVENTS | mask, count);
  else
    pml__lua.lua_sethook(L, call, mask, count);
}

static void watch(lua_State *L) {
  if (!is_watched(L)) set_hook(L, pml__lua.lua_gethook(L), pml__lua.lua_gethookmask(L), pml__lua.lua_gethookcount(L));
}

/* ---- in the place of Lua's library ---- */

lua_State *lua_newstate(void *allocator, void *data, unsigned seed) {
  static uint32_t said; /* atomic */
  lua_State *(*real)(void *, void *, unsigned) = REAL(lua_newstate);
  lua_State *L = real != NULL ? real(allocator, data, seed) : NULL;
  if (L != NULL && is_supported(L, CALLER))
    set_hook(L, NULL, 0, 0);
  else if (__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED) == 0)
    pml__say("record --lua: functions of a state of Lua are not recorded, because it is not of version 5.4");
  return L;
}

/* A thread inherits the hook of its creator. */
lua_State *lua_newthread(lua_State *L) {
  lua_State *(*real)(lua_State *) = is_watched(L) ? pml__lua.lua_newthread : REAL(lua_newthread);
  lua_State *made = real(L);
  struct hook *of = hook_of(L), *h = of != NULL && of->mask != 0 ? take_hook(made) : hook_of(made);
  if (h != NULL && of != NULL) fill(h, of->call, of->mask, of->count);
  if (h != NULL && of == NULL) fill(h, NULL, 0, 0);
  return made;
}

void lua_sethook(lua_State *L, lua_Hook hook, int mask, int count) {
  if (is_watched(L))
    set_hook(L, hook, mask, count);
  else
    REAL(lua_sethook)(L, hook, mask, count);
}

lua_Hook lua_gethook(lua_State *L) {
  const struct hook *h = hook_of(L);
  lua_Hook (*real)(lua_State *) = REAL(lua_gethook);
  lua_Hook call = h != NULL ? h->call : NULL;
  if (!is_watched(L)) call = real(L);
  return call;
}

int lua_gethookmask(lua_State *L) {
  const struct hook *h = hook_of(L);
  if (!is_watched(L)) return REAL(lua_gethookmask)(L);
  return h != NULL ? h->mask : 0;
}

/* ---- interpreters that contain Lua ---- */

/* The thread that is the first argument, or the caller's. */
static lua_State *named_thread(lua_State *L) {
  return pml__lua.lua_type(L, 1) == LUA_THREAD ? pml__lua.lua_tothread(L, 1) : L;
}

/* The original function, the first upvalue, with the arguments. */
static int call_original(lua_State *L) {
  pml__lua.lua_pushvalue(L, LUA_UPVALUE);
  pml__lua.lua_rotate(L, 1, 1);
  pml__lua.lua_callk(L, pml__lua.lua_gettop(L) - 1, LUA_ALL, 0, NULL);
  return pml__lua.lua_gettop(L);
}

static int set_in_lua(lua_State *L) {
  lua_State *of = named_thread(L);
  int n = call_original(L);
  watch(of);
  return n;
}

/* It sees its own hook meanwhile. */
static int get_in_lua(lua_State *L) {
  lua_State *of = named_thread(L);
  const struct hook *h = hook_of(of);
  int count = pml__lua.lua_gethookcount(of);
  bool watched = is_watched(of);
  if (watched) pml__lua.lua_sethook(of, h != NULL ? h->call : NULL, h != NULL ? h->mask : 0, count);
  int n = call_original(L);
  if (watched) pml__lua.lua_sethook(of, on_event, LUA_EVENTS | (h != NULL ? h->mask : 0), count);
  return n;
}

static void replace(lua_State *L, const char *name, lua_CFunction by) {
  (void)pml__lua.lua_getfield(L, -1, name);
  pml__lua.lua_pushcclosure(L, by, 1);
  pml__lua.lua_setfield(L, -2, name);
}

/* A state that lua_newstate() made is watched already. */
int pmlua_record_lua(lua_State *L) {
  if (is_watched(L) || !is_supported(L, (void *)(uintptr_t)dlsym(RTLD_DEFAULT, "lua_newstate"))) return 0;
  (void)pml__lua.lua_getfield(L, LUA_REGISTRY, "_LOADED");
  if (pml__lua.lua_getfield(L, -1, "debug") == LUA_TABLE) {
    replace(L, "sethook", set_in_lua);
    replace(L, "gethook", get_in_lua);
  }
  watch(L);
  return 0;
}
