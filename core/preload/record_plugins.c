/* SPDX-License-Identifier: BSD-3-Clause */
/* core/preload/record_plugins.c - metric and substrate plugins of a recorded process. */
#include "preload/record_plugins.h"

#include "base/pml_error.h"
#include "base/text/pml_locale.h"
#include "source/plugin/pml_plugin.h"
#include "source/pml_eventset.h"
#include "substrate/scorep/pml_scorep.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARIES_BYTES 4096u

struct events {
  const char **name;
  size_t n, room;
};

static size_t left_out;   /* metrics above the limit of a call */
static char refused[512]; /* the last metric that could not be opened, and the reason */

static bool measures_itself(const struct pml_plugin_info *i) {
  return i->sync == PML_PLUGIN_ASYNC || i->sync == PML_PLUGIN_ASYNC_EVENT;
}

/* Whether the metric is read at each call. */
static bool is_asked(const struct pml_plugin_info *i) {
  return i->sync != PML_PLUGIN_ASYNC;
}

static bool is_alive(const struct pml_plugin_info *i) {
  return i->state == PML_PLUGIN_LOADED || i->state == PML_PLUGIN_RUNNING;
}

/* A metric that cannot be opened, or whose plugin fails to read it, is reported and left out; the run continues. */
static bool can_be_read(struct pml_plugin *p, const char *name) {
  struct pml_eventset *set;
  struct pml_plugin_info info;
  int err = pml_eventset_open(&set, &name, 1, NULL);
  if (err < 0) (void)snprintf(refused, sizeof refused, "%s", pml_error_detail(err));
  if (err < 0) return false;
  (void)pml_eventset_start(set);
  pml_eventset_close(set);
  pml_plugin_describe(p, &info);
  return is_alive(&info);
}

static int add_events(struct pml_plugin *p, void *arg) {
  struct events *to = arg;
  struct pml_plugin_info info;
  pml_plugin_describe(p, &info);
  for (size_t i = 0; is_alive(&info) && is_asked(&info) && i < info.nmetrics; i++) {
    char name[PML_EVENT_NAME_MAX];
    (void)snprintf(name, sizeof name, "plugin::%s::%s", info.name, info.metric[i].name);
    if (!can_be_read(p, name)) continue;
    char *kept = to->n < to->room ? strdup(name) : NULL;
    if (kept == NULL)
      left_out++;
    else
      to->name[to->n++] = kept;
  }
  return 0;
}

size_t pml__record_plugins_load(const char **event, size_t room) {
  struct events none = {event, 0, 0}, to = {event, 0, room};
  pml_plugin_load_environment();
  (void)pml_plugin_list(add_events, &none); /* a plugin that fails at its last metric has no metrics */
  left_out = 0;
  (void)pml_plugin_list(add_events, &to);
  return to.n;
}

static int add_library(struct pml_plugin *p, void *arg) {
  struct pml_plugin_info info;
  char *all = arg;
  size_t n = strlen(all);
  pml_plugin_describe(p, &info);
  const char *file = basename(info.path);
  if (file[0] == '\0' || strlen(file) + 2 > LIBRARIES_BYTES - n) return 0;
  (void)snprintf(all + n, LIBRARIES_BYTES - n, "%s%s", n > 0 ? ":" : "", file);
  return 0;
}

const char *pml__record_plugins_libraries(void) {
  static char all[LIBRARIES_BYTES] = "libscorep_substrate_*"; /* prefix of substrate plugins' file names */
  (void)pml_plugin_list(add_library, all);
  return all;
}

/* A failure is stored as the plugin's trouble. */
static int start(struct pml_plugin *p, void *arg) {
  struct pml_plugin_info info;
  (void)arg;
  pml_plugin_describe(p, &info);
  if (is_alive(&info) && measures_itself(&info)) (void)pml_plugin_start(p);
  return 0;
}

void pml__record_plugins_start(void) {
  (void)pml_plugin_list(start, NULL);
}

/* ---- reports ---- */

struct lines {
  char *at;
  size_t left;
};

__attribute__((format(printf, 2, 3))) static void say(struct lines *l, const char *format, ...) {
  va_list args;
  struct pml__locale locale = pml__locale_begin();
  va_start(args, format);
  int n = vsnprintf(l->at, l->left, format, args);
  va_end(args);
  pml__locale_end(locale);
  if (n < 0 || (size_t)n >= l->left) { /* omit a line that does not fit */
    *l->at = '\0';
    return;
  }
  l->at += n;
  l->left -= (size_t)n;
}

/* EVENT SCALE MODE BINARY EXPONENT TYPE UNIT of each metric of calls, separated by tabs. */
static int tell_units(struct pml_plugin *p, void *arg) {
  struct pml_plugin_info info;
  struct lines *l = arg;
  pml_plugin_describe(p, &info);
  for (size_t i = 0; is_asked(&info) && i < info.nmetrics; i++) {
    const struct pml_plugin_metric *m = &info.metric[i];
    say(l, "plugin::%s::%s\t%.17g\t%d\t%d\t%" PRId64 "\t%s\t%s\n", info.name, m->name, pml_plugin_scale(m),
        (int)pml_mode_summed(m->mode), m->binary, m->exponent, pml_plugin_value_name(m->value), m->unit);
  }
  return 0;
}

void pml__record_plugins_units(char *text, size_t size) {
  struct lines l = {text, size};
  *text = '\0';
  (void)pml_plugin_list(tell_units, &l);
}

static int tell_trouble(struct pml_plugin *p, void *arg) {
  struct pml_plugin_info info;
  pml_plugin_describe(p, &info);
  if (info.trouble[0] != '\0') say(arg, "%s\n", info.trouble);
  return 0;
}

void pml__record_plugins_troubles(char *text, size_t size) {
  struct lines l = {text, size};
  *text = '\0';
  (void)pml_plugin_list(tell_trouble, &l);
  if (left_out > 0) say(&l, "%zu plugin metrics are not recorded: too many for one call\n", left_out);
  if (refused[0] != '\0') say(&l, "%s\n", refused);
}

/* ---- the end ---- */

static int end(struct pml_plugin *p, void *arg) {
  (void)arg;
  (void)pml_plugin_end(p);
  return 0;
}

void pml__record_plugins_end(void) {
  (void)pml_plugin_list(end, NULL);
}

/* ---- substrate plugins ---- */

#define NAMES_BYTES 4096u
#define NOTES 16u

static struct pml_scorep *plugin[PML_SCOREP_MAX];
static size_t plugins;
static char note[NOTES][256]; /* failures of this file; the messages of the plugins' host follow them */
static size_t notes;

static void take_note(const char *text) {
  if (notes < NOTES) (void)snprintf(note[notes++], sizeof *note, "%s", text);
}

bool pml__record_substrates_wanted(void) {
  const char *names = secure_getenv("SCOREP_SUBSTRATE_PLUGINS");
  return names != NULL && names[0] != '\0';
}

/* A plugin that cannot be opened is reported and left out; the run continues. */
static void open_one(const char *name, const char *directory) {
  struct pml_scorep_options o = {name, NULL, directory};
  struct pml_scorep *p;
  int err = pml_scorep_open(&p, &o);
  if (err < 0)
    take_note(pml_error_detail(err));
  else
    plugin[plugins++] = p;
}

size_t pml__record_substrates_open(const char *directory) {
  const char *all = secure_getenv("SCOREP_SUBSTRATE_PLUGINS"),
             *separators = secure_getenv("SCOREP_SUBSTRATE_PLUGINS_SEP");
  const char *elsewhere = secure_getenv("SCOREP_EXPERIMENT_DIRECTORY");
  char names[NAMES_BYTES], *rest = NULL;
  if (all == NULL || (size_t)snprintf(names, sizeof names, "%s", all) >= sizeof names) {
    take_note("SCOREP_SUBSTRATE_PLUGINS is too long; no substrate plugin was loaded");
    return 0;
  }
  if (separators == NULL || separators[0] == '\0') separators = ",";
  if (elsewhere != NULL && elsewhere[0] != '\0') directory = NULL;
  for (char *name = strtok_r(names, separators, &rest); name != NULL; name = strtok_r(NULL, separators, &rest))
    open_one(name, directory);
  return plugins;
}

void pml__record_substrates_close(bool confined) {
  size_t n = __atomic_exchange_n(&plugins, 0, __ATOMIC_RELAXED); /* one thread closes them */
  if (n == 0) return;
  if (pml_stream_remove(0) == -EDEADLK) { /* this thread is inside a plugin, or another consumer */
    take_note("the process exited inside a substrate plugin; the plugins did not write their data");
    return;
  }
  if (confined)
    take_note("the process gave up system calls (seccomp); its substrate plugins ended then and missed later calls");
  while (n > 0) pml_scorep_close(plugin[--n]);
}

bool pml__record_substrates_trouble(size_t i, char *text, size_t size) {
  const char *line = i < notes ? note[i] : pml_scorep_line(i - notes);
  if (line == NULL) return false;
  (void)snprintf(text, size, "%s", line);
  for (char *c = text; *c != '\0'; c++)
    if ((unsigned char)*c < ' ') *c = ' '; /* a plugin's message may have several lines */
  return true;
}
