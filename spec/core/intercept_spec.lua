-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/intercept_spec.lua - tests of pml.intercept: a script sees the calls between the libraries of its process.

local support = require "spec.core.support"
local it = support.it
local core = support.core
local intercept = core and require "pmlua.intercept"

local function of(calls, name)
  for _, f in ipairs(assert(calls:functions())) do
    if f.name == name then return f end
  end
  return { calls = 0 }
end

local sources = ("abcdefgh"):rep(1000)

-- Debian's lua-zlib calls these two through slots, and takes the addresses of the others, whose slots stay.
local DEFLATE, INFLATE = "deflateInit2_", "inflateInit2_"

--- As a generator would write it.
local wrapper = [[
#include "adapter/wrap/pml_wrap.h"
static struct pml_wrap_value in_crc32[] = {PML_WRAP_VALUE("len", PML_WRAP_INTEGER, PML_WRAP_METRIC | PML_WRAP_RECORD),
                                           PML_WRAP_VALUE("buf", PML_WRAP_TEXT, PML_WRAP_METRIC)};
static struct pml_wrap_value out_crc32[] = {PML_WRAP_VALUE("return", PML_WRAP_INTEGER, PML_WRAP_METRIC)};
PML_WRAP_FUNCTION_VALUES(wrapped, "crc32", "libz.so.1", "zlib.h", 1, in_crc32, 2, out_crc32, 1);
__attribute__((visibility("default"))) unsigned long crc32(unsigned long crc, const char *buf, unsigned len) {
  uint64_t in[2], out[1];
  unsigned long (*real)(unsigned long, const char *, unsigned);
  PML_WRAP_CALL_VALUES(call, &wrapped, in, in[0] = pml_wrap_from_integer(len); in[1] = pml_wrap_from_text(buf));
  *(void **)&real = pml_wrap_real(&wrapped);
  unsigned long result = real != NULL ? real(crc, buf, len) : 0;
  PML_WRAP_RESULTS(call, &wrapped, out, out[0] = pml_wrap_from_integer((int64_t)result));
  return result;
}
]]

describe("Interception of the own process", function()
  local zlib = require "zlib"
  local function deflates(n) for _ = 1, n or 1 do zlib.deflate() end end

  it("reports every call of a library: function, time, duration, depth, caller", function()
    local calls <close> = assert(intercept { lib = "libz" })
    local before = core.clock.ns()
    deflates(10)
    collectgarbage() -- ends the streams here, because a later collection may be between the drains
    local after, told = core.clock.ns(), {}
    local inner = 0
    local n = calls:drain(function(name, library, enter_ns, duration_ns, depth, thread)
      if name ~= DEFLATE then
        inner = inner + (depth == 1 and name == "deflateReset" and 1 or 0)
        return
      end
      told[#told + 1] = true
      assert.equal("libz.so.1", library)
      assert.is_true(enter_ns >= before and duration_ns >= 0 and enter_ns + duration_ns <= after)
      assert.same({ 0, "integer" }, { depth, math.type(thread) })
    end)
    assert.same({ 10, 10, true }, { #told, inner, n >= 20 })
    assert.equal(0, calls:drain(error))
    assert.equal(10, of(calls, DEFLATE).calls)
  end)

  it("nests calls, and gives sums with the exclusive time of a function", function()
    local calls <close> = assert(intercept { lib = { "libz", "libm" } })
    local packed = zlib.deflate()(sources, "finish")
    assert.equal(sources, (zlib.inflate()(packed)))
    assert.same({ 1, 1 }, { of(calls, DEFLATE).calls, of(calls, INFLATE).calls })
    assert.is_true(of(calls, DEFLATE).inclusive_ns >= of(calls, "deflateReset").inclusive_ns)
    for _, f in ipairs(calls:functions()) do
      assert.equal(0, f.running)
      assert.is_true(f.exclusive_ns <= f.inclusive_ns * 1.0001 and f.min_ns <= f.max_ns and f.max_ns <= f.inclusive_ns * 1.0001)
    end
  end)

  it("chooses functions by name, and the values to keep of each", function()
    local asked = {}
    local calls <close> = assert(intercept { lib = "libz", keep = function(name, library)
      asked[#asked + 1] = name .. " " .. library
      return name == DEFLATE and "events" or name == INFLATE and "profile" or false
    end })
    local packed = zlib.deflate()(sources, "finish")
    zlib.inflate()(packed)
    local told = {}
    calls:drain(function(name) told[name] = (told[name] or 0) + 1 end)
    assert.same({ [DEFLATE] = 1 }, told)
    assert.same({ 1, 1, 0 }, { of(calls, DEFLATE).calls, of(calls, INFLATE).calls, of(calls, "adler32").calls })
    table.sort(asked)
    for i = 2, #asked do assert.not_equal(asked[i - 1], asked[i]) end
    assert.is_true(#asked > 2)
  end)

  it("keeps only sums if nothing else is requested", function()
    local calls <close> = assert(intercept { lib = "libz", ["not"] = "deflateReset*:lib*m", keep = "profile" })
    deflates(4)
    assert.same({ 4, 0 }, { of(calls, DEFLATE).calls, of(calls, "deflateReset").calls })
    assert.has_error(function() calls:drain(print) end, "intercept: keep = 'profile' keeps no events")
  end)

  it("gives events in batches of arrays", function()
    local calls <close> = assert(intercept { lib = "libz", sym = DEFLATE })
    deflates(5000)
    local open, batches, last = 0, 0, 0
    local events = calls:batches(function(n, time, region, kind, thread, values)
      batches = batches + 1
      for i = 1, n do
        assert.same({ DEFLATE, "libz.so.1" }, { calls:name(region[i]) })
        assert.is_true(time[i] >= last and thread[i] == thread[1] and next(values) == nil)
        last, open = time[i], open + kind[i]
      end
    end)
    assert.equal(0, open)
    assert.is_true(events == 10000 and batches > 1)
  end)

  it("continues after an error in a called function, with the next call", function()
    local calls <close> = assert(intercept { lib = "libz", sym = DEFLATE })
    deflates(3)
    local told = 0
    assert.has_error(function() calls:drain(function() error "enough" end) end)
    told = told + calls:drain(function() end)
    assert.equal(2, told)
  end)

  it("drops calls for lack of room, and counts them", function()
    local calls <close> = assert(intercept { lib = "libz", sym = DEFLATE, records = 256 })
    deflates(1000)
    local stats, told = calls:stats(), 0
    told = told + calls:drain(function() end)
    assert.is_true(stats.dropped > 0 and told > 0)
    assert.equal(2000, told * 2 + stats.dropped)
  end)

  it("ends with stop(), after which the kept data can be read", function()
    local calls <close> = assert(intercept { lib = "libz", sym = DEFLATE })
    deflates(3)
    calls:stop()
    deflates(2)
    assert.is_true(calls:stats().slots > 0)
    assert.same({ 3, 3 }, { of(calls, DEFLATE).calls, calls:drain(function() end) })
    collectgarbage() -- streams that are closed later would be calls, too
    local others <close> = assert(intercept { lib = "libz" }) -- and another may begin
    assert.equal(0, others:drain(error))
  end)

  it("can be active only once", function()
    local first <close> = assert(intercept { lib = "libz" })
    local second, err, code = intercept { lib = "libm" }
    assert.is_nil(second)
    assert.equal("EALREADY", code)
    assert.equal("intercept.install: EALREADY: calls are already intercepted, by pmlua record or by another " ..
      "interception: a process has one at a time", tostring(err))
    assert.is_true(first:stats().objects > 0)
  end)

  it("may select everything, itself included, and each drain ends", function()
    local calls <close> = assert(intercept())
    deflates()
    local n = calls:drain(function() end)
    assert.is_true(n >= 1)
    assert.is_true(calls:drain(function() end) >= 0)
  end)

  it("sees the calls of the command's own interpreter", function()
    local code, out, err = support.shell(support.quote(support.build .. "/pmlua") .. " -e " .. support.quote [[
      local pml = require "pmlua"
      local calls <close> = assert(pml.intercept { lib = "libm" })
      for i = 1, 100 do math.exp(i) end
      local n = 0
      calls:drain(function(name) if name == "exp" then n = n + 1 end end)
      print(n)]])
    assert.same({ 0, "100\n", "" }, { code, out, err })
  end)

  it("records the values that wrappers take, and counts their calls once", function()
    if support.shell("command -v cc") ~= 0 then return pending "there is no C compiler to build a wrapper with" end
    if support.build:find("[at]san") then return pending "a sanitizer must be loaded before what is preloaded" end
    local folder = support.folder()
    local source = support.spit(folder .. "/wrap.c", wrapper)
    local code, out, err = support.shell(("cc -O2 -fPIC -shared -fexceptions -Icore %s -L%s -lpmlua -Wl,-rpath,%s -o %s"):format(
      source, support.build, support.build, folder .. "/libpmlua-wrap-z.so"))
    assert.same({ 0, "", "" }, { code, out, err })
    code, out, err = support.shell(("TRACE=%s LD_PRELOAD=%s/libpmlua-wrap-z.so %s/pmlua -e %s"):format(folder, folder,
      support.build,
      support.quote [[
        local pml = require "pmlua"
        local zlib = require "zlib"
        local three = zlib.crc32()("three")
        local calls <close> = assert(pml.intercept { lib = "libz" })
        local trace <close> = assert(pml.trace.create(os.getenv "TRACE", {}))
        assert(trace:attach())
        for _, text in ipairs { "one", "three" } do zlib.crc32()(text) end
        trace:detach()
        assert(trace:close())
        calls:drain(function(name, library, _, _, depth, _, values)
          if not values or values["crc32:len"] == 0 then return end -- each sum begins with an empty one
          print(name, library, depth, values["crc32:len"], values["crc32:buf"], values["crc32:return"] == three)
        end)
        for _, f in ipairs(calls:functions()) do if f.name == "crc32" then print(f.library, f.calls) end end
        print(calls:stats().wrapped, calls:stats().missing)
        print(math.tointeger(pml.sde.find("WRAP::crc32:len:MAX"):read()))]]))
    assert.same({ 0, "" }, { code, err })
    assert.equal("crc32\tlibz.so.1\t0\t3\tone\tfalse\ncrc32\tlibz.so.1\t0\t5\tthree\ttrue\nlibz.so.1\t4\n1\t0\n5\n", out)
    if not support.has "otf2-print" then return end -- the rest checks the trace
    local _, events = support.shell(("otf2-print %s/traces.otf2"):format(folder))
    local lengths = {}
    for n in events:gmatch 'METRIC[^\n]*"crc32:len" <%d+>; INT64; (%d+)' do lengths[#lengths + 1] = tonumber(n) end
    assert.same({ { 0, 3, 0, 5 }, nil }, { lengths, events:find("crc32:buf", 1, true) })
  end)

  it("raises an error for unknown options", function()
    for text, options in pairs {
      ["intercept: unknown option 'libs'; did you mean lib?"] = { libs = "libz" },
      ["intercept: option 'lib' must be a pattern or a list of patterns"] = { lib = 7 },
      ["intercept: option 'not' must be a pattern or a list of patterns"] = { ["not"] = "" },
      ["intercept: option 'keep' must be 'events', 'profile' or a function"] = { keep = "all" },
      ["intercept: options must be a table"] = 7,
    } do
      local ok, message = pcall(intercept, options)
      assert.is_false(ok)
      assert.is_true(message:sub(-#text) == text, message)
    end
    assert.has_error(function()
      local _ <close> = assert(intercept { lib = "libz", keep = function() return "some" end })
      deflates()
    end)
  end)
end)
