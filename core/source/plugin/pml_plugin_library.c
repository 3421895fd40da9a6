/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/plugin/pml_plugin_library.c - a plugin's library: search, load, check, metrics. */
#include "source/plugin/pml_plugin_private.h"

#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "base/pml_library.h"
#include "source/plugin/pml_plugin_guard.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES 4096

_Static_assert((int)PML_MODES == SCOREP_INVALID_METRIC_MODE, "modes have one order");
_Static_assert((int)PML_PLUGIN_SYNCS == SCOREP_METRIC_SYNC_TYPE_MAX, "so have kinds");
_Static_assert((int)PML_PLUGIN_SCOPES == SCOREP_METRIC_PER_MAX, "scopes");
_Static_assert((int)PML_PLUGIN_VALUES == SCOREP_INVALID_METRIC_VALUE_TYPE, "and types");
_Static_assert(sizeof(struct pml_plugin_pair) == sizeof(SCOREP_MetricTimeValuePair), "a series is theirs as it is");

/* --- the library --- */

static int where(char *path, const struct pml_plugin_options *o) {
  struct stat st;
  const char *in = o->path != NULL ? o->path : "";
  bool folder = *in != '\0' && stat(in, &st) == 0 && S_ISDIR(st.st_mode);
  int n = *in != '\0' && !folder ? snprintf(path, PATH_BYTES, "%s", in)
                                 : snprintf(path, PATH_BYTES, "%s%slib%s.so", in, folder ? "/" : "", o->name);
  if (n >= PATH_BYTES) return pml_fail(-ENAMETOOLONG, "plugin %s: its path is too long", o->name);
  if (*in != '\0' && stat(path, &st) != 0)
    return pml_fail(-errno, "plugin %s: %s: %s", o->name, path, pml_error_text(-errno));
  return 0;
}

/* The loader's message begins with the file if this file is missing. */
static int refused(const char *name, const char *path, const char *said) {
  char foreign[PATH_BYTES + 128];
  size_t n = strlen(path);
  if (pml__library_foreign(path, foreign, sizeof foreign)) return pml_fail(PML_EPLUGIN, "plugin %s: %s", name, foreign);
  if (said == NULL) said = "the loader refuses it";
  if (strncmp(said, path, n) == 0 && strstr(said, "No such file") != NULL)
    return pml_fail(-ENOENT, "plugin %s: the loader finds no %s; set LD_LIBRARY_PATH, or give its path", name, path);
  return pml_fail(PML_EPLUGIN, "plugin %s: %s", name, said);
}

/* Find a plugin of pmlua beside this library: in plugins in the build folder, in pmlua/plugins if installed. Returns
 * false if there is no such plugin. */
static bool ours(char *path, const char *name) {
  static const char *const place[] = {"plugins", "pmlua/plugins"};
  Dl_info here;
  struct stat st;
  if (dladdr(&place, &here) == 0 || here.dli_fname == NULL) return false;
  const char *slash = strrchr(here.dli_fname, '/');
  int folder = slash != NULL ? (int)(slash - here.dli_fname) : 0;
  for (size_t i = 0; slash != NULL && i < 2; i++) {
    int n = snprintf(path, PATH_BYTES, "%.*s/%s/lib%s.so", folder, here.dli_fname, place[i], name);
    if (n < PATH_BYTES && stat(path, &st) == 0) return true;
  }
  return false;
}

static int open_library(struct pml_plugin *p, const struct pml_plugin_options *o) {
  char path[PATH_BYTES], own[PATH_BYTES];
  int err = where(path, o);
  if (err == 0 && strchr(path, '/') != NULL && access(path, F_OK) == 0) err = pml__library_check(path);
  if (err < 0) return err;
  p->object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (p->object == NULL) err = refused(p->name, path, dlerror());
  if (err == -ENOENT && ours(own, o->name)) {
    memcpy(path, own, sizeof path);
    p->object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    err = p->object == NULL ? refused(p->name, path, dlerror()) : 0;
  }
  if (err < 0) return err;
  free(p->path);
  p->path = strdup(path);
  return p->path != NULL ? 0 : pml_fail(-ENOMEM, "no memory for plugin %s", p->name);
}

/* --- first calls --- */

struct opening {
  struct pml_plugin *p;
  SCOREP_Metric_Plugin_Info (*get_info)(void);
  char *token;
  SCOREP_Metric_Plugin_MetricProperties *properties;
  int32_t said;
};

static void get_info(void *arg) {
  struct opening *o = arg;
  o->p->call = o->get_info();
}

static uint64_t now(void) {
  return pml_clock_ticks();
}

static void set_clock(void *arg) {
  ((struct opening *)arg)->p->call.set_clock_function(now);
}

static void initialize(void *arg) {
  struct opening *o = arg;
  o->said = o->p->call.initialize();
}

static void get_event_info(void *arg) {
  struct opening *o = arg;
  o->properties = o->p->call.get_event_info(o->token);
}

static int first_call(struct opening *o, const char *what, void (*call)(void *)) {
  struct _Unwind_Exception *e = pml__guard_call(call, o);
  if (e == NULL) return 0;
  char text[256];
  pml__guard_end(e, o->p->object, text, sizeof text);
  return pml_fail(PML_EPLUGIN, "plugin %s: %s threw %s", o->p->name, what, text);
}

static int ask_info(struct opening *o) {
  struct pml_plugin *p = o->p;
  char symbol[160];
  (void)snprintf(symbol, sizeof symbol, "SCOREP_MetricPlugin_%s_get_info", p->name);
  void *at = dlsym(p->object, symbol);
  if (at == NULL)
    return pml_fail(PML_EPLUGIN, "plugin %s: %s has no %s: not a metric plugin, or one of another name", p->name,
                    p->path, symbol);
  memcpy(&o->get_info, &at, sizeof at);
  return first_call(o, "get_info", get_info);
}

static const char *missing(const SCOREP_Metric_Plugin_Info *c) {
  if (c->initialize == NULL) return "initialize";
  if (c->finalize == NULL) return "finalize";
  if (c->get_event_info == NULL) return "get_event_info";
  if (c->add_counter == NULL) return "add_counter";
  if (c->sync == SCOREP_METRIC_STRICTLY_SYNC) return c->get_current_value == NULL ? "get_current_value" : NULL;
  if (c->sync == SCOREP_METRIC_SYNC) return c->get_optional_value == NULL ? "get_optional_value" : NULL;
  if (c->get_all_values == NULL) return "get_all_values";
  return c->set_clock_function == NULL ? "set_clock_function" : NULL;
}

static int validate(struct pml_plugin *p) {
  const SCOREP_Metric_Plugin_Info *c = &p->call;
  if ((unsigned)c->run_per >= SCOREP_METRIC_PER_MAX || (unsigned)c->sync >= SCOREP_METRIC_SYNC_TYPE_MAX)
    return pml_fail(PML_EPLUGIN, "plugin %s: scope %d or kind %d is not defined by the Score-P interface", p->name,
                    (int)c->run_per, (int)c->sync);
  p->sync = (enum pml_plugin_sync)c->sync;
  p->scope = (enum pml_plugin_scope)c->run_per;
  p->delta_ticks = c->delta_t;
  if (p->sync == PML_PLUGIN_STRICTLY_SYNC && p->scope != PML_PLUGIN_THREAD)
    return pml_fail(PML_EPLUGIN, "plugin %s: strictly synchronous plugins must be per thread", p->name);
  const char *function = missing(c);
  if (function != NULL)
    return pml_fail(PML_EPLUGIN, "plugin %s: it has no %s, which a plugin that is %s must have", p->name, function,
                    pml_plugin_sync_name(p->sync));
  p->here = pml__plugin_is_here(p->scope);
  return 0;
}

/* --- metrics --- */

static void add(struct pml_plugin *p, const SCOREP_Metric_Plugin_MetricProperties *m) {
  struct pml_plugin_metric metric = {.name = m->name, .description = m->description, .unit = m->unit};
  metric.mode = (enum pml_mode)m->mode;
  metric.value = (enum pml_plugin_value)m->value_type;
  metric.exponent = m->exponent;
  metric.binary = m->base == SCOREP_METRIC_BASE_BINARY;
  int err = (unsigned)m->base < SCOREP_INVALID_METRIC_BASE ? pml__plugin_add_metric(p, &metric) : -EINVAL;
  if (err < 0) pml__plugin_trouble(p, "metric %.64s is left out: %s", m->name, pml_error_detail(err));
}

/* The number of elements that fit into the plugin's block, which limits lists without an end. */
static size_t capacity(SCOREP_Metric_Plugin_MetricProperties *block) {
  return malloc_usable_size(block) / sizeof *block;
}

static void take_properties(struct opening *o) {
  SCOREP_Metric_Plugin_MetricProperties *m = o->properties;
  if (m == NULL) {
    pml__plugin_trouble(o->p, "get_event_info(\"%.64s\") gave NULL", o->token);
    return;
  }
  size_t most = capacity(m), n = 0;
  for (; n < most && m[n].name != NULL; n++) {
    add(o->p, &m[n]);
    free(m[n].name);
  }
  if (n == most)
    pml__plugin_trouble(o->p, "the list of get_event_info(\"%.64s\") does not end within %zu bytes", o->token,
                        malloc_usable_size(m));
  else if (n == 0)
    pml__plugin_trouble(o->p, "token \"%.64s\" stands for no metric", o->token);
  free(m);
}

static int describe(struct opening *o, char *const *token, size_t n) {
  int err = 0;
  for (size_t i = 0; err == 0 && i < n; i++) {
    o->token = strdup(token[i]); /* the plugin may write to it */
    if (o->token == NULL) return pml_fail(-ENOMEM, "no memory for plugin %s", o->p->name);
    err = first_call(o, "get_event_info", get_event_info);
    if (err == 0) take_properties(o);
    free(o->token);
  }
  return err;
}

static int describe_all(struct opening *o, const struct pml_plugin_options *options) {
  if (options->metrics != NULL) return describe(o, (char *const *)(uintptr_t)options->metrics, options->nmetrics);
  char **token;
  size_t n;
  int err = pml__plugin_tokens(o->p->name, &token, &n);
  if (err == 0) err = describe(o, token, n);
  free(token);
  return err;
}

int pml__plugin_open(struct pml_plugin *p, const struct pml_plugin_options *options) {
  struct opening o = {.p = p};
  pml__guard_prepare();
  int err = open_library(p, options);
  if (err == 0) err = ask_info(&o);
  if (err == 0) err = validate(p);
  if (err < 0) return err;
  if (p->call.plugin_version > SCOREP_METRIC_PLUGIN_VERSION)
    pml__plugin_trouble(p, "version %u of the interface; pmlua supports up to %d", p->call.plugin_version,
                        SCOREP_METRIC_PLUGIN_VERSION);
  if (p->call.set_clock_function != NULL) err = first_call(&o, "set_clock_function", set_clock);
  if (err == 0) err = first_call(&o, "initialize", initialize);
  if (err < 0) return err;
  if (o.said != 0) return pml_fail(PML_EPLUGIN, "plugin %s: initialize failed with %d", p->name, (int)o.said);
  return describe_all(&o, options);
}
