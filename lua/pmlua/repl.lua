-- SPDX-License-Identifier: BSD-3-Clause
--- The prompt of `pmlua -i`: reads a line, evaluates it, prints what it gives; incomplete input is continued.
-- Line editing and history come from lua-readline where it is installed.
--
--     pmlua -i

local sys = require "pmlua.core".sys

local M = {}

local found, readline = pcall(require, "readline")
local editing = found and type(readline) == "table" and sys.isatty(0)

local function ask(prompt)
  if editing then return readline.readline(prompt) end
  io.write(prompt)
  io.flush()
  return io.read("L")
end

--- Compile a line as an expression, else as statements; second result true if more input is needed.
local function compile(code)
  local f = load("return " .. code, "=stdin", "t")
  if f then return f end
  local err
  f, err = load(code, "=stdin", "t")
  if f then return f end
  return nil, err:sub(-5) == "<eof>", err
end

local function read()
  local code = ask("> ")
  if not code then return nil end
  code = code:gsub("^=", "return ")
  while true do
    local f, more, err = compile(code)
    if not more then return f, err end
    local line = ask(">> ")
    if not line then return f, err end
    code = code .. "\n" .. line
  end
end

local function complain(message)
  io.stdout:flush()
  io.stderr:write("pmlua: ", message, "\n")
end

local function describe(err)
  if type(err) == "string" then return err end
  local meta = getmetatable(err)
  if type(meta) == "table" and meta.__tostring then return tostring(err) end
  return ("(error object is a %s value)"):format(type(err))
end

local function evaluate(f, debugging)
  sys.on_interrupt()
  local results = table.pack(xpcall(f, function(err)
    err = describe(err)
    return debugging and debug.traceback(err, 2) or err
  end))
  sys.on_interrupt(false)
  if results[1] and results.n > 1 then
    results = table.pack(pcall(print, table.unpack(results, 2, results.n)))
  end
  if not results[1] then complain(tostring(results[2])) end
end

--- Run the prompt until the end of input.
---@param debugging boolean print a traceback with every error
---@return integer status
function M.run(debugging)
  print("pmlua " .. require "pmlua.core".version .. ", " .. _VERSION .. "; pml is loaded, end with Ctrl-D")
  while true do
    local f, err = read()
    if f then evaluate(f, debugging)
    elseif err then complain(err)
    else break end
  end
  print()
  return 0
end

return M
