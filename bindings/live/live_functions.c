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
  pmlua_live_callback *fn; /* NULL: removed, or typed */
  pmlua_callback *typed;   /* NULL: removed, or with numbers */
  struct typed type;
  void *arg;
  struct function *next;
};

static struct function *functions; /* under live__lock; for good */

static struct function *function_of(const char *name) {
  struct function *f = functions;
  while (f != NULL && strcmp(f->name, name) != 0) f = f->next;
  return f;
}

static int provide(const char *name, pmlua_live_callback *fn, pmlua_callback *typed, const struct typed *type,
                   void *arg) {
  size_t n = name != NULL ? strnlen(name, FUNCTION_NAME_MAX + 1) : 0;
  if (n == 0 || n > FUNCTION_NAME_MAX)
    return pml_fail(-EINVAL, "a function's name has 1 to %d bytes", FUNCTION_NAME_MAX);
  struct function *fresh = calloc(1, sizeof *fresh);
  if (fresh == NULL) return pml_fail(-ENOMEM, "function %s: out of memory", name);
  live__lock();
  struct function *f = function_of(name);
  if (f == NULL && (fn != NULL || typed != NULL)) {
    f = fresh;
    fresh = NULL;
    memcpy(f->name, name, n);
    f->next = functions;
    __atomic_store_n(&functions, f, __ATOMIC_RELEASE);
  }
  if (f != NULL) {
    f->fn = NULL; /* a child never has the one with the other's argument */
    __atomic_store_n(&f->typed, NULL, __ATOMIC_RELEASE);
    if (type != NULL) f->type = *type;
    __atomic_store_n(&f->arg, arg, __ATOMIC_RELEASE);
    __atomic_store_n(&f->fn, fn, __ATOMIC_RELEASE);
    __atomic_store_n(&f->typed, typed, __ATOMIC_RELEASE);
  }
  live__unlock();
  free(fresh);
  return 0;
}

int pmlua_live_function(const char *name, pmlua_live_callback *fn, void *arg) {
  return provide(name, fn, NULL, NULL, arg);
}

int pmlua_live_define(const char *name, const char *format, pmlua_callback *fn, void *arg) {
  struct typed type;
  int err = typed_parse(&type, format);
  return err < 0 ? err : provide(name, NULL, fn, &type, arg);
}

/* One at a time, on any thread of the service; a function may cause another call on its thread. */
static struct pml__lock calling;
static _Thread_local int depth;

int live__callee(const char *name, struct live_callee *to) {
  if (!live__on_thread()) return pml_fail(PML_EMODE, "functions are called by rules and questions, on their thread");
  live__lock();
  const struct function *f = function_of(name);
  *to = (struct live_callee){.name = name};
  if (f != NULL) {
    to->fn = f->fn;
    to->typed = f->typed;
    to->arg = f->arg;
    to->type = f->type;
  }
  live__unlock();
  if (to->fn != NULL || to->typed != NULL) return 0;
  return pml_fail(-ENOENT, "the application has given no function \"%.64s\"", name);
}

/* Strings are copied while no other call can change them. */
static void call_function(void *callee) {
  struct live_callee *c = callee;
  if (c->fn != NULL)
    c->result = c->fn(c->arg, c->values, c->n);
  else
    c->err = c->typed(c->arg, c->in, c->out);
  for (int i = 0; c->typed != NULL && c->err == 0 && c->type.out[i] != '\0'; i++) {
    if (!typed_has_string(c->type.out[i]) || c->out[i].s == NULL) continue;
    size_t n = c->type.out[i] == 'z' ? c->out[i].n : strlen(c->out[i].s);
    c->kept[i] = malloc(n + 1);
    if (c->kept[i] == NULL) c->err = pml_fail(-ENOMEM, "function %.64s: out of memory for a result", c->name);
    if (c->err < 0) return;
    memcpy(c->kept[i], c->out[i].s, n);
    c->kept[i][n] = '\0';
    c->out[i].s = c->kept[i];
  }
}

void live__callee_done(void *callee) {
  struct live_callee *c = callee;
  for (int i = 0; i < TYPED_MAX; i++) free(c->kept[i]);
  free(c);
}

int live__call(struct live_callee *call) {
  char what[160];
  if (depth++ == 0) pml__lock_take(&calling);
  bool returned = guarded(call_function, call, what, sizeof what);
  if (--depth == 0) pml__lock_leave(&calling);
  if (!returned) return pml_fail(PML_ESCRIPT, "a C++ exception left the function %s: %s", call->name, what);
  return call->err;
}

char *live__functions(void) {
  size_t n = 1, at = 0;
  live__lock();
  for (const struct function *f = functions; f != NULL; f = f->next) n += strlen(f->name) + 1;
  char *names = calloc(1, n);
  for (const struct function *f = functions; f != NULL && names != NULL; f = f->next) {
    if (f->fn == NULL && f->typed == NULL) continue;
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
