/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/source/plugin_code.h - metric plugins in Lua, each with its own state, and with a thread if asynchronous. */
#ifndef PLUGIN_CODE_H
#define PLUGIN_CODE_H

#include "pml.h"

/* pmlua.plugin.serve() makes a function of @text, by @kind, in the other state, which is called for values. Copied. */
struct plugin_code_options {
  const char *name, *kind, *text;
  size_t length;
  enum pml_plugin_scope scope;
  double every_s; /* 0: synchronous, asked at each read; else asked so often by its own thread */
  const struct pml_plugin_metric *metric;
  size_t nmetrics;
};

/*
 * plugin_code_provide - load the plugin. Returns 0, or the failure of opening a state, of its code or of
 * pml_plugin_provide(). A call of its code may take five seconds; a longer call, or an error, removes the plugin.
 */
int plugin_code_provide(const struct plugin_code_options *o, struct pml_plugin **p);

#endif
