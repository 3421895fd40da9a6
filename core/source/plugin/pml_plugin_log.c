/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/plugin/pml_plugin_log.c - a log that contains only series of plugins. */
#include "source/plugin/pml_plugin_log.h"

#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "record/log/pml_log_own.h"
#include "source/plugin/pml_plugin_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct saving {
  const char *folder, *name, *plugin;
  struct pml__log *log; /* NULL: no value so far */
  size_t series;
};

static int save_series(const struct pml_plugin_series *s, void *arg) {
  struct saving *to = arg;
  const struct pml__log_process p = {to->name, -1, -1, pml_clock_realtime_ns(), pml_clock_ticks()};
  struct pml__log_entry *entry;
  if (s->n == 0) return 0;
  int err = to->log == NULL ? pml__log_open(&to->log, to->folder, &p) : 0;
  uint32_t number = pml__log_number();
  if (err == 0) err = pml__plugin_define(to->log, number, to->plugin, s->metric, s->thread, s->tid);
  if (err < 0) return err;
  struct pml__log_series *all =
      pml__log_extent(to->log, PML__LOG_SERIES, number, s->thread, pml__plugin_log_bytes(s->n), 0, &entry);
  if (all == NULL) return pml_fail(-ENOSPC, "%s: no room for the series of plugins", to->folder);
  all->outside = s->outside;
  all->backwards = s->backwards;
  memcpy(all + 1, s->pair, s->n * sizeof *s->pair);
  pml__log_commit(entry, sizeof *all + s->n * sizeof *s->pair);
  to->series++;
  return 0;
}

static int save_plugin(struct pml_plugin *p, void *arg) {
  struct pml_plugin_info info;
  struct saving *to = arg;
  pml_plugin_describe(p, &info);
  if (info.sync != PML_PLUGIN_ASYNC && info.sync != PML_PLUGIN_ASYNC_EVENT) return 0;
  to->plugin = info.name;
  return pml_plugin_series(p, save_series, to);
}

int pml_plugin_save(const char *folder, const char *name, size_t *series) {
  struct saving to = {.folder = folder, .name = name};
  int err = pml_clock_init();
  if (err == 0) err = pml_plugin_list(save_plugin, &to);
  *series = to.series;
  if (to.log == NULL) return err;
  pml__log_end(to.log);
  pml__log_close(to.log);
  return err;
}
