-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/sim_script_spec.lua - tests of pmlua --sim: an experiment's cells counted by simulation, in its table, record and
-- trace.

local support = require "spec.core.support"
local sim = require "spec.lua.sim.support"
local quote = support.quote

local command = support.build .. "/pmlua "

--- An experiment that adds up p.n numbers in Lua.
local script = [[
local pml = require "pmlua"
return pml.experiment {
  name = "sums", factors = { n = { 1000, 3000 } }, repeats = 20, rounds = 2, warmup = 3, unit = "things", calls = 2,
  measure = function(_, p, n)
    local out = {}
    for i = 1, n do
      local s = 0
      for k = 1, p.n do s = s + k end
      out[i] = s
    end
    return out
  end,
}
]]

sim.describe("pmlua --sim", function()
  local dir, status, out, err

  setup(function()
    dir = support.folder()
    support.spit(dir .. "/sums.lua", script)
    status, out, err = support.shell(("cd %s && %s --sim sums.lua --no-plot --seed 1"):format(quote(dir), command))
  end)

  --- Rows of data.dat by column, and meta.json.
  local function table_of(folder)
    local run = assert(require("pmlua.results").open(folder))
    return run.data.rows, run.meta
  end

  it("gives each cell its executed instructions, per operation, beside its measurements", function()
    assert.equal(0, status, err)
    local rows = table_of(dir .. "/results/sums/latest")
    local short, long = rows[1], rows[2]
    if short.n > long.n then short, long = long, short end
    assert.equal(500500 / 2, short.median)
    local each = (long["sim::Ir"] - short["sim::Ir"]) * 2 / 2000 -- instructions per iteration
    assert.is_true(each > 3 and each < 100, each)
    assert.is_true(math.abs(short["sim::Ir"] * 2 - each * 1000) < 0.05 * each * 1000, short["sim::Ir"])
    assert.is_true(long["sim::Dr"] > short["sim::Dr"] and long["sim::Bc"] > short["sim::Bc"])
  end)

  it("names the simulated figures in the record, and says that times mean nothing", function()
    local _, meta = table_of(dir .. "/results/sums/latest")
    assert.equal("callgrind", meta.simulation.tool)
    assert.equal("I1=32768,8,64 D1=32768,8,64 LL=8388608,16,64", meta.simulation.caches)
    assert.truthy(err:find("this is a simulation: the columns sim:: count, times are of no meaning", 1, true), err)
  end)

  support.with "otf2-print" ("has the counts in the trace", function()
    local _, printed = support.shell("otf2-print " .. quote(dir .. "/results/sums/latest/traces.otf2"))
    local values = {}
    for v in printed:gmatch('%("sim::Ir" <%d+>; %w+; (%d+)%)') do values[#values + 1] = tonumber(v) end
    assert.equal(8, #values) -- two cells, two rounds, enter and leave
    for i = 2, #values do assert.is_true(values[i] > values[i - 1]) end
  end)

  it("also prints the whole, with the functions", function()
    assert.truthy(err:find("\nsim::Ir +%d+  instructions +counted\n"), err)
    assert.truthy(err:find("function (by itself)", 1, true))
    assert.truthy(out:find("sums/latest", 1, true) or out:find("complete, 40 samples", 1, true), out)
  end)

  it("accepts code, and leaves arguments to the script", function()
    local code, said = support.shell(command .. "--sim -e 'print(pml.eventset { \"sim::Ir\" } ~= nil)'")
    assert.equal(0, code)
    assert.equal("true\n", said)
    support.spit(dir .. "/arguments.lua", "print(...)\nos.exit(3)\n")
    code, said = support.shell(("%s --sim %s/arguments.lua --sim -e x"):format(command, quote(dir)))
    assert.equal(3, code)
    assert.equal("--sim\t-e\tx\n", said)
  end)

  it("needs a script or command", function()
    local code, _, said = support.shell(command .. "--sim")
    assert.equal(2, code)
    assert.equal("pmlua: nothing to run; see pmlua --help\n", said)
  end)

  it("simulates only commands that can run", function()
    local bad <close> = assert(io.open(dir .. "/bad.lua", "w"))
    bad:write "x = = 1\n"
    bad:flush()
    local code, printed, said = support.shell(command .. "--sim nofile.lua")
    assert.same({ 2, "" }, { code, printed })
    assert.equal("pmlua: nofile.lua: no such file\n", said)
    code, printed, said = support.shell(("cd %s && %s --sim bad.lua"):format(quote(dir), command))
    assert.same({ 1, "", "pmlua: bad.lua:1: unexpected symbol near '='\n" }, { code, printed, said })
  end)

  it("leaves other experiments unchanged", function()
    local code = support.shell(("cd %s && %s sums.lua --no-plot -o plain"):format(quote(dir), command))
    assert.equal(0, code)
    local rows, meta = table_of(dir .. "/plain/sums/latest")
    assert.is_nil(rows[1]["sim::Ir"])
    assert.is_nil(meta.simulation)
  end)
end)
