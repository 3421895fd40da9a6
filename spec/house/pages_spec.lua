-- SPDX-License-Identifier: BSD-3-Clause
-- spec/house/pages_spec.lua - check of ARCHITECTURE.md and CONTRIBUTING.md: the names in them exist, the examples work.

local support = require "spec.core.support"
local shell = require "spec.shell"
local sh, write = shell.sh, shell.write

local build = os.getenv("PMLUA_BUILD") or "build"

local read = support.slurp

-- Files that a page names in backquotes: paths whose folder is one of ours.
local function named_files(text)
  local list = {}
  for name in text:gmatch "`([%w_./-]+)`" do
    if name:find "^%l+/" then list[#list + 1] = name end
  end
  return list
end

-- Pairs of a file and a function: `FILE`: `f()`, and `f()` in `FILE`.
local function named_functions(text)
  local list = {}
  for file, name in text:gmatch "`([%w_./-]+%.[chS])`:%s+`([%w_]+)%(%)`" do list[#list + 1] = { file, name } end
  for name, file in text:gmatch "`([%w_]+)%(%)` in%s+`([%w_./-]+)`" do list[#list + 1] = { file, name } end
  return list
end

describe("ARCHITECTURE.md and CONTRIBUTING.md", function()
  it("name files that exist, and functions that are in them", function()
    local missing = {}
    for _, page in ipairs { "ARCHITECTURE.md", "CONTRIBUTING.md" } do
      local text = read(page)
      for _, file in ipairs(named_files(text)) do
        if not sh("ls -d " .. file):find("^" .. file:gsub("%p", "%%%0")) then missing[#missing + 1] = page .. ": " .. file end
      end
      for _, pair in ipairs(named_functions(text)) do
        local file, name = table.unpack(pair)
        local f = io.open(file)
        if not f or not f:read("a"):find("%f[%w_]" .. name .. "%s*%(") then
          missing[#missing + 1] = ("%s: %s() in %s"):format(page, name, file)
        end
        if f then f:close() end
      end
    end
    assert.same({}, missing)
    assert.truthy(#named_functions(read "ARCHITECTURE.md") > 15)
  end)

  it("have a picture that matches the code, without a circle", function()
    local out, code = sh "lua5.4 docs/architecture.lua"
    assert.equal(0, code, out)
    assert.equal(read "docs/architecture.dot", out)
    assert.is_nil(out:find("dashed", 1, true))
  end)
end)

describe("The examples of CONTRIBUTING.md", function()
  local dir, block

  -- The blocks of code, by the file's name in their first line.
  setup(function()
    dir, block = support.folder(), {}
    for text in read("CONTRIBUTING.md"):gmatch "\n```%l+\n(.-\n)```\n" do
      local name = text:match "^%S+ ([%w_./]+)"
      block[name] = text
      write(dir .. "/" .. name:match "[^/]+$", text)
    end
  end)

  it("is an experiment that runs", function()
    assert.truthy(block["scripts/first_touch.lua"])
    shell.done(("%s/pmlua %s/first_touch.lua --quick --no-plot -o %s/run"):format(build, dir, dir))
    assert.matches("megabytes", read(dir .. "/run/first_touch/latest/data.dat"))
  end)

  it("is a verb in one file, with its help", function()
    local verb
    for name in pairs(block) do verb = name:match "^lua/pmlua/(%l+/regions%.lua)$" or verb end
    assert.truthy(verb)
    local command = ("PMLUA_LUA=%s/lua %s/pmlua"):format(dir, build)
    sh(("cp -r lua %s/lua && cp %s/regions.lua %s/lua/pmlua/%s"):format(dir, dir, dir, verb))
    assert.same({ "1\tsolve\n2\texchange\n1\tsolve\n", 0 }, { sh(command .. " regions solve exchange solve") })
    assert.same({ '{"solve":1}\n', 0 }, { sh(command .. " regions --json solve") })
    assert.matches("intern names of regions", (sh(command .. " help")))
    local out, code = sh(command .. " regions")
    assert.equal(2, code)
    assert.matches("no name given", out)
  end)

  it("is a source in one file, whose events a set reads", function()
    write(dir .. "/program.c", [[
#include "base/pml_error.h"
#include "source/pml_eventset.h"
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  struct pml_eventset *set;
  uint64_t v[2] = {0};
  if (pml_eventset_open(&set, (const char *const[]){"heap::mappings", "heap::bytes"}, 2, NULL) < 0) return 1;
  void *p = malloc(1 << 20);
  if (pml_eventset_read(set, v) < 0) return 1;
  printf("%d %d %s\n", (int)v[0], (int)(v[1] >> 20), pml_event_source("heap::bytes"));
  free(p);
  return pml_eventset_open(&set, (const char *const[]){"heap::byte"}, 1, NULL) != PML_ENOEVENT;
}
]])
    local out, code = sh(([[cd %s && cc -std=gnu11 -Wall -Wextra -Werror -I%s program.c heap.c %s/libpmlua.a \
      $(sed -n 's/^Libs.private: //p' %s) -o source && ./source]]):format(dir, sh("realpath core"):match "%S+",
      sh("realpath " .. build):match "%S+", sh("realpath bindings/pmlua.pc.in"):match "%S+"))
    assert.same({ "1 1 heap\n", 0 }, { out, code })
  end)

  it("is an annotation interface in one file, whose regions a report shows", function()
    write(dir .. "/program.c", [[
void Tau_start(const char *), Tau_stop(const char *);
int main(void) {
  for (int i = 0; i < 3; i++) Tau_start("solve"), Tau_stop("solve");
  return 0;
}
]])
    local header, rows = read("core/adapter/foreign/pml_foreign.h"):gsub("(\n  X%(KOKKOS[^\n]*)", '\n  X(TAU, "TAU", NULL) \\%1')
    assert.equal(1, rows)
    sh("mkdir -p " .. dir .. "/adapter/foreign")
    write(dir .. "/adapter/foreign/pml_foreign.h", header)
    local out, code = sh(([[cd %s && cc -std=gnu11 -Wall -Wextra -Werror -I. -I%s program.c pml_foreign_tau.c \
      %s/adapter/foreign/pml_foreign.c %s/libpmlua.a $(sed -n 's/^Libs.private: //p' %s) -o annotated &&
      PMLUA_REPORT=tau ./annotated && %s/pmlua report tau --csv]]):format(dir, sh("realpath core"):match "%S+",
      sh("realpath core"):match "%S+", sh("realpath " .. build):match "%S+", sh("realpath bindings/pmlua.pc.in"):match "%S+",
      sh("realpath " .. build):match "%S+"))
    assert.equal(0, code, out)
    assert.matches("\nsolve,TAU,calculation,no,3,", out)
  end)

  it("is a substrate and an adapter, each in one file, that meet in a program", function()
    write(dir .. "/program.c", [[
int solve(int n);
int solve(int n) { return n > 0 ? n + solve(n - 1) : 0; }
int main(void) { return solve(3) != 6; }
]])
    local out, code = sh(([[cd %s && cc -std=gnu11 -Wall -Wextra -Werror -I%s -c tally.c instrumented.c &&
      cc -finstrument-functions -rdynamic program.c tally.o instrumented.o -L%s -Wl,-rpath,%s -lpmlua -o program && ./program]])
      :format(dir, sh("realpath core"):match "%S+", sh("realpath " .. build):match "%S+", sh("realpath " .. build):match "%S+"))
    assert.same({ "1 main\n4 solve\n", 0 }, { out, code })
  end)
end)
