-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/wrap_values_spec.lua - pmlua record's report on wrapped functions: counts and values.

local permission = require "spec.permission"
local support = require "spec.core.support"
local json = require "pmlua.json"
local wrapping = require "spec.lua.wrap.support"
local done, quote = support.done, support.quote
local fixtures, it, missing = wrapping.fixtures, wrapping.it, wrapping.missing

local command = support.build .. "/pmlua"
local dir = support.folder()

local function shell(text)
  return support.shell(("cd %s && export LD_LIBRARY_PATH=%s PMLUA_WRAP_PATH=%s && %s"):format(quote(dir), quote(dir),
    quote(dir .. "/lib/pmlua/wrap"), text), 300)
end

-- Linked, with the wrapper in a shared library or in the program; found at run time; preloaded.
local ways = { "", "--static", "--runtime", "preloaded" }

--- Record the program in one of the ways: results, standard error.
local function recorded(way, options)
  local preload = way == "preloaded" and "LD_PRELOAD=./valued/build/libpmlua-wrap-valued-run.so " or ""
  local line = "rm -rf results && %s%s record --json %s -o results -- ./example%s 2>said"
  local out = done(shell(line:format(preload, command, options or "", way)))
  local all = json.decode(assert(out:match("({\n.*)$"), out))
  local functions = {}
  for _, f in ipairs(all.functions) do
    if f.library == "libvalued.so.1" then functions[f.name] = f end
  end
  return functions, all
end

setup(function()
  if missing then return end
  done(shell(("gcc -O1 -fPIC -shared %s/valued.c -Wl,-soname,libvalued.so.1 -o libvalued.so.1 && " ..
    "ln -s libvalued.so.1 libvalued.so && gcc -O1 -c %s/valued_example.c -o example.o && " ..
    "gcc example.o -L. -lvalued -lpthread -o examplepreloaded"):format(fixtures, fixtures)))
  done(shell(("%s wrap init valued --name valued --headers valued.h --cflags -I%s --libs '-L%s -lvalued' " ..
    "--record valued_mix:n --record valued_mix:x=recorder --record valued_mix:text=metric " ..
    "--record valued_mix:return=metric " ..
    "--record valued_next:return --example %s/valued_example.c && %s wrap build valued && " ..
    "%s wrap install valued --prefix ."):format(command, fixtures, dir, fixtures, command, command)))
  for _, way in ipairs(ways) do
    if way ~= "preloaded" then
      done(shell(("%s cc --wrap valued %s -- gcc example.o -L. -lvalued -lpthread -o example%s"):format(command, way, way)))
    end
  end
end)

--- Calls in the trace, none inside another: names, and values at the times of their enters and leaves, as texts.
local function calls_in_trace()
  local calls, now, trace = {}, {}, dir .. "/results/traces.otf2"
  local valid, said = support.shell("/usr/bin/python3 spec/otf2_validate.py " .. quote(trace))
  if not said:find("^unavailable") then assert.same({ 0, "" }, { valid, valid ~= 0 and said or "" }) end
  for line in done(support.shell("otf2-print " .. quote(trace))):gmatch "[^\n]+" do
    local kind, where, time, rest = line:match "^(%u+) +(%d+) +(%d+) +(.*)$"
    if kind == "ENTER" then
      now[where] = { name = rest:match 'Region: "([^"]+)"', from = time, given = {}, gave = {} }
    elseif kind == "LEAVE" then
      now[where].till = time
      calls[#calls + 1] = now[where]
    elseif kind == "METRIC" then
      local value, of = rest:match '1 Value: %("valued_[%w_]+:([^":]+)" <%d+>; (.*)%)$'
      if value then now[where][value == "return" and "gave" or "given"][value] = of .. " at " .. time end
    end
  end
  return calls
end

describe("pmlua record, of wrapped functions,", function()
  it("counts events in the calls, in each way of wrapping", function()
    local events = "--event sde:::WRAP::valued_mix:n --event sde:::WRAP::valued_next:return --event task-clock"
    for _, way in ipairs(ways) do
      local functions = recorded(way, events)
      local mix, next_one = functions.valued_mix, functions.valued_next
      assert.same({ way, 40, 4 }, { way, mix.calls, next_one.calls })
      assert.same({ way, 40, 0 }, { way, mix.events["sde:::WRAP::valued_mix:n"], mix.events["sde:::WRAP::valued_next:return"] })
      assert.same({ way, 0, 4 },
        { way, next_one.events["sde:::WRAP::valued_mix:n"], next_one.events["sde:::WRAP::valued_next:return"] })
      assert.is_true(mix.events[permission.name "task-clock"] > 0, way)
    end
  end)

  it("has the values of all threads and processes, for each kind of end", function()
    local largest = math.maxinteger + 0.0 -- as JSON is read
    for _, way in ipairs(ways) do
      local functions, all = recorded(way)
      assert.equal(2, #all.processes)
      assert.same({ n = { count = 40, sum = 60, mean = 1.5, min = -3, max = 6 },
        x = { count = 40, sum = 110.0, mean = 2.75, min = 0.5, max = 5.0 },
        ["return"] = { count = 40, sum = 4 * 87.5, mean = 8.75, min = -2.0, max = 30.0 } }, functions.valued_mix.values, way)
      local v = functions.valued_next.values["return"]
      assert.same({ 4, largest, largest }, { v.count, v.min, v.max })
      assert.equal(4 * largest, v.sum)
    end
  end)

  it("has the values in its trace, at the times of enters and leaves", function()
    if not support.has "otf2-print" then return pending "otf2-print is not installed" end
    for _, options in ipairs { "--trace", "--trace --event task-clock" } do
      for _, way in ipairs(options == "--trace" and ways or { "" }) do
        local seen, nexts = {}, 0
        recorded(way, options)
        for _, call in ipairs(calls_in_trace()) do
          if call.name == "valued_mix" then
            local n = math.tointeger(call.given.n:match "^INT64; (%S+)")
            local x = (n + 4) / 2
            assert.same({ n = ("INT64; %d at %s"):format(n, call.from), x = ("DOUBLE; %g at %s"):format(x, call.from) },
              call.given)
            assert.same({ ["return"] = ("DOUBLE; %g at %s"):format(n * x + n % 2, call.till) }, call.gave)
            seen[n] = (seen[n] or 0) + 1
          elseif call.name == "valued_next" then
            assert.same({ ["return"] = ("INT64; %d at %s"):format(math.maxinteger, call.till) }, call.gave)
            nexts = nexts + 1
          end
        end
        assert.same({ [-3] = 4, [-2] = 4, [-1] = 4, [0] = 4, [1] = 4, [2] = 4, [3] = 4, [4] = 4, [5] = 4, [6] = 4 }, seen, way)
        assert.same({ way, 4 }, { way, nexts })
      end
    end
  end)

  it("also leaves the values of calls that are not in the trace out of it", function()
    if not support.has "otf2-print" then return pending "otf2-print is not installed" end
    for _, limit in ipairs { "--min-duration 100s", "--sym valued_next" } do
      local functions = recorded("", "--trace " .. limit)
      assert.equal(4, functions.valued_next.values["return"].count)
      local nexts = 0
      for _, call in ipairs(calls_in_trace()) do
        assert.equal("valued_next", call.name)
        nexts = nexts + 1
      end
      assert.falsy(done(support.shell("otf2-print " .. quote(dir .. "/results/traces.otf2"))):find("METRIC .*valued_mix:n"))
      assert.equal(limit:find("sym", 1, true) and 4 or 0, nexts)
    end
  end)

  it("has a table of the values, if any", function()
    local _, _, said = shell(command .. " record -o table -- ./example")
    local line = said:match("libvalued.so.1 +valued_mix +n +[^\n]*")
    assert.equal("40 60 1.500 -3 6", line and line:match("n +(40.*)"):gsub(" +", " "), said)
    _, _, said = shell(command .. " record -o without -- ./examplepreloaded")
    assert.truthy(said:find("valued_mix", 1, true), said)
    assert.falsy(said:find("mean", 1, true), said)
  end)
end)
