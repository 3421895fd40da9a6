/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/fuzz/fuzz_elf.c - any bytes as an ELF file that is searched for symbols.
 *
 * Runs: 3000
 */
#include "fuzz.h"
#include "source/kernel/event/pml_event_parsers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const names[] = {"work", "probed"};
  const char *path = fuzz_path(data, size);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    struct pml__symbol sym = {0};
    int err = pml__elf_symbol(path, names[i], &sym);
    PROMISE(err == 0 || err == PML_ENOSYMBOL || err == PML_EFORMAT, "found, not there, or no such file");
    PLANTED(err == 0 && sym.offset != UINT64_MAX && sym.size > 0xffff);
  }
  return 0;
}
