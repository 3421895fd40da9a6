/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/fuzz/fuzz_counts.c - arbitrary bytes as a file of counts: correct sums of the valid parts, or a failure with a
 * reason.
 *
 * An input is a list of byte strings and their places in a file with a valid head, and the length at which the file is
 * cut.
 */
#include "base/pml_error.h"
#include "fuzz.h"
#include "read/log/pml_count_read.h"
#include "source/compiler/pml_count_cells.h"
#include "source/compiler/pml_count_file.h"
#include "source/compiler/pml_count_layout.h"

#include <stddef.h>

#define LANES 3u

#define AREA_BYTES (sizeof(struct pml_count_area) + LANES * PML_COUNT_CELLS * sizeof(uint64_t))

static union {
  struct pml__log_head head;
  uint8_t byte[PML__LOG_DIRECTORY + AREA_BYTES];
} whole;

static void begin(void) {
  struct pml_count_area *area = (struct pml_count_area *)(void *)(whole.byte + PML__LOG_DIRECTORY);
  memset(&whole, 0, sizeof whole);
  whole.head = (struct pml__log_head){
      .magic = PML__LOG_MAGIC, .version = PML__LOG_VERSION, .ticks_per_second = 1e9, .entries = 1};
  *pml__count_entry(area) =
      (struct pml__log_entry){.kind = PML__LOG_COUNTS, .at = PML__LOG_DIRECTORY, .bytes = AREA_BYTES};
  struct pml_count_header *h = &area->header;
  h->abi = PML_COUNT_ABI;
  h->cells = PML_COUNT_CELLS;
  h->lanes = LANES;
}

static void check(const struct pml_counts *c) {
  PROMISE(memchr(c->command, '\0', sizeof c->command) != NULL, "the command ends");
  PROMISE(c->nparts <= PML_COUNT_ROWS && c->nparts <= c->modules, "no more modules are named than there are");
  for (size_t i = 0; i < c->nparts; i++)
    PROMISE(memchr(c->part[i].name, '\0', sizeof c->part[i].name) != NULL, "a module's name ends");
  uint64_t flops = 0;
  for (size_t i = 0; i < c->ncells; i++) flops += c->cell[i] * pml_count_cells[i].worth[PML_BYFL_FLOP_COUNT];
  PROMISE(flops == c->event[PML_BYFL_FLOP_COUNT], "sums are of the kinds");
  PLANTED(c->at == PML_COUNT_AT_BOTH && c->uncounted > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input in = {data, data + size};
  struct pml_counts *c;
  begin();
  size_t length = fuzz_byte(&in) % 4 == 0 ? (size_t)(fuzz_word(&in) % (sizeof whole + 1)) : sizeof whole;
  while (in.at < in.end) {
    /* The head and the first rows are what decides; places there are more likely. */
    size_t at = (size_t)fuzz_byte(&in) << 8 | fuzz_byte(&in), n = fuzz_byte(&in) % 16;
    if (fuzz_byte(&in) % 4 != 0) at += PML__LOG_DIRECTORY;
    for (size_t i = 0; i < n && at + i < sizeof whole; i++) whole.byte[at + i] = fuzz_byte(&in);
  }
  int rc = pml_count_read(fuzz_path(&whole, length), &c);
  if (rc == 0) check(c);
  PROMISE(rc == 0 || (c == NULL && *pml_error_detail(rc) != '\0'), "it says why not");
  pml_counts_free(rc == 0 ? c : NULL);
  return 0;
}
