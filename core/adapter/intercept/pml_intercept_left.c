/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/intercept/pml_intercept_left.c - selected functions with calls that cannot be recorded, by name. */
#include "adapter/intercept/pml_intercept_code.h"

#include "adapter/intercept/pml_intercept.h"
#include "base/pml_array.h"
#include "base/pml_region.h"

#include <stdlib.h>
#include <string.h>

static struct left {
  char *name, *library;
  uint64_t hash;
  bool calls;
} * left;
static uint32_t nleft, room;

uint32_t pml__left_note(const char *name, const char *library) {
  uint64_t hash = pml__region_hash(name, library, 0);
  for (uint32_t i = 0; i < nleft; i++)
    if (left[i].hash == hash && strcmp(left[i].name, name) == 0 && strcmp(left[i].library, library) == 0) return i;
  if (!PML__ARRAY_ROOM(left, room, nleft + 1)) return UINT32_MAX;
  struct left l = {strdup(name), strdup(library), hash, false};
  if (l.name == NULL || l.library == NULL) {
    free(l.name);
    free(l.library);
    return UINT32_MAX;
  }
  left[nleft] = l;
  return nleft++;
}

void pml__left_calls(uint32_t number) {
  if (number < nleft) left[number].calls = true;
}

uint32_t pml__left_n(void) {
  return nleft;
}

struct pml_intercept_left pml__left_at(uint32_t i) {
  return (struct pml_intercept_left){left[i].name, left[i].library, left[i].calls};
}

void pml__left_forget(void) {
  for (uint32_t i = 0; i < nleft; i++) {
    free(left[i].name);
    free(left[i].library);
  }
  free(left);
  pml__left_give_up();
}

void pml__left_give_up(void) {
  left = NULL;
  nleft = room = 0;
}
