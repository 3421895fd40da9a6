-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/record_child_spec.lua - forked children under pmlua record: a log at the first recorded call, and before that
-- an entry in the parent's.

local recording = require "spec.lua.recording"
local support = require "spec.core.support"
local json = require "pmlua.json"

local at, command, endings = recording.place(), recording.command, recording.endings
local shell = at.shell
local is_root = support.shell "test $(id -u) = 0" == 0

--- Record the program, which calls once and does this: the processes, what the report says, the folder.
local function record(acts, options)
  local _, all, _, err, out, folder = at.crc32("crc32:1 " .. acts, options)
  assert.equal("", out)
  return all, err, folder
end

local function log_count(folder) return tonumber((select(2, shell(("ls %s | grep -c 'pmlog$'"):format(folder))))) end

local NOTHING, CALL = "child logs:0 end ", "child logs:0 crc32:1 logs:1 end "
local GRANDCHILDREN = ("child child %s%slogs:0 end logs:0 end "):format(NOTHING, CALL)

describe("a forked child under pmlua record", function()
  for acts, expected in pairs {
    ["child threads:4 crc32:1 end end"] = "_exit 4, exit 1", ["child bare crc32:1 end end"] = "_exit 0, _exit 1, exit 1",
    ["child vfork crc32:1 end logs:1 crc32:1 end"] = "_exit 2, exit 1", -- the log of a child of vfork() is its parent's
    ["child handler " .. CALL .. "end end"] = "_exit 0, _exit 1, exit 1",
    ["child close crc32:1 end"] = "_exit 1, exit 1", ["child files:0 crc32:1 end"] = "_exit 1, exit 1",
    ["child strict crc32:1 SYS_exit:3 end"] = "cut 0, exit 1", -- it may not read the clock any more
    ["child user crc32:1 end"] = is_root and "_exit 1, exit 1", ["child chroot crc32:1 end"] = is_root and "_exit 1, exit 1",
    [NOTHING .. CALL .. "kill"] = "_exit 0, _exit 1, cut 1",
  } do
    it("has its log and its end: " .. acts, function()
      if not expected then return pending "only root can become another user" end
      local all = record(acts)
      assert.equal(expected, endings(all))
      for _, p in ipairs(all.processes) do assert.falsy(p.noted and p.ended == "cut") end
    end)
  end

  it("makes no log before its first recorded call, and is reported all the same", function()
    local all, err, folder = record(NOTHING .. "child exit end " .. CALL)
    assert.same({ "_exit 0, _exit 1, exit 0, exit 1", 2, "" }, { endings(all), log_count(folder), err })
    local parent, noted = all.processes[1], 0
    for _, p in ipairs(all.processes) do
      if p.noted then
        noted = noted + 1
        assert.same({ parent.pid, parent.program, parent.functions }, { p.parent, p.program, p.functions })
      end
    end
    assert.equal(2, noted)
    assert.truthy(select(3, shell(command .. " record --finish " .. folder)):find("4 processes; results in " .. folder, 1, true))
  end)

  it("touches few pages more than it does unrecorded", function()
    local _, plain = shell "./calls crc32:1 faults"
    local _, recorded = shell(command .. " record -o f --lib 'libz*' -- ./calls crc32:1 faults")
    plain, recorded = tonumber(plain:match "faults (%d+)"), tonumber(recorded:match "faults (%d+)")
    assert.truthy(recorded <= plain + 12, ("%d page faults, %d unrecorded"):format(recorded, plain))
  end)

  it("is reported when it was killed, or executed another program", function()
    local all, err, folder = record "child kill end child true end"
    assert.same({ "cut 0, exec 0, exit 0, exit 1", 2 }, { endings(all), log_count(folder) })
    assert.matches("^pmlua record: process %d+ %(calls%) was cut short", err)
  end)

  it("notes its own children while it has no log", function()
    local all, err, folder = record(GRANDCHILDREN)
    assert.same({ "_exit 0, _exit 0, _exit 0, _exit 1, exit 1", 2, "" }, { endings(all), log_count(folder), err })
    local of, depths = {}, {}
    for _, p in ipairs(all.processes) do of[p.pid] = p.parent end
    for pid in pairs(of) do
      local depth = 0
      while of[pid] do pid, depth = of[pid], depth + 1 end
      depths[#depths + 1] = depth
    end
    table.sort(depths)
    assert.same({ 1, 2, 3, 4, 4 }, depths)
  end)

  it("is one of many, from several threads", function()
    local all, err = record(("times:150 %s end threads:4 times:25 %s end end"):format(NOTHING, NOTHING))
    assert.same({ 1 + 150 + 100, "", 250 }, { #all.processes, err, select(2, endings(all):gsub("_exit 0", "")) })
  end)

  it("is reported with the reason if its log could not be made", function()
    if not is_root then return pending "only root can become another user" end
    local all, err = record "child SYS_setuid crc32:1 end"
    assert.equal("exit 1, failed 0", endings(all))
    assert.matches("^pmlua record: process %d+ %(calls%) is not recorded: " ..
      "no log could be made at its first recorded call: [^\n]*Permission denied\n$", err)
  end)

  it("has its calls in traces and flows", function()
    for _, how in ipairs { "--flow", "--trace --max-calls 5", "--trace" } do
      local all, _, folder = record(NOTHING .. CALL .. GRANDCHILDREN .. "child threads:4 crc32:1 end end", how)
      assert.equal("_exit 0, _exit 0, _exit 0, _exit 0, _exit 1, _exit 1, _exit 4, exit 1", endings(all))
      if how == "--trace" then assert.equal(7, at.traced(folder).crc32) end
    end
  end)

  it("may outlive its parent, and is finished later", function()
    local line = "mkfifo wait; exec 9<>wait; %s record -o r --json --lib 'libz*' --sym crc32 -- "
      .. "./calls crc32:1 alone hold crc32:1 end <wait 9>&-"
    local _, out, err = shell(line:format(command))
    assert.equal("exit 1, running 0", endings(json.decode(out:match "{.*$")))
    assert.matches("is still running; report the rest later with pmlua record %-%-finish %S+/r\n$", err)
    local all
    support.eventually(function()
      all = json.decode((select(2, shell(command .. " record --finish r --json"))):match "{.*$")
      return not endings(all):find "running"
    end)
    assert.equal("_exit 1, exit 1", endings(all))
  end)
end)
