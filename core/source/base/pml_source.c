/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/base/pml_source.c - helpers of event sources: name prefixes, list rows, suggestions. */
#include "source/base/pml_source.h"

#include <fnmatch.h>
#include <string.h>

const char *pml__source_rest(const struct pml__source *source, const char *name) {
  size_t n = source->prefix != NULL ? strlen(source->prefix) : 0;
  return strncmp(name, source->prefix != NULL ? source->prefix : "", n) == 0 ? name + n : NULL;
}

static bool matches(const char *pattern, const char *text) {
  if (!strpbrk(pattern, "*?[")) return strcasestr(text, pattern) != NULL;
  return fnmatch(pattern, text, FNM_CASEFOLD) == 0;
}

int pml__walk_row(const struct pml__walk *w, const struct pml_event_info *info) {
  if (pml__event_shortage() < 0) return pml__event_shortage();
  if (w->pattern && !matches(w->pattern, info->name) && !matches(w->pattern, info->description)) return 0;
  return w->visit(info, w->arg);
}

static int offer(const struct pml_event_info *info, void *near) {
  pml__nearest_offer(near, info->name);
  return 0;
}

const char *pml__source_nearest(const struct pml__source *source, const char *name, char *buf, size_t size) {
  struct pml__nearest near = {.want = name};
  struct pml__walk w = {.visit = offer, .arg = &near};
  (void)source->walk(&w);
  return pml__nearest_text(&near, buf, size);
}
