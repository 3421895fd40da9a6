-- SPDX-License-Identifier: BSD-3-Clause
-- spec/pool.lua - running of shell commands side by side, each with a time limit. Try:
--   require("pool").run({ { command = "sleep 1", seconds = 5 } }, 2, function(job, result) print(result.code) end)
--
-- Every command has a separate TMPDIR and runtime folder (sockets of live programs), no terminal, and none of the variables that
-- change the behaviour of pmlua and libpfm4. Its output is written to a file, because a process that outlives the command would
-- hold a pipe open.

local M = {}

-- The last line of `times` is the processor time of ended children.
local WORKER = [[
at=$POOL/$1
unset LIBPFM_FORCE_PMU PMLUA_CLOCK PMLUA_LUA PMLUA_WRAP_PATH PMLUA_COUNT
read -r began _ </proc/uptime
mkdir "$at.tmp" && chmod 711 "$at.tmp" && export TMPDIR="$at.tmp" XDG_RUNTIME_DIR="$at.tmp"
timeout -k 5 "$(cat "$at.seconds")" sh "$at.sh" </dev/null >"$at.out" 2>&1 &
trap 'kill $!' INT TERM
wait $!
status=$?
read -r ended _ </proc/uptime
{ echo "$began $ended"; times; } >"$at.times"
rm -rf "$at.tmp"
echo "$1 $status"
]]

local function write(path, text)
  local f <close> = assert(io.open(path, "w"))
  f:write(text)
end

local function read(path)
  local f <close> = assert(io.open(path, "rb"))
  return f:read("a")
end

local function line_of(command)
  local p <close> = assert(io.popen(command))
  return p:read("l") or error(command .. " printed nothing")
end

function M.now()
  local f <close> = io.open("/proc/uptime")
  return f:read("n")
end

--- The cpus that this process may use.
function M.cpus()
  return math.tointeger(tonumber(line_of "nproc")) or 1
end

--- Seconds of processor time, of both user and system, from the last line of the shell's `times`.
local function processor_seconds(text)
  local um, us, sm, ss = text:match("(%d+)m([%d.]+)s%s+(%d+)m([%d.]+)s%s*$")
  return um and um * 60 + us + sm * 60 + ss or 0
end

--- Run all jobs, at most @width at a time, in their order; @done is called as each ends.
---@param jobs { command: string, seconds: integer }[]
---@param width integer
---@param done fun(job: table, result: { out: string, code: integer, processor: number, elapsed: number })
function M.run(jobs, width, done)
  -- specs run programs of other users below it
  local folder = line_of "d=$(mktemp -d /tmp/pmlua-pool-XXXXXX) && chmod 711 $d && echo $d"
  local numbers = {}
  for i, job in ipairs(jobs) do
    write(("%s/%d.sh"):format(folder, i), job.command .. "\n")
    write(("%s/%d.seconds"):format(folder, i), tostring(job.seconds))
    numbers[i] = i
  end
  write(folder .. "/list", table.concat(numbers, "\n") .. "\n")
  write(folder .. "/worker", WORKER)
  local pool <close> = assert(io.popen(("export POOL=%s; xargs -a $POOL/list -P %d -n 1 sh $POOL/worker"):format(folder, width)))
  for line in pool:lines() do
    local number, code = line:match("^(%d+) (%d+)$")
    local at = folder .. "/" .. number
    local times = read(at .. ".times")
    local began, ended = times:match("^(%S+) (%S+)")
    done(jobs[tonumber(number)], { out = read(at .. ".out"), code = tonumber(code),
      processor = processor_seconds(times), elapsed = ended - began })
  end
  os.execute("rm -rf " .. folder)
end

return M
