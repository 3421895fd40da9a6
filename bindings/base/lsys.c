/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/base/lsys.c - pml.sys: system functions that Lua lacks. */
#include "base/pml_launched.h"
#include "command/editing.h"
#include "command/interrupt.h"
#include "command/prompt.h"
#include "module.h"
#include "numeric.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define CPUS_MAX 65536
#define EXEC_WORDS_MAX 4096

/* --- processes and CPUs --- */

static int l_pid(lua_State *L) {
  return lutil_pushint(L, (uint64_t)getpid());
}

static int l_uname(lua_State *L) {
  static const struct field fields[] = FIELDS(struct utsname, sysname, nodename, release, version, machine);
  struct utsname u;
  if (uname(&u) != 0) return pml_pusherr(L, -errno, "sys.uname");
  return field_push(L, fields, &u);
}

static int l_isatty(lua_State *L) {
  return lutil_pushbool(L, isatty((int)lutil_int(L, 1, 0, INT_MAX)));
}

/* columns(fd): the width of the terminal; nil: not a terminal, or width unknown. */
static int l_columns(lua_State *L) {
  struct winsize size = {0};
  int fd = (int)lutil_int(L, 1, 0, INT_MAX);
  if (!isatty(fd) || ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 0;
  return lutil_pushint(L, (uint64_t)size.ws_col);
}

/* launched(): rank and size in a parallel job, each nil if the launcher does not set it. */
static int l_launched(lua_State *L) {
  struct pml__launched l;
  pml__launched(&l);
  lua_settop(L, 0);
  if (l.rank < 0) return 0;
  lua_pushinteger(L, l.rank);
  if (l.size >= 0) lua_pushinteger(L, l.size);
  return lua_gettop(L);
}

static int l_affinity(lua_State *L) {
  size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
  cpu_set_t *set = lua_newuserdatauv(L, size, 0);
  CPU_ZERO_S(size, set);
  if (sched_getaffinity(0, size, set) != 0) return pml_pusherr(L, -errno, "sys.affinity");
  lua_newtable(L);
  lua_Integer n = 0;
  for (size_t cpu = 0; cpu < CPUS_MAX; cpu++) {
    if (!CPU_ISSET_S(cpu, size, set)) continue;
    lua_pushinteger(L, (lua_Integer)cpu);
    lua_rawseti(L, -2, ++n);
  }
  return 1;
}

/* A cpu, or an array of them, as affinity() gives it. */
static int l_pin(lua_State *L) {
  size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
  cpu_set_t *set = lua_newuserdatauv(L, size, 0);
  CPU_ZERO_S(size, set);
  if (lua_type(L, 1) != LUA_TTABLE)
    CPU_SET_S((size_t)lutil_int(L, 1, 0, CPUS_MAX - 1), size, set);
  else {
    lua_Integer n = (lua_Integer)lua_rawlen(L, 1);
    for (lua_Integer i = 1; i <= n; i++) {
      int isint;
      lua_rawgeti(L, 1, i);
      lua_Integer cpu = lua_tointegerx(L, -1, &isint);
      if (!isint || cpu < 0 || cpu >= CPUS_MAX) luaL_argerror(L, 1, "an element is not the number of a cpu");
      CPU_SET_S((size_t)cpu, size, set);
      lua_pop(L, 1);
    }
  }
  int err = sched_setaffinity(0, size, set) == 0 ? 0 : -errno;
  if (err == -EINVAL) err = pml_fail(err, "no such cpu is online and allowed here; see sys.affinity");
  return pml_pushdone(L, err, "sys.pin");
}

static int l_cpu(lua_State *L) {
  return lutil_pushint(L, (uint64_t)sched_getcpu());
}

static int l_nprocs(lua_State *L) {
  return lutil_pushint(L, (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
}

/*
 * cpu_time([pid]) - the processor time of all threads of a process, terminated ones included, and when [ns]. The kernel
 * adds the time up to now. The two times are read close together: if this thread was interrupted between them, they are
 * read again.
 */
static int l_cpu_time(lua_State *L) {
  enum { TRIES = 16, CLOSE_NS = 2000, PID_MAX = 1 << 22 };
  lua_Integer pid = luaL_optinteger(L, 1, 0);
  luaL_argcheck(L, pid >= 0 && pid <= INT_MAX, 1, "no number of a process");
  clockid_t id = CLOCK_PROCESS_CPUTIME_ID;
  int err = pid > PID_MAX ? -ESRCH : pid > 0 ? -clock_getcpuclockid((pid_t)pid, &id) : 0;
  uint64_t best_ns = UINT64_MAX, at_ns = 0;
  struct timespec had = {0}, now;
  (void)pml_clock_init();
  for (int i = 0; i < TRIES && best_ns > CLOSE_NS && err == 0; i++) {
    uint64_t before_ns = pml_clock_ns();
    if (clock_gettime(id, &now) != 0) err = -errno;
    uint64_t took_ns = pml_clock_ns() - before_ns;
    if (err != 0 || took_ns >= best_ns) continue;
    had = now;
    best_ns = took_ns;
    at_ns = before_ns + took_ns / 2;
  }
  if (err != 0) return pml_pusherr(L, pml_fail(err, "process %d: %s", (int)pid, strerror(-err)), "sys.cpu_time");
  lua_pushinteger(L, (lua_Integer)had.tv_sec * 1000000000 + had.tv_nsec);
  lua_pushinteger(L, (lua_Integer)at_ns);
  return 2;
}

/*
 * exec(words, variables) - become another program, found by PATH, with these environment variables added. Returns only
 * on failure. Lua's unwritten output is written first; finalizers do not run.
 */
static int l_exec(lua_State *L) {
  lua_settop(L, 2);
  const char *words[EXEC_WORDS_MAX + 1];
  size_t n = lutil_names(L, 1, words, EXEC_WORDS_MAX);
  words[n] = NULL;
  int top = lua_gettop(L);
  if (!lua_isnoneornil(L, 2)) {
    luaL_checktype(L, 2, LUA_TTABLE);
    for (lua_pushnil(L); lua_next(L, 2) != 0; lua_pop(L, 1))
      if (lua_type(L, top + 1) != LUA_TSTRING || lua_type(L, top + 2) != LUA_TSTRING)
        luaL_argerror(L, 2, "names and values of variables must be strings");
    for (lua_pushnil(L); lua_next(L, 2) != 0; lua_pop(L, 1))
      if (setenv(lua_tostring(L, top + 1), lua_tostring(L, top + 2), 1) != 0)
        return pml_pusherr(L, pml_fail(-errno, "%s: not the name of a variable", lua_tostring(L, top + 1)), "sys.exec");
  }
  fflush(NULL);
  execvp(words[0], (char *const *)(uintptr_t)words);
  return pml_pusherr(L, pml_fail(-errno, "%s: %s", words[0], strerror(errno)), "sys.exec");
}

/* --- time and files --- */

static int l_sleep(lua_State *L) {
  double seconds = luaL_checknumber(L, 1);
  luaL_argcheck(L, seconds >= 0 && seconds <= 1e9, 1, "must be from 0 to 1e9 seconds"); /* false for NaN, too */
  double whole = floor(seconds);
  struct timespec ts = {.tv_sec = (time_t)whole, .tv_nsec = (long)((seconds - whole) * 1e9)};
  while (nanosleep(&ts, &ts) != 0)
    if (lutil_interrupted || errno != EINTR) return pml_pusherr(L, -errno, "sys.sleep");
  return lutil_pushbool(L, 1);
}

static int l_fsync(lua_State *L) {
  const char *path = lutil_string(L, 1);
  /* Not to hang on a fifo without a writer. */
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err = 0;
  if (fd < 0 || fsync(fd) != 0) err = pml_fail(-errno, "%s: %s", path, strerror(errno));
  if (fd >= 0) close(fd);
  return pml_pushdone(L, err, "sys.fsync");
}

/* "set-uid" or "set-gid" if executing the file gives rights that the caller does not have; else nil. */
static int l_setid(lua_State *L) {
  struct stat st;
  if (stat(lutil_string(L, 1), &st) < 0) return 0;
  bool uid = (st.st_mode & S_ISUID) != 0 && st.st_uid != getuid();
  bool gid = (st.st_mode & S_ISGID) != 0 && (st.st_mode & S_IXGRP) != 0 && st.st_gid != getgid();
  if (!uid && !gid) return 0;
  return lutil_pushstr(L, uid ? "set-uid" : "set-gid");
}

static int l_realpath(lua_State *L) {
  const char *path = lutil_string(L, 1);
  char real[PATH_MAX];
  if (realpath(path, real) == NULL)
    return pml_pusherr(L, pml_fail(-errno, "%s: %s", path, strerror(errno)), "sys.realpath");
  return lutil_pushstr(L, real);
}

struct point {
  struct lutil_handle h;
  locale_t was;
};

LUTIL_CLASS(point, point, numeric_leave(h->was))

/* with_point() - the calling thread has the "C" locale until the result is closed: numbers have a decimal point. */
static int l_with_point(lua_State *L) {
  struct point *p = lutil_new(L, &point_class, 0, 0);
  p->was = numeric_enter();
  p->h.open = 1;
  return 1;
}

int luaopen_pmlua_sys(lua_State *L) {
  static const luaL_Reg functions[] = {{"pid", l_pid},
                                       {"explained", lutil_explained},
                                       {"refusal", lutil_refusal},
                                       {"uname", l_uname},
                                       {"isatty", l_isatty},
                                       {"columns", l_columns},
                                       {"launched", l_launched},
                                       {"affinity", l_affinity},
                                       {"pin", l_pin},
                                       {"cpu", l_cpu},
                                       {"nprocs", l_nprocs},
                                       {"cpu_time", l_cpu_time},
                                       {"exec", l_exec},
                                       {"sleep", l_sleep},
                                       {"fsync", l_fsync},
                                       {"realpath", l_realpath},
                                       {"setid", l_setid},
                                       {"with_point", l_with_point},
                                       {NULL, NULL}};
  lutil_class(L, &point_class, NULL, NULL);
  luaL_newlib(L, functions);
  interrupt_functions(L);
  prompt_functions(L);
  editing_functions(L);
  return 1;
}
