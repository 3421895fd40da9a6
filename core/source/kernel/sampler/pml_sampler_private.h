/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/sampler/pml_sampler_private.h - records of a perf ring buffer, mappings, samplers. Internal. */
#ifndef PML_SAMPLER_PRIVATE_H
#define PML_SAMPLER_PRIVATE_H

#include "source/kernel/event/pml_perf_descriptor.h"
#include "source/kernel/pml_counter.h"
#include "source/kernel/sampler/pml_sampler.h"
#include "source/pml_event.h"

#include <linux/perf_event.h>

/* ---- records: pml_sampler_ring.c ---- */

/*
 * The sample fields of every event of a sampler; records have the fields in the kernel's order. If the kernel chooses
 * the period by a frequency, PERF_SAMPLE_PERIOD comes last. An event with a fixed period must not request it, because
 * the kernel then samples every occurrence of a software event or a tracepoint, ignoring the period.
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

/* Size of a sample behind the record's head; the words of PERF_SAMPLE_CALLCHAIN and of registers follow. */
#define PML__SAMPLE_BYTES(period) ((period) != 0 ? 40u : 48u)
#define PML__RECORD_MAX 65536u /* its size is 16 bits */

struct pml__ring {
  const unsigned char *data;
  uint64_t bytes; /* a power of two */
  uint64_t tail;  /* counts bytes since the beginning, as the head does */
};

/*
 * pml__ring_next - the next record before @head: *@record is in the buffer, or a copy in @scratch (PML__RECORD_MAX
 * bytes) if it wraps. The buffer is not trusted. Returns the record's size; 0: no more; PML_EFORMAT: not a record, and
 * everything up to @head is skipped. The caller has read @head with acquire order.
 */
int pml__ring_next(struct pml__ring *r, uint64_t head, unsigned char *scratch, const unsigned char **record);

/* A decoded record. Texts point into the record. */
enum pml__record_kind {
  PML__RECORD_SAMPLE,
  PML__RECORD_MAP,
  PML__RECORD_EXEC,
  PML__RECORD_FORK, /* a new process */
  PML__RECORD_LOST,
  PML__RECORD_THROTTLE,
  PML__RECORD_OTHER /* ignored */
};

struct pml__record {
  enum pml__record_kind kind;
  struct pml_sample sample; /* other kinds: only time_ns and pid */
  int32_t parent;           /* FORK */
  uint64_t lost;            /* LOST */
  uint64_t start, length, offset;
  const char *name;           /* MAP: ends in the record */
  const unsigned char *chain; /* SAMPLE: sample.depth words in the record, of any alignment */
};

/*
 * pml__record_read - decode @size bytes of an event with this fixed period; 0: each sample contains its period. For a
 * sample only kind, sample and chain are set. False: the record is too short for its kind.
 */
bool pml__record_read(const unsigned char *record, size_t size, uint64_t period, struct pml__record *out);

/* ---- file mappings of processes over time: pml_sampler_maps.c ---- */

/* A change of a process's memory map. */
struct pml__mapping {
  uint64_t time_ns;
  int32_t pid, parent; /* parent: for a FORK */
  enum pml__record_kind kind;
  uint32_t order; /* orders changes at the same time */
  uint64_t start, length, offset;
  const char *name;
};

/* Zeroed at first. */
struct pml__maps {
  struct pml__mapping *map;
  size_t n, room;
  char **name;
  size_t names, names_room;
  bool sorted;
  int32_t *known; /* sorted: processes that pml__maps_of_newcomer() need not look at */
  size_t nknown, known_room;
};

/* pml__maps_add - note a MAP, an EXEC or a FORK. Returns 0 or -ENOMEM. */
int pml__maps_add(struct pml__maps *m, const struct pml__record *record);

/* pml__maps_of_process - note what /proc/PID/maps has, as of the beginning of time. Returns 0, -ENOMEM, -errno. */
int pml__maps_of_process(struct pml__maps *m, pid_t pid);

/*
 * pml__maps_of_newcomer - pml__maps_of_process() at its first call for @pid: a process that joined the sampled ones,
 * whose mappings the kernel did not report. A process that has ended already has none.
 */
void pml__maps_of_newcomer(struct pml__maps *m, pid_t pid);

/*
 * pml__maps_find - the mapping of @pid at @address at @time_ns; NULL: not known. Later mappings win; a forked process
 * has its parent's mappings until it executes a program. The kernel does not report unmapping.
 */
const struct pml__mapping *pml__maps_find(struct pml__maps *m, int32_t pid, uint64_t time_ns, uint64_t address);

/* pml__maps_below - the mapping of a file at @address, or the next one below with at most PML__BELOW_MAX bytes between:
 * a program's zero-initialised data follows the mapping of its file, and the kernel reports no mapping for it. */
#define PML__BELOW_MAX (UINT64_C(64) << 20)
const struct pml__mapping *pml__maps_below(struct pml__maps *m, int32_t pid, uint64_t time_ns, uint64_t address);

void pml__maps_free(struct pml__maps *m);

/* ---- samplers ---- */

struct pml__sampler_buffer {
  struct perf_event_mmap_page *page;
  struct pml__ring ring;
  int fd; /* descriptor of its event */
  int cpu;
};

struct pml_sampler {
  char name[PML_EVENT_NAME_MAX];
  struct pml_sampler_options options;
  struct pml_target cgroup;
  bool defined; /* a probe of it is defined in tracefs */
  pid_t owner;
  struct pml__perf_descriptor *event;
  size_t events, events_room;
  struct pml__sampler_buffer *buffer;
  size_t buffers, buffers_room;
  struct pml_sample *sample;
  size_t samples, samples_room;
  uint64_t *stack; /* stacks of all samples, one after the other */
  size_t stacks, stacks_room;
  struct pml_sampler_frame *frame; /* frames of the last fold */
  struct pml_sampler_counts counts;
  struct pml__maps maps;
  unsigned char scratch[PML__RECORD_MAX];
};

#endif
