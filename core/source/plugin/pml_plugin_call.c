/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/plugin/pml_plugin_call.c - guarded calls into plugins. */
#include "source/plugin/pml_plugin_private.h"

#include "base/pml_error.h"
#include "source/plugin/pml_plugin_guard.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

void pml__plugin_threw(struct pml_plugin *p, const char *what, struct _Unwind_Exception *e) {
  char text[256];
  pml__guard_end(e, p->object, text, sizeof text);
  pml__plugin_trouble(p, "%s threw %s; plugin dropped", what, text);
  pml__plugin_drop(p);
}

/* Arguments and results of one call of a library. */
struct job {
  const SCOREP_Metric_Plugin_Info *call;
  char *name;
  int32_t id;
  bool flag;
  SCOREP_MetricSynchronizationMode mode;
  uint64_t value;
  SCOREP_MetricTimeValuePair *list;
};

/* Returns false if the call threw an exception: the plugin is dropped. */
static bool call(struct pml_plugin *p, const char *what, void (*f)(void *), struct job *j) {
  j->call = &p->call;
  struct _Unwind_Exception *e = pml__guard_call(f, j);
  if (e != NULL) pml__plugin_threw(p, what, e);
  return e == NULL;
}

static void add_counter(void *arg) {
  struct job *j = arg;
  j->id = j->call->add_counter(j->name);
}

static void synchronize(void *arg) {
  struct job *j = arg;
  j->call->synchronize(j->flag, j->mode);
}

static void get_optional_value(void *arg) {
  struct job *j = arg;
  j->flag = j->call->get_optional_value(j->id, &j->value);
}

static void get_current_value(void *arg) {
  struct job *j = arg;
  j->value = j->call->get_current_value(j->id);
}

static void get_all_values(void *arg) {
  struct job *j = arg;
  j->value = j->call->get_all_values(j->id, &j->list);
}

static void finalize(void *arg) {
  ((struct job *)arg)->call->finalize();
}

static void provider_failed(struct pml_plugin *p, const char *what, int err) {
  pml__plugin_trouble(p, "%s: %s; the plugin is dropped", what, pml_error_detail(err));
  pml__plugin_drop(p);
}

int32_t pml__plugin_add(struct pml_plugin *p, uint32_t metric) {
  const char *name = p->metric[metric].name;
  if (p->object == NULL) return (int32_t)metric;
  struct job j = {.id = -1};
  j.name = strdup(name); /* the plugin may write to it */
  if (j.name == NULL) return -1;
  if (!call(p, "add_counter", add_counter, &j)) j.id = -1;
  free(j.name);
  if (j.id < 0 && pml__plugin_alive(p))
    pml__plugin_trouble(p, "add_counter(\"%.128s\") gave %d; the metric is dropped", name, (int)j.id);
  return j.id;
}

/* Whether MPI is initialised in this process. */
static bool mpi_is_up(void) {
  int (*initialized)(int *), flag = 0;
  void *at = dlsym(RTLD_DEFAULT, "MPI_Initialized");
  if (at == NULL) return false;
  memcpy(&initialized, &at, sizeof at);
  return initialized(&flag) == 0 && flag != 0;
}

void pml__plugin_synchronize(struct pml_plugin *p, bool responsible, bool begin) {
  if (p->object != NULL) {
    struct job j = {.flag = responsible, .mode = SCOREP_METRIC_SYNCHRONIZATION_MODE_END};
    if (begin)
      j.mode = mpi_is_up() ? SCOREP_METRIC_SYNCHRONIZATION_MODE_BEGIN_MPP : SCOREP_METRIC_SYNCHRONIZATION_MODE_BEGIN;
    if (p->call.synchronize != NULL) (void)call(p, begin ? "synchronize" : "synchronize at the end", synchronize, &j);
    return;
  }
  if (!responsible) return;
  int err = 0;
  if (begin)
    err = p->provider.start != NULL ? p->provider.start(p->provider.arg) : 0;
  else if (p->provider.stop != NULL)
    p->provider.stop(p->provider.arg);
  if (err < 0) provider_failed(p, "it did not start", err);
}

int pml__plugin_value(struct pml__plugin_counter *c, uint64_t *value) {
  struct pml_plugin *p = c->use->plugin;
  if (p->object == NULL) {
    int rc = p->provider.read(p->provider.arg, c->metric, value);
    if (rc < 0) provider_failed(p, p->metric[c->metric].name, rc);
    return rc;
  }
  struct job j = {.id = c->id};
  bool strict = p->sync == PML_PLUGIN_STRICTLY_SYNC;
  if (!call(p, strict ? "get_current_value" : "get_optional_value", strict ? get_current_value : get_optional_value,
            &j))
    return PML_EPLUGIN;
  *value = j.value;
  return strict || j.flag;
}

bool pml__plugin_pairs(struct pml__plugin_counter *c, struct pml_plugin_pair **list, uint64_t *n) {
  struct pml_plugin *p = c->use->plugin;
  *list = NULL;
  *n = 0;
  if (p->object == NULL) {
    size_t got = 0;
    int rc = p->provider.collect(p->provider.arg, c->metric, list, &got);
    *n = got;
    if (rc < 0) provider_failed(p, p->metric[c->metric].name, rc);
    return rc >= 0;
  }
  struct job j = {.id = c->id};
  if (!call(p, "get_all_values", get_all_values, &j)) return false;
  size_t most = j.list != NULL ? malloc_usable_size(j.list) / sizeof *j.list : 0;
  if (j.value > most) { /* also catches a missing list */
    pml__plugin_trouble(p, "get_all_values reports %llu values of %.64s but its list holds %zu; values left out",
                        (unsigned long long)j.value, p->metric[c->metric].name, most);
    free(j.list);
    c->dead = true;
    return false;
  }
  *list = (struct pml_plugin_pair *)(void *)j.list;
  *n = j.value;
  return true;
}

void pml__plugin_finalize(struct pml_plugin *p) {
  struct job j = {0};
  if (p->object != NULL)
    (void)call(p, "finalize", finalize, &j);
  else if (p->provider.close != NULL)
    p->provider.close(p->provider.arg);
}
