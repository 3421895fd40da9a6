/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/sde_dlclose.c - a library that is unloaded while its events are read stays until they are taken back. */
#include "check.h"

#include <dlfcn.h>

static const char source[] = "long long value = 42;\n"
                             "static long long calls;\n"
                             "long long count(void *p) { return (long long)(*(int *)p * 1000) + ++calls; }\n"
                             "int param = 3;\n"
                             "_Atomic long long heard;\n"
                             "void notify(long v, void *arg) { (void)arg; heard = v; }\n"
                             "int order(const void *a, const void *b) { return *(char *)a - *(char *)b; }\n";

static char dir[] = "/tmp/pmlua-sde-XXXXXX", path[64];

/* The library is compiled here, by the compiler that compiled this. */
static void *build(void) {
  char command[256];
  if (mkdtemp(dir) == NULL) return NULL;
  snprintf(path, sizeof path, "%s/lib.so", dir);
  snprintf(command, sizeof command, "${CC:-cc} -shared -fPIC -x c - -o %s", path);
  FILE *cc = popen(command, "w");
  if (cc == NULL) return NULL;
  fputs(source, cc);
  return pclose(cc) == 0 ? dlopen(path, RTLD_NOW) : NULL;
}

static bool is_loaded(void) {
  void *h = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  if (h != NULL) dlclose(h);
  return h != NULL;
}

static bool reads(const char *name, int64_t want) {
  struct pml_sde_event *ev;
  struct pml_value v = {.i = 0};
  bool right = pml_sde_find(name, &ev, NULL) == 0 && pml_sde_read(ev, &v) == 0 && v.i == want;
  pml_sde_release(ev);
  return right;
}

static pml_sde_callback *function(void *so, const char *name) {
  pml_sde_callback *f;
  *(void **)&f = dlsym(so, name);
  return f;
}

static void unloaded(void *so) {
  struct pml_sde_library *lib;
  struct pml_recorder *r;
  struct pml_recorder_options o = {.type = PML_TYPE_OTHER, .bytes = 1};
  *(void **)&o.compare = dlsym(so, "order");
  pml_sde_library(&lib, "UNLOADED");
  pml_sde_register(lib, "VALUE", 0, PML_TYPE_INT64, dlsym(so, "value"));
  pml_sde_register_callback(lib, "CALL", 0, PML_TYPE_INT64, function(so, "count"), dlsym(so, "param"));
  pml_sde_create_recorder(lib, "REC", &o, &r);
  pml_recorder_push(r, "b");
  pml_recorder_push(r, "a");
  CHECK(dlclose(so) == 0 && is_loaded(), "its events keep it loaded");
  char least = 0;
  CHECK(reads("UNLOADED::VALUE", 42) && reads("UNLOADED::CALL", 3001), "registered events are read as before");
  CHECK(pml_recorder_quantile_bytes(r, 0, &least) == 0 && least == 'a', "and compared");
  pml_sde_unregister(lib, "VALUE");
  CHECK(is_loaded() && reads("UNLOADED::VALUE", -1) && reads("UNLOADED::CALL", 3002), "also when one of them goes");
  pml_sde_unregister(lib, "CALL");
  CHECK(is_loaded(), "and the second");
  pml_sde_unregister(lib, "REC");
  CHECK(!is_loaded(), "with the last it is unloaded");
  CHECK(reads("UNLOADED::CALL", -1), "and its events are placeholders");
}

static void unloaded_while_it_is_polled(void *so) {
  struct pml_sde_library *lib;
  struct pml_sde_event *ev;
  const struct timespec nap = {0, 1000000};
  void (*notify)(int64_t, void *);
  _Atomic long long *heard = dlsym(so, "heard");
  long long *value = dlsym(so, "value");
  *(void **)&notify = dlsym(so, "notify");
  pml_sde_library(&lib, "POLLED");
  pml_sde_register(lib, "VALUE", PML_SDE_RW, PML_TYPE_INT64, value);
  pml_sde_find("POLLED::VALUE", &ev, NULL);
  CHECK(pml_sde_on_overflow(ev, 100, notify, NULL) == 0, "a library watches its own counter");
  pml_sde_release(ev);
  dlclose(so);
  __atomic_store_n(value, 150, __ATOMIC_RELAXED);
  for (int i = 0; i < 10000 && *heard == 0; i++) nanosleep(&nap, NULL);
  CHECK(is_loaded() && *heard == 150, "unloaded, it hears of an overflow as before");
  pml_sde_unregister(lib, "VALUE");
  for (int i = 0; i < 10000 && is_loaded(); i++) nanosleep(&nap, NULL);
  CHECK(!is_loaded(), "and goes once its counter has");
}

int main(void) {
  void *so = build();
  if (so == NULL)
    SKIP("no library to unload: there is no C compiler to make one");
  else
    unloaded(so);
  if (so != NULL && (so = dlopen(path, RTLD_NOW)) != NULL) unloaded_while_it_is_polled(so);
  (void)unlink(path);
  (void)rmdir(dir);
  return check_done();
}
