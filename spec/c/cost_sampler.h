/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/cost_sampler.h - cost of taking 16 samples from a buffer like the kernel's. */
#ifndef COST_SAMPLER_H
#define COST_SAMPLER_H

#include "source/kernel/sampler/pml_sampler_private.h"

#define SAMPLER_RECORDS 64u
#define SAMPLER_WORDS 8u /* words of a record: its header, the sample, an empty stack */

static uint64_t sampler_ring[SAMPLER_RECORDS][SAMPLER_WORDS];
static struct perf_event_mmap_page sampler_page;
static struct pml__sampler_buffer sampler_buffer;
static struct pml_sampler sampler;

static void sampler_open(void) {
  const struct perf_event_header head = {
      .type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER, .size = sizeof sampler_ring[0]};
  for (uint32_t i = 0; i < SAMPLER_RECORDS; i++) {
    memcpy(&sampler_ring[i][0], &head, sizeof head);
    sampler_ring[i][6] = 1; /* the period */
  }
  sampler_buffer = (struct pml__sampler_buffer){
      .page = &sampler_page, .ring = {.data = (const unsigned char *)sampler_ring, .bytes = sizeof sampler_ring}};
  sampler = (struct pml_sampler){.options.max = 16, .owner = getpid(), .buffer = &sampler_buffer, .buffers = 1};
}

#if defined(__x86_64__) /* by callgrind; the emulated machines have no row of it */
PATH(sampler_drain_16, sampler.samples = 0; sampler_page.data_head += 16 * sizeof sampler_ring[0];
     sink = (uint64_t)pml_sampler_drain(&sampler))
#endif

#endif
