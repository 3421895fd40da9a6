-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/flow/files.lua - the flow files of recorded processes in the results folder, and the report on them.
--
-- Try:  pmlua record --flow -o out -- ./solver; ls out

local disk = require "pmlua.internal.file"
local lists = require "pmlua.internal.lists"
local picture = require "pmlua.internal.picture"

local M = {}

-- A graph of more call paths is drawn only on request, because it is unreadable and takes dot minutes.
local DRAWN_MOST = 500

--- The requested file, or a file per process if there are several.
local function named(path, name, several)
  return several and path:gsub("(%.%a+)$", "-" .. name:gsub("%%", "%%%%") .. "%1") or path
end

local function text_of(flow)
  local s = flow:size()
  local function some(n, what) return ("%d %s%s"):format(n, what, n == 1 and "" or "s") end
  local text = ("%s of %s in %s: %s, %s, %s"):format(some(s.enters, "call"), some(s.threads, "thread"),
    some(#flow.graphs, "graph"), some(s.nodes, "call path"), some(s.edges, "edge"), some(s.labels, "label"))
  if s.missing > 0 then text = ("%s; %d calls at the end have no labels, for lack of room"):format(text, s.missing) end
  if flow.refused > 0 then text = ("%s; %d more threads did not fit"):format(text, flow.refused) end
  return text
end

--- FLOW.dot, FLOW.c and, of a flow that is not too large for a picture, FLOW.svg.
---@param base string the path without its ending
---@param options pmlua.flow.dot
---@return boolean drawn there is a FLOW.svg
local function write(flow, base, options, complain)
  local ok, err = flow:draw(base .. ".dot", options)
  if ok then ok, err = picture.write(base .. ".c", flow:skeleton(options)) end
  local paths = flow:size().nodes
  local few = paths <= DRAWN_MOST
  if ok and few then
    ok, err = flow:draw(base .. ".svg", options)
  elseif ok then
    complain(("%s.svg is not drawn: %d call paths are more than a picture shows; choose with --lib, --sym, --max-depth")
      :format(base, paths))
  end
  if not ok then complain(err, true) end
  return ok and few or false
end

--- The same, and the picture that was asked for, which may be FLOW.svg once more.
---@param file? string
---@param options pmlua.flow.dot
local function write_both(flow, base, file, options, complain)
  local drawn = write(flow, base, options, complain)
  if not file then return end
  local svg = drawn and file:find "%.svg$" and disk.read(base .. ".svg")
  local ok, err
  if svg then ok, err = picture.write(file, svg) else ok, err = flow:draw(file, options) end
  if not ok then complain("--flow: " .. err, true) end
end

--- Write the flow of each process with calls; print a line for each, and the errors, on stderr.
---@param results pmlua.logs.result[]
---@param o { flow_file?: string, color?: string }
function M.report(results, dir, o, complain)
  local with = lists.filter(results, function(p) return p.flow and #p.flow.graphs > 0 end)
  for _, p in ipairs(with) do
    local options = { color = o.color, title = "process " .. p.name }
    local base = ("%s/flow-%s"):format(dir, p.name)
    local printable = require "pmlua.internal.printable"
    io.stderr:write(("flow of process %s: %s; %s.dot\n"):format(printable(p.name), printable(text_of(p.flow)), base))
    write_both(p.flow, base, o.flow_file and named(o.flow_file, p.name, #with > 1), options, complain)
  end
end

--- Write the flow of a job, with a line on stderr.
---@param job { ranks: integer, flow: pmlua.Flow }
---@param dir string the job's
---@param o { flow_file?: string, color?: string }
function M.report_job(job, dir, o, complain)
  local options = { color = o.color, title = ("job of %d ranks; times are a rank's, of all visits"):format(job.ranks) }
  local base = dir .. "/flow"
  local said = require "pmlua.internal.printable"(text_of(job.flow))
  io.stderr:write(("flow of %d ranks: %s; %s.dot\n"):format(job.ranks, said, base))
  write_both(job.flow, base, o.flow_file, options, complain)
end

return M
