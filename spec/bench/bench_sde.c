/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/bench/bench_sde.c - the peer for software-defined events, found at run time if it is installed. */
#include "bench.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

enum { READ_ONLY = 0, LONG_LONG = 0, SUM = 0 }; /* of sde_lib.h */

typedef int order(const void *, const void *);

static struct {
  bool tried;
  void *(*init)(const char *);
  int (*register_counter)(void *, const char *, int, int, void *);
  int (*add_to_group)(void *, const char *, const char *, uint32_t);
  int (*create_counter)(void *, const char *, int, void **);
  int (*inc_counter)(void *, long long);
  int (*create_recorder)(void *, const char *, size_t, order *, void **);
  int (*record)(void *, size_t, const void *);
  int (*reset_recorder)(void *);
  void *library, *series, *shared;
} sde;

static bool find(void *lib) {
  const struct {
    const char *name;
    void *at;
  } symbol[] = {
      {"papi_sde_init", &sde.init},
      {"papi_sde_register_counter", &sde.register_counter},
      {"papi_sde_add_counter_to_group", &sde.add_to_group},
      {"papi_sde_create_counter", &sde.create_counter},
      {"papi_sde_inc_counter", &sde.inc_counter},
      {"papi_sde_create_recorder", &sde.create_recorder},
      {"papi_sde_record", &sde.record},
      {"papi_sde_reset_recorder", &sde.reset_recorder},
  };
  for (size_t i = 0; i < sizeof symbol / sizeof *symbol; i++) {
    void *f = dlsym(lib, symbol[i].name);
    if (f == NULL) return false;
    *(void **)symbol[i].at = f; /* POSIX's way from an object pointer to a function */
  }
  return true;
}

/* Global: this is where PAPI looks for it. */
bool bench_sde_open(void) {
  if (!sde.tried) {
    sde.tried = true;
    void *lib = dlopen("libsde.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (lib == NULL) lib = dlopen("libsde.so", RTLD_NOW | RTLD_GLOBAL);
    if (lib != NULL && find(lib)) sde.library = sde.init("BENCH");
  }
  return sde.library != NULL;
}

bool bench_sde_register(const char *event, long long *variable) {
  return bench_sde_open() && sde.register_counter(sde.library, event, READ_ONLY, LONG_LONG, variable) == 0;
}

bool bench_sde_group_add(const char *event, const char *group) {
  return bench_sde_open() && sde.add_to_group(sde.library, event, group, SUM) == 0;
}

void *bench_sde_counter(const char *event) {
  void *counter = NULL;
  return bench_sde_open() && sde.create_counter(sde.library, event, READ_ONLY, &counter) == 0 ? counter : NULL;
}

void bench_sde_increment(void *counter, size_t n) {
  for (size_t i = 0; i < n; i++) sde.inc_counter(counter, 1);
}

static void *recorder(const char *event, order *by) {
  void *r = NULL;
  return bench_sde_open() && sde.create_recorder(sde.library, event, sizeof(double), by, &r) == 0 ? r : NULL;
}

static int by_double(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

void *bench_sde_recorder(const char *event) {
  return recorder(event, by_double);
}

void bench_sde_push(void *r, double v) {
  sde.record(r, sizeof v, &v);
}

/* As long as it is, libsde's first chunk is: past it, a reset loses the memory that is then written to. */
#define FIRST_CHUNK 2048u

void bench_sde_record(void *arg, size_t n) {
  (void)arg;
  if (sde.series == NULL && (sde.series = recorder("SERIES", NULL)) == NULL) return;
  for (size_t i = 0; i < n; i++) {
    if (i % FIRST_CHUNK == 0) sde.reset_recorder(sde.series);
    bench_sde_push(sde.series, (double)(int64_t)i);
  }
}

/* Never reset: it grows. */
void bench_sde_record_shared(void *arg, size_t n) {
  (void)arg;
  if (sde.shared == NULL && (sde.shared = recorder("SHARED", NULL)) == NULL) return;
  for (size_t i = 0; i < n; i++) bench_sde_push(sde.shared, (double)(int64_t)i);
}
