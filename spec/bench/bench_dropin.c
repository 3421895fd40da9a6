/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/bench/bench_dropin.c - cost of the drop-in for libsde beside PAPI's own library, by the same calls. */
#include "bench.h"

#include <dlfcn.h>

static void *drop_in(void) {
  char path[4096];
  ssize_t n = readlink("/proc/self/exe", path, sizeof path - 64);
  char *slash = n > 0 ? (path[n] = '\0', strrchr(path, '/')) : NULL;
  if (slash == NULL) return NULL;
  strcpy(slash, "/compat/libsde.so.1.0");
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* The cost of a call that does nothing: a lower limit for every library. */
static void call(void *arg, size_t n) {
  const struct bench_libsde *l = arg;
  for (size_t i = 0; i < n; i++) l->inc_counter(NULL, 1);
}

static void nothing(void *arg, size_t n) {
  (void)arg, (void)n;
}

static void rows(struct bench_libsde *own, struct bench_libsde *papi) {
  struct bench_sde_event c[2] = {{own, bench_sde_counter(own, "C")}, {papi, bench_sde_counter(papi, "C")}},
                         r[2] = {{own, bench_sde_recorder(own, "R")}, {papi, bench_sde_recorder(papi, "R")}},
                         s[2] = {{own, bench_sde_recorder(own, "S")}, {papi, bench_sde_recorder(papi, "S")}};
  if (bench_second_start(nothing, NULL)) bench_second_stop(); /* locks cost less before there was a second thread */
  struct bench_op op[] = {{.batch = call, .arg = own},
                          {.batch = bench_sde_increment, .arg = &c[0]},
                          {.batch = bench_sde_increment, .arg = &c[1]},
                          {.batch = bench_sde_record, .arg = &r[0]},
                          {.batch = bench_sde_record, .arg = &r[1]}};
  bench_run(op, sizeof op / sizeof *op);
  bench_row("drop-in libsde, an increment", &op[1], "call without a handle", &op[0], 1.25, "PAPI's", &op[2]);
  bench_row("drop-in libsde, a record", &op[3], "call without a handle", &op[0], 2.5, "PAPI's", &op[4]);
  struct bench_op alone = {.batch = bench_sde_record_shared, .arg = &s[0]},
                  both[2] = {alone, {.batch = bench_sde_record_shared, .arg = &s[1]}};
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
  struct bench_libsde own, papi;
  if (bench_sde_open() == NULL ||
      !bench_libsde_find(&papi, dlopen("libsde.so.1", RTLD_NOW | RTLD_LOCAL), "BENCH_DROPIN"))
    printf("%-34s needs libsde1\n", "drop-in libsde");
  else if (!bench_libsde_find(&own, drop_in(), "BENCH_DROPIN"))
    printf("%-34s is not beside this program\n", "drop-in libsde");
  else
    rows(&own, &papi);
}
