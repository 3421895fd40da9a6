/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/fork_join.c - no lock is held while another library's fork handler joins threads that use pmlua. */
#include "fork_join.h"
#include "check.h"
#include "sanitized.h"
#include "source/compiler/pml_count_runtime.h"
#include "source/sde/pml_sde_private.h"

#include <sys/syscall.h>

static struct pml_section *section;
static struct pml_sde_counter *counter;
static struct pml_recorder *recorder;
static pthread_barrier_t reading;

static void must(bool good) {
  if (!good) _exit(2);
}

static void prepare_section(void) {
  must(pml_section_define("joined", NULL, &section) == 0);
}

static void use_section(void) {
  must(pml_section_start(section) == 0 && pml_section_stop(section) == 0);
}

static void prepare_counter(void) {
  struct pml_sde_library *lib;
  must(pml_sde_library(&lib, "JOINED") == 0 && pml_sde_create(lib, "COUNT", PML_SDE_RW, &counter) == 0);
}

static void use_counter(void) {
  must(pml_sde_increment(counter, 1) == 0);
}

static void prepare_recorder(void) {
  const struct pml_recorder_options o = {.type = PML_TYPE_DOUBLE};
  must(pml_recorder_open(&recorder, &o) == 0);
}

static void use_recorder(void) {
  struct pml_value v;
  must(pml_recorder_push_double(recorder, 1) == 0 && pml_recorder_quantile(recorder, 50, &v) == 0 && v.d == 1);
}

static struct pml_sde_library *library;
static struct pml_sde_set *set;
static struct pml_sde_event *event;
static int64_t variable;

static int64_t callback(void *unused) {
  (void)unused;
  return 5;
}

static void prepare_events(void) {
  must(pml_sde_library(&library, "EVENTS") == 0 && pml_sde_create_set(library, "SET", &set) == 0);
  must(pml_sde_register(library, "VARIABLE", PML_SDE_RO, PML_TYPE_INT64, &variable) == 0);
  must(pml_sde_register_callback(library, "CALLBACK", PML_SDE_RO, PML_TYPE_INT64, callback, NULL) == 0);
}

static void prepare_variable(void) {
  prepare_events();
  must(pml_sde_find("EVENTS::VARIABLE", &event, NULL) == 0);
}

static void prepare_callback(void) {
  prepare_events();
  must(pml_sde_find("EVENTS::CALLBACK", &event, NULL) == 0);
}

static void use_registry(void) {
  static atomic_uint made;
  struct pml_sde_counter *c;
  char name[32];
  (void)snprintf(name, sizeof name, "NEW%u", atomic_fetch_add(&made, 1));
  must(pml_sde_create(library, name, PML_SDE_RW, &c) == 0 && pml_sde_unregister(library, name) == 0);
}

static void use_set(void) {
  static atomic_uint made;
  unsigned n = atomic_fetch_add(&made, 1);
  must(pml_sde_set_insert(set, sizeof n, sizeof n, &n, 0) == 0);
}

static void use_callback(void) {
  struct pml_value v;
  must(pml_sde_read(event, &v) == 0 && v.i == 5);
}

static void ignore(int64_t value, void *unused) {
  (void)value, (void)unused;
}

static void use_threshold(void) {
  must(pml_sde_on_overflow(event, 1000, ignore, NULL) == 0);
}

static struct pml_count_area *cells;
static struct pml_count_runtime runtime = {.abi = PML_COUNT_ABI};

static void prepare_counts(void) {
  cells = calloc(1, sizeof *cells);
  must(cells != NULL);
  runtime.area = cells;
}

static void use_counts(void) {
  static atomic_uint used;
  __atomic_or_fetch(&cells->header.used[0], UINT64_C(1) << atomic_fetch_add(&used, 1) % 16, __ATOMIC_RELEASE);
  must(pml_count_attach(&runtime) == 0);
}

static int no_value(void *arg, size_t metric, uint64_t *value) {
  (void)arg, (void)metric, (void)value;
  return 0;
}

static void no_plugin(void) {}

static void use_plugins(void) {
  static atomic_uint made;
  static const struct pml_plugin_metric metric = {.name = "m"};
  const struct pml_plugin_provider v = {
      .sync = PML_PLUGIN_SYNC, .scope = PML_PLUGIN_PROCESS, .metric = &metric, .nmetrics = 1, .read = no_value};
  struct pml_plugin *p;
  char name[32];
  (void)snprintf(name, sizeof name, "plugin%u_%d", atomic_fetch_add(&made, 1), (int)getpid());
  must(pml_plugin_provide(name, &v, &p) == 0 && pml_plugin_find(name) == p);
}

static void *in_the_registry(void *unused) {
  pml__sde_lock();
  pthread_barrier_wait(&reading);
  pthread_barrier_wait(&reading);
  pml__sde_unlock();
  return unused;
}

static pid_t by_fork(void) {
  return fork();
}

static pid_t by_plain_fork(void) {
  return _Fork();
}

static pid_t by_clone(void) {
  return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static bool forks_in_the_registry(pid_t (*make)(void)) {
  pid_t tried = fork();
  if (tried != 0) return ends_well(tried);
  alarm(FORK_SECONDS);
  pthread_t other;
  pthread_barrier_init(&reading, NULL, 2);
  prepare_variable();
  pthread_create(&other, NULL, in_the_registry, NULL);
  pthread_barrier_wait(&reading);
  pid_t child = make();
  if (child == 0) {
    alarm(FORK_SECONDS);
    use_registry();
    use_threshold();
    _exit(0);
  }
  bool good = ends_well(child);
  pthread_barrier_wait(&reading);
  pthread_join(other, NULL);
  _exit(good ? 0 : 1);
}

static int held_back(const void *a, const void *b) {
  static atomic_bool once;
  double x = *(const double *)a, y = *(const double *)b;
  if (!atomic_exchange(&once, true)) {
    pthread_barrier_wait(&reading); /* in the middle of it */
    pthread_barrier_wait(&reading);
  }
  return (x > y) - (x < y);
}

static void *median(void *unused) {
  double d;
  must(pml_recorder_quantile_bytes(recorder, 50, &d) == 0 && d == 2);
  return unused;
}

static bool forks_in_a_reading(void) {
  const struct pml_recorder_options o = {.type = PML_TYPE_OTHER, .bytes = sizeof(double), .compare = held_back};
  pid_t tried = fork();
  if (tried != 0) return ends_well(tried);
  alarm(FORK_SECONDS);
  pthread_t reader;
  pthread_barrier_init(&reading, NULL, 2);
  must(pml_recorder_open(&recorder, &o) == 0);
  for (double d = 1; d < 4; d++) must(pml_recorder_push(recorder, &d) == 0);
  pthread_create(&reader, NULL, median, NULL);
  pthread_barrier_wait(&reading);
  pid_t child = fork();
  if (child == 0) {
    alarm(FORK_SECONDS);
    (void)median(NULL);
    pml_recorder_close(recorder);
    _exit(0);
  }
  pthread_barrier_wait(&reading);
  pthread_join(reader, NULL);
  _exit(ends_well(child) ? 0 : 1);
}

int main(void) {
  if (pml_clock_init() < 0) return 1;
  CHECK(forks_with(prepare_section, use_section), "a fork handler joins threads that were in sections");
  CHECK(forks_with(prepare_counter, use_counter), "and threads that counted in a created counter");
  CHECK(forks_with(prepare_recorder, use_recorder), "and threads that pushed to a recorder and read it");
  CHECK(forks_with(prepare_events, use_registry), "and threads that register events and take them back");
  CHECK(forks_with(prepare_events, use_set), "and threads that put into a counting set");
  CHECK(forks_with(prepare_counts, use_counts), "and threads that load what the compiler counts");
  CHECK(forks_with(no_plugin, use_plugins), "and threads that provide plugins");
  if (SANITIZED) {
    SKIP("sanitizers do not allow threads to be left behind by a fork, nor to be started after it");
    return check_done();
  }
  CHECK(forks_with(prepare_callback, use_callback), "and threads that read a callback");
  CHECK(forks_with(prepare_variable, use_threshold), "and threads that set thresholds");
  CHECK(forks_in_a_reading(), "a fork in the middle of a reading: the child reads again, the parent continues");
  CHECK(forks_in_the_registry(by_fork), "a fork while another thread is in the registry");
  CHECK(forks_in_the_registry(by_plain_fork), "and a fork without handlers");
  CHECK(forks_in_the_registry(by_clone), "and one by the system call");
  return check_done();
}
