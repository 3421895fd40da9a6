-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/record_python_spec.lua - tests of recording the functions of Python programs, against their own counts.

local recording = require "spec.lua.recording"
local support = require "spec.core.support"

local at = recording.place()

--- Each function counts its calls; the program prints them at its end as NAME<TAB>COUNT.
local program = [[
import os, sys, threading, zlib
counts = {}
def count(name):
    counts[name] = counts.get(name, 0) + 1
class Solver:
    def step(self, i):
        count("Solver.step")
        if i % 7 == 0:
            raise ValueError(i)
        return zlib.crc32(b"x" * i)
    def run(self, n):
        count("Solver.run")
        total = 0
        for i in range(n):
            try:
                total += self.step(i)
            except ValueError:
                total -= 1
        return total
def deep(n):
    count("deep")
    return zlib.adler32(b"") - 1 if n == 0 else 1 + deep(n - 1)
def numbers(n):
    count("numbers")
    for i in range(n):
        yield i
        count("numbers")
def thrown():
    count("thrown")
    try:
        yield 1
    except BaseException:
        count("thrown")
def key(x):
    count("key")
    return -x
def work():
    count("work")
    Solver().run(70)
for i in range(3):
    t = threading.Thread(target=work)
    t.start()
    t.join()
Solver().run(700)
sys.setrecursionlimit(20000)
deep(3000)
sum(numbers(10))
for i in range(5):
    g = thrown()
    next(g)
    next(thrown())
    try:
        g.throw(ValueError())
    except StopIteration:
        pass
sorted(range(100), key=key)
child = os.fork()
if child == 0:
    deep(9)
    print("deep\t%d" % 10)
    sys.stdout.flush()
    os._exit(0)
os.waitpid(child, 0)
for name, n in counts.items():
    print("%s\t%d" % (name, n))
]]

local function named(functions)
  local by_name = {}
  for _, f in ipairs(functions) do
    local name = f.library == "Python" and f.name:match "^__main__%.([%w_.]+) %(app%.py:%d+%)$" or f.name
    by_name[name] = f
  end
  return by_name
end

--- The names of the calls around the first call of a library function, from the outermost on.
local function path_to(all, name)
  for _, p in ipairs(all.processes) do
    local open = {}
    for _, path in ipairs(p.paths) do
      open[path.depth + 1] = path.name
      if path.name == name then return table.concat(open, " > ", 1, path.depth + 1) end
    end
  end
end

--- The path of a version of Python, also of pyenv's, that runs; nil: none does.
local function python_of(version)
  local _, path = support.shell(([[for p in /usr/bin/python3 python%s "$HOME"/.pyenv/versions/%s.*/bin/python3; do
    case "$("$p" -V 2>&1)" in "Python %s."*) command -v "$p"; break ;; esac; done]]):format(version, version, version))
  return path:match "^[^\n]+"
end

describe("pmlua record --python", function()
  teardown(support.cleanup)
  support.spit(at.dir .. "/app.py", program)

  for _, version in ipairs { "3.11", "3.12", "3.13" } do
    local python = python_of(version)
    support.it_unless(function() return not python and "Python " .. version .. " is not installed" end)(
      "counts functions as the program does: Python " .. version, function()
      local _, all, status, said, out = at.recorded("-o " .. python:gsub("%W", "_") .. " --python --lib 'libz*' -- "
        .. python .. " app.py")
      assert.equal(0, status, said)
      local truth, found, by_name = {}, {}, named(all.functions)
      for name, n in out:gmatch "([%w_.]+)\t(%d+)" do truth[name] = (truth[name] or 0) + tonumber(n) end
      assert.same({ 910, 3011, 11, 20 }, { truth["Solver.step"], truth.deep, truth.numbers, truth.thrown })
      for name in pairs(truth) do found[name] = by_name[name] and by_name[name].calls end
      assert.same(truth, found)
      assert.same({ 780, 2 }, { by_name.crc32.calls, by_name.adler32.calls })
      assert.same({ 0, 0 }, { by_name["Solver.step"].unreturned, by_name.deep.unreturned })
      assert.equal(3001, select(2, path_to(all, "adler32"):gsub("__main__%.deep ", "")))
      assert.matches("Solver%.run [^>]*> __main__%.Solver%.step [^>]*> crc32$", path_to(all, "crc32"))
    end)
  end

  support.with "/usr/bin/python3"("keeps the program's own sitecustomize and PYTHONPATH, and records what is chosen", function()
    support.spit(at.dir .. "/sitecustomize.py", "own = 'own sitecustomize'\nprint(own)\n")
    local by_name, _, status, said, out = at.recorded("-o chosen --python --func '*deep*' -- /usr/bin/python3 app.py",
      "PYTHONPATH=" .. at.dir)
    assert.equal(0, status, said)
    assert.truthy(out:find("^own sitecustomize\n"))
    local names = {}
    for name, f in pairs(by_name) do if f.library == "Python" then names[#names + 1] = name end end
    assert.same({ "__main__.deep (app.py:20)" }, names)
  end)
end)
