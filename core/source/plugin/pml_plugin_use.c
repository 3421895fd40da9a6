/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/plugin/pml_plugin_use.c - use of a plugin by threads, and its end. */
#include "source/plugin/pml_plugin_private.h"

#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "base/pml_process.h"
#include "base/pml_thread.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#define PATIENCE_MS 1000u

/* ---- joining, under the plugin's lock ---- */

static struct pml__plugin_use *use_of(struct pml_plugin *p, uint64_t thread) {
  struct pml__plugin_use *use = p->uses;
  while (use != NULL && use->thread != thread) use = use->next;
  return use;
}

static struct pml__plugin_use *responsible_use(struct pml_plugin *p) {
  struct pml__plugin_use *use = p->uses;
  while (use != NULL && !use->responsible) use = use->next;
  return use;
}

static bool add_counters(struct pml__plugin_use *use) {
  struct pml_plugin *p = use->plugin;
  use->counter = calloc(p->nmetrics + 1u, sizeof *use->counter);
  if (use->counter == NULL) return false;
  for (uint32_t i = 0; i < p->nmetrics; i++) {
    struct pml__plugin_counter *c = &use->counter[i];
    *c = (struct pml__plugin_counter){.use = use, .metric = i, .id = -1, .sorted = true};
    if (pml__plugin_alive(p)) c->id = pml__plugin_add(p, i);
    c->dead = c->id < 0;
  }
  return true;
}

static struct pml__plugin_use *join(struct pml_plugin *p, bool responsible) {
  struct pml__plugin_use *use = calloc(1, sizeof *use);
  if (use == NULL) return NULL;
  use->plugin = p;
  use->thread = pml_thread_self()->id;
  use->tid = (int)pml_thread_self()->tid;
  use->responsible = responsible;
  use->begun_ticks = pml_clock_ticks();
  if (responsible && !add_counters(use)) {
    free(use);
    return NULL;
  }
  struct pml__plugin_use **at = &p->uses;
  while (*at != NULL) at = &(*at)->next;
  *at = use;
  int loaded = PML_PLUGIN_LOADED;
  bool first = atomic_compare_exchange_strong(&p->state, &loaded, PML_PLUGIN_RUNNING);
  if (pml__plugin_alive(p)) pml__plugin_synchronize(p, responsible, true);
  if (first) pml__plugin_end_at_exit();
  return use;
}

static int refuse(const struct pml_plugin *p) {
  if (atomic_load(&((struct pml_plugin *)(uintptr_t)p)->state) == PML_PLUGIN_ENDED)
    return pml_fail(PML_ECLOSED, "plugin %s has ended; load it again", p->name);
  return pml_fail(PML_EPLUGIN, "%s",
                  atomic_load(&((struct pml_plugin *)(uintptr_t)p)->troubled) ? p->trouble : "dropped");
}

/* What a plugin calls while it is called would wait for itself. */
static PML_THREAD_LOCAL const struct pml_plugin *inside;

/* What was entered before. */
static const struct pml_plugin *enter(struct pml_plugin *p) {
  const struct pml_plugin *before = inside;
  pml__process_look();
  pml__mutex_take_open(&p->lock);
  inside = p;
  return before;
}

static void leave(struct pml_plugin *p, const struct pml_plugin *before) {
  inside = before;
  pml__mutex_leave(&p->lock);
}

struct pml__plugin_use *pml__plugin_join(struct pml_plugin *p, int *err) {
  struct pml__plugin_use *use = NULL;
  *err = 0;
  if (inside == p) {
    *err = pml_fail(-EDEADLK, "plugin %s cannot read its own metrics", p->name);
    return NULL;
  }
  uint64_t thread = pml_thread_self()->id;
  const struct pml_plugin *before = enter(p);
  if (!pml__plugin_alive(p)) {
    *err = refuse(p);
  } else {
    struct pml__plugin_use *mine = use_of(p, thread);
    bool each = p->scope == PML_PLUGIN_THREAD;
    use = each ? mine : responsible_use(p);
    if (mine == NULL) mine = join(p, each || (use == NULL && p->here));
    if (use == NULL && mine != NULL && mine->responsible) use = mine;
    if (mine == NULL) *err = pml_fail(-ENOMEM, "no memory for plugin %s on this thread", p->name);
    if (!pml__plugin_alive(p)) *err = refuse(p);
  }
  leave(p, before);
  return *err == 0 ? use : NULL;
}

int pml_plugin_start(struct pml_plugin *p) {
  int err;
  (void)pml__plugin_join(p, &err);
  return err;
}

/* ---- reading ---- */

static bool is_due(const struct pml__plugin_counter *c) {
  uint64_t delta = c->use->plugin->delta_ticks;
  return delta == 0 || c->read_ticks == 0 || pml_clock_ticks() - c->read_ticks >= delta;
}

static void ask(struct pml__plugin_counter *c) {
  struct pml_plugin *p = c->use->plugin;
  uint64_t value;
  if (c->dead || !pml__plugin_alive(p) || p->sync == PML_PLUGIN_ASYNC) return;
  if (p->sync == PML_PLUGIN_STRICTLY_SYNC || is_due(c)) {
    if (p->sync == PML_PLUGIN_ASYNC_EVENT) {
      pml__plugin_take(c);
      return;
    }
    if (p->delta_ticks > 0) c->read_ticks = pml_clock_ticks();
    if (pml__plugin_value(c, &value) > 0) pml__plugin_note_value(c, value);
  }
}

bool pml__plugin_ask(struct pml__plugin_counter *c, uint64_t *value) {
  struct pml_plugin *p = c->use->plugin;
  bool again = inside == p; /* a plugin that reads its own event: this thread has the lock */
  const struct pml_plugin *before = again ? p : enter(p);
  if (!again) ask(c);
  bool has = c->has;
  *value = c->value;
  if (!again) leave(p, before);
  return has;
}

/* ---- collecting and ending ---- */

static void take_all(struct pml_plugin *p) {
  for (struct pml__plugin_use *use = p->uses; use != NULL; use = use->next)
    for (uint32_t i = 0; use->counter != NULL && i < p->nmetrics; i++)
      if (atomic_load(&p->state) != PML_PLUGIN_DROPPED) pml__plugin_take(&use->counter[i]);
}

int pml_plugin_collect(struct pml_plugin *p) {
  if (p->sync != PML_PLUGIN_ASYNC_EVENT)
    return pml_fail(PML_EMODE, "plugin %s is %s: %s", p->name, pml_plugin_sync_name(p->sync),
                    p->sync == PML_PLUGIN_ASYNC ? "its series are collected when it ends" : "it has no series");
  if (inside == p) return pml_fail(-EDEADLK, "plugin %s cannot read its own metrics", p->name);
  const struct pml_plugin *before = enter(p);
  if (pml__plugin_alive(p)) take_all(p);
  int err = pml__plugin_alive(p) ? 0 : refuse(p); /* also when it failed just now */
  leave(p, before);
  return err;
}

/* False: one did not come back. */
static bool wait_for_readers(void) {
  struct pml__sde_body *const going[] = {&pml__plugin_inside};
  for (unsigned ms = 0; ms < PATIENCE_MS; ms++) {
    if (pml__sde_wait_for_readers(going, 1, false)) return true;
    (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  return false;
}

/* Of what the program provides, also where it was dropped: it owns threads and memory. */
static void close_provided(struct pml_plugin *p) {
  if (p->object != NULL || p->closed || p->inherited) return;
  p->closed = true;
  pml__plugin_finalize(p);
}

/* As Score-P does: first notify all, then collect series, then finish. */
static void end_calls(struct pml_plugin *p, bool begun) {
  for (struct pml__plugin_use *use = p->uses; begun && use != NULL; use = use->next)
    if (atomic_load(&p->state) != PML_PLUGIN_DROPPED) pml__plugin_synchronize(p, use->responsible, false);
  if (begun && (p->sync == PML_PLUGIN_ASYNC || p->sync == PML_PLUGIN_ASYNC_EVENT)) take_all(p);
  if (p->object == NULL)
    close_provided(p);
  else if (atomic_load(&p->state) != PML_PLUGIN_DROPPED)
    pml__plugin_finalize(p);
}

static int end(struct pml_plugin *p) {
  int was = atomic_load(&p->state);
  if (!pml__plugin_alive(p)) {
    close_provided(p);
    return 0;
  }
  atomic_store_explicit(&p->state, PML_PLUGIN_ENDED, memory_order_release);
  atomic_fetch_add(&pml__plugin_epoch, 1);
  if (p->sync == PML_PLUGIN_STRICTLY_SYNC && !wait_for_readers()) return -EBUSY;
  end_calls(p, was == PML_PLUGIN_RUNNING);
  return 0;
}

int pml_plugin_end(struct pml_plugin *p) {
  struct timespec until;
  pml__process_look();
  if (inside != NULL) return pml_fail(-EDEADLK, "a plugin cannot end plugin %s", p->name);
  (void)clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += PATIENCE_MS / 1000;
  int err = -EBUSY;
  if (pml__mutex_take_until(&p->lock, &until) == 0) {
    inside = p;
    err = end(p);
    leave(p, NULL);
  }
  return err < 0 ? pml_fail(err, "plugin %s: a thread is still inside it; plugin not finalized", p->name) : 0;
}
