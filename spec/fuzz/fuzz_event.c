/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/fuzz/fuzz_event.c - any bytes as an event's name and as a sysfs format; libFuzzer.
 *
 *   clang -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -std=c11 -D_GNU_SOURCE -Icore \
 *     spec/fuzz/fuzz_event.c core/base/pml_error.c core/source/pml_event*.c -lpfm -ldl -lpthread -o build/fuzz_event
 *   build/fuzz_event -dict=spec/fuzz/event.dict -max_total_time=120 -max_len=300
 */
#include "pml.h"
#include "source/pml_event_internal.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What parses keeps the promises of pml_event.h. */
static void parse_name(const char *name) {
  struct pml_event ev;
  int err = pml_event_parse(&ev, name);
  if (err > 0) abort();
  if (err < 0) {
    if (!*pml_error_detail(err)) abort();
    return;
  }
  if (ev.kind == PML_EVENT_PERF ? ev.nparts == 0 || ev.nparts > PML_EVENT_PARTS_MAX : ev.nparts != 0) abort();
  if (strcmp(ev.name, name) != 0 || ev.scale == 0) abort();
  for (unsigned i = 0; i < ev.nparts; i++)
    if (ev.part[i].attr.size != sizeof ev.part[i].attr || !*ev.part[i].pmu) abort();
}

/* What a format takes in, it gives back, and it touches no other bit. */
static void parse_format(const char *text) {
  struct pml__format f;
  if (!pml__format_parse(&f, text)) return;
  uint64_t ones = 0, word = 0;
  uint64_t all = f.bits >= 64 ? UINT64_MAX : (UINT64_C(1) << f.bits) - 1;
  if (f.word > 3 || f.nranges == 0 || f.nranges > PML__FORMAT_RANGES || f.bits == 0 || f.bits > 64) abort();
  if (!pml__format_put(&f, &ones, all) || !pml__format_put(&f, &word, all & 0x5555555555555555u)) abort();
  if (word & ~ones) abort();
  if (f.bits < 64 && pml__format_put(&f, &word, all + 1)) abort();
}

/* The first byte chooses the machine and what the rest is. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const roots[] = {NULL, "spec/data/sysfs/desktop", "spec/data/sysfs/hybrid"};
  static unsigned machine;
  if (size == 0) return 0;
  char *text = malloc(size);
  if (!text) return 0;
  memcpy(text, data + 1, size - 1);
  text[size - 1] = '\0';
  unsigned wanted = (data[0] >> 4) % 3;
  if (wanted != machine && pml_event_set_sysfs(roots[wanted]) == 0) machine = wanted;
  if (data[0] & 1)
    parse_format(text);
  else
    parse_name(text);
  free(text);
  return 0;
}
