-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/report_ranks_spec.lua - tests of pmlua report over the logs of many ranks: its figures equal a sum over all ranks.

local support = require "spec.core.support"
local it = support.it
local shell = support.shell
local json = require "pmlua.json"
local command = support.build .. "/pmlua"

local function pmlua(arguments) return shell(command .. " report " .. arguments) end

--- A folder with logs of so many ranks.
local function job(ranks, threads, sections)
  local dir = support.folder()
  support.quiet(shell(("%s/spec/logs %s %d %d %d"):format(support.build, dir, ranks, threads, sections)))
  return dir
end

local function logs_of(dir)
  local paths = {}
  for name in require "lfs".dir(dir) do
    local rank = name:match "^rank(%d+)%."
    if rank then paths[tonumber(rank)] = dir .. "/" .. name end
  end
  return paths
end

local function near(a, b) return math.abs(a - b) <= 1e-9 * math.abs(b) end

describe("A report of many ranks", function()
  local RANKS, THREADS, SECTIONS = 40, 3, 7
  local sections, dir, all

  setup(function()
    if support.missing then return end
    sections, dir = require "pmlua.sections", job(RANKS, THREADS, SECTIONS)
    all = assert(sections.read_all { dir })
  end)

  --- The rows of a section in each log, and the time of each rank.
  local function rows_of(label)
    local rows, time = {}, {}
    for _, p in ipairs(all) do
      for _, s in ipairs(p.sections) do
        if s.label == label then
          time[p.rank] = 0.0
          for _, row in ipairs(s.rows) do
            rows[#rows + 1] = row
            time[p.rank] = time[p.rank] + row.total_ns
          end
        end
      end
    end
    return rows, time
  end

  local function merged(rows)
    local m = { count = 0, iterations = 0, total_ns = 0.0, self_ns = 0.0, min_ns = math.huge, max_ns = 0.0 }
    local sum, squares = 0.0, 0.0
    for _, r in ipairs(rows) do
      for _, name in ipairs { "count", "iterations", "total_ns", "self_ns" } do m[name] = m[name] + r[name] end
      m.min_ns, m.max_ns = math.min(m.min_ns, r.min_ns), math.max(m.max_ns, r.max_ns)
      sum, squares = sum + r.count * r.mean_ns, squares + (r.count - 1) * r.stddev_ns ^ 2 + r.count * r.mean_ns ^ 2
    end
    m.mean_ns = sum / m.count
    m.stddev_ns = math.sqrt((squares - m.count * m.mean_ns ^ 2) / (m.count - 1))
    return m
  end

  it("has the sums, moments and extremes of all threads, and the slowest rank", function()
    local out = support.quiet(pmlua(dir .. " --json"))
    local report = json.decode(out)
    assert.equal(SECTIONS, #report.sections)
    assert.equal(RANKS, #report.processes)
    for _, s in ipairs(report.sections) do
      local rows, time = rows_of(s.label)
      local m, slowest, whole = merged(rows), nil, 0
      for rank = 0, RANKS - 1 do
        whole = whole + (time[rank] or 0)
        if time[rank] and (not slowest or time[rank] > time[slowest]) then slowest = rank end
      end
      assert.equal(m.count, s.calls)
      assert.equal(m.iterations, s.iterations)
      for name, ns in pairs { time_s = m.total_ns, self_s = m.self_ns, mean_s = m.mean_ns, stddev_s = m.stddev_ns,
        min_s = m.min_ns, max_s = m.max_ns } do
        assert.truthy(near(s[name], ns / 1e9), s.label .. " " .. name)
      end
      assert.equal("rank " .. slowest, s.slowest)
      assert.truthy(near(s.imbalance, time[slowest] / (whole / RANKS)))
      assert.equal(#rows, #s.threads)
      assert.equal(#rows // THREADS, #s.processes)
    end
  end)

  it("leaves out the ranks that were not in a section", function()
    local rows = rows_of(("exchange %d"):format(SECTIONS - 1))
    if #rows == 0 then rows = rows_of(("solve %d"):format(SECTIONS - 1)) end
    assert.equal((RANKS - RANKS // 13) * THREADS, #rows)
  end)

  it("gives each thread and each rank as CSV, like the log", function()
    local _, out = pmlua(dir .. " --csv --threads")
    local wanted, lines = {}, 0
    for _, p in ipairs(all) do
      for _, s in ipairs(p.sections) do
        for _, row in ipairs(s.rows) do
          wanted[("%s,rank %d,%d,%d,%.15g"):format(s.label, p.rank, row.thread, row.count, row.total_ns / 1e9)] = true
        end
      end
    end
    for label, process, thread, calls, time in out:gmatch "([^,\n]*),[^,]*,[^,]*,(rank %d+),(%d+),(%d+),0,([^,]*),[^\n]*" do
      local line = ("%s,%s,%s,%s,%s"):format(label, process, thread, calls, time)
      assert.truthy(wanted[line], line)
      wanted[line], lines = nil, lines + 1
    end
    assert.equal(nil, next(wanted))
    assert.equal(select(2, out:gsub("\n", "")) - 1, lines)
    _, out = pmlua(dir .. " --csv --detail")
    assert.equal(lines // THREADS, select(2, out:gsub("\n", "")) - 1)
  end)

  it("refuses a table that is too long to read, with an alternative", function()
    local large = job(500, 50, 9)
    local status, out, err = pmlua(large .. " --threads")
    assert.same({ 1, "", "pmlua report: 223100 rows are too many for a table; use --csv, --json or pmlua export\n" },
      { status, out, err })
    assert.equal(0, (pmlua(large .. " --detail")))
  end)

  it("adds up the counters of very many processes, and names the process with the largest count", function()
    local folder = support.folder()
    for rank = 0, 64 do
      support.spit(("%s/%02d.pmlog"):format(folder, rank), require "spec.lua.section_log".of({ rank = rank, size = 65 },
        ("counter\tLIB::N\t%d"):format(rank == 17 and 99 or rank)))
    end
    local out = support.done(pmlua(folder))
    assert.matches("\ncounters\nCOUNTER +PROCESSES +SUM +MIN +MAX +OF +KIND\nLIB::N +65 +2162 +0 +99 +rank 17 +created\n", out)
    os.remove(folder .. "/64.pmlog")
    out = select(2, pmlua(folder))
    assert.equal(64, select(2, out:gsub("rank %d+ +%d+ +created", "")))
  end)

  it("keeps at most 600 bytes of a process", function()
    local many <const> = 600
    local folder = job(many, 1, 2)
    local job_summaries = require "pmlua.internal.report.job_summary"
    assert(job_summaries.read { dir }) -- loads modules and interns names, which happens only once
    collectgarbage()
    local before = collectgarbage "count"
    local job_summary = assert(job_summaries.read { folder })
    collectgarbage()
    local bytes = (collectgarbage "count" - before) * 1024 / many
    assert.equal(many, #job_summary.processes)
    assert.truthy(bytes <= 600, bytes)
  end)

  it("takes as little memory for five hundred ranks as for fifty", function()
    if support.sanitized then return end
    local function peak(folder, form)
      return tonumber((select(2, shell(([[python3 -c 'import resource,subprocess,sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' %s report %s %s]]):format(command, folder, form)))))
    end
    local fifty, many = job(50, 4, 20), job(500, 4, 20)
    for _, form in ipairs { "", "--json", "--csv --threads" } do
      local small, large = peak(fifty, form), peak(many, form)
      assert.truthy(large - small < 4096, ("%s: %d kB, then %d kB"):format(form, small, large))
    end
  end)
end)

describe("Logs of a job that are not all there", function()
  local function refused(dir)
    local status, out, err = pmlua(dir)
    assert.same({ 1, "" }, { status, out })
    return err:match "^pmlua report: ([^\n]+)\n$" or error("not one line: " .. err)
  end


  --- The note about a file, which is left out of a report and an export, and is refused by its name.
  local function left_out(dir, path, text)
    local out = support.done(pmlua(dir))
    assert.truthy(out:find(("\nnote: %s: %s; left out\n"):format(path, text), 1, true), out)
    assert.matches("\nnote: ranks without a file, of 3: 1\n", out)
    local _, rows, err = shell(command .. " export " .. dir)
    assert.equal(1 + 2 * 3, select(2, rows:gsub("\n", "")))
    assert.truthy(err:find(("pmlua export: note: %s: %s; left out\n"):format(path, text), 1, true), err)
    assert.equal(path .. ": " .. text, refused(path))
  end

  it("are reported without a file that cannot be read, which a note names", function()
    local dir = job(3, 1, 3)
    local path = logs_of(dir)[1]
    local text = support.slurp(path)
    support.spit(path, text:sub(1, 8) .. "\4" .. text:sub(10))
    left_out(dir, path, "a log of version 4; this pmlua reads version 3")
    support.spit(path, text:sub(1, 100))
    left_out(dir, path, "not a log of pmlua")
    support.spit(path, "")
    left_out(dir, path, "not a log of pmlua")
    for rank = 0, 2 do support.spit(logs_of(dir)[rank], "") end
    assert.equal(logs_of(dir)[0] .. ": not a log of pmlua", refused(dir))
  end)

  it("are refused if they are of two runs", function()
    local dir, other = job(3, 1, 3), job(5, 1, 3)
    assert(os.rename(logs_of(other)[4], dir .. "/rank4.pmlog"))
    assert.equal(("%s is of a job of 3 ranks, %s/rank4.pmlog of one of 5; name the files of one run"):format(
      logs_of(dir)[0], dir), refused(dir))
  end)

end)
