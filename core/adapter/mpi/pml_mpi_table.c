/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/mpi/pml_mpi_table.c - lock-free table of MPI handles. */
#include "adapter/mpi/pml_mpi.h"

#include <sys/mman.h>

#define WINDOW 16u /* slots of a level that a key may use */

static size_t bytes_of(uint32_t level) {
  return ((size_t)1 << (PML__MPI_FIRST_BITS + level)) * PML__MPI_ENTRY_BYTES;
}

/* If two threads make a level, one uses the other's. */
static char *make_level(struct pml__mpi_table *t, uint32_t i) {
  char *found = NULL,
       *level = mmap(NULL, bytes_of(i), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (level == MAP_FAILED) return NULL;
  if (__atomic_compare_exchange_n(&t->level[i], &found, level, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return level;
  (void)munmap(level, bytes_of(i));
  return found;
}

static struct pml__mpi_entry *entry_at(char *level, uint32_t i, uint64_t key, uint32_t k) {
  return pml__mpi_entry_at(level, PML__MPI_FIRST_BITS + i, key, k);
}

static uint64_t key_in(const struct pml__mpi_entry *e) {
  return __atomic_load_n(&e->key, __ATOMIC_ACQUIRE);
}

static bool take(struct pml__mpi_entry *e, uint64_t key) {
  uint64_t now = key_in(e);
  return now <= PML__MPI_LEFT &&
         __atomic_compare_exchange_n(&e->key, &now, key, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* If a slot was never used, the key is in no slot behind it, and in no further level. */
static struct pml__mpi_entry *find_in(char *level, uint32_t i, uint64_t key, bool *last) {
  for (uint32_t k = 0; k < WINDOW; k++) {
    struct pml__mpi_entry *e = entry_at(level, i, key, k);
    uint64_t now = key_in(e);
    if (pml__mpi_is_of(e, key)) return e;
    if ((*last = now == 0)) break;
  }
  return NULL;
}

void *pml__mpi_search(struct pml__mpi_table *t, uint64_t key) {
  struct pml__mpi_entry *e = NULL;
  bool last = false;
  for (uint32_t i = 0; i < PML__MPI_LEVELS && e == NULL && !last; i++) {
    char *level = __atomic_load_n(&t->level[i], __ATOMIC_ACQUIRE);
    if (level == NULL) return NULL;
    e = find_in(level, i, key, &last);
  }
  return e;
}

static struct pml__mpi_entry *take_in(char *level, uint32_t i, uint64_t key) {
  for (uint32_t k = 0; k < WINDOW; k++)
    if (take(entry_at(level, i, key, k), key)) return entry_at(level, i, key, k);
  return NULL;
}

void *pml__mpi_add(struct pml__mpi_table *t, uint64_t key) {
  struct pml__mpi_entry *e = NULL;
  for (uint32_t i = 0; i < PML__MPI_LEVELS && e == NULL; i++) {
    char *level = __atomic_load_n(&t->level[i], __ATOMIC_ACQUIRE);
    if (level == NULL && (level = make_level(t, i)) == NULL) return NULL;
    e = take_in(level, i, key);
  }
  return e;
}

void *pml__mpi_add_anew(struct pml__mpi_table *t, uint64_t key) {
  struct pml__mpi_entry *older = pml__mpi_find(t, key);
  if (older != NULL) pml__mpi_remove(older);
  return pml__mpi_add(t, key);
}

void pml__mpi_drop(struct pml__mpi_table *t) {
  for (uint32_t i = 0; i < PML__MPI_LEVELS; i++)
    if (t->level[i] != NULL) (void)munmap(t->level[i], bytes_of(i));
  *t = (struct pml__mpi_table){0};
}
