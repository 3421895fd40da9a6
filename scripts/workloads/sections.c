/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/workloads/sections.c - call an empty function, entered and left as in an instrumented program.
 *
 * The section may have been defined before, with events. `consumer` adds a consumer of its enters and leaves that does
 * nothing. The thread stays on one cpu meanwhile.
 */
#include "cpus.h"
#include "workload.h"

#include "adapter/section/pml_section.h"
#include "base/pml_stream.h"

#include <time.h>

enum { CALLS, SECTION, CONSUMER };

static struct pml_section *section;

static __attribute__((noinline)) void function(void) {
  pml_section_start(section);
  __asm__ volatile("");
  pml_section_stop(section);
}

static void *begin(void *arg, uint64_t thread) {
  (void)thread;
  return arg;
}

static void nothing(void *data, const struct pml_stream_event *e) {
  (void)data, (void)e;
}

static double processor_ns(void) {
  struct timespec t = {0, 0};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int call(struct pml_workload_run *r, size_t calls, double *ns) {
  double start = processor_ns();
  for (size_t i = 0; i < calls; i++) {
    function();
    if ((i & 0xffff) == 0 && workload_stopped(r, 0) < 0) return -EINTR;
  }
  *ns = processor_ns() - start;
  return 0;
}

static int run(struct pml_workload_run *r) {
  const struct pml_stream_consumer consumer = {
      .thread_begin = begin, .event = {nothing, nothing, NULL}, .arg = &section};
  size_t calls = 0, consumers = 0;
  uint64_t id = 0;
  double ns = 0;
  int err = workload_size(r, CALLS, "calls", 1, 1e12, &calls);
  if (!err) err = workload_size(r, CONSUMER, "consumer", 0, 1, &consumers);
  if (err) return err;
  err = pml_section_define(r->text[SECTION], NULL, &section);
  if (!err && consumers > 0) err = pml_stream_add(&consumer, &id);
  if (err) return workload_fail(r, err, "%s", pml_error_detail(err));
  err = call(r, calls, &ns);
  if (consumers > 0) (void)pml_stream_remove(id);
  workload_result(r, "time", "ns", ns);
  return err;
}

const struct pml_workload pml_workload = {
    .abi = PML_WORKLOAD_ABI,
    .name = "sections",
    .help = "calls of an empty function, entered and left as a section",
    .site = {NULL},
    .option = {[CALLS] = {"calls", "number of calls", 1e6, NULL},
               [SECTION] = {"section", "name of the section", 0, "function"},
               [CONSUMER] = {"consumer", "1: its enters and leaves are taken", 0, NULL}},
    .run = run,
};
