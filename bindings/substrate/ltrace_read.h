/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/substrate/ltrace_read.h - reading half of pml.trace. */
#ifndef LTRACE_READ_H
#define LTRACE_READ_H

#include "module.h"

#include "read/otf2/pml_otf2_events.h"
#include "read/otf2/pml_otf2_over_time.h"

struct ltrace_reader {
  struct lutil_handle h;
  struct pml_otf2_read *trace;
  struct pml_otf2_events *events; /* the running t:each's, or NULL */
};

/* ltrace_reader - the open reader at argument @arg; raises otherwise. */
struct ltrace_reader *ltrace_reader(lua_State *L, int arg);

/* Results while tables are made of them, so that a Lua error frees them. ltrace_results - push an open handle of none.
 */
struct ltrace_results {
  struct lutil_handle h;
  struct pml_otf2_answer answer;
  struct pml_otf2_pairs pairs;
  struct pml_otf2_all_series series;
  struct pml_otf2_levels levels;
};
struct ltrace_results *ltrace_results(lua_State *L);

/* Fields of rows that sum names. */
#define LTRACE_FIELDS(X)                                                                                               \
  X(COUNT, "count")                                                                                                    \
  X(INCLUSIVE, "inclusive")                                                                                            \
  X(EXCLUSIVE, "exclusive")                                                                                            \
  X(BYTES, "bytes") X(SHORTEST, "shortest") X(LONGEST, "longest") X(FIRST, "first") X(LAST, "last")
#define LTRACE_FIELD(id, name) LTRACE_##id,
enum { LTRACE_FIELDS(LTRACE_FIELD) LTRACE_NFIELDS };
#undef LTRACE_FIELD
#define LTRACE_QUANTILES_MAX 32
#define LTRACE_COLUMNS 100 /* where a question does not say */

/*
 * ltrace_question - the question in the table at @arg, or the default one. Its memory stays on the stack, whose
 * top becomes @arg before. @more: the fields that it may have beside where.
 * ltrace_fields - bits 1 << LTRACE_COUNT and so on, for its field sum. ltrace_quantiles - their number, stored in @q.
 */
enum { LTRACE_BY = 1, LTRACE_ORDER = 2, LTRACE_PATHS = 4, LTRACE_SERIES = 8, LTRACE_LEVELS = 16 };
struct pml_otf2_question ltrace_question(lua_State *L, const struct pml_otf2_read *t, int arg, unsigned more);
unsigned ltrace_fields(lua_State *L, int arg);
size_t ltrace_quantiles(lua_State *L, int arg, double q[LTRACE_QUANTILES_MAX]);

/* The definitions of a reader as tables: methods. */
int ltrace_about(lua_State *L);
int ltrace_regions(lua_State *L);
int ltrace_processes(lua_State *L);
int ltrace_locations(lua_State *L);
int ltrace_metrics(lua_State *L);
int ltrace_system(lua_State *L);
int ltrace_groups(lua_State *L);
int ltrace_communicators(lua_State *L);
int ltrace_properties(lua_State *L);
int ltrace_clocks(lua_State *L);

/* Questions: methods. */
int ltrace_group(lua_State *L);
int ltrace_paths(lua_State *L);
int ltrace_messages(lua_State *L);
int ltrace_series(lua_State *L);
int ltrace_concurrency(lua_State *L);

/* t:each(function, question): its method, and the metatable of its state. */
int ltrace_each(lua_State *L);
void ltrace_each_class(lua_State *L);

/* t:export(form, file, question): its method. */
int ltrace_export(lua_State *L);

/* trace.open(path): a function of the module. ltrace_read_classes - the metatables of what it gives. */
int ltrace_open(lua_State *L);
void ltrace_read_classes(lua_State *L);

#endif
