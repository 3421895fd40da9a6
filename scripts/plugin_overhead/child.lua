-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/plugin_overhead/child.lua - measure one subject in this process and print a line of nanoseconds per sample.
--
-- Try:  pmlua scripts/plugin_overhead/child.lua metrics_1 1000000 3

local here = debug.getinfo(1, "S").source:match("^@(.*/)") or "./"
package.path = here .. "../?.lua;" .. package.path

local build = require "programs.build"
local pml = require "pmlua"
local subjects = require "plugin_overhead.subjects"

local name, count, samples = arg[1], math.tointeger(tonumber(arg[2])), math.tointeger(tonumber(arg[3]))
local subject = subjects.named[name]
if not (subject and count and samples) then error("usage: child.lua SUBJECT COUNT SAMPLES", 0) end

local folder <close> = assert(build.folder())
local run = subject.new {
  pml = pml, workload = assert(pml.workload.load(pml.paths.workloads .. "/sections.so")), plugins = pml.paths.plugins,
  folder = folder.path,
}
run(count // 10)
for _ = 1, samples do print(("%.0f %.0f"):format(run(count))) end
