/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/stream_metrics.c - threads that intern the same names at once get the same. */
#include "check.h"

#include <sched.h>

#define THREADS 2u
#define LISTS 3000u

static atomic_uint wrong, thread, ready;
static struct pml_stream_metrics *of[THREADS][LISTS];

/* List @i has @i % 3 + 1 names; no other is like it. */
static int intern(unsigned i, struct pml_stream_metrics **out) {
  char last[16];
  const char *names[] = {"first", "second", "third"};
  snprintf(last, sizeof last, "list %u", i);
  names[i % 3] = last;
  int err = pml_stream_metrics(names, i % 3 + 1, out);
  memset(last, 'x', sizeof last); /* what was interned is a copy */
  return err;
}

/* Each list by all threads at once: the first waits for the others, but not for ever. */
static void *intern_all(void *arg) {
  unsigned mine = atomic_fetch_add(&thread, 1);
  for (unsigned i = 0; i < LISTS; i++) {
    atomic_fetch_add(&ready, 1);
    for (unsigned k = 0; k < 1000000 && atomic_load(&ready) < THREADS * (i + 1); k++)
      if (k % 10000 == 9999) sched_yield();
    if (intern(i, &of[mine][i]) != 0) atomic_fetch_add(&wrong, 1);
  }
  return arg;
}

static bool all_alike(void) {
  for (unsigned i = 0; i < LISTS; i++) {
    char last[16];
    snprintf(last, sizeof last, "list %u", i);
    for (unsigned k = 1; k < THREADS; k++)
      if (of[k][i] != of[0][i]) return false;
    if (i > 0 && of[0][i] == of[0][i - 1]) return false;
    if (of[0][i]->n != i % 3 + 1 || strcmp(of[0][i]->name[i % 3], last) != 0) return false;
  }
  return true;
}

int main(void) {
  pthread_t t[THREADS];
  for (unsigned i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, intern_all, NULL);
  for (unsigned i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
  CHECK(atomic_load(&wrong) == 0 && all_alike(), "%u lists are the same for %u threads, and each is another", LISTS,
        THREADS);
  struct pml_stream_metrics *none;
  const char *empty[] = {"a", ""};
  CHECK(pml_stream_metrics(empty, 2, &none) == -EINVAL && none == NULL, "an empty name is refused");
  return check_done();
}
