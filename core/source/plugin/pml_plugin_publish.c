/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/plugin/pml_plugin_publish.c - metrics of plugins as software-defined events. */
#include "source/plugin/pml_plugin_private.h"

#include "base/pml_bits.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Never freed, as its plugin. */
struct published {
  struct pml_plugin *plugin;
  uint32_t metric;
  bool real;
  double scale;
};

static int64_t read_metric(void *param) {
  const struct published *m = param;
  enum pml_plugin_value type = m->plugin->metric[m->metric].value;
  uint64_t v;
  bool has = pml__plugin_now(m->plugin, m->metric, &v);
  if (!m->real) return has ? (int64_t)v : -1;
  double d = type == PML_PLUGIN_DOUBLE ? pml__as_double(v) : type == PML_PLUGIN_INT64 ? (double)(int64_t)v : (double)v;
  return (int64_t)pml__as_bits(has ? d * m->scale : NAN);
}

static void publish(struct pml_sde_library *lib, struct published *m) {
  const struct pml_plugin_metric *metric = &m->plugin->metric[m->metric];
  char name[PML__SDE_NAME_MAX], about[512];
  int n = snprintf(name, sizeof name, "%s::%s", m->plugin->name, metric->name);
  if (n < 0 || (size_t)n >= sizeof name) return;
  m->scale = pml_plugin_scale(metric);
  m->real = metric->value == PML_PLUGIN_DOUBLE || metric->exponent != 0;
  unsigned mode = PML_SDE_RO | (pml_mode_is_level(metric->mode) ? PML_SDE_INSTANT : PML_SDE_DELTA);
  (void)pml_sde_unregister(lib, name); /* an ended plugin had it */
  if (pml_sde_register_callback(lib, name, mode, m->real ? PML_TYPE_DOUBLE : PML_TYPE_INT64, read_metric, m) < 0)
    return;
  const char *unit = metric->unit, *space = metric->description[0] != '\0' && unit[0] != '\0' ? " " : "";
  snprintf(about, sizeof about, "%s%s%s%s%s", metric->description, space, unit[0] != '\0' ? "[" : "", unit,
           unit[0] != '\0' ? "]" : "");
  (void)pml_sde_describe(lib, name, about);
}

static int publish_all(struct pml_plugin *p, void *arg) {
  struct pml_sde_library *lib;
  (void)arg;
  if (atomic_load(&p->state) != PML_PLUGIN_RUNNING || atomic_exchange(&p->published, true)) return 0;
  if (pml_sde_library(&lib, "plugin") < 0) return 0;
  struct published *m = p->events = calloc(p->nmetrics + 1u, sizeof *m);
  if (m == NULL) return 0;
  for (uint32_t i = 0; i < p->nmetrics; i++) {
    m[i] = (struct published){.plugin = p, .metric = i};
    publish(lib, &m[i]);
  }
  return 0;
}

void pml_plugin_publish(void) {
  (void)pml_plugin_list(publish_all, NULL);
}
