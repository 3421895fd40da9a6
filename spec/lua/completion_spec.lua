-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/completion_spec.lua - tests of the completion that pmlua prints, run by the shells themselves.

local support = require "spec.core.support"

-- Lines typed up to the cursor, and their completions; "..." means that there are more.
local cases = {
  { "pmlua sta", { "stat" } },
  { "pmlua stat --j", { "--json" } },
  { "pmlua report --sort ", { "time", "calls", "label" } },
  { "pmlua wrap ins", { "install", "installcheck" } },
  { "pmlua help comp", { "compare", "completion" } },
  { "pmlua stat -e task-clo", { "task-clock" } },
  { "pmlua stat --nosuch", {} },
  { "pmlua plot a", { "adir" } },
  { "pmlua report --plot afi", { "afile.lua" } },
  { "pmlua afi", { "afile.lua" } },
  { "pmlua afile.lua --qui", { "--quick", "--quiet" } },
  { "pmlua stat -- ./arunn", { "./arunnable" } },
  { "pmlua query SOLV", { "SOLVER" } },
}

describe("Completion", function()
  local dir, pid = support.folder(), nil
  setup(function()
    assert(os.execute(("cd %s && mkdir adir && : >afile.lua && printf '#!/bin/sh\\n' >arunnable && chmod +x arunnable "
      .. "&& mkdir -m 700 run"):format(dir)))
    support.spit(dir .. "/run/app.lua", "pml = require 'pmlua'\npml.live.start { name = 'SOLVER' }\npml.sys.sleep(300)")
    os.execute(("cd %s/run && XDG_RUNTIME_DIR=$PWD %s/pmlua app.lua >out 2>&1 &"):format(dir, support.build))
    pid = support.eventually(function()
      local list <close> = assert(io.popen("ls " .. dir .. "/run/pmlua 2>/dev/null"))
      return list:read "a":match "(%d+)%.SOLVER"
    end)
  end)
  teardown(function() os.execute("kill " .. pid) end)

  --- The output of a shell program that runs in the test's folder with the pmlua under test.
  local function run(shell, program)
    support.spit(dir .. "/program", program)
    return support.done(support.shell(("cd %s && HOME=%s XDG_RUNTIME_DIR=%s/run PATH=%s:$PATH timeout 120 %s program")
      :format(dir, dir, dir, support.build, shell)))
  end

  --- The completions, a list for each line ">LINE" of the output.
  local function answers(out)
    local all, list = {}, nil
    for line in out:gmatch "[^\n]+" do
      local asked = line:match "^>(.*)$"
      if asked then
        list = {}
        all[asked] = list
      elseif list then
        list[#list + 1] = (line:gsub("\t.*", ""):gsub("/$", ""))
      end
    end
    return all
  end

  local function check(out)
    local all = answers(out)
    for _, case in ipairs(cases) do
      local expected, got = { table.unpack(case[2]) }, all[case[1]]
      assert.truthy(got, case[1])
      table.sort(expected)
      table.sort(got)
      assert.same({ case[1], expected }, { case[1], got })
    end
  end

  local function lines_of(form)
    local lines = {}
    for i, case in ipairs(cases) do lines[i] = form:format(support.quote(case[1])) end
    return table.concat(lines, "\n")
  end

  local bash = [==[
source <(pmlua completion bash)
ask() {
  COMP_LINE=$1 COMP_POINT=${#1} COMPREPLY=()
  read -r -a COMP_WORDS <<<"${1//[=:]/ & }"
  [[ $1 == *[[:space:]] ]] && COMP_WORDS+=("")
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  _pmlua
  printf '>%s\n' "$1"
  printf '%s\n' "${COMPREPLY[@]}"
}
]==]

  support.with "bash" ("of bash offers verbs, options, values, events, files and commands", function()
    check((run("bash --norc", bash .. lines_of "ask %s")))
  end)

  support.with "bash" ("of bash is that of pmlua, and leaves what readline keeps before = and :", function()
    local out = run("bash --norc", bash .. "complete -p pmlua; ask 'pmlua stat --event=task-clo'; ask 'pmlua events clock::tic'")
    assert.matches("^complete %-F _pmlua pmlua\n", out)
    assert.same({ ["pmlua stat --event=task-clo"] = { "task-clock" }, ["pmlua events clock::tic"] = { "ticks" } }, answers(out))
  end)

  support.with "fish" ("of fish offers the same", function()
    check((run("fish --no-config", "pmlua completion fish | source\n"
      .. "function ask\n  echo \">$argv[1]\"; complete -C $argv[1]\nend\n" .. lines_of "ask %s")))
  end)

  support.with "zsh" ("of zsh completes a line that is typed", function()
    local out = run("zsh -f", [[
zmodload zsh/zpty || exit 1
zpty z zsh -f -i
zpty -w z "PS1= PS2= RPS1=; unsetopt zle_bracketed_paste; autoload -Uz compinit; compinit -u -D"
zpty -w z "source <(pmlua completion zsh); print READY''NOW"
zpty -r z line '*READYNOW*' || exit 1
for typed in 'pmlua stat --js' 'pmlua report --sort la' 'pmlua plot adi' 'pmlua stat -- ./arunn'; do
  zpty -w -n z "$typed"$'\t'$'\x01print -r DONE: \n'
  zpty -r z line '*DONE: pmlua*'$'\n' || exit 1
  print -r -- "${line##*DONE: }"
done
zpty -d z
]])
    assert.same({ "pmlua stat --json", "pmlua report --sort label", "pmlua plot adir", "pmlua stat -- ./arunnable" },
      (function()
        local list = {}
        for line in out:gmatch "pmlua [^\r\n]*" do list[#list + 1] = line:gsub("[ /]*$", "") end
        return list
      end)())
  end)

  it("refuses an unknown shell", function()
    local status, _, err = support.pmlua "completion tcsh"
    assert.equal(2, status)
    assert.matches("^pmlua completion: no completion for tcsh; choose bash, zsh or fish\nsee ", err)
  end)
end)
