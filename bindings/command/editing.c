/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/command/editing.c - line editing, history and completion by readline(3), if it is installed. */
#include "command/editing.h"

#include "argument.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef char *generator(const char *text, int state);

/* The parts of readline(3) and history(3) that are used. */
static struct {
  char *(*readline)(const char *prompt);
  void (*add_history)(const char *line);
  int (*read_history)(const char *path);
  int (*append_history)(int lines, const char *path);
  int (*history_truncate_file)(const char *path, int lines);
  void (*stifle_history)(int lines);
  char **(*completion_matches)(const char *text, generator *next);
  char **(**attempted_completion)(const char *text, int start, int end);
  int *attempted_completion_over;
  int *append_character;
  char **line_buffer;
  int (**signal_hook)(void);
  int (**event_hook)(void);
  void (*replace_line)(const char *text, int clear_undo);
  int (*set_prompt)(const char *prompt);
  int (*on_new_line)(void);
  void (*redisplay)(void);
  int (*crlf)(void);
} rl;

static int there; /* all of them are */
static int added; /* lines since the history was read */

/* ISO C has no conversion of an object pointer to a function pointer; POSIX's dlsym() needs it. */
static int look_up(void *library, const char *name, void *member) {
  void *found = dlsym(library, name);
  memcpy(member, &found, sizeof found);
  return found != NULL;
}

static int look_all_up(void *library) {
  return look_up(library, "readline", &rl.readline) && look_up(library, "add_history", &rl.add_history) &&
         look_up(library, "read_history", &rl.read_history) && look_up(library, "append_history", &rl.append_history) &&
         look_up(library, "history_truncate_file", &rl.history_truncate_file) &&
         look_up(library, "stifle_history", &rl.stifle_history) &&
         look_up(library, "rl_completion_matches", &rl.completion_matches) &&
         look_up(library, "rl_attempted_completion_function", &rl.attempted_completion) &&
         look_up(library, "rl_attempted_completion_over", &rl.attempted_completion_over) &&
         look_up(library, "rl_completion_append_character", &rl.append_character) &&
         look_up(library, "rl_line_buffer", &rl.line_buffer) &&
         look_up(library, "rl_signal_event_hook", &rl.signal_hook) &&
         look_up(library, "rl_event_hook", &rl.event_hook) && look_up(library, "rl_replace_line", &rl.replace_line) &&
         look_up(library, "rl_set_prompt", &rl.set_prompt) && look_up(library, "rl_on_new_line", &rl.on_new_line) &&
         look_up(library, "rl_redisplay", &rl.redisplay) && look_up(library, "rl_crlf", &rl.crlf);
}

/* edit() - whether lines can be edited. */
static int l_edit(lua_State *L) {
  static const char *const names[] = {"libreadline.so.8", "libreadline.so.9", "libreadline.so.7"};
  for (size_t i = 0; i < sizeof names / sizeof names[0] && !there; i++) {
    void *library = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
    if (library != NULL && !(there = look_all_up(library))) dlclose(library);
  }
  lua_pushboolean(L, there);
  return 1;
}

static void check_there(lua_State *L) {
  if (!there) luaL_error(L, "lines cannot be edited here: edit() returns whether they can");
}

/* --- completion --- */

static lua_State *state;          /* the state of the line that is being read */
static const char completer = 0;  /* its address is the registry's key of the completion function, */
static const char candidates = 0; /* and this address the key of its last result */

/* candidate(i) of the registry's table, for free(3). */
static char *next_candidate(const char *text, int position) {
  static lua_Integer at;
  (void)text;
  if (position == 0) at = 0;
  char *copy = NULL;
  lua_rawgetp(state, LUA_REGISTRYINDEX, &candidates);
  if (lua_istable(state, -1) && lua_rawgeti(state, -1, ++at) == LUA_TSTRING) copy = strdup(lua_tostring(state, -1));
  lua_settop(state, 1);
  return copy;
}

/* Complete the line up to the end of the word by the function; no completions if it raises. */
static char **complete(const char *text, int start, int end) {
  (void)start;
  *rl.attempted_completion_over = 1; /* no names of files */
  *rl.append_character = '\0';
  lua_rawgetp(state, LUA_REGISTRYINDEX, &completer);
  lua_pushlstring(state, *rl.line_buffer, (size_t)end);
  if (lua_pcall(state, 1, 1, 0) != LUA_OK) lua_pushnil(state);
  lua_rawsetp(state, LUA_REGISTRYINDEX, &candidates);
  lua_settop(state, 1);
  return rl.completion_matches(text, next_candidate);
}

/* edit_completer(f) - f gets the line up to the cursor and returns what its last word may become, in an array. */
static int l_edit_completer(lua_State *L) {
  check_there(L);
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &completer);
  *rl.attempted_completion = complete;
  return 0;
}

/* --- lines --- */

static char *last_line;

static void remember(const char *line) {
  if (line[0] == '\0' || (last_line != NULL && strcmp(line, last_line) == 0)) return;
  rl.add_history(line);
  added++;
  free(last_line);
  last_line = strdup(line);
}

/* edit_line(prompt) - read a line and add it to the history; nil at the end of input, and without a terminal. */
static int l_edit_line(lua_State *L) {
  check_there(L);
  lutil_string(L, 1);
  lua_settop(L, 1);
  if (!isatty(STDIN_FILENO)) return 0;
  state = L;
  char *line = rl.readline(lua_tostring(L, 1));
  if (line == NULL) return 0;
  remember(line);
  lua_pushstring(L, line);
  free(line);
  return 1;
}

/* edit_history(path, keep) - read earlier sessions' lines; edit_save(path, keep) - append this session's lines. */
static int l_edit_history(lua_State *L) {
  check_there(L);
  const char *path = lutil_string(L, 1);
  rl.stifle_history((int)lutil_int(L, 2, 1, 1000000));
  rl.read_history(path);
  added = 0;
  return 0;
}

static int l_edit_save(lua_State *L) {
  check_there(L);
  const char *path = lutil_string(L, 1);
  int keep = (int)lutil_int(L, 2, 1, 1000000);
  if (added > 0) rl.append_history(added < keep ? added : keep, path);
  rl.history_truncate_file(path, keep);
  added = 0;
  return 0;
}

void editing_functions(lua_State *L) {
  static const luaL_Reg functions[] = {{"edit", l_edit},
                                       {"edit_line", l_edit_line},
                                       {"edit_completer", l_edit_completer},
                                       {"edit_history", l_edit_history},
                                       {"edit_save", l_edit_save},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}

/* --- Ctrl-C --- */

void editing_at_prompt(int (*on_event)(void)) {
  if (there) *rl.signal_hook = *rl.event_hook = on_event;
}

void editing_clear_line(const char *prompt) {
  rl.crlf();
  rl.replace_line("", 1);
  rl.set_prompt(prompt);
  rl.on_new_line();
  rl.redisplay();
}
