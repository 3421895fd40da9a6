/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/sampler/pml_sampler_ring.h - records in a perf ring buffer. Internal. */
#ifndef PML_SAMPLER_RING_H
#define PML_SAMPLER_RING_H

#include "source/kernel/sampler/pml_sampler.h"

#include <linux/perf_event.h>

/*
 * What every event of a sampler asks for; its records have the fields in the kernel's order. Where the kernel chooses
 * the period by a frequency, PERF_SAMPLE_PERIOD comes last. An event of a fixed period must not ask for it: of a
 * software event or a tracepoint the kernel then takes every event for a sample, whatever the period.
 */
#define PML__SAMPLE_TYPE (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU)

/* The registers of PML_SAMPLER_REGISTERS, by the kernel's numbers (asm/perf_regs.h). */
#if defined(__x86_64__)
#define PML__SAMPLER_REGISTERS UINT64_C(0xff01ff)
#elif defined(__aarch64__)
#define PML__SAMPLER_REGISTERS UINT64_C(0x1ffffffff)
#else
#define PML__SAMPLER_REGISTERS UINT64_C(0)
#endif

/* Of a sample, behind the record's head; the words of PERF_SAMPLE_CALLCHAIN and of registers follow. */
#define PML__SAMPLE_BYTES(period) ((period) != 0 ? 40u : 48u)
#define PML__RECORD_MAX 65536u /* its size is 16 bits */

struct pml__ring {
  const unsigned char *data;
  uint64_t bytes; /* a power of two */
  uint64_t tail;  /* counts bytes since the beginning, as the head does */
};

/*
 * pml__ring_next - the next record before @head: *@record is in the buffer, or a copy in @scratch (PML__RECORD_MAX
 * bytes) if it wraps. Nothing in the buffer is trusted. Returns its size; 0: no more; PML_EFORMAT: what stands there is
 * no record, and all up to @head is skipped. The caller has read @head with acquire order.
 */
int pml__ring_next(struct pml__ring *r, uint64_t head, unsigned char *scratch, const unsigned char **record);

/* What a record says. Texts are in the record. */
enum pml__record_kind {
  PML__RECORD_SAMPLE,
  PML__RECORD_MAP,
  PML__RECORD_EXEC,
  PML__RECORD_FORK, /* of a process */
  PML__RECORD_LOST,
  PML__RECORD_THROTTLE,
  PML__RECORD_OTHER /* is left out */
};

struct pml__record {
  enum pml__record_kind kind;
  struct pml_sample sample; /* of the others: time_ns and pid */
  int32_t parent;           /* FORK */
  uint64_t lost;            /* LOST */
  uint64_t start, length, offset;
  const char *name;           /* MAP: ends in the record */
  const unsigned char *chain; /* SAMPLE: sample.depth words in the record, of any alignment */
};

/*
 * pml__record_read - decode @size bytes of an event with this fixed period; 0: each sample has its own. Of a sample
 * nothing but kind, sample and chain is set. False: it is too short for what it says it is.
 */
bool pml__record_read(const unsigned char *record, size_t size, uint64_t period, struct pml__record *out);

#endif
