-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/record_away_spec.lua - logs of processes on other hosts, which may be killed or go on: nobody here can tell.

local support = require "spec.core.support"
local json = require "pmlua.json"
local recording = require "spec.lua.recording"

local HOST_AT = 120 -- of a log's head (docs/log.md)
local CALLS = 40
local at, command = recording.place(), recording.command
local dir, shell = at.dir, at.shell

local function traced(folder) return at.traced(folder).crc32 end

--- The logs of @from, as a reader on another host sees them in @folder.
local function seen_from_afar(from, folder)
  shell(("mkdir -p %s && cp -r %s/* %s/"):format(folder, from, folder))
  local _, out = shell(("find %s -name '*.pmlog'"):format(folder))
  for path in out:gmatch "%S+" do
    local f <close> = assert(io.open(dir .. "/" .. path, "r+b"))
    f:seek("set", HOST_AT)
    f:write "node7\0"
  end
end

local function finish(folder)
  local out, err = support.done(shell(("%s record --finish %s --json"):format(command, folder)))
  local all = json.decode(out)
  local functions = all.functions -- crc32 alone
  return functions[1] and functions[1].calls, all.processes[1], err
end

describe("a log of another host", function()
  setup(function() support.done(shell "mkfifo go said") end)
  it("whose process has not ended may go on: its trace is made anew when it did", function()
    local run = command .. " record -q --trace --lib libz --sym crc32 -o recorded -- ./calls crc32:20 ask crc32:20"
    shell(("{ (%s < go > said 2> err) > out 2>&1 & echo $! > pid; }"):format(run))
    local go <close> = assert(io.open(dir .. "/go", "w"))
    local said <close> = assert(io.open(dir .. "/said"))
    assert.equal("asks", said:read "l")
    seen_from_afar("recorded", "afar")
    local calls, process, err = finish "afar"
    assert.same({ CALLS // 2, "away", "node7" }, { calls, process.ended, process.host })
    assert.truthy(err:find("has not ended as far as its log says: it was cut short, or still runs on node7", 1, true), err)
    assert.equal(CALLS // 2, traced "afar")
    finish "afar"
    assert.equal(CALLS // 2, traced "afar")
    shell "mkdir two && cp afar/*.pmlog two && cp two/*.pmlog two/other.1.pmlog"
    finish "two"
    assert.equal(CALLS, traced "two")
    shell "rm two/other.1.pmlog && touch -d yesterday two/*.pmlog"
    finish "two"
    assert.equal(CALLS, traced "two") -- it is all that is left of the other
    assert.equal(0, (shell(command .. " trace recorded"))) -- what the process has so far
    assert.equal(CALLS // 2, traced "recorded")

    go:write "\n"
    go:flush()
    shell "tail --pid=$(cat pid) -f /dev/null"
    seen_from_afar("recorded", "afar")
    calls, process, err = finish "afar"
    assert.same({ CALLS, "exit", "" }, { calls, process.ended, err })
    assert.equal(CALLS, traced "recorded") -- by the recorder, at the end
    assert.equal(CALLS, traced "afar")
    assert.is_nil(io.open(dir .. "/afar/traces.unended"))
  end)

  it("is of a job that was killed with its recorders, or goes on", function()
    local rank = "OMPI_COMM_WORLD_RANK=%d OMPI_COMM_WORLD_SIZE=2 "
      .. "%s record -q --trace --lib libz --sym crc32 -o job -- ./calls crc32:20 kill:1"
    shell(("{ %s & %s; wait; }"):format(rank:format(0, command), rank:format(1, command)))
    assert.equal("rank-0\nrank-1\n", (select(2, shell "ls -A job")))
    seen_from_afar("job", "distant")
    local calls, _, err = finish "distant"
    assert.equal(CALLS, calls)
    assert.truthy(err:find("ranks 0 to 1: not ended as far as the logs say: killed, or still running on node7", 1, true), err)
    assert.equal("rank-0\nrank-1\n", (select(2, shell "ls -A distant"))) -- the ranks may yet end and make the rest

    calls, _, err = finish "job"
    assert.equal(CALLS, calls)
    assert.equal(2, select(2, err:gsub("%(calls%) was cut short by a signal", "")), err)
    assert.equal(CALLS, traced "job")
    assert.equal(CALLS, (finish "job"))
  end)

  it("becomes a trace in memory that does not grow with the threads that have ended", function()
    local record = " record --lib 'libz*' --trace -o short-r -- ./calls " .. ("thread:1 "):rep(600)
    support.done(shell(command .. record .. "&& rm -r short-r/traces*"))
    support.done(shell("bash -c " .. support.quote("ulimit -v 1200000 && " .. command .. " record --finish short-r")))
    assert.equal(600, traced "short-r")
    assert.equal(600, select(2, select(2, shell "ls short-r/traces/*.evt"):gsub("%.evt", "")))
  end)

  it("is missing where no rank left one", function()
    local status, _, err = shell("mkdir -p none/rank-0 none/rank-1 && " .. command .. " record --finish none")
    assert.same({ 1, "pmlua record: no rank left results in none\n" }, { status, err })
  end)

  it("is not said to be away where the process would be seen", function()
    shell "mkdir near && cp recorded/*.pmlog near/"
    local _, out = shell "ls near/*.pmlog"
    local f <close> = assert(io.open(dir .. "/" .. out:match "%S+", "r+b"))
    f:seek("set", 104)
    f:write(string.pack("<I4", 0)) -- it never said that it ended
    f:flush()
    local _, process, err = finish "near"
    assert.equal("cut", process.ended)
    assert.truthy(err:find("was cut short by a signal", 1, true), err)
  end)
end)
