/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/lua/wrap/zipped.c - uses zlib in known numbers of calls. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { N = 10000, SUMS = 25 };

int main(void) {
  static unsigned char in[N], out[2 * N], back[N];
  uLongf packed = sizeof out, unpacked = sizeof back;
  uLong sum = 0;
  char line[64] = "";
  gzFile f;
  for (int i = 0; i < N; i++) in[i] = (unsigned char)(i * 7 % 31);
  if (compress(out, &packed, in, N) != Z_OK || uncompress(back, &unpacked, out, packed) != Z_OK) return 1;
  if (unpacked != N || memcmp(in, back, N) != 0) return 2;
  for (uInt i = 0; i < SUMS; i++) sum = crc32(sum, in, i);
  if ((f = gzopen("zipped.gz", "wb")) == NULL || gzprintf(f, "%d %s %.2f\n", 42, "text", 1.5) != 13) return 3;
  if (gzclose(f) != Z_OK || (f = gzopen("zipped.gz", "rb")) == NULL) return 4;
  if (gzgets(f, line, sizeof line) == NULL || gzclose(f) != Z_OK) return 5;
  printf("%lu %s %s", sum, zError(Z_BUF_ERROR), line);
  return 0;
}
