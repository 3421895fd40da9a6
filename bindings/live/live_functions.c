/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/live/live_functions.c - application functions that the service may call, and stopping the run. */
#include "live/live.h"

#include "base/pml_process.h"
#include "embed/guard.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FUNCTION_NAME_MAX 63

int live_stop_signal = SIGTERM;

struct function {
  char name[FUNCTION_NAME_MAX + 1];
  pmlua_live_callback *fn; /* NULL: removed */
  void *arg;
  struct function *next;
};

static struct function *functions; /* under live__lock; for good */

static struct function *function_of(const char *name) {
  struct function *f = functions;
  while (f != NULL && strcmp(f->name, name) != 0) f = f->next;
  return f;
}

int pmlua_live_function(const char *name, pmlua_live_callback *fn, void *arg) {
  size_t n = name != NULL ? strnlen(name, FUNCTION_NAME_MAX + 1) : 0;
  if (n == 0 || n > FUNCTION_NAME_MAX)
    return pml_fail(-EINVAL, "a function's name has 1 to %d bytes", FUNCTION_NAME_MAX);
  struct function *fresh = calloc(1, sizeof *fresh);
  if (fresh == NULL) return pml_fail(-ENOMEM, "function %s: out of memory", name);
  live__lock();
  struct function *f = function_of(name);
  if (f == NULL && fn != NULL) {
    f = fresh;
    fresh = NULL;
    memcpy(f->name, name, n);
    f->next = functions;
    __atomic_store_n(&functions, f, __ATOMIC_RELEASE);
  }
  if (f != NULL) {
    f->fn = NULL; /* a child never has the one with the other's argument */
    __atomic_store_n(&f->arg, arg, __ATOMIC_RELEASE);
    __atomic_store_n(&f->fn, fn, __ATOMIC_RELEASE);
  }
  live__unlock();
  free(fresh);
  return 0;
}

/* One at a time, on any thread of the service; a function may cause another call on its thread. */
static struct pml__lock calling;
static _Thread_local int depth;

struct call {
  pmlua_live_callback *fn;
  void *arg;
  const double *values;
  size_t n;
  int64_t result;
};

static void call_function(void *call) {
  struct call *c = call;
  c->result = c->fn(c->arg, c->values, c->n);
}

int live__call(const char *name, const double *values, size_t n, int64_t *result) {
  if (!live__on_thread()) return pml_fail(PML_EMODE, "functions are called by rules and questions, on their thread");
  live__lock();
  const struct function *f = function_of(name);
  pmlua_live_callback *fn = f != NULL ? f->fn : NULL;
  void *arg = f != NULL ? f->arg : NULL;
  live__unlock();
  if (fn == NULL) return pml_fail(-ENOENT, "the application has given no function \"%.64s\"", name);
  struct call call = {fn, arg, values, n, 0};
  char what[160];
  if (depth++ == 0) pml__lock_take(&calling);
  bool returned = guarded(call_function, &call, what, sizeof what);
  if (--depth == 0) pml__lock_leave(&calling);
  if (!returned) return pml_fail(PML_ESCRIPT, "a C++ exception left the function %s: %s", name, what);
  *result = call.result;
  return 0;
}

char *live__functions(void) {
  size_t n = 1, at = 0;
  live__lock();
  for (const struct function *f = functions; f != NULL; f = f->next) n += strlen(f->name) + 1;
  char *names = calloc(1, n);
  for (const struct function *f = functions; f != NULL && names != NULL; f = f->next) {
    if (f->fn == NULL) continue;
    memcpy(names + at, f->name, strlen(f->name));
    at += strlen(f->name) + 1;
  }
  live__unlock();
  return names;
}

int live__stop_run(const char *reason) {
  live__lock();
  struct live *l = live__running();
  bool again = l != NULL && atomic_exchange(&l->run_stopped, true);
  void (*stop)(const char *, void *) = l != NULL ? l->stop_run : NULL;
  void *arg = l != NULL ? l->stop_arg : NULL;
  live__unlock();
  if (l == NULL) return pml_fail(PML_ECLOSED, "there is no run to stop: nothing is served");
  if (again) return 1;
  live__say("the run is stopped: %s", reason);
  if (stop != NULL)
    stop(reason, arg);
  else
    kill(getpid(), live_stop_signal);
  return 0;
}
