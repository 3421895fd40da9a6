/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/plugin/pml_event_plugin.c - plugin metrics as events: names, list, suggestions. */
#include "source/base/pml_source.h"
#include "source/plugin/pml_plugin_private.h"

#include <stdio.h>
#include <string.h>

static const char *why_not(const struct pml_plugin_info *info) {
  if (info->state == PML_PLUGIN_ENDED) return "its plugin has ended";
  if (info->state == PML_PLUGIN_DROPPED) return info->trouble;
  return info->here ? "" : "another process of the job measures it";
}

/* The unit and kind of a metric, appended to its description: "load [10^-2 W; absolute_point, sync, per host]". */
static void describe(char *text, size_t size, const struct pml_plugin_info *info, const struct pml_plugin_metric *m) {
  char factor[48] = "";
  if (m->exponent != 0) (void)snprintf(factor, sizeof factor, "%d^%lld ", m->binary ? 2 : 10, (long long)m->exponent);
  (void)snprintf(text, size, "%s%s[%s%s%s%s, %s, %s %s]", m->description, *m->description != '\0' ? " " : "", factor,
                 m->unit, *factor != '\0' || *m->unit != '\0' ? "; " : "", pml_mode_name(m->mode),
                 pml_plugin_sync_name(info->sync), info->scope == PML_PLUGIN_ONCE ? "measured" : "per",
                 pml_plugin_scope_name(info->scope));
}

static int walk_one(struct pml_plugin *p, void *arg) {
  const struct pml__walk *w = arg;
  struct pml_plugin_info info;
  int rc = 0;
  pml_plugin_describe(p, &info);
  if (pml_plugin_find(info.name) != p) return 0;                /* a newer plugin has the same name */
  if (info.state == PML_PLUGIN_DROPPED && info.nmetrics == 0) { /* one row represents the unknown metrics */
    char name[PML_EVENT_NAME_MAX];
    (void)snprintf(name, sizeof name, PML__PLUGIN_PREFIX "%.128s::", info.name);
    struct pml_event_info row = {.name = name, .description = "", .source = "plugin", .pmu = info.name};
    row.reason = info.trouble;
    return pml__walk_row(w, &row);
  }
  for (size_t i = 0; rc == 0 && i < info.nmetrics; i++) {
    char name[PML_EVENT_NAME_MAX], text[512];
    (void)snprintf(name, sizeof name, PML__PLUGIN_PREFIX "%s::%s", info.name, info.metric[i].name);
    describe(text, sizeof text, &info, &info.metric[i]);
    struct pml_event_info row = {.name = name, .description = text, .source = "plugin", .pmu = info.name};
    row.reason = why_not(&info);
    row.available = *row.reason == '\0';
    rc = pml__walk_row(w, &row);
  }
  return rc;
}

int pml__plugin_walk(const struct pml__walk *w) {
  pml_plugin_load_environment();
  return pml_plugin_list(walk_one, (void *)(uintptr_t)w);
}

static int fail_unknown(const char *name, const struct pml_plugin *p) {
  char text[512];
  (void)pml__source_nearest(&pml__source_plugin, name, text, sizeof text);
  if (p == NULL)
    return pml_fail(PML_ENOEVENT,
                    "no loaded plugin has the event \"%.128s\"%s; load one with pml.plugin.load or "
                    "SCOREP_METRIC_PLUGINS",
                    name, text);
  return pml_fail(PML_ENOEVENT, "plugin %.64s has no metric \"%.128s\"%s; its tokens choose its metrics", p->name, name,
                  text);
}

int pml__plugin_parse(struct pml_event *ev, const char *rest) {
  struct pml_plugin *p;
  uint32_t i;
  pml_plugin_load_environment();
  int err = pml__plugin_lookup(rest, &p, &i);
  if (err < 0) return fail_unknown(ev->name, p);
  const struct pml_plugin_metric *m = &p->metric[i];
  ev->scale = pml_plugin_scale(m);
  pml__copy(ev->unit, sizeof ev->unit, m->unit);
  return 0;
}
