/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/recording/pml_recording_gpr.c - enters and leaves that need neither memory nor a name, with general
 * registers only. */
#include "substrate/recording/pml_recording_track.h"

struct pml__log_event pml__recording_elsewhere[2] = {[1] = {.word = PML__LOG_WORD(PML__LOG_ENTER, 0)}};

static bool has_limits(const struct pml_recording_limits *l) {
  return l->max_depth != 0 || l->max_calls != 0;
}

static bool is_named(const struct pml__recording_track *t, pml_region_t region) {
  return region < PML__RECORDING_MARKS &&
         (__atomic_load_n(&t->mark[region], __ATOMIC_RELAXED) & PML__RECORDING_NAMED) != 0;
}

__attribute__((noinline)) static uint64_t enter_limited(struct pml__recording_track *t, pml_region_t region,
                                                        uint64_t ticks) {
  if (t->top == t->last || t->place.end - t->place.next < PML__RECORDING_OF_ENTER || !is_named(t, region)) return ticks;
  struct pml__recording_frame *f = t->top + 1;
  if (has_limits(&t->recording->limits) && pml__recording_left_out(t, region)) {
    pml__recording_leave_out(t, region);
    return 0;
  }
  f->word = PML__LOG_WORD(PML__LOG_ENTER, region);
  pml__recording_put_enter(t, t->place.next, pml__recording_lift(t, ticks), f->word);
  return 0;
}

/* Taken if the frame's previous call was of another region, or there is no room for a frame. */
__attribute__((noinline)) static uint64_t enter_another(struct pml__recording_track *t, pml_region_t region,
                                                        uint64_t ticks) {
  if (PML_UNLIKELY(t->top == t->last || !is_named(t, region))) return enter_limited(t, region, ticks);
  t->top[1].word = PML__LOG_WORD(PML__LOG_ENTER, region);
  return pml__recording_enter_fast(t, region, ticks);
}

/* Contains the common case only, and the other functions repeat its checks, so that it needs few registers. */
uint64_t pml__recording_enter_fast(void *data, pml_region_t region, uint64_t ticks) {
  struct pml__recording_track *t = data;
  struct pml__recording_frame *f = t->top;
  struct pml__log_event *at = t->place.next;
  if (PML_UNLIKELY(at >= t->enters_end)) return enter_limited(t, region, ticks);
  if (PML_UNLIKELY(ticks < t->place.last_ticks)) return enter_limited(t, region, ticks);
  if (PML_UNLIKELY((pml_region_t)f[1].word != region)) return enter_another(t, region, ticks);
  t->place.last_ticks = ticks;
  pml__recording_put_enter(t, at, ticks, PML__OWN_AGAIN(f[1].word));
  return 0;
}

__attribute__((noinline)) static uint64_t leave_limited(struct pml__recording_track *t, pml_region_t region,
                                                        uint64_t ticks) {
  struct pml__recording_frame *f = t->top;
  if (t->beyond > 0 || t->place.next == t->place.end || f == t->frame || pml__recording_region_of(f) != region)
    return ticks;
  if (f->enter != NULL && t->recording->limits.min_ticks != 0) {
    bool last = t->place.next == f->enter + 1;
    if (PML_UNLIKELY(!last && pml__recording_has_values(f->enter))) return ticks;
    if (last && pml__recording_take_back(t, f->enter, region, ticks)) {
      t->top--;
      return 0;
    }
  }
  if (f->enter != NULL)
    pml__recording_end_call(t, region, pml__recording_lift(t, ticks));
  else
    t->top--;
  return 0;
}

/* Leave a call that has other events inside. */
__attribute__((noinline)) static uint64_t leave_outer(struct pml__recording_track *t, pml_region_t region,
                                                      uint64_t ticks) {
  if (PML_UNLIKELY(ticks < t->place.last_ticks)) return leave_limited(t, region, ticks);
  t->place.last_ticks = ticks;
  pml__recording_put_leave(t, ticks, PML__LOG_WORD(PML__LOG_LEAVE, region));
  return 0;
}

uint64_t pml__recording_leave_fast(void *data, pml_region_t region, uint64_t ticks) {
  struct pml__recording_track *t = data;
  const struct pml__recording_frame *f = t->top;
  const struct pml__log_event *next = t->place.next;
  if (PML_UNLIKELY(next >= t->leaves_end) || PML_UNLIKELY((pml_region_t)f->word != region))
    return leave_limited(t, region, ticks);
  struct pml__log_event *enter = f->enter;
  if ((uintptr_t)next - (uintptr_t)enter != sizeof *enter) return leave_outer(t, region, ticks);
  if (PML_UNLIKELY(!pml__recording_make_whole(enter, ticks))) return leave_limited(t, region, ticks);
  pml__own_move(&t->top, f, -(ptrdiff_t)sizeof *f);
  t->place.last_ticks = ticks;
  return 0;
}

/* Whether @e has the recording's metrics, and there is room for its values and @events more. */
static bool has_room_for(const struct pml__recording_track *t, const struct pml_stream_event *e, size_t events) {
  size_t room = (size_t)(t->place.end - t->place.next);
  return e->metrics == t->recording->metrics && room >= pml__recording_of_values(e->metrics) + events;
}

uint64_t pml__recording_enter_fast_values(void *data, const struct pml_stream_event *e) {
  struct pml__recording_track *t = data;
  if (PML_UNLIKELY(!has_room_for(t, e, PML__RECORDING_OF_ENTER))) return e->ticks;
  if (PML_UNLIKELY(pml__recording_enter_fast(t, e->region, e->ticks) != 0)) return e->ticks;
  if (PML_LIKELY(t->top->enter != NULL)) pml__recording_put_values(t, e, t->place.last_ticks, 0);
  return 0;
}

uint64_t pml__recording_leave_fast_values(void *data, const struct pml_stream_event *e) {
  struct pml__recording_track *t = data;
  const struct pml__recording_frame *f = t->top;
  if (PML_UNLIKELY(t->beyond > 0 || f == t->frame || pml__recording_region_of(f) != e->region)) return e->ticks;
  if (PML_UNLIKELY(t->recording->limits.min_ticks != 0 || !has_room_for(t, e, 1))) return e->ticks;
  if (PML_UNLIKELY(f->enter == NULL)) {
    t->top--;
    return 0;
  }
  uint64_t ticks = pml__recording_lift(t, e->ticks);
  pml__recording_put_values(t, e, ticks, 0);
  pml__recording_put_leave(t, ticks, PML__LOG_WORD(PML__LOG_LEAVE, e->region));
  return 0;
}
