/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/bench/bench_sde.c - libsde's recorder, found at run time so that nobody has to install it. */
#include "bench.h"

#include <dlfcn.h>
#include <stdio.h>

struct bench_sde {
  void *(*init)(const char *);
  int (*create_recorder)(void *, const char *, size_t, int (*)(const void *, const void *), void **);
  int (*record)(void *, size_t, const void *);
  int (*unregister)(void *, const char *);
  void *library, *recorder;
};

static struct bench_sde sde;

static bool find(void *lib, const char *name, void *at) {
  return (*(void **)at = dlsym(lib, name)) != NULL; /* POSIX's way from an object pointer to a function */
}

static bool fresh(struct bench_sde *s) {
  if (s->recorder != NULL) s->unregister(s->library, "series");
  s->recorder = NULL;
  return s->create_recorder(s->library, "series", sizeof(double), NULL, &s->recorder) == 0;
}

struct bench_sde *bench_sde_open(void) {
  if (sde.library != NULL) return &sde;
  void *lib = dlopen("libsde.so.1", RTLD_NOW);
  if (lib == NULL) lib = dlopen("libsde.so", RTLD_NOW);
  if (lib == NULL || !find(lib, "papi_sde_init", &sde.init) ||
      !find(lib, "papi_sde_create_recorder", &sde.create_recorder) || !find(lib, "papi_sde_record", &sde.record) ||
      !find(lib, "papi_sde_unregister_counter", &sde.unregister))
    return NULL;
  sde.library = sde.init("bench");
  return sde.library != NULL && fresh(&sde) ? &sde : NULL;
}

/* A second thread, in the recorder that the first one has. */
void bench_sde_record_shared(void *arg, size_t n) {
  struct bench_sde *s = arg;
  for (size_t i = 0; i < n; i++) {
    double v = (double)i;
    s->record(s->recorder, sizeof v, &v);
  }
}

/* Without a new recorder each time it would grow without end; its own reset loses the memory it writes to. */
void bench_sde_record(void *arg, size_t n) {
  if (fresh(arg)) bench_sde_record_shared(arg, n);
}
