/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/bench/bench_dropin.c - the drop-in for libsde beside PAPI's own, by the same calls. */
#include "bench.h"

#include "compat/include/sde_lib.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SOME 2048u /* between resets; PAPI's first chunk is as long */

struct libsde {
  papi_handle_t (*init)(const char *);
  int (*create_counter)(papi_handle_t, const char *, int, void **);
  int (*inc_counter)(void *, long long);
  int (*create_recorder)(papi_handle_t, const char *, size_t, int (*)(const void *, const void *), void **);
  int (*record)(void *, size_t, const void *);
  int (*reset_recorder)(void *);
  void *counter, *series, *shared;
};

static bool find(struct libsde *l, void *library) {
  const struct {
    const char *name;
    void *at;
  } symbol[] = {{"papi_sde_init", &l->init},
                {"papi_sde_create_counter", &l->create_counter},
                {"papi_sde_inc_counter", &l->inc_counter},
                {"papi_sde_create_recorder", &l->create_recorder},
                {"papi_sde_record", &l->record},
                {"papi_sde_reset_recorder", &l->reset_recorder}};
  for (size_t i = 0; i < sizeof symbol / sizeof *symbol; i++) {
    void *f = library != NULL ? dlsym(library, symbol[i].name) : NULL;
    if (f == NULL) return false;
    memcpy(symbol[i].at, &f, sizeof f);
  }
  papi_handle_t lib = l->init("BENCH_DROPIN");
  return l->create_counter(lib, "C", PAPI_SDE_DELTA, &l->counter) == SDE_OK &&
         l->create_recorder(lib, "R", sizeof(double), NULL, &l->series) == SDE_OK &&
         l->create_recorder(lib, "S", sizeof(double), NULL, &l->shared) == SDE_OK;
}

static void *drop_in(void) {
  char path[4096];
  ssize_t n = readlink("/proc/self/exe", path, sizeof path - 64);
  char *slash = n > 0 ? (path[n] = '\0', strrchr(path, '/')) : NULL;
  if (slash == NULL) return NULL;
  strcpy(slash, "/compat/libsde.so.1.0");
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void increment(void *arg, size_t n) {
  const struct libsde *l = arg;
  for (size_t i = 0; i < n; i++) l->inc_counter(l->counter, 1);
}

static void record(void *arg, size_t n) {
  const struct libsde *l = arg;
  for (size_t i = 0; i < n; i++) {
    double v = (double)(int64_t)i;
    if (i % SOME == 0) l->reset_recorder(l->series);
    l->record(l->series, sizeof v, &v);
  }
}

/* Never reset: it grows. */
static void record_shared(void *arg, size_t n) {
  const struct libsde *l = arg;
  for (size_t i = 0; i < n; i++) {
    double v = (double)(int64_t)i;
    l->record(l->shared, sizeof v, &v);
  }
}

/* What is left of a call when there is nothing to do: no library can be quicker. */
static void call(void *arg, size_t n) {
  const struct libsde *l = arg;
  for (size_t i = 0; i < n; i++) l->inc_counter(NULL, 1);
}

static void nothing(void *arg, size_t n) {
  (void)arg, (void)n;
}

static void rows(struct libsde *own, struct libsde *papi) {
  if (bench_second_start(nothing, NULL)) bench_second_stop(); /* locks cost less before there was a second thread */
  struct bench_op op[] = {{.batch = call, .arg = own},
                          {.batch = increment, .arg = own},
                          {.batch = increment, .arg = papi},
                          {.batch = record, .arg = own},
                          {.batch = record, .arg = papi}};
  bench_run(op, sizeof op / sizeof *op);
  bench_row("drop-in libsde, an increment", &op[1], "call without a handle", &op[0], 1.25, "PAPI's", &op[2]);
  bench_row("drop-in libsde, a record", &op[3], "call without a handle", &op[0], 2.5, "PAPI's", &op[4]);
  struct bench_op alone = {.batch = record_shared, .arg = own},
                  both[2] = {alone, {.batch = record_shared, .arg = papi}};
  bench_run(&alone, 1);
  for (size_t i = 0; i < 2; i++) {
    if (!bench_second_start(both[i].batch, both[i].arg)) {
      printf("%-34s needs a second cpu\n", "drop-in libsde, 2 threads on one");
      return;
    }
    bench_run(&both[i], 1);
    bench_second_stop();
  }
  bench_row("the same, 2 threads on one", &both[0], "1 thread", &alone, 1.2, "PAPI's", &both[1]);
}

/* PAPI's own has the name that the loader knows; the drop-in is opened by its path. */
void bench_dropin_rows(void) {
  struct libsde own, papi;
  if (!bench_sde_open() || !find(&papi, dlopen("libsde.so.1", RTLD_NOW | RTLD_LOCAL)))
    printf("%-34s needs libsde1\n", "drop-in libsde");
  else if (!find(&own, drop_in()))
    printf("%-34s is not beside this program\n", "drop-in libsde");
  else
    rows(&own, &papi);
}
