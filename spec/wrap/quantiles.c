/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/wrap/quantiles.c - a preloaded library that writes the values recorded by wrappers, of arguments and results,
 * when the program ends: a line "FUNCTION:VALUE count minimum median maximum" each, to the file PMLUA_SPEC_QUANTILES.
 */
#include "source/sde/pml_sde.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES 64
#define LONGEST 512

static char name[NAMES][LONGEST];
static size_t names;

static int note(const struct pml_sde_info *info, void *arg) {
  (void)arg;
  bool value = info->recorder != NULL && strcmp(info->library, "WRAP") == 0;
  char last[8] = "";
  const char *colon = strrchr(info->name, ':');
  if (colon != NULL) (void)snprintf(last, sizeof last, "%s", colon + 1);
  for (const char *derived = "CNT MIN Q1 MED Q3 MAX"; value && last[0] != '\0' && derived != NULL;) {
    size_t n = strcspn(derived, " ");
    if (strlen(last) == n && strncmp(derived, last, n) == 0) value = false;
    derived = derived[n] != '\0' ? derived + n + 1 : NULL;
  }
  if (value && names < NAMES) (void)snprintf(name[names++], LONGEST, "%s", info->full_name);
  return 0;
}

static double read_event(const char *base, const char *which) {
  char full[LONGEST + 8];
  struct pml_sde_event *ev;
  struct pml_value v = {.i = 0};
  (void)snprintf(full, sizeof full, "%s:%s", base, which);
  if (pml_sde_find(full, &ev, NULL) < 0) return -1;
  if (pml_sde_read(ev, &v) < 0) v.i = -1;
  pml_sde_release(ev);
  return v.type == PML_TYPE_DOUBLE ? v.d : (double)v.i;
}

__attribute__((destructor)) static void finish(void) {
  const char *path = getenv("PMLUA_SPEC_QUANTILES");
  /* a program without recorded values must not overwrite the file */
  FILE *f = path != NULL && pml_sde_list(note, NULL) == 0 && names > 0 ? fopen(path, "w") : NULL;
  for (size_t i = 0; f != NULL && i < names; i++)
    (void)fprintf(f, "%s %.9g %.9g %.9g %.9g\n", strstr(name[i], "::") + 2, read_event(name[i], "CNT"),
                  read_event(name[i], "MIN"), read_event(name[i], "MED"), read_event(name[i], "MAX"));
  if (f != NULL) (void)fclose(f);
}
