/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/events/pml_event_buffer.h - a thread's event buffer: append to its extent. Internal. All functions need
 * general registers only. */
#ifndef PML_EVENT_BUFFER_H
#define PML_EVENT_BUFFER_H

#include "base/pml_own.h"
#include "record/events/pml_recording_file.h"

/*
 * An open call. @enter: its enter in the thread's extent; pml__events_flushed: in an earlier extent; NULL:
 * omitted. @word is the word of the enter, if the log has the region's name; its lower half is the region. For an
 * omitted call the lower half is PML__EVENTS_NO_REGION, and the upper half is the region. The frame is left
 * unchanged when the call ends, because the next call in it is mostly of the same region.
 */
#define PML__EVENTS_NO_REGION UINT32_MAX
struct pml__events_frame {
  struct pml__log_event *enter;
  uint64_t word;
};
static inline pml_region_t pml__events_region_of(const struct pml__events_frame *f) {
  return (pml_region_t)(f->enter != NULL ? f->word : f->word >> 32);
}
struct pml__event_buffer {
  struct pml_recording *recording;
  struct pml_stream_place place;        /* next == end: there is no extent, or it is full */
  uint64_t *count;                      /* in the extent, or in the head */
  struct pml__events_frame *frame;      /* frame[0] belongs to no call */
  struct pml__events_frame *top, *last; /* innermost; the last usable one, before a frame without a region */
  uint32_t *mark;                       /* owned by the recording */
  /* Ends for enters and leaves that need not check limits or overflowing calls; NULL: all must check. */
  struct pml__log_event *enters_end, *leaves_end;
  uint64_t overflow; /* calls too deep for @frame, with top == last: their leaves come first */
  bool full;         /* no room any more, because later events would not be balanced */
  struct pml__log_buffer *extent;
  struct pml__log_entry *entry; /* its entry */
  uint32_t thread, tid;
  uint32_t list; /* number of @listed, the last other metrics whose values came */
  const struct pml_stream_metrics *listed;
  uint64_t listed_real[2]; /* its types as in the log */
  struct pml__event_buffer *following;
};

/* A thread with an extent counts in it; threads without an extent count in the head. */
static inline void pml__events_count(struct pml__event_buffer *b, enum pml__log_count which) {
  if (PML_LIKELY(b->extent != NULL))
    __atomic_store_n(&b->count[which], b->count[which] + 1, __ATOMIC_RELAXED);
  else
    __atomic_fetch_add(&b->count[which], 1, __ATOMIC_RELAXED);
}

/*
 * An event is written first and then counted, and its call begins or ends in between. A signal handler may leave by a
 * longjmp between any two stores, so their order is fixed, and repair() in pml_event_buffer.c detects how far they
 * got.
 */
static inline void pml__events_in_order(void) {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Overwrites zeros: the slot was never used, or was cleared. */
static inline void pml__events_write(struct pml__log_event *next, uint64_t ticks, uint64_t word) {
  next->ticks = ticks;
  __atomic_store_n(&next->word, word, __ATOMIC_RELEASE);
  pml__events_in_order();
}

/* Count the event at @next, which is written, and @follow more events behind it. */
static inline void pml__events_written(struct pml__event_buffer *b, const struct pml__log_event *next, size_t follow) {
  pml__events_in_order();
  pml__own_move(&b->place.next, next, (ptrdiff_t)((1 + follow) * sizeof *next));
}

/* @follow: number of following events with its values, which are written already. */
static inline void pml__events_put(struct pml__event_buffer *b, uint64_t ticks, uint64_t word, size_t follow) {
  struct pml__log_event *next = b->place.next;
  pml__events_write(next, ticks, word);
  pml__events_written(b, next, follow);
}

/* Write the enter of the frame above the top; and a leave of the innermost call. */
static inline void pml__events_put_enter(struct pml__event_buffer *b, struct pml__log_event *next, uint64_t ticks,
                                         uint64_t word) {
  b->top[1].enter = next;
  pml__events_write(next, ticks, word);
  pml__own_move(&b->top, b->top, sizeof *b->top);
  pml__events_written(b, next, 0);
}
static inline void pml__events_put_leave(struct pml__event_buffer *b, uint64_t ticks, uint64_t word) {
  struct pml__log_event *next = b->place.next;
  pml__events_write(next, ticks, word);
  pml__own_move(&b->top, b->top, -(ptrdiff_t)sizeof *b->top);
  pml__events_written(b, next, 0);
}

static inline uint64_t pml__events_lift(struct pml__event_buffer *b, uint64_t ticks) {
  if (PML_LIKELY(ticks >= b->place.last_ticks)) return b->place.last_ticks = ticks;
  pml__events_count(b, PML__LOG_LIFTED);
  return b->place.last_ticks;
}

/* Push a call without an enter in the file. */
static inline void pml__events_leave_out(struct pml__event_buffer *b, pml_region_t region) {
  b->top[1] = (struct pml__events_frame){.word = (uint64_t)region << 32 | PML__EVENTS_NO_REGION};
  pml__events_in_order();
  b->top++;
}

/* Room that an enter needs, so that its leave, if nothing is inside, and communication events of its call are in the
 * same extent. Removing a short call relies on this. */
#define PML__EVENTS_OF_ENTER (1 + PML_STREAM_FITS + 1)

/* Call after any change of the extent, its end, or the number of overflowing calls. */
static inline void pml__events_choose_ends(struct pml__event_buffer *b) {
  const struct pml_recording_limits *l = &b->recording->limits;
  bool whole = b->overflow == 0 && b->place.end != NULL;
  b->enters_end = whole && l->max_depth == 0 && l->max_calls == 0 ? b->place.end - PML__EVENTS_OF_ENTER + 1 : NULL;
  b->leaves_end = whole && l->min_ticks == 0 ? b->place.end : NULL;
  b->place.fits = b->extent != NULL && !b->full ? b->place.end - PML_STREAM_FITS : NULL;
}

/* Whether a limit omits this call, whose frame is the next. */
static inline bool pml__events_left_out(struct pml__event_buffer *b, pml_region_t region) {
  const struct pml_recording_limits *l = &b->recording->limits;
  if (l->max_depth != 0 && (uint64_t)(b->top - b->frame) + b->overflow >= l->max_depth) {
    pml__events_count(b, PML__LOG_DEEP);
    return true;
  }
  uint32_t *mark = &b->mark[region];
  if (l->max_calls == 0) return false;
  if ((__atomic_load_n(mark, __ATOMIC_RELAXED) & ~PML__RECORDING_NAMED) < l->max_calls &&
      (__atomic_fetch_add(mark, 1, __ATOMIC_RELAXED) & ~PML__RECORDING_NAMED) < l->max_calls)
    return false;
  pml__events_count(b, PML__LOG_OFTEN);
  return true;
}

/* Represents an enter in an earlier extent, whose memory may hold another event by now. */
extern struct pml__log_event pml__events_flushed[2];

/* The event after the enter, if there is one, may be values. */
static inline bool pml__events_has_values(const struct pml__log_event *enter) {
  return (enter[1].word >> 32 & 0xff) != PML__LOG_ENTER;
}

/* Turn the enter @enter, the last event, into a whole call that ends at @ticks, by one store. Returns false if the call
 * is too long, or the clock went back. */
static inline bool pml__events_make_whole(struct pml__log_event *enter, uint64_t ticks) {
  uint64_t took = ticks - enter->ticks;
  if (PML_UNLIKELY(took > PML__LOG_WHOLE_LONGEST)) return false;
  pml__own_add_release(&enter->word, (took + 1) << PML__LOG_WHOLE_SHIFT);
  return true;
}

/* End the innermost call without values. */
static inline void pml__events_end_call(struct pml__event_buffer *b, pml_region_t region, uint64_t ticks) {
  const struct pml__events_frame *f = b->top;
  if (f->enter + 1 != b->place.next || !pml__events_make_whole(f->enter, ticks))
    pml__events_put_leave(b, ticks, PML__LOG_WORD(PML__LOG_LEAVE, region));
  else
    pml__own_move(&b->top, f, -(ptrdiff_t)sizeof *f);
}

/* The number of events that values take: one, and one for each two values. */
static inline size_t pml__events_of_values(const struct pml_stream_metrics *m) {
  return 1 + ((size_t)m->n + 1) / 2;
}

/* There is room. @list: number of the metrics of @e; 0: the recording's. */
static inline void pml__events_put_values(struct pml__event_buffer *b, const struct pml_stream_event *e, uint64_t ticks,
                                          uint32_t list) {
  struct pml__log_event *at = b->place.next;
  uint64_t *value = (uint64_t *)(at + 1);
  for (uint32_t i = 0; i < e->metrics->n; i++)
    __atomic_store_n(&value[i], e->values[i], __ATOMIC_RELAXED); /* no call of memcpy() */
  if (list == 0) pml__recording_note_types(b->recording, e->metrics);
  pml__events_put(b, ticks, PML__LOG_WORD(PML__LOG_METRIC, PML__LOG_OF_LIST(list, e->metrics->n)),
                  (e->metrics->n + 1) / 2);
}

/* Remove the enter of a call that has ended, and its values, if the call was short and recorded no call inside. */
static inline bool pml__events_take_back(struct pml__event_buffer *b, struct pml__log_event *enter, pml_region_t region,
                                         uint64_t ticks) {
  if (ticks - enter->ticks >= b->recording->limits.min_ticks) return false;
  struct pml__log_event *at = b->place.next;
  b->place.next = enter;
  pml__events_in_order();
  while (at-- > enter) {
    __atomic_store_n(&at->word, 0, __ATOMIC_RELEASE);
    at->ticks = 0;
  }
  if (b->recording->limits.max_calls != 0) __atomic_fetch_sub(&b->recording->mark[region], 1, __ATOMIC_RELAXED);
  pml__events_count(b, PML__LOG_SHORT);
  return true;
}

/*
 * pml__event_buffer_new - an event buffer for events that a caller has, as of a thread @tid; the recording's. NULL: no
 * memory. pml__event_buffer_enter, _leave, _values - append; as pml_otf2_enter(), _leave() and _metric().
 */
PML__SHARED struct pml__event_buffer *pml__event_buffer_new(struct pml_recording *s, uint32_t tid);
PML__SHARED int pml__event_buffer_enter(struct pml__event_buffer *b, uint64_t ticks, pml_region_t region);
PML__SHARED int pml__event_buffer_leave(struct pml__event_buffer *b, uint64_t ticks, pml_region_t region);
PML__SHARED int pml__event_buffer_values(struct pml__event_buffer *b, uint64_t ticks, const uint64_t *values,
                                         uint32_t n);

/* For events without values. Not 0: a name or room is needed; nothing has changed. */
pml_stream_fast pml__events_enter_fast, pml__events_leave_fast;
/* For events with values. */
pml_stream_fast_values pml__events_enter_fast_values, pml__events_leave_fast_values;

#endif
