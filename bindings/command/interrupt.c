/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/command/interrupt.c - SIGINT and SIGTERM: set a flag, raise a Lua error, signal the children. */
#include "command/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <limits.h>
#include <lualib.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * The first and the second SIGINT or SIGTERM set the flag and a debug hook; the third ends the process. The script
 * chooses how soon the hook raises: after about a millisecond of Lua, so that a script that checks sys.interrupted can
 * clean up; at the next instruction, if a measurement must not continue; or never. After the first error, it raises
 * again after a while, and finally at every instruction: __close handlers have the time to do their work, and code that
 * catches every error is terminated nevertheless.
 *
 * The hook is the main coroutine's: a script that loops in another is reached by the flag, or by the third signal.
 *
 * There is no SA_RESTART: a read that waits for a child (io.popen) ends with EINTR.
 */
enum { NEVER = 0, NEXT = 1, GRACE = 100000 };

#define SIGNALS_MAX 3
#define RAISES_PATIENT 3

volatile int lutil_interrupted = 0;
static volatile sig_atomic_t came = 0;         /* how many signals, since handlers were set */
static volatile sig_atomic_t reached = 0;      /* the children have got the last one */
static volatile sig_atomic_t patience = GRACE; /* instructions until the hook raises */
static int raised = 0;                         /* by the hook */
static lua_State *volatile hooked = NULL;      /* main coroutine of the state that asked for the handlers */

static void hook(lua_State *L, lua_Debug *ar);

static void unhook(void) {
  if (hooked != NULL && lua_gethook(hooked) == hook) lua_sethook(hooked, NULL, 0, 0);
}

static void default_action(void) {
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
}

/* --- the children; async-signal-safe: no opendir(3), which allocates --- */

/* A directory entry as getdents64(2) writes it. */
struct entry {
  uint64_t inode;
  int64_t offset;
  uint16_t length;
  uint8_t type;
  char name[];
};

static pid_t number(const char *text) {
  pid_t n = 0;
  for (; *text >= '0' && *text <= '9' && n < INT_MAX / 10; text++) n = 10 * n + (*text - '0');
  return n;
}

/* The parent of the process that /proc calls @name; 0: not a process. */
static pid_t parent_of(int proc, const char *name) {
  char path[32] = "", text[512];
  size_t length = strlen(name);
  if (number(name) == 0 || length + sizeof "/stat" > sizeof path) return 0;
  memcpy(path, name, length);
  memcpy(path + length, "/stat", sizeof "/stat");
  int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  text[n > 0 ? n : 0] = '\0';
  const char *end = strrchr(text, ')'); /* the command's name may hold anything */
  return end != NULL && strlen(end) > 4 ? number(end + 4) : 0;
}

static bool pass_on(int sig) {
  _Alignas(struct entry) char entries[4096];
  int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (proc < 0) return false;
  long n;
  while ((n = syscall(SYS_getdents64, proc, entries, sizeof entries)) > 0)
    for (long at = 0; at < n; at += ((struct entry *)(void *)(entries + at))->length) {
      const struct entry *e = (struct entry *)(void *)(entries + at);
      if (parent_of(proc, e->name) == getpid()) kill(number(e->name), sig);
    }
  close(proc);
  return n == 0;
}

/* A child that was started while the signal came may not have got it, and closing its pipe would wait for it. */
static void hook(lua_State *L, lua_Debug *ar) {
  (void)ar;
  lua_sethook(L, hook, LUA_MASKCOUNT, ++raised < RAISES_PATIENT ? GRACE : NEXT);
  if (raised == 1 && patience == NEXT) pass_on(SIGTERM);
  luaL_error(L, "interrupted");
}

/* The terminal has signalled the children as well; anyone else meant us alone. A second signal insists. */
static void on_signal(int sig, siginfo_t *info, void *context) {
  int saved = errno;
  (void)context;
  lutil_interrupted = 1;
  if (++came >= SIGNALS_MAX) {
    default_action();
    raise(sig); /* taken when this handler returns */
  } else {
    bool terminal = info->si_code == SI_KERNEL;
    reached = (terminal && came == 1) || pass_on(SIGTERM);
    if (hooked != NULL && patience != NEVER) lua_sethook(hooked, hook, LUA_MASKCOUNT, patience);
  }
  errno = saved;
}

bool interrupt_reached_children(void) {
  return reached != 0;
}

/* When the state ends, signals must no longer look for it. */
static int l_state_ends(lua_State *L) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  if (hooked == lua_tothread(L, -1)) {
    default_action();
    hooked = NULL;
  }
  return 0;
}

int interrupt_off(lua_State *L) {
  (void)L;
  unhook();
  default_action();
  lutil_interrupted = 0;
  came = reached = 0;
  raised = 0;
  patience = GRACE;
  hooked = NULL;
  return 0;
}

static int l_on_interrupt(lua_State *L) {
  int on = lua_isnoneornil(L, 1) || lua_toboolean(L, 1);
  (void)interrupt_off(L);
  if (!on) return 0;
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  hooked = lua_tothread(L, -1);
  struct sigaction sa = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
  sigemptyset(&sa.sa_mask);
  sigaddset(&sa.sa_mask, SIGINT);
  sigaddset(&sa.sa_mask, SIGTERM);
  sigaction(SIGINT, &sa, NULL);
  sigaction(SIGTERM, &sa, NULL);
  return 0;
}

/* raise_interrupt(true): at the next instruction, also for a signal that came before; (false): never. */
static int l_raise_interrupt(lua_State *L) {
  int on = lua_toboolean(L, 1);
  if (hooked == NULL) return 0; /* the signals are another's */
  patience = on ? NEXT : NEVER;
  if (!on)
    unhook();
  else if (lutil_interrupted)
    return luaL_error(L, "interrupted");
  return 0;
}

static int l_interrupted(lua_State *L) {
  if (lutil_interrupted) unhook();
  lua_pushboolean(L, lutil_interrupted);
  return 1;
}

/* --- os.execute --- */

/* Without handlers of ours, or without a command, it is the function of the library (the upvalue). */
static int l_execute(lua_State *L) {
  extern char **environ;
  const char *command = luaL_optstring(L, 1, NULL);
  if (command == NULL || hooked == NULL) {
    lua_settop(L, 1);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    return lua_gettop(L);
  }
  const char *const words[] = {"sh", "-c", command, NULL};
  pid_t pid, ended = -1;
  int status = -1;
  if (lutil_interrupted && patience == NEXT) return luaL_error(L, "interrupted");
  errno = posix_spawn(&pid, "/bin/sh", NULL, NULL, (char *const *)(uintptr_t)words, environ);
  if (errno == 0) {
    if (lutil_interrupted) kill(pid, SIGTERM); /* the signal may have come before there was a child to get it */
    do ended = waitpid(pid, &status, 0);
    while (ended < 0 && errno == EINTR);
  }
  return luaL_execresult(L, ended < 0 ? -1 : status);
}

void interrupt_execute(lua_State *L) {
  lua_getglobal(L, LUA_OSLIBNAME);
  lua_getfield(L, -1, "execute");
  lua_pushcclosure(L, l_execute, 1);
  lua_setfield(L, -2, "execute");
  lua_pop(L, 1);
}

/* --- the state --- */

/* A table in the registry that is collected with the state, and only then. */
static void set_sentinel(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, (const void *)&hooked) == LUA_TNIL) {
    lua_newtable(L);
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, l_state_ends);
    lua_setfield(L, -2, "__gc");
    lua_setmetatable(L, -2);
    lua_rawsetp(L, LUA_REGISTRYINDEX, (const void *)&hooked);
  }
  lua_pop(L, 1);
}

void interrupt_functions(lua_State *L) {
  static const luaL_Reg functions[] = {{"interrupted", l_interrupted},
                                       {"on_interrupt", l_on_interrupt},
                                       {"raise_interrupt", l_raise_interrupt},
                                       {NULL, NULL}};
  set_sentinel(L);
  luaL_setfuncs(L, functions, 0);
}
