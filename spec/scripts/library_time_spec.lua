-- SPDX-License-Identifier: BSD-3-Clause
-- spec/scripts/library_time_spec.lua - tests of the experiment library_time, run by its command, on well-known programs and on
-- pmlua's own.
--
-- Slow: runs large programs, each recorded and not.


local tables = require "spec.scripts.tables"
local function here(command) return tables.shell("command -v " .. command) ~= "" end
local has_compiler = here "cc" or here "gcc" or here "clang"
local has_fftw = has_compiler and here "pkg-config" and select(2, tables.shell "pkg-config --exists fftw3") == 0
local has_qt = has_compiler and here "pkg-config" and select(2, tables.shell "pkg-config --exists Qt5Widgets") == 0
local zip = [[python3 -c 'import zlib; [zlib.compress(bytes(100000)) for i in range(50)]']]

local function row(rows, wanted)
  for _, r in ipairs(rows) do
    local all = true
    for name, value in pairs(wanted) do all = all and r[name] == value end
    if all then return r end
  end
end

-- Check every result: a library's time is the sum over its functions, and the unseen time is the rest of the run.
local function sums_hold(dir)
  local share, of_functions = {}, {}
  for _, l in ipairs(tables.read(dir .. "/library.dat")) do
    assert.is_true(l.share >= 0 and l.time >= 0, l.library)
    share[l.view] = (share[l.view] or 0) + l.share
    of_functions[l.view .. l.library] = l.time
  end
  for _, f in ipairs(tables.read(dir .. "/function.dat")) do
    local key = f.view .. f.library
    of_functions[key] = of_functions[key] - f.exclusive
  end
  for view, sum in pairs(share) do assert.is_true(math.abs(sum - 100) < 0.01, view .. " " .. sum) end
  for key, left in pairs(of_functions) do
    if not key:find "%(not recorded%)" then assert.is_true(math.abs(left) < 1e-6, key .. " " .. left) end
  end
end

describe("scripts/library_time.lua CMD", function()
  if not here "python3" then return pending "there is no python3 to look at" end
  local text, status, dir
  setup(function()
    text, status, dir = tables.run("library_time", "--lib libz " .. zip)
    assert.equal(0, status, text)
  end)

  it("runs the command without and with recording, and draws", function()
    local rows = tables.read(dir .. "/data.dat")
    assert.equal(2, #rows)
    for _, r in ipairs(rows) do assert.is_true(r.status == "ok" and r.samples == 1 and r.median > 0, r.view) end
    assert.is_true(rows[1].view == "plain" and rows[1].slowdown == 1 and rows[1].functions == 0)
    assert.is_true(rows[2].calls >= 50)
    assert.is_true(tables.drawn(dir), text)
  end)

  it("counts the calls, and the calls per second", function()
    local f = assert(row(tables.read(dir .. "/function.dat"), { ["function"] = "deflateEnd" }))
    local seconds = tables.read(dir .. "/data.dat")[2].median
    assert.equal("libz.so.1", f.library)
    assert.equal(50, f.calls)
    assert.is_true(math.abs(f.rate * seconds / 50 - 1) < 1e-6)
    assert.is_true(f.min <= f.max and f.exclusive <= f.inclusive + 1e-9)
  end)

  it("has sums that agree", function() sums_hold(dir) end)

  it("has a distribution of the calls' durations", function()
    local count = {}
    for _, b in ipairs(tables.read(dir .. "/distribution.dat")) do
      assert.is_true(b.low < b.high and b.count > 0 and b.height > 0 and b.height <= 1)
      count[b["function"]] = (count[b["function"]] or 0) + b.count
    end
    for _, f in ipairs(tables.read(dir .. "/function.dat")) do
      assert.equal(f.calls, count[f["function"]], f["function"])
    end
  end)
end)

describe("scripts/library_time.lua --program fftw2d --compare", function()
  if not has_fftw then return pending "FFTW is not here to compile with (libfftw3-dev, pkg-config)" end
  local text, dir, rows
  setup(function()
    text, dir, rows = tables.measure("library_time", "--compare --program fftw2d 32 512")
  end)

  -- 2^23 numbers by pictures of 32 x 32 and of 512 x 512
  local pictures = (1 << 13) + (1 << 5)

  it("uses each available view, and draws", function()
    for i, view in ipairs { "plain", "instrumentation", "sampling", "interception" } do
      assert.equal(view, rows[i].view)
      if view ~= "sampling" then assert.equal("ok", rows[i].status) end
    end
    assert.is_true(tables.drawn(dir), text)
  end)

  it("counts by interception the calls of FFTW, and by instrumentation the program's functions", function()
    local functions = tables.read(dir .. "/function.dat")
    local execute = assert(row(functions, { view = "interception", ["function"] = "fftw_execute" }))
    local smooth = assert(row(functions, { view = "instrumentation", ["function"] = "smooth" }))
    assert.equal(2 * pictures, execute.calls)
    assert.equal(pictures, smooth.calls)
    assert.is_nil(row(functions, { view = "instrumentation", ["function"] = "fftw_execute" }))
    assert.is_nil(row(functions, { view = "interception", ["function"] = "smooth" }))
  end)

  it("has samples and no calls by sampling, or the reason for missing samples", function()
    if rows[3].status ~= "ok" then
      assert.truthy(#rows[3].status > 5 and rows[3].samples == 0, rows[3].status)
      return pending("perf does not sample here: " .. rows[3].status)
    end
    local fftw = assert(row(tables.read(dir .. "/library.dat"), { view = "sampling", library = "libfftw3.so.3" }))
    assert.is_true(fftw.time > 0 and fftw.calls == nil)
  end)

  it("has sums that agree", function() sums_hold(dir) end)

  it("has all shares in one table", function()
    local all = tables.read(dir .. "/shares.dat")
    assert.equal("(no library)", all[#all].library)
    local fftw = assert(row(all, { library = "libfftw3.so.3" }))
    assert.is_true(fftw.interception > 0 and fftw.instrumentation == nil)
    assert.equal(100, math.floor(all[#all].instrumentation + 0.5))
  end)
end)

describe("scripts/library_time.lua --program qt_scene", function()
  it("sees the calls of a Qt program, and draws without a screen", function()
    if not has_qt then return pending "Qt is not here to compile with (qtbase5-dev, pkg-config)" end
    local text, status, dir = tables.run("library_time", "--program qt_scene 11")
    assert.equal(0, status, text)
    local functions = tables.read(dir .. "/function.dat")
    local save = assert(row(functions, { view = "interception", label = "QImage::save" }), text)
    assert.equal("libQt5Gui.so.5", save.library)
    assert.equal(4, save.calls) -- two frames with a picture and a window each
    sums_hold(dir)
  end)
end)

describe("scripts/library_time.lua", function()
  it("passes the words after the first one, or after --, to the command", function()
    if not here "python3" then return pending "there is no python3" end
    for _, arguments in ipairs { "--no-plot python3 -c 'import sys; sys.exit(3)' --quick -h",
      "--no-plot -- python3 -c 'import sys; sys.exit(3)' --threads" } do
      local text, status, dir = tables.run("library_time", arguments)
      assert.equal(0, status, text)
      assert.equal(2, #tables.read(dir .. "/data.dat"), text)
    end
  end)

  it("gives the reason if nothing was recorded", function()
    local text, status = tables.run("library_time", "--no-plot --lib libnosuch true")
    assert.equal(0, status, text)
    assert.truthy(text:find("no call was recorded: --lib 'libnosuch' matches nothing", 1, true), text)
  end)

  it("limits the time of a command that does not end", function()
    local text, status, dir = tables.run("library_time", "--no-plot --limit 0.3 sleep 60")
    assert.equal(1, status, text) -- nothing was measured
    for _, r in ipairs(tables.read(dir .. "/data.dat")) do assert.is_true(r.samples == 0 and r.status ~= "ok", r.status) end
  end)

  it("says what to install when it cannot compile a program", function()
    local out = tables.folder()
    local bin = out .. "/bin"
    tables.shell(("mkdir %s; for c in sh env timeout rm mkdir mktemp; do ln -s $(command -v $c) %s/$c; done"):format(bin, bin))
    local text, status = tables.shell(("PATH=%s %s scripts/library_time.lua --quick --no-plot -o %s --program fftw2d")
      :format(bin, tables.pmlua, out))
    assert.equal(1, status, text)
    assert.truthy(text:find("apt-get install pkg-config libfftw3-dev", 1, true), text)
  end)
end)
