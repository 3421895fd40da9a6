/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/bench/bench_annotation.c - cost of regions that programs name to other tools, beside a tool that does nothing.
 */
#include "bench.h"

#include "../c/annotation_client.h"

static __attribute__((noinline)) void nothing(void) {
  __asm__ volatile("");
}

static void no_tool(void *arg, size_t n) {
  (void)arg;
  for (size_t i = 0; i < n; i++) {
    nothing();
    nothing();
  }
}

static void itt_task(void *arg, size_t n) {
  (void)arg;
  for (size_t i = 0; i < n; i++) {
    itt_begin(&itt_domain, no_id, no_id, &itt_name);
    itt_end(&itt_domain);
  }
}

static void itt_overlapped(void *arg, size_t n) {
  (void)arg;
  for (size_t i = 0; i < n; i++) {
    itt_open(&itt_domain, some_id, no_id, &itt_name);
    itt_close(&itt_domain, some_id);
  }
}

static void nvtx_range(void *arg, size_t n) {
  (void)arg;
  for (size_t i = 0; i < n; i++) {
    nvtx_push(nvtx_label);
    nvtx_pop();
  }
}

static void nvtx_registered(void *arg, size_t n) {
  (void)arg;
  for (size_t i = 0; i < n; i++) {
    nvtx_push_ex(nvtx_in, &nvtx_event);
    nvtx_pop_in(nvtx_in);
  }
}

static void caliper_region(void *arg, size_t n) {
  (void)arg;
  for (size_t i = 0; i < n; i++) {
    cali_begin_region(caliper_label);
    cali_end_region(caliper_label);
  }
}

void bench_annotation_rows(void) {
  static const char *const figure[] = {"ITT task", "ITT overlapped task", "NVTX range", "NVTX registered range",
                                       "Caliper region"};
  struct bench_op op[6] = {{.batch = no_tool},    {.batch = itt_task},        {.batch = itt_overlapped},
                           {.batch = nvtx_range}, {.batch = nvtx_registered}, {.batch = caliper_region}};
  open_annotations();
  bench_run(op, 6);
  struct bench_op most = {.ns = op[0].ns + 20}, shared = {.ns = op[0].ns + 30};
  for (unsigned k = 1; k < 6; k++)
    if (k == 2) /* any thread may end it: two atomic exchanges */
      bench_row(figure[k - 1], &op[k], "two calls, 30 ns", &shared, 1, NULL, NULL);
    else
      bench_row(figure[k - 1], &op[k], "two calls, 20 ns", &most, 1, NULL, NULL);
}
