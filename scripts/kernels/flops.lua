-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/kernels/flops.lua - floating-point operations as the PMU counts them, beside those that the source has.
--
-- Try:  print(require("kernels.flops").open(require "pmlua"))
--
-- Equation 7 of the PMlib paper: events by width, each times the elements of a vector. A fused multiply-add counts
-- twice on Intel and AMD. Arm counts instructions, not operations, unless it has SVE: there the user names the events.

local M = {}

local function intel(event)
  return {
    { event .. ":SCALAR_DOUBLE", 1 }, { event .. ":128B_PACKED_DOUBLE", 2 }, { event .. ":256B_PACKED_DOUBLE", 4 },
    { event .. ":512B_PACKED_DOUBLE", 8 }, { event .. ":SCALAR_SINGLE", 1 }, { event .. ":128B_PACKED_SINGLE", 4 },
    { event .. ":256B_PACKED_SINGLE", 8 }, { event .. ":512B_PACKED_SINGLE", 16 },
  }
end

local known = {
  intel "FP_ARITH_INST_RETIRED", intel "FP_ARITH", { { "RETIRED_SSE_AVX_FLOPS:ANY", 1 } },
  { { "RETIRED_SSE_AVX_OPERATIONS:DP_ADD_SUB_FLOPS:DP_MULT_FLOPS:DP_DIV_FLOPS:DP_MULT_ADD_FLOPS:SP_ADD_SUB_FLOPS"
    .. ":SP_MULT_FLOPS:SP_DIV_FLOPS:SP_MULT_ADD_FLOPS", 1 } },
}

--- The user's own: "EVENT*8,EVENT"; a comma inside slashes belongs to the event.
---@return {[1]: string, [2]: number}[]? events, string? err
function M.parse(text)
  local out, inside, word = {}, false, ""
  for c in (text .. ","):gmatch "." do
    if c == "/" then inside = not inside end
    if c == "," and not inside then
      local name, weight = word:match "^(.*)%*([%d.]+)$"
      name, weight = name or word, tonumber(weight or 1)
      if name == "" or not weight then return nil, ("%q is not EVENT or EVENT*NUMBER"):format(word) end
      out[#out + 1], word = { name, weight }, ""
    else
      word = word .. c
    end
  end
  return out
end

local function names_of(events)
  local out = {}
  for i, e in ipairs(events) do out[i] = e[1] end
  return out
end

local function opened(pml, events)
  local set, err = pml.eventset.open(names_of(events), { no_page = true, ungrouped = true })
  if not set then return nil, err end
  return { set = set, events = events }
end

--- Open what counts the operations here. On Intel, where not all of the eight fit at once, the kernel lets them take
-- turns, and the set scales.
---@param text string? the user's choice
---@return table? counter, string? err
function M.open(pml, text)
  if text then
    local events, err = M.parse(text)
    if not events then return nil, err end
    return opened(pml, events)
  end
  local pmu, why = pml.event.has_pmu()
  if not pmu then return nil, "needs a PMU: " .. why end
  for _, events in ipairs(known) do
    local counter = opened(pml, events)
    if counter then return counter end
  end
  return nil, "pmlua has no event that counts floating-point operations on this cpu; name some with --flop-events"
end

--- Operations of one call as counted, all calls of a run together; one copy, on this thread.
---@param counter table from open
---@param lab table kernels.lab
---@param o table as for lab:measure
---@return number? operations per call
---@return number|string share of the time that the events were counted in; or what failed
function M.per_call(counter, lab, o)
  local set = counter.set
  local one = { kernel = o.kernel, precision = o.precision, build = o.build, n = o.n, copies = 1, batch_ns = 10000000 }
  set:reset()
  set:start()
  local samples, about = lab:measure(one, 1)
  set:stop()
  if not samples then return nil, about end
  local readings, err = set:readings()
  if not readings then return nil, err end
  local sum, share = 0, 1
  for i, e in ipairs(counter.events) do
    local r = readings[i]
    sum = sum + e[2] * r.scaled
    if r.enabled_ns > 0 then share = math.min(share, r.running_ns / r.enabled_ns) end
  end
  return sum / about.calls_made, share
end

return M
