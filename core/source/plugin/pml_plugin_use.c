/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/plugin/pml_plugin_use.c - use of a plugin by threads, and its end. */
#include "source/plugin/pml_plugin_private.h"

#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "base/pml_process.h"
#include "base/pml_thread.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

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

/* The plugin that this thread is calling. A plugin that calls pmlua in its functions would wait for its own lock. */
static PML_THREAD_LOCAL const struct pml_plugin *inside;

/* Returns the plugin entered before. */
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

static void (*_Atomic first_start)(void);

void pml_plugin_on_first(void (*notify)(void)) {
  atomic_store_explicit(&first_start, notify, memory_order_release);
}

/* Exchanged, so that only one of two threads that start a plugin calls it. */
static void notify_of_start(void) {
  if (PML_LIKELY(atomic_load_explicit(&first_start, memory_order_relaxed) == NULL)) return;
  void (*notify)(void) = atomic_exchange_explicit(&first_start, NULL, memory_order_acq_rel);
  if (notify != NULL) notify();
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
  if (*err == 0) notify_of_start();
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
  bool again = inside == p; /* the plugin reads its own event: this thread holds the lock */
  const struct pml_plugin *before = again ? p : enter(p);
  if (!again) ask(c);
  bool has = c->has;
  *value = c->value;
  if (!again) leave(p, before);
  return has;
}

bool pml__plugin_now(struct pml_plugin *p, uint32_t metric, uint64_t *value) {
  bool has = false, sums = !pml_mode_is_level(p->metric[metric].mode);
  if (inside == p) return false;
  const struct pml_plugin *before = enter(p);
  for (struct pml__plugin_use *use = p->uses; use != NULL; use = use->next) {
    struct pml__plugin_counter *c = use->counter != NULL ? &use->counter[metric] : NULL;
    if (c != NULL && p->scope != PML_PLUGIN_THREAD) ask(c);
    if (c == NULL || !c->has) continue;
    *value = has && sums ? pml_value_plus(*value, c->value, p->metric[metric].value == PML_PLUGIN_DOUBLE) : c->value;
    has = true;
  }
  leave(p, before);
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
  int err = pml__plugin_alive(p) ? 0 : refuse(p); /* includes a failure of this call */
  leave(p, before);
  return err;
}

/* Returns false if a reader does not return. */
static bool wait_for_readers(void) {
  struct pml__sde_body *const going[] = {&pml__plugin_inside};
  for (unsigned ms = 0; ms < PATIENCE_MS; ms++) {
    if (pml__sde_wait_for_readers(going, 1, false)) return true;
    (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  return false;
}

/* Close a plugin provided by the program, even if it was dropped, because it owns threads and memory. */
static void close_provided(struct pml_plugin *p) {
  if (p->object != NULL || p->closed || p->inherited) return;
  p->closed = true;
  pml__plugin_finalize(p);
}

/* Like Score-P: first notify all uses, then collect series, then finalize. */
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

/*
 * ---- exit of forked children ----
 *
 * A child has the static objects of a plugin, but not its threads. When it exits, destructors of these objects would
 * wait for threads that do not exist, or terminate the process as a std::thread's destructor does. Exit handlers cannot
 * be unregistered, so the library's code is overwritten with return instructions: each of its functions returns at
 * once.
 */

#if defined(__x86_64__)
static void fill(char *at, size_t n) {
  memset(at, 0xc3, n); /* ret */
}
#elif defined(__aarch64__)
static void fill(char *at, size_t n) {
  static const uint32_t ret = 0xd65f03c0;
  for (size_t i = 0; i + sizeof ret <= n; i += sizeof ret) memcpy(at + i, &ret, sizeof ret);
}
#endif

#if defined(__x86_64__) || defined(__aarch64__)

struct code {
  const struct link_map *map;
  uintptr_t from, to; /* equal: no code */
};

/* Dynamic entries that the loader has not relocated are offsets. */
static uintptr_t address(const struct link_map *map, uintptr_t at) {
  return at < map->l_addr ? map->l_addr + at : at;
}

static uintptr_t entry(const struct link_map *map, int64_t tag) {
  for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++)
    if (d->d_tag == tag) return tag == DT_STRSZ ? d->d_un.d_val : address(map, d->d_un.d_ptr);
  return 0;
}

/* A library with fork handlers prepares its children, which may have threads of it. */
static bool knows_of_forks(const struct link_map *map) {
  static const char name[] = "\0__register_atfork";
  uintptr_t strings = entry(map, DT_STRTAB);
  return strings == 0 || memmem((const void *)strings, entry(map, DT_STRSZ), name, sizeof name) != NULL;
}

/* The segment that begins with the ELF header also contains tables; its code extends from .init to .fini. */
static void take_segment(struct code *c, const ElfW(Phdr) * s) {
  c->from = c->map->l_addr + s->p_vaddr;
  c->to = c->from + s->p_memsz;
  if (s->p_offset > 0) return;
  uintptr_t init = entry(c->map, DT_INIT), fini = entry(c->map, DT_FINI);
  bool both = c->from < init && init < fini && fini < c->to;
  c->from = both ? init : c->from;
  c->to = both ? fini : c->from;
}

static int find_code(struct dl_phdr_info *info, size_t size, void *arg) {
  struct code *c = arg;
  (void)size;
  if (info->dlpi_addr != c->map->l_addr || strcmp(info->dlpi_name, c->map->l_name) != 0) return 0;
  for (unsigned i = 0; i < info->dlpi_phnum && c->from == c->to; i++)
    if (info->dlpi_phdr[i].p_type == PT_LOAD && (info->dlpi_phdr[i].p_flags & PF_X) != 0)
      take_segment(c, &info->dlpi_phdr[i]);
  return 1;
}

/* Replaces all of the code or none: if the system refuses, the code stays unchanged. */
static void replace(const struct code *c) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = c->from & ~(page - 1);
  size_t bytes = ((c->to + page - 1) & ~(page - 1)) - first;
  char *made = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) return;
  memcpy(made, (const void *)first, bytes);
  fill(made + (c->from - first), c->to - c->from);
  __builtin___clear_cache(made, made + bytes);
  if (mprotect(made, bytes, PROT_READ | PROT_EXEC) != 0 ||
      mremap(made, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)first) == MAP_FAILED)
    (void)munmap(made, bytes);
}

void pml__plugin_silence(const struct pml_plugin *p) {
  struct code c = {0};
  if (p->object == NULL || dlinfo(p->object, RTLD_DI_LINKMAP, &c.map) != 0 || knows_of_forks(c.map)) return;
  (void)dl_iterate_phdr(find_code, &c);
  if (c.from < c.to) replace(&c);
}

#else

void pml__plugin_silence(const struct pml_plugin *p) {
  (void)p;
}

#endif
