/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/source/lsde.h - helpers for the bindings of software-defined events: handles, rows, values. */
#ifndef LSDE_H
#define LSDE_H

#include "module.h"

/* The target of a handle lives as long as its event is referenced, even after the library unregisters it. */
struct lsde_handle {
  struct lutil_handle h;
  struct pml_sde_event *event;
  union {
    struct pml_sde_library *library; /* never freed */
    struct pml_sde_counter *counter;
    struct pml_recorder *recorder;
    struct pml_sde_set *set;
  };
  size_t held; /* bytes of a set's elements that were charged through this handle */
};

/*
 * Objects that a script adds to the registry stay, and so do their charges, if they are new. lsde_charge - before
 * creating one; 0, or -ENOMEM and it must not be created. lsde_settle - afterwards, also on failure.
 */
struct lsde_charge {
  struct limit *account;
  size_t bytes;
  uint64_t grown;
};
#define LSDE_EVENT_BYTES 768 /* size of a library or an event without its names */
int lsde_charge(lua_State *L, size_t bytes, struct lsde_charge *c);
void lsde_settle(const struct lsde_charge *c);

extern const struct lutil_class lsde_recorder_class, lsde_set_class;

void lsde_handle_close(void *handle);

/* lsde_library - the library at argument 1; raises as lutil_check() does. */
struct pml_sde_library *lsde_library(lua_State *L);

/* lsde_new - push a handle of @class that refers to EVENT of the library at argument 1, before the event is made. */
struct lsde_handle *lsde_new(lua_State *L, const struct lutil_class *class, const char *event, int *err);

/* lsde_done - 1 with the handle on top, or closes it and gives what pml_pusherr() does. */
int lsde_done(lua_State *L, struct lsde_handle *h, int err, const char *where);

/* lsde_kind, lsde_type - their names in Lua. */
const char *lsde_kind(enum pml_sde_kind kind);
const char *lsde_type(enum pml_type type);

/* lsde_info - method info of every handle with an event. */
int lsde_info(lua_State *L);

/* Methods of libraries that make recorders and sets; and the metatables of these. */
int lsde_library_recorder(lua_State *L);
int lsde_library_set(lua_State *L);
void lsde_open_recorders(lua_State *L);
void lsde_open_sets(lua_State *L);

#endif
