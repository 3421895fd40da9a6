-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/event_spec.lua - tests of pml.event: names of events and their meaning, the list of all events, events of packages
-- that count.

local support = require "spec.core.support"
local it = support.it
local core = support.core
local event = core and core.event

local ARCH = core and core.sys.uname().machine or "?"

local function part_text(p)
  local words = { ("%s %d:%x"):format(p.pmu, p.type, p.config) }
  if p.config1 ~= 0 or p.config2 ~= 0 then words[1] = words[1] .. (":%x"):format(p.config1) end
  if p.config2 ~= 0 then words[1] = words[1] .. (":%x"):format(p.config2) end
  local excluded = (p.exclude_user and "u" or "") .. (p.exclude_kernel and "k" or "") .. (p.exclude_hv and "h" or "")
  if excluded ~= "" then words[#words + 1] = "-" .. excluded end
  if p.precise then words[#words + 1] = "precise " .. p.precise end
  if p.cpu then words[#words + 1] = "cpu " .. p.cpu end
  words[#words + 1] = p.place
  return table.concat(words, " ")
end

--- An event in the notation of spec/data/event_names.tsv. An error matches if it contains the words in @expected.
local function text_of(name, expected)
  local e, err, code = event.parse(name)
  local error_code, says = expected:match "^!(%S+) (.*)"
  if not e then return code == error_code and tostring(err):find(says, 1, true) and expected or tostring(err) end
  local parts = {}
  for i, p in ipairs(e.parts) do parts[i] = part_text(p) end
  local text = { table.concat(parts, ", ") }
  if e.scale ~= 1 or e.unit ~= "" then text[#text + 1] = ("%.17g %s"):format(e.scale, e.unit) end
  return (table.concat(text, text[1] ~= "" and " * " or "")), e.name
end

describe("An event's name", function()
  after_each(function()
    if event then event.set_sysfs() end
    support.cleanup()
  end)

  it("has the meaning in the table, on the described machines", function()
    local wanted, before = true, os.getenv "LIBPFM_ENCODE_INACTIVE"
    for line in io.lines "spec/data/event_names.tsv" do
      local machine, arch = line:match "^%[(%S+) ?(%S*)%]$"
      local name, expected = line:match "^([^\t]*)\t(.*)$"
      if machine then
        assert(event.set_sysfs(machine ~= "-" and "spec/data/sysfs/" .. machine or nil))
        wanted = arch == "" or arch == ARCH
      elseif name and wanted then
        name = name:gsub("\\x(%x%x)", function(byte) return string.char(tonumber(byte, 16)) end)
        local text, kept = text_of(name, expected)
        assert.same({ name, expected, kept and name }, { name, text, kept })
      end
    end
    assert.equal(before, os.getenv "LIBPFM_ENCODE_INACTIVE")
    assert.is_true(event.parse("perf::TASK-CLOCK").parts[1].here)
    if ARCH == "x86_64" then assert.is_false(event.parse("amd64_k7::DATA_CACHE_MISSES").parts[1].here) end
    local long = ("a"):rep(255)
    assert.equal("ENOEVENT", select(3, event.parse(long)))
    assert.equal("ENAMETOOLONG", select(3, event.parse(long .. "a")))
  end)

  it("lists the described machine, and its damaged formats", function()
    local folder = support.folder() .. "/bus/event_source/devices/made"
    assert(os.execute("mkdir -p " .. folder .. "/format"))
    support.spit(folder .. "/type", "99\n")
    local formats = { spread = "config1:0-7,32-35", whole = "config:0-63", one = "config2:5" }
    for i, text in ipairs { "", "config", "config:", "config:-1", "config:1-", "config:7-0", "config:0-64", "config4:0",
      "config:0,", "config:0-31,32-63,0", "config:000", "config:1 2", "konfig:1", "config:\xff", "config:0,1,2,3,4,5,6,7,8" } do
      formats["bad" .. i] = text
    end
    for name, text in pairs(formats) do support.spit(folder .. "/format/" .. name, text .. "\n") end
    assert(event.set_sysfs((folder:match "^(.*)/bus/")))
    for name in pairs(formats) do
      if name:find "^bad" then assert.same({ name, "EFORMAT" }, { name, (select(3, event.parse("made/" .. name .. "=1/"))) }) end
    end
    assert.equal("made 99:0:a000000bc", (text_of("made/spread=0xabc/", "")))
    assert.equal("made 99:ffffffffffffffff", (text_of("made/whole=0xffffffffffffffff/", "")))
    assert.equal("ESYNTAX", select(3, event.parse "made/one=2/"))
    -- a family has at most 64 members, in the order of their numbers: 2 is before 10
    for n = 0, 64 do
      local member = folder:gsub("made$", "unit_" .. n)
      assert(os.execute("mkdir " .. member))
      support.spit(member .. "/type", ("%d\n"):format(100 + n))
      support.spit(member .. "/cpumask", "0\n")
      if n == 1 or n == 63 then
        local e = assert(event.parse "unit_*/config=1/")
        assert.equal(n + 1, #e.parts)
        for i, part in ipairs(e.parts) do assert.equal("unit_" .. i - 1, (part.pmu:match "^[^:]*")) end
      end
    end
    assert.is_nil((event.parse "unit_*/config=1/"))
    assert.equal("ENOENT", select(3, event.set_sysfs "spec/data/nosuch"))
    assert(event.set_sysfs())
    assert.equal("ENOEVENT", select(3, event.parse "uncore_clock/clockticks/"))
  end)

  it("has the kernel's scale in every locale of the program", function()
    local set
    for _, name in ipairs { "de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", "fr_FR", "es_ES.UTF-8", "it_IT.UTF-8" } do
      set = set or os.setlocale(name, "numeric")
    end
    if not set then return pending "no locale with a decimal comma is installed (apt-get install locales-all)" end
    assert(event.set_sysfs "spec/data/sysfs/desktop")
    local e = event.parse "power/energy-pkg/"
    os.setlocale("C", "numeric")
    assert.equal(2.0 ^ -32, e.scale)
  end)

  it("whose code libpfm4 has wrong is corrected, with a note if the PMU is here", function()
    if ARCH ~= "x86_64" then return pending "names of x86's PMUs are known there" end
    local status, out, err = support.shell(("LIBPFM_FORCE_PMU=icx %s/pmlua -e %s"):format(support.build, support.quote [[
      local event = require "pmlua.core".event
      event.parse "icx::INST_RETIRED:ANY_P"
      local before = event.user_only()
      event.parse "icx::MEM_LOAD_MISC_RETIRED:UC"
      print(before, (event.user_only()), event.list("icx::MEM_LOAD_MISC_RETIRED:UC")[1].description)]]))
    assert.same({ 0, "" }, { status, err })
    assert.matches("^nil\t[^\n]*icx::MEM_LOAD_MISC_RETIRED:UC[^\n]*r4d4[^\n]*\t[^\n]*%[code corrected: r4d4%]", out)
  end)

  it("of a PMU needs libpfm4, which is loaded for it; the kernel's own names work without", function()
    local folder = support.folder()
    support.spit(folder .. "/libpfm.so.4", "this is no library")
    local run = ("LD_LIBRARY_PATH=%s${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} %s/pmlua stat -e %%s -- true")
      :format(folder, support.build)
    for _, name in ipairs { "INST_RETIRED", "skx::INST_RETIRED" } do
      local status, _, err = support.shell(run:format(name))
      assert.equal(1, status)
      assert.matches("^pmlua stat: [^\n]*libpfm%.so%.4, which lists the events of PMUs, is not installed [^\n]*\n$", err)
    end
    local out, err = support.done(support.shell(run:format("page-faults")))
    assert.matches("page%-faults +%d+", out .. err)
  end)

  it("must not contain a zero byte", function()
    assert.error_matches(function() event.parse("task-clock\0x") end, ".*zero byte")
  end)
end)

--- A program in a few hundred bytes: one segment, loaded far from its place in the file, and four symbols.
local function tiny(damage)
  local d, base = damage or {}, 0x400000
  local function section(kind, offset, size, link)
    return string.pack("<I4I4i8i8i8i8I4I4I8I8", 0, kind, 0, 0, offset, size, link, 0, 0, 0)
  end
  local function symbol(name, info, index, value, size) return string.pack("<I4BBI2I8I8", name, info, 0, index, value, size) end
  return string.pack("<c16I2I2I4I8I8i8I4I2I2I2I2I2I2", (d.magic or "\x7fELF") .. (d.class or "\2") .. "\1\1", 0, 0, 0, 0, 64,
    d.sections or 120, 0, 0, 56, d.segments or 1, 64, 3, 0)
    .. string.pack("<I4I4I8I8I8I8I8I8", 1, 0, 16, base, 0, 256, 512, 0)
    .. section(0, 0, 0, 0) .. section(2, 312, d.symbols or 96, 2) .. section(3, d.strings or 408, 32, 0)
    .. symbol(1, 2, 1, base + 100, 7) .. symbol(6, 1, 1, base + 300, 0) .. symbol(10, 2, 0, 0, 0) .. symbol(20, 6, 1, 8, 0)
    .. ("\0work\0bss\0undefined\0tls" .. ("\0"):rep(32)):sub(1, 32)
end

describe("A symbol of a file", function()
  after_each(support.cleanup)

  --- Its offset in the file, or the code of the refusal.
  local function offset(bytes, name)
    local e, _, code = event.parse(("uprobe:%s:%s"):format(support.spit(support.folder() .. "/f", bytes), name))
    return e and e.parts[1].config2 or code
  end

  it("is found where it is defined, as an offset from its segment's start in the file", function()
    local _, why, code = event.parse "uprobe:/proc/self/exe:main"
    if code == "ENOEVENT" then return pending(tostring(why)) end
    assert.equal(116, offset(tiny(), "work"))
    for _, name in ipairs { "undefined", "tls", "wor", "ork" } do
      assert.same({ name, "ENOSYMBOL" }, { name, offset(tiny(), name) })
    end
    for what, damage in pairs { EFORMAT = { { magic = "xELF" }, { class = "\0" } },
      ENOSYMBOL = { { sections = -9 }, { strings = -3 }, { symbols = -1, name = "nobody" } } } do
      for _, d in ipairs(damage) do assert.equal(what, offset(tiny(d), d.name or "work")) end
    end
    assert.equal("EFORMAT", offset(tiny():sub(1, 10), "work"))
    assert.is_string(offset(tiny(), "bss")) -- a section of zeros has no bytes in the file
    assert.is_string(offset(tiny { segments = 0 }, "work"))
  end)
end)

describe("The list of events", function()
  after_each(function() if event then event.set_sysfs() end end)

  --- How many rows each source has; every row (of @only, if that is given) parses as it stands, or says why not.
  local function sources(rows, only)
    local of = {}
    for _, row in ipairs(rows) do
      of[row.source] = (of[row.source] or 0) + 1
      local stands_for_all = row.source == "tracepoint" and not row.available or only and row.source ~= only
      assert.truthy(event.parse(row.name) or stands_for_all, row.name)
      assert.is_true(row.available or row.reason ~= "", row.name)
      assert.is_nil(row.description:find "\n")
    end
    return of
  end

  it("holds rows that parse unchanged; the first of each available source opens", function()
    local rows, all = assert(event.list()), assert(event.list(nil, true))
    local here, everywhere, opened = sources(rows), sources(all), {}
    assert.same({ 2, "clock::ticks" }, { here.clock, rows[1].name })
    assert.is_true(#rows > 60 and #all > #rows and (everywhere.libpfm4 or 0) > (here.libpfm4 or 0))
    assert.equal(rows[#rows].name, all[#rows].name)
    for _, row in ipairs(rows) do
      if row.available and not opened[row.source] and row.source ~= "clock" then
        local on_cpu = event.parse(row.name).parts[1].cpu
        local c, err, code = core.counter.open(row.name, on_cpu and { pid = -1, cpu = on_cpu } or nil)
        assert.truthy(c or code == "EPARANOID" or code == "ECAP", row.name .. ": " .. tostring(err))
        opened[row.source] = true
      end
    end
    assert.is_true(opened.generic)
  end)

  it("has a described machine's events and their places, without units and broken ones", function()
    assert(event.set_sysfs "spec/data/sysfs/desktop")
    assert.equal(8, sources(event.list "*/*").sysfs)
    assert(event.set_sysfs "spec/data/sysfs/server")
    local rows, described = event.list "/", {}
    assert.is_true(sources(rows, "sysfs").sysfs > 20)
    for _, row in ipairs(rows) do described[row.name] = row.description end
    for name, says in pairs { ["power/energy-pkg/"] = "in Joules; the sum of :package0, :package1",
      ["power/energy-pkg/:package1"] = "in Joules", ["uncore_imc_0/cas_count_read/:package1:die0"] = "in MiB",
      ["cstate_core/c3-residency/:package0"] = "event=0x01", ["cstate_core/c3-residency/:package0:die1"] = "event=0x01" } do
      assert.is_truthy(described[name] and described[name]:find(says, 1, true), name)
    end
  end)

  it("is searched by globs, parts of names and of descriptions, without case", function()
    for pattern, least in pairs { ["*-FAULTS"] = 5, ["TASK-cl"] = 2, ["mispredicted branches"] = 1 } do
      assert.is_true(#event.list(pattern) >= least, pattern)
    end
    for _, row in ipairs(event.list "*-FAULTS") do assert.matches("%-faults", row.name:lower()) end
    assert.same({}, event.list "no event is called like this")
  end)
end)

describe("The PMU", function()
  it("is available, or has a reason why not, always the same", function()
    local has, why = event.has_pmu()
    if has then assert.is_nil(why) else assert.matches("no hardware PMU %(", why) end
    assert.equal(has, (event.has_pmu()))
  end)
end)

describe("Events of packages", function()
  after_each(function() if event then event.set_sysfs() end end)

  local function counted(names)
    if core.sys.nprocs() < 2 then return pending "a machine with two cpus is needed to count at two places" end
    assert(event.set_sysfs "spec/data/sysfs/twin")
    local set, err, code = core.eventset.open(names)
    if not set and (code == "EPARANOID" or code == "ECAP") then return pending(tostring(err)) end
    assert.truthy(set, tostring(err))
    set:start()
    for _ = 1, 2e6 do local _ = core.clock.ns() end
    return set, table.pack(set:stop())
  end

  it("are the sum of the packages' counts", function()
    local set <close>, v = counted { "node/cpu-clock/", "node/cpu-clock/:package0", "node/cpu-clock/:package1", "task-clock" }
    if not set then return end
    assert.is_true(v[2] > 0 and v[3] > 0 and v[2] + v[3] > v[4])
    local parts, e = set:parts(1), set:event(3)
    assert.same({ "node:package0", "node:package1", 2 }, { parts[1].pmu, parts[2].pmu, #parts })
    assert.equal(v[1], parts[1].raw + parts[2].raw)
    assert.same({ "node/cpu-clock/:package1", "ns", "read" }, { e.name, e.unit, e.path })
    assert.is_true(#e.why > 0)
  end)

  it("may use several PMUs", function()
    local set <close>, v = counted { "half_*/event=0/", "half_0/event=0/", "half_1/event=0/" }
    if not set then return end
    assert.is_true(v[2] > 0 and v[3] > 0 and v[1] > v[2] and v[1] > v[3])
    local parts = set:parts(1)
    assert.same({ "half_0:package0", "half_1:package1" }, { parts[1].pmu, parts[2].pmu })
  end)

  it("are refused if they need more counters than there is room for", function()
    assert(event.set_sysfs "spec/data/sysfs/server")
    local many = {}
    for i = 1, 128 do many[i] = "many/x/" end
    local set, err, code = core.eventset.open(many)
    assert.same({ nil, "ETOOMANY" }, { set, code })
    assert.matches("name fewer places", err)
  end)
end)
