/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/sde/pml_eventset_sde.c - software-defined events in an event set: opened, read, and their differences. */
#include "source/pml_eventset_private.h"

#include "base/pml_error.h"
#include "source/pml_event_internal.h"
#include "source/sde/pml_sde_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint32_t pml__eventset_sde_words(const struct pml_event *ev, size_t n) {
  uint32_t words = 0;
  for (size_t i = 0; i < n; i++) words += ev[i].source == &pml__source_sde ? PML__SDE_WORDS : 0;
  return words;
}

static int open_one(struct pml_eventset *s, uint32_t i, const struct pml_event *ev) {
  struct pml__eventset_sde *sde = &s->sde[s->nsde];
  char near[256];
  bool made = false;
  int rc = pml_sde_find(ev->name, &s->sde_event[s->nsde], &made);
  if (rc < 0) return rc;
  sde->event = i;
  s->word[i] = s->sde_word + s->nsde * PML__SDE_WORDS;
  s->nsde++;
  (void)snprintf(sde->absent, sizeof sde->absent, "no library has registered it yet%s",
                 made ? pml__event_sde_nearest(ev->name, near, sizeof near) : "");
  return 0;
}

int pml__eventset_sde_open(struct pml_eventset *s, const struct pml_event *ev, const struct pml_target *target) {
  uint32_t n = pml__eventset_sde_words(ev, s->n) / PML__SDE_WORDS;
  if (n == 0) return 0;
  if (target->pid != 0 && target->pid != getpid() && target->pid != gettid())
    return pml_fail(PML_EMODE, "software-defined events are the process's own: they cannot be read of pid %d",
                    (int)target->pid);
  s->sde = calloc(n, sizeof *s->sde);
  s->sde_event = calloc(n, sizeof(struct pml_sde_event *));
  s->reader = pml__sde_reader_take();
  if (s->sde == NULL || s->sde_event == NULL || s->reader == NULL)
    return pml_fail(-ENOMEM, "event set with %u software-defined events: out of memory", n);
  /* What threads count for themselves: of one that is not the caller, the process's, as with its descendants. */
  s->reader->whole = target->inherit || (target->pid != 0 && target->pid != gettid());
  int rc = 0;
  for (uint32_t i = 0; rc == 0 && i < s->n; i++)
    if (ev[i].source == &pml__source_sde) rc = open_one(s, i, &ev[i]);
  if (rc == 0 && pml__eventset_counted_open(s) < 0)
    return pml_fail(-ENOMEM, "event set with %u software-defined events: out of memory", n);
  return rc;
}

void pml__eventset_sde_close(struct pml_eventset *s) {
  while (s->nsde > 0) pml_sde_release(s->sde_event[--s->nsde]);
  pml__sde_reader_give_back(s->reader);
  pml__eventset_counted_close(s);
  free(s->sde_event);
  free(s->sde);
}

int pml__eventset_sde_snapshot(struct pml_eventset *s, uint64_t *snapshot, bool times) {
  int rc = pml__eventset_snapshot(s, snapshot, times);
  if (rc < 0) return rc;
  pml__sde_enter(s->reader);
  pml__sde_snapshot(s->reader, s->sde_event, s->nsde, snapshot + s->sde_word);
  pml__sde_leave(s->reader);
  return rc;
}

static inline double as_double(uint64_t bits) {
  double d;
  memcpy(&d, &bits, sizeof d);
  return d;
}

static inline uint64_t as_bits(double d) {
  uint64_t bits;
  memcpy(&bits, &d, sizeof bits);
  return bits;
}

/* An event that came or changed its type since the start has no start to be relative to. */
static uint64_t difference(const uint64_t *now, const uint64_t *base) {
  bool since =
      (base[PML__SDE_WHAT] & PML__SDE_HAS) != 0 && ((base[PML__SDE_WHAT] ^ now[PML__SDE_WHAT]) & PML__SDE_DOUBLE) == 0;
  if ((now[PML__SDE_WHAT] & PML__SDE_HAS) == 0 || !since) return now[PML__SDE_VALUE];
  if ((now[PML__SDE_WHAT] & PML__SDE_DOUBLE) == 0) return now[PML__SDE_VALUE] - base[PML__SDE_BASE];
  return as_bits(as_double(now[PML__SDE_VALUE]) - as_double(base[PML__SDE_BASE]));
}

static void differences(const struct pml_eventset *s, uint32_t first, uint64_t *values) {
  const uint64_t *now = s->now + s->sde_word + (size_t)first * PML__SDE_WORDS;
  const uint64_t *base = s->base + s->sde_word + (size_t)first * PML__SDE_WORDS;
  for (uint32_t i = first; i < s->nsde; i++, now += PML__SDE_WORDS, base += PML__SDE_WORDS) {
    if (PML_LIKELY(now[PML__SDE_WHAT] == PML__SDE_HAS && base[PML__SDE_WHAT] == PML__SDE_HAS))
      values[s->sde[i].event] = now[PML__SDE_VALUE] - base[PML__SDE_BASE];
    else
      values[s->sde[i].event] = difference(now, base);
  }
}

void pml__eventset_sde_differences(const struct pml_eventset *s, uint64_t *values) {
  differences(s, 0, values);
}

/*
 * Snapshot and difference in one pass as far as events are plain, from the first that is not in two. Of the plain ones
 * nothing is kept but what they are: to have their values again, take a snapshot.
 */
int pml__eventset_sde_read(struct pml_eventset *s, uint64_t *values) {
  struct pml_sde_event *const *event = s->sde_event;
  uint64_t *now = s->now + s->sde_word, v;
  const uint64_t *base = s->base + s->sde_word;
  struct pml__sde_reader *r = s->reader;
  uint32_t n = s->n, i = 0;
  pml__sde_enter(r);
  for (; i < n; i++, now += PML__SDE_WORDS, base += PML__SDE_WORDS) {
    if (PML_UNLIKELY(base[PML__SDE_WHAT] != PML__SDE_HAS || !pml__sde_plain(r, pml__sde_body_of(event[i]), &v))) break;
    now[PML__SDE_WHAT] = PML__SDE_HAS;
    values[i] = v - base[PML__SDE_BASE];
  }
  if (PML_UNLIKELY(i < n)) pml__sde_snapshot(r, event + i, n - i, now);
  pml__sde_leave(r);
  if (PML_UNLIKELY(i < n)) differences(s, i, values);
  return 0;
}

/*
 * Accum adds integers. What is something else is made to fit: the count becomes the difference of the bits that the sum
 * shall have and those that are there. Doubles are added as such; a level takes the place of the last one.
 */
void pml__eventset_sde_prepare_add(const struct pml_eventset *s, const uint64_t *values, uint64_t *count) {
  const uint64_t *now = s->now + s->sde_word;
  for (uint32_t i = 0; i < s->nsde; i++, now += PML__SDE_WORDS) {
    uint32_t at = s->sde[i].event;
    if ((now[PML__SDE_WHAT] & PML__SDE_HAS) == 0 || (now[PML__SDE_WHAT] & PML__SDE_LEVEL) != 0)
      count[at] -= values[at];
    else if ((now[PML__SDE_WHAT] & PML__SDE_DOUBLE) != 0)
      count[at] = as_bits(as_double(values[at]) + as_double(count[at])) - values[at];
  }
}

/* Before the first read: as it was at start. */
static uint64_t what(const struct pml_eventset *s, size_t event) {
  uint64_t now = s->now[s->word[event] + PML__SDE_WHAT];
  return now != 0 ? now : s->base[s->word[event] + PML__SDE_WHAT];
}

static bool is_double(const struct pml_eventset *s, size_t event) {
  return (what(s, event) & PML__SDE_DOUBLE) != 0;
}

static bool is_level(const struct pml_eventset *s, size_t event) {
  return (what(s, event) & PML__SDE_LEVEL) != 0;
}

void pml__eventset_sde_describe(const struct pml_eventset *s, size_t event, struct pml_eventset_event *info) {
  struct pml_sde_info sde;
  if (is_double(s, event)) info->type = PML_TYPE_DOUBLE;
  if (is_level(s, event)) info->mode = PML_MODE_ABSOLUTE_POINT;
  for (uint32_t i = 0; i < s->nsde; i++)
    if (s->sde[i].event == event && pml_sde_info(s->sde_event[i], &sde) == 0 && sde.kind == PML_SDE_PLACEHOLDER)
      info->why = s->sde[i].absent;
}

bool pml_eventset_absent(const struct pml_eventset *s, size_t i, uint64_t value) {
  if (s->nplugin == 0 || i >= s->n || s->info[i].source != &pml__source_plugin) return false;
  return pml__eventset_plugin_is_absent(s, i, value);
}

enum pml_type pml_eventset_type(const struct pml_eventset *s, size_t i) {
  if (s->nsde + s->nplugin == 0 || i >= s->n) return PML_TYPE_INT64;
  bool real = false;
  if (s->info[i].source == &pml__source_sde) real = is_double(s, i);
  if (s->info[i].source == &pml__source_plugin) real = pml__eventset_plugin_is_real(s, i);
  return real ? PML_TYPE_DOUBLE : PML_TYPE_INT64;
}
