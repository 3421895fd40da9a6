-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/programs/build.lua - compile the programs that experiments run, on demand.
--
-- Try:  local build = require "programs.build"
--       local folder <close> = build.folder()
--       print(folder:program("fftw2d", { "fftw2d.c" }, "-lfftw3 -lm"))
--
-- They are compiled on the machine that runs them, because their libraries (FFTW, Qt) are not installed everywhere, and
-- because tools are measured on a program like the user's: optimised, dynamically linked, lazily bound, without debug
-- information.

local core = require "pmlua.core"
local disk = require "pmlua.internal.file"

local M = {}

--- Folder of the sources.
M.sources = core.sys.realpath(debug.getinfo(1, "S").source:match "^@(.*)/" or ".")

local flags = {
  c = "-std=c11 -D_GNU_SOURCE -O2 -Wl,-z,lazy",
  cpp = "-std=c++17 -O2 -Wl,-z,lazy",
}

--- Quote a word for the shell.
function M.quote(text) return "'" .. tostring(text):gsub("'", "'\\''") .. "'" end

--- Whether the shell finds a command.
function M.is_here(command) return (os.execute("command -v " .. M.quote(command) .. " >/dev/null 2>&1")) end

---@class programs.Folder
---@field path string
---@field cc? string the C compiler
local Folder = {}
Folder.__index = Folder

--- Remove the folder and everything in it; idempotent.
function Folder:close()
  if self.path then os.execute("rm -rf " .. M.quote(self.path)) end
  self.path = nil
end
Folder.__close = Folder.close
Folder.__gc = Folder.close

--- Create a temporary folder in TMPDIR or /tmp, removed when it is closed or the script ends.
---@param cc? string its C compiler, such as mpicc; nil: as the environment or the machine has it
---@return programs.Folder? folder, string? err
function M.folder(cc)
  local pipe <close> = io.popen "mktemp -d 2>/dev/null"
  local path = pipe:read "l"
  if not path then return nil, "no folder can be made in " .. (os.getenv "TMPDIR" or "/tmp") end
  return setmetatable({ path = path, cc = cc }, Folder)
end

--- Run a shell command in the folder, with a time limit.
---@return string? text what it wrote to standard output
---@return string? err the last line of what it wrote to standard error, or how it ended
function Folder:run(command, seconds)
  local complaint = self.path .. "/stderr"
  local pipe = io.popen(("cd %s && timeout -k 5 %d sh -c %s 2>%s </dev/null"):format(M.quote(self.path), seconds,
    M.quote(command), M.quote(complaint)))
  local text = pipe:read "a"
  local ok, _, code = pipe:close()
  if ok then return text end
  if code == 124 or code == 137 then return nil, ("it was still running after %d s"):format(seconds) end
  local said = (disk.text(complaint) or ""):gsub("\nsee 'pmlua help [^\n]*\n$", "")
  local line = said:match "([^\n]+)%s*$" or ("it ended with status %d"):format(code)
  return nil, line
end

-- The compiler's first error, without the path of the source.
local function first_error(text)
  local line = text:match "[^\n]*error: ([^\n]*)" or text:match "[^\n]*undefined reference[^\n]*" or text:match "[^\n]+"
  return line or "the compiler failed without a message"
end

--- The compiler that the environment names or the machine has; nil and why.
---@param language "c"|"cpp"
---@return string? command, string? err
function M.compiler(language)
  local wanted = os.getenv(language == "c" and "CC" or "CXX")
  if wanted and wanted ~= "" then return wanted end
  for _, name in ipairs(language == "c" and { "cc", "gcc", "clang" } or { "c++", "g++", "clang++" }) do
    if M.is_here(name) then return name end
  end
  return nil, ("no %s compiler found; apt-get install %s"):format(language == "c" and "C" or "C++",
    language == "c" and "gcc" or "g++")
end

--- The compiler's command line for a program; nil and why.
---@param more? string further words for the compiler
---@return string? command, string? err
function Folder:program_command(name, sources, more)
  local language = sources[1]:match "%.(%a+)$"
  local cc, err = language == "c" and self.cc, nil
  if not cc then cc, err = M.compiler(language) end
  if not cc then return nil, err end
  local words = { cc, flags[language] }
  for _, file in ipairs(sources) do
    words[#words + 1] = M.quote(file:sub(1, 1) == "/" and file or M.sources .. "/" .. file)
  end
  words[#words + 1] = more or ""
  words[#words + 1] = "-o " .. M.quote(name)
  return table.concat(words, " ")
end

--- Compile a program from files beside this one, or from others by their full paths.
---@param more? string further words for the compiler
---@return string? path, string? err the compiler's first error
function Folder:program(name, sources, more)
  local log = self.path .. "/compiler"
  local command, err = self:program_command(name, sources, more)
  if not command then return nil, err end
  if not self:run(("%s 2>%s"):format(command, M.quote(log)), 300) then
    return nil, ("%s: %s"):format(name, first_error(disk.text(log) or ""))
  end
  return self.path .. "/" .. name
end

--- Compile a shared library.
function Folder:library(name, sources, more)
  return self:program(name, sources, "-fPIC -shared " .. (more or ""))
end

return M
