/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/cost_plugin.h - reads of a plugin's metrics whose instructions cost.c counts; the plugin's own are among them.
 */
#ifndef SPEC_COST_PLUGIN_H
#define SPEC_COST_PLUGIN_H

#include "adapter/section/pml_section.h"
#include "source/plugin/pml_plugin.h"
#include "source/pml_eventset.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define PLUGIN_METRICS 4

static struct pml_eventset *plugin_set1, *plugin_set4;
static struct pml_section *plugin_section1, *plugin_section4;
static uint64_t plugin_values[PLUGIN_METRICS];

static int plugin_open(void) {
  static const char *const token[PLUGIN_METRICS] = {"a", "b", "c", "d"};
  static const char *const name[PLUGIN_METRICS] = {"plugin::zero::a", "plugin::zero::b", "plugin::zero::c",
                                                   "plugin::zero::d"};
  char path[4096];
  struct pml_plugin *p;
  ssize_t n = readlink("/proc/self/exe", path, sizeof path - 16);
  if (n <= 0) return -errno;
  path[n] = '\0';
  memcpy(strrchr(path, '/'), "/plugins", sizeof "/plugins");
  struct pml_plugin_options o = {.name = "zero", .path = path, .metrics = token, .nmetrics = PLUGIN_METRICS};
  int rc = pml_plugin_load(&o, &p);
  if (rc == -ENOENT) return 0; /* on a machine that was given this program alone: plugin_set1 stays NULL */
  if (rc == 0) rc = pml_eventset_open(&plugin_set1, name, 1, NULL);
  if (rc == 0) rc = pml_eventset_open(&plugin_set4, name, PLUGIN_METRICS, NULL);
  struct pml_section_options one = {.events = name, .nevents = 1}, four = {.events = name, .nevents = PLUGIN_METRICS};
  if (rc == 0) rc = pml_section_define(name[0], &one, &plugin_section1);
  return rc == 0 ? pml_section_define(name[1], &four, &plugin_section4) : rc;
}

static void plugin_close(void) {
  pml_eventset_close(plugin_set1);
  pml_eventset_close(plugin_set4);
}

PATH(eventset_read_plugin_1, pml_eventset_read(plugin_set1, plugin_values))
PATH(eventset_read_plugin_4, pml_eventset_read(plugin_set4, plugin_values))
PATH(section_plugin_1, pml_section_start(plugin_section1); pml_section_stop(plugin_section1))
PATH(section_plugin_4, pml_section_start(plugin_section4); pml_section_stop(plugin_section4))

#endif
