-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua live -- CMD`: run an unmodified program so that it can be asked.
--
--     pmlua live --name SOLVER -- ./solver

local core = require "pmlua.core"

local M = {
  summary = "run a program so that pmlua query and pmlua attach can ask it",
  usage = "pmlua live [--name NAME] [--rules FILE] [--] CMD [ARGS]",
  help = [[
CMD is run with a library preloaded that serves questions from the moment on that the program, or a library of its,
registers software-defined events (papi_sde_* or pml_sde_*) or defines a section (pml_section_*). The program
need not be changed. Its exit status is returned.

  --name NAME    what it is called in pmlua query; else the program's own name
  --rules FILE   watch rules in Lua (pml.sde.watch) that run inside the program

    pmlua live -- ./solver input.mtx
    pmlua live --name SOLVER --rules stop_divergence.lua -- ./solver input.mtx]],
}

local NOT_FOUND, NOT_RUN = 127, 126 -- as shells say it

local function parse(args)
  local o, i = {}, 1
  while i <= #args and args[i]:find("^%-") do
    local name, value = args[i]:match("^%-%-([%a]+)=(.*)$")
    if args[i] == "--" then
      i = i + 1
      break
    elseif args[i] == "--name" or args[i] == "--rules" then
      name, value, i = args[i]:sub(3), args[i + 1], i + 1
    end
    if name ~= "name" and name ~= "rules" then return nil, "no such option: " .. args[i] end
    if not value or value == "" then return nil, "--" .. name .. " needs a value" end
    o[name] = value
    i = i + 1
  end
  if o.name and not o.name:find("^[%w_.-]+$") then return nil, "--name: only letters, digits, '_', '.' and '-'" end
  o.words = { table.unpack(args, i) }
  if #o.words == 0 then return nil, "say what to run" end
  return o
end

local function complain(text)
  io.stderr:write("pmlua live: ", text, "\n")
end

local function attributes(path)
  local lfs = require "lfs"
  return lfs.attributes(path)
end

--- Where the shell would find it; nil and why.
local function locate(command)
  local places = { command }
  if not command:find("/", 1, true) then
    places = {}
    for dir in ((os.getenv("PATH") or "/bin:/usr/bin") .. ":"):gmatch("([^:]*):") do
      places[#places + 1] = (dir ~= "" and dir or ".") .. "/" .. command
    end
  end
  local seen
  for _, path in ipairs(places) do
    local a = attributes(path)
    if a and a.mode == "file" and a.permissions:find("[xst]") then return path end
    seen = seen or (a and path)
  end
  if not seen then return nil, command .. ": command not found", NOT_FOUND end
  local what = attributes(seen).mode == "directory" and "is a folder" or "cannot be executed; chmod +x makes it so"
  return nil, seen .. " " .. what, NOT_RUN
end

--- Bytes of a file as an integer; little endian or not is the machine's, as the file's.
local function integer(f, at, bytes)
  f:seek("set", at)
  local text = f:read(bytes)
  return text and #text == bytes and string.unpack("=I" .. bytes, text) or 0
end

--- Why the loader will not preload anything into this file, if so. An interpreter stands for its script.
local function obstacle(path, depth)
  local a = attributes(path)
  local owner = attributes("/proc/self").uid
  if a and a.permissions:find("^..s") and a.uid ~= owner then
    return path .. " is set-uid: the loader ignores preloading there"
  elseif a and a.permissions:find("^.....s") then
    return path .. " is set-gid: the loader may ignore preloading there"
  end
  local f <close> = io.open(path, "rb")
  local head = f and f:read(20) or ""
  local interpreter = head:sub(1, 2) == "#!" and f:seek("set", 2) and f:read("l"):match("^%s*(%S+)")
  if interpreter then return depth < 4 and obstacle(interpreter, depth + 1) or nil end
  if head:sub(1, 4) ~= "\127ELF" then return nil end
  if head:byte(5) ~= 2 then return path .. " is a 32-bit program: the library to preload is for 64 bits" end
  local at, size, n = integer(f, 32, 8), integer(f, 54, 2), integer(f, 56, 2)
  for i = 0, n - 1 do
    if integer(f, at + i * size, 4) == 3 then return nil end -- PT_INTERP: it asks for a loader
  end
  return path .. " is statically linked: no loader runs that could preload; let it call pmlua_live_start() itself"
end

---@param args string[]
---@return integer status
function M.run(args)
  local o, misuse = parse(args)
  if not o then
    io.stderr:write("pmlua live: ", misuse, "; usage: ", M.usage, "\n")
    return 2
  end
  local library = require "pmlua".paths.preload
  library = library and library .. "/libpmlua-live.so"
  if not library or not attributes(library) then
    complain("libpmlua-live.so is not found beside the command; build it with make all")
    return 1
  end
  local path, err, status = locate(o.words[1])
  if not path then
    complain(err)
    return status
  end
  local why = obstacle(path, 0)
  if why then
    complain(why)
    return NOT_RUN
  end
  local variables = { LD_PRELOAD = library }
  local others = os.getenv("LD_PRELOAD")
  if others and others ~= "" then variables.LD_PRELOAD = others .. ":" .. library end
  variables.PMLUA_LIVE_NAME = o.name
  if o.rules then
    local real, gone = core.sys.realpath(o.rules)
    if not real then
      complain("--rules " .. (gone:gsub("^[%w_.]+: E%w+: ", "")))
      return 1
    end
    variables.PMLUA_LIVE_RULES = real
  end
  local _, refused = core.sys.exec(o.words, variables)
  complain((refused:gsub("^[%w_.]+: E%w+: ", "")))
  return NOT_RUN
end

return M
