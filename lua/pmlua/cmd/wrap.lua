-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua wrap VERB`: wrappers of a library, generated from its headers.
--
--     pmlua wrap init --name zlib --headers zlib.h --libs -lz

local M = {
  summary = "generate wrappers that record a library's calls, from its headers",
  usage = "pmlua wrap init | build | check | install | installcheck | list | show [ARGS]",
  help = [[
A wrapper stands between programs and a C or C++ library: each call becomes an enter and a leave, as with pmlua record, and
arguments and results can be recorded, too. pmlua cc links programs with it; preloaded it needs no linking.

  init           a working folder: flags, libraries, header list, example program, filter
  build          read the headers with libclang, build the wrapper's four libraries
  check          which functions no library has, and which link without one; --fix excludes them
  install        to where pmlua cc finds it
  installcheck   build and run the example in every way, and count its calls
  list, show     the wrappers that are installed

pmlua wrap VERB --help explains one.

    pmlua wrap init --name zlib --headers zlib.h --libs -lz
    cd wrap-zlib && make && make check && make install && make installcheck
    pmlua cc --wrap zlib -- gcc app.c -lz -o app && pmlua record -- ./app]],
}

local verbs = { "init", "build", "check", "install", "installcheck", "list", "show" }

local function say(text)
  io.write(require "pmlua.printable".lines(text), "\n")
end

local function complain(text, status)
  io.stdout:flush()
  io.stderr:write("pmlua wrap: ", require "pmlua.printable".lines((text:gsub("%s+$", ""))), "\n")
  return status or 1
end

--- The verb's module; nil and the exit status.
local function verb_of(name)
  for _, verb in ipairs(verbs) do
    if verb == name then return require("pmlua.wrap.verb." .. name) end
  end
  if not name then return nil, complain("say what to do; usage: " .. M.usage, 2) end
  local nearest = require("pmlua.cmd.help").nearest(name, verbs)
  return nil, complain(("there is no '%s'; %s"):format(name, nearest and "did you mean '" .. nearest .. "'?" or
    "usage: " .. M.usage), 2)
end

---@param args string[]
---@return integer status
function M.run(args)
  local verb, status = verb_of(args[1])
  if not verb then return status end
  for i = 2, #args do
    if args[i] == "--help" then
      say("usage: " .. verb.usage .. "\n\n" .. verb.help)
      return 0
    end
  end
  return verb.run({ table.unpack(args, 2) }, say, complain)
end

return M
