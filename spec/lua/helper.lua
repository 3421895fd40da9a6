-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/helper.lua - shared by the specs: pmlua's modules on the path, scratch folders, the command.

local lfs = require "lfs"

local M = {}

local root = lfs.currentdir()
M.root = root
M.build = os.getenv("PMLUA_BUILD") or "build"
if M.build:sub(1, 1) ~= "/" then M.build = root .. "/" .. M.build end
package.path = ("%s/lua/?.lua;%s/lua/?/init.lua;%s"):format(root, root, package.path)
package.cpath = ("%s/lua/?.so;%s"):format(M.build, package.cpath)

M.has_core, M.core = pcall(require, "pmlua.core")
M.no_core = "build/lua/pmlua/core.so is not built"

function M.quote(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

--- A new empty folder; removed by M.clean().
local scratch = {}
function M.folder()
  local pipe = io.popen("mktemp -d /tmp/pmlua-spec-XXXXXX")
  local path = pipe:read("l")
  pipe:close()
  scratch[#scratch + 1] = path
  return path
end

function M.clean()
  for _, path in ipairs(scratch) do os.execute("rm -rf " .. M.quote(path)) end
  scratch = {}
end

function M.write(path, text)
  local f = assert(io.open(path, "wb"))
  f:write(text)
  f:close()
end

function M.read(path)
  local f = assert(io.open(path, "rb"))
  local text = f:read("a")
  f:close()
  return text
end

--- Run a shell command: exit status, stdout, stderr. A time limit keeps a hang from hanging the specs.
function M.shell(command)
  local err_path = os.tmpname()
  local pipe = io.popen(("timeout 600 sh -c %s 2>%s"):format(M.quote(command), err_path))
  local out = pipe:read("a")
  local _, _, code = pipe:close()
  local err = M.read(err_path)
  os.remove(err_path)
  return code or 0, out, err
end

--- Make the folder of a run as an experiment would; `medians` has the medians of the rounds for each cell.
function M.run_folder(medians, changes)
  local results, json, stats = require "pmlua.results", require "pmlua.json", require "pmlua.stats"
  local folder = assert(results.create(M.folder(), "demo"))
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

--- Run the pmlua command.
function M.pmlua(arguments)
  return M.shell(M.build .. "/pmlua " .. arguments)
end

return M
