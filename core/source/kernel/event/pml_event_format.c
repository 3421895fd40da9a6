/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/event/pml_event_format.c - sysfs formats of event parameters: "config1:0-7,32-35". */
#include "source/kernel/event/pml_event_parsers.h"

#include <ctype.h>
#include <string.h>

/* One or two digits of a bit number at *s; *s moves behind them. */
static bool parse_bit(const char **s, unsigned *bit) {
  if (!isdigit((unsigned char)**s)) return false;
  unsigned v = 0;
  for (unsigned n = 0; isdigit((unsigned char)**s); n++, (*s)++) {
    if (n == 2) return false;
    v = v * 10 + (unsigned)(**s - '0');
  }
  *bit = v;
  return v < 64;
}

bool pml__format_parse(struct pml__format *f, const char *text) {
  memset(f, 0, sizeof *f);
  if (strncmp(text, "config", 6) != 0) return false;
  const char *s = text + 6;
  if (*s >= '1' && *s <= '3') f->word = (unsigned)(*s++ - '0');
  if (*s++ != ':') return false;
  for (;;) {
    unsigned low, high;
    if (f->nranges == PML__FORMAT_RANGES || !parse_bit(&s, &low)) return false;
    high = low;
    if (*s == '-') {
      s++;
      if (!parse_bit(&s, &high) || high < low) return false;
    }
    f->range[f->nranges].low = low;
    f->range[f->nranges++].high = high;
    f->bits += high - low + 1;
    if (f->bits > 64) return false;
    if (*s == '\0') return true;
    if (*s++ != ',') return false;
  }
}

static uint64_t low_mask(unsigned bits) {
  return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

bool pml__format_put(const struct pml__format *f, uint64_t *word, uint64_t value) {
  if (value & ~low_mask(f->bits)) return false;
  for (unsigned i = 0; i < f->nranges; i++) {
    unsigned bits = f->range[i].high - f->range[i].low + 1;
    uint64_t mask = low_mask(bits);
    *word = (*word & ~(mask << f->range[i].low)) | (value & mask) << f->range[i].low;
    value = bits >= 64 ? 0 : value >> bits;
  }
  return true;
}
