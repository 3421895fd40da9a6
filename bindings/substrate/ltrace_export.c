/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/substrate/ltrace_export.c - t:export: conversion of an archive to a viewer's format. */
#include "substrate/ltrace_read.h"

#include "base/pml_error.h"
#include "read/export/pml_export.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int write_all(void *user, const char *bytes, size_t n) {
  errno = 0;
  if (fwrite(bytes, 1, n, user) == n) return 0;
  int err = errno != 0 ? -errno : -EIO;
  return pml_fail(err, "the file takes no more bytes");
}

static const char *check_form(lua_State *L, int arg) {
  const char *name = lutil_string(L, arg), *form;
  luaL_Buffer list;
  for (size_t i = 0; (form = pml_export_form(i)) != NULL; i++)
    if (strcmp(form, name) == 0) return form;
  luaL_buffinit(L, &list);
  for (size_t i = 0; (form = pml_export_form(i)) != NULL; i++) {
    if (i > 0) luaL_addstring(&list, ", ");
    luaL_addstring(&list, form);
  }
  luaL_pushresult(&list);
  luaL_error(L, "trace.export: unknown form '%s'; choose from %s", name, lua_tostring(L, -1));
  return NULL;
}

/* t:export(form, file, question) - counts of the written records. */
int ltrace_export(lua_State *L) {
  static const struct field fields[] = FIELDS(struct pml_export_counts, calls, messages, metrics, unmatched, unlinked);
  struct pml_export_counts n;
  struct ltrace_reader *r = ltrace_reader(L, 1);
  const char *form = check_form(L, 2);
  luaL_Stream *file = luaL_checkudata(L, 3, LUA_FILEHANDLE);
  luaL_argcheck(L, file->closef != NULL, 3, "the file is closed");
  const struct pml_otf2_question q = ltrace_question(L, r->trace, 4, 0);
  int err = pml_export_events(ltrace_reader(L, 1)->trace, &q, form, write_all, file->f, &n);
  if (err < 0) return pml_pusherr(L, err, "trace.export");
  return field_push(L, fields, &n);
}
