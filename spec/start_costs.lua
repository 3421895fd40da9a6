-- SPDX-License-Identifier: BSD-3-Clause
-- spec/start_costs.lua - costs of a start, in instructions from the loader on: the whole `pmlua -e ''`, `pmlua record -- true`,
-- and its `true`.
-- Try: lua5.4 -e 'for _, r in ipairs(require("spec.start_costs").rows("build")) do print(r.name, r.cost or r.why) end'
--
-- The counts vary by a percent with the names of folders, process ids, and the number of polls for a command's end. So a row is
-- written with a margin.

local M = {}

local sh = require("spec.shell").sh

local MARGIN <const> = 1.05

--- The instructions of a callgrind file, and the program.
local function read(file)
  local f <close> = assert(io.open(file))
  local text = f:read("a")
  return math.tointeger(tonumber(text:match "\nsummary: (%d+)")), text:match "\ncmd: *(%S+)"
end

--- Instructions by program, or nil and why not. The environment is the same for all users. With children, valgrind itself also
--- loads the libraries that are preloaded into the program.
local function count(words, children)
  local dir = os.tmpname()
  os.remove(dir)
  local out, code = sh(("mkdir %s && cd %s && env -i PATH=/usr/bin:/bin LC_ALL=C valgrind -q --tool=callgrind "
    .. "--trace-children=%s --callgrind-out-file=%s/cost.%%p %s 2>&1"):format(dir, dir, children and "yes" or "no", dir, words))
  local costs = {}
  if code == 0 then
    for file in sh(("ls %s/cost.*"):format(dir)):gmatch "%S+" do
      local cost, program = read(file)
      costs[program:match "[^/]*$"] = cost
    end
  end
  os.execute("rm -rf " .. dir)
  if code ~= 0 then return nil, out:match "[^\n]*" end
  return costs
end

--- Rows: name, the cost, and the cost with a margin; or the reason for its lack.
---@param build string
---@return { name: string, cost: integer?, kept: integer?, why: string? }[]
function M.rows(build)
  build = build:match "^/" and build or sh("cd " .. build .. " && pwd"):match "[^\n]*"
  local rows = {}
  local function add(name, costs, program, why)
    local cost = costs and costs[program]
    rows[#rows + 1] = { name = name, cost = cost, kept = cost and math.ceil(cost * MARGIN), why = why or "it was not run" }
  end
  local costs, why = count(build .. "/pmlua -e ''")
  add("start_code", costs, "pmlua", why)
  costs, why = count(build .. "/pmlua record -o out -- true")
  add("start_record", costs, "pmlua", why)
  costs, why = count(build .. "/pmlua record -o out -- true", true)
  add("start_recorded", costs, "true", why)
  return rows
end

return M
