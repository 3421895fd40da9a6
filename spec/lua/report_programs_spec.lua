-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/report_programs_spec.lua - pmlua report end to end: programs that have ended, that run, that are several.

local permission = require "spec.permission"
local support = require "spec.core.support"
local it = support.it
local json = require "pmlua.json"

local command, example = support.build .. "/pmlua", support.build .. "/spec/section_report_example"
local cells = support.cells

teardown(support.cleanup)

local function pmlua(arguments) return support.shell(command .. " report " .. arguments) end

describe("A program with sections", function()
  --- Run the example with variables; the report of what it left as JSON.
  local function reported(dir, run)
    local status, _, err = support.shell(("cd %s && PMLUA_REPORT=out PMLUA_REPORT_TIMELINE=on %s"):format(dir, run))
    assert.equal(0, status, err)
    local out
    status, out, err = pmlua(dir .. "/out --json")
    assert.same({ 0, "" }, { status, err })
    return assert(json.decode(out))
  end

  local function check(r, processes, steps)
    local by = {}
    for _, s in ipairs(r.sections) do by[s.label] = s end
    local n = 2 * processes
    assert.same({ processes, n, n * steps, n * steps, n * (steps // 4) },
      { #r.processes, by.solve.calls, by.sweep.calls, by.exchange.calls, by.residual.calls })
    assert.same({ n * steps * 4.0 * 128 * 510, n * steps * 2.0 * 512 * 8, "byte" }, { by.sweep.work, by.exchange.work,
      by.exchange.unit })
    assert.same({ n, processes, processes }, { #by.sweep.threads, #by.sweep.processes, #by.residual.quantiles })
    local inner = by.sweep.time_s + by.exchange.time_s + by.residual.time_s
    assert.truthy(math.abs(by.solve.self_s + inner - by.solve.time_s) < 1e-6)
    assert.truthy(by.sweep.events[permission.name "task-clock"] > 0)
    assert.equal("", permission.unexplained(table.concat(r.notes, "\n") .. (#r.notes > 0 and "\n" or "")))
  end

  it("is reported when it has ended, and drawn", function()
    local dir = support.folder()
    check(reported(dir, example .. " 8"), 1, 8)
    local status, out, err = pmlua(("%s/out --plot %s/p.svg --timeline %s/t.png"):format(dir, dir, dir))
    assert.same({ 0, ("pmlua report: %s/p.svg\npmlua report: %s/t.png\n"):format(dir, dir) }, { status, err })
    assert.matches("solve %(%*%)", out)
    local svg = support.slurp(dir .. "/p.svg")
    for _, text in ipairs { "<svg", "solve %(%*%)", "exchange", "16 calls" } do assert.matches(text, svg) end
    assert.equal("\137PNG", support.slurp(dir .. "/t.png"):sub(1, 4))
  end)

  it("is merged over processes that say they are ranks", function()
    local dir, run = support.folder(), ("PMI_SIZE=3 PMI_RANK=%d " .. example .. " 4 &")
    local r = reported(dir, ("sh -c '%s %s %s wait'"):format(run:format(0), run:format(1), run:format(2)))
    check(r, 3, 4)
    assert.same({ "rank 0", "rank 1", "rank 2" }, { r.processes[1].name, r.processes[2].name, r.processes[3].name })
  end)

  if os.execute("command -v mpirun >/dev/null 2>&1") then
    it("is merged over the ranks of mpirun -n 2", function()
      local dir = support.folder()
      local root = "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
      local r = reported(dir, root .. "timeout 60 mpirun --oversubscribe -n 2 " .. example .. " 8")
      check(r, 2, 8)
      assert.same({ 0, 1, 2 }, { r.processes[1].rank, r.processes[2].rank, r.processes[2].size })
    end)
  else
    pending "is merged over the ranks of mpirun -n 2: Open MPI is not installed (apt-get install openmpi-bin)"
  end

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
    local _, answer = support.shell(environment .. "echo 'return pml.section.report()[1].count, pml.section.start' | " .. command
      .. " attach RUNNING")
    local twice = select(3, support.shell(environment .. command .. " report NOSUCH"))
    support.spit(dir .. "/end", "")
    assert.same({ 0, "" }, { status, err })
    assert.same({ "done", "5" }, { table.unpack(cells(out, "done"), 1, 2) })
    assert.matches("open: at work %(%*%): 1 call", out)
    assert.equal("5\tnil\n", answer)
    assert.matches("no application called 'NOSUCH' can be asked", twice)
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
