/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/base/lfile.c - pmlua.core.file: safe access to files with untrusted names or folders. */
#include "module.h"

#include "base/pml_file.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_MAX ((lua_Integer)1 << 28)

/* Nothing in here raises between open and close, but for the memory of the text: the descriptor is a file of Lua. */
static int pushtext(lua_State *L, FILE *f, const char *path, lua_Integer max) {
  luaL_Buffer b;
  size_t n, total = 0;
  luaL_buffinit(L, &b);
  do {
    n = fread(luaL_prepbuffer(&b), 1, LUAL_BUFFERSIZE, f);
    luaL_addsize(&b, n);
    total += n;
  } while (n == LUAL_BUFFERSIZE && total <= (size_t)max);
  luaL_pushresult(&b);
  if (ferror(f)) return pml_pusherr(L, pml_fail(-EIO, "%s: %s", path, strerror(errno)), "file.read");
  if (total > (size_t)max)
    return pml_pusherr(L, pml_fail(-EFBIG, "%s: larger than %lld bytes", path, (long long)max), "file.read");
  return 1;
}

static int fclose_stream(lua_State *L) {
  luaL_Stream *s = luaL_checkudata(L, 1, LUA_FILEHANDLE);
  return luaL_fileresult(L, fclose(s->f) == 0, NULL);
}

/* Create a closed Lua file, so that an error while it is opened cannot leak. */
static luaL_Stream *new_stream(lua_State *L, size_t extra) {
  luaL_Stream *s = lua_newuserdatauv(L, sizeof *s + extra, 0);
  s->f = NULL;
  s->closef = NULL;
  luaL_setmetatable(L, LUA_FILEHANDLE);
  return s;
}

static int attach(luaL_Stream *s, int fd, const char *mode, lua_CFunction closef) {
  s->f = fdopen(fd, mode);
  if (s->f == NULL) return -errno;
  s->closef = closef;
  return 0;
}

/* A new stream on top that reads the file; 0 or -errno. */
static int open_to_read(lua_State *L, const char *path, lua_Integer max) {
  luaL_Stream *s = new_stream(L, 0);
  int fd = pml_file_open(path, (uint64_t)max, NULL);
  if (fd < 0) return fd;
  int err = attach(s, fd, "r", fclose_stream);
  if (err == 0) return 0;
  close(fd);
  return pml_fail(err, "%s: %s", path, strerror(-err));
}

/* open(path) - a file of Lua that reads a regular file; nil, why, code. */
static int l_open(lua_State *L) {
  int err = open_to_read(L, lutil_string(L, 1), LUA_MAXINTEGER);
  return err < 0 ? pml_pusherr(L, err, "file.open") : 1;
}

/* read(path, max_bytes) - the text of a regular file; nil, why, code. */
static int l_read(lua_State *L) {
  const char *path = lutil_string(L, 1);
  lua_Integer max = lutil_optint(L, 2, READ_MAX, 0, LUA_MAXINTEGER - 1);
  int err = open_to_read(L, path, max);
  if (err < 0) return pml_pusherr(L, err, "file.read");
  luaL_Stream *s = lua_touserdata(L, -1);
  int n = pushtext(L, s->f, path, max);
  fclose(s->f);
  s->closef = NULL; /* closed */
  return n;
}

/* --- writing --- */

struct created {
  luaL_Stream s; /* first: a file of Lua */
  struct pml_file f;
};

static int finish(lua_State *L) {
  struct created *c = luaL_checkudata(L, 1, LUA_FILEHANDLE);
  int err = fflush(c->s.f) == 0 && !ferror(c->s.f) ? 0 : errno != 0 ? -errno : -EIO;
  int fd = dup(c->f.fd); /* fclose() closes its descriptor; the file needs one to be given its name */
  if (fclose(c->s.f) != 0 && err == 0) err = -errno;
  c->f.fd = fd;
  if (err < 0 || fd < 0)
    pml_file_discard(&c->f);
  else
    err = pml_file_commit(&c->f);
  errno = -err;
  return luaL_fileresult(L, err == 0, NULL);
}

static int begin(lua_State *L, int (*create)(struct pml_file *f, const char *path), const char *where) {
  const char *path = lutil_string(L, 1);
  struct created *c = (struct created *)new_stream(L, sizeof *c - sizeof c->s);
  int err = create(&c->f, path);
  if (err < 0) return pml_pusherr(L, err, where);
  err = attach(&c->s, c->f.fd, "w", finish);
  if (err == 0) return 1;
  pml_file_discard(&c->f);
  return pml_pusherr(L, pml_fail(err, "%s: %s", path, strerror(-err)), where);
}

/* create(path) - a file of Lua that gets its name when it is closed, whole or not at all; nil, why, code. */
static int l_create(lua_State *L) {
  return begin(L, pml_file_create, "file.create");
}

/* output(path) - the same where the user named the path: a FIFO or a device is written to. */
static int l_output(lua_State *L) {
  return begin(L, pml_file_output, "file.output");
}

/* new(path) - a file of Lua where nothing was before; nil, why, code. */
static int l_new(lua_State *L) {
  const char *path = lutil_string(L, 1);
  luaL_Stream *s = new_stream(L, 0);
  int fd = pml_file_new(path);
  if (fd < 0) return pml_pusherr(L, fd, "file.new");
  int err = attach(s, fd, "w", fclose_stream);
  if (err == 0) return 1;
  close(fd);
  return pml_pusherr(L, pml_fail(err, "%s: %s", path, strerror(-err)), "file.new");
}

/* All of it, or -errno. */
static int put(int fd, const char *text, size_t length) {
  while (length > 0) {
    ssize_t n = write(fd, text, length);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 ? -errno : -EIO;
    text += n;
    length -= (size_t)n;
  }
  return 0;
}

/* write(path, text) - a whole file, or none; true, or nil, why, code. */
static int l_write(lua_State *L) {
  const char *path = lutil_string(L, 1);
  size_t length;
  const char *text = luaL_checklstring(L, 2, &length);
  struct pml_file f;
  int err = pml_file_create(&f, path);
  if (err < 0) return pml_pusherr(L, err, "file.write");
  err = put(f.fd, text, length);
  if (err == 0)
    err = pml_file_commit(&f);
  else
    pml_file_discard(&f);
  if (err < 0) return pml_pusherr(L, pml_fail(err, "%s: %s", path, strerror(-err)), "file.write");
  return lutil_pushbool(L, 1);
}

/* --- folders --- */

static int closedir_stream(lua_State *L) {
  luaL_Stream *s = luaL_checkudata(L, 1, LUA_FILEHANDLE);
  (void)closedir((DIR *)(void *)s->f);
  return 0;
}

/* names(folder) - the names in it, except "." and "..", unordered; nil, why, code. */
static int l_names(lua_State *L) {
  const char *path = lutil_string(L, 1);
  luaL_Stream *s = new_stream(L, 0); /* also closes the folder if memory is short */
  DIR *folder = opendir(path);
  if (folder == NULL) return pml_pusherr(L, pml_fail(-errno, "%s: %s", path, strerror(errno)), "file.names");
  s->f = (FILE *)(void *)folder;
  s->closef = closedir_stream;
  lua_newtable(L);
  lua_Integer n = 0;
  for (const struct dirent *e; (e = readdir(folder)) != NULL;) {
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
    lua_pushstring(L, e->d_name);
    lua_rawseti(L, -2, ++n);
  }
  (void)closedir(folder);
  s->closef = NULL;
  return 1;
}

/* kind(path) - "file", "directory" or "other", and whether somebody may execute it; nil: it is not there. */
static int l_kind(lua_State *L) {
  struct stat st;
  if (stat(lutil_string(L, 1), &st) < 0) return 0;
  lua_pushstring(L, S_ISREG(st.st_mode) ? "file" : S_ISDIR(st.st_mode) ? "directory" : "other");
  lua_pushboolean(L, (st.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) != 0);
  return 2;
}

/* folder(path) - make one; true, or nil, why, code. */
static int l_folder(lua_State *L) {
  const char *path = lutil_string(L, 1);
  return pml_pushdone(L, mkdir(path, 0775) == 0 ? 0 : pml_fail(-errno, "%s: %s", path, strerror(errno)), "file.folder");
}

/* temporary(DIR/PREFIX) - a new folder that only this user may enter, under a name that nobody can foresee. */
static int l_temporary(lua_State *L) {
  char path[PATH_MAX];
  const char *prefix = lutil_string(L, 1);
  int n = snprintf(path, sizeof path, "%sXXXXXX", prefix), err = -ENAMETOOLONG;
  if (strchr(prefix, '/') == NULL)
    err = -EINVAL;
  else if (n > 0 && (size_t)n < sizeof path)
    err = mkdtemp(path) != NULL ? 0 : -errno;
  if (err < 0) return pml_pusherr(L, pml_fail(err, "%.200s: %s", prefix, strerror(-err)), "file.temporary");
  return lutil_pushstr(L, path);
}

int luaopen_pmlua_file(lua_State *L) {
  static const luaL_Reg functions[] = {{"open", l_open},           {"read", l_read},     {"write", l_write},
                                       {"create", l_create},       {"output", l_output}, {"new", l_new},
                                       {"names", l_names},         {"kind", l_kind},     {"folder", l_folder},
                                       {"temporary", l_temporary}, {NULL, NULL}};
  return lutil_module(L, functions);
}
