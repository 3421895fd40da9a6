/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/openmp/pml_openmp_place.c - constructs by code address: regions by name, sums in the process's log. */
#include "adapter/intercept/pml_intercept_choice.h"
#include "adapter/intercept/pml_intercept_private.h"
#include "adapter/openmp/pml_openmp_private.h"
#include "base/pml_array.h"
#include "base/pml_cancel.h"
#include "base/pml_process.h"
#include "base/pml_stream.h"
#include "record/log/pml_log_own.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXTENT_BYTES 16384u /* an extent with sums */
#define NAME_BYTES 320u

/* ---- names ---- */

static const char *name_of(enum pml__log_openmp_construct construct) {
  static const char *const name[] = {
#define NAME(construct, name) [PML__LOG_OPENMP_##construct] = name,
      PML__LOG_OPENMP_LIST(NAME)
#undef NAME
  };
  return name[construct == PML__LOG_OPENMP_TASK_CREATION ? PML__LOG_OPENMP_TASK : construct];
}

/* The file of a loaded object. The program has no name in the loader's list, and other names may be relative. In a
 * process that has forbidden itself system calls, the name in the list is used. */
static void path_of(const struct link_map *object, char path[PATH_MAX]) {
  const struct pml__log *log = pml__log_shared();
  const char *name = object->l_name != NULL && object->l_name[0] != '\0' ? object->l_name : "/proc/self/exe";
  bool confined = log != NULL && pml__log_is_sealed(log);
  if (confined || realpath(name, path) == NULL) (void)snprintf(path, PATH_MAX, "%s", name);
}

static int intern(enum pml__log_openmp_construct construct, const void *code, pml_region_t *region) {
  char name[NAME_BYTES], path[PATH_MAX];
  Dl_info at;
  struct link_map *object = NULL;
  void *found = NULL;
  if (code == NULL || dladdr1(code, &at, &found, RTLD_DL_LINKMAP) == 0 || (object = found) == NULL) {
    (void)snprintf(name, sizeof name, "omp %s", name_of(construct));
    return pml__region_of(PML__REGION_OPENMP, name, "", 0, region);
  }
  path_of(object, path);
  (void)snprintf(name, sizeof name, "omp %s @%.255s+0x%zx", name_of(construct), basename(path),
                 (size_t)((const char *)code - (const char *)at.dli_fbase));
  return pml__region_of(PML__REGION_OPENMP, name, path, 0, region);
}

/* ---- sums ---- */

/* The sums of this process; a child creates new ones. Guarded by the lock. */
static struct {
  struct pml__lock lock;
  uint64_t process;
  struct pml__log *log;
  struct pml__log_openmp *at, *end;
  uint8_t *named; /* a bit for each region whose name is in the log */
  size_t bytes;
} store;

static void begin_process(void) {
  uint64_t process = pml__process();
  if (store.process == process) return;
  store.process = process;
  store.at = store.end = NULL;
  store.named = NULL; /* another thread of the parent may have been using it */
  store.bytes = 0;
  store.log = pml__log_shared();
  if (store.log == NULL && pml__log_asked()) store.log = pml__log_own();
}

static bool has_name(pml_region_t region) {
  size_t byte = region / 8;
  if (!PML__ARRAY_ZEROS(store.named, store.bytes, byte + 1)) return false;
  bool has = (store.named[byte] >> region % 8 & 1) != 0;
  store.named[byte] = (uint8_t)(store.named[byte] | 1u << region % 8);
  return has;
}

static struct pml__log_openmp *carve(void) {
  struct pml__log_entry *entry;
  if (store.log == NULL) return NULL;
  if (store.at == store.end) {
    store.at = pml__log_extent(store.log, PML__LOG_OPENMP, 0, 0, EXTENT_BYTES, 0, &entry);
    store.end = store.at != NULL ? store.at + EXTENT_BYTES / sizeof *store.at : NULL;
  }
  return store.at != NULL ? store.at++ : NULL;
}

/* If the log has no room, the sums are in memory, and no reader gets them. */
static void make_sums(struct pml__openmp_place *p, enum pml_openmp_runtime runtime) {
  pml__lock_take(&store.lock);
  begin_process();
  struct pml__log_openmp *sums = carve();
  if (sums != NULL && !has_name(p->region)) (void)pml__log_region(store.log, p->region);
  pml__lock_leave(&store.lock);
  if (sums == NULL) return;
  p->sums = sums;
  sums->construct = (uint16_t)p->construct;
  sums->runtime = (uint16_t)runtime;
  sums->index = p->index;
  __atomic_store_n(&sums->region, p->region, __ATOMIC_RELEASE);
}

/* ---- places ---- */

/* Chosen like a function "omp for" of a library "OpenMP", or of the runtime's file. */
static bool is_chosen(enum pml__log_openmp_construct construct, enum pml_openmp_runtime runtime) {
  const char *file = runtime == PML_OPENMP_LIBGOMP ? "libgomp.so.1" : "libomp.so.5";
  const struct pml__choice *c = pml__intercept_chosen();
  char name[64];
  (void)snprintf(name, sizeof name, "omp %s", name_of(construct));
  return c == NULL || pml__choice_wrapped(c, "OpenMP", file, name);
}

/* Constructs that begin with a wait. */
#define WAITING                                                                                                        \
  (1u << PML__LOG_OPENMP_BARRIER | 1u << PML__LOG_OPENMP_IMPLICIT_BARRIER | 1u << PML__LOG_OPENMP_TASKWAIT |           \
   1u << PML__LOG_OPENMP_CRITICAL | 1u << PML__LOG_OPENMP_ORDERED | 1u << PML__LOG_OPENMP_LOCK)

/* A task's region is the region of its creation. */
static pml_region_t region_of(enum pml__log_openmp_construct construct, const void *code,
                              enum pml_openmp_runtime runtime) {
  pml_region_t region = 0;
  if (construct == PML__LOG_OPENMP_TASK) return (pml_region_t)(uintptr_t)code;
  if (!is_chosen(construct, runtime)) return 0;
  return intern(construct, code, &region) == 0 ? region : 0;
}

static struct pml__openmp_place *new_place(const struct pml__openmp_thread *t, enum pml__log_openmp_construct construct,
                                           uint64_t key) {
  const void *code = (const void *)(uintptr_t)(key >> PML__OPENMP_CONSTRUCT_BITS);
  struct pml__openmp_place *p = aligned_alloc(64, (sizeof *p + 63) & ~(size_t)63);
  if (p == NULL) return NULL;
  *p = (struct pml__openmp_place){
      .key = key, .construct = construct, .index = t->role.index, .waits = (WAITING >> construct & 1) != 0 ? ~0ull : 0};
  p->sums = &p->own;
  p->region = region_of(construct, code, t->runtime);
  if (p->region != 0) make_sums(p, t->runtime);
  return p;
}

static void insert(struct pml__openmp_place **table, size_t mask, struct pml__openmp_place *p) {
  size_t i = pml__openmp_hash(p->key, p->index) & mask;
  while (table[i] != NULL) i = (i + 1) & mask;
  table[i] = p;
}

/* A thread begins with a full table: one empty place. */
static struct pml__openmp_place *empty[1];

static bool grow(struct pml__openmp_thread *t) {
  size_t n = t->place == empty ? 256 : 2 * (t->mask + 1);
  struct pml__openmp_place **table = calloc(n, sizeof *table);
  if (table == NULL) return false;
  for (size_t i = 0; i <= t->mask; i++)
    if (t->place[i] != NULL) insert(table, n - 1, t->place[i]);
  if (t->place != empty) free(t->place);
  t->place = table;
  t->mask = n - 1;
  return true;
}

static struct pml__openmp_place *add_place(struct pml__openmp_thread *t, enum pml__log_openmp_construct construct,
                                           uint64_t key) {
  int cancel = pml__cancel_hold();
  struct pml__openmp_place *p = NULL;
  if (2 * t->used < t->mask || grow(t)) p = new_place(t, construct, key);
  if (p != NULL) {
    insert(t->place, t->mask, p);
    t->used++;
    pml_stream_prepare(p->region);
  }
  pml__cancel_again(cancel);
  return p;
}

__attribute__((noinline)) struct pml__openmp_place *
pml__openmp_find_place(struct pml__openmp_thread *t, enum pml__log_openmp_construct construct, uint64_t key) {
  uint32_t index = t->role.index;
  size_t i = pml__openmp_hash(key, index) & t->mask;
  for (struct pml__openmp_place *p; (p = t->place[i]) != NULL; i = (i + 1) & t->mask)
    if (p->key == key && p->index == index) return p;
  return add_place(t, construct, key);
}

/* ---- threads ---- */

PML_THREAD_LOCAL struct pml__openmp_thread *pml__openmp_known __attribute__((tls_model("initial-exec")));
static pthread_key_t key;
static bool has_key;

static void free_thread(struct pml__openmp_thread *t) {
  if (t->place != empty) {
    for (size_t i = 0; i <= t->mask; i++) free(t->place[i]);
    free(t->place);
  }
  free(t->frame);
  free(t);
}

/* Teams stay, because their members may end later than the thread that forked them. */
static void thread_ends(void *data) {
  pml__openmp_known = NULL;
  free_thread(data);
}

static void make_key(void) {
  has_key = pthread_key_create(&key, thread_ends) == 0;
}

/* In a child, open constructs belong to the parent. */
__attribute__((noinline, cold)) static struct pml__openmp_thread *begin_anew(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  int cancel = pml__cancel_hold();
  pthread_once(&once, make_key);
  if (pml__openmp_known != NULL) free_thread(pml__openmp_known);
  struct pml__openmp_thread *t = calloc(1, sizeof *t);
  pml__openmp_known = t;
  if (t != NULL) {
    t->process = pml__process();
    t->place = empty;
  }
  if (has_key) (void)pthread_setspecific(key, t);
  pml__cancel_again(cancel);
  return t;
}

struct pml__openmp_thread *pml__openmp_begin_thread(enum pml_openmp_runtime runtime) {
  struct pml__openmp_thread *t = pml__openmp_known;
  if (!pml__openmp_is_current(t)) t = begin_anew();
  if (t != NULL) t->runtime = runtime;
  return t;
}

struct pml__openmp_thread *pml__openmp_self(enum pml_openmp_runtime runtime) {
  return pml__openmp_here(runtime);
}
