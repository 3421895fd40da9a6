/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/pml_event_list.c - the list of all events, of every source. */
#include "source/base/pml_source.h"

#include <fnmatch.h>
#include <string.h>

static bool matches(const char *pattern, const char *text) {
  if (!strpbrk(pattern, "*?[")) return strcasestr(text, pattern) != NULL;
  return fnmatch(pattern, text, FNM_CASEFOLD) == 0;
}

int pml__walk_row(const struct pml__walk *w, const struct pml_event_info *info) {
  if (pml__event_shortage() < 0) return pml__event_shortage();
  if (w->pattern && !matches(w->pattern, info->name) && !matches(w->pattern, info->description)) return 0;
  return w->visit(info, w->arg);
}

int pml_event_list(const char *pattern, bool all, pml_event_visit *visit, void *arg) {
  struct pml__walk w = {.pattern = pattern && *pattern ? pattern : NULL, .all = all, .probe = true};
  const struct pml__source *source;
  w.visit = visit;
  w.arg = arg;
  (void)pml__event_shortage_reset(0);
  int err = 0;
  for (size_t i = 0; err == 0 && (source = pml__source_at(i)) != NULL; i++) err = source->walk(&w);
  int met = pml__event_shortage();
  return met < 0 ? pml_fail(met, "the events cannot be listed: %s", pml_error_text(met)) : err;
}
