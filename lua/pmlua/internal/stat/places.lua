-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/stat/places.lua - the targets of pmlua stat other than a new command: a running process, cgroups, or
-- all cpus.
--
-- Try:  pmlua stat -p $$ -- sleep 1

local core = require "pmlua.core"
local disk = require "pmlua.internal.file"
local refuse = core.failure.refuse

local M = {}

--- The state of a process from proc(5), such as "S"; nil: there is no such process.
local function state_of(pid)
  local text = disk.read(("/proc/%d/stat"):format(pid))
  return text and text:match "^.*%) (%a)"
end

--- Whether there is something to count: without a process always.
---@param pid integer?
function M.go_on(pid)
  local state = pid and state_of(pid)
  return not pid or state ~= nil and state ~= "Z" and state ~= "X"
end

--- All threads of a process; those that they make later are counted with them.
local function of_process(pid)
  if not M.go_on(pid) then return refuse("ESRCH", ("no process %d"):format(pid), "ps lists those that run") end
  local list = {}
  for _, name in ipairs(disk.names(("/proc/%d/task"):format(pid))) do
    local thread = math.tointeger(tonumber(name))
    if thread then list[#list + 1] = { pid = thread, inherit = true } end
  end
  return list
end

--- The places of file systems for cgroups, as systemd and others mount them.
local ROOTS <const> = { "/sys/fs/cgroup/", "/sys/fs/cgroup/perf_event/", "/sys/fs/cgroup/unified/" }

--- The folder of a cgroup; a relative name is one below the places where cgroups are mounted.
local function folder_of(name)
  if not name:find "^/" then
    for _, root in ipairs(ROOTS) do
      if core.sys.realpath(root .. name) then return root .. name end
    end
  end
  return name:find "^/" and name or ROOTS[1] .. name
end

local function of_cpus(cgroup)
  local text, err = disk.read "/sys/devices/system/cpu/online"
  if not text then return refuse(err) end
  local list = {}
  for first, last in text:gmatch "(%d+)%-?(%d*)" do
    for cpu = tonumber(first), tonumber(last ~= "" and last or first) do
      list[#list + 1] = { pid = not cgroup and -1 or nil, cgroup = cgroup, cpu = math.tointeger(cpu) }
    end
  end
  return list
end

--- Where to count, as options of core.eventset.open; nil: in a command.
---@param o { pid: integer?, all: boolean?, cgroups: string[]? }
---@return pmlua.EventsetOptions[]? places, pmlua.Failure? failure
function M.of(o)
  if o.pid then return of_process(o.pid) end
  if o.all then return of_cpus() end
  local all = o.cgroups and {} or nil
  for _, name in ipairs(o.cgroups or {}) do
    local folder = folder_of(name)
    if not core.sys.realpath(folder .. "/cgroup.procs") then
      return refuse("EINVAL", ("%s: no cgroup %s"):format(name, folder), "find /sys/fs/cgroup -type d lists them all")
    end
    local list, err = of_cpus(folder)
    if not list then return nil, err end
    for _, place in ipairs(list) do
      place.label = name
      all[#all + 1] = place
    end
  end
  return all
end

return M
