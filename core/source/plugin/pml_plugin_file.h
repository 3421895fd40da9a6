/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/plugin/pml_plugin_file.h - series of plugins as a file: what one process measured, another reads.
 *
 * Text, whose times are ticks of this machine's clock. After a line "pmlua-series 1", each series is
 *
 *   series PLUGIN METRIC THREAD TID VALUE MODE BINARY EXPONENT OUTSIDE BACKWARDS N UNIT DESCRIPTION
 *
 * between tabs, the enums as numbers, and N lines of ticks and of the value's bits in hexadecimal. The last line is
 * "end".
 */
#ifndef PML_PLUGIN_FILE_H
#define PML_PLUGIN_FILE_H

#include "source/plugin/pml_plugin.h"

PML_BEGIN_DECLS

/*
 * pml_plugin_save - the series of all plugins of this process, as far as there are values, in the file @path, which
 * must not exist. Without values there is no file. @series: how many were written. Plugins should have ended: what
 * comes later is not in it. Returns 0 or -errno; what could not be written whole is removed.
 */
PML__SHARED int pml_plugin_save(const char *path, size_t *series);

/*
 * pml_plugin_load_series - call @visit with each series of such a file. What is visited is valid until it returns;
 * other than 0 ends the walk and is returned. Nothing in the file is trusted: 0, -errno, -ENOMEM or PML_EFORMAT with
 * the line. Memory: the longest series, 16 bytes a value.
 */
typedef int pml_plugin_file_visit(const char *plugin, const struct pml_plugin_series *s, void *arg);
PML__SHARED int pml_plugin_load_series(const char *path, pml_plugin_file_visit *visit, void *arg);

PML_END_DECLS

#endif
