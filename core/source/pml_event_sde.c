/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/pml_event_sde.c - software-defined events among all others: their names, the list, what is near. */
#include "source/pml_event_internal.h"
#include "source/pml_sde.h"

#include <stdio.h>
#include <string.h>

#define PREFIX "sde:::"
#define NPREFIX (sizeof PREFIX - 1)

struct walking {
  const struct pml__walk *walk;
};

static int walk_one(const struct pml_sde_info *info, void *arg) {
  const struct walking *w = arg;
  char name[PML_EVENT_NAME_MAX];
  bool there = info->kind != PML_SDE_PLACEHOLDER;
  (void)snprintf(name, sizeof name, PREFIX "%s", info->full_name);
  struct pml_event_info row = {.name = name, .description = info->description, .source = "sde"};
  row.pmu = info->library;
  row.available = there;
  row.reason = there ? "" : "asked for, but no library has registered it yet";
  return pml__walk_row(w->walk, &row);
}

int pml__event_walk_sde(const struct pml__walk *w) {
  struct walking walking = {w};
  return pml_sde_list(walk_one, &walking);
}

static int offer_one(const struct pml_sde_info *info, void *near) {
  if (info->kind != PML_SDE_PLACEHOLDER) pml__nearest_offer(near, info->full_name);
  return 0;
}

const char *pml__event_sde_nearest(const char *name, char *buf, size_t size) {
  if (strncmp(name, PREFIX, NPREFIX) == 0) name += NPREFIX;
  struct pml__nearest near = {.want = name};
  (void)pml_sde_list(offer_one, &near);
  return pml__nearest_text(&near, buf, size);
}

static int find_one(const struct pml_sde_info *info, void *name) {
  return strcmp(info->full_name, name) == 0;
}

/*
 * Any name of the form LIB::EVENT will do: the library may come later. Another must be there already.
 */
int pml__event_parse_sde(struct pml_event *ev, const char *name) {
  char text[512];
  char *event = ev->name + NPREFIX;
  const char *sep = strstr(event, "::");
  ev->kind = PML_EVENT_SDE;
  if (sep != NULL && sep > event && sep[2] != '\0') return 0;
  if (*event != '\0' && pml_sde_list(find_one, event) > 0) return 0;
  return pml_fail(PML_ENOEVENT, "no software-defined event \"%.200s\", whose names are sde:::LIB::EVENT%s", name,
                  pml__event_sde_nearest(name, text, sizeof text));
}
