/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/bench/bench_wrap.c - cost of a call through a generated wrapper, beside a plain call with and without two clock
 * reads. */
#include "bench_call.h"

#include "adapter/wrap/pml_wrap.h"
#include "record/pml_buffer.h"
#include "substrate/profile/pml_profile.h"

#include <math.h>

PML_WRAP_FUNCTION(wrapped_significand, "significand", "libm.so.6", "math.h", 0);
static __attribute__((noinline)) double wrap_significand(double x) {
  PML_WRAP_CALL(call, &wrapped_significand);
  bench_function *real;
  *(void **)&real = pml_wrap_real(&wrapped_significand);
  return real(x);
}

static struct pml_wrap_value in_ilogb[] = {PML_WRAP_VALUE("x", PML_WRAP_REAL, PML_WRAP_METRIC | PML_WRAP_RECORD)};
PML_WRAP_FUNCTION_VALUES(wrapped_ilogb, "ilogb", "libm.so.6", "math.h", 0, in_ilogb, 1, NULL, 0);
static __attribute__((noinline)) int wrap_ilogb(double x) {
  uint64_t in[1];
  PML_WRAP_CALL_VALUES(call, &wrapped_ilogb, in, in[0] = pml_wrap_from_real(x));
  int (*real)(double);
  *(void **)&real = pml_wrap_real(&wrapped_ilogb);
  return real(x);
}

static void call(void *arg, size_t n) {
  (void)arg;
  for (size_t i = 0; i < n; i++) bench_value = wrap_significand((double)i);
}
static void call_with_value(void *arg, size_t n) {
  (void)arg;
  for (size_t i = 0; i < n; i++) bench_value = wrap_ilogb((double)i);
}

static int take(const struct pml_buffer_event *e, void *arg) {
  (void)e;
  ++*(uint64_t *)arg;
  return 0;
}
static void call_and_drain(void *arg, size_t n) {
  uint64_t taken = 0;
  call(NULL, n);
  (void)pml_buffer_drain(arg, take, &taken);
}

static void row_with_buffer(bench_function **plain) {
  const struct pml_buffer_options o = {.records = 1u << 16}; /* room for all of a batch, reused */
  struct pml_buffer *b;
  if (pml_buffer_open(&b, &o) < 0) return;
  call_row("wrapped call, buffered and drained", call_and_drain, b, plain, 2.5);
  pml_buffer_close(b);
}

/* A value is recorded in a sketch, which alone takes about what the clock reads do: for information. */
void bench_wrap_rows(void) {
  struct pml_stream_consumer c = bench_dropper();
  struct pml_profile *profile = NULL;
  bench_function *plain;
  uint64_t id;
  *(void **)&plain = pml_wrap_real(&wrapped_significand);
  if (plain == NULL) return;
  call_row("wrapped call, no consumer", call, NULL, &plain, 0.5);
  if (pml_stream_add(&c, &id) < 0) return;
  call_row("wrapped call", call, NULL, &plain, 1.35);
  call_row("wrapped call, a value recorded", call_with_value, NULL, &plain, 3.0);
  (void)pml_stream_remove(id);
  if (pml_profile_open(&profile) < 0) return;
  call_row("wrapped call, profile", call, NULL, &plain, 1.35);
  pml_profile_close(profile);
  row_with_buffer(&plain);
}
