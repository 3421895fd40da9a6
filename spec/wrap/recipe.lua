-- SPDX-License-Identifier: BSD-3-Clause
-- spec/wrap/recipe.lua - specs that every recipe shares: its wrapper builds, checks, installs, counts the calls of the example in
-- every way, and records the values that the example passes.

local assert = require "luassert"
local support = require "spec.core.support"
local quote = support.quote

local M = {}

local command = support.build .. "/pmlua"
local pwd = assert(os.getenv("PWD"))
local SECONDS = 1200 -- Qt's compiles alone take minutes
local WITHIN = 0.03 -- what a quantile may be off

local function shell(dir, text)
  return support.shell(("cd %s && export PMLUA_WRAP_PATH=%s && %s"):format(quote(dir), quote(dir .. "/lib/pmlua/wrap"), text),
    SECONDS)
end

local function done(status, out, err)
  assert.equal(0, status, out .. err)
  return out
end

--- Why the recipe cannot be tested on this machine, or nil.
local function missing(recipe)
  for _, tool in ipairs { "gcc", "g++", "nm", "objdump", "c++filt", "readelf", "pkg-config" } do
    if (support.shell("command -v " .. tool)) ~= 0 then return tool .. " is not installed" end
  end
  local clang, absent = require("pmlua.internal.wrap.paths").clang()
  if not clang then return absent end
  local there, why = clang.available()
  if not there then return why end
  local compiler = recipe.language == "c++" and "g++ -x c++" or "gcc -x c"
  local source = {}
  for i, header in ipairs(recipe.headers) do source[i] = "#include <" .. header:gsub("[<>]", "") .. ">" end
  local status = support.shell(("printf '%%s\\n' %s | %s %s -w -fsyntax-only -"):format(quote(table.concat(source, "\n")),
    compiler, recipe.cflags or ""))
  return status ~= 0 and recipe.package .. " is not installed" or nil
end

--- Symbols whose addresses the wrapped libraries keep or compare: interception does not record calls of these.
local function handed_on(w)
  local set, files = {}, {}
  for _, soname in ipairs(w.libraries) do files[#files + 1] = support.library(soname) end
  local _, relocations = support.shell("readelf -rW " .. table.concat(files, " "), 60)
  for symbol in relocations:gmatch("R_%g+_GLOB_DAT +%x+ (%g+)") do set[symbol:match("^[^@]+")] = true end
  for symbol in relocations:gmatch("R_%g+_64 +%x+ (%g+)") do set[symbol:match("^[^@]+")] = true end
  return set
end

--- Interception and run-time wrappers see the same calls, except of functions whose addresses the libraries pass on, and of
--- the twins that wrappers of variadic functions call.
local function assert_same(ways, w)
  local kept, titles, twins = handed_on(w), {}, {}
  for _, f in ipairs(w.functions) do
    titles[f.title or f.symbol] = titles[f.title or f.symbol] or {}
    table.insert(titles[f.title or f.symbol], f.symbol)
    if f.by then twins[f.by] = true end
  end
  local run, intercepted, equal = ways["run-time, shared"], ways.intercepted, 0
  local function excused(title)
    if twins[title] then return true end
    for _, symbol in ipairs(titles[title] or {}) do
      if kept[symbol] then return true end
    end
  end
  local all = {}
  for title in pairs(run) do all[title] = true end
  for title in pairs(intercepted) do all[title] = true end
  for title in pairs(all) do
    local a, b = intercepted[title] or 0, run[title] or 0
    if a == b then equal = equal + 1
    else
      assert.is_truthy(excused(title), ("%s: intercepted %d times, wrapped %d times"):format(title, a, b))
      assert.is_true(a < b or twins[title], title)
    end
  end
  assert.is_true(equal > 0)
end

local function assert_near(expected, value, what)
  assert.is_true(math.abs(value - expected) <= WITHIN * math.abs(expected), ("%s: %g, not %g"):format(what, value, expected))
end

--- The recording of the example with the link-time wrapper.
local function recorded(dir, folder)
  done(shell(dir, ("gcc -std=c11 -D_GNU_SOURCE -O1 -fPIC -shared -I%s/core %s/spec/wrap/quantiles.c -o quantiles.so -L%s " ..
    "-lpmlua -Wl,-rpath,%s"):format(pwd, pwd, support.build, support.build)))
  local program = folder .. "/build/example-link-shared"
  done(shell(dir, ("PMLUA_SPEC_QUANTILES=%s/quantiles LD_PRELOAD=./quantiles.so %s"):format(dir, program)))
  local rows = {}
  for name, count, least, median, most in support.slurp(dir .. "/quantiles"):gmatch("(%S+) (%S+) (%S+) (%S+) (%S+)\n") do
    rows[name] = { tonumber(count), tonumber(least), tonumber(median), tonumber(most) }
  end
  return rows
end

--- Describe the recipe @name. @values: the recorded values of the example, "FUNCTION:VALUE" = { count, least, median, most }.
---@param name string
---@param values table<string, number[]>
function M.describe(name, values)
  local recipe = assert(require("pmlua.internal.wrap.folder").read(("%s/scripts/wrap/%s.lua"):format(pwd, name),
    require("pmlua.internal.wrap.folder").recipe_fields))
  local busted = require "busted"
  busted.describe("the recipe " .. name, function()
    local dir, folder, cfg, w, ways = nil, "wrap-" .. recipe.name, nil, nil, {}
    local why = missing(recipe)
    local function it(sentence, f)
      if why then return busted.pending(("%s: %s"):format(sentence, why)) end
      return busted.it(sentence, f)
    end

    busted.setup(function()
      if why then return end
      dir = support.folder()
      done(shell(dir, ("%s wrap init --recipe %s && %s wrap build %s"):format(command, name, command, folder)))
      cfg = assert(require("pmlua.internal.wrap.folder").load(dir .. "/" .. folder))
      w = assert(require("pmlua.internal.wrap.installed").built(cfg))
      for _, t in ipairs(require("pmlua.internal.wrap.trial").run(cfg, w)) do
        assert.is_nil(t.err, t.way .. ": " .. tostring(t.err))
        ways[t.way] = t.counts
      end
    end)
    busted.teardown(support.cleanup)

    it("has no function left that check excludes", function()
      local out = done(shell(dir, ("%s wrap check %s"):format(command, folder)))
      assert.truthy(out:find("\nin no library: 0\n", 1, true), out)
      assert.truthy(out:find("\nalso link without the libraries: 0\n", 1, true), out)
    end)

    it("counts at link time the example's calls, and no more", function()
      assert.is_truthy(next(recipe.calls))
      assert.same(recipe.calls, ways["link-time, shared"])
      assert.same(recipe.calls, ways["link-time, static"])
    end)

    it("counts at run time the same calls as pmlua record", function()
      assert.same(ways["run-time, shared"], ways["run-time, static"])
      assert.same(ways["run-time, shared"], ways.preloaded)
      assert_same(ways, w)
    end)

    it("leaves the output of the example unchanged", function()
      local build = folder .. "/build"
      local expected = done(shell(dir, build .. "/example"))
      assert.is_true(#expected > 0)
      for _, how in ipairs { "link-shared", "link-static", "run-shared", "run-static" } do
        assert.equal(expected, done(shell(dir, build .. "/example-" .. how)), how)
      end
    end)

    it("records values with quantiles", function()
      local rows = recorded(dir, folder)
      for value, expected in pairs(values) do
        local row = rows[value]
        assert.is_truthy(row, value .. " is not recorded")
        assert.equal(expected[1], row[1], value)
        for i = 2, 4 do assert_near(expected[i], row[i], value) end
      end
    end)

    it("installs, and is found by pmlua cc", function()
      done(shell(dir, ("%s wrap install %s --prefix %s"):format(command, folder, dir)))
      assert.truthy(done(shell(dir, ("%s wrap list"):format(command))):find(recipe.name .. " +c%+*  "))
      local line = done(shell(dir, ("%s cc --wrap %s --print -- gcc a.o"):format(command, recipe.name)))
      assert.truthy(line:find("libpmlua-wrap-" .. recipe.name .. "-link.so", 1, true), line)
    end)
  end)
end

return M
