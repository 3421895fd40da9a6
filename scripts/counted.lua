-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/counted.lua - the same kernels counted by the compiler at source and at final, by simulation and by hardware.
--
-- Try:  pmlua scripts/counted.lua --quick
--
-- After the user's and the system's perspective of K. Mikami, K. Ono, J. Nonaka (PMlib, 2018), and Byfl's counts in
-- A. Danalis et al. (PAPI's software-defined events): the operations of the source, counted by hand and by the compiler;
-- those left after optimisation, counted by the compiler; and those the machine executes, counted by callgrind and by the
-- PMU, where there is one. The counts themselves explain the differences.

local reasons = require "counted.reasons"
local pml = require "pmlua"
local choose = require("pmlua.internal.cli.experiment").choose
local counters = require "counted.counters"
local kernels = require "counted.kernels"
local tabulate = require "pmlua.tabulate"

-- --- counts.dat, ratios.dat, reasons.dat, absent.dat, and the summary printed at the end ---

local quantities = { "flops", "loaded", "stored", "loads", "stores", "operations" }
local units = { flops = "flop", loaded = "B", stored = "B", loads = "", stores = "", operations = "" }
local titles = {
  flops = "floating-point operations", loaded = "bytes loaded", stored = "bytes stored", loads = "load instructions",
  stores = "store instructions", operations = "operations of the compiler, instructions of the machine",
}

--- A kernel's counts by each counter and by hand.
local function of_kernel(run, lab, kernel)
  local c = { hand = kernels.by_hand(kernel, lab:size(kernel)) }
  for _, cell in ipairs(run.cells) do
    local round = cell.p.kernel == kernel and cell.rounds[#cell.rounds]
    if round then c[cell.p.counter] = round.extra.counts end
  end
  return c
end

local function gather(run, lab)
  local all = {}
  for i, kernel in ipairs(lab.kernels) do
    all[i] = { name = kernel, n = lab:size(kernel), counts = of_kernel(run, lab, kernel) }
  end
  return all
end

-- --- tables ---

local columns = { { "kernel", "text", "the computation" }, { "n", "", "elements, or the order of a matrix" },
  { "counter", "text", "who counts; hand: the formula" } }
for i, q in ipairs(quantities) do columns[3 + i] = { q, units[q], titles[q] .. ", of a call" } end

local function counts_table(all)
  local rows = {}
  for _, k in ipairs(all) do
    if #rows > 0 then rows[#rows + 1] = false end
    for _, counter in ipairs { "hand", table.unpack(counters.ORDER) } do
      local c = k.counts[counter]
      local row = { k.name, k.n, counter }
      for i, q in ipairs(quantities) do row[3 + i] = c and c[q] end
      if c then rows[#rows + 1] = row end
    end
  end
  return { columns = columns, rows = rows }
end

-- Against the source as the compiler counts it; where it cannot, against the count by hand.
local function ratio_table(all)
  local rows = {}
  for place, k in ipairs(all) do
    local base = k.counts.source or k.counts.hand
    for _, counter in ipairs { "final", "simulation", "hardware" } do
      local c = k.counts[counter]
      local row = { place, k.name, counter }
      for i, q in ipairs(quantities) do
        row[3 + i] = c and c[q] and base[q] and base[q] > 0 and c[q] / base[q] or nil
      end
      if c then rows[#rows + 1] = row end
    end
  end
  local t = { rows = rows, columns = { { "place", "", "row of the kernel in the figure" },
    { "kernel", "text", "the computation" }, { "counter", "text", "who counts" } } }
  for i, q in ipairs(quantities) do t.columns[3 + i] = { q, "", titles[q] .. ", over those at source" } end
  return t
end

local function reason_table(all)
  local rows = {}
  for place, k in ipairs(all) do
    k.reasons = reasons.of(k.counts)
    for _, r in ipairs(k.reasons) do
      rows[#rows + 1] = { place, k.name, r.counter, r.against, r.quantity, r.short, r.figure, r.prose }
    end
  end
  return { rows = rows, columns = {
    { "place", "", "row of the kernel in the figure" }, { "kernel", "text", "the computation" },
    { "counter", "text", "counter whose count differs" }, { "against", "text", "counter it is compared with" },
    { "quantity", "text", "quantity that both count" }, { "short", "text", "the reason in a few words" },
    { "figure", "text", "size of the difference" }, { "reason", "text", "the reason in a sentence" },
  } }
end

-- Reasons that hold for nearly every kernel, or for next to nothing.
local left_out = { once = true, interrupts = true, addresses = true, ["addressing modes"] = true, ["loads and stores"] = true }

-- The reasons of each kernel, each once: as much as the figure has room for.
local function note_table(all)
  local rows = {}
  for place, k in ipairs(all) do
    local seen, list = {}, {}
    for _, r in ipairs(k.reasons) do
      if not seen[r.short] and not left_out[r.short] then seen[r.short], list[#list + 1] = true, r.short end
    end
    rows[place] = { place, k.name, table.concat(list, ", ") }
  end
  return { rows = rows, columns = { { "place", "", "row of the kernel in the figure" },
    { "kernel", "text", "the computation" }, { "reasons", "text", "why its counts differ" } } }
end

local function absent_table(lab)
  local rows = {}
  for i, a in ipairs(lab:lacking()) do rows[i] = { a.who, a.why } end
  return { rows = rows, columns = { { "counter", "text", "missing counter" }, { "reason", "text", "why it is missing" } } }
end

-- --- on the terminal ---

-- A column for each available counter, a table for each quantity that a counter provides.
local function say_quantity(run, all, quantity)
  local names, who = { "kernel", "n" }, {}
  for _, counter in ipairs { "hand", table.unpack(counters.ORDER) } do
    for _, k in ipairs(all) do
      local c = k.counts[counter]
      if c and c[quantity] and who[#who] ~= counter then who[#who + 1] = counter end
    end
  end
  for i, counter in ipairs(who) do names[2 + i] = counter end
  local unit = units[quantity] ~= "" and " [" .. units[quantity] .. "]" or ""
  local rows = {}
  for i, k in ipairs(all) do
    rows[i] = { k.name, k.n }
    for j, counter in ipairs(who) do rows[i][2 + j] = k.counts[counter] and k.counts[counter][quantity] end
  end
  run:say(("\n%s%s, of a call\n%s"):format(titles[quantity]:gsub("^%l", string.upper), unit, tabulate(names, rows, 1)))
end

-- Group equal reasons: the first of each, and its kernels in order, by their figures.
local function merged(all)
  local by, order = {}, {}
  for _, k in ipairs(all) do
    for _, r in ipairs(k.reasons) do
      local key = r.counter .. r.quantity .. r.short
      local m = by[key] or { reason = r, names = {}, figures = {} }
      if not by[key] then by[key], order[#order + 1] = m, m end
      if not m.names[r.figure] then m.names[r.figure], m.figures[#m.figures + 1] = {}, r.figure end
      table.insert(m.names[r.figure], k.name)
    end
  end
  return order
end

local function say_of(run, order, counter, against)
  local said = false
  for _, m in ipairs(order) do
    local r, figures = m.reason, {}
    if r.counter == counter and r.against == against then
      if not said then run:say(("\nWhy %s differs from %s, in"):format(counters.TITLES[counter], counters.TITLES[against])) end
      said = true
      for i, figure in ipairs(m.figures) do figures[i] = table.concat(m.names[figure], ", ") .. ": " .. figure end
      run:say(("  %s: %s (%s)\n    %s"):format(r.quantity, r.prose, r.short, table.concat(figures, "; ")))
    end
  end
end

local function say_reasons(run, all)
  local order = merged(all)
  for _, counter in ipairs(counters.ORDER) do
    for _, against in ipairs(counters.ORDER) do say_of(run, order, counter, against) end
  end
end

--- The compiler's count at source must equal the count by hand.
local function wrong(all)
  for _, k in ipairs(all) do
    for _, q in ipairs(quantities) do
      local source, hand = k.counts.source and k.counts.source[q], k.counts.hand[q]
      if source and hand and source ~= hand then
        return ("%s, n = %d: %s at source are %d, the formula gives %d"):format(k.name, k.n, titles[q], source, hand)
      end
    end
  end
end

-- Counts that vary from call to call are not exact.
local function say_repeatability(run)
  for _, cell in ipairs(run.cells) do
    local s = cell.summary
    if s and s.min ~= s.max then
      run:say(("%s: calls count between %.0f and %.0f; the table shows the last"):format(cell.label, s.min, s.max))
    end
  end
end

--- Write the tables and print them; raises if the compiler's count at source differs from the count by hand.
---@param lab table counted.counters
local function write_report(run, lab)
  local all = gather(run, lab)
  run:write_table("counts.dat", counts_table(all), "the counts of each counter")
  run:write_table("ratios.dat", ratio_table(all), "counts over those at source")
  run:write_table("reasons.dat", reason_table(all), "why counts differ")
  run:write_table("notes.dat", note_table(all), "the same in short, for the figure")
  run:write_table("absent.dat", absent_table(lab), "counters that are not available, and why")
  run:say(("\nBuilt by %s %s"):format(lab.compiler, lab.flags))
  for _, q in ipairs(quantities) do say_quantity(run, all, q) end
  say_reasons(run, all)
  if lab.absent.final then run:say "\nThe reasons of the differences need the compiler's counts at final." end
  say_repeatability(run)
  local differs = wrong(all)
  if differs then error(differs, 0) end
end

-- The experiment's setup from the options and this machine; set when the factors are requested.
local lab

local function prepare(options)
  if os.getenv "PMLUA_SIM" then error("the experiment simulates its kernels itself; run it without --sim", 0) end
  local chosen = choose(options.kernels, kernels.names, "kernels")
  lab = assert(counters.new(pml, { length = options.length, order = options.order, flags = options.flags }))
  lab.kernels = chosen
  for _, a in ipairs(lab:lacking()) do io.stderr:write(("counted: not counted by %s: %s\n"):format(a.who, a.why)) end
  return { { "kernel", chosen }, { "counter", lab.present } }
end

-- The counts of the last round.
local function last(quantity)
  return function(cell)
    local round = cell.rounds[#cell.rounds]
    return round and round.extra.counts[quantity]
  end
end

return pml.experiment {
  name = "counted",
  description = [[
The operations of one call of each kernel, by four counters: the compiler before optimisation (at source) and after it (at
final), valgrind's callgrind, which simulates each instruction, and the hardware, if there is a PMU. The program is compiled
three times for the run, by one compiler with the same flags. A sample is the number of operations of a call (compiler) or
of its instructions (simulation, hardware). Counts at source that differ from those by hand are an error.]],
  factors = prepare,
  help = { kernel = "the computation", counter = "who counts" },
  unit = "operations",
  repeats = 5,
  rounds = 1,
  warmup = 0,
  quick = { repeats = 2, rounds = 1, length = 100, order = 20 },
  options = {
    { name = "kernels", metavar = "LIST", default = table.concat(kernels.names, ","),
      help = "kernels to count, separated by commas" },
    { name = "length", type = "integer", metavar = "N", min = 1, max = 1000000, default = 1000,
      help = "elements of each vector" },
    { name = "order", type = "integer", metavar = "N", min = 1, max = 200, default = 48,
      help = "order of the matrices of product and lu" },
    { name = "flags", metavar = "FLAGS",
      help = "compiler flags (default: -O2 -fno-math-errno, and -mavx2 -mfma if the processor has both)" },
  },
  examples = {
    "pmlua scripts/counted.lua --quick",
    "pmlua scripts/counted.lua --kernels triad,product --length 10000",
    "pmlua scripts/counted.lua --flags=-O1",
  },
  measure = function(_, p, n)
    local all, err = lab:count(p.counter, n)
    if not all then return nil, err end
    local samples, calls = {}, all[p.kernel]
    for i = 1, n do samples[i] = calls[i].operations end
    return samples, { counts = calls[n] }
  end,
  columns = {
    { name = "flops", unit = "flop", description = "floating-point operations of a call", value = last "flops" },
    { name = "loaded", unit = "B", description = "bytes loaded by a call", value = last "loaded" },
    { name = "stored", unit = "B", description = "bytes stored by a call", value = last "stored" },
    { name = "loads", unit = "", description = "load instructions of a call", value = last "loads" },
    { name = "stores", unit = "", description = "store instructions of a call", value = last "stores" },
  },
  analyse = function(run)
    run.meta.simulation = lab.model and { tool = "callgrind", version = lab.valgrind, caches = lab.model } or nil
    run.meta.compiler = { name = lab.compiler, flags = lab.flags }
    write_report(run, lab)
    lab:close()
  end,
  plot = "counted",
}
