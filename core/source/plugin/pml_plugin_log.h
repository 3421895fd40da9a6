/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/plugin/pml_plugin_log.h - series of plugins in the log of a recorded process.
 *
 * A recorded process appends what it takes in from its plugins to its log at once (docs/log.md, Series), so that it is
 * there however the process ends. What a plugin had not handed over by then is lost with it.
 */
#ifndef PML_PLUGIN_LOG_H
#define PML_PLUGIN_LOG_H

#include "source/plugin/pml_plugin.h"

PML_BEGIN_DECLS

/*
 * pml_plugin_load_series - call @visit with each series that has values in the log @path, in the order of time. What is
 * visited is valid until @visit returns; other than 0 ends the walk and is returned. The log's process may still run.
 * Nothing in the file is trusted: a series that makes no sense is left out. Returns 0, also without any series, -errno,
 * -ENOMEM or PML_EFORMAT (no log, or damaged). Memory: 16 bytes a value of the longest series, and its extents.
 *
 * Ticks are of the clock that the log's process read, which may be another machine's.
 */
struct pml_plugin_log_clock {
  const char *name;
  uint64_t ticks, realtime_ns; /* the same moment, of that clock and of CLOCK_REALTIME */
  double tick_ns;
};
typedef int pml_plugin_log_visit(const char *plugin, const struct pml_plugin_series *s,
                                 const struct pml_plugin_log_clock *clock, void *arg);
PML__SHARED int pml_plugin_load_series(const char *path, pml_plugin_log_visit *visit, void *arg);

/*
 * pml_plugin_save - the series of this process's plugins as a log of their own, NAME.pmlog in @folder, an absolute
 * path. Without a value there is no log. Returns 0 with their number, -errno or -ENOMEM.
 */
PML__SHARED int pml_plugin_save(const char *folder, const char *name, size_t *series);

PML_END_DECLS

#endif
