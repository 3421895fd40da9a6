/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/sde/pml_sde_compiler.c - compiler counts as software-defined events of the library BYFL.
 *
 * Names and the nine sums match Byfl's registration with PAPI (papi_sde, table 5); each kind of operation in use also
 * has an event.
 */
#include "base/pml_error.h"
#include "base/pml_process.h"
#include "source/compiler/pml_count_cells.h"
#include "source/compiler/pml_count_runtime.h"
#include "source/compiler/pml_count_stage.h"
#include "source/sde/pml_sde_private.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "BYFL"
#define RUNTIME PML__SONAME("libpmlua_count")

static const struct pml_count_runtime *_Atomic runtime;
static void (*_Atomic listener)(void);
static struct pml__lock lock; /* the rest */
static struct pml__sde_terms *sum[PML_BYFL_EVENTS];
static struct pml__sde_terms *single[PML_CELL_COUNT];

void pml__sde_compiler_take(struct pml__sde_reader *r) {
  const struct pml_count_runtime *rt = atomic_load_explicit(&runtime, memory_order_acquire);
  r->cells = rt != NULL ? rt->hold() : NULL;
  r->whole = r->cells == NULL;
}

void pml__sde_compiler_give_back(struct pml__sde_reader *r) {
  atomic_load_explicit(&runtime, memory_order_acquire)->release(r->cells);
  r->cells = NULL;
}

uint64_t pml__sde_compiler_total(struct pml__sde_terms *t) {
  const struct pml_count_area *a = atomic_load_explicit(&runtime, memory_order_acquire)->area;
  uint32_t n = __atomic_load_n(&a->header.lanes, __ATOMIC_ACQUIRE);
  uint64_t total = 0;
  for (uint32_t i = 0; i < n; i++) total += pml__sde_terms_of(t, a->lane[i]);
  return total;
}

bool pml__sde_compiler_is_sum(const struct pml__sde_terms *t, unsigned e) {
  return t == __atomic_load_n(&sum[e], __ATOMIC_ACQUIRE);
}

bool pml_count_active(void) {
  return atomic_load_explicit(&runtime, memory_order_acquire) != NULL;
}

void pml_count_watch(void (*heard)(void)) {
  atomic_store_explicit(&listener, heard, memory_order_release);
}

enum pml_count_at pml_count_here(void) {
  const struct pml_count_runtime *r = atomic_load_explicit(&runtime, memory_order_acquire);
  return r != NULL ? pml__count_stage(__atomic_load_n(&r->area->header.stages, __ATOMIC_RELAXED)) : PML_COUNT_AT_NONE;
}

uint64_t pml_count_left_out(char *libraries, size_t room) {
  const struct pml_count_runtime *r = atomic_load_explicit(&runtime, memory_order_acquire);
  libraries[0] = '\0';
  if (r == NULL) return 0;
  r->others(libraries, room);
  return __atomic_load_n(&r->area->header.uncounted, __ATOMIC_RELAXED);
}

/* --- registering, with the lock held --- */

static int publish(struct pml_sde_library *lib, const char *name, const char *text, struct pml__sde_terms *t) {
  struct pml__sde_body *b = pml__sde_body_new(PML_SDE_PER_THREAD, PML_TYPE_INT64, PML_SDE_RO);
  if (b == NULL) return pml_fail(-ENOMEM, LIBRARY "::%s: out of memory", name);
  b->terms = t;
  atomic_init(&b->plain, PML__SDE_PLAIN_PER_THREAD);
  int rc = pml__sde_publish(lib, name, b);
  return rc == 0 ? pml_sde_describe(lib, name, text) : rc;
}

static struct pml__sde_terms *terms_new(size_t room) {
  struct pml__sde_terms *t = malloc(sizeof *t + room * sizeof t->term[0]);
  if (t != NULL) atomic_init(&t->n, 0);
  return t;
}

static bool has(const struct pml__sde_terms *t, uint32_t cell) {
  uint32_t n = atomic_load_explicit(&((struct pml__sde_terms *)(uintptr_t)t)->n, memory_order_relaxed);
  for (uint32_t i = 0; i < n; i++)
    if (t->term[i].cell == cell) return true;
  return false;
}

static void append(struct pml__sde_terms *t, uint32_t cell, uint32_t weight) {
  uint32_t n = atomic_load_explicit(&t->n, memory_order_relaxed);
  t->term[n] = (struct pml__sde_term){(uint16_t)cell, (uint16_t)pml_count_place(cell), weight};
  atomic_store_explicit(&t->n, n + 1, memory_order_release);
  atomic_fetch_add_explicit(&pml__sde_compiler_epoch, 1, memory_order_release);
}

static int register_sums(struct pml_sde_library *lib) {
  int rc = 0;
  for (unsigned e = 0; rc == 0 && e < PML_BYFL_EVENTS; e++) {
    if (sum[e] == NULL) sum[e] = terms_new(PML_CELL_COUNT);
    rc = sum[e] == NULL ? pml_fail(-ENOMEM, LIBRARY ": out of memory")
                        : publish(lib, pml_byfl_events[e].name, pml_byfl_events[e].help, sum[e]);
  }
  return rc;
}

/* Add a cell that came into use to the sums in which it has a weight, and as a separate event. It is noted last, so
 * that a child of a fork in between adds it again. */
static int add_cell(struct pml_sde_library *lib, unsigned c) {
  const struct pml_count_cell *cell = &pml_count_cells[c];
  if (single[c] != NULL) return 0;
  struct pml__sde_terms *own = terms_new(1);
  if (own == NULL) return pml_fail(-ENOMEM, LIBRARY "::%s: out of memory", cell->name);
  append(own, c, 1);
  for (unsigned e = 0; e < PML_BYFL_EVENTS; e++)
    if (cell->worth[e] > 0 && !has(sum[e], c)) append(sum[e], c, cell->worth[e]);
  int rc = publish(lib, cell->name, cell->help, own);
  __atomic_store_n(&single[c], own, __ATOMIC_RELEASE);
  return rc;
}

static int attach(const struct pml_count_runtime *r) {
  const struct pml_count_runtime *there = atomic_load_explicit(&runtime, memory_order_relaxed);
  struct pml_sde_library *lib;
  if (there != NULL && there != r)
    return pml_fail(-EBUSY, "compiler counts: this process has two runtimes; link every part with the shared one");
  atomic_store_explicit(&runtime, r, memory_order_release);
  int rc = pml_sde_library(&lib, LIBRARY);
  if (rc == 0) rc = register_sums(lib);
  for (unsigned c = 0; rc == 0 && c < PML_CELL_COUNT; c++)
    if ((__atomic_load_n(&r->area->header.used[c / 64], __ATOMIC_ACQUIRE) >> c % 64 & 1) != 0) rc = add_cell(lib, c);
  return rc;
}

int pml_count_attach(const struct pml_count_runtime *r) {
  if (r == NULL || r->abi != PML_COUNT_ABI || r->area == NULL)
    return pml_fail(-EINVAL, "compiler counts: the runtime belongs to another pmlua");
  pml__process_look();
  pml__lock_take(&lock);
  int rc = attach(r);
  pml__lock_leave(&lock);
  void (*heard)(void) = atomic_load_explicit(&listener, memory_order_acquire);
  if (rc == 0 && heard != NULL) heard();
  return rc;
}

/* Finish the attachment that another thread of the parent had begun. */
static void in_child(void) {
  const struct pml_count_runtime *r = atomic_load_explicit(&runtime, memory_order_acquire);
  if (pml__lock_torn(&lock) && r != NULL) (void)attach(r);
}

/* --- the runtime that was loaded before us --- */

/* dlopen() with RTLD_NOLOAD and a bare name tries every folder of the loader, some 60 system calls at each start. */
static int is_runtime(struct dl_phdr_info *info, size_t size, void *path) {
  (void)size;
  if (strcmp(basename(info->dlpi_name), RUNTIME) != 0) return 0;
  *(const char **)path = info->dlpi_name;
  return 1;
}

__attribute__((constructor)) static void look_for_runtime(void) {
  (void)pml__process_watch_use(in_child);
  const char *path = NULL;
  void *library = NULL, *found = dlsym(RTLD_DEFAULT, "pml_count_runtime");
  if (found == NULL && dl_iterate_phdr(is_runtime, &path) != 0 &&
      (library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD)) != NULL)
    found = dlsym(library, "pml_count_runtime");
  if (found != NULL && ((const struct pml_count_runtime *)found)->area != NULL) (void)pml_count_attach(found);
  if (library != NULL) (void)dlclose(library);
}
