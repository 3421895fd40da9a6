/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/sampler/pml_sampler_fold.c - aggregation of samples by key. */
#include "source/kernel/sampler/pml_sampler_private.h"

#include "base/pml_error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KERNEL "[kernel]"
static const char unknown[] = "[unknown]";

/* A file, not "//anon" or "[heap]". */
static bool is_file(const char *name) {
  return name[0] == '/' && name[1] != '/';
}

static struct pml_sampler_frame frame_at(struct pml_sampler *s, const struct pml_sample *at, uint64_t ip) {
  struct pml_sampler_frame f = {.object = unknown, .place = ip};
  const struct pml__mapping *m = pml__maps_find(&s->maps, at->pid, at->time_ns, ip);
  if (m == NULL) return f;
  f.object = m->name;
  if (is_file(m->name)) f.place = ip - m->start + m->offset;
  return f;
}

static struct pml_sampler_frame innermost(struct pml_sampler *s, const struct pml_sample *at) {
  if (at->mode == PML_SAMPLE_USER) return frame_at(s, at, at->ip);
  return (struct pml_sampler_frame){.object = at->mode == PML_SAMPLE_KERNEL ? KERNEL : unknown, .place = at->ip};
}

struct pml_sampler_frame pml_sampler_where(struct pml_sampler *s, size_t i) {
  if (i >= s->samples) return (struct pml_sampler_frame){.object = unknown};
  return innermost(s, &s->sample[i]);
}

/*
 * The first address of a user stack is the sample's; the others are return addresses, so the call is before them. Code
 * that uses the frame pointer for other data ends the stack, because the address found there is not mapped.
 */
static uint32_t frames_of(struct pml_sampler *s, const struct pml_sample *at, struct pml_sampler_frame *frame) {
  uint32_t n = 0;
  const uint64_t *stack = s->stack + at->stack;
  frame[n++] = innermost(s, at);
  for (uint32_t i = at->mode == PML_SAMPLE_USER; s->options.calls && i < at->depth && frame[n - 1].object != unknown;
       i++)
    frame[n++] = frame_at(s, at, stack[i] - 1);
  return n;
}

/* Where in a file the variable at a sample's address would be: also behind what the file fills, where .bss is. */
static uint32_t file_of_data(struct pml_sampler *s, const struct pml_sample *at, struct pml_sampler_frame *frame) {
  const struct pml__mapping *m = pml__maps_below(&s->maps, at->pid, at->time_ns, at->address);
  if (m == NULL) return 0;
  *frame = (struct pml_sampler_frame){.object = m->name, .place = at->address - m->start + m->offset};
  return 1;
}

static void place_of_data(struct pml_sampler *s, const struct pml_sample *at, struct pml_sampler_row *row,
                          struct pml_sampler_frame *frame) {
  const struct pml__mapping *m = pml__maps_find(&s->maps, at->pid, at->time_ns, at->address);
  row->object = m != NULL ? m->name : unknown;
  row->frames = file_of_data(s, at, frame);
  row->frame = frame;
}

/* @frame: room for at->depth + 1 of them. */
static struct pml_sampler_row row_of(struct pml_sampler *s, enum pml_sampler_by by, const struct pml_sample *at,
                                     struct pml_sampler_frame *frame) {
  struct pml_sampler_row row = {.samples = 1, .period = at->period};
  switch (by) {
  case PML_SAMPLER_BY_CODE:
  case PML_SAMPLER_BY_PATH:
    *frame = innermost(s, at);
    row.object = frame->object;
    row.place = frame->place;
    if (by == PML_SAMPLER_BY_CODE) break;
    row.frames = frames_of(s, at, frame);
    row.frame = frame;
    break;
  case PML_SAMPLER_BY_PAGE: {
    const struct pml__mapping *m = pml__maps_find(&s->maps, at->pid, at->time_ns, at->address);
    row.object = m != NULL ? m->name : unknown;
    row.place = at->address & ~((uint64_t)sysconf(_SC_PAGESIZE) - 1);
    row.pid = at->pid;
    break;
  }
  case PML_SAMPLER_BY_DATA:
    place_of_data(s, at, &row, frame);
    break;
  case PML_SAMPLER_BY_THREAD:
    row.place = (uint64_t)(uint32_t)at->tid;
    row.pid = at->pid;
    break;
  case PML_SAMPLER_BY_CPU:
    row.place = at->cpu;
    break;
  }
  return row;
}

static int by_object(const char *x, const char *y) {
  return x == y || x == NULL || y == NULL ? 0 : strcmp(x, y);
}

static int by_frames(const struct pml_sampler_row *x, const struct pml_sampler_row *y) {
  for (uint32_t i = 0; i < x->frames && i < y->frames; i++) {
    const struct pml_sampler_frame *a = &x->frame[i], *b = &y->frame[i];
    int names = by_object(a->object, b->object);
    if (names != 0) return names;
    if (a->place != b->place) return a->place < b->place ? -1 : 1;
  }
  return x->frames < y->frames ? -1 : x->frames > y->frames;
}

static int by_key(const void *a, const void *b) {
  const struct pml_sampler_row *x = a, *y = b;
  int names = by_object(x->object, y->object);
  if (names != 0) return names;
  if (x->pid != y->pid) return x->pid < y->pid ? -1 : 1;
  if (x->place != y->place) return x->place < y->place ? -1 : 1;
  return by_frames(x, y);
}

/* One row of neighbours that are of the same; returns how many are left. */
static size_t merge(struct pml_sampler_row *row, size_t rows) {
  size_t n = 0;
  for (size_t i = 0; i < rows; i++) {
    if (n > 0 && by_key(&row[n - 1], &row[i]) == 0) {
      row[n - 1].samples += row[i].samples;
      row[n - 1].period += row[i].period;
    } else {
      row[n++] = row[i];
    }
  }
  return n;
}

int64_t pml_sampler_fold(struct pml_sampler *s, enum pml_sampler_by by, struct pml_sampler_row **rows) {
  struct pml_sampler_row *row = *rows = malloc((s->samples + 1) * sizeof *row);
  size_t frames = s->samples + 1, at = 0;
  free(s->frame);
  if (by == PML_SAMPLER_BY_PATH) frames += s->stacks;
  s->frame = malloc(frames * sizeof *s->frame);
  if (row == NULL || s->frame == NULL) {
    free(row);
    *rows = NULL;
    return pml_fail(-ENOMEM, "sampler: out of memory for %zu samples", s->samples);
  }
  for (size_t i = 0; i < s->samples; i++) {
    row[i] = row_of(s, by, &s->sample[i], &s->frame[at]);
    at += row[i].frames;
  }
  if (s->samples > 0) qsort(row, s->samples, sizeof *row, by_key);
  return (int64_t)merge(row, s->samples);
}
