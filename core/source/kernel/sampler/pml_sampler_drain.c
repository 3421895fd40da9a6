/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/sampler/pml_sampler_drain.c - draining of the kernel's ring buffers. */
#include "source/kernel/sampler/pml_sampler_private.h"

#include "base/pml_array.h"
#include "base/pml_error.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* A marker in a chain, which tells the context of the addresses that follow. */
static bool is_context(uint64_t word) {
  return word >= (uint64_t)PERF_CONTEXT_MAX;
}

/* Room for @n words more behind the others. */
static bool make_room(struct pml_sampler *s, size_t n) {
  return s->stacks + n <= s->options.max * PML_SAMPLER_CALLS &&
         PML__ARRAY_ROOM(s->stack, s->stacks_room, s->stacks + n);
}

/* Keep the stack of @r behind the others. */
static bool keep_stack(struct pml_sampler *s, const struct pml__record *r, struct pml_sample *sample) {
  if (!make_room(s, sample->depth)) return false;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < sample->depth; i++) {
    uint64_t word;
    memcpy(&word, r->chain + 8 * (size_t)i, sizeof word);
    if (!is_context(word)) s->stack[s->stacks + kept++] = word;
  }
  sample->stack = s->stacks;
  sample->depth = kept;
  s->stacks += kept;
  return true;
}

/* Words behind a sample in a record of @size bytes; the first is their kind: 0 none, 2 registers of 64 bits. */
static bool keep_registers(struct pml_sampler *s, const unsigned char *record, size_t size, struct pml_sample *sample) {
  const unsigned char *at = record + sizeof(struct perf_event_header) + PML__SAMPLE_BYTES(s->options.period);
  size_t words = (size - (size_t)(at - record)) / 8; /* a sample that was read is not shorter */
  uint64_t kind = 0;
  if (words > 0) memcpy(&kind, at, sizeof kind);
  sample->depth = kind == PERF_SAMPLE_REGS_ABI_64 ? (uint32_t)words - 1 : 0;
  if (!make_room(s, sample->depth)) return false;
  if (sample->depth > 0) memcpy(&s->stack[s->stacks], at + 8, 8 * (size_t)sample->depth);
  sample->stack = s->stacks;
  s->stacks += sample->depth;
  return true;
}

static bool keep_words(struct pml_sampler *s, const struct pml__record *r, const unsigned char *record, size_t size,
                       struct pml_sample *sample) {
  if (s->options.registers) return keep_registers(s, record, size, sample);
  sample->depth = r->sample.depth;
  return keep_stack(s, r, sample);
}

static bool more_samples(struct pml_sampler *s) {
  if (s->samples == s->options.max || !PML__ARRAY_ROOM(s->sample, s->samples_room, s->samples + 1)) return false;
  if (s->samples_room > s->options.max) s->samples_room = s->options.max;
  return true;
}

static void keep(struct pml_sampler *s, const struct pml__record *r, const unsigned char *record, size_t size) {
  if (PML_UNLIKELY(s->samples == s->samples_room) && !more_samples(s)) {
    s->counts.dropped++;
    return;
  }
  struct pml_sample *sample = &s->sample[s->samples];
  *sample = r->sample;
  sample->depth = 0;
  if (PML_UNLIKELY(s->options.registers || s->options.calls) && !keep_words(s, r, record, size, sample)) {
    s->counts.dropped++;
    return;
  }
  s->samples++;
  s->counts.samples++;
}

static void take(struct pml_sampler *s, const unsigned char *record, size_t size) {
  struct pml__record r;
  if (!pml__record_read(record, size, s->options.period, &r)) {
    s->counts.odd++;
    return;
  }
  if (PML_LIKELY(r.kind == PML__RECORD_SAMPLE)) {
    keep(s, &r, record, size);
    return;
  }
  switch (r.kind) {
  case PML__RECORD_MAP:
  case PML__RECORD_EXEC:
  case PML__RECORD_FORK:
    if (pml__maps_add(&s->maps, &r) < 0) s->counts.lost++;
    return;
  case PML__RECORD_LOST:
    s->counts.lost += r.lost;
    return;
  case PML__RECORD_THROTTLE:
    s->counts.throttled++;
    return;
  case PML__RECORD_SAMPLE:
  case PML__RECORD_OTHER:
    return;
  }
}

/*
 * The kernel writes records and then, with release order, the head; the acquire load of it makes these records visible.
 * The release store of the tail comes after all reads of what it gives back: the kernel looks at it before it writes
 * there again.
 */
static void drain(struct pml_sampler *s, struct pml__sampler_buffer *b) {
  const unsigned char *record;
  uint64_t head = __atomic_load_n(&b->page->data_head, __ATOMIC_ACQUIRE);
  for (int size; (size = pml__ring_next(&b->ring, head, s->scratch, &record)) != 0;) {
    if (size > 0)
      take(s, record, (size_t)size);
    else
      s->counts.odd++;
  }
  __atomic_store_n(&b->page->data_tail, b->ring.tail, __ATOMIC_RELEASE);
}

/* A process that moves into the cgroup began outside, where its mappings were not reported. */
static void note_newcomers(struct pml_sampler *s, size_t from) {
  int32_t last = 0;
  for (size_t i = from; i < s->samples; i++) {
    if (s->sample[i].pid != last) pml__maps_of_newcomer(&s->maps, s->sample[i].pid);
    last = s->sample[i].pid;
  }
}

int64_t pml_sampler_drain(struct pml_sampler *s) {
  size_t before = s->samples;
  if (getpid() != s->owner) return pml_fail(PML_EMODE, "%s: the sampler belongs to the parent process", s->name);
  for (size_t i = 0; i < s->buffers; i++) drain(s, &s->buffer[i]);
  if (PML_UNLIKELY(s->cgroup.pid != 0)) note_newcomers(s, before);
  return (int64_t)(s->samples - before);
}

int64_t pml_sampler_stop(struct pml_sampler *s) {
  if (getpid() == s->owner)
    for (size_t i = 0; i < s->events; i++) (void)ioctl(s->event[i].fd, PERF_EVENT_IOC_DISABLE, 0);
  return pml_sampler_drain(s);
}

struct pml_sampler_counts pml_sampler_counts(const struct pml_sampler *s) {
  return s->counts;
}

const struct pml_sample *pml_sampler_samples(const struct pml_sampler *s, size_t *n) {
  *n = s->samples;
  return s->sample;
}

const uint64_t *pml_sampler_registers(const struct pml_sampler *s, size_t i, size_t *n) {
  *n = i < s->samples && s->options.registers ? s->sample[i].depth : 0;
  return *n > 0 ? &s->stack[s->sample[i].stack] : NULL;
}
