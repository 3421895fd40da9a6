/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/fuzz/fuzz_event.c - arbitrary bytes as an event's name and as a sysfs format.
 *
 * Link: -Wl,--wrap=pml__event_walk_pfm,--wrap=pml__event_walk_trace
 *
 * An unknown name is compared with all known ones, some ten thousand: nearly all the time went there. The comparison
 * runs on every such name, but with the longest two lists for one input in 32 only: which, its bytes say.
 *
 * Runs: 3000
 */
#include "fuzz.h"
#include "pml.h"
#include "source/kernel/event/pml_event_parsers.h"

static bool whole_search;

int __real_pml__event_walk_pfm(const struct pml__walk *w, bool here);
int __wrap_pml__event_walk_pfm(const struct pml__walk *w, bool here);
int __wrap_pml__event_walk_pfm(const struct pml__walk *w, bool here) {
  return whole_search ? __real_pml__event_walk_pfm(w, here) : 0;
}
int __real_pml__event_walk_trace(const struct pml__walk *w);
int __wrap_pml__event_walk_trace(const struct pml__walk *w);
int __wrap_pml__event_walk_trace(const struct pml__walk *w) {
  return whole_search ? __real_pml__event_walk_trace(w) : 0;
}

static bool in_thirty_two(const uint8_t *data, size_t size) {
  uint32_t h = 0;
  for (size_t i = 0; i < size; i++) h = h * 31 + data[i];
  return (h * 2654435761u) >> 27 == 0;
}

/* A parsed event keeps the promises of pml_event.h. */
static void parse_name(const char *name) {
  struct pml_event ev;
  int err = pml_event_parse(&ev, name);
  PROMISE(!(err > 0), "as pml_event.h says");
  if (err < 0) {
    PROMISE(!(!*pml_error_detail(err)), "as pml_event.h says");
    return;
  }
  PROMISE(!(strcmp(pml_event_source(name), "perf") == 0 ? ev.nparts == 0 || ev.nparts > PML_EVENT_PARTS_MAX
                                                        : ev.nparts != 0),
          "as pml_event.h says");
  PROMISE(!(strcmp(ev.name, name) != 0 || ev.scale == 0), "as pml_event.h says");
  PLANTED(ev.nparts == 1 && ev.first.attr.type == PERF_TYPE_BREAKPOINT && ev.first.attr.bp_len == 2);
  for (unsigned i = 0; i < ev.nparts; i++) {
    struct pml_event_part part = pml_event_part(&ev, i);
    PROMISE(!(part.attr.size != sizeof part.attr || !*part.pmu), "as pml_event.h says");
  }
}

/* A parsed format can store every value of its width, and stores it in no other bits than its own. */
static void parse_format(const char *text) {
  struct pml__format f;
  if (!pml__format_parse(&f, text)) return;
  uint64_t ones = 0, word = 0;
  uint64_t all = f.bits >= 64 ? UINT64_MAX : (UINT64_C(1) << f.bits) - 1;
  PROMISE(!(f.word > 3 || f.nranges == 0 || f.nranges > PML__FORMAT_RANGES || f.bits == 0 || f.bits > 64),
          "as pml_event.h says");
  PROMISE(!(!pml__format_put(&f, &ones, all) || !pml__format_put(&f, &word, all & 0x5555555555555555u)),
          "as pml_event.h says");
  PROMISE(!(word & ~ones), "as pml_event.h says");
  PROMISE(!(f.bits < 64 && pml__format_put(&f, &word, all + 1)), "as pml_event.h says");
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
  whole_search = in_thirty_two(data, size);
  unsigned wanted = (data[0] >> 4) % 3;
  if (wanted != machine && pml_event_set_sysfs(roots[wanted]) == 0) machine = wanted;
  if (data[0] & 1)
    parse_format(text);
  else
    parse_name(text);
  free(text);
  return 0;
}
