/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/pml_event.c - events by name, from any source. */
#include "source/pml_event.h"

#include "source/kernel/event/pml_event_parsers.h"
#include "source/kernel/pml_counter.h"
#include "source/pml_sources.h"

#include <errno.h>
#include <string.h>

const char *pml_event_source(const char *name) {
  return pml__source_of(name)->name;
}

static int parse(struct pml_event *ev, const char *name) {
  char near[512];
  int err = pml__event_begin(ev, name);
  if (err < 0) return err;
  ev->source = pml__source_of(name);
  err = ev->source->parse(ev, pml__source_rest(ev->source, name));
  if (err != PML__NOT_MINE) return err;
  /* no source has this prefix; the last source's message contains suggestions, unless a similar prefix exists */
  if (*pml__sources_nearest(name, near, sizeof near) == '\0') return PML_ENOEVENT;
  size_t length = strcspn(name, ":");
  return pml_fail(PML_ENOEVENT, "no source \"%.*s\" for event \"%.128s\"%s", length < 64 ? (int)length : 64, name, name,
                  near);
}

int pml_event_parse(struct pml_event *ev, const char *name) {
  (void)pml__event_shortage_reset(0);
  int err = parse(ev, name);
  ev->may_be_user_only = err == 0 && pml__event_may_be_user_only(ev);
  int met = pml__event_shortage();
  return met < 0 ? pml_fail(met, "event \"%.200s\": cannot look it up: %s", name, pml_error_text(met)) : err;
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
  return met < 0 ? pml_fail(met, "cannot list the events: %s", pml_error_text(met)) : err;
}

int pml_event_permitted(const char *name, char *permitted) {
  struct pml_event ev;
  struct pml_counter c;
  if (strnlen(name, PML_EVENT_NAME_MAX) == PML_EVENT_NAME_MAX) return -ENAMETOOLONG;
  pml__copy(permitted, PML_EVENT_NAME_MAX, name);
  if (pml__source_of(name) != &pml__source_kernel) return 0; /* others are never forbidden, and parsing takes time */
  int rc = pml_event_parse(&ev, name);
  if (rc < 0 || !ev.may_be_user_only) return rc;
  rc = pml_counter_open(&c, &ev, 0, NULL, NULL, PML_OPEN_DISABLED | PML_OPEN_NO_PAGE);
  if (rc < 0) return rc;
  size_t n = strlen(permitted);
  if (c.flags & PML_OPENED_USER_ONLY) pml__copy(permitted + n, PML_EVENT_NAME_MAX - n, PML__USER_ONLY);
  pml_counter_close(&c);
  return 0;
}
