-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/archive_spec.lua - tests of the one OTF2 archive of all processes and ranks: pmlua record --trace, and pmlua trace.

local mpi_job = require "spec.lua.mpi_job"
local recording = require "spec.lua.recording"
local support = require "spec.core.support"
local quote = support.quote

local at, command, made = recording.place(), recording.command, support.build .. "/spec/archive"
local dir, shell = at.dir, at.shell
local RECORD = command .. " record --trace --sym crc32 -o r -- ./calls fork:1 crc32:10 wait"

--- The output of the validator for an archive; nil if it is not installed.
local function verdict(folder, options)
  local _, said = support.shell(("/usr/bin/python3 spec/otf2_validate.py %s %s/%s/traces.otf2"):format(options or "",
    quote(dir), folder))
  return not said:find "^unavailable" and said or nil
end

--- The number of lines with each of @words in the definitions or events of an archive. The archive must be valid, or have exactly
--- the faults in @expected.
local function counted(folder, words, what, expected)
  local said = verdict(folder)
  if said then assert.equal(expected or "ok", not expected and said:match "^ok" or said) end
  local n, out, complaints = at.printed(folder, words, what)
  assert.equal("", complaints)
  return n, out
end

describe("one archive of all processes", function()
  local function archive_it(name, f)
    support.with "otf2-print" (name, function()
      shell "rm -rf r"
      return f()
    end)
  end

  archive_it("has each process as a separate group, and a region of both once", function()
    support.done(shell(RECORD))
    local n, definitions = counted("r", { "LOCATION_GROUP", "LOCATION", "REGION", "SYSTEM_TREE_NODE" }, "-G")
    assert.same({ 2, 2, 1, 1 }, n)
    assert.equal(2, select(2, definitions:gsub('Name: "calls %(%d+%)"', "")))
    assert.same({ 20, 20 }, (counted("r", { "ENTER", "LEAVE" })))
    assert.equal("0\n", (select(2, shell "ls -d r/trace-* 2>/dev/null | wc -l")))
  end)

  archive_it("has each process's calls by their names, even if processes number them in different orders", function()
    shell(command .. " record --trace --sym crc32 --sym adler32 --event page-faults -o r -- ./calls fork:1 crc32:3 wait")
    local said, events = verdict "r", select(2, shell "otf2-print r/traces.otf2")
    if said then assert.matches("^ok: 2 locations", said) end
    local child = events:match '\nENTER +(%d+) +%d+ +Region: "adler32"'
    local function entered(name)
      return select(2, events:gsub(('\nENTER +%s +%%d+ +Region: "%s"'):format(child, name), ""))
    end
    assert.same({ 3, 1 }, { entered "crc32", entered "adler32" })
    assert.equal(7, select(2, events:gsub("\nENTER ", "")))
    assert.equal(14, select(2, events:gsub("\nMETRIC [^\n]*page%-faults", "")))
  end)

  archive_it("is written by the ranks of a job that end together, and is one", function()
    local ranks = {}
    for rank = 0, 2 do
      ranks[rank + 1] = ("{ sleep 0.%d; env PMI_RANK=%d PMI_SIZE=3 %s; }"):format(2 * (2 - rank), rank, RECORD)
    end
    local _, err = support.done(shell("{ " .. table.concat(ranks, " & ") .. "; wait; }"))
    assert.same({ 6, 60 }, { (counted("r", { "LOCATION_GROUP" }, "-G"))[1], (counted("r", { "ENTER" }))[1] })
    assert.equal("1\n", (select(2, shell "find r -name '*.otf2' | wc -l")))
    assert.equal("", (select(2, shell "find r -name '.making*'")))
    assert.falsy(err:find("pmlua record: [^\n]*trace"), err)
  end)

  archive_it("is written although a rank has recorded nothing", function()
    local line = "env PMI_RANK=%d PMI_SIZE=2 %s record --trace --sym crc32 -o r -- %s; "
    support.done(shell(line:format(0, command, "./calls fork:1 crc32:10 wait") .. line:format(1, command, "/bin/true")))
    assert.same({ 20, 20 }, (counted("r", { "ENTER", "LEAVE" })))
  end)

  archive_it("is written by rank 0 alone, and is the same if made again", function()
    shell(command .. " record --trace --sym crc32 --sym adler32 -o r -- ./calls fork:1 crc32:10 wait")
    local line, print = "env PMI_RANK=%d PMI_SIZE=3 %s trace r -o r/3", "otf2-print %s r/%s/traces.otf2 | sort"
    local status, said, err = shell(("{ %s & %s & %s; wait; }"):format(line:format(1, command), line:format(2, command),
      line:format(0, command)))
    assert.same({ 0, "r/3/traces.otf2\n", "" }, { status, said, err })
    for _, what in ipairs { "", "-G" } do
      local alone = select(2, shell(print:format(what, ".")))
      assert.is_true(#alone > 1000)
      assert.equal(alone, (select(2, shell(print:format(what, "3")))))
    end
    assert.equal("", (select(2, shell "find r -name '.making*'")))
  end)

  archive_it("is not overwritten", function()
    shell(RECORD)
    local status, _, err = shell(command .. " trace r")
    assert.equal(1, status)
    assert.matches("^pmlua trace: the trace 'r/traces.otf2' already exists; remove it or choose another folder\n$", err)
    local said
    status, said = shell(command .. " trace r -o r/again")
    assert.same({ 0, "r/again/traces.otf2\n" }, { status, said })
    assert.same({ 20, 20 }, (counted("r/again", { "ENTER", "LEAVE" })))
    status, _, err = shell(command .. " record --trace --sym crc32 -o r/again -- ./calls fork:1 crc32:10 wait")
    assert.equal(1, status)
    assert.truthy(err:find("r/again already has results of a recording", 1, true), err)
  end)

  archive_it("names the log that is cut short", function()
    shell(RECORD .. "; rm -r r/traces*; truncate -s -4096 r/*.pmlog")
    local status, said, err = shell(command .. " trace r")
    assert.same({ 0, "r/traces.otf2\n" }, { status, said })
    assert.equal(2, select(2, err:gsub("pmlua trace: r/%S+%.pmlog: the log is cut short; events are missing\n", "")), err)
  end)

  archive_it("is made of the remaining files if pmlua was killed", function()
    local line = "true; setsid %s record --trace --sym crc32 -o r -- ./calls fork:1 crc32:10 ask sleep:999999 wait >said 2>&1 & "
      .. "until test $(grep -c asks said) = 2; do sleep 0.05; done; kill -9 -$!; wait"
    shell(line:format(command))
    assert.not_equal(0, (shell "ls r/traces.otf2"))
    local status, said, err = shell(command .. " trace r")
    assert.same({ 0, "r/traces.otf2\n", "" }, { status, said, err })
    assert.same({ 20, 20 }, (counted("r", { "ENTER", "LEAVE" })))
  end)

  archive_it("leaves out files that are no logs, with a line, and reports if no log remains", function()
    shell(RECORD .. "; rm -r r/traces*; echo garbage >r/here.1.pmlog")
    local status, _, err = shell(command .. " trace r")
    assert.equal(0, status)
    assert.matches("^pmlua trace: [^\n]*r/here%.1%.pmlog[^\n]*\n$", err)
    assert.same({ 20, 20 }, (counted("r", { "ENTER", "LEAVE" })))
    for line, why in pairs {
      ["mkdir r/none; %s trace r/none"] = "r/none: no logs of recorded processes (*.pmlog)",
      ["%s trace nothing"] = "nothing: no such folder; name a folder of pmlua record, or a trace (*.otf2)",
      ["%s trace calls"] = "calls: neither a folder nor a trace (*.otf2)",
      ["%s record --sym crc32 -o r/plain -- ./calls fork:1 crc32:1 wait 2>/dev/null; %s trace r/plain"] =
        "r/plain: no process recorded events; record with --trace",
    } do
      status, _, err = shell((line:gsub("%%s", command)))
      assert.same({ 1, "pmlua trace: " .. why .. "\n" }, { status, err })
    end
  end)
end)

describe("the trace of an experiment", function()
  it("that was killed is made later from the log that it left", function()
    support.spit(dir .. "/slow.lua", [[
      local pml, calls = require "pmlua", 0
      return pml.experiment { name = "slow", factors = { n = { 1, 2 } }, repeats = 10,
        measure = function()
          calls = calls + 1
          if calls == 15 then io.open("measured", "w"):close() end
          pml.sys.sleep(0.1)
          return 1
        end }
    ]])
    local line = "true; setsid %s slow.lua -o results >said 2>&1 & "
      .. "until test -e measured; do sleep 0.05; done; kill -9 -$!; wait"
    shell(line:format(command))
    assert.equal(0, (shell "test -e results/slow/latest/samples.pmlog"))
    local status, said, err = shell(command .. " trace results/slow/latest -o made")
    assert.same({ 0, "made/traces.otf2\n" }, { status, said }, err)
    local _, events = shell "otf2-print made/traces.otf2"
    local region, samples = events:find 'ENTER[^\n]*Region: "1"', events:find 'METRIC[^\n]*"samples"'
    assert.truthy(not support.has "otf2-print" or region and samples, events)
    assert.equal(0, (shell(command .. " slow.lua -o results --quick >said 2>&1")))
    status, said, err = shell(command .. " trace results/slow/latest -o made")
    assert.same({ 1, "" }, { status, said })
    assert.truthy(err:find("this run has its trace: results/slow/latest/traces.otf2", 1, true), err)
  end)
end)

describe("the archive of a job of MPI", function()
  --- The warnings of pmlua trace for an archive of a job that spec/c/archive.c writes.
  local notes = {}
  local function archived(how)
    if not notes[how] then
      local line = "mkdir %s && %s write %s %s >said && %s trace %s"
      local out, err = support.done(shell(line:format(how, made, how, how, command, how)))
      assert.equal(how .. "/traces.otf2\n", out)
      notes[how] = err
    end
    return notes[how]
  end

  it("has no message that arrives before it was sent, for any clocks", function()
    local early = "pmlua trace: %d of 400 messages arrived before they were sent, by the clocks of their ranks; "
      .. "in the trace, 0 do\n"
    for how, n in pairs { exact = 0, offset = 0, unmeasured = 300, inexact = 100, bent = 50,
      curved = 99 } do
      local noted = archived(how):gsub("Waiting for others, by rank\n.*$", "")
      assert.same({ how, n > 0 and early:format(n) or "" }, { how, noted })
      assert.same({ how, "ok: 4 locations, 2800 events\n" }, { how, verdict(how) or "ok: 4 locations, 2800 events\n" })
    end
  end)

  support.with "otf2-print" ("follows clocks that bend between their measurements, by the messages alone", function()
    archived "curved"
    local _, text = counted("curved", { "MPI_SEND" })
    local sent = { [0] = {}, {}, {}, {} }
    for rank, ns in text:gmatch "\nMPI_SEND +(%d+) +(%d+)" do table.insert(sent[tonumber(rank)], tonumber(ns)) end
    -- rank r's clock is wrong by up to r * 400 us. The four messages of a ring take 20 us each, so that nothing tells 80 us
    -- apart; between knots a clock that bends like this is off its chord by less than 1 us
    local worst = 0
    for rank = 1, 3 do
      assert.equal(100, #sent[rank])
      for i, ns in ipairs(sent[rank]) do worst = math.max(worst, math.abs(ns - sent[0][i])) end
    end
    assert(worst <= 81000, worst .. " ns")
  end)

  it("has both jobs whose logs are in one folder, each with its own ranks, messages and waits", function()
    assert.equal(0, (shell(("mkdir both && %s write both exact && %s write both late"):format(made, made))))
    local _, err = support.done(shell(("%s trace both"):format(command)))
    assert.matches("pmlua trace: the logs come from 2 MPI jobs, whose ranks are numbered one after the other\n", err)
    assert.equal("ok: 8 locations, 5600 events\n", verdict "both" or "ok: 8 locations, 5600 events\n")
    local _, text = shell(("%s trace --waits --json both/traces.otf2"):format(command))
    local read, sent, waited = require "pmlua.json".decode(text), {}, {}
    for _, m in ipairs(read.messages) do sent[#sent + 1] = ("%d>%d %d"):format(m.from, m.to, m.messages) end
    table.sort(sent)
    assert.same({ "0>1 100", "1>2 100", "2>3 100", "3>0 100", "4>5 100", "5>6 100", "6>7 100", "7>4 100" }, sent)
    for _, w in ipairs(read.waits) do
      assert.equal(5, w.for_rank) -- rank 1 of the second job is late
      waited[w.kind] = w.rank
    end
    assert.same({ ["late sender"] = 6, ["late receiver"] = 4, barrier = 4 }, waited)
  end)

  support.with "otf2-print" ("has what readers expect of ranks, hosts, communicators and roles", function()
    archived "exact"
    local n, definitions = counted("exact", { "SYSTEM_TREE_NODE", "LOCATION_GROUP", "GROUP", "COMM" }, "-G")
    assert.same({ 4, 4, 5, 2 + 1 }, n)
    for rank = 0, 3 do
      local pattern = '\nLOCATION_GROUP +%d +Name: "MPI Rank %d" <%%d+>, Type: PROCESS, Parent: "node::host%d"'
      assert.matches(pattern:format(rank, rank, rank), definitions)
    end
    assert.matches('Name: "MPI_Sendrecv".-Role: POINT2POINT, Paradigm: MPI', definitions)
    assert.matches('Type: COMM_LOCATIONS, Paradigm: MPI, Flags: NONE, 4 Members: "thread 100" <0>, "thread 101" <1>', definitions)
    assert.matches('\nCOMM +%d+ +Name: "pair" <%d+>, Group: "" <%d+>, Parent: "MPI_COMM_WORLD"', definitions)
    local events = counted("exact", { "MPI_SEND", "MPI_IRECV_REQUEST", "MPI_IRECV", "MPI_COLLECTIVE_END" })
    assert.same({ 400, 400, 400, 400 }, events)
  end)

  it("has the ranks that have a log, if one has no log", function()
    local err = archived "missing"
    assert.matches("^pmlua trace: 1 of 4 ranks have no log; the trace has them without events\n", err)
    assert.matches("\npmlua trace: 200 messages have no partner: one side is not recorded\n", err)
    assert.matches("^ok: 4 locations", verdict("missing", "--cut") or "ok: 4 locations")
  end)

  it("is refused by the validator if records contradict each other", function()
    if not verdict "nothing" then return pending "python3-otf2 is not installed" end
    for how, name in pairs { missing = "message-unmatched", requests = "request-order", lengths = "message-length",
      operations = "collective-incomplete" } do
      archived(how)
      assert.truthy(("\n" .. verdict(how)):find("\n" .. name .. ": ", 1, true), how)
    end
  end)

  --- Record a program of spec/c/mpi with @ranks ranks into the folder "job": the output of both.
  local function recorded(mpi, name, ranks)
    shell "rm -rf job"
    local said = mpi_job.traced(mpi, ranks, mpi_job.compile(mpi, name, dir, "-w"), dir .. "/job")
    assert.equal("job/traces.otf2\n", (select(2, shell "find job -name '*.otf2'")))
    return said
  end

  mpi_job.it_of_each("has each message once on each side, and collective operations of all members", function(mpi)
    recorded(mpi, "messages", 4)
    assert.matches("^ok: 4 locations", verdict "job" or "ok: 4 locations")
    if not support.has "otf2-print" then return end
    local n = counted("job", { "MPI_ISEND", "MPI_IRECV", "MPI_SEND", "MPI_RECV" })
    assert.same({ 40, 40, 3, 3 }, n)
  end)

  mpi_job.it_of_each("has requests, communicators and one-sided operations of every kind", function(mpi)
    recorded(mpi, "requests", 2)
    assert.matches("^ok: 2 locations", verdict "job" or "ok: 2 locations")
    if not support.has "otf2-print" then return end
    local n = counted("job", { "COMM", "INTER_COMM", "RMA_WIN" }, "-G")
    assert.is_true(n[1] >= 5 and n[2] == 1 and n[3] == 1)
    assert.same({ 2, 2, 2 }, (counted("job", { "RMA_PUT", "RMA_GET", "RMA_ATOMIC" })))
  end)

  mpi_job.it_of_each("has each window by its name, and in its communicator", function(mpi)
    recorded(mpi, "windows", 2)
    -- rank 0 made one window while recording was off
    local unseen = "collective-incomplete: communicator 0: ranks [0, 1] of [0, 1] take part, ranks [1] in others\n"
    assert.equal(unseen, verdict "job" or unseen)
    if not support.has "otf2-print" then return end
    local _, definitions = counted("job", {}, "-G", unseen)
    for name, comm in pairs { halo = "MPI_COMM_WORLD", second = "MPI_COMM_WORLD", own = "MPI_COMM_SELF", grid = "grid" } do
      local pattern = '\nRMA_WIN +%%d+ +Name: "%s"[^\n]*Communicator: "%s"'
      assert.matches(pattern:format(name, comm), definitions)
    end
    assert.equal(5, select(2, definitions:gsub("\nRMA_WIN ", "")))
    local _, events = counted("job", {}, nil, unseen)
    for name, n in pairs { halo = 2, second = 4, grid = 6, own = 4 } do
      assert.same({ name, n }, { name, (select(2, events:gsub('\nRMA_PUT [^\n]*Window: "' .. name .. '"', ""))) })
    end
    for what, n in pairs { PUT = 16, OP_COMPLETE_BLOCKING = 16, ACQUIRE_LOCK = 0 } do
      assert.same({ what, n }, { what, (select(2, events:gsub("\nRMA_" .. what .. " ", ""))) })
    end
    for name, n in pairs { halo = 2, second = 2, grid = 2, own = 1 } do
      local function count(what) return (select(2, events:gsub(("\nRMA_%s [^\n]*Window: \"%s\""):format(what, name), ""))) end
      assert.equal(n, count "WIN_CREATE", name)
      assert.equal(n, count "WIN_DESTROY", name)
      assert.is_true(count "COLLECTIVE_END" > 0, name) -- from fences
    end
  end)

  mpi_job.it_of_each("says how long each rank waited for late senders and in collective operations", function(mpi)
    local said = recorded(mpi, "waits", 4)
    local _, text = shell(command .. " report job")
    local waits = require "pmlua.internal.report.waits".read(dir .. "/job")
    assert.truthy(text:find("Waiting for others, by rank\n", 1, true), text)
    local planted = 0
    for rank = 0, 3 do
      local late, collective, slept = said:match(("rank %d: (%%d+) (%%d+) (%%d+)"):format(rank))
      local w = waits[rank + 1]
      -- a rank may be delayed between taking the time and the call
      assert.is_true(math.abs(w.late_sender_ns - late) < slept / 3, ("rank %d: %d, not %d"):format(rank, w.late_sender_ns, late))
      assert.is_true(math.abs(w.collective_ns - collective) < slept / 3,
        ("rank %d: %d, not %d"):format(rank, w.collective_ns, collective))
      if rank ~= 1 then assert.equal(0, w.late_sender_ns) end
      planted = planted + late + collective
    end
    assert.is_true(planted > 3 * tonumber(said:match "rank 0: %d+ %d+ (%d+)"), said)
  end)

  mpi_job.it_of_each("has the messages of threads that use MPI at the same time", function(mpi)
    recorded(mpi, "threads", 2)
    assert.matches("^ok: 10 locations", verdict "job" or "ok: 10 locations")
  end)
end)
