-- spec/bench/reader.lua - what Lua adds to a read: the reader closure of an event set beside the floor of any C call.
--
-- Run by `make bench`. The set holds one clock, so that its C side is one counter instruction and the rest is Lua's. The
-- floor is a C function that does next to nothing, pml.sys.interrupted(). Batches of them alternate; medians.

local pml = require "pmlua"

local batches, calls = 401, 2000
local ticks, to_ns = pml.clock.ticks, pml.clock.to_ns

local function batch(f)
  local start = ticks()
  for _ = 1, calls do f() end
  return ticks() - start
end

local function empty() end

local set <close> = pml.eventset { "clock::ticks" }
set:start()
local rows = {
  { name = "reader closure, 1 clock", f = set:reader() },
  { name = "method set:read(), 1 clock", f = function() return set:read() end },
  { name = "C function", f = pml.sys.interrupted },
  { name = "empty Lua function", f = empty },
}
pml.sys.pin(pml.sys.affinity()[1])
for _, row in ipairs(rows) do row.samples = pml.samples.new(batches) end
for _ = 1, batches do
  for _, row in ipairs(rows) do row.samples:push(batch(row.f)) end
end
local instruction = pml.clock.info().cost_ns
for _, row in ipairs(rows) do
  row.ns = to_ns(math.tointeger(row.samples:sort():quantile(0.5) // 1 | 0)) / calls
end

local reader, floor = rows[1].ns - instruction, rows[3].ns
print(("\nfrom Lua: medians over %d interleaved batches of %d calls; the C cost is %.1f ns, one counter instruction")
  :format(batches, calls, instruction))
print(("%-36s %8s %s"):format("figure", "ns", "ratio  limit"))
print(("%-36s %8.1f"):format("floor: a C function from Lua", floor))
print(("%-36s %8.1f %5.2f   2.00 %s"):format("reader closure above its C cost", reader, reader / floor,
  reader <= 2 * floor and "ok" or "over"))
print(("%-36s %8.1f %5.2f   (for comparison)"):format("method set:read() above its C cost", rows[2].ns - instruction,
  (rows[2].ns - instruction) / floor))
print(("%-36s %8.1f"):format("empty Lua function", rows[4].ns))

-- Events that a substrate in Lua takes from its buffer, a function called for each.
local calls_of, n = 200000, 0
local substrate <close> = assert(pml.substrate { records = 1 << 20, enter = function() n = n + 1 end,
  leave = function() n = n + 1 end })
local section = assert(pml.section.define { label = "bench drain" })
local rates = pml.samples.new(9)
for _ = 1, 9 do
  for _ = 1, calls_of do
    section:start()
    section:stop()
  end
  local start = ticks()
  local drained = substrate:drain()
  rates:push(math.tointeger(drained * 1000000000 // to_ns(ticks() - start)))
end
local rate = rates:sort():quantile(0.5) / 1e6
print(("%-36s %8.1f million events/s  limit at least 5%s"):format("substrate in Lua, drained", rate, rate < 5 and "  OVER" or ""))
if n ~= 9 * 2 * calls_of then print(("only %d events of %d came"):format(n, 9 * 2 * calls_of)) end
