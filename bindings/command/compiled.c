/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/command/compiled.c - precompiled Lua modules of the command. */
#include "command/compiled.h"

#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC 0x314c4d50u /* distinguishes missing data (0) and data of the other byte order */
#define BLOCK 16384u      /* bytes of a source per read; a multiple of 8 */
#define MULTIPLIER 0x9e3779b97f4a7c15u

/* compile.lua writes these. */
struct header {
  uint32_t magic, modules;
  uint32_t release; /* place */
  uint32_t before;  /* bytes of a chunk before the name of its source */
};

struct entry {
  uint64_t hash; /* the source's */
  uint32_t source_bytes;
  uint32_t name, chunk; /* places */
  uint32_t bytes;
};

extern const char compiled_chunks[]; /* made by compile.lua, aligned for these structs */

static const struct header *data(void) {
  return (const struct header *)(const void *)compiled_chunks;
}

/* --- comparing the source with the compiled one --- */

static uint64_t step(uint64_t h, uint64_t word) {
  h = (h ^ word) * MULTIPLIER;
  return h ^ h >> 32;
}

/* Eight bytes at once; zeros pad the last ones. */
static uint64_t mixed(uint64_t h, const char *text, size_t n) {
  uint64_t word;
  for (; n >= sizeof word; text += sizeof word, n -= sizeof word) {
    memcpy(&word, text, sizeof word);
    h = step(h, word);
  }
  word = 0;
  if (n == 0) return h;
  memcpy(&word, text, n);
  return step(h, word);
}

/* As much as is there, up to @n bytes; -1 for a failure. */
static ssize_t fill(int fd, char *block, size_t n) {
  size_t got = 0;
  while (got < n) {
    ssize_t part = read(fd, block + got, n - got);
    if (part < 0 && errno == EINTR) continue;
    if (part < 0) return -1;
    if (part == 0) break;
    got += (size_t)part;
  }
  return (ssize_t)got;
}

/* Each step is a bijection of the hash so far: texts that differ within eight bytes never have the same one. */
static bool holds(int fd, const struct entry *e) {
  char block[BLOCK];
  uint64_t h = 0xcbf29ce484222325u ^ e->source_bytes, left = e->source_bytes;
  while (left > 0) {
    size_t n = left < BLOCK ? (size_t)left : BLOCK;
    if (fill(fd, block, n) != (ssize_t)n) return false;
    h = mixed(h, block, n);
    left -= n;
  }
  return h == e->hash;
}

static bool is_same(const char *path, const struct entry *e) {
  struct stat st;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return false;
  bool same = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == (off_t)e->source_bytes && holds(fd, e);
  (void)close(fd);
  return same;
}

/* --- loading --- */

static const struct entry *find(const char *name) {
  const struct entry *all = (const struct entry *)(const void *)(data() + 1);
  size_t low = 0, high = data()->modules;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int order = strcmp(name, compiled_chunks + all[middle].name);
    if (order == 0) return &all[middle];
    if (order < 0)
      high = middle;
    else
      low = middle + 1;
  }
  return NULL;
}

/* A chunk in three parts: the bytes before the name of the source, the name, and the rest. */
struct parts {
  struct {
    const char *text;
    size_t n;
  } part[3];
  int next;
};

static const char *next_part(lua_State *L, void *arg, size_t *n) {
  struct parts *p = arg;
  (void)L;
  if (p->next == 3) return NULL;
  *n = p->part[p->next].n;
  return p->part[p->next++].text;
}

/* How string.dump() writes a string: its size and 1 in groups of 7 bits, the last of which is marked. */
static const char *pushdumped(lua_State *L, const char *text, size_t *n) {
  char size[10];
  size_t at = sizeof size, length = strlen(text), left = length + 1;
  luaL_Buffer b;
  do {
    size[--at] = (char)(left & 0x7f);
    left >>= 7;
  } while (left > 0);
  size[sizeof size - 1] = (char)(size[sizeof size - 1] | 0x80);
  luaL_buffinit(L, &b);
  luaL_addlstring(&b, size + at, sizeof size - at);
  luaL_addlstring(&b, text, length);
  luaL_pushresult(&b);
  return lua_tolstring(L, -1, n);
}

/* Push the module's function, or nothing. */
static bool load(lua_State *L, const struct entry *e, const char *path) {
  const char *chunk = compiled_chunks + e->chunk;
  uint32_t before = data()->before;
  struct parts p = {.part = {{chunk, before}, {NULL, 0}, {chunk + before, e->bytes - before}}};
  const char *source = lua_pushfstring(L, "@%s", path);
  p.part[1].text = pushdumped(L, source, &p.part[1].n);
  bool loaded = lua_load(L, next_part, &p, source, "b") == LUA_OK;
  if (loaded) lua_replace(L, -3);
  lua_pop(L, loaded ? 1 : 3);
  return loaded;
}

/* A script that puts another folder before pmlua's means that one. */
static bool comes_first(lua_State *L, const char *lua_dir) {
  size_t n = strlen(lua_dir);
  lua_getglobal(L, LUA_LOADLIBNAME);
  bool first = lua_istable(L, -1) && lua_getfield(L, -1, "path") == LUA_TSTRING;
  const char *path = first ? lua_tostring(L, -1) : "";
  first = first && strncmp(path, lua_dir, n) == 0 && strncmp(path + n, "/?.lua;", 7) == 0;
  lua_settop(L, 1);
  return first;
}

static int search(lua_State *L) {
  const char *name = luaL_checkstring(L, 1), *lua_dir = lua_tostring(L, lua_upvalueindex(1));
  lua_settop(L, 1);
  const struct entry *e = find(name);
  if (e == NULL || !comes_first(L, lua_dir)) return 0;
  const char *file = strcmp(name, "pmlua") == 0 ? "pmlua/init" : luaL_gsub(L, name, ".", "/");
  const char *path = lua_pushfstring(L, "%s/%s.lua", lua_dir, file);
  if (!is_same(path, e) || !load(L, e, path)) return 0;
  lua_pushvalue(L, -2);
  return 2;
}

lua_CFunction compiled_searcher(void) {
  static const char before[] = "$LuaVersion: ";
  const struct header *h = data();
  if (h->magic != MAGIC) return NULL;
  const char *release = compiled_chunks + h->release;
  return strncmp(lua_ident, before, sizeof before - 1) == 0 &&
                 strncmp(lua_ident + sizeof before - 1, release, strlen(release)) == 0
             ? search
             : NULL;
}
