-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/trace_read_spec.lua - tests of pml.trace.open and pmlua trace FILE.otf2: planted calls and messages, damaged archives.

local cjson = require "cjson"
local support = require "spec.core.support"
local mpi_job = require "spec.lua.mpi_job"
local pml = require "pmlua"
local recorded = require "spec.lua.recorded"
local sh = require("spec.shell").sh

local folder = support.folder()

local function shown(path, options)
  local out, code = sh(("%s/pmlua trace %s %s"):format(support.build, path, options or ""), 60)
  return out, code
end

--- A trace of planted calls: its path, and the ticks of a second.
local function planted(name, calls)
  local path = recorded.planted(folder .. "/" .. name, calls)
  local r <close> = assert(pml.trace.open(path))
  return path, r:about().ticks_per_second
end

local function by_region(rows)
  local of = {}
  for _, row in ipairs(rows) do of[row.region .. (row.location and "@" .. row.location or "")] = row end
  return of
end

local function ticks(row, rate)
  local function of(s) return s and math.floor(s * rate + 0.5) end
  return { row.calls, row.unreturned, of(row.inclusive_s), of(row.exclusive_s), of(row.least_s), of(row.most_s) }
end

-- a: 100 to 1100, in it b twice (200 to 300, 400 to 700), and a again in the second b (500 to 550); c on another location.
local CALLS <const> = { { "one", "+", "a", 100 }, { "one", "+", "b", 200 }, { "one", "-", "b", 300 }, { "one", "+", "b", 400 },
  { "one", "+", "a", 500 }, { "one", "-", "a", 550 }, { "one", "-", "b", 700 }, { "one", "-", "a", 1100 },
  { "two", "+", "c", 150 }, { "two", "+", "b", 160 }, { "two", "-", "b", 1160 }, { "two", "-", "c", 2150 } }

describe("pml.trace.open", function()
  it("sums calls by region or location, of a region or a window", function()
    local path, rate = planted("sums", CALLS)
    local t <close> = assert(pml.trace.open(path))
    local rows, odd = assert(t:group())
    assert.are.same({ 2, 0, 1000, 650, 50, 1000 }, ticks(by_region(rows).a, rate))
    assert.are.same({ events = 12, unmatched = 0, backward = 0, unknown = 0, outside = 0, damaged = 0, undefined = 0, lost = 0,
      uncounted = 0, kinds = { Enter = 6, Leave = 6 } }, odd)
    local of = by_region((assert(t:group { by = { "region", "location" }, where = { region = "b" } })))
    assert.are.same({ 2, 0, 400, 350, 100, 300 }, ticks(of["b@1"], rate))
    -- from 150 to 600 after the first event, which is at 100: 250 to 700
    of = by_region((assert(t:group { where = { window = { 150 / rate, 600 / rate } } })))
    assert.are.same({ 1, 0, 800, 750 }, { table.unpack(ticks(of.b, rate), 1, 4) })
    assert.is_nil(of.c.least_s)
    local all = assert(t:group { by = {} })
    assert.are.same({ 1, 6, nil }, { #all, all[1].calls, all[1].region })
    assert.has_error(function() t:group { where = { window = { 2, 1 } } } end, "where.window: it ends before it begins")
    assert.has_error(function() t:group { by = { "thread" } } end,
      "by: unknown name 'thread'; choose from region, process, rank, location, column")
  end)

  it("gives each event to a function, one location after another or in the order of time", function()
    local path, rate = planted("each", CALLS)
    local t <close> = assert(pml.trace.open(path))
    local function listed(question)
      local list = {}
      local n = assert(t:each(function(e)
        list[#list + 1] = ("%d%s%s%d"):format(e.location, e.kind == "enter" and "+" or "-", e.region,
          math.floor(e.time_s * rate + 100.5))
      end, question))
      assert.are.equal(#list, n)
      return table.concat(list, " ")
    end
    assert.are.equal("1+a100 1+b200 1-b300 1+b400 1+a500 1-a550 1-b700 1-a1100 2+c150 2+b160 2-b1160 2-c2150", listed())
    assert.are.equal("1+a100 2+c150 2+b160 1+b200 1-b300 1+b400 1+a500 1-a550 1-b700 1-a1100 2-b1160 2-c2150",
      listed { order = "time" })
    local window = { 50 / rate, 600 / rate } -- 150 to 700
    assert.are.equal("2+b160 1+b200 1+b400",
      listed { order = "time", where = { window = window, region = "b", kinds = { "enter" } } })
    assert.are.equal("2+c150 2+b160", listed { where = { window = window, location = { 2 }, process = 1 } })
    assert.are.equal("", listed { where = { rank = 0 } })
    local n = 0
    assert.are.equal(3, t:each(function() n = n + 1 return n < 3 end))
    assert.has_error(function() t:each(print, { where = { kinds = { "call" } } }) end,
      "where.kinds: unknown name 'call'; choose from enter, leave, send, receive, collective, metric, team_begin, "
        .. "team_end, request, notify, lock, other")
    assert.has_error(function() t:each(print, { where = { location = "a" } }) end,
      "where.location: give a number, or a list of numbers")
  end)

  it("sums by call path, also for a window or for some regions", function()
    local path, rate = planted("paths", CALLS)
    local t <close> = assert(pml.trace.open(path))
    local function listed(where)
      local list, names = {}, {}
      for i, p in ipairs(assert(t:paths { where = where })) do
        names[i] = (p.parent and names[p.parent] .. "/" or "") .. p.region
        list[i] = ("%s %d %.0f %.0f"):format(names[i], p.calls, p.inclusive_s * rate, p.exclusive_s * rate)
      end
      table.sort(list)
      return list
    end
    assert.are.same({ "a 1 1000 600", "a/b 2 400 350", "a/b/a 1 50 50", "c 1 2000 1000", "c/b 1 1000 1000" }, listed())
    assert.are.same({ "c 1 2000 1000", "c/b 1 1000 1000" }, listed { location = 2 })
    assert.are.same({ "b 3 1400 1400" }, listed { region = "b" })
    assert.are.same({ "a 0 450 100", "a/b 1 350 300", "a/b/a 1 50 50", "c 0 450 0", "c/b 0 450 450" },
      listed { window = { 150 / rate, 600 / rate } })
    assert.are.equal(0, select(2, t:paths()).unmatched)
  end)

  it("has exactly the walked paths, with the sums of regions", function()
    local calls, at, stack, seed = {}, 0, {}, 7
    local function random(n) seed = (seed * 1103515245 + 12345) % 2147483648 return seed // 65536 % n end
    for _ = 1, 20000 do
      at = at + random(5)
      if #stack == 0 or #stack < 12 and random(2) == 0 then
        stack[#stack + 1] = "f" .. random(4)
        calls[#calls + 1] = { "one", "+", stack[#stack], at }
      else
        calls[#calls + 1] = { "one", "-", table.remove(stack), at }
      end
    end
    while #stack > 0 do calls[#calls + 1] = { "one", "-", table.remove(stack), at } end
    local walked, n, now = {}, 0, {}
    for _, c in ipairs(calls) do
      if c[2] == "+" then
        now[#now + 1] = c[3]
        local key = table.concat(now, "/")
        if not walked[key] then walked[key], n = true, n + 1 end
      else
        now[#now] = nil
      end
    end
    local name, rate = planted("many_paths", calls)
    local t <close> = assert(pml.trace.open(name))
    local paths, calls_of, exclusive_of = assert(t:paths()), {}, {}
    assert.are.equal(n, #paths)
    for _, p in ipairs(paths) do
      calls_of[p.region] = (calls_of[p.region] or 0) + p.calls
      exclusive_of[p.region] = (exclusive_of[p.region] or 0) + p.exclusive_s
    end
    for _, r in ipairs((assert(t:group()))) do
      assert.are.equal(r.calls, calls_of[r.region])
      assert.are.equal(math.floor(r.exclusive_s * rate + 0.5), math.floor(exclusive_of[r.region] * rate + 0.5))
    end
  end)

  it("ends an iteration with its function, and refuses disturbing calls", function()
    local path = planted("nested", CALLS)
    local t <close> = assert(pml.trace.open(path))
    assert.has_error(function() t:each(function() error("enough", 0) end) end, "enough")
    assert.are.equal(12, #assert(t:group { by = { "location" } }) * 6)
    local codes = {}
    t:each(function()
      codes[1], codes[2] = select(3, t:group()), select(3, t:each(print))
      codes[3] = select(3, t:messages())
      return false
    end)
    assert.are.same({ "EBUSY", "EBUSY", "EBUSY" }, codes)
    assert.has_error(function() t:each(function() t:close() end) end, "the trace was closed while its events were read")
  end)

  it("gives events and paths of damaged archives, or refuses", function()
    local path = planted("damaged_events", CALLS)
    local dir, refused = path:match "^(.*)/", 0
    for _, file in ipairs { "traces/0.evt", "traces/1.evt", "traces.def" } do
      local whole = support.slurp(dir .. "/" .. file)
      for i = 1, #whole, math.max(1, #whole // 100) do
        support.spit(dir .. "/" .. file, whole:sub(1, i - 1) .. "\255" .. whole:sub(i + 1))
        local t <close> = pml.trace.open(path)
        for _, ask in ipairs(t and { "each", "each", "paths" } or {}) do
          local done, odd, code = t[ask](t, ask == "each" and function() end or nil, ask == "each" and { order = "time" } or nil)
          assert.are.equal(done == nil, code ~= nil)
          if code or (type(odd) == "table" and odd.damaged or odd) > 0 then refused = refused + 1 end
        end
      end
      support.spit(dir .. "/" .. file, whole)
    end
    assert.is_true(refused > 0)
    local t <close> = assert(pml.trace.open(path))
    assert.are.equal(12, t:each(function() end))
  end)

  it("gives metrics and their values", function()
    local dir = folder .. "/metrics"
    require "lfs".mkdir(dir)
    local w = assert(pml.trace.create(dir, { metrics = { { name = "residual", type = "float", unit = "m", mode = "absolute" },
      { name = "steps", type = "integer", mode = "accumulated" } } }))
    local l, l2, first = assert(w:location("one")), assert(w:location("two")), pml.clock.ticks()
    for i = 1, 5 do assert(l:metric({ i / 4, 3 * i }, first + i)) end
    for i = 6, 7 do assert(l2:metric({ i / 4, 100 * i }, first + i)) end
    assert(w:close())
    local t <close> = assert(pml.trace.open(dir .. "/traces.otf2"))
    local of, values = {}, {}
    for _, m in ipairs(t:metrics()) do of[m.name] = m end
    assert.are.same({ "m", false, 1 }, { of.residual.unit, of.residual.accumulated, of.residual.scale })
    assert.is_true(of.steps.accumulated)
    assert(t:each(function(e) values[#values + 1] = e.metric .. "=" .. e.value end, { where = { kinds = { "metric" } } }))
    assert.are.equal("residual=0.25 steps=3 residual=0.5 steps=6", table.concat(values, " ", 1, 4))
    assert.are.equal(14, #values)
    -- the last values of a sum are added over locations; the command says nothing of the last of a level of several
    local rows, out = {}, shown(dir .. "/traces.otf2")
    for _, m in ipairs(cjson.decode((shown(dir .. "/traces.otf2", "--json"))).metrics) do rows[m.metric] = m end
    assert.are.same({ 2, 7, 3, 700, 15 + 700 }, { rows.steps.locations, rows.steps.values, rows.steps.least, rows.steps.most,
      rows.steps.last })
    assert.are.same({ 2, 7, 0.25, 1.75 }, { rows.residual.locations, rows.residual.values, rows.residual.least,
      rows.residual.most })
    assert.matches("\nresidual +[^\n]* %-\n", out)
    assert.matches("\nsteps +[^\n]* 715\n", out)
  end)

  it("gives definitions as tables", function()
    local path = planted("definitions", CALLS)
    local t <close> = assert(pml.trace.open(path))
    local about, names = t:about(), {}
    assert.are.same({ 3, 1, 2, 0, 12 }, { about.regions, about.processes, about.locations, about.ranks, about.events })
    for _, r in ipairs(t:regions()) do names[#names + 1] = r.name end
    table.sort(names)
    assert.are.same({ "a", "b", "c" }, names)
    assert.are.same({ "one", "two" }, { t:locations()[1].name, t:locations()[2].name })
    assert.are.same({ 1, 8 }, { t:locations()[1].process, t:locations()[1].events })
    t:close()
    assert.has_error(function() t:about() end)
  end)
end)

describe("pmlua trace FILE.otf2", function()
  it("prints its kind, and its regions", function()
    local path = planted("shown", CALLS)
    local out, code = shown(path)
    assert.are.equal(0, code, out)
    assert.matches("^1 process, 2 locations, 1 host, [^\n]+, 12 events, written by pmlua [^\n]+\n"
      .. "events: 6 Enter, 6 Leave\n\nRegions, time of all ", out)
    assert.matches("\nb +user +3 +.* +45%.0 %% ", out)
    local r = cjson.decode((shown(path, "--json")))
    assert.are.same({ "b", 3, 0 }, { r.regions[1].region, r.regions[1].calls, #r.messages })
    assert.matches("^region,paradigm,calls,[^\n]+\nb,user,3,0,", (shown(path, "--csv")))
    assert.matches("\nand 2 more; %-%-top lists them\n", (shown(path, "--top 1")))
    assert.is_nil(shown(path, "--where a"):find("\nb ", 1, true))
  end)

  it("prints call paths, tables for programs, and oddities", function()
    local path = planted("tables", CALLS)
    assert.matches("\nCALL PATH +CALLS .*\na +1 .*\n  b +2 .*\n    a +1 .*\nc +1 ", (shown(path, "--paths")))
    local out = shown(path, "--csv --table paths")
    assert.matches("^path,calls,[^\n]+\na,1,[^\n]+\na/b,2,[^\n]+\na/b/a,1,", out)
    assert.are.equal("kind,events\nEnter,6\nLeave,6\n", (shown(path, "--csv --table kinds"):gsub("\r", "")))
    assert.matches("%-%-table is of %-%-csv", (shown(path, "--table kinds")))
    assert.matches("%-%-table needs regions, paths, messages", (shown(path, "--csv --table frogs")))
    assert.are.equal(6, cjson.decode((shown(path, "--json"))).kinds[1].events)
  end)

  it("reads the intact part of a cut trace, and reports the missing part", function()
    local calls = {}
    for i = 1, 3000 do
      for k, l in ipairs { "one", "two" } do
        calls[#calls + 1] = { l, "+", "r", 100 * i }
        calls[#calls + 1] = { l, "-", "r", 100 * i + 10 * k }
      end
    end
    local path = planted("cut", calls)
    local file = path:gsub("%.otf2$", "/1.evt")
    local whole = support.slurp(file)
    for _, left in ipairs { 0, 1, 20, #whole // 3, #whole // 2, #whole - 2, #whole - 1 } do
      support.spit(file, whole:sub(1, left))
      local t <close> = assert(pml.trace.open(path))
      local n = math.min(6000, math.max(0, (left - 18) // 11)) -- behind a header; an event and its time are 11 bytes
      for threads = 1, 2 do
        local rows, odd = assert(t:group { by = { "location" }, threads = threads })
        assert.are.same({ n > 0 and 2 or 1, 1, 3000, 1, 6000 - n }, { #rows, rows[1].location, rows[1].calls, odd.damaged,
          odd.lost })
        assert.are.same({ (n + 1) // 2, n // 2 }, n == 0 and { 0, 0 } or { rows[2].calls, odd.kinds.Leave - 3000 })
      end
      for _, order in ipairs { "time", "location" } do
        assert.are.same({ 6000 + n, 1 }, { t:each(function() end, { order = order }) })
      end
    end
    support.spit(file, whole:sub(1, 18 + 11 * 1000 + 5))
    local out, code = shown(path)
    assert.are.equal(0, code, out)
    assert.matches("\n1 location is cut or damaged: its events are missing from there on, or all\n"
      .. "5000 events that the definitions count are not in the files\n", out)
    for name in require "lfs".dir(os.getenv "TMPDIR" or "/tmp") do assert.is_nil(name:find "^pmlua%-cut") end
    os.remove(file)
    local t <close> = assert(pml.trace.open(path))
    local rows, odd = assert(t:group { by = { "location" }, threads = 2 })
    assert.are.same({ 1, 6000 }, { #rows, odd.lost })
    local first = path:gsub("%.otf2$", "/0.evt")
    support.spit(first, support.slurp(first):sub(1, -2))
    assert.are.same({ "EFORMAT", "EFORMAT" }, { select(3, t:group()), (select(3, t:each(function() end))) })
  end)

  it("draws timeline, profile and metrics", function()
    if select(2, sh("gnuplot --version", 10)) ~= 0 then return pending("gnuplot is not installed") end
    local path = planted("drawn", CALLS)
    local picture = folder .. "/picture.svg"
    for _, kind in ipairs { "timeline", "profile" } do
      local out, code = shown(path, ("--plot %s=%s"):format(kind, picture))
      assert.are.equal(0, code, out)
      assert.are.equal(picture .. "\n", out)
      local svg = support.slurp(picture)
      assert.matches("<svg", svg)
      assert.falsy(svg:find ">MPI<") -- the key of bars has it if there are any
      os.remove(picture)
    end
    for kind, why in pairs { metrics = "no values of metrics are in the trace", matrix = "no message between ranks" } do
      local out, code = shown(path, ("--plot %s=%s"):format(kind, picture))
      assert.are.equal(1, code)
      assert.matches("^pmlua trace: " .. why .. "[^\n]+\n$", out)
    end
    assert.matches("%-%-plot: timeline, profile, matrix or metrics", (shown(path, "--plot frog")))
  end)

  mpi_job.it_once("has the messages of a job, equal to its summary", function(name)
    local to, program = os.tmpname(), mpi_job.compile(name, "messages", folder, "-w")
    os.remove(to)
    mpi_job.traced(name, 4, program, to)
    local trace, sum = cjson.decode((shown(to .. "/traces.otf2", "--json"))), cjson.decode(mpi_job.report(to, "--json"))
    local counted = {}
    for i, p in ipairs(sum.pairs) do counted[i] = { from = p.from, to = p.to, messages = p.messages, bytes = p.bytes } end
    assert.are.same(counted, trace.messages)
    assert.are.same({}, trace.oddities)
    local calls = {}
    for _, r in ipairs(trace.regions) do calls[r.region] = r.calls end
    for _, c in ipairs(sum.calls) do
      if c.name:find "^MPI_" and c.name ~= "MPI_Finalize" then assert.are.equal(c.calls, calls[c.name], c.name) end
    end
    if support.has "gnuplot" then
      shown(to .. "/traces.otf2", "--plot profile=" .. to .. "/profile.svg")
      assert.matches(">MPI<", support.slurp(to .. "/profile.svg"))
    end
    os.execute("rm -rf " .. to)
  end)

  it("refuses in one line what is no trace, cut, or damaged", function()
    local path = planted("damaged", CALLS)
    local dir = path:match "^(.*)/"
    support.spit(dir .. "/no.otf2", "[Archive]\n")
    support.spit(dir .. "/no.txt", "")
    assert(os.rename(path, dir .. "/anchor.txt"))
    for _, file in ipairs { "no.otf2", "no.txt", "traces.def", "anchor.txt" } do
      local t, err, code = pml.trace.open(dir .. "/" .. file)
      assert.are.same({ nil, "EFORMAT" }, { t, code })
      assert.truthy(err:find("/" .. file .. ": not an OTF2 archive; name its anchor file, which ends in .otf2", 1, true), err)
    end
    assert(os.rename(dir .. "/anchor.txt", path))
    assert.are.equal("ENOENT", select(3, pml.trace.open(dir .. "/nowhere.otf2")))
    for _, file in ipairs { "no.otf2", "nowhere.otf2" } do
      local out, code = shown(dir .. "/" .. file)
      assert.are.equal(1, code, file)
      assert.matches("^pmlua trace: [^\n]+\n$", out)
    end
    local out, code = shown(path)
    assert.are.equal(0, code, out)
  end)
end)

describe("pmlua compare of two traces", function()
  local function compared(a, b, options)
    return sh(("%s/pmlua compare %s %s %s"):format(support.build, options or "", a, b), 60)
  end

  it("names call paths that became slower, in parts that add up", function()
    local slower = {}
    for i, c in ipairs(CALLS) do -- a unchanged, b inside it 200 longer, c on the other location 1000 shorter, d is new
      slower[i] = { c[1], c[2], c[3], c[4] + (c[1] == "one" and c[4] >= 700 and 200 or 0)
        - (c[1] == "two" and c[4] == 2150 and 990 or 0) }
    end
    table.insert(slower, { "one", "+", "d", 2000 })
    table.insert(slower, { "one", "-", "d", 2050 })
    local a, rate = planted("before", CALLS)
    local b = planted("after", slower)
    local r, of, sum, parts = cjson.decode((compared(a, b, "--json"))), {}, 0, 0
    for _, p in ipairs(r.paths) do
      of[p.path] = math.floor(p.difference_s * rate + 0.5)
      sum, parts = sum + p.difference_s, parts + p.part
    end
    assert.are.same({ a = 0, ["a/b"] = 200, ["a/b/a"] = 0, c = -990, ["c/b"] = 0, d = 50 }, of)
    assert.is_near(r.difference_s, sum, 1e-12)
    assert.is_near(1, parts, 1e-9)
    assert.are.equal(-740, math.floor(r.difference_s * rate + 0.5))
    local out, code = compared(a, b)
    assert.are.equal(0, code, out)
    assert.matches("\nc +1 +1 .*\na/b +2 +2 .*\nd +0 +1 .*\nall .* 100%.0 %%\n", out)
    assert.matches("^path,calls_a,calls_b,a_s,b_s,difference_s,part\r?\nc,1,1,", (compared(a, b, "--csv")))
  end)

  it("fails on a verdict, and refuses other files in one line", function()
    local a, b = planted("was", CALLS), planted("is", { { "one", "+", "a", 0 }, { "one", "-", "a", 9000 } })
    local out, code = compared(a, b, "--csv --fail-on slower:50%")
    assert.are.equal(1, code)
    assert.matches("\npmlua compare: slower by %d+", "\n" .. out)
    assert.are.equal(0, select(2, compared(b, a, "--fail-on slower:50%")))
    out, code = compared(a, folder .. "/nowhere.otf2")
    assert.are.equal(1, code)
    assert.matches("^pmlua compare: [^\n]+nowhere.otf2: No such file or directory\n$", out)
  end)
end)
