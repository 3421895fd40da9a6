/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/embed.c - a complete application with pmlua embedded.
 *
 * The application is a solver that publishes its residual as a software-defined event. It runs Lua under limits, gives
 * Lua a function, returns its residual to a query like one of `pmlua query` while it solves, and is stopped by a rule.
 */
#include "check.h"

#include "pmlua.h"

#include <lauxlib.h>
#include <sys/socket.h>
#include <sys/un.h>

static double residual = 1;
static long long steps;
static atomic_bool stopped;

/* 1. A function for scripts: tolerance(x) is the ratio of the residual x to its target. */
static int tolerance(lua_State *L) {
  lua_pushnumber(L, luaL_checknumber(L, 1) / 1e-6);
  return 1;
}

static void scripts(void) {
  struct pmlua *p;
  int err = pmlua_open(&p, NULL);
  if (!CHECK(err == 0, "a state opens: %s", pml_error_detail(err))) return;
  lua_register(pmlua_state(p), "tolerance", tolerance);

  /* 2. A string under limits; its results come as text. */
  const struct pmlua_limits limits = {.instructions = 1000000, .memory_bytes = 16u << 20};
  char *results;
  err = pmlua_run_string(p, "greeting", "return tolerance(1e-3), require 'pmlua'.version", &limits, &results);
  CHECK(err == 0 && strcmp(results, "1000.0\t" PML_VERSION) == 0, "a string runs and calls us: %s",
        err == 0 ? results : pml_error_detail(err));
  free(results);

  /* 3. An error is a code and one line. A script cannot crash the application. */
  err = pmlua_run_string(p, "wrong", "local t = nil\nreturn t.x", &limits, NULL);
  CHECK(err == PML_ESCRIPT && strstr(pml_error_detail(err), "wrong:2: ") != NULL, "an error has its line: %s",
        pml_error_detail(err));
  err = pmlua_run_string(p, "endless", "while true do pcall(error) end", &limits, NULL);
  CHECK(err == PML_ELIMIT, "a loop ends: %s", pml_error_detail(err));

  /* 4. A file, in the same state. */
  char path[] = "/tmp/pmlua-embed-XXXXXX";
  FILE *f = fdopen(mkstemp(path), "w");
  fputs("local set = require 'pmlua'.eventset { 'clock::ns' }\nset:start()\nreturn set:read() >= 0\n", f);
  fclose(f);
  err = pmlua_run_file(p, path, &limits, &results);
  CHECK(err == 0 && strcmp(results, "true") == 0, "a file measures: %s", err == 0 ? results : pml_error_detail(err));
  free(results);
  unlink(path);
  pmlua_close(p);
}

/* 5. The application publishes two of its variables. Publishing costs the solver nothing. */
static void publish(void) {
  struct pml_sde_library *lib;
  pml_sde_library(&lib, "SOLVER");
  pml_sde_register(lib, "residual", PML_SDE_RO | PML_SDE_INSTANT, PML_TYPE_DOUBLE, &residual);
  pml_sde_register(lib, "steps", PML_SDE_RO | PML_SDE_INSTANT, PML_TYPE_INT64, &steps);
  pml_sde_describe(lib, "residual", "norm of the residual, relative to the first");
}

/* 6. Actions of rules: call this function, or stop the run. Both are called on the service's thread. */
static int64_t halve(void *arg, const double *values, size_t n) {
  *(_Atomic int64_t *)arg += n > 0 ? (int64_t)values[0] / 2 : 0;
  return *(_Atomic int64_t *)arg;
}

static void stop(const char *reason, void *arg) {
  (void)reason;
  atomic_store((atomic_bool *)arg, true);
}

static void solve(int n) {
  for (int i = 0; i < n && !atomic_load(&stopped); i++) {
    residual *= 0.5;
    steps++;
  }
}

static void ask(const char *path, const char *code, char *answer, size_t size) {
  struct sockaddr_un a = {.sun_family = AF_UNIX};
  snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  size_t n = 0;
  answer[0] = '\0';
  if (connect(fd, (struct sockaddr *)&a, sizeof a) == 0) {
    dprintf(fd, "pmlua1 eval %zu\n%s", strlen(code), code);
    shutdown(fd, SHUT_WR);
    for (ssize_t got; n + 1 < size && (got = read(fd, answer + n, size - 1 - n)) > 0;) n += (size_t)got;
    answer[n] = '\0';
  }
  close(fd);
}

static void questions(void) {
  static _Atomic int64_t halves;
  char path[108], answer[256];

  /* 7. From here on, `pmlua query solver` and `pmlua attach solver` reach this process. */
  const struct pmlua_live_options options = {.name = "solver", .stop = stop, .stop_arg = &stopped};
  pmlua_live_function("halve", halve, &halves);
  int err = pmlua_live_start(&options);
  if (!CHECK(err == 0, "the service starts: %s", pml_error_detail(err))) return;
  CHECK(pmlua_live_path(path, sizeof path) == 0, "its socket is %s", path);

  solve(10);
  ask(path, "pml.sde.find('SOLVER::steps'):read()", answer, sizeof answer);
  CHECK(strcmp(answer, "ok 2\n10") == 0, "asked while it runs, it has made 10 steps: %s", answer);
  ask(path, "pml.live.call('halve', 84)", answer, sizeof answer);
  CHECK(strcmp(answer, "ok 2\n42") == 0 && halves == 42, "a question may call what the application lends: %s", answer);
  ask(path, "pml.live.stop_run('seen enough')", answer, sizeof answer);
  solve(1000);
  CHECK(atomic_load(&stopped) && steps == 10, "and stop the run: %s", answer);

  pmlua_live_stop();
  CHECK(access(path, F_OK) != 0, "after the stop no questions are answered");
}

int main(void) {
  CHECK_EACH(scripts, publish, questions);
  return check_done();
}
