-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua cc --wrap NAME -- gcc ...`: a compiler's command line, with wrappers linked in.
--
--     pmlua cc --wrap zlib -- gcc app.c -lz -o app

local M = {
  summary = "run a compiler, with wrappers of libraries linked in",
  usage = "pmlua cc --wrap NAME[,NAME...] [--runtime] [--static] [--print] -- COMPILER ARGS",
  help = [[
Before COMPILER ARGS as a build runs it: where that links, what the wrappers need is added; where it only compiles, it is
run as it is. The compiler's exit status is returned.

  --wrap NAME[,NAME]   wrappers that pmlua wrap has installed; may be repeated
  --runtime            wrappers with the library's own names, found before it: they see the calls between libraries, too
                       (otherwise the linker leads the program's own calls to the wrappers)
  --static             the wrappers become part of the program
  --print              print the command instead of running it

    pmlua cc --wrap zlib -- gcc app.c -lz -o app
    make CC='pmlua cc --wrap zlib,fftw3 -- gcc']],
}

local NOT_RUN = 126 -- as shells say it

local function parse(args)
  local o, i = { names = {} }, 1
  while args[i] and args[i] ~= "--" do
    local word = args[i]
    local value = word:match("^%-%-wrap=(.*)$")
    if word == "--wrap" then value, i = args[i + 1] or "", i + 1 end
    if value then
      if value == "" or value == "--" then return nil, "--wrap needs a value" end
      for name in value:gmatch("[^,]+") do table.insert(o.names, name) end
    elseif word == "--runtime" or word == "--static" or word == "--print" then
      o[word:sub(3)] = true
    else
      return nil, "no such option: " .. word .. " (the compiler's line begins behind --)"
    end
    i = i + 1
  end
  o.words = { table.unpack(args, i + 1) }
  if #o.names == 0 then return nil, "say --wrap NAME" end
  if #o.words == 0 then return nil, "say which compiler to run, behind --" end
  return o
end

local function complain(text, status)
  io.stderr:write("pmlua cc: ", text, "\n")
  return status or 1
end

---@param args string[]
---@return integer status
function M.run(args)
  local o, misuse = parse(args)
  if not o then return complain(misuse .. "; usage: " .. M.usage, 2) end
  local wrappers = {}
  for i, name in ipairs(o.names) do
    local w, err = require("pmlua.wrap.installed").find(name)
    if not w then return complain(err) end
    wrappers[i] = w
  end
  local line, err = require("pmlua.wrap.line").with(o.words, wrappers, o)
  if not line then return complain(err) end
  if o.print then
    local quoted = {}
    for i, word in ipairs(line) do quoted[i] = require("pmlua.wrap.shell").quote(word) end
    print(table.concat(quoted, " "))
    return 0
  end
  local _, refused = require("pmlua.core").sys.exec(line, {})
  return complain((refused:gsub("^[%w_.]+: E%w+: ", "")), NOT_RUN)
end

return M
