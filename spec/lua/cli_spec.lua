-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/cli_spec.lua - the command line: options mean the same to every verb.

local support = require "spec.core.support"
local parse = require "pmlua.internal.cli.parse"
local verbs = require "pmlua.internal.cli.verb"
local json = require "cjson"

local quote = support.quote

--- A valid value of an option, as text.
local by_kind = { integer = "3", number = "3", percent = "3", duration = "3ms", size = "3G", picture = "p.svg" }
local by_name = { metric = "host::load_1", I1 = "32768,8,64", D1 = "32768,8,64", LL = "8388608,16,64", flow = "f.svg",
  headers = "zlib.h", parameter = "x=1,2", ["fail-on"] = "slower:2%",
  window = "1.5:2", width = "800", size = "800,600", where = "n=1",
  xrange = "0,", yrange = ",1e3", order = "n=2,1", rename = "n=size" }
local by_verb = { ["guard event"] = "Ir", ["watchpoint event"] = "mem:x:w", ["trace plot"] = "matrix" }

local function sample(verb, option)
  return by_verb[verb.name .. " " .. option.name] or by_name[option.name] or option.choices and option.choices[1]
    or by_kind[option.kind] or "word"
end

--- A verb's options and arguments, without its check of their combination.
local function alone(verb)
  local line = { options = {}, arguments = {}, command = verb.command and { optional = true, behind = verb.command.behind } }
  for i, option in ipairs(verb.options or {}) do
    line.options[i] = setmetatable({ needs = false }, { __index = option })
  end
  for i, argument in ipairs(verb.arguments or {}) do
    line.arguments[i] = setmetatable({ optional = true }, { __index = argument })
  end
  return line
end

local function each(f)
  for _, name in ipairs(verbs.all()) do
    local verb = verbs.load(name)
    f(verb, alone(verb))
  end
end

describe("Every verb", function()
  it("reads an option's value in all forms", function()
    local n = 0
    each(function(verb, line)
      for _, option in ipairs(verb.options or {}) do
        local long, value = "--" .. option.name, option.kind and sample(verb, option)
        local forms = { value and { long .. "=" .. value } or { long } }
        if value and (not option.optional or option.kind == "picture") then forms[#forms + 1] = { long, value } end
        if option.short then
          forms[#forms + 1] = { "-" .. option.short, value }
          if value then forms[#forms + 1] = { "-" .. option.short .. value } end
        end
        local first
        for _, form in ipairs(forms) do
          local o, misuse = parse.parse(line, form)
          assert.is_nil(misuse, verb.name .. " " .. table.concat(form, " "))
          first = first or o
          assert.same(first, o, verb.name .. " " .. table.concat(form, " "))
          n = n + 1
        end
      end
    end)
    assert.is_true(n > 150)
  end)

  it("refuses no value, an empty one, another option in its place, and a value for a flag", function()
    each(function(verb, line)
      for _, option in ipairs(verb.options or {}) do
        local long = "--" .. option.name
        local function refused(words, why)
          local o, misuse = parse.parse(line, words)
          assert.is_nil(o, verb.name .. " " .. table.concat(words, " "))
          assert.equal(long .. why, misuse)
        end
        if not option.kind then
          refused({ long .. "=1" }, " takes no value")
        elseif not option.list then
          refused({ long .. "=" }, " needs a value")
          if not option.optional then
            refused({ long }, " needs a value")
            refused({ long, "--" }, " needs a value")
            refused({ long, long }, " needs a value")
          end
        end
      end
    end)
  end)

  it("refuses a value of another kind, options that exclude each other, and one without that which it needs", function()
    local wrong = { integer = "1.5", number = "x", percent = "x", duration = "soon", size = "100X", picture = "x.pdf",
      choice = "nothing" }
    local n = 0
    each(function(verb, line)
      local words = {}
      for _, option in ipairs(verb.options or {}) do
        words[option.name] = "--" .. option.name .. (option.kind and "=" .. sample(verb, option) or "")
        if wrong[option.kind] and not (option.read or option.take or option.list) then
          local o, misuse = parse.parse(line, { ("--%s=%s"):format(option.name, wrong[option.kind]) })
          assert.is_nil(o, verb.name .. " --" .. option.name)
          assert.matches("^%-%-" .. option.name:gsub("%-", "%%-") .. " needs .*, not '" .. wrong[option.kind] .. "'$", misuse)
          n = n + 1
        end
      end
      local function refused(given, says)
        local full = { options = verb.options, exclusive = verb.exclusive, arguments = line.arguments, command = line.command }
        assert.equal(says, select(2, parse.parse(full, given)), verb.name)
        n = n + 1
      end
      for _, option in ipairs(verb.options or {}) do
        local says = option.needs and ("--%s works with --%s only"):format(option.name, option.needs)
        if says then refused({ words[option.name] }, says) end
      end
      for _, names in ipairs(verb.exclusive or {}) do
        local first, second = names[1]:gsub("_", "-"), names[2]:gsub("_", "-")
        refused({ words[first], words[second] }, ("--%s and --%s cannot be used together"):format(names[1], names[2]))
      end
      if line.command or not (line.arguments and line.arguments[1]) then return end
      local last = line.arguments[#line.arguments]
      if not last.many and #line.arguments == 1 then
        refused({ "a", "b" }, ("more than one %s: b"):format(last.one or last.name))
      end
    end)
    assert.is_true(n > 100, n)
  end)

  it("ends misuse with status 2, and says where its help is", function()
    each(function(verb)
      local status, out, err = support.pmlua(verb.name .. " --bogus")
      assert.same({ 2, "" }, { status, out })
      assert.matches(("^pmlua %s: [^\n]*%%-%%-bogus[^\n]*\nsee 'pmlua help %s'\n$"):format(verb.name, verb.name), err)
    end)
  end)

  it("names the option that a misspelt one was meant to be", function()
    each(function(verb, line)
      for _, option in ipairs(verb.options or {}) do
        if #option.name > 4 then
          local misspelt = "--" .. option.name:sub(1, -2) .. "#"
          local _, misuse = parse.parse(line, { misspelt })
          assert.matches("^no such option: %-%-[%w#-]+; did you mean %-%-[%w-]+%?$", misuse)
        end
      end
    end)
    local _, misuse = parse.parse(alone(verbs.load "stat"), { "--evnet=x" })
    assert.equal("no such option: --evnet; did you mean --event?", misuse)
  end)

  it("explains itself if --help and -h are among its options, and not for its command", function()
    each(function(verb, line)
      for _, help in ipairs { "--help", "-h" } do
        assert.same({ help = true }, (parse.parse(line, { help, "--nosuch" })))
        if verb.command then assert.is_nil(parse.parse(line, { "--", "x", help }).help) end
      end
    end)
  end)

  it("has its whole description in its help, in order", function()
    local text = require "pmlua.internal.cli.text"
    each(function(verb)
      local help, at = text.help(verb):gsub("%s+", " "), 1
      local function follows(part)
        part = (part or ""):gsub("%s+", " "):match "^ ?(.-) ?$"
        local from, to = help:find(part, at, true)
        assert.is_truthy(from, verb.name .. ": " .. part)
        at = to + 1
      end
      for _, part in ipairs { "usage: pmlua " .. verb.name, verb.summary, verb.about or "" } do follows(part) end
      for _, name in ipairs(verb.verbs or {}) do follows(name .. " " .. verbs.load(verb.name .. " " .. name).summary) end
      for _, option in ipairs(verb.options or {}) do
        follows("--" .. option.name)
        follows(option.help)
      end
      follows(verb.notes)
      for _, example in ipairs(verb.examples) do follows(text.example(example)) end
    end)
  end)

  it("is explained beside the Lua API, whose modules have a line each", function()
    local model, expected, lines = require("pmlua.internal.reference.model").load(), {}, {}
    for i, name in ipairs(model.names) do expected[i] = model.modules[name].class.name end
    for name in select(2, support.pmlua "help api"):gmatch "\n  (pml[%w_.]*) +%S" do lines[#lines + 1] = name end
    assert.same(expected, lines)
  end)

  it("leaves every word of a command unchanged", function()
    local words = { "cmd", "--json", "-o", "--", "--help", "", "-q=1", "--nosuch", "a b" }
    local n = 0
    each(function(verb, line)
      if not line.command then return end
      n = n + 1
      local quiet = parse.index(line)["--quiet"] and { "--quiet" } or {}
      local behind = table.move(words, 1, #words, #quiet + 2, { table.unpack(quiet) })
      behind[#quiet + 1] = "--"
      assert.same(words, parse.parse(line, behind).command, verb.name)
      if not verb.command.behind and not verb.arguments then
        local o = assert(parse.parse(line, table.move(words, 1, #words, #quiet + 1, { table.unpack(quiet) })))
        assert.same({ words, #quiet == 1 or nil }, { o.command, o.quiet }, verb.name)
      end
    end)
    assert.is_true(n >= 7)
  end)

  it("takes words after -- as arguments, in verbs that run no command", function()
    assert.equal("--json", parse.parse(alone(verbs.load "events"), { "--csv", "--", "--json" }).pattern)
    assert.same({ "-a", "--" }, parse.parse(alone(verbs.load "plot"), { "--", "-a", "--" }).dirs)
  end)

  it("accepts units of time", function()
    for _, name in ipairs { "query", "attach", "report" } do
      local line = alone(verbs.load(name))
      for text, seconds in pairs { ["500ms"] = 0.5, ["2"] = 2, ["2s"] = 2, ["1m"] = 60, ["1min"] = 60, ["1h"] = 3600,
        ["1.5s"] = 1.5 } do
        assert.equal(seconds, parse.parse(line, { "--patience", text }).patience)
      end
      for _, text in ipairs { "0", "-1s", "5x", "s", "1.2.3s", "nan", "1e9" } do
        local o, misuse = parse.parse(line, { "--patience=" .. text })
        assert.is_nil(o)
        assert.matches("^%-%-patience needs a time such as 5s or 500ms, not '", misuse)
      end
    end
    local record = alone(verbs.load "record")
    for text, ns in pairs { ["10us"] = 10000, ["1ms"] = 1000000, ["250"] = 250, ["0.5s"] = 500000000 } do
      assert.equal(ns, parse.parse(record, { "--min-duration", text }).min_duration)
    end
  end)

  it("gives options of one name the same kind and letter", function()
    local known = {}
    each(function(verb)
      local letters = {}
      for _, option in ipairs(verb.options or {}) do
        local what = known[option.name]
        local letter = option.short or ""
        if verb.name == "plot" and option.name == "out" then letter = "" end -- as gnuplot's users expect, -o is a file
        for _, common in ipairs { "json", "csv", "out", "out-dir", "quiet", "event", "plot", "patience" } do
          if option.name == common then
            assert.equal(what or letter, letter, verb.name .. " --" .. option.name)
            known[option.name] = letter
          end
        end
        assert.is_nil(option.short and letters[option.short], verb.name .. " -" .. letter)
        letters[letter] = option.short
      end
    end)
    assert.same({ json = "", csv = "", out = "", ["out-dir"] = "o", quiet = "q", event = "e", plot = "", patience = "" }, known)
  end)

  it("has one name for repetitions, --runs, and one for periods, --every; old names work with a warning", function()
    local others, old = {}, {}
    each(function(verb)
      for _, option in ipairs(verb.options or {}) do
        local other = (" repeat repeats iterations times interval "):find(" " .. option.name .. " ", 1, true)
        if other then others[#others + 1] = option.name end
        if option.was then old[option.was] = option.name end
      end
    end)
    assert.same({}, others)
    assert.same({ ["repeat"] = "runs", interval = "every", o = "out", out = "out-dir" }, old)
    local status, _, err = support.pmlua "stat -e task-clock --repeat=2 -- true"
    assert.equal(0, status)
    assert.matches("^pmlua stat: warning: %-%-repeat is deprecated; use %-%-runs\n", err)
    assert.matches("\n2 runs\n", err)
  end)
end)

describe("The common options", function()
  local dir = support.folder()

  local function pmlua(arguments)
    return support.shell(("cd %s && %s/pmlua %s"):format(quote(dir), quote(support.build), arguments))
  end

  --- Check CSV without quoted line ends: each line has as many cells as the first. The number of rows.
  local function rows_of(csv, head)
    local names, n = csv:match "^[^\n]*", 0
    assert.equal(head, names)
    local cells = select(2, names:gsub(",", ","))
    for line in csv:gmatch "\n([^\n]+)" do
      n = n + 1
      assert.equal(cells, select(2, line:gsub('"[^"]*"', ""):gsub(",", ",")), line)
    end
    return n
  end

  it("--json and --csv print the same rows", function()
    for verb, head in pairs { ["events clock::"] = "name,description,source,pmu,available,reason",
      doctor = "name,status,finding,remedy" } do
      local _, text = pmlua(verb .. " --json")
      local csv = support.quiet(pmlua(verb .. " --csv"))
      assert.equal(#json.decode(text), rows_of(csv, head))
    end
    local _, text = pmlua "stat -q -e task-clock --json -- true"
    local _, csv = pmlua "stat -q -e task-clock --csv -- true"
    assert.equal(#json.decode(text).counts, rows_of(csv, "event,count,unit,counted_by,remark"))
  end)

  it("--csv prints the functions of a recording, all of them", function()
    -- the command itself calls liblua
    local csv = support.quiet(pmlua("record -q --csv -o recorded -- " .. quote(support.build) .. "/pmlua -e 'x = 1'"))
    local _, text = pmlua "record -q --finish recorded --json"
    assert.equal(#json.decode(text).functions, rows_of(csv,
      "library,function,kind,calls,unreturned,inclusive_ns,exclusive_ns,min_ns,median_ns,max_ns"))
  end)

  it("--csv prints the counts of a simulation, and the counts that grew since they were saved", function()
    if not require("pmlua.internal.simulation.run").available() then return pending "valgrind is not installed" end
    local status, csv = pmlua "stat -q --sim --csv -e Ir,Dr -- true"
    assert.equal(0, status)
    assert.is_true(rows_of(csv, "of,pid,thread,object,name,calls,Ir,Dr") > 3)
    local all, process = csv:match "\nall,,,,,,(%d+),", csv:match "\nprocess,%d+,,[^\n]*,(%d+),%d+\n"
    assert.equal(all, process)
    support.spit(dir .. "/work.sh", "for i in 1 2 3; do :; done\n")
    local err
    status, csv, err = pmlua "guard -q --save kept --object '*' -- sh work.sh"
    assert.same({ 0, "", "" }, { status, csv, err })
    support.spit(dir .. "/work.sh", ("for i in 1 2 3; do :; done\n"):rep(100))
    status, csv = pmlua "guard -q --csv kept -- sh work.sh"
    assert.equal(1, status)
    assert.is_true(rows_of(csv, "what,kind,name,kept,now,change,calls_kept,calls_now") > 0)
    assert.matches("\ngrown,", csv)
  end)

  it("--out takes the printed text; -o FILE and --out DIR, which were 1.0's, work with a warning", function()
    local _, printed = pmlua "events clock::"
    local warning = "pmlua events: warning: -o is deprecated; use --out\n"
    for form, warned in pairs { ["--out to"] = "", ["--out=to"] = "", ["-o to"] = warning, ["-oto"] = warning } do
      local status, out, err = pmlua("events clock:: " .. form)
      assert.same({ 0, "", warned }, { status, out, err })
      assert.equal(printed, support.slurp(dir .. "/to"))
      os.remove(dir .. "/to")
    end
    local status, _, err = pmlua "events clock:: --out /nowhere/to"
    assert.equal(1, status)
    assert.matches("^pmlua events: /nowhere/to: No such file or directory; make its folder first\n$", err)
    status, _, err = pmlua "doctor --out /dev/full"
    assert.equal(1, status)
    assert.matches("^pmlua doctor: /dev/full: ", err)
  end)

  it("--quiet keeps counts and failures", function()
    local _, _, loud = pmlua "stat -- true"
    local status, _, err = pmlua "stat --quiet -- true"
    assert.equal(0, status)
    assert.matches("\nelapsed time ", err)
    assert.is_true(#err <= #loud)
    assert.is_nil(err:find "no PMU here")
    status, _, err = pmlua "stat --quiet -- nosuch"
    assert.same({ 127, "pmlua stat: nosuch: command not found\n" }, { status, err })
  end)

  it("-o is a folder in every verb, except in pmlua plot", function()
    local files = {}
    for _, name in ipairs(verbs.all()) do
      for _, option in ipairs(verbs.load(name).options or {}) do
        if option.short == "o" and option.kind ~= "dir" then files[#files + 1] = name end
      end
    end
    assert.same({ "plot" }, files)
  end)

  it("of an experiment include the options of the verbs", function()
    support.spit(dir .. "/e.lua", "return require 'pmlua'.experiment { name = 'demo', factors = { k = { 1, 2 } },\n"
      .. "  repeats = 4, warmup = 0, measure = function() return 1 end }\n")
    local status, csv, err = pmlua "e.lua --csv -q -oout --no-plot"
    assert.same({ 0, "" }, { status, err })
    assert.equal(2, rows_of(csv, "k,min,q1,median,median_lo,median_hi,q3,p99,max,outliers,status"))
    assert.truthy(io.open(dir .. "/out/demo/latest/data.dat"))
    status, csv, err = pmlua "compare -q --csv out/demo/latest out/demo/latest"
    assert.same({ 0, "" }, { status, err })
    assert.equal(2, rows_of(csv, "cell,median_a,median_b,ratio,low,high,p_holm,verdict"))
    local _, _, warned = pmlua "e.lua -q --out out --no-plot"
    assert.equal("pmlua: e.lua: warning: --out is deprecated; use --out-dir\n", warned)
    status, csv, err = pmlua "e.lua --jsno"
    assert.equal("", csv)
    assert.same({ 2, "pmlua: e.lua: no such option: --jsno; did you mean --json?\nsee 'pmlua e.lua --help'\n" }, { status, err })
  end)
end)

describe("A mistake is answered in one line with its place and a remedy:", function()
  local dir = support.folder()

  local function pmlua(arguments)
    return support.shell(("cd %s && timeout 60 %s/pmlua %s"):format(quote(dir), quote(support.build), arguments))
  end

  --- The first line on standard error; no line of Lua's own, such as a stack traceback, follows.
  local function answer(arguments, script)
    if script then support.spit(dir .. "/e.lua", "local pml = require 'pmlua'\n" .. script) end
    local status, _, err = pmlua(arguments)
    assert.is_true(status == 1 or status == 2, err)
    assert.is_nil(err:find("traceback", 1, true))
    return err:match "[^\n]*"
  end

  for arguments, expected in pairs {
    ["bench -r 2 -P n=1.. 'echo {n}'"] = "pmlua bench: -P: '1..' is not a range of numbers; write 1..8, 0..1:0.25 or 1..64:x2",
    ["bench -r 2 -P n=a..b 'echo {n}'"] = "pmlua bench: -P: 'a..b' is not a range of numbers; write 1..8, 0..1:0.25 or 1..64:x2",
    ["bench -r 2 -P n=1..4:y 'echo {n}'"] =
      "pmlua bench: -P: '1..4:y' is not a range of numbers; write 1..8, 0..1:0.25 or 1..64:x2",
    ["bench -r 2 -P n=8..1 'echo {n}'"] =
      "pmlua bench: -P: '8..1' has no values; write FIRST <= LAST, a STEP above 0 and a FACTOR above 1",
    ["bench -L level 1,9 'gzip -{level}'"] = "pmlua bench: no such option: -L; choose one of -N -P -c -e -i -n -o -p -q -r -t -w",
    ["bench -r 2 --input nosuch true"] = "pmlua bench: nosuch: no such file; name an existing one by --input",
    ["stat --out nosuch/file -- true"] = "pmlua stat: nosuch/file: No such file or directory; make its folder first",
    ["guard nosuch -- true"] = "pmlua guard: nosuch: No such file or directory; pmlua guard --save FILE writes it",
    ["plot nosuch"] = "pmlua plot: nosuch: No such file or directory; name a folder such as results/NAME/latest",
    ["plot ."] = "pmlua plot: .: not the folder of a run: it has no meta.json; name a folder such as results/NAME/latest",
    ["compare nosuch other"] = "pmlua compare: nosuch: No such file or directory; name a folder such as results/NAME/latest",
    ["trace nosuch"] = "pmlua trace: nosuch: no such folder; name a folder of pmlua record, or a trace (*.otf2)",
    ["record --finish nosuch"] = "pmlua record: nosuch: no such folder; name the folder of a recording",
    ["record -o nosuch/folder -- true"] = "pmlua record: nosuch/folder: No such file or directory; name another with -o",
    ["there.lau"] = "pmlua: 'there.lau' is neither a verb nor a file; pmlua help lists the verbs",
    ["ther.lua"] = "pmlua: ther.lua: no such file; did you mean there.lua?",
  } do
    it("pmlua " .. arguments, function()
      support.spit(dir .. "/there.lua", "")
      assert.equal(expected, answer(arguments))
    end)
  end

  local measure = "measure = function() return 1 end"
  for fields, expected in pairs {
    ["name = 'e'"] = "measure is missing; write measure = function(_, p) ... return VALUE end",
    ["name = 'e', factors = { 1, 2 }, " .. measure] = "factors[1] has no name; write factors = { NAME = { 1, 2 } }",
    ["name = 'e', factors = { n = 3 }, " .. measure] = "factor n: must be an array of values, such as n = { 1, 2 }",
  } do
    it(expected, function()
      assert.equal("pmlua: e.lua:2: experiment: " .. expected, answer("e.lua", ("return pml.experiment { %s }\n"):format(fields)))
    end)
  end

  it("runs of different experiments", function()
    for _, name in ipairs { "a", "b" } do
      support.spit(("%s/%s.lua"):format(dir, name), ("return require 'pmlua'.experiment { name = '%s',\n"
        .. "  factors = { %s = { 1 } }, repeats = 5, measure = function() return 1 end }\n"):format(name, name))
      assert.equal(0, (pmlua(name .. ".lua -q --no-plot")))
    end
    local _, out = pmlua "compare results/a/latest results/b/latest"
    assert.matches("\n0 cells: A and B have no combination of factors in common; name runs of one experiment\n", out)
  end)
end)
