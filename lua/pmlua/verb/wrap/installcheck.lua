-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua wrap installcheck`: the example with the installed wrapper, in every way.

local out = require "pmlua.internal.wrap.say"
local try = require "pmlua.internal.try"
local say, complain = out.say, out.complain

local M = {
  summary = "build and run the example with the wrapper in every way, and count its calls",
  arguments = { { name = "DIR", key = "dir", kind = "dir", optional = true, one = "folder" } },
  about = [[
Builds the example of the working folder with the installed wrapper (or the one in build/) in each way, runs it, and counts
its calls; first those of the unwrapped program, by interception. Link-time wrappers see only the calls of the program, the
others also those of libraries.

The exit status is 1 if a way does not build, fails, counts nothing, or counts other calls than wrap.lua expects of the
example: calls = { FUNCTION = N, ... }, all that the program itself makes.]],
  examples = { { "pmlua wrap installcheck wrap-zlib", needs = { "libclang" } } },
}

local LINES, WIDTH = 10, 60 -- for functions

local function short(name) return #name > WIDTH and name:sub(1, WIDTH - 3) .. "..." or name end

--- The functions with most calls in any way, and what each way counted.
local function rows_of(trials)
  local most, names = {}, {}
  for _, t in ipairs(trials) do
    for name, n in pairs(t.counts or {}) do
      if not most[name] then names[#names + 1] = name end
      most[name] = math.max(most[name] or 0, n)
    end
  end
  table.sort(names, require "pmlua.internal.order".most(most))
  local rows = {}
  for i = 1, math.min(#names, LINES) do
    rows[i] = { short(names[i]) }
    for _, t in ipairs(trials) do table.insert(rows[i], t.counts and t.counts[names[i]] or 0) end
  end
  rows[#rows + 1] = { ("all %d functions"):format(#names) }
  for _, t in ipairs(trials) do table.insert(rows[#rows], t.sum or 0) end
  return rows
end

local function table_of(trials)
  local heads = { "calls" }
  for _, t in ipairs(trials) do heads[#heads + 1] = t.way end
  return require("pmlua.tabulate")(heads, rows_of(trials), 1)
end

---@return integer status
function M.run(o)
  local installed = require "pmlua.internal.wrap.installed"
  local cfg = try(require("pmlua.internal.wrap.folder").load(o.dir or "."))
  local w, err = installed.find(cfg.name), nil
  if not w then w, err = installed.built(cfg) end
  if not w then return complain(err) end
  say("with the wrapper in " .. w.dir)
  local _, refused = require("pmlua.internal.preload").library "record"
  if refused then return complain(refused) end
  local trials, left_out = require("pmlua.internal.wrap.trial").run(cfg, w)
  say(table_of(trials))
  if left_out then say("preloaded: left out: " .. left_out) end
  local bad = 0
  for _, t in ipairs(trials) do
    local why = t.err or t.sum == 0 and "no call was counted; the example must call a wrapped function"
    if why then
      complain(t.way .. ": " .. why)
      bad = bad + 1
    end
  end
  return bad == 0 and 0 or 1
end

return M
