/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/pml_event_permitted.c - the name by which this process may count an event: NAME, or NAME:u. */
#include "source/base/pml_source.h"
#include "source/kernel/pml_counter.h"

#include <errno.h>
#include <string.h>

int pml_event_permitted(const char *name, char *permitted) {
  struct pml_event ev;
  struct pml_counter c;
  if (strnlen(name, PML_EVENT_NAME_MAX) == PML_EVENT_NAME_MAX) return -ENAMETOOLONG;
  pml__copy(permitted, PML_EVENT_NAME_MAX, name);
  if (pml__source_of(name) != &pml__source_kernel)
    return 0; /* others are never forbidden, and a parse takes its time */
  int rc = pml_event_parse(&ev, name);
  if (rc < 0 || !ev.may_be_user_only) return rc;
  rc = pml_counter_open(&c, &ev, 0, NULL, NULL, PML_OPEN_DISABLED | PML_OPEN_NO_PAGE);
  if (rc < 0) return rc;
  size_t n = strlen(permitted);
  if (c.flags & PML_OPENED_USER_ONLY) pml__copy(permitted + n, PML_EVENT_NAME_MAX - n, PML__USER_ONLY);
  pml_counter_close(&c);
  return 0;
}
