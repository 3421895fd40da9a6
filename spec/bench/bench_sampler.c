/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/bench/bench_sampler.c - cost of taking samples out of the kernel's buffer, measured on a buffer that the bench
 * fills itself. */
#include "bench.h"

#include "source/kernel/sampler/pml_sampler_private.h"

#define RECORDS ((size_t)8192) /* as many as 512 KiB hold */
#define WORDS 8u               /* of a record: its head, the sample, a stack of no calls */

static uint64_t ring[RECORDS][WORDS];
static struct perf_event_mmap_page page;
static struct pml__sampler_buffer buffer;
static struct pml_sampler sampler;
static struct pml_sample bare[RECORDS];

static void fill(void) {
  const struct perf_event_header head = {
      .type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER, .size = sizeof ring[0]};
  for (size_t i = 0; i < RECORDS; i++) {
    memcpy(&ring[i][0], &head, sizeof head);
    ring[i][1] = UINT64_C(0x400000) + i; /* where */
    ring[i][3] = i;                      /* when */
    ring[i][6] = 1;                      /* the period */
  }
}

/* The lower limit: copy the contents of the records, with one acquire load and one release store for all of them. */
static void drain_bare(void *arg, size_t n) {
  (void)arg;
  for (size_t done = 0; done < n;) {
    size_t some = n - done < RECORDS ? n - done : RECORDS;
    uint64_t head = __atomic_load_n(&page.data_head, __ATOMIC_ACQUIRE);
    for (size_t i = 0; i < some; i++) {
      const uint64_t *at = ring[(head + i) & (RECORDS - 1)];
      struct pml_sample *s = &bare[i];
      s->ip = at[1];
      memcpy(&s->pid, &at[2], sizeof at[2]); /* and the thread */
      s->time_ns = at[3];
      s->address = at[4];
      s->cpu = (uint32_t)at[5];
      s->period = at[6];
      s->depth = 0;
    }
    __atomic_store_n(&page.data_tail, head, __ATOMIC_RELEASE);
    done += some;
  }
}

static void drain(void *arg, size_t n) {
  struct pml_sampler *s = arg;
  for (size_t done = 0; done < n;) {
    size_t some = n - done < RECORDS ? n - done : RECORDS;
    s->samples = 0;
    page.data_head += some * sizeof ring[0];
    done += (size_t)pml_sampler_drain(s);
  }
}

void bench_sampler_rows(void) {
  fill();
  buffer =
      (struct pml__sampler_buffer){.page = &page, .ring = {.data = (const unsigned char *)ring, .bytes = sizeof ring}};
  sampler = (struct pml_sampler){.options.max = RECORDS, .owner = getpid(), .buffer = &buffer, .buffers = 1};
  struct bench_op op[2] = {{.batch = drain_bare}, {.batch = drain, .arg = &sampler}};
  bench_run(op, 2);
  bench_row("sampler drain, a sample", &op[1], "its fields, copied", &op[0], 9, NULL, NULL);
  free(sampler.sample);
}
