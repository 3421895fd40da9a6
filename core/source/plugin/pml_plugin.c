/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/plugin/pml_plugin.c - plugins of a process: list, states, errors. */
#include "source/plugin/pml_plugin_private.h"

#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "base/pml_process.h"
#include "source/plugin/pml_plugin_guard.h"
#include "source/pml_event.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PREFIX_BYTES (sizeof PML__PLUGIN_PREFIX + sizeof "::" - 1)

_Atomic uint64_t pml__plugin_epoch;
struct pml__sde_body pml__plugin_inside;

static struct pml__lock list_lock;
static struct pml_plugin *first, **end = &first;
static void (*_Atomic on_trouble)(const char *line);

static void list_take(void) {
  pml__process_look();
  pml__lock_take(&list_lock);
}

static const char *const sync_name[PML_PLUGIN_SYNCS] = {"strictly_sync", "sync", "async_event", "async"};
static const char *const scope_name[PML_PLUGIN_SCOPES] = {"thread", "process", "host", "once"};
static const char *const value_name[PML_PLUGIN_VALUES] = {"int64", "uint64", "double"};
static const char *const state_name[] = {"loaded", "running", "ended", "dropped"};
#define MODE_NAME(id, name) name,
static const char *const mode_name[PML_MODES] = {PML_MODE_LIST(MODE_NAME)};

const char *pml_plugin_sync_name(enum pml_plugin_sync s) {
  return (unsigned)s < PML_PLUGIN_SYNCS ? sync_name[s] : NULL;
}

const char *pml_plugin_scope_name(enum pml_plugin_scope s) {
  return (unsigned)s < PML_PLUGIN_SCOPES ? scope_name[s] : NULL;
}

const char *pml_plugin_value_name(enum pml_plugin_value v) {
  return (unsigned)v < PML_PLUGIN_VALUES ? value_name[v] : NULL;
}

const char *pml_plugin_state_name(enum pml_plugin_state s) {
  return (unsigned)s <= PML_PLUGIN_DROPPED ? state_name[s] : NULL;
}

const char *pml_mode_name(enum pml_mode m) {
  return (unsigned)m < PML_MODES ? mode_name[m] : NULL;
}

double pml_plugin_scale(const struct pml_plugin_metric *m) {
  return m->binary ? ldexp(1, (int)m->exponent) : pow(10, (double)m->exponent);
}

/* ---- trouble ---- */

void pml_plugin_on_trouble(void (*tell)(const char *line)) {
  atomic_store(&on_trouble, tell);
}

static void say(const char *line) {
  void (*tell)(const char *) = atomic_load(&on_trouble);
  if (tell != NULL) tell(line);
}

void pml__plugin_trouble(struct pml_plugin *p, const char *fmt, ...) {
  char line[PML__PLUGIN_LINE];
  int n = snprintf(line, sizeof line, "plugin %.64s: ", p->name);
  va_list ap;
  va_start(ap, fmt);
  (void)vsnprintf(line + n, sizeof line - (size_t)n, fmt, ap);
  va_end(ap);
  pml__guard_flatten(line);
  list_take();
  if (!atomic_load(&p->troubled)) {
    memcpy(p->trouble, line, sizeof line);
    atomic_store(&p->troubled, true);
  }
  pml__lock_leave(&list_lock);
  if (p->next != p) say(line); /* linked to itself: the plugin is being loaded, and its failure reports the line */
}

void pml__plugin_say_trouble(const struct pml_plugin *p) {
  if (atomic_load(&p->troubled)) say(p->trouble);
}

void pml__plugin_drop(struct pml_plugin *p) {
  atomic_store_explicit(&p->state, PML_PLUGIN_DROPPED, memory_order_release);
  atomic_fetch_add(&pml__plugin_epoch, 1);
}

/* ---- the list ---- */

struct pml_plugin *pml__plugin_new(const char *name, const char *path) {
  struct pml_plugin *p = calloc(1, sizeof *p);
  if (p == NULL) return NULL;
  p->name = strdup(name);
  p->path = strdup(path);
  pthread_mutex_init(&p->lock.mutex, NULL);
  if (p->name != NULL && p->path != NULL) return p;
  pml__plugin_free(p);
  return NULL;
}

void pml__plugin_free(struct pml_plugin *p) {
  for (uint32_t i = 0; i < p->nmetrics; i++) {
    free((char *)(uintptr_t)p->metric[i].name);
    free((char *)(uintptr_t)p->metric[i].description);
    free((char *)(uintptr_t)p->metric[i].unit);
  }
  free(p->metric);
  pthread_mutex_destroy(&p->lock.mutex);
  free(p->name);
  free(p->path);
  free(p);
}

static struct pml_plugin *find(const char *name, bool alive) {
  struct pml_plugin *found = NULL;
  for (struct pml_plugin *p = first; p != NULL; p = p->next)
    if (strcmp(p->name, name) == 0 && (!alive || pml__plugin_alive(p))) found = p;
  return found;
}

struct pml_plugin *pml_plugin_find(const char *name) {
  list_take();
  struct pml_plugin *p = find(name, false);
  pml__lock_leave(&list_lock);
  return p;
}

bool pml__plugin_is_taken(const char *name) {
  list_take();
  bool taken = find(name, true) != NULL;
  pml__lock_leave(&list_lock);
  return taken;
}

/* If several plugins have the name, finds the newest. */
int pml__plugin_lookup(const char *event, struct pml_plugin **p, uint32_t *metric) {
  char name[PML_EVENT_NAME_MAX];
  const char *sep = strstr(event, "::");
  size_t n = sep != NULL ? (size_t)(sep - event) : strlen(event);
  *p = NULL;
  if (n >= sizeof name) return -ENOENT;
  memcpy(name, event, n);
  name[n] = '\0';
  *p = pml_plugin_find(name);
  if (*p == NULL) return -ENOENT;
  for (uint32_t i = 0; sep != NULL && i < (*p)->nmetrics; i++)
    if (strcmp((*p)->metric[i].name, sep + 2) == 0) {
      *metric = i;
      return 0;
    }
  return PML_ENOEVENT;
}

/* Handlers at exit and fork, registered with the first plugin. The owner is the process, but not its children of
 * vfork(). */
static pid_t owner;

static bool has_own(const void *object) {
  const struct pml_plugin *p = first;
  while (p != NULL && (p->object != object || p->inherited)) p = p->next;
  return p != NULL;
}

static void at_exit(void) {
  pml__process_look();
  if (getpid() != owner) return;
  for (struct pml_plugin *p = first; p != NULL; p = p->next)
    if (!p->inherited) {
      (void)pml_plugin_end(p);
    } else if (!p->silenced && !has_own(p->object)) {
      p->silenced = true; /* the handler is registered several times */
      pml__plugin_silence(p);
    }
}

/* Exit handlers run last to first, and include destructors of a plugin's static objects. This handler must run before
 * anything that the plugin registered in its first calls. */
void pml__plugin_end_at_exit(void) {
  (void)atexit(at_exit);
}

/* Another thread of the parent may have held any lock, or been inserting into the list: so locks are initialised again,
 * the end of the list is searched, and the plugins get no more calls. */
static void in_child(void) {
  owner = getpid();
  end = &first;
  for (struct pml_plugin *p = first; p != NULL; p = p->next) {
    if (pml__plugin_alive(p)) atomic_store(&p->state, PML_PLUGIN_ENDED);
    p->inherited = true;
    pthread_mutex_init(&p->lock.mutex, NULL);
    end = &p->next;
  }
  atomic_fetch_add(&pml__plugin_epoch, 1);
}

static void prepare(void) {
  owner = getpid();
  (void)pml__process_watch(in_child);
}

void pml__plugin_insert(struct pml_plugin *p) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, prepare);
  list_take();
  p->next = NULL;
  __atomic_store_n(end, p, __ATOMIC_RELEASE);
  end = &p->next;
  pml__lock_leave(&list_lock);
  pml__plugin_end_at_exit();
}

int pml_plugin_list(pml_plugin_visit *visit, void *arg) {
  list_take();
  struct pml_plugin *p = first;
  pml__lock_leave(&list_lock);
  for (int rc; p != NULL;) {
    rc = visit(p, arg);
    if (rc != 0) return rc;
    list_take();
    p = p->next;
    pml__lock_leave(&list_lock);
  }
  return 0;
}

void pml_plugin_describe(struct pml_plugin *p, struct pml_plugin_info *info) {
  *info = (struct pml_plugin_info){.name = p->name,
                                   .path = p->path,
                                   .sync = p->sync,
                                   .scope = p->scope,
                                   .state = (enum pml_plugin_state)atomic_load(&p->state),
                                   .here = p->here,
                                   .delta_ticks = p->delta_ticks,
                                   .nmetrics = p->nmetrics,
                                   .metric = p->metric,
                                   .trouble = atomic_load(&p->troubled) ? p->trouble : ""};
}

/* ---- metrics ---- */

static int check_metric(const char *plugin, const struct pml_plugin_metric *m) {
  if (m->name == NULL || *m->name == '\0') return pml_fail(-EINVAL, "a metric of plugin %s has no name", plugin);
  if (strlen(plugin) + strlen(m->name) + PREFIX_BYTES > PML_EVENT_NAME_MAX)
    return pml_fail(-EINVAL, "the name of metric \"%.40s...\" of plugin %s is too long", m->name, plugin);
  for (const char *c = m->name; *c != '\0'; c++)
    if (iscntrl((unsigned char)*c))
      return pml_fail(-EINVAL, "a metric of plugin %s has a control character in its name", plugin);
  if ((unsigned)m->mode >= PML_MODES || (unsigned)m->value >= PML_PLUGIN_VALUES || m->exponent < -1000 ||
      m->exponent > 1000)
    return pml_fail(-EINVAL, "metric %s has an unknown mode, type or exponent", m->name);
  return 0;
}

int pml__plugin_add_metric(struct pml_plugin *p, const struct pml_plugin_metric *m) {
  int err = check_metric(p->name, m);
  if (err < 0) return err;
  for (uint32_t i = 0; i < p->nmetrics; i++)
    if (strcmp(p->metric[i].name, m->name) == 0) return 0; /* two tokens may select the same metric */
  if (p->nmetrics == PML_PLUGIN_METRICS_MAX)
    return pml_fail(PML_EFULL, "plugin %s has more than %u metrics", p->name, PML_PLUGIN_METRICS_MAX);
  struct pml_plugin_metric *grown = realloc(p->metric, (p->nmetrics + 1u) * sizeof *grown);
  if (grown == NULL) return pml_fail(-ENOMEM, "no memory for the metrics of plugin %s", p->name);
  p->metric = grown;
  struct pml_plugin_metric *to = &grown[p->nmetrics];
  *to = *m;
  to->name = strdup(m->name);
  to->description = strdup(m->description != NULL ? m->description : "");
  to->unit = strdup(m->unit != NULL ? m->unit : "");
  p->nmetrics++;
  if (to->name == NULL || to->description == NULL || to->unit == NULL)
    return pml_fail(-ENOMEM, "no memory for the metrics of plugin %s", p->name);
  return 0;
}
