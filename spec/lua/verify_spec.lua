-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/verify_spec.lua - tests of pmlua doctor --verify: loops have their known events, and a wrong count is found and
-- remembered.

local support = require "spec.core.support"
local json = require "pmlua.json"
local quote, shell = support.quote, support.shell

local command = support.build .. "/pmlua "

-- Halves what the kernel says of a page fault's counter: of any counter that read(2) reads as one value with its times.
local LIAR = support.C .. [[
ssize_t read(int fd, void *buf, size_t n) {
  ssize_t (*real)(int, void *, size_t) = (ssize_t (*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
  ssize_t got = real(fd, buf, n);
  char path[64], name[64] = "";
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  if (got < 24 || readlink(path, name, sizeof name - 1) < 0 || strcmp(name, "anon_inode:[perf_event]") != 0) return got;
  uint64_t value;
  memcpy(&value, buf, sizeof value);
  value /= 2;
  memcpy(buf, &value, sizeof value);
  return got;
}
]]

local dir = support.folder()

local function verified(environment)
  local status, out, err = shell(("%s XDG_STATE_HOME=%s %s doctor --verify --json"):format(environment, quote(dir), command))
  return support.by(json.decode(out), "event"), status, err
end

describe("pmlua doctor --verify", function()
  local it_counts = support.core and support.core.counter.open "page-faults" and support.it
    or function(name, _) pending(name .. ": the kernel counts no page faults for this user", function() end) end

  it_counts("finds page faults correct, and gives reasons for uncounted events", function()
    local of, _, err = verified ""
    assert.equal("", err)
    for _, name in ipairs { "page-faults", "minor-faults" } do
      assert.same({ "right", 2000 }, { of[name].verdict, of[name].expected }, name)
    end
    for _, row in pairs(of) do
      if row.verdict == "not counted" then
        local counter, why = support.core.counter.open(row.event)
        if counter then counter:close() -- counted, but the clock to compare it with is another
        else assert.equal((why.text:gsub("^" .. row.event:gsub("%p", "%%%0") .. ": ", "")), row.reason) end
      else assert.equal(row.verdict == "right", of[row.event].verdict == "right") end
    end
    local status, out = shell(("XDG_STATE_HOME=%s %s doctor --verify"):format(quote(dir), command))
    assert.is_true(status == 0 or status == 1)
    assert.truthy(out:find "\npage%-faults +touch +2000 +2000 +100.0 %% +right")
    assert.truthy(out:find "\n%d+ right, %d+ wrong, %d+ not counted\n")
  end)

  it_counts("finds a counter that counts half, and every later result on this machine has a warning", function()
    support.spit(dir .. "/liar.c", LIAR)
    assert.equal(0, (shell(("cc -shared -fPIC -o %s/liar.so %s/liar.c -ldl"):format(quote(dir), quote(dir)))))
    local of, status = verified(("LD_PRELOAD=%s/liar.so"):format(quote(dir)))
    local pmlua = assert(require "pmlua".sys.realpath(support.build .. "/pmlua"))
    assert.same({ "wrong", 0.5, 1 }, { of["page-faults"].verdict, of["page-faults"].ratio, status })
    local state = "XDG_STATE_HOME=" .. quote(dir) .. " "
    local _, out, told = shell(state .. command .. "stat -e page-faults -- true")
    assert.truthy(told:find("wrong here: counts 50 % of what is known (pmlua doctor --verify)", 1, true), told)
    local _, meta = shell(state .. command .. [[-e 'for _, w in ipairs(require("pmlua.internal.experiment.provenance")
      .collect(require "pmlua.core").warnings) do print(w) end']])
    assert.truthy(meta:find("page-faults: wrong here: counts 50 %", 1, true), meta)
    support.spit(dir .. "/sections.lua", [[
      local pml = require "pmlua"
      local w = assert(pml.section.define { label = "work", events = { "page-faults", "task-clock" } })
      do local s <close> = w:enter() end]])
    local marked = "page-faults: wrong here: counts 50 % of what is known (pmlua doctor --verify)"
    local function marks(line, mark)
      _, out, told = shell(("cd %s && %s%s %s"):format(quote(dir), state, pmlua, line))
      assert.truthy((out .. told):find(mark or marked, 1, true), line .. ": " .. out .. told)
    end
    marks("stat -e perf::PAGE-FAULTS -- true", "wrong here: counts 50 %") -- the same by another name
    marks "sample -e page-faults -c 1 -- true"
    marks "choose --pmu generic CYCLE --run -- true"
    marks "record --trace -o recorded -e page-faults -- gzip -c sections.lua"
    marks([[-e 'for _, m in ipairs(pml.trace.open("recorded"):metrics()) do print(m.name, m.description) end']],
      "page-faults\twrong here: counts 50 %")
    assert.equal(0, (shell(("cd %s && PMLUA_REPORT=reported %s sections.lua"):format(quote(dir), pmlua))))
    marks("report reported", "note: " .. marked)
    support.spit(dir .. "/traced.lua", [[
      return require "pmlua".experiment { name = "traced", factors = { n = { 1 } }, repeats = 2, unit = "x",
        trace_events = { "page-faults" }, measure = function() return 1 end }]])
    marks "traced.lua --no-plot"
    marks([[-e 'print(pml.trace.open("results/traced/latest"):metrics()[2].description)']],
      "count since the start of the run; wrong here: counts 50 %")
    local kept = support.slurp(dir .. "/pmlua/counters.json")
    support.spit(dir .. "/pmlua/counters.json", (kept:gsub('"kernel": "', '"kernel": "other ')))
    _, _, told = shell(state .. command .. "stat -e page-faults -- true")
    assert.is_nil(told:find("wrong here", 1, true))
    for _, text in ipairs { "", "{", "[1]", '{"machine": 1, "wrong": {"page-faults": "x"}}' } do
      support.spit(dir .. "/pmlua/counters.json", text)
      status, _, told = shell(state .. command .. "stat -e page-faults -- true")
      assert.equal(0, status, told)
    end
  end)

  it("limits plans for this machine to the counters that counted at the same time", function()
    local state = ("XDG_STATE_HOME=%s "):format(quote(dir .. "/limited"))
    local status, out, err = shell(state .. command .. [[-e '
      local verify = require "pmlua.internal.verify"
      assert(verify.keep({}, 2))
      local plan = assert(pml.chooser.open { pmu = "generic" })
      print(plan.counters.general, #plan:choose { "CYCLE" }.runs, table.concat(plan.notes, " "))'
      ]])
    assert.same({ 0, "" }, { status, err })
    assert.truthy(out:find "^2\t2\t2 of 4 counters counted at the same time on this machine", out)
    local _, spr = shell(state .. command .. "-e 'print(pml.chooser.open { pmu = \"spr\" }.counters.general)'")
    assert.equal("8\n", spr)
  end)

  it_counts("tries counters at the same time", function()
    local verify = require "pmlua.internal.verify"
    local n, why = verify.together "page-faults"
    assert.same({ 16 }, { n, why })
    if not support.core.event.has_pmu() then assert.equal(0, (verify.together "branches:u")) end
    assert.is_nil(verify.sound { { event = "page-faults", verdict = "right" }, { event = "branches:u", verdict = "wrong" } })
    assert.equal("cycles:u", verify.sound { { event = "branches:u", verdict = "not counted" },
      { event = "instructions:u", verdict = "wrong" }, { event = "cycles:u", verdict = "right" } })
  end)
end)

describe("errata", function()
  local errata = require "pmlua.internal.errata"

  local function numbers(vendor, family, model)
    local list = {}
    local text = "processor\t: 0\nvendor_id\t: %s\ncpu family\t: %s\nmodel\t\t: %s\nmodel name\t: x\n"
    for i, e in ipairs(errata.of(text:format(vendor, family, model))) do list[i] = e.number end
    return table.concat(list, " ")
  end

  it("belong to the family and model", function()
    assert.equal("1292 ", numbers("AuthenticAMD", 25, 1))
    assert.equal("", numbers("AuthenticAMD", 25, 0x11))
    assert.equal("1291 ", numbers("AuthenticAMD", 23, 0x31))
    assert.equal("1054 ", numbers("AuthenticAMD", 23, 0x11))
    assert.equal("", numbers("GenuineIntel", 25, 1))
    assert.equal("BJ122", numbers("GenuineIntel", 6, 0x2d))
    assert.equal("SKL091, SKL044 SKL091 SKL057 SKL089", numbers("GenuineIntel", 6, 0x55))
    assert.equal("ADL038", numbers("GenuineIntel", 6, 0x97))
    assert.equal("", numbers("GenuineIntel", 6, 0x6a)) -- Ice Lake: its event file names no erratum
    assert.equal("", numbers("AuthenticAMD", "x", "y"))
    assert.same({}, errata.of "")
    assert.same({}, errata.of "CPU implementer : 0x41\n")
  end)

  it("of Arm's cores belong to the part and revision, of each kind of core", function()
    local one = "processor\t: %d\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x%x\nCPU architecture: 8\nCPU variant\t: 0x%x\n" ..
      "CPU part\t: 0x%x\nCPU revision\t: %d\n\n"
    local function events(...)
      local text, list = "", {}
      for i, core in ipairs { ... } do text = text .. one:format(i - 1, table.unpack(core)) end
      for i, e in ipairs(errata.of(text)) do list[i] = e.events:match "^[^,:]*" end
      return table.concat(list, "; ")
    end
    assert.equal("0x08; 0x07; 0x09", events { 0x41, 0, 0xd03, 4 })
    assert.equal("", events { 0x51, 0, 0xd03, 4 })
    assert.equal("samples of SPE (arm_spe_0//)", events { 0x41, 3, 0xd0c, 1 })
    assert.equal("samples of SPE (arm_spe_0//)", events { 0x41, 4, 0xd0c, 0 })
    assert.equal("", events { 0x41, 4, 0xd0c, 1 })
    assert.equal("0x3e", events({ 0x41, 0, 0xd49, 0 }, { 0x41, 0, 0xd49, 0 }))
    assert.equal("", events { 0x41, 0, 0xd49, 3 })
    assert.equal("0x08; 0x07; 0x09", events({ 0x41, 0, 0xd08, 2 }, { 0x41, 0, 0xd03, 4 })) -- big.LITTLE
    assert.equal("0x11", events { 0x4e, 0, 0x010, 0 })
  end)

  it("name the affected events, in a line each", function()
    for _, file in ipairs(require "pmlua.internal.literal".list "errata") do
      local data = assert(require "pmlua.internal.literal".read(file.path))
      assert.is_true(#data.source > 20 and #data.errata > 0)
      for _, of in ipairs(data.errata) do
        assert.is_true(#of > 0 and (of.part ~= nil and of.implementer ~= nil or of.vendor ~= nil and #of.models > 0))
        for _, e in ipairs(of) do assert.is_true(#e.events > 3 and #e.what > 10 and #e.events + #e.what < 180) end
      end
    end
  end)

  it("of this machine are printed below the results", function()
    local _, out = shell(("XDG_STATE_HOME=%s %s doctor --verify"):format(quote(support.folder()), command))
    local here = errata.here()
    assert.equal(#here > 0, out:find("errata of this processor", 1, true) ~= nil)
    for _, e in ipairs(here) do assert.truthy(out:find(e.events:sub(1, 10), 1, true), out) end
  end)
end)

describe("the loops of pml.counter.exercise", function()
  local KNOWN <const> = { chain = { Ir = 10, Bc = 1 }, copy = { Ir = 4, Dr = 1, Dw = 1, Bc = 1 }, flops = { Ir = 4, Bc = 1 },
    random = { Bc = 2, Bcm = 0.5 } }
  local ROUNDS <const> = 4000000 -- a start varies by some 10,000 branches

  local function simulated(loop, rounds)
    local out = support.done(shell(("PMLUA_CLOCK=monotonic %s stat --sim --json -- %s -e %s"):format(command, command,
      quote(("assert(pml.counter.exercise('%s', %d))"):format(loop, rounds)))))
    return json.decode(out).counts
  end

  local before -- the counts of pmlua without a round of any loop

  for loop, known in pairs(KNOWN) do
    support.it(loop .. " has the events a round that it is known for, by callgrind", function()
      if not support.has "valgrind" then return pending "valgrind is not installed" end
      before = before or simulated(loop, 0)
      local after = simulated(loop, ROUNDS)
      for event, per in pairs(known) do
        local found = (after["sim::" .. event] - before["sim::" .. event]) / ROUNDS
        assert.is_true(math.abs(found / per - 1) < (event == "Bcm" and 0.2 or 0.02), ("%s: %g"):format(event, found))
      end
    end)
  end

  support.it("refuse unknown loops", function()
    local exercise = support.core.counter.exercise
    local done, err, code = exercise("jump", 1)
    assert.same({ nil, "EINVAL" }, { done, code })
    assert.matches("there is no loop 'jump'", err:sentence())
    assert.has_error(function() exercise("chain", -1) end)
    assert.has_error(function() exercise("chain", 1 << 40) end)
    assert.is_true(exercise("walk", 1000))
    assert.is_true(exercise("touch", 0))
  end)
end)
