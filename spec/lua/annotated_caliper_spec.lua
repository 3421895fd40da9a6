-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/annotated_caliper_spec.lua - tests of recording Caliper's C interface: a program that needs libcaliper.so.2, with and
-- without that library.

local recording = require "spec.lua.recording"
local support = require "spec.core.support"

local at = recording.place()

local DECLARED <const> = [[
#include <stdint.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
typedef uint64_t id_t_;
#define id_t id_t_
void cali_begin_region(const char *), cali_end_region(const char *), cali_begin_phase(const char *), cali_end_phase(const char *);
void cali_begin_comm_region(const char *), cali_end_comm_region(const char *), cali_begin(id_t), cali_end(id_t);
void cali_begin_string(id_t, const char *), cali_begin_int(id_t, int), cali_begin_double(id_t, double);
void cali_set_string(id_t, const char *), cali_set_int(id_t, int), cali_set_double(id_t, double);
void cali_set(id_t, const void *, size_t);
void cali_begin_byname(const char *), cali_begin_string_byname(const char *, const char *), cali_end_byname(const char *);
void cali_begin_int_byname(const char *, int), cali_set_int_byname(const char *, int);
void cali_init(void), cali_flush(int), cali_config_set(const char *, const char *);
id_t cali_create_attribute(const char *, int, int), cali_make_loop_iteration_attribute(const char *);
id_t cali_find_attribute(const char *);
const char *cali_attribute_name(id_t);
int cali_attribute_type(id_t), cali_attribute_properties(id_t);
extern id_t cali_loop_attr_id;
]]

local client = DECLARED .. [[
static void expect(int is, const char *what) { if (!is) printf("wrong: %s\n", what); }
static void all(void) {
  cali_config_set("CALI_SERVICES_ENABLE", "event");
  if (cali_loop_attr_id == UINT64_MAX) cali_init();
  expect(cali_loop_attr_id != UINT64_MAX, "the loop's attribute");
  for (int i = 0; i < 10; i++) {
    cali_begin_region("main loop");
    for (int k = 0; k < 5; k++) { cali_begin_region("kernel"); cali_end_region("kernel"); }
    cali_end_region("main loop");
  }
  cali_begin_phase("setup"); cali_end_phase("setup");
  for (int i = 0; i < 2; i++) { cali_begin_comm_region("halo"); cali_end_comm_region("halo"); }
  cali_begin_string(cali_loop_attr_id, "time steps");
  id_t iteration = cali_make_loop_iteration_attribute("time steps");
  for (int i = 0; i < 50; i++) { cali_begin_int(iteration, i); cali_end(iteration); }
  cali_end(cali_loop_attr_id);
  id_t text = cali_create_attribute("solver", 4, 0), number = cali_create_attribute("level", 2, 0);
  id_t nested = cali_create_attribute("function", 4, 256), real = cali_create_attribute("tolerance", 6, 0);
  expect(text == cali_create_attribute("solver", 4, 0) && text == cali_find_attribute("solver"), "the same attribute");
  expect(strcmp(cali_attribute_name(text), "solver") == 0 && cali_attribute_type(real) == 6, "what an attribute is");
  expect(cali_attribute_properties(nested) == 256, "properties");
  for (int i = 0; i < 3; i++) { cali_begin_string(text, "cg"); cali_begin_int(number, i % 2); cali_end(text); cali_end(number); }
  cali_begin_string(nested, "compute"); cali_end(nested);
  cali_begin_double(real, 0.5); cali_end(real);
  cali_begin(number); cali_end(number);
  for (int i = 0; i < 4; i++) { cali_begin_string_byname("mode", "fast"); cali_end_byname("mode"); }
  cali_begin_byname("output"); cali_end_byname("output");
  cali_begin_int_byname("depth", 7); cali_end_byname("depth");
  cali_set_string(text, "gmres"); cali_set(text, "gmresX", 5);
  for (int i = 1; i <= 9; i++) { cali_set_int(number, i); cali_set_double(real, i * 0.1); cali_set_int_byname("residual", i); }
  cali_flush(0);
}
static void bad(void) {
  static char long_text[1 << 20];
  memset(long_text, 'x', sizeof long_text - 1);
  cali_end_region("never begun"); cali_end(12345); cali_end(UINT64_MAX); cali_end_byname("never"); cali_end_byname(NULL);
  cali_begin_string(777, "no attribute");
  cali_begin_region(NULL); cali_end_region(NULL);
  cali_begin_region(""); cali_end_region("");
  cali_begin_region(long_text); cali_end_region(long_text);
  cali_begin_region("\xff\xfe"); cali_end_region("\xff\xfe");
  cali_begin_string_byname(NULL, NULL); cali_begin_string_byname("null", NULL); cali_end_byname("null");
  expect(cali_create_attribute(NULL, 4, 0) == UINT64_MAX && cali_find_attribute(NULL) == UINT64_MAX, "an attribute without name");
  expect(cali_attribute_name(4711) == NULL && cali_attribute_type(4711) == 0, "an unknown attribute");
  cali_set_string(999, "x"); cali_set(999, NULL, 1 << 30); cali_set_int_byname(NULL, 1);
  char name[32];
  for (int i = 0; i < 10000; i++) {
    snprintf(name, sizeof name, "attribute %d", i);
    id_t a = cali_create_attribute(name, 4, 256);
    cali_begin_string(a, "value");
    cali_end(a);
  }
  cali_begin_region("a"); cali_begin_region("b"); cali_end_region("a"); cali_end_region("b");
}
int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "bad") == 0) bad();
  else all();
  puts("end");
  return 0;
}
]]

--- A library that counts what it gets, as the real one would. One of its functions calls another.
local library = DECLARED .. [[
static int begun, ended, set, inside;
static const char *name[100];
static int type[100], properties[100], n;
id_t cali_loop_attr_id = UINT64_MAX;
void cali_begin_region(const char *t) { (void)t; begun++; }
void cali_end_region(const char *t) { (void)t; ended++; }
void cali_begin_phase(const char *t) { (void)t; begun++; }
void cali_end_phase(const char *t) { (void)t; ended++; }
void cali_begin_comm_region(const char *t) { (void)t; begun++; }
void cali_end_comm_region(const char *t) { (void)t; ended++; }
void cali_begin(id_t a) { (void)a; begun++; }
void cali_begin_string(id_t a, const char *t) { (void)a, (void)t; begun++; }
void cali_begin_int(id_t a, int v) { (void)a, (void)v; begun++; }
void cali_begin_double(id_t a, double v) { (void)a, (void)v; begun++; }
void cali_end(id_t a) { (void)a; ended++; }
void cali_begin_byname(const char *a) { inside++; cali_begin_region(a); inside--; }
void cali_begin_string_byname(const char *a, const char *t) { (void)t; cali_begin_region(a); }
void cali_begin_int_byname(const char *a, int v) { (void)v; cali_begin_region(a); }
void cali_end_byname(const char *a) { cali_end_region(a); }
void cali_set(id_t a, const void *v, size_t s) { (void)a, (void)v, (void)s; set++; }
void cali_set_string(id_t a, const char *v) { (void)a, (void)v; set++; }
void cali_set_int(id_t a, int v) { (void)a, (void)v; set++; }
void cali_set_double(id_t a, double v) { (void)a, (void)v; set++; }
void cali_set_int_byname(const char *a, int v) { (void)a, (void)v; set++; }
id_t cali_create_attribute(const char *t, int ty, int p) {
  for (int i = 0; i < n; i++) if (strcmp(name[i], t) == 0) return (id_t)(1000 + i);
  name[n] = strdup(t), type[n] = ty, properties[n] = p;
  return (id_t)(1000 + n++);
}
id_t cali_make_loop_iteration_attribute(const char *t) {
  char text[99];
  snprintf(text, sizeof text, "iteration#%s", t);
  return cali_create_attribute(text, 2, 1);
}
id_t cali_find_attribute(const char *t) { return cali_create_attribute(t, 0, 0); }
const char *cali_attribute_name(id_t a) { return a >= 1000 && a < 1000u + n ? name[a - 1000] : NULL; }
int cali_attribute_type(id_t a) { return a >= 1000 && a < 1000u + n ? type[a - 1000] : 0; }
int cali_attribute_properties(id_t a) { return a >= 1000 && a < 1000u + n ? properties[a - 1000] : 0; }
void cali_init(void) { cali_loop_attr_id = cali_create_attribute("loop", 4, 256); }
void cali_config_set(const char *k, const char *v) { (void)k, (void)v; }
void cali_flush(int o) { (void)o; printf("begun %d ended %d set %d\n", begun, ended, set); }
]]

local caliper = require "spec.lua.annotated".of(at, "Caliper")

local PLANTED <const> = { ["main loop"] = 10, kernel = 50, setup = 1, halo = 2, ["time steps"] = 1, ["iteration#time steps"] = 50,
  ["solver=cg"] = 3, ["level=0"] = 2, ["level=1"] = 1, compute = 1, ["tolerance=0.5"] = 1, level = 1, ["mode=fast"] = 4,
  output = 1, ["depth=7"] = 1, ["solver=gmres"] = 2 }

local BUILD <const> = "gcc -shared -fPIC -w -Wl,-soname,libcaliper.so.2 library.c -o libcaliper.so.2 && "
  .. "gcc -O1 -w client.c -o client ./libcaliper.so.2 %s"

describe("pmlua record of Caliper", function()
  teardown(support.cleanup)

  describe("in a program whose libcaliper is missing", function()
    setup(function()
      support.compile(at.dir, { ["client.c"] = client, ["library.c"] = library }, BUILD:format "&& rm libcaliper.so.2")
    end)

    it("has the functions of the library, and counts regions and attributes as the program made them", function()
      local calls, rows, _, status, err, out = caliper.record "all"
      assert.same({ 0, "end\n" }, { status, out }, err)
      -- a region of one attribute that crosses regions of another is left and entered again
      calls["level=0"], calls["level=1"] = 2, 1
      assert.same(PLANTED, calls)
      assert.is_true(rows["main loop"].inclusive_ns >= rows.kernel.inclusive_ns)
    end)

    it("has numbers as values of recorders", function()
      local sections, events = caliper.reported "all"
      assert.same({ 2, 1, 3 }, { sections["level=0"].calls, sections["level=1"].calls, sections["solver=cg"].calls })
      assert.same({ 9, 1, 9 }, { events["Caliper::level"].value, events["Caliper::level"].min, events["Caliper::residual"].max })
      assert.equal("communication", sections.halo.type)
    end)

    it("survives wrong ids, ends without begins and odd texts, and counts misuse", function()
      local calls, _, _, status, err, out = caliper.record "bad"
      assert.same({ 0, "end\n" }, { status, out }, err)
      assert.same({ 4096, 1, 1 }, { calls.value, calls["(null)"], calls["null=(null)"] })
      local sections = caliper.reported "bad"
      assert.same({ 1, 1, 1 }, { sections["never begun"].misuse.unmatched, sections.a.calls, sections.b.calls })
    end)
  end)

  it("reads the needed libraries of damaged files without failing", function()
    local preload = require "pmlua.internal.preload"
    local whole = support.slurp "/bin/sh"
    assert.truthy(preload.strings "/bin/sh":find("libc.so.6", 1, true))
    local file = at.dir .. "/damaged"
    math.randomseed(1)
    for i = 1, 300 do
      local at_byte, byte = math.random(64 + 56 * 8), string.char(math.random(0, 255))
      local text = whole:sub(1, at_byte - 1) .. byte .. whole:sub(at_byte + 1)
      support.spit(file, i % 3 == 0 and text:sub(1, math.random(#text)) or text)
      assert.equal("string", type(preload.strings(file)))
    end
    support.spit(file, "")
    assert.equal("", preload.strings(file) .. preload.strings "/nowhere")
  end)

  describe("in a program that has libcaliper", function()
    setup(function()
      support.compile(at.dir, { ["client.c"] = client, ["library.c"] = library }, BUILD:format "-Wl,-rpath,'$ORIGIN'")
    end)

    it("passes each call on once, and counts the same", function()
      local calls, _, _, status, err, out = caliper.record "all"
      calls["level=0"], calls["level=1"] = 2, 1
      local alone = support.done(at.shell "./client all")
      assert.same({ 0, alone }, { status, out }, err)
      assert.truthy(alone:find "begun 129 ended 129 set 29\nend\n")
      assert.same(PLANTED, calls)
    end)
  end)
end)
