/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/compat_fork.c - the drop-in where it could wait for itself: in callbacks, forked children and fork handlers.
 */
#include "check.h"
#include "compat.h"
#include "fork_join.h"

static papi_handle_t lib;
static void *counter;
static atomic_bool inside, stop;

static long long three(void *unused) {
  (void)unused;
  return 3;
}

static long long takes_its_time(void *unused) {
  (void)unused;
  atomic_store(&inside, true);
  for (int i = 0; i < 2000 && !atomic_load(&stop); i++) usleep(1000);
  return 1;
}

/* Whether a child does @f in time. SIGKILL ends a child that hangs with its signals blocked. */
static bool child_does(int (*f)(void)) {
  int status = -1;
  pid_t child = fork();
  if (child == 0) _exit(f() == 0 ? 0 : 1);
  for (int i = 0; i < 20000 && waitpid(child, &status, WNOHANG) == 0; i++) usleep(1000);
  if (status == -1) {
    (void)kill(child, SIGKILL);
    (void)waitpid(child, &status, 0);
  }
  return status == 0;
}

static int read_three(void) {
  return value_of("HARD::THREE") == 3 && papi_sde_unregister_counter(lib, "THREE") == SDE_OK ? 0 : 1;
}

static long long forks(void *unused) {
  (void)unused;
  return child_does(read_three);
}

static int unregister_slow(void) {
  return papi_sde_unregister_counter(lib, "SLOW");
}

static void *read_slowly(void *arg) {
  (void)value_of("HARD::SLOWLY");
  return arg;
}

/* In a group, so that the read holds on to its members. */
static void in_group(const char *event, papi_sde_fptr_t callback, const char *group) {
  (void)papi_sde_register_counter_cb(lib, event, PAPI_SDE_INSTANT, PAPI_SDE_long_long, callback, NULL);
  (void)papi_sde_add_counter_to_group(lib, event, group, PAPI_SDE_SUM);
}

static void prepare(void) {
  lib = papi_sde_init("JOINED");
  if (papi_sde_create_counter(lib, "COUNT", PAPI_SDE_INSTANT, &counter) != SDE_OK) _exit(2);
}

static void use(void) {
  if (papi_sde_inc_counter(counter, 1) != SDE_OK) _exit(2);
}

static void use_and_create(void) {
  void *other;
  use();
  if (papi_sde_create_counter(lib, "OTHER", PAPI_SDE_INSTANT, &other) != SDE_OK) _exit(2);
}

int main(void) {
  pthread_t t;
  CHECK(forks_with(prepare, use), "a fork handler joins threads that counted through libsde");
  CHECK(forks_with(prepare, use_and_create), "and threads that created counters");
  lib = papi_sde_init("HARD");
  in_group("THREE", three, "TWO");
  in_group("FORKS", forks, "FORKING");
  in_group("SLOW", takes_its_time, "SLOWLY");
  CHECK(value_of("HARD::FORKING") == 1, "a callback may fork, and the child goes on reading and unregistering");
  if (pthread_create(&t, NULL, read_slowly, NULL) != 0) abort();
  for (int i = 0; i < 5000 && !atomic_load(&inside); i++) usleep(1000);
  CHECK(atomic_load(&inside) && child_does(unregister_slow), "a child does not wait for threads that it has not got");
  atomic_store(&stop, true);
  pthread_join(t, NULL);
  CHECK(papi_sde_shutdown(lib) == SDE_OK && value_of("HARD::TWO") == -1, "and a library goes that was read meanwhile");
  return check_done();
}
