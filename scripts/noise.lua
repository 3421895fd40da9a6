-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/noise.lua - noise of the system: how long, how often and on which cpu other activity interrupts a computation.
--
-- Try:  pmlua scripts/noise.lua --quick
--
-- A thread on each cpu in turn computes and reads the clock after each unit of some 100 cycles; a longer gap is a detour.
-- Fixed-work quanta lengthen by the stolen time; fixed-time quanta contain less work.

local periods = require "noise.periods"
local pml = require "pmlua"
local laboratory = require "noise.lab"
local stats = require "pmlua.stats"

-- --- the detours, their causes and periods, and the kernel's account beside them ---

local DRAWN = 5000 -- detours of detours.dat, of each cpu: the longest
local INTERRUPTS = 12 -- lines of /proc/interrupts that are kept of each cpu

-- Group the visits by cpu, in their order.
local function by_cpu(visits)
  local list, of = {}, {}
  for _, v in ipairs(visits) do
    local c = of[v.cpu]
    if not c then
      c = { cpu = v.cpu, took = 0, lost = 0, left_out = 0, detours = {}, visits = {}, interrupts = {}, plants = {},
        grain = v.grain }
      of[v.cpu], list[#list + 1] = c, c
    end
    c.took, c.lost, c.left_out, c.grain = c.took + v.took, c.lost + v.lost, c.left_out + v.left_out, math.min(c.grain, v.grain)
    for _, name in ipairs { "waited_ns", "voluntary", "involuntary", "steal_ns", "all" } do
      if v.since[name] then c[name] = (c[name] or 0) + v.since[name] end
    end
    for name, n in pairs(v.since.interrupts) do c.interrupts[name] = (c.interrupts[name] or 0) + n end
    table.move(v.detours, 1, #v.detours, #c.detours + 1, c.detours)
    c.visits[#c.visits + 1] = v.detours
    if v.plant then c.plants[#c.plants + 1] = v.plant end
  end
  table.sort(list, function(a, b) return a.cpu < b.cpu end)
  return list
end

local function detours_table(cpus)
  local rows, first = {}, math.huge
  for _, c in ipairs(cpus) do
    for _, d in ipairs(c.detours) do first = math.min(first, d.at) end
  end
  for _, c in ipairs(cpus) do
    local list = table.move(c.detours, 1, #c.detours, 1, {})
    table.sort(list, function(a, b) return a.length > b.length end)
    for i = 1, math.min(DRAWN, #list) do
      rows[#rows + 1] = { c.cpu, (list[i].at - first) / 1e6, list[i].length / 1e3, list[i].cause }
    end
  end
  return { columns = {
    { "cpu", "", "" }, { "at", "ms", "since the first detour" }, { "length", "us", "" },
    { "cause", "text", "events of the thread that the kernel counted meanwhile" },
  }, rows = rows }
end

local function causes_table(cpus)
  local rows = {}
  for _, c in ipairs(cpus) do
    local of, names = {}, {}
    for _, d in ipairs(c.detours) do
      if not of[d.cause] then of[d.cause], names[#names + 1] = {}, d.cause end
      table.insert(of[d.cause], d.length)
    end
    table.sort(names)
    for _, name in ipairs(names) do
      local sum, most = 0, 0
      for _, length in ipairs(of[name]) do sum, most = sum + length, math.max(most, length) end
      rows[#rows + 1] = { c.cpu, name, #of[name], 100 * sum / c.took, stats.median(of[name]) / 1e3, most / 1e3 }
    end
  end
  return { columns = {
    { "cpu", "", "" }, { "cause", "text", "" }, { "times", "", "detours" }, { "share", "%", "of the time" },
    { "median", "us", "length" }, { "longest", "us", "" },
  }, rows = rows }
end

local function periods_table(cpus)
  local rows = {}
  for _, c in ipairs(cpus) do
    for _, f in ipairs(periods.over(c.visits)) do
      rows[#rows + 1] = { c.cpu, f.length / 1e3, f.period and f.period / 1e3 or nil, f.times, 100 * f.regular }
    end
  end
  return { columns = {
    { "cpu", "", "" }, { "length", "us", "median of detours of like length" }, { "period", "us", "NaN: not regular" },
    { "times", "", "detours" }, { "regular", "%", "that come whole periods after the previous detour" },
  }, rows = rows }
end

local function kernel_table(cpus)
  local rows = {}
  for _, c in ipairs(cpus) do
    local function share(ns) return ns and 100 * ns / c.took end
    local function rate(n) return n and n / c.took * 1e9 end
    rows[#rows + 1] = { c.cpu, c.took / 1e9, share(c.lost), share(c.waited_ns), share(c.steal_ns), rate(#c.detours), rate(c.all),
      rate(c.involuntary), rate(c.voluntary), c.grain }
  end
  return { columns = {
    { "cpu", "", "" }, { "time", "s", "measured" }, { "lost", "%", "of it to detours" },
    { "waited", "%", "in the run queue, by /proc/self/schedstat" }, { "steal", "%", "by the host, by /proc/stat" },
    { "detours", "1/s", "" }, { "interrupts", "1/s", "by /proc/interrupts" }, { "involuntary", "1/s", "context switches" },
    { "voluntary", "1/s", "context switches" }, { "grain", "ns", "between two readings of the clock" },
  }, rows = rows }
end

local function interrupts_table(cpus)
  local rows = {}
  for _, c in ipairs(cpus) do
    local names = {}
    for name in pairs(c.interrupts) do names[#names + 1] = name end
    table.sort(names, require "pmlua.internal.order".most(c.interrupts))
    for i = 1, math.min(INTERRUPTS, #names) do
      rows[#rows + 1] = { c.cpu, names[i], c.interrupts[names[i]] / c.took * 1e9 }
    end
  end
  return { columns = { { "cpu", "", "" }, { "interrupt", "text", "by /proc/interrupts" }, { "rate", "1/s", "" } }, rows = rows }
end

local function planted_table(cpus)
  local rows = {}
  for _, c in ipairs(cpus) do
    for _, r in ipairs(c.plants) do rows[#rows + 1] = { c.cpu, r.plant_length / 1e3, r.plant_period / 1e3, r.plant_times } end
  end
  return { columns = {
    { "cpu", "", "" }, { "length", "us", "as the planted thread measured it" }, { "period", "us", "the same" },
    { "times", "", "that it ran" },
  }, rows = rows }
end

local function regular(t)
  local rows = {}
  for _, row in ipairs(t.rows) do rows[#rows + 1] = row[3] and row or nil end
  return { columns = t.columns, rows = rows }
end

-- Warn of counts that this machine does not provide.
local function warn(run, lab, cpus)
  local first = cpus[1]
  if not first then return end
  local none = {}
  if not first.waited_ns then none[#none + 1] = "run queue (/proc/self/schedstat)" end
  if not first.steal_ns then none[#none + 1] = "steal time" end
  if not first.all then none[#none + 1] = "interrupts" end
  if #none > 0 then run:warn("this kernel does not tell: " .. table.concat(none, ", ")) end
  if lab.virtual then
    run:warn "time that the host takes from this virtual machine is a detour without a cause; it is steal time if reported"
  end
  for _, c in ipairs(cpus) do
    if c.left_out > 0 then run:warn(("cpu %d: %d detours were not stored: raise --threshold"):format(c.cpu, c.left_out)) end
  end
end

---@param lab table noise.lab
local function write_report(run, lab)
  local cpus = by_cpu(lab.visits)
  local tables = { kernel = kernel_table(cpus), causes = causes_table(cpus), periods = periods_table(cpus) }
  run:write_table("detours.dat", detours_table(cpus), ("gaps above the threshold, the %d longest of each cpu"):format(DRAWN))
  run:write_table("causes.dat", tables.causes, "detours by cause")
  run:write_table("periods.dat", tables.periods, "detours of like length, and their periods")
  run:write_table("kernel.dat", tables.kernel, "time that detours took, and the kernel's figures of it")
  run:write_table("interrupts.dat", interrupts_table(cpus), "interrupts of each cpu")
  if lab.plant.period > 0 then run:write_table("planted.dat", planted_table(cpus), "the planted thread's work") end
  run:say_table("Time taken away, by detours and by the kernel", tables.kernel)
  run:say_table("Detours by the cause that the kernel counted", tables.causes)
  run:say_table("Detours of like length that come regularly", regular(tables.periods))
  warn(run, lab, cpus)
end

local lab

local function prepare(options)
  local plant, err = laboratory.plant(options.plant)
  if not plant then error("option --plant: " .. err, 0) end
  local cpus
  cpus, err = laboratory.cpus(options.cpus, pml.sys.affinity())
  if not cpus then error("option --cpus: " .. err, 0) end
  lab = assert(laboratory.new { quantum = options.quantum, threshold = options.threshold, plant = plant })
  assert(lab:calibrate(cpus[1]))
  return { { "cpu", cpus }, { "quantum", { "work", "time" } } }
end

return pml.experiment {
  name = "noise",
  description = [[
What takes the processor away from a thread that only computes: quanta of fixed work and of fixed time on each cpu, and every
gap between two readings of the clock above a threshold, a detour. A sample is a quantum's time for a unit of work. Each
detour has a cause by what the kernel counted meanwhile. The report has their sums beside the kernel's own account of the thread
(run queue, switches, steal time, interrupts), and the periods of those that come regularly.]],
  factors = prepare,
  help = { cpu = "where the thread runs", quantum = "fixed work or fixed time" },
  unit = "ns",
  repeats = 5000,
  rounds = 5,
  warmup = 0,
  quick = { repeats = 500, rounds = 1 },
  options = {
    { name = "cpus", metavar = "LIST", help = "cpus and ranges of them, such as 0-3,8; otherwise the first 16" },
    { name = "quantum", type = "integer", metavar = "US", min = 10, default = 1000, help = "microseconds of a quantum" },
    { name = "threshold", type = "integer", metavar = "NS", min = 1, default = 1000, help = "a longer gap is a detour" },
    { name = "plant", metavar = "PERIOD:LENGTH",
      help = "also run a thread on the same cpu for LENGTH every PERIOD microseconds: it must be found" },
  },
  examples = {
    "pmlua scripts/noise.lua --quick", "pmlua scripts/noise.lua --cpus 0 --plant 20000:2000",
    "pmlua scripts/noise.lua --quantum 100 --threshold 500",
  },
  measure = function(_, p, n) return lab:measure(p, n) end,
  metrics = {
    { name = "lost", unit = "%", description = "share of the time that detours took" },
    { name = "detours", unit = "1/s", description = "detours of a second" },
    { name = "waited", unit = "%", description = "share of the time in the run queue, by the scheduler" },
    { name = "steal", unit = "%", description = "share of the time that the host took from this cpu, by the kernel" },
    { name = "interrupts", unit = "1/s", description = "interrupts of a second on this cpu, by the kernel" },
  },
  analyse = function(run) write_report(run, lab) end,
  plot = "noise",
}
