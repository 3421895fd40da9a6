/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/intercept_entries.c - interception at the entries of functions, and functions that report their calls.
 *
 * Each function counts its calls, and a consumer counts enters and leaves by name. The code of functions that are not
 * chosen, and of all functions after the removal, is the original.
 */
#include "check.h"

#include "adapter/intercept/pml_intercept.h"
#include "adapter/intercept/pml_intercept_instrumented.h"
#include "base/pml_stream.h"

#ifdef __clang__
#define ALONE noinline
#else
#define ALONE noinline, noclone
#endif
#ifdef __x86_64__
#define ROOM __attribute__((ALONE, patchable_function_entry(5)))
#define BEFORE __attribute__((ALONE, patchable_function_entry(9, 4)))
#define SCARCE __attribute__((ALONE, patchable_function_entry(2)))
#else
#define ROOM __attribute__((ALONE, patchable_function_entry(1)))
#define BEFORE __attribute__((ALONE, patchable_function_entry(3, 2)))
#define SCARCE __attribute__((ALONE, patchable_function_entry(0)))
#endif

static volatile long calls, sink;

ROOM static long entry_many(long a, long b, long c, long d, long e, long f, long g, double h) {
  calls++;
  return a + b + c + d + e + f + g + (long)h;
}
BEFORE static long entry_deep(long n) {
  calls++;
  long below = n > 0 ? entry_deep(n - 1) : 0;
  sink += below;
  return below + 1;
}
ROOM static void other(void) {
  sink++;
}
SCARCE static void entry_scarce(void) {
  sink++;
}

/* The code that -finstrument-functions makes, with an inlined function inside. */
__attribute__((noinline)) static void entry_reported(void) {
  const void *site = __builtin_return_address(0);
  pml__instrumented_enter((const void *)entry_reported, site);
  calls++;
  pml__instrumented_enter((const void *)entry_many, site);
  pml__instrumented_leave((const void *)entry_many, site);
  pml__instrumented_leave((const void *)entry_reported, site);
  __asm__ volatile("");
}

static struct counted {
  char name[64];
  long enters, leaves, depth;
} counted[16];

static struct counted *of_name(const char *name) {
  struct counted *c = counted;
  while (c->name[0] != '\0' && strcmp(c->name, name) != 0) c++;
  (void)snprintf(c->name, sizeof c->name, "%s", name);
  return c;
}

static void *begin(void *arg, uint64_t thread) {
  (void)arg, (void)thread;
  return counted;
}
static long depth;
static void on_enter(void *data, const struct pml_stream_event *e) {
  struct pml_region_info info;
  (void)data;
  if (pml_region_describe(e->region, &info) < 0) return;
  of_name(info.name)->enters++;
  if (++depth > of_name(info.name)->depth) of_name(info.name)->depth = depth;
}
static void on_leave(void *data, const struct pml_stream_event *e) {
  struct pml_region_info info;
  (void)data;
  depth--;
  if (pml_region_describe(e->region, &info) == 0) of_name(info.name)->leaves++;
}

static long work(void) {
  long sum = 0;
  calls = 0;
  for (long i = 0; i < 100; i++) sum += entry_many(1, 2, 3, 4, 5, 6, i, 0.5);
  sum += entry_deep(20);
  for (int i = 0; i < 7; i++) entry_reported();
  other();
  entry_scarce();
  return sum;
}

static bool are(const char *name, long enters, long deepest) {
  const struct counted *c = of_name(name);
  if (c->enters != enters || c->leaves != enters || c->depth != deepest)
    printf("# %s: %ld enters, %ld leaves, depth %ld\n", name, c->enters, c->leaves, c->depth);
  return c->enters == enters && c->leaves == enters && c->depth == deepest;
}

static int note(const struct pml_intercept_unrecorded *f, void *arg) {
  if (strcmp(f->function, "entry_scarce") == 0) *(bool *)arg = f->calls;
  return 0;
}

#define CODE 32u
static const unsigned char *code_of(void (*f)(void)) {
  const unsigned char *at;
  memcpy(&at, &f, sizeof at);
  return at;
}

static void entries_are_patched_and_restored(void) {
  static const struct pml_intercept_options o = {.lib = "none", .func = "entry_*"};
  const struct pml_stream_consumer c = {.thread_begin = begin, .event = {on_enter, on_leave, NULL}};
  unsigned char original[2][CODE];
  const unsigned char *many = code_of((void (*)(void))entry_many), *not = code_of(other);
  bool scarce = false;
  uint64_t id;
  memcpy(original[0], many, CODE);
  memcpy(original[1], not, CODE);
  long sum = work(), own = calls;
  CHECK(pml_stream_add(&c, &id) == 0, "a consumer");
  for (int i = 0; i < 2; i++) {
    memset(counted, 0, sizeof counted);
    CHECK(pml_intercept_install(&o) == 0, "interception of entries");
    CHECK(memcmp(original[0], many, CODE) != 0 && memcmp(original[1], not, CODE) == 0, "only chosen functions change");
    CHECK(work() == sum && calls == own, "the program computes the same");
    CHECK(are("entry_many", 107, 2) && are("entry_deep", 21, 21) && are("entry_reported", 7, 1) && are("other", 0, 0),
          "each call is recorded, in its caller, and no other");
    (void)pml_intercept_unrecorded(note, &scarce);
    pml_intercept_remove();
    CHECK(memcmp(original[0], many, CODE) == 0, "the code is the original again");
  }
#ifdef __x86_64__
  CHECK(scarce, "a function without enough room is reported");
#endif
  memset(counted, 0, sizeof counted);
  CHECK(work() == sum && are("entry_many", 0, 0) && are("entry_reported", 0, 0), "then nothing is recorded");
  (void)pml_stream_remove(id);
}

int main(void) {
  entries_are_patched_and_restored();
  return check_done();
}
