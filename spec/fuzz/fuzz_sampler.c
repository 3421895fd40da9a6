/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/fuzz/fuzz_sampler.c - arbitrary bytes as the buffer of a perf event, read up to its head.
 *
 * Runs: 20000
 */
#include "fuzz.h"
#include "source/kernel/sampler/pml_sampler_private.h"

#define RING 4096u

static unsigned char scratch[PML__RECORD_MAX];

/* Keep the records of which maps are made, for the lookup of samples' addresses. */
static void keep(struct pml__maps *maps, const struct pml__record *r) {
  if (r->kind != PML__RECORD_MAP && r->kind != PML__RECORD_EXEC && r->kind != PML__RECORD_FORK) return;
  PROMISE(pml__maps_add(maps, r) == 0, "a map is noted");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input in = {data, data + size};
  struct pml__ring r = {.bytes = RING, .tail = fuzz_word(&in)};
  uint64_t head = r.tail + fuzz_word(&in) % (RING + 16), period = fuzz_byte(&in) % 2;
  struct pml__maps maps = {0};
  unsigned char *bytes = calloc(1, RING);
  if (bytes == NULL) abort();
  for (size_t i = 0; i < RING && in.at < in.end; i++) bytes[(r.tail + i) % RING] = fuzz_byte(&in);
  r.data = bytes;
  const unsigned char *record;
  unsigned rounds = 0;
  for (int n; (n = pml__ring_next(&r, head, scratch, &record)) != 0;) {
    struct pml__record out;
    PROMISE(++rounds <= RING / 8, "every round gets on by a head at least");
    PROMISE(head - r.tail <= RING || n < 0, "the tail stays behind the head");
    if (n < 0 || !pml__record_read(record, (size_t)n, period, &out)) continue;
    keep(&maps, &out);
    PLANTED(out.kind == PML__RECORD_MAP && out.name[0] == '/');
    if (out.kind != PML__RECORD_SAMPLE) continue;
    PROMISE(out.sample.depth == 0 || out.chain + 8 * (size_t)out.sample.depth <= record + n,
            "the stack is in the record");
    const struct pml__mapping *below = pml__maps_below(&maps, out.sample.pid, out.sample.time_ns, out.sample.address);
    PROMISE(below == NULL || below->start <= out.sample.address, "it begins before the address");
    const struct pml__mapping *m = pml__maps_find(&maps, out.sample.pid, out.sample.time_ns, out.sample.ip);
    PROMISE(m == NULL || (m->kind == PML__RECORD_MAP && out.sample.ip - m->start < m->length), "it is in the mapping");
  }
  pml__maps_free(&maps);
  free(bytes);
  return 0;
}
