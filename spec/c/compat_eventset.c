/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/compat_eventset.c - what an unchanged library registers through the drop-in, event sets of pmlua read: two
 * sets on one counter, each from its own start, and more events than libpapi takes.
 */
#include "check.h"
#include "compat.h"
#include "source/pml_eventset.h"

enum { MANY = 120 };

int main(void) {
  static long long counters[MANY];
  static char names[MANY][40];
  const char *list[MANY];
  struct pml_eventset *first, *second, *many;
  uint64_t a, b, all[MANY];
  papi_handle_t lib = papi_sde_init("SETS");
  for (int i = 0; i < MANY; i++) {
    snprintf(names[i], sizeof names[i], "sde:::SETS::E%d", i);
    list[i] = names[i];
    papi_sde_register_counter(lib, names[i] + strlen("sde:::SETS::"), PAPI_SDE_DELTA, PAPI_SDE_long_long, &counters[i]);
  }
  counters[0] = 100;
  if (!CHECK(pml_eventset_open(&first, list, 1, NULL) == 0, "pmlua finds the event")) return check_done();
  counters[0] += 5;
  if (!CHECK(pml_eventset_open(&second, list, 1, NULL) == 0, "twice")) return check_done();
  counters[0] += 2;
  int read = pml_eventset_read(first, &a) | pml_eventset_read(second, &b);
  CHECK(read == 0 && a == 7 && b == 2, "two sets on one counter count from their own starts: %llu %llu",
        (unsigned long long)a, (unsigned long long)b);
  uint32_t code = code_of("SETS::E0");
  CHECK(sde_ti_reset_counter(code) == SDE_OK && pml_eventset_read(first, &a) == 0 && a == 7,
        "and a reset by PAPI disturbs neither");
  pml_eventset_close(first);
  pml_eventset_close(second);

  if (!CHECK(pml_eventset_open(&many, list, MANY, NULL) == 0, "a set of %d events", MANY)) return check_done();
  for (int i = 0; i < MANY; i++) counters[i] += i;
  int wrong = pml_eventset_read(many, all) != 0;
  for (int i = 0; i < MANY; i++) wrong += all[i] != (uint64_t)i;
  CHECK(wrong == 0, "reads each of them");
  CHECK(papi_sde_shutdown(lib) == SDE_OK && pml_eventset_read(many, all) <= 0, "a library that goes while it is read");
  pml_eventset_close(many);
  return check_done();
}
