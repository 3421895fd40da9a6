/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/section/pml_section_file.c - what the environment asks of sections, and the end of the log. */
#include "adapter/section/pml_section_file.h"
#include "adapter/section/pml_section_private.h"
#include "base/pml_error.h"
#include "base/pml_launched.h"
#include "base/pml_setting.h"
#include "base/text/pml_say.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the end ---- */

static void end_log(void) {
  pml__section_settle();
  pml__section_log_sketches();
  pml__section_log_notes();
}

/* ---- the environment ---- */

static int problem;
static char why[512];

static int read_timeline(void) {
  const char *wish = pml__setting("PMLUA_REPORT_TIMELINE");
  if (wish == NULL || *wish == '\0' || strcmp(wish, "off") == 0) return 0;
  long events =
      strcmp(wish, "on") == 0 || strcmp(wish, "1") == 0 ? (long)PML_SECTION_TIMELINE_EVENTS : pml__number_of(wish);
  if (events < 0 || events > (long)PML_SECTION_TIMELINE_EVENTS_MAX) return -EINVAL;
  return pml_section_timeline((uint32_t)events);
}

/* The handler is registered behind the log's own, so that it runs before it. */
static void prepare(void) {
  if (pml__log_prepare() < 0) return;
  if (pml__log_wanted() && atexit(end_log) != 0) problem = -ENOMEM;
  if (problem == 0) problem = read_timeline();
  if (problem < 0)
    (void)snprintf(why, sizeof why, "PMLUA_REPORT_TIMELINE=%.100s: %s; set on, off, or a number of events per thread",
                   pml__setting("PMLUA_REPORT_TIMELINE"), pml_error_text(problem));
}

int pml__section_prepare_file(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  static bool said;
  pthread_once(&once, prepare);
  int err = pml__log_prepare();
  if (err == 0 && problem < 0) err = pml_fail(problem, "%s", why);
  /* The macros' sections have no caller who looks at the failure. */
  if (err < 0 && !__atomic_exchange_n(&said, true, __ATOMIC_RELAXED)) pml__say("%s", pml_error_detail(err));
  return err;
}
