/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/live/live_values.c - replies without Lua: values of events and recorders, and a log of the sections. */
#include "live/live.h"

#include "adapter/section/pml_section_snapshot.h"
#include "base/text/pml_text.h"
#include "source/plugin/pml_plugin.h"
#include "source/sde/pml_sde_values.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool failed(char **text, size_t *n, int err) {
  pml__free(*text);
  *text = strdup(pml_error_detail(err));
  *n = *text != NULL ? strlen(*text) : 0;
  return false;
}

/* JSON; states of the rules, which their thread wrote as JSON. NULL: no memory. */
static char *more_of(void) {
  char *rules = live__rules_text(), *more = NULL;
  int n = asprintf(&more, "{\"version\": \"%s\", \"sections\": %u, \"rules\": %s}", PML_VERSION, pml__section_count(),
                   rules != NULL && rules[0] != '\0' ? rules : "[]");
  free(rules);
  return n >= 0 ? more : NULL;
}

static int answer_values(struct pml__sde_values **values, const struct live_frame *question, char **text, size_t *n) {
  pml_plugin_publish();
  char *more = more_of();
  if (more == NULL) return pml_fail(-ENOMEM, "out of memory for the answer");
  char *patterns;
  uint64_t known = strtoull(question->payload, &patterns, 10);
  int err = *values == NULL ? pml__sde_values_open(values) : 0;
  if (err == 0) err = pml__sde_values_take(*values, known, patterns, more, strlen(more), text, n);
  free(more);
  return err;
}

bool live__values_answer(struct pml__sde_values **values, const struct live_frame *question, char **text, size_t *n) {
  *text = NULL;
  int err = question->kind == LIVE_VALUES   ? answer_values(values, question, text, n)
            : question->kind == LIVE_SERIES ? pml__sde_series_take(question->payload, text, n)
                                            : pml__section_snapshot(false, text, n);
  return err == 0 || failed(text, n, err);
}
