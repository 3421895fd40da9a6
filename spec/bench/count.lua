-- SPDX-License-Identifier: BSD-3-Clause
-- spec/bench/count.lua - cost of counting by the compiler: kernels with and without counting, and their compilation.
--
-- Run by `make bench`. One program has three builds of each kernel and runs them in turn; the fastest run of each counts. For a
-- file of 10,000 lines, the plugin's load and its pass are compared to clang's own time. The whole compilation also includes code
-- generation for the counters; the printed size is the one of .text. Times of compilations are processor time.

local pml = require "pmlua"
local shell = require "pmlua.internal.wrap.shell"
local paths = require "pmlua.internal.wrap.paths"

local instrument = require("pmlua.internal.cc.llvm").instrumenter(14)
if not instrument then
  print "\ncounting by the compiler: pmlua was built without LLVM 14"
  os.exit(0)
end

local dir = os.tmpname()
os.remove(dir)
os.execute("mkdir " .. dir)
local pmlua = shell.quote(paths.library() .. "/pmlua")

local function sh(command)
  local done, out = shell.run(command)
  return done and out or error(command .. ": " .. out)
end

local function row(name, ns, against, limit)
  local ratio = ns / against
  print(("%-36s %12.1f %12.1f %6.2f %6.2f %s"):format(name, ns, against, ratio, limit, ratio <= limit and "ok" or "OVER"))
end

local clang = "clang-14 -O2 -Ispec/bench/count -c spec/bench/count/kernels.c -DTABLE=%s -o " .. dir .. "/%s.o"
sh(clang:format("plain", "plain"))
for _, at in ipairs { "source", "final" } do sh(("%s cc --count --at=%s -- "):format(pmlua, at) .. clang:format(at, at)) end
sh(("clang-14 -O2 -c spec/bench/count/main.c -o %s/main.o"):format(dir))
sh(("%s cc --count -- clang-14 %s/*.o -lm -o %s/kernels"):format(pmlua, dir, dir))

print "\ncounted by the compiler: 1000 elements, and STREAM with 4,000,000; the best of each, in turn, in one program"
print(("%-36s %12s %12s %6s %6s"):format("figure", "ns", "plain ns", "ratio", "limit"))
for name, group, plain, source, final in sh(dir .. "/kernels"):gmatch("(%w+) (%w+) ([%d.]+) ([%d.]+) ([%d.]+)") do
  local limit = group == "STREAM" and 1.3 or 1.5
  row(("%s %s, at source"):format(group, name), tonumber(source), tonumber(plain), limit)
  row(("%s %s, at final"):format(group, name), tonumber(final), tonumber(plain), limit)
end

--- A file of 10,000 lines: loops, choices, structures and calls.
local function large()
  local lines, n = { "#include <math.h>", "#include <stddef.h>" }, 0
  while #lines < 10000 do
    n = n + 1
    local body = ([[
double f%d(double *a, const double *b, size_t n, int k) {
  double s = 0;
  struct { int x; double z; } t[4];
  for (size_t i = 0; i < n; i++) {
    a[i] = a[i] * 0.%d + b[i];
    if (a[i] > 0.5) s += a[i];
    else s -= b[i] / 3;
  }
  switch (k & 7) {
  case 0: s = sqrt(s); break;
  case 1: s *= 2; break;
  case 2: for (int j = 0; j < k; j++) s += a[j] * b[j];
    break;
  default: s += k * %d;
  }
  for (int j = 0; j < 4; j++) {
    t[j].x = k + j;
    t[j].z = s * j;
  }
  return s + t[k & 3].z * t[k & 1].x;
}
]]):format(n, n, n)
    for line in body:gmatch("[^\n]+") do lines[#lines + 1] = line end
  end
  local f <close> = assert(io.open(dir .. "/large.c", "w"))
  f:write(table.concat(lines, "\n"), "\n")
end

--- The least of three runs, in ns of the processor: of a command, or of what @of finds in its output.
local function least(command, of)
  local n = math.huge
  for _ = 1, 3 do n = math.min(n, of(sh(command .. "; times"))) end
  return n
end

--- The processor time of the child processes, from the shell's `times`: user plus system, in nanoseconds.
local function children(out)
  local um, us, sm, ss = out:match "(%d+)m([%d.]+)s (%d+)m([%d.]+)s%s*$"
  return (60 * (um + sm) + us + ss) * 1e9
end

--- The time of the plugin's pass, from the compiler's report: user plus system, in nanoseconds.
local function pass(out)
  local user_system = out:match "([^\n]*)CountPass"
  local figures = {}
  for seconds in user_system:gmatch "([%d.]+) %(" do figures[#figures + 1] = tonumber(seconds) end
  return figures[#figures - 1] * 1e9
end

--- To start with the plugin costs more than without: of a file with nothing in it, the best of many.
local function loading(compiler, plugin)
  local function start(options)
    local best = math.huge
    for _ = 1, 15 do
      local before = pml.clock.ns()
      sh(("%s %s -x c -c /dev/null -o %s/nothing.o"):format(compiler, options, dir))
      best = math.min(best, pml.clock.ns() - before)
    end
    return best
  end
  return math.max(0, start(plugin) - start "")
end

--- The bytes of code of an object.
local function code(object)
  return tonumber(sh(("size -A %s"):format(object)):match "\n%.text%s+(%d+)")
end

large()
local plugin = "-fpass-plugin=" .. shell.quote(assert(paths.preload "libpmlua-instrument-14.so"))
local load = loading("clang-14", plugin)
for _, level in ipairs { "-O0", "-O2" } do
  local file = dir .. "/large"
  local line = ("clang-14 %s -c %s.c -o %s.o"):format(level, file, file)
  local alone = least(line, children)
  local bytes = code(file .. ".o")
  local optnone = level == "-O0" and " -Xclang -disable-O0-optnone" or ""
  local counters = load + least(("%s %s%s -ftime-report"):format(line, plugin, optnone), pass)
  row("counters for 10,000 lines, " .. level, counters, alone, 0.2)
  for _, at in ipairs { "source", "final" } do
    local whole = least(("%s cc --count --at=%s -- %s"):format(pmlua, at, line), children)
    print(("%-36s %12.1f %12.1f %6.2f"):format(("their whole compilation, %s %s"):format(level, at), whole, alone, whole / alone))
    local counted = code(file .. ".o")
    print(("%-36s %12d %12d %6.2f"):format(("their code in bytes, %s %s"):format(level, at), counted, bytes, counted / bytes))
  end
end
os.execute("rm -rf " .. dir)
