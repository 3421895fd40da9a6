/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/log/pml_plugin_load_log.h - series of plugins, from the log of the process that collected them. */
#ifndef PML_PLUGIN_LOAD_LOG_H
#define PML_PLUGIN_LOAD_LOG_H

#include "source/plugin/pml_plugin.h"

PML_BEGIN_DECLS

/*
 * pml_plugin_load_series - call @visit with each series that has values in the log @path, in the order of time. The
 * arguments are valid until @visit returns; a value other than 0 ends the iteration and is returned. The log's process
 * may still run. No file is trusted: an invalid series is omitted. Returns 0, also without any series, -errno, -ENOMEM
 * or PML_EFORMAT (no log, or damaged). Memory: 16 bytes a value of the longest series, and its extents.
 *
 * Ticks belong to the clock of the log's process, which may have run on another machine.
 */
struct pml_plugin_log_clock {
  const char *name;
  uint64_t ticks, realtime_ns; /* the same moment on that clock and on CLOCK_REALTIME */
  double tick_ns;
};
typedef int pml_plugin_log_visit(const char *plugin, const struct pml_plugin_series *s,
                                 const struct pml_plugin_log_clock *clock, void *arg);
PML__SHARED int pml_plugin_load_series(const char *path, pml_plugin_log_visit *visit, void *arg);

PML_END_DECLS

#endif
