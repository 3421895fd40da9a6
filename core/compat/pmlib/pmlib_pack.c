/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/compat/pmlib/pmlib_pack.c - serialization of a process's figures, for ranks on machines of the same kind.
 *
 * The process without its pointers, then for each section: itself, its label with the 0, its threads. Pointers travel
 * as they are and mean nothing to the receiver.
 */
#include "compat/pmlib/pmlib.h"

#include <stdlib.h>
#include <string.h>

static size_t bytes_of(const struct pmlib_section *s) {
  return sizeof *s + sizeof(uint64_t) + strlen(s->label) + 1 + s->nthreads * sizeof *s->thread;
}

static char *put(char *at, const void *from, size_t n) {
  memcpy(at, from, n);
  return at + n;
}

char *pmlib_pack(const struct pmlib_process *p, size_t *bytes) {
  *bytes = sizeof *p;
  for (uint32_t i = 0; i < p->nsections; i++) *bytes += bytes_of(&p->section[i]);
  char *all = malloc(*bytes), *at = all;
  if (all == NULL) return NULL;
  at = put(at, p, sizeof *p);
  for (uint32_t i = 0; i < p->nsections; i++) {
    const struct pmlib_section *s = &p->section[i];
    uint64_t label = strlen(s->label) + 1;
    at = put(at, s, sizeof *s);
    at = put(at, &label, sizeof label);
    at = put(at, s->label, label);
    if (s->nthreads > 0) at = put(at, s->thread, s->nthreads * sizeof *s->thread);
  }
  return all;
}

/* The next @n of the *@left bytes at *@from, or false. */
static bool get(const char **from, size_t *left, void *to, size_t n) {
  if (n > *left) return false;
  memcpy(to, *from, n);
  *from += n;
  *left -= n;
  return true;
}

static bool get_section(const char **from, size_t *left, struct pmlib_section *s) {
  uint64_t label;
  if (!get(from, left, s, sizeof *s)) {
    memset(s, 0, sizeof *s);
    return false;
  }
  s->label = NULL;
  s->thread = NULL;
  if (!get(from, left, &label, sizeof label) || label == 0 || label > *left) return false;
  if (s->nthreads > *left / sizeof *s->thread) return false;
  s->label = malloc(label);
  s->thread = calloc(s->nthreads == 0 ? 1 : s->nthreads, sizeof *s->thread);
  if (s->label == NULL || s->thread == NULL) return false;
  if (!get(from, left, s->label, label) || s->label[label - 1] != '\0') return false;
  return get(from, left, s->thread, s->nthreads * sizeof *s->thread);
}

void pmlib_free_process(struct pmlib_process *p) {
  for (uint32_t i = 0; p->section != NULL && i < p->nsections; i++) {
    free(p->section[i].label);
    free(p->section[i].thread);
  }
  free(p->section);
  memset(p, 0, sizeof *p);
}

bool pmlib_unpack(const char *bytes, size_t n, struct pmlib_process *p) {
  if (!get(&bytes, &n, p, sizeof *p)) {
    memset(p, 0, sizeof *p);
    return false;
  }
  uint32_t sections = p->nsections;
  p->nsections = 0;
  p->section = sections <= n / sizeof *p->section ? calloc(sections == 0 ? 1 : sections, sizeof *p->section) : NULL;
  bool ok = p->section != NULL;
  for (uint32_t i = 0; ok && i < sections; i++) ok = get_section(&bytes, &n, &p->section[p->nsections++]);
  if (!ok) pmlib_free_process(p);
  return ok;
}
