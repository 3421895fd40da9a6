/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/fuzz/fuzz_scan_cache.c - any bytes as a file of what was found in code: believed or not, and what is put is
 * found.
 *
 * Runs: 3000
 */
#include "fuzz.h"

#include "adapter/intercept/pml_intercept_cache.h"

#define SLOTS 64

static bool is_same(const struct pml__scan *a, const struct pml__scan *b) {
  if (a->n != b->n || a->nsites != b->nsites) return false;
  for (size_t i = 0; i < a->n; i++)
    if (a->slot[i].called != b->slot[i].called || a->slot[i].used != b->slot[i].used ||
        a->slot[i].missed != b->slot[i].missed)
      return false;
  return a->nsites == 0 || memcmp(a->site, b->site, a->nsites * sizeof *a->site) == 0;
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
  pml__scan_cache_in(folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static bool made;
  struct pml__scan_slot slot[SLOTS] = {{0}}, found[SLOTS + 1] = {{0}};
  struct pml__scan_site site[SLOTS];
  size_t n = size < SLOTS ? size : SLOTS;
  struct pml__scan put = {.slot = slot, .site = site, .n = n, .nsites = n / 2, .file = {.bytes = 1, .headers = 2}};
  struct pml__scan got = {.slot = found, .file = put.file};
  if (!made) make_folder();
  made = true;
  for (got.n = 0; got.n <= n; got.n++) (void)pml__scan_cache_parse(data, size, &got);
  for (size_t i = 0; i < n; i++) {
    slot[i] = (struct pml__scan_slot){.called = data[i] % 2, .used = data[i] / 2 % 2, .missed = data[i] / 4 % 2};
    site[i] = (struct pml__scan_site){(uint32_t)i, data[i] * 257u};
  }
  pml__scan_cache_put(&put);
  got.n = n + 1;
  PROMISE(!pml__scan_cache_find(&got), "for as many slots");
  got.n = n;
  PROMISE(pml__scan_cache_find(&got) && is_same(&put, &got), "what was put is found");
  got.file.headers = 3;
  PROMISE(!pml__scan_cache_find(&got), "for that file");
  free(got.site);
  PLANTED(n == 5 && found[0].called && !found[0].used && found[4].used);
  return 0;
}
