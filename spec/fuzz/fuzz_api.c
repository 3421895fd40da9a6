/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/fuzz/fuzz_api.c - run the input as a program: calls of the bindings' functions and methods in any order, with
 * values of every type, some of them results of earlier calls, and with any allocation of Lua failing.
 *
 * Link: -Wl,--wrap=pml_otf2_open,--wrap=pml_samples_open
 *
 * Traces go to the fuzzer's folder whatever the program says, and large allocations are refused, as on a small machine.
 * Left out are calls that end, stop or change the process itself, or wait: sleep, exercise, pin, exec,
 * on_interrupt, live.start and live.stop_run; say, which prints; calls that write files or run programs: file.*,
 * tool.run, section.write and watchpoint.plan; list and info, which take long; set_sysfs, which outlives a state;
 * intercept.install, which rebinds the fuzzer.
 *
 * Runs: 3000
 */
#include "failure.h"
#include "fuzz_lua.h"
#include "pml.h"

#include "record/pml_samples.h"

#include <errno.h>
#include <math.h>

#define CALLS_MAX 40
#define ARGS_MAX 5
#define POOL_MAX 24
#define TRACE_SLOTS 1024u
#define SAMPLES_MAX 100000u
#define LUA_BYTES ((size_t)64 << 20)

int __real_pml_otf2_open(struct pml_otf2 **a, const char *dir, const struct pml_otf2_metric *m, size_t n, size_t slots);
int __wrap_pml_otf2_open(struct pml_otf2 **a, const char *dir, const struct pml_otf2_metric *m, size_t n, size_t slots);
int __wrap_pml_otf2_open(struct pml_otf2 **a, const char *dir, const struct pml_otf2_metric *m, size_t n,
                         size_t slots) {
  static unsigned traces;
  char command[128];
  (void)dir;
  *a = NULL;
  if (traces++ % 64 == 0) { /* the folder starts over now and then: in between there is a trace already */
    snprintf(command, sizeof command, "rm -rf %s/*", fuzz_folder());
    if (system(command) != 0) return -EIO;
  }
  return __real_pml_otf2_open(a, fuzz_folder(), m, n, slots == 0 || slots > TRACE_SLOTS ? TRACE_SLOTS : slots);
}

int __real_pml_samples_open(struct pml_samples *s, size_t capacity);
int __wrap_pml_samples_open(struct pml_samples *s, size_t capacity);
int __wrap_pml_samples_open(struct pml_samples *s, size_t capacity) {
  if (capacity <= SAMPLES_MAX) return __real_pml_samples_open(s, capacity);
  *s = (struct pml_samples){0};
  return pml_fail(-ENOMEM, "no memory for %zu samples", capacity);
}

/* Lua's memory: bounded, and at its end after @left more allocations. */
struct memory {
  size_t used;
  long left; /* below 0: without end */
};

static void *allocate(void *arg, void *block, size_t old, size_t new) {
  struct memory *m = arg;
  if (block == NULL) old = 0;
  if (new == 0) {
    free(block);
    m->used -= old;
    return NULL;
  }
  if (new > old) { /* shrinking never fails */
    if (m->used - old + new > LUA_BYTES || m->left == 0) return NULL;
    if (m->left > 0) m->left--;
  }
  void *p = realloc(block, new);
  if (p != NULL) m->used = m->used - old + new;
  return p;
}

/* ---- the list of functions: "module.name", the same in each run ---- */

static const char list_functions[] =
    "local core, left_out = ..., {}\n"
    "for name in ('sys.sleep sys.pin sys.on_interrupt sys.exec event.list event.set_sysfs clock.info live.start '\n"
    "    .. 'live.stop_run live.say intercept.install section.write watchpoint.plan file.write file.create file.output "
    "file.new '\n"
    "    .. 'tool.run counter.exercise'):gmatch '%S+' do\n"
    "  left_out[name] = true\n"
    "end\n"
    "local names, functions = {}, {}\n"
    "for module, t in pairs(core) do\n"
    "  for name, f in pairs(type(t) == 'table' and t or {}) do\n"
    "    local full = module .. '.' .. name\n"
    "    if type(f) == 'function' and not left_out[full] then names[#names + 1], functions[full] = full, f end\n"
    "  end\n"
    "end\n"
    "table.sort(names)\n"
    "for i, name in ipairs(names) do functions[i] = functions[name] end\n"
    "return functions, #names\n";

/* Methods of all kinds of handles; one that a handle does not have is a call of nil, which Lua refuses. */
static const char *const methods[] = {
    "close", "read",     "path",  "start", "stop",   "reset", "accum",    "reader",  "readings", "event",   "parts",
    "push",  "capacity", "clear", "copy",  "append", "sort",  "quantile", "moments", "format",   "above",   "histogram",
    "run",   "location", "flush", "stats", "enter",  "leave", "metric",   "read_ts", "__gc",     "__close", "n"};
#define METHODS (sizeof methods / sizeof *methods)

static const char *const words[] = {"task-clock",
                                    "page-faults",
                                    "clock::ns",
                                    "clock::ticks",
                                    "context-switches",
                                    "cycles",
                                    "",
                                    "pid",
                                    "cpu",
                                    "inherit",
                                    "multiplex",
                                    "ungrouped",
                                    "no_page",
                                    "part",
                                    "metrics",
                                    "buffer",
                                    "name",
                                    "mode",
                                    "exponent",
                                    "unit",
                                    "operation",
                                    "set",
                                    "samples",
                                    "options",
                                    "phases",
                                    "read",
                                    "empty",
                                    "accum",
                                    "%s%n",
                                    "mem:environ:w",
                                    "\xff\xfe",
                                    "cpu/x/"};
#define WORDS (sizeof words / sizeof *words)

static const lua_Integer integers[] = {0,
                                       1,
                                       -1,
                                       2,
                                       3,
                                       7,
                                       64,
                                       255,
                                       256,
                                       4096,
                                       65536,
                                       INT32_MAX,
                                       INT32_MIN,
                                       1L << 32,
                                       1L << 53,
                                       LUA_MAXINTEGER,
                                       LUA_MININTEGER};
static const lua_Number numbers[] = {0.5, -0.0, 1e308, -1e308, 5e-324, 1e19, 0.999, 3.0};

/* Stack of a run: 1 functions, 2 pool (values that calls gave), then the call's own. */
#define FUNCTIONS 1
#define POOL 2

/* Results worth more calls: handles, tables, functions; the latest first. */
static unsigned kept;

static void keep(lua_State *L, int at) {
  int type = lua_type(L, at);
  if (type != LUA_TUSERDATA && type != LUA_TTABLE && type != LUA_TFUNCTION) return;
  lua_pushvalue(L, at);
  lua_rawseti(L, POOL, kept++ % POOL_MAX + 1);
}

static void push_kept(lua_State *L, struct fuzz_input *in) {
  unsigned n = kept < POOL_MAX ? kept : POOL_MAX;
  if (n == 0)
    lua_pushnil(L);
  else
    lua_rawgeti(L, POOL, (kept - 1 - fuzz_byte(in) % n) % POOL_MAX + 1);
}

static void push_value(lua_State *L, struct fuzz_input *in, int depth);

static void push_table(lua_State *L, struct fuzz_input *in, int depth) {
  unsigned n = fuzz_byte(in) % 5;
  lua_newtable(L);
  for (unsigned i = 0; i < n; i++) {
    uint8_t key = fuzz_byte(in);
    push_value(L, in, depth + 1);
    if (key & 1)
      lua_rawseti(L, -2, (lua_Integer)i + 1);
    else
      lua_setfield(L, -2, words[key / 2 % WORDS]);
  }
}

static int raise(lua_State *L) {
  return luaL_error(L, "raised by an argument");
}

static void push_bytes(lua_State *L, struct fuzz_input *in) {
  size_t n = fuzz_byte(in);
  if (n > (size_t)(in->end - in->at)) n = (size_t)(in->end - in->at);
  lua_pushlstring(L, (const char *)in->at, n);
  in->at += n;
}

static void push_value(lua_State *L, struct fuzz_input *in, int depth) {
  luaL_checkstack(L, 8, NULL);
  uint8_t tag = fuzz_byte(in), which = tag >> 4;
  switch (tag & 15) {
  case 0:
    lua_pushnil(L);
    break;
  case 1:
    lua_pushboolean(L, which & 1);
    break;
  case 2:
    lua_pushinteger(L, integers[fuzz_byte(in) % (sizeof integers / sizeof *integers)]);
    break;
  case 3:
    lua_pushinteger(L, which);
    break;
  case 4:
    lua_pushinteger(L, (lua_Integer)fuzz_word(in));
    break;
  case 5:
    lua_pushnumber(L, numbers[which % (sizeof numbers / sizeof *numbers)]);
    break;
  case 6:
    lua_pushnumber(L, which & 1 ? NAN : which & 2 ? INFINITY : -INFINITY);
    break;
  case 7:
  case 8:
    lua_pushstring(L, words[fuzz_byte(in) % WORDS]);
    break;
  case 9:
    push_bytes(L, in);
    break;
  case 10:
  case 11:
    if (depth < 3)
      push_table(L, in, depth);
    else
      lua_newtable(L);
    break;
  case 12:
    lua_pushcfunction(L, raise);
    break;
  default:
    push_kept(L, in);
    break;
  }
}

/* Check the form of a refusal: nil, a failure, its code. */
static void check_refusal(lua_State *L, int first) {
  if (lua_gettop(L) < first + 2 || !lua_isnil(L, first) || !failure_test(L, first + 1)) return;
  const char *code = lua_tostring(L, first + 2), *text = luaL_tolstring(L, first + 1, NULL);
  PROMISE(code != NULL && code[0] == 'E', "a refusal has a code");
  PROMISE(strlen(text) > strlen(code), "and a sentence");
  lua_pop(L, 1);
}

/* Make one call, and keep its results. */
static int one_call(lua_State *L) {
  struct fuzz_input *in = lua_touserdata(L, 3);
  lua_Integer count = lua_tointeger(L, 4);
  lua_settop(L, POOL);
  uint8_t what = fuzz_byte(in), n = fuzz_byte(in) % (ARGS_MAX + 1);
  if (what & 1) {
    lua_rawgeti(L, FUNCTIONS, what / 2 % count + 1);
  } else { /* a method of something in the pool */
    push_kept(L, in);
    lua_getfield(L, -1, methods[what / 2 % METHODS]);
    lua_insert(L, -2);
  }
  int given = lua_gettop(L) - POOL - 1;
  for (int i = 0; i < n; i++) push_value(L, in, 0);
  lua_call(L, n + given, LUA_MULTRET);
  check_refusal(L, POOL + 1);
  int results = lua_gettop(L) - POOL;
  for (int i = 1; i <= results && i <= 3; i++) keep(L, POOL + i);
  PLANTED(results == 3 && lua_isinteger(L, POOL + 1) && lua_tointeger(L, POOL + 3) == lua_tointeger(L, POOL + 2));
  return 0;
}

static int prepare(lua_State *L) {
  luaL_openlibs(L);
  if (luaL_loadstring(L, list_functions) != LUA_OK) return lua_error(L);
  luaopen_pmlua_core(L);
  lua_call(L, 1, 2);
  return 2;
}

static void run_program(lua_State *L, struct fuzz_input *in, struct memory *m) {
  lua_pushcfunction(L, prepare);
  if (lua_pcall(L, 0, 2, 0) != LUA_OK) abort();
  lua_Integer count = lua_tointeger(L, -1);
  lua_settop(L, 1);
  lua_newtable(L);
  kept = 0;
  uint8_t end = fuzz_byte(in);
  m->left = end < 128 ? -1 : (end - 128) * 8;
  for (int i = 0; i < CALLS_MAX && in->at < in->end; i++) {
    /* Neither a light C function nor values that fit the stack need memory: pushed before the protected call. */
    lua_pushcfunction(L, one_call);
    lua_pushvalue(L, FUNCTIONS);
    lua_pushvalue(L, POOL);
    lua_pushlightuserdata(L, in);
    lua_pushinteger(L, count);
    int err = lua_pcall(L, 4, 0, 0);
    PROMISE(err == LUA_OK || err == LUA_ERRRUN || err == LUA_ERRMEM, "an error is an error");
    lua_settop(L, POOL);
    if (err == LUA_ERRMEM) m->left = -1; /* and then it goes on */
  }
  m->left = -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static bool moved; /* calls make files where they are */
  if (!moved) PROMISE(chdir(fuzz_folder()) == 0, "there is a folder");
  moved = true;
  struct fuzz_input in = {data, data + size};
  struct memory m = {0, -1};
  lua_State *L = lua_newstate(allocate, &m);
  if (L == NULL) abort();
  run_program(L, &in, &m);
  lua_close(L);
  PROMISE(m.used == 0, "a closed state has given everything back");
  return 0;
}
