-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua wrap build`: the wrapper, from its working folder.

local out = require "pmlua.internal.wrap.say"
local try = require "pmlua.internal.try"
local say = out.say

local M = {
  summary = "build the wrapper of a working folder",
  arguments = { { name = "DIR", key = "dir", kind = "dir", optional = true, one = "folder" } },
  about = [[
Builds the example without the wrapper, reads the headers, and builds the wrapper of the working folder (default: the current
folder): libraries for link time and for run time, shared and static, and the linker's flags. build/left_out.txt lists the
functions left out, with the reasons.]],
  examples = { { "pmlua wrap build wrap-zlib", needs = { "libclang" } } },
}

--- How many were left out for each reason, most first.
local function reasons(left)
  local count, list = {}, {}
  for _, f in ipairs(left) do
    local why = f.why:gsub(";.*", ""):gsub(": .*", "")
    if not count[why] then list[#list + 1] = why end
    count[why] = (count[why] or 0) + 1
  end
  table.sort(list, require "pmlua.internal.order".most(count))
  for i, why in ipairs(list) do list[i] = ("%d: %s"):format(count[why], why) end
  return list
end

---@return integer status
function M.run(o)
  local cfg = try(require("pmlua.internal.wrap.folder").load(o.dir or "."))
  local p = try(require("pmlua.internal.wrap.build").run(cfg, say))
  say(("%d functions are wrapped in %s"):format(#p.functions, cfg.build))
  if #p.left > 0 then
    say(("%d are left out, named in %s/left_out.txt:"):format(#p.left, cfg.build))
    for _, line in ipairs(reasons(p.left)) do say("  " .. line) end
  end
  if #p.missing + #p.foreign > 0 then
    say(("%d are in no library, %d link without one; pmlua wrap check lists them"):format(#p.missing, #p.foreign))
  end
  return 0
end

return M
