-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua wrap install`: what was built, to where pmlua cc finds it.

local M = {
  usage = "pmlua wrap install [DIR] [--prefix PREFIX]",
  help = [[
Copies what the working folder has built beside pmlua itself, where pmlua cc, list and show find it.

  --prefix PREFIX   to PREFIX/lib/pmlua/wrap instead; PMLUA_WRAP_PATH must name that folder then

    pmlua wrap install wrap-zlib --prefix ~/.local]],
}

local function is_searched(dir)
  local core = require "pmlua.core"
  for _, place in ipairs(require("pmlua.wrap.paths").installed()) do
    if core.sys.realpath(place) == dir then return true end
  end
  return false
end

function M.run(args, say, complain)
  local o, misuse = require("pmlua.wrap.options").parse(args, { prefix = "value" })
  if not o then return complain(misuse, 2) end
  local cfg, missing = require("pmlua.wrap.folder").load(o[1] or ".")
  if not cfg then return complain(missing) end
  local dir, err = require("pmlua.wrap.installed").install(cfg, o.prefix)
  if not dir then return complain(err) end
  say(("%s is installed in %s"):format(cfg.name, dir))
  if not is_searched(dir) then say("for pmlua to find it: export PMLUA_WRAP_PATH=" .. require("pmlua.wrap.shell").quote(dir)) end
  local preload = require("pmlua.preload").unnameable(dir)
  if preload then complain(preload) end
  return 0
end

return M
