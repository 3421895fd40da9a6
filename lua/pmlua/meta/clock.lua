-- SPDX-License-Identifier: BSD-3-Clause
---@meta _

--- The clock that all of pmlua measures with: ticks, and their conversion to nanoseconds.
---
--- Ticks are the processor's counter (TSC, `cntvct_el0`) if it is invariant and the kernel trusts it, else nanoseconds of
--- `clock_gettime(CLOCK_MONOTONIC_RAW)`. `PMLUA_CLOCK=counter` or `monotonic` overrides this choice. The rate is calibrated
--- once, at the first use of the clock: this takes 10 us, or, if the kernel does not publish the rate, until 1.5 ms after the
--- start of the process.
---
---     local t = pml.clock.ticks(); work(); print(pml.clock.to_ns(pml.clock.ticks() - t))
---@class pml.clock
local clock = {}

--- Now, in ticks. In C it is one instruction; neighbouring instructions may pass it.
---@return integer ticks
function clock.ticks() end

--- Now, in ticks, after every earlier instruction has ended and before any later one begins (two fences more).
---@return integer ticks
function clock.ticks_ordered() end

--- Now, in ns of `CLOCK_MONOTONIC_RAW`.
---@return integer ns
function clock.ns() end

--- The wall clock, for time stamps of files.
---@return integer ns since 1970
function clock.realtime_ns() end

--- A difference of ticks in ns, rounded down.
---@param ticks integer not below 0
---@return integer ns
function clock.to_ns(ticks) end

--- The moment of a reading of `ticks()`, in ns of `CLOCK_MONOTONIC_RAW`.
---@param ticks integer not below 0
---@return integer ns
function clock.at_ns(ticks) end

--- Ticks per second, as calibrated.
---@return number ticks_per_second
function clock.rate() end

--- Describe the clock. Resolution and cost are measured by this call, which takes about 2 ms.
---@return pmlua.ClockInfo? info, pmlua.Failure? failure, string? code
function clock.info() end

---@class pmlua.ClockInfo
---@field name "tsc"|"cntvct"|"clock_gettime"
---@field calibration string the source of the rate, or why there is no counter
---@field ticks_per_second number
---@field resolution_ns number the step of which differences are, as a rule, multiples
---@field cost_ns number median cost of one reading in C
