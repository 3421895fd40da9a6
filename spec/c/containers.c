/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/containers.c - growing arrays and hash tables: contents, order, and failure without memory. */
#include "base/pml_array.h"
#include "base/pml_map.h"
#include "check.h"

#define N 100000u

static void check_arrays(void) {
  uint32_t *a = NULL, room = 0, bad = 0;
  size_t moves = 0;
  for (uint32_t i = 0; i < N; i++) {
    uint32_t before = room;
    if (!PML__ARRAY_ROOM(a, room, i + 1)) break;
    moves += room != before;
    a[i] = i;
  }
  for (uint32_t i = 0; i < N; i++) bad += a[i] != i;
  CHECK(bad == 0 && room >= N && moves < 20, "%u elements stay, with %zu moves", N, moves);
  uint64_t *z = NULL;
  size_t zroom = 0, set = 0;
  CHECK(PML__ARRAY_ZEROS(z, zroom, 5) && zroom == 16, "the first room is for 16");
  z[3] = 7;
  CHECK(PML__ARRAY_ZEROS(z, zroom, 1000) && zroom == 1000 && z[3] == 7,
        "room grows to the wanted number if doubling is not enough");
  for (size_t i = 0; i < zroom; i++) set += z[i] != 0;
  CHECK(set == 1, "new elements are zeros");
#ifdef __SANITIZE_ADDRESS__
  SKIP("AddressSanitizer ends a program that asks for too much");
#else
  uint64_t *was = z;
  CHECK(!PML__ARRAY_ROOM(z, zroom, SIZE_MAX / 4) && z == was && zroom == 1000 && z[3] == 7,
        "without memory the array is as before");
#endif
  free(a);
  free(z);
}

static uint32_t find(const struct pml__map *m, const uint64_t *key, uint64_t hash, uint64_t wanted) {
  uint32_t at = 0, i = pml__map_next(m, hash, &at);
  while (i != PML__MAP_NONE && key[i] != wanted) i = pml__map_next(m, hash, &at);
  return i;
}

/* @same: all keys have one hash. */
static void check_map(uint32_t n, bool same) {
  struct pml__map m = {0};
  uint64_t *key = calloc(n, sizeof *key);
  uint32_t bad = find(&m, key, 1, 1) != PML__MAP_NONE;
  for (uint32_t i = 0; key != NULL && i < n; i++) {
    key[i] = (uint64_t)i << 32 | 5;
    uint64_t hash = same ? 9 : pml__hash(PML__HASH, key[i]);
    bad += find(&m, key, hash, key[i]) != PML__MAP_NONE || pml__map_add(&m, hash) != i;
  }
  for (uint32_t i = 0; key != NULL && i < n; i++)
    bad += find(&m, key, same ? 9 : pml__hash(PML__HASH, key[i]), key[i]) != i;
  bad += find(&m, key, same ? 9 : pml__hash(PML__HASH, 1), 1) != PML__MAP_NONE;
  CHECK(bad == 0 && m.n == n, "%u elements are found, and no other%s", n, same ? ", with one hash for all" : "");
  pml__map_free(&m);
  CHECK(m.n == 0 && find(&m, key, 9, 5) == PML__MAP_NONE, "a map that was freed is empty");
  free(key);
}

static void check_hashes(void) {
  CHECK(pml__hash_text(pml__hash_text(PML__HASH, "ab"), "c") != pml__hash_text(pml__hash_text(PML__HASH, "a"), "bc"),
        "the terminating zero is part of the hash");
  CHECK(pml__hash_bytes(PML__HASH, "12345678", 8) != pml__hash_bytes(PML__HASH, "123456789", 9) &&
            pml__hash_bytes(3, "12345678", 8) == pml__hash_bytes(3, "12345678x", 8),
        "only the given bytes are hashed");
}

int main(void) {
  check_arrays();
  check_map(N, false);
  check_map(300, true);
  check_hashes();
  return check_done();
}
