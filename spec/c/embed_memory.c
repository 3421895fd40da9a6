/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/embed_memory.c - what the core allocates for a script counts against the memory that the script may have. */
#include "check.h"
#include "pmlua.h"
#include "sanitized.h"

#include <stdio.h>
#include <string.h>

#define MEGABYTE ((size_t)1 << 20)

/* Resident memory in bytes. */
static size_t resident(void) {
  unsigned long pages = 0, size = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (f != NULL && fscanf(f, "%lu %lu", &size, &pages) != 2) pages = 0;
  if (f != NULL) fclose(f);
  return pages * 4096;
}

static const char *const greedy[] = {
    "local s, err, code = pml.samples.new(1 << 27); assert(not s, 'it was given'); assert(code == 'ENOMEM', err)",
    "local t = {}; for i = 1, 1000 do t[i] = pml.samples.new(1 << 17); if not t[i] then return end end; error 'all "
    "given'",
    "local s = assert(pml.samples.new(1 << 20)); local c, err, code = s:copy(); local t, n = {}, 0; for i = 1, 1 << 20 "
    "do "
    "s:push(i) end; c, err, code = s:copy(); assert(not c and code == 'ENOMEM', err)",
    "local s = assert(pml.samples.new(1 << 20)); for i = 1, 1 << 20 do s:push((1 << 20) - i) end; "
    "local done, err, code = s:sort(); assert(not done and code == 'ENOMEM', err)",
    "local l = pml.sde.library 'greedy'; local r = assert(l:recorder('VALUES', { type = 'double' })); "
    "for i = 1, 1e8 do local ok, err, code = r:push(i); if not ok then assert(code == 'ENOMEM', err) return end end",
    "local l = pml.sde.library 'many'; for i = 1, 60000 do local r, err, code = l:recorder('R' .. i, { keep = 'sketch' "
    "}); "
    "if not r then assert(code == 'ENOMEM', err) return end end error 'all given'",
    "local b, err, code = pml.buffer.open { records = 1 << 22 }; assert(not b and code == 'ENOMEM', err)",
    "for i = 1, 1e6 do local ok, err, code = pml.region.intern(('x'):rep(1000) .. i); if not ok then assert(code == "
    "'ENOMEM', err) "
    "return end end; error 'all given'",
    "local t = {}; for i = 1, 10000 do local s, err, code = pml.eventset { 'clock::ns', 'clock::ticks' }; "
    "if not s then assert(code == 'ENOMEM', err) return end; t[i] = s end; error 'all given'",
};

static const char modest[] =
    "for i = 1, 200 do assert(pml.samples.new(1 << 18)) end\n" /* garbage makes room */
    "for i = 1, 200 do local s <close> = assert(pml.samples.new(1 << 18)); s:push(1); assert(s:sort()) end\n"
    "for i = 1, 100000 do assert(pml.region.intern 'again') end\n"
    "for i = 1, 100000 do assert(pml.section.define { label = 'again' }) end\n"
    "for i = 1, 5000 do local s <close> = assert(pml.eventset { 'clock::ns', 'clock::ticks' }) end\n"
    "local b <close> = assert(pml.buffer.open { records = 4096 })\n"
    "assert(not pml.samples.new(1 << 21))";

static int run(struct pmlua *p, const char *code) {
  return pmlua_run_string(p, "script", code, NULL, NULL);
}

int main(void) {
  const struct pmlua_options options = {.memory_bytes = 16 * MEGABYTE};
  for (size_t i = 0; i < sizeof greedy / sizeof *greedy; i++) {
    struct pmlua *p;
    if (!CHECK(pmlua_open(&p, &options) == 0, "a state opens: %s", pml_error_detail(0))) return check_done();
    CHECK(run(p, "pml = require 'pmlua'") == 0, "pmlua is there");
    size_t before = resident();
    int err = run(p, greedy[i]);
    /* Lua itself may need the last bytes, for the sentence of the refusal. */
    CHECK(err == 0 || err == PML_ELIMIT, "script %zu is refused the memory: %s", i, pml_error_detail(err));
    if (SANITIZED)
      SKIP("a sanitizer keeps memory that was freed");
    else
      CHECK(resident() < before + 24 * MEGABYTE, "script %zu: %zu MB more", i, (resident() - before) / MEGABYTE);
    pmlua_close(p);
  }
  struct pmlua *p;
  if (!CHECK(pmlua_open(&p, &options) == 0, "a state opens")) return check_done();
  CHECK(run(p, "pml = require 'pmlua'") == 0, "pmlua is there");
  int err = run(p, modest);
  CHECK(err == 0, "what is freed may be had again: %s", pml_error_detail(err));
  pmlua_close(p);
  return check_done();
}
