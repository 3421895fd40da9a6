/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/section/pml_section_history.c - calls and time of sections as compressed series in the process's log. */
#include "adapter/section/pml_section_file.h"
#include "adapter/section/pml_section_private.h"
#include "adapter/section/pml_section_snapshot.h"
#include "base/pml_array.h"
#include "base/pml_bits.h"
#include "base/pml_clock.h"
#include "record/pml_history.h"

#include <stdio.h>
#include <string.h>

struct series {
  struct pml__history_series calls, seconds;
};

/* Under this lock. */
static struct pml__lock sampling;
static struct series *series;
static size_t room;

/* Calls and ticks of a section in all threads. False: there are no calls, or a thread is within an update. */
static bool sum_up(const struct pml_section *s, uint64_t *calls, uint64_t *ticks) {
  uint64_t values[PML_SECTION_EVENTS_MAX];
  int err = 0;
  *calls = *ticks = 0;
  pml__section_lock_take();
  for (struct pml__section_thread *t = pml__section_threads(); t != NULL && err == 0; t = t->next) {
    struct pml__section_stat *from = pml__section_stat_at(t, s->index), stat;
    if (from == NULL || (err = pml__section_copy(s, from, &stat, values)) < 0) continue;
    pml__section_forget_old(&stat, pml__section_epoch());
    *calls += stat.calls.count;
    *ticks += stat.calls.sum - stat.recurred;
  }
  pml__section_lock_leave();
  return err == 0 && *calls > 0;
}

static void add(const struct pml_section *s, struct series *to) {
  char name[512];
  uint64_t calls, ticks;
  if (!sum_up(s, &calls, &ticks)) return;
  struct pml__history_sample v = {.name = name, .bits = calls, .ticks = pml_clock_ticks()};
  snprintf(name, sizeof name, "section:%.480s:count", s->label);
  pml__history_add(&to->calls, &v);
  snprintf(name, sizeof name, "section:%.480s:sum", s->label);
  v.real = true;
  v.bits = pml__as_bits((double)pml_clock_ticks_to_ns(ticks) / 1e9);
  pml__history_add(&to->seconds, &v);
}

bool pml__section_history(bool add_samples) {
  if (!pml__log_asked()) return false;
  pml__process_look();
  if (!add_samples || !pml__lock_try(&sampling)) return true;
  uint32_t n = pml__section_count();
  size_t had = room;
  if (PML__ARRAY_ROOM(series, room, n)) {
    memset(series + had, 0, (room - had) * sizeof *series);
    for (uint32_t i = 0; i < n; i++) add(pml__section_at(i), &series[i]);
  }
  pml__lock_leave(&sampling);
  return true;
}
