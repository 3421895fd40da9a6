-- SPDX-License-Identifier: BSD-3-Clause
-- spec/bench/scale.lua - cost of a report for each rank, from a hundred ranks to a hundred thousand.
--
--     make bench-scale
--
-- The logs are written to a temporary folder (TMPDIR), up to 3 GB for one job, one job after the other. They are read once before
-- the measurement, to exclude the disk. Seconds are processor time, memory is the process's peak.

local build = os.getenv "PMLUA_BUILD" or "build"

--- Report in a new process, then print the time and memory of that process.
local function one(dir, form)
  io.output "/dev/null"
  local options = { paths = { dir }, [form] = form ~= "table" or nil, threads = form == "csv" or nil }
  local status = require "pmlua.verb.report".run(options)
  local f <close> = assert(io.open "/proc/self/status")
  print(status, os.clock(), f:read "a":match "VmHWM:%s*(%d+)")
end

local function measure(dir, form)
  local pipe <close> = assert(io.popen(("%s/pmlua spec/bench/scale.lua %s %s"):format(build, dir, form)))
  local status, seconds, kilobytes = pipe:read("a"):match "(%d+)%s+(%S+)%s+(%d+)"
  assert(status == "0", "the report failed")
  return tonumber(seconds), tonumber(kilobytes)
end

--- @param forms string[] table; json and csv write every row
local function job(ranks, threads, forms)
  local pipe <close> = assert(io.popen "mktemp -d")
  local dir = pipe:read "l"
  local made = os.execute(("%s/spec/logs %s %d %d 20 && cat %s/rank*[0-4].pmlog %s/rank*[5-9].pmlog >/dev/null 2>&1 || true")
    :format(build, dir, ranks, threads, dir, dir))
  for _, form in ipairs(made and forms or {}) do
    local seconds, kilobytes = measure(dir, form)
    print(("%8d %8d %10d  %-5s %9.2f %12.1f %9.1f"):format(ranks, threads, ranks * threads * 20, form, seconds,
      seconds / ranks * 1e6, kilobytes / 1024))
  end
  os.execute("rm -rf " .. dir)
end

if arg[2] then return one(arg[1], arg[2]) end
print(("%8s %8s %10s  %-5s %9s %12s %9s"):format("ranks", "threads", "rows", "form", "seconds", "us per rank", "MB"))
for _, ranks in ipairs { 100, 1000, 10000 } do job(ranks, 64, { "table", "json", "csv" }) end
for _, ranks in ipairs { 1000, 10000, 100000 } do job(ranks, 2, { "table", "json", "csv" }) end
