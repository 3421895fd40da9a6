/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/fuzz/fuzz_kept.c - any bytes as a file of what was found in code: believed or not, and what is put is found.
 *
 * Runs: 3000
 */
#include "fuzz.h"

#include "adapter/intercept/pml_intercept_kept.h"

#define SLOTS 64

static bool is_same(const struct pml__scan_slot *a, const struct pml__scan_slot *b, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (a[i].called != b[i].called || a[i].used != b[i].used) return false;
  return true;
}

static char folder[] = "/tmp/fuzz-kept-XXXXXX";

static void remove_folder(void) {
  char command[64];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  if (system(command) != 0) fprintf(stderr, "%s is left\n", folder);
}

static void make_folder(void) {
  if (mkdtemp(folder) == NULL) abort();
  (void)atexit(remove_folder);
  pml__kept_in(folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static bool made;
  struct pml__scan_slot slot[SLOTS] = {{0}}, found[SLOTS] = {{0}};
  size_t n = size < SLOTS ? size : SLOTS;
  const struct pml__file f = {.bytes = 1, .headers = 2}, other = {.bytes = 1, .headers = 3};
  if (!made) make_folder();
  made = true;
  for (size_t i = 0; i <= SLOTS; i++) (void)pml__kept_parse(data, size, &f, found, i < size ? i : 0);
  for (size_t i = 0; i < n; i++) slot[i] = (struct pml__scan_slot){.called = data[i] % 2, .used = data[i] / 2 % 2};
  pml__kept_put(&f, slot, n);
  PROMISE(pml__kept_find(&f, found, n) && is_same(slot, found, n), "what was put is found");
  PROMISE(!pml__kept_find(&f, found, n + 1) && !pml__kept_find(&other, found, n), "for that file and as many slots");
  PLANTED(n == 5 && found[0].called && !found[0].used && found[4].used);
  return 0;
}
