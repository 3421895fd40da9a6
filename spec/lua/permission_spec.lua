-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/permission_spec.lua - events of an ordinary user: all open, their names say what they count, and one line
-- explains why. Run by root, the specs become the user nobody.

local support = require "spec.core.support"
local json = require "pmlua.json"
local permission = require "spec.permission"
local quote = support.quote

--- The prefix that runs a command as an ordinary user, or nil and why.
local function ordinary()
  local _, id = support.shell "id -u"
  if tonumber(id) ~= 0 then return "" end
  if support.shell "command -v setpriv" ~= 0 then return nil, "setpriv is not installed: root may count everything" end
  local as = "setpriv --reuid 65534 --regid 65534 --clear-groups "
  if support.shell(("%s%s/pmlua -e 'return 0'"):format(as, support.build)) ~= 0 then
    return nil, "nobody may not run the command here"
  end
  return as
end

local as, why_not = ordinary()

--- The name of an event for that user.
local function called(name)
  local _, out = support.shell(([[%s%s/pmlua -e 'local s = pml.eventset { "%s" }; print(s and s:event(1).name)']]):format(
    as, support.build, name))
  local got = out:gsub("%s+$", "")
  return got ~= "nil" and got or nil
end

--- The first example of the README as a file.
local function readme()
  local text = support.slurp(support.root .. "/README.md")
  local example = text:match("## An experiment in ten lines\n\n```lua\n(.-)```")
  local folder = support.folder()
  support.spit(folder .. "/first_touch.lua", example)
  return folder, example
end

describe("An ordinary user", function()
  local name
  if as then name = called "page-faults" end
  local user_only = name == "page-faults:u"

  local function it_counts(what, claim)
    it(what, function()
      if not as then return pending(why_not) end
      if not name then return pending "the kernel forbids this user all events" end
      claim()
    end)
  end

  local function explained(err, modes)
    local _, lines = err:gsub(permission.sentence, "")
    assert.equal(user_only and modes ~= "none" and 1 or 0, lines, err)
  end

  --- Run the command as that user in a folder that everybody may write to: output, errors, the folder. The errors say once why
  --- events are called so, if the user may count any event that way.
  local function ran(arguments, modes, environment)
    local folder = support.folder()
    os.execute("chmod a+rwx " .. quote(folder))
    local line = ("cd %s && %s %s%s/pmlua %s"):format(quote(folder), environment or "", as, support.build, arguments)
    local out, err = support.done(support.shell(line))
    explained(err, modes)
    return out, err, folder
  end

  local function script(text, environment)
    return ran(("-e '%s'"):format(text), nil, environment)
  end

  it_counts("runs the README's first example, which checks for errors", function()
    local folder, example = readme()
    assert.truthy(example:find("assert(pml.eventset", 1, true))
    os.execute(("chmod -R a+rwX %s"):format(quote(folder)))
    local out = ran(("%s/first_touch.lua --quick --no-plot"):format(quote(folder)))
    assert.truthy(out:find("complete, ", 1, true), out)
  end)

  it_counts("has counters, groups and sets that are called what they count", function()
    local u = user_only and ":u" or ""
    assert.equal(("task-clock\ttask-clock\tpage-faults%s\tpage-faults%s\ttask-clock\ttask-clock:u\tpage-faults%s\n"):format(
      u, u, u), (script [[
      local c = assert(pml.counter.open "task-clock")
      local g = assert(pml.group.open { "task-clock", "page-faults" })
      local s = assert(pml.eventset { "page-faults", "task-clock", "task-clock:u" })
      local r = s:readings()
      print(c:name(), g:read()[1].name, g:read()[2].name, r[1].name, r[2].name, r[3].name, s:event(1).name)]]))
  end)

  it_counts("has clocks under their own names: they count the kernel also where it may not be counted", function()
    local _, _, folder = ran("stat -e task-clock,cpu-clock --json --out stat -- "
      .. "dd if=/dev/zero of=/dev/null bs=64k count=20000 status=none", "none")
    local by = support.by(json.decode(support.slurp(folder .. "/stat")).counts, "event")
    local system = by["system time"].value
    assert.is_true(system > 0)
    for _, clock in ipairs { "task-clock", "cpu-clock" } do assert.is_true(by[clock].value > 0.8 * system, clock) end
  end)

  it_counts("sees in pmlua stat and choose --run what was counted, and what only the kernel can say", function()
    local called_so = "\n" .. name:gsub("-", "%%-") .. " +%d+"
    local _, err = ran "stat -e page-faults,context-switches -- true"
    assert.matches(called_so, err)
    if user_only then
      assert.truthy(err:find("context%-switches +%- .*not counted: perf_event_paranoid is %d, which forbids counting the kernel; "
        .. "run with CAP_PERFMON, or as root: sysctl kernel.perf_event_paranoid=1\n"), err)
    end
    assert.matches(called_so, (ran "choose page-faults --run -- true"))
  end)

  it_counts("has sections whose events are called so, and one definition of them", function()
    assert.equal(name .. "\n", (script [[
      local s = assert(pml.section.define { label = "x", events = { "page-faults" } })
      assert(pml.section.define { label = "x", events = { "page-faults" } })
      do local _ <close> = s:enter() end
      for event in pairs(pml.section.report()[1].events) do print(event) end]]))
  end)

  it_counts("reads in a report why its events are called so", function()
    local _, _, folder = script([[
      local s = assert(pml.section.define { label = "x", events = { "task-clock", "page-faults" } })
      do local _ <close> = s:enter() end]], "PMLUA_REPORT=out")
    local report = ("%s%s/pmlua report %s/out"):format(as, support.build, quote(folder))
    local _, out = support.shell(report)
    assert.truthy(out:find "task%-clock " and out:find("page%-faults" .. (user_only and ":u" or " ")), out)
    explained(out)
    _, out = support.shell(report .. " --json")
    explained(out)
    local cpus
    for _, m in ipairs(json.decode(out).sections[1].metrics or {}) do
      if m.group == "CYCLE" and m.name == "cpus" then cpus = m.value end
    end
    assert.is_true(cpus and cpus > 0) -- the formula says task-clock
  end)

  it_counts("has traces with the values of sections, under such names", function()
    if support.shell "command -v otf2-print" ~= 0 then return pending "otf2-print is not installed" end
    local _, _, folder = script [[
      local t = assert(pml.trace.create(".", { metrics = { { name = "page-faults" } } }))
      local s = assert(pml.section.define { label = "x", events = { "page-faults" } })
      assert(t:attach())
      do local _ <close> = s:enter() end
      assert(t:detach() == 0)
      t:close()]]
    local _, out = support.shell(("otf2-print %s/traces.otf2"):format(quote(folder)))
    local _, values = out:gsub(('\nMETRIC [^\n]*%%("%s" <'):format(name:gsub("-", "%%-")), "")
    assert.equal(2, values, out)
  end)

  it_counts("has calls whose events are called so", function()
    if support.shell [[lua5.4 -e 'require "zlib"']] ~= 0 then return pending "no lua5.4 with lua-zlib" end
    local out, err = ran [[record --lib 'libz*' --event page-faults -o out -- lua5.4 -e 'require "zlib".crc32()("x")']]
    assert.truthy(out:find(name, 1, true) or err:find(name, 1, true), out .. err)
  end)

  it_counts("is reported by the doctor once, with no remedy twice", function()
    local status, out, err = support.shell(("%s%s/pmlua doctor --json"):format(as, support.build))
    assert.equal(0, status, err)
    assert.equal("", err)
    for _, row in ipairs(json.decode(out)) do
      if row.name == "perf_event_paranoid" and user_only then
        assert.equal("limited", row.status)
        assert.truthy(row.finding:find("user space only (page-faults counts as page-faults:u)", 1, true), row.finding)
      end
      local _, remedies = ((row.finding or "") .. (row.remedy or "")):gsub("sysctl kernel.perf_event_paranoid", "")
      assert.is_true(remedies <= 1, row.remedy)
    end
  end)
end)
