-- SPDX-License-Identifier: BSD-3-Clause
-- zlib: lengths and return codes of compression. Wraps everything that zlib.h declares for programs, with the 64-bit names.
--
--     pmlua wrap init --recipe zlib

return {
  name = "zlib",
  title = "zlib",
  package = "zlib1g-dev",
  headers = { "zlib.h" },
  cflags = "-D_LARGEFILE64_SOURCE",
  libs = "-lz",
  variadic = { gzprintf = "gzvprintf" },
  record = { "compress:sourceLen", "compress:return", "uncompress:sourceLen", "uncompress:return", "deflate:return",
    "inflate:return", "crc32:len" },
  calls = { compressBound = 5, compress = 5, uncompress = 5, crc32 = 11, deflateInit_ = 1, deflate = 4, deflateEnd = 1,
    inflateInit_ = 1, inflate = 4, inflateEnd = 1, zlibVersion = 1 },
  example = [[
/* Texts of 1, 2, 4, 8 and 16 KiB there and back by one call, then one by streams, a quarter after the other. */
#include "headers.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 16384, PARTS = 4 };
static unsigned char text[MOST], packed[2 * MOST], back[MOST];

static int by_one_call(uLong n) {
  uLongf packed_n = compressBound(n), back_n = MOST;
  if (packed_n > sizeof packed || compress(packed, &packed_n, text, n) != Z_OK) return 0;
  if (uncompress(back, &back_n, packed, packed_n) != Z_OK || back_n != n) return 0;
  return crc32(0, text, (uInt)n) == crc32(0, back, (uInt)n);
}

static uLong squeeze(void) {
  z_stream s = {.next_out = packed, .avail_out = sizeof packed};
  if (deflateInit(&s, 6) != Z_OK) return 0;
  for (int i = 0; i < PARTS; i++) {
    s.next_in = text + i * (MOST / PARTS);
    s.avail_in = MOST / PARTS;
    int result = deflate(&s, i == PARTS - 1 ? Z_FINISH : Z_NO_FLUSH);
    if (result != (i == PARTS - 1 ? Z_STREAM_END : Z_OK)) return 0;
  }
  return deflateEnd(&s) == Z_OK ? s.total_out : 0;
}

static int expand(uLong n) {
  z_stream s = {.next_in = packed, .avail_in = (uInt)n, .next_out = back};
  if (inflateInit(&s) != Z_OK) return 0;
  for (int i = 0; i < PARTS; i++) {
    s.avail_out = MOST / PARTS;
    int result = inflate(&s, Z_NO_FLUSH);
    if (result != Z_OK && result != Z_STREAM_END) return 0;
  }
  return inflateEnd(&s) == Z_OK && s.total_out == MOST && memcmp(text, back, MOST) == 0;
}

int main(void) {
  for (int i = 0; i < MOST; i++) text[i] = (unsigned char)("library interception"[i % 20] + i / 4096);
  for (uLong n = 1024; n <= MOST; n *= 2)
    if (!by_one_call(n)) return 1;
  uLong n = squeeze();
  if (n == 0 || !expand(n)) return 1;
  printf("zlib %s: checksum %lx\n", zlibVersion(), crc32(0, back, MOST));
  return 0;
}
]],
}
