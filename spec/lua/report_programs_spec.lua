-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/report_programs_spec.lua - pmlua report end to end: programs that ended, that run, and several at once.

local permission = require "spec.permission"
local support = require "spec.core.support"
local it = support.it
local json = require "pmlua.json"

local command, example = support.build .. "/pmlua", support.build .. "/spec/section_report_example"
local cells = support.cells

local function pmlua(arguments) return support.shell(command .. " report " .. arguments) end

describe("A program with sections", function()
  --- Run the example with these variables; its report as JSON.
  local function reported(dir, run)
    local status, _, err = support.shell(("cd %s && PMLUA_REPORT=out PMLUA_REPORT_TIMELINE=on %s"):format(dir, run))
    assert.equal(0, status, err)
    local out
    status, out, err = pmlua(dir .. "/out --json")
    assert.same({ 0, "" }, { status, err })
    return assert(json.decode(out))
  end

  local function check(r, processes, steps)
    local by, n = support.by(r.sections, "label"), 2 * processes
    assert.same({ processes, n, n * steps, n * steps, n * (steps // 4) },
      { #r.processes, by.solve.calls, by.sweep.calls, by.exchange.calls, by.residual.calls })
    assert.same({ n * steps * 4.0 * 128 * 510, n * steps * 2.0 * 512 * 8, "byte" }, { by.sweep.work, by.exchange.work,
      by.exchange.unit })
    assert.same({ n, processes, processes }, { #by.sweep.threads, #by.sweep.processes, #by.residual.quantiles })
    local inner = by.sweep.time_s + by.exchange.time_s + by.residual.time_s
    assert.truthy(math.abs(by.solve.self_s + inner - by.solve.time_s) < 1e-6)
    assert.truthy(by.sweep.events[permission.name "task-clock"] > 0)
    assert.same({}, r.notes)
  end

  it("is reported after its end, and drawn", function()
    local dir = support.folder()
    check(reported(dir, example .. " 8"), 1, 8)
    local status, out, err = pmlua(("%s/out --plot %s/p.svg --timeline %s/t.png"):format(dir, dir, dir))
    assert.same({ 0, ("pmlua report: %s/p.svg\npmlua report: %s/t.png\n"):format(dir, dir) }, { status, err })
    assert.matches("solve %(%*%)", out)
    local svg = support.slurp(dir .. "/p.svg")
    for _, text in ipairs { "<svg", "solve %(%*%)", "exchange", "16 calls" } do assert.matches(text, svg) end
    assert.equal("\137PNG", support.slurp(dir .. "/t.png"):sub(1, 4))
  end)

  it("is reported when it was killed, with its open sections", function()
    local dir = support.folder()
    local status = support.shell(([[PMLUA_REPORT=%s/out %s -e '
      local open, done = pml.section.define { label = "open" }, pml.section.define { label = "done", record = true }
      open:start()
      for _ = 1, 9 do done:start() done:stop { operations = 3 } end
      os.execute "kill -KILL $PPID"']]):format(dir, command))
    assert.equal(137, status)
    local _, out = pmlua(dir .. "/out")
    assert.matches("\ndone %(%*%) +9 [^\n]* 27%.00 FLOP ", out)
    assert.matches("\nopen %(%*%) +0 ", out)
    assert.matches("\nopen: open %(%*%): 1 call had not stopped; not included\n", out)
    assert.matches("\nnote: [%w_-]+:%d+ did not end by exit%(%): figures up to the last stop\n", out)
    local r = json.decode((select(2, pmlua(dir .. "/out --json"))))
    assert.same({ "unknown", 9, 1 }, { r.processes[1].ended, r.sections[1].calls, r.sections[2].running })
  end)

  it("reports once why it has no log", function()
    local dir = support.folder()
    local status, out = support.shell(("cd %s && ulimit -f 0 && PMLUA_REPORT=out %s 4 2>&1"):format(dir, example))
    assert.equal(0, status, out)
    assert.equal(("pmlua: PMLUA_REPORT=%s/out: File too large; this process has no log"):format(dir), out:match "^[^\n]*")
    assert.equal(1, select(2, out:gsub("pmlua: ", "")))
    status, out = support.shell(("cd %s && PMLUA_REPORT=no/out %s 4 2>&1"):format(dir, example))
    assert.equal("pmlua: PMLUA_REPORT=no/out: No such file or directory; name a folder that you can write to",
      out:match "^[^\n]*", status)
  end)

  it("is not called unused if its log could not grow", function()
    local dir = support.folder()
    local status, out, err = support.shell(("cd %s && (ulimit -f 200; PMLUA_REPORT=out %s 4)"):format(dir, example))
    assert.equal(0, status, out .. err)
    if support.shell(("ls %s/out/*.pmlog"):format(dir)) ~= 0 then return pending "the log's head is larger here" end
    for _, form in ipairs { "", " --json", " --csv" } do
      status, out, err = pmlua(dir .. "/out" .. form)
      assert.equal(1, status, out)
      assert.matches("the log could not grow: File too large; its sections are missing", err)
    end
  end)

  it("has its sections in the log of its recorded calls, for any end, unless another place is set", function()
    if support.build:find "[at]san" then return pending "a sanitizer must be loaded before what is preloaded" end
    local dir = support.folder()
    support.spit(dir .. "/ends.lua", [[
      local section = require("pmlua").section
      local open, done = section.define { label = "open" }, section.define { label = "done" }
      open:start()
      for _ = 1, 9 do done:start() math.exp(1) done:stop() end
      if arg[1] then os.execute "kill -KILL $PPID" end]])
    local function recorded(out, variables, argument)
      local run = "cd %s && %s %s record -o %s --lib 'libm*' --csv -- %s ends.lua %s"
      local _, table_of = support.shell(run:format(dir, variables, command, out, command, argument))
      assert.matches("\nlibm[^\n]*,exp,library,9,", table_of)
      local _, logs = support.shell(("cd %s && ls -d */*.pmlog | cut -d/ -f1"):format(dir))
      return select(2, pmlua(("%s/%s"):format(dir, out))), logs
    end
    for _, how in ipairs { "", "killed" } do
      local text, logs = recorded("out" .. how, "", how)
      assert.matches("\ndone %(%*%) +9 ", text)
      assert.matches("\nopen: open %(%*%): 1 call had not stopped; not included", text)
      assert.equal(how == "", not text:find "did not end by exit")
      assert.equal(how == "" and "out\n" or "out\noutkilled\noutkilled\n", logs) -- the shell that kills has one, too
    end
    support.shell(("rm -r %s/out*"):format(dir))
    assert.matches("\ndone %(%*%) +9 ", (recorded("same", "PMLUA_REPORT=same", "")))
    local _, logs = recorded("other", "PMLUA_REPORT=sections", "")
    assert.equal("other\nsame\nsections\n", logs)
  end)

  it("is reported from the valid part of its log, or not at all", function()
    local dir = support.folder()
    local function refused(log)
      local status, out, err = pmlua(support.spit(dir .. "/some.pmlog", log))
      assert.same({ 1, "" }, { status, out })
      return err:match("^pmlua report: [^\n]+/some%.pmlog: ([^\n]+)\n$")
    end
    support.shell(("cd %s && PMLUA_REPORT=out %s 4"):format(dir, example))
    local log = support.slurp((select(2, support.shell(("ls %s/out/*.pmlog"):format(dir))):gsub("\n", "")))
    local function with(at, bytes) return log:sub(1, at) .. bytes .. log:sub(at + #bytes + 1) end
    assert.equal("a log of version 7; this pmlua reads version 3", refused(with(8, "\7")))
    assert.equal("written on a machine with the other byte order; read it there", refused(with(0, "GOLAULMP")))
    assert.matches("^damaged: its clock has 0 ticks", refused(with(56, ("\0"):rep(8))))
    assert.equal("damaged: an extent has an impossible place", refused(with(4096 + 16, ("\xff"):rep(8))))
    assert.equal("damaged: its extents share bytes", refused(with(4096 + 24, string.pack("=I8", #log - 65536))))
    assert.equal("not a log of pmlua", refused(log:sub(1, 3000)))
    local last = log:sub(1, -4097) -- cuts the file, not the data
    local out = support.done(pmlua(support.spit(dir .. "/some.pmlog", last)))
    assert.matches("the log is cut short; threads or sections are missing\n", out)
    local _, _, err = pmlua(support.spit(dir .. "/some.pmlog", log:sub(1, 65536)))
    assert.matches("some.pmlog: the log is cut short; all its sections are lost\n$", err)
  end)

  it("is merged over processes that claim to be ranks", function()
    local dir, run = support.folder(), ("PMI_SIZE=3 PMI_RANK=%d " .. example .. " 4 &")
    local r = reported(dir, ("sh -c '%s %s %s wait'"):format(run:format(0), run:format(1), run:format(2)))
    check(r, 3, 4)
    assert.same({ "rank 0", "rank 1", "rank 2" }, { r.processes[1].name, r.processes[2].name, r.processes[3].name })
  end)

  it("is reported while it runs", function()
    local dir = support.folder()
    local environment = ("cd %s && export XDG_RUNTIME_DIR=%s; "):format(dir, dir)
    support.spit(dir .. "/run.lua", [[
local pml = require "pmlua"
assert(pml.live.start { name = "RUNNING" })
local s = pml.section.define { label = "done", exclusive = true }
for _ = 1, 5 do s:start() s:stop { operations = 10 } end
pml.section.start "at work"
io.open("ready", "w"):close()
for _ = 1, 2400 do
  if io.open "end" then os.exit(0) end
  pml.sys.sleep(0.05)
end
]])
    os.execute(environment .. command .. " run.lua >out 2>err &")
    for _ = 1, 1200 do
      if io.open(dir .. "/ready") then break end
      support.core.sys.sleep(0.05)
    end
    local status, out, err = support.shell(environment .. command .. " report RUNNING")
    -- a program's own file in the folder, or a folder of sources, is not its report
    support.shell(environment .. "cp /bin/true RUNNING && mkdir -p other && cp /bin/true other/nosuch")
    local _, beside, still = support.shell(environment .. command .. " report RUNNING")
    support.shell(environment .. "rm RUNNING && mkdir RUNNING")
    local _, folder = support.shell(environment .. command .. " report RUNNING")
    local program = select(3, support.shell(environment .. command .. " report other/nosuch"))
    local _, answer = support.shell(environment .. "echo 'return pml.section.report()[1].count, pml.section.start' | " .. command
      .. " attach RUNNING")
    local twice = select(3, support.shell(environment .. command .. " report NOSUCH"))
    support.spit(dir .. "/end", "")
    assert.same({ 0, "" }, { status, err })
    for _, text in ipairs { out, beside, folder } do
      assert.same({ "done", "5" }, { table.unpack(cells(text, "done"), 1, 2) }, still)
    end
    assert.matches("nosuch is a program, not a report, and no running program of this name answers questions", program, 1, true)
    assert.matches("open: at work %(%*%): 1 call", out)
    assert.equal("5\tnil\n", answer)
    assert.matches("no running application is called 'NOSUCH'", twice)
  end)

  it("is referred to pmlua query if it has events and no section", function()
    local dir = support.folder()
    support.spit(dir .. "/run.lua", [[
local pml = require "pmlua"
assert(pml.live.start { name = "EVENTS" })
pml.sde.library "E":counter "n":add(3)
os.execute(arg[1] .. " report EVENTS 2>&1")
]])
    local out = support.done(support.shell(("cd %s && export XDG_RUNTIME_DIR=%s; %s run.lua %s"):format(dir, dir, command,
      command)))
    assert.matches("^pmlua report: EVENTS %(%d+%): no section was used yet; its events: pmlua query EVENTS\n", out)
  end)
end)

describe("A program under pmlua live", function()
  it("is reported by its sections alone", function()
    if support.sanitized then return pending("a sanitized library cannot be preloaded") end
    local dir = support.folder()
    local environment = ("cd %s && export XDG_RUNTIME_DIR=%s; "):format(dir, dir)
    support.spit(dir .. "/run.lua", [[
local pml = require "pmlua"
local s = pml.section.define { label = "unchanged" }
s:start() s:stop()
for _ = 1, 2400 do
  if io.open "end" then os.exit(0) end
  pml.sys.sleep(0.05)
end
]])
    os.execute(environment .. ("%s live --name UNCHANGED -- %s run.lua >out 2>err &"):format(command, command))
    local status, out, err
    for _ = 1, 600 do
      status, out, err = support.shell(environment .. command .. " report UNCHANGED")
      if status == 0 then break end
      support.core.sys.sleep(0.1)
    end
    support.spit(dir .. "/end", "")
    assert.same({ 0, "" }, { status, err })
    assert.same({ "unchanged (*)", "1" }, { table.unpack(cells(out, "unchanged"), 1, 2) })
  end)
end)

describe("A program with software-defined events", function()
  local application = support.build .. "/spec/compat_application"

  it("leaves its counts and recorded values when a signal ends it", function()
    local dir = support.folder()
    local status, _, err = support.shell(([[cd %s && { %s live --report out -- %s 600 & } && pid=$! && n=0 &&
      until ls out/*.pmlog >/dev/null 2>&1 && %s report out --csv >now 2>/dev/null && grep -q "SOLVER::work,group" now &&
        grep -q "SOLVER::half,callback" now && grep -q "SOLVER::iterations,variable" now || [ $n = 300 ]; do
        sleep 0.1; n=$((n + 1)); done; kill -KILL $pid; wait $pid 2>/dev/null]]):format(dir, command, application, command))
    assert.equal(137, status, err)
    local e = {}
    for _, event in ipairs(json.decode(support.quiet(pmlua(dir .. "/out --json"))).events) do
      e[event.name:match "^SOLVER::(.*)$"] = event
    end
    assert.same({ "created", "recorder", "variable", "callback", "set", "group" },
      { e.steps.kind, e.residual.kind, e.iterations.kind, e.half.kind, e.matrices.kind, e.work.kind })
    assert.is_true(e.steps.value > 0 and e.residual.value > 0)
    assert.same({ 1, 0.0005, 0.001, 1 }, { e.residual.max, e.half.value, e.tolerance.value, e.matrices.value })
    assert.is_nil(e.steps.as_of_s)
    assert.is_true(e.iterations.as_of_s > 0 and e.half.as_of_s > 0 and e.steps.value >= e.iterations.value)
    local _, out = pmlua(dir .. "/out")
    assert.matches("\nCOUNTER +VALUE +KIND +AS OF\n", out)
    assert.matches("\nSOLVER::steps +%d+ +created +the end\n", out)
    assert.matches("\nSOLVER::iterations +%d+ +variable +[%d.]+ [^ ]*s after the start\n", out)
    assert.matches("\nSOLVER::residual +%d+ .- 1\n\nnote: [%w_-]+:%d+ did not end by exit%(%)\n$", out)
    assert.matches("^event,kind,process,value,as_of_s,dropped,min,.*\nSOLVER::steps,created,[^,]+,%d+,,,", (select(2,
      pmlua(dir .. "/out --csv --events"))))
  end)

  it("may share a rank with a program with sections", function()
    local dir = support.folder()
    assert.equal(0, (support.shell(("cd %s && export PMLUA_REPORT=out PMI_RANK=0 PMI_SIZE=1 && %s 4 >/dev/null && %s 0.1")
      :format(dir, example, application))))
    local out = support.quiet(pmlua(dir .. "/out"))
    assert.matches("\nsweep +", out)
    assert.matches("\nSOLVER::steps +rank 0 +", out)
  end)

  it("has the values that it read at its exit in the report", function()
    local dir = support.folder()
    assert.equal(0, (support.shell(("cd %s && %s live --quiet --report out -- %s 0.3"):format(dir, command, application))))
    local _, out = pmlua(dir .. "/out --events")
    assert.matches("\nSOLVER::iterations +%d+ +variable +[%d.]+ [^ ]*s before the end\n", out)
    assert.is_nil(out:find("note:", 1, true))
  end)
end)
