/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/mpi_table.c - the table of MPI handles: many handles at once, repeated use, and threads that get each other's
 * handles. */
#include "adapter/mpi/pml_mpi.h"
#include "check.h"

enum { MANY = 20000, THREADS = 4, TIMES = 20000, SHARED = 8 };

static struct pml__mpi_table table;

static uint32_t faults; /* atomic */

static void fault_if(bool is) {
  if (is) __atomic_fetch_add(&faults, 1, __ATOMIC_RELAXED);
}

static void add(uint64_t key, uint32_t kind) {
  struct pml__mpi_entry *e = pml__mpi_add(&table, key);
  fault_if(e == NULL);
  if (e == NULL) return;
  e->kind = kind;
  pml__mpi_publish(e);
}

static uint32_t kind_of(uint64_t key) {
  const struct pml__mpi_entry *e = pml__mpi_find(&table, key);
  return e != NULL ? e->kind : 0;
}

static uint64_t key_at(uint32_t i) {
  return i % 2 == 0 ? UINT64_C(0x7f0012340000) + 512 * (uint64_t)i : 0x98000000u + i;
}

static void finds_what_it_has(void) {
  for (uint32_t round = 1; round <= 3; round++) {
    for (uint32_t i = 0; i < MANY; i++) add(key_at(i), i + round);
    for (uint32_t i = 0; i < MANY; i++) fault_if(kind_of(key_at(i)) != i + round);
    fault_if(kind_of(key_at(MANY)) != 0);
    for (uint32_t i = 0; i < MANY; i++) pml__mpi_remove(pml__mpi_find(&table, key_at(i)));
    for (uint32_t i = 0; i < MANY; i++) fault_if(kind_of(key_at(i)) != 0);
  }
  CHECK(faults == 0, "%d entries at a time are found until they are removed: %u faults", MANY, faults);
}

static void tells_two_of_one_key_apart(void) {
  add(77, 1);
  struct pml__mpi_entry *first = pml__mpi_find(&table, 77);
  pml__mpi_claim(first);
  CHECK(kind_of(77) == 0, "a claimed entry is not found");
  add(77, 2);
  CHECK(kind_of(77) == 2, "another entry of the key is found");
  pml__mpi_remove(first);
  CHECK(kind_of(77) == 2, "and stays when the first is removed");
  pml__mpi_remove(pml__mpi_find(&table, 77));
}

static pthread_mutex_t owned[SHARED];

/* Who has the lock has the handle, as MPI gives it to one at a time; it is given back before the entry is removed. */
static void *use_handles(void *arg) {
  uint32_t mine = (uint32_t)(uintptr_t)arg;
  for (uint32_t i = 0; i < TIMES; i++) {
    uint32_t which = (i * 7 + mine) % SHARED;
    pthread_mutex_lock(&owned[which]);
    add(1000 + which, mine * TIMES + i + 1);
    struct pml__mpi_entry *e = pml__mpi_find(&table, 1000 + which);
    fault_if(e == NULL || e->kind != mine * TIMES + i + 1);
    if (e != NULL) pml__mpi_claim(e);
    pthread_mutex_unlock(&owned[which]);
    if (e != NULL) pml__mpi_remove(e);
  }
  return NULL;
}

static void serves_threads(void) {
  pthread_t thread[THREADS];
  for (int i = 0; i < SHARED; i++) pthread_mutex_init(&owned[i], NULL);
  for (uintptr_t i = 0; i < THREADS; i++)
    fault_if(pthread_create(&thread[i], NULL, use_handles, (void *)i) != 0); /* NOLINT(performance-no-int-to-ptr) */
  for (int i = 0; i < THREADS; i++) fault_if(pthread_join(thread[i], NULL) != 0);
  for (uint32_t i = 0; i < SHARED; i++) fault_if(kind_of(1000 + i) != 0);
  CHECK(faults == 0, "threads find their own entries of handles that go round: %u faults", faults);
}

int main(void) {
  CHECK_EACH(finds_what_it_has, tells_two_of_one_key_apart, serves_threads);
  return check_done();
}
