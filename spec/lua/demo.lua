-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/demo.lua - an experiment that specs run: what it gives is known.

local experiment = require "pmlua.experiment"
local helper = require "spec.lua.helper"

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
  local all = { out = helper.folder(), no_plot = true, quiet = true, seed = 7 }
  for k, v in pairs(given or {}) do all[k] = v end
  return assert(M.define(changes):run(all))
end

-- A script in a file, run by the command.
function M.script(text)
  local dir = helper.folder()
  helper.write(dir .. "/script.lua", text)
  return dir .. "/script.lua", dir
end

function M.command(text, arguments)
  local path, dir = M.script(text)
  local code, out, err = helper.pmlua(("%s --out %s --no-plot %s"):format(path, dir, arguments or ""))
  return code, out, err, dir, path
end

function M.csv(dir)
  local _, out = helper.shell("zcat " .. dir .. "/samples.csv.gz 2>/dev/null")
  return out
end

return M
