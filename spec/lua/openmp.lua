-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/openmp.lua - helpers for OpenMP specs: compile and record programs, look up their constructs.

local support = require "spec.core.support"
local quote = support.quote

local M = {}

--- How to compile for a runtime; nil and why it cannot be.
local compilers = {
  libomp = { command = "clang-14 -fopenmp", needs = "clang-14 with libomp (libomp-dev)" },
  libgomp = { command = "gcc -fopenmp", needs = "gcc with OpenMP" },
}

---@return string? why a program of this runtime cannot be made here
function M.lacks(runtime)
  local c = compilers[runtime]
  local empty = "int main(void){return 0;}"
  local code = support.shell(("echo %s | %s -xc - -o /dev/null"):format(quote(empty), c.command))
  return code ~= 0 and c.needs .. " is not installed" or nil
end

--- Compile a C program; returns its path. Line numbers are lines of @text.
function M.compile(runtime, dir, text, flags)
  support.compile(dir, { ["program.c"] = text }, ("%s -g -O1 %s program.c -o program"):format(compilers[runtime].command,
    flags or ""))
  return dir .. "/program"
end

--- Record a program; returns its JSON, the folder with the results, and the standard error.
function M.record(dir, program, options, environment)
  local folder = dir .. "/results"
  local out, err = support.done(support.shell(("rm -rf %s; %s %s/pmlua record --json -q %s -o %s -- %s"):format(quote(folder),
    environment or "", quote(support.build), options or "", quote(folder), program)))
  return require "pmlua.json".decode(out), folder, err
end

--- Constructs by their names.
function M.constructs(all) return support.by(all.openmp, "name") end

--- Calls of a construct by each thread of its team.
function M.calls_by_thread(construct)
  local list = {}
  for i, t in ipairs(construct.by_thread) do list[i] = t.calls end
  return list
end

return M
