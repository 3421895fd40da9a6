/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/section/pml_section.c - start and stop of sections: the usual case in a few lines, and all others. */
#include "adapter/section/pml_section.h"

#include "adapter/section/pml_section_private.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "base/stream/pml_stream_private.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Out of line, so that the usual case needs no stack frame of its own. */
#define RARE __attribute__((noinline, cold))

static uint32_t state(void) {
  return __atomic_load_n(&pml__section_state, __ATOMIC_RELAXED);
}

/* Inline, with a constant kind: only events with consumers pay for the fields, and calls the only one directly. */
static inline void tell(enum pml_stream_kind kind, const struct pml_section *s, uint64_t ticks,
                        const uint64_t *values) {
  if (PML_LIKELY(!pml__stream_wanted(kind))) return;
  struct pml_stream_event e = {ticks, s->region, values != NULL ? s->list->metrics : NULL, values};
  pml__stream_hand(kind, &e);
}

/* The same without values, as the last of a start or stop: these need no frame of their own if nothing consumes. */
__attribute__((noinline)) static int tell_enter(pml_region_t region, uint64_t ticks) {
  pml__stream_tell(PML_STREAM_ENTER, region, ticks);
  return 0;
}
__attribute__((noinline)) static int tell_leave(pml_region_t region, uint64_t ticks) {
  pml__stream_tell(PML_STREAM_LEAVE, region, ticks);
  return 0;
}

/* The clock is read without a call. */
static inline bool has_counter(void) {
  return PML_LIKELY(pml__clock.kind == PML_CLOCK_COUNTER);
}

/* ---- start ---- */

/* The statistics of a section whose block is there, or NULL. */
static inline struct pml__section_stat *stat_here(struct pml__section_thread *t, uint32_t index) {
  if (PML_UNLIKELY(index >= t->nstats)) return NULL;
  struct pml__section_stat *block = t->block[index / PML__SECTION_BLOCK];
  return PML_LIKELY(block != NULL) ? &block[index % PML__SECTION_BLOCK] : NULL;
}

static inline struct pml__section_frame *push(struct pml__section_thread *t, struct pml_section *s,
                                              struct pml__section_stat *stat) {
  struct pml__section_frame *f = ++t->top;
  (void)pml__own_add32_release(&stat->depth, 1);
  f->section = s;
  f->stat = stat;
  f->child = 0;
  f->row = NULL;
  return f;
}

static void count_misuse(struct pml__section_stat *stat, enum pml_section_misuse m) {
  pml__section_begin_update(stat);
  if (stat->misuse[m] != UINT32_MAX) PML__SECTION_SET(stat->misuse[m], stat->misuse[m] + 1);
  pml__section_end_update(stat);
}

RARE static int start_rare(struct pml_section *s) {
  if (s == NULL) return pml_fail(-EINVAL, "no section to start");
  struct pml__section_thread *t = pml__section_thread();
  struct pml__section_stat *stat = t != NULL ? pml__section_stat_of(t, s) : NULL;
  if (stat == NULL) return pml_fail(-ENOMEM, "no memory to start section %.200s", s->label);
  int err = pml__section_deepen(t, s->list != NULL);
  if (err < 0) {
    count_misuse(stat, PML_SECTION_UNSTARTED);
    return pml_fail(err, "section %.200s is %s", s->label, pml_section_misuse_text(PML_SECTION_UNSTARTED));
  }
  uint64_t *row = NULL;
  pml_stream_ready(s->region);
  if (s->list != NULL) {
    row = t->top[1].room;
    err = pml__section_read(t, s->list, row);
    if (err < 0) count_misuse(stat, PML_SECTION_UNREAD);
  }
  struct pml__section_frame *f = push(t, s, stat);
  if (err >= 0) f->row = row;
  f->ticks = pml_clock_ticks();
  tell(PML_STREAM_ENTER, s, f->ticks, f->row);
  return err < 0 ? err : 0;
}

/* Sections with events or a series, once their thread has all that they need. */
__attribute__((noinline)) static int start_counted(struct pml_section *s) {
  struct pml__section_thread *t = pml__section_self;
  struct pml__section_stat *stat = stat_here(t, s->index);
  if (PML_UNLIKELY(stat == NULL || t->top + 1 == t->limit || pml__section_own(stat)->epoch != state()))
    return start_rare(s);
  uint64_t *row = NULL;
  if (s->list != NULL) {
    row = t->top[1].room;
    if (PML_UNLIKELY(row == NULL || !pml__section_has_set(t, s->list))) return start_rare(s);
    if (PML_UNLIKELY(pml_eventset_read(t->set[s->list->index].set, row) < 0)) return start_rare(s);
  }
  struct pml__section_frame *f = push(t, s, stat);
  f->row = row;
  uint64_t ticks = f->ticks = pml_clock_ticks();
  tell(PML_STREAM_ENTER, s, ticks, row);
  return 0;
}

int pml__section_start(struct pml_section *s) {
  struct pml__section_thread *t = pml__section_self;
  uint32_t epoch = state();
  if (PML_UNLIKELY(epoch == 0)) return 0; /* other languages have not asked before */
  if (PML_UNLIKELY(s == NULL)) return start_rare(s);
  if (PML_UNLIKELY(s->counted)) return start_counted(s);
  struct pml__section_stat *stat = stat_here(t, s->index);
  if (PML_UNLIKELY(stat == NULL || t->top + 1 == t->limit || pml__section_own(stat)->epoch != epoch || !has_counter()))
    return start_rare(s);
  struct pml__section_frame *f = push(t, s, stat);
  uint64_t ticks = f->ticks = pml__clock_counter();
  return PML_LIKELY(!pml__stream_wanted(PML_STREAM_ENTER)) ? 0 : tell_enter(s->region, ticks);
}

/* ---- stop ---- */

/* The clock may differ by a few ticks between cpus: a duration is never below 0. */
static inline uint64_t since(uint64_t start, uint64_t now) {
  uint64_t d = now - start;
  if (PML_UNLIKELY(now < start)) {
    __asm__(""); /* or it becomes a conditional move, which takes more */
    d = 0;
  }
  return d;
}

static inline void add_call(struct pml__section_stat *stat, uint64_t d, uint64_t child) {
  pml__own_add_release(&stat->calls.count, 1);
  pml__own_add_release(&stat->calls.sum, d);
  pml__own_add_release(&stat->self, since(child, d));
  unsigned __int128 square = (unsigned __int128)d * d;
  pml__own_add128_release(stat->calls.square, (uint64_t)square, (uint64_t)(square >> 64));
  if (PML_UNLIKELY(d < stat->calls.min)) PML__SECTION_SET(stat->calls.min, d);
  if (PML_UNLIKELY(d > stat->calls.max)) PML__SECTION_SET(stat->calls.max, d);
  if (PML_UNLIKELY(pml__own_take32_release(&stat->depth))) pml__own_add_release(&stat->recurred, d);
}

/* @work and @iterations to add; an invalid workload is counted. */
static inline int add_work(struct pml__section_stat *stat, double work, uint64_t iterations) {
  if (PML_UNLIKELY(!(work >= 0) || isinf(work))) {
    PML__SECTION_SET(stat->misuse[PML_SECTION_WORK], stat->misuse[PML_SECTION_WORK] + 1);
    return -EINVAL;
  }
  double sum = stat->work + work;
  __atomic_store(&stat->work, &sum, __ATOMIC_RELEASE);
  PML__SECTION_SET(stat->iterations, stat->iterations + iterations);
  return 0;
}

RARE static int bad_work(const struct pml_section *s) {
  return pml_fail(-EINVAL, "the workload of section %.200s is negative or not a number", s->label);
}

/*
 * Frame @f ends at @ticks with @values (may be NULL); the caller removes it from the stack. What is counted inside
 * a call of itself is counted by the outermost.
 */
static inline int end_call(const struct pml__section_frame *f, uint64_t ticks, const uint64_t *values,
                           const double *work, uint64_t iterations) {
  struct pml__section_stat *stat = f->stat;
  struct pml_recorder *r = f->section->recorder;
  uint64_t d = since(f->ticks, ticks);
  int err = 0;
  pml__section_begin_update(stat);
  bool added = values == NULL || stat->depth != 1 || pml__section_add_values(f->section, stat, f->row, values);
  add_call(stat, d, f->child);
  if (work != NULL) err = add_work(stat, *work, iterations);
  pml__section_end_update(stat);
  if (PML_UNLIKELY(!added)) count_misuse(stat, PML_SECTION_UNREAD);
  if (r != NULL && pml_recorder_push_double(r, (double)d) < 0) count_misuse(stat, PML_SECTION_UNRECORDED);
  return err < 0 ? bad_work(f->section) : 0;
}

/* A stop that has no start on this thread: whose is it? */
RARE static int stop_unmatched(struct pml__section_thread *t, const struct pml_section *s) {
  struct pml__section_stat *stat = pml__section_stat_of(t, s);
  if (stat == NULL) return pml_fail(-ENOMEM, "no memory for section %.200s", s->label);
  bool elsewhere = false;
  pml__section_lock_take();
  for (struct pml__section_thread *o = pml__section_threads(); o != NULL && !elsewhere; o = o->next) {
    struct pml__section_stat *other = o != t ? pml__section_stat_at(o, s->index) : NULL;
    elsewhere = other != NULL && PML__SECTION_GET(other->depth) > 0;
  }
  pml__section_lock_leave();
  count_misuse(stat, elsewhere ? PML_SECTION_FOREIGN : PML_SECTION_UNMATCHED);
  return pml_fail(-EINVAL, "section %.200s was stopped %s", s->label,
                  pml_section_misuse_text(elsewhere ? PML_SECTION_FOREIGN : PML_SECTION_UNMATCHED) +
                      strlen("stopped "));
}

/*
 * *@f is gone: the frames on its shorter side move by one, so that neither the oldest nor the newest of many costs
 * more. Rows of values stay where they are, and go with their frames.
 */
static void take_out(struct pml__section_thread *t, struct pml__section_frame *f) {
  size_t above = (size_t)(t->top - f), below = (size_t)(f - t->frame);
  uint64_t *room = f->room;
  if (above <= below) {
    memmove(f, f + 1, above * sizeof *f);
    t->top->room = room;
    t->top--;
  } else {
    memmove(t->frame + 1, t->frame, below * sizeof *f);
    t->frame->room = room;
    t->frame++;
  }
}

/*
 * What was started inside *@f and goes on has the time from its start for itself: none of it is this section's own,
 * nor, since it will be told to the section around at that stop, told now.
 */
static void charge(struct pml__section_thread *t, struct pml__section_frame *f, uint64_t ticks) {
  uint64_t d = since(f->ticks, ticks), inner = f < t->top ? since(f[1].ticks, ticks) : 0;
  f->child += inner;
  f[-1].child += since(inner, d);
}

static void tell_leaves(struct pml__section_thread *t, const struct pml__section_frame *f, uint64_t ticks,
                        const uint64_t *values) {
  if (!pml__stream_wanted(PML_STREAM_LEAVE) && !pml__stream_wanted(PML_STREAM_ENTER)) return;
  for (const struct pml__section_frame *above = t->top; above > f; above--)
    tell(PML_STREAM_LEAVE, above->section, ticks, NULL);
  tell(PML_STREAM_LEAVE, f->section, ticks, values);
  for (const struct pml__section_frame *above = f + 1; above <= t->top; above++)
    tell(PML_STREAM_ENTER, above->section, ticks, NULL);
}

/* The innermost of @s, looked for from both ends: a section that is open once is also the innermost from below. */
static struct pml__section_frame *frame_of(struct pml__section_thread *t, const struct pml_section *s) {
  const struct pml__section_stat *stat = pml__section_stat_at(t, s->index);
  if (stat == NULL || stat->depth == 0) return NULL;
  struct pml__section_frame *low = t->frame + 1, *f = t->top;
  for (; f > t->frame && f->section != s; f--, low++)
    if (low->section == s && stat->depth == 1) return low;
  return f > t->frame ? f : NULL;
}

RARE static int stop_rare(struct pml_section *s, uint64_t ticks, const double *work, uint64_t iterations) {
  if (s == NULL) return pml_fail(-EINVAL, "no section to stop");
  struct pml__section_thread *t = pml__section_thread();
  if (t == NULL) return pml_fail(-ENOMEM, "no memory for section %.200s", s->label);
  struct pml__section_frame *f = frame_of(t, s);
  if (f == NULL) return stop_unmatched(t, s);
  uint64_t now[PML_SECTION_EVENTS_MAX];
  int err = 0;
  (void)pml__section_stat_of(t, s); /* there is a block; it may be of before a reset */
  const uint64_t *values = NULL;
  if (f->row != NULL) {
    err = pml__section_read(t, s->list, now);
    if (err < 0)
      count_misuse(f->stat, PML_SECTION_UNREAD);
    else
      values = now;
  }
  if (f != t->top) count_misuse(f->stat, PML_SECTION_CROSSED);
  charge(t, f, ticks);
  tell_leaves(t, f, ticks, values);
  int wrong = end_call(f, ticks, values, work, iterations);
  take_out(t, f);
  return err < 0 ? err : wrong;
}

/* The same for stops: of the innermost section, with no reset since its start. */
__attribute__((noinline)) static int stop_recorded(struct pml_section *s, uint64_t ticks, const double *work,
                                                   uint64_t iterations) {
  struct pml__section_thread *t = pml__section_self;
  struct pml__section_frame *f = t->top;
  uint64_t now[PML_SECTION_EVENTS_MAX], *values = f->row != NULL ? now : NULL;
  if (values != NULL) {
    if (PML_UNLIKELY(!pml__section_has_set(t, s->list))) return stop_rare(s, ticks, work, iterations);
    if (PML_UNLIKELY(pml_eventset_read(t->set[s->list->index].set, now) < 0))
      return stop_rare(s, ticks, work, iterations);
  }
  int err = end_call(f, ticks, values, work, iterations);
  f[-1].child += since(f->ticks, ticks);
  t->top = f - 1;
  tell(PML_STREAM_LEAVE, s, ticks, values);
  return err;
}

/* What most sections with events are, in one frame: no series, no workload, all events are counts. */
__attribute__((noinline)) static int stop_counted(struct pml_section *s, uint64_t ticks, const double *work,
                                                  uint64_t iterations) {
  struct pml__section_thread *t = pml__section_self;
  struct pml__section_frame *f = t->top;
  struct pml__section_stat *stat = f->stat;
  const uint64_t *before = f->row;
  uint64_t now[PML_SECTION_EVENTS_MAX];
  if (PML_UNLIKELY(before == NULL || work != NULL || s->recorder != NULL || pml__section_own(stat)->value == NULL ||
                   stat->depth != 1 || !pml__section_has_set(t, s->list) || pml__section_any_real(s->list)))
    return stop_recorded(s, ticks, work, iterations);
  if (PML_UNLIKELY(pml_eventset_read(t->set[s->list->index].set, now) < 0))
    return stop_rare(s, ticks, work, iterations);
  uint64_t d = since(f->ticks, ticks);
  pml__section_begin_update(stat);
  pml__section_add_counts(stat, s->list->metrics->n, before, now);
  add_call(stat, d, f->child);
  pml__section_end_update(stat);
  f[-1].child += d;
  t->top = f - 1;
  tell(PML_STREAM_LEAVE, s, ticks, now);
  return 0;
}

__attribute__((always_inline)) static inline int stop(struct pml_section *s, uint64_t ticks, const double *work,
                                                      uint64_t iterations) {
  struct pml__section_thread *t = pml__section_self;
  struct pml__section_frame *f = t->top;
  uint32_t epoch = state();
  if (PML_UNLIKELY(epoch == 0)) return 0;
  if (PML_UNLIKELY(f->section != s || pml__section_own(f->stat)->epoch != epoch))
    return stop_rare(s, ticks, work, iterations);
  if (PML_UNLIKELY(s->counted)) return stop_counted(s, ticks, work, iterations);
  struct pml__section_stat *stat = f->stat;
  uint64_t d = since(f->ticks, ticks);
  int err = 0;
  pml__section_begin_update(stat);
  add_call(stat, d, f->child);
  if (work != NULL) err = add_work(stat, *work, iterations);
  pml__section_end_update(stat);
  f[-1].child += d;
  t->top = f - 1;
  int told = PML_LIKELY(!pml__stream_wanted(PML_STREAM_LEAVE)) ? 0 : tell_leave(s->region, ticks);
  return PML_LIKELY(err == 0) ? told : bad_work(s);
}

RARE static int stop_slowly(struct pml_section *s, const double *work, uint64_t iterations) {
  return stop(s, pml__clock_monotonic(), work, iterations);
}

int pml__section_stop(struct pml_section *s) {
  return has_counter() ? stop(s, pml__clock_counter(), NULL, 0) : stop_slowly(s, NULL, 0);
}

int pml__section_stop_work(struct pml_section *s, double work, uint64_t iterations) {
  return has_counter() ? stop(s, pml__clock_counter(), &work, iterations) : stop_slowly(s, &work, iterations);
}

/* ---- by label ---- */

/* The label's address says where to look, its bytes whether it is the one: a buffer may hold another label by now. */
static inline int labelled(const char *label, struct pml_section **s) {
  struct pml__section_thread *t = pml__section_self;
  size_t at = ((uintptr_t)label ^ (uintptr_t)label >> 9) % PML__SECTION_CACHE;
  struct pml_section *found = t->cache[at].section;
  if (PML_LIKELY(found != NULL && t->cache[at].at == label && strcmp(found->label, label) == 0)) {
    *s = found;
    return 0;
  }
  int err = pml__section_by_label(label, s);
  if (err == 0 && (t = pml__section_thread()) != NULL) {
    t->cache[at].at = label;
    t->cache[at].section = *s;
  }
  return err;
}

int pml__section_start_label(const char *label) {
  struct pml_section *s;
  int err = labelled(label, &s);
  return err < 0 ? err : pml__section_start(s);
}

int pml__section_stop_label(const char *label) {
  struct pml_section *s;
  int err = labelled(label, &s);
  return err < 0 ? err : pml__section_stop(s);
}

int pml__section_stop_label_work(const char *label, double work, uint64_t iterations) {
  struct pml_section *s;
  int err = labelled(label, &s);
  return err < 0 ? err : pml__section_stop_work(s, work, iterations);
}
