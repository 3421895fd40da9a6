/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/mpi/pml_mpi_table.c - what is known of handles, without a lock. */
#include "adapter/mpi/pml_mpi.h"

#include <sys/mman.h>

#define FIRST_BITS 10u
#define WINDOW 16u /* entries of a level that a key may be in */

static size_t bytes_of(uint32_t level) {
  return ((size_t)1 << (FIRST_BITS + level)) * PML__MPI_ENTRY_BYTES;
}

/* Of two threads that make one, one takes the other's. */
static char *make_level(struct pml__mpi_table *t, uint32_t i) {
  char *found = NULL,
       *level = mmap(NULL, bytes_of(i), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (level == MAP_FAILED) return NULL;
  if (__atomic_compare_exchange_n(&t->level[i], &found, level, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return level;
  (void)munmap(level, bytes_of(i));
  return found;
}

static struct pml__mpi_entry *entry_at(char *level, uint32_t i, uint64_t key, uint32_t k) {
  uint64_t hash = key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - FIRST_BITS - i);
  uint64_t mask = (UINT64_C(1) << (FIRST_BITS + i)) - 1;
  return (struct pml__mpi_entry *)(void *)(level + ((hash + k) & mask) * PML__MPI_ENTRY_BYTES);
}

static uint64_t key_in(const struct pml__mpi_entry *e) {
  return __atomic_load_n(&e->key, __ATOMIC_ACQUIRE);
}

static bool is_known(const struct pml__mpi_entry *e) {
  return __atomic_load_n(&e->state, __ATOMIC_ACQUIRE) == PML__MPI_KNOWN;
}

static bool take(struct pml__mpi_entry *e, uint64_t key) {
  uint64_t now = key_in(e);
  return now <= PML__MPI_LEFT &&
         __atomic_compare_exchange_n(&e->key, &now, key, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* Where an entry was never used, the key is in none behind it, nor in a further level. */
static struct pml__mpi_entry *find_in(char *level, uint32_t i, uint64_t key, bool *last) {
  for (uint32_t k = 0; k < WINDOW; k++) {
    struct pml__mpi_entry *e = entry_at(level, i, key, k);
    uint64_t now = key_in(e);
    if (PML_LIKELY(now == key && is_known(e))) return e;
    if ((*last = now == 0)) break;
  }
  return NULL;
}

void *pml__mpi_find(struct pml__mpi_table *t, uint64_t key) {
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
