/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/sampler/pml_sampler_ring.c - records in a perf ring buffer. */
#include "source/kernel/sampler/pml_sampler_private.h"

#include "base/pml_error.h"

#include <string.h>

#define TRAILER_BYTES 24u /* sample_id_all: pid and tid, time, cpu */

static void copy_out(const struct pml__ring *r, uint64_t at, unsigned char *to, size_t n) {
  size_t from = (size_t)(at & (r->bytes - 1));
  size_t first = r->bytes - from < n ? (size_t)(r->bytes - from) : n;
  memcpy(to, r->data + from, first);
  memcpy(to + first, r->data, n - first);
}

int pml__ring_next(struct pml__ring *r, uint64_t head, unsigned char *scratch, const unsigned char **record) {
  struct perf_event_header h;
  uint64_t there = head - r->tail;
  if (there == 0) return 0;
  if (there > r->bytes || there < sizeof h) goto broken;
  size_t from = (size_t)(r->tail & (r->bytes - 1));
  if (PML_LIKELY(from + sizeof h <= r->bytes))
    memcpy(&h, r->data + from, sizeof h);
  else
    copy_out(r, r->tail, (unsigned char *)&h, sizeof h);
  if (h.size < sizeof h || h.size > there) goto broken;
  if (from + h.size <= r->bytes) {
    *record = r->data + from;
  } else {
    copy_out(r, r->tail, scratch, h.size);
    *record = scratch;
  }
  r->tail += h.size;
  return h.size;
broken:
  r->tail = head;
  return PML_EFORMAT;
}

/* --- records --- */

static uint64_t word(const unsigned char *at) {
  uint64_t v;
  memcpy(&v, at, sizeof v);
  return v;
}

static int32_t half(const unsigned char *at) {
  int32_t v;
  memcpy(&v, at, sizeof v);
  return v;
}

static uint32_t mode_of(unsigned misc) {
  switch (misc & PERF_RECORD_MISC_CPUMODE_MASK) {
  case PERF_RECORD_MISC_USER:
    return PML_SAMPLE_USER;
  case PERF_RECORD_MISC_KERNEL:
    return PML_SAMPLE_KERNEL;
  default:
    return PML_SAMPLE_OTHER;
  }
}

/* Inlined twice: where @period is 0 the sample has its own. */
static inline bool read_sample(const unsigned char *body, size_t n, unsigned misc, uint64_t period,
                               struct pml__record *out) {
  const size_t bytes = PML__SAMPLE_BYTES(period);
  uint64_t words = 0;
  if (n < bytes) return false;
  if (n >= bytes + 8) words = word(body + bytes);
  if (words > 0 && words > (n - bytes - 8) / 8) return false;
  out->chain = body + bytes + 8;
  out->kind = PML__RECORD_SAMPLE;
  out->sample = (struct pml_sample){
      .ip = word(body),
      .pid = half(body + 8),
      .tid = half(body + 12),
      .time_ns = word(body + 16),
      .address = word(body + 24),
      .cpu = (uint32_t)half(body + 32),
      .period = period != 0 ? period : word(body + 40),
      .mode = mode_of(misc),
      .depth = (uint32_t)words,
  };
  return true;
}

/* pid, tid, start, length, offset, device and inode (or a build id), protection, name, trailer */
static bool read_map(const unsigned char *body, size_t n, struct pml__record *out) {
  if (n < 64 + 8 + TRAILER_BYTES) return false;
  size_t room = n - 64 - TRAILER_BYTES;
  out->name = (const char *)body + 64;
  if (memchr(out->name, '\0', room) == NULL) return false;
  out->kind = PML__RECORD_MAP;
  out->start = word(body + 8);
  out->length = word(body + 16);
  out->offset = word(body + 24);
  return true;
}

/* pid, parent, tid, parent's tid, time: a thread of a process has the process for a parent */
static bool read_fork(const unsigned char *body, size_t n, struct pml__record *out) {
  if (n < 24) return false;
  out->parent = half(body + 4);
  out->sample.time_ns = word(body + 16);
  if (out->parent != half(body)) out->kind = PML__RECORD_FORK;
  return true;
}

bool pml__record_read(const unsigned char *record, size_t size, uint64_t period, struct pml__record *out) {
  struct perf_event_header h;
  if (size < sizeof h) return false;
  memcpy(&h, record, sizeof h);
  const unsigned char *body = record + sizeof h;
  size_t n = size - sizeof h;
  if (PML_LIKELY(h.type == PERF_RECORD_SAMPLE))
    return period != 0 ? read_sample(body, n, h.misc, period, out) : read_sample(body, n, h.misc, 0, out);
  *out = (struct pml__record){.kind = PML__RECORD_OTHER};
  if (h.type == PERF_RECORD_LOST || h.type == PERF_RECORD_LOST_SAMPLES) {
    size_t at = h.type == PERF_RECORD_LOST ? 8 : 0;
    if (n < at + 8) return false;
    out->kind = PML__RECORD_LOST;
    out->lost = word(body + at);
    return true;
  }
  if (h.type == PERF_RECORD_THROTTLE) out->kind = PML__RECORD_THROTTLE;
  if (h.type != PERF_RECORD_MMAP2 && h.type != PERF_RECORD_COMM && h.type != PERF_RECORD_FORK) return true;
  if (n < 8 + TRAILER_BYTES) return false;
  out->sample.pid = half(body);
  out->sample.time_ns = word(body + n - 16);
  if (h.type == PERF_RECORD_MMAP2) return read_map(body, n, out);
  if (h.type == PERF_RECORD_FORK) return read_fork(body, n, out);
  if (h.misc & PERF_RECORD_MISC_COMM_EXEC) out->kind = PML__RECORD_EXEC;
  return true;
}
