-- SPDX-License-Identifier: BSD-3-Clause
---@meta _

--- Event names: parse a name, list events, list PMUs.
---
--- One grammar names every event: `cycles:u`, `skx::INST_RETIRED:ANY_P`, `msr/tsc/`, `r01c0`, `sched:sched_switch`,
--- `mem:SYMBOL:w`, `uprobe:/bin/bash:readline`, `usdt:PATH:PROVIDER:NAME`, `clock::ns`, `sde:::LIB::EVENT`,
--- `plugin::NAME::METRIC`, `sim::Ir`; see `pmlua help events`.
---
---     print(pml.event.parse "page-faults".parts[1].pmu)
---@class pml.event
local event = {}

--- Parse an event name. Events of a PMU that this machine lacks are accepted; their parts have `here = false`.
--- A misspelt name fails with suggestions. The first call initialises libpfm4, which takes milliseconds.
---@param name string
---@return pmlua.ParsedEvent? event, pmlua.Failure? failure, string? code
function event.parse(name) end

--- The reason why this process opened events as NAME:u, without guests or without precision, as a sentence. Each call returns
--- the next reason, then nil.
---@return string? sentence
function event.user_only() end

--- List all events that pmlua can name, this machine's events first.
---@param pattern? string a glob, or plain text that is looked for; compared with name and description without case
---@param all? boolean also events of PMUs that are not here: about a hundred thousand rows, a second or two
---@return pmlua.ListedEvent[]? events, pmlua.Failure? failure, string? code
function event.list(pattern, all) end

--- The PMUs in libpfm4's tables, which depend on the architecture that libpfm4 was built for.
---@return pmlua.ListedPmu[] pmus
function event.pmus() end

--- Does this machine expose a hardware PMU of its cores?
---@return boolean has, string? why not, and what to do
function event.has_pmu() end

--- Probe the core PMU by opening events: support for precise events and for counting guests, and the number of core types.
---@return { precise: boolean, counts_guests: boolean, kinds: integer }? traits, pmlua.Failure? failure, string? code
function event.pmu_traits() end

--- Read PMUs and cpu topology below another folder than /sys, such as a copy from another machine. Affects the whole process.
---@param root? string nil: /sys again
---@return boolean? done, pmlua.Failure? failure, string? code
function event.set_sysfs(root) end

--- The places of a USDT probe in a program or library, as its notes describe them. At most 512.
---@param path string
---@param provider string
---@param name string
---@return pmlua.ProbePlace[]? places none, if it has no such probe
---@return pmlua.Failure? failure, string? code
function event.usdt(path, provider, name) end

---@class pmlua.ProbePlace
---@field offset integer in the file
---@field arguments string as the note has them, such as "4@%eax -4@-20(%rbp)"

---@class pmlua.ParsedEvent
---@field name string the requested name
---@field kind string the source: "perf" (the kernel), "clock", "sde", "plugin" or "sim"
---@field unit string of a value, after scaling, or ""
---@field scale number factor that converts a count to `unit`
---@field parts pmlua.EventPart[] none, if the kernel does not count it; several of a hybrid cpu or of packages

--- One event of perf_event_open(2).
---@class pmlua.EventPart
---@field pmu string of sysfs or libpfm4
---@field here boolean this machine has that PMU
---@field type integer of `perf_event_attr`
---@field config integer of `perf_event_attr`
---@field config1 integer of `perf_event_attr`
---@field config2 integer of `perf_event_attr`
---@field exclude_user boolean
---@field exclude_kernel boolean
---@field exclude_hv boolean
---@field precise? integer how precise its place is to be: 1 (:p) to 3 (:ppp)
---@field cpu? integer the cpu that counts for a package
---@field place? string the unit that this cpu represents, such as "package0"

---@class pmlua.ListedEvent
---@field name string
---@field description string one line, or ""
---@field source string "clock", "sde", "sim", "plugin", "generic", "libpfm4", "sysfs", "tracepoint", "breakpoint", "uprobe"
---@field pmu string the PMU or library it belongs to
---@field available boolean
---@field reason string why it is not available, or with which restriction; "" otherwise

---@class pmlua.ListedPmu
---@field name string libpfm4's
---@field description string
---@field kind "core"|"uncore"|"os"|"unknown"
---@field counters integer general counters of a core that runs one thread; 0: libpfm4 does not say
---@field fixed integer counters that are bound to one event each
---@field events integer names of events, without their unit masks
---@field here boolean libpfm4 recognised this machine's cpu as having it
