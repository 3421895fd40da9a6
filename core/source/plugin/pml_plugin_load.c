/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/plugin/pml_plugin_load.c - loading of plugins from libraries, the program and the environment. */
#include "source/plugin/pml_plugin_private.h"

#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "base/pml_launched.h"
#include "base/pml_process.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct pml__lock load_lock; /* one plugin is loaded at a time */

bool pml__plugin_is_here(enum pml_plugin_scope scope) {
  struct pml__launched l;
  pml__launched(&l);
  if (scope == PML_PLUGIN_HOST) return l.local_rank <= 0; /* the first rank on the host, or no sign of other ranks */
  return scope != PML_PLUGIN_ONCE || l.rank <= 0;
}

static int check_name(const char *name) {
  if (name == NULL || *name == '\0') return pml_fail(-EINVAL, "a plugin needs a name");
  for (const char *c = name; *c != '\0'; c++)
    if (!isalnum((unsigned char)*c) && *c != '_')
      return pml_fail(-EINVAL, "\"%.64s\" is not the name of a plugin; use letters, digits and _", name);
  return strlen(name) < 128 ? 0 : pml_fail(-EINVAL, "plugin name \"%.40s...\" is too long", name);
}

static int check_free(const char *name) {
  return pml__plugin_is_taken(name) ? pml_fail(-EEXIST, "plugin %s is already loaded; end it first", name) : 0;
}

/* --- a library --- */

int pml_plugin_load(const struct pml_plugin_options *o, struct pml_plugin **out) {
  *out = NULL;
  int err = check_name(o->name);
  if (err == 0) err = pml_clock_init();
  if (err < 0) return err;
  pml__process_look();
  pml__lock_take_open(&load_lock);
  err = check_free(o->name);
  struct pml_plugin *p = err == 0 ? pml__plugin_new(o->name, "") : NULL;
  if (err == 0 && p == NULL) err = pml_fail(-ENOMEM, "no memory for plugin %s", o->name);
  if (err == 0) {
    p->next = p;
    err = pml__plugin_open(p, o);
  }
  if (err == 0) {
    pml__plugin_insert(p);
    *out = p;
  } else if (p != NULL) {
    pml__plugin_free(p);
  }
  pml__lock_leave(&load_lock);
  if (err == 0) pml__plugin_say_trouble(p);
  return err;
}

/* --- plugins of the program --- */

static int check_provider(const char *name, const struct pml_plugin_provider *v) {
  if ((unsigned)v->sync >= PML_PLUGIN_SYNCS || (unsigned)v->scope >= PML_PLUGIN_SCOPES)
    return pml_fail(-EINVAL, "plugin %s: unknown kind or scope", name);
  if (v->sync == PML_PLUGIN_STRICTLY_SYNC)
    return pml_fail(-EINVAL, "plugin %s: a plugin of the program itself cannot be strictly synchronous", name);
  if (v->sync == PML_PLUGIN_SYNC ? v->read == NULL : v->collect == NULL)
    return pml_fail(-EINVAL, "plugin %s has no function that returns values", name);
  return 0;
}

static int provide(const char *name, const struct pml_plugin_provider *v, struct pml_plugin **out) {
  int err = check_free(name);
  if (err < 0) return err;
  struct pml_plugin *p = pml__plugin_new(name, "");
  if (p == NULL) return pml_fail(-ENOMEM, "no memory for plugin %s", name);
  p->provider = *v;
  p->sync = v->sync;
  p->scope = v->scope;
  p->delta_ticks = v->delta_ticks;
  p->here = pml__plugin_is_here(v->scope);
  for (size_t i = 0; err == 0 && i < v->nmetrics; i++) err = pml__plugin_add_metric(p, &v->metric[i]);
  if (err == 0 && p->nmetrics != v->nmetrics) err = pml_fail(-EINVAL, "plugin %s has two metrics of one name", name);
  if (err < 0) {
    pml__plugin_free(p);
    return err;
  }
  pml__plugin_insert(p);
  *out = p;
  return 0;
}

int pml_plugin_provide(const char *name, const struct pml_plugin_provider *v, struct pml_plugin **out) {
  *out = NULL;
  int err = check_name(name);
  if (err == 0) err = check_provider(name, v);
  if (err == 0) err = pml_clock_init();
  if (err == 0) {
    pml__process_look();
    pml__lock_take_open(&load_lock);
    err = provide(name, v, out);
    pml__lock_leave(&load_lock);
  }
  if (err < 0 && v->close != NULL) v->close(v->arg);
  return err;
}

/* --- plugins of the environment --- */

/* Split @text at any of @separators, without empty parts; the array and its strings are one block. */
static int split(const char *text, const char *separators, char ***out, size_t *n) {
  size_t length = strlen(text), most = length / 2 + 1;
  char **part = malloc(most * sizeof *part + length + 1);
  *out = NULL;
  *n = 0;
  if (part == NULL) return pml_fail(-ENOMEM, "no memory for a list of plugins or metrics");
  char *copy = memcpy((char *)(part + most), text, length + 1), *rest = copy;
  for (char *p; (p = strsep(&rest, separators)) != NULL;)
    if (*p != '\0') part[(*n)++] = p;
  *out = part;
  return 0;
}

static const char *separators_of(const char *variable) {
  char name[256];
  (void)snprintf(name, sizeof name, "%s_SEP", variable);
  const char *value = secure_getenv(name);
  return value != NULL && *value != '\0' ? value : ",";
}

int pml__plugin_tokens(const char *name, char ***token, size_t *n) {
  char variable[160] = "SCOREP_METRIC_";
  size_t at = strlen(variable);
  for (; *name != '\0' && at + 1 < sizeof variable; name++) variable[at++] = (char)toupper((unsigned char)*name);
  const char *value = secure_getenv(variable);
  return split(value != NULL ? value : "", separators_of(variable), token, n);
}

/* A plugin that cannot be loaded stays in the list with the reason. */
static void load_named(const char *name) {
  struct pml_plugin *p;
  int err = pml_plugin_load(&(struct pml_plugin_options){.name = name}, &p);
  if (err == 0 || err == -EEXIST) return;
  char why[PML__PLUGIN_LINE];
  (void)snprintf(why, sizeof why, "%s", pml_error_detail(err));
  p = pml__plugin_new(name, "");
  if (p == NULL) return;
  pml__plugin_drop(p);
  pml__plugin_insert(p);
  size_t before = strlen("plugin : ") + strlen(name);
  bool named = strncmp(why, "plugin ", 7) == 0 && strlen(why) > before;
  pml__plugin_trouble(p, "%s (of SCOREP_METRIC_PLUGINS)", named ? why + before : why);
}

static void load_all(void) {
  const char *value = secure_getenv("SCOREP_METRIC_PLUGINS");
  char **name;
  size_t n;
  if (value == NULL || split(value, separators_of("SCOREP_METRIC_PLUGINS"), &name, &n) < 0) return;
  for (size_t i = 0; i < n; i++) load_named(name[i]);
  free(name);
}

void pml_plugin_load_environment(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load_all);
}
