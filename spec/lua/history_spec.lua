-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/history_spec.lua - values over time that a live service keeps in a program's log, and pmlua report --history.

local support = require "spec.core.support"
local quote = support.quote
local it = support.it

--- Two counters whose values are bound to each other, for a minute, unless it is killed before.
local PROGRAM <const> = [[
local pml = require "pmlua"
local lib = pml.sde.library "DEMO"
local steps, level = lib:counter "steps", lib:counter("level", { instant = true })
local values = lib:recorder("values", { type = "double" })
for _ = 1, 6000 do
  steps:add(3)
  level:add(-2)
  values:push(0.5)
  pml.section.start "solve"
  pml.sys.sleep(0.01)
  pml.section.stop "solve"
end]]

describe("A history", function()
  local dir

  local function pmlua(arguments) return support.shell(("cd %s && %s/pmlua %s"):format(quote(dir), support.build, arguments)) end

  --- Run the program, and kill it when its log has some seconds.
  local function run(variables)
    support.spit(dir .. "/app.lua", PROGRAM)
    local pipe = io.popen(("cd %s && %s XDG_RUNTIME_DIR=%s exec %s/pmlua live -q --report out -- %s/pmlua app.lua"
      .. " >/dev/null 2>&1 & echo $!"):format(quote(dir), variables, quote(dir), support.build, support.build))
    local pid = pipe:read "n"
    pipe:close()
    return pid
  end

  before_each(function() dir = support.folder() end)

  it("of a killed program has each second, and the values of then", function()
    local pid, status, text = run "", nil, nil
    support.eventually(function()
      status, text = pmlua "report out --history --csv"
      return status == 0 and select(2, text:gsub("DEMO::steps", "")) >= 3
    end)
    os.execute("kill -KILL " .. pid)
    status, text = pmlua "report out --history --csv"
    assert.equal(0, status)
    local last, n = {}, {}
    for name, time, value in text:gmatch "pmlog,DEMO::(%l+),([%d.]+),(%-?%d+)" do
      local before = last[name]
      time, value = tonumber(time), math.tointeger(tonumber(value))
      if before then
        assert.is_true(time - before.time > 0.4)
        assert.is_true(name == "level" and value <= before.value or value >= before.value)
      end
      if name == "steps" then assert.equal(0, value % 3) end
      if name == "level" then assert.is_true(value <= 0 and value % 2 == 0) end
      last[name], n[name] = { time = time, value = value }, (n[name] or 0) + 1
    end
    assert.is_true(n.steps >= 3 and n.level >= 2 and n.values >= 2)
    local calls, seconds = {}, {}
    for name, value in text:gmatch "pmlog,section:solve:(%l+),[%d.]+,([%d.]+)" do
      local list = name == "count" and calls or seconds
      assert.is_true(tonumber(value) > (list[#list] or 0))
      list[#list + 1] = tonumber(value)
    end
    assert.is_true(#calls >= 2 and #calls == #seconds)
    assert.is_true(seconds[#calls] >= 0.01 * calls[#calls])
    -- The counter's last value in the log is exact, and no sample is newer.
    local _, events = pmlua "report out --events --csv"
    assert.is_true(last.steps.value <= tonumber(events:match "DEMO::steps,[^\n]-(%d+)"))
    local _, row = pmlua "report out --history --event 'sde:::DEMO::st*'"
    assert.matches(("^EVENT +SAMPLES .*\nDEMO::steps +%d "):format(n.steps), row)
    assert.is_nil(row:find "level")
  end)

  it("can be left out, and says why it is missing", function()
    local pid = run "PMLUA_HISTORY=off"
    support.eventually(function() return (pmlua "report out --events") == 0 end)
    require "pmlua.core".sys.sleep(1.5)
    local status, _, err = pmlua "report out --history"
    os.execute("kill -KILL " .. pid)
    assert.equal(1, status)
    assert.matches("out: no event has a history; run the program under pmlua live", err)
  end)

  it("is a table of its own", function()
    local status, _, err = pmlua "report out --history --threads"
    assert.equal(2, status)
    assert.matches("omit the other", err)
  end)
end)
