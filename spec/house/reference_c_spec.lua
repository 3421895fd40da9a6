-- SPDX-License-Identifier: BSD-3-Clause
-- spec/house/reference_c_spec.lua - check of the C interface's manual pages: each public function has a page and a description.

local support = require "spec.core.support"
package.path = "spec/?.lua;docs/?.lua;" .. package.path
local headers = require "headers"
local shell = require "shell"
local sh = shell.sh

local build = os.getenv "PMLUA_BUILD" or "build"

--- The functions that a library gives users.
local function exported(library, pattern)
  local names = {}
  for name in sh(("nm -D --defined-only %s/%s"):format(build, library)):gmatch(pattern) do
    if not name:find "^pml__" then names[#names + 1] = name end
  end
  return names
end

describe("The manual pages of the C functions", function()
  local families, said

  setup(function()
    families, said = headers.families(), {}
    for _, family in ipairs(families) do
      local prose = { family.about }
      for _, item in ipairs(family.items) do prose[#prose + 1] = item.prose end
      prose = table.concat(prose, "\n")
      for _, item in ipairs(family.items) do
        for _, name in ipairs(item.functions) do
          said[name] = item.documented[name] or prose:find("%f[%w_]" .. name .. "%f[^%w_]") ~= nil
        end
      end
    end
  end)

  it("have every function that the libraries export, each with a description", function()
    local wrong, n = {}, 0
    local embedding = exported("libpmlua-embed.so", " T (pmlua_[%w_]+)")
    local ours = "(pml_[%w_]*)@@PMLUA_%d\n"
    for _, names in ipairs { exported("libpmlua.so", ours), exported("libpmlua-read.so", ours), embedding } do
      for _, name in ipairs(names) do
        n = n + 1
        if not said[name] then wrong[#wrong + 1] = name .. (said[name] == nil and " is on no page" or " has no words") end
      end
    end
    for name, words in pairs(said) do
      if not words then wrong[#wrong + 1] = name .. " has no words" end
    end
    assert.same({}, wrong)
    assert.is_true(n > 120, n)
  end)

  it("have code as code: no paragraph has C statements or comments", function()
    local codes = 0
    for _, family in ipairs(families) do
      local texts = { family.about }
      for _, item in ipairs(family.items) do texts[#texts + 1] = item.prose end
      for _, text in ipairs(texts) do
        for _, part in ipairs(headers.parts(text)) do
          codes = codes + (part.kind == "code" and 1 or 0)
          local code = part.text:find ";[%s]+//" or ("\n" .. part.text):find "\n%s*[%w_]+%b();\n"
          if part.kind == "code" then code = nil end
          assert.is_falsy(code, family.name .. ": " .. part.text)
        end
      end
    end
    assert.is_true(codes > 3, codes)
    local parts = headers.parts "Text.\n\n  a();\n    b();\n\n- point\n  goes on"
    assert.same({ { kind = "code", margin = 2, text = "a();\n  b();" }, { kind = "point", text = "point\ngoes on" } },
      { parts[2], parts[3] })
  end)

  it("are made, a page for each family and a link for each function, which man reads without a warning", function()
    local dir = support.folder()
    shell.done(("mkdir %s/man3 && %s/pmlua docs/manual.lua %s/man3"):format(dir, build, dir))
    for name in pairs(said) do
      local f <close> = assert(io.open(("%s/man3/%s.3"):format(dir, name)), name)
      local text = f:read "a"
      local family = text:match "^%.so man3/([%w_]+)%.3\n$"
      assert.is_true(family ~= nil or text:find(".TH", 1, true) == 1, name)
    end
    if not sh("command -v man"):find "man" then return pending "man is not installed" end
    for _, family in ipairs(families) do
      assert.equal("", (sh(("cd %s && man --warnings -l man3/%s.3 2>&1 >/dev/null"):format(dir, family.name))), family.name)
    end
    sh("rm -rf " .. dir)
  end)
end)
