/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/embed/embed.h - a state of an application: runs and typed calls. */
#ifndef EMBED_H
#define EMBED_H

#include "embed/state.h"
#include "embed/typed.h"
#include "pmlua.h"

struct pmlua {
  struct state state;
  struct pmlua_limits limits; /* for pmlua_call() */
  char *kept[TYPED_MAX];      /* strings of the last call's results; owned */
};

/* embed_run - call @f, a function for lua_pcall(), with the light userdata @arg, as pmlua_run_string() runs code. */
int embed_run(struct pmlua *p, lua_CFunction f, void *arg, const struct pmlua_limits *limits);

void embed_forget(struct pmlua *p); /* frees the strings of the last call */

#endif
