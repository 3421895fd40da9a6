-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/counted/reasons.lua - explain why two counters of one kernel differ, from their counts alone.
--
-- Try:  for _, r in ipairs(require("counted.reasons").of { source = s, final = f }) do print(r.short, r.figure) end
--
-- A rule looks at counts alone, never at the kernel's name, and applies where its figures say so. A difference that no rule
-- explains is reported as unexplained.

local counters = require "counted.counters"

local M = {}

local FEW = 16 -- operations once per call, outside of loops

local function difference(c, from, to, quantity)
  local a, b = c[from] and c[from][quantity], c[to] and c[to][quantity]
  return a and b and b - a or 0
end

--- The elements beyond the first in each vector operation.
local function lanes_beyond(counts)
  local more = 0
  for form, lanes in pairs(counters.LANES) do
    for _, kind in ipairs(counters.ARITHMETIC) do more = more + counts[("fp_%s_%s"):format(kind, form)] * (lanes - 1) end
  end
  return more
end

--- Fused vector operations, including those that the code generator may fuse; and the elements beyond the first in each.
local function fused_vectors(counts)
  local operations, more = 0, 0
  for form, lanes in pairs(counters.LANES) do
    local function of(kind) return counts[("fp_%s_%s"):format(kind, form)] end
    local n = lanes > 1 and of "fma" + math.min(of "mul", of "add" + of "sub") or 0
    operations, more = operations + n, more + n * (lanes - 1)
  end
  return operations, more
end

local function fused(counts)
  local n = 0
  for form, lanes in pairs(counters.LANES) do n = n + lanes * counts["fp_fma_" .. form] end
  return n
end

local function of_vectors(counts, what)
  local n, widest = 0, 0
  for _, bytes in ipairs(counters.VECTOR_BYTES) do
    local k = counts[("%s_vector_%d"):format(what, bytes)]
    n, widest = n + k, k > 0 and bytes or widest
  end
  return n, widest
end

--- Whether the kernel calls library functions: the compiler counts such calls, or the machine makes more indirect jumps than
--- the compiler counts, as calls of libraries do. These implement operations that the machine lacks.
local function in_library(c)
  local f = c.final
  return f.set + f.copy + f.call_direct + f.call_indirect > 0
    or (c.simulation.indirect or 0) > f.branch_indirect + f.branch_switch
end

-- Format figures, or return nil if the rule does not apply.
local function when(holds, text, ...) return holds and text:format(...) or nil end

-- A rule is { counter, quantity, the reason in short, the reason in prose, f }; f returns figures where the rule applies.
-- also: another quantity that it explains; against: the counter to compare with, if it is not the one in bases.

-- --- the compiler at final against the compiler at source ---

local function access_rules(quantity, bytes, what)
  return {
    { "final", quantity, "vectors", "one instruction takes several elements", function(c)
      local n, widest = of_vectors(c.final, what)
      return when(n > of_vectors(c.source, what), "%d of %d take up to %d bytes", n, c.final[quantity], widest)
    end },
    { "final", quantity, "registers", ("%ss that the optimiser leaves out: the value is in a register"):format(what), function(c)
      local fewer = (c.source[bytes] - c.final[bytes]) // 8
      return when(fewer > 0, "%d", fewer)
    end, also = bytes },
    { "final", quantity, "again", ("%ss made more than once, or of variables that stay in memory"):format(what), function(c)
      local more = (c.final[bytes] - c.source[bytes]) // 8
      return when(more > 0, "%d", more)
    end, also = bytes },
  }
end

local function became(cell, bytes, name)
  return function(c) return when(c.final[cell] > c.source[cell], "%d bytes by %s", c.final[bytes], name) end
end

local function turns(c)
  local before, after = c.source.branch, c.final.branch
  return when(before > 1.5 * after, "%d branches for %d", after, before)
end

local function addresses(c)
  local fewer = c.source.address - c.final.address
  return when(fewer > 0, "%d less", fewer)
end

local function other_flops(c)
  local d = difference(c, "source", "final", "flops")
  return when(d ~= 0, "%+d", d)
end

local final = {
  { "final", "stores", "memset", "the loop became a call, and only its bytes are counted",
    became("set", "set_bytes", "memset") },
  { "final", "loads", "memcpy", "the loop became a call, and only its bytes are counted",
    became("copy", "copy_bytes_stored", "memcpy"), also = "stores" },
  { "final", "operations", "fewer branches", "an iteration does the work of several, or the loop is gone",
    turns },
  { "final", "operations", "loads and stores", "fewer or more of them, as explained above", function(c)
    local d = difference(c, "source", "final", "loads") + difference(c, "source", "final", "stores")
    return when(d ~= 0, "%+d", d)
  end },
  { "final", "operations", "addresses", "one address serves a vector, or several accesses", addresses },
  { "final", "operations", "fma", "multiplications and additions are fused: the same flops, fewer operations", function(c)
    local more = fused(c.final) - fused(c.source)
    return when(more > 0, "%d", more)
  end },
  { "final", "flops", "other flops", "more: done twice or unnecessarily; fewer: done once for all iterations", other_flops },
}

-- --- machine code, simulated, against the compiler's ---

-- Extra reads of fused operations with a vector in memory; fewer than one read for each mean that it is in a register.
local function by_element(c)
  local operations, most = fused_vectors(c.final)
  local more = difference(c, "final", "simulation", "loads")
  return operations > 0 and more >= operations and math.min(more, most) or 0
end

local function reads_by_element(c)
  local more = by_element(c)
  return when(more > 0, "%d more", more)
end

-- Reads or writes that neither libraries nor vectors counted by element explain.
local function left_over(c, quantity)
  local d = difference(c, "final", "simulation", quantity)
  if in_library(c) then return 0 end
  return quantity == "loads" and d - by_element(c) or d
end

local function spills(quantity)
  return function(c)
    local stored, d = left_over(c, "stores"), left_over(c, quantity)
    return when(d > FEW and stored > FEW, "%d", d)
  end
end

local function reads_again(c)
  local d = left_over(c, "loads")
  return when(d > FEW and left_over(c, "stores") <= FEW, "%d", d)
end

local function once(quantity)
  return function(c)
    local d = left_over(c, quantity)
    return when(d > 0 and d <= FEW, "%d", d)
  end
end

local function fewer_accesses(quantity)
  return function(c)
    local d = left_over(c, quantity)
    return when(d < 0, "%d", -d)
  end
end

local function inside(quantity, unit)
  return function(c)
    local d = difference(c, "final", "simulation", quantity)
    return when(in_library(c) and d > 0, "%d %s", d, unit)
  end
end

-- The rest, if a vector operation is one instruction and an address costs none.
local function instructions_left(c)
  local lanes = lanes_beyond(c.final)
  return c.simulation.operations - (c.final.operations - lanes - c.final.address), lanes
end

local simulation = {
  { "simulation", "operations", "vectors", "the compiler counts elements; an instruction processes a vector of them",
    function(c)
      local _, lanes = instructions_left(c)
      return when(lanes > 0, "%d less", lanes)
    end },
  { "simulation", "operations", "addressing modes", "the instruction that uses an address also computes it", function(c)
    return when(c.final.address > 0 and not in_library(c), "up to %d", c.final.address)
  end },
  { "simulation", "operations", "operands", "loads, indices and comparisons are part of other instructions",
    function(c)
      local d, at_most = instructions_left(c), 0
      for _, cell in ipairs { "loads", "int_add", "int_logic", "int_shift", "int_convert", "int_compare" } do
        at_most = at_most + c.final[cell]
      end
      return when(d < 0 and -d <= at_most and not in_library(c), "%d less, of %d", -d, at_most)
    end },
  { "simulation", "operations", "moves", "moves between registers, computed addresses, saving and restoring", function(c)
    local d = instructions_left(c)
    return when(d > 0 and not in_library(c), "%d more", d)
  end },
  { "simulation", "operations", "in libraries", "one operation of the compiler is a library function on the machine",
    inside("operations", "instructions") },
  { "simulation", "loads", "in libraries", "loads of the called function", inside("loads", "loads") },
  { "simulation", "stores", "in libraries", "stores of the called function; a repeated store counts each time",
    inside("stores", "stores") },
  { "simulation", "loads", "fma by element", "valgrind reads the vector operand of an fma element by element",
    reads_by_element },
  { "simulation", "loads", "spills", "values that do not fit into registers are read from the stack",
    spills "loads" },
  { "simulation", "stores", "spills", "values that do not fit into registers are written to the stack",
    spills "stores" },
  { "simulation", "loads", "again", "constants, or values read again instead of kept in a register", reads_again },
  { "simulation", "loads", "once", "constants and saved registers, once per call", once "loads" },
  { "simulation", "stores", "once", "saved registers, once per call", once "stores" },
  { "simulation", "loads", "joined", "loads removed or merged by the code generator", fewer_accesses "loads" },
  { "simulation", "stores", "joined", "stores removed, merged, or made by an instruction that also reads: a read to valgrind",
    fewer_accesses "stores" },
}

-- --- the hardware against the simulation; for flops, which it does not count, against the compiler ---

local function within_a_percent(quantity)
  return function(c)
    local d = difference(c, "simulation", "hardware", quantity)
    return when(d ~= 0 and math.abs(d) <= math.max(FEW, c.simulation[quantity] / 100), "%+.0f", d)
  end
end

local hardware = {
  { "hardware", "operations", "interrupts", "instructions repeated after an interrupt, and those that read the counter",
    within_a_percent "operations" },
  { "hardware", "loads", "interrupts", "loads of the code that reads the counter", within_a_percent "loads" },
  { "hardware", "stores", "interrupts", "stores of the code that reads the counter", within_a_percent "stores" },
  { "hardware", "loads", "vectors at once", "a vector is one load, which valgrind counts by element", function(c)
    local d = difference(c, "simulation", "hardware", "loads")
    return when(d < -FEW and c.final and math.abs(d + by_element(c)) <= FEW, "%.0f less", -d)
  end },
  { "hardware", "flops", "fma once", "a fused operation counts once, not twice", function(c)
    local d = difference(c, "final", "hardware", "flops")
    return when(d < 0 and -d == fused(c.final), "%.0f less", -d)
  end, against = "final" },
}

local function all_rules()
  local rules = {}
  for _, list in ipairs { access_rules("loads", "loaded", "load"), access_rules("stores", "stored", "store"), final, simulation,
    hardware } do
    table.move(list, 1, #list, #rules + 1, rules)
  end
  return rules
end

local bases = { final = "source", simulation = "final", hardware = "simulation" }
local rules = all_rules()

-- Differences that no rule explains.
local function unexplained(c, covered, out)
  for _, counter in ipairs(counters.ORDER) do
    for _, quantity in ipairs { "flops", "loaded", "stored", "loads", "stores", "operations" } do
      local base = quantity == "flops" and counter == "hardware" and "final" or bases[counter]
      local d = base and difference(c, base, counter, quantity) or 0
      if d ~= 0 and not covered[counter .. quantity] then
        out[#out + 1] = { counter = counter, against = base, quantity = quantity, short = "unexplained",
          prose = "the counts do not explain it", figure = ("%+.0f"):format(d) }
      end
    end
  end
end

--- The reasons for the differences of one kernel's counters.
---@param c table<string, table<string, number>> counts by counter
---@return { counter: string, against: string, quantity: string, short: string, prose: string, figure: string }[]
function M.of(c)
  local out, covered = {}, {}
  for _, r in ipairs(rules) do
    local counter, quantity, against = r[1], r[2], r.against or bases[r[1]]
    local differs = difference(c, against, counter, quantity) ~= 0 or r.also and difference(c, against, counter, r.also) ~= 0
    local figure = differs and r[5](c)
    if figure then
      out[#out + 1] = { counter = counter, against = against, quantity = quantity, short = r[3], prose = r[4], figure = figure }
      covered[counter .. quantity] = true
      if r.also then covered[counter .. r.also] = true end
    end
  end
  unexplained(c, covered, out)
  return out
end

return M
