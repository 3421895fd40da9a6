/* SPDX-License-Identifier: BSD-3-Clause */
/* core/compat/pmlib/pmlib_known.c - additional properties of sections, and OpenMP's thread numbers. */
#include "base/pml_process.h"
#include "base/pml_thread.h"
#include "compat/pmlib/pmlib.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static struct pml__lock lock;
static struct pmlib_known *knowns; /* under the lock */

void pmlib_lock(void) {
  pml__lock_take(&lock);
}
void pmlib_unlock(void) {
  pml__lock_leave(&lock);
}

struct pmlib_known *pmlib_known_of(const struct pml_section *s) {
  struct pmlib_known *k = knowns;
  while (k != NULL && k->section != s) k = k->next;
  return k;
}

void pmlib_know(const struct pml_section *s, enum pmlib_type type, bool exclusive) {
  pmlib_lock();
  struct pmlib_known *k = pmlib_known_of(s);
  if (k == NULL && (k = calloc(1, sizeof *k)) != NULL) {
    k->section = s;
    k->next = knowns;
    knowns = k;
  }
  if (k != NULL) {
    k->type = type;
    k->exclusive = exclusive;
  }
  pmlib_unlock();
}

void pmlib_forget_bases(void) {
  pmlib_lock();
  for (struct pmlib_known *k = knowns; k != NULL; k = k->next) {
    free(k->base);
    k->base = NULL;
    k->nbases = 0;
  }
  pmlib_unlock();
}

/* ---- the numbers that OpenMP gives to threads, for the report ---- */

struct numbered {
  uint64_t thread;
  uint32_t number;
  struct numbered *next;
};
static struct numbered *numbers; /* under the lock */
static _Thread_local bool is_numbered;

static int call_openmp(const char *name, int otherwise) {
  void *f = dlsym(RTLD_DEFAULT, name);
  int (*call)(void);
  if (f == NULL) return otherwise;
  memcpy(&call, &f, sizeof call);
  return call();
}

int pmlib_max_threads(void) {
  return call_openmp("omp_get_max_threads", 1);
}

void pmlib_number_thread(void) {
  if (PML_LIKELY(is_numbered)) return;
  is_numbered = true;
  struct numbered *n = malloc(sizeof *n);
  if (n == NULL) return;
  n->thread = pml_thread_self()->id;
  n->number = (uint32_t)call_openmp("omp_get_thread_num", 0);
  pmlib_lock();
  n->next = numbers;
  numbers = n;
  pmlib_unlock();
}

uint32_t pmlib_number_of(uint64_t thread) {
  const struct numbered *n = numbers;
  while (n != NULL && n->thread != thread) n = n->next;
  return n == NULL ? 0 : n->number;
}
