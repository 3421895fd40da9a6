/* SPDX-License-Identifier: BSD-3-Clause */
/* core/control/tune/pml_tune_frame.c - settings of an open region: applied on enter, restored on leave. */
#include "base/pml_array.h"

#include "base/pml_error.h"
#include "control/tune/pml_tune_private.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct openmp {
  void (*set)(int);
  int (*most)(void);
};

static bool find_in(void *library, struct openmp *o) {
  void *set = dlsym(library, "omp_set_num_threads"), *most = dlsym(library, "omp_get_max_threads");
  memcpy(&o->set, &set, sizeof set);
  memcpy(&o->most, &most, sizeof most);
  return set != NULL && most != NULL;
}

/* The program's function, or a function of a library that was loaded locally. */
static bool find_openmp(struct openmp *o) {
  static const char *const runtime[] = {"libgomp.so.1", "libomp.so.5", "libomp.so", "libiomp5.so"};
  bool found = find_in(RTLD_DEFAULT, o);
  for (size_t i = 0; !found && i < sizeof runtime / sizeof runtime[0]; i++) {
    void *library = dlopen(runtime[i], RTLD_LAZY | RTLD_NOLOAD);
    if (library == NULL) continue;
    found = find_in(library, o);
    dlclose(library); /* the loader keeps it loaded */
  }
  return found;
}

int pml__openmp_threads(int n) {
  struct openmp o;
  if (!find_openmp(&o)) return 0;
  int before = o.most();
  o.set(n);
  return before;
}

#define DEPTH_BITS 24 /* the depth's bits in an owner's number; the rest is the thread's number */

/* --- files --- */

enum step { ASK, LEAVE, SETTLE };

static int step_one(struct pml__control *control, enum step step, const struct pml__tune_frame *f, const char *text) {
  int err = 0;
  if (step == ASK) err = pml__control_ask(control, f->owner, text, f->region);
  if (step == LEAVE) err = pml__control_leave(control, f->owner, f->region);
  if (step == SETTLE) err = pml__control_settle(control, f->region);
  return err == -ENOENT ? 0 : err; /* cpus that share a file leave it once */
}

static bool is_meant(const struct pml_tune *t, const struct pml__tune_frame *f, size_t cpu) {
  unsigned number = t->cpus.number[cpu];
  return t->options.cpus == PML_TUNE_ALL || (number < CPU_SETSIZE && CPU_ISSET(number, &f->cpus));
}

/* All files of the frame, in reverse order on leave. Returns whether a value was refused. */
static bool step_all(const struct pml_tune *t, const struct pml__tune_frame *f, enum step step) {
  bool refused = false;
  size_t n = f->rule->nsettings;
  for (size_t i = 0; i < n; i++) {
    const struct pml__cpu_setting *s = &f->rule->setting[step == LEAVE ? n - 1 - i : i];
    for (size_t cpu = 0; cpu < t->cpus.n; cpu++)
      if (s->control[cpu] != NULL && is_meant(t, f, cpu) && step_one(s->control[cpu], step, f, s->text) < 0)
        refused = true;
  }
  return refused;
}

/* A refused value may be accepted after the others are set: for example a limit, after the other limit has moved. */
static void change(const struct pml_tune *t, const struct pml__tune_frame *f, enum step step) {
  if (step_all(t, f, step)) (void)step_all(t, f, SETTLE);
}

/* --- threads and calls --- */

static void set_threads(struct pml_tune *t, struct pml__tune_frame *f) {
  char text[16];
  int n = (int)f->rule->threads;
  snprintf(text, sizeof text, "%d", n);
  if (t->options.dry_run) {
    pml__notes_log(pml__controls_notes(t->controls), f->region, "omp_set_num_threads", text);
    return;
  }
  f->threads = pml__openmp_threads(n);
  if (f->threads == 0 && !atomic_exchange(&t->told_no_openmp, true))
    pml__notes_say(pml__controls_notes(t->controls),
                   "rule '%s': threads = %d does nothing: this process has no OpenMP runtime", f->rule->region, n);
}

/* Returns false if the call raised an error, which disables the rule. */
static bool call(struct pml_tune *t, struct pml__tune_frame *f, bool leave) {
  char why[PML_TUNE_WHY] = "";
  if (t->options.dry_run) {
    pml__notes_log(pml__controls_notes(t->controls), f->region, "call", leave ? "leave" : "enter");
    return true;
  }
  if (f->rule->call(f->rule->arg, leave, f->region, why) == 0) return true;
  if (!atomic_exchange(&f->rule->dropped, true))
    pml__notes_say(pml__controls_notes(t->controls),
                   "rule '%s': %s: %s; its settings are undone and the rule is dropped", f->rule->region,
                   leave ? "leave" : "enter", why);
  return false;
}

/* --- frames --- */

static void set_cpus(const struct pml_tune *t, struct pml__tune_frame *f) {
  CPU_ZERO(&f->cpus);
  if (f->rule->nsettings == 0 || t->options.cpus == PML_TUNE_ALL) return;
  int cpu = t->options.cpus == PML_TUNE_CURRENT ? sched_getcpu() : -1;
  if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET((unsigned)cpu, &f->cpus);
  if (t->options.cpus == PML_TUNE_THREAD) (void)sched_getaffinity(0, sizeof f->cpus, &f->cpus);
}

static struct pml__tune_frame *push(struct pml__tune_thread *th, pml_region_t region, struct pml__tune_rule *r) {
  if (th->nframes == th->room &&
      (th->room >> (DEPTH_BITS - 1) != 0 || !PML__ARRAY_ROOM(th->frame, th->room, th->room + 1)))
    return NULL;
  struct pml__tune_frame *f = &th->frame[th->nframes++];
  *f = (struct pml__tune_frame){.region = region, .rule = r, .owner = th->id << DEPTH_BITS | th->nframes};
  return f;
}

static void pop(struct pml__tune_thread *th, bool own) {
  struct pml_tune *t = th->tune;
  struct pml__tune_frame *f = &th->frame[th->nframes - 1];
  if (f->called) (void)call(t, f, true);
  if (f->threads > 0 && own) (void)pml__openmp_threads(f->threads);
  if (f->rule->threads > 0 && t->options.dry_run)
    pml__notes_log(pml__controls_notes(t->controls), f->region, "omp_set_num_threads", "as before");
  change(t, f, LEAVE);
  th->nframes--;
}

void pml__tune_enter(struct pml__tune_thread *th, pml_region_t region, struct pml__tune_rule *r) {
  struct pml_tune *t = th->tune;
  atomic_store_explicit(&r->entered, true, memory_order_relaxed);
  if (atomic_load_explicit(&r->dropped, memory_order_relaxed)) return;
  atomic_fetch_add_explicit(&t->entered, 1, memory_order_relaxed);
  struct pml__tune_frame *f = push(th, region, r);
  if (f == NULL) {
    atomic_fetch_add_explicit(&t->lost, 1, memory_order_relaxed);
    return;
  }
  set_cpus(t, f);
  change(t, f, ASK);
  if (r->threads > 0) set_threads(t, f);
  if (r->call == NULL) return;
  f->called = call(t, f, false);
  if (!f->called) pop(th, true);
}

void pml__tune_leave(struct pml__tune_thread *th, pml_region_t region) {
  size_t n = th->nframes;
  while (n > 0 && th->frame[n - 1].region != region) n--;
  while (n > 0 && th->nframes >= n) pop(th, true);
}

void pml__tune_unwind(struct pml__tune_thread *th, bool own) {
  while (th->nframes > 0) pop(th, own);
}
