/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/intercept/pml_intercept_choice.h - selection of libraries and functions by name.
 *
 * The selection is made when slots are filled, for every name of every loaded library, so comparisons replace globs
 * where possible.
 */
#ifndef PML_INTERCEPT_CHOICE_H
#define PML_INTERCEPT_CHOICE_H

#include "adapter/intercept/pml_intercept.h"
#include "program/pml_filter.h"

#include <stdbool.h>
#include <stddef.h>

struct pml__pattern {
  const char *text;
  const char *place; /* of a function: a library, the program or a source file; NULL: any */
  size_t n;          /* length of the compared text */
  char kind;         /* '=': the whole name; '*': a prefix; '?': a glob */
  bool matched;      /* atomic */
};

/* Patterns of functions that are never intercepted, and a check for names of functions that walk the stack. */
extern __attribute__((visibility("hidden"))) const char pml__intercept_never[];
bool pml__intercept_walks_stack(const char *name);

/* Sorted by the key of their first two letters; the last key is for patterns that begin otherwise. */
#define PML__PATTERN_KEYS 65u
struct pml__patterns {
  char *asked, *text; /* the original text, and the text split into patterns; NULL: no patterns */
  struct pml__pattern *at;
  size_t n, begin[PML__PATTERN_KEYS + 1];
};

struct pml__choice {
  struct pml__choice *next; /* list of all choices ever made, because a dlsym() may be reading one */
  struct pml__patterns lib, sym, but, aside, func;
  struct pml_filter *filter;
  uint64_t least; /* bytes of code of a function that reports its calls */
  bool dlsym;     /* dlsym() returns thunks */
  bool wrapped;   /* all wrapped functions are chosen */
  bool hooks;     /* no function is chosen; calls with hooks go to the hooks without an event */
};

/* Create the choice for @o, which is never freed. Returns 0, -ENOMEM, or an error of pml_filter_open(). The caller
 * holds the lock. */
int pml__choice_make(struct pml__choice **c, const struct pml_intercept_options *o);

/* Whether functions of the library at @path are chosen; matching patterns are marked. */
bool pml__choice_library(const struct pml__choice *c, const char *path, bool program);
bool pml__choice_function(const struct pml__choice *c, const char *name, size_t n);
/* Mark the patterns that match the name of a function in a chosen library. */
void pml__choice_note(const struct pml__choice *c, const char *name, size_t n);
/* Whether a wrapped function of @library, a file name, is chosen: all are except those that patterns exclude. @alias:
 * another name of the library for patterns, or NULL. */
bool pml__choice_wrapped(const struct pml__choice *c, const char *library, const char *alias, const char *name);
/*
 * pml__choice_instrumented - whether functions with code for recording, in the object at @path, may be chosen.
 * pml__choice_name - whether the function called @name in the symbol table is chosen. Matching patterns are marked.
 * @of: where it is. pml__choice_small - functions that were not chosen because they have too little code.
 */
struct pml__source_lines;
struct pml__choice_place {
  const char *path;                 /* file of its object */
  uint64_t offset;                  /* distance from the object's first mapped byte */
  uint64_t bytes;                   /* length of its code; 0: unknown */
  struct pml__source_lines **lines; /* see pml_source_line.h */
};
bool pml__choice_instrumented(const struct pml__choice *c, const char *path);
bool pml__choice_name(const struct pml__choice *c, const char *name, const struct pml__choice_place *of);
PML__SHARED uint64_t pml__choice_small(void);
/* The same for a function of an interpreter, which --func alone selects. */
bool pml__choice_script(const struct pml__choice *c, const char *name);
/* The same for a function whose return address is replaced. */
bool pml__choice_entry(const struct pml__choice *c, const char *name, const struct pml__choice_place *of);
/* Whether calls made by the object at @path are recorded. @c: NULL if nothing was ever chosen. */
bool pml__choice_caller(const struct pml__choice *c, const char *path);

#endif
