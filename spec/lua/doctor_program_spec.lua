-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/doctor_program_spec.lua - tests of pmlua doctor PROGRAM: its rows for known programs, and its commands.

local support = require "spec.core.support"

local folder = support.folder()

local program = [[
#include <stdio.h>
__attribute__((noinline)) int twice(int x) { return 2 * x; }
int main(int argc, char **argv) { (void)argv; printf("%d\n", twice(argc)); return 0; }
]]

--- The rows by name.
local function rows_of(path)
  local rows = {}
  local out = support.done(support.shell_in(folder, ("%s/pmlua doctor --json %s"):format(support.build, path)))
  for _, row in ipairs(require "pmlua.json".decode(out)) do rows[row.name] = row end
  return rows
end

local function compiled(options)
  support.compile(folder, { ["app.c"] = program }, ("gcc %s app.c -o app"):format(options))
  return rows_of "./app"
end

--- The standard error of a command that doctor names.
local function said_by(row)
  local command = row.remedy:gsub("^pmlua", support.build .. "/pmlua"):gsub(" record ", " record -o " .. os.tmpname() .. "d ")
  local _, said = support.done(support.shell_in(folder, command))
  return said
end

describe("pmlua doctor PROGRAM", function()
  teardown(support.cleanup)

  for options, finding in pairs { ["-O2 -fpatchable-function-entry=5"] = "fpatchable",
    ["-O2 -finstrument-functions"] = "finstrument", ["-O2 -pg -mfentry -mrecord-mcount -no-pie -fno-pie"] = "mfentry" } do
    local here = finding ~= "mfentry" or require "pmlua.core".sys.uname().machine == "x86_64"
    support.it_unless(function() return not here and "this compiler has no -mfentry" end)(
      "finds functions compiled with " .. options, function()
        local row = compiled(options)["own functions"]
        assert.same({ "ok", true }, { row.status, row.finding:find(finding, 1, true) ~= nil })
        assert.matches("\napp +twice +1 ", said_by(row))
      end)
  end

  it("reports symbols and debug information as they are", function()
    local function statuses(options)
      local rows = compiled(options)
      return { rows["own functions"].status, rows.symbols.status, rows["source lines"].status, rows["library calls"].status }
    end
    assert.same({ "missing", "ok", "ok", "ok" }, statuses "-g")
    assert.same({ "missing", "ok", "missing", "ok" }, statuses "-O1")
    assert.same({ "missing", "missing", "missing", "ok" }, statuses "-O1 -s")
    assert.same({ "missing", "ok", "missing", "missing" }, statuses "-O1 -static")
  end)

  it("names interfaces by libraries, symbols and texts", function()
    local rows = compiled "-O1 -fopenmp -Wl,--no-as-needed -lgomp"
    assert.matches("libgomp", rows.OpenMP.finding)
    for _, name in ipairs { "MPI", "Python", "Lua 5.4", "Kokkos", "ITT", "NVTX", "PAPI" } do assert.is_nil(rows[name]) end
    support.spit(folder .. "/text.c", "const char *itt = \"INTEL_LIBITTNOTIFY64\";\nint main(void) { return itt[0] == 0; }\n")
    support.done(support.shell_in(folder, "gcc -O0 text.c -o text"))
    assert.equal("ok", rows_of("./text").ITT.status)
    assert.equal("pmlua record --lua -- lua5.4", rows_of("lua5.4")["Lua 5.4"].remedy)
    assert.is_nil(rows_of(support.build .. "/pmlua").ITT)
  end)

  it("refuses what is no program, and survives damaged ones", function()
    local refused = support.refused("doctor", function(arguments)
      return support.shell_in(folder, ("%s/pmlua doctor %s"):format(support.build, arguments))
    end)
    refused("./none", "command not found", 1)
    support.spit(folder .. "/text", "no program\n")
    support.done(support.shell_in(folder, "chmod +x text"))
    refused("./text", "neither an ELF file", 1)
    compiled "-g"
    local whole = support.slurp(folder .. "/app")
    for cut = 1, #whole, 997 do
      support.spit(folder .. "/app", whole:sub(1, cut))
      local status, _, err = support.shell_in(folder, support.build .. "/pmlua doctor ./app")
      assert.truthy(status <= 1 and not err:find "traceback", err)
    end
    for at = 1, 64 * 40 do
      local from = #whole - at
      if at % 37 == 0 then
        support.spit(folder .. "/app", whole:sub(1, from) .. "\255\255\255\255" .. whole:sub(from + 5))
        local status, _, err = support.shell_in(folder, support.build .. "/pmlua doctor ./app")
        assert.truthy(status <= 1 and not err:find "traceback", err)
      end
    end
  end)
end)
