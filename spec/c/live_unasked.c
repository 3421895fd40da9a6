/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/live_unasked.c - a service for rules alone: they act on a busy program; a socket is made when it is wanted. */
#include "check.h"
#include "live.h"
#include "sanitized.h"

static const char rules[] = "local pml = require 'pmlua'\n"
                            "pml.sde.watch('UNASKED::n', '1ms', function(n, series)\n"
                            "  if n < 1000 then return end\n"
                            "  pml.live.call('enough', n, #series)\n"
                            "  pml.sde.find 'UNASKED::stop':write(1)\n"
                            "  return false\n"
                            "end)\n";

static struct pml_sde_counter *n;
static _Atomic int64_t stop; /* written through the registry, as one store */
static _Atomic int64_t enough;

static int64_t told(void *arg, const double *values, size_t count) {
  (void)arg;
  atomic_store(&enough, count == 2 && values[1] >= 1 ? (int64_t)values[0] : -1);
  return 0;
}

/* Increments until the rule says stop. */
static void *work(void *arg) {
  double until = live_now() + LIVE_WAIT_S;
  while (atomic_load(&stop) == 0 && live_now() < until) {
    pml_sde_increment(n, 1);
    live_sleep_ms(0);
  }
  return arg;
}

static bool has_socket(void) {
  char path[LIVE_PATH_MAX];
  return pmlua_live_path(path, sizeof path) == 0;
}

static void rule(const char *runtime) {
  struct pml_sde_library *lib;
  char path[128];
  pthread_t t;
  snprintf(path, sizeof path, "%s/rules.lua", runtime);
  FILE *f = fopen(path, "w");
  if (!CHECK(f != NULL && fputs(rules, f) >= 0 && fclose(f) == 0, "there is a file of rules")) return;
  pml_sde_library(&lib, "UNASKED");
  pml_sde_create(lib, "n", PML_SDE_RO, &n);
  pml_sde_register(lib, "stop", PML_SDE_RW, PML_TYPE_INT64, (void *)&stop);
  pmlua_live_function("enough", told, NULL);
  const struct pmlua_live_options options = {.rules = path, .unasked = 1};
  CHECK(pmlua_live_start(&options) == 0, "a service starts");
  CHECK(!has_socket(), "without a socket");
  CHECK(pmlua_live_start(&options) == 0 && !has_socket(), "however often it is started so");
  pthread_create(&t, NULL, work, NULL);
  pthread_join(t, NULL);
  CHECK(atomic_load(&stop) == 1, "its rule stops who is busy, at %lld", (long long)pml_sde_counter_read(n));
  CHECK(atomic_load(&enough) >= 1000, "and has called a function of the application");
}

static void in_a_child(void) {
  int status = -1;
  if (SANITIZED) {
    SKIP("a fork among threads that allocate may leave a sanitizer's allocator locked in the child");
    return;
  }
  pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 300 && !has_socket(); i++) live_sleep_ms(1);
    _exit(has_socket() || pmlua_live_start(NULL) != 0 || !has_socket());
  }
  CHECK(waitpid(child, &status, 0) == child && status == 0, "a forked child has none either, until it asks for one");
  CHECK(!has_socket(), "and that is the child's");
}

static void asked(void) {
  char text[8192];
  const struct pmlua_live_options options = {.name = "asked"};
  CHECK(pmlua_live_start(&options) == 0 && has_socket(), "started again it has a socket");
  int fd = live_connect_self();
  CHECK(live_ask(fd, LIVE_INFO, "", text, sizeof text) == LIVE_OK && strstr(text, "\"asked\"") != NULL,
        "under the name it is given then, and answers");
  close(fd);
  CHECK(pmlua_live_stop() == 0 && !has_socket(), "it is stopped");
}

int main(void) {
  const char *runtime = live_runtime();
  rule(runtime);
  in_a_child();
  asked();
  return check_done();
}
