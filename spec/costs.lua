-- SPDX-License-Identifier: BSD-3-Clause
-- spec/costs.lua - check that no hot path is longer than spec/data/instruction_costs.tsv says.
-- Try: lua5.4 spec/costs.lua build/spec/cost
--
-- Counts instructions instead of time: by callgrind on x86-64, elsewhere by the PMU, which is exact in an emulated machine. The
-- costs of MPI's calls and of a start are counted on x86-64 only (spec/mpi_costs.lua, spec/start_costs.lua). The counts depend on
-- the compiler and the C library, so the table names both, and a result with another compiler or library is not compared. --write
-- rewrites the rows of this machine; review the difference before you commit it.

local program, write = arg[1] or "build/spec/cost", arg[2] == "--write"
local table_file = "spec/data/instruction_costs.tsv"

local function output(command)
  local p = assert(io.popen(command .. " 2>&1 </dev/null"))
  local out = p:read("a")
  return out, p:close()
end

local function done(passed, failed, skipped)
  print(("%d passed, %d failed, %d skipped"):format(passed, failed, skipped))
  os.exit(failed > 0 and 1 or passed == 0 and 77 or 0)
end

local function skip(why)
  print("ok # SKIP instruction costs: " .. why)
  done(0, 0, 1)
end

--- Names to their values, and the names in order.
local function rows(out)
  local value, order = {}, {}
  for name, v in out:gmatch("([%w_]+)\t([^\n]+)") do
    value[name], order[#order + 1] = v, name
  end
  return value, order
end

--- Read a callgrind file: the total cost of the calls of path_NAME by measured_calls, and their number.
local function callgrind(file)
  local names, total, calls, caller, callee, n = {}, {}, {}, nil, nil, nil
  local function name_of(text)
    local id, name = text:match("^%((%d+)%)%s*(.*)")
    if name ~= "" then names[id] = name end
    return names[id]
  end
  for line in io.lines(file) do
    local key, text = line:match("^(c?fn)=(.*)")
    if n then
      local path = caller == "measured_calls" and callee:match("^path_(.*)")
      if path then
        total[path] = (total[path] or 0) + tonumber(line:match("(%d+)$"))
        calls[path] = (calls[path] or 0) + n
      end
      n = nil
    elseif key == "fn" then
      caller = name_of(text)
    elseif key == "cfn" then
      callee = name_of(text)
    else
      n = tonumber(line:match("^calls=(%d+)"))
    end
  end
  return total, calls
end

-- libc chooses its string functions by the cpu; these settings select the functions for every x86-64.
local ANY_CPU = "GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-AVX512VL,-AVX512F,-ERMS,-FSRM,-SSSE3,-SSE4_2,-BMI2,-Fast_Unaligned_Load"

local function count_by_callgrind()
  local _, found = output("valgrind --version")
  if not found then skip("valgrind is not installed") end
  local file = os.tmpname()
  local out, fine = output(("%s LD_BIND_NOW=1 PMLUA_CLOCK=counter valgrind -q --tool=callgrind --sigill-diagnostics=no "
    .. "--callgrind-out-file=%s %s run"):format(ANY_CPU, file, program))
  local said, order = rows(out)
  local total, calls = {}, {}
  if fine and said.compiler then total, calls = callgrind(file) end
  os.remove(file)
  if not total.nothing then
    io.write(out)
    print("not ok - the costs could not be counted")
    done(0, 1, 0)
  end
  local cost = { compiler = said.compiler }
  for _, name in ipairs(order) do
    -- the program itself counts counter instructions, which callgrind cannot see
    if total[name] then
      -- rounded: a call that is the longest so far costs one instruction more, to store the maximum
      cost[name] = math.floor((total[name] - total.nothing) / calls[name] + 0.5) + math.tointeger(tonumber(said[name]))
    end
  end
  return cost, order
end

local kept_as = {} -- the value to write for a row with a margin

--- A row without a cost has the reason for its skip instead.
local function count_programs(cost, order)
  for _, module in ipairs { "spec.mpi_costs", "spec.start_costs" } do
    for _, row in ipairs(require(module).rows(program:match "(.*)/spec/[^/]+$" or "build")) do
      order[#order + 1] = row.name
      cost[row.name], kept_as[row.name] = row.cost or row.why, row.kept
    end
  end
  return cost, order
end

local function count_by_pmu()
  local out, fine = output(program .. " pmu")
  local said, order = rows(out)
  if not fine then skip(said.error or out) end
  return said, order
end

local arch = output("uname -m"):match("%S+")

local function read_table()
  local kept, lines = {}, {}
  for line in io.lines(table_file) do
    local path, of, compiler, n = line:match("^([%w_]+)\t(%S+)\t([^\t]+)\t(%d+)$")
    lines[#lines + 1] = { line = line, arch = of }
    if of == arch then kept[path] = { compiler = compiler, n = tonumber(n) } end
  end
  return kept, lines
end

local function write_table(cost, order, lines)
  local f <close> = assert(io.open(table_file, "w"))
  for _, l in ipairs(lines) do
    if l.arch ~= arch then f:write(l.line, "\n") end
  end
  for _, name in ipairs(order) do
    if math.tointeger(tonumber(cost[name])) and name ~= "nothing" then
      f:write(("%s\t%s\t%s\t%d\n"):format(name, arch, cost.compiler, kept_as[name] or cost[name]))
    end
  end
end

local cost, order = (arch == "x86_64" and count_by_callgrind or count_by_pmu)()
if arch == "x86_64" then cost, order = count_programs(cost, order) end
local kept, lines = read_table()
if write then write_table(cost, order, lines) end

local passed, failed, skipped = 0, 0, 0
for _, name in ipairs(order) do
  local n, row = tonumber(cost[name]), kept[name]
  if name == "compiler" or name == "nothing" then
    goto next
  elseif not n then
    skipped = skipped + 1
    print(("ok # SKIP %s: %s"):format(name, cost[name]))
  elseif not row then
    failed = failed + 1
    print(("not ok - %s takes %d instructions, and the table has no row for it on %s"):format(name, n, arch))
  elseif row.compiler ~= cost.compiler then
    skipped = skipped + 1
    print(("ok # SKIP %s takes %d instructions of %s; the table is of %s"):format(name, n, cost.compiler, row.compiler))
  elseif n > row.n then
    failed = failed + 1
    print(("not ok - %s takes %d instructions, the table says %d"):format(name, n, row.n))
  else
    passed = passed + 1
    local lower = (kept_as[name] or n) < row.n and "; the table says " .. row.n .. ": lower it" or ""
    print(("ok - %s takes %d instructions%s"):format(name, n, lower))
  end
  ::next::
end
done(passed, failed, skipped)
