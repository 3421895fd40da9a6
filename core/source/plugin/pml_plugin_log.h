/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/plugin/pml_plugin_log.h - series of plugins in the log of a recorded process.
 *
 * A recorded process appends values collected from its plugins to its log at once (docs/log.md, Series), so they
 * survive however the process ends. Values that a plugin had not delivered by then are lost.
 */
#ifndef PML_PLUGIN_LOG_H
#define PML_PLUGIN_LOG_H

#include "source/plugin/pml_plugin.h"

PML_BEGIN_DECLS

/*
 * pml_plugin_save - write the series of this process's plugins to a separate log, NAME.pmlog in @folder, an absolute
 * path. Without values no log is written. Returns 0 with the number of series, -errno or -ENOMEM.
 */
PML__SHARED int pml_plugin_save(const char *folder, const char *name, size_t *series);

PML_END_DECLS

#endif
