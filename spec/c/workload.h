/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/workload.h - load a built workload and run it like the framework. */
#ifndef SPEC_WORKLOAD_H
#define SPEC_WORKLOAD_H

#include "adapter/pml_workload.h"
#include "check.h"

#include <dlfcn.h>
#include <limits.h>
#include <math.h>

#define PHASES 4096

struct workload {
  void *so;
  const struct pml_workload *w;
  unsigned nsites;
  double number[PML_WORKLOAD_MAX];
  const char *text[PML_WORKLOAD_MAX];
  struct pml_samples samples[PML_WORKLOAD_MAX];
  struct pml_probe probe[PML_WORKLOAD_MAX];
  struct pml_workload_phase phase[PHASES];
  int stop;
  int (*probe_init)(struct pml_probe *, enum pml_probe_operation, struct pml_eventset *, struct pml_samples *);
  struct pml_workload_run run;
};

static inline void workload_defaults(struct workload *l) {
  for (unsigned i = 0; i < PML_WORKLOAD_MAX && l->w->option[i].name; i++) {
    l->number[i] = l->w->option[i].value;
    l->text[i] = l->w->option[i].text;
  }
}

/* The workloads are built beside the specs: build/spec/NAME and build/workloads/NAME.so. They stay loaded, as in the
 * framework, because permanent data of their libraries must stay reachable for a leak checker. */
static inline bool workload_open(struct workload *l, const char *name, size_t capacity) {
  char path[PATH_MAX + 64];
  ssize_t n = readlink("/proc/self/exe", path, PATH_MAX);
  memset(l, 0, sizeof *l);
  if (n <= 0) return false;
  path[n] = 0;
  for (int up = 0; up < 2; up++) *strrchr(path, '/') = 0;
  snprintf(strchr(path, 0), 64, "/workloads/%s.so", name);
  l->so = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!CHECK(l->so, "%s loads", path)) return false;
  l->w = (const struct pml_workload *)dlsym(l->so, "pml_workload");
  if (!CHECK(l->w && l->w->abi == PML_WORKLOAD_ABI && strcmp(l->w->name, name) == 0 && *l->w->help,
             "it exports the workload %s with its ABI and a line of help", name))
    return false;
  while (l->nsites < PML_WORKLOAD_MAX && l->w->site[l->nsites]) l->nsites++;
  for (unsigned i = 0; i < l->nsites; i++)
    if (!CHECK(pml_samples_open(&l->samples[i], capacity) == 0, "room for samples of site %s", l->w->site[i]))
      return false;
  /* The workload brings its own copy of the library: clock, sets and probes must all be that one's. */
  int (*clock_init)(void) = NULL;
  *(void **)&clock_init = dlsym(l->so, "pml_clock_init");
  *(void **)&l->probe_init = dlsym(l->so, "pml_probe_init");
  if (!CHECK(clock_init && l->probe_init && clock_init() == 0, "the clock is calibrated")) return false;
  workload_defaults(l);
  return true;
}

/* The place of an option; a name that there is not is no place. */
static inline unsigned workload_option(const struct workload *l, const char *option) {
  unsigned i = 0;
  while (i < PML_WORKLOAD_MAX && l->w->option[i].name && strcmp(l->w->option[i].name, option) != 0) i++;
  CHECK(i < PML_WORKLOAD_MAX && l->w->option[i].name, "there is an option %s", option);
  return i < PML_WORKLOAD_MAX ? i : 0;
}
static inline void workload_set(struct workload *l, const char *option, double v) {
  l->number[workload_option(l, option)] = v;
}
static inline void workload_text(struct workload *l, const char *option, const char *v) {
  l->text[workload_option(l, option)] = v;
}

/* One run from empty samples; @set may be NULL: the empty operation. */
static inline int workload_go(struct workload *l, struct pml_eventset *set) {
  memset(&l->run, 0, sizeof l->run);
  for (unsigned i = 0; i < l->nsites; i++) {
    l->samples[i].n = 0;
    int err = l->probe_init(&l->probe[i], set ? PML_PROBE_READ : PML_PROBE_EMPTY, set, &l->samples[i]);
    if (err) return err;
  }
  l->run.probe = l->probe;
  l->run.number = l->number;
  l->run.text = l->text;
  l->run.phase = l->phase;
  l->run.phase_capacity = PHASES;
  l->run.stop = &l->stop;
  return l->w->run(&l->run);
}

static inline double workload_value(const struct workload *l, const char *name) {
  for (unsigned i = 0; i < l->run.nresults; i++)
    if (strcmp(l->run.result[i].name, name) == 0) return l->run.result[i].value;
  return NAN;
}

/* A run is refused with @code, or with any if that is 0, in a sentence with @says; then the defaults hold again. */
static inline void workload_refuses(struct workload *l, int code, const char *says) {
  int err = workload_go(l, NULL);
  CHECK(err < 0 && (code == 0 || err == code) && strstr(l->run.error, says), "refused: %s", l->run.error);
  workload_defaults(l);
}
static inline void workload_refuses_text(struct workload *l, const char *option, const char *v, const char *says) {
  workload_defaults(l);
  workload_text(l, option, v);
  workload_refuses(l, 0, says);
}

/* Each option refuses invalid sizes and texts, with a message that contains its name. */
static inline void workload_refuses_all(struct workload *l) {
  static const double bad[] = {-1, 0.5, NAN, INFINITY, -INFINITY, 1e300};
  for (unsigned i = 0; i < PML_WORKLOAD_MAX && l->w->option[i].name; i++) {
    const struct pml_workload_option *o = &l->w->option[i];
    bool real = strcmp(o->name, "tolerance") == 0 || strcmp(o->name, "stop") == 0;
    if (o->text != NULL) continue;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
      if (real && bad[k] > 0) continue;
      workload_defaults(l);
      l->number[i] = bad[k];
      workload_refuses(l, -EINVAL, o->name);
    }
  }
}

static inline int workload_failing_operation(struct pml_eventset *set, uint64_t *values) {
  (void)set, (void)values;
  return -EIO;
}

static inline void workload_phases_in_order(const struct workload *l, size_t expected) {
  bool ordered = l->run.nphases == expected;
  for (size_t i = 0; i < l->run.nphases; i++) {
    const struct pml_workload_phase *p = &l->run.phase[i];
    if (p->region == 0 || p->leave_ticks < p->enter_ticks) ordered = false;
    if (i > 0 && p->enter_ticks < l->run.phase[i - 1].leave_ticks) ordered = false;
  }
  CHECK(ordered, "%zu phases, one after the other (%zu wanted)", l->run.nphases, expected);
}

/* The common checks at the end: refusals, and an interruption, with the current options. */
static inline void workload_close(struct workload *l) {
  l->stop = 1;
  int err = workload_go(l, NULL);
  CHECK(err == -EINTR && *l->run.error, "it stops when the user interrupts: %s", l->run.error);
  l->stop = 0;
  workload_refuses_all(l);
  for (unsigned i = 0; i < l->nsites; i++) pml_samples_close(&l->samples[i]);
  if (l->so) dlclose(l->so);
}

#endif
