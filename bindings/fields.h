/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/fields.h - tables made from structs, and structs filled from tables of options, by descriptions of members.
 */
#ifndef FIELDS_H
#define FIELDS_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pml_reading;
struct pml_value;

enum field_kind {
  FIELD_UNREAD, /* an option that its function reads itself */
  FIELD_BOOL,
  FIELD_INT32,
  FIELD_UINT32,
  FIELD_INT64,
  FIELD_UINT64,
  FIELD_DOUBLE,
  FIELD_TEXT,  /* NULL: not set */
  FIELD_CHARS, /* an array of char */
  FIELD_VALUE, /* a struct pml_value: an integer or a double */
  /* Never by the type of a member alone: */
  FIELD_FILLED,  /* text; empty: not set */
  FIELD_WRITTEN, /* an array of char; empty: not set */
  FIELD_PLACE,   /* a size_t from 0 that Lua counts from 1; SIZE_MAX: not set */
  FIELD_NATURAL, /* an int64_t; negative: not set */
  FIELD_BIT,     /* an unsigned in which a true option sets the bits of its maximum */
  FIELD_PLUS_1,  /* an int that is the option and 1 */
};

#define FIELD_KIND(t, m)                                                                                               \
  _Generic(&((t *)0)->m,                                                                                               \
      char(*)[sizeof((t *)0)->m]: FIELD_CHARS,                                                                         \
      bool *: FIELD_BOOL,                                                                                              \
      int *: FIELD_INT32,                                                                                              \
      unsigned *: FIELD_UINT32,                                                                                        \
      long *: FIELD_INT64,                                                                                             \
      unsigned long *: FIELD_UINT64,                                                                                   \
      double *: FIELD_DOUBLE,                                                                                          \
      const char **: FIELD_TEXT,                                                                                       \
      char **: FIELD_TEXT,                                                                                             \
      struct pml_value *: FIELD_VALUE)
_Static_assert(sizeof(long) == sizeof(int64_t) && sizeof(size_t) == sizeof(uint64_t), "the kinds of 64 bits");

/* ---- tables ---- */

/* A field @name of a table, from the member of @kind at that offset. A list of them ends with FIELD_END. */
struct field {
  const char *name;
  enum field_kind kind;
  unsigned at;
};

/* FIELD - the member @m of @t; FIELD_AS - under another name; FIELD_OF - of a kind that its type does not say. */
#define FIELD_OF(t, name, m, kind)                                                                                     \
  { name, kind, offsetof(t, m) }
#define FIELD_AS(t, name, m) FIELD_OF(t, name, m, FIELD_KIND(t, m))
#define FIELD(t, m) FIELD_AS(t, #m, m)
#define FIELD_END                                                                                                      \
  { NULL, FIELD_UNREAD, 0 }

/* FIELDS - a whole list: members of @t, up to 12, under their own names. */
#define FIELDS(t, ...)                                                                                                 \
  { EACH(FIELD, t, __VA_ARGS__), FIELD_END }

/* EACH - @x(@t, m) for each m of up to 12, with commas between. */
#define EACH(x, t, ...)                                                                                                \
  EACH_OF(__VA_ARGS__, EACH_12, EACH_11, EACH_10, EACH_9, EACH_8, EACH_7, EACH_6, EACH_5, EACH_4, EACH_3, EACH_2,      \
          EACH_1, )                                                                                                    \
  (x, t, __VA_ARGS__)
#define EACH_OF(a, b, c, d, e, f, g, h, i, j, k, l, each, ...) each
#define EACH_1(x, t, m) x(t, m)
#define EACH_2(x, t, m, ...) x(t, m), EACH_1(x, t, __VA_ARGS__)
#define EACH_3(x, t, m, ...) x(t, m), EACH_2(x, t, __VA_ARGS__)
#define EACH_4(x, t, m, ...) x(t, m), EACH_3(x, t, __VA_ARGS__)
#define EACH_5(x, t, m, ...) x(t, m), EACH_4(x, t, __VA_ARGS__)
#define EACH_6(x, t, m, ...) x(t, m), EACH_5(x, t, __VA_ARGS__)
#define EACH_7(x, t, m, ...) x(t, m), EACH_6(x, t, __VA_ARGS__)
#define EACH_8(x, t, m, ...) x(t, m), EACH_7(x, t, __VA_ARGS__)
#define EACH_9(x, t, m, ...) x(t, m), EACH_8(x, t, __VA_ARGS__)
#define EACH_10(x, t, m, ...) x(t, m), EACH_9(x, t, __VA_ARGS__)
#define EACH_11(x, t, m, ...) x(t, m), EACH_10(x, t, __VA_ARGS__)
#define EACH_12(x, t, m, ...) x(t, m), EACH_11(x, t, __VA_ARGS__)

/*
 * field_set - set the fields of the table on top from the struct at @from. A push may run a finalizer: @from must be a
 * copy where one could free it. field_push - the same in a new table; returns 1. field_list - push a list of the tables
 * of @n structs, each of @size bytes; returns 1.
 */
void field_set(lua_State *L, const struct field *f, const void *from);
int field_push(lua_State *L, const struct field *f, const void *from);
int field_list(lua_State *L, const struct field *f, const void *from, size_t n, size_t size);

/* field_values - set the list @key of the table on top to @n values of @kind at @from. */
void field_values(lua_State *L, const char *key, enum field_kind kind, const void *from, size_t n);

/* field_each - set the list @key of the table on top to what @push pushes for 0 to @n - 1 of @of. */
void field_each(lua_State *L, const char *key, size_t n, void (*push)(lua_State *L, const void *of, size_t i),
                const void *of);

/* One field of the table on top. Counts are 64 bits wide, and so are Lua's integers. */
void lutil_setint(lua_State *L, const char *key, uint64_t v);
void lutil_setnum(lua_State *L, const char *key, double v);
void lutil_setstr(lua_State *L, const char *key, const char *v); /* NULL: not set */
void lutil_setbool(lua_State *L, const char *key, int v);
void lutil_setreading(lua_State *L, const struct pml_reading *r);
void lutil_setbits(lua_State *L, const char *key, uint64_t bits, bool real); /* an integer, or a double's */

/* field_set_region - name, file and kind of a region; its name is "?" where it is unknown. */
void field_set_region(lua_State *L, uint32_t region);

/* lutil_pushint, lutil_pushnum, lutil_pushbool, lutil_pushstr - push @v, nil for NULL; return 1. lutil_pushbits - a
 * double with these bits, or an integer; lutil_pushvalue - the same of a core's value. */
int lutil_pushint(lua_State *L, uint64_t v);
int lutil_pushnum(lua_State *L, double v);
int lutil_pushbool(lua_State *L, int v);
int lutil_pushstr(lua_State *L, const char *v);
int lutil_pushbits(lua_State *L, uint64_t bits, bool real);
int lutil_pushvalue(lua_State *L, const struct pml_value *v);

/* ---- options ---- */

/* An option @name, read into the member of @kind at that offset; a number is from @min to @max. */
struct option {
  const char *name;
  enum field_kind kind;
  unsigned at;
  lua_Integer min, max;
};

/* OPTIONS - members of @t, up to 12, under their own names. OPTION - one of the name of its member; OPTION_AS - of
 * another; OPTION_RANGE - an integer; OPTION_UNREAD - only known. */
#define OPTION_OF(t, name, m, kind, min, max)                                                                          \
  { name, kind, offsetof(t, m), min, max }
#define OPTION_RANGE(t, name, m, min, max) OPTION_OF(t, name, m, FIELD_KIND(t, m), min, max)
#define OPTION_AS(t, name, m) OPTION_RANGE(t, name, m, 0, 0)
#define OPTION(t, m) OPTION_AS(t, #m, m)
#define OPTIONS(t, ...) EACH(OPTION, t, __VA_ARGS__)
#define OPTION_BIT(t, name, m, bits) OPTION_OF(t, name, m, FIELD_BIT, 0, bits)
#define OPTION_UNREAD(name)                                                                                            \
  { name, FIELD_UNREAD, 0, 0, 0 }
#define OPTION_END                                                                                                     \
  { NULL, FIELD_UNREAD, 0, 0, 0 }

/* The options pid, cpu and inherit of the struct pml_target @m. */
#define OPTIONS_TARGET(t, m)                                                                                           \
  OPTION_RANGE(t, "pid", m.pid, -1, INT32_MAX), OPTION_OF(t, "cpu", m.cpu_plus, FIELD_PLUS_1, 0, INT32_MAX - 1),       \
      OPTION_AS(t, "inherit", m.inherit)

/*
 * option_read - read the table at @arg into the struct at @into; members that it does not name keep their values, as do
 * all members without a table. It is read raw, so that no metamethod runs between a check and its use. An unknown key
 * raises an error: a misspelt option is never ignored. Texts stay on the stack.
 */
void option_read(lua_State *L, int arg, const struct option *known, void *into);

#endif
