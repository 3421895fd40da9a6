-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/export_calls_spec.lua - tests of pmlua export for recorded runs: calls, OpenMP constructs, and messages between MPI
-- ranks, against planted calls and messages and against the report's sums.

local support = require "spec.core.support"
local json = require "pmlua.json"
local mpi_job = require "spec.lua.mpi_job"
local openmp = require "spec.lua.openmp"
local shell = require "spec.shell"
local sh = shell.sh

local folder = support.folder()

--- The standard output and standard error of pmlua export.
local function export(arguments)
  return support.done(support.shell(("%s/pmlua export %s"):format(support.build, arguments)))
end

local function rows(path, name)
  local list = {}
  for line in export(("%s --to jsonl --table %s"):format(path, name)):gmatch "[^\n]+" do list[#list + 1] = json.decode(line) end
  return list
end

--- Sums of a column over the rows that @of selects, by another column.
local function sums(list, by, column, of)
  local all = {}
  for _, row in ipairs(list) do
    if not of or of(row) then all[row[by]] = (all[row[by]] or 0) + row[column] end
  end
  return all
end

--- Each process measures the rate of the clock anew, to about 1e-6 and seldom worse; the report rounds each path to whole ns.
local function near(expected, value, name) assert(math.abs(expected - value) <= 1e-5 * expected + 100, name) end

--- Each of these tables has the header that --columns describes, and as many rows in each form.
local function check_forms(path, names)
  for _, name in ipairs(names) do
    local columns, csv = {}, export(path .. " --table " .. name)
    for column in export(("%s --table %s --columns"):format(path, name)):gmatch "\n([^,]+)," do columns[#columns + 1] = column end
    assert.equal(table.concat(columns, ","), csv:match "^[^\n]+", name)
    local _, lines = csv:gsub("\n", "")
    local list = rows(path, name)
    assert.equal(#list + 1, lines, name)
    for _, row in ipairs(list) do
      for key in pairs(row) do assert(csv:match("^[^\n]+"):find(key, 1, true), key) end
    end
  end
end

describe("pmlua export of recorded calls", function()
  local dir, report

  setup(function()
    dir = folder .. "/calls"
    support.spit(folder .. "/plant.c", [[
void inner(void) {}
void outer(int n) { while (n-- > 0) inner(); }
int other(int n);
int again(int n) { return n > 1 ? other(n - 1) + 1 : 1; }
int other(int n) { return again(n); }
]])
    support.spit(folder .. "/main.c", [[
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>
void outer(int n);
int again(int n);
static sem_t called;
static void *end(void *p) { for (int i = 0; i < 4; i++) outer(5); return p; }
static void *stay(void *p) { outer(7); sem_post(&called); pause(); return p; }
int main(void) {
  pthread_t t;
  sem_init(&called, 0, 0);
  pthread_create(&t, 0, end, 0);
  pthread_join(t, 0);
  pthread_create(&t, 0, stay, 0);
  sem_wait(&called);
  outer(3);
  return again(10) - 10;
}
]])
    shell.done(("cd %s && gcc -O0 -shared -fPIC plant.c -o libplant.so && "
      .. "gcc -O0 main.c -L. -lplant -Wl,-rpath,%s -pthread -o main"):format(folder, folder))
    local code_of, text, err = support.shell(("%s/pmlua record --json -q -o %s -- %s/main"):format(support.build, dir, folder))
    assert(code_of == 0, err)
    report = json.decode(text)
  end)

  it("has each call path of each thread; ended threads are thread 0", function()
    local list, calls = rows(dir, "calls"), {}
    local names = {}
    for _, row in ipairs(list) do
      names[row.thread .. " " .. row.path] = row["function"]
      local parent = row.parent and names[row.thread .. " " .. row.parent]
      assert.equal(row.parent == nil, row.depth == 0)
      local key = ("%s%s"):format(parent and parent .. " > " or "", row["function"])
      calls[key] = calls[key] or {}
      table.insert(calls[key], row.calls)
      assert.same({ "libplant.so", 0 }, { row.library, row.unreturned })
      assert(row.inclusive_ns >= row.exclusive_ns and row.min_ns <= row.max_ns)
    end
    for _, of in pairs(calls) do table.sort(of) end
    assert.same({ 1, 1, 4 }, calls.outer)
    assert.same({ 3, 7, 20 }, calls["outer > inner"])
    assert.same({ 1 }, calls.again)
    assert.same({ 1, 1, 1, 1, 1, 1, 1, 1, 1 }, calls["other > again"])
    assert.same({ outer = 4, inner = 20 }, sums(list, "function", "calls", function(row) return row.thread == 0 end))
  end)

  it("has the report's sums, by function and by path", function()
    local of_functions, of_paths = rows(dir, "functions"), rows(dir, "calls")
    local function outermost(row) return row.outermost end
    assert.same({ inner = 30, outer = 6, again = 10, other = 9 }, sums(of_functions, "function", "calls"))
    assert.same(sums(of_functions, "function", "calls"), sums(of_paths, "function", "calls"))
    local inclusive, exclusive = sums(of_functions, "function", "inclusive_ns"), sums(of_functions, "function", "exclusive_ns")
    for _, f in ipairs(report.functions) do
      near(f.inclusive_ns, inclusive[f.name], f.name)
      near(f.exclusive_ns, exclusive[f.name], f.name)
      near(f.inclusive_ns, sums(of_paths, "function", "inclusive_ns", outermost)[f.name], f.name)
      near(f.exclusive_ns, sums(of_paths, "function", "exclusive_ns")[f.name], f.name)
    end
  end)

  it("has the quantiles of each function, in their order", function()
    local median = {}
    for _, f in ipairs(report.functions) do median[f.name] = f.median_ns end
    for _, row in ipairs(rows(dir, "functions")) do
      near(median[row["function"]], row.median_ns, row["function"])
      local before = row.min_ns
      for _, name in ipairs { "q1_ns", "median_ns", "q3_ns", "p95_ns", "p99_ns", "max_ns" } do
        assert(before <= row[name], name)
        before = row[name]
      end
    end
  end)

  it("has events that functions counted", function()
    local to = folder .. "/counted"
    local command = ("%s/pmlua record -q --event task-clock:u -o %s -- %s/main"):format(support.build, to, folder)
    local code, _, err = support.shell(command)
    if code ~= 0 then return pending("task-clock:u cannot be counted here: " .. err) end
    local list = rows(to, "values")
    assert.equal(4, #list)
    for _, row in ipairs(list) do
      assert.same({ "event", "task-clock:u", "libplant.so" }, { row.kind, row.name, row.library })
      assert(row.sum > 0)
    end
  end)

  it("is the same in each form, with the described columns", function()
    check_forms(dir, { "calls", "functions", "values", "openmp", "processes", "totals", "messages", "pairs", "collectives" })
    if select(2, sh "command -v sqlite3") ~= 0 then return pending "sqlite3 is not installed" end
    export(("%s --to sqlite --out %s/calls.db"):format(dir, folder))
    local out = sh(([[sqlite3 %s/calls.db 'SELECT sum(calls), typeof(inclusive_ns) FROM calls' \
      'SELECT sum(calls), typeof(inclusive_ns) FROM functions' 'SELECT count(DISTINCT "table") FROM columns']]):format(folder))
    assert.equal("55|real\n55|integer\n12\n", out)
  end)
end)

describe("pmlua export of constructs of OpenMP", function()
  for _, runtime in ipairs { "libgomp", "libomp" } do
    it("has the report's sums with " .. runtime, function()
      local lacks = openmp.lacks(runtime)
      if lacks then return pending(lacks) end
      local report, dir = openmp.record(folder, openmp.compile(runtime, folder, [[
int main(void) {
  volatile long n[4] = {0};
  for (int k = 0; k < 5; k++)
#pragma omp parallel num_threads(4)
    {
#pragma omp for schedule(dynamic)
      for (int i = 0; i < 40; i++) n[i % 4]++;
#pragma omp critical
      n[0]++;
    }
  return 0;
}]]))
      local list = rows(dir, "openmp")
      local calls, ns = sums(list, "construct", "calls"), sums(list, "construct", "time_ns")
      local waited = sums(list, "construct", "waited_ns")
      local n = 0
      for _, c in ipairs(report.openmp) do
        n = n + 1
        assert.equal(c.calls, calls[c.name], c.name)
        near(c.ns, ns[c.name], c.name)
        if c.construct ~= "parallel" then near(c.waited_ns, waited[c.name], c.name) end
        if c.construct == "critical" then assert.equal(20, c.calls) end
      end
      assert(n >= 3)
      check_forms(dir, { "openmp" })
    end)
  end
end)

--- The lines of a table of the report's text.
local function lines_of(text, title)
  local list = {}
  for line in assert(text:match("\n" .. title .. "\n[^\n]*\n(.-)\n\n"), title):gmatch "[^\n]+" do
    list[#list + 1] = line:gsub("  +", " "):gsub("^ ", "")
  end
  return list
end

local NS <const> = { ns = 1, ["µs"] = 1e3, ms = 1e6, s = 1e9 }

--- The text of the report has the planted messages, and its columns of times agree with each other.
local function check_text(text, collectives)
  local sizes = lines_of(text, "Messages by size, time of all ranks")
  for i, row in ipairs { "256 - 511 40 16.00 kB", "512 - 1023 1 1.000 kB", "1024 - 2047 1 2.000 kB", "2048 - 4095 1 3.000 kB" } do
    local sent, received = row, row:match "%d+ %- %d+ (.*)"
    assert.matches("^" .. sent:gsub("[.-]", "%%%0") .. " [%d.]+ %S+ " .. received:gsub("%.", "%%.") .. " [%d.]+ %S+$", sizes[i])
  end
  assert.equal(4, #sizes)
  assert.same({ "0 1 11 5.000 kB", "1 2 10 4.000 kB", "2 3 10 4.000 kB", "3 0 10 4.000 kB", "0 3 1 3.000 kB", "0 2 1 2.000 kB" },
    lines_of(text .. "\n\n", "Messages between ranks"))
  local operations = 0
  for _, line in ipairs(lines_of(text, "Collective operations")) do
    local operation, calls, sent = line:match "^(%S+) (%d+) ([%d.]+)"
    local c = collectives[operation]
    assert.same({ c[1], c[2] < 1000 and c[2] + 0.0 }, { tonumber(calls), c[2] < 1000 and tonumber(sent) + 0.0 })
    operations = operations + 1
  end
  for _ in pairs(collectives) do operations = operations - 1 end
  assert.equal(0, operations)
  local before = math.huge
  for _, line in ipairs(lines_of(text, "Time in MPI, of a rank")) do
    local average, of, most, most_of, rank, ratio = line:match "^MPI_%S+ %d+ ([%d.]+) (%S+) ([%d.]+) (%S+) (%d) ([%d.]+)"
    if average then
      average, most = average * NS[of], most * NS[most_of]
      assert.is_true(average <= before and tonumber(rank) < 4, line)
      assert.near(most / average, tonumber(ratio), ratio / 400)
      before = average
    end
  end
  assert.is_true(before < math.huge)
end

describe("pmlua export of a job", function()
  local function record(name, options)
    local to = ("%s/job-%s%s"):format(folder, name, (options or ""):gsub("%W", ""))
    local out, code = mpi_job.record(name, 4, mpi_job.compile(name, "messages", folder, "-w"), to,
      { options = options, limit_s = 120 })
    assert.equal(0, code, out)
    return to
  end

  mpi_job.it_once("has its messages by size, by pair and by operation", function(name)
    local to = record(name, "--trace")
    local by_size, pairs_of, collectives = {}, {}, {}
    for _, row in ipairs(rows(to, "messages")) do
      local direction, least, most = row.direction, row.least_bytes, row.most_bytes
      by_size[#by_size + 1] = ("%s %d-%d %d %d"):format(direction, least, most, row.messages, row.bytes)
    end
    local planted = { "256-511 40 16000", "512-1023 1 1000", "1024-2047 1 2000", "2048-4095 1 3000" }
    for i, of in ipairs(planted) do
      assert.same({ "sent " .. of, "received " .. of }, { by_size[i], by_size[#planted + i] })
    end
    assert.equal(2 * #planted, #by_size)
    for _, row in ipairs(rows(to, "pairs")) do
      assert.same({ row.from_rank, row.to_rank }, { row.from_last, row.to_last })
      pairs_of[#pairs_of + 1] = ("%d>%d %d %d"):format(row.from_rank, row.to_rank, row.messages, row.bytes)
    end
    assert.same({ "0>1 11 5000", "0>2 1 2000", "0>3 1 3000", "1>2 10 4000", "2>3 10 4000", "3>0 10 4000" }, pairs_of)
    for _, row in ipairs(rows(to, "collectives")) do
      collectives[row.operation] = { row.calls, row.sent_bytes, row.received_bytes }
    end
    assert.same({ 4, 0, 0 }, collectives.barrier)
    assert.equal(8, collectives.allreduce[1])
    for _, c in ipairs(json.decode(mpi_job.report(to, "--json")).collectives) do
      assert.same({ c.calls, c.sent, c.received }, collectives[c.operation])
    end
    check_forms(to, { "totals", "messages", "pairs", "collectives" })
    check_text(mpi_job.report(to, ""), collectives)
  end)

  mpi_job.it_once("has the bytes moved by functions for files", function(name)
    local to, file = folder .. "/files-" .. name, folder .. "/moved"
    local out, code = mpi_job.record(name, 3, mpi_job.compile(name, "files", folder, "-w") .. " " .. file, to, { limit_s = 120 })
    assert.equal(0, code, out)
    local list = rows(to, "files")
    assert.equal(28, #list) -- the k-th moves k doubles of each rank; rank 1 writes one more by MPI_File_write_at
    for k, row in ipairs(list) do
      local more = row["function"] == "MPI_File_write_at" and 8 or 0
      assert.same({ 24 * k + more, 8 * k + more, more > 0 and 1 or 0 }, { row.bytes, row.most_bytes, row.most_rank })
    end
    check_forms(to, { "files" })
  end)

  mpi_job.it_once("has the sums of the report over all ranks, and a note where logs are not left", function(name)
    local to = record(name, "--not libudev")
    assert.is_truthy(mpi_job.report(to, ""):find "\nMessages by size\nBYTES +SENT +SENT DATA +RECEIVED +RECEIVED DATA\n")
    local list = rows(to, "totals")
    local calls, ns = sums(list, "name", "calls"), sums(list, "name", "time_ns")
    assert.equal(40, calls.MPI_Isend)
    for _, c in ipairs(json.decode(mpi_job.report(to, "--json")).calls) do
      assert.same({ c.calls, c.total_ns }, { calls[c.name], ns[c.name] }, c.name)
    end
    local out, err = export(to .. " --table functions")
    assert.equal(1, select(2, out:gsub("\n", "")))
    assert.equal("pmlua export: note: ranks 0 to 3 left no logs: the table totals contains their measurements; "
      .. "pmlua record --detail ranks keeps logs\n", err)
  end)

  mpi_job.it_once("has a row for each rank and function if logs are kept", function(name)
    local to = record(name, "--detail ranks")
    for _, table_of in ipairs { "functions", "calls" } do
      local function is_send(row) return row["function"] == "MPI_Isend" end
      local calls = sums(rows(to, table_of), "rank", "calls", is_send)
      assert.same({ [0] = 10, 10, 10, 10 }, calls, table_of)
    end
    local of_ranks = sums(rows(to, "functions"), "function", "calls")
    for _, c in ipairs(json.decode(mpi_job.report(to, "--json")).calls) do
      assert.equal(c.calls, of_ranks[c.name], c.name)
    end
    assert.equal(4, #rows(to, "processes"))
  end)
end)
