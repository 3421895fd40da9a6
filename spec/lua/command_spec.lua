-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/command_spec.lua - tests of the command pmlua in a shell: executed code, output, exit status.

local support = require "spec.core.support"

local dir, command

local function run(arguments, before)
  return support.shell(("cd %s && %s %s %s"):format(dir, before or "", command, arguments))
end

local function script(name, text)
  return support.spit(dir .. "/" .. name, text)
end

--- Exit status and the single line on standard error.
local function complaint(arguments, before)
  local status, _, err = run(arguments, before)
  return { status, err }
end

setup(function() command = support.build .. "/pmlua" end)
before_each(function() dir = support.folder() end)

describe("pmlua SCRIPT", function()
  it("runs it with arg and ... as lua does", function()
    script("s.lua", "print(arg[0], #arg, ...) return nil")
    assert.same({ 0, "s.lua\t2\t-x\tb c\n", "" }, { run("s.lua -x 'b c'") })
    assert.same({ 0, "s.lua\t1\t1\n", "" }, { run("-- s.lua 1") })
    assert.same({ 0, "1\n", "" }, { run("-", "echo 'print(1)' |") })
  end)

  it("finds modules beside the script first, then pmlua's", function()
    script("sub.lua", "return 'mine'")
    script("s.lua", "print(require 'sub', require 'pmlua'.version)")
    local status, out = support.shell(("cd / && %s %s/s.lua"):format(command, dir))
    assert.same({ 0, "mine\t" .. support.core.version .. "\n" }, { status, out })
  end)

  it("runs an experiment that a script returns, and takes its status", function()
    script("s.lua", "return { __pmlua_main = function(self, a) print(self ~= nil, a[1]) return 5 end }")
    assert.same({ 5, "true\tx\n", "" }, { run("s.lua x") })
    script("s.lua", "return setmetatable({}, { __pmlua_main = function() return false end })")
    assert.equal(1, (run("s.lua")))
    script("s.lua", "return { __pmlua_main = function() error 'out' end }")
    assert.same({ 1, "pmlua: s.lua:1: out\n" }, complaint("s.lua"))
  end)

  it("fails when the script defines an experiment but neither returns nor runs it", function()
    local definition = "require 'pmlua'.experiment { name = 'x', repeats = 2, measure = function() return 1 end }"
    script("s.lua", definition .. "\n")
    local status, out, err = run "s.lua"
    assert.same({ 1, "" }, { status, out })
    assert.matches("^pmlua: [^\n]*s.lua defines the experiment x but does not return it[^\n]*\n$", err)
    script("s.lua", ("local x = %s\nx:run { out = %q, quiet = true, no_plot = true }\n"):format(definition, dir .. "/out"))
    assert.equal(0, (run "s.lua"))
    script("s.lua", definition .. "\nreturn true\n")
    assert.equal(0, (run "s.lua"))
  end)

  it("fails when the script returns nil and a reason", function()
    script("s.lua", "return nil, 'no such event'")
    local where = dir .. "/s.lua"
    local status, out, err = support.shell(command .. " " .. where)
    assert.same({ 1, "", ("pmlua: %s returned: no such event\n"):format(where) }, { status, out, err })
    assert.equal(1, (support.shell(command .. [[ -e 'return require "pmlua".eventset.open { "nosuch" }']])))
    assert.equal(0, (support.shell(command .. " -e 'return 1, \"text\"' -e 'return nil'")))
  end)

  it("closes handles when it leaves by os.exit", function()
    script("s.lua", "local s = require 'pmlua'.eventset { 'clock::ns' }\n" ..
      "coroutine.wrap(function() os.exit(3, true) end)() s()")
    assert.equal(3, (run("s.lua")))
  end)
end)

describe("An error is one line with the script's position:", function()
  for name, case in pairs {
    ["a syntax error"] = { "local x = = 1", "s.lua:1: unexpected symbol near '='" },
    ["a run-time error"] = { "local t\nt.x = 1", "s.lua:2: attempt to index a nil value (local 't')" },
    ["a module that is not loaded"] = { "pml.clock.ns()",
      [[s.lua:1: attempt to index a nil value (global 'pml'); write local pml = require "pmlua" first]] },
    ["a refused set that is used"] = { "local s = require 'pmlua'.eventset { 'nosuch' }\n\ns:read()",
      "s.lua:3: attempt to index a nil value (local 's'); the last refusal, at s.lua:1, was: eventset.open: ENOEVENT: " ..
      "no event \"nosuch\"; list the events with pmlua events" },
    ["a refused value that is compared"] = { "local c = require 'pmlua'.counter.open 'nosuch'\nprint(c < 1)",
      "s.lua:2: attempt to compare nil with number; the last refusal, at s.lua:1, was: counter.open: ENOEVENT: " ..
      "no event \"nosuch\"; list the events with pmlua events" },
    ["misuse of a binding"] = { "\nrequire 'pmlua'.clock.to_ns('x')",
      "s.lua:2: bad argument #1 to 'to_ns' (number expected, got string)" },
    ["an error of several lines"] = { "error 'a\\nb'", "s.lua:1: a" },
    ["a module that is missing"] = { "require 'nowhere'", "s.lua:1: module 'nowhere' not found" },
    ["a table"] = { "error {}", "s.lua:1: (error object is a table value)" },
    ["nil"] = { "error(nil)", "s.lua:1: (error object is a nil value)" },
    ["a table with a text"] = { "error(setmetatable({}, { __tostring = function() return 'mine' end }))", "s.lua:1: mine" },
    ["a table whose text raises"] = { "error(setmetatable({}, { __tostring = function() error 'twice' end }))",
      "s.lua:1: twice" },
    ["precompiled code"] = { string.dump(load "return"), "s.lua: attempt to load a binary chunk (mode is 't')" },
  } do
    it(name, function()
      script("s.lua", case[1])
      assert.same({ 1, "pmlua: " .. case[2] .. "\n" }, complaint("s.lua"))
    end)
  end

  it("and a traceback with --debug", function()
    script("s.lua", "local function f() error 'deep' end\nf()")
    local _, err = table.unpack(complaint("--debug s.lua"))
    assert.matches("^pmlua: s%.lua:1: deep\nstack traceback:\n.*s%.lua:2:", err)
  end)
end)

describe("pmlua -e CODE", function()
  it("runs each in turn, with pml loaded, before the script", function()
    script("s.lua", "print(a, pml ~= nil)")
    assert.same({ 0, "1\n1\ttrue\n", "" }, { run("-e 'a = 1' -e'print(a)' s.lua") })
  end)

  it("stops at the first error", function()
    local status, out, err = run("-e 'print(1)' -e 'error \"e\"' -e 'print(2)'")
    assert.same({ 1, "1\n", "pmlua: (command line):1: e\n" }, { status, out, err })
  end)
end)

describe("A mistake in a script is answered with a remedy:", function()
  for text, answer in pairs {
    ["local t = {\n  a = 1\n  b = 2 }"] =
      "s.lua:3: '}' expected (to close '{' at line 1) near 'b'; is a comma missing before it?",
    ["local set = assert(pml.eventset { 'page-faults' })\nset.start()"] =
      "s.lua:2: bad argument #1 to 'start' (eventset expected, got no value); call it with a colon, as in object:method()",
    ["pml.stats.median()"] = "s.lua:1: bad argument to 'median': attempt to get length of a nil value (local 'values')",
    ["pml.clock.to_ns()"] = "s.lua:1: bad argument #1 to 'to_ns' (number expected, got no value)",
  } do
    it(answer, function()
      script("s.lua", "local pml = require 'pmlua' " .. text)
      assert.same({ 1, "pmlua: " .. answer .. "\n" }, complaint "s.lua")
    end)
  end
end)

describe("A variable of the environment", function()
  it("that is misspelt is named with the nearest one, and others are not", function()
    local status, out, err = run("-e 'print(1)'", "PMLUA_REPROT=out PMLUA_ROOT=/opt PMLUA_SECTIONS=on")
    assert.same({ 0, "1\n", "pmlua: warning: no variable PMLUA_REPROT; did you mean PMLUA_REPORT?\n" }, { status, out, err })
  end)
end)

describe("pmlua -i", function()
  it("prints values of lines, continues incomplete ones and survives errors", function()
    script("in", "1+1\nx =\n3\nx, nil\nerror 'e'\nerror {}\n= pml.version\nfor i = 1, 1 do\nprint 'loop' end\n) syntax\n")
    local out, err = support.done(run("-i < in"))
    assert.matches("2\n.*3\tnil\n.*" .. support.core.version:gsub("%.", "%%.") .. "\n.*loop\n", out)
    assert.matches("^pmlua: stdin:1: e\npmlua: %(error object is a table value%)\npmlua: stdin:1: unexpected symbol", err)
  end)
end)

describe("Misuse of the command ends with status 2 and a line:", function()
  for arguments, answer in pairs {
    [""] = "nothing to run",
    ["-e"] = "-e needs code",
    ["--bogus"] = "no such option: --bogus; see pmlua --help",
    ["--verison"] = "no such option: --verison; did you mean --version?",
    ["vresion"] = "did you mean 'pmlua --version'?",
    ["help enviroment"] = "did you mean 'environment'?",
    ["evnts"] = "did you mean 'pmlua events'?",
    ["nowhere.lua"] = "nowhere.lua: no such file",
    ["help docter"] = "did you mean 'doctor'?",
  } do
    it("'" .. arguments .. "'", function()
      local status, err = table.unpack(complaint(arguments))
      assert.equal(2, status)
      assert.matches("^pmlua[^\n]*\n$", err)
      assert.is_truthy(err:find(answer, 1, true), err)
    end)
  end
end)

describe("Output", function()
  it("that cannot be written is a failure", function()
    assert.same({ 1, "pmlua: writing to standard output failed: No space left on device\n" }, complaint("--help > /dev/full"))
    script("s.lua", "io.write 'x' os.exit(true)")
    assert.equal(1, (run("s.lua > /dev/full")))
  end)

  it("into a pipe that closes ends the command silently", function()
    local _, out, err = run("events | head -1")
    assert.equal("", err)
    assert.matches("^[^\n]+\n$", out)
  end)
end)

describe("The verbs", function()
  it("explain themselves", function()
    local _, overview = run("help")
    assert.equal(overview, (select(2, run("--help"))))
    for verb in overview:match("\nverbs:\n(.-)\n\n"):gmatch("%f[^\n\0]  (%S+)") do
      local out = support.done(run("help " .. verb))
      assert.matches("^usage: pmlua " .. verb, out)
      assert.matches("\n    pmlua " .. verb, out) -- an example
      assert.equal(out, (select(2, run(verb .. " --help"))))
      for inner in (out:match "\nverbs:\n(.-)\n\n" or ""):gmatch "%f[^\n\0]  (%S+)" do
        assert.matches("pmlua help " .. verb .. " VERB", out, 1, true)
        assert.matches("^usage: pmlua " .. verb .. " " .. inner, (support.done(run(("help %s %s"):format(verb, inner)))))
      end
    end
  end)

  it("list events, with a count at the end", function()
    local out = support.done(run("events page-faults"))
    assert.matches("\n  page%-faults +%S", out)
    assert.matches("\n%d+ events, %d+ available, %d+ unavailable[^\n]*\n$", out)
  end)

  it("name the nearest events if nothing matches, and events that lists cannot hold", function()
    local status, err = table.unpack(complaint("events page-fautls"))
    assert.equal(1, status)
    assert.matches("^pmlua: no event matches 'page%-fautls'; nearest: [^\n]*page%-faults", err)
    assert.equal(0, (run("events mem:0x1234:w")))
  end)

  it("name the features that work here, with a remedy for the others", function()
    local status, out = run("doctor")
    assert.equal(0, status)
    assert.matches("^ok +clock", out)
    assert.matches("\n%d+ ok, %d+ limited, %d+ missing\n$", out)
    for _, row in ipairs(require "cjson".decode((select(2, run("doctor --json"))))) do
      assert.is_truthy(({ ok = 1, limited = 1, missing = 1 })[row.status], row.name)
      assert.is_nil(row.finding:find("the check failed", 1, true), row.finding)
    end
  end)
end)

describe("pmlua events sde:", function()
  it("reports that no library of this process has registered any, and how to ask another process", function()
    for _, pattern in ipairs { "sde:", "'sde:::*'" } do
      local status, err = table.unpack(complaint("events " .. pattern))
      assert.equal(1, status)
      assert.matches("^pmlua: no library of this process has registered [^\n]*; pmlua query lists [^\n]*\n$", err)
    end
  end)
end)

describe("The modules", function()
  it("are found from the command, wherever it is called, and from PMLUA_LUA", function()
    local lua = support.shell and select(2, run("-e 'print(pml.paths.lua)'"))
    assert.matches("/lua\n$", lua)
    local message = complaint("-e 'print(1)'", "PMLUA_LUA=/nowhere")[2]
    assert.matches("PMLUA_LUA is /nowhere, which does not hold pmlua/init.lua", message, 1, true)
  end)

  it("come from the installation when the command is installed", function()
    local root, lua = dir .. "/usr", select(2, run("-e 'io.write(pml.paths.lua)'"))
    assert.equal(0, (support.shell(("mkdir -p %s/bin %s/lib/pmlua/workloads %s/share/pmlua/scripts %s/share/pmlua/plots && " ..
      "cp %s %s/bin/ && cp %s/libpmlua.so.? %s/libpmlua-read.so.? %s/lib/ && cp -r %s %s/share/pmlua/"):format(root, root, root,
      root, command, root, support.build, support.build, root, lua, root))))
    local _, out = support.shell(root .. "/bin/pmlua -e 'local p = pml.paths print(p.lua, p.scripts, p.plots, p.workloads)'")
    local share = root .. "/share/pmlua"
    assert.equal(table.concat({ share .. "/lua", share .. "/scripts", share .. "/plots", root .. "/lib/pmlua/workloads" }, "\t")
      .. "\n", out)
  end)

  it("serve a stock Lua", function()
    if support.sanitized then return pending("a stock Lua cannot load a sanitized core") end
    local _, out = support.shell(("LUA_PATH='lua/?.lua;lua/?/init.lua;;' LUA_CPATH='%s/lua/?.so;;' lua5.4 -e " ..
      "'local pml = require \"pmlua\" print(pml.version, rawget(pml, \"nothing\"), pml.stats ~= nil, pml.paths.lua)'")
      :format(support.build))
    assert.matches("^" .. support.core.version:gsub("%.", "%%.") .. "\tnil\ttrue\t/.*/lua\n$", out)
  end)

  it("refuse an unknown clock", function()
    assert.matches("^pmlua: [^\n]*PMLUA_CLOCK[^\n]*\n$", complaint("-e 'print(1)'", "PMLUA_CLOCK=bogus")[2])
  end)
end)
