/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/bench/bench_intercept.c - cost of an intercepted call between libraries, beside a plain call with and without
 * two clock reads. */
#include "bench_call.h"

#include "adapter/intercept/pml_intercept.h"
#include "base/pml_error.h"
#include "record/events/pml_recording.h"
#include "substrate/profile/pml_profile.h"

#include <dlfcn.h>
#include <math.h>

/* Through its slot. */
static void call(void *arg, size_t n) {
  (void)arg;
  for (size_t i = 0; i < n; i++) bench_value = logb((double)i);
}

static bool begin_to_intercept(bench_function **plain) {
  static const struct pml_intercept_options o = {.lib = "libm", .sym = "logb"};
  struct pml_intercept_stats s = {0};
  void *m = dlopen("libm.so.6", RTLD_NOW | RTLD_NOLOAD);
  if (m == NULL) return false;
  *(void **)plain = dlsym(m, "logb");
  int err = pml_intercept_install(&o);
  pml_intercept_stats(&s);
  if (err < 0 || s.slots == 0)
    printf("%-34s %s\n", "intercepted call", err < 0 ? pml_error_detail(err) : "this program has no slot for logb");
  return err == 0 && s.slots > 0;
}

static void row(const char *figure, bench_function **plain, double limit) {
  call_row(figure, call, NULL, plain, limit);
}

static void rows_with_profile(bench_function **plain) {
  struct pml_profile *profile = NULL;
  if (pml_profile_open(&profile) < 0) return;
  row("intercepted call, profile", plain, 1.35);
  if (bench_second_start(call, NULL)) {
    row("intercepted call, profile, 2 thr.", plain, 1.35);
    bench_second_stop();
  } else {
    printf("%-34s needs a second cpu\n", "intercepted call, profile, 2 thr.");
  }
  pml_profile_close(profile);
}

/* Record to a log in a new folder: about 32 bytes for each call of the row. */
static void row_with_trace(bench_function **plain) {
  char folder[] = "/tmp/pmlua-bench-XXXXXX", path[4096];
  struct pml_recording *recording = NULL;
  if (mkdtemp(folder) == NULL) return;
  if (pml_recording_open(&recording, folder, "bench") == 0) {
    snprintf(path, sizeof path, "%s", pml_recording_path(recording));
    if (pml_recording_trace(recording, NULL) == 0) row("intercepted call, trace", plain, 1.6);
    pml_recording_close(recording);
    (void)unlink(path);
  }
  (void)rmdir(folder);
}

/* A consumer that may use every register has them all saved: for information, its limit is what that took once. */
void bench_intercept_rows(void) {
  bench_function *plain;
  struct pml_stream_consumer c = bench_dropper();
  uint64_t id;
  if (!begin_to_intercept(&plain)) return;
  row("intercepted call, no consumer", &plain, 0.5);
  if (pml_stream_add(&c, &id) < 0) return;
  row("intercepted call", &plain, 1.35);
  (void)pml_stream_remove(id);
  rows_with_profile(&plain);
  row_with_trace(&plain);
  memset(c.fast, 0, sizeof c.fast);
  if (pml_stream_add(&c, &id) < 0) return;
  row("intercepted call, all registers", &plain, 4.0);
  (void)pml_stream_remove(id);
  pml_intercept_remove();
}
