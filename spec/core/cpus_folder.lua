-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/cpus_folder.lua - a folder with the files and formats of /sys/devices/system/cpu, for specs that change them.

local M = {}
M.__index = M

local files = {
  ["cpufreq/scaling_governor"] = "schedutil",
  ["cpufreq/scaling_available_governors"] = "conservative ondemand userspace powersave performance schedutil",
  ["cpufreq/cpuinfo_min_freq"] = "800000", ["cpufreq/cpuinfo_max_freq"] = "3500000",
  ["cpufreq/scaling_min_freq"] = "800000", ["cpufreq/scaling_max_freq"] = "3500000",
  ["cpufreq/scaling_setspeed"] = "<unsupported>",
  ["cpuidle/state0/name"] = "POLL", ["cpuidle/state0/disable"] = "0",
  ["cpuidle/state1/name"] = "C1", ["cpuidle/state1/disable"] = "0",
  ["cpuidle/state2/name"] = "C6", ["cpuidle/state2/disable"] = "0",
}

--- A new one with n cpus, gone with remove().
function M.new(n)
  local root = os.tmpname()
  os.remove(root)
  local self = setmetatable({ root = root }, M)
  for cpu = 0, n - 1 do
    assert(os.execute(("mkdir -p %s/cpu%d/cpufreq %s/cpu%d/cpuidle/state0 %s/cpu%d/cpuidle/state1 %s/cpu%d/cpuidle/state2")
      :format(root, cpu, root, cpu, root, cpu, root, cpu)))
    for file, text in pairs(files) do
      local f <close> = assert(io.open(("%s/cpu%d/%s"):format(root, cpu, file), "w"))
      f:write(text, "\n")
    end
  end
  return self
end

function M:get(cpu, file)
  local f <close> = assert(io.open(("%s/cpu%d/%s"):format(self.root, cpu, file)))
  return f:read "a"
end

--- Whether all files are as they were made, to the byte; waits up to a minute for a process that puts them back.
function M:is_back(cpus)
  for _ = 1, 1200 do
    local same = true
    for cpu = 0, cpus - 1 do
      for file, text in pairs(files) do same = same and self:get(cpu, file) == text .. "\n" end
    end
    if same then return true end
    os.execute "sleep 0.05"
  end
  return false
end

function M:remove() os.execute("rm -r " .. self.root) end

return M
