/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/bench/bench_sde.c - the peer for software-defined events, found at run time so that nobody has to install it. */
#include "bench.h"

#include <dlfcn.h>
#include <stdint.h>

enum { READ_ONLY = 0, LONG_LONG = 0, SUM = 0 }; /* of sde_lib.h */

static struct {
  bool tried;
  void *(*init)(const char *);
  int (*register_counter)(void *, const char *, int, int, void *);
  int (*add_to_group)(void *, const char *, const char *, uint32_t);
  int (*create_counter)(void *, const char *, int, void **);
  int (*inc_counter)(void *, long long);
  int (*create_recorder)(void *, const char *, size_t, int (*)(const void *, const void *), void **);
  int (*record)(void *, size_t, const void *);
  int (*unregister)(void *, const char *);
  void *library, *series;
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
      {"papi_sde_unregister_counter", &sde.unregister},
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

static int by_double(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

void *bench_sde_recorder(const char *event) {
  void *recorder = NULL;
  if (!bench_sde_open() || sde.create_recorder(sde.library, event, sizeof(double), by_double, &recorder) != 0)
    return NULL;
  return recorder;
}

void bench_sde_push(void *recorder, double v) {
  sde.record(recorder, sizeof v, &v);
}

void bench_sde_increment(void *counter, size_t n) {
  for (size_t i = 0; i < n; i++) sde.inc_counter(counter, 1);
}

void bench_sde_record_shared(void *arg, size_t n) {
  (void)arg;
  for (size_t i = 0; i < n; i++) bench_sde_push(sde.series, (double)i);
}

/* Without a new recorder each time it would grow without end; its own reset loses the memory it writes to. */
void bench_sde_record(void *arg, size_t n) {
  if (sde.series != NULL) sde.unregister(sde.library, "SERIES");
  sde.series = bench_sde_recorder("SERIES");
  if (sde.series != NULL) bench_sde_record_shared(arg, n);
}
