/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/program/lcommand.c - pml.command: a child process that waits for its counters before it runs the program. */
#include "command/interrupt.h"
#include "module.h"

#include "program/pml_command.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define ARGUMENTS_MAX 4096
#define VARIABLES_MAX 256
#define SLICE_MS 100

struct handle {
  struct lutil_handle h;
  struct pml_command c;
};

LUTIL_CLASS(command, handle, pml_command_close(&h->c))

static struct pml_command *check(lua_State *L) {
  return &((struct handle *)lutil_check(L, 1, &command_class))->c;
}

static size_t length(char *const *list) {
  size_t n = 0;
  while (list != NULL && list[n] != NULL) n++;
  return n;
}

static int is_set(const char *variable, const char *const *set, size_t n) {
  size_t name = strcspn(variable, "=");
  for (size_t i = 0; i < n; i++)
    if (strcspn(set[i], "=") == name && strncmp(set[i], variable, name) == 0) return 1;
  return 0;
}

/* The caller's environment with the "NAME=value" of option environment; pushed. NULL: unchanged. */
static char **environment(lua_State *L, int arg) {
  const char *set[VARIABLES_MAX];
  if (lutil_field(L, arg, "environment") == LUA_TNIL) return NULL;
  size_t n = lutil_names(L, lua_gettop(L), set, VARIABLES_MAX), used = 0, had = length(environ);
  for (size_t i = 0; i < n; i++)
    if (strchr(set[i], '=') == NULL) luaL_error(L, "environment: '%s' has no '='", set[i]);
  char **envp = lua_newuserdatauv(L, (had + n + 1) * sizeof *envp, 0);
  for (size_t i = 0; i < had; i++)
    if (!is_set(environ[i], set, n)) envp[used++] = environ[i];
  for (size_t i = 0; i < n; i++) envp[used++] = (char *)(uintptr_t)set[i];
  envp[used] = NULL;
  return envp;
}

static int l_spawn(lua_State *L) {
  static const struct option known[] = {OPTION_UNREAD("environment"),
                                        OPTIONS(struct pml_command_setting, input, output, error, bound), OPTION_END};
  lua_settop(L, 2);
  const char **argv = lua_newuserdatauv(L, (ARGUMENTS_MAX + 1) * sizeof *argv, 0);
  size_t n = lutil_names(L, 1, argv, ARGUMENTS_MAX);
  argv[n] = NULL;
  struct handle *s = lutil_new(L, &command_class, 0, 0);
  int handle = lua_gettop(L);
  struct pml_command_setting setting = {0};
  option_read(L, 2, known, &setting);
  setting.envp = environment(L, 2);
  int err = pml_command_spawn_with(&s->c, (char *const *)(uintptr_t)argv, &setting);
  if (err < 0) return pml_pusherr(L, err, "command.spawn");
  s->h.open = 1;
  lua_pushvalue(L, handle);
  return 1;
}

static int l_pid(lua_State *L) {
  return lutil_pushint(L, (uint64_t)check(L)->pid);
}

static int l_start(lua_State *L) {
  int err = pml_command_start(check(L));
  if (err < 0) return pml_pusherr(L, err, "command.start");
  lua_settop(L, 1);
  return 1;
}

static void pushend(lua_State *L, const struct pml_command_end *end) {
  static const struct field fields[] =
      FIELDS(struct pml_command_end, real_ns, user_ns, system_ns, maxrss_bytes, maxrss_floor_bytes);
  struct pml_command_end e = *end;
  field_push(L, fields, &e);
  if (e.signal == 0)
    lutil_setint(L, "status", (uint64_t)e.status);
  else
    lutil_setint(L, "signal", (uint64_t)e.signal);
}

/*
 * An interrupt from the terminal reaches the child directly; an interrupt to pmlua alone is forwarded by the handler,
 * or once here if the handler cannot. A handler may run right before the wait begins, which it then does not end, so no
 * wait is longer than a slice.
 */
static int wait_in_slices(struct pml_command *c, int64_t left_ms) {
  int err, passed = 0;
  for (;;) {
    if (lutil_interrupted && !interrupt_reached_children() && !passed++) pml_command_kill(c, SIGTERM);
    int slice = left_ms >= 0 && left_ms < SLICE_MS ? (int)left_ms : SLICE_MS;
    err = pml_command_wait(c, slice);
    if (left_ms >= 0) left_ms -= slice;
    if (err != -EINTR && (err != -ETIMEDOUT || left_ms == 0)) return err;
  }
}

static int l_wait(lua_State *L) {
  struct pml_command *c = check(L);
  double seconds = luaL_optnumber(L, 2, -1);
  luaL_argcheck(L, lua_isnoneornil(L, 2) || (seconds >= 0 && seconds <= 1e6), 2, "must be from 0 to 1e6 seconds");
  int err = wait_in_slices(c, seconds < 0 ? -1 : (int64_t)(seconds * 1000));
  if (err < 0) return pml_pusherr(L, err, "command.wait");
  pushend(L, &c->end);
  return 1;
}

static int l_kill(lua_State *L) {
  return pml_pushdone(L, pml_command_kill(check(L), (int)lutil_int(L, 2, 0, 64)), "command.kill");
}

int luaopen_pmlua_command(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"pid", l_pid}, {"start", l_start}, {"wait", l_wait}, {"kill", l_kill}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"spawn", l_spawn}, {NULL, NULL}};
  lutil_class(L, &command_class, methods, NULL);
  return lutil_module(L, functions);
}
