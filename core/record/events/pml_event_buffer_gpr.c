/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/events/pml_event_buffer_gpr.c - enters and leaves that need neither memory nor a name, with general
 * registers only. */
#include "record/events/pml_event_buffer.h"

struct pml__log_event pml__events_flushed[2] = {[1] = {.word = PML__LOG_WORD(PML__LOG_ENTER, 0)}};

static bool has_limits(const struct pml_recording_limits *l) {
  return l->max_depth != 0 || l->max_calls != 0;
}

static bool is_named(const struct pml__event_buffer *b, pml_region_t region) {
  return region < PML_REGIONS_MAX && (__atomic_load_n(&b->mark[region], __ATOMIC_RELAXED) & PML__RECORDING_NAMED) != 0;
}

__attribute__((noinline)) static uint64_t enter_limited(struct pml__event_buffer *b, pml_region_t region,
                                                        uint64_t ticks) {
  if (b->top == b->last || b->place.end - b->place.next < PML__EVENTS_OF_ENTER || !is_named(b, region)) return ticks;
  struct pml__events_frame *f = b->top + 1;
  if (has_limits(&b->recording->limits) && pml__events_left_out(b, region)) {
    pml__events_leave_out(b, region);
    return 0;
  }
  f->word = PML__LOG_WORD(PML__LOG_ENTER, region);
  pml__events_put_enter(b, b->place.next, pml__events_lift(b, ticks), f->word);
  return 0;
}

/* Taken if the frame's previous call was of another region, or there is no room for a frame. */
__attribute__((noinline)) static uint64_t enter_another(struct pml__event_buffer *b, pml_region_t region,
                                                        uint64_t ticks) {
  if (PML_UNLIKELY(b->top == b->last || !is_named(b, region))) return enter_limited(b, region, ticks);
  b->top[1].word = PML__LOG_WORD(PML__LOG_ENTER, region);
  return pml__events_enter_fast(b, region, ticks);
}

/* Contains the common case only, and the other functions repeat its checks, so that it needs few registers. */
uint64_t pml__events_enter_fast(void *data, pml_region_t region, uint64_t ticks) {
  struct pml__event_buffer *b = data;
  struct pml__events_frame *f = b->top;
  struct pml__log_event *at = b->place.next;
  if (PML_UNLIKELY(at >= b->enters_end)) return enter_limited(b, region, ticks);
  if (PML_UNLIKELY(ticks < b->place.last_ticks)) return enter_limited(b, region, ticks);
  if (PML_UNLIKELY((pml_region_t)f[1].word != region)) return enter_another(b, region, ticks);
  b->place.last_ticks = ticks;
  pml__events_put_enter(b, at, ticks, PML__OWN_AGAIN(f[1].word));
  return 0;
}

__attribute__((noinline)) static uint64_t leave_limited(struct pml__event_buffer *b, pml_region_t region,
                                                        uint64_t ticks) {
  struct pml__events_frame *f = b->top;
  if (b->overflow > 0 || b->place.next == b->place.end || f == b->frame || pml__events_region_of(f) != region)
    return ticks;
  if (f->enter != NULL && b->recording->limits.min_ticks != 0) {
    bool last = b->place.next == f->enter + 1;
    if (PML_UNLIKELY(!last && pml__events_has_values(f->enter))) return ticks;
    if (last && pml__events_take_back(b, f->enter, region, ticks)) {
      b->top--;
      return 0;
    }
  }
  if (f->enter != NULL)
    pml__events_end_call(b, region, pml__events_lift(b, ticks));
  else
    b->top--;
  return 0;
}

/* Leave a call that has other events inside. */
__attribute__((noinline)) static uint64_t leave_outer(struct pml__event_buffer *b, pml_region_t region,
                                                      uint64_t ticks) {
  if (PML_UNLIKELY(ticks < b->place.last_ticks)) return leave_limited(b, region, ticks);
  b->place.last_ticks = ticks;
  pml__events_put_leave(b, ticks, PML__LOG_WORD(PML__LOG_LEAVE, region));
  return 0;
}

uint64_t pml__events_leave_fast(void *data, pml_region_t region, uint64_t ticks) {
  struct pml__event_buffer *b = data;
  const struct pml__events_frame *f = b->top;
  const struct pml__log_event *next = b->place.next;
  if (PML_UNLIKELY(next >= b->leaves_end) || PML_UNLIKELY((pml_region_t)f->word != region))
    return leave_limited(b, region, ticks);
  struct pml__log_event *enter = f->enter;
  if ((uintptr_t)next - (uintptr_t)enter != sizeof *enter) return leave_outer(b, region, ticks);
  if (PML_UNLIKELY(!pml__events_make_whole(enter, ticks))) return leave_limited(b, region, ticks);
  pml__own_move(&b->top, f, -(ptrdiff_t)sizeof *f);
  b->place.last_ticks = ticks;
  return 0;
}

/* Whether @e has the recording's metrics, and there is room for its values and @events more. */
static bool has_room_for(const struct pml__event_buffer *b, const struct pml_stream_event *e, size_t events) {
  size_t room = (size_t)(b->place.end - b->place.next);
  return e->metrics == b->recording->metrics && room >= pml__events_of_values(e->metrics) + events;
}

uint64_t pml__events_enter_fast_values(void *data, const struct pml_stream_event *e) {
  struct pml__event_buffer *b = data;
  if (PML_UNLIKELY(!has_room_for(b, e, PML__EVENTS_OF_ENTER))) return e->ticks;
  if (PML_UNLIKELY(pml__events_enter_fast(b, e->region, e->ticks) != 0)) return e->ticks;
  if (PML_LIKELY(b->top->enter != NULL)) pml__events_put_values(b, e, b->place.last_ticks, 0);
  return 0;
}

uint64_t pml__events_leave_fast_values(void *data, const struct pml_stream_event *e) {
  struct pml__event_buffer *b = data;
  const struct pml__events_frame *f = b->top;
  if (PML_UNLIKELY(b->overflow > 0 || f == b->frame || pml__events_region_of(f) != e->region)) return e->ticks;
  if (PML_UNLIKELY(b->recording->limits.min_ticks != 0 || !has_room_for(b, e, 1))) return e->ticks;
  if (PML_UNLIKELY(f->enter == NULL)) {
    b->top--;
    return 0;
  }
  uint64_t ticks = pml__events_lift(b, e->ticks);
  pml__events_put_values(b, e, ticks, 0);
  pml__events_put_leave(b, ticks, PML__LOG_WORD(PML__LOG_LEAVE, e->region));
  return 0;
}
