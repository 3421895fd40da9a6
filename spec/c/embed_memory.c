/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/embed_memory.c - what the core allocates for a script counts against the memory that the script may have. */
#include "check.h"
#include "pmlua.h"
#include "sanitized.h"

#include <malloc.h>
#include <unistd.h>

#define MEGABYTE ((size_t)1 << 20)

static size_t resident(void) {
  unsigned long pages = 0, size = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (f != NULL && fscanf(f, "%lu %lu", &size, &pages) != 2) pages = 0;
  if (f != NULL) fclose(f);
  return pages * 4096;
}

/* Sections in each other, in ever another order: each is a path. */
#define PATHS                                                                                                          \
  "local s, r = {}, 1; for i = 1, 60 do s[i] = pml.section.define { label = 'p' .. i } end; "                          \
  "for i = 1, 5000 do local open = {}; for k = 1, 40 do r = (r * 48271) % 2147483647; "                                \
  "open[k] = s[r % 60 + 1]; open[k]:start() end; for k = 40, 1, -1 do open[k]:stop() end end; "

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
    "for i = 1, 1e6 do local s, err, code = pml.section.define { label = ('s'):rep(1000) .. i }; "
    "if not s then assert(code == 'ENOMEM', err) return end end; error 'all given'",
    "for i = 1, 1e6 do local l, err, code = pml.sde.library('library' .. i); "
    "if not l then assert(code == 'ENOMEM', err) return end end; error 'all given'",
    "local l = pml.sde.library 'counts'; for i = 1, 1e6 do local c, err, code = l:counter('COUNTER' .. i); "
    "if not c then assert(code == 'ENOMEM', err) return end end; error 'all given'",
    "local l = pml.sde.library 'told'; local c = l:counter 'C'; for i = 1, 1e6 do "
    "local d, err, code = l:describe('C', ('d'):rep(500) .. i); "
    "if not d then assert(code == 'ENOMEM', err) return end end; error 'all given'",
    "local l = pml.sde.library 'groups'; l:counter 'C'; for i = 1, 1e6 do local g, err, code = l:group('G' .. i, "
    "'sum', 'C'); "
    "if not g then assert(code == 'ENOMEM', err) return end end; error 'all given'",
    "local s = pml.sde.library 'sets':set 'S'; for i = 1, 1e6 do local d, err, code = s:insert(('e'):rep(500) .. i); "
    "if not d then assert(code == 'ENOMEM', err) return end end; error 'all given'",
    "local t = {}; for i = 1, 1e6 do local e, err, code = pml.sde.find('FOUND::EVENT' .. i); "
    "if not e then assert(code == 'ENOMEM', err) return end; t[i] = e end; error 'all given'",
    "local t <close> = assert(pml.tune { rules = { grow = { enter = function() all = {}; "
    "for i = 1, 1e6 do all[i] = ('x'):rep(1000) .. i end end } } }); pml.section.define { label = 'grow' }:start(); "
    "pml.section.define { label = 'grow' }:stop(); assert(t:lines()[1]:find 'memory', t:lines()[1])",
    "local t <close> = assert(pml.tune { rules = { log = { threads = 1 } }, dry_run = true }); "
    "local s = pml.section.define { label = 'log' }; for i = 1, 4000 do s:start(); s:stop() end; assert(#t:log() == "
    "4096)",
    "local p <close> = pml.profile.open(); " PATHS "assert(p:stats().dropped > 0, 'nothing was refused')",
    "local f <close> = require('pmlua.core').flow.open { labels = 1 << 24 }; " PATHS
    "local done, err, code = f:stop(); assert(code == 'ENOMEM' or f:graphs()[1].missing > 0, 'nothing was refused')",
};

static const char modest[] =
    "for i = 1, 200 do assert(pml.samples.new(1 << 18)) end\n" /* garbage makes room */
    "for i = 1, 200 do local s <close> = assert(pml.samples.new(1 << 18)); s:push(1); assert(s:sort()) end\n"
    "for i = 1, 100000 do assert(pml.region.intern 'again') end\n"
    "for i = 1, 100000 do assert(pml.section.define { label = 'again' }) end\n"
    "local l = pml.sde.library 'modest'; for i = 1, 4e4 do assert(l:counter 'C'); assert(l:describe('C', 'again')) "
    "end\n"
    "local set = l:set 'SET'; for i = 1, 4e4 do assert(set:insert(('e'):rep(500) .. i)); "
    "assert(set:remove(('e'):rep(500) .. i)) end\n"
    "for i = 1, 4e4 do local e <close> = assert(pml.sde.find('MODEST::EVENT' .. i)) end\n"
    "for i = 1, 300 do local p <close> = assert(pml.profile.open()); assert(pml.section.define { label = 'again' "
    "}):start(); "
    "pml.section.define { label = 'again' }:stop(); assert(p:stats().dropped == 0) end\n"
    "for i = 1, 5000 do local s <close> = assert(pml.eventset { 'clock::ns', 'clock::ticks' }) end\n"
    "local b <close> = assert(pml.buffer.open { records = 4096 })\n"
    "assert(not pml.samples.new(1 << 21))";

/* Some of each kind of memory that grows in the core for a script; the handles stay open until the state is closed. */
static const char some[] =
    "pml = require 'pmlua'; local core = require 'pmlua.core'\n"
    "t = { pml.samples.new(8), pml.buffer.open { records = 256 }, pml.eventset { 'clock::ns' }, pml.profile.open(),\n"
    "core.flow.open(), core.substrate.each { enter = function() end, flush = function() return 1 end },\n"
    "pml.tune { rules = { again = { enter = function() end } }, dry_run = true } }\n"
    "for i = 1, 3 do local s = pml.section.define { label = 'again' }; s:start(); s:stop() end\n"
    "local l = pml.sde.library 'modest'; local r = l:recorder('AGAIN', { type = 'double' }); r:push(1)\n"
    "r:close(); assert(l:set 'SET'):insert('again')";

static int run(struct pmlua *p, const char *code) {
  return pmlua_run_string(p, "script", code, NULL, NULL);
}

/* The smallest block has 32 bytes. Memory that malloc() caches for a thread counts as used, so main() turns the cache
 * off. */
static void closed(const struct pmlua_options *options) {
  enum { WARM = 20, ROUNDS = 60 };
  size_t before = 0;
  int err = 0;
  for (unsigned i = 0; i < WARM + ROUNDS && err == 0; i++) {
    struct pmlua *p;
    if (i == WARM) before = mallinfo2().uordblks;
    err = pmlua_open(&p, options);
    if (err == 0) err = run(p, some);
    if (err == 0) pmlua_close(p);
  }
  size_t after = mallinfo2().uordblks;
  CHECK(err == 0, "handles are open when their state is closed: %s", pml_error_detail(err));
  CHECK(after < before + (size_t)ROUNDS * 16, "a closed state leaves no memory: %zu bytes, then %zu", before, after);
}

int main(int argc, char **argv) {
  (void)argc;
  if (getenv("GLIBC_TUNABLES") == NULL && setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0", 1) == 0)
    (void)execv("/proc/self/exe", argv);
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
  CHECK(err == 0, "freed memory can be used again: %s", pml_error_detail(err));
  pmlua_close(p);
  closed(&options);
  return check_done();
}
