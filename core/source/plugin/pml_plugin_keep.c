/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/plugin/pml_plugin_keep.c - series of plugins, appended to the process's log. */
#include "record/log/pml_log_own.h"
#include "source/plugin/pml_plugin_private.h"

#include <string.h>

#define PAIRS_MAX 65536u /* of an extent, unless more are appended at once */

int pml__plugin_define(struct pml__log *log, uint32_t number, const char *plugin, const struct pml_plugin_metric *m,
                       uint64_t thread, int tid) {
  const char *text[] = {plugin, m->name, m->unit, m->description};
  const struct pml__log_measured d = {.number = number,
                                      .tid = tid,
                                      .thread = thread,
                                      .exponent = m->exponent,
                                      .binary = m->binary,
                                      .value = (uint32_t)m->value,
                                      .mode = (uint32_t)m->mode};
  return pml__log_define(log, PML__LOG_MEASURED, &d, sizeof d, text, sizeof text / sizeof text[0]);
}

size_t pml__plugin_log_bytes(size_t pairs) {
  size_t bytes = sizeof(struct pml__log_series) + pairs * sizeof(struct pml_plugin_pair);
  return (bytes + PML__LOG_STEP - 1) / PML__LOG_STEP * PML__LOG_STEP;
}

/* ---- while the process runs ---- */

static bool begin(struct pml__log *log, struct pml__plugin_counter *c) {
  const struct pml__plugin_use *use = c->use;
  c->number = pml__log_number();
  return pml__plugin_define(log, c->number, use->plugin->name, &use->plugin->metric[c->metric],
                            use->plugin->scope == PML_PLUGIN_THREAD ? use->thread : 0, use->tid) == 0;
}

/* As many again as there are, so that long series have few extents. */
static bool extend(struct pml__log *log, struct pml__plugin_counter *c) {
  size_t n = c->npairs - c->kept;
  if (n < c->kept) n = c->kept < PAIRS_MAX ? c->kept : PAIRS_MAX;
  c->log = pml__log_extent(log, PML__LOG_SERIES, c->number, c->use->thread, pml__plugin_log_bytes(n), 0, &c->extent);
  if (c->log != NULL) pml__log_commit(c->extent, sizeof *c->log);
  return c->log != NULL;
}

static void append(struct pml__plugin_counter *c) {
  uint64_t at = c->extent->committed, room = (c->extent->bytes - at) / sizeof *c->pair;
  size_t n = c->npairs - c->kept < room ? c->npairs - c->kept : room;
  memcpy((char *)c->log + at, c->pair + c->kept, n * sizeof *c->pair);
  __atomic_store_n(&c->log->outside, c->outside, __ATOMIC_RELAXED);
  __atomic_store_n(&c->log->backwards, c->backwards, __ATOMIC_RELAXED);
  pml__log_commit(c->extent, at + n * sizeof *c->pair);
  c->kept += n;
}

void pml__plugin_keep(struct pml__plugin_counter *c) {
  struct pml__log *log = pml__log_shared();
  if (log == NULL || c->refused || c->kept == c->npairs) return;
  c->refused = c->number == 0 && !begin(log, c);
  if (c->log != NULL) append(c);
  while (!c->refused && c->kept < c->npairs) {
    c->refused = !extend(log, c);
    if (!c->refused) append(c);
  }
}
