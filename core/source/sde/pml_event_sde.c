/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/sde/pml_event_sde.c - software-defined events as a source: names, list, suggestions. */
#include "source/compiler/pml_count_file.h"
#include "source/sde/pml_eventset_sde.h"

#include <stdio.h>
#include <string.h>

#define COUNTS PML__SDE_PREFIX "BYFL::"

struct walking {
  const struct pml__walk *walk;
};

static int walk_one(const struct pml_sde_info *info, void *arg) {
  const struct walking *w = arg;
  char name[PML_EVENT_NAME_MAX];
  if (info->kind == PML_SDE_PLACEHOLDER && strcmp(info->library, "BYFL") == 0 && !pml_count_active()) return 0;
  bool there = info->kind != PML_SDE_PLACEHOLDER;
  (void)snprintf(name, sizeof name, PML__SDE_PREFIX "%s", info->full_name);
  struct pml_event_info row = {.name = name, .description = info->description, .source = "sde"};
  row.pmu = info->library;
  row.available = there;
  row.reason = there ? "" : "requested, but no library has registered it yet";
  return pml__walk_row(w->walk, &row);
}

/* List the compiler's counts as unavailable, for a process that does not count. */
static int walk_counts(const struct pml__walk *w) {
  const char *event, *description;
  char name[PML_EVENT_NAME_MAX];
  int rc = 0;
  for (size_t i = 0; rc == 0 && pml_count_kind(i, &event, &description); i++) {
    (void)snprintf(name, sizeof name, COUNTS "%s", event);
    struct pml_event_info row = {.name = name, .description = description, .source = "sde", .pmu = "BYFL"};
    row.reason = "counted in programs that pmlua cc --count compiled";
    rc = pml__walk_row(w, &row);
  }
  return rc;
}

static int walk(const struct pml__walk *w) {
  struct walking walking = {w};
  int rc = pml_sde_list(walk_one, &walking);
  return rc == 0 && !pml_count_active() ? walk_counts(w) : rc;
}

static int offer_one(const struct pml_sde_info *info, void *near) {
  if (info->kind != PML_SDE_PLACEHOLDER) pml__nearest_offer(near, info->full_name);
  return 0;
}

static void offer_counts(struct pml__nearest *near) {
  const char *event, *description;
  char name[PML_EVENT_NAME_MAX];
  for (size_t i = 0; pml_count_kind(i, &event, &description); i++) {
    (void)snprintf(name, sizeof name, "BYFL::%s", event);
    pml__nearest_offer(near, name);
  }
}

const char *pml__sde_nearest(const char *name, char *buf, size_t size) {
  struct pml__nearest near = {.want = name};
  (void)pml_sde_list(offer_one, &near);
  offer_counts(&near);
  return pml__nearest_text(&near, buf, size);
}

static int find_one(const struct pml_sde_info *info, void *name) {
  return strcmp(info->full_name, name) == 0;
}

/* Any name of the form LIB::EVENT will do: the library may come later. Another must be there already. */
static int parse(struct pml_event *ev, const char *rest) {
  char text[512];
  const char *sep = strstr(rest, "::");
  if (sep != NULL && sep > rest && sep[2] != '\0') return 0;
  if (*rest != '\0' && pml_sde_list(find_one, (void *)(uintptr_t)rest) > 0) return 0;
  return pml_fail(PML_ENOEVENT, "no software-defined event \"%.200s\", whose names are sde:::LIB::EVENT%s", ev->name,
                  pml__sde_nearest(rest, text, sizeof text));
}

static int open_backend(struct pml__backend *backend, const struct pml_event *ev,
                        const struct pml_eventset_options *options) {
  int rc = pml__sde_open(backend, ev, options);
  return rc < 0 ? rc : pml__compiler_open((struct pml__sde_backend *)backend);
}

static void close_backend(struct pml__backend *backend) {
  pml__sde_close(backend);
  pml__compiler_close((struct pml__sde_backend *)backend);
}

const struct pml__source pml__source_sde = {.name = "sde",
                                            .prefix = PML__SDE_PREFIX,
                                            .parse = parse,
                                            .walk = walk,
                                            .backend_bytes = sizeof(struct pml__sde_backend),
                                            .open = open_backend,
                                            .close = close_backend,
                                            .describe = pml__sde_describe,
                                            .type = pml__sde_type,
                                            .declared = pml__sde_declared};
