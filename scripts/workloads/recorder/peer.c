/* SPDX-License-Identifier: BSD-3-Clause */
/* scripts/workloads/recorder/peer.c - PAPI's libsde, found at run time: the rest runs without it. */
#include "recorder.h"

#include <dlfcn.h>
#include <link.h>

#define LIBRARY "PUSHES"

struct peer recorder_peer;

static bool find(void *so, const char *name, void *at) {
  return (*(void **)at = dlsym(so, name)) != NULL; /* POSIX's way from an object pointer to a function */
}

static int check(struct pml_workload_run *r, void *so, const char *file) {
  struct peer *p = &recorder_peer;
  struct link_map *map = NULL;
  if (dlsym(so, "pml_recorder_push") != NULL) {
    (void)dlinfo(so, RTLD_DI_LINKMAP, &map);
    return workload_fail(r, -ENOENT, "libsde: %.160s is pmlua's own drop-in; name PAPI's by its full path",
                         map != NULL && *map->l_name ? map->l_name : file);
  }
  if (!find(so, "papi_sde_init", &p->init) || !find(so, "papi_sde_create_recorder", &p->create) ||
      !find(so, "papi_sde_record", &p->record) || !find(so, "sde_ti_name_to_code", &p->code) ||
      !find(so, "sde_ti_read_counter", &p->read))
    return workload_fail(r, -ENOENT, "libsde: %.160s has no recorders; use that of PAPI 7.0 or newer", file);
  p->library = p->init(LIBRARY);
  return p->library != NULL ? 0 : workload_fail(r, -ENOMEM, "libsde: %.160s failed to initialise", file);
}

int recorder_peer_open(struct pml_workload_run *r, const char *file) {
  if (recorder_peer.so != NULL) return 0;
  void *so = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (so == NULL) return workload_fail(r, -ENOENT, "libsde: %.160s; install PAPI's (Debian: libsde1)", dlerror());
  int err = check(r, so, file);
  if (err == 0)
    recorder_peer.so = so;
  else
    dlclose(so);
  return err;
}

int recorder_peer_create(struct pml_workload_run *r, size_t bytes, unsigned *number, void **recorder) {
  struct peer *p = &recorder_peer;
  char name[32];
  *number = p->made++;
  snprintf(name, sizeof name, "SERIES%u", *number);
  if (p->create(p->library, name, bytes, NULL, recorder) == 0) return 0;
  return workload_fail(r, -ENOMEM, "libsde: papi_sde_create_recorder failed for %s", name);
}

static long long read_event(unsigned number, const char *suffix, long long none) {
  struct peer *p = &recorder_peer;
  char name[64];
  uint32_t code;
  long long v;
  snprintf(name, sizeof name, LIBRARY "::SERIES%u%s", number, suffix);
  return p->code(name, &code) == 0 && p->read(code, &v) == 0 ? v : none;
}

long long recorder_peer_count(unsigned number) {
  return read_event(number, ":CNT", -1);
}

void *recorder_peer_copy(unsigned number) {
  return (void *)(intptr_t)read_event(number, "", 0); /* libsde's way to hand over a pointer */
}
