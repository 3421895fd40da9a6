/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/bench/bench_sde.c - functions of libsde, PAPI's or the drop-in, looked up by name. */
#include "bench.h"

#include <dlfcn.h>

enum { DELTA = 0, FIRST_CHUNK = 2048 }; /* see sde_lib.h; a reset of a recorder with more values loses its memory */

bool bench_libsde_find(struct bench_libsde *l, void *loaded, const char *library) {
  const struct {
    const char *name;
    void *at;
  } symbol[] = {{"papi_sde_init", &l->init},
                {"papi_sde_register_counter", &l->register_counter},
                {"papi_sde_add_counter_to_group", &l->add_to_group},
                {"papi_sde_create_counter", &l->create_counter},
                {"papi_sde_inc_counter", &l->inc_counter},
                {"papi_sde_create_recorder", &l->create_recorder},
                {"papi_sde_record", &l->record},
                {"papi_sde_reset_recorder", &l->reset_recorder}};
  for (size_t i = 0; i < sizeof symbol / sizeof *symbol; i++) {
    void *f = loaded != NULL ? dlsym(loaded, symbol[i].name) : NULL;
    if (f == NULL) return false;
    *(void **)symbol[i].at = f; /* POSIX's way from an object pointer to a function */
  }
  l->library = l->init(library);
  return l->library != NULL;
}

/* Global: this is where PAPI looks for it. */
struct bench_libsde *bench_sde_open(void) {
  static struct bench_libsde sde;
  static bool tried;
  if (!tried) {
    void *loaded = dlopen("libsde.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (loaded == NULL) loaded = dlopen("libsde.so", RTLD_NOW | RTLD_GLOBAL);
    (void)bench_libsde_find(&sde, loaded, "BENCH");
    tried = true;
  }
  return sde.library != NULL ? &sde : NULL;
}

static int by_double(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

void *bench_sde_counter(struct bench_libsde *l, const char *event) {
  void *counter = NULL;
  return l != NULL && l->create_counter(l->library, event, DELTA, &counter) == 0 ? counter : NULL;
}

void *bench_sde_recorder(struct bench_libsde *l, const char *event) {
  void *r = NULL;
  return l != NULL && l->create_recorder(l->library, event, sizeof(double), by_double, &r) == 0 ? r : NULL;
}

void bench_sde_increment(void *arg, size_t n) {
  const struct bench_sde_event *e = arg;
  for (size_t i = 0; i < n; i++) e->of->inc_counter(e->event, 1);
}

void bench_sde_record_shared(void *arg, size_t n) {
  const struct bench_sde_event *e = arg;
  for (size_t i = 0; i < n; i++) {
    double v = (double)(int64_t)i;
    e->of->record(e->event, sizeof v, &v);
  }
}

void bench_sde_record(void *arg, size_t n) {
  const struct bench_sde_event *e = arg;
  for (size_t done = 0; done < n; done += FIRST_CHUNK) {
    e->of->reset_recorder(e->event);
    bench_sde_record_shared(arg, n - done < FIRST_CHUNK ? n - done : FIRST_CHUNK);
  }
}
