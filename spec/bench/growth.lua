-- SPDX-License-Identifier: BSD-3-Clause
-- spec/bench/growth.lua - time and memory of operations as their size grows over two decades.
--
--     make bench-scale
--
-- Seconds are processor time of the command and its child processes; bytes are the largest resident set of a process. Both are
-- given less the values for size 1. The exponent is for the time over the last decade; spec/lua/growth_spec.lua checks exponents
-- by counted instructions.

local growth = require "spec.growth"
local build = assert(require "pmlua".paths.command)

local function shell(text) assert(os.execute(text), "failed: " .. text) end

local function slurp(path)
  local f <close> = assert(io.open(path))
  return f:read "a"
end

--- @return number seconds
--- @return number bytes
local function measure(dir, row, n)
  local command, prepare = growth.at(row, n, build)
  shell(("cd %s && %s && ulimit -s unlimited && %s stat --json --out stat.json -- %s %s >/dev/null 2>&1")
    :format(dir, prepare, build, build, command))
  local text = slurp(dir .. "/stat.json")
  local function ended(name) return tonumber(text:match(('"%s": (%%d+)'):format(name))) end
  assert(ended "status" == 0, row[1] .. " failed")
  return (ended "user_ns" + ended "system_ns") / 1e9, ended "maxrss_bytes"
end

local function main()
  local pipe <close> = assert(io.popen "mktemp -d")
  local dir = pipe:read "l"
  for name, text in pairs(growth.files) do
    local f <close> = assert(io.open(dir .. "/" .. name, "w"))
    f:write(text)
  end
  shell(("cd %s && %s"):format(dir, growth.build))
  print(("%-50s %9s %9s %9s %12s"):format("what", "n", "seconds", "exponent", "bytes each"))
  for _, row in ipairs(growth.rows) do
    local seconds, bytes = measure(dir, row, 1)
    local before
    for decade = 0, 2 do
      local n = row.bench * 10 ^ decade // 1 | 0
      if n > (row.most or n) then break end
      local s, b = measure(dir, row, n)
      s = math.max(s - seconds, 0)
      local exponent = before and before > 0 and s > 0 and ("%.2f"):format(math.log(s / before, 10)) or "-"
      print(("%-50s %9d %9.3f %9s %12.0f"):format(row[1], n, s, exponent, (b - bytes) / n))
      before = s
    end
  end
  os.execute("rm -rf " .. dir)
end

main()
