-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua wrap list`: the wrappers that are installed, and the recipes for more.

local say = require "pmlua.wrap.say".say

local M = {
  summary = "list the wrappers that are installed, and the recipes for more",
  about = [[
The wrappers in the folders of PMLUA_WRAP_PATH and beside pmlua: name, language, number of functions, libraries, folder;
and the recipes that come with pmlua, with the Debian package that each needs: pmlua wrap init --recipe NAME begins one.]],
  examples = { "pmlua wrap list" },
}

function M.run()
  local rows = {}
  for i, w in ipairs(require("pmlua.wrap.installed").list()) do
    rows[i] = { w.name, w.language, #w.functions, table.concat(w.libraries, " "), w.dir }
  end
  if #rows == 0 then
    say("no wrappers are installed; pmlua wrap init begins one")
  else
    say(require("pmlua.tabulate")({ "name", "language", "functions", "libraries", "folder" }, rows, 1))
  end
  local recipes = {}
  for i, r in ipairs(require("pmlua.wrap.recipes").list()) do recipes[i] = { r.name, r.title, r.package } end
  if #recipes > 0 then say("\n" .. require("pmlua.tabulate")({ "recipe", "of", "Debian package" }, recipes, 1)) end
  return 0
end

return M
