-- SPDX-License-Identifier: BSD-3-Clause
--- The prompt of `pmlua -i` and `pmlua attach`: reads a line, evaluates it, prints what it gives; incomplete input is
-- continued. Line editing and history come from lua-readline where it is installed.
--
--     pmlua -i

local core = require "pmlua.core"
local evaluate = require "pmlua.evaluate"
local sys = core.sys

local M = {}

local found, readline = pcall(require, "readline")
local editing = found and type(readline) == "table" and sys.isatty(0)

local function ask(prompt, sign)
  if editing then return readline.readline((prompt or "") .. sign) end
  if prompt then
    io.write(prompt, sign)
    io.flush()
  end
  return io.read("L")
end

local function read(prompt)
  local code = ask(prompt, "> ")
  if not code then return nil end
  code = code:gsub("^=", "return ")
  while true do
    local f, more, err = evaluate.compile(code)
    if not more then return code, f, err end
    local line = ask(prompt, ">> ")
    if not line then return code, f, err end
    code = code .. "\n" .. line
  end
end

local function complain(message)
  io.stdout:flush()
  io.stderr:write("pmlua: ", message, "\n")
end

local function run(f, debugging)
  sys.on_interrupt()
  local results = table.pack(xpcall(f, function(err)
    err = evaluate.describe(err)
    return debugging and debug.traceback(err, 2) or err
  end))
  sys.on_interrupt(false)
  if results[1] and results.n > 1 then
    results = table.pack(pcall(print, table.unpack(results, 2, results.n)))
  end
  if not results[1] then complain(tostring(results[2])) end
end

--- Read code until the input ends, or until `execute` returns false.
---@param prompt string? before the "> "; nil: no prompts where there is no terminal
---@param execute fun(code: string, f: function?, err: string?): boolean? the code, and what compiling it here gave
---@param complete? fun(left: string): string[] what the word at the end of `left` may become
function M.loop(prompt, execute, complete)
  if editing and complete then
    readline.set_complete_function(function(line, _, to)
      readline.set_completion_append_character "" -- readline forgets it with each word
      return complete(line:sub(1, to))
    end)
  end
  while true do
    local code, f, err = read(prompt)
    if not code or execute(code, f, err) == false then break end
  end
end

--- Run the prompt until the end of input.
---@param debugging boolean print a traceback with every error
---@return integer status
function M.run(debugging)
  print("pmlua " .. core.version .. ", " .. _VERSION .. "; pml is loaded, end with Ctrl-D")
  M.loop("", function(_, f, err)
    if f then run(f, debugging) else complain(err) end
  end)
  print()
  return 0
end

return M
