-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/record_worlds_spec.lua - pmlua record of programs that end abnormally or run short of resources: it keeps what
-- can be kept, and the program behaves as without it. A forked child has a log from its first recorded call on, and before that
-- an entry in its parent's.

local recording = require "spec.lua.recording"
local support = require "spec.core.support"
local json = require "pmlua.json"

local at, command, endings = recording.place(), recording.command, recording.endings
local dir, shell = at.dir, at.shell
local is_root = support.shell "test $(id -u) = 0" == 0

-- The actions of a program after an incident.
local GOES_ON = " crc32:100000 child crc32:5 end print exit:3"

--- Calls 100 times, then does this: calls of crc32, the whole recording, status, standard error, output, folder.
local function recorded(acts, options) return at.crc32("crc32:100 " .. acts, options) end

describe("pmlua record, when things go wrong,", function()
  setup(function() os.execute("chmod 755 " .. support.quote(dir)) end)

  it("has every call of a program that was killed or executes another, and says what was cut short", function()
    for acts, expected in pairs { kill = { 137, "cut 100" }, segv = { 139, "cut 100" }, ["_exit:5"] = { 5, "_exit 100" },
      abort = { 134, "cut 100" }, exec = { 0, "exec 100, exit 3" } } do
      local _, all, status, err, _, folder = recorded(acts, "--trace")
      assert.same({ acts, table.unpack(expected) }, { acts, status, endings(all) })
      assert.equal(expected[2]:find "^cut" ~= nil, err:find "process %d+ %(calls%) was cut short" ~= nil, err)
      assert.equal(acts == "exec" and 103 or 100, at.traced(folder).crc32)
    end
  end)

  it("goes on in another folder, and where the program closes every descriptor, and writes to none of the program's", function()
    for acts, calls in pairs { chdir = 100105, ["close:600 crc32:100000 victim"] = 200105 } do
      local n, all, status, _, out = recorded(acts .. GOES_ON, "--trace")
      assert.same({ 3, calls, 2 }, { status, n, #all.processes })
      assert.falsy(out:find "wrong", out)
    end
  end)

  for acts, what in pairs { chroot = "in another root", user = "without its privileges" } do
    it("goes on " .. what .. ", and names the children that have no file there", function()
      if not is_root then return pending("only root can do that") end
      local n, _, status, err = recorded(acts .. GOES_ON, "--trace")
      assert.same({ 3, 100100 }, { status, n })
      assert.truthy(err:find("process %d+ %(calls%) is not recorded: no log could be made at its first recorded call: "), err)
    end)
  end

  --- The same output and status unrecorded and in each way of recording; @check gets the calls and the messages.
  local function left_alone(acts, ways, check)
    local status, out = shell("./calls crc32:100 " .. acts)
    if status == 98 then return pending("this machine does not do that") end
    for _, options in ipairs(ways) do
      local n, all, recorded_status, err, recorded_out = recorded(acts, options)
      assert.same({ 3, 3, out }, { status, recorded_status, recorded_out }, err)
      check(n, all, err, options)
    end
  end

  for how, expected in pairs { strict = 100, filter = 100100, ["filter:1"] = 100100, ["filter:2"] = 100101 } do
    it("leaves a program alone that gives up its right to system calls: " .. how, function()
      local acts = how .. " crc32:100000 adler32:1 print " .. (how == "strict" and "SYS_exit:3" or "exit:3")
      left_alone(acts, { "", "--trace", "--event page-faults", "--event task-clock --trace" }, function(n, _, err, options)
        assert.equal(options:find "event" ~= nil, err:find("stopped counting events", 1, true) ~= nil, err)
        assert.equal(expected, n)
        assert.truthy(err:find("gave up system calls (seccomp)", 1, true), err)
      end)
    end)
  end

  it("names functions that were not there before a program gives up its right to system calls", function()
    local _, _, status, err = recorded("filter exit:3", "--sym crc32 --sym nosuch_function")
    assert.equal(3, status)
    assert.matches("--sym 'nosuch_function' matches no function", err, 1, true)
  end)

  for acts, what in pairs { ["as:512 memory:200"] = "a limit on its addresses", ["data:24 memory:10"] = "a limit on its data",
    tsc = "no processor's clock" } do
    it("leaves a program alone that gives itself " .. what, function()
      left_alone(acts .. " thread:10" .. GOES_ON, { "", "--trace", "--event page-faults" }, function(n, all, err)
        assert.same({ 100 + 10 + 100000 + 5, 0 }, { n, all.functions[1].unreturned }, err)
      end)
    end)
  end

  it("records within limits that were set before", function()
    for _, limit in ipairs { "-v 100000", "-d 16000" } do
      local line = "%s record --lib libz -o limits%s -- sh -c 'ulimit %s; ./calls crc32:100 memory:200'"
      local status, out, err = shell(line:format(command, limit:sub(2, 2), limit))
      assert.same({ limit, 98, "" }, { limit, status, out }, err) -- it cannot have what it wants then
      assert.truthy(err:find("crc32 +100 "), err)
    end
  end)

  support.with "valgrind" ("shows valgrind nothing that it complains of", function()
    for i, options in ipairs { "", "--trace", "--event page-faults" } do
      local status, _, err = shell(("%s record --lib libz %s -o valgrind%d -- valgrind -q --error-exitcode=99 "
        .. "./calls crc32:100 exit:3"):format(command, options, i))
      assert.same({ 3, nil }, { status, err:match("==%d+==.*") })
      assert.truthy(err:find("crc32 +100 "), err)
    end
  end)

  it("says what a limit on file sizes left out of a trace, and goes on where there is little memory", function()
    local n, all, status, err, _, folder = recorded("fsize:1" .. GOES_ON, "--trace")
    assert.same({ 3, 100105, 2 }, { status, n, #all.processes })
    local missing = assert(tonumber(err:match "(%d+) calls are not in the traces"), err)
    assert.equal(100105 - missing, at.traced(folder).crc32)
    n, _, status = recorded("as:64" .. GOES_ON, "--trace")
    assert.same({ 3, true }, { status, n >= 100100 })
    local out
    status, out, err = shell("ulimit -v 30000; " .. command .. " record -o tight -- ./calls crc32:100 print exit:3")
    assert.same({ 3, true }, { status, out:find "^%d+ " ~= nil }, err)
  end)

  it("reports the parts of a trace that a full disk left out, and leaves the program alone", function()
    if not is_root or shell("mkdir small && mount -t tmpfs -o size=1m none small") ~= 0 then
      return pending("no small file system can be mounted here")
    end
    local status, out, err = shell(command .. " record --trace --sym crc32 -o small/r -- ./calls crc32:100 chdir" .. GOES_ON)
    local left = shell("ls small/r/*.pmlog")
    shell("umount small")
    assert.same({ 3, true }, { status, out:find "^%d+ " ~= nil })
    assert.truthy(err:find("no room") or err:find("No space"), err)
    assert.is_true(left == 0 or err:find("crc32") ~= nil, err)
  end)

  it("reports the rest of a process that was still running", function()
    local _, _, err = shell(command .. " record --sym crc32 -o late -- sh -c '" ..
      "(: >begun; for i in $(seq 600); do test -e told && break; sleep 0.1; done; ./calls crc32:100) >/dev/null 2>&1 & " ..
      "until test -e begun; do sleep 0.01; done; ./calls crc32:100'")
    assert.truthy(err:find("is still running; report the rest later with pmlua record --finish", 1, true), err)
    support.spit(dir .. "/told", "")
    local status, said
    support.eventually(function()
      status, _, said = shell(command .. " record --finish late")
      return not said:find "still running"
    end)
    assert.same({ 0, true }, { status, said:find("crc32 +200 ") ~= nil }, said)
  end)

  it("keeps a trace small by depth, by number and by duration, and tells what is left out", function()
    for option, kept in pairs { ["--max-calls 30"] = 30, ["--min-duration 10s"] = 0, ["--max-depth 1"] = 100 } do
      local n, all, _, err, _, folder = recorded("", "--sym crc32_z --trace " .. option)
      local traced, missing = at.traced(folder), 0 -- zlib may call nothing inside
      for _, f in ipairs(all.functions) do missing = missing + f.calls - (traced[f.name] or 0) end
      assert.same({ option, 100, kept }, { option, n, traced.crc32 or 0 })
      local left = "(%d+) calls are not in the traces, as you asked with " .. option:match "%S+":gsub("%-", "%%-")
      assert.equal(missing, tonumber(err:match(left) or 0), err)
    end
  end)

  it("refuses a program with raised rights, for which the loader does not preload", function()
    if not is_root or shell("command -v setpriv") ~= 0 then return pending("only root can make such a program") end
    shell("cp calls other && chown 1 other && cp calls group && chgrp 1 group && chmod 4755 other && chmod 2755 group")
    for name, what in pairs { other = "set%-uid", group = "set%-gid" } do
      local status, out, err = shell(("%s record -o never -- ./%s"):format(command, name))
      assert.same({ 126, "" }, { status, out })
      assert.truthy(err:find("^pmlua record: %./" .. name .. " is " .. what .. ", and the loader ignores LD_PRELOAD for it"), err)
    end
  end)

  it("says that no call was recorded, and is named by pmlua report, which finds no section there", function()
    local status, _, err = shell(command .. " record --lib 'nosuch*' -o nothing -- ./calls crc32:100 exit:3")
    assert.same({ 3, true }, { status, err:find("no call was recorded", 1, true) ~= nil })
    status, _, err = shell(command .. " report r1")
    assert.equal(1, status)
    assert.matches("no section, counter or recorder was used; its calls are recorded: pmlua record %-%-finish r1 prints", err)
  end)
end)

--- Record the program, which calls once and acts: the processes, the report, the folder.
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

  it("that shares thread-local data with its running parent ends the recording of both, as the report says", function()
    local all, err = record("crc32:5 clone_vm crc32:7 end crc32:9 threads:2 crc32:1 end")
    assert.equal("exit 6", endings(all))
    assert.matches("shares its thread%-local data with a child that it made .*: later calls of both are not recorded", err)
  end)

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
    local _, traced = shell(command .. " record -o f --lib 'libz*' -- ./calls crc32:1 faults")
    plain, traced = tonumber(plain:match "faults (%d+)"), tonumber(traced:match "faults (%d+)")
    assert.truthy(traced <= plain + 12, ("%d page faults, %d unrecorded"):format(traced, plain))
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
