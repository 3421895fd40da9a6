/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/fuzz/fuzz_usdt.c - any bytes as an ELF file whose USDT probes are listed.
 *
 * Runs: 3000
 */
#include "fuzz.h"
#include "source/kernel/event/pml_event_parsers.h"

static size_t total;

static int visit(const struct pml__usdt_place *place, void *arg) {
  const size_t *size = arg;
  size_t provider = strlen(place->provider), name = strlen(place->name);
  PROMISE(provider > 0 && name > 0, "a probe has a provider and a name");
  PROMISE(provider + name < *size, "their texts are in the file");
  PROMISE(strlen(place->arguments) < *size, "as is what it says of its arguments");
  PROMISE(place->offset < *size && place->semaphore < *size, "and so are its places");
  PLANTED(name == 4 && memcmp(place->name, "bugs", 4) == 0);
  return ++total % 1000 == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *path = fuzz_path(data, size);
  int err = pml__usdt_walk(path, visit, &size);
  PROMISE(err == 0 || err == 1 || err == PML_EFORMAT, "listed, stopped, or no such file");
  return 0;
}
