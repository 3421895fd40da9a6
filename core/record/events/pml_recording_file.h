/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/events/pml_recording_file.h - declarations shared by the writers of recorded calls. Internal. */
#ifndef PML_RECORDING_FILE_H
#define PML_RECORDING_FILE_H

#include "base/pml_cancel.h"
#include "record/events/pml_recording.h"
#include "record/log/pml_log.h"

#include <pthread.h>

#define PML__RECORDING_BLOCKS_BYTES 65536u /* extent of small blocks */
#define PML__EVENTS_BYTES 65536u           /* extent of events */
#define PML__RECORDING_SIZES 40
_Static_assert(PML_REGIONS_MAX <= 1u << 24 && PML_RECORDING_VALUES_MAX <= 0x7f && PML_STREAM_METRICS_MAX <= 0xff,
               "each has its bits in an event");

/* Size of the largest block of values; all blocks are multiples of 64. */
#define PML__RECORDING_VALUES_BYTES_MAX                                                                                \
  (sizeof(struct pml__log_values) +                                                                                    \
   PML_RECORDING_VALUES_MAX * (PML__LOG_STRIPES * sizeof(struct pml__log_figures) + PML__LOG_VALUE_NAME_MAX + 1))
_Static_assert(PML__RECORDING_VALUES_BYTES_MAX % 64 == 0, "a block can be as large");

static inline size_t pml__recording_stripe_bytes(uint32_t n) {
  return (n * sizeof(struct pml__log_figures) + 63) & ~(size_t)63;
}
/* [n]; the names are behind the last stripe. */
static inline struct pml__log_figures *pml__recording_figures(struct pml__log_values *b, uint32_t n, uint32_t stripe) {
  return (struct pml__log_figures *)(void *)((char *)(b + 1) + stripe * pml__recording_stripe_bytes(n));
}

#define PML__EVENTS_FIRST (sizeof(struct pml__log_buffer) / sizeof(struct pml__log_event))
#define PML__EVENTS_OF_EXTENT (PML__EVENTS_BYTES / sizeof(struct pml__log_event))

struct pml__event_buffer;

/* Metrics other than the recording's, and the number that they have in the log. */
struct pml__recording_list {
  const struct pml_stream_metrics *of;
  uint32_t number;
  uint64_t real[2]; /* atomic: as its last definition in the log */
  struct pml__recording_list *next;
};

struct pml_recording {
  struct pml__log *log;
  struct pml__log_recording *head; /* in the log */

  struct pml__mutex lock;                            /* guards the following fields */
  struct pml__log_block *free[PML__RECORDING_SIZES]; /* by the logarithm of the size */
  char *at, *end;                                    /* the rest of the extent for small blocks */

  uint32_t *mark; /* [PML_REGIONS_MAX] atomic: a bit if the log has the region's name, and the number of its calls */
  struct pml_recording_limits limits;
  const struct pml_stream_metrics *metrics;
  struct pml__recording_list *lists; /* atomic, the last one first; they are made under the lock */
  uint64_t consumer;
  struct pml__event_buffer *buffers, *unused; /* under the lock */
  uint32_t nthreads;                          /* atomic */
  uint64_t summing;
  struct pml__recording_accumulator *accumulators, *spare_accumulators; /* under the lock */
  struct pml__log_values **values; /* atomic, [2 PML_REGIONS_MAX]: arguments, results of a region */
  bool trace_values;               /* the trace contains them as well */
};

#define PML__RECORDING_NOTE "calls." /* prefix of the keys of a recording's notes */
#define PML__RECORDING_NAMED (UINT32_C(1) << 31)

/* Note in the log which of the recording's metrics @m are doubles; a metric may become one after its first event. */
static inline void pml__recording_note_types(const struct pml_recording *s, const struct pml_stream_metrics *m) {
  for (int i = 0; i < 2; i++)
    __atomic_store_n(&s->head->real[i], __atomic_load_n(&m->real[i], __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

/* Each removes its consumer, if there is one. */
void pml__recording_sum_end(struct pml_recording *s);
void pml__recording_trace_end(struct pml_recording *s);
void pml__recording_values_end(struct pml_recording *s);
/* Write values of the innermost call to the calling thread's trace, if this call is of @region and in the trace. */
void pml__recording_trace_values(const struct pml_recording *s, pml_region_t region, bool results,
                                 const struct pml_recording_value *v, uint32_t n);

#endif
