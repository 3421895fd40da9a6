/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/scorep_threads.c - threads raise, begin and end while substrate plugins come and go. */
#include "scorep.h"

#define THREADS 4
#define CALLS 500u
#define ROUNDS 20

static pml_region_t region;
static atomic_bool ended;

static void call(uint64_t ticks, pml_region_t of) {
  pml_stream_emit(PML_STREAM_ENTER, &(struct pml_stream_event){.ticks = ticks, .region = of});
  pml_stream_emit(PML_STREAM_LEAVE, &(struct pml_stream_event){.ticks = ticks + 1, .region = of});
}

static void *raise_calls(void *arg) {
  char name[32];
  pml_region_t own = region;
  for (unsigned i = 0; i < CALLS; i++) {
    snprintf(name, sizeof name, "of %u %u", *(const unsigned *)arg, i / 100);
    if (i % 100 == 0) (void)pml_region_intern(name, NULL, 0, &own);
    call(2 * i, own);
  }
  return NULL;
}

static void *raise_until_ended(void *arg) {
  for (uint64_t i = 0; !atomic_load(&ended); i++) call(2 * i, region);
  return arg;
}

static unsigned count(const char *text, const char *part) {
  unsigned n = 0;
  for (; (text = strstr(text, part)) != NULL; text++) n++;
  return n;
}

static void each_is_a_location(void) {
  struct pml_scorep *p;
  pthread_t t[THREADS];
  unsigned id[THREADS];
  if (!CHECK(open_plugin("writer", &p) == 0, "a plugin is loaded")) return;
  for (unsigned i = 0; i < THREADS; i++) id[i] = i;
  for (unsigned i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, raise_calls, &id[i]);
  for (unsigned i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
  pml_scorep_close(p);
  const char *text = read_file("writer.txt");
  CHECK(count(text, "create ") == THREADS + 1 && count(text, "\nactivate ") == THREADS + 1 &&
            count(text, "deactivate ") == THREADS + 1 && count(text, "delete ") == THREADS + 1,
        "each thread is a location, for all its life");
  CHECK(count(text, "after 1000\n") == THREADS && count(text, " enter of") == THREADS * CALLS,
        "which has all its events");
  CHECK(count(text, "region of ") == THREADS * CALLS / 100, "each region is defined once");
}

static void coming_and_going(void) {
  pthread_t t[THREADS];
  unsigned begun = 0;
  for (unsigned i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, raise_until_ended, NULL);
  for (int i = 0; i < ROUNDS; i++) {
    struct pml_scorep *a, *b;
    int first = open_plugin("nothing", &a), second = open_plugin("writer", &b);
    begun += first == 0 && second == 0;
    if (first == 0) pml_scorep_record(a, false);
    usleep(1000);
    if (first == 0) pml_scorep_record(a, true);
    pml_scorep_close(first == 0 ? a : NULL);
    pml_scorep_close(second == 0 ? b : NULL);
  }
  atomic_store(&ended, true);
  for (unsigned i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
  CHECK(begun == ROUNDS, "plugins come and go while threads raise");
  CHECK(count(read_file("writer.txt"), "finalize\n") == 1, "and each of them ends");
}

int main(void) {
  if (!scorep_begin()) return 1;
  pml_region_intern("all", NULL, 0, &region);
  each_is_a_location();
  coming_and_going();
  return scorep_done();
}
