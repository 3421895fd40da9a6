-- SPDX-License-Identifier: BSD-3-Clause
---@meta _

--- Series of raw samples: unsigned integers in memory of C, touched beforehand, so that a push allocates nothing.
---
--- `#s` is the number of samples, `s[i]` the i-th, nil beyond the end.
---
---     local s = assert(pml.samples.new(1000)); for i = 1, 9 do s:push(i) end
---     print(#s, s[9], s:sort():quantile(0.5))
---@class pml.samples
local samples = {}

--- An empty series, 8 bytes a sample. More than the machine has memory available is refused.
---@param capacity integer samples that it can hold
---@return pmlua.Samples? samples, pmlua.Failure? failure, string? code
function samples.new(capacity) end

---@class pmlua.Samples: pmlua.Handle
---@field [integer] integer
---@operator len: integer
local Samples = {}

--- How many samples it can hold.
---@return integer
function Samples:capacity() end

--- Append a sample; a full series refuses it with EFULL.
---@param value integer not below 0
---@return boolean? done, pmlua.Failure? failure, string? code
function Samples:push(value) end

--- Forget all samples; the capacity stays.
---@return pmlua.Samples self
function Samples:clear() end

--- Another series with the same samples.
---@return pmlua.Samples? copy, pmlua.Failure? failure, string? code
function Samples:copy() end

--- Append all samples of another series, or none: EFULL if they do not all fit.
---@param other pmlua.Samples
---@return pmlua.Samples? self, pmlua.Failure? failure, string? code
function Samples:append(other) end

--- Sort in place, ascending: about 10 ns a sample, and as much memory again meanwhile.
---@return pmlua.Samples? self, pmlua.Failure? failure, string? code
function Samples:sort() end

--- A quantile of a series that is sorted: linear between neighbours, type 7 of Hyndman and Fan.
---@param q number from 0 to 1
---@return number value NaN of an empty series
function Samples:quantile(q) end

--- Mean, standard deviation of the sample (n - 1), least and most; NaN where there are too few samples.
---@return { mean: number, sd: number, min: number, max: number } moments
function Samples:moments() end

--- Samples as lines of text, "PREFIXINDEX,VALUE", the index from 0: about 1 MiB at a time.
---@param prefix string before each line, at most 255 bytes
---@param first integer from 1
---@param last? integer
---@return string text, integer? next the first sample that is not in it; nil: that was all
function Samples:format(prefix, first, last) end

--- The samples above a threshold.
---@param threshold number
---@param limit integer how many are listed at most
---@return integer[] places from 1
---@return integer[] values, integer total how many there are
function Samples:above(threshold, limit) end
