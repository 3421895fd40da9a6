-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/preload.lua - run a program with a preloaded pmlua library: locate both, detect obstacles.
--
-- Try:  print(require("pmlua.internal.preload").obstacle("/usr/bin/su"))

local core = require "pmlua.core"
local disk = require "pmlua.internal.file"
local new, refuse = core.failure.new, core.failure.refuse

local M = {}

local NOT_FOUND, NOT_RUN = 127, 126 -- as shells say it

--- Where the shell would find it; nil and why.
function M.locate(command)
  local places, has_path = { command }, command:find("/", 1, true)
  if not has_path then
    places = {}
    for dir in ((os.getenv("PATH") or "/bin:/usr/bin") .. ":"):gmatch("([^:]*):") do
      places[#places + 1] = (dir ~= "" and dir or ".") .. "/" .. command
    end
  end
  local seen
  for _, path in ipairs(places) do
    local kind, executable = disk.kind(path)
    if kind == "file" and executable then return path end
    seen = seen or (kind and (has_path or kind ~= "directory") and path)
  end
  if not seen then
    return nil, new { code = "ENOENT", text = (command ~= "" and command or "''") .. ": command not found" }, NOT_FOUND
  end
  if disk.kind(seen) == "directory" then return nil, new { code = "EISDIR", text = seen .. " is a folder" }, NOT_RUN end
  return nil, new { code = "EACCES", text = seen .. " cannot be executed", remedy = "make it executable with chmod +x" }, NOT_RUN
end

local HEAD <const>, SEGMENT <const> = 64, 56 -- bytes of an ELF file's header, and of each segment's
local LINE <const> = 254                      -- bytes that the kernel reads behind "#!"

--- An integer in a text; little endian or not is the machine's, as the file's. 0: it is cut off.
local function integer(text, at, bytes)
  return at + bytes <= #text and string.unpack("=I" .. bytes, text, at + 1) or 0
end

--- Bytes of a file, as many as there are.
local function bytes_at(f, at, bytes) return f:seek("set", at) and f:read(bytes) or "" end

--- Another C library's loader, which could not load what needs glibc; core/preload/exec.c has the same names.
local function other_loader(path, loader)
  local name = loader:match("[^/]*$")
  if name:find("^ld%-linux") or name:find("^ld64%.so") or name:find("^ld%.so") or name:find("^ld%-%d") then return nil end
  return ("%s uses another C library (its loader is %s); pmlua's libraries need glibc"):format(path, name),
    "other"
end

local function obstacle(path, depth)
  local set = core.sys.setid(path)
  if set then return ("%s is %s, and the loader ignores LD_PRELOAD for it; copy it and run the copy"):format(path, set) end
  local f <close> = disk.open(path)
  local head = f and f:read(HEAD) or ""
  local interpreter = head:sub(1, 2) == "#!" and bytes_at(f, 2, LINE):match("^[ \t]*([^%s%z]+)")
  if interpreter and depth < 4 then return obstacle(interpreter, depth + 1) end
  if head:sub(1, 4) ~= "\127ELF" then return nil end
  if head:byte(5) ~= 2 then return path .. " is a 32-bit program; the library to preload is for 64 bits" end
  local at, size, n = integer(head, 32, 8), integer(head, 54, 2), integer(head, 56, 2)
  if size ~= SEGMENT then return nil end -- the kernel does not execute such a file
  local segments = bytes_at(f, at, size * n)
  for i = 0, n - 1 do
    if integer(segments, i * size, 4) == 3 then -- PT_INTERP: the program requests a loader
      return other_loader(path, bytes_at(f, integer(segments, i * size + 8, 8), 1024):match("^[^%z]*"))
    end
  end
  return path .. " is statically linked: no loader preloads libraries into it", "static"
end

--- The dynamic string table of an ELF file, with the names of the libraries that it needs; "": it has none.
---@return string strings each ends with a zero
function M.strings(path)
  local f <close> = disk.open(path)
  local head = f and f:read(HEAD) or ""
  if head:sub(1, 5) ~= "\127ELF\2" then return "" end
  local at, n = integer(head, 32, 8), integer(head, 56, 2)
  local segments, dynamic, where, length = bytes_at(f, at, SEGMENT * n), "", 0, 0
  for i = 0, n - 1 do
    if integer(segments, i * SEGMENT, 4) == 2 then -- PT_DYNAMIC
      dynamic = bytes_at(f, integer(segments, i * SEGMENT + 8, 8), integer(segments, i * SEGMENT + 32, 8) & 0xffff)
    end
  end
  for i = 0, #dynamic - 16, 16 do
    local tag = integer(dynamic, i, 8)
    if tag == 5 then where = integer(dynamic, i + 8, 8) elseif tag == 10 then length = integer(dynamic, i + 8, 8) end
  end
  for i = 0, n - 1 do -- the file's offset of the address
    local address = integer(segments, i * SEGMENT + 16, 8)
    local offset = where - address
    if integer(segments, i * SEGMENT, 4) == 1 and offset >= 0 and offset < integer(segments, i * SEGMENT + 32, 8) then
      return bytes_at(f, offset + integer(segments, i * SEGMENT + 8, 8), length & 0xffffff) or ""
    end
  end
  return ""
end

--- The reason why the loader will not preload a library into this file; nil: none. For a script, its interpreter is checked.
---@return string? why, string? kind "static", "other" (C library): nothing helps
function M.obstacle(path) return obstacle(path, 0) end

--- The reason why LD_PRELOAD cannot name a file; nil: it can. LD_PRELOAD has no quoting.
---@return string? why
function M.unnameable(path)
  if not path:find("[ :]") then return nil end
  return ("LD_PRELOAD cannot name %s, because the loader splits it at spaces and colons; move it to a folder without them")
    :format(path)
end

--- The library libpmlua-NAME.so; nil and why.
---@return string?, pmlua.Failure? failure
function M.library(name)
  local dir = require "pmlua".paths.preload
  local path = dir and ("%s/libpmlua-%s.so"):format(dir, name)
  if path and disk.kind(path) then
    local why = M.unnameable(path)
    return not why and path or nil, why
  end
  return refuse("ENOENT", ("libpmlua-%s.so is not in the folder of the command"):format(name), "build it with make all")
end

--- The library to preload for running a command with libpmlua-NAME.so. Else nil, the failure, the exit status for it, and
--- the kind of obstacle.
---@return string? library, pmlua.Failure? failure, integer? status, string? kind
function M.ready(name, command)
  local library, missing = M.library(name)
  if not library then return nil, missing, 1 end
  local path, err, status = M.locate(command)
  if not path then return nil, err, status end
  local why, kind = M.obstacle(path)
  if why then return nil, why, NOT_RUN, kind end
  return library
end

--- The clock rate as an environment variable for a started process, so that it need not calibrate again.
---@return string variable
function M.clock() return "PMLUA_CLOCK_RATE=" .. require("pmlua.core").recording.clock() end

--- LD_PRELOAD with this library after what it has.
function M.with(library)
  local others = os.getenv("LD_PRELOAD")
  return others and others ~= "" and others .. ":" .. library or library
end

--- Variables by which programs that are annotated for other tools find this library. The path of another tool moves to a
--- variable from which the library loads that tool.
---@return string[] variables
function M.annotations(library)
  local words = {}
  for _, interface in ipairs(core.recording.interfaces()) do
    local before
    for name in (interface.variables or ""):gmatch "%S+" do
      local value = os.getenv(name)
      if value and value ~= "" and value ~= library then before = before or value end
      words[#words + 1] = name .. "=" .. library
    end
    words[#words + 1] = before and interface.before .. "=" .. before
  end
  return words
end

--- ASAN_OPTIONS with which a program that was built with gcc's AddressSanitizer starts behind a preloaded library: its
--- runtime wants to be the first, which matters to its malloc only. No library of pmlua has one.
function M.asan()
  local others, ours = os.getenv("ASAN_OPTIONS"), "verify_asan_link_order=0"
  return others and others ~= "" and others .. ":" .. ours or ours
end

return M
