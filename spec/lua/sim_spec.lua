-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/sim_spec.lua - pmlua stat --sim: instructions equal counts by hand, in sections, threads and children.
--
-- Slow: runs some 60 programs under callgrind.

local support = require "spec.core.support"
local json = require "pmlua.json"
local left = require "pmlua.internal.simulation.left"
local sim = require "spec.lua.sim.support"
local quote = support.quote

local command = support.build .. "/pmlua "
local dir = support.folder()

local function counted(arguments)
  local status, out, err = support.shell(command .. "stat --sim --json -- " .. arguments)
  local text = out:match("({\n.*)$")
  assert.truthy(text, err)
  return json.decode(text), status, err
end

local function sections(arguments)
  return counted(quote(dir .. "/sections") .. " " .. arguments)
end

--- The exclusive and inclusive instructions and the calls of a section, over all threads.
local function cost(told, name)
  local own, inside, calls = 0, 0, 0
  for _, p in ipairs(told.processes) do
    for _, s in ipairs(p.sections) do
      if s.name == name then
        own, inside, calls = own + s.exclusive["sim::Ir"], inside + s.inclusive["sim::Ir"], calls + s.calls
      end
    end
  end
  return own, inside, calls
end

--- The sum over a thread's sections, and the thread's total.
local function sums(process, thread, event)
  local sum, total = 0, nil
  for _, s in ipairs(process.sections) do
    if s.thread == thread then sum = sum + s.exclusive[event] end
  end
  for _, t in ipairs(process.threads) do
    if t.thread == thread then total = t.counts[event] end
  end
  return sum, total
end

sim.describe("pmlua stat --sim", function()
  setup(function() sim.build_sections(dir) end)

  it("equals the counts made by hand, exclusive and inclusive", function()
    local one, ten = sections("nested 1000"), sections("nested 11000")
    local own, inside = cost(ten, "outer")
    local before, before_inside = cost(one, "outer")
    assert.equal(2 * 10 * 10000, own - before)
    assert.equal(2 * 12 * 10000, inside - before_inside)
    own, inside = cost(ten, "inner")
    before, before_inside = cost(one, "inner")
    assert.equal(2 * 2 * 10000, own - before)
    assert.equal(own, inside)
    assert.equal(before, before_inside)
  end)

  it("adds to a section no more than a few hundred instructions", function()
    local more, less = cost(sections("many 300"), "one of many"), cost(sections("many 200"), "one of many")
    local own = (more - less) / 100 - 2 * 10
    assert.is_true(own > 0 and own < 400, own)
  end)

  it("counts instructions outside of sections outside of them", function()
    local less, more = sections("outside 101000"), sections("outside 301000")
    assert.equal((cost(less, "one")), (cost(more, "one")))
    local added = more.counts["sim::Ir"] - less.counts["sim::Ir"]
    assert.is_true(math.abs(added - 2 * 200000) < 200, added) -- pmlua's clock begins with a search that depends on the time
  end)

  it("counts inside of one section only, if requested, to the last of its functions", function()
    for _, run in ipairs { { "nested 3000", "inner" }, { "threads 3000", "outer" }, { "recursive 500", "recursive" } } do
      local _, out = support.shell(("%s stat --sim --json --section %s -- %s %s"):format(command, run[2],
        quote(dir .. "/sections"), run[1]))
      local told = json.decode(out)
      local p, functions, spin = told.processes[1], {}, nil
      for _, f in ipairs(p.functions) do
        for event, n in pairs(f.counts) do functions[event] = (functions[event] or 0) + n end
        spin = f.name == "spin" and f or spin
      end
      local own, inside = cost(told, run[2])
      assert.equal(told.counts["sim::Ir"], inside)
      assert.is_true(spin.counts["sim::Ir"] > 0 and spin.counts["sim::Ir"] < own + 2 * 6 * 3000)
      for event, total in pairs(told.counts) do
        local sections_sum = 0
        for _, s in ipairs(p.sections) do sections_sum = sections_sum + s.exclusive[event] end
        assert.equal(total, functions[event])
        assert.equal(total, sections_sum, event)
      end
      assert.same({}, told.warnings)
    end
    local _, _, err = support.shell(("%s stat --sim --section nosuch -- %s nested 10"):format(command, quote(dir .. "/sections")))
    assert.truthy(err:find("nothing was counted: section nosuch was never started", 1, true), err)
    assert.falsy(err:find("is not told", 1, true), err)
  end)

  it("counts a section that is inside itself once", function()
    local own, inside, calls = cost(sections("recursive 1000"), "recursive")
    local more, more_inside = cost(sections("recursive 3000"), "recursive")
    assert.equal(5, calls)
    assert.equal(own, inside)
    assert.equal(5 * 2 * 2000, more - own)
    assert.equal(5 * 2 * 2000, more_inside - inside)
  end)

  it("counts threads separately, and their sections are a part of each thread's work", function()
    local told = sections("threads 5000")
    local p = told.processes[1]
    assert.is_true(#p.threads >= 2)
    local all, seen = 0, 0
    for _, t in ipairs(p.threads) do
      for event in pairs(t.counts) do
        local sum, total = sums(p, t.thread, event)
        assert.is_true(sum <= total, event)
      end
      if sums(p, t.thread, "sim::Ir") > 0 then seen = seen + 1 end
      all = all + t.counts["sim::Ir"]
    end
    assert.equal(told.counts["sim::Ir"], all)
    assert.is_true(seen >= 1)
    local own = cost(told, "outer")
    assert.equal(3 * 2 * 10 * 4000, own - (cost(sections("threads 1000"), "outer")))
  end)

  it("adds functions up to the total of each process", function()
    local told = sections("nested 1000")
    for event, total in pairs(told.counts) do
      local sum = 0
      for _, f in ipairs(told.processes[1].functions) do sum = sum + f.counts[event] end
      assert.equal(total, sum)
    end
    local spin
    for _, f in ipairs(told.processes[1].functions) do spin = f.name == "spin" and f or spin end
    assert.equal(3, spin.calls)
    assert.is_true(spin.counts["sim::Ir"] - 2 * 12000 < 20)
  end)

  it("counts a forked child from its beginning, not its parent's past", function()
    local told = sections("forked 50000")
    assert.equal(2, #told.processes)
    local own, _, calls = cost(told, "child")
    assert.equal(1, calls)
    assert.is_true(own >= 2 * 150000 and own < 2 * 150000 + 1000)
    assert.equal(1, select(3, cost(told, "parent")))
    local least = math.min(told.processes[1].counts["sim::Ir"], told.processes[2].counts["sim::Ir"])
    assert.is_true(least < 2 * 150000 + 100000)
    assert.same({}, told.warnings)
  end)

  it("counts threads that ended before a fork once, with the parent", function()
    local told = sections("'threads, then forked' 50000")
    local threads, outer = { #told.processes[1].threads, #told.processes[2].threads }, 0
    table.sort(threads)
    assert.same({ 1, 4 }, threads)
    for _, p in ipairs(told.processes) do
      for _, f in ipairs(p.functions) do outer = outer + (f.name == "in_a_thread" and f.calls or 0) end
    end
    assert.equal(3, outer)
    local all = 0
    for _, p in ipairs(told.processes) do
      for _, t in ipairs(p.threads) do all = all + t.counts["sim::Ir"] end
    end
    assert.equal(told.counts["sim::Ir"], all)
  end)

  it("reports that a fork's counts include its parent's, if nothing can be preloaded", function()
    support.spit(dir .. "/static.c", "#include <unistd.h>\n#include <sys/wait.h>\nint main(void) {\n"
      .. "  if (fork() == 0) return 0;\n  wait(0);\n  return 0;\n}\n")
    if (support.shell(("gcc -static -o %s/static %s/static.c"):format(dir, dir))) ~= 0 then
      return pending("there is no static C library")
    end
    local told = counted(dir .. "/static")
    assert.equal(2, #told.processes)
    assert.truthy(told.warnings[1]:find("its counts include its parent's, and are left out of the sums", 1, true))
    assert.equal(told.processes[told.processes[1].inherited and 2 or 1].counts["sim::Ir"], told.counts["sim::Ir"])
  end)

  it("gives a section that is never stopped its counts, with a note", function()
    local told, status = sections("open 70000")
    assert.equal(0, status)
    local own = cost(told, "never stopped")
    assert.is_true(own >= 2 * 70000)
    assert.truthy(told.warnings[1]:find("section never stopped was never stopped by thread 1", 1, true))
  end)

  it("continues when the program closes all descriptors", function()
    local told = sections("closed 5000")
    assert.equal(1, select(3, cost(told, "before")))
    assert.equal(1, select(3, cost(told, "after")))
    assert.is_true((cost(told, "after")) >= 2 * 5000)
  end)

  it("reports no sections of a program that dumps its counts itself, with a message", function()
    local told = sections("dumped 5000")
    assert.truthy(told.warnings[1]:find("no costs of its sections", 1, true), told.warnings[1])
    local sum = 0
    for _, f in ipairs(told.processes[1].functions) do sum = sum + f.counts["sim::Ir"] end
    assert.equal(told.counts["sim::Ir"], sum)
  end)

  it("counts thousands of sections without leaving thousands of files", function()
    local told = sections("many 3000")
    local own, _, calls = cost(told, "one of many")
    assert.equal(3000, calls)
    local few, _, n = cost(sections("many 1000"), "one of many")
    assert.equal(1000, n)
    assert.is_true(math.abs(own / calls - few / n) < 2) -- the first call of each thread does more
  end)

  it("gives the same counts each time, and the command's status and output", function()
    local first, second = sections("nested 2000"), sections("nested 2000")
    for _, name in ipairs { "outer", "inner" } do
      assert.same({ cost(first, name) }, { cost(second, name) })
    end
    local told, status = counted("sh -c 'exit 7'")
    assert.equal(7, status)
    assert.equal("I1=32768,8,64 D1=32768,8,64 LL=8388608,16,64", told.simulation.caches)
  end)

  it("has the counts in the report of sections, and no counts without it", function()
    local run = ("PMLUA_REPORT=%s %s stat --sim -- %s nested 20000"):format(quote(dir .. "/report"), command,
      quote(dir .. "/sections"))
    support.done(support.shell(run))
    local _, csv = support.shell(command .. "report --csv " .. quote(dir .. "/report"))
    local names, values = {}, {}
    for name in csv:match("^[^\n]+"):gmatch("[^,]+") do names[#names + 1] = name end
    for value in (csv:match("\n(outer,[^\n]+)") .. ","):gmatch("([^,]*),") do
      values[#values + 1] = value
      values[names[#values]] = value
    end
    assert.is_true(tonumber(values["sim::Ir"]) > 2 * 12 * 20000 and tonumber(values["sim::Ir"]) < 2 * 12 * 20000 + 20000, csv)
    assert.truthy(values["sim::DLmw"])
    assert.equal(0, (support.shell(("PMLUA_REPORT=%s %s nested 10"):format(quote(dir .. "/plain"), quote(dir .. "/sections")))))
    _, csv = support.shell(command .. "report --csv " .. quote(dir .. "/plain"))
    assert.falsy(csv:find("sim::", 1, true), csv)
  end)

  it("counts misses with the requested caches", function()
    local function misses(options)
      local _, out = support.shell(("%s stat --sim --json %s -- %s nested 1000"):format(command, options, dir .. "/sections"))
      return json.decode(out)
    end
    local small, large = misses "--D1 1024,1,64", misses "--D1=65536,8,64"
    assert.is_true(small.counts["sim::D1mr"] > 2 * large.counts["sim::D1mr"])
    assert.truthy(small.simulation.caches:find("D1=1024,1,64", 1, true))
    assert.is_true(math.abs(small.counts["sim::Dr"] - large.counts["sim::Dr"]) < 500) -- but for the search of the clock
  end)

  it("reports the part of a total that the loader needs for pmlua's library, in table, JSON and help", function()
    local told = counted "true"
    local folder = quote(dir)
    local _, _, err = support.shell(("cd %s && valgrind --tool=callgrind --callgrind-out-file=/dev/null true"):format(folder))
    local lookups
    for _, f in ipairs(told.processes[1].functions) do
      if f.name == "_dl_lookup_symbol_x" then lookups = f.calls end
    end
    if not lookups then return pending "the loader has no symbols" end -- luacheck: ignore 113
    local own = told.simulation.own
    local each, symbol = own:match "some ([%d,]+) instructions in each program, and (%d+) for each symbol"
    local said = tonumber((each:gsub(",", ""))) + tonumber(symbol) * lookups
    local truth = told.counts["sim::Ir"] - tonumber(err:match "Collected : (%d+)")
    assert.is_true(truth > said / 2 and truth < said * 2, ("%d, not %d"):format(truth, said))
    local _, _, text = support.shell(command .. "stat --sim -e Ir -- true")
    assert.truthy(text:find("\n" .. own .. "\n", 1, true), text)
    local _, help = support.shell(command .. "help stat")
    assert.truthy(help:gsub("%s+", " "):find(own, 1, true), help)
  end)

  it("prints the whole, threads, sections and functions as tables, with the model", function()
    local _, _, err = support.shell(("%s stat --sim --top 3 -e sim::Ir,Dw -- %s threads 1000"):format(command,
      dir .. "/sections"))
    assert.truthy(err:find("\nsim::Ir +%d+  instructions +counted\n"), err)
    assert.truthy(err:find("\nprocess  program +thread +Ir +Dw\n"), err)
    assert.truthy(err:find("\nouter +%d  +3  +%d+  +%d+  +%d+\n"), err)
    assert.truthy(err:find("\n%(in none of them%) "), err)
    assert.truthy(err:find("\nobject +function %(by itself%) +calls +Ir +Dw\n"), err)
    assert.truthy(err:find("\nand %d+ functions more; %-%-top N and %-%-json have them\n"), err)
    assert.truthy(err:find("\ncaches of the model: I1=32768,8,64", 1, true), err)
  end)
end)

sim.describe("events of simulation", function()
  it("count in a script the thread's work, and add up", function()
    local script = [[
      local set <close> = assert(pml.eventset { "sim::Ir", "clock::ns", "sim::Dr" })
      local function loop(n) local v = { set:read() }; for i = 1, n do local _ = i end; return { set:read() }, v end
      collectgarbage "stop"
      loop(3000)
      local a, b = loop(1000)
      local c, d = loop(3000)
      local e, f = loop(3000)
      local short, long, again = a[1] - b[1], c[1] - d[1], e[1] - f[1]
      print(math.type(a[1]), a[2] > b[2], math.abs(long - again) < 500, (long - short) // 2000)]]
    local out = support.done(support.shell(("%s stat --sim -- %s -e %s"):format(command, command, quote(script))))
    local each = out:match("^integer\ttrue\ttrue\t(%d+)\n$") -- allocations differ a little, the loop does not
    assert.is_true(each and tonumber(each) > 5 and tonumber(each) < 100, out)
  end)

  it("are listed, with the way to get them", function()
    local out = support.done(support.shell(command .. "events 'sim::*'"))
    assert.truthy(out:find("unavailable: counted by simulation only: pmlua --sim SCRIPT, or pmlua stat --sim -- CMD", 1, true))
    assert.truthy(out:find("sim::D1mr  data reads that miss the first level of the model", 1, true))
    assert.truthy(out:find("13 events, 0 available", 1, true))
    local _, _, report = support.shell(command .. "stat --sim -- true") -- describes them alike
    for name, about in out:gmatch "(sim::%w+) +([^\n]+)" do
      local how = about:find("model", 1, true) and "by the model" or "counted"
      about = about:gsub(" executed$", ""):gsub(" of the model$", ""):gsub("that the model mispredicts$", "mispredicted")
      assert.truthy(report:find("\n" .. name .. " +%d+  " .. about .. " +" .. how .. "\n"), name)
    end
    local _, under = support.shell(("%s stat --sim -- %s events 'sim::*'"):format(command, command))
    assert.truthy(under:find("13 events, 13 available", 1, true))
    local set, err, code = support.core.eventset.open { "sim::Ir" }
    assert.is_nil(set)
    assert.equal("ENOTSUP", code)
    assert.truthy(err:find("counted by simulation only", 1, true))
    assert.truthy(select(2, support.core.event.parse("sim::Irr")):find("nearest: sim::Ir", 1, true))
  end)

  it("are of the calling thread alone", function()
    local script = 'print(select(2, pml.eventset({ "sim::Ir" }, { pid = 1 })))'
    local _, out = support.shell(("%s stat --sim -- %s -e %s"):format(command, command, quote(script)))
    assert.truthy(out:find("sim:: events count the calling thread only; count another program with pmlua stat --sim", 1, true))
  end)
end)

describe("the regions in a log", function()
  local function simulated(thread, calls, open)
    local counts = { 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 2, 3 }
    return string.pack("=I4I4I8I8" .. ("I8"):rep(26), 1, thread, calls, open,
      table.unpack(table.move(counts, 1, 13, 14, table.move(counts, 1, 13, 1, {}))))
  end
  local function log(region, ...)
    return { ended = true, notes = {}, definitions = { [4] = { region }, [7] = { ... } } }
  end
  local name = string.pack("=I4I4zz", 1, 0, "a\tb", "file.c")

  it("are merged by thread and name", function()
    local list = assert(left.regions(log(name, simulated(1, 2, 0), simulated(1, 3, 1))))
    assert.equal(1, #list)
    assert.equal("a\tb", list[1].name)
    assert.same({ 5, 1, 18 }, { list[1].calls, list[1].open, list[1].exclusive[1] })
  end)

  it("are refused when the log is incomplete, and reported when a thread's counts are", function()
    local cut, broken = log(name), log(name)
    cut.ended, broken.notes["simulation.broken"] = false, "3"
    assert.equal("the log is cut short: the process did not end by exit()", select(2, left.regions(cut)))
    assert.equal("of its thread 3 not all counts could be read", select(2, left.regions(broken)))
    assert.equal("region 1: the log is damaged", select(2, left.regions(log(name, simulated(1, -2, 0)))))
    assert.equal("region 1: the log is damaged", select(2, left.regions(log("", simulated(1, 2, 0)))))
    assert.equal("region 1: the log is damaged", select(2, left.regions(log(name, simulated(1, 2, 0):sub(1, -9)))))
  end)

  it("are read or refused in one line, for any changed bytes", function()
    for bytes in sim.damaged(simulated(1, 2, 0), 3000) do
      local list, err = left.regions(log(name, bytes))
      assert.truthy(list or err:find("^[^\n]+$"))
    end
  end)
end)
