/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/ring.c - values of an event come out of a ring as they went in, wherever in it they lie. */
#include "check.h"
#include "record/pml_ring.h"

#define SLOTS 8u
#define MOST (2 * (SLOTS - 1)) /* values behind one event */

/* An event at @at with @n values behind it: the number of differences between values read and written. */
static unsigned differences(uint64_t at, uint64_t n) {
  static struct pml__log_event slot[SLOTS + 2]; /* one before and one behind the ring */
  uint64_t tail = at, in[MOST], out[MOST] = {0};
  struct pml__ring r = {.head = at, .limit = at + SLOTS, .mask = SLOTS - 1, .slot = slot + 1, .tail = &tail};
  memset(slot, 0xee, sizeof slot);
  for (uint64_t i = 0; i < n; i++) in[i] = 1000 * at + i;
  uint64_t head = pml__ring_put(&r, 7, 9);
  pml__ring_values_in(&r, head + 1, in, n);
  pml__ring_values_out(&r, head + 1, out, n);
  unsigned wrong = memcmp(in, out, n * sizeof in[0]) != 0;
  wrong += slot[1 + at % SLOTS].ticks != 7 || slot[1 + at % SLOTS].word != 9;
  wrong += slot[0].word != UINT64_C(0xeeeeeeeeeeeeeeee) || slot[SLOTS + 1].ticks != UINT64_C(0xeeeeeeeeeeeeeeee);
  return wrong;
}

int main(void) {
  for (uint64_t at = 0; at < 2 * SLOTS; at++) {
    unsigned wrong = 0;
    for (uint64_t n = 0; n <= MOST; n++) wrong += differences(at, n);
    CHECK(wrong == 0, "behind an event in slot %llu, up to %u values", (unsigned long long)(at % SLOTS), MOST);
  }
  return check_done();
}
