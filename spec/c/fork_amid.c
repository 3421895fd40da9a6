/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/fork_amid.c - children forked while other threads change shared data, which must be usable in the child. */
#include "check.h"
#include "sanitized.h"

enum { FORKS = 60, CHILD_SECONDS = 20, STABLE = 300, STIRRERS = 5, PLUGINS = 300 };

static struct pml_sde_library *library;
static struct pml_sde_set *set;
static int64_t variable = 7;
static atomic_bool stop;

static void name_of(char name[32], const char *what, unsigned i) {
  (void)snprintf(name, 32, "%s%u", what, i);
}

static void stir_registry(unsigned n) {
  char name[32];
  for (unsigned i = 0; i < 600; i++) { /* the table grows once: the first time */
    name_of(name, "STIR", n % 2 * 1000 + i);
    (void)pml_sde_register(library, name, PML_SDE_RO, PML_TYPE_INT64, &variable);
  }
  for (unsigned i = 0; i < 600; i++) {
    name_of(name, "STIR", n % 2 * 1000 + i);
    (void)pml_sde_unregister(library, name);
  }
}

static void stir_set(unsigned n) {
  for (unsigned i = 0; i < 1000; i++) (void)pml_sde_set_insert(set, sizeof i, sizeof i, &i, n);
  for (unsigned i = 0; i < 1000; i++) (void)pml_sde_set_remove(set, sizeof i, &i, n);
}

static void stir_groups(unsigned n) {
  char name[32];
  (void)n;
  for (unsigned i = 0; i < 20; i++) {
    name_of(name, "MEMBER", i);
    (void)pml_sde_register(library, name, PML_SDE_RO, PML_TYPE_INT64, &variable);
    (void)pml_sde_group_add(library, name, "GROUP", PML_SDE_SUM);
  }
  for (unsigned i = 0; i < 20; i++) {
    name_of(name, "MEMBER", i);
    (void)pml_sde_unregister(library, name);
  }
}

static int no_value(void *arg, size_t metric, uint64_t *value) {
  (void)arg, (void)metric, (void)value;
  return 0;
}

static struct pml_plugin *provide(const char *name) {
  static const struct pml_plugin_metric metric = {.name = "m"};
  const struct pml_plugin_provider v = {
      .sync = PML_PLUGIN_SYNC, .scope = PML_PLUGIN_PROCESS, .metric = &metric, .nmetrics = 1, .read = no_value};
  struct pml_plugin *p;
  return pml_plugin_provide(name, &v, &p) == 0 ? p : NULL;
}

static void stir_plugins(unsigned n) {
  static unsigned made;
  char name[32];
  (void)n;
  if (made < PLUGINS) name_of(name, "plugin", made++);
  if (made == PLUGINS || provide(name) == NULL) usleep(1000);
}

/* A name of libpfm4, a PMU in sysfs, an event with a path that is stored. */
static const char *const kernels[] = {"perf::TASK-CLOCK", "cycles", "uprobe:/proc/self/exe:main"};
enum { KERNELS = sizeof kernels / sizeof *kernels };
static struct pml_event parsed[KERNELS];

static void stir_events(unsigned n) {
  struct pml_event ev;
  (void)n;
  (void)pml_event_set_sysfs(NULL); /* forget the PMUs found, so that they are searched again */
  for (size_t i = 0; i < KERNELS; i++) (void)pml_event_parse(&ev, kernels[i]);
}

static void *stir(void *arg) {
  static void (*const way[STIRRERS])(unsigned) = {stir_registry, stir_set, stir_groups, stir_plugins, stir_events};
  unsigned n = (unsigned)(uintptr_t)arg;
  while (!atomic_load(&stop)) way[n](n);
  return NULL;
}

static int count(const struct pml_sde_info *info, void *n) {
  *(unsigned *)n += strncmp(info->name, "STABLE", 6) == 0;
  return 0;
}

static int count_elements(const struct pml_sde_element *e, void *n) {
  if (e->count == 0) return 1;
  ++*(uint64_t *)n;
  return 0;
}

static bool names_are_there(void) {
  unsigned n = 0;
  for (unsigned i = 0; i < STABLE; i++) {
    char name[32];
    struct pml_sde_event *ev;
    struct pml_value v;
    bool made;
    name_of(name, "AMID::STABLE", i);
    if (pml_sde_find(name, &ev, &made) < 0 || made || pml_sde_read(ev, &v) != 0 || v.i != variable) return false;
    pml_sde_release(ev);
  }
  return pml_sde_list(count, &n) == 0 && n == STABLE;
}

static bool set_is_whole(void) {
  struct pml_sde_event *ev;
  struct pml_value v;
  uint64_t n = 0;
  if (pml_sde_set_insert(set, 1, 1, "x", 99) != 0 || pml_sde_set_visit(set, count_elements, &n) != 0) return false;
  return pml_sde_find("AMID::SET", &ev, NULL) == 0 && pml_sde_read(ev, &v) == 0 && (uint64_t)v.i == n;
}

static int last_of(struct pml_plugin *p, void *last) {
  *(struct pml_plugin **)last = p;
  return 0;
}

/* An event provided now gets the last place: none has been lost. */
static bool plugins_are_listed(void) {
  struct pml_plugin *last = NULL, *p = provide("own");
  return p != NULL && pml_plugin_list(last_of, &last) == 0 && last == p && pml_plugin_find("own") == p;
}

static bool events_are_as_before(void) {
  for (size_t i = 0; i < KERNELS; i++) {
    struct pml_event ev;
    if (pml_event_parse(&ev, kernels[i]) != 0 || ev.nparts != parsed[i].nparts) return false;
    if (memcmp(&ev.first.attr, &parsed[i].first.attr, sizeof ev.first.attr) != 0) return false;
  }
  return pml_event_set_sysfs(NULL) == 0;
}

static int in_child(void) {
  if (!names_are_there()) return 2;
  if (!set_is_whole()) return 3;
  if (!plugins_are_listed()) return 4;
  if (!events_are_as_before()) return 5;
  stir_registry(0);
  stir_groups(0);
  return pml_sde_shutdown(library) == 0 ? 0 : 6;
}

int main(void) {
  pthread_t t[STIRRERS];
  if (SANITIZED) {
    SKIP("a fork among threads that allocate may leave a sanitizer's allocator locked in the child");
    return check_done();
  }
  if (pml_sde_library(&library, "AMID") != 0 || pml_sde_create_set(library, "SET", &set) != 0) return 1;
  for (unsigned i = 0; i < STABLE; i++) {
    char name[32];
    name_of(name, "STABLE", i);
    if (pml_sde_register(library, name, PML_SDE_RO, PML_TYPE_INT64, &variable) != 0) return 1;
  }
  for (size_t i = 0; i < KERNELS; i++)
    if (pml_event_parse(&parsed[i], kernels[i]) != 0) return 1;
  alarm(200);
  for (uintptr_t i = 0; i < STIRRERS; i++)
    if (pthread_create(&t[i], NULL, stir, (void *)i) != 0) return 1;
  int done = 0, status = 0;
  for (; done < FORKS && status == 0; done++) {
    pid_t child = fork();
    if (child == 0) {
      alarm(CHILD_SECONDS);
      _exit(in_child());
    }
    if (child < 0 || waitpid(child, &status, 0) != child) break;
  }
  atomic_store(&stop, true);
  for (int i = 0; i < STIRRERS; i++) pthread_join(t[i], NULL);
  CHECK(done == FORKS && status == 0,
        "a child finds events of all sources, a set, groups and plugins whole (%d of %d, status %#x)", done, FORKS,
        (unsigned)status);
  CHECK(names_are_there() && set_is_whole(), "and so does the parent");
  return check_done();
}
