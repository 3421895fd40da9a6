/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/lutil.h - helpers of all bindings: handles, failures, options. */
#ifndef LUTIL_H
#define LUTIL_H

#include "pml.h"

#include <lauxlib.h>
#include <lua.h>

struct limit;

/*
 * A handle is a full userdata that starts with its class. It is born closed, gets its resource, and is then marked
 * open: whatever raises in between cannot leak. The class pointer is the type check: cheaper than a metatable look-up,
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
  struct limit *account; /* of whose memory @charged bytes are counted until it is closed; NULL: not counted */
  size_t charged;
  struct lutil_handle *before, *after; /* of the open ones of a state that may be abandoned */
};

/*
 * lutil_class - say of what the first handle of @class in this state makes the metatable: @methods (static; those that
 * begin with "__" are metamethods), close and the metamethods of handles. @index may be NULL; it gets the methods as
 * its upvalue, and ends with lutil_unknown() for a key that is neither its own nor a method.
 */
void lutil_class(lua_State *L, const struct lutil_class *class, const luaL_Reg *methods, lua_CFunction index);
/* lutil_metatables - for Lua: the metatables of this state by their names, also of classes without a handle yet. */
int lutil_metatables(lua_State *L);

/* lutil_new - push a closed handle with @extra bytes after the struct, all zero, and @values user values. */
void *lutil_new(lua_State *L, const struct lutil_class *class, size_t extra, int values);

/* lutil_test - the handle at @idx, open or not, or NULL if it is not of @class. */
void *lutil_test(lua_State *L, int idx, const struct lutil_class *class);

/* lutil_self, lutil_check - the handle at argument @arg; raise if it is not of @class, or (check) if it is closed. */
void *lutil_self(lua_State *L, int arg, const struct lutil_class *class);
void *lutil_check(lua_State *L, int arg, const struct lutil_class *class);

/* lutil_close - close the handle at argument 1 if it is open; a method, __gc and __close in one. */
void lutil_close(struct lutil_handle *h);

/* lutil_abandon - close the handles of a state that is abandoned (live/limit.h), whose thread has ended. */
void lutil_abandon(struct limit *limit);

/*
 * lutil_charge - count @bytes of the core, which the handle is about to have, against the limit of the state; once more
 * adds to it. Returns 0 or -ENOMEM, before anything is allocated. lutil_uncharge - the handle was not opened after all.
 */
int lutil_charge(lua_State *L, struct lutil_handle *h, size_t bytes);
void lutil_uncharge(struct lutil_handle *h);

/*
 * A misspelt name raises, with those that are near to it. lutil_unknown - "WHAT has no KEY; nearest: a, b", for the key
 * on top; the table at @known has the names as keys. lutil_strict - the table on top answers so to what it has not.
 */
int lutil_unknown(lua_State *L, const char *what, int known);
void lutil_strict(lua_State *L, const char *what);

/* pml_pusherr - what the world refused: pushes nil, a failure (failure.h) whose place is @where, its code. Returns 3.
 */
int pml_pusherr(lua_State *L, int err, const char *where);

/* pml_pushdone - true if @err >= 0, else as pml_pusherr(). */
int pml_pushdone(lua_State *L, int err, const char *where);
/*
 * lutil_refused - note the failure on top of the stack as the last one.
 * lutil_refusal - push the sentence of the last failure, once: for a caller that reports a script which ignored it.
 */
void lutil_refused(lua_State *L);
int lutil_refusal(lua_State *L);

/*
 * A refusal gives nil, and a script that does not look at it fails later, at another line, with Lua's words.
 * lutil_script - @source is the name of the script's chunk: refusals keep the line of it that got them.
 * lutil_explain - the error message on top of the stack, if it is about a nil, gets the last refusal and its
 * line. lutil_explained - the same for Lua: takes a message, returns it.
 */
void lutil_script(lua_State *L, const char *source);
void lutil_explain(lua_State *L);
int lutil_explained(lua_State *L);

/* Arguments. A range that is broken raises with the range; a string must not contain a zero byte. */
lua_Integer lutil_int(lua_State *L, int arg, lua_Integer min, lua_Integer max);
lua_Integer lutil_optint(lua_State *L, int arg, lua_Integer def, lua_Integer min, lua_Integer max);
const char *lutil_string(lua_State *L, int arg);
const char *lutil_optstring(lua_State *L, int arg, const char *def);

/*
 * Options: a table at @arg, or nothing. They are read raw, so that no metamethod runs between a check and its use.
 * lutil_options raises for a key that is not in @known (NULL-terminated): a misspelt option is never ignored.
 */
void lutil_options(lua_State *L, int arg, const char *const *known);
int lutil_field(lua_State *L, int arg, const char *key); /* push t[key] or nil; returns its type */
int lutil_flag(lua_State *L, int arg, const char *key);
lua_Integer lutil_intfield(lua_State *L, int arg, const char *key, lua_Integer def, lua_Integer min, lua_Integer max);
const char *lutil_stringfield(lua_State *L, int arg, const char *key, const char *def); /* stays on the stack */

/* lutil_names - the strings of the array at @arg, pushed so that they stay alive, and their number (1 to @max). */
size_t lutil_names(lua_State *L, int arg, const char **names, size_t max);

/* lutil_form - how the option "form" wants rows: csv, json, jsonl or sql (enum pml__cells_form). */
int lutil_form(lua_State *L, int arg);

/* lutil_target - options pid, cpu and inherit. */
void lutil_target(lua_State *L, int arg, struct pml_target *target);

/* Fields of the table on top. Counts are 64 bits wide, and so are Lua's integers. */
void lutil_setint(lua_State *L, const char *key, uint64_t v);
void lutil_setnum(lua_State *L, const char *key, double v);
void lutil_setstr(lua_State *L, const char *key, const char *v); /* NULL: not set */
void lutil_setbool(lua_State *L, const char *key, int v);
void lutil_setreading(lua_State *L, const struct pml_reading *r);

struct pml_samples;
struct pml_flow;

/* What one handle's binding shows to another's. They raise as lutil_check() does. */
struct pml_eventset *lutil_eventset(lua_State *L, int idx);
struct pml_samples *lutil_samples(lua_State *L, int idx);
/* lutil_memory - @m, which counts what it gives against the limit of @L; NULL: no limit. It stays while in use. */
const struct pml_profile_memory *lutil_memory(lua_State *L, struct pml_profile_memory *m);
/* lutil_pushprofile - a handle that owns @p; without the memory for it @p is closed. */
void lutil_pushprofile(lua_State *L, struct pml_profile *p);
void lutil_pushflow(lua_State *L, struct pml_flow *f); /* the same of a flow */
struct pml_plugin *lutil_plugin(lua_State *L, int idx);

/* The table of contents: each pushes one module. */
/* clang-format off */
#define LUTIL_MODULES(X)                                                                                               \
  X(clock) X(event) X(counter) X(group) X(eventset) X(region) X(samples) X(samples_log) X(workload) X(trace) X(sys) X(sde)           \
  X(section) X(profile) X(recording) X(link) X(live) X(command) X(buffer) X(intercept) X(filter) X(watchpoint) X(plugin) \
  X(substrate) X(count) X(tune) X(balance) X(flow) X(file) X(tool) X(data) X(statistics) X(failure) X(log) X(summary) X(rows) \
  X(sampler)
/* clang-format on */
#define LUTIL_DECLARE(name) int luaopen_pmlua_##name(lua_State *L);
LUTIL_MODULES(LUTIL_DECLARE)
#undef LUTIL_DECLARE

#endif
