/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/compat_fork.c - the drop-in: a fork handler of another library may join threads that counted. */
#include "check.h"
#include "compat.h"
#include "fork_join.h"

static papi_handle_t lib;
static void *counter;

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
  CHECK(forks_with(prepare, use), "a fork handler joins threads that counted through libsde");
  CHECK(forks_with(prepare, use_and_create), "and threads that created counters");
  return check_done();
}
