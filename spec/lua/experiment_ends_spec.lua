-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/experiment_ends_spec.lua - what an experiment leaves that is ended, by a full disk, an interrupt, a kill; and what it
-- says of how far it is.

local support = require "spec.core.support"

local dat = require "pmlua.internal.dat"
local demo = require "spec.lua.demo"
local lfs = require "lfs"
local results = require "pmlua.results"

local run, script, csv = demo.run, demo.script, demo.csv

describe("an experiment that is ended", function()
  it("survives a full disk: reports it once, keeps the tables, shows the summary", function()
    local dir = support.folder()
    if os.execute("test $(id -u) != 0") or not os.execute(("mount -t tmpfs -o size=600k pmlua %s 2>/dev/null"):format(dir)) then
      return pending "a small file system cannot be mounted here"
    end
    local path = script [[
return require "pmlua".experiment { name = "demo", repeats = 200000, warmup = 0, unit = "ns", measure = function(_, _, n)
  local out = {}
  for i = 1, n do out[i] = math.random(1 << 40) end
  return out
end }]]
    local code, out, err = support.pmlua(("%s --quiet --no-plot -o %s"):format(path, dir))
    local opened, why = results.open(dir .. "/demo/latest")
    os.execute("umount " .. dir)
    assert.equal(1, code)
    assert.matches("^pmlua: [^\n]*No space left on device[^\n]*\n$", err)
    assert.matches("failed, 200000 samples", out)
    assert.is_truthy(opened, why)
    assert.equal("failed", opened.status)
    assert.equal(200000, opened.data.rows[1].samples)
  end)

  local endless = [[
local pml = require "pmlua"
return pml.experiment { name = "demo", factors = { k = { 1, 2 } }, rounds = 100000, repeats = 1000000, warmup = 0, unit = "ns",
  measure = function(_, p, n)
    local out = {}
    for i = 1, n do out[i] = p.k end
    pml.sys.sleep(0.005)
    return out
  end }
]]

  -- Start it, wait until two rounds are written, signal it; the status of the process.
  local function stop(signal)
    local path, dir = script(endless)
    local code, out, err = support.shell(([[%s/pmlua %s --quiet --no-plot -o %s & p=$!
      i=0; while [ $i -lt 3000 ] && ! grep -qs '"rounds_done": [2-9]' %s/demo/latest/meta.json; do sleep 0.02; i=$((i + 1)); done
      kill -%s $p; wait $p]]):format(support.build, path, dir, dir, signal))
    return code, out, err, dir .. "/demo/latest"
  end

  it("keeps everything on Ctrl-C, prints 'interrupted', and exits 1", function()
    local code, out, err, dir = stop("INT")
    assert.equal(1, code)
    assert.matches("^pmlua: demo: interrupted at cell k=%d, round %d+; earlier measurements are kept\n$", err)
    assert.matches("interrupted, %d+ samples", out)
    local opened = assert(results.open(dir))
    assert.equal("interrupted", opened.status)
    assert.is_true(#opened.rounds.rows >= 4)
    local total = 0
    for _, row in ipairs(opened.rounds.rows) do total = total + row.samples end
    assert.equal(total + 1, select(2, csv(dir):gsub("\n", "")))
    assert.equal(0, (support.shell("gzip -t " .. dir .. "/samples.csv.gz")))
  end)

  -- Samples of `seconds` each, the third of which the interrupt meets, sent by the terminal or to the process alone.
  it("keeps no sample that an interrupt touched, in a child or in Lua", function()
    for what, wait in pairs {
      execute = "os.execute('exec sleep ' .. seconds)",
      popen = "io.popen('sleep ' .. seconds .. '; echo'):read 'a'",
      command = "local c = pml.command.spawn { 'sleep', seconds } c:start() c:wait()",
      caught = "for _ = 1, seconds * 1e5 do pcall(os.execute, 'exec sleep 0.01') end",
      sleep = "pml.sys.sleep(tonumber(seconds))",
    } do
      local path, dir = script(([[
local pml = require "pmlua"
local calls = 0
return pml.experiment { name = "demo", rounds = 1, repeats = 100, warmup = 0, unit = "ns", measure = function()
  calls = calls + 1
  local seconds = calls == 3 and "1000" or "0"
  if calls == 3 then print "reached" io.stdout:flush() end
  %s
  return calls
end }]]):format(wait))
      local arguments = ("%s/pmlua %s --quiet --no-plot -o %s"):format(support.build, path, dir)
      local steps = support.quote '[["expect", "reached"], ["send", "\\u0003"]]'
      local code, out = support.shell(("python3 %s/spec/terminal.py 80 %s -- %s"):format(support.root, steps, arguments))
      assert.equal(1, code, what .. out)
      local opened = assert(results.open(dir .. "/demo/latest"))
      assert.same({ "interrupted", 2, 2 }, { opened.status, opened.data.rows[1].samples, opened.data.rows[1].max }, what)
      code = support.shell(([[%s >%s/out & p=$!
        until grep -qs reached %s/out; do sleep 0.05; done; sleep 0.2; kill -TERM $p; wait $p]]):format(arguments, dir, dir))
      assert.equal(1, code)
      opened = assert(results.open(dir .. "/demo/latest"))
      assert.same({ "interrupted", 2, 2 }, { opened.status, opened.data.rows[1].samples, opened.data.rows[1].max }, what)
      assert.equal(3, select(2, csv(opened.path):gsub("\n", "")))
    end
  end)

  --- Kill a run once it has taken so many samples. They are what it wrote to a file as it took them.
  local function killed_after(samples, body)
    local path, dir = script(([[local pml = require "pmlua"
      local told = io.open(os.getenv "TOLD", "w")
      told:setvbuf "no"
      return pml.experiment { name = "demo", repeats = 50, warmup = 0, unit = "ns",
        %s }]]):format(body))
    support.shell(([[TOLD=%s/told %s/pmlua %s -o %s --no-plot --quiet >%s/out 2>&1 & p=$!; n=0
      until [ "$(grep -cs . %s/told)" -ge %d ] 2>/dev/null || [ $n = 200 ]; do sleep 0.05; n=$((n + 1)); done
      kill -KILL $p; wait $p]]):format(dir, support.build, path, dir, dir, dir, samples))
    local values = {}
    for line in io.lines(dir .. "/told") do values[#values + 1] = assert(tonumber(line)) end
    local opened = assert(results.open(dir .. "/demo/latest"))
    local n = 0
    for _, row in ipairs(opened.data.rows) do n = n + math.tointeger(row.samples) end
    return opened, n, values, dir
  end

  it("leaves the samples of the visit in which it was killed, before its first cell ends", function()
    for what, body in pairs {
      one_by_one = [[factors = { k = { 1, 2 } }, rounds = 1, measure = function(_, p)
          os.execute "sleep 0.02"
          taken = (taken or 0) + 1
          told:write(taken * 10 + 0.5, "\n")
          return taken * 10 + 0.5
        end]],
      series = [[factors = { k = { 1, 2 } }, rounds = 1, measure = function(_, p, n)
          local s = pml.samples.new(n)
          for i = 1, n do
            os.execute "sleep 0.02"
            told:write(i * 10, "\n")
            s:push(i * 10)
          end
          return s
        end]] } do
      local opened, n, values, dir = killed_after(8, body)
      assert.equal("incomplete", opened.status, what)
      assert.equal(("was killed; %d samples of 100"):format(n), opened.ending)
      assert.is_true(n == #values or n == #values - 1, ("%s: %d of %d"):format(what, n, #values))
      local row = opened.data.rows[opened.data.rows[1].samples > 0 and 1 or 2]
      assert.same({ values[1], values[n] }, { row.min, row.max })
      assert.equal(n, opened.rounds.rows[1].samples)
      local _, _, err = support.pmlua("plot " .. opened.path)
      assert.matches("this run is incomplete %(was killed; " .. n .. " samples of 100%)", err)
      local _, out = support.pmlua("report " .. opened.path)
      assert.matches("^demo: was killed; " .. n .. " samples of 100\n", out)
      assert.matches("\n[12] +ok +" .. n .. " ", out)
      _, _, err = support.pmlua(("compare %s %s"):format(opened.path, opened.path))
      assert.matches("A is incomplete %(was killed; " .. n .. " samples of 100%)", err)
      assert.equal(opened.ending, assert(results.open(dir .. "/demo/latest")).ending)
    end
  end)

  it("leaves outliers, metrics and its own columns, also of cells that were in no table yet", function()
    local opened = killed_after(13, [[factors = { k = { 1, 2, 3 } }, rounds = 10,
      metrics = { { name = "faults" } },
      columns = { { name = "tenfold", unit = "", value = function(c) return c.summary.n * 10 + 0.5 end },
        { name = "word", unit = "text", value = function(c) return "cell-" .. c.index end } },
      measure = function(_, p)
        os.execute "sleep 0.03"
        taken = (taken or 0) + 1
        local v = taken % 5 == 0 and 1000 or 10
        told:write(v, "\n")
        return v, { faults = 7 * p.k }
      end]])
    local outliers, high = assert(dat.read(opened.path .. "/outliers.dat")).rows, 0
    for k, row in ipairs(opened.data.rows) do -- two visits were whole, perhaps more; one was under way
      local whole = row.samples // 5
      high = high + whole
      assert.equal(7 * k, row.faults)
      assert.same({ whole > 0 and 50 * whole + 0.5 or nil, whole > 0 and "cell-" .. k or "" }, { row.tenfold, row.word })
    end
    assert.is_true(high >= 2)
    for _, row in ipairs(opened.rounds.rows) do assert.equal(7 * row.cell, row.faults) end
    assert.equal(high, #outliers)
    for _, row in ipairs(outliers) do assert.same({ 4, 1000 }, { row.index, row.value }) end
  end)

  -- Killed after random times, before its first sample, while it resumes, or within a visit: 20 rounds of 5 samples each.
  it("has each sample once when it is resumed, however often it was killed", function()
    local seed = tonumber(os.getenv "PMLUA_SPEC_SEED") or os.time()
    local random = require "pmlua.internal.rng"(seed)
    for kind, gives in pairs {
      one_by_one = "return 10 * p.k + o.more, { faults = 7 * p.k }",
      array = "local t = {} for i = 1, n do t[i] = 10 * p.k + o.more end return t, { faults = 7 * p.k }",
      series = "local s = pml.samples.new(n) for _ = 1, n do s:push(10 * p.k + o.more) end return s, { faults = 7 * p.k }" } do
      local where = ("%s, PMLUA_SPEC_SEED=%d"):format(kind, seed)
      local path, dir = script(([[local pml = require "pmlua"
        return pml.experiment { name = "demo", factors = { k = { 1, 2, 3 } }, rounds = 20, repeats = 100, warmup = 0,
          unit = "ns", metrics = { { name = "faults" } }, options = { { name = "more", type = "integer", default = 0 } },
          measure = function(_, p, n, o) pml.sys.sleep(0.006) %s end }]]):format(gives))
      local run_of, latest = ("%s/pmlua %s --quiet --no-plot"):format(support.build, path), dir .. "/demo/latest"
      local line, kills = ("%s -o %s --more 3"):format(run_of, dir), 0
      repeat
        local code = support.shell(("timeout -s KILL %.3f %s"):format(0.03 + random(200) / 1000, line))
        kills = kills + (code == 137 and 1 or 0)
        if lfs.attributes(latest, "mode") then line = ("%s --resume %s"):format(run_of, latest) end
      until code == 0 or kills == 12
      local last = results.open(latest)
      if not (last and last.complete) then support.done(support.shell(line)) end
      assert.is_true(kills >= 2, where)
      local opened, seen = assert(results.open(latest)), {}
      assert.same({ "complete", 60 }, { opened.status, #opened.rounds.rows }, where)
      for cell, round, index, value in csv(latest):gmatch "(%d+),(%d+),(%d+),(%d+)\n" do
        local sample = ("%s %s %s"):format(cell, round, index)
        assert.is_nil(seen[sample], where)
        seen[sample] = true
        assert.equal(10 * cell + 3, tonumber(value), where)
      end
      local n = 0
      for _ in pairs(seen) do n = n + 1 end
      assert.equal(300, n, where)
      for k, row in ipairs(opened.data.rows) do
        assert.same({ 100, 10 * k + 3, 7 * k }, { row.samples, row.median, row.faults }, where)
      end
      for _, row in ipairs(opened.rounds.rows) do assert.same({ 5, 7 * row.cell }, { row.samples, row.faults }, where) end
      local position = {}
      for _, row in ipairs(opened.rounds.rows) do position[row.round] = (position[row.round] or 0) + row.position end
      for round = 1, 20 do assert.equal(6, position[round], where) end
      assert.is_nil(lfs.attributes(latest .. "/samples.pmlog"), where)
    end
  end)

  it("is resumed only where it would be the same run", function()
    local code, _, _, dir = stop("INT")
    assert.equal(1, code)
    local other = script [[return require "pmlua".experiment { name = "demo", measure = function() return 1 end }]]
    local same = script(endless)
    local cases = {
      { other, "the [%a ]+ is not the same as before; start a new run" }, { same .. " --seed 1", "%-%-resume and %-%-seed" },
      { same .. " -o x", "%-%-resume and %-%-out%-dir" },
      { script [[return require "pmlua".experiment { name = "other", measure = print }]], "not a run of other" },
    }
    for _, c in ipairs(cases) do
      local status, _, err = support.pmlua(("%s --resume %s"):format(c[1], dir))
      assert.is_true(status > 0)
      assert.matches(c[2], err)
    end
    local complete = run()
    local status, _, err = support.pmlua(("%s --resume %s"):format(same, complete.dir))
    assert.same({ 1, "pmlua: " .. complete.dir .. ": the run is complete; a new run has no --resume\n" }, { status, err })
  end)

  it("leaves no log when it ends", function()
    local r = run()
    assert.is_nil(lfs.attributes(r.dir .. "/samples.pmlog"))
  end)
end)

describe("progress", function()
  local progress = require "pmlua.internal.experiment.progress"

  local function sink()
    local text = {}
    return { write = function(_, ...) for _, s in ipairs { ... } do text[#text + 1] = s end end, flush = function() end }, text
  end

  local function drive(o)
    local now, out, text = 0, sink()
    o.out = out
    o.now = function() return now end
    local p = progress.new(o)
    for round = 1, 2 do
      for _, cell in ipairs { "a", "b" } do
        p:step(cell, round)
        now = now + (o.step or 40)
        p:advance()
      end
    end
    p:done()
    return table.concat(text)
  end

  it("is a line at most every ten seconds without a terminal", function()
    assert.equal("25 % of the cells measured, 2 min 00 s left\n50 % of the cells measured, 1 min 20 s left\n"
      .. "75 % of the cells measured, 40 s left\n100 % of the cells measured\n", drive { total = 4, rounds = 2 })
    assert.equal("50 % of the cells measured, 12 s left\n100 % of the cells measured\n",
      drive { total = 4, rounds = 2, step = 6 })
    assert.equal("", drive { total = 4, rounds = 2, step = 2 })
  end)

  it("is one changing line on a terminal, removed at the end", function()
    local text = drive { total = 4, rounds = 2, tty = true }
    assert.is_nil(text:find("\n"))
    assert.matches("\rround 2/2   75 %%  b  %(40 s left%)", text)
    assert.matches("\r +\r$", text)
  end)

  it("estimates the end from a budget, if it has one", function()
    assert.matches("^50 %% of the cells measured, 40 s left\n",
      drive { total = 400, rounds = 200, budget = { seconds = 90, rounds = 1 } })
  end)

  it("is silent on request", function()
    assert.equal("", drive { total = 4, rounds = 2, quiet = true })
  end)
end)
