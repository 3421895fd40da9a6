-- SPDX-License-Identifier: BSD-3-Clause
--- The prompt of `pmlua -i` and `pmlua attach`: reads a line, evaluates it, prints the results; incomplete input is
--- continued, and Ctrl-C discards the typed input. Line editing, history and completion come from readline(3).
--
--     pmlua -i

local core = require "pmlua.core"
local evaluate = require "pmlua.internal.prompt.evaluate"
local state = require "pmlua.internal.state"
local sys = core.sys

local M = {}

local HISTORY_LINES = 1000

local found = sys.edit()
local editing = found and sys.isatty(0)

--- Whether lines can be edited, or how to get that.
---@return boolean, string? remedy
function M.can_edit()
  if found then return true end
  return false, "install libreadline.so.8 (Debian: apt-get install libreadline8)"
end

-- Once: history goes to a file that only its user can read, or nowhere.
local function prepare()
  if not sys.isatty(0) then return end
  if not found then
    io.stderr:write("no line editing, history or completion; ", select(2, M.can_edit()), "\n")
    return
  end
  local path = state.path "history"
  local kept = path and sys.private_file(path)
  if kept then sys.edit_history(path, HISTORY_LINES) end -- never a device, which readline would replace by a file
  M.saves = kept and path
end

-- A line without its end; nil at the end of the input; false where it was interrupted.
local function ask(prompt, sign)
  local line
  if editing then
    line = sys.edit_line((prompt or "") .. sign)
  else
    if prompt then
      io.write(prompt, sign)
      io.flush()
    end
    line = io.read "L"
    if not line and sys.interrupted() then
      io.write "\n"
      return false
    end
  end
  return line
end

-- With line editing, the same call continues to read after an interrupt, so its line is a new input.
local function read(prompt)
  sys.at_prompt((prompt or "") .. "> ")
  local code = ask(prompt, "> ")
  if not code then return code end
  code = code:gsub("^=", "return ")
  while true do
    local f, more, err = evaluate.compile(code)
    if not more then return code, f, err end
    sys.at_prompt((prompt or "") .. "> ")
    local line = ask(prompt, ">> ")
    if line == false then return false end
    if not line then return code, f, err end
    code = sys.interrupted() and line or code .. "\n" .. line
  end
end

local function complain(message)
  io.stdout:flush()
  io.stderr:write("pmlua: ", message, "\n")
end

local function print_values(values)
  local show = require "pmlua.internal.prompt.show"
  local texts = {}
  for i = 2, values.n do texts[i - 1] = show(values[i]) end
  print(table.concat(texts, "\t"))
end

local function run(f, debugging)
  sys.on_interrupt()
  local results = table.pack(xpcall(f, function(err)
    err = evaluate.describe(err)
    return debugging and debug.traceback(err, 2) or err
  end))
  sys.at_prompt ""
  if results[1] and results.n > 1 then results = table.pack(pcall(print_values, results)) end
  if not results[1] then complain(tostring(results[2])) end
end

--- Read code until the input ends, or until `execute` returns false.
---@param prompt string? before the "> "; nil without a terminal: no prompts
---@param execute fun(code: string, f: function?, err: string?): boolean? the code, and what compiling it here gave
---@param complete? fun(left: string): string[] what the word at the end of `left` may become
function M.loop(prompt, execute, complete)
  prepare()
  if editing and complete then sys.edit_completer(complete) end
  while true do
    local code, f, err = read(prompt)
    if code == nil or code and execute(code, f, err) == false then break end
  end
  sys.on_interrupt(false)
  if editing and M.saves then sys.edit_save(M.saves, HISTORY_LINES) end
end

--- Run the prompt until the end of input.
---@param debugging boolean print a traceback with every error
---@return integer status
function M.run(debugging)
  print("pmlua " .. core.version .. ", " .. _VERSION .. "; pml is loaded, end with Ctrl-D")
  M.loop("", function(_, f, err)
    if f then run(f, debugging) else complain(err) end
  end, require "pmlua.internal.prompt.complete")
  print()
  return 0
end

return M
