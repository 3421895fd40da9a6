-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/mpi_reduction_spec.lua - tests of the job summary that MPI_Finalize leaves: its contents, also if a rank leaves before
-- the others.

local cjson = require "cjson"
local support = require "spec.core.support"
local mpi_job = require "spec.lua.mpi_job"
local shell = require "spec.shell"
local sh = shell.sh

local report = mpi_job.report
local folder = support.folder()

local function compile(name, program)
  local own = ({ counters = true, durations = true, ending = true, disagree = true })[program]
  return mpi_job.compile(name, program, folder, own and "-w -Icore" or "-w",
    own and ("-L%s -Wl,-rpath,%s -lpmlua"):format(support.build, support.build))
end

--- Names without much in common.
local function function_name(i) return ("f%03d_%08x"):format(i, i * 2654435761 & 0xffffffff) end

--- A program that calls a thousand short functions of a library, and a slow one.
local function compile_functions(name)
  local library = { "#include <unistd.h>\nvoid slow(void) { usleep(2000); }\n" }
  local main = { "#include <mpi.h>\nvoid slow(void);\n",
    "int main(int argc, char **argv) {\n  MPI_Init(&argc, &argv);\n  slow();\n" }
  for i = 0, 999 do
    library[#library + 1] = ("void %s(void) {}\n"):format(function_name(i))
    table.insert(main, 2, ("void %s(void);\n"):format(function_name(i)))
    main[#main + 1] = ("  %s();\n"):format(function_name(i))
  end
  main[#main + 1] = "  return MPI_Finalize();\n}\n"
  local at = ("%s/functions.%s"):format(folder, name)
  support.spit(at .. "-lib.c", table.concat(library))
  support.spit(at .. ".c", table.concat(main))
  shell.done(("gcc -shared -fPIC -o %s/libfunctions.so %s-lib.c && mpicc.%s -o %s %s.c -L%s -Wl,-rpath,%s -lfunctions")
    :format(folder, at, name, at, at, folder, folder))
  return at
end

--- Run a job; its folder, its output and its exit status. It ends within a minute.
local function run(name, ranks, command, timeout, options)
  local to = support.folder() .. "/job"
  return to, mpi_job.record(name, ranks, command, to,
    { options = options, environment = "PMLUA_MPI_TIMEOUT=" .. (timeout or 10), limit_s = 60 })
end

--- Run a job that must succeed; its folder and its output.
local function job(...)
  local to, out, code = run(...)
  assert.equal(0, code, out)
  return to, out
end

local function told(path) return cjson.decode(report(path, "--json")) end

local function calls_of(r)
  local of = {}
  for _, c in ipairs(r.calls) do
    if c.name:find "^MPI_" then of[c.name] = c end
  end
  return of
end

local function pairs_of(r)
  local list = {}
  for _, p in ipairs(r.pairs) do list[#list + 1] = ("%d>%d %d/%d"):format(p.from, p.to, p.messages, p.bytes) end
  return list
end

for name in pairs(mpi_job.RUN) do
  local it_is, once = mpi_job.it_of(name), mpi_job.it_once_of(name)

  describe("the summary of a job of " .. name, function()
    it_is("has sizes that an int does not hold, and loses only the failed call", function()
      local to, out = job(name, 2, compile(name, "sizes"))
      assert.equal(2, select(2, out:gsub("2 failed\n", "")))
      local r = told(to)
      assert.same({ 2, {}, {} }, { r.size, r.late, r.missing })
      local bcast = r.collectives[1]
      assert.same({ "bcast", 4 }, { bcast.operation, bcast.calls })
      assert.equal(2 * 2200 * (1 << 20) + 2 * 12, bcast.sent)
      assert.equal(bcast.sent, bcast.received)
      for _, p in ipairs(r.pairs) do assert.equal(0, p.bytes, "of the sends that failed") end
    end)

    it_is("has the calls and messages of all ranks", function()
      for _, ranks in ipairs { 2, 6 } do
        local to = job(name, ranks, compile(name, "messages"))
        local r = told(to)
        assert.equal(ranks, r.size)
        assert.same({ {}, {} }, { r.late, r.missing })
        local mpi = calls_of(r)
        assert.same({ 10 * ranks, 10 * ranks, ranks - 1, 1 },
          { mpi.MPI_Isend.calls, mpi.MPI_Irecv.calls, mpi.MPI_Recv.calls, mpi.MPI_Send.ranks })
        assert.equal(0, mpi.MPI_Send.most_rank)
        local sent = 0
        for i, s in ipairs(r.sent) do
          assert.same({ s.messages, s.bytes }, { r.received[i].messages, r.received[i].bytes })
          if s.least_bytes == 256 then assert.same({ 10 * ranks, 4000 * ranks }, { s.messages, s.bytes }) end
          sent = sent + s.bytes
        end
        assert.equal(4000 * ranks + 1000 * ranks * (ranks - 1) // 2, sent)
      end
    end)

    it_is("has the time of calls by the size of their messages, if there is a trace", function()
      local to = job(name, 4, compile(name, "messages"), nil, "--trace --detail ranks")
      local r, of, own = told(to), { sent = {}, received = {} }, {}
      for way, by_size in pairs(of) do
        for _, s in ipairs(r[way]) do by_size[s.least_bytes] = s.time_ns end
      end
      for _, rank in ipairs(cjson.decode(report(to, "--json --detail")).ranks) do
        own[rank.rank] = {}
        for _, c in ipairs(rank.calls) do own[rank.rank][c.name] = c.total_ns end
      end
      -- rank 0 sends 1000, 2000 and 3000 bytes, which a rank each receives by its only MPI_Recv
      local function near(expected, ns, what) assert(math.abs(expected - ns) <= 1e-4 * expected + 10, what) end
      for rank = 1, 3 do near(own[rank].MPI_Recv, of.received[({ 512, 1024, 2048 })[rank]], "rank " .. rank) end
      near(own[0].MPI_Send, of.sent[512] + of.sent[1024] + of.sent[2048], "MPI_Send")
      local mpi = calls_of(r)
      local least = mpi.MPI_Isend.total_ns + mpi.MPI_Irecv.total_ns + mpi.MPI_Waitall.total_ns
      local ring, most = of.sent[256] + of.received[256], least + mpi.MPI_Wait.total_ns + mpi.MPI_Test.total_ns
      local found = ("%.0f of %.0f to %.0f"):format(ring, least, most)
      assert(ring >= least * (1 - 1e-4) - 100 and ring <= most * (1 + 1e-4) + 100, found)
      local line = report(to):match "\n512 %- 1023 [^\n]*"
      assert(line and line:find "^\n512 %- 1023 +1 +1%.000 kB +[%d.]+ [mµn]*s +1 +1%.000 kB +[%d.]+ [mµn]*s", line)
      to = job(name, 2, compile(name, "messages"))
      for _, s in ipairs(told(to).sent) do assert.is_nil(s.time_ns) end
      assert.is_nil(report(to):find("time of all ranks", 1, true))
    end)

    it_is("has the bytes that each function of files moved", function()
      local functions = {}
      for f in support.slurp("core/adapter/mpi/pml_mpi_files.h"):gmatch "X%((%l[%l_]+)%)" do
        functions[#functions + 1] = "MPI_File_" .. f
      end
      assert.equal(28, #functions)
      local file = os.tmpname()
      local to = job(name, 3, compile(name, "files") .. " " .. file)
      os.remove(file)
      local files = told(to).files
      for k, f in ipairs(files) do
        local more = f["function"] == "MPI_File_write_at" and 8 or 0 -- rank 1 writes one double more
        assert.same({ functions[k], 24 * k + more, 8 * k + more, more > 0 and 1 or 0 },
          { f["function"], f.bytes, f.most, f.most_rank })
        assert.equal(f["function"] == "MPI_File_read_at" and 6 or more > 0 and 4 or 3, f.calls)
      end
      assert.equal(#functions, #files)
      assert.is_truthy(report(to):find("\nMPI_File_iwrite +3 +504%.0 B +168%.0 B +0\n"))
    end)

    once("has at most 8 KB a rank, and lists the functions that it has no room for", function()
      local to = job(name, 1, compile_functions(name))
      local size = #support.slurp(to .. "/job.pmlsum")
      assert(size <= 8192 and size > 6000, size)
      local note = report(to):match "(%d+) functions with the least time, [^\n]+ in all, are left out of job.pmlsum"
      local kept = {}
      for _, c in ipairs(told(to).calls) do kept[c.name] = true end
      local n = 0
      for i = 0, 999 do n = n + (kept[function_name(i)] and 1 or 0) end
      assert(note and kept.slow and kept.MPI_Init and n > 50, n)
      assert.equal(1000, n + tonumber(note))
      to = job(name, 1, compile_functions(name), nil, "--detail ranks")
      assert.is_nil(report(to):find("left out", 1, true))
      n = 0
      for _, c in ipairs(told(to).calls) do n = n + (c.name:find "^f%d%d%d_" and 1 or 0) end
      assert.equal(1000, n)
    end)

    it_is("has each call of threads once that end during MPI_Finalize", function()
      local ending = compile(name, "ending")
      for _ = 1, 5 do
        local to, out, code = run(name, 2, ending)
        if code == 77 then return pending "no more threads can be started here" end
        assert.equal(0, code, out)
        assert.equal(2400, told(to).sections[1].calls)
      end
    end)

    once("has all ranks with a timeout that never expires", function()
      local to, out = job(name, 2, compile(name, "leave"), "1e300")
      assert.is_nil(out:find("not recorded", 1, true), out)
      assert.same({}, told(to).late)
    end)

    it_is("has messages and bytes of each pair of ranks of the world", function()
      local to = job(name, 4, compile(name, "leave"))
      assert.same({ "0>1 1/100", "0>2 1/1000", "1>2 1/100", "1>3 1/1000", "2>0 1/1000", "2>3 1/100", "3>0 1/100",
        "3>1 1/1000" }, pairs_of(told(to)))
      if select(2, sh("command -v gnuplot")) == 0 then
        report(to, "--quiet --plot " .. to .. "/traffic.svg")
        local squares = 0 -- a fourth of the axis each; the colour scale beside them is narrow
        for left, right in support.slurp(to .. "/traffic.svg"):gmatch "<polygon [^>]-points = '([%d.]+),[%d.]+ ([%d.]+)," do
          local width = tonumber(right) - tonumber(left)
          if width > 100 and width < 300 then squares = squares + 1 end
        end
        assert.equal(8, squares)
      end
    end)

    it_is("excludes the ranks that stand still, and merges their logs later", function()
      local to = job(name, 4, compile(name, "leave") .. " 2 stop 4", 1)
      assert.equal(0, select(2, sh("test -e " .. to .. "/job.pmlsum")))
      local r = told(to)
      assert.same({ 2, 3 }, r.late) -- rank 3 hands its figures to rank 2
      assert.same({}, r.missing)
      assert.equal(4, calls_of(r).MPI_Barrier.calls)
      assert(report(to):find("2 ranks not in the job's summary, merged from logs: 2 to 3", 1, true))
      os.execute("rm -r " .. to .. "/rank-3")
      r = told(to)
      assert.same({ { 2 }, { 3 } }, { r.late, r.missing })
      assert.equal(3, calls_of(r).MPI_Barrier.calls)
      assert(report(to):find("1 rank missing, without a log that can be read: 3", 1, true))
    end)

    for _, how in ipairs { "kill", "abort", "exit" } do
      it_is("or its ranks' logs have everything when a rank leaves by " .. how, function()
        local to = run(name, 4, compile(name, "leave") .. " 1 " .. how, 1)
        local r = told(to)
        assert.equal(4, r.size)
        assert.same({}, r.missing)
        assert.equal(4, calls_of(r).MPI_Init.calls)
        assert(#r.notes > 0)
      end)
    end

    it_is("is printed once, and all that stays but for the logs of ranks that are not in it", function()
      local leave = compile(name, "leave")
      local to, out = job(name, 4, leave)
      assert.equal("job.pmlsum\npaths.json\n", (sh("ls -A " .. to)))
      assert.equal("\n" .. report(to) .. "\nresults in " .. to .. "\n", out)
      assert.equal(4, calls_of(told(to)).MPI_Barrier.calls)
      to = job(name, 4, leave .. " 2 stop 4", 1)
      assert.equal("job.pmlsum\npaths.json\nrank-2\nrank-3\n", (sh("ls -A " .. to)))
      local r = told(to)
      assert.same({ { 2, 3 }, {} }, { r.late, r.missing })
      assert.equal(4, calls_of(r).MPI_Barrier.calls)
      assert.is_nil(calls_of(r).MPI_Finalize) -- only the late ranks called it
    end)

    once("has a row for each rank and thread, if requested", function()
      local program = compile(name, "counters")
      local to, out = job(name, 3, program, 10, "--detail=threads")
      local r = cjson.decode(report(to, "--json --threads"))
      assert.same({ 3, 9, 6 }, { #r.ranks, r.sections[1].calls, r.sections[1].threads })
      for i, rank in ipairs(r.ranks) do
        local solve = rank.sections[1]
        assert.same({ i - 1, "solve", i + 1, 2 }, { rank.rank, solve.name, solve.calls, solve.threads })
        assert.same({ i, 1 }, { solve.of_threads[1].count, solve.of_threads[2].count })
      end
      for rank = 0, 2 do
        for _, text in ipairs { out, report(to, "--threads") } do
          assert.matches(("\nSections of each rank\n.*\nsolve +%d +2 +%d .*\nSections of each thread"):format(rank,
            rank + 2), text)
          assert.matches(("\nSections of each thread\n.*\nsolve +%d +%%d+ +%d .*\nMPI of each"):format(rank,
            rank + 1), text)
        end
        assert.matches(("\nMPI of each rank\n.*\nMPI_Comm_rank +%d +1 +1 "):format(rank), report(to, "--detail"))
      end
      to = job(name, 2, program)
      assert(report(to, "--detail"):find("the logs of ranks 0 to 1 were removed; record with --detail ranks", 1, true))
    end)

    it_is("is also left by PMLUA_REPORT, with counters and recorders, including late ranks", function()
      local program = compile(name, "counters")
      for _, late in ipairs { "", " 2 3" } do
        local to = ("%s/report.%s%d"):format(folder, name, #late)
        shell.done(("PMLUA_REPORT=%s PMLUA_MPI_TIMEOUT=1 %s -n 3 %s%s"):format(to, mpi_job.RUN[name], program, late),
          60)
        assert.matches("^3 processes %(ranks 0 to 2%)", report(to)) -- read from all logs
        local r = told(to .. "/job.pmlsum")
        assert.same({ late == "" and {} or { 2 }, {} }, { r.late, r.missing })
        assert.same({ { name = "solve", calls = 9, ranks = 3, threads = 6 } }, { { name = r.sections[1].name,
          calls = r.sections[1].calls, ranks = r.sections[1].ranks, threads = r.sections[1].threads } })
        assert.same({ { name = "APP::cells", sum = 300, least = 0, least_rank = 0, most = 200, most_rank = 2, level = true,
          ranks = 3 }, { name = "APP::steps", sum = 60, least = 10, least_rank = 0, most = 30, most_rank = 2, ranks = 3 } },
          r.counters)
        local q = r.recorders[1]
        assert.same({ "APP::residual", 30, 1, 0, 2010, 2, 1005.5 }, { q.name, q.sum, q.min, q.min_rank, q.max, q.max_rank,
          q.mean })
        assert.is_near(1, q.median / 1005.5, 0.02)
        local text = report(to .. "/job.pmlsum")
        assert.matches("\nCounters of the ranks\n.*\nAPP::steps +60 +20 +10 +0 +30 +2 +1.500\n", text)
        assert.matches("\nRecorders, elements of all ranks\n.*\nAPP::residual +30 +1 +0 .* 2010 +2\n", text)
        os.execute(("rm %s/rank1.*"):format(to)) -- as on another host
        assert.equal(text, report(to))
      end
    end)

    once("has the quantiles of the durations in all ranks, of all of them or of a sketch", function()
      local program = compile(name, "durations")
      local reported = ("%s/kept.%s"):format(folder, name)
      shell.done(("PMLUA_REPORT=%s %s -n 2 %s 10"):format(reported, mpi_job.RUN[name], program), 60)
      local recorded = job(name, 2, program .. " 10")
      assert.equal("", (sh("ls -d " .. recorded .. "/rank-* 2>/dev/null"))) -- the summary has all
      for _, path in ipairs { reported .. "/job.pmlsum", recorded } do
        local by = {}
        for _, s in ipairs(told(path).sections) do by[s.name] = s.durations end
        for _, d in pairs(by) do -- 60 calls: 20 of 1 ms, 30 of 2 ms, 10 of 4 ms; no quantile is near a boundary
          assert.equal(60, d.calls)
          assert(d.min_ns >= 1e6 and d.max_ns >= 4e6 and d.q1_ns >= 0.98 * 1e6
            and d.median_ns >= 0.98 * 2e6 and d.p95_ns >= 0.98 * 4e6)
        end
        for _, q in ipairs { "min_ns", "q1_ns", "median_ns", "q3_ns", "p95_ns", "max_ns" } do
          assert.is_near(1, by.few[q] / by.all[q], 0.05, q)
        end
        assert.matches("\nDurations of calls, of all ranks, to 2 %%\n[^\n]*\nall +60 +1%.[^\n]*\nfew +60 +1%.", report(path))
      end
    end)

    once("is printed only by the first rank if another one never ends", function()
      local to = job(name, 2, compile(name, "leave"), 10, "--detail=ranks")
      os.execute("mkdir " .. to .. "/rank-2")
      local finish = [[require("pmlua.internal.record.job").finish({ detail = "ranks" },
        { dir = %q, rank = %d, size = 3 }, function(line) io.stderr:write("line: ", line, "\n") end)]]
      local function ends(rank)
        return (sh(("PMLUA_MPI_TIMEOUT=0.2 %s/pmlua -e %s"):format(support.build, support.quote(finish:format(to, rank)))))
      end
      assert.equal("", ends(1))
      local out = ends(0)
      assert.matches("^line: rank 2: not ended yet, or killed; [^\n]*\n\n2 ranks on 1 host.*\nresults in [^\n]*\n$", out)
      assert.equal("", ends(1))
    end)

    once("waits a bounded time, and names an invalid timeout once for the job", function()
      local program = compile(name, "leave")
      for value, invalid in pairs { ["1e300"] = false, ["-1"] = true, ["10s"] = true, nan = true, ["5 "] = true } do
        local _, out = job(name, 2, program, ("'%s'"):format(value))
        local _, lines = out:gsub("PMLUA_MPI_TIMEOUT='" .. value:gsub("%p", "%%%0") .. "' is invalid: ", "")
        assert.equal(invalid and 1 or 0, lines, out)
      end
      for value, seconds in pairs { ["1e300"] = 86400, inf = 86400, ["0.5"] = 0.5, ["10s"] = 10, ["-1"] = 10, nan = 10 } do
        local out = sh(("PMLUA_MPI_TIMEOUT=%s %s/pmlua -e 'print((require(%q).seconds()))'"):format(value, support.build,
          "pmlua.internal.record.timeout"))
        assert.equal(seconds, tonumber(out), value)
      end
    end)

    once("is made from the logs if no rank reduced them", function()
      local to = job(name, 3, compile(name, "leave"), 10, "--detail=ranks")
      local whole = calls_of(told(to)).MPI_Barrier
      os.remove(to .. "/job.pmlsum")
      local r = told(to)
      local barrier = calls_of(r).MPI_Barrier
      assert.same({ 3, 3 }, { r.size, #r.late })
      for _, of in ipairs { "calls", "ranks", "threads" } do assert.equal(whole[of], barrier[of], of) end
      for _, of in ipairs { "total_ns", "most_ns", "least_ns" } do
        assert.is_near(1, barrier[of] / whole[of], 1e-3, of) -- each process measures how fast its clock ticks
      end
    end)

    once("names logs that are cut short, of another version, or of another job", function()
      local to, other = job(name, 3, compile(name, "leave"), 10, "--trace --detail=ranks"), job(name, 3,
        compile(name, "leave"), 10, "--trace --detail=ranks")
      for _, dir in ipairs { to, other } do os.execute(("rm -rf %s/traces* %s/job.pmlsum %s/*.json"):format(dir, dir, dir)) end
      local path = sh(("ls %s/rank-1/*.pmlog"):format(to)):match "[^\n]+"
      local whole = support.slurp(path)
      local foreign = support.slurp(sh(("ls %s/rank-1/*.pmlog"):format(other)):match "[^\n]+")
      local cases = {
        { whole, "MPI_Finalize left no summary", false },
        { whole:sub(1, 9000), "the log is cut short; not all of what rank 1 measured is here", "1 of 3 ranks have no log: 1;" },
        { whole:sub(1, 8) .. "\99" .. whole:sub(10), "a log of version 99; this pmlua reads version 3; left out",
          "a log of version 99; this pmlua reads version 3" },
        { foreign, "logs of another job than that of the other ranks: 1; name the files of one job",
          "the logs come from 2 MPI jobs, whose ranks are numbered one after the other" },
      }
      for i, case in ipairs(cases) do
        support.spit(path, case[1])
        local printed = report(to)
        assert.is_truthy(printed:find(case[2], 1, true), i .. ": " .. printed)
        assert.equal(i > 1, printed:find("cut short", 1, true) ~= nil or printed:find("left out", 1, true) ~= nil
          or printed:find("another job", 1, true) ~= nil)
        local out = sh(("%s/pmlua trace %s"):format(support.build, to))
        assert.is_truthy(out:find(case[3] or "traces.otf2", 1, true), i .. ": " .. out)
        assert.equal(i > 1, out:find("pmlua trace: ", 1, true) ~= nil, out)
        os.execute(("rm -rf %s/traces* %s/*.json"):format(to, to))
      end
    end)

    once("has a row for each type of a section if ranks disagree about it", function()
      local to = job(name, 3, compile(name, "disagree"), nil, "--detail ranks")
      for _ = 1, 2 do
        local r, calls = told(to), {}
        assert.same({}, r.missing)
        for _, s in ipairs(r.sections) do calls[#calls + 1] = ("%s %d of %d"):format(s.name, s.calls, s.ranks) end
        table.sort(calls)
        assert.same({ "phase 4 of 1", "phase 8 of 2" }, calls)
        local printed = report(to)
        assert.matches("ranks disagree about the type of section phase, which is %l+ in rank %d: each type has a row", printed)
        os.remove(to .. "/job.pmlsum")
      end
    end)

    once("has functions of different programs under their own names", function()
      local to = os.tmpname()
      os.remove(to)
      for _, n in ipairs { "one", "two" } do
        support.spit(("%s/%s.c"):format(folder, n), ("void %s_step(void) {}\n"):format(n))
        support.spit(("%s/%s-main.c"):format(folder, n), ("#include <mpi.h>\nvoid %s_step(void);\n" ..
          "int main(int argc, char **argv) {\n  MPI_Init(&argc, &argv);\n  %s_step();\n  return MPI_Finalize();\n}\n")
          :format(n, n))
        shell.done(([[cd %s && gcc -shared -fPIC -o lib%s.so %s.c && mpicc.%s -o %s %s-main.c -L. -Wl,-rpath,%s -l%s]])
          :format(folder, n, n, name, n, n, folder, n))
      end
      local record = ("%s/pmlua record --quiet --trace -o %s -- %s/"):format(support.build, to, folder)
      shell.done(("%s -n 1 %sone : -n 1 %stwo"):format(mpi_job.RUN[name], record, record), 60)
      local found = {}
      for _, c in ipairs(told(to).calls) do
        if c.name:find "_step$" then
          found[c.name] = ("%d in rank %d, %s"):format(c.calls, c.most_rank, c.library:match "[^/]*$")
        end
      end
      assert.same({ one_step = "1 in rank 0, libone.so", two_step = "1 in rank 1, libtwo.so" }, found)
      if select(2, sh("command -v otf2-print")) == 0 then
        local events = sh(("otf2-print %s/traces.otf2"):format(to))
        assert.is_truthy(events:find('ENTER +0 [^\n]*"one_step"') and events:find('ENTER +1 [^\n]*"two_step"'), events)
        assert.is_nil(events:find('ENTER +1 [^\n]*"one_step"') or events:find('ENTER +0 [^\n]*"two_step"'))
      end
    end)
  end)
end
