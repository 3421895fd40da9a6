-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/wrap_recipes_spec.lua - tests of the recipes in scripts/wrap; recipes of large libraries are in spec/wrap.
--
-- Slow: wraps five libraries, in five ways each.

local support = require "spec.core.support"
local recipe = require "spec.wrap.recipe"

local command = support.build .. "/pmlua"

recipe.describe("zlib", {
  ["compress:sourceLen"] = { 5, 1024, 4096, 16384 },
  ["compress:return"] = { 5, 0, 0, 0 },
  ["deflate:return"] = { 4, 0, 0, 1 },
  ["crc32:len"] = { 11, 1024, 4096, 16384 },
})
recipe.describe("libm", {
  ["exp:1"] = { 100, -100, -50, -1 },
  ["pow:2"] = { 50, 1, 26, 50 },
})
recipe.describe("fftw3", {
  ["fftw_plan_dft_1d:n"] = { 10, 64, 256, 1024 },
  ["fftw_plan_dft_2d:n0"] = { 1, 32, 32, 32 },
  ["fftw_plan_many_dft:howmany"] = { 1, 8, 8, 8 },
})
recipe.describe("gmp", {
  ["__gmpz_mul_ui:3"] = { 100, 1, 51, 100 },
  ["__gmpz_probab_prime_p:2"] = { 4, 25, 25, 25 },
})

describe("pmlua wrap", function()
  it("lists the shipped recipes, with their packages", function()
    local out = support.done(support.shell(command .. " wrap list"))
    local packages = { zlib = "zlib1g-dev", libm = "libc6-dev", fftw3 = "libfftw3-dev", gmp = "libgmp-dev",
      openblas = "libopenblas-dev", petsc = "petsc-dev", qt5 = "qtbase5-dev" }
    for name, package in pairs(packages) do
      assert.truthy(("\n" .. out):find(("\n%s .* %s\n"):format(name, (package:gsub("%p", "%%%0")))), name .. ":\n" .. out)
    end
  end)

  it("names the nearest recipe", function()
    local status, _, err = support.shell(command .. " wrap init --recipe fftw")
    assert.equal(1, status)
    assert.equal("pmlua wrap: no recipe 'fftw'; did you mean 'fftw3'?\n", err)
  end)

  it("reports that the example makes other calls than its folder lists", function()
    local dir = support.folder()
    support.spit(dir .. "/own.lua", [[return { name = "own", headers = { "math.h" }, libs = "-lm", calls = { lgamma = 3 },
      filter = "SCOREP_FILE_NAMES_BEGIN\nEXCLUDE *\nINCLUDE */mathcalls.h\nSCOREP_FILE_NAMES_END\n",
      example = "#include <math.h>\nint main(int n, char **v) { return v && lgamma(n + 1) > 0 && lgamma(n) > 1; }\n" }]])
    local status, out, err = support.shell(("cd %s && %s wrap init --recipe ./own.lua && %s wrap build wrap-own && " ..
      "%s wrap installcheck wrap-own"):format(support.quote(dir), command, command, command), 120)
    if err:find("libclang", 1, true) then return pending(err) end
    assert.equal(1, status, out)
    assert.truthy(err:find("link-time, shared: lgamma was counted ", 1, true), err .. out)
    assert.truthy(err:find("times; the example calls it 3 times\n", 1, true), err)
  end)
end)
