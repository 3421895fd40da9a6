/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/fuzz/fuzz_log.c - any bytes in a log: a text that can be reported, or one line that says why not.
 *
 * An input is pieces of bytes with their places in a log that has two sections, one of them with events, the sums and
 * values of a thread, and a timeline.
 */
#include "fuzz_lua.h"

#include "adapter/section/pml_section_file.h"
#include "adapter/section/pml_section_private.h"
#include "base/pml_error.h"

#include <errno.h>

/* Places that pieces begin at: the head, its entries, and the extents. */
enum place { HEAD, ENTRIES, MIDDLE, DEFINITIONS, SUMS, VALUES, EVENTS, PLACES };
static const uint64_t place_of[PLACES] = {0, PML__LOG_ENTRIES_AT, 96, 65536, 69632, 77824, 94208};
#define BYTES 98304u

/* What is refused is refused in one line; the rest is a file of sections like others. */
static const char check[] =
    "local sections, report = require 'pmlua.sections', require 'pmlua.report'\n"
    "local text = require 'pmlua.report.text'\n"
    "return function(bytes)\n"
    "  local p, err = sections.parse(bytes, 'f')\n"
    "  if not p then\n"
    "    assert(err:find('^f:%d+: [^\\n]+$'), err)\n"
    "    assert(not err:find('no such line', 1, true) and not err:find('cut short', 1, true), err)\n"
    "    return\n"
    "  end\n"
    "  local r, why = report.build({ p }, 'time')\n"
    "  if not r then return assert(why:find('^f: [^\\n]+$'), why) end\n"
    "  assert(utf8.len(text.format(r, { basic = true, detail = true, threads = true })))\n"
    "end\n";

static int file = -1;
static char path[64];

static void put(uint64_t at, const void *from, size_t n) {
  PROMISE(pwrite(file, from, n, (off_t)at) == (ssize_t)n, "the file takes it");
}

static void put_entry(unsigned i, uint32_t kind, enum place place, uint64_t bytes, uint64_t committed) {
  struct pml__log_entry e = {.kind = kind, .owner = 1, .at = place_of[place], .bytes = bytes, .committed = committed};
  put(PML__LOG_ENTRIES_AT + i * sizeof e, &e, sizeof e);
}

static size_t add_definition(char *to, uint32_t what, const void *fixed, size_t n, const char *text, size_t length) {
  struct pml__log_definition d = {what, (uint32_t)(sizeof d + n + length + 7) & ~7u};
  memcpy(to, &d, sizeof d);
  if (n > 0) memcpy(to + sizeof d, fixed, n);
  if (length > 0) memcpy(to + sizeof d + n, text, length);
  return d.bytes;
}

static void put_definitions(void) {
  static const char labels[] = "s\0clock::ns\0clock::real", note[] = "counted\0none";
  const struct pml__log_section plain = {.index = 0}, counted = {.index = 1, .type = 1, .nevents = 2, .real = 2};
  const struct pml__log_quantiles q = {.index = 1, .ns = {1, 2, 3, 4, 5, 6, 7}};
  const struct pml__log_region region = {.region = 1};
  char all[1024] = "";
  size_t n = add_definition(all, PML__LOG_SECTION, &plain, sizeof plain, "plain", 6);
  n += add_definition(all + n, PML__LOG_SECTION, &counted, sizeof counted, labels, sizeof labels);
  n += add_definition(all + n, PML__LOG_NOTE, NULL, 0, note, sizeof note);
  n += add_definition(all + n, PML__LOG_QUANTILES, &q, sizeof q, NULL, 0);
  n += add_definition(all + n, PML__LOG_REGION, &region, sizeof region, "r", 2);
  put(place_of[DEFINITIONS], all, n);
  put_entry(0, PML__LOG_DEFINITIONS, DEFINITIONS, 4096, n);
}

static void whole_log(void) {
  struct pml__log_head h = {.magic = PML__LOG_MAGIC,
                            .version = PML__LOG_VERSION,
                            .pid = 7,
                            .rank = -1,
                            .size = -1,
                            .ticks_per_second = 1e9,
                            .clock = "tsc",
                            .epoch = 1,
                            .entries = 4,
                            .host = "h",
                            .command = "c"};
  struct pml__section_stat stat[2] = {
      {.calls = {.count = 2, .sum = 5, .min = 2, .max = 3, .square = {13, 0}}, .self = 5, .epoch = 1},
      {.calls = {.count = 1}, .depth = 1, .epoch = 1}};
  const struct pml__log_event event[2] = {{1, 1, 0}, {2, 1, 1}};
  PROMISE(ftruncate(file, 0) == 0 && ftruncate(file, BYTES) == 0, "the file is empty");
  put(0, &h, sizeof h);
  put(place_of[SUMS], stat, sizeof stat);
  put(place_of[EVENTS], event, sizeof event);
  put_definitions();
  put_entry(1, PML__LOG_SECTION_SUMS, SUMS, PML__SECTION_BLOCK_BYTES, 0);
  put_entry(2, PML__LOG_SECTION_VALUES, VALUES, PML__SECTION_VALUES_BYTES, 0);
  put_entry(3, PML__LOG_SECTION_EVENTS, EVENTS, 4096, sizeof event);
}

/* A piece: its place, how far behind it in units of 4 bytes, how many bytes, the bytes. */
static void put_pieces(struct fuzz_input *in) {
  while (in->at < in->end) {
    uint64_t at = place_of[fuzz_byte(in) % PLACES] + 4u * fuzz_byte(in);
    size_t n = fuzz_byte(in);
    if (n > (size_t)(in->end - in->at)) n = (size_t)(in->end - in->at);
    put(at, in->at, n);
    in->at += n;
  }
}

/* A report takes a hundred times as long as reading. */
static bool one_in_16(const uint8_t *data, size_t size) {
  uint32_t h = 2166136261u;
  for (size_t i = 0; i < size; i++) h = (h ^ data[i]) * 16777619u;
  return h >> 28 == 0;
}

static void check_text(lua_State *L, char *text, size_t n, bool report) {
  PROMISE(strlen(text) == n && strncmp(text, "pmlua-sections\t1\n", 17) == 0, "a text is as long as it says");
  PLANTED(strstr(text, "\ntorn\n") != NULL);
  if (report) {
    lua_pushvalue(L, 1);
    lua_pushlstring(L, text, n);
    fuzz_call(L, 1, 0);
  }
  free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static lua_State *L;
  struct fuzz_input in = {data, data + size};
  char *text;
  size_t n;
  if (L == NULL) {
    L = fuzz_lua();
    fuzz_code(L, check);
    file = memfd_create("log", 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    PROMISE(file >= 0, "there is a file");
  }
  whole_log();
  put_pieces(&in);
  int err = pml_section_log_text(path, &text, &n);
  PROMISE(err == 0 || err == PML_EFORMAT || err == -ENOMEM, "a log is read, or is none");
  PROMISE(err == 0 || (text == NULL && *pml_error_detail(err) && !strchr(pml_error_detail(err), '\n')),
          "and the reason is one line");
  if (err == 0) check_text(L, text, n, one_in_16(data, size));
  return 0;
}
