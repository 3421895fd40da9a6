-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/query_spec.lua - tests of pmlua live, query and attach with real applications, from end to end.

local support = require "spec.core.support"
local json = require "pmlua.json"
local quote = support.quote

local command, application = support.build .. "/pmlua", support.build .. "/spec/compat_application"
local dir, runtime, started

local function environment()
  return "cd " .. quote(dir) .. " && XDG_RUNTIME_DIR=" .. quote(runtime) .. " "
end

--- Status, standard output, standard error; `variables` go before the command.
local function pmlua(arguments, variables)
  return support.shell(environment() .. (variables or "") .. command .. " " .. arguments)
end

--- Status and standard output alone.
local function output(arguments)
  local status, out = pmlua(arguments)
  return { status, out }
end

--- Lines fed to pmlua attach.
local function attach(which, lines)
  support.spit(dir .. "/typed", table.concat(lines, "\n") .. "\n")
  return pmlua("attach " .. which .. " <typed")
end

local function alive(pid) return (os.execute("kill -0 " .. pid .. " 2>/dev/null")) end

local function socket(pid, name) return ("%s/pmlua/%s.%s"):format(runtime, pid, name) end

local function exists(path) return (os.execute("test -e " .. quote(path))) end

--- Start a command in the background and wait for its socket; its pid.
local function start(arguments, name)
  assert(os.execute(environment() .. ("timeout 600 %s >out 2>err &"):format(arguments)))
  local pid
  assert.truthy(support.eventually(function()
    local p = io.popen(("ls %s/pmlua 2>/dev/null"):format(quote(runtime)))
    for entry in p:lines() do
      local id, called = entry:match("^(%d+)%.(.*)$")
      local link = called == name and not started[id] and support.core.link.connect(socket(id, name))
      if link then -- it is bound, and listens
        pid = id
        link:close()
      end
    end
    p:close()
    return pid ~= nil
  end), "no socket for " .. name .. ": " .. support.slurp(dir .. "/err"))
  started[pid] = true
  return pid
end

local function kill(pid, signal)
  os.execute(("kill -%s %s 2>/dev/null"):format(signal or "KILL", pid))
  support.eventually(function() return not alive(pid) end)
end

local function solver(name, more)
  return start(("%s live --name %s -- %s 600 %s"):format(command, name, application, more or ""), name)
end

local it = support.it

before_each(function()
  dir = support.folder()
  runtime = dir .. "/run"
  assert(os.execute("mkdir -m 700 " .. runtime))
  started = {}
end)
after_each(function() for pid in pairs(started) do kill(pid) end end)

describe("pmlua query", function()
  it("gives a remedy if no application can be asked", function()
    local out = support.done(pmlua "query")
    assert.matches("no application can be asked; start one with pmlua live", out, 1, true)
    assert.same({ 0, "[]\n" }, output "query --json")
    local failed, _, err = pmlua "query nobody"
    assert.equal(1, failed)
    assert.matches("^pmlua query: nobody: no running program of this name serves [^\n]*pmlua live %-%-name nobody[^\n]*\n$", err)
  end)

  it("lists live applications, also a script that serves itself", function()
    local one = solver "ONE"
    support.spit(dir .. "/app.lua", [[
      local pml = require "pmlua"
      local n = pml.sde.library("SCRIPT"):counter("n")
      assert(pml.live.start { name = "TWO" })
      for _ = 1, 6000 do n:add(1) pml.sys.sleep(0.1) end]])
    local two = start(command .. " app.lua", "TWO")
    local out = support.done(pmlua "query")
    assert.matches("^ *PID  NAME +UP  EVENTS  COMMAND\n", out)
    assert.matches(one .. "  ONE +%d+s +14  %S*compat_application 600\n", out)
    assert.matches(two .. "  TWO +%d+s +1  [^\n]*app%.lua\n", out)
    local _, text = pmlua "query --json"
    assert.equal(2, #json.decode(text))
    assert.matches('"rules": []', text, 1, true)
    _, out = pmlua "query TWO"
    assert.matches("sde:::SCRIPT::n +%d+  created rw\n", out)
  end)

  it("skips servers that are silent, or reply in another form, with a line each", function()
    local own = solver "SOLVER"
    assert(os.execute("mkdir -p -m 700 " .. runtime .. "/pmlua"))
    local answers = { [[{"events": "x", "pid": []}]],
      [[{"pid": 1, "command": "x", "events": 1, "functions": {"a": 1}, "rules": []}]],
      "[]", "7", "null", "", ("["):rep(5000), [[{"pid": 1, "command": ["x"], "events": 1, "functions": [], "rules": []}]],
      [[{"pid": 1, "command": "x", "events": 1, "functions": [], "rules": [7]}]] }
    support.spit(dir .. "/server.py", [[
import os, signal, socket, sys, threading, time
signal.alarm(300)
def serve(name, answer):
    s = socket.socket(socket.AF_UNIX); s.bind(f"{sys.argv[1]}/{os.getpid()}.{name}"); s.listen(8)
    def run():
        while True:
            c, _ = s.accept(); c.recv(100)
            if answer is None: time.sleep(300)
            c.sendall(b"ok %d\n" % len(answer) + answer); c.close()
    threading.Thread(target=run, daemon=True).start()
for i, answer in enumerate(sys.argv[2:]): serve(f"B{i}", answer.encode())
for i in range(5): serve(f"N{i}", None)
print(os.getpid(), flush=True)
time.sleep(300)]])
    local quoted = {}
    for i, answer in ipairs(answers) do quoted[i] = quote(answer) end
    local pipe = io.popen(("python3 %s/server.py %s/pmlua %s"):format(quote(dir), quote(runtime), table.concat(quoted, " ")))
    local pid = pipe:read "l"
    local status, out, err = pmlua "query --patience 1s"
    kill(pid)
    pipe:close()
    assert.same({ 0, "" }, { status, err })
    assert.matches(own .. "  SOLVER +%d+s +14 ", out)
    assert.equal(5, select(2, out:gsub("did not answer within 1 s", "")))
    assert.equal(#answers, select(2, out:gsub("B%d+ +%- +%-  %(B%d+ %(%d+%): cannot read the answer: [^\n]+%)\n", "")))
  end)

  it("shows an unmodified program's events in a table", function()
    local pid = solver "SOLVER"
    local status, out = pmlua("query " .. pid)
    assert.equal(0, status)
    for _, line in ipairs { "sde:::SOLVER::iterations +%d+  registered\n", "tolerance +0%.001  registered rw  where it stops\n",
      "half +0%.0005  callback\n", "residual +20  recorder +norm of the residual, one value an iteration\n",
      "  :MIN +3%.63798e%-12\n", "  :MED +3%.8147e%-06\n", "  :MAX +1\n", "steps +%d+  created\n", "matrices +1  set\n",
      "work +%d+  group\n" } do
      assert.matches(line, out)
    end
    status, out = pmlua "query SOLVER 'SOLVER::t*' sde:::SOLVER::residual:MED"
    assert.equal(0, status)
    assert.same({ 3, true, true }, { select(2, out:gsub("\n", "")), out:find("tolerance") ~= nil, out:find(":MED") ~= nil })
  end)

  it("follows values and their changes, as tables and as a line of JSON each", function()
    solver("SOLVER", "asked")
    local status, out = pmlua "query SOLVER '*steps' '*asked' --watch 50ms --count 3"
    assert.equal(0, status)
    assert.equal(3, select(2, out:gsub("# SOLVER %(%d+%), %d+%-%d+%-%d+ %d+:%d+:%d+\n", "")))
    assert.matches("CHANGE.*asked +%d+ +%+%d+  callback", out)
    status, out = pmlua "query SOLVER '*steps' '*asked' '*tolerance' --watch=50ms --count=4 --json"
    assert.equal(0, status)
    local last, steps, lines = 0, 0, 0
    for line in out:gmatch("[^\n]+") do
      local answer = assert(json.decode(line))
      local value = {}
      for _, row in ipairs(answer.rows) do value[row.name] = row.value end
      assert.equal("SOLVER", answer.name)
      assert.is_true(value["sde:::SOLVER::asked"] > last and value["sde:::SOLVER::steps"] >= steps)
      last, steps, lines = value["sde:::SOLVER::asked"], value["sde:::SOLVER::steps"], lines + 1
    end
    assert.equal(4, lines)
  end)

  it("ends with a sentence when the application does, and keeps its values", function()
    solver("SOLVER", "asked 5")
    local status, out, err = pmlua "query SOLVER '*asked' --watch 100ms --plot seen.svg"
    assert.same({ 0, "seen.svg" }, { status, out:match("[^\n]*\n$"):sub(1, -2) }, err)
    assert.matches("^pmlua query: SOLVER %(%d+%) has ended, after %d+ readings\n$", err)
    assert.matches("^<%?xml", support.slurp(dir .. "/seen.svg"))
  end)

  it("draws the values of recorders, in characters and as pictures", function()
    solver "SOLVER"
    support.eventually(function() return support.done(pmlua "query SOLVER '*::residual'"):find "residual +20 " end)
    local out = support.done(pmlua("query SOLVER '*::residual' --plot", "COLUMNS=90 LINES=30 "))
    assert.matches("1e%-06 .*number of the value.*SOLVER::residual %*", out)
    assert.same({ 0, "r.svg\n" }, output "query SOLVER '*::residual' --plot r.svg")
    local picture = support.slurp(dir .. "/r.svg")
    assert.matches("SOLVER::residual", picture, 1, true)
    assert.matches("number of the value", picture, 1, true)
    assert.same({ 0, "r.png\n" }, output "query SOLVER '*::residual' --plot=r.png")
    assert.equal("\137PNG", support.slurp(dir .. "/r.png"):sub(1, 4))
    local failed, _, err = pmlua "query SOLVER '*::residual' --plot /nowhere/r.svg"
    assert.equal(1, failed)
    assert.matches("/nowhere/r.svg: No such file or directory", err, 1, true)
  end)

  it("waits for a blocked callback no longer than --patience, and replies to other questions meanwhile", function()
    solver("SOLVER", "blocks")
    local status, _, err = pmlua "query SOLVER 'SOLVER::b*' SOLVER::half --patience 500ms"
    assert.equal(1, status)
    assert.matches("wait longer with %-%-patience", err)
    assert.same({ 0, 1 }, { (pmlua "query SOLVER SOLVER::half"), (pmlua "query SOLVER SOLVER::blocks --patience 200ms") })
    local out = support.done(pmlua "query SOLVER SOLVER::half")
    assert.matches("half +0%.0005  callback\n", out)
  end)

  it("prints readings as CSV, with one line of names, also into a file", function()
    local pid = solver "SOLVER"
    for _, arguments in ipairs { "--csv", "--csv --out readings" } do
      local out = support.quiet(pmlua("query SOLVER '*tolerance' '*residual' --watch 20ms --count 3 " .. arguments))
      if arguments ~= "--csv" then out = support.slurp(dir .. "/readings") end
      local lines = {}
      for line in out:gmatch "[^\n]+" do lines[#lines + 1] = line end
      assert.equal("time_s,pid,application,name,value,kind,count,min,q1,median,q3,max", table.remove(lines, 1))
      assert.equal(6, #lines)
      for _, line in ipairs(lines) do
        assert.matches("^[%d.]+," .. pid .. ",SOLVER,sde:::SOLVER::%l+,", line)
        assert.equal(11, select(2, line:gsub(",", ",")))
      end
    end
    assert.matches("^pid,name,up,events,command\n" .. pid .. ",SOLVER,", (select(2, pmlua "query --csv")))
  end)

  it("refuses unknown, ambiguous, misspelt or misused names with one line", function()
    local one = solver "TWIN"
    local two = solver "TWIN"
    for arguments, answer in pairs {
      ["TWINN"] = "did you mean 'TWIN'?", ["TWIN"] = "2 applications are called 'TWIN'; choose one by its pid: ",
      ["999999999"] = "no running application is called '999999999'; pmlua query lists",
      [one .. " residul"] = "did you mean 'sde:::SOLVER::residual'?",
      [two .. " 'NOLIB::*'"] = "no event of TWIN (" .. two .. ") matches 'NOLIB::*'",
      ["--watch 1s"] = "name the application",
    } do
      local status, _, err = pmlua("query " .. arguments)
      assert.is_true(status == 1 or status == 2, arguments)
      assert.matches(answer, err, 1, true)
      assert.equal(status, select(2, err:gsub("\n", ""))) -- misuse has where help is on a second line
    end
  end)

  it("reports a stopped application, and forgets a killed one", function()
    local pid = solver "SOLVER"
    os.execute("kill -STOP " .. pid)
    local status, _, err = pmlua "query SOLVER --patience 200ms"
    local _, list = pmlua "query --patience 200ms"
    os.execute("kill -CONT " .. pid)
    assert.matches("SOLVER +%- +%-  %(SOLVER %(%d+%) did not answer within 0.2 s", list)
    assert.equal(1, status)
    assert.matches("SOLVER %(%d+%) did not answer within 0.2 s", err)
    kill(pid)
    assert.truthy(exists(socket(pid, "SOLVER")))
    assert.matches("no application can be asked", select(2, pmlua "query"))
    assert.falsy(exists(socket(pid, "SOLVER")))
  end)
end)

describe("pmlua attach", function()
  it("runs piped code inside the application, and writes if that is permitted", function()
    local pid = solver "SOLVER"
    local status, out, err = attach("SOLVER", { "pml.live.info().pid", "x = {", "  2 }", "x[1] * 4",
      "pml.sde.find 'SOLVER::tolerance':write(8)", "pml.sde.find 'SOLVER::half':read()", "print('a', 'b')" })
    assert.equal(0, status, err)
    assert.equal(pid .. "\n8\ntrue\n4.0\na\tb\n", out)
    assert.matches("^inside SOLVER %(%d+%): [^\n]*\nwatch rules made here end with the session", err)
    status, out, err = attach("SOLVER", { "{ a = 1 }", "nil, 'text', { { 2 } }", "pml.sde.list()" })
    assert.equal(0, status, err)
    assert.matches("^{ a = 1 }\nnil\ttext\t{ { 2 } }\n{", out)
    assert.matches("tolerance", out)
    assert.is_nil(out:find "table: 0x")
    assert.equal("8.0\n", (select(2, attach(pid, { "pml.sde.find 'SOLVER::tolerance':read()" }))))
  end)

  it("continues after errors, and reports them by its status", function()
    solver "SOLVER"
    local status, out, err = attach("SOLVER", { "error 'wrong'", "x = = 1", "io.open 'x'", "while true do end", "1 + 1",
      "(" })
    assert.same({ 1, "2\n" }, { status, out })
    for _, message in ipairs { "stdin:1: wrong", "stdin:1: unexpected symbol near '='", "global 'io'",
      "ran longer than one question may", "near <eof>" } do
      assert.matches("pmlua attach: [^\n]*" .. message:gsub("[%(%)]", "%%%0"), err)
    end
  end)

  it("can end the application's work, and notices its end", function()
    local pid = solver "SOLVER"
    local status, out, err = attach("SOLVER", { "pml.sde.find 'SOLVER::stop':write(1)",
      ("repeat until false\n"):rep(100) .. "pml.sde.find 'SOLVER::steps':read()" }) -- stopped until the program ends
    assert.is_true(out == "" or out:find "^true\n" ~= nil, out) -- it may end without a reply
    assert.matches("ended or closed the connection", err)
    assert.equal(1, status)
    assert.truthy(support.eventually(function() return not alive(pid) end))
  end)

  it("notices the end also during a question", function()
    local directory = require "pmlua.internal.live.directory"
    local pid = solver "SOLVER"
    local app = { name = "SOLVER", pid = tonumber(pid) }
    local link = assert(support.core.link.connect(socket(pid, "SOLVER")))
    local text, err, code = directory.ask(app, link, "eval", "pml.sde.find 'SOLVER::stop':write(1)", 60)
    local answered = text == "true" -- else it ended before it answered, and that is what must be heard
    for _ = 1, answered and 1000 or 0 do
      text, err, code = directory.ask(app, link, "eval", "while true do end", 60)
      if not err:find("(5 s)", 1, true) then break end -- it has not ended yet
    end
    assert.same({ "ECONNRESET", "SOLVER (" .. pid .. ") ended or closed the connection" }, { code, tostring(err) })
    assert.is_nil(text)
  end)

  it("keeps its session when a reply is not waited for", function()
    solver "SOLVER"
    local pid = next(started)
    local link = assert(support.core.link.connect(socket(pid, "SOLVER")))
    assert.equal("1", link:ask("eval", "kept = 1 return kept", 60))
    assert(os.execute("kill -STOP " .. pid)) -- so that no answer comes before the interrupt
    support.core.sys.on_interrupt()
    os.execute(("sh -c 'sleep 0.2; kill -INT %d' &"):format(support.core.sys.pid()))
    local text, _, code = link:ask("eval", "kept = kept + 1 return 'not waited for'", 60)
    support.core.sys.on_interrupt(false)
    assert(os.execute("kill -CONT " .. pid))
    assert.same({ nil, "EINTR" }, { text, code })
    assert.equal("2", link:ask("eval", "kept", 60))
  end)
end)

describe("pmlua live", function()
  it("returns the program's exit status", function()
    assert.equal(7, (pmlua "live -- sh -c 'exit 7'"))
    assert.equal(0, (pmlua("live " .. application .. " 0.1")))
    local pid = solver "SOLVER"
    assert.equal(0, (attach("SOLVER", { "pml.sde.find 'SOLVER::tolerance':write(1)" })))
    assert.truthy(alive(pid))
  end)

  it("runs watch rules inside the program", function()
    support.spit(dir .. "/rules.lua", [[
      local pml = require "pmlua"
      pml.sde.watch("SOLVER::iterations", "10ms", function(n)
        if n > 5 then pml.sde.find "SOLVER::stop":write(1) return false end
      end)]])
    assert.equal(3, (pmlua("live --rules rules.lua " .. application .. " 600")))
  end)

  it("names rules that never ran at the end, and refuses a file that cannot be compiled", function()
    support.spit(dir .. "/rules.lua", [[
      local pml = require "pmlua"
      pml.sde.watch("SOLVER::residul", "10ms", function() end, { name = "guard" })
      pml.sde.watch("SOLVER::iterations", "10ms", function() end, { name = "runs" })]])
    local status, _, err = pmlua("live --rules rules.lua " .. application .. " 1")
    assert.same({ 0, "pmlua: rule guard never ran: no event SOLVER::residul; did you mean SOLVER::residual?\n" }, { status, err })
    support.spit(dir .. "/rules.lua", "x = = 1")
    status, _, err = pmlua "live --rules rules.lua -- echo ran"
    assert.same({ 1, "pmlua live: --rules rules.lua:1: unexpected symbol near '='\n" }, { status, err })
  end)

  it("loads rules again when their file was edited, and keeps them if that fails", function()
    local function write(text)
      support.spit(dir .. "/new", ([[
        local pml = require "pmlua"
        pml.sde.watch("SOLVER::steps", "10ms", function(_, series) print(%q, #series > 20 and "long" or "short") end)
        %s]]):format(text[1], text[2] or ""))
      assert(os.execute(("mv %s/new %s/rules.lua"):format(dir, dir)))
    end
    local function said(text)
      return support.eventually(function() return support.slurp(dir .. "/err"):find(text, 1, true) end)
    end
    write { "first" }
    start(command .. " live --rules rules.lua --name SOLVER -- " .. application .. " 600", "SOLVER")
    assert.truthy(said "pmlua: first\tshort")
    assert.truthy(said "pmlua: first\tlong")
    write { "broken", "error 'on purpose'" }
    assert.truthy(said "on purpose")
    write { "second" }
    assert.truthy(said "pmlua: second")
    assert.is_nil(support.slurp(dir .. "/err"):match "pmlua: second(.*)$":find "first")
    assert.is_nil(support.slurp(dir .. "/err"):find("second\tshort", 1, true)) -- its series continues
    assert.is_nil(support.slurp(dir .. "/err"):find "pmlua: broken")
  end)

  it("answers scripts through pml.live.connect", function()
    start(command .. " live --name SOLVER -- " .. application .. " 600", "SOLVER")
    local _, out, err = pmlua([[-e '
      local app <close> = assert(pml.live.connect "SOLVER")
      print(app:eval "x = 6 return x * 7", (app:eval "return x"), (app:info()).name)
      print(app:read("SOLVER::step*")[1].name, #app:read { "SOLVER::steps", "SOLVER::none" })
      print(select(3, app:eval "error(1)"), select(3, pml.live.connect "nobody"))
      app:close()
      print(pcall(app.eval, app, "1"))']])
    assert.equal("", err)
    assert.matches("^42\t6\tSOLVER\nsde:::SOLVER::steps\t1\nEREMOTEIO\tENOENT\nfalse\t[^\n]*closed[^\n]*\n$", out)
  end)

  it("names the program after itself, and passes its arguments on", function()
    assert.same({ 0, "a b|c\n" }, output "live -- printf '%s|%s\\n' 'a b' c")
    start(command .. " live " .. application .. " 600", "compat_application")
  end)

  it("serves a program that only starts a plugin", function()
    local source = [[
      #include "pml.h"
      #include <stdio.h>
      int main(void) {
        struct pml_plugin *p;
        struct pml_plugin_options o = {"zero", PLUGINS, (const char *const []){"a"}, 1};
        int err = pml_plugin_load(&o, &p);
        if (err == 0) err = pml_plugin_start(p);
        return puts(err == 0 ? "started" : pml_error_detail(err)), fflush(stdout), getchar();
      }
    ]]
    support.compile(dir, { ["metric.c"] = source }, ("cc -DPLUGINS='\"%s/plugins\"' -I%s/core metric.c -o metric "
      .. "-L%s -lpmlua -Wl,-rpath,%s"):format(support.build, support.root, support.build, support.build))
    start(("sh -c 'sleep 600 | %s live %s/metric'"):format(command, dir), "metric")
    assert.matches("plugin::zero::a ", (support.done(pmlua "query --patience 60s metric")))
  end)

  it("runs rules on the clock, and on a plugin of their own, in a program without events", function()
    support.spit(dir .. "/any.lua", [[
      assert(assert(pml.plugin.load { name = "process" }):start())
      for _, event in ipairs { "clock::ns", "plugin::process::resident" } do
        pml.sde.watch(event, "10ms", function(value) print(event, value > 0) return false end)
      end
    ]])
    local _, err = support.done(pmlua "live --rules any.lua -- sh -c 'sleep 2; exit 0'")
    assert.matches("pmlua: clock::ns\ttrue\n", err)
    assert.matches("pmlua: plugin::process::resident\ttrue\n", err)
  end)

  it("reports at its end that a program registered nothing", function()
    support.spit(dir .. "/silent.c", "#include <stdio.h>\nint main(void) { return puts(\"done\"), 3; }\n")
    assert(os.execute(("cd %s && gcc silent.c -o silent"):format(quote(dir))))
    local status, out, err = pmlua "live -- ./silent"
    assert.same({ 3, "done\n" }, { status, out })
    assert.equal("pmlua: live: silent registered no software-defined events, sections or plugins: it could not be asked\n", err)
    support.spit(dir .. "/alone.lua", 'print "a rule of its own"')
    for _, quiet in ipairs { "", "-q " } do
      status, out, err = pmlua("live " .. quiet .. "--rules alone.lua -- sh -c './silent; sleep 0.5; exit 4'")
      assert.same({ 4, "done\n" }, { status, out })
      assert.equal("pmlua: a rule of its own\n", err)
    end
    status, out, err = pmlua(("live -- %s 0"):format(application))
    assert.same({ 0, "" }, { status, err }, out)
  end)

  it("serves a program that opens libsde by a name, and reports another library", function()
    local other, opens = dir .. "/libsde.so.1", dir .. "/opens"
    support.spit(dir .. "/other.c", "void *papi_sde_init(const char *n) { (void)n; return 0; }\n")
    support.spit(dir .. "/opens.c", [[
      #include <dlfcn.h>
      #include <stdio.h>
      int main(int n, char **v) {
        void *h = dlopen(v[n - 1], RTLD_NOW), *(*init)(const char *);
        if (h == NULL) return puts(dlerror()), 1;
        *(void **)&init = dlsym(h, "papi_sde_init");
        return puts(init("OPENED") == NULL ? "other" : "ours"), 0;
      }]])
    assert(os.execute(("cd %s && gcc -shared -fPIC -Wl,-soname,libsde.so.1 other.c -o libsde.so.1 && "
      .. "ln -s libsde.so.1 libsde.so && gcc opens.c -o opens -ldl"):format(quote(dir))))
    for name, case in pairs {
      ["libsde.so"] = { "ours\n", "" }, ["libsde.so.1"] = { "ours\n", "" },
      [other] = { "other\n", ("pmlua: live: opens opened another libsde (%s), whose events pmlua cannot see; "
        .. "open libsde.so.1\n"):format(other) },
    } do
      local status, out, err = pmlua(("live -- %s %s"):format(quote(opens), quote(name)),
        "LD_LIBRARY_PATH=" .. quote(dir) .. " ")
      assert.same({ 0, case[1], case[2] }, { status, out, err }, name)
    end
  end)

  it("can be asked by root if it belongs to another user", function()
    local id = io.popen "id -u"
    local root = id:read "l" == "0"
    id:close()
    if not root then return pending "only root may ask another user's program" end
    if not os.execute "setpriv --reuid=65534 --clear-groups true 2>/dev/null" then return pending "setpriv is missing" end
    local theirs = dir .. "/theirs"
    assert(os.execute(("chmod 711 %s && mkdir -m 700 %s && chown 65534 %s"):format(dir, theirs, theirs)))
    local reads = ("setpriv --reuid=65534 --clear-groups test -x %s -a -r %s"):format(quote(application), quote(command))
    if not os.execute(reads) then return pending "another user cannot read this build" end
    assert(os.execute(("cd / && XDG_RUNTIME_DIR=%s setpriv --reuid=65534 --clear-groups timeout 600 %s live "
      .. "--name THEIRS -- %s 600 >/dev/null 2>&1 &"):format(theirs, quote(command), quote(application))))
    local pid
    assert.truthy(support.eventually(function()
      local p = io.popen("ls " .. theirs .. "/pmlua 2>/dev/null")
      pid = (p:read "a"):match "(%d+)%.THEIRS"
      p:close()
      return pid
    end), "no socket")
    started[pid] = true
    local out = support.done(pmlua("query " .. pid))
    assert.matches("sde:::", out, 1, true)
    local refused = support.shell(("cd / && setpriv --reuid=65533 --clear-groups %s query %s"):format(quote(command), pid))
    assert.equal(1, refused)
    kill(pid)
  end)

  it("names programs that it cannot run, with the reason", function()
    support.spit(dir .. "/plain", "x")
    support.spit(dir .. "/one.c", "int main(void) { return 0; }\n")
    assert(os.execute(("cd %s && gcc -static one.c -o static && printf '#!%s/static\\n' >script && chmod +x script"):format(
      dir, dir)))
    for arguments, case in pairs {
      ["nowhere"] = { 127, "nowhere: command not found" }, ["./nowhere"] = { 127, "./nowhere: command not found" },
      ["./plain"] = { 126, "./plain cannot be executed; make it executable with chmod" }, ["./"] = { 126, "is a folder" },
      ["''"] = { 127, "'': command not found" }, ["."] = { 127, " .: command not found" },
      ["./static"] = { 126, "./static is statically linked" }, ["./script"] = { 126, "/static is statically linked" },
      ["--name 'a/b' x"] = { 2, "--name: only letters" }, ["--rules nowhere.lua true"] = { 1, "nowhere.lua: No such file" },
    } do
      local status, _, err = pmlua("live " .. arguments)
      assert.equal(case[1], status, arguments .. err)
      assert.matches(case[2], err, 1, true)
    end
  end)
end)
