-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/wrap/trial.lua - build and run the example program in every way, and count the calls of each way.
--
-- Interception counts the calls of the unmodified program; then the wrapper alone counts, linked in four ways and
-- preloaded. A wrapper that is linked with --wrap sees only calls from the program; the others also see calls from libraries.
--
-- Try:  pmlua wrap installcheck

local calls = require "pmlua.internal.record.functions"
local library = require "pmlua.internal.wrap.library"
local line = require "pmlua.internal.wrap.line"
local preload = require "pmlua.internal.preload"
local shell = require "pmlua.internal.wrap.shell"
local refuse = require "pmlua.core".failure.refuse

local M = {}

local quote = shell.quote
local SECONDS = 120 -- an example runs no longer

local ways = {
  { name = "link-time, shared", runtime = false, static = false },
  { name = "link-time, static", runtime = false, static = true },
  { name = "run-time, shared", runtime = true, static = false },
  { name = "run-time, static", runtime = true, static = true },
}

local function join(words)
  local list = {}
  for i, word in ipairs(words) do list[i] = quote(word) end
  return table.concat(list, " ")
end

--- Build the example with the wrapper as a user would; nil and why.
local function build(cfg, w, way, program)
  local words, wrong = shell.words(("%s %s %s -o %s %s %s"):format(library.compiler(cfg.language), cfg.cflags, quote(cfg.example),
    quote(program), cfg.ldflags, cfg.libs))
  if not words then return nil, wrong end
  local with, err = words, nil
  if way then with, err = line.with(words, { w }, way) end
  if not with then return nil, err end
  local done, out = shell.run(join(with))
  if not done then return nil, out:match("[^\n]*error[^\n]*") or out:match("[^\n]*undefined[^\n]*") or out end
  return true
end

--- Run a program under the recorder; return calls by symbol, and their sum; nil and the reason. @lib: libraries to intercept.
local function count(cfg, w, program, lib, first)
  local recorder, missing = preload.library("record")
  if not recorder then return nil, missing end
  local results = cfg.build .. "/trial"
  shell.run(("rm -rf %s && mkdir %s"):format(quote(results), quote(results)))
  local text = "cd %s && timeout %d env LD_PRELOAD=%s PMLUA_RECORD_DIR=%s PMLUA_RECORD_LIB=%s PMLUA_RECORD_WRAPPED=1 %s"
  local command = text:format(quote(cfg.build), SECONDS, quote((first and first .. ":" or "") .. recorder), quote(results),
    quote(lib), quote(program))
  local done, out = shell.run(command)
  if not done then
    return refuse("ECANCELED", "the example program fails with the wrapper: " .. (out:match("[^\n]+$") or out:match("[^\n]*")))
  end
  local found, err = calls.read(results)
  shell.run("rm -rf " .. quote(results))
  if not found then return nil, err end
  local wrapped, counts, sum = {}, {}, 0
  for _, f in ipairs(w.functions) do
    -- the recorder demangles where the program has what it takes
    wrapped[f.symbol] = f.library
    wrapped[f.title or f.symbol] = f.library
  end
  for _, f in ipairs(found.functions) do
    if wrapped[f.name] == f.library then
      counts[f.name] = (counts[f.name] or 0) + f.calls
      sum = sum + f.calls
    end
  end
  return counts, sum
end

local function libraries(w)
  local seen, list = {}, {}
  for _, f in ipairs(w.functions) do
    if not seen[f.library] then
      seen[f.library] = true
      list[#list + 1] = f.library
    end
  end
  return table.concat(list, ":")
end

local NONE = "pmlua-wrap-trial-looks-at-no-library"

--- The error in a way's counts, as a sentence, if the folder lists the example's calls: link-time wrappers must count exactly
--- these calls, the others, which also see calls from libraries, at least these.
local function difference(cfg, way, counts)
  local names = {}
  for name in pairs(cfg.calls) do names[#names + 1] = name end
  if #names == 0 then return nil end
  for name in pairs(counts) do
    if not cfg.calls[name] then names[#names + 1] = name end
  end
  table.sort(names)
  for _, name in ipairs(names) do
    local expected, n = cfg.calls[name] or 0, counts[name] or 0
    if n < expected or n > expected and way:find("^link%-time") then
      return ("%s was counted %d times; the example calls it %d times"):format(name, n, expected)
    end
  end
end

---@class pmlua.wrap.trial
---@field way string
---@field counts table<string, integer>?
---@field sum integer?
---@field err string? why it has none, or what is wrong with them

--- Try each way, the unmodified program first; it stays in the build folder as example.
---@param cfg pmlua.wrap.folder
---@param w table the wrapper's description
---@return pmlua.wrap.trial[], string? why the wrapper cannot be preloaded
function M.run(cfg, w)
  local trials, plain = {}, cfg.build .. "/example"
  local function try(way, program, built, err, lib, first)
    local t = { way = way, err = err }
    if built then
      t.counts, t.sum = count(cfg, w, program, lib, first)
      if not t.counts then t.sum, t.err = nil, t.sum else t.err = difference(cfg, way, t.counts) end
    end
    trials[#trials + 1] = t
  end
  local built, err = build(cfg, w, nil, plain)
  try("intercepted", plain, built, err, libraries(w))
  for _, way in ipairs(ways) do
    if w.shared or way.static and not way.runtime then
      local program = ("%s/example-%s-%s"):format(cfg.build, way.runtime and "run" or "link", way.static and "static" or "shared")
      local done, wrong = build(cfg, w, way, program)
      try(way.name, program, done, wrong, NONE)
    end
  end
  local run = ("%s/libpmlua-wrap-%s-run.so"):format(w.dir, w.name)
  local why = w.shared and preload.unnameable(run)
  if w.shared and not why then try("preloaded", plain, built, err, NONE, run) end
  return trials, why
end

return M
