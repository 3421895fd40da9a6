-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/demo.lua - an experiment with known results, for specs to run.

local support = require "spec.core.support"
local experiment = require "pmlua.experiment"

local M = {}

-- Without a clock.
function M.define(changes)
  local def = {
    name = "demo", factors = { k = { 1, 2, 3 } }, repeats = 60, rounds = 6, warmup = 0, unit = "ns",
    measure = function(_, p, n)
      local out = {}
      for i = 1, n do out[i] = p.k * 100 + i % 5 end
      return out
    end,
  }
  for k, v in pairs(changes or {}) do def[k] = v end
  return experiment(def)
end

function M.run(changes, given)
  local all = { out = support.folder(), no_plot = true, quiet = true, seed = 7 }
  for k, v in pairs(given or {}) do all[k] = v end
  return assert(M.define(changes):run(all))
end

--- Make the folder of a run as an experiment would; `medians` has the medians of the rounds for each cell.
function M.run_folder(medians, changes)
  local results, json, stats = require "pmlua.results", require "pmlua.json", require "pmlua.stats"
  local folder = assert(results.create(support.folder(), "demo"))
  local rows, rounds = {}, {}
  for cell, list in ipairs(medians) do
    local m = #list > 0 and stats.median(list) or nil
    rows[cell] = { cell, "p" .. cell, m and "ok" or "needs a PMU", #list, m, m, m, m, m, m, m }
    for r, v in ipairs(list) do rounds[#rounds + 1] = { cell, r, v } end
  end
  local columns = { { "cell" }, { "path", "text" }, { "status", "text" }, { "samples" } }
  for _, name in ipairs { "q1", "median", "median_lo", "median_hi", "q3", "whisker_lo", "whisker_hi" } do
    columns[#columns + 1] = { name, "ns", name }
  end
  local meta = {
    name = "demo", status = "complete", unit = "ns", sample_unit = "ticks", seed = 1, script_sha256 = "00",
    factors = { { name = "path", levels = { "p1", "p2" } } }, files = json.array(), warnings = json.array(),
    machine = { cpu = "a CPU", cpus = 2, clock = { resolution_ns = 1 } }, versions = { kernel = "6.1" },
  }
  for k, v in pairs(changes or {}) do meta[k] = v end
  assert(folder:write("meta.json", json.encode(meta)))
  assert(folder:write_table("data.dat", { title = "demo", columns = columns, rows = rows }))
  assert(folder:write_table("rounds.dat", {
    title = "demo rounds", columns = { { "cell" }, { "round" }, { "median", "ns" } }, rows = rounds,
  }))
  return folder.path
end

-- A script in a file, run by the command.
function M.script(text)
  local dir = support.folder()
  support.spit(dir .. "/script.lua", text)
  return dir .. "/script.lua", dir
end

function M.command(text, arguments)
  local path, dir = M.script(text)
  local code, out, err = support.pmlua(("%s -o %s --no-plot %s"):format(path, dir, arguments or ""))
  return code, out, err, dir, path
end

function M.csv(dir)
  local _, out = support.shell("zcat " .. dir .. "/samples.csv.gz 2>/dev/null")
  return out
end

return M
