-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua wrap install`: copy a built wrapper into the folder that pmlua cc searches.

local lists = require "pmlua.internal.lists"
local out = require "pmlua.internal.wrap.say"
local try = require "pmlua.internal.try"
local say, complain = out.say, out.complain

local M = {
  summary = "install a wrapper for pmlua cc",
  arguments = { { name = "DIR", key = "dir", kind = "dir", optional = true, one = "folder" } },
  about = [[
Copies the built wrapper into pmlua's folder, where pmlua cc, list and show find it.]],
  options = {
    { name = "prefix", kind = "dir", value = "PREFIX",
      help = "into PREFIX/lib/pmlua/wrap instead; then set PMLUA_WRAP_PATH to that folder" },
  },
  examples = { { "pmlua wrap install wrap-zlib --prefix ~/.local", needs = { "libclang" } } },
}

local function is_searched(dir)
  local core = require "pmlua.core"
  return lists.any(require("pmlua.internal.wrap.paths").installed(), function(place) return core.sys.realpath(place) == dir end)
end

---@return integer status
function M.run(o)
  local cfg = try(require("pmlua.internal.wrap.folder").load(o.dir or "."))
  local dir = try(require("pmlua.internal.wrap.installed").install(cfg, o.prefix))
  say(("%s is installed in %s"):format(cfg.name, dir))
  if not is_searched(dir) then
    say("for pmlua to find it: export PMLUA_WRAP_PATH=" .. require("pmlua.internal.wrap.shell").quote(dir))
  end
  local preload = require("pmlua.internal.preload").unnameable(dir)
  if preload then complain(preload) end
  return 0
end

return M
