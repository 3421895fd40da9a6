-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/memory_latency.lua - how long a load takes by the size of the working set, with small and with huge pages.
--
-- Try:  pmlua scripts/memory_latency.lua --quick
--
-- Each load has the address of the next one, in a random cycle, so that neither prefetcher nor out-of-order execution helps.
-- With a stride of a line caches and TLB fill together; with one line on each page the TLB fills long before the caches.
-- Huge pages take the TLB away.

local pml = require "pmlua"
local laboratory = require "memory_latency.lab"
local report = require "memory_latency.report"

local lab, largest

local function strides(text)
  local out = {}
  for word in text:gmatch "[^,]+" do
    local n = math.tointeger(tonumber(word))
    if not n or n < 8 or n % 8 ~= 0 or n > 1 << 20 then
      error(("option --strides: %s must be a multiple of 8, from 8 to %d"):format(word, 1 << 20), 0)
    end
    out[#out + 1] = n
  end
  if #out == 0 then error("option --strides: the list is empty", 0) end
  return out
end

local function prepare(options)
  local room = laboratory.available()
  largest = options.largest << 20
  if room and largest > room then
    error(("option --largest is %d MiB; half of the memory that is available is %d MiB"):format(options.largest, room >> 20), 0)
  end
  local list = strides(options.strides)
  lab = assert(laboratory.new { loads = options.quick and 2048 or 8192 })
  return { { "stride", list }, { "pages", { "small", "huge" } }, { "bytes", laboratory.sizes(largest, options.steps) } }
end

local function smallest(p)
  if p.bytes < 4 * p.stride then return "fewer than 4 slots" end
  if p.pages == "huge" and lab.simulated then return "a simulation has no pages" end
  if p.pages == "huge" and p.bytes < 1 << 20 then return "smaller than a huge page: as with small pages" end
  return true
end

return pml.experiment {
  name = "memory_latency",
  description = [[
Latency of loads that depend on each other along a random cycle through a working set, by its size, by the distance of the
slots, on small and on huge pages. A sample is a batch of loads. Where the curve leaves a plateau, the knee is narrowed down to
3 % by further measurements.]],
  factors = prepare,
  constraints = smallest,
  help = { stride = "from one slot to the next", pages = "small or huge (transparent)", bytes = "of the working set" },
  unit = "ns",
  units = { stride = "B", bytes = "B" },
  repeats = 45,
  rounds = 3,
  warmup = 0,
  quick = { repeats = 5, rounds = 1, largest = 16, steps = 1 },
  options = {
    { name = "largest", type = "integer", metavar = "MIB", min = 1, default = 256, help = "largest working set" },
    { name = "steps", type = "integer", metavar = "N", min = 1, default = 2, help = "sizes to each doubling" },
    { name = "strides", metavar = "LIST", default = "64,4160", help = "bytes; 4160 is a page and a line" },
  },
  examples = { "pmlua scripts/memory_latency.lua --quick", "pmlua scripts/memory_latency.lua --largest 2048 --steps 4" },
  measure = function(_, p, n) return lab:measure(p, n) end,
  metrics = { { name = "huge", unit = "", description = "share of the working set that lies in huge pages" } },
  analyse = function(run) report.write(run, lab, largest) end,
  plot = "memory_latency",
}
