-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua wrap list`: the wrappers that are installed, and the recipes for more.

local common = require "pmlua.internal.cli.common"
local say = require "pmlua.internal.wrap.say".say

local M = {
  summary = "list the wrappers that are installed, and the recipes for more",
  about = [[
Lists the wrappers in the folders of PMLUA_WRAP_PATH and beside pmlua with name, language, number of functions, libraries and
folder, and pmlua's recipes with the Debian package that each needs: pmlua wrap init --recipe NAME starts from one.]],
  options = {
    common.with("json", { help = "{wrappers, recipes}, an array of objects each" }),
    common.with("csv", { help = "the wrappers as CSV" }),
    common.with "out",
  },
  exclusive = { { "json", "csv" } },
  output = true,
  examples = { "pmlua wrap list", "pmlua wrap list --csv" },
}

local heads = { "name", "language", "functions", "libraries", "folder" }
local recipe_heads = { "recipe", "of", "Debian package" }

local function wrappers()
  local rows = {}
  for i, w in ipairs(require("pmlua.internal.wrap.installed").list()) do
    rows[i] = { w.name, w.language, #w.functions, table.concat(w.libraries, " "), w.dir }
  end
  return rows
end

local function recipes()
  local rows = {}
  for i, r in ipairs(require("pmlua.internal.wrap.recipes").list()) do rows[i] = { r.name, r.title, r.package } end
  return rows
end

local function objects(names, rows)
  local list = require("pmlua.json").array()
  for i, row in ipairs(rows) do
    list[i] = {}
    for k, name in ipairs(names) do list[i][name] = row[k] end
  end
  return list
end

local function print_tables(installed, known)
  local tabulate = require "pmlua.tabulate"
  say(#installed > 0 and tabulate(heads, installed, 1) or "no wrappers are installed; pmlua wrap init begins one")
  if #known > 0 then say("\n" .. tabulate(recipe_heads, known, 1)) end
end

---@return integer status
function M.run(o)
  local installed = wrappers()
  if o.csv then io.write(require("pmlua.internal.cli.csv").table(heads, installed))
  elseif o.json then
    io.write(require("pmlua.json").encode { wrappers = objects(heads, installed),
      recipes = objects({ "name", "title", "package" }, recipes()) })
  else print_tables(installed, recipes()) end
  return 0
end

return M
