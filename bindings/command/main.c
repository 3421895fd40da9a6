/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/command/main.c - the command: run scripts, code, verbs (one Lua file each) and a prompt. */
#include "command/compiled.h"
#include "command/interrupt.h"
#include "embed/locate.h"
#include "embed/state.h"
#include "failure.h"
#include "live/live.h"
#include "numeric.h"
#include "pml.h"
#include "refusal.h"

#include "base/pml_file.h"
#include "control/tune/pml_tune.h"

#include <lauxlib.h>
#include <lualib.h>

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SCRIPT_MAX ((uint64_t)64 << 20)

enum status { DONE = 0, FAILED = 1, MISUSED = 2 };

static bool debug = false;            /* --debug: messages in full, with a traceback */
static const char *script = NULL;     /* as named on the command line: errors are reported at its lines */
static char lua_dir[LOCATE_MAX] = ""; /* holds pmlua/init.lua */

/* --- messages --- */

/* Text may come from a file: control characters are escaped, as in lua/pmlua/internal/printable.lua. */
static void put_printable(const char *text, size_t len) {
  for (size_t i = 0; i < len; i++) {
    unsigned char c = (unsigned char)text[i], next = i + 1 < len ? (unsigned char)text[i + 1] : 0;
    bool c1 = c == 0xc2 && next >= 0x80 && next < 0xa0;
    if (c1) i++;
    if (c1)
      fprintf(stderr, "\\x%02x\\x%02x", c, next);
    else if ((c < ' ' && c != '\n' && c != '\t') || c == 0x7f)
      fprintf(stderr, "\\x%02x", c);
    else
      fputc(c, stderr);
  }
}

/* Print the first line of a message; only --debug prints the rest. */
static void complain(const char *msg) {
  size_t len = debug ? strlen(msg) : strcspn(msg, "\n");
  fflush(stdout);
  fputs("pmlua: ", stderr);
  put_printable(msg, !debug && len > 0 && msg[len] == '\n' && msg[len - 1] == ':' ? len - 1 : len);
  fputc('\n', stderr);
}

static int misused(const char *what, const char *name) {
  fflush(stdout);
  fprintf(stderr, "pmlua: %s%s; see pmlua --help\n", what, name);
  return MISUSED;
}

/* The line of the script that led here, when the message was raised in another file. */
static void addposition(lua_State *L) {
  lua_Debug ar;
  const char *msg = lua_tostring(L, -1);
  if (script == NULL || strncmp(msg, script, strlen(script)) == 0) return;
  for (int level = 1; lua_getstack(L, level, &ar) != 0; level++) {
    lua_getinfo(L, "Sl", &ar);
    if (ar.source[0] != '@' || strcmp(ar.source + 1, script) != 0 || ar.currentline < 1) continue;
    int line = ar.currentline;
    const char *wrong = debug || strncmp(msg, lua_dir, strlen(lua_dir)) != 0 ? NULL : strstr(msg, ": attempt to ");
    if (wrong != NULL && lua_getstack(L, level - 1, &ar) != 0 && lua_getinfo(L, "n", &ar) != 0 && ar.name != NULL)
      lua_pushfstring(L, "%s:%d: bad argument to '%s'%s", script, line, ar.name, wrong);
    else
      lua_pushfstring(L, "%s:%d: %s", script, line, msg);
    return;
  }
}

static int handler(lua_State *L) {
  (void)failure_message(L);
  addposition(L);
  lutil_explain(L);
  if (debug) luaL_traceback(L, L, lua_tostring(L, -1), 1);
  return 1;
}

static void report(lua_State *L) {
  const char *msg = lua_tostring(L, -1);
  complain(msg != NULL ? msg : "(error object is not a string)");
  lua_pop(L, 1);
}

/* Call the function below @nargs arguments; on failure the message is printed and false returned. */
static bool call(lua_State *L, int nargs, int nresults) {
  int base = lua_gettop(L) - nargs;
  lua_pushcfunction(L, handler);
  lua_insert(L, base);
  int err = lua_pcall(L, nargs, nresults, base);
  lua_remove(L, base);
  if (err != LUA_OK) report(L);
  return err == LUA_OK;
}

/* --- where things are --- */

static bool isverb(const char *name) {
  char path[sizeof lua_dir + NAME_MAX + 32];
  if (name[0] == '\0' || name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-")] != '\0') return false;
  int n = snprintf(path, sizeof path, "%s/pmlua/verb/%s.lua", lua_dir, name);
  return n < (int)sizeof path && access(path, R_OK) == 0;
}

static void addscriptpath(lua_State *L, const char *name) {
  const char *slash = strrchr(name, '/');
  if (slash == NULL)
    state_addpath(L, ".");
  else {
    lua_pushlstring(L, name, slash == name ? 1 : (size_t)(slash - name));
    state_addpath(L, lua_tostring(L, -1));
    lua_pop(L, 1);
  }
}

static void setarg(lua_State *L, char **argv, int argc, int first) {
  lua_createtable(L, argc - first, first + 1);
  for (int i = 0; i < argc; i++) {
    lua_pushstring(L, argv[i]);
    lua_rawseti(L, -2, i - first);
  }
  lua_setglobal(L, "arg");
}

/* --- running modules and scripts --- */

static bool require(lua_State *L, const char *module) {
  lua_getglobal(L, "require");
  lua_pushstring(L, module);
  return call(L, 1, 1);
}

/* The exit status that the value on top means: an integer, or true (or nothing) for done and false for failed. */
static int tostatus(lua_State *L) {
  int status = DONE;
  if (lua_isinteger(L, -1)) {
    lua_Integer n = lua_tointeger(L, -1);
    status = n >= 0 && n <= 255 ? (int)n : FAILED;
  } else if (lua_isboolean(L, -1))
    status = lua_toboolean(L, -1) ? DONE : FAILED;
  lua_pop(L, 1);
  return status;
}

/* A script's value that can be run is run: this is what `return pml.experiment {...}` does. */
static int getmain(lua_State *L) {
  int type = lua_istable(L, 1) ? lua_getfield(L, 1, "__pmlua_main") : LUA_TNIL;
  if (type == LUA_TNIL) type = luaL_getmetafield(L, 1, "__pmlua_main");
  lua_pushboolean(L, type == LUA_TFUNCTION);
  if (type == LUA_TFUNCTION) lua_insert(L, -2);
  return type == LUA_TFUNCTION ? 2 : 1;
}

/* Whether the script returned nil (or false) and a failure or a sentence, which is then reported. */
static bool isfailure(lua_State *L, const char *name) {
  bool failed = !lua_toboolean(L, -2) && (lua_type(L, -1) == LUA_TSTRING || failure_test(L, -1));
  if (failed) {
    lua_pushfstring(L, "%s returned: %s", name, luaL_tolstring(L, -1, NULL));
    report(L);
  }
  return failed;
}

/* Whether the script defined an experiment that it neither returned nor ran; prints a hint. */
static bool hasforgotten(lua_State *L) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  bool loaded =
      lua_getfield(L, -1, "pmlua.experiment") == LUA_TTABLE && lua_getfield(L, -1, "forgotten") == LUA_TFUNCTION;
  bool forgotten = loaded && call(L, 0, 1) && lua_isstring(L, -1);
  if (forgotten) complain(lua_tostring(L, -1));
  return forgotten;
}

/* The two values on top are what code called @name has returned. */
static int runvalue(lua_State *L, const char *name) {
  if (isfailure(L, name)) return FAILED;
  lua_pop(L, 1);
  int value = lua_gettop(L);
  lua_pushcfunction(L, getmain);
  lua_pushvalue(L, value);
  if (!call(L, 1, 2)) return FAILED;
  if (!lua_toboolean(L, -2)) {
    bool nothing = lua_isnil(L, value) && hasforgotten(L);
    lua_settop(L, value - 1);
    return nothing ? FAILED : DONE;
  }
  lua_pushvalue(L, value);
  lua_getglobal(L, "arg");
  return call(L, 2, 1) ? tostatus(L) : FAILED;
}

static bool isinput(const char *name) {
  return strcmp(name, "-") == 0;
}

/* A pipe that the shell made, <(...), is read as it comes; any other script is a file of a script's size. */
static bool isreadable(const char *name) {
  if (isinput(name) || strncmp(name, "/dev/fd/", 8) == 0 || strncmp(name, "/proc/", 6) == 0) return true;
  int fd = pml_file_open(name, SCRIPT_MAX, NULL);
  if (fd < 0) complain(pml_error_detail(fd));
  if (fd >= 0) close(fd);
  return fd >= 0;
}

/* Text only: precompiled code could do to the process what it likes. */
static bool loadscript(lua_State *L, const char *name) {
  if (!isreadable(name)) return false;
  if (luaL_loadfilex(L, isinput(name) ? NULL : name, "t") == LUA_OK) return true;
  const char *msg = lua_tostring(L, -1);
  if (strstr(msg, name) == NULL) lua_pushfstring(L, "%s: %s", name, msg);
  lutil_explain(L);
  report(L);
  return false;
}

static int runscript(lua_State *L, const char *name, char **argv, int argc, int first) {
  if (!isinput(name)) {
    script = name;
    addscriptpath(L, name);
  }
  lutil_script(L, isinput(name) ? "=stdin" : lua_pushfstring(L, "@%s", name));
  if (!isinput(name)) lua_pop(L, 1);
  setarg(L, argv, argc, first);
  if (!loadscript(L, name)) return FAILED;
  luaL_checkstack(L, argc, "too many arguments");
  for (int i = first + 1; i < argc; i++) lua_pushstring(L, argv[i]);
  return call(L, argc - first - 1, 2) ? runvalue(L, isinput(name) ? "standard input" : name) : FAILED;
}

static int runcode(lua_State *L, const char *code) {
  lutil_script(L, "=(command line)");
  if (luaL_loadbufferx(L, code, strlen(code), "=(command line)", "t") != LUA_OK) {
    report(L);
    return FAILED;
  }
  return call(L, 0, 2) ? runvalue(L, "-e") : FAILED;
}

static int callmodule(lua_State *L, const char *module, const char *function, int nargs) {
  char name[NAME_MAX + 32];
  snprintf(name, sizeof name, "pmlua.%s", module);
  if (!require(L, name)) return FAILED;
  if (!lua_istable(L, -1) || lua_getfield(L, -1, function) != LUA_TFUNCTION) {
    lua_pushfstring(L, "%s has no function %s", name, function);
    report(L);
    return FAILED;
  }
  lua_remove(L, -2);
  lua_insert(L, -nargs - 1);
  return call(L, nargs, 1) ? tostatus(L) : FAILED;
}

static int runverb(lua_State *L, const char *verb, char **argv, int argc, int first) {
  setarg(L, argv, argc, first);
  /* A verb raises no events, but the programs that it runs do. */
  const char *plugins = secure_getenv("SCOREP_SUBSTRATE_PLUGINS");
  bool has = plugins != NULL && plugins[0] != '\0';
  if (has && callmodule(L, "substrate", "leave_environment", 0) != DONE) return FAILED;
  lua_pushstring(L, verb);
  lua_getglobal(L, "arg");
  return callmodule(L, "internal.cli.verb", "run", 2);
}

/* Warn about misspelt variables: the names in the environment that begin with PMLUA_ go to Lua. */
static void checkenvironment(lua_State *L) {
  int n = 0;
  lua_newtable(L);
  for (char **variable = environ; *variable != NULL; variable++)
    if (strncmp(*variable, "PMLUA_", 6) == 0) {
      lua_pushlstring(L, *variable, strcspn(*variable, "="));
      lua_rawseti(L, -2, ++n);
    }
  if (n > 0) (void)callmodule(L, "internal.cli.environment", "check", 1);
  lua_settop(L, 0);
}

static int runhelp(lua_State *L) {
  lua_pushliteral(L, "help");
  lua_newtable(L);
  return callmodule(L, "internal.cli.verb", "run", 2);
}

/* Neither a verb nor a file: the table of verbs suggests the nearest. */
static int rununknown(lua_State *L, const char *name) {
  lua_pushstring(L, name);
  int status = callmodule(L, "internal.cli.verb", "unknown", 1);
  return status == DONE ? MISUSED : status;
}

static bool isscript(const char *name) {
  return isinput(name) || access(name, F_OK) == 0;
}

static int runname(lua_State *L, char **argv, int argc, int first) {
  const char *name = argv[first];
  if (isverb(name)) return runverb(L, name, argv, argc, first);
  if (isscript(name)) return runscript(L, name, argv, argc, first);
  return rununknown(L, name);
}

/* --- the command line --- */

struct options {
  bool interactive, version, help, code, sim;
  const char *unknown; /* an option that does not exist */
  int first;           /* index in argv of the script or verb; argc: neither given */
};

static bool takescode(const char *opt) {
  return opt[0] == '-' && opt[1] == 'e';
}

/* Returns DONE, or MISUSED with the message printed. */
static int parse(char **argv, int argc, struct options *o) {
  int i = 1;
  for (; i < argc && argv[i][0] == '-' && argv[i][1] != '\0'; i++) {
    if (strcmp(argv[i], "--") == 0) {
      i++;
      break;
    }
    if (strcmp(argv[i], "-i") == 0)
      o->interactive = true;
    else if (strcmp(argv[i], "--debug") == 0)
      debug = true;
    else if (strcmp(argv[i], "--allow-tuning") == 0)
      pml_tune_allow();
    else if (strcmp(argv[i], "--version") == 0)
      o->version = true;
    else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
      o->help = true;
    else if (strcmp(argv[i], "--sim") == 0)
      o->sim = true;
    else if (takescode(argv[i])) {
      o->code = true;
      if (argv[i][2] == '\0' && ++i == argc) return misused("-e needs code", "");
    } else {
      o->unknown = argv[i];
      return DONE;
    }
  }
  o->first = i;
  if (i == argc && !o->interactive && !o->code && !o->version && !o->help) return misused("nothing to run", "");
  return DONE;
}

/* All -e in their order, until one fails. */
static int runcodes(lua_State *L, char **argv, int first) {
  int status = DONE;
  for (int i = 1; i < first && status == DONE; i++) {
    if (strcmp(argv[i], "--") == 0) break;
    if (takescode(argv[i])) status = runcode(L, argv[i][2] != '\0' ? argv[i] + 2 : argv[++i]);
  }
  return status;
}

/* DONE if @name can be run, as far as that is known before. */
static int checkname(lua_State *L, const char *name) {
  if (isverb(name) || isinput(name)) return DONE;
  if (!isscript(name)) return rununknown(L, name);
  return loadscript(L, name) ? DONE : FAILED;
}

/* The same command line without --sim, under simulation; not to find there that there is nothing to run. */
static int runsimulated(lua_State *L, char **argv, int argc, const struct options *o) {
  int first = o->first, status = first < argc && !o->code ? checkname(L, argv[first]) : DONE;
  if (status != DONE) return status;
  lua_settop(L, 0);
  lua_createtable(L, argc, 0);
  lua_Integer n = 0;
  for (int i = 1; i < argc; i++) {
    bool value = i > 1 && strcmp(argv[i - 1], "-e") == 0;
    if (i < first && !value && strcmp(argv[i], "--sim") == 0) continue;
    lua_pushstring(L, argv[i]);
    lua_rawseti(L, -2, ++n);
  }
  return callmodule(L, "internal.simulation.run", "again", 1);
}

static int runall(lua_State *L, char **argv, int argc, const struct options *o) {
  int status = DONE;
  checkenvironment(L);
  if (o->unknown != NULL) {
    lua_pushstring(L, o->unknown);
    return callmodule(L, "internal.cli.verb", "unknown_option", 1);
  }
  if (o->help) return runhelp(L);
  if (o->sim) return runsimulated(L, argv, argc, o);
  setarg(L, argv, argc, o->first < argc ? o->first : 0);
  if (o->code || o->interactive) { /* typed code is spared the require */
    if (!require(L, "pmlua")) return FAILED;
    lua_setglobal(L, "pml");
  }
  if (o->code) status = runcodes(L, argv, o->first);
  if (status == DONE && o->first < argc) status = runname(L, argv, argc, o->first);
  if (!o->interactive) return status;
  lua_pushboolean(L, debug);
  return callmodule(L, "internal.prompt.repl", "run", 1);
}

struct invocation {
  int argc;
  char **argv;
  const struct options *options;
  int status;
};

static int protected(lua_State *L) {
  struct invocation *in = lua_touserdata(L, 1);
  lua_settop(L, 0);
  state_libraries(L, lua_dir, true, compiled_searcher());
  interrupt_execute(L);
  numeric_setlocale(L);
  in->status = runall(L, in->argv, in->argc, in->options);
  return 0;
}

static int run(int argc, char **argv, const struct options *o) {
  struct invocation in = {argc, argv, o, FAILED};
  lua_State *L = luaL_newstate();
  if (L == NULL) {
    complain("no memory for a Lua state");
    return FAILED;
  }
  lua_pushcfunction(L, protected);
  lua_pushlightuserdata(L, &in);
  if (!call(L, 1, 0)) in.status = FAILED;
  lua_close(L);
  return in.status;
}

/* Output that did not arrive is a failure, even if the script left by os.exit. */
static void flushoutput(void) {
  if (fflush(stdout) == 0 && !ferror(stdout)) return;
  fprintf(stderr, "pmlua: writing to standard output failed: %s\n", errno != 0 ? strerror(errno) : "output error");
  _exit(FAILED);
}

/* One line of each way in which events were opened otherwise than asked; also where the script left by os.exit. */
static void tell_user_only(void) {
  for (const char *sentence = pml_event_user_only(); sentence != NULL; sentence = pml_event_user_only())
    complain(sentence);
}

static void on_file_limit(int number) {
  (void)number;
}

/* A write beyond RLIMIT_FSIZE fails with EFBIG and is reported. Programs that are executed get the default again. */
static void survive_file_limit(void) {
  struct sigaction was;
  if (sigaction(SIGXFSZ, NULL, &was) == 0 && was.sa_handler == SIG_DFL)
    (void)sigaction(SIGXFSZ, &(struct sigaction){.sa_handler = on_file_limit, .sa_flags = SA_RESTART}, NULL);
}

int main(int argc, char **argv) {
  struct options o = {0};
  signal(SIGPIPE, SIG_DFL); /* a reader that left ends us quietly, even if our parent ignored the signal */
  survive_file_limit();
  atexit(flushoutput);
  atexit(tell_user_only);
  int status = parse(argv, argc, &o);
  if (status != DONE) return status;
  if (o.version) {
    printf("pmlua %s (%s)\n", PML_VERSION, LUA_RELEASE);
    return DONE;
  }
  int err = locate_lua(lua_dir);
  if (err < 0) {
    complain(pml_error_detail(err));
    return FAILED;
  }
  live_stop_signal = SIGINT;
  return run(argc, argv, &o);
}
