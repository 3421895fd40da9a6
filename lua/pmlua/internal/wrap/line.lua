-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/wrap/line.lua - a command line of a compiler, with what a wrapper adds to it: on link lines only.
--
-- Try:  pmlua cc --wrap zlib -- gcc app.c -lz -o app

local lists = require "pmlua.internal.lists"
local paths = require "pmlua.internal.wrap.paths"
local shell = require "pmlua.internal.wrap.shell"
local words_of = require "pmlua.internal.cc.words"
local refuse = require "pmlua.core".failure.refuse

local M = {}

--- Whether a compiler command links: it has an input, and no option that makes it stop earlier.
function M.links(words)
  local inputs, i = 0, words_of.compiler(words) + 1
  while i <= #words do
    local word = words[i]
    if words_of.stops[word] then return false end
    if word:find("^@") or not word:find("^%-") then inputs = inputs + 1 end
    i = i + (words_of.takes[word] and 2 or 1)
  end
  return inputs > 0
end

local function append(list, ...)
  for _, v in ipairs { ... } do list[#list + 1] = v end
end

-- Libraries that libpmlua.a needs if no shared library brings them (core/core.mk).
local OF_ARCHIVE = { "-lotf2", "-lpthread", "-ldl", "-lm" }

--- Whether the program has no shared library at all.
local function is_static(words)
  return lists.any(words, function(word) return word == "-static" or word == "--static" or word == "-static-pie" end)
end

--- Add one wrapper's words before all inputs and after them; return whether it becomes part of the program.
local function additions(before, after, w, o, whole)
  local static = o.static or whole or not w.shared
  local file = ("%s/libpmlua-wrap-%s-%s.%s"):format(w.dir, w.name, o.runtime and "run" or "link", static and "a" or "so")
  local libs = shell.words(w.ldflags .. " " .. w.libs) or {}
  if not o.runtime then
    -- the wrapper needs the library behind it, too
    append(after, ("@%s/%s.wrap"):format(w.dir, w.name), file, table.unpack(libs))
  elseif static then
    -- its functions are the program's own; the library must be there for them to find, though nothing else refers to it
    append(before, "-Wl,--whole-archive", file, "-Wl,--no-whole-archive")
    append(after, "-Wl,--push-state,--no-as-needed")
    append(after, table.unpack(libs))
    append(after, "-Wl,--pop-state")
  else
    append(before, "-Wl,--push-state,--no-as-needed", file, "-Wl,--pop-state")
  end
  if not static then append(after, "-Wl,-rpath," .. w.dir) end
  return static
end

--- The line with the wrappers in it, in a new table; a line that does not link comes back unchanged. nil and why.
---@param wrappers { dir: string, name: string, libs: string, ldflags: string, shared: boolean }[]
---@param o { runtime: boolean?, static: boolean? }
---@return string[]?, pmlua.Failure? failure
function M.with(words, wrappers, o)
  if not M.links(words) then return words end
  local library, missing = paths.library()
  if not library then return nil, missing end
  local before, after, static, whole = {}, {}, false, is_static(words)
  if o.runtime and whole then
    return refuse("ENOTSUP", "--runtime wraps functions of shared libraries, and -static links none", "leave out --runtime")
  end
  for _, w in ipairs(wrappers) do
    if o.runtime and not w.shared then
      return refuse("ENOTSUP", w.name .. " wraps a static library, and has no wrappers for run time")
    end
    static = additions(before, after, w, o, whole) or static
  end
  if static then append(after, "-L" .. library, "-lpmlua", "-Wl,-rpath," .. library) end
  if whole then append(after, table.unpack(OF_ARCHIVE)) end
  local n, line = words_of.compiler(words), {}
  table.move(words, 1, n, 1, line)
  append(line, table.unpack(before))
  table.move(words, n + 1, #words, #line + 1, line)
  append(line, table.unpack(after))
  return line
end

return M
