-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/cause_spec.lua - why two commands differ, from planted counts and times, and from programs with known work.

local support = require "spec.core.support"
local cause = require "pmlua.internal.cause"
local demo = require "spec.lua.demo"
local json = require "pmlua.json"

local THRESHOLD <const> = 0.01
local LETTERS <const> = 10000000 -- in scripts/programs/planted.c

--- Counts as cause.count() returns them, from { name = { count, spread } }.
local function functions(counts)
  local out = {}
  for name, of in pairs(counts) do out["program\0" .. name] = { count = of[1], spread = of[2] or 0 } end
  return out
end

local plain = { parse = { 1000000 }, main = { 1000 } }
local more = { parse = { 1010000 }, main = { 1001 } }

--- A recorded run of twenty rounds: B's counts, and its times relative to A's, in each layout.
local function recorded(b, times, counts_of_a)
  local rows = cause.rows(functions(counts_of_a or plain), functions(b), THRESHOLD)
  local visits, factors = 0, { { "command", { "A", "B" } } }
  if times.layouts then factors[2] = { "layout", { 1, 2, 3, 4, 5, 6, 7, 8 } } end
  return demo.run({ name = "bench", factors = factors, repeats = 20, rounds = 20,
    metrics = { { name = cause.metric, unit = "ns", description = "" } },
    measure = function(_, p)
      visits = visits + 1
      local noise = 1 + (times.noise or 0.001) * ((visits * 7) % 10 - 4.5)
      local at = p.command == "A" and 1 or times.layouts and times.layouts[p.layout] or times.unchanged
      local elapsed = p.command == "A" and 1 or times.elapsed or at
      return 1e8 * noise * elapsed, { [cause.metric] = times.empty and 0 or 1e7 * noise * at }
    end,
    analyse = function(run)
      run:write_table(cause.table, cause.table_of(rows))
      run.meta.commands = { { name = "A", file_sha256 = "01" }, { name = "B", file_sha256 = times.same_file and "01" or "02" } }
    end }).dir
end

local function judged(...)
  local found = assert(cause.of(recorded(...), { threshold = THRESHOLD }))
  return found.answer, found.sentence
end

describe("the cause of a difference", function()
  it("is named from planted counts and times", function()
    local cases = { { "machine", plain, 1 }, { "layout", plain, 1.2 }, { "layout", plain, 0.8 }, { "work", more, 1 },
      { "both", more, 1.2 } }
    for i, case in ipairs(cases) do assert.same({ i, case[1] }, { i, (judged(case[2], { unchanged = case[3] })) }) end
    assert.equal("+0.999 % instructions, in parse; the functions with equal counts take the same time",
      select(2, judged(more, { unchanged = 1 })))
  end)

  it("is never work if each function has equal counts, however far the times are apart", function()
    for _, times in ipairs { { unchanged = 9 }, { unchanged = 1, elapsed = 9 }, { unchanged = 1, noise = 0.09 } } do
      local answer, sentence = judged(plain, times)
      assert.is_true(answer ~= "work" and answer ~= "both", sentence)
    end
  end)

  it("is work if more work in one function hides less in another", function()
    local answer, sentence = judged({ parse = { 1000000 - 5000 }, main = { 1000 + 5000 } }, { unchanged = 1 })
    assert.same({ "work", "+0 % instructions, in main, parse; " }, { answer, sentence:match "^.-; " })
  end)

  it("cannot be told if counts vary, if the time is spent elsewhere, or if noise hides it", function()
    local answer, sentence = judged({ parse = { 1010000, 10000 }, main = { 1000 } }, { unchanged = 1.2 })
    assert.same({ "cannot tell", "runs of one command differ by 1 % of the instructions" }, { answer, sentence })
    answer, sentence = judged(plain, { unchanged = 1, elapsed = 2 })
    assert.same({ "cannot tell", true }, { answer, sentence:find("waiting", 1, true) ~= nil })
    assert.matches("cannot be told: the rounds spread", select(2, judged(more, { unchanged = 1, noise = 0.09 })))
    assert.matches("cannot be told: they have no samples", select(2, judged(more, { unchanged = 1, empty = true })))
    assert.equal("cannot tell", (judged(plain, { unchanged = 1, empty = true })))
    assert.equal("cannot tell", (judged(plain, { unchanged = 1.012, noise = 0.002 })))
    assert.equal("cannot tell", (judged(plain, { unchanged = 1.2, same_file = true })))
  end)

  it("is layout if the times differ in some of the layouts, and the range over them is estimated", function()
    local answer, sentence = judged(plain, { layouts = { 1, 1, 1.3, 1, 1, 1, 0.9, 1 } })
    assert.equal("layout", answer)
    assert.matches("over 8 layouts, in which it is 0%.89%d* to 1%.3%d*$", sentence)
    assert.equal("machine", (judged(plain, { layouts = { 1, 1, 1, 1, 1, 1, 1, 1 } })))
  end)
end)

--- Compile scripts/programs/planted.c as NAME.
local function planted(folder, name, words)
  support.done(support.shell(("cc -O2 -DCHASE=100 %s scripts/programs/planted.c -o %s/%s"):format(words, folder, name)))
end

local function bench(folder, arguments)
  local status, out, err = support.shell_in(folder,
    ("%s/pmlua bench --cause --no-plot -q --json %s"):format(support.build, arguments))
  assert.equal(0, status, err)
  return json.decode(out)
end

local function counts_of(run)
  local of = {}
  for _, f in ipairs(run.cause.functions) do of[f.name] = f end
  return of
end

describe("pmlua bench --cause", function()
  local folder
  setup(function()
    folder = support.folder()
    planted(folder, "a", "-DPAD=0 -DMORE=0")
    planted(folder, "moved", "-DPAD=64 -DMORE=0")
    planted(folder, "more", "-DPAD=0 -DMORE=100000")
  end)

  support.with "valgrind" ("counts one per cent more letters as one per cent more instructions of parse", function()
    local run = bench(folder, "--runs 5 ./a ./more")
    local parse = counts_of(run).parse
    assert.equal(parse.a // LETTERS * (LETTERS / 100), parse.b - parse.a)
    assert.is_true(run.cause.answer == "work" or run.cause.answer == "both", run.cause.sentence)
    assert.matches("in parse;", run.cause.sentence, 1, true)
    local status, out = support.shell_in(folder, support.build .. "/pmlua compare --cause results/bench/latest")
    assert.same({ 0, true }, { status, out:find(("cause: %s: %s"):format(run.cause.answer, run.cause.sentence), 1, true) ~= nil })
  end)

  support.with "valgrind" ("counts the same in every function at other addresses, so it is never work", function()
    local run = bench(folder, "--layouts 2 --runs 5 ./a ./moved")
    for _, f in ipairs(run.cause.functions) do assert.same({ f.name, f.a, 0 }, { f.name, f.b, f.changed }) end
    assert.is_true(run.cause.answer ~= "work" and run.cause.answer ~= "both", run.cause.sentence)
    assert.is_true(#run.cause.functions > 3 and #run.cells == 4)
  end)

  support.with "valgrind" ("starts the file that was linked in another order as the second layout", function()
    support.done(support.shell_in(folder, "cp a app && echo 'int main(void) { return 3; }' | cc -x c - -o app.2"))
    local _, out = support.shell_in(folder,
      support.build .. "/pmlua bench --cause --layouts 2 --runs 2 --no-plot -q --json ./app ./a")
    local states = {}
    for i, cell in ipairs(json.decode(out).cells) do states[i] = cell.status end
    assert.same({ "ok", "exit status 3", "ok", "ok" }, states)
  end)

  it("refuses what it cannot count, and says why", function()
    support.done(support.shell_in(folder, "cp a setuid && chmod u+s setuid"))
    support.refuses(folder, "bench", { ["--cause ./a"] = { 2, "two commands" }, ["--layouts 2 ./a ./a"] = { 2, "--cause" },
      ["--cause -P n=1,2 './a {n}' ./a"] = { 2, "two commands" } })
    if support.has "valgrind" then
      support.refuses(folder, "bench", { ["--cause --no-plot -q ./setuid ./a"] = { 1, "set%-uid" },
        ["--cause --no-plot -q false ./a"] = { 1, "false under valgrind: exit status 1" } })
    end
    local status, _, err = support.shell_in(folder, ("PATH=/nowhere %s/pmlua bench --cause --no-plot -q ./a ./a"):format(
      support.build))
    assert.same({ 1, "pmlua bench: valgrind is not installed" }, { status, err:match "^[^;]*" })
  end)

  it("has no counterpart for runs that were not measured alternately, or without counts", function()
    support.done(support.shell_in(folder, support.build .. "/pmlua bench --no-plot -q -r 2 -o plain true false -i"))
    support.refuses(folder, "compare", { ["--cause plain/bench/latest plain/bench/latest"] = { 2, "one run" },
      ["--cause plain/bench/latest"] = { 1, "has no counts of functions" } })
  end)
end)

describe("pmlua cc --layouts", function()
  local folder
  setup(function()
    folder = support.folder()
    support.spit(folder .. "/f.c", "int f(void) { return 1; }\n")
    support.spit(folder .. "/g.c", "int g(void) { return 1; }\n")
    support.spit(folder .. "/main.c", "int f(void);\nint main(void) { return f() - 1; }\n")
  end)

  it("links the program again with its objects in other orders", function()
    support.done(support.shell_in(folder, support.build .. "/pmlua cc --layouts 6 -- gcc f.c g.c main.c -lm -o app"))
    local orders, count = {}, 0
    for _, name in ipairs { "app", "app.2", "app.3", "app.4", "app.5", "app.6" } do
      support.done(support.shell_in(folder, "./" .. name))
      local _, order = support.shell_in(folder, "nm -n " .. name .. " | sed -n 's/.* T \\([fg]\\|main\\)$/\\1/p' | tr -d '\\n'")
      assert.equal(6, #order, order)
      count, orders[order] = count + (orders[order] and 0 or 1), true
    end
    assert.is_true(orders.fgmain and count >= 3)
  end)

  it("does not change lines that do not link, and refuses a single file", function()
    local _, out = support.shell_in(folder, support.build .. "/pmlua cc --layouts 4 --print -- gcc -c f.c")
    assert.equal("gcc -c f.c\n", out)
    support.refuses(folder, "cc", { ["--layouts 4 -- gcc main.c"] = { 1, "one file has one order" } })
  end)
end)
