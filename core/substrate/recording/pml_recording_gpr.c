/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/recording/pml_recording_gpr.c - enters and leaves that need neither memory nor a name, with general
 * registers only. */
#include "substrate/recording/pml_recording_track.h"

struct pml__log_event pml__recording_elsewhere[2] = {[1] = {.word = PML__LOG_WORD(PML__LOG_ENTER, 0)}};

static bool has_limits(const struct pml_recording_limits *l) {
  return l->max_depth != 0 || l->max_calls != 0;
}

/* After an enter there is always an event left, so that the enter of a call that is taken back is in this extent. */
bool pml__recording_enter_plainly(void *data, pml_region_t region, uint64_t ticks) {
  struct pml__recording_track *t = data;
  if (PML_UNLIKELY(t->depth == t->capacity || t->place.end - t->place.next < 2 || region >= PML__RECORDING_MARKS))
    return false;
  if (PML_UNLIKELY((__atomic_load_n(&t->recording->mark[region], __ATOMIC_RELAXED) & PML__RECORDING_NAMED) == 0))
    return false;
  struct pml__recording_frame *f = &t->frame[t->depth++];
  f->region = region;
  f->enter = NULL;
  if (PML_UNLIKELY(has_limits(&t->recording->limits)) && pml__recording_left_out(t, region)) return true;
  f->enter = t->place.next;
  pml__recording_put(t, pml__recording_lift(t, ticks), PML__LOG_WORD(PML__LOG_ENTER, region));
  return true;
}

bool pml__recording_leave_plainly(void *data, pml_region_t region, uint64_t ticks) {
  struct pml__recording_track *t = data;
  if (PML_UNLIKELY(t->beyond > 0 || t->depth == 0 || t->place.next == t->place.end)) return false;
  struct pml__recording_frame *f = &t->frame[t->depth - 1];
  if (PML_UNLIKELY(f->region != region)) return false;
  t->depth--;
  if (PML_UNLIKELY(f->enter == NULL)) return true;
  if (PML_UNLIKELY(t->recording->limits.min_ticks != 0)) {
    bool last = t->place.next == f->enter + 1;
    if (PML_UNLIKELY(!last && pml__recording_has_values(f->enter))) {
      t->depth++;
      return false;
    }
    if (last && pml__recording_take_back(t, f->enter, region, ticks)) return true;
  }
  pml__recording_put(t, pml__recording_lift(t, ticks), PML__LOG_WORD(PML__LOG_LEAVE, region));
  return true;
}
