/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/bench/bench_papi.c - PAPI as the peer, loaded at run time if it is installed. */
#include "bench.h"

#include <dlfcn.h>

static struct {
  bool tried;
  char version[32]; /* "" without PAPI */
  int (*library_init)(int);
  int (*create_eventset)(int *);
  int (*add_named_event)(int, const char *);
  int (*start)(int);
  int (*stop)(int, long long *);
  int (*read)(int, long long *);
  int (*cleanup_eventset)(int);
  int (*destroy_eventset)(int *);
  long long (*get_real_nsec)(void);
} papi;

struct bench_papi {
  int set;
  long long values[16];
};

static bool find(void *lib) {
  static const struct {
    const char *name;
    void *at;
  } symbol[] = {
      {"PAPI_library_init", &papi.library_init},
      {"PAPI_create_eventset", &papi.create_eventset},
      {"PAPI_add_named_event", &papi.add_named_event},
      {"PAPI_start", &papi.start},
      {"PAPI_stop", &papi.stop},
      {"PAPI_read", &papi.read},
      {"PAPI_cleanup_eventset", &papi.cleanup_eventset},
      {"PAPI_destroy_eventset", &papi.destroy_eventset},
      {"PAPI_get_real_nsec", &papi.get_real_nsec},
  };
  for (size_t i = 0; i < sizeof symbol / sizeof symbol[0]; i++) {
    void *f = dlsym(lib, symbol[i].name);
    if (f == NULL) return false;
    *(void **)symbol[i].at = f; /* POSIX's way from an object pointer to a function */
  }
  return true;
}

/* PAPI_library_init() takes the version of the header that its caller was compiled with; this one tries the known
 * versions in turn. */
static bool initialise(void) {
  static const int known[] = {0x07030000, 0x07020000, 0x07010000, 0x07000000, 0x06000000};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    if (papi.library_init(known[i]) != known[i]) continue;
    snprintf(papi.version, sizeof papi.version, "PAPI %d.%d", known[i] >> 24, (known[i] >> 16) & 0xff);
    return true;
  }
  return false;
}

const char *bench_papi_version(void) {
  if (!papi.tried) {
    papi.tried = true;
    void *lib = dlopen("libpapi.so.7.0", RTLD_NOW);
    if (lib == NULL) lib = dlopen("libpapi.so", RTLD_NOW);
    if (lib == NULL || !find(lib) || !initialise()) papi.version[0] = '\0';
  }
  return papi.version[0] != '\0' ? papi.version : NULL;
}

struct bench_papi *bench_papi_open(const char *const *names, size_t n) {
  if (bench_papi_version() == NULL) return NULL;
  struct bench_papi *p = calloc(1, sizeof *p);
  if (p == NULL) return NULL;
  p->set = -1; /* PAPI_NULL */
  bool fine = papi.create_eventset(&p->set) == 0;
  for (size_t i = 0; fine && i < n; i++) fine = papi.add_named_event(p->set, names[i]) == 0;
  if (fine && papi.start(p->set) == 0) return p;
  papi.cleanup_eventset(p->set);
  papi.destroy_eventset(&p->set);
  free(p);
  return NULL;
}

void bench_papi_close(struct bench_papi *p) {
  if (p == NULL) return;
  papi.stop(p->set, p->values);
  papi.cleanup_eventset(p->set);
  papi.destroy_eventset(&p->set);
  free(p);
}

void bench_papi_read(void *arg, size_t n) {
  struct bench_papi *p = arg;
  for (size_t i = 0; i < n; i++) papi.read(p->set, p->values);
}

/* The set is running between batches, so each round is a stop and a start: the same two calls. */
void bench_papi_start_stop(void *arg, size_t n) {
  struct bench_papi *p = arg;
  for (size_t i = 0; i < n; i++) {
    papi.stop(p->set, p->values);
    papi.start(p->set);
  }
}

void bench_papi_ns(void *arg, size_t n) {
  volatile long long *sink = arg;
  for (size_t i = 0; i < n; i++) *sink = papi.get_real_nsec();
}
