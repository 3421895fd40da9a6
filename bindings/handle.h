/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/handle.h - handles: userdata that own a resource of the core. */
#ifndef HANDLE_H
#define HANDLE_H

#include <lauxlib.h>
#include <stddef.h>

struct limit;
struct pml_profile_memory;

/*
 * A handle is a full userdata that starts with its class. It is born closed, gets its resource, and is then marked
 * open, so an error in between leaks nothing. The class pointer is the type check: cheaper than a metatable look-up,
 * and a userdata whose metatable was exchanged cannot pass for another.
 *
 * Any allocation in Lua may run a finalizer, and a finalizer may close any handle: copy what a handle points to before
 * building tables, or look at the handle again in every round.
 */
struct lutil_class {
  const char *name;            /* "eventset": in messages; the metatable is "pml.eventset" */
  size_t size;                 /* of the struct that starts with struct lutil_handle */
  void (*close)(void *handle); /* frees the resource of an open handle; may be NULL */
};

struct lutil_handle {
  const struct lutil_class *class;
  int open;
  struct limit *account; /* counts @charged bytes until the handle is closed; NULL: not counted */
  size_t charged;
  struct lutil_handle *before, *after; /* list of open handles of a state that may be abandoned */
};

/*
 * lutil_class - say of what the first handle of @class in this state makes the metatable: @methods (static; NULL:
 * none; those that begin with "__" are metamethods), close and the metamethods of handles. @index may be NULL; it gets
 * the methods as its upvalue, and ends with lutil_unknown() for a key that is neither its own nor a method.
 */
void lutil_class(lua_State *L, const struct lutil_class *class, const luaL_Reg *methods, lua_CFunction index);
/* lutil_metatables - for Lua: the metatables of this state by their names, also of classes without a handle yet. */
int lutil_metatables(lua_State *L);

/* lutil_new - push a closed handle with @extra bytes after the struct, all zero, and @values user values. */
void *lutil_new(lua_State *L, const struct lutil_class *class, size_t extra, int values);
/* lutil_try_new - the same for a resource that has no owner yet: NULL without the memory, and the error is on top. */
void *lutil_try_new(lua_State *L, const struct lutil_class *class);
/* lutil_opened - the end of a function that opens the handle on top: the handle, or after @err what pml_pusherr()
 * gives. */
int lutil_opened(lua_State *L, struct lutil_handle *h, int err, const char *where);

/* lutil_test - the handle at @idx, open or not, or NULL if it is not of @class. */
void *lutil_test(lua_State *L, int idx, const struct lutil_class *class);

/* LUTIL_CLASS - the class @name_class of struct @t; @close is an expression that frees the resource of the handle @h.
 */
#define LUTIL_CLASS(name, t, close)                                                                                    \
  static void name##_close(void *handle) {                                                                             \
    struct t *h = handle;                                                                                              \
    close;                                                                                                             \
  }                                                                                                                    \
  static const struct lutil_class name##_class = {#name, sizeof(struct t), name##_close};

/* lutil_self, lutil_check - the handle at argument @arg; raise if it is not of @class, or (check) if it is closed. */
void *lutil_self(lua_State *L, int arg, const struct lutil_class *class);
void *lutil_check(lua_State *L, int arg, const struct lutil_class *class);

/*
 * Bytes that a visitor of the core collects while it must not enter Lua, which may raise or run a finalizer.
 * lutil_rows - push an open handle of none; lutil_add - append a copy of @n bytes; returns 0 or -ENOMEM.
 */
struct lutil_rows {
  struct lutil_handle h;
  char *at;
  size_t used, capacity;
};
struct lutil_rows *lutil_rows(lua_State *L);
int lutil_add(struct lutil_rows *r, const void *bytes, size_t n);

/*
 * lutil_guard - push an open handle that owns memory of C while tables are made of it, so that an error frees it: it
 * gives @of, NULL until the caller sets it, to @release when it is closed or collected.
 */
struct lutil_guard {
  struct lutil_handle h;
  void (*release)(void *of);
  void *of;
};
struct lutil_guard *lutil_guard(lua_State *L, void (*release)(void *of));

/* lutil_close - close the handle at argument 1 if it is open; a method, __gc and __close in one. */
void lutil_close(struct lutil_handle *h);

/* lutil_call_closed - call @f with the address @arg, while @h, the handle at argument 1, is closed to others, such as
 * finalizers. Returns the number of its results. */
int lutil_call_closed(lua_State *L, struct lutil_handle *h, lua_CFunction f, void *arg);

/* lutil_abandon - close the handles of a state that is abandoned (live/limit.h), whose thread has ended. */
void lutil_abandon(struct limit *limit);

/*
 * lutil_charge - count @bytes of the core, which the handle is about to have, against the limit of the state; once more
 * adds to it. Returns 0 or -ENOMEM, before anything is allocated. lutil_uncharge - the handle was not opened after all.
 */
int lutil_charge(lua_State *L, struct lutil_handle *h, size_t bytes);
void lutil_uncharge(struct lutil_handle *h);

/* lutil_memory - @m, an allocator that counts against the limit of @L, or NULL without a limit. Keep @m while in use.
 */
const struct pml_profile_memory *lutil_memory(lua_State *L, struct pml_profile_memory *m);

#endif
