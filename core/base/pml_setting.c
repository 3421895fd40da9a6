/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/pml_setting.c - pmlua's environment variables. */
#include "base/pml_setting.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char *const *settings; /* apart from the environment */

void pml__settings_add(const char *const variables[]) {
  settings = variables;
}

const char *pml__setting(const char *name) {
  const char *value = secure_getenv(name);
  size_t n = strlen(name);
  for (const char *const *s = settings; value == NULL && s != NULL && *s != NULL; s++)
    if (strncmp(*s, name, n) == 0 && (*s)[n] == '=') value = *s + n + 1;
  return value;
}
