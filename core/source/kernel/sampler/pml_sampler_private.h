/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/kernel/sampler/pml_sampler_private.h - declarations shared by opening, draining and aggregation.
 * Internal.
 */
#ifndef PML_SAMPLER_PRIVATE_H
#define PML_SAMPLER_PRIVATE_H

#include "source/kernel/pml_counter.h"
#include "source/kernel/pml_perf_descriptor.h"
#include "source/kernel/sampler/pml_sampler_maps.h"
#include "source/pml_event.h"

struct pml__sampler_buffer {
  struct perf_event_mmap_page *page;
  struct pml__ring ring;
  int fd; /* of the event that it belongs to */
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
  uint64_t *stack; /* of all samples, behind each other */
  size_t stacks, stacks_room;
  struct pml_sampler_frame *frame; /* of the last fold */
  struct pml_sampler_counts counts;
  struct pml__maps maps;
  unsigned char scratch[PML__RECORD_MAX];
};

#endif
