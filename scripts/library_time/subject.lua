-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/library_time/subject.lua - the command to observe: the user's, or one of pmlua's programs.
--
-- Try:  print(table.concat(require("library_time.subject").new({ program = "fftw2d", command = {} }).words, " "))

local build = require "programs.build"
local preload = require "pmlua.internal.preload"

local M = {}

---@class library_time.Subject
---@field folder programs.Folder for what runs leave
---@field words string[] the command
---@field instrumented? string[] the same, compiled with -finstrument-functions
---@field why string? why there is no instrumented one
---@field names table<string, boolean> file names of the program itself

local programs = {
  fftw2d = { sources = { "fftw2d.c" }, flags = "-lfftw3 -lm", package = "libfftw3-dev", asks = "pkg-config --exists fftw3" },
  qt_scene = {
    sources = { "qt_scene.cpp" }, flags = "-fPIC $(pkg-config --cflags --libs Qt5Widgets)", package = "qtbase5-dev",
    asks = "pkg-config --exists Qt5Widgets", variables = { "QT_QPA_PLATFORM=offscreen" },
  },
}

--- Names of pmlua's programs, sorted.
M.programs = { "fftw2d", "qt_scene" }

local function word_list(...)
  local out = {}
  for _, list in ipairs { ... } do table.move(list, 1, #list, #out + 1, out) end
  return out
end

-- Compile one of pmlua's programs twice; the runtime that counts calls is not instrumented itself.
local function own(folder, name, arguments)
  local p = programs[name]
  if not p then return nil, ("unknown %s; choose one of %s"):format(name, table.concat(M.programs, ", ")) end
  if not build.is_here "pkg-config" or not os.execute(p.asks .. " 2>/dev/null") then
    return nil, ("its libraries are not installed; apt-get install pkg-config %s"):format(p.package)
  end
  local path, err = folder:program(name, p.sources, p.flags)
  if not path then return nil, err end
  local out = { words = word_list(p.variables or {}, { path }, arguments), names = { [name] = true } }
  local runtime
  runtime, out.why = folder:library("libfunctions.so", { "functions.c" })
  local counted = runtime and name .. ".instrumented"
  if counted then
    path, out.why = folder:program(counted, p.sources, ("-finstrument-functions -rdynamic %s -L. -lfunctions "
      .. "-Wl,-rpath,%s"):format(p.flags, build.quote(folder.path)))
    out.names[counted] = true
  end
  out.instrumented = counted and path and word_list(p.variables or {}, { path }, arguments)
  return out
end

local function theirs(words)
  local path, err = preload.locate(words[1])
  if not path then return nil, err end
  local why = preload.obstacle(path)
  if why then return nil, why end
  return {
    words = word_list({ path }, { table.unpack(words, 2) }), names = { [path:match "[^/]*$"] = true },
    why = "instrumentation needs the source of the program; use --program",
  }
end

---@param options { program: string?, command: string[] } with a program, the command is its arguments
---@return library_time.Subject? subject, string? err
function M.new(options)
  if not options.program and #options.command == 0 then
    return nil, "name what to run: a command, or --program " .. table.concat(M.programs, " or ")
  end
  if not options.program and options.command[1]:find("=", 1, true) then
    return nil, "a command with '=' in its name cannot be recorded"
  end
  local folder, err = build.folder()
  if not folder then return nil, err end
  local self
  if options.program then
    self, err = own(folder, options.program, options.command)
    err = err and ("--program %s: %s"):format(options.program, err)
  else
    self, err = theirs(options.command)
  end
  if not self then
    folder:close()
    return nil, err
  end
  self.folder = folder
  return self
end

return M
