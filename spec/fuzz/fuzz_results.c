/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/fuzz/fuzz_results.c - any bytes as meta.json, data.dat and rounds.dat of a run: opened, or one line that says
 * why.
 *
 * Runs: 500
 */
#include "fuzz_lua.h"

/* Files of a folder, one after the other with a byte 1 in between: no text file has that. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const files[] = {"meta.json", "data.dat", "rounds.dat"};
  struct fuzz_input in = {data, data + size};
  const char *folder = fuzz_folder();
  char rounds[96];
  snprintf(rounds, sizeof rounds, "%s/rounds.dat", folder);
  unlink(rounds);
  for (int i = 0; i < 3; i++) {
    size_t n;
    if (i == 2 && in.at == in.end) break;
    char *text = fuzz_text(&in, 1, &n);
    fuzz_write(folder, files[i], text, n);
    free(text);
  }
  lua_State *L = fuzz_check("results");
  lua_pushstring(L, folder);
  PLANTED(fuzz_reaches(L, 1));
  return 0;
}
