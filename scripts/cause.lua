-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/cause.lua - how often pmlua bench --cause names the planted cause of a difference.
--
-- Try:  pmlua scripts/cause.lua --quick
--
-- A pair is one program compiled twice, with other amounts of work in one function (1 %), other addresses of its data, both, or
-- neither. Pairs differ in which side has the larger work and the slower addresses, and in the part of the time that depends on
-- addresses.

local build = require "programs.build"
local core = require "pmlua.core"
local pml = require "pmlua"

local ONE_PER_CENT <const> = 100000 -- rounds in parse()
local ANSWERS <const> = { "equal", "layout", "work", "both" }
local NAMES <const> = { equal = "machine" }

--- The compiler's words for a side of a pair.
local function words_for(planted, pair, side)
  local slow, more = pair % 2, (pair // 2) % 2
  local same = (planted == "equal" or planted == "work") and pair % 2 or nil
  local pad = (same or (side == slow and 0 or 1)) == 0 and 0 or 64
  local extra = (planted == "work" or planted == "both") and side == more and ONE_PER_CENT or 0
  return ("-DPAD=%d -DMORE=%d -DCHASE=%d"):format(pad, extra, 1500 + 500 * (pair % 5))
end

--- Compile both programs of a pair and name the cause of their difference.
local function judge(state, planted, pair, runs)
  for side = 0, 1 do
    local path, err = state.folder:program("side" .. side, { "planted.c" }, words_for(planted, pair, side))
    if not path then return nil, err end
  end
  local command = core.sys.realpath "/proc/self/exe"
  local text, err = state.folder:run(("%s bench --cause -q --json --no-plot --runs %d ./side0 ./side1"):format(
    build.quote(command), runs), 600)
  if not text then return nil, err end
  return pml.json.decode(text).cause
end

return pml.experiment {
  name = "cause",
  description = "planted causes of a difference, and how often they are named",
  factors = { { "planted", ANSWERS } },
  repeats = 10, rounds = 10, warmup = 0,
  quick = { repeats = 1, rounds = 1 },
  unit = "",
  help = { planted = "how the two programs differ" },
  options = { { name = "runs", type = "integer", default = 24, min = 8, max = 1000, metavar = "N",
    help = "runs of each program" } },
  cell_setup = function()
    local folder, err = build.folder()
    return folder and { folder = folder, pair = 0, answers = {} }, err
  end,
  cell_teardown = function(state) state.folder:close() end,
  measure = function(state, p, _, o)
    local found, err = judge(state, p.planted, state.pair, o.runs)
    if not found then return nil, err end
    state.pair = state.pair + 1
    io.stderr:write(("%s %d: %s: %s\n"):format(p.planted, state.pair, found.answer, found.sentence))
    return found.answer == (NAMES[p.planted] or p.planted) and 1 or 0
  end,
  columns = { { name = "named", description = "share of pairs whose cause was named",
    value = function(cell) return cell.summary.mean end } },
  plot = { x = "planted", y = "named" },
}
