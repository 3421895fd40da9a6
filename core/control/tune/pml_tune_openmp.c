/* SPDX-License-Identifier: BSD-3-Clause */
/* core/control/tune/pml_tune_openmp.c - the process's OpenMP runtime, found without linking. */
#include "control/tune/pml_tune_private.h"

#include <dlfcn.h>
#include <string.h>

struct openmp {
  void (*set)(int);
  int (*most)(void);
};

static bool find_in(void *library, struct openmp *o) {
  void *set = dlsym(library, "omp_set_num_threads"), *most = dlsym(library, "omp_get_max_threads");
  memcpy(&o->set, &set, sizeof set);
  memcpy(&o->most, &most, sizeof most);
  return set != NULL && most != NULL;
}

/* The program's function, or a library's that was loaded locally. */
static bool find(struct openmp *o) {
  static const char *const runtime[] = {"libgomp.so.1", "libomp.so.5", "libomp.so", "libiomp5.so"};
  bool found = find_in(RTLD_DEFAULT, o);
  for (size_t i = 0; !found && i < sizeof runtime / sizeof runtime[0]; i++) {
    void *library = dlopen(runtime[i], RTLD_LAZY | RTLD_NOLOAD);
    if (library == NULL) continue;
    found = find_in(library, o);
    dlclose(library); /* its loader still has it */
  }
  return found;
}

int pml__openmp_threads(int n) {
  struct openmp o;
  if (!find(&o)) return 0;
  int before = o.most();
  o.set(n);
  return before;
}
