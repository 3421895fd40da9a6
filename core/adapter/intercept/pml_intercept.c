/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/intercept/pml_intercept.c - installation and removal of interception. */
#include "adapter/intercept/pml_intercept.h"

#include "adapter/arch/pml_arch.h"
#include "adapter/intercept/pml_intercept_cache.h"
#include "adapter/intercept/pml_intercept_choice.h"
#include "adapter/intercept/pml_intercept_code.h"
#include "adapter/intercept/pml_intercept_entries.h"
#include "adapter/intercept/pml_intercept_instrumented.h"
#include "adapter/intercept/pml_intercept_private.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "base/pml_process.h"

#include <errno.h>
#include <link.h>

/* Held while objects are scanned, which takes the loader's locks. A thread that may hold those already, such as a
 * constructor that calls dlsym(), only tries to take it. */
static struct pml__lock whole;
static bool installed, paused;            /* atomic; written under whole */
static bool hooks;                        /* install only hooks, permanently; under whole */
static struct pml__choice *chosen;        /* atomic; written under whole */
static struct pml_intercept_stats counts; /* under whole */

/* How many objects had ever been loaded and unloaded at the last scan. */
static unsigned long long seen_adds, seen_subs; /* adds is atomic */

static int read_traffic(struct dl_phdr_info *info, size_t size, void *arg) {
  (void)size;
  *(struct pml__traffic *)arg = (struct pml__traffic){info->dlpi_adds, info->dlpi_subs};
  return 1;
}

struct pml__traffic pml__intercept_traffic(void) {
  struct pml__traffic t = {0, 0};
  dl_iterate_phdr(read_traffic, &t);
  return t;
}

static bool is_on(void) {
  return __atomic_load_n(&installed, __ATOMIC_ACQUIRE);
}

const struct pml__choice *pml__intercept_chosen(void) {
  return is_on() ? __atomic_load_n(&chosen, __ATOMIC_ACQUIRE) : NULL;
}

const struct pml__choice *pml__intercept_last_choice(void) {
  return __atomic_load_n(&chosen, __ATOMIC_ACQUIRE);
}

static int scan(void) {
  struct pml__traffic t = pml__intercept_traffic();
  int err = pml__intercept_scan(chosen, &counts, t.subs != seen_subs);
  if (err < 0) return err;
  seen_subs = t.subs;
  __atomic_store_n(&seen_adds, t.adds, __ATOMIC_RELAXED);
  return 0;
}

void pml__intercept_scan_new(void) {
  if (!is_on() || pml__intercept_traffic().adds == __atomic_load_n(&seen_adds, __ATOMIC_RELAXED)) return;
  pml__process_look();
  if (!pml__lock_try(&whole)) return; /* the next dlsym() scans */
  if (is_on()) (void)scan();
  pml__lock_leave(&whole);
}

/* If another thread was scanning, its results are dropped, and all objects are scanned again. */
static void in_child(void) {
  pml__call_forked();
  pml__intercept_loader_forked();
  if (pml__lock_torn(&whole)) pml__intercept_give_up();
}

static int prepare(void) {
  static bool done;
  int err = pml_arch_prepare();
  if (err == 0) err = pml__call_prepare();
  if (err < 0 || done) return err;
  (void)pml_clock_init(); /* an error concerns only PMLUA_CLOCK; there is always a clock */
  pml__intercept_thunks_watch_forks();
  (void)pml__process_watch_use(in_child);
  pml__intercept_loader_prepare();
  done = true;
  return 0;
}

static int choose(const struct pml_intercept_options *o) {
  struct pml__choice *c;
  int err = pml__choice_make(&c, o);
  if (err == 0) __atomic_store_n(&chosen, c, __ATOMIC_RELEASE);
  return err;
}

static void set_installed(bool is) {
  __atomic_store_n(&installed, is, __ATOMIC_RELEASE);
  pml__call_switch(is && !paused);
}

static void stop(void) {
  pml__intercept_restore(chosen);
  set_installed(false);
}

/* The caller holds whole. */
static int install(const struct pml_intercept_options *o) {
  int err = prepare();
  if (err == 0) err = choose(o);
  if (err < 0) return err;
  pml__instrumented_forget(NULL);
  pml__scan_cache_in(o != NULL ? o->scans : NULL);
  set_installed(true);
  counts.objects = counts.slots = counts.shared = counts.scans = 0;
  pml__unrecorded_forget();
  (void)pml__intercept_thunks_error();
  err = scan();
  int thunks = pml__intercept_thunks_error();
  if (err == 0 && thunks < 0) err = pml_fail(thunks, "no executable memory for thunks");
  if (err < 0) stop();
  return err;
}

static void install_hooks(void) {
  static const struct pml_intercept_options o = {.hooks = true};
  if (hooks && !is_on()) (void)install(&o);
}

int pml_intercept_install(const struct pml_intercept_options *o) {
  pml__lock_take(&whole);
  if (o != NULL && o->hooks) hooks = true;
  if (is_on() && chosen->hooks) stop();
  int err = is_on() ? pml_fail(-EALREADY, "calls are already intercepted, by pmlua record or by another interception: "
                                          "a process has one at a time")
                    : install(o);
  install_hooks();
  pml__lock_leave(&whole);
  return err;
}

void pml_intercept_remove(void) {
  pml__lock_take(&whole);
  if (is_on()) stop();
  install_hooks();
  pml__lock_leave(&whole);
}

/* Without a file it is the function of an interface, such as MPI, whose calls are more than times. */
int pml__intercept_drop(pml_region_t region) {
  struct pml_region_info info;
  if (pml_region_describe(region, &info) < 0 || info.file[0] == '\0') return -ENOTSUP;
  if (!pml__lock_try(&whole)) return -EBUSY;
  bool dropped = pml__intercept_thunks_drop(region);
  pml__entries_drop(region);
  int instrumented = pml__instrumented_drop(region);
  pml__lock_leave(&whole);
  return dropped ? 0 : instrumented;
}

void pml_intercept_pause(bool pause) {
  pml__lock_take(&whole);
  paused = pause;
  set_installed(installed);
  pml__lock_leave(&whole);
}

void pml_intercept_confine(bool without_clock) {
  pml__call_confine(without_clock);
}

/* The unwinding rule of a slot gives an unwinder the caller's address minus one (slots.S). */
int pml_intercept_callers(void **at, int n) {
  const char *caller = NULL;
  int left = 0;
  for (int i = 0; i < n; i++) {
    if (pml_arch_is_slot((uintptr_t)at[i])) {
      caller = (const char *)pml_arch_slot_of((uintptr_t)at[i])->address; /* NOLINT(performance-no-int-to-ptr) */
      continue;
    }
    at[left++] = caller != NULL && (char *)at[i] == caller - 1 ? (char *)at[i] + 1 : at[i];
    caller = NULL;
  }
  return left;
}

void pml_intercept_stats(struct pml_intercept_stats *s) {
  pml__lock_take(&whole);
  *s = counts;
  pml__lock_leave(&whole);
  s->functions = pml__intercept_functions();
  s->unseen = pml__intercept_unseen();
  s->elsewhere = pml__intercept_elsewhere();
  pml__call_stats(&s->deep, &s->nested);
}

int pml_intercept_unrecorded(pml_intercept_unrecorded_visit *visit, void *arg) {
  pml__lock_take(&whole);
  int err = pml__unrecorded_visit(visit, arg);
  pml__lock_leave(&whole);
  return err;
}
