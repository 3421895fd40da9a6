/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/fork_objects.c - a forked child that asks its parent's traces, profiles, tuners and balancers, whose locks
 * other threads held when it was made: it is answered at once, and changes nothing of its parent's.
 */
#include "check.h"
#include "control/balance/pml_balance_private.h"
#include "control/tune/pml_tune_private.h"
#include "cpus_folder.h"
#include "read/otf2/write/pml_otf2_write.h"
#include "substrate/profile/pml_profile_private.h"

enum { CHILD_SECONDS = 60 };

static int in_child(struct pml__mutex *lock, int (*ask)(void *object), void *object) {
  int status = 0;
  pml__mutex_take(lock);
  pid_t child = fork();
  if (child == 0) {
    alarm(CHILD_SECONDS);
    _exit(ask(object));
  }
  waitpid(child, &status, 0);
  pml__mutex_leave(lock);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void raise_event(enum pml_stream_kind kind, const char *name) {
  pml_region_t region = 0;
  (void)pml_region_intern(name, NULL, 0, &region);
  const struct pml_stream_event e = {.ticks = pml_clock_ticks(), .region = region};
  if (kind == PML_STREAM_ENTER) pml_stream_prepare(region);
  pml_stream_emit(kind, &e);
}

static void call(const char *name) {
  raise_event(PML_STREAM_ENTER, name);
  raise_event(PML_STREAM_LEAVE, name);
}

/* --- a trace --- */

static struct pml_otf2_location *parents;

static int ask_trace(void *object) {
  struct pml_otf2 *a = object;
  struct pml_otf2_location *loc;
  struct pml_otf2_stats s;
  const struct pml_otf2_metric metric = {.name = "load"};
  const struct pml_plugin_pair pair = {.ticks = 1, .value = 1};
  uint64_t unrecorded;
  bool refused = pml_otf2_attach(a) == PML_EMODE && pml_otf2_detach(a, &unrecorded) == PML_EMODE &&
                 pml_otf2_location(a, "child", &loc) == PML_EMODE && pml_otf2_enter(parents, 3, 1) == -EINVAL &&
                 pml_otf2_leave(parents, 4, 1) == -EINVAL &&
                 pml_otf2_series(a, &metric, "machine", &pair, 1) == PML_EMODE;
  pml_otf2_stats(a, &s);
  return refused && s.written == 0 && pml_otf2_close(a) == PML_EMODE ? 0 : 1;
}

static void trace(void) {
  char dir[] = "/tmp/pmlua-fork-XXXXXX", anchor[64];
  struct pml_otf2 *a = NULL;
  struct pml_otf2_stats s;
  pml_region_t region;
  if (mkdtemp(dir) == NULL) perror(dir), exit(1);
  snprintf(anchor, sizeof anchor, "%s/traces.otf2", dir);
  int err = pml_otf2_open(&a, dir, NULL, 0);
  if (err == 0) err = pml_otf2_location(a, "parent", &parents);
  if (err == 0) err = pml_region_intern("solve", NULL, 0, &region);
  if (!CHECK(err == 0, "a trace: %s", pml_error_detail(err))) return;
  pml_otf2_enter(parents, 1, region);
  pml_otf2_leave(parents, 2, region);
  CHECK(in_child(&a->lock, ask_trace, a) == 0, "a child is refused to write its parent's trace, and to close it");
  CHECK(access(anchor, F_OK) != 0, "the trace goes on");
  pml_otf2_stats(a, &s);
  CHECK(s.written == 2 && pml_otf2_close(a) == 0 && access(anchor, F_OK) == 0, "and is the parent's to end");
  (void)nftw(dir, cpus_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static int count_node(const struct pml_profile_node *node, void *arg) {
  (void)node;
  ++*(unsigned *)arg;
  return 0;
}

static int ask_profile(void *object) {
  struct pml_profile_stats s;
  unsigned nodes = 0;
  pml_profile_stats(object, &s);
  int err = pml_profile_visit(object, count_node, &nodes);
  pml_profile_close(object);
  return err == 0 && nodes == 0 && s.events == 0 ? 0 : 1;
}

static void profile(void) {
  struct pml_profile *p;
  unsigned nodes = 0;
  if (!CHECK(pml_profile_open(&p) == 0, "a profile")) return;
  call("solve");
  CHECK(in_child(&p->lock, ask_profile, p) == 0, "a child has none of its parent's profile");
  CHECK(pml_profile_visit(p, count_node, &nodes) == 0 && nodes == 1, "which its parent has");
  pml_profile_close(p);
}

static int ask_tuner(void *object) {
  struct pml_tune_entry e;
  bool silent = pml_tune_line(object, 0) == NULL && !pml_tune_entry(object, 0, &e);
  pml_tune_close(object);
  return silent ? 0 : 1;
}

static void tuner(void) {
  const struct pml_tune_options o = {.root = cpus_folder, .cpus = PML_TUNE_ALL, .dry_run = true};
  const struct pml_tune_rule rule[] = {{.region = "solve", .max_hz = 1e9}, {.region = "never", .max_hz = 1e9}};
  struct pml_tune *t;
  struct pml_tune_entry e;
  if (!CHECK(pml_tune_open(&t, rule, 2, &o) == 0, "a tuner")) return;
  call("solve");
  pml_tune_stop(t);
  CHECK(in_child(&pml__controls_notes(t->controls)->lock, ask_tuner, t) == 0, "a child has none of its parent's notes");
  CHECK(pml_tune_line(t, 0) != NULL && pml_tune_entry(t, 0, &e), "which its parent has");
  pml_tune_close(t);
}

static int ask_balancer(void *object) {
  struct pml_balance_record r;
  struct pml_balance_stats s;
  pml_balance_stats(object, &s);
  bool silent = pml_balance_take(object, &r, 1) == 0 && s.repetitions == 0 && pml_balance_line(object, 0) == NULL;
  pml_balance_close(object);
  return silent ? 0 : 1;
}

static void balancer(void) {
  const char *const sync[] = {"barrier"};
  const struct pml_balance_options o = {
      .sync = sync, .nsync = 1, .tune = {.root = cpus_folder, .cpus = PML_TUNE_CURRENT, .dry_run = true}};
  struct pml_balance *b;
  struct pml_balance_record r;
  if (!CHECK(pml_balance_open(&b, &o) == 0, "a balancer")) return;
  for (unsigned i = 0; i < 3; i++) call("barrier");
  CHECK(in_child(&b->lock, ask_balancer, b) == 0, "a child has none of its parent's repetitions");
  CHECK(pml_balance_take(b, &r, 1) == 1, "which its parent has");
  pml_balance_close(b);
}

int main(void) {
  cpus_make(2);
  CHECK_EACH(trace, profile, tuner, balancer, cpus_remove);
  return check_done();
}
