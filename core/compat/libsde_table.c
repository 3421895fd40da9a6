/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/compat/libsde_table.c - names and codes of libsde's callers, one struct sde_event each.
 *
 * One lock guards the two hash tables. It is innermost: no function of the registry is called under it, because the
 * registry may be in the middle of a callback that registers through this file.
 */
#include "base/pml_array.h"
#include "base/pml_process.h"
#include "compat/libsde.h"
#include "record/log/pml_log_own.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 1024u
#define FIRST 64u /* codes in the first chunk; each further chunk is twice as large */
#define CHUNKS 20u

static struct pml__lock lock;
static struct sde_event *buckets[BUCKETS];
static struct sde_library *libraries;

static void take(void) {
  pml__process_look();
  pml__lock_take(&lock);
}

/* Code to event without a lock, for PAPI reads from a signal handler that may have interrupted the lock's holder. An
 * event is complete before the release-store of the count that includes it, and its position never changes. */
static struct sde_event **chunks[CHUNKS];
static _Atomic uint32_t codes;

static struct sde_event **code_place(uint32_t code, unsigned *chunk) {
  unsigned k = 31u - (unsigned)__builtin_clz(code / FIRST + 1);
  *chunk = k;
  return chunks[k] ? chunks[k] + (code - FIRST * ((1u << k) - 1)) : NULL;
}

struct sde_event *pml__libsde_of_code(uint32_t code) {
  unsigned chunk;
  if (code >= atomic_load_explicit(&codes, memory_order_acquire)) return NULL;
  return *code_place(code, &chunk);
}

static unsigned hash(const char *s) { /* FNV-1a */
  uint32_t h = 2166136261u;
  for (; *s; s++) h = (h ^ (unsigned char)*s) * 16777619u;
  return h % BUCKETS;
}

static struct sde_event *look_up(const char *name) {
  struct sde_event *e = buckets[hash(name)];
  while (e && strcmp(e->name, name) != 0) e = e->next;
  return e;
}

struct sde_event *pml__libsde_known(const char *name) {
  take();
  struct sde_event *e = look_up(name);
  pml__lock_leave(&lock);
  return e;
}

static int give_code(struct sde_event *e) {
  unsigned chunk;
  uint32_t code = atomic_load_explicit(&codes, memory_order_relaxed);
  if (code >= FIRST * ((1u << CHUNKS) - 1))
    return pml_fail(-ENOMEM, "libsde: too many events: %s gets no code", e->name);
  struct sde_event **place = code_place(code, &chunk);
  if (!place) {
    chunks[chunk] = calloc((size_t)FIRST << chunk, sizeof *chunks[chunk]);
    if (!chunks[chunk]) return -ENOMEM;
    place = code_place(code, &chunk);
  }
  *place = e;
  e->code = code;
  atomic_store_explicit(&codes, code + 1, memory_order_release);
  return 0;
}

static void put(struct sde_event *e) {
  struct sde_event **at = &buckets[hash(e->name)];
  e->next = *at;
  __atomic_store_n(at, e, __ATOMIC_RELEASE);
}

/* Insert @fresh unless another thread was first. Returns the inserted event, or NULL without memory. */
static struct sde_event *insert(struct sde_event *fresh) {
  take();
  struct sde_event *e = look_up(fresh->name);
  if (!e && give_code(fresh) == 0) {
    put(fresh);
    e = fresh;
  }
  pml__lock_leave(&lock);
  return e;
}

int pml__libsde_event(struct sde_event **out, const char *name) {
  struct sde_event *e = pml__libsde_known(name);
  if (!e) {
    size_t length = strlen(name) + 1;
    struct sde_event *fresh = calloc(1, sizeof *fresh + length);
    if (!fresh) return -ENOMEM;
    memcpy(fresh->name, name, length);
    pml__libsde_open(fresh, PML_SDE_PLACEHOLDER);
    int err = pml_sde_find(name, &fresh->event, NULL);
    if (err < 0) {
      free(fresh);
      return err;
    }
    pml__libsde_refresh(fresh);
    e = insert(fresh);
    if (e != fresh) {
      pml_sde_release(fresh->event);
      free(fresh);
      if (!e) return -ENOMEM;
    }
  }
  atomic_store(&e->listed, true);
  *out = e;
  return 0;
}

char *pml__libsde_full_name(const char *library, const char *event) {
  size_t n = strlen(library), m = strlen(event) + 1;
  char *name = malloc(n + 2 + m);
  if (!name) return NULL;
  memcpy(name, library, n);
  memcpy(name + n, "::", 2);
  memcpy(name + n + 2, event, m);
  return name;
}

int pml__libsde_event_of(struct sde_event **e, const struct sde_library *lib, const char *event) {
  char *name = pml__libsde_full_name(lib->name, event);
  if (!name) return -ENOMEM;
  int err = pml__libsde_event(e, name);
  free(name);
  return err;
}

static pthread_rwlock_t objects = PTHREAD_RWLOCK_INITIALIZER;
/* How many holds this thread has. Initial-exec, because signal handlers of PAPI read, and the loader must not allocate
 * there. */
static PML_THREAD_LOCAL unsigned held __attribute__((tls_model("initial-exec")));

void pml__libsde_hold(void) {
  pml__process_look();
  pthread_rwlock_rdlock(&objects);
  held++;
}

void pml__libsde_let_go(void) {
  pml__process_look(); /* a callback may fork */
  held--;
  pthread_rwlock_unlock(&objects);
}

/*
 * Readers that held the event before it was marked have finished when this returns; later ones see the mark. No lock is
 * held while the registry unregisters, because it waits for callbacks, which may call this file. Inside a callback of a
 * group this would wait for itself, so it returns at once, and pml__libsde_left() frees nothing.
 */
void pml__libsde_wait(void) {
  sigset_t all,
      before; /* libpapi reads from its timer's signal handler, which must not run while this thread blocks readers */
  if (held > 0) return;
  pml__process_look();
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  pthread_rwlock_wrlock(&objects);
  pthread_rwlock_unlock(&objects);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Restore a cleared handle; its next call takes the slow path. */
static void restore_handle(struct sde_event *e) {
  struct sde_handle *h = atomic_load(&e->handle);
  if (!h || atomic_load(&h->event)) return;
  pml__recorder_cache_make(&h->series);
  atomic_store(&h->event, e);
  if (atomic_load(&e->kind) == PML_SDE_RECORDER) pml__recorder_cache_open(&h->series, atomic_load(&e->created));
}

/* Other threads that held objects do not exist in the child; this thread may hold some, if a callback forks. Another
 * thread may have been between giving an event its code and inserting it into the table of names. */
static void in_child(void) {
  uint32_t n = atomic_load_explicit(&codes, memory_order_acquire);
  for (uint32_t i = 0; i < n; i++) restore_handle(pml__libsde_of_code(i));
  struct sde_event *last = n > 0 && pml__lock_torn(&lock) ? pml__libsde_of_code(n - 1) : NULL;
  if (last != NULL && look_up(last->name) == NULL) put(last);
  objects = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
  for (unsigned i = 0; i < held; i++) pthread_rwlock_rdlock(&objects);
}

__attribute__((constructor)) static void watch_forks(void) {
  (void)pml__process_watch(in_child);
}

/* With a log, the handle is in memory that is cleared in a child, and restored by in_child(). */
static struct sde_handle *new_handle(struct sde_event *e) {
  struct sde_handle *h = pml__log_asked() ? pml__process_memory(sizeof *h) : calloc(1, sizeof *h);
  if (!h) return NULL;
  pml__recorder_cache_make(&h->series);
  atomic_store(&h->event, e);
  return h;
}

struct sde_handle *pml__libsde_handle(struct sde_event *e) {
  struct sde_handle *h = atomic_load(&e->handle);
  if (!h) {
    take();
    h = atomic_load(&e->handle);
    if (!h) atomic_store(&e->handle, h = new_handle(e));
    pml__lock_leave(&lock);
  }
  if (h) pml__libsde_refresh(e);
  return h;
}

struct sde_event *pml__libsde_of_handle(struct sde_handle *h) {
  if (PML_UNLIKELY(!atomic_load(&h->event))) pml__process_look();
  return atomic_load(&h->event);
}

/* If several threads open, each undoes its own opening if the event is leaving. */
static void open_count(struct sde_event *e, struct pml_sde_counter *c) {
  struct sde_handle *h = atomic_load(&e->handle);
  if (!h) return;
  if (c) pml__sde_counter_also(c, &h->count);
  struct pml_sde_counter *was = atomic_exchange(&e->counting, c);
  if (was && was != c) pml__sde_counter_also(was, NULL);
}

void pml__libsde_open(struct sde_event *e, int kind) {
  static const struct pml__recorder_head no_series = {.epoch = UINT64_MAX, .at_8 = PML__RECORDER_NOWHERE};
  struct sde_handle *h = atomic_load(&e->handle);
  void *created = atomic_load(&e->created); /* the head is its first member */
  atomic_store(&e->series, kind == PML_SDE_RECORDER && created ? created : &no_series);
  if (h && kind != PML_SDE_RECORDER) pml__recorder_cache_close(&h->series);
  open_count(e, kind == PML_SDE_CREATED ? created : NULL);
  atomic_store(&e->kind, kind);
  if (h && created && kind == PML_SDE_RECORDER) pml__recorder_cache_open(&h->series, created);
}

static int take_over(struct sde_event *e) {
  struct pml_sde_info info;
  if (atomic_load(&e->leaving) || pml_sde_info(e->event, &info) < 0) return PML_SDE_PLACEHOLDER;
  if (atomic_load(&e->type) != (int)info.type) atomic_store(&e->stored, 0);
  atomic_store(&e->mode, info.mode);
  atomic_store(&e->type, (int)info.type);
  if (info.kind == PML_SDE_RECORDER) {
    atomic_store(&e->created, (void *)info.recorder);
    atomic_store(&e->bytes, pml_recorder_options(info.recorder).bytes);
  }
  if (info.kind == PML_SDE_SET) atomic_store(&e->created, (void *)info.set);
  pml__libsde_open(e, (int)info.kind);
  if (!atomic_load(&e->leaving)) return (int)info.kind;
  pml__libsde_open(e, PML_SDE_PLACEHOLDER); /* it left in between, after its kind was read */
  return PML_SDE_PLACEHOLDER;
}

int pml__libsde_refresh(struct sde_event *e) {
  pml__libsde_hold();
  int kind = take_over(e);
  pml__libsde_let_go();
  return kind;
}

void pml__libsde_leave(struct sde_event *e) {
  atomic_store(&e->leaving, true);
  pml__libsde_open(e, PML_SDE_PLACEHOLDER); /* late increments are refused */
  atomic_store(&e->listed, false);
}

static void members_free(struct sde_member *m) {
  while (m) {
    struct sde_member *next = m->next;
    free(m);
    m = next;
  }
}

int pml__libsde_join(struct sde_event *group, struct sde_event *e, enum pml_sde_operation operation) {
  struct sde_member *fresh = malloc(sizeof *fresh);
  if (!fresh) return -ENOMEM;
  take();
  struct sde_member *first = atomic_load(&group->members), *m = first;
  while (m && m->event != e) m = m->next;
  if (!m) {
    *fresh = (struct sde_member){e, first};
    group->operation = operation;
    atomic_fetch_add_explicit(&e->groups, 1, memory_order_relaxed);
    atomic_store_explicit(&group->members, fresh, memory_order_release);
  }
  pml__lock_leave(&lock);
  if (m) free(fresh);
  return 0;
}

/*
 * Called after pml__libsde_wait(), so no reader visits the members of a group; inside a callback, the calling read may.
 */
void pml__libsde_left(struct sde_event *e, int err, bool quiet) {
  if (err == 0) {
    struct sde_member *m = atomic_exchange(&e->members, NULL);
    if (held == 0) members_free(m);
    pml__libsde_open(e, PML_SDE_PLACEHOLDER);
    atomic_store(&e->stored, 0);
    if (held == 0 && quiet) pml_sde_tidy(e->event);
  } else {
    atomic_store(&e->listed, true);
  }
  atomic_store(&e->leaving, false);
  if (err < 0) (void)pml__libsde_refresh(e);
}

static void each_of(const char *library, void (*use)(struct sde_event *, bool), bool quiet) {
  size_t n = strlen(library);
  uint32_t count = atomic_load(&codes);
  for (uint32_t code = 0; code < count; code++) {
    struct sde_event *e = pml__libsde_of_code(code);
    if (e && strncmp(e->name, library, n) == 0 && strncmp(e->name + n, "::", 2) == 0) use(e, quiet);
  }
}

static void leave(struct sde_event *e, bool unused) {
  (void)unused;
  pml__libsde_leave(e);
}

void pml__libsde_leave_library(const char *library) {
  each_of(library, leave, false);
}

static void left(struct sde_event *e, bool quiet) {
  pml__libsde_left(e, 0, quiet);
}

void pml__libsde_left_library(const char *library, bool quiet) {
  each_of(library, left, quiet);
}

/* Names without a code: collected while the registry is visited, looked up afterwards. */
struct unknown {
  char **names;
  size_t count, room;
};

static int collect(const struct pml_sde_info *info, void *arg) {
  struct unknown *u = arg;
  char *name = pml__libsde_full_name(info->library, info->name);
  if (!name) return -ENOMEM;
  struct sde_event *e = pml__libsde_known(name);
  if (e) {
    if (info->kind != PML_SDE_PLACEHOLDER) atomic_store(&e->listed, true);
    free(name);
    return 0;
  }
  if (!PML__ARRAY_ROOM(u->names, u->room, u->count + 1)) {
    free(name);
    return -ENOMEM;
  }
  u->names[u->count++] = name;
  return 0;
}

uint32_t pml__libsde_sync(void) {
  struct unknown u = {0};
  struct sde_event *e;
  (void)pml_sde_list(collect, &u);
  for (size_t i = 0; i < u.count; i++) {
    (void)pml__libsde_event(&e, u.names[i]);
    free(u.names[i]);
  }
  free(u.names);
  return atomic_load_explicit(&codes, memory_order_acquire);
}

struct sde_library *pml__libsde_library(const char *name) {
  take();
  struct sde_library *lib = libraries;
  while (lib && strcmp(lib->name, name) != 0) lib = lib->next;
  if (!lib) {
    size_t length = strlen(name) + 1;
    lib = calloc(1, sizeof *lib + length);
    if (lib) {
      memcpy(lib->name, name, length);
      lib->next = libraries;
      __atomic_store_n(&libraries, lib, __ATOMIC_RELEASE);
    }
  }
  pml__lock_leave(&lock);
  return lib;
}
