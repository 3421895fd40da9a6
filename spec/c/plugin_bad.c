/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/plugin_bad.c - metric plugins that get something wrong: named, dropped, survived. */
#include "check.h"
#include "plugins.h"

#include <dlfcn.h>
#include <elf.h>
#include <stddef.h>

static void refused(const char *name, int code, const char *why) {
  struct pml_plugin *p;
  int rc = load(name, "m", &p);
  CHECK(rc == code && p == NULL && strstr(pml_error_detail(rc), why) != NULL, "%s: %s", name, pml_error_detail(rc));
  CHECK(strchr(pml_error_detail(rc), '\n') == NULL, "in one line");
}

/* A plugin that is loaded, and fails at @when: 'l'oad, 'o'pen, 'e'nd. */
static void survived(const char *name, char when, const char *why) {
  struct pml_plugin *p;
  struct pml_eventset *set = NULL;
  struct pml_plugin_info info;
  char event[64];
  uint64_t v;
  snprintf(event, sizeof event, "plugin::%s::m", name);
  if (!CHECK(load(name, "m", &p) == 0, "%s is loaded", name)) return;
  CHECK((when == 'l') == (strstr(trouble, why) != NULL), "its load says%s %s", when == 'l' ? "" : " nothing", trouble);
  int rc = open_one(&set, event);
  if (rc == 0) rc = pml_eventset_read(set, &v);
  if (when == 'o') CHECK(rc < 0 && strstr(trouble, why) != NULL, "its use is refused: %s", trouble);
  CHECK(pml_plugin_end(p) == 0, "it ends");
  if (when == 'e') CHECK(strstr(trouble, why) != NULL, "which says %s", trouble);
  pml_plugin_describe(p, &info);
  CHECK(strstr(info.trouble, why) != NULL && strchr(info.trouble, '\n') == NULL, "and is on record in one line");
  pml_eventset_close(set);
}

static void wrong_plugins(void) {
  refused("bad_nowhere", -ENOENT, "No such file");
  refused("bad_unlike", PML_EPLUGIN, "has no SCOREP_MetricPlugin_bad_unlike_get_info");
  refused("bad_scopeless", PML_EPLUGIN, "scope 9");
  refused("bad_shared", PML_EPLUGIN, "must be per thread");
  refused("bad_dumb", PML_EPLUGIN, "no get_optional_value");
  refused("bad_failing", PML_EPLUGIN, "failed with 42");
  refused("bad_undefined", PML_EPLUGIN, "undefined symbol: nobody_has_this");
  refused("no/name", -EINVAL, "not the name of a plugin");
  struct pml_plugin *p;
  int rc = pml_plugin_load(&(struct pml_plugin_options){.name = "text", .path = "/proc/self/status"}, &p);
  CHECK(rc == PML_EPLUGIN, "a file that is no library is refused: %s", pml_error_detail(rc));
  survived("bad_newer", 'l', "version 99");
  survived("bad_nothing", 'l', "gave NULL");
  survived("bad_empty", 'l', "stands for no metric");
  survived("bad_endless", 'l', "does not end");
  survived("bad_modeless", 'l', "metric m has an unknown mode, type or exponent");
  survived("bad_refusing", 'o', "gave -1");
  survived("bad_boasting", 'e', "1000000 values");
  survived("bad_hollow", 'e', "its list holds 0");
  survived("bad_backwards", 'e', "declared to grow only");
  survived("bad_timeless", 'e', "3 values of m have times outside the measurement");
}

static int in_order(const struct pml_plugin_series *s, void *arg) {
  bool *good = arg;
  *good = s->n == 3 && s->outside == 0 && s->backwards == 0;
  for (size_t i = 0; i < s->n; i++)
    *good = *good && s->pair[i].value == i + 1 && (i == 0 || s->pair[i].ticks >= s->pair[i - 1].ticks);
  return 0;
}

static void shuffled(void) {
  struct pml_plugin *p;
  struct pml_eventset *set = NULL;
  uint64_t newest = 0;
  bool good = false;
  if (!CHECK(load("bad_shuffled", "m", &p) == 0 && pml_plugin_start(p) == 0, "one tells the newest first")) return;
  CHECK(pml_eventset_open(&set, (const char *[]){"plugin::bad_shuffled::m"}, 1, NULL) == 0 &&
            pml_eventset_start(set) == 0,
        "which a set has");
  CHECK(pml_plugin_end(p) == 0 && pml_plugin_series(p, in_order, &good) == 0 && good,
        "and its series is in the order of time all the same");
  CHECK(pml_eventset_read(set, &newest) == 0 && newest == 3, "and its value is the newest");
  pml_eventset_close(set);
  CHECK(trouble[0] == '\0', "without a message");
}

static void other_machine(void) {
  char from[4200], to[] = "/tmp/pmlua-foreign-XXXXXX", path[64];
  static char bytes[1 << 20];
  struct pml_plugin *p;
  (void)snprintf(from, sizeof from, "%s/libsteps.so", folder);
  int in = open(from, O_RDONLY);
  ssize_t n = in >= 0 ? read(in, bytes, sizeof bytes) : -1;
  if (!CHECK(n > 64 && n < (ssize_t)sizeof bytes && mkdtemp(to) != NULL, "a plugin is copied")) return;
  (void)close(in);
  (void)snprintf(path, sizeof path, "%s/libsteps.so", to);
  bytes[offsetof(Elf64_Ehdr, e_machine)] = (char)EM_RISCV; /* the lower byte, in both of our machines' order */
  int out = open(path, O_WRONLY | O_CREAT | O_EXCL, 0700);
  CHECK(out >= 0 && write(out, bytes, (size_t)n) == n && close(out) == 0, "for another machine");
  int rc = pml_plugin_load(&(struct pml_plugin_options){.name = "steps", .path = to}, &p);
  CHECK(rc == PML_EPLUGIN && strstr(pml_error_detail(rc), "was built for another kind of machine (RISC-V)") != NULL,
        "and refused: %s", pml_error_detail(rc));
  const char *was = getenv("LD_LIBRARY_PATH");
  char *kept = strdup(was != NULL ? was : "");
  (void)setenv("LD_LIBRARY_PATH", to, 1);
  rc = pml_plugin_load(&(struct pml_plugin_options){.name = "steps"}, &p);
  CHECK(rc == PML_EPLUGIN && strstr(pml_error_detail(rc), "was built for another kind of machine") != NULL,
        "also where the loader looks for it: %s", pml_error_detail(rc));
  (void)setenv("LD_LIBRARY_PATH", kept, 1);
  free(kept);
  (void)unlink(path);
  (void)rmdir(to);
}

static void in_a_circle(void) {
  struct pml_plugin *a, *b;
  struct pml_eventset *set;
  static const char *const names[] = {"plugin::bad_cycle_a::m", "plugin::bad_cycle_b::m"};
  uint64_t v[2];
  if (!CHECK(load("bad_cycle_a", "m", &a) == 0 && load("bad_cycle_b", "m", &b) == 0, "both are loaded")) return;
  CHECK(pml_eventset_open(&set, names, 2, NULL) == 0 && pml_eventset_read(set, v) == 0, "and read in one set");
  CHECK(v[0] == 0 && v[1] == 0, "with values that stand");
  pml_eventset_close(set);
  CHECK(pml_plugin_end(a) == 0 && pml_plugin_end(b) == 0, "and end in the order of their circle");
  CHECK(load("bad_cycle_b", "m", &b) == 0 && pml_plugin_end(b) == 0, "from which one comes back alone");
}

/* The plugin throws in @call: the results, 0 or a code, at load and at open. */
static void thrown(const char *call, int at_load, int at_open) {
  struct pml_plugin *p;
  struct pml_eventset *set = NULL;
  uint64_t v;
  setenv("THROWER", call, 1);
  int rc = load("thrower", "m", &p);
  const char *said = rc < 0 ? pml_error_detail(rc) : "";
  CHECK(rc == 0 || strstr(said, "std::runtime_error: thrown by ") != NULL, "the text of its exception is reported");
  CHECK(rc == at_load, "%s throws, and loading gives %s", call, rc < 0 ? pml_error_detail(rc) : "0");
  if (rc < 0) {
    CHECK(strstr(pml_error_detail(rc), "std::runtime_error") != NULL, "which names the exception");
    return;
  }
  CHECK(open_one(&set, "plugin::thrower::m") == at_open, "opening gives %d", at_open);
  for (int i = 0; set != NULL && i < 3; i++) CHECK(pml_eventset_read(set, &v) == 0, "reads continue");
  CHECK(pml_plugin_end(p) == 0, "it ends");
  CHECK(strstr(trouble, call) != NULL && strstr(trouble, "std::runtime_error") != NULL, "it is said: %s", trouble);
  pml_eventset_close(set);
}

static void exceptions(void) {
  thrown("get_info", PML_EPLUGIN, 0);
  thrown("initialize", PML_EPLUGIN, 0);
  thrown("get_event_info", PML_EPLUGIN, 0);
  thrown("set_clock_function", PML_EPLUGIN, 0);
  thrown("add_counter", 0, PML_EPLUGIN);
  thrown("synchronize", 0, PML_EPLUGIN);
  thrown("get_current_value", 0, 0);
  thrown("get_optional_value", 0, 0);
  thrown("get_all_values", 0, 0);
  thrown("synchronize at the end", 0, 0);
  thrown("finalize", 0, 0);
  unsetenv("THROWER");
}

static void others_go_on(void) {
  struct pml_plugin *p, *q;
  struct pml_eventset *set;
  uint64_t v[3];
  static const char *const names[] = {"plugin::steps::steps", "plugin::thrower::m", "plugin::steps::ones"};
  load("steps", "all", &p);
  load("thrower", "m", &q);
  if (!CHECK(pml_eventset_open(&set, names, 3, NULL) == 0, "two plugins in one set")) return;
  pml_eventset_read(set, v);
  pml_eventset_read(set, v);
  setenv("THROWER", "get_current_value", 1);
  CHECK(pml_eventset_read(set, v) == 0 && v[0] == 3 && v[1] == 2 && v[2] == 3,
        "one throws: it stands, the others count");
  unsetenv("THROWER");
  CHECK(pml_eventset_read(set, v) == 0 && v[0] == 4 && v[1] == 2 && v[2] == 4, "and it is not asked again");
  pml_plugin_end(q);
  pml_plugin_end(p);
  pml_eventset_close(set);
}

static void *read_hanging(void *set) {
  uint64_t v;
  pml_eventset_read(set, &v);
  return NULL;
}

static void hanging(void) {
  struct pml_plugin *p;
  struct pml_eventset *set;
  pthread_t thread;
  load("bad_hanging", "m", &p);
  int *go_on = dlsym(p->object, "bad_go_on"), *hangs = dlsym(p->object, "bad_hangs");
  __atomic_store_n(go_on, 1, __ATOMIC_RELEASE);
  if (!CHECK(open_one(&set, "plugin::bad_hanging::m") == 0, "a plugin that will hang is opened")) return;
  __atomic_store_n(go_on, 0, __ATOMIC_RELEASE);
  __atomic_store_n(hangs, 0, __ATOMIC_RELEASE);
  pthread_create(&thread, NULL, read_hanging, set);
  for (int i = 0; i < 60000 && !__atomic_load_n(hangs, __ATOMIC_ACQUIRE); i++) nap(1);
  CHECK(pml_plugin_end(p) == -EBUSY, "while a thread hangs in it, it is not ended, and no caller waits for ever");
  __atomic_store_n(go_on, 1, __ATOMIC_RELEASE);
  pthread_join(thread, NULL);
  CHECK(pml_plugin_end(p) == 0, "when it comes back, it is");
  pml_eventset_close(set);
}

int main(void) {
  find_folder();
  pml_plugin_on_trouble(on_trouble);
  CHECK_EACH(wrong_plugins, shuffled, other_machine, in_a_circle, exceptions, others_go_on, hanging);
  return check_done();
}
