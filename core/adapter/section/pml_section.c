/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/section/pml_section.c - start and stop of sections. */
#include "adapter/section/pml_section.h"

#include "adapter/section/pml_section_interval.h"
#include "adapter/section/pml_section_private.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "base/stream/pml_stream_private.h"

#include <errno.h>
#include <float.h>
#include <string.h>

/* Out of line, so that the usual case needs no stack frame. */
#define RARE __attribute__((noinline, cold)) static
#define APART __attribute__((noinline)) static
#define INLINE __attribute__((always_inline)) static inline

static uint32_t plain(void) {
  return __atomic_load_n(&pml__section_plain, __ATOMIC_RELAXED);
}

/* Only events with consumers pay for the fields. Counts of calls take the place of the section's own values, because an
 * event has one list of them. */
static inline void emit(enum pml_stream_kind kind, const struct pml_section *s, uint64_t ticks,
                        const uint64_t *values) {
  if (PML_LIKELY(!pml__stream_wanted(kind))) return;
  if (pml__stream_is_counting()) {
    (void)(kind == PML_STREAM_ENTER ? pml__stream_emit_enter : pml__stream_emit_leave)(s->region, ticks);
    return;
  }
  struct pml_stream_event e = {
      .ticks = ticks, .region = s->region, .metrics = values != NULL ? s->list->metrics : NULL, .values = values};
  pml__stream_emit(kind, &e);
}

/* ---- start ---- */

static inline struct pml__section_frame *push(struct pml_section *s, struct pml__section_stat *stat) {
  struct pml__section_frame *f = pml__section_mine.top + 1;
  pml__own_move(&pml__section_mine.top, f - 1, sizeof *f);
  (void)pml__own_add32_release(&stat->depth, 1);
  f->section = s;
  f->stat = stat;
  f->child = 0;
  return f;
}

static void add_misuse(struct pml__section_stat *stat, enum pml_section_misuse m) {
  if (stat->misuse[m] != UINT32_MAX) PML__SECTION_SET(stat->misuse[m], stat->misuse[m] + 1);
}

static void count_misuse(struct pml__section_stat *stat, enum pml_section_misuse m) {
  pml__section_begin_update(stat);
  add_misuse(stat, m);
  pml__section_end_update(stat);
}

/* A section's first start on a thread, all starts without a counter clock, and misuse. */
RARE int start_slow(struct pml_section *s) {
  if (!pml__section_on()) return 0; /* other languages have not asked whether it is 0 */
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
  pml_stream_prepare(s->region);
  if (s->list != NULL) {
    row = pml__section_mine.top[1].room;
    err = pml__section_read(t, s->list, row);
    if (err >= 0 && pml__section_own(stat)->value != NULL && !pml__section_is_unsettled(s->list))
      pml__section_own(stat)->set = t->set[s->list->index].set;
  }
  struct pml__section_frame *f = push(s, stat);
  f->row = err >= 0 ? row : NULL;
  f->ticks = pml_clock_ticks();
  emit(PML_STREAM_ENTER, s, f->ticks, f->row);
  return err < 0 ? err : 0;
}

/* Sections with events or a series, whose events their thread has read before: then each frame has room for values. */
APART int start_counted(struct pml_section *s) {
  if (PML_UNLIKELY(s == NULL || s->index >= pml__section_mine.nknown)) return start_slow(s);
  struct pml__section_stat *stat = pml__section_mine.known[s->index];
  struct pml__section_own *own = pml__section_own(stat);
  if (PML_UNLIKELY(own->epoch != ~plain() || pml__section_mine.top == pml__section_mine.last)) return start_slow(s);
  uint64_t *row = NULL;
  if (PML_LIKELY(s->list != NULL)) {
    row = pml__section_mine.top[1].room;
    if (PML_UNLIKELY(own->set == NULL) || PML_UNLIKELY(pml_eventset_read(own->set, row) < 0)) return start_slow(s);
  }
  uint64_t ticks = pml__clock_counter();
  struct pml__section_frame *f = push(s, stat);
  f->row = row;
  f->ticks = ticks;
  emit(PML_STREAM_ENTER, s, ticks, row);
  return 0;
}

/* The work after the clock read takes no longer than the read itself, which waits for the work before. */
int pml__section_start(struct pml_section *s) {
  if (PML_UNLIKELY(s == NULL || s->plain_index >= pml__section_mine.nknown)) return start_counted(s);
  struct pml__section_stat *stat = pml__section_mine.known[s->plain_index];
  uint64_t ticks = pml__clock_counter();
  if (PML_UNLIKELY(pml__section_own(stat)->epoch != plain() || pml__section_mine.top == pml__section_mine.last))
    return start_slow(s);
  push(s, stat)->ticks = ticks;
  return PML_LIKELY(!pml__stream_wanted(PML_STREAM_ENTER)) ? 0 : pml__stream_emit_enter(s->region, ticks);
}

/* ---- stop ---- */

/* The clock may differ by a few ticks between cpus: a duration is never below 0. */
static inline uint64_t since(uint64_t start, uint64_t now) {
  uint64_t d;
  if (PML_UNLIKELY(__builtin_sub_overflow(now, start, &d))) {
    __asm__(""); /* or it becomes a conditional move, which takes more */
    d = 0;
  }
  return d;
}

static inline void add_call(struct pml__section_stat *stat, uint64_t d, const struct pml__section_frame *f) {
  pml__own_add_square_release(stat->calls.square, d);
  pml__own_add_release(&stat->calls.count, 1);
  pml__own_add_release(&stat->calls.sum, d);
  pml__own_add_release(&stat->self, since(f->child, d));
  if (PML_UNLIKELY(d < stat->calls.min)) PML__SECTION_SET(stat->calls.min, d);
  if (PML_UNLIKELY(d > stat->calls.max)) PML__SECTION_SET(stat->calls.max, d);
  if (PML_UNLIKELY(pml__own_take32_release(&stat->depth))) pml__own_add_release(&stat->recurred, d);
}

/* @work and @iterations to add; an invalid workload is counted. */
static inline int add_work(struct pml__section_stat *stat, double work, uint64_t iterations) {
  if (PML_UNLIKELY(!(work >= 0 && work <= DBL_MAX))) {
    add_misuse(stat, PML_SECTION_WORK);
    return -EINVAL;
  }
  double sum = stat->work + work;
  __atomic_store(&stat->work, &sum, __ATOMIC_RELEASE);
  pml__own_add_release(&stat->iterations, iterations);
  return 0;
}

RARE int bad_work(const struct pml_section *s) {
  return pml_fail(-EINVAL, "the workload of section %.200s is negative or not a number", s->label);
}

APART void record(struct pml_recorder *r, struct pml__section_stat *stat, uint64_t d) {
  if (pml_recorder_push_double(r, (double)d) < 0) count_misuse(stat, PML_SECTION_UNRECORDED);
}

/* Doubles, and the first values. */
RARE void add_values_slow(const struct pml_section *s, struct pml__section_stat *stat, const uint64_t *before,
                          const uint64_t *after) {
  if (!pml__section_add_values(s, stat, before, after)) add_misuse(stat, PML_SECTION_UNREAD);
}

/*
 * Frame @f, of @s and @stat, ends after @d ticks with @values (NULL: it has no events, or they were not read at its
 * start or now); the caller removes it from the stack. Events inside recursive calls are counted by the outermost call.
 */
INLINE int end_call(const struct pml__section_frame *f, const struct pml_section *s, struct pml__section_stat *stat,
                    uint64_t d, const uint64_t *values, const double *work, uint64_t iterations) {
  int err = 0;
  pml__section_begin_update(stat);
  if (values == NULL && s->list != NULL) {
    add_misuse(stat, PML_SECTION_UNREAD);
  } else if (values != NULL && PML_LIKELY(stat->depth == 1)) {
    if (PML_UNLIKELY(pml__section_own(stat)->set == NULL) || PML_UNLIKELY(!pml__section_is_plain(s->list)))
      add_values_slow(s, stat, f->row, values);
    else
      pml__section_add_counts(stat, s->list->metrics->n, f->row, values);
  }
  add_call(stat, d, f);
  if (work != NULL) err = add_work(stat, *work, iterations);
  pml__section_end_update(stat);
  if (PML_UNLIKELY(s->recorder != NULL)) record(s->recorder, stat, d);
  return err < 0 ? bad_work(s) : 0;
}

/* A stop that has no start on this thread: whose is it? */
RARE int stop_unmatched(struct pml__section_thread *t, const struct pml_section *s) {
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
  size_t above = (size_t)(pml__section_mine.top - f), below = (size_t)(f - t->frame);
  uint64_t *room = f->room;
  if (above <= below) {
    memmove(f, f + 1, above * sizeof *f);
    pml__section_mine.top->room = room;
    pml__section_mine.top--;
  } else {
    memmove(t->frame + 1, t->frame, below * sizeof *f);
    t->frame->room = room;
    t->frame++;
  }
}

/* A section that was started inside *@f and is still running owns the time from its start: it is not self time of this
 * section, and is not added to the section around now, because its stop adds it. */
static void charge(struct pml__section_frame *f, uint64_t ticks) {
  uint64_t d = since(f->ticks, ticks), inner = f < pml__section_mine.top ? since(f[1].ticks, ticks) : 0;
  f->child += inner;
  f[-1].child += since(inner, d);
}

static void emit_leaves(const struct pml__section_frame *f, uint64_t ticks, const uint64_t *values) {
  if (!pml__stream_wanted(PML_STREAM_LEAVE) && !pml__stream_wanted(PML_STREAM_ENTER)) return;
  for (const struct pml__section_frame *above = pml__section_mine.top; above > f; above--)
    emit(PML_STREAM_LEAVE, above->section, ticks, NULL);
  emit(PML_STREAM_LEAVE, f->section, ticks, values);
  for (const struct pml__section_frame *above = f + 1; above <= pml__section_mine.top; above++)
    emit(PML_STREAM_ENTER, above->section, ticks, NULL);
}

/* The innermost of @s, looked for from both ends: a section that is open once is also the innermost from below. */
static struct pml__section_frame *frame_of(struct pml__section_thread *t, const struct pml_section *s) {
  const struct pml__section_stat *stat = pml__section_stat_at(t, s->index);
  if (stat == NULL || stat->depth == 0) return NULL;
  struct pml__section_frame *low = t->frame + 1, *f = pml__section_mine.top;
  for (; f > t->frame && f->section != s; f--, low++)
    if (low->section == s && stat->depth == 1) return low;
  return f > t->frame ? f : NULL;
}

/* Stops of a section that is not the innermost, or was reset, all stops without a counter clock, and misuse. */
RARE int stop_slow(struct pml_section *s, const double *work, uint64_t iterations) {
  uint64_t ticks = pml_clock_ticks();
  if (!pml__section_on()) return 0;
  if (s == NULL) return pml_fail(-EINVAL, "no section to stop");
  struct pml__section_thread *t = pml__section_thread();
  if (t == NULL) return pml_fail(-ENOMEM, "no memory for section %.200s", s->label);
  struct pml__section_frame *f = frame_of(t, s);
  if (f == NULL) return stop_unmatched(t, s);
  uint64_t now[PML_SECTION_EVENTS_MAX];
  int err = 0;
  (void)pml__section_stat_of(t, s); /* the block exists; it may be from before a reset */
  const uint64_t *values = NULL;
  /* Only the set of the start: a set opened now has counted no events. */
  if (s->list != NULL && f->row != NULL && pml__section_has_set(t, s->list)) {
    err = pml__section_read(t, s->list, now);
    if (err >= 0) values = now;
  }
  if (f != pml__section_mine.top && s->interface[0] == '\0') count_misuse(f->stat, PML_SECTION_CROSSED);
  charge(f, ticks);
  emit_leaves(f, ticks, values);
  int wrong = end_call(f, s, f->stat, since(f->ticks, ticks), values, work, iterations);
  take_out(t, f);
  return err < 0 ? err : wrong;
}

/* As start_counted(), of the innermost section. */
INLINE int stop_with_values(struct pml_section *s, const double *work, uint64_t iterations) {
  struct pml__section_frame *f = pml__section_mine.top;
  struct pml__section_stat *stat = f->stat;
  struct pml__section_own *own = pml__section_own(stat);
  uint64_t now[PML_SECTION_EVENTS_MAX], *values = NULL;
  if (PML_UNLIKELY(f->section != s || own->epoch != ~plain())) return stop_slow(s, work, iterations);
  uint64_t ticks = pml__clock_counter();
  if (PML_LIKELY(f->row != NULL)) {
    if (PML_UNLIKELY(own->set == NULL) || PML_UNLIKELY(pml_eventset_read(own->set, now) < 0))
      return stop_slow(s, work, iterations);
    values = now;
  }
  uint64_t d = since(f->ticks, ticks);
  int err = end_call(f, s, stat, d, values, work, iterations);
  f[-1].child += d;
  pml__own_move(&pml__section_mine.top, f, -(ptrdiff_t)sizeof *f);
  emit(PML_STREAM_LEAVE, s, ticks, values);
  return err;
}

APART int stop_counted(struct pml_section *s) {
  return stop_with_values(s, NULL, 0);
}

/* Stop the innermost section, which has no events and series. */
INLINE int stop_plain(struct pml_section *s, uint64_t ticks, const double *work, uint64_t iterations) {
  struct pml__section_frame *f = pml__section_mine.top;
  struct pml__section_stat *stat = f->stat;
  uint64_t d = since(f->ticks, ticks);
  int err = 0;
  pml__section_begin_update(stat);
  add_call(stat, d, f);
  if (work != NULL) err = add_work(stat, *work, iterations);
  pml__section_end_update(stat);
  f[-1].child += d;
  pml__own_move(&pml__section_mine.top, f, -(ptrdiff_t)sizeof *f);
  int emitted = PML_LIKELY(!pml__stream_wanted(PML_STREAM_LEAVE)) ? 0 : pml__stream_emit_leave(s->region, ticks);
  return PML_LIKELY(err == 0) ? emitted : bad_work(s);
}

/* The innermost section, as most are. */
static inline bool is_plain(const struct pml_section *s) {
  const struct pml__section_frame *f = pml__section_mine.top;
  return PML_LIKELY(f->section == s && pml__section_own(f->stat)->epoch == plain());
}

int pml__section_stop(struct pml_section *s) {
  return is_plain(s) ? stop_plain(s, pml__clock_counter(), NULL, 0) : stop_counted(s);
}

/* Only here the workload is in memory. */
APART int stop_counted_work(struct pml_section *s, double work, uint64_t iterations) {
  return stop_with_values(s, &work, iterations);
}

int pml__section_stop_work(struct pml_section *s, double work, uint64_t iterations) {
  return is_plain(s) ? stop_plain(s, pml__clock_counter(), &work, iterations) : stop_counted_work(s, work, iterations);
}

/* ---- calls that are in no call tree ---- */

int pml_section_interval(struct pml_section *s, uint64_t from, uint64_t to) {
  static const struct pml__section_frame alone = {.child = 0};
  if (!pml__section_on()) return 0;
  if (s == NULL) return pml_fail(-EINVAL, "no section to count a call of");
  struct pml__section_stat *stat =
      s->plain_index < pml__section_mine.nknown ? pml__section_mine.known[s->plain_index] : NULL;
  if (PML_UNLIKELY(stat == NULL || pml__section_own(stat)->epoch != plain())) {
    struct pml__section_thread *t = pml__section_thread();
    stat = t != NULL ? pml__section_stat_of(t, s) : NULL;
    if (stat == NULL) return pml_fail(-ENOMEM, "no memory for section %.200s", s->label);
  }
  uint64_t d = since(from, to);
  pml__section_begin_update(stat);
  pml__own_add32(&stat->depth, 1); /* add_call() takes it back; calls under way contain no time of this one */
  uint32_t under_way = stat->depth - 1;
  add_call(stat, d, &alone);
  if (PML_UNLIKELY(under_way > 0)) pml__own_add_release(&stat->recurred, -d);
  pml__section_end_update(stat);
  if (PML_UNLIKELY(s->recorder != NULL)) record(s->recorder, stat, d);
  if (PML_LIKELY(!pml__stream_wanted(PML_STREAM_INTERVAL))) return 0;
  const struct pml_stream_event e = {.ticks = to, .region = s->region, .values = &from};
  pml__stream_emit(PML_STREAM_INTERVAL, &e);
  return 0;
}

/* ---- by label ---- */

/* The label's address says where to look, its bytes whether it is the one: a buffer may hold another label by now. */
static inline size_t place_of(const char *label) {
  return ((uintptr_t)label ^ (uintptr_t)label >> 9) % PML__SECTION_CACHE;
}

/* NULL: the thread has not met it. */
static inline struct pml_section *met(const char *label) {
  const struct pml__section_labels *labels = pml__section_mine.labels;
  size_t at = place_of(label);
  struct pml_section *found = labels->cache[at].section;
  bool same = found != NULL && labels->cache[at].at == label && strcmp(found->label, label) == 0;
  return PML_LIKELY(same) ? found : NULL;
}

/* Without memory for it the label is looked up by its text each time. */
RARE int meet(const char *label, struct pml_section **s) {
  int err = pml__section_by_label(label, s);
  if (err < 0 || pml__section_thread() == NULL) return err;
  if (pml__section_mine.labels == &pml__section_no_labels) {
    struct pml__section_labels *labels = pml__section_piece();
    if (labels == NULL) return 0;
    pml__section_mine.labels = labels;
  }
  size_t at = place_of(label);
  pml__section_mine.labels->cache[at].at = label;
  pml__section_mine.labels->cache[at].section = *s;
  return 0;
}

/* @act: start or stop. */
RARE int meet_and(int (*act)(struct pml_section *s), const char *label) {
  struct pml_section *s;
  int err = meet(label, &s);
  return err < 0 ? err : act(s);
}

int pml__section_start_label(const char *label) {
  struct pml_section *s = met(label);
  return PML_LIKELY(s != NULL) ? pml__section_start(s) : meet_and(pml__section_start, label);
}

int pml__section_stop_label(const char *label) {
  struct pml_section *s = met(label);
  return PML_LIKELY(s != NULL) ? pml__section_stop(s) : meet_and(pml__section_stop, label);
}

int pml__section_stop_label_work(const char *label, double work, uint64_t iterations) {
  struct pml_section *s = met(label);
  int err = s != NULL ? 0 : meet(label, &s);
  return err < 0 ? err : pml__section_stop_work(s, work, iterations);
}
